//! What JavaScript sees of the engine: three functions over bytes, by hand, since there is nothing else to pass.
#![expect(
    unsafe_code,
    reason = "the names that JavaScript calls, and the bytes that it writes"
)]

use crate::{Session, reply};
use std::cell::RefCell;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    /// What is being written, then the reply: it stays until the next call.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(len, 0);
        bytes.as_mut_ptr()
    })
}

/// Replies to the request that was written there; returns the length of the reply, which is where [`place`] says.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|kept| *kept = panic.to_string());
    }));
    let request = BYTES.take();
    let text = String::from_utf8_lossy(&request);
    let reply = SESSION.with_borrow_mut(|session| reply(session, &text));
    BYTES.with_borrow_mut(|bytes| {
        *bytes = reply.into_bytes();
        bytes.len()
    })
}

/// After a trap: what the panic said, as a reply that [`place`] points to.
#[unsafe(no_mangle)]
pub extern "C" fn last_words() -> usize {
    let said = PANIC.take();
    BYTES.with_borrow_mut(|bytes| {
        *bytes = said.into_bytes();
        bytes.len()
    })
}

/// Where the reply is.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    BYTES.with_borrow(|bytes| bytes.as_ptr())
}
