//! The report's methods to compare with: x and y together, and one variable after another.

mod joint;
mod single;

pub use joint::Joint;
pub use single::Single;
