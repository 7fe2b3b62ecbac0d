//! What moves y: densities of the fast variables, the moves under them, and the path of a drag.
//!
//! Read in this order: `density` (what a move sees), `step` (what a move is), `moves`, `ends`, `end`, `conditional`
//! and `between` (the densities themselves), `path` and `repeat`; `nested` is for more than two speeds.

pub(crate) mod between;
pub(crate) mod conditional;
pub(crate) mod density;
pub(crate) mod end;
pub(crate) mod ends;
pub(crate) mod forgotten;
pub(crate) mod ledger;
pub(crate) mod moves;
pub(crate) mod nested;
pub(crate) mod path;
pub(crate) mod repeat;
pub(crate) mod step;

pub use moves::{
    Coordinate, CrankNicolson, EllipticalSlice, FastMove, Hmc, NestedDrag, RandomWalk, Slice,
    Tempered,
};
