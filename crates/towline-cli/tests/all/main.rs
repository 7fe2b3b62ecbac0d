//! The command as its users meet it: the binary, in temporary folders. One binary of tests: linking is what takes time.

mod answers;
mod damaged;
mod first_hour;
mod fit;
mod input;
mod paper;
mod report;
mod run;
mod summary;
mod weigh;
