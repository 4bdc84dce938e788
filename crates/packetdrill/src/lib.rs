//! A runner for the script language of packetdrill over a TCP that is a sans-IO machine.
//!
//! A script (`parser`, `script`) says what an application calls, what its peer sends, and which packets the stack has to send at which
//! times. [`run`] holds a [`Stack`] to it: [`simulated::Simulated`] is the machine of the profile `linux`; the tests of
//! this crate have another one that is the kernel they run on, so that a wrong script is found.
//!
//! The language is packetdrill's (github.com/google/packetdrill), as far as scripts of TCP over IPv4 with one connection use it. Commands
//! are not run: a few words of them are understood (`settings`). Code is not Python but assertions (`expression`).

pub mod expression;
mod outcome;
mod parser;
mod run;
mod scanner;
pub mod script;
pub mod settings;
pub mod simulated;
mod stack;
mod written;

pub use outcome::{Problem, ScriptResult, Tolerance};
pub use parser::parse;
pub use run::run;
pub use stack::{Refused, Sent, Stack};
