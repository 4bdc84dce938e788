//! An E2TCP connection that stands, under any packets, calls and passing time: it never panics, and never livelocks.
#![no_main]

#[path = "../operations.rs"]
mod operations;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| operations::run(bytes));
