//! The MAC of a station: its transmission queue, its side of power save, and the air time that its exchanges took.

use std::collections::VecDeque;
use std::ops::Range;

use airwatt_base::{Instant, Machine, RandomStream, Slot, Span};
use airwatt_proto::powersave::{
    self as ps, FlowSample, PowerSaveFrame, ServiceFlags, StationInput, StationOutput, StationPowerSave,
    Uplink, Volume, WakeFrame,
};

use super::categories::{Categories, category_of};
use super::frame_queue::FrameQueue;
use super::sender::Sender;
use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::Effects;
use crate::media::cell::config::{CellConfig, CellStation};
use crate::media::cell::frame::parts::Parts;
use crate::media::cell::frame::{Body, CellFrameKind, Mpdu, MpduSet, OnAir, Ppdu, placed};
use crate::media::cell::interface::CellOutput;
use crate::media::cell::phy::rates::LinkPlan;
use crate::media::cell::radio::RadioId;
use crate::packet::Packet;
use crate::route::Member;

/// A frame as power save will learn of it.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// Length of its packet.
    bytes: u32,
    flags: ServiceFlags,
    null: bool,
    action: Option<WakeFrame>,
}

/// The MAC of a station.
#[derive(Clone, Debug)]
pub(crate) struct StationMac {
    /// Its slot is that of the power-save timers; the next one is that of the radio.
    pub(crate) sender: Sender,
    access_point: Member,
    /// The power-save machine.
    pub(crate) power_save: StationPowerSave,
    /// The user's frames wait for a service period, as power save said last.
    held: bool,
    /// What its own frames, and the waiting for them, took of the air.
    air_time: ps::AirTime,
    /// The frames that have arrived and to which the response is on the air, in order.
    arrived: Vec<Arrived>,
    /// The packets in them, for policies that decide by flows.
    flows: VecDeque<FlowSample>,
    /// Which beacons arrive broken: their share, and the draws.
    broken_beacons: Option<(f64, RandomStream)>,
}

/// A packet as policies see it.
fn sample(packet: &Packet, is_sent: bool, now: Instant) -> FlowSample {
    let volume = Volume { packets: 1, bytes: packet.bytes.into() };
    let [sent, received] = if is_sent { [volume, Volume::default()] } else { [Volume::default(), volume] };
    let (remote, port) = if is_sent { (packet.dst, packet.sport) } else { (packet.src, packet.dport) };
    // The packets of a capture have all the same ends, and its flows as labels.
    let peer = u64::from(packet.flow) << 32 | u64::from(remote.0) << 16 | u64::from(port);
    FlowSample { flow: packet.flow.into(), peer, dscp: packet.dscp, sent, received, first: now, last: now }
}

/// Hands on what a frame brings to `at`, and keeps for power save what there is to learn of it.
fn taking(
    at: Member,
    arrived: &mut Vec<Arrived>,
    mut flows: Option<&mut VecDeque<FlowSample>>,
    now: Instant,
    out: &mut Effects<'_>,
) -> impl FnMut(&Mpdu, Option<&Packet>) {
    move |mpdu, packet| {
        let bytes = packet.map_or(0, |packet| packet.bytes);
        let action = match mpdu.body {
            Body::Control(PowerSaveFrame::Wake(frame)) => Some(frame),
            _ => None,
        };
        arrived.push(Arrived { bytes, flags: mpdu.flags, null: packet.is_none(), action });
        let Some(packet) = packet else { return };
        if let Some(flows) = &mut flows {
            flows.push_back(sample(packet, false, now));
        }
        out.emit(CellOutput::Arrived { at, packet: *packet });
    }
}

impl StationMac {
    /// Makes a station with an empty queue.
    pub(crate) fn new(
        config: &CellConfig,
        station: &CellStation,
        radio: RadioId,
        [member, access_point]: [Member; 2],
        // Its own, and the first one of the access point.
        (contenders, sender): (Range<ContenderId>, ContenderId),
        links: &[LinkPlan],
        slot: Slot,
        seed: u64,
    ) -> Self {
        let draws = || RandomStream::new(seed, &format!("{}/broken-beacons", station.name));
        let limits = config.station_limits();
        let queue = |(contender, link): (ContenderId, &LinkPlan)| {
            let ends = [member, access_point];
            let mut queue = FrameQueue::new(ends, contender, link.clone(), limits, station.buffer);
            queue.add_receiver(link);
            queue
        };
        let queues = Categories::new(contenders, links, queue);
        Self {
            sender: Sender::new(config, (radio, member, slot), queues, sender),
            access_point,
            power_save: StationPowerSave::new(station.mac_power_save, station.policy.clone()),
            held: false,
            air_time: ps::AirTime::default(),
            arrived: Vec::new(),
            flows: VecDeque::new(),
            broken_beacons: (station.beacon_error_rate > 0.0).then(|| (station.beacon_error_rate, draws())),
        }
    }

    /// The time of the next timer of power save, of a gap before held frames or of the end of a lifetime; [`Instant::FOREVER`] if none
    /// runs.
    pub(crate) fn due(&self) -> Instant {
        self.power_save.due().min(self.sender.due())
    }

    fn watch_lifetimes(&self, out: &mut Effects<'_>) {
        if self.sender.expires() {
            out.set_timer(self.sender.slot, self.due());
        }
    }

    /// Takes a packet from the station's host.
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        if !self.sender.queues.of_mut(category_of(&Body::Data(packet))).push(self.access_point, packet, now) {
            out.emit(CellOutput::Lost(packet));
            return;
        }
        self.notify(StationInput::Backlog { frames: self.packets() }, now, out);
        if self.power_save.sees_flows() {
            self.notify(StationInput::Flow(sample(&packet, true, now)), now, out);
        }
        self.join(now, out);
        self.watch_lifetimes(out);
    }

    /// Handles the end of the radio's wake-up.
    pub(crate) fn awake(&mut self, now: Instant, out: &mut Effects<'_>) {
        out.awake(self.sender.radio, self.sender.slot + 1, now);
        self.notify(StationInput::Awake, now, out);
        self.join(now, out);
    }

    /// Handles a beacon in which the station's bit of the TIM is `tim`. `group`: group-addressed frames follow it.
    pub(crate) fn beacon(&mut self, tim: bool, group: bool, now: Instant, out: &mut Effects<'_>) {
        if self.broken_beacons.as_mut().is_some_and(|(share, draws)| draws.chance(*share)) {
            return;
        }
        self.notify(StationInput::Beacon { tim, group }, now, out);
    }

    /// Handles a group-addressed frame.
    pub(crate) fn group_received(&mut self, more_data: bool, now: Instant, out: &mut Effects<'_>) {
        self.notify(StationInput::Group { more_data }, now, out);
    }

    /// The power-management bit of a frame.
    fn pm_of(&self, mpdu: &Mpdu) -> bool {
        match mpdu.body {
            Body::Control(PowerSaveFrame::PmNull { pm }) => pm,
            Body::Control(PowerSaveFrame::Trigger | PowerSaveFrame::PsPoll) => true,
            _ => self.power_save.pm(),
        }
    }

    /// Number of packets in all queues.
    fn packets(&self) -> u32 {
        self.sender.queues.iter().map(FrameQueue::packets).sum()
    }

    pub(super) fn next_ppdu(&self, category: Category) -> Option<Ppdu> {
        let queue = self.sender.queue(category);
        queue.next_ppdu(self.pm_of(queue.front()?))
    }

    pub(super) fn compose(&mut self, category: Category) -> Ppdu {
        let pm = self.sender.queue(category).front().is_some_and(|mpdu| self.pm_of(mpdu));
        self.sender.compose(category, pm)
    }

    pub(super) fn receive(&mut self, ppdu: &Ppdu, mpdus: OnAir<'_>, now: Instant, out: &mut Effects<'_>) {
        let (received, sees_flows) = (out.received(), self.power_save.sees_flows());
        let Self { sender: Sender { member, receptions, .. }, arrived, flows, .. } = self;
        let take = taking(*member, arrived, sees_flows.then_some(flows), now, out);
        if receptions.receive(ppdu, mpdus, received, now, take) {
            out.lose(receptions.late());
            out.set_timer(self.sender.slot, self.due());
        }
    }

    /// Power save learns of frames when the response to them is out: the radio cannot doze before that, and the host has had the
    /// packets and may have something to send.
    #[inline]
    pub(super) fn responded(&mut self, now: Instant, out: &mut Effects<'_>) {
        for place in 0..self.arrived.len() {
            let Arrived { bytes, flags, null, action } = self.arrived[place];
            let received = StationInput::Received { bytes, flags, null };
            self.notify(action.map_or(received, StationInput::Wake), now, out);
            if !null && let Some(sample) = self.flows.pop_front() {
                self.notify(StationInput::Flow(sample), now, out);
            }
        }
        self.arrived.clear();
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        let mut left = false;
        let contender = ppdu.contender;
        self.sender.queues.of_contender_mut(contender).adapt(ppdu, received, now);
        while let Some((mpdu, delivered)) =
            self.sender.queues.of_contender_mut(contender).next_concluded(received, now)
        {
            left = true;
            self.frame_left(&mpdu, delivered, now, out);
        }
        let queue = self.sender.queues.of_contender_mut(contender);
        queue.end_attempt();
        if queue.is_empty() {
            out.sent_all(contender, Some(self.sender.radio), now);
        }
        self.watch_lifetimes(out);
        left
    }

    /// Discards the packets whose lifetime is over by this time, which is `now` or, for all of them, [`Instant::FOREVER`].
    #[inline(never)]
    fn expire(&mut self, by: Instant, now: Instant, out: &mut Effects<'_>) {
        for contender in self.sender.contenders() {
            while let Some(mpdu) = self.sender.queues.of_contender_mut(contender).take_expired(by) {
                self.frame_left(&mpdu, false, now, out);
                self.sender.stop_if_empty(contender, now, out);
            }
        }
    }

    /// Handles a frame that has left the queue: acknowledged, or given up.
    fn frame_left(&mut self, mpdu: &Mpdu, delivered: bool, now: Instant, out: &mut Effects<'_>) {
        match mpdu.body {
            Body::Data(packet) => {
                if !delivered {
                    self.sender.lose(mpdu, packet, now, out);
                }
                let frame = Uplink::Data { bytes: packet.bytes };
                self.power_save.handle_input(StationInput::Sent { frame, delivered }, now);
                // An input without output is settled with the next one, which comes at once.
                if self.power_save.has_output() {
                    self.apply_power_save(now, out);
                }
                self.notify(StationInput::Backlog { frames: self.packets() }, now, out);
            }
            Body::Control(control) => {
                let frame = Uplink::Control(control);
                self.notify(StationInput::Sent { frame, delivered }, now, out);
            }
            Body::BlockAckRequest => self.notify(StationInput::Backlog { frames: self.packets() }, now, out),
            Body::NullData | Body::Trigger | Body::Group(_) | Body::Beacon { .. } | Body::External(_) => {}
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        if self.sender.receptions.due() <= now {
            let sees_flows = self.power_save.sees_flows();
            let Self { sender: Sender { member, receptions, .. }, arrived, flows, .. } = self;
            receptions.expire(now, taking(*member, arrived, sees_flows.then_some(flows), now, out));
            self.responded(now, out);
        }
        if self.sender.expiry() <= now {
            self.expire(now, now, out);
        }
        self.power_save.handle_timeout(now);
        self.apply_power_save(now, out);
    }

    /// Gaps between the frames of an exchange count as waiting.
    pub(super) fn account(&mut self, sends: bool, waited: Span, start: Instant, parts: &Parts) {
        let ps::AirTime { transmit, receive, backoff } = &mut self.air_time;
        *backoff += waited;
        let mut at = start;
        for part in parts.iter() {
            *backoff += part.start.saturating_since(at);
            at = part.start + part.duration;
            *(if part.by_sender == sends { &mut *transmit } else { &mut *receive }) += part.duration;
        }
    }

    /// Passes an input to power save and applies what follows from it; from most inputs nothing does.
    fn notify(&mut self, input: StationInput, now: Instant, out: &mut Effects<'_>) {
        self.power_save.handle_input(input, now);
        if self.power_save.has_changed() || out.traces() {
            self.apply_power_save(now, out);
        }
    }

    fn apply_power_save(&mut self, now: Instant, out: &mut Effects<'_>) {
        loop {
            let mut asked = false;
            while let Some(output) = self.power_save.poll_output() {
                asked |= matches!(output, StationOutput::MeasureAirTime);
                self.apply(output, now, out);
            }
            out.set_timer(self.sender.slot, self.due());
            out.set_purpose(self.sender.radio, self.power_save.purpose(), now);
            if out.traces() {
                self.trace_adaptation(now, out);
            }
            if !asked {
                break;
            }
            self.power_save.handle_input(StationInput::AirTime(self.air_time), now);
        }
        let was_held = std::mem::replace(&mut self.held, self.power_save.holds_frames());
        if self.held {
            self.sender.contenders().for_each(|contender| out.leave(contender));
        } else if was_held {
            self.join(now, out);
        }
    }

    /// Whether frames of this category contend: under an agreement they may wait for a service period or a Trigger frame.
    pub(super) fn contends(&self, category: Category) -> bool {
        !self.sender.queue(category).is_empty() && !self.power_save.holds_frames()
    }

    /// The contender whose frame answers a Trigger frame: that of the highest category with a frame.
    pub(crate) fn answering(&self) -> Option<ContenderId> {
        let mut contenders = self.sender.contenders().rev();
        contenders.find(|contender| !self.sender.queues.of_contender(*contender).is_empty())
    }

    /// Whether packets wait beside those of a PPDU that have arrived.
    pub(crate) fn waits_behind(&self, ppdu: &Ppdu, mpdus: OnAir<'_>, received: &MpduSet) -> bool {
        let is_data = ppdu.kind == CellFrameKind::Data;
        let arrived = placed(mpdus).filter(|(place, _)| is_data && received.contains(*place)).count();
        self.packets() as usize > arrived
    }

    /// Applies an output of power save. Most inputs have none, so this stays out of the way.
    #[inline(never)]
    fn apply(&mut self, output: StationOutput, now: Instant, out: &mut Effects<'_>) {
        match output {
            StationOutput::Wake => out.wake(self.sender.radio, self.sender.slot + 1, now),
            StationOutput::Doze => {
                out.doze(self.sender.radio, self.sender.contenders(), self.sender.slot + 1, now)
            }
            StationOutput::LeaveChannel => {
                out.leave_channel(self.sender.radio, self.sender.contenders(), now)
            }
            StationOutput::ReturnToChannel => {
                out.return_to_channel(self.sender.radio, now);
                self.join(now, out);
            }
            StationOutput::Send(control) => self.enqueue_control(control, now, out),
            StationOutput::Discard => self.expire(Instant::FOREVER, now, out),
            // The answer follows when all outputs have been taken.
            StationOutput::MeasureAirTime => {}
            StationOutput::Window(window) => {
                out.emit(CellOutput::Window { member: self.sender.member, window });
            }
        }
    }

    #[cold]
    fn trace_adaptation(&self, now: Instant, out: &mut Effects<'_>) {
        if let Some(adaptation) = self.power_save.adaptation() {
            out.note_adaptation(self.sender.member, adaptation, now);
        }
    }

    fn enqueue_control(&mut self, control: PowerSaveFrame, now: Instant, out: &mut Effects<'_>) {
        let body = Body::Control(control);
        self.sender.queues.of_mut(category_of(&body)).push_first(self.access_point, body);
        self.join(now, out);
    }

    fn join(&self, now: Instant, out: &mut Effects<'_>) {
        if self.power_save.holds_frames() {
            return;
        }
        for queue in self.sender.queues.iter().filter(|queue| !queue.is_empty()) {
            out.join(queue.contender, Some(self.sender.radio), now);
        }
    }
}
