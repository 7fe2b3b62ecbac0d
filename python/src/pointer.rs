//! A likelihood that is machine code: a C function, or a numba `cfunc`, called without the interpreter.
#![expect(
    unsafe_code,
    reason = "an address given by the user is called as a function: no compiler can check that it is one"
)]

use std::ffi::c_void;

/// `double f(const double *cache, size_t n_cache, const double *y, size_t n_y, void *data)`.
type Function = unsafe extern "C" fn(*const f64, usize, *const f64, usize, *mut c_void) -> f64;

/// A C function and what it is handed besides numbers.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    function: Function,
    /// An address, never followed here.
    data: usize,
}

impl Pointer {
    /// The function at an address; `None` at zero.
    pub fn new(address: usize, data: usize) -> Option<Self> {
        // SAFETY: a function pointer is as wide as an address and may be any but zero, which becomes `None`. That there is a
        // function of this signature is the promise of whoever made a `towline.CFunction`.
        let function = unsafe { std::mem::transmute::<usize, Option<Function>>(address) };
        function.map(|function| Self { function, data })
    }

    /// Its value.
    #[inline]
    pub fn call(&self, cache: &[f64], y: &[f64]) -> f64 {
        // SAFETY: both slices live through the call and have these lengths; the rest is the promise above.
        unsafe {
            (self.function)(
                cache.as_ptr(),
                cache.len(),
                y.as_ptr(),
                y.len(),
                self.data as *mut c_void,
            )
        }
    }
}
