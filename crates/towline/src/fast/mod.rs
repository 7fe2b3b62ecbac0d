//! What moves y: densities of the fast variables, the moves under them, and the path of a drag.

pub(crate) mod density;
pub(crate) mod lockstep;
pub(crate) mod moves;
pub(crate) mod nested;
pub(crate) mod path;
pub(crate) mod threaded;
