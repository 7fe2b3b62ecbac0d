//! Test only: the proof that every kernel leaves its target invariant, and that the proof has teeth.
//!
//! - `space`: a kernel on a finite state space as a matrix K, by walking through every outcome of
//!   its random choices; how far it is from πK = π and from detailed balance.
//! - `lattice`: irregular, asymmetric targets on a lattice, with holes in their support.
//! - `moves`, `kernels`, `frames`, `laplace`: the claims about production code, one named case each.
//! - `nested`: the same for drags inside drags.
//! - `identities`: the paper's equations along recorded paths.
//! - `reference`: the drag written a second time, with a switch for each known mistake.
//! - `defects`: each mistake is killed, on the lattice and by the z-tests, and by how much.
//! - `continuous`, `zscores`: kernels with real random numbers, started from exact draws.

mod continuous;
mod defects;
mod frames;
mod identities;
mod kernels;
mod laplace;
mod lattice;
mod moves;
mod nested;
mod reference;
mod space;
mod zscores;
