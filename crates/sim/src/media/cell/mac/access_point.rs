//! The MAC of an access point: its BSS, transmission queue and beacons, and the access point's side of power save.
//!
//! The stations of the BSS are the members that follow the access point's own.
//!
//! Group-addressed frames have the access of beacons, PIFS without backoff, as in access points whose queue of them is released by
//! the end of a DTIM beacon. Beacons go first. Both share a counter of sequence numbers (802.11-2020 10.3.2.14.2).

use std::ops::Range;

use airwatt_base::{Instant, Machine, Slot, Span};
use airwatt_proto::powersave::{
    AccessPointInput, AccessPointOutput, AccessPointPowerSave, Downlink, Loss, PowerSaveFrame, ServiceFlags,
    StationId, StationPolicy, UplinkKind, WakeFrame,
};

use super::categories::{Categories, category_of};
use super::downlink::DownlinkQueue;
use super::frame_queue::FrameQueue;
use super::reception::Receptions;
use super::station_queues::Addressed;
use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::Effects;
use crate::media::cell::config::{CellConfig, WaitsFrom};
use crate::media::cell::frame::{
    Body, CellFrameKind, FrameLimits, ModeId, Mpdu, MpduSet, OnAir, Ppdu, Receiver, beacon_bytes,
};
use crate::media::cell::group::GroupSources;
use crate::media::cell::interface::CellOutput;
use crate::media::cell::phy::mode::Link;
use crate::media::cell::phy::rates::LinkPlan;
use crate::media::cell::radio::RadioId;
use crate::packet::{Packet, Payload};
use crate::route::Member;

/// The MAC of an access point.
#[derive(Clone, Debug)]
pub(crate) struct AccessPointMac {
    member: Member,
    /// The radio of a station that this access point shares; `None` if nothing accounts for the energy of its radio.
    pub(super) radio: Option<RadioId>,
    slot: Slot,
    power_save: AccessPointPowerSave<Held>,
    waits_from: WaitsFrom,
    queues: Categories<DownlinkQueue>,
    /// Whether frames wait in the power-save buffer until each of the queues has room.
    waits_for_room: bool,
    /// The length of beacons in bytes, if it is not that of the usual elements.
    beacon_bytes: Option<u32>,
    /// The beacon, and group-addressed packets that have been released: at most `broadcasts_limit` of them.
    broadcasts: FrameQueue,
    broadcasts_limit: u32,
    /// The group bit in the TIM of the present or last beacon.
    pub(crate) group_bit: bool,
    sources: GroupSources,
    receptions: Receptions,
    /// The last sequence number of beacons and group-addressed frames.
    number: u16,
    /// Stations whose released frames the full queue has discarded, until power save has been notified.
    refused: Vec<StationId>,
    /// Packets that were dropped because a buffer was full.
    pub(crate) buffer_drops: u64,
    /// Packets that were given up at the retry limit.
    pub(crate) given_up: u64,
    /// Packets whose lifetime was over before they were acknowledged.
    pub(crate) expired: u64,
    /// How long the data of the last attempt was on the air, if stations have equal air time.
    on_air: Span,
}

/// A packet of the power-save buffer, and when it came.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    packet: Packet,
    since: Instant,
    /// Whether its lifetime was over before it was acknowledged.
    expired: bool,
}

impl Held {
    const fn new(packet: Packet, since: Instant) -> Self {
        Self { packet, since, expired: false }
    }
}

/// A frame of the transmission queue as power save knows it.
const fn downlink(body: Body, since: Instant) -> Downlink<Held> {
    match body {
        Body::Data(packet) => Downlink::Packet(Held::new(packet, since)),
        Body::Control(PowerSaveFrame::Wake(frame)) => Downlink::Wake(frame),
        Body::Trigger => Downlink::Trigger,
        _ => Downlink::NullData,
    }
}

/// The action frame of a PPDU, which has no other frame then.
fn action_of(ppdu: &Ppdu, mpdus: &OnAir<'_>) -> Option<WakeFrame> {
    if ppdu.kind != CellFrameKind::Action {
        return None;
    }
    mpdus.clone().find_map(|mpdu| match mpdu.body {
        Body::Control(PowerSaveFrame::Wake(frame)) => Some(frame),
        _ => None,
    })
}

impl AccessPointMac {
    /// Makes an access point without stations. Its contenders are `data` for the queues, and the next one for beacons.
    pub(crate) fn new(
        config: &CellConfig,
        member: Member,
        data: Range<ContenderId>,
        radio: Option<RadioId>,
        slot: Slot,
        sources: GroupSources,
    ) -> Self {
        let limits = FrameLimits {
            retries: config.retry_limit,
            rts_threshold: config.ap_rts_threshold,
            overhead: config.mac_overhead,
        };
        // The queue has a limit ahead of its frames, and each receiver a link.
        let links = vec![LinkPlan::fixed(Link::single(ModeId::DATA)); data.len()];
        let queue = |(contender, link): (ContenderId, &LinkPlan)| {
            let frames = FrameQueue::new([member, member + 1], contender, link.clone(), limits, u32::MAX);
            DownlinkQueue::new(config.ap_queue, config.ap_codel, config.ap_buffer, frames, member + 1)
        };
        let beacon = data.end;
        Self {
            member,
            radio,
            slot,
            power_save: AccessPointPowerSave::new(config.power_save),
            waits_from: config.ap_codel.since,
            beacon_bytes: config.beacon_bytes,
            waits_for_room: config.wait_for_room,
            queues: Categories::new(data, &links, queue),
            broadcasts: FrameQueue::broadcast(member, beacon, limits),
            // Whatever the power-save buffer held is released at once by a DTIM beacon, and has room.
            broadcasts_limit: config.ap_buffer.max(config.power_save.power_save_buffer),
            group_bit: false,
            sources,
            receptions: Receptions::new(beacon + 1, config.aggregation.mpdus != Some(1)),
            number: 0,
            refused: Vec::new(),
            buffer_drops: 0,
            given_up: 0,
            expired: 0,
            on_air: Span::ZERO,
        }
    }

    /// Associates the next station, to which data of each category goes over its link.
    pub(crate) fn add_station(&mut self, policy: &StationPolicy, links: &[LinkPlan]) {
        for (queue, link) in self.queues.iter_mut().zip(links) {
            queue.add_station(link);
        }
        self.power_save.add_station(policy.needs_uapsd());
    }

    /// The time of the next beacon or group-addressed packet, of a gap before held frames or of the end of a lifetime;
    /// [`Instant::FOREVER`] if there is none.
    pub(crate) fn due(&self) -> Instant {
        let sources = self.sources.next().unwrap_or(Instant::FOREVER);
        self.power_save.due().min(sources).min(self.receptions.due()).min(self.expiry())
    }

    fn expiry(&self) -> Instant {
        let expiries = self.queues.iter().map(|queue| queue.frames().expiry());
        expiries.min().unwrap_or(Instant::FOREVER)
    }

    fn watch_lifetimes(&self, out: &mut Effects<'_>) {
        if self.queues.iter().any(|queue| queue.frames().expires()) {
            out.set_timer(self.slot, self.due());
        }
    }

    /// Whether packets come to the access point by themselves.
    pub(crate) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The members that are stations of this BSS.
    pub(crate) fn stations(&self) -> std::ops::Range<Member> {
        let first = self.member + 1;
        first..first + self.power_save.stations() as Member
    }

    /// The station's bit in the TIM.
    pub(crate) fn tim(&self, station: Member) -> bool {
        self.power_save.tim(self.local(station))
    }

    /// The stations whose bit in the TIM is set.
    pub(crate) fn marked(&self) -> Vec<Member> {
        self.stations().filter(|station| self.tim(*station)).collect()
    }

    /// Whether group-addressed packets wait.
    pub(crate) fn has_group(&self) -> bool {
        self.broadcasts.iter().any(|mpdu| matches!(mpdu.body, Body::Group(_))) || self.power_save.group_bit()
    }

    /// Takes a packet for a station, or for all of them, from the distribution system.
    pub(crate) fn deliver(&mut self, station: Member, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        let station = self.local(station);
        let input = match packet.payload {
            Payload::Group(_) => AccessPointInput::DeliverGroup { packet: Held::new(packet, now) },
            _ => AccessPointInput::Deliver { station, packet: Held::new(packet, now) },
        };
        self.notify(input, now, out);
    }

    /// The frames of a category.
    #[inline]
    pub(super) fn queue(&self, category: Category) -> &FrameQueue {
        match category {
            Category::Beacon => &self.broadcasts,
            _ => self.queues.of(category).frames(),
        }
    }

    pub(super) const fn contenders(&self) -> Range<ContenderId> {
        self.queues.contenders()
    }

    fn has_sleeping_station(&self) -> bool {
        (0..self.power_save.stations()).any(|station| self.power_save.asleep(station))
    }

    pub(super) fn compose(&mut self, category: Category, now: Instant, out: &mut Effects<'_>) -> Ppdu {
        if category == Category::Beacon {
            return self.compose_broadcast();
        }
        let mut dropped = Vec::new();
        self.queues.of_mut(category).fill(now, &mut dropped);
        if !dropped.is_empty() {
            self.discard(dropped, out);
            self.settle(now, out);
        }
        let Self { queues, power_save, number, member, .. } = self;
        let first = *member + 1;
        let ppdu = queues.of_mut(category).frames_mut().compose(false, number, |mpdu| {
            let station = StationId::from(mpdu.to - first);
            let flags = power_save.flags(station);
            power_save.handle_input(AccessPointInput::Started { station }, now);
            if mpdu.body == Body::Trigger { ServiceFlags::default() } else { flags }
        });
        self.settle(now, out);
        ppdu
    }

    /// Fixes what a beacon or a group-addressed frame says.
    fn compose_broadcast(&mut self) -> Ppdu {
        // More Data is for stations in power save only (802.11-2020 9.2.4.1.8). Behind a group-addressed frame only others like it wait.
        let has_more = self.broadcasts.len() > 1 && self.has_sleeping_station();
        let mut flags = ServiceFlags::default();
        match self.broadcasts.front_mut().map(|mpdu| &mut mpdu.body) {
            Some(Body::Beacon { dtim_count, group, .. }) => {
                *group = *dtim_count == 0 && self.power_save.group_bit();
                self.group_bit = *group;
            }
            _ => flags.more_data = has_more,
        }
        self.broadcasts.compose(false, &mut self.number, |_| flags)
    }

    pub(super) fn note_arrivals(&mut self, ppdu: &Ppdu, received: &MpduSet) {
        self.queues.of_contender_mut(ppdu.contender).frames_mut().note_arrivals(received);
    }

    pub(super) fn receive(&mut self, ppdu: &Ppdu, mpdus: OnAir<'_>, now: Instant, out: &mut Effects<'_>) {
        let station = self.local(ppdu.from);
        let kind = match ppdu.kind {
            CellFrameKind::QosNull => UplinkKind::Trigger,
            CellFrameKind::Null | CellFrameKind::Action => UplinkKind::Null,
            CellFrameKind::PsPoll => UplinkKind::PsPoll,
            _ => UplinkKind::Data,
        };
        let at = self.member;
        let action = action_of(ppdu, &mpdus);
        let changes =
            self.receptions.receive(ppdu, mpdus, out.received(), now, |_, packet| out.arrived(at, packet));
        if changes {
            out.lose(self.receptions.late());
            out.set_timer(self.slot, self.due());
        }
        if ppdu.kind == CellFrameKind::BlockAckRequest {
            return;
        }
        self.notify(AccessPointInput::UplinkReceived { station, pm: ppdu.pm, kind }, now, out);
        if let Some(frame) = action {
            self.notify(AccessPointInput::Wake { station, frame }, now, out);
        }
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        if ppdu.contender == self.broadcasts.contender {
            self.broadcasts.next_concluded(received, now);
            self.broadcasts.end_attempt();
            if ppdu.kind == CellFrameKind::Beacon {
                self.notify(AccessPointInput::BeaconSent { group: self.group_bit }, now, out);
            }
            if self.broadcasts.is_empty() {
                out.sent_all(ppdu.contender, self.radio, now);
            }
            return true;
        }
        let mut left = false;
        let contender = ppdu.contender;
        self.queues.of_contender_mut(contender).frames_mut().adapt(ppdu, received, now);
        while let Some((mpdu, delivered)) =
            self.queues.of_contender_mut(contender).frames_mut().next_concluded(received, now)
        {
            left = true;
            self.frame_left(&mpdu, delivered, contender, now, out);
        }
        if let Receiver::Member(station) = ppdu.to {
            let mut dropped = Vec::new();
            let queue = self.queues.of_contender_mut(contender);
            queue.end_attempt(station, self.on_air, now, &mut dropped);
            if !dropped.is_empty() {
                self.discard(dropped, out);
                self.settle(now, out);
            }
        }
        self.watch_lifetimes(out);
        left
    }

    /// Discards the packets whose lifetime is over.
    #[inline(never)]
    fn expire(&mut self, now: Instant, out: &mut Effects<'_>) {
        for contender in self.contenders() {
            while let Some(mpdu) = self.queues.of_contender_mut(contender).frames_mut().take_expired(now) {
                self.frame_left(&mpdu, false, contender, now, out);
                if self.queues.of_contender(contender).frames().is_empty() {
                    out.leave(contender);
                }
            }
        }
    }

    /// Notes whether more of the user's frames wait at a station than it has just sent.
    pub(crate) fn note_queue_size(&mut self, station: Member, waits: bool, now: Instant) {
        let station = self.local(station);
        self.power_save.handle_input(AccessPointInput::QueueSize { station, waits }, now);
    }

    /// Notes that data to a station is on the air for this time.
    pub(crate) const fn begins_to_send(&mut self, time: Span) {
        self.on_air = time;
    }

    /// Charges a station for data of a category that is on the air for this time.
    pub(crate) fn charge(&mut self, station: Member, category: Category, time: Span) {
        self.queues.of_mut(category).charge(station, time);
    }

    /// Handles a frame that has left the queue: acknowledged, or given up. One that was given up although it has arrived, because its
    /// station fell asleep behind a response that was lost, is not sent again.
    fn frame_left(
        &mut self,
        mpdu: &Mpdu,
        delivered: bool,
        contender: ContenderId,
        now: Instant,
        out: &mut Effects<'_>,
    ) {
        let mut dropped = Vec::new();
        let queue = self.queues.of_contender_mut(contender);
        queue.left(mpdu);
        queue.refill(now, &mut dropped);
        self.discard(dropped, out);
        self.note_queue(now, out);
        // Power save does not know of requests for a BlockAck.
        let mut frame = (mpdu.body != Body::BlockAckRequest).then(|| downlink(mpdu.body, now)); // what failed waits anew
        if let Some(Downlink::Packet(held)) = &mut frame {
            held.expired = mpdu.expires <= now;
        }
        let station = self.local(mpdu.to);
        let delivered = delivered || mpdu.arrived;
        match frame {
            // It has never been sent.
            Some(Downlink::Packet(held)) if !mpdu.stamped => {
                self.expired += 1;
                out.emit(CellOutput::Lost(held.packet));
                self.refused.push(station);
                self.settle(now, out);
            }
            Some(frame) => self.notify(AccessPointInput::Sent { station, frame, delivered }, now, out),
            None => {}
        }
        if self.queues.of_contender(contender).frames().is_empty() {
            out.sent_all(contender, self.radio, now);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        let at = self.member;
        self.receptions.expire(now, |_, packet| out.arrived(at, packet));
        if self.expiry() <= now {
            self.expire(now, out);
        }
        self.power_save.handle_timeout(now);
        while let Some(packet) = self.sources.take(now) {
            self.power_save
                .handle_input(AccessPointInput::DeliverGroup { packet: Held::new(packet, now) }, now);
        }
        self.apply_power_save(now, out);
    }

    /// Passes an input to power save and applies its outputs. Most inputs have none, and none moves the time of the next beacon.
    fn notify(&mut self, input: AccessPointInput<Held>, now: Instant, out: &mut Effects<'_>) {
        if self.waits_for_room {
            let frames = self.queues.iter().map(DownlinkQueue::room).min().unwrap_or(0);
            self.power_save.handle_input(AccessPointInput::Room { frames }, now);
        }
        self.power_save.handle_input(input, now);
        self.settle(now, out);
    }

    /// Applies what power save has to say.
    fn settle(&mut self, now: Instant, out: &mut Effects<'_>) {
        if self.power_save.has_changed() || !self.refused.is_empty() || out.traces() {
            self.apply_power_save(now, out);
        }
    }

    fn apply_power_save(&mut self, now: Instant, out: &mut Effects<'_>) {
        let mut recalled = Vec::new();
        while let Some(output) = self.next_output(now) {
            self.apply(output, &mut recalled, now, out);
        }
        out.set_timer(self.slot, self.due());
        for station in recalled {
            self.recall(station, now, out);
        }
        if self.is_traced(out) {
            self.trace_power_save(now, out);
        }
    }

    /// Applies an output of power save. Frames are taken back when all outputs have been applied: `recalled` has their stations.
    /// Most inputs have no output, so this stays out of the way.
    #[inline(never)]
    fn apply(
        &mut self,
        output: AccessPointOutput<Held>,
        recalled: &mut Vec<StationId>,
        now: Instant,
        out: &mut Effects<'_>,
    ) {
        match output {
            AccessPointOutput::Transmit { station, frame: Downlink::Packet(Held { packet, since, .. }) } => {
                self.enqueue(station, Body::Data(packet), since, now, out);
            }
            AccessPointOutput::Transmit { station, frame: Downlink::NullData } => {
                self.enqueue(station, Body::NullData, now, now, out);
            }
            AccessPointOutput::Transmit { station, frame: Downlink::Trigger } => {
                self.enqueue(station, Body::Trigger, now, now, out);
            }
            AccessPointOutput::Transmit { station, frame: Downlink::Wake(frame) } => {
                self.enqueue(station, Body::Control(PowerSaveFrame::Wake(frame)), now, now, out);
            }
            AccessPointOutput::TransmitGroup { .. } if self.broadcasts.len() >= self.broadcasts_limit => {
                self.buffer_drops += 1;
            }
            AccessPointOutput::TransmitGroup { packet } => {
                self.broadcasts.append(self.member, Body::Group(packet.packet), now);
                out.join(self.broadcasts.contender, self.radio, now);
            }
            AccessPointOutput::DroppedGroup { .. } => self.buffer_drops += 1,
            AccessPointOutput::Recall { station } => recalled.push(station),
            AccessPointOutput::Beacon { dtim_count } => {
                self.enqueue_beacon(dtim_count);
                out.join(self.broadcasts.contender, self.radio, now);
            }
            AccessPointOutput::Dropped { packet, why, .. } => {
                self.buffer_drops += u64::from(why == Loss::BufferFull);
                let count = if packet.expired { &mut self.expired } else { &mut self.given_up };
                *count += u64::from(why == Loss::RetryLimit);
                out.emit(CellOutput::Lost(packet.packet));
            }
        }
    }

    /// Puts a beacon ahead of group-addressed frames, in place of one that still waits.
    fn enqueue_beacon(&mut self, count: u8) {
        if let Some(Mpdu { body: Body::Beacon { dtim_count, .. }, stamped: false, .. }) =
            self.broadcasts.front_mut()
        {
            *dtim_count = count;
            return;
        }
        let bytes = self.beacon_bytes.unwrap_or_else(|| beacon_bytes(self.power_save.stations()));
        let beacon = Body::Beacon { dtim_count: count, group: false, bytes };
        self.broadcasts.push_first(self.member, beacon);
    }

    #[cold]
    fn trace_power_save(&self, now: Instant, out: &mut Effects<'_>) {
        let held: usize = (0..self.power_save.stations()).map(|id| self.power_save.buffered(id)).sum();
        out.note_power_save(held as u32, now);
    }

    /// The next output of power save. Between two drains the machine is notified of the frames that the full queue has discarded.
    fn next_output(&mut self, now: Instant) -> Option<AccessPointOutput<Held>> {
        loop {
            if let Some(output) = self.power_save.poll_output() {
                return Some(output);
            }
            let station = self.refused.pop()?;
            self.power_save.handle_input(AccessPointInput::Refused { station }, now);
        }
    }

    /// Puts a frame into the transmission queue, whose packet came to the access point then.
    fn enqueue(
        &mut self,
        station: StationId,
        body: Body,
        came: Instant,
        now: Instant,
        out: &mut Effects<'_>,
    ) {
        let since = if self.waits_from == WaitsFrom::Arrival { came } else { now };
        let mut dropped = Vec::new();
        let (to, category) = (self.global(station), category_of(&body));
        let accepted = self.queues.of_mut(category).push(to, body, (since, now), &mut dropped);
        self.discard(dropped, out);
        if !accepted {
            return;
        }
        self.note_queue(now, out);
        let frames = self.queue(category);
        if !frames.is_empty() {
            out.join(frames.contender, self.radio, now);
        }
        self.watch_lifetimes(out);
    }

    /// Takes the frames of a station that fell asleep back from the transmission queues, those of the highest category first.
    fn recall(&mut self, station: StationId, now: Instant, out: &mut Effects<'_>) {
        let to = self.global(station);
        let mut back = Vec::new();
        for contender in self.contenders().rev() {
            let queue = self.queues.of_contender_mut(contender);
            back.extend(queue.recall(to, now));
            let mut dropped = Vec::new();
            queue.refill(now, &mut dropped);
            self.discard(dropped, out);
            self.note_queue(now, out);
            if self.queues.of_contender(contender).frames().is_empty() {
                out.leave(contender);
                out.sent_all(contender, self.radio, now);
            }
        }
        for (body, since) in back {
            self.notify(AccessPointInput::Recalled { station, frame: downlink(body, since) }, now, out);
        }
    }

    /// Reports packets that the transmission queue has discarded.
    fn discard(&mut self, dropped: Vec<Addressed>, out: &mut Effects<'_>) {
        for (to, packet) in dropped {
            self.buffer_drops += 1;
            out.emit(CellOutput::Lost(packet));
            self.refused.push(self.local(to));
        }
    }

    fn note_queue(&self, now: Instant, out: &mut Effects<'_>) {
        if self.is_traced(out) {
            out.note_queue(self.queues.iter().map(DownlinkQueue::len).sum(), now);
        }
    }

    /// A trace has the queues of the first access point only.
    fn is_traced(&self, out: &Effects<'_>) -> bool {
        self.member == 0 && out.traces()
    }

    /// The member that is this station of power save.
    const fn global(&self, station: StationId) -> Member {
        self.member + 1 + station as Member
    }

    /// The number of a member in the machine of power save.
    fn local(&self, station: Member) -> StationId {
        StationId::from(station - self.member - 1)
    }
}
