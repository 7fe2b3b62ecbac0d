//! The Rust blocks of the docs' pages, compiled and run as doctests: a page with Rust in it is named here.

#[cfg(doctest)]
#[doc = include_str!("../../tutorials/programmer.md")]
struct Programmer;
