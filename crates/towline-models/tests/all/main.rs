//! Models from outside: what they report, what they make of formulas, tables and damage. One binary of tests: linking is what
//! takes time.

mod correlation;
mod fuzz;
mod lme4;
mod reference;
