//! Scans of other channels by an associated station: how the radio leaves the channel of its access point, and returns.
//!
//! A scan is a number of absences, so that traffic is served between them. Before each, the station announces power save by a
//! Null frame, unless the access point knows of it already, so that the access point buffers what comes. It leaves when that
//! frame is acknowledged or given up, once a service period and the beacon or group-addressed frames that it waits for have
//! ended, and in any case after [`StationConfig::frame_wait`](super::StationConfig::frame_wait). Frames of the policy and of the user wait until it is
//! back; then it announces active mode again, if it is in active mode. Linux's mac80211 scans in this way by software.
//!
//! Left out: what the radio sends and receives on other channels, the time that a change of channel takes, and a scan that is
//! put off because the user's frames wait.

use airwatt_base::settings::{SettingError, in_range};
use airwatt_base::{Instant, Span};

use super::{MacRadio, Power};
use crate::powersave::PowerSaveFrame;
use crate::powersave::interface::{StationOutput, StationTimer};

/// Longest absence: beyond it an access point may take the station for gone.
const MAX_TIME: Span = Span::from_secs(5);
/// Most absences of one scan.
const MAX_ABSENCES: u32 = 100;
/// Longest time between two scans.
const MAX_INTERVAL: Span = Span::from_secs(86_400);

/// Scans of an associated station. The defaults are those of Linux's mac80211 that scans the 13 channels of 2.4 GHz actively: at
/// most 125 ms away, time for two channels, and 200 ms back (`net/mac80211/scan.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScanConfig {
    /// Time from the beginning of a scan to that of the next.
    pub interval: Span,
    /// Time away from the channel of the access point, each time.
    #[serde(default = "default_time")]
    pub time: Span,
    /// How often the radio leaves the channel in a scan.
    #[serde(default = "default_absences")]
    pub absences: u32,
    /// Time back on the channel between two absences.
    #[serde(default = "default_pause")]
    pub pause: Span,
}

const fn default_time() -> Span {
    Span::from_millis(125)
}

const fn default_absences() -> u32 {
    7
}

const fn default_pause() -> Span {
    Span::from_millis(200)
}

impl ScanConfig {
    /// Scans with the defaults of Linux.
    pub const fn every(interval: Span) -> Self {
        Self { interval, time: default_time(), absences: default_absences(), pause: default_pause() }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// A value outside its range, or scans that are longer than their interval.
    pub fn check(&self) -> Result<(), SettingError> {
        in_range("time", self.time, Span::from_millis(1), MAX_TIME)?;
        in_range("absences", self.absences, 1, MAX_ABSENCES)?;
        in_range("pause", self.pause, Span::from_millis(1), MAX_INTERVAL)?;
        let least = (self.time + self.pause) * u64::from(self.absences);
        in_range("interval", self.interval, least, MAX_INTERVAL.max(least))
    }
}

/// The progress of a station's scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It is on the channel of its access point; [`StationTimer::Scan`] runs until the next absence.
    OnChannel,
    /// It prepares to leave.
    Leaving {
        /// The access point knows that the station is in power save, or has been sent a Null frame that says so.
        announced: bool,
        /// The station no longer waits for frames that it expects.
        overdue: bool,
    },
    /// It is on other channels until [`StationTimer::Scan`] expires.
    Away,
}

/// The scans of a station.
#[derive(Clone, Debug)]
pub(super) struct Scans {
    phase: Phase,
    /// Absences that remain of this scan, or those of the next one.
    remaining: u32,
    /// Beginning of the last scan.
    began: Instant,
}

impl Scans {
    pub(super) const fn new() -> Self {
        Self { phase: Phase::OnChannel, remaining: 0, began: Instant::ZERO }
    }

    /// Returns whether the station prepares to leave the channel, so that its own frames wait.
    pub(super) const fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. })
    }

    /// Returns whether the access point takes the station for one in power save because of a scan.
    pub(super) const fn hides_mode(&self) -> bool {
        matches!(self.phase, Phase::Leaving { announced: true, .. } | Phase::Away)
    }
}

impl MacRadio {
    /// Handles [`StationTimer::Scan`]: an absence begins or ends, or the wait for frames that are expected.
    pub(in crate::powersave) fn scan_is_due(&mut self, now: Instant) {
        match self.scans.phase {
            Phase::OnChannel => {
                if self.scans.remaining == 0 {
                    self.scans.remaining = self.config.scan.map_or(0, |scan| scan.absences);
                    self.scans.began = now;
                }
                self.wake(StationTimer::Scan);
                let announced = self.pm && self.announced;
                self.scans.phase = Phase::Leaving { announced, overdue: false };
                self.timers.set(StationTimer::Scan, now + self.config.frame_wait);
            }
            Phase::Leaving { announced, .. } => {
                self.scans.phase = Phase::Leaving { announced, overdue: true };
            }
            Phase::Away => self.return_to_channel(now),
        }
    }

    /// Leaves the channel for the absence that is due, if nothing keeps the radio here.
    pub(super) fn leave_channel_if_possible(&mut self, now: Instant) {
        let (Phase::Leaving { announced, overdue }, Some(scan)) = (self.scans.phase, self.config.scan) else {
            return;
        };
        let is_null = |control: &PowerSaveFrame| matches!(control, PowerSaveFrame::PmNull { .. });
        if self.power != Power::Awake || self.controls.iter().any(is_null) {
            return;
        }
        // The answer to a request would find the radio away.
        if self.negotiation.is_open() && !overdue {
            return;
        }
        if !announced {
            self.scans.phase = Phase::Leaving { announced: true, overdue };
            return self.give_out(PowerSaveFrame::PmNull { pm: true });
        }
        let expects = self.serves()
            || self.awaiting_beacon
            || self.awaiting_group
            || self.stays_for_wake_period()
            || !self.controls.is_empty();
        if expects && !overdue {
            return;
        }
        self.end_group();
        if self.awaiting_beacon {
            self.awaiting_beacon = false;
            self.timers.stop(StationTimer::BeaconWindow);
            self.schedule_beacon(now, 1);
        }
        self.power = Power::Away;
        self.scans.phase = Phase::Away;
        self.timers.set(StationTimer::Scan, now + scan.time);
        self.outputs.push_back(StationOutput::LeaveChannel);
    }

    fn return_to_channel(&mut self, now: Instant) {
        let Some(scan) = self.config.scan else { return };
        self.power = Power::Awake;
        self.scans.phase = Phase::OnChannel;
        self.scans.remaining -= 1;
        let next = if self.scans.remaining > 0 { now + scan.pause } else { self.scans.began + scan.interval };
        self.timers.set(StationTimer::Scan, next.max(now + scan.pause));
        self.outputs.push_back(StationOutput::ReturnToChannel);
        self.give_out_held();
        // Frames of the user announce it as well.
        if !self.pm && self.backlog == 0 && !self.announcing() {
            self.give_out(PowerSaveFrame::PmNull { pm: false });
        }
    }
}
