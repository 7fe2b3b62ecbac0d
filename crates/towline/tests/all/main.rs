//! The engine as its users meet it. One binary: each would compile the engine anew for the targets in it.

mod allocation;
mod arviz_agreement;
mod aside;
mod bad_input;
mod common;
mod frames;
mod kept;
mod layers;
mod many;
mod own_model;
mod ranks;
mod readme;
mod resume;
mod run;
mod side_by_side;
mod teach;
mod warmup;
mod weigh;
