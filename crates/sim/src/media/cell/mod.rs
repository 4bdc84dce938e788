//! An 802.11 cell: everything that shares one radio channel, as one machine. That is an access point with its stations, several
//! of them in range of each other, or the stations of an ad-hoc network. Two MACs may share one radio: a station that is the
//! access point of another BSS relays on one channel. The MACs may also be those of kernels outside the simulator.
//!
//! Each part owns its fields:
//! * [`access`]: who may send when: contention, and access categories.
//! * [`phy`]: how frames are sent, and which of them are received: modes, the choice among them, aggregates, signals and errors.
//! * [`frame`]: frames and what is recorded of them; in it `parts`, the frames of an exchange and their durations.
//! * `radio`: the radios and their energy ledgers; in it `cause_account`, which divides them by cause.
//! * `air`: the exchange on the air, what each member hears, what a MAC does to the other parts, and the record of frames.
//! * `mac`: access points and stations, with queues (among them [`fq_codel`](crate::media::fq_codel) and those of Linux's mac80211) and the
//!   machines of power save; `group` has the group-addressed traffic of neighbours.
//! * `exchange`: the steps of an exchange on the air, from the access to the end of the acknowledgement or of its time-out; in it `overlap`,
//!   the steps where some stations do not hear each other.
//! * `config`: the settings, and `build`: the constructors.
//! * `interface`: what enters and leaves a cell, and its counts.
//!
//! This module joins them. An exchange takes two wake-ups: when its data frame has arrived (the receiver acts on it), and
//! when the acknowledgement has, or is over and was not received (the sender does). A failed attempt takes one. Contention resumes from its end, after a time
//! that differs between radios:
//! * bystanders of a lone failed frame defer for the NAV that it announced (802.11-2020 10.3.2.4),
//! * bystanders of a collision defer for EIFS (10.3.2.3.7),
//! * a sender waits for its ACKTimeout (10.3.2.11),
//! * the receiver of a broken frame defers for EIFS.
//!
//! What is due at one instant is served in this order: the channel first (the next step of an exchange, or the
//! next access), then the beacon timers of the access points, then each station's power-save machine and its radio.
//!
//! Modelled: AIFS, contention windows, freezing, post-backoff, collisions, EIFS, ACK and ACK time-out, RTS/CTS, retry
//! limit, TXOP bursts, access categories with internal collisions, aggregates with block acknowledgement, propagation delay, a frame error probability per attempt, lost acknowledgements, beacons that contend, group-addressed
//! frames, sleeping receivers, path loss with capture at the access point, A-MSDUs, lifetimes of packets, stations of one access point that do not hear each other.
//! Left out: errors in beacons, control frames and group-addressed frames; several access points, ad-hoc networks and nodes outside of which not all members hear each other.

pub mod access;
mod air;
mod build;
mod config;
mod exchange;
pub mod frame;
mod group;
mod interface;
mod mac;
pub mod phy;
mod radio;
#[cfg(test)]
mod tests;

use std::ops::Range;

use airwatt_base::{Instant, Machine, Schedule, Slot, Span, Timeout};
use airwatt_energy::{Cause, Causes, Ledger, Radio};
use airwatt_proto::powersave::{StationCounts, StationId};

use self::access::category::{Category, CategoryCounts};
use self::access::contention::{ContenderId, Contention};
use self::air::channel::Channel;
use self::air::effects::{Effects, air_of};
use self::air::hidden::Hidden;
use self::air::sniffer::Sniffer;
pub use self::config::{Bss, CellConfig, CellStation, CodelChoice, MsduLifetime, QueueDiscipline, WaitsFrom};
pub use self::group::GroupTraffic;
pub use self::interface::{CellInput, CellOutput, CellStatistics, CellTimer, CellTrace};
use self::mac::{ExternalMac, Mac};
pub use self::phy::aggregation::{
    Aggregation, MAX_PPDU_TIME, MissedBlockAck, max_ampdu_bytes, max_amsdu_bytes, max_window,
};
pub use self::phy::rates::RateControl;
pub use self::phy::snr::ErrorModel;
pub use self::radio::RadioEvent;
use self::radio::{RadioId, Radios};
use crate::engine::Fingerprint;
use crate::media::MediumOutput;
use crate::packet::Packet;
use crate::pending::Pending;
use crate::route::Member;

/// What sends when a contender has won: a category of the frames of a MAC, by a radio.
#[derive(Clone, Copy, Debug)]
struct Contender {
    member: Member,
    category: Category,
    /// `None` if nothing accounts for the energy of the radio.
    radio: Option<RadioId>,
    /// Longest duration of a transmission opportunity; zero allows one frame exchange.
    txop: Span,
}

impl Contender {
    /// Whether the other contender uses the same radio, so that both cannot send at once.
    fn shares_radio(&self, other: &Self) -> bool {
        self.member == other.member || (self.radio.is_some() && self.radio == other.radio)
    }
}

/// One 802.11 cell.
#[derive(Clone, Debug)]
pub struct CellMedium {
    /// BSS by BSS the access point, then its stations.
    macs: Vec<Mac>,
    /// The members that are access points, in the order of their BSSs.
    access_points: Vec<Member>,
    /// The members that are stations, by the numbers of their radios.
    stations: Vec<Member>,
    /// By [`ContenderId`].
    contenders: Vec<Contender>,
    /// Contenders for data that share a radio: of the station, and of the access point.
    pairs: Vec<[Range<ContenderId>; 2]>,
    channel: Channel,
    contention: Contention,
    /// Who hears whom, if not all hear each other. It has the contention then.
    hidden: Option<Box<Hidden>>,
    radios: Radios,
    /// The time of the channel's next step or access; [`Instant::FOREVER`] if there is none. It changes with nearly every event,
    /// so it is kept apart from the schedule.
    medium_due: Instant,
    /// The timers of the access points, then those of the stations.
    schedule: Schedule,
    /// The slot of the first station's power-save timers. The next one is that of its radio; those of other stations follow.
    first_station_slot: Slot,
    /// In order. All are taken at once.
    outputs: Vec<CellOutput>,
    sniffer: Sniffer,
    /// The counts of the categories of data, if they are told apart.
    categories: Option<[CategoryCounts; 4]>,
    /// The contenders of the present access, kept for its memory.
    winners: Vec<ContenderId>,
    /// Whether a PPDU may have several frames.
    aggregates: bool,
    /// Whether packets have lifetimes.
    has_lifetimes: bool,
    /// Whether an access point gives its stations equal air time.
    charges_air_time: bool,
    /// How the present aggregate is shared by causes, and the lengths of its frames, kept for their memory. Empty for a single frame.
    shares: Vec<(Cause, u32)>,
    lengths: Vec<u32>,
}

impl CellMedium {
    /// Member `from` transmits a packet to member `to`: an access point to one of its stations, a station to its access point,
    /// or a station of an ad-hoc network to another.
    pub fn transmit(&mut self, from: Member, to: Member, packet: Packet, now: Instant) {
        let (macs, mut out) = self.split();
        match &mut macs[from as usize] {
            Mac::AccessPoint(mac) => mac.deliver(to, packet, now, &mut out),
            Mac::Station(mac) => mac.enqueue(packet, now, &mut out),
            Mac::Peer(mac) => mac.enqueue(to, packet, now, &mut out),
            Mac::External(_) => unreachable!("a node outside sends frames, not packets"),
        }
        self.update_medium_timer();
    }

    /// The outputs and the timer of the cell.
    #[inline]
    pub(super) fn pending(&self) -> Pending {
        Pending { has_output: !self.outputs.is_empty(), due: self.due() }
    }

    /// Takes all outputs in order.
    pub(super) fn drain(&mut self, mut each: impl FnMut(MediumOutput<'_>)) {
        let began = None;
        for output in &self.outputs {
            each(match output {
                CellOutput::Arrived { at, packet } => MediumOutput::Arrived { at: *at, packet, began },
                CellOutput::Lost(packet) => MediumOutput::Lost { packet, began },
                CellOutput::Window { member, window } => {
                    MediumOutput::Grant { member: *member, window: *window }
                }
                CellOutput::FrameArrived { .. } | CellOutput::FrameEnded { .. } => {
                    unreachable!("nodes outside are no part of a network")
                }
            });
        }
        self.outputs.clear();
    }

    /// Keeps frames, radio states and queue lengths from now on.
    pub fn trace(&mut self) {
        self.sniffer.begin();
        self.radios.trace();
    }

    /// What was kept so far, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.sniffer.kept_bytes() + self.radios.kept_bytes()
    }

    /// Returns what was kept.
    pub(crate) fn take_trace(&mut self) -> Option<CellTrace> {
        let radios = self.radios.take_events();
        let mut trace = self.sniffer.take()?;
        if self.hidden.is_some() {
            // Frames were recorded when they ended.
            trace.frames.sort_by_key(|frame| frame.start);
        }
        Some(CellTrace { radios, ..trace })
    }

    /// Counts so far.
    pub fn statistics(&self) -> CellStatistics {
        let counts = self.channel.counts();
        let mut statistics = CellStatistics {
            frames: counts.frames,
            retries: counts.retries,
            mpdus: self.aggregates.then_some(counts.mpdus),
            collisions: counts.collisions,
            ..CellStatistics::default()
        };
        let mut expired = 0;
        for mac in &self.macs {
            let [given_up, lapsed] = match mac {
                Mac::AccessPoint(mac) => {
                    statistics.ap_drops += mac.buffer_drops;
                    [mac.given_up, mac.expired]
                }
                Mac::Station(mac) => [mac.sender.given_up, mac.sender.expired],
                Mac::Peer(mac) => [mac.sender.given_up, mac.sender.expired],
                Mac::External(mac) => [mac.given_up, 0],
            };
            statistics.given_up += given_up;
            expired += lapsed;
        }
        statistics.expired = self.has_lifetimes.then_some(expired);
        statistics
    }

    /// Packets that the access point of a BSS dropped at its buffers, and that it gave up at the retry limit.
    pub(crate) fn access_point_drops(&self, bss: usize) -> (u64, u64) {
        match self.access_points.get(bss).map(|member| &self.macs[*member as usize]) {
            Some(Mac::AccessPoint(mac)) => (mac.buffer_drops, mac.given_up),
            _ => (0, 0),
        }
    }

    /// The counts of the access categories, if they are told apart, in the order of [`Category::DATA`].
    pub(crate) const fn category_counts(&self) -> Option<&[CategoryCounts; 4]> {
        self.categories.as_ref()
    }

    /// Fingerprints of the frames on the air and of the radios.
    pub const fn fingerprints(&self) -> (Fingerprint, Fingerprint) {
        (self.channel.print(), self.radios.print())
    }

    /// How long frames have been on the air up to `now`.
    pub fn airborne(&self, now: Instant) -> Span {
        self.channel.airborne().until(now)
    }

    /// Counts of a station's power save. Those of an ad-hoc station, which has none, are zero.
    pub fn counts(&self, station: StationId) -> StationCounts {
        match &self.macs[self.stations[station as usize] as usize] {
            Mac::Station(mac) => mac.power_save.counts().clone(),
            Mac::AccessPoint(_) | Mac::Peer(_) | Mac::External(_) => StationCounts::default(),
        }
    }

    /// Whether the power save of every station repeats itself until a packet comes.
    pub fn is_at_rest(&self) -> bool {
        self.macs.iter().all(|mac| match mac {
            Mac::Station(mac) => mac.power_save.is_at_rest(),
            Mac::AccessPoint(mac) => !mac.has_sources() && !mac.has_group(),
            Mac::Peer(_) | Mac::External(_) => true,
        })
    }

    /// A station's ledger.
    pub fn ledger(&self, station: StationId) -> &Ledger {
        self.radios.ledger(station)
    }

    /// What a station's time was spent on.
    pub fn causes(&self, station: StationId) -> &Causes {
        self.radios.causes(station)
    }

    /// The ledger that a station's radio would have if it knew its own traffic, up to `end`: the time of [`CellMedium::finish`].
    pub fn lower_bound(&self, station: StationId, end: Instant) -> Ledger {
        self.radios.lower_bound(station, end)
    }

    /// A station's radio profile.
    pub fn radio(&self, station: StationId) -> &Radio {
        self.radios.profile(station)
    }

    /// Ends the account of every radio at the same instant: `now`, or the end of the last frame or transition that has been
    /// charged, if that is later.
    pub fn finish(&mut self, now: Instant) -> Instant {
        self.radios.finish(now, |radio| air_of(self.hidden.as_deref(), &self.channel, radio))
    }

    /// The MACs, and what their calls may change.
    fn split(&mut self) -> (&mut [Mac], Effects<'_>) {
        let Self { macs, channel, contention, radios, schedule, outputs, sniffer, hidden, .. } = self;
        let hidden = hidden.as_deref_mut();
        (macs, Effects::new(channel, contention, radios, schedule, outputs, sniffer, hidden))
    }

    /// Calls the MAC of a node outside.
    fn with_external(&mut self, member: Member, call: impl FnOnce(&mut ExternalMac, &mut Effects<'_>)) {
        let (macs, mut out) = self.split();
        if let Mac::External(mac) = &mut macs[member as usize] {
            call(mac, &mut out);
        }
        self.update_medium_timer();
    }

    #[inline(never)]
    fn serve(&mut self, slot: Slot, now: Instant) {
        let place = slot.checked_sub(self.first_station_slot);
        let member = match place {
            Some(place) => self.stations[place as usize / 2],
            None => self.access_points[slot as usize],
        };
        let (macs, mut out) = self.split();
        match &mut macs[member as usize] {
            Mac::Station(mac) if place.is_some_and(|place| place % 2 == 1) => mac.awake(now, &mut out),
            Mac::External(mac) => mac.awake(now, &mut out),
            mac => mac.handle_timeout(now, &mut out),
        }
    }

    fn update_medium_timer(&mut self) {
        self.medium_due = match &self.hidden {
            None => {
                let next = self.channel.next_step().or_else(|| self.contention.next_access());
                next.unwrap_or(Instant::FOREVER)
            }
            Some(hidden) => hidden.due(),
        };
    }

    /// The time of the next wake-up; [`Instant::FOREVER`] if there is none.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.schedule.due().min(self.medium_due)
    }
}

impl Machine for CellMedium {
    type Input = CellInput;
    type Output = CellOutput;
    type Reason = CellTimer;

    fn handle_input(&mut self, input: CellInput, now: Instant) {
        match input {
            CellInput::Packet { from, to, packet } => self.transmit(from, to, packet, now),
            CellInput::Frame { from, to, frame } => {
                self.with_external(from, |mac, out| mac.enqueue(to, frame, now, out));
            }
            CellInput::Radio { of, awake: true } => self.with_external(of, |mac, out| mac.wake(now, out)),
            CellInput::Radio { of, awake: false } => self.with_external(of, |mac, out| mac.doze(now, out)),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        loop {
            // The channel is first at equal times.
            if self.medium_due <= now && self.medium_due <= self.schedule.due() {
                self.step(now);
            } else {
                match self.schedule.first() {
                    Some((at, slot)) if at <= now => self.serve(slot, now),
                    _ => return,
                }
            }
            self.update_medium_timer();
        }
    }

    fn poll_output(&mut self) -> Option<CellOutput> {
        (!self.outputs.is_empty()).then(|| self.outputs.remove(0))
    }

    fn poll_timeout(&self) -> Option<Timeout<CellTimer>> {
        let at = self.due();
        let first_station = self.first_station_slot;
        let reason = match self.schedule.first() {
            Some((timer, slot)) if timer < self.medium_due => match slot.checked_sub(first_station) {
                None => CellTimer::Beacon,
                Some(place) if place.is_multiple_of(2) => CellTimer::PowerSave,
                Some(_) => CellTimer::Radio,
            },
            _ => CellTimer::Medium,
        };
        (at < Instant::FOREVER).then_some(Timeout { at, reason })
    }
}
