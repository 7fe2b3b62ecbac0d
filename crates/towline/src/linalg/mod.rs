//! Linear algebra of few dimensions: roots of covariances, small vectors and matrices.

mod eigen;
mod factor;
mod few;
mod inverse;
pub(crate) mod packed;
mod root;
mod small;
mod storage;
mod stretched;
mod wide;

pub(crate) use eigen::symmetric_eigen;
pub use factor::Factor;
pub(crate) use few::SmallRoot;
pub use inverse::Inverse;
pub use root::{Root, RootMap};
pub(crate) use small::{
    HASH_START, SmallBuffer, dot, farthest, hashed, squared_distance, symmetrise, transpose,
};
pub(crate) use storage::Storage;
pub use stretched::Stretched;
pub(crate) use wide::{Lanes, widely};
