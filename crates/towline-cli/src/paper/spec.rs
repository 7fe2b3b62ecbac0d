//! What tells one row from another: test, method, number of intervals, and the standard deviations of its proposals.

/// A sampling method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All variables proposed at once.
    Joint,
    /// One variable after the other.
    Single,
    /// Metropolis on the marginal of x: the ideal that dragging approaches.
    Marginal,
    /// x proposed, the fast variables dragged along.
    Drag,
    /// The same in the Laplace frame; not in the paper.
    DragFramed,
    /// Everything chosen by warm-up; not in the paper.
    Auto,
}

impl Method {
    /// The name used in the table and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::Joint => "joint",
            Method::Single => "single",
            Method::Marginal => "marginal",
            Method::Drag => "drag",
            Method::DragFramed => "drag-framed",
            Method::Auto => "auto",
        }
    }
}

/// How one row is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// The test distribution, 1 or 2.
    pub test: u8,
    /// The method.
    pub method: Method,
    /// The number of drag intervals.
    pub n: Option<usize>,
    /// Standard deviation of the proposals for x; none where warm-up chooses it.
    pub slow_sd: Option<f64>,
    /// Standard deviation of the proposals for each fast variable, in the units of the frame if there is one.
    pub fast_sd: Option<f64>,
}

impl Spec {
    /// Test, method and number of intervals, as in "1 drag 500".
    pub fn label(&self) -> String {
        let (test, method) = (self.test, self.method.name());
        match self.n {
            Some(n) => format!("{test} {method} {n}"),
            None => format!("{test} {method}"),
        }
    }

    /// Whether it is the row of this test, method and number of intervals.
    pub fn is(&self, test: u8, method: Method, n: Option<usize>) -> bool {
        (self.test, self.method, self.n) == (test, method, n)
    }

    /// The frame that the method drags in, if it is set here.
    pub fn frame(&self) -> Option<&'static str> {
        (self.method == Method::DragFramed).then_some("laplace")
    }

    /// The proposal standard deviations in words.
    pub fn proposal_sd(&self) -> String {
        let Some(slow) = self.slow_sd else {
            return "chosen".to_owned();
        };
        let fast = match (self.frame(), self.test) {
            (Some(_), _) => "frame",
            (None, 1) => "y",
            _ => "y,z",
        };
        match self.fast_sd {
            None => format!("x {slow:?}"),
            Some(sd) if sd == slow && self.frame().is_none() => format!("x,{fast} {sd:?}"),
            Some(sd) => format!("x {slow:?}; {fast} {sd:?}"),
        }
    }
}
