//! Constantly awake mode: PM = 0 on every frame, no beacons, no timers, no sleep.

use super::Rules;

#[derive(Clone, Debug)]
pub(super) struct Active;

impl Rules for Active {}
