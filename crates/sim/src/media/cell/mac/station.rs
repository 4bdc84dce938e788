//! The MAC of a station: its transmission queue, its side of power save, and the air time that its exchanges took.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Slot, Span};
use airwatt_proto::powersave::{
    self as ps, Control, Station, StationId, StationInput, StationOutput, Uplink,
};

use super::FrameLimits;
use crate::media::cell::channel::Parts;
use crate::media::cell::config::{CellConfig, StationConfig};
use crate::media::cell::contention::ContenderId;
use crate::media::cell::effects::Effects;
use crate::media::cell::frame::{Body, Member, Mpdu, Ppdu, Receiver};
use crate::media::cell::radio::RadioId;
use crate::media::cell::{CellOutput, LossPlace};
use crate::net::packet::Packet;

/// The MAC of a station.
#[derive(Clone, Debug)]
pub(crate) struct StationMac {
    /// The number of the station in the cell, which is that of its radio too.
    id: StationId,
    member: Member,
    access_point: Member,
    contender: ContenderId,
    /// The slot of the power-save timers; the next one is that of the radio.
    slot: Slot,
    limits: FrameLimits,
    /// Largest number of packets in the queue.
    buffer: u32,
    power_save: Station,
    /// What its own frames, and the waiting for them, took of the air.
    air_time: ps::AirTime,
    queue: VecDeque<Mpdu>,
    packets: u32,
    sequence: u16,
    /// Whether the first frame of the queue is on the air, or its attempt is being concluded.
    in_flight: bool,
    given_up: u64,
}

impl StationMac {
    /// Makes a station with an empty queue.
    pub(crate) fn new(
        config: &CellConfig,
        station: &StationConfig,
        id: StationId,
        [member, access_point]: [Member; 2],
        contender: ContenderId,
        slot: Slot,
    ) -> Self {
        Self {
            id,
            member,
            access_point,
            contender,
            slot,
            limits: FrameLimits {
                retries: config.retry_limit,
                rts_threshold: config.station_rts_threshold,
                overhead: config.mac_overhead,
            },
            buffer: config.station_buffer,
            power_save: Station::new(station.power_save, station.policy),
            air_time: ps::AirTime::default(),
            queue: VecDeque::new(),
            packets: 0,
            sequence: 0,
            in_flight: false,
            given_up: 0,
        }
    }

    /// The power-save machine.
    pub(crate) const fn power_save(&self) -> &Station {
        &self.power_save
    }

    /// The time of the next timer of power save.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.power_save.poll_timeout().map(|timeout| timeout.at)
    }

    /// Packets that were given up at the retry limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes a packet from the station's host.
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        if self.packets >= self.buffer {
            out.emit(CellOutput::Lost { station: self.id, packet, place: LossPlace::StationBuffer });
            return;
        }
        self.packets += 1;
        let mpdu = self.mpdu(Body::Data(packet));
        self.queue.push_back(mpdu);
        self.notify(StationInput::Backlog { frames: self.packets }, now, out);
        self.join(now, out);
    }

    /// Handles the end of the radio's wake-up.
    pub(crate) fn awake(&mut self, now: Instant, out: &mut Effects<'_>) {
        out.awake(self.radio(), self.slot + 1, now);
        self.notify(StationInput::Awake, now, out);
        self.join(now, out);
    }

    /// Handles a beacon in which the station's bit of the TIM is `tim`.
    pub(crate) fn beacon(&mut self, tim: bool, now: Instant, out: &mut Effects<'_>) {
        self.notify(StationInput::Beacon { tim }, now, out);
    }

    /// The power-management bit of a frame.
    pub(crate) fn pm_of(&self, mpdu: &Mpdu) -> bool {
        match mpdu.body {
            Body::Control(Control::PmNull { pm }) => pm,
            Body::Control(_) => true,
            _ => self.power_save.pm(),
        }
    }

    pub(super) const fn radio(&self) -> RadioId {
        self.id
    }

    pub(super) const fn contender(&self) -> ContenderId {
        self.contender
    }

    pub(super) fn has_frame(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn next_ppdu(&self) -> Option<Ppdu> {
        let mpdu = *self.queue.front()?;
        let bytes = mpdu.body.frame_bytes(self.limits.overhead);
        Some(Ppdu {
            from: self.member,
            to: Receiver::Member(mpdu.to),
            contender: self.contender,
            mpdu,
            bytes,
            rts: self.limits.rts(bytes),
            pm: self.pm_of(&mpdu),
        })
    }

    pub(super) fn compose(&mut self) -> Ppdu {
        let head = self.queue.front_mut().expect("a sender has a frame");
        head.stamped = true;
        self.in_flight = true;
        self.next_ppdu().expect("a sender has a frame")
    }

    pub(super) fn receive(&mut self, ppdu: &Ppdu, _now: Instant, out: &mut Effects<'_>) {
        if let Body::Data(packet) = ppdu.mpdu.body {
            out.emit(CellOutput::ToStation { station: self.id, packet });
        }
    }

    /// Power save learns of a frame when its acknowledgement is out: the radio cannot doze before that, and the host has had the
    /// packet and may have something to send.
    pub(super) fn acknowledged(&mut self, ppdu: &Ppdu, now: Instant, out: &mut Effects<'_>) {
        let (bytes, null) = match ppdu.mpdu.body {
            Body::Data(packet) => (packet.bytes, false),
            _ => (0, true),
        };
        self.notify(StationInput::Received { bytes, flags: ppdu.mpdu.flags, null }, now, out);
    }

    pub(super) fn conclude(
        &mut self,
        _ppdu: &Ppdu,
        acknowledged: bool,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        let left = acknowledged || {
            let head = self.queue.front_mut().expect("the frame stays in the queue");
            head.retries += 1;
            head.retries > self.limits.retries
        };
        if left {
            self.remove_first(acknowledged, now, out);
        }
        self.in_flight = false;
        left
    }

    /// Removes the first frame of the queue: acknowledged, or given up.
    fn remove_first(&mut self, delivered: bool, now: Instant, out: &mut Effects<'_>) {
        let Some(mpdu) = self.queue.pop_front() else { return };
        match mpdu.body {
            Body::Data(packet) => {
                self.packets -= 1;
                if !delivered {
                    self.given_up += 1;
                    out.emit(CellOutput::Lost { station: self.id, packet, place: LossPlace::RetryLimit });
                }
                let frame = Uplink::Data { bytes: packet.bytes };
                self.notify(StationInput::Sent { frame, delivered }, now, out);
                self.notify(StationInput::Backlog { frames: self.packets }, now, out);
            }
            Body::Control(control) => {
                let frame = Uplink::Control(control);
                self.notify(StationInput::Sent { frame, delivered }, now, out);
            }
            Body::NullData | Body::Beacon { .. } => {}
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        self.power_save.handle_timeout(now);
        self.apply_power_save(now, out);
    }

    pub(super) fn waited(&mut self, waited: Span) {
        self.air_time.backoff += waited;
    }

    /// Gaps between the frames of an exchange count as waiting.
    pub(super) fn account(&mut self, sends: bool, start: Instant, parts: &Parts) {
        let mut at = start;
        for part in parts.iter() {
            self.air_time.backoff += part.start.saturating_since(at);
            at = part.start + part.duration;
            let own = part.by_sender == sends;
            *(if own { &mut self.air_time.transmit } else { &mut self.air_time.receive }) += part.duration;
        }
    }

    /// Passes an input to power save and applies its outputs.
    fn notify(&mut self, input: StationInput, now: Instant, out: &mut Effects<'_>) {
        self.power_save.handle_input(input, now);
        self.apply_power_save(now, out);
    }

    fn apply_power_save(&mut self, now: Instant, out: &mut Effects<'_>) {
        loop {
            let mut asked = false;
            while let Some(output) = self.power_save.poll_output() {
                match output {
                    StationOutput::Wake => out.wake(self.radio(), self.slot + 1, now),
                    StationOutput::Doze => out.doze(self.radio(), self.contender, self.slot + 1, now),
                    StationOutput::Send(control) => self.enqueue_control(control, now, out),
                    StationOutput::MeasureAirTime => asked = true,
                    StationOutput::Window(window) => {
                        out.emit(CellOutput::Window { station: self.id, window });
                    }
                }
            }
            out.set_timer(self.slot, self.next_timeout());
            if out.traces()
                && let Some(adaptation) = self.power_save.adaptation()
            {
                out.note_adaptation(self.id, adaptation, now);
            }
            if !asked {
                return;
            }
            self.power_save.handle_input(StationInput::AirTime(self.air_time), now);
        }
    }

    /// Power-save frames go ahead of data, but not ahead of a frame that is on the air.
    fn enqueue_control(&mut self, control: Control, now: Instant, out: &mut Effects<'_>) {
        let behind = usize::from(self.in_flight);
        let mpdu = self.mpdu(Body::Control(control));
        self.queue.insert(behind.min(self.queue.len()), mpdu);
        self.join(now, out);
    }

    fn join(&self, now: Instant, out: &mut Effects<'_>) {
        if !self.queue.is_empty() {
            out.join(self.contender, Some(self.radio()), now);
        }
    }

    fn mpdu(&mut self, body: Body) -> Mpdu {
        self.sequence = (self.sequence + 1) & 0xfff;
        Mpdu::new(self.access_point, body, self.sequence)
    }
}
