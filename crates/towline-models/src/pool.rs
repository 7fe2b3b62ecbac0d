//! Large vectors that are used again: getting a fresh matrix from the system for every x costs more than filling it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Shorter vectors are cheap to get.
const WORTHWHILE: usize = 4096;
/// More than these are let go.
const KEPT: usize = 12;

thread_local! {
    static FREE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// A vector that goes back to its thread's store when it is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pooled(Vec<f64>);

impl Pooled {
    /// Of this length, with whatever an earlier use left in it.
    pub fn take(len: usize) -> Self {
        let found = FREE.with_borrow_mut(|free| {
            let position = free.iter().position(|v| v.len() == len);
            position.map(|k| free.swap_remove(k))
        });
        Self(found.unwrap_or_else(|| vec![0.0; len]))
    }
}

impl From<Vec<f64>> for Pooled {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if self.0.len() >= WORTHWHILE {
            let values = std::mem::take(&mut self.0);
            // At the end of a thread the store may be gone already.
            let _ = FREE.try_with(|free| {
                let mut free = free.borrow_mut();
                if free.len() >= KEPT {
                    free.remove(0);
                }
                free.push(values);
            });
        }
    }
}

impl Deref for Pooled {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}
