//! What is timed: the paper's tests, written as a user would write them.

use towline::{ModelError, Target};

/// What sin(x) and the rest of the slow computation leave behind.
pub struct Cache {
    x2: f64,
    centre: f64,
    stiff: f64,
}

fn prepare(x: &[f64]) -> Result<Option<Cache>, ModelError> {
    let x = x[0];
    let w = 1.0 + x * x;
    Ok(Some(Cache {
        x2: x * x,
        centre: x.sin(),
        stiff: 50.0 * w * w,
    }))
}

/// Test 1: E = x² + 50 (1+x²)² (y − sin x)².
pub struct Test1;

impl Target for Test1 {
    type Cache = Cache;

    fn prepare(&self, x: &[f64]) -> Result<Option<Cache>, ModelError> {
        prepare(x)
    }

    fn log_density(&self, c: &Cache, y: &[f64]) -> f64 {
        let r = y[0] - c.centre;
        -(c.x2 + c.stiff * r * r)
    }
}

/// Test 1 with a fused multiplication, which a C compiler uses unasked and Rust's only when told to.
/// (Where the machine has none, or the compiler may not assume it, `mul_add` is a slow call.)
pub struct Test1Fused;

impl Target for Test1Fused {
    type Cache = Cache;

    fn prepare(&self, x: &[f64]) -> Result<Option<Cache>, ModelError> {
        prepare(x)
    }

    fn log_density(&self, c: &Cache, y: &[f64]) -> f64 {
        let r = y[0] - c.centre;
        -(c.stiff * r).mul_add(r, c.x2)
    }
}

/// Test 2, in which each further fast variable follows the one before: two of them in the paper, as many as
/// there are here.
pub struct Test2;

impl Target for Test2 {
    type Cache = Cache;

    fn prepare(&self, x: &[f64]) -> Result<Option<Cache>, ModelError> {
        prepare(x)
    }

    fn log_density(&self, c: &Cache, y: &[f64]) -> f64 {
        let r = y[0] - c.centre;
        let steps: f64 = y.windows(2).map(|w| (w[1] - w[0]) * (w[1] - w[0])).sum();
        -(c.x2 + c.stiff * r * r + 12.5 * steps)
    }
}
