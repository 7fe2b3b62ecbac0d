//! A clock for measuring what evaluations cost: the system's, or none where there is none (WebAssembly in a browser).

#[cfg(not(target_family = "wasm"))]
pub(crate) use std::time::Instant;

/// A clock that stands still: with it nothing is measured, and prices are the defaults.
#[cfg(target_family = "wasm")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant;

#[cfg(target_family = "wasm")]
impl Instant {
    pub fn now() -> Self {
        Self
    }

    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
