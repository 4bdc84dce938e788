//! The state of a station at the end: its counts, its modes, and the ledgers that bound its energy.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;
use airwatt_energy::{Ledger, RadioState};
use schemars::JsonSchema;
use serde::Serialize;

use super::Finding;
use super::agreements::HeldAgreement;
use crate::packet::AirFrame;
use crate::stations::Station;

/// The power save of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationRecord {
    /// Its address.
    pub mac: MacAddress,
    /// Its cell.
    pub bssid: Option<MacAddress>,
    /// Its association identifier, from the association or a PS-Poll.
    pub aid: Option<u16>,
    /// Whether it had another one earlier in the capture.
    pub aid_changed: bool,
    /// Whether it uses U-APSD, from its association or from EOSP bits; `None` if neither was captured.
    pub uapsd: Option<bool>,
    /// The access categories of which frames trigger and are delivered by U-APSD, by its association ([`AirFrame::requested_uapsd`]).
    pub(super) uapsd_categories: Option<u8>,
    /// Time during which its mode was known.
    pub mode_known: Span,
    /// Of that, in power save (PM = 1).
    pub in_power_save: Span,
    /// Its frames and changes, counted.
    pub counts: ObservedCounts,
    /// Time on the air of what it sent, as far as rates are known.
    pub transmit: Span,
    /// Time on the air of what was sent to it, and of its access point's beacons.
    pub receive: Span,
    /// Of both, while in power save.
    pub awake_in_power_save: Span,
    /// Of those, beacons, which a station in power save may sleep through.
    pub beacons_in_power_save: Span,
    /// Time on the air of all other frames of the capture, which a radio that is awake receives.
    pub bystander: Span,
    /// Whether the rates of most of them are not known, so that it may be more.
    pub bystander_unknown: bool,
    /// Frames counted in both.
    pub timed_frames: u32,
    /// Frames to and from it whose rate is not known.
    pub untimed_frames: u32,
}

/// The frames and changes of a station, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObservedCounts {
    /// Changes of the PM bit.
    pub pm_changes: u32,
    /// PS-Polls.
    pub ps_polls: u32,
    /// Frames that opened a service period.
    pub triggers: u32,
    /// Null and QoS Null frames that it sent.
    pub nulls: u32,
    /// Data frames with a body that it sent, without retransmissions.
    pub data_up: u32,
    /// Data frames with a body that were sent to it, without retransmissions.
    pub data_down: u32,
    /// Beacons of its access point while its association identifier was known.
    pub beacons: u32,
    /// Of those, with its TIM bit set.
    pub tim_set: u32,
}

impl StationRecord {
    /// The station has gone to another cell, which assigns another association identifier.
    pub(super) fn forget_aid(&mut self) {
        self.aid_changed |= self.aid.take().is_some();
    }

    /// Whether a frame of the station in power save opens a service period: a QoS frame of an access category whose frames are triggers
    /// (802.11-2020 11.2.3.5 and table 10-1).
    pub(crate) fn is_trigger(&self, frame: &AirFrame) -> bool {
        let category = match frame.tid {
            Some(6 | 7) => 1,
            Some(4 | 5) => 2,
            Some(1 | 2) => 4,
            _ => 8,
        };
        frame.control.kind.is_qos()
            && self.uapsd == Some(true)
            && self.uapsd_categories.is_none_or(|categories| categories & category != 0)
    }

    /// With what else is on the air, of which `all` is the total.
    pub(super) fn beside(mut self, all: AirTotal) -> Self {
        self.bystander = all.span.saturating_sub(self.transmit + self.receive);
        let timed = all.timed_frames.saturating_sub(self.timed_frames);
        self.bystander_unknown = all.untimed_frames.saturating_sub(self.untimed_frames) > timed;
        self
    }

    /// With the times in its modes that frames of the station show.
    pub(super) fn in_modes(mut self, modes: &[ModeSpan]) -> Self {
        for mode in modes.iter().filter(|mode| mode.is_known) {
            let span = mode.until.saturating_since(mode.from);
            self.mode_known += span;
            if mode.in_power_save {
                self.in_power_save += span;
            }
        }
        self
    }

    /// The policy whose frames the station's are: by PS-Polls, triggers and changes of the PM bit. `None` if it has none of them and its
    /// mode is not known, or it slept all the time.
    pub fn policy(&self) -> Option<&'static str> {
        let ObservedCounts { ps_polls, triggers, pm_changes, .. } = self.counts;
        if ps_polls.max(triggers).max(pm_changes) == 0 {
            return (!self.mode_known.is_zero() && self.in_power_save.is_zero()).then_some("active");
        }
        Some(if pm_changes >= ps_polls.max(triggers) {
            "timeout"
        } else if ps_polls >= triggers {
            "psm-legacy"
        } else {
            "psm"
        })
    }

    /// Two ledgers of the radio over `covered`: one of a radio that sleeps unless the station is known to be in active mode or has a
    /// frame on the air, and receives nothing else, and one of a radio that never sleeps and receives all that is on the air. Its energy
    /// lies between. `None` unless the rates of most
    /// frames are known, since nothing is measured otherwise.
    pub fn ledgers(&self, covered: Span) -> Option<(Ledger, Ledger)> {
        if self.timed_frames <= self.untimed_frames {
            return None;
        }
        let busy = self.transmit + self.receive;
        let active = self.mode_known.saturating_sub(self.in_power_save);
        let awake = active.saturating_sub(busy.saturating_sub(self.awake_in_power_save));
        let total = covered.max(busy + awake);
        let ledger = |receiving: Span, listening: Span| {
            let mut ledger = Ledger::new(Instant::ZERO);
            let mut until = Instant::ZERO;
            let asleep = total.saturating_sub(self.transmit + receiving + listening);
            for (state, span) in [
                (RadioState::Transmit, self.transmit),
                (RadioState::Receive, receiving),
                (RadioState::Sleep, asleep),
                (RadioState::Listen, listening),
            ] {
                until += span;
                ledger.spend(state, until);
            }
            ledger
        };
        let rest = total.saturating_sub(busy);
        let others = if self.bystander_unknown { rest } else { self.bystander.min(rest) };
        let own = self.receive.saturating_sub(self.beacons_in_power_save);
        Some((ledger(own, awake), ledger(self.receive + others, rest.saturating_sub(others))))
    }
}

/// A time during which the power-management mode of a station was known and did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeSpan {
    /// Its begin.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
    /// Whether the station was in power save.
    pub in_power_save: bool,
    /// Whether a frame of the station follows that shows it. After its last frame the mode goes on by assumption alone.
    pub is_known: bool,
}

/// A time that a station spends with one access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The access point.
    pub bssid: MacAddress,
    /// The station's association identifier, if a frame shows it: the last one.
    pub aid: Option<u16>,
    /// The packet from which on the station is there; 0 of the first stay, since nothing says that it was elsewhere before.
    pub from: u32,
}

/// The stays of one station, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    list: Vec<Stay>,
    /// The packet by which the station joined the first of them; 0 if it was there before.
    joined: u32,
}

impl Stays {
    /// The station comes to an access point, as a packet shows, which may be one by which it `joins`.
    pub(super) fn arrive(&mut self, bssid: MacAddress, packet: u32, joins: bool) {
        if self.list.is_empty() && joins {
            self.joined = packet;
        }
        self.list.push(Stay { bssid, aid: None, from: if self.list.is_empty() { 0 } else { packet } });
    }

    /// A packet shows the association identifier of the station where it is. Returns whether it had another one there.
    pub(super) fn has_aid(&mut self, aid: u16, packet: u32) -> bool {
        let Some(last) = self.list.last_mut() else { return false };
        let has_changed = last.aid.is_some_and(|before| before != aid);
        if has_changed {
            let stay = Stay { bssid: last.bssid, aid: Some(aid), from: packet };
            self.list.push(stay);
        } else {
            last.aid = Some(aid);
        }
        has_changed
    }

    /// The stay during which a packet was captured.
    pub(crate) fn at(&self, packet: u32) -> Option<&Stay> {
        let after = self.list.partition_point(|stay| stay.from <= packet);
        self.list[..after].last()
    }

    /// Whether the station had not joined its first access point when a packet was captured.
    pub(crate) fn is_before(&self, packet: u32) -> bool {
        packet < self.joined
    }

    /// Whether the station was with an access point when a packet was captured.
    pub(crate) fn is_with(&self, bssid: MacAddress, packet: u32) -> bool {
        self.at(packet).is_some_and(|stay| stay.bssid == bssid)
    }

    /// Each access point once, in the order in which the station came to them first, with the last association identifier there.
    pub fn access_points(&self) -> Vec<Stay> {
        let mut once: Vec<Stay> = Vec::new();
        let mut places: BTreeMap<MacAddress, usize> = BTreeMap::new();
        for stay in &self.list {
            let place = *places.entry(stay.bssid).or_insert(once.len());
            match once.get_mut(place) {
                Some(other) => other.aid = stay.aid.or(other.aid),
                None => once.push(*stay),
            }
        }
        once
    }

    /// Whether the station was ever with an access point.
    pub(crate) fn ever_with(&self, bssid: MacAddress) -> bool {
        self.list.iter().any(|stay| stay.bssid == bssid)
    }
}

/// The power save of all stations of an 802.11 capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Stations in order of address.
    pub stations: Vec<StationRecord>,
    /// The modes of each station, in order of time.
    pub modes: BTreeMap<MacAddress, Vec<ModeSpan>>,
    /// With which access points each station was, and from when on.
    pub stays: BTreeMap<MacAddress, Stays>,
    /// The agreements on sleep of each station that had any, in order of time.
    pub agreements: BTreeMap<MacAddress, Vec<HeldAgreement>>,
    /// Findings by kind and station.
    pub findings: Vec<Finding>,
}

impl Observations {
    /// With which access points a station was.
    pub(crate) fn stays_of(&self, mac: MacAddress) -> &Stays {
        const NONE: &Stays = &Stays { list: Vec::new(), joined: 0 };
        self.stays.get(&mac).unwrap_or(NONE)
    }

    /// The policy of a station that the frames of an 802.11 capture show.
    pub(crate) fn policy_of(&self, station: &Station) -> Option<&'static str> {
        let Station::Mac(mac) = station else { return None };
        self.stations.iter().find(|record| record.mac == *mac)?.policy()
    }
}

/// Time on the air of a number of frames, as far as their rates are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AirTotal {
    pub(super) span: Span,
    pub(super) timed_frames: u32,
    pub(super) untimed_frames: u32,
}

impl AirTotal {
    pub(super) fn add(&mut self, frame: &AirFrame) {
        if let Some(span) = frame.air_time() {
            self.span += span;
            self.timed_frames += 1;
        } else {
            self.untimed_frames += 1;
        }
    }
}
