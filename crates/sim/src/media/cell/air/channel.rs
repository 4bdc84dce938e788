//! The radio channel: the exchange on the air, its duration, its outcome, and the time during which frames were on the air.
//!
//! The outcome of an attempt is decided when it begins, because nothing that happens meanwhile can change it. The channel
//! knows durations, propagation, noise and signal strengths. It knows neither queues nor radios; the caller says whether
//! the receiver is awake.
//!
//! Where some stations do not hear each other, `hidden` and `overlap` decide instead, as things happen. Frames of two exchanges overlap
//! there without beginning together; elsewhere all radios receive all frames, and carrier sense prevents that. Left out: different signals
//! between the stations of different access points.

use airwatt_base::{Instant, RandomStream, Span};
use airwatt_dot11::TxVector;
use airwatt_energy::BeaconReception;

use crate::engine::Fingerprint;
use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::config::{CellConfig, CellStation};
use crate::media::cell::frame::parts::{Airborne, Parts, Plan};
use crate::media::cell::frame::{
    ACK_BYTES, CTS_BYTES, CellFrameKind, ModeId, MpduSet, Ppdu, RTS_BYTES, Receiver, after_tim_bytes,
};
use crate::media::cell::phy::aggregation::MAX_PPDU_TIME;
use crate::media::cell::phy::mode::{Link, Mode, Modes};
use crate::media::cell::phy::propagation;
use crate::media::cell::phy::rates::RateControl;
use crate::media::cell::phy::snr::{self, ByteErrors, ErrorModel};
use crate::route::Member;
/// What the channel has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Contention is decided.
    Access,
    /// The TIM of a beacon has arrived.
    TimArrived,
    /// The data frame of a successful exchange has arrived.
    Arrived,
    /// The acknowledgement of a successful exchange has arrived.
    Acknowledged,
    /// The acknowledgement is over, and was received wrongly.
    ResponseLost,
    /// The frame of a failed attempt is over.
    Failed,
    /// The longest of several simultaneous frames is over.
    CollisionEnded,
    /// The next of several exchanges, where some stations do not hear each other.
    Overlap,
}

/// The state of the channel.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Contention runs.
    Idle,
    /// One frame is on its way and will be acknowledged, or is a beacon.
    Exchange(Exchange),
    /// One frame is on its way and will not be acknowledged.
    Failure(Exchange),
    /// Several frames began together and none will be acknowledged.
    Collision {
        /// When the longest of the frames ends.
        end: Instant,
    },
    /// Some stations do not hear each other: `hidden` has what is on the air.
    Overlaps,
}

/// One attempt at one frame.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// The index of its PPDU.
    index: usize,
    /// When the frame has arrived.
    data_end: Instant,
    /// When the acknowledgement has arrived.
    end: Instant,
    /// When the TIM of a beacon has arrived, until that has been handled; `None` if no station dozes before the end of a
    /// beacon.
    tim_end: Option<Instant>,
    /// Whether the arrival of the frame has been handled.
    arrived: bool,
    /// End of the sender's transmission opportunity.
    txop_end: Instant,
    /// Whether an RTS was sent and not answered.
    rts_failed: bool,
    /// Whether the response is received.
    response: bool,
}

/// Counts of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelCounts {
    /// Attempts to send a frame that carries data, control or a beacon; RTS, CTS and ACK are not counted.
    pub(crate) frames: u64,
    /// Attempts after the first.
    pub(crate) retries: u64,
    /// Frames in these attempts.
    pub(crate) mpdus: u64,
    /// Accesses at which more than one MAC entity began to send.
    pub(crate) collisions: u64,
}

/// The signal path between a station and its access point.
#[derive(Clone, Copy, Debug)]
struct Path {
    propagation: Span,
    /// Probability that a byte at the link's data rate is received wrongly.
    byte_error_rate: f64,
    /// Received signal in milliwatts.
    signal_mw: f64,
}

/// How errors follow from signals, where they depend on more than a station's own mode.
#[derive(Clone, Copy, Debug)]
struct SignalErrors {
    model: ErrorModel,
    noise_figure_db: f64,
}

/// One radio channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    modes: Modes,
    times: FrameTimes,
    /// What follows the TIM of a beacon, in bytes.
    after_tim_bytes: u32,
    frame_error_rate: f64,
    response_error_rate: f64,
    capture_ratio: Option<f64>,
    /// The paths of stations by member; access points have none.
    paths: Vec<Option<Path>>,
    /// `None` if they are those of the paths.
    signal_errors: Option<SignalErrors>,
    /// The errors of a station's path by mode, by member; empty where they are those of the path.
    errors: Vec<Vec<ByteErrors>>,
    state: State,
    /// The frames of the present access, in the order of their contenders.
    ppdus: Vec<Ppdu>,
    /// The frames that the receiver of the present exchange gets.
    received: MpduSet,
    airborne: Airborne,
    noise: RandomStream,
    counts: ChannelCounts,
    print: Fingerprint,
    /// Longest time during which a transmission that has begun is not noticed: the longest propagation delay, at most a slot.
    pub(crate) blind: Span,
    /// Whether a station dozes after the TIM of a beacon.
    announces_tim: bool,
}

impl Channel {
    /// Makes an idle channel without members.
    pub(crate) fn new(config: &CellConfig, noise: RandomStream) -> Self {
        let CellConfig { standard, short_preamble, data, .. } = *config;
        let others = [config.control, config.beacon, config.group_data];
        let modes = Modes::new(standard, short_preamble, data, others, &config.aggregation);
        Self {
            times: FrameTimes::new(config, &modes),
            modes,
            after_tim_bytes: after_tim_bytes(config.beacon_bytes),
            frame_error_rate: config.frame_error_rate,
            response_error_rate: config.response_error_rate,
            capture_ratio: config.capture_ratio,
            paths: Vec::new(),
            signal_errors: (config.errors != ErrorModel::Sensitivity
                || config.rate_control != RateControl::Fixed)
                .then_some(SignalErrors { model: config.errors, noise_figure_db: config.noise_figure_db }),
            errors: Vec::new(),
            state: State::Idle,
            ppdus: Vec::new(),
            received: MpduSet::default(),
            airborne: Airborne::default(),
            noise,
            counts: ChannelCounts::default(),
            print: Fingerprint::default(),
            blind: Span::ZERO,
            announces_tim: false,
        }
    }

    /// Adds an access point as the next member.
    pub(crate) fn add_access_point(&mut self) {
        self.paths.push(None);
        self.errors.push(Vec::new());
    }

    /// Adds a station as the next member, to and from which data may have these modes beside its own. Returns its own mode and these.
    pub(crate) fn add_station(
        &mut self,
        station: &CellStation,
        groups: &[Vec<TxVector>],
    ) -> (ModeId, Vec<ModeId>) {
        self.blind = self.blind.max(station.propagation.min(self.times.slot));
        self.announces_tim |= station.radio.beacon_reception == BeaconReception::Tim;
        self.paths.push(Some(Path {
            propagation: station.propagation,
            byte_error_rate: station.signal_dbm.map_or(0.0, |dbm| {
                let needed = propagation::sensitivity_dbm(&station.data);
                propagation::byte_error_rate(dbm - needed)
            }),
            signal_mw: station.signal_dbm.map_or(1.0, propagation::milliwatts),
        }));
        let own = self.modes.of_link(station.data);
        let others = groups.iter().flatten().map(|vector| self.modes.of_link(*vector)).collect();
        let errors = match (self.signal_errors, station.signal_dbm) {
            (Some(errors), Some(signal_dbm)) => {
                self.modes.iter().map(|mode| errors.of(&mode.vector, signal_dbm)).collect()
            }
            _ => Vec::new(),
        };
        self.errors.push(errors);
        (own, others)
    }

    /// A link to or from a station, for frames of a category with this TXOP limit.
    pub(crate) fn link(
        &self,
        config: &CellConfig,
        station: &CellStation,
        mode: ModeId,
        (category, txop): (Category, Span),
    ) -> Link {
        let most = if txop.is_zero() { MAX_PPDU_TIME * 2 } else { txop };
        let uses_rts = config.station_rts_threshold.or(config.ap_rts_threshold).is_some()
            || config.txop_duration_rts_threshold.is_some()
            || config.rts_after_failures.is_some()
            || config.rate_control != RateControl::Fixed;
        let rts = if uses_rts { self.times.rts + self.times.cts + self.times.sifs * 2 } else { Span::ZERO };
        let air = (rts + station.propagation * 4).min(most);
        let mut link = self.modes.link(mode, &config.aggregation, (category, most - air));
        if let Some(longest) = config.txop_duration_rts_threshold {
            let Mode { layout, ack, block_ack, .. } = self.modes.get(mode);
            link.rts_above = [*ack, *block_ack]
                .map(|response| layout.bytes_within(longest.saturating_sub(self.times.sifs + response)));
        }
        link.rts_after = config.rts_after_failures.unwrap_or(u16::MAX);
        link.lifetime = config.msdu_lifetime.by_category().get(category as usize).copied().flatten();
        link
    }

    /// The transmit modes.
    pub(crate) const fn modes(&self) -> &Modes {
        &self.modes
    }

    /// The sum of the time during which frames were on the air.
    pub(crate) const fn airborne(&self) -> &Airborne {
        &self.airborne
    }

    /// Counts so far.
    pub(crate) const fn counts(&self) -> ChannelCounts {
        self.counts
    }

    /// The frames that the receiver of the present exchange gets.
    pub(crate) const fn received(&self) -> &MpduSet {
        &self.received
    }

    /// Fingerprint of the frames on the air.
    pub(crate) const fn print(&self) -> Fingerprint {
        self.print
    }

    /// Short inter-frame space.
    pub(crate) const fn sifs(&self) -> Span {
        self.times.sifs
    }

    /// How much longer than DIFS contention waits after a frame that was received wrongly (802.11-2020 10.3.2.3.7).
    pub(crate) const fn eifs_less_difs(&self) -> Span {
        self.times.eifs_less_difs
    }

    /// How long a sender waits for the response to its frame (10.3.2.11).
    pub(crate) const fn response_timeout(&self) -> Span {
        self.times.response_timeout
    }

    /// The time at which the next step is due, unless contention runs.
    pub(crate) fn next_step(&self) -> Option<Instant> {
        match &self.state {
            State::Idle | State::Overlaps => None,
            State::Exchange(exchange) if exchange.arrived => Some(exchange.end),
            State::Exchange(Exchange { tim_end: Some(tim_end), .. }) => Some(*tim_end),
            State::Exchange(exchange) | State::Failure(exchange) => Some(exchange.data_end),
            State::Collision { end } => Some(*end),
        }
    }

    /// The step that is due. The second call during a successful exchange returns the step after the first.
    pub(crate) fn step(&mut self) -> Step {
        match &mut self.state {
            State::Idle => Step::Access,
            State::Exchange(Exchange { arrived: true, response: false, .. }) => Step::ResponseLost,
            State::Exchange(exchange) if exchange.arrived => Step::Acknowledged,
            State::Exchange(exchange) => {
                if exchange.tim_end.take().is_some() {
                    return Step::TimArrived;
                }
                exchange.arrived = true;
                Step::Arrived
            }
            State::Failure(_) => Step::Failed,
            State::Collision { .. } => Step::CollisionEnded,
            State::Overlaps => Step::Overlap,
        }
    }

    /// Whether a frame of the contender is on the air.
    pub(crate) fn is_sending(&self, contender: ContenderId) -> bool {
        !matches!(self.state, State::Idle) && self.ppdus.iter().any(|ppdu| ppdu.contender == contender)
    }

    /// The frames of the present or last access.
    pub(crate) fn ppdus(&self) -> &[Ppdu] {
        &self.ppdus
    }

    /// The index of the frame that is acknowledged or fails in this exchange; 0 if all frames fail.
    pub(crate) const fn current(&self) -> usize {
        match &self.state {
            State::Exchange(exchange) | State::Failure(exchange) => exchange.index,
            State::Idle | State::Collision { .. } | State::Overlaps => 0,
        }
    }

    /// Whether another exchange of `ppdu`, after a SIFS at `now`, fits the transmission opportunity (802.11-2020 10.23.2.8).
    pub(crate) fn fits(&self, ppdu: &Ppdu, now: Instant) -> bool {
        let State::Exchange(exchange) = &self.state else { return false };
        now + self.times.sifs + self.plan(ppdu).total() <= exchange.txop_end
    }

    /// End of the present transmission opportunity.
    pub(crate) fn txop_end(&self) -> Option<Instant> {
        match &self.state {
            State::Exchange(exchange) => Some(exchange.txop_end),
            _ => None,
        }
    }

    /// When the frame of the present exchange has arrived.
    pub(crate) fn data_end(&self) -> Instant {
        match &self.state {
            State::Exchange(exchange) | State::Failure(exchange) => exchange.data_end,
            State::Idle | State::Collision { .. } | State::Overlaps => {
                unreachable!("an exchange is under way")
            }
        }
    }

    /// Several exchanges may be under way from now on: some stations do not hear each other.
    pub(crate) const fn overlap(&mut self) {
        self.state = State::Overlaps;
    }

    /// Counts an attempt of the exchange with this index, which begins at `start`, and whether another one `collides` with it.
    pub(crate) fn count_attempt(&mut self, index: usize, start: Instant, collides: bool) {
        let ppdu = &self.ppdus[index];
        self.counts.frames += 1;
        self.counts.retries += u64::from(ppdu.retry);
        self.counts.mpdus += u64::from(ppdu.count);
        self.counts.collisions += u64::from(collides);
        self.print.add(start.as_nanos());
        self.print.add(u64::from(ppdu.contender) << 32 | u64::from(ppdu.sequence));
    }

    /// Puts one frame of several exchanges on the air.
    pub(crate) fn put_on_air(&mut self, start: Instant, end: Instant) {
        self.airborne.add_heard(start, end, start);
    }

    /// Says which frames of one of several exchanges its receiver gets.
    pub(crate) fn set_received(&mut self, received: MpduSet) {
        self.received = received;
        received.words().iter().for_each(|word| self.print.add(*word));
    }

    /// Removes the PPDU of one of several exchanges.
    pub(crate) fn remove(&mut self, index: usize) {
        self.ppdus.remove(index);
    }

    /// Whether noise destroys a frame of so many bytes in the PPDU.
    pub(crate) fn is_noisy(&mut self, ppdu: &Ppdu, bytes: u32) -> bool {
        let noise = self.noise_of(ppdu, bytes);
        noise > 0.0 && self.noise.chance(noise)
    }

    /// Whether noise destroys a response.
    pub(crate) fn loses_response(&mut self) -> bool {
        self.response_error_rate > 0.0 && self.noise.chance(self.response_error_rate)
    }

    /// The signal of a member at its access point, in milliwatts.
    pub(crate) fn signal_mw(&self, member: Member) -> f64 {
        self.paths[usize::from(member)].map_or(1.0, |path| path.signal_mw)
    }

    /// From the beginning of a beacon to the end of its TIM, if a station dozes from there on.
    pub(crate) fn time_to_tim(&self, ppdu: &Ppdu) -> Option<Span> {
        (self.announces_tim && ppdu.kind == CellFrameKind::Beacon).then(|| self.tim_time(ppdu))
    }

    /// How long after an RTS its NAV ends if nothing follows (802.11-2020 10.3.2.4).
    pub(crate) fn nav_timeout(&self) -> Span {
        let times = &self.times;
        (times.sifs + times.slot) * 2 + times.cts + times.rx_start_delay
    }

    /// Ends the present exchange: contention may run.
    pub(crate) fn release(&mut self) {
        self.state = State::Idle;
    }

    /// Begins a new exchange without frames. What was on the air belongs to the past.
    pub(crate) fn clear(&mut self) {
        self.ppdus.clear();
        self.airborne.fold();
    }

    /// Adds a frame to the exchange that is about to begin.
    pub(crate) fn add(&mut self, ppdu: Ppdu) {
        self.ppdus.push(ppdu);
    }

    /// Lets the only frame of this access begin without an RTS.
    pub(crate) fn omit_rts(&mut self) {
        self.ppdus[0].rts = false;
    }

    /// Puts the only frame of this access on the air. `hears` says whether its receiver is awake. `lengths` are those of the
    /// frames of an aggregate. Returns the frames of the exchange.
    pub(crate) fn begin_alone(
        &mut self,
        hears: bool,
        lengths: &[u32],
        start: Instant,
        txop_end: Instant,
    ) -> Parts {
        let ppdu = &self.ppdus[0];
        let contender = u64::from(ppdu.contender);
        self.counts.frames += 1;
        self.counts.retries += u64::from(ppdu.retry);
        self.counts.mpdus += u64::from(ppdu.count);
        self.print.add(start.as_nanos());
        let plan = self.plan(ppdu);
        let mut parts = Parts::default();
        let exchange = |data_end, end, rts_failed| Exchange {
            index: 0,
            data_end,
            end,
            tim_end: None,
            arrived: false,
            txop_end,
            rts_failed,
            response: true,
        };
        if ppdu.kind == CellFrameKind::Trigger {
            // What answers it is an exchange of its own.
            let (ppdu, end) = (*ppdu, start + plan.data_time + plan.tau);
            self.received = MpduSet::default();
            let received = hears && !self.is_noisy(&ppdu, ppdu.bytes);
            self.print.add(contender << 32 | u64::from(received));
            parts.push(ppdu.kind, start, plan.data_time, true, received);
            self.airborne.add(start, start + plan.data_time);
            let exchange = exchange(end, end, false);
            self.state = if received { State::Exchange(exchange) } else { State::Failure(exchange) };
            return parts;
        }
        if ppdu.to == Receiver::Group {
            self.received = MpduSet::first(1);
            self.print.add(contender << 32);
            parts.push(ppdu.kind, start, plan.data_time, true, true);
            self.airborne.add(start, start + plan.data_time);
            let end = start + plan.data_time;
            let tim_end = (self.announces_tim && ppdu.kind == CellFrameKind::Beacon)
                .then(|| start + self.tim_time(ppdu));
            self.state = State::Exchange(Exchange { tim_end, ..exchange(end, end, false) });
            return parts;
        }
        let rts_failed = plan.rts && !hears;
        self.received = MpduSet::default();
        let received = hears && self.draw_received(lengths);
        let response =
            received && !(self.response_error_rate > 0.0 && self.noise.chance(self.response_error_rate));
        let ppdu = &self.ppdus[0];
        self.print.add(contender << 32 | u64::from(ppdu.sequence) << 8 | u64::from(received));
        if ppdu.count > 1 {
            self.received.words().iter().for_each(|word| self.print.add(*word));
        }
        plan.lay_out(ppdu.kind, start, [received, response], rts_failed, &mut parts);
        for part in parts.iter() {
            self.airborne.add(part.start, part.start + part.duration);
        }
        let data_end = if rts_failed { plan.rts_time } else { plan.before_data + plan.data_time };
        let data_end = start + data_end + plan.tau;
        let end = data_end + plan.sifs + plan.ack_time + plan.tau;
        let exchange = Exchange { response, ..exchange(data_end, end, rts_failed) };
        self.state = if received { State::Exchange(exchange) } else { State::Failure(exchange) };
        parts
    }

    /// Decides which frames of the only PPDU of this access are received. Returns whether any is.
    fn draw_received(&mut self, lengths: &[u32]) -> bool {
        let ppdu = self.ppdus[0];
        if ppdu.count == 1 {
            let noise = self.noise_of(&ppdu, ppdu.bytes);
            let received = !(noise > 0.0 && self.noise.chance(noise));
            if received {
                self.received.insert(0);
            }
            return received;
        }
        for (place, bytes) in (0..).zip(lengths) {
            let noise = self.noise_of(&ppdu, *bytes);
            if !(noise > 0.0 && self.noise.chance(noise)) {
                self.received.insert(place);
            }
        }
        !self.received.is_empty()
    }

    /// Puts several frames on the air together. [`Channel::colliding`] has what each of them sends.
    pub(crate) fn begin_together(&mut self, now: Instant) {
        self.counts.collisions += 1;
        let end = self.ppdus.iter().map(|ppdu| now + self.colliding_time(ppdu)).max().unwrap_or(now);
        self.airborne.add(now, end);
        for ppdu in &self.ppdus {
            self.counts.frames += 1;
            self.counts.retries += u64::from(ppdu.retry);
            self.counts.mpdus += u64::from(ppdu.count);
            self.print.add(now.as_nanos());
            self.print.add(u64::from(ppdu.contender) << 32 | 0xff);
        }
        self.state = State::Collision { end };
    }

    /// What one of several simultaneous senders puts on the air: its RTS or its frame.
    pub(crate) fn colliding(&self, ppdu: &Ppdu, now: Instant) -> Parts {
        let mut parts = Parts::default();
        let kind = if ppdu.rts { CellFrameKind::Rts } else { ppdu.kind };
        parts.push(kind, now, self.colliding_time(ppdu), true, false);
        parts
    }

    /// Decides whether one of the simultaneous frames is received all the same, and returns its index and
    /// its acknowledgement, with the time at which that begins.
    /// The acknowledgement follows the end of the longest frame, and is never lost. Radios that receive it have no EIFS to wait, and the senders
    /// of the other frames learn of their failure from it.
    ///
    /// Only access points capture, so all senders have to be stations of one access point.
    pub(crate) fn capture(&mut self, now: Instant) -> Option<(usize, Instant, Parts)> {
        let State::Collision { end } = self.state else { return None };
        let index = self.strongest()?;
        let ppdu = &self.ppdus[index];
        let plan = self.plan(ppdu);
        // An aggregate that is captured is received as a whole, or not at all.
        let noise = self.noise_of(ppdu, ppdu.bytes);
        if plan.rts || (noise > 0.0 && self.noise.chance(noise)) {
            return None;
        }
        let data_end = end + plan.tau;
        let acknowledged = data_end + plan.sifs;
        let mut parts = Parts::default();
        parts.push(plan.response, acknowledged, plan.ack_time, false, true);
        self.airborne.add(acknowledged, acknowledged + plan.ack_time);
        let end = acknowledged + plan.ack_time + plan.tau;
        let (arrived, rts_failed) = (false, false);
        self.state = State::Exchange(Exchange {
            index,
            data_end,
            end,
            tim_end: None,
            arrived,
            txop_end: now,
            rts_failed,
            response: true,
        });
        self.received = MpduSet::first(self.ppdus[index].count);
        Some((index, acknowledged, parts))
    }

    /// How long bystanders of a failed attempt defer, from its end at `now`: the NAV that it announced.
    pub(crate) fn deferral(&self, now: Instant) -> Instant {
        let times = &self.times;
        match &self.state {
            // The NAV that an RTS has set ends when no data frame follows (10.3.2.4).
            State::Failure(exchange) if exchange.rts_failed => now + self.nav_timeout(),
            _ => now + times.sifs + self.plan(&self.ppdus[0]).ack_time,
        }
    }

    /// The time for which the frame is on the air.
    pub(crate) fn frame_time(&self, ppdu: &Ppdu) -> Span {
        self.modes.get(ppdu.mode).layout.time(ppdu.bytes)
    }

    /// Durations of the parts of the exchange of a frame.
    #[inline]
    pub(crate) fn plan(&self, ppdu: &Ppdu) -> Plan {
        let times = &self.times;
        let tau = self.path(ppdu).map_or(Span::ZERO, |path| path.propagation);
        let mode = self.modes.get(ppdu.mode);
        let FrameTimes { rts: rts_time, cts: cts_time, .. } = *times;
        let before_data = if ppdu.rts { rts_time + cts_time + (times.sifs + tau) * 2 } else { Span::ZERO };
        let data_time = mode.layout.time(ppdu.bytes);
        let response = ppdu.response();
        let ack_time = if response == CellFrameKind::Ack { mode.ack } else { mode.block_ack };
        let (rts, sifs) = (ppdu.rts, times.sifs);
        Plan { rts, rts_time, cts_time, before_data, data_time, response, ack_time, tau, sifs }
    }

    /// From the beginning of a beacon to the end of its TIM.
    fn tim_time(&self, beacon: &Ppdu) -> Span {
        self.modes.get(beacon.mode).layout.time_of_first(beacon.bytes.saturating_sub(self.after_tim_bytes))
    }

    /// The signal path of a frame: that of the station that sends or receives it.
    fn path(&self, ppdu: &Ppdu) -> Option<&Path> {
        let of = |member: Member| self.paths[member as usize].as_ref();
        of(ppdu.from).or_else(|| match ppdu.to {
            Receiver::Member(to) => of(to),
            Receiver::Group => None,
        })
    }

    /// Probability that a frame of so many bytes in the PPDU fails because of noise or of a weak signal.
    fn noise_of(&self, ppdu: &Ppdu, bytes: u32) -> f64 {
        let noise = self.frame_error_rate;
        let byte_error_rate = if self.signal_errors.is_some() {
            self.error_by_mode(ppdu, bytes)
        } else {
            self.path(ppdu).map_or(0.0, |path| path.byte_error_rate)
        };
        if byte_error_rate == 0.0 {
            return noise;
        }
        1.0 - (1.0 - noise) * (1.0 - propagation::frame_error_rate(byte_error_rate, bytes))
    }

    /// Probability that a byte is received wrongly in a frame of so many bytes, by the mode of the PPDU.
    #[inline(never)]
    fn error_by_mode(&self, ppdu: &Ppdu, bytes: u32) -> f64 {
        let of = |member: Member| {
            let errors = &self.errors[usize::from(member)];
            errors.get(usize::from(ppdu.mode.0)).map(|errors| errors.of(bytes))
        };
        let to = match ppdu.to {
            Receiver::Member(to) => Some(to),
            Receiver::Group => None,
        };
        of(ppdu.from).or_else(|| to.and_then(of)).unwrap_or(0.0)
    }

    /// How long the frame, or its RTS, is on the air.
    fn colliding_time(&self, ppdu: &Ppdu) -> Span {
        if ppdu.rts { self.times.rts } else { self.frame_time(ppdu) }
    }

    /// The frame that exceeds the sum of the others by the capture ratio, if there is one.
    fn strongest(&self) -> Option<usize> {
        let ratio = self.capture_ratio?;
        let to = self.ppdus[0].to;
        if !matches!(to, Receiver::Member(to) if self.paths[to as usize].is_none()) {
            return None;
        }
        let signal =
            |ppdu: &Ppdu| self.paths[ppdu.from as usize].filter(|_| ppdu.to == to).map(|path| path.signal_mw);
        let mut all = 0.0;
        let (mut index, mut own) = (0, f64::NEG_INFINITY);
        for (place, ppdu) in self.ppdus.iter().enumerate() {
            let signal = signal(ppdu)?;
            all += signal;
            if signal >= own {
                (index, own) = (place, signal);
            }
        }
        (own >= ratio * (all - own)).then_some(index)
    }
}

impl SignalErrors {
    /// The errors of frames with this vector at this signal.
    fn of(&self, vector: &TxVector, signal_dbm: f64) -> ByteErrors {
        let ratio = snr::snr_db(vector, signal_dbm, self.noise_figure_db);
        snr::byte_errors(self.model, vector, ratio).unwrap_or_else(|| {
            let margin = signal_dbm - propagation::sensitivity_dbm(vector);
            ByteErrors::equal(propagation::byte_error_rate(margin))
        })
    }
}

/// Times that all frames of one channel share.
#[derive(Clone, Copy, Debug)]
struct FrameTimes {
    rts: Span,
    cts: Span,
    slot: Span,
    sifs: Span,
    rx_start_delay: Span,
    /// EIFS - DIFS (802.11-2020 10.3.2.3.7).
    eifs_less_difs: Span,
    /// From the end of a frame until its sender stops waiting for the response (10.3.2.11).
    response_timeout: Span,
}

impl FrameTimes {
    fn new(config: &CellConfig, modes: &Modes) -> Self {
        let timing = config.standard.timing();
        let lowest = modes.layout(timing.lowest_rate);
        let control = &modes.get(ModeId::CONTROL).layout;
        Self {
            rts: control.time(RTS_BYTES),
            cts: control.time(CTS_BYTES),
            slot: timing.slot,
            sifs: timing.sifs,
            rx_start_delay: timing.rx_start_delay,
            eifs_less_difs: timing.sifs + lowest.time(ACK_BYTES),
            response_timeout: timing.sifs + timing.slot + timing.rx_start_delay,
        }
    }
}
