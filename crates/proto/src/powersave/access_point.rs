//! The access point's side of power save: buffer for who sleeps, announce, release.
//!
//! For each station the machine keeps the power-management bit as last heard, a first-in-first-out power-save buffer
//! and the state of the station's service period. It decides *when* a packet joins the one transmission queue that all
//! stations share ([`AccessPointOutput::Transmit`]) and what its header says ([`AccessPointPowerSave::flags`]); it neither holds
//! that queue nor knows of contention and retries. Released packets therefore wait behind the traffic of stations that
//! are awake, as they do in an access point whose power save sits above one hardware queue.
//!
//! # Service periods
//! A trigger opens a period only if none is in progress (802.11-2020 11.2.3.5): one that comes while the last frame of a
//! period is still being sent, or sent again, opens nothing, since that frame will end the period for the station too.
//! While a period is open, packets for the station are released as they come (the period is extended). Once the last
//! frame has started with its EOSP bit the period is closing: what comes then is buffered for the next one.
//!
//! # Frames that miss their station
//! A frame that was given up at the retry limit while its station is in power save goes back to the head of the
//! power-save buffer, in its old order, rather than being lost: the station was asleep, not gone. A period in which
//! that happens releases nothing more and ends with what is already in the transmission queue.
//!
//! # Frames that would miss it
//! A station that announces power save is not to be sent to, unless it asks (802.11-2020 11.2.3.6). What the transmission
//! queue still holds for it is recalled ([`AccessPointOutput::Recall`]) and buffered, in its old order and ahead of what
//! comes later. Without that the frames would be tried in vain one by one, and come back among younger ones.
//!
//! # Frames that find the transmission queue full
//! They are lost, but a trigger or PS-Poll is answered all the same: if nothing is left that could carry EOSP or answer the poll, a
//! (QoS) Null does (802.11-2020 11.2.3.6). The station would wait for what never comes otherwise.
//!
//! A driver that says how many frames the queue takes ([`AccessPointInput::Room`]) loses none that way: they wait in the power-save
//! buffer for room, their service period goes on, and stations that wait take turns, a frame each. Packets for a station that is
//! awake, and has none waiting, go to the queue at once either way.
//!
//! # Agreed service periods
//! A target wake time agreement opens the station's periods at its times (`agreed_periods`): with the first packet if it is unannounced, otherwise
//! with the first frame of the station. What has not started when the agreed duration is over goes back to the buffer.
//!
//! # Group-addressed frames
//! They are sent at once while no station is in power save. Otherwise they are buffered, DTIM beacons announce them by the group
//! bit of the TIM, and all of them are released when the DTIM beacon has been sent (802.11-2020 11.2.3.4). The buffer holds
//! as many as that of one station.
//!
//! Left out: ageing of buffered packets (802.11-2020 11.2.3.6 lets an access point discard them after at least the listen
//! interval), a limit to the frames of a period, and queues by access
//! category.

mod agreed_periods;
mod agreement;

use std::collections::VecDeque;
use std::fmt::Debug;

use airwatt_base::{Instant, Machine, Span, Timeout, TimerTable, timer_kinds, with_defaults};

use super::{ServiceFlags, StationId, WakeAgreement, WakeFrame};
use agreed_periods::WakeTimes;
pub use agreement::WakeLimits;

with_defaults! {
    /// What an access point is set to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AccessPointConfig {
        /// Packets that one station's power-save buffer holds; what comes on top is dropped at the tail.
        pub power_save_buffer: u32 = 1000,
        /// Time between two beacons (802.11-2020 9.4.1.3; commonly 100 ms or 102.4 ms).
        pub beacon_interval: Span = Span::from_millis(100),
        /// Every how many beacons is a DTIM, at least 1 (802.11-2020 9.4.2.5).
        pub dtim_period: u8 = 1,
        /// The first target beacon transmission time.
        pub first_beacon: Instant = Instant::ZERO,
        /// Limits to target wake time agreements.
        pub wakes: WakeLimits = WakeLimits::default(),
    }
}

/// The resolution of a schedule's times in beacons, and of the beacon interval (802.11-2020 9.4.1.3).
const TIME_UNIT: Span = Span::from_micros(1_024);

impl AccessPointConfig {
    /// The access point's schedule: its first period begins between two beacons, at a whole time unit of its clock, which is all that a beacon
    /// can say.
    pub fn schedule(&self) -> Option<WakeAgreement> {
        let between = self.first_beacon + self.beacon_interval / 2;
        let first = Instant::ZERO + TIME_UNIT * between.saturating_since(Instant::ZERO).whole(TIME_UNIT);
        self.wakes.schedule.map(|request| WakeAgreement { request, first })
    }
}

/// What a correctly received uplink frame is to power save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UplinkKind {
    /// A QoS data frame; a trigger as well if the station sleeps and has negotiated U-APSD.
    Data,
    /// A QoS Null frame of a trigger-enabled category.
    Trigger,
    /// A PS-Poll.
    PsPoll,
    /// A frame that only carries the PM bit: a Null frame, or an action frame, of which [`AccessPointInput::Wake`] says what it asks for.
    Null,
}

/// A downlink frame: a packet, a (QoS) Null frame that only carries flags, or an action frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Downlink<P> {
    /// A packet that came by [`AccessPointInput::Deliver`].
    Packet(P),
    /// No packet: the answer to a trigger or PS-Poll that finds the buffer empty, or whose packets the transmission queue refused.
    NullData,
    /// An action frame about target wake time.
    Wake(WakeFrame),
    /// A Basic Trigger frame (802.11ax-2021 9.3.1.22): the station answers with frames of its own a SIFS later, or with a QoS Null.
    Trigger,
}

/// What comes in. A station that [`AccessPointPowerSave::add_station`] did not return is a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPointInput<P> {
    /// The distribution system has a packet for the station.
    Deliver {
        /// For whom.
        station: StationId,
        /// What.
        packet: P,
    },
    /// A group-addressed packet came for the stations of the BSS.
    DeliverGroup {
        /// The packet.
        packet: P,
    },
    /// A beacon has been sent; after a DTIM beacon with the group bit the buffered group-addressed packets are released.
    BeaconSent {
        /// Whether its group bit was set.
        group: bool,
    },
    /// An uplink frame was received correctly.
    UplinkReceived {
        /// From whom.
        station: StationId,
        /// Its PM bit.
        pm: bool,
        /// What kind of frame.
        kind: UplinkKind,
    },
    /// The QoS Control of an uplink frame says whether more of the user's frames wait at the station (Queue Size, 802.11-2020 9.2.4.5.6). Handed in
    /// before [`AccessPointInput::UplinkReceived`] of the same frame, for stations with trigger-enabled agreements.
    QueueSize {
        /// From whom.
        station: StationId,
        /// Whether any wait.
        waits: bool,
    },
    /// An action frame about target wake time was received, after [`AccessPointInput::UplinkReceived`] of the same frame.
    Wake {
        /// From whom.
        station: StationId,
        /// What it says.
        frame: WakeFrame,
    },
    /// The first transmission attempt of the station's oldest released frame starts. Its header says what
    /// [`AccessPointPowerSave::flags`] answered just before.
    Started {
        /// To whom.
        station: StationId,
    },
    /// A started frame is done: acknowledged, or given up at the retry limit.
    Sent {
        /// To whom.
        station: StationId,
        /// Which frame.
        frame: Downlink<P>,
        /// Whether an acknowledgement came.
        delivered: bool,
    },
    /// The transmission queue was full when a released packet came, and dropped it. It is lost; the driver, who has
    /// it, accounts for it. Handed in after the drain that brought the packet, once for each. Other frames are never refused.
    Refused {
        /// For whom the frame was.
        station: StationId,
    },
    /// The number of frames that the transmission queue takes at present. A driver that keeps frames in the power-save buffer until
    /// there is room hands it in before each other input; one that never does takes all frames, or refuses them.
    Room {
        /// Number of frames.
        frames: u32,
    },
    /// A released frame that [`AccessPointOutput::Recall`] took out of the transmission queue. Handed in after the drain
    /// that brought the output, the oldest first.
    Recalled {
        /// For whom it was.
        station: StationId,
        /// What.
        frame: Downlink<P>,
    },
}

/// Why the machine gave a packet up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The station's power-save buffer was full.
    BufferFull,
    /// The retry limit was reached for a station that is awake.
    RetryLimit,
}

/// What goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPointOutput<P> {
    /// Put this frame at the tail of the transmission queue.
    Transmit {
        /// For whom.
        station: StationId,
        /// What.
        frame: Downlink<P>,
    },
    /// Send this group-addressed packet, after those that were released before it.
    TransmitGroup {
        /// The packet.
        packet: P,
    },
    /// This group-addressed packet will not be sent: the buffer was full.
    DroppedGroup {
        /// The packet.
        packet: P,
    },
    /// Take every frame for this station whose first attempt has not started out of the transmission queue, and hand it back
    /// by [`AccessPointInput::Recalled`]: the station sleeps.
    Recall {
        /// Whose.
        station: StationId,
    },
    /// Send a beacon now, ahead of the transmission queue, with the TIM bits as they are when it starts.
    Beacon {
        /// Beacons before the next DTIM; 0 if this is one.
        dtim_count: u8,
    },
    /// This packet will not be delivered.
    Dropped {
        /// For whom it was.
        station: StationId,
        /// What.
        packet: P,
        /// Why.
        why: Loss,
    },
}

timer_kinds! {
    /// Why an access point wakes up.
    pub enum AccessPointTimer {
        /// When to send the next beacon.
        Beacon = "beacon",
        /// When to begin or end the next agreed service period of a station.
        ServicePeriod = "service-period",
    }
}

/// A station's service period as the access point sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    None,
    /// What comes is released at once. Some released frame has not started, and the last will carry EOSP.
    Open,
    /// A frame missed the station: nothing more is released, and the last released frame carries EOSP.
    Ending,
    /// The frame with EOSP has started. The period ends when nothing of it is on the air: frames of an aggregate that failed come again
    /// behind that frame.
    Closing,
}

#[derive(Clone, Debug)]
struct Peer<P> {
    uapsd: bool,
    pm: bool,
    buffer: VecDeque<P>,
    /// How many packets at the head of `buffer` were sent in vain.
    missed: usize,
    /// How many behind those were recalled from the transmission queue.
    recalled: usize,
    /// Frames released whose first attempt has not started.
    queued: u32,
    /// Frames started and not yet done.
    in_air: u32,
    period: Period,
    /// Whether a PS-Poll waits for the frame that answers it.
    polled: bool,
    /// Whether its last frame said that more of them wait.
    waits: bool,
    wakes: Option<WakeTimes>,
    /// The agreement of an answer on its way, whose times are taken.
    offered: Option<WakeAgreement>,
    /// The dialog token of its last request for an agreement.
    token: Option<u8>,
}

impl<P> Peer<P> {
    /// Whether the station gets what is in its buffer.
    fn is_served(&self) -> bool {
        !self.pm || self.period == Period::Open || self.polled
    }

    /// Whether an uplink frame that may be a trigger opens a service period.
    fn is_opened_by_frames(&self) -> bool {
        self.period == Period::None
            && (self.uapsd || self.wakes.as_ref().is_some_and(WakeTimes::awaits_frame))
    }

    /// Whether an agreed period lets packets be sent without a frame of the station.
    fn is_opened_by_packets(&self) -> bool {
        self.pm && self.period == Period::None && self.wakes.as_ref().is_some_and(WakeTimes::awaits_packet)
    }

    /// Removes the oldest packet of the buffer.
    fn take_oldest(&mut self) -> Option<P> {
        self.polled = false;
        if self.missed > 0 {
            self.missed -= 1;
        } else {
            self.recalled = self.recalled.saturating_sub(1);
        }
        self.buffer.pop_front()
    }
}

/// The access point's side of power save. `P` is what the driver calls a packet: a length, a number, an index.
#[derive(Clone, Debug)]
pub struct AccessPointPowerSave<P> {
    config: AccessPointConfig,
    peers: Vec<Peer<P>>,
    /// Group-addressed packets that wait for a DTIM beacon.
    group: VecDeque<P>,
    /// Number of frames that the transmission queue takes; `None` if the driver does not say.
    room: Option<u32>,
    /// Stations that are served from their buffers, in the order of their turns.
    turns: VecDeque<StationId>,
    /// Number of the next beacon, from 0 at [`AccessPointConfig::first_beacon`].
    beacon: u64,
    timers: TimerTable<AccessPointTimer, 2>,
    outputs: VecDeque<AccessPointOutput<P>>,
}

impl<P: Copy + Debug> AccessPointPowerSave<P> {
    /// An access point without stations. Panics if the beacon interval or the DTIM period is zero.
    pub fn new(config: AccessPointConfig) -> Self {
        assert!(!config.beacon_interval.is_zero(), "a beacon interval is longer than nothing");
        assert!(config.dtim_period > 0, "a DTIM period is at least one beacon");
        let mut timers = TimerTable::new();
        timers.set(AccessPointTimer::Beacon, config.first_beacon);
        Self {
            config,
            peers: Vec::new(),
            group: VecDeque::new(),
            room: None,
            turns: VecDeque::new(),
            beacon: 0,
            timers,
            outputs: VecDeque::new(),
        }
    }

    /// Associates a station, awake, with or without U-APSD on all access categories. Identifiers count from 0.
    pub fn add_station(&mut self, uapsd: bool) -> StationId {
        self.peers.push(Peer {
            uapsd,
            pm: false,
            buffer: VecDeque::new(),
            missed: 0,
            recalled: 0,
            queued: 0,
            in_air: 0,
            period: Period::None,
            polled: false,
            waits: false,
            wakes: None,
            offered: None,
            token: None,
        });
        StationId::try_from(self.peers.len() - 1).expect("fewer than 2^32 stations")
    }

    /// How many stations there are.
    pub fn stations(&self) -> u32 {
        self.peers.len() as u32
    }

    /// The station's bit in the traffic indication map of a beacon that starts now: whether anything is buffered that
    /// has not been released. With every category delivery-enabled it covers all of them (802.11-2020 11.2.3.5).
    pub fn tim(&self, station: StationId) -> bool {
        !self.peer(station).buffer.is_empty()
    }

    /// The group bit of the TIM in a DTIM beacon that starts now: whether group-addressed frames follow it (802.11-2020
    /// 9.4.2.5).
    pub fn group_bit(&self) -> bool {
        !self.group.is_empty()
    }

    /// Whether there is an output, or the next timer may have changed since the last call.
    #[inline]
    pub fn has_changed(&mut self) -> bool {
        self.timers.take_changed() || !self.outputs.is_empty()
    }

    /// The time of the next beacon.
    #[inline]
    pub fn due(&self) -> Instant {
        self.timers.due()
    }

    /// Packets in the station's power-save buffer.
    pub fn buffered(&self, station: StationId) -> usize {
        self.peer(station).buffer.len()
    }

    /// Frames released to the transmission queue and not yet done.
    #[cfg(test)]
    pub fn released(&self, station: StationId) -> u32 {
        self.peer(station).queued + self.peer(station).in_air
    }

    /// Whether the station is in power save, by the PM bit of its last frame.
    pub fn asleep(&self, station: StationId) -> bool {
        self.peer(station).pm
    }

    /// What the header of the station's oldest released frame has to say if its first attempt starts now. Ask, then
    /// hand in [`AccessPointInput::Started`]; further attempts repeat the header.
    ///
    /// EOSP: this is the last frame of a service period, and the station has none for which it would need another Trigger frame. More Data: further frames are buffered or released behind it;
    /// only to a station in power save (802.11-2020 9.2.4.1.8). A Trigger frame has neither.
    pub fn flags(&self, station: StationId) -> ServiceFlags {
        let peer = self.peer(station);
        let last = peer.queued <= 1;
        ServiceFlags {
            more_data: peer.pm && !(last && peer.buffer.is_empty()),
            eosp: last
                && (peer.period == Period::Ending
                    || peer.period == Period::Open && peer.buffer.is_empty() && !peer.waits),
        }
    }

    fn peer(&self, station: StationId) -> &Peer<P> {
        &self.peers[station as usize]
    }

    fn deliver(&mut self, station: StationId, packet: P) {
        let peer = &mut self.peers[station as usize];
        // Frames that wait for room go first.
        if (!peer.pm || peer.period == Period::Open) && peer.buffer.is_empty() {
            return self.transmit(station, Downlink::Packet(packet));
        }
        if peer.buffer.len() >= self.config.power_save_buffer as usize {
            return self.outputs.push_back(AccessPointOutput::Dropped {
                station,
                packet,
                why: Loss::BufferFull,
            });
        }
        peer.buffer.push_back(packet);
        if peer.is_opened_by_packets() {
            self.open_period(station);
        }
    }

    fn deliver_group(&mut self, packet: P) {
        if !self.peers.iter().any(|peer| peer.pm) {
            return self.outputs.push_back(AccessPointOutput::TransmitGroup { packet });
        }
        if self.group.len() >= self.config.power_save_buffer as usize {
            return self.outputs.push_back(AccessPointOutput::DroppedGroup { packet });
        }
        self.group.push_back(packet);
    }

    fn release_group(&mut self) {
        self.outputs.extend(self.group.drain(..).map(|packet| AccessPointOutput::TransmitGroup { packet }));
    }

    fn heard(&mut self, station: StationId, pm: bool, kind: UplinkKind) {
        let peer = &mut self.peers[station as usize];
        let falls_asleep = pm && !peer.pm;
        peer.pm = pm;
        if !pm {
            // Awake: no service periods, no buffering (802.11-2020 11.2.3.6).
            peer.period = Period::None;
            return self.release(station);
        }
        let is_triggered = peer.wakes.as_ref().is_some_and(WakeTimes::is_triggered);
        match kind {
            UplinkKind::Data | UplinkKind::Trigger if peer.is_opened_by_frames() => {
                if peer.waits {
                    self.transmit(station, Downlink::Trigger);
                }
                self.open_period(station);
            }
            UplinkKind::Data | UplinkKind::Trigger if is_triggered => self.trigger_answered(station),
            UplinkKind::PsPoll => self.answer_poll(station),
            UplinkKind::Data | UplinkKind::Trigger | UplinkKind::Null if falls_asleep && peer.queued > 0 => {
                self.outputs.push_back(AccessPointOutput::Recall { station });
            }
            UplinkKind::Data | UplinkKind::Trigger | UplinkKind::Null => {}
        }
    }

    /// Releases the buffer, or a QoS Null to carry EOSP where nothing waits to be sent (802.11-2020 11.2.3.6).
    fn open_period(&mut self, station: StationId) {
        self.peers[station as usize].period = Period::Open;
        self.release(station);
        if self.peer(station).queued == 0 && self.peer(station).buffer.is_empty() {
            self.transmit(station, Downlink::NullData);
        }
    }

    /// One frame for one PS-Poll, a Null frame if none is buffered (802.11-2020 11.2.3.6). A poll that finds a frame
    /// already on its way, as a repeated one does, is answered by that.
    fn answer_poll(&mut self, station: StationId) {
        let peer = &mut self.peers[station as usize];
        if peer.queued + peer.in_air > 0 {
            return;
        }
        if peer.buffer.is_empty() {
            return self.transmit(station, Downlink::NullData);
        }
        peer.polled = true;
        self.release(station);
    }

    /// Gives the station its turn to be served from its buffer.
    fn release(&mut self, station: StationId) {
        if !self.turns.contains(&station) {
            self.turns.push_back(station);
        }
        self.take_turns();
    }

    /// Releases frames of the stations in turn, as long as there is room.
    fn take_turns(&mut self) {
        while self.room != Some(0) {
            let Some(station) = self.turns.pop_front() else { return };
            let peer = &mut self.peers[station as usize];
            if !peer.is_served() {
                continue;
            }
            let Some(packet) = peer.take_oldest() else { continue };
            self.transmit(station, Downlink::Packet(packet));
            self.turns.push_back(station);
        }
    }

    fn transmit(&mut self, station: StationId, frame: Downlink<P>) {
        self.peers[station as usize].queued += 1;
        self.room = self.room.map(|room| room.saturating_sub(1));
        self.outputs.push_back(AccessPointOutput::Transmit { station, frame });
    }

    fn started(&mut self, station: StationId) {
        let flags = self.flags(station);
        let peer = &mut self.peers[station as usize];
        peer.queued = peer.queued.checked_sub(1).expect("a frame is released before it starts");
        peer.in_air += 1;
        if flags.eosp {
            peer.period = Period::Closing;
            if let Some(wakes) = &mut peer.wakes {
                wakes.end_early();
            }
        }
    }

    fn sent(&mut self, station: StationId, frame: Downlink<P>, delivered: bool, now: Instant) {
        let peer = &mut self.peers[station as usize];
        peer.in_air = peer.in_air.checked_sub(1).expect("a frame starts before it is done");
        if peer.in_air == 0 && peer.period == Period::Closing {
            peer.period = Period::None;
        }
        if let Downlink::Wake(frame) = frame {
            self.answered(station, frame, delivered, now);
        }
        if !delivered {
            self.missed(station, frame);
        }
    }

    /// A frame reached the retry limit: back into the buffer if the station sleeps, else lost.
    fn missed(&mut self, station: StationId, frame: Downlink<P>) {
        let limit = self.config.power_save_buffer as usize;
        let peer = &mut self.peers[station as usize];
        if peer.period == Period::Open {
            peer.period = Period::Ending;
            if peer.queued == 0 {
                // Others wait for room, so no frame has carried EOSP.
                self.transmit(station, Downlink::NullData);
            }
        }
        let peer = &mut self.peers[station as usize];
        let Downlink::Packet(packet) = frame else { return };
        if peer.pm && peer.buffer.len() < limit {
            peer.buffer.insert(peer.missed, packet);
            peer.missed += 1;
            return;
        }
        let why = if peer.pm { Loss::BufferFull } else { Loss::RetryLimit };
        self.outputs.push_back(AccessPointOutput::Dropped { station, packet, why });
    }

    /// A released packet was dropped. A Null answers the trigger or poll of the station if nothing else of the answer is left.
    fn refused(&mut self, station: StationId) {
        let peer = &mut self.peers[station as usize];
        peer.queued = peer.queued.checked_sub(1).expect("a frame is released before it is refused");
        let awaits = match peer.period {
            Period::Open | Period::Ending => true,
            // Nothing but the answer to a poll is released to a station in power save.
            Period::None => peer.pm && peer.in_air == 0,
            Period::Closing => false,
        };
        if awaits && peer.queued == 0 {
            self.transmit(station, Downlink::NullData);
        }
    }

    /// A frame for a station that fell asleep is back from the transmission queue. If the station has asked for frames
    /// meanwhile, it goes there again.
    fn recall(&mut self, station: StationId, frame: Downlink<P>) {
        let limit = self.config.power_save_buffer as usize;
        let peer = &mut self.peers[station as usize];
        peer.queued = peer.queued.checked_sub(1).expect("a frame is released before it is recalled");
        if let Downlink::Wake(_) = frame {
            peer.offered = None;
        }
        let Downlink::Packet(packet) = frame else { return };
        let is_served = peer.is_served();
        if is_served && peer.buffer.is_empty() {
            return self.transmit(station, frame);
        }
        if peer.buffer.len() >= limit {
            let why = Loss::BufferFull;
            return self.outputs.push_back(AccessPointOutput::Dropped { station, packet, why });
        }
        peer.buffer.insert(peer.missed + peer.recalled, packet);
        peer.recalled += 1;
        if is_served {
            self.release(station);
        }
    }

    /// Sends the beacon that is due. A driver that comes late by whole intervals gets one beacon, not a burst.
    fn send_beacon(&mut self, now: Instant) {
        let interval = self.config.beacon_interval;
        self.beacon = now.saturating_since(self.config.first_beacon).whole(interval);
        let period = u64::from(self.config.dtim_period);
        let dtim_count = ((period - self.beacon % period) % period) as u8;
        self.outputs.push_back(AccessPointOutput::Beacon { dtim_count });
        self.beacon += 1;
        self.timers.set(AccessPointTimer::Beacon, self.config.first_beacon + interval * self.beacon);
    }
}

impl<P: Copy + Debug> Machine for AccessPointPowerSave<P> {
    type Input = AccessPointInput<P>;
    type Output = AccessPointOutput<P>;
    type Reason = AccessPointTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            AccessPointInput::Deliver { station, packet } => self.deliver(station, packet),
            AccessPointInput::DeliverGroup { packet } => self.deliver_group(packet),
            AccessPointInput::BeaconSent { group: true } => self.release_group(),
            AccessPointInput::BeaconSent { group: false } => {}
            AccessPointInput::UplinkReceived { station, pm, kind } => self.heard(station, pm, kind),
            AccessPointInput::QueueSize { station, waits } => self.peers[station as usize].waits = waits,
            AccessPointInput::Started { station } => self.started(station),
            AccessPointInput::Wake { station, frame } => self.negotiate(station, frame, now),
            AccessPointInput::Sent { station, frame, delivered } => {
                self.sent(station, frame, delivered, now);
            }
            AccessPointInput::Refused { station } => self.refused(station),
            AccessPointInput::Room { frames } => {
                self.room = Some(frames);
                self.take_turns();
            }
            AccessPointInput::Recalled { station, frame } => self.recall(station, frame),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.expire(now) {
            match timer {
                AccessPointTimer::Beacon => self.send_beacon(now),
                AccessPointTimer::ServicePeriod => self.pass_edges(now),
            }
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Self::Reason>> {
        self.timers.next()
    }
}
