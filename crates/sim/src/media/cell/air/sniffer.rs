//! What a sniffer beside the cell would record, and the lengths of its queues, if a trace is wanted.

use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::{Adaptation, PowerSaveFrame, ServiceFlags, StationId};

use crate::media::cell::frame::parts::{Parts, Plan};
use crate::media::cell::frame::{
    ACK_BYTES, Aggregate, BeaconContent, Body, CellFrameKind, ModeId, Mpdu, MpduSet, Node, Ppdu, RTS_BYTES,
    Receiver, TracedFrame,
};
use crate::media::cell::interface::CellTrace;
use crate::media::cell::phy::mode::Modes;
use crate::route::Member;

/// Records frames and queue lengths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sniffer {
    /// The members of the cell, with the indices of their BSSs.
    nodes: Vec<(Node, u16)>,
    trace: Option<Box<CellTrace>>,
    /// Number of aggregates so far.
    aggregates: u32,
}

impl Sniffer {
    /// Adds the next member, which belongs to this BSS.
    pub(crate) fn add(&mut self, node: Node, bss: usize) {
        self.nodes.push((node, bss as u16));
    }

    /// Records from now on.
    pub(crate) fn begin(&mut self) {
        self.trace = Some(Box::default());
    }

    /// Whether it records.
    pub(crate) const fn is_on(&self) -> bool {
        self.trace.is_some()
    }

    /// What was recorded so far, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, |trace| {
            let CellTrace { frames, radios, adaptations, ap_queue, ap_power_save } = &**trace;
            let queues = size_of_val(&ap_queue[..]) + size_of_val(&ap_power_save[..]);
            size_of_val(&frames[..]) + size_of_val(&radios[..]) + size_of_val(&adaptations[..]) + queues
        })
    }

    /// What was recorded.
    pub(crate) fn take(&mut self) -> Option<CellTrace> {
        self.trace.take().map(|trace| *trace)
    }

    /// Records the frames of one exchange: those of the PPDU with the lengths of their MPDUs and traffic identifier, and those before and behind it. `marked` has the
    /// stations whose TIM bit is set, if it is a beacon.
    pub(crate) fn record(
        &mut self,
        ppdu: &Ppdu,
        (mpdus, tid): (&[(Mpdu, u32)], u8),
        parts: &Parts,
        (plan, modes, received): (&Plan, &Modes, &MpduSet),
        // Of the response, if it is a BlockAck.
        bitmap: MpduSet,
        marked: Vec<Member>,
    ) {
        let (sender, bss) = self.nodes[ppdu.from as usize];
        let receiver = match ppdu.to {
            Receiver::Member(to) => self.nodes[to as usize].0,
            Receiver::Group => Node::All,
        };
        let beacon = self.beacon(mpdus, marked);
        self.aggregates += u32::from(ppdu.count > 1);
        let reference = self.aggregates;
        let Some(trace) = &mut self.trace else { return };
        for part in parts.iter() {
            let (from, to) = if part.by_sender { (sender, receiver) } else { (receiver, sender) };
            let (vector, bytes) = match part.kind {
                CellFrameKind::Rts => (modes.get(ModeId::CONTROL).vector, RTS_BYTES),
                CellFrameKind::Cts => (modes.get(ModeId::CONTROL).vector, ACK_BYTES),
                CellFrameKind::Ack => (modes.get(ppdu.mode).response, ACK_BYTES),
                CellFrameKind::BlockAck => (modes.get(ppdu.mode).response, modes.block_ack_bytes()),
                _ => (modes.get(ppdu.mode).vector, ppdu.bytes),
            };
            let control = TracedFrame {
                start: part.start,
                duration: part.duration,
                from,
                to,
                medium: 0,
                bss,
                tid,
                kind: part.kind,
                vector,
                bytes,
                received: part.received,
                retry: false,
                pm: false,
                flags: ServiceFlags::default(),
                sequence: 0,
                nav: if ppdu.to == Receiver::Group { Span::ZERO } else { plan.nav(part.kind) },
                packet: None,
                joined: Vec::new(),
                beacon: beacon.clone(),
                action: None,
                aggregate: None,
                bitmap: MpduSet::default(),
            };
            match part.kind {
                CellFrameKind::BlockAck => {
                    trace.frames.push(TracedFrame { sequence: ppdu.sequence, bitmap, ..control });
                }
                CellFrameKind::Ack | CellFrameKind::Rts | CellFrameKind::Cts => trace.frames.push(control),
                _ => add_mpdus(&mut trace.frames, &control, ppdu, (mpdus, received), reference),
            }
        }
    }

    /// What a beacon says, if it is one.
    fn beacon(&self, mpdus: &[(Mpdu, u32)], marked: Vec<Member>) -> Option<BeaconContent> {
        let [(Mpdu { body: Body::Beacon { dtim_count, group, .. }, .. }, _)] = mpdus else { return None };
        let marked = marked.into_iter().filter_map(|member| self.station(member)).collect();
        Some(BeaconContent { dtim_count: *dtim_count, group: *group, marked })
    }

    /// The number of the station that is this member.
    fn station(&self, member: Member) -> Option<StationId> {
        match self.nodes[member as usize] {
            (Node::Station(station), _) => Some(station),
            _ => None,
        }
    }

    /// Records what a station's policy knows about its traffic, if that has changed.
    pub(crate) fn note_adaptation(&mut self, station: Member, adaptation: Adaptation, now: Instant) {
        let Some(station) = self.station(station) else { return };
        let Some(trace) = &mut self.trace else { return };
        let last = trace.adaptations.iter().rev().find(|(_, other, _)| *other == station);
        if last.is_none_or(|(_, _, last)| *last != adaptation) {
            trace.adaptations.push((now, station, adaptation));
        }
    }

    /// Records the length of the access point's transmission queue.
    pub(crate) fn note_queue(&mut self, frames: u32, now: Instant) {
        if let Some(trace) = &mut self.trace {
            trace.ap_queue.push((now, frames));
        }
    }

    /// Records the number of packets in the access point's power-save buffers, if that has changed.
    pub(crate) fn note_power_save(&mut self, packets: u32, now: Instant) {
        if let Some(trace) = &mut self.trace
            && trace.ap_power_save.last().is_none_or(|(_, last)| *last != packets)
        {
            trace.ap_power_save.push((now, packets));
        }
    }
}

/// Adds the frames of a PPDU's MPDUs, with what `part` says of all of them. A packet that joins the one before it is in its frame.
fn add_mpdus(
    frames: &mut Vec<TracedFrame>,
    part: &TracedFrame,
    ppdu: &Ppdu,
    (mpdus, received): (&[(Mpdu, u32)], &MpduSet),
    reference: u32,
) {
    let mut count = 0;
    for (mpdu, bytes) in mpdus {
        if let (true, Some(last), Body::Data(packet)) = (mpdu.joins, frames.last_mut(), mpdu.body) {
            // The header says what holds behind the last packet.
            last.flags = mpdu.flags;
            last.joined.push(packet);
            continue;
        }
        let (place, is_aggregate) = (count, ppdu.count > 1);
        count += 1;
        frames.push(TracedFrame {
            duration: if place == 0 { part.duration } else { Span::ZERO },
            bytes: *bytes,
            received: part.received && (!is_aggregate || received.contains(place)),
            retry: mpdu.retries > 0,
            pm: ppdu.pm,
            flags: mpdu.flags,
            sequence: mpdu.sequence,
            packet: match mpdu.body {
                Body::Data(packet) | Body::Group(packet) => Some(packet),
                _ => None,
            },
            action: match mpdu.body {
                Body::Control(PowerSaveFrame::Wake(frame)) => Some(frame),
                _ => None,
            },
            aggregate: is_aggregate.then_some(Aggregate { reference, place, count: ppdu.count }),
            ..part.clone()
        });
    }
}
