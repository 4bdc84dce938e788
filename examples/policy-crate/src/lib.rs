//! A power-save policy and a congestion control that are not part of airwatt.
//!
//! Both are written as those in `airwatt_proto` are, so that either file can move there unchanged: see CONTRIBUTING.md, *Adding*.

mod half;
mod nap;

pub use half::Half;
pub use nap::{Nap, NapConfig};
