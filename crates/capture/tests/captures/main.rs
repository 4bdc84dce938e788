//! Tests of whole captures, through the interface that the Python module and the command line use.
//!
//! They are one program: each further one would be compiled and linked with the whole simulator once more. Only `tests/hostile.rs` is one
//! of its own, since it counts what is allocated and nothing else may run beside it.

mod agree;
mod anonymize;
mod findings;
mod own;
mod real;
mod several;
mod verdicts;
mod wake_times;
