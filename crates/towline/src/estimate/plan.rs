//! How many slow points an error asks for, and whether a chain would be cheaper: decided by counting evaluations.

use super::estimates::Estimates;
use crate::warmup::enough::{fewest_points, with_margin};

/// Where so many times the points would be needed, they are worth more as visits: a fit with them asks for half as many or fewer.
const REFIT_ABOVE: f64 = 2.5;
/// So many times at most.
pub(crate) const MOST_REFITS: usize = 2;
/// A batch at most multiplies the points by this: the next prediction is a better one.
const GROWTH: f64 = 2.0;
/// Weights whose tail seems too heavy are given up with so many times the first points.
const MOST_DOUBTED: f64 = 4.0;
/// Slow evaluations of a chain for each effective draw, as measured on the gallery (1.5 to 1.9), and what is left of its
/// warm-up once the marginal is learned: so many, and more for every slow variable.
const CHAIN_EACH: f64 = 1.7;
const CHAIN_BASE: [usize; 2] = [280, 50];
/// No run asks for more points.
const MOST: usize = 200_000;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Evaluate points until there are so many.
    Points(usize),
    /// Fit π̃ again with what the points have told, and begin with fresh ones.
    Refit,
    /// The error is reached.
    Enough,
    /// A chain is predicted to be cheaper, or the weights cannot be trusted.
    Chain,
}

/// Decides what to do for an error of `error` standard deviations of each of the columns named, with `slow` slow variables; π̃ may be fitted
/// again where `refits`.
pub fn need(
    error: f64,
    slow: usize,
    columns: &[usize],
    now: Option<&Estimates>,
    done: usize,
    refits: bool,
) -> Need {
    let first = fewest_points(slow);
    if done < first {
        return Need::Points(first);
    }
    let Some(now) = now else {
        return Need::Chain;
    };
    let ratio = |&k: &usize| {
        let column = &now.columns[k];
        let ratio = column.se / column.sd;
        // A constant has no error to speak of.
        if column.se == 0.0 { 0.0 } else { ratio / error }
    };
    let worst = columns.iter().map(ratio).fold(0.0, f64::max);
    if worst.is_nan() {
        return Need::Chain;
    }
    let wanted = with_margin(done as f64 * worst * worst);
    if refits && (now.is_poor() || wanted > REFIT_ABOVE * done as f64) {
        return Need::Refit;
    }
    if now.is_poor() {
        // The tail's index is known to a half where there are fifty points: twice as many say more, and cost less than a chain.
        return match GROWTH * done as f64 <= MOST_DOUBTED * first as f64 {
            true => Need::Points((GROWTH * done as f64) as usize),
            false => Need::Chain,
        };
    }
    if worst <= 1.0 {
        return Need::Enough;
    }
    let chain = (CHAIN_BASE[0] + CHAIN_BASE[1] * slow) as f64 + CHAIN_EACH / (error * error);
    if wanted - done as f64 > chain || wanted > MOST as f64 {
        return Need::Chain;
    }
    Need::Points((wanted.min(GROWTH * done as f64)).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ColumnEstimate;

    fn with(se: f64, k: f64) -> Estimates {
        let column = ColumnEstimate {
            name: "x".into(),
            mean: 0.0,
            sd: 2.0,
            se,
            se_sd: 0.0,
            equivalent_draws: (2.0 / se).powi(2),
            quantiles: [0.0; 3],
            se_quantiles: [0.0; 3],
        };
        Estimates {
            points: 48,
            failed: 0,
            fast_evals: 0,
            spread: 0.1,
            noise: 0.0,
            pareto_k: Some(k),
            controls: 4,
            columns: vec![column],
            covariance: Vec::new(),
            evidence: None,
            shares: Vec::new(),
        }
    }

    #[test]
    fn points_are_asked_for_until_the_error_is_there_unless_a_chain_is_cheaper() {
        let ask = |now: &Estimates, done| need(0.03, 1, &[0], Some(now), done, false);
        assert_eq!(need(0.03, 1, &[0], None, 0, true), Need::Points(50));
        assert_eq!(ask(&with(0.05, 0.2), 50), Need::Enough);
        assert_eq!(ask(&with(0.07, 0.2), 50), Need::Points(79));
        assert_eq!(ask(&with(0.2, 0.2), 50), Need::Points(100));
        // Error 0.5 sd with 50 points: some 16,000 would be needed, and a chain takes 2,200.
        assert_eq!(ask(&with(1.0, 0.2), 50), Need::Chain);
        // Points that are too few by far, and those of a poor tail, teach first.
        let teach = |now: &Estimates, done| need(0.03, 1, &[0], Some(now), done, true);
        assert_eq!(teach(&with(0.05, 0.2), 50), Need::Enough);
        assert_eq!(teach(&with(0.07, 0.2), 50), Need::Points(79));
        assert_eq!(teach(&with(0.1, 0.2), 50), Need::Refit);
        assert_eq!(teach(&with(1.0, 0.2), 50), Need::Refit);
        assert_eq!(teach(&with(0.05, 0.9), 50), Need::Refit);
        // A poor tail is looked at again, twice.
        assert_eq!(ask(&with(0.05, 0.9), 50), Need::Points(100));
        assert_eq!(ask(&with(0.05, 0.9), 100), Need::Points(200));
        assert_eq!(ask(&with(0.05, 0.9), 200), Need::Chain);
    }
}
