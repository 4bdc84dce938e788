//! Frame ladders and properties of power save: both machines over a small air.

mod air;
mod ladders;
mod ladders_ba_ta;
mod machines;
mod property;
mod throttling;
