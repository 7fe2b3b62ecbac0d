//! The run directory: what a run leaves on disk, and how it is read while the run goes on or later.
//!
//! Everything in the engine that touches files is here; the format is described in `docs/run-directory.md`.
//!
//! ```no_run
//! use towline::store::RunDir;
//! let run = RunDir::open("neal1".as_ref())?;
//! for (name, chains) in run.names().zip(run.columns()?) {
//!     println!("{name}: {} chains of {} draws", chains.len(), chains[0].len());
//! }
//! # Ok::<(), towline::Error>(())
//! ```

mod batches;
mod checkpoint;
mod clock;
mod directory;
mod failures;
mod file;
mod framed;
mod lock;
mod looked;
mod manifest;
mod moments;
mod records;
mod rows;
mod stages;
mod warnings;
mod weights;

pub use batches::{Batches, Estimate};
pub use checkpoint::Checkpoint;
pub(crate) use clock::{Clock, Seconds};
pub use directory::RunDir;
pub use failures::{Failure, Failures};
pub use lock::Lock;
pub(crate) use looked::Looked;
pub use manifest::{FORMAT, Manifest, Options, VERSION};
pub use moments::Moments;
pub use rows::{Draws, Rows};
pub(crate) use stages::{Stage, Stages};
pub use warnings::Warning;
pub use weights::StoredEstimates;
pub(crate) use weights::{Points, Weighing};
