//! The foundation of all other crates.
//!
//! * [`units`]: time in integer nanoseconds, rates, sizes, power, energy; each parses and prints with its unit.
//! * `random`: named random streams derived from one seed.
//! * `schedule`: a deterministic queue of wake-ups, one slot a machine.
//! * `seq`: 32-bit sequence numbers that wrap.
//! * [`percentile`]: percentiles of samples and of counts.
//! * [`machine`]: the contract that every protocol, link, queue and radio machine obeys.
//! * `sleep_clock`: the clock of a dozing radio and the guard time that its error requires.
//! * `timers`: a table of timers, each with the reason why it runs.
//! * [`settings`]: settings of mechanisms, how they are read and checked, and the errors of those that cannot be.
//! * `printable`: texts of others, without what a terminal obeys.
//! * `system_error`: the texts of errors of the operating system.
//! * `text_file`: files of settings, of a bounded length.
//! * [`testkit`]: the conformance test that every machine has to pass.
//!
//! Nothing here reads a clock, opens a socket or draws an unseeded number.

pub mod machine;
pub mod percentile;
mod printable;
mod random;
mod schedule;
mod seq;
pub mod settings;
mod sleep_clock;
mod system_error;
pub mod testkit;
mod text_file;
mod timers;
pub mod units;

pub use machine::{Machine, Timeout};
pub use printable::Printable;
pub use random::RandomStream;
pub use schedule::{Schedule, Slot};
pub use seq::Seq;
pub use sleep_clock::{SleepClock, time_shown};
pub use system_error::reason_of;
pub use text_file::read_text;
pub use timers::{TimerKind, TimerTable};
pub use units::{
    Charge, Current, Dimension, Distance, Energy, Instant, ParseQuantityError, Power, Quantity, QueueLimit,
    Rate, Size, Span, Voltage,
};
