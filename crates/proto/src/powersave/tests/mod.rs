//! Frame ladders and properties of power save: both machines over a small air.

mod air;
mod ladders;
mod machines;
mod property;
