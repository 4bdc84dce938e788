//! The cell as one machine: queues, power save and radios round the medium.
//!
//! What happens at one instant is served in the order of the cell's schedule: the medium first (an exchange's next step
//! or the next access), then the access point's beacon timer, then each station's power-save machine and its radio.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Rate, Schedule, Slot, Span, Stream, Timeout};
use airwatt_energy::{Ledger, Nap, Radio, State};
use airwatt_proto::powersave::{
    self as ps, AccessPoint, AccessPointConfig, AccessPointInput, AccessPointOutput, Control, Downlink, Loss,
    PolicyConfig, Station, StationId, StationInput, StationOutput,
};

use super::ap_queue::ApQueueing;
use super::contention::{Access, ContenderId, Contention, Counting};
use super::fq_codel::FqCodel;
use super::frame::{ACK_BYTES, AirFrame, Body, Mpdu};
use super::medium::Medium;
use super::propagation;
use super::radio::{Airborne, RadioEvent, StationRadio};
use crate::engine::Fingerprint;
use crate::net::packet::{Endpoints, Packet};
use airwatt_dot11::phy::{Format, Standard};

/// What a cell is like.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// The PHY.
    pub standard: Standard,
    /// Rate of data and management frames that are acknowledged.
    pub data_rate: Rate,
    /// Rate of RTS, CTS and ACK.
    pub control_rate: Rate,
    /// Rate of beacons.
    pub beacon_rate: Rate,
    /// How backoff slots are counted.
    pub counting: Counting,
    /// The access point's access parameters for data.
    pub ap_access: Access,
    /// The stations' access parameters.
    pub station_access: Access,
    /// How long one access may last; zero for one frame exchange.
    pub txop: Span,
    /// Retransmissions of a frame before it is given up.
    pub retry_limit: u32,
    /// Stations send RTS before MPDUs longer than this many bytes.
    pub station_rts_threshold: Option<u32>,
    /// The access point sends RTS before MPDUs longer than this many bytes.
    pub ap_rts_threshold: Option<u32>,
    /// Bytes that a data MPDU adds to an IP packet: MAC header, LLC and SNAP, FCS.
    pub mac_overhead: u32,
    /// Probability that an attempt at a frame that needs an acknowledgement fails for noise.
    pub frame_error_rate: f64,
    /// Packets in the access point's transmission queue at most.
    pub ap_buffer: u32,
    /// How it is served.
    pub ap_queue: ApQueueing,
    /// How many times stronger than all others together a station's frame is that the access point gets out of a
    /// collision; `None` if it never does.
    pub capture_ratio: Option<f64>,
    /// Packets in a station's transmission queue at most.
    pub station_buffer: u32,
    /// The access point's power-save side.
    pub power_save: AccessPointConfig,
}

/// What a station is like.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// Its power-save machine.
    pub power_save: ps::StationConfig,
    /// Its power-save policy.
    pub policy: PolicyConfig,
    /// Its radio.
    pub radio: Radio,
    /// How long a signal travels to or from the access point.
    pub propagation: Span,
    /// How strong its signal is at the access point, and the other way round, in dBm; `None`: strong enough.
    pub signal_dbm: Option<f64>,
}

/// What comes into the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellInput {
    /// A packet for a station, from the wire.
    Down {
        /// For whom.
        station: StationId,
        /// The packet.
        packet: Packet,
    },
    /// A packet that a station's host wants to send.
    Up {
        /// From whom.
        station: StationId,
        /// The packet.
        packet: Packet,
    },
}

/// What the cell does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellOutput {
    /// A station got a packet.
    ToStation {
        /// Who.
        station: StationId,
        /// The packet.
        packet: Packet,
    },
    /// The access point got a packet from a station and hands it to the wire.
    ToWire {
        /// From whom.
        station: StationId,
        /// The packet.
        packet: Packet,
    },
    /// A station's receivers are to offer so much from now on.
    Window {
        /// Whose.
        station: StationId,
        /// How much.
        window: ps::Window,
    },
    /// A packet was lost in the cell.
    Lost {
        /// Whose.
        station: StationId,
        /// The packet.
        packet: Packet,
        /// Where.
        place: LossPlace,
    },
}

/// Where a cell loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// The access point's transmission queue or power-save buffer was full.
    AccessPointBuffer,
    /// The station's transmission queue was full.
    StationBuffer,
    /// The retry limit was reached.
    RetryLimit,
}

airwatt_base::timer_kinds! {
    /// Why a cell wakes up.
    pub enum CellTimer {
        /// When to take the next step of an exchange, or to begin one.
        Medium = "medium",
        /// When to send a beacon.
        Beacon = "beacon",
        /// When to wake a station's power-save machine.
        PowerSave = "power-save",
        /// When a radio has woken up.
        Radio = "radio",
    }
}

/// What a cell counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStatistics {
    /// Attempts to send a frame that carries data, control or a beacon; RTS, CTS and ACK not counted.
    pub frames: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Accesses at which more than one node began to send.
    pub collisions: u64,
    /// Packets dropped at the access point's buffers.
    pub ap_drops: u64,
    /// Packets given up at the retry limit.
    pub given_up: u64,
}

const MEDIUM: Slot = 0;
const BEACON: Slot = 1;
const FIRST_STATION: Slot = 2;

/// Contender of the access point's data.
pub(super) const AP_DATA: ContenderId = 0;
/// Contender of the access point's beacons.
pub(super) const AP_BEACON: ContenderId = 1;
/// Contender of station 0.
pub(super) const FIRST_STATION_CONTENDER: ContenderId = 2;

/// A station as its cell sees it.
#[derive(Clone, Debug)]
pub(super) struct StationNode {
    pub(super) power_save: Station,
    pub(super) radio: StationRadio,
    /// What its own frames, and the waiting for them, took of the air.
    pub(super) air_time: ps::AirTime,
    pub(super) queue: VecDeque<Mpdu>,
    pub(super) data_queued: u32,
    pub(super) propagation: Span,
    /// Probability that a byte at the data rate is received wrongly.
    pub(super) byte_error_rate: f64,
    /// What the access point receives of its signal, in milliwatts.
    pub(super) signal_mw: f64,
    pub(super) sequence: u16,
}

/// Queue lengths and frames over time, if a trace is wanted.
#[derive(Clone, Debug, Default)]
pub struct CellTrace {
    /// Frames on the air.
    pub frames: Vec<AirFrame>,
    /// Radios that dozed and woke.
    pub radios: Vec<RadioEvent>,
    /// What policies that adapt made of their traffic, after each change.
    pub adaptations: Vec<(Instant, StationId, ps::Adaptation)>,
    /// Packets in the access point's transmission queue, after each change.
    pub ap_queue: Vec<(Instant, u32)>,
    /// Packets in the access point's power-save buffers together, after each change.
    pub ap_power_save: Vec<(Instant, u32)>,
}

/// How long frames last at the rates of one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameTimes {
    pub(super) data: Format,
    pub(super) control: Format,
    pub(super) beacon: Format,
    pub(super) slot: Span,
    pub(super) sifs: Span,
    /// EIFS - DIFS (802.11-2020 10.3.2.3.7).
    pub(super) eifs_less_difs: Span,
    /// From the end of a frame until its sender gives up waiting for the response (10.3.2.11).
    pub(super) response_timeout: Span,
}

impl FrameTimes {
    fn new(config: &CellConfig) -> Self {
        let timing = config.standard.timing();
        let format = |rate| config.standard.format(rate).expect("a checked scenario has rates of its PHY");
        let lowest = format(timing.lowest_rate);
        Self {
            data: format(config.data_rate),
            control: format(config.control_rate),
            beacon: format(config.beacon_rate),
            slot: timing.slot,
            sifs: timing.sifs,
            eifs_less_difs: timing.sifs + lowest.time(ACK_BYTES),
            response_timeout: timing.sifs + timing.slot + timing.rx_start_delay,
        }
    }
}

/// One 802.11 cell.
#[derive(Clone, Debug)]
pub struct Cell {
    pub(super) config: CellConfig,
    pub(super) times: FrameTimes,
    pub(super) contention: Contention,
    pub(super) medium: Medium,
    pub(super) power_save: AccessPoint<Packet>,
    pub(super) ap_queue: VecDeque<Mpdu>,
    /// The flows' queues behind it, where they take turns.
    pub(super) fair_queue: Option<FqCodel<Endpoints, Mpdu>>,
    pub(super) ap_sequence: u16,
    pub(super) beacon: Option<u8>,
    pub(super) stations: Vec<StationNode>,
    pub(super) airborne: Airborne,
    pub(super) noise: Stream,
    pub(super) outputs: VecDeque<CellOutput>,
    pub(super) statistics: CellStatistics,
    pub(super) frames_print: Fingerprint,
    radios_print: Fingerprint,
    schedule: Schedule,
    pub(super) trace: Option<Box<CellTrace>>,
    pub(super) winners: Vec<ContenderId>,
    /// Whose released frames found the transmission queue full, until the power-save machine has been told.
    pub(super) refused: Vec<StationId>,
    /// How long a beginning transmission stays unnoticed: the longest propagation delay, a slot at most.
    pub(super) blind: Span,
}

impl Cell {
    /// A cell at the beginning of its time; its random streams come from `seed`.
    pub fn new(config: CellConfig, stations: Vec<StationConfig>, seed: u64) -> Self {
        let times = FrameTimes::new(&config);
        let mut contention = Contention::new(times.slot, config.counting);
        contention.add(config.ap_access, Stream::new(seed, "access-point/backoff"));
        // Beacons go ahead of data: PIFS and no backoff.
        let beacon = Access { aifs: times.sifs + times.slot, cw_min: 0, cw_max: 0 };
        contention.add(beacon, Stream::new(seed, "access-point/beacon"));
        let mut power_save = AccessPoint::new(config.power_save);
        let mut schedule = Schedule::new(FIRST_STATION as usize + 2 * stations.len());
        let stations: Vec<StationNode> = stations
            .into_iter()
            .enumerate()
            .map(|(index, station)| {
                power_save.add_station(station.policy.needs_uapsd());
                contention.add(config.station_access, Stream::new(seed, &format!("station/{index}/backoff")));
                StationNode {
                    power_save: Station::new(station.power_save, station.policy),
                    radio: StationRadio::new(station.radio, station.policy == PolicyConfig::Ideal),
                    air_time: ps::AirTime::default(),
                    queue: VecDeque::new(),
                    data_queued: 0,
                    propagation: station.propagation,
                    byte_error_rate: station.signal_dbm.map_or(0.0, |dbm| {
                        let needed = propagation::sensitivity_dbm(config.standard, config.data_rate);
                        propagation::byte_error_rate(dbm - needed)
                    }),
                    signal_mw: station.signal_dbm.map_or(1.0, propagation::milliwatts),
                    sequence: 0,
                }
            })
            .collect();
        for (index, station) in stations.iter().enumerate() {
            schedule.put(policy_slot(index), station.power_save.poll_timeout().map(|t| t.at));
        }
        schedule.put(BEACON, power_save.poll_timeout().map(|t| t.at));
        let blind =
            stations.iter().map(|station| station.propagation).max().unwrap_or_default().min(times.slot);
        Self {
            blind,
            fair_queue: config.ap_queue.fair_queue(),
            config,
            times,
            contention,
            medium: Medium::Idle,
            power_save,
            ap_queue: VecDeque::new(),
            ap_sequence: 0,
            beacon: None,
            stations,
            airborne: Airborne::default(),
            noise: Stream::new(seed, "air/noise"),
            outputs: VecDeque::new(),
            statistics: CellStatistics::default(),
            frames_print: Fingerprint::default(),
            radios_print: Fingerprint::default(),
            schedule,
            trace: None,
            winners: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Keeps frames, radio states and queue lengths from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Box::default());
    }

    /// What was kept.
    pub fn take_trace(&mut self) -> Option<CellTrace> {
        self.trace.take().map(|trace| *trace)
    }

    /// What was counted so far.
    pub const fn statistics(&self) -> CellStatistics {
        self.statistics
    }

    /// Fingerprints of the frames on the air and of the radios.
    pub const fn fingerprints(&self) -> (Fingerprint, Fingerprint) {
        (self.frames_print, self.radios_print)
    }

    /// How long frames have been on the air up to `now`.
    pub fn airborne(&self, now: Instant) -> Span {
        self.airborne.until(now)
    }

    /// A station's power-save machine, for its counts.
    pub fn power_save(&self, station: StationId) -> &Station {
        &self.stations[station as usize].power_save
    }

    /// A station's ledger.
    pub fn ledger(&self, station: StationId) -> &Ledger {
        &self.stations[station as usize].radio.ledger
    }

    /// A station's radio profile.
    pub fn radio(&self, station: StationId) -> &Radio {
        self.stations[station as usize].radio.profile()
    }

    /// Ends the account of every radio at the same instant: `now`, or when the last one is done with what it is at.
    pub fn finish(&mut self, now: Instant) -> Instant {
        let end = self.stations.iter().map(|station| station.radio.charged()).fold(now, Instant::max);
        for id in 0..self.stations.len() {
            let radio = &mut self.stations[id].radio;
            radio.settle(end, &self.airborne);
            if let Some(nap) = radio.idealize(end) {
                self.note_radio(RadioEvent { station: id as StationId, at: nap.from, state: State::Sleep });
            }
        }
        end
    }

    // Queues.

    /// A packet from a station's host.
    fn take_from_host(&mut self, id: StationId, packet: Packet, now: Instant) {
        let station = &mut self.stations[id as usize];
        if station.data_queued >= self.config.station_buffer {
            let place = LossPlace::StationBuffer;
            self.outputs.push_back(CellOutput::Lost { station: id, packet, place });
            return;
        }
        station.data_queued += 1;
        let mpdu = station.mpdu(id, Body::Data(packet));
        station.queue.push_back(mpdu);
        self.tell_station(id, StationInput::Backlog { frames: self.stations[id as usize].data_queued }, now);
        self.join_station(id, now);
    }

    /// Joins the contention if the station has something to send and its radio can.
    pub(super) fn join_station(&mut self, id: StationId, now: Instant) {
        let station = &self.stations[id as usize];
        let contender = station_contender(id);
        if !station.queue.is_empty() && station.radio.is_ready() && !self.is_sending(contender) {
            self.contention.join(contender, now);
        }
    }

    fn note_power_save_buffers(&mut self, now: Instant) {
        if let Some(trace) = &mut self.trace {
            let held: usize =
                (0..self.stations.len()).map(|id| self.power_save.buffered(id as StationId)).sum();
            if trace.ap_power_save.last().is_none_or(|(_, last)| *last != held as u32) {
                trace.ap_power_save.push((now, held as u32));
            }
        }
    }

    // Power save.

    /// Tells the access point's power-save machine, and does what it says.
    pub(super) fn tell_access_point(&mut self, input: AccessPointInput<Packet>, now: Instant) {
        self.power_save.handle_input(input, now);
        self.obey_access_point(now);
    }

    fn obey_access_point(&mut self, now: Instant) {
        let mut recalled = None;
        while let Some(output) = self.next_access_point_output(now) {
            match output {
                AccessPointOutput::Transmit { station, frame: Downlink::Packet(packet) } => {
                    self.enqueue_downlink(station, Body::Data(packet), now);
                }
                AccessPointOutput::Transmit { station, frame: Downlink::NullData } => {
                    self.enqueue_downlink(station, Body::NullData, now);
                }
                AccessPointOutput::Recall { station } => recalled = Some(station),
                AccessPointOutput::Beacon { dtim_count } => {
                    self.beacon = Some(dtim_count);
                    if !self.is_sending(AP_BEACON) {
                        self.contention.join(AP_BEACON, now);
                    }
                }
                AccessPointOutput::Dropped { station, packet, why } => {
                    let place = match why {
                        Loss::BufferFull => LossPlace::AccessPointBuffer,
                        Loss::RetryLimit => LossPlace::RetryLimit,
                    };
                    self.statistics.ap_drops += u64::from(why == Loss::BufferFull);
                    self.statistics.given_up += u64::from(why == Loss::RetryLimit);
                    self.outputs.push_back(CellOutput::Lost { station, packet, place });
                }
            }
        }
        self.schedule.put(BEACON, self.power_save.poll_timeout().map(|t| t.at));
        if let Some(station) = recalled {
            self.recall(station, now);
        }
        self.note_power_save_buffers(now);
    }

    /// The next output; between two drains the machine hears of the frames that the full queue refused.
    fn next_access_point_output(&mut self, now: Instant) -> Option<AccessPointOutput<Packet>> {
        loop {
            if let Some(output) = self.power_save.poll_output() {
                return Some(output);
            }
            let station = self.refused.pop()?;
            self.power_save.handle_input(AccessPointInput::Refused { station }, now);
        }
    }

    /// Tells a station's power-save machine, and does what it says.
    pub(super) fn tell_station(&mut self, id: StationId, input: StationInput, now: Instant) {
        self.stations[id as usize].power_save.handle_input(input, now);
        self.obey_station(id, now);
    }

    fn obey_station(&mut self, id: StationId, now: Instant) {
        let mut asked = false;
        while let Some(output) = self.stations[id as usize].power_save.poll_output() {
            match output {
                StationOutput::Wake => self.wake(id, now),
                StationOutput::Doze => self.doze(id, now),
                StationOutput::Send(control) => self.queue_control(id, control, now),
                StationOutput::MeasureAirTime => asked = true,
                StationOutput::Window(window) => {
                    self.outputs.push_back(CellOutput::Window { station: id, window });
                }
            }
        }
        let timeout = self.stations[id as usize].power_save.poll_timeout();
        self.schedule.put(policy_slot(id as usize), timeout.map(|t| t.at));
        self.note_adaptation(id, now);
        if asked {
            let air_time = self.stations[id as usize].air_time;
            self.tell_station(id, StationInput::AirTime(air_time), now);
        }
    }

    fn note_adaptation(&mut self, id: StationId, now: Instant) {
        let Some(trace) = &mut self.trace else { return };
        let Some(adaptation) = self.stations[id as usize].power_save.adaptation() else { return };
        let last = trace.adaptations.iter().rev().find(|(_, station, _)| *station == id);
        if last.is_none_or(|(_, _, last)| *last != adaptation) {
            trace.adaptations.push((now, id, adaptation));
        }
    }

    /// A frame from or to a station, for the account of an ideal radio.
    pub(super) fn tell_ideal(&mut self, id: StationId, state: State, start: Instant, end: Instant) {
        let nap = self.stations[id as usize].radio.tell_ideal(state, start, end);
        self.note_nap(id, nap);
    }

    /// An ideal radio's nap, known once it is over.
    fn note_nap(&mut self, station: StationId, nap: Option<Nap>) {
        let Some(Nap { from, wake, until }) = nap else { return };
        for (at, state) in [(from, State::Sleep), (wake, State::WakeUp), (until, State::Listen)] {
            self.note_radio(RadioEvent { station, at, state });
        }
    }

    /// Power-save frames go ahead of data, but not of a frame that is on the air.
    fn queue_control(&mut self, id: StationId, control: Control, now: Instant) {
        let behind = usize::from(self.is_sending(station_contender(id)));
        let station = &mut self.stations[id as usize];
        let mpdu = station.mpdu(id, Body::Control(control));
        station.queue.insert(behind.min(station.queue.len()), mpdu);
        self.join_station(id, now);
    }

    fn doze(&mut self, id: StationId, now: Instant) {
        let at = self.stations[id as usize].radio.doze(now, &self.airborne);
        self.contention.leave(station_contender(id));
        self.schedule.cancel(radio_slot(id as usize));
        self.note_radio(RadioEvent { station: id, at, state: State::Sleep });
    }

    fn wake(&mut self, id: StationId, now: Instant) {
        let (at, until) = self.stations[id as usize].radio.wake(now);
        self.note_radio(RadioEvent { station: id, at, state: State::WakeUp });
        self.schedule.set(radio_slot(id as usize), until);
    }

    fn awake(&mut self, id: StationId, now: Instant) {
        self.stations[id as usize].radio.awake(now, &self.airborne);
        self.note_radio(RadioEvent { station: id, at: now, state: State::Listen });
        self.tell_station(id, StationInput::Awake, now);
        self.join_station(id, now);
    }

    fn note_radio(&mut self, event: RadioEvent) {
        self.radios_print.add(event.at.as_nanos());
        self.radios_print.add(u64::from(event.station) << 8 | event.state as u64);
        if let Some(trace) = &mut self.trace {
            trace.radios.push(event);
        }
    }

    fn serve(&mut self, slot: Slot, now: Instant) {
        match slot {
            MEDIUM => self.step(now),
            BEACON => {
                self.power_save.handle_timeout(now);
                self.obey_access_point(now);
            }
            _ => {
                let id = (slot - FIRST_STATION) / 2;
                if (slot - FIRST_STATION).is_multiple_of(2) {
                    self.stations[id as usize].power_save.handle_timeout(now);
                    self.obey_station(id, now);
                } else {
                    self.schedule.cancel(slot);
                    self.awake(id, now);
                }
            }
        }
    }

    fn update_medium_timer(&mut self) {
        let next = self.medium.next_step().or_else(|| self.contention.next_access());
        self.schedule.put(MEDIUM, next);
    }
}

impl StationNode {
    fn mpdu(&mut self, station: StationId, body: Body) -> Mpdu {
        self.sequence = (self.sequence + 1) & 0xfff;
        let sequence = self.sequence;
        Mpdu { station, body, flags: ps::ServiceFlags::default(), stamped: false, retries: 0, sequence }
    }
}

/// The contender of a station.
pub(super) const fn station_contender(id: StationId) -> ContenderId {
    FIRST_STATION_CONTENDER + id
}

const fn policy_slot(station: usize) -> Slot {
    FIRST_STATION + 2 * station as Slot
}

const fn radio_slot(station: usize) -> Slot {
    policy_slot(station) + 1
}

impl Machine for Cell {
    type Input = CellInput;
    type Output = CellOutput;
    type Reason = CellTimer;

    fn handle_input(&mut self, input: CellInput, now: Instant) {
        match input {
            CellInput::Down { station, packet } => {
                self.tell_access_point(AccessPointInput::Deliver { station, packet }, now);
            }
            CellInput::Up { station, packet } => self.take_from_host(station, packet, now),
        }
        self.update_medium_timer();
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, slot)) = self.schedule.first().filter(|(at, _)| *at <= now) {
            self.serve(slot, now);
            self.update_medium_timer();
        }
    }

    fn poll_output(&mut self) -> Option<CellOutput> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<CellTimer>> {
        let (at, slot) = self.schedule.first()?;
        let reason = match slot {
            MEDIUM => CellTimer::Medium,
            BEACON => CellTimer::Beacon,
            _ if slot % 2 == FIRST_STATION % 2 => CellTimer::PowerSave,
            _ => CellTimer::Radio,
        };
        Some(Timeout { at, reason })
    }
}
