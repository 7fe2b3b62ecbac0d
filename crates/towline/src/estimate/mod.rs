//! Estimates past the chain: importance weights of slow points under the learned π̃, with control variates.
//!
//! π̃ can be sampled for nothing, so a slow evaluation at a draw x of it need only measure how wrong π̃ is there. Its weight
//! π(x)/π̃(x) is estimated without bias by fast evaluations (`weight`: importance sampling of y in the moving frame by
//! `reference`, or `anneal`). Means follow from the weights with control variates (`control`), whose means under π̃ are known from
//! `free` draws; the posterior's constant from the weights and π̃'s own constant (`bridge`). Nothing here depends on the order in
//! which points are evaluated, nor on where.

mod anneal;
mod basis;
mod bridge;
mod control;
mod defensive;
mod estimates;
mod free;
mod plan;
mod point;
mod reference;
#[cfg(test)]
mod tests;
mod variance;
mod weight;

pub use estimates::{ColumnEstimate, Estimates, Estimator, Evidence};
pub use plan::{Need, need};
pub use point::{Scale, Weighted};
