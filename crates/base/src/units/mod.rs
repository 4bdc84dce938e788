//! Quantities with their unit in the type.
//!
//! Every quantity that influences a decision is an integer: time in nanoseconds, rates in bit/s, sizes in bytes, power
//! in nanowatts, energy in attojoules (1 nW x 1 ns). A quantity parses from text with a unit (`20ms`, `16Mbps`, `50MB`,
//! `390mW`) and prints the shortest text that parses back to the same value. A bare number, a wrong unit, a negative
//! number and a value finer than the resolution are errors that state what is expected. Prefixes are decimal; sizes
//! also take the binary `KiB`, `MiB`, `GiB`.

mod operators;
mod parse;
mod quantity;
mod real;
#[cfg(feature = "serde")]
mod text;
mod time;

pub use parse::ParseQuantityError;
pub use quantity::{Charge, Current, Distance, Energy, Power, QueueLimit, Rate, Size, Voltage};
pub use real::{Dimension, NumberError, Quantity, QuantityError, Quotient, split};
pub use time::{Instant, Span};

#[cfg(test)]
mod tests;
