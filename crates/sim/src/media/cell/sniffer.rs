//! What a sniffer beside the cell would record, and the lengths of its queues, if a trace is wanted.

use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::{Adaptation, ServiceFlags, StationId};

use super::CellTrace;
use super::channel::{Parts, Plan};
use super::frame::{
    ACK_BYTES, BeaconContent, Body, CellFrameKind, ModeId, Node, Ppdu, RTS_BYTES, Receiver, TracedFrame,
};
use super::mode::Modes;
use crate::net::route::Member;

/// Records frames and queue lengths.
#[derive(Clone, Debug, Default)]
pub(super) struct Sniffer {
    /// The members of the cell, with the indices of their BSSs.
    nodes: Vec<(Node, u16)>,
    trace: Option<Box<CellTrace>>,
}

impl Sniffer {
    /// Adds the next member, which belongs to this BSS.
    pub(super) fn add(&mut self, node: Node, bss: usize) {
        self.nodes.push((node, bss as u16));
    }

    /// Records from now on.
    pub(super) fn begin(&mut self) {
        self.trace = Some(Box::default());
    }

    /// Whether it records.
    pub(super) const fn is_on(&self) -> bool {
        self.trace.is_some()
    }

    /// What was recorded.
    pub(super) fn take(&mut self) -> Option<CellTrace> {
        self.trace.take().map(|trace| *trace)
    }

    /// Records the frames of one exchange with what the frame carries. `marked` has the stations whose TIM bit is set, if it is
    /// a beacon.
    pub(super) fn record(
        &mut self,
        ppdu: &Ppdu,
        body: &Body,
        parts: &Parts,
        (plan, modes): (&Plan, &Modes),
        marked: Vec<Member>,
    ) {
        let node = |member: Member| self.nodes[member as usize];
        let (sender, bss) = node(ppdu.from);
        let receiver = match ppdu.to {
            Receiver::Member(to) => node(to).0,
            Receiver::Group => Node::All,
        };
        let beacon = match body {
            Body::Beacon { dtim_count, group, .. } => {
                let marked = marked.into_iter().filter_map(|member| self.station(member)).collect();
                Some(BeaconContent { dtim_count: *dtim_count, group: *group, marked })
            }
            _ => None,
        };
        let Some(trace) = &mut self.trace else { return };
        for part in parts.iter() {
            let (from, to) = if part.by_sender { (sender, receiver) } else { (receiver, sender) };
            let is_body = !matches!(part.kind, CellFrameKind::Rts | CellFrameKind::Cts | CellFrameKind::Ack);
            let packet = match body {
                Body::Data(packet) | Body::Group(packet) if is_body => Some(*packet),
                _ => None,
            };
            trace.frames.push(TracedFrame {
                start: part.start,
                duration: part.duration,
                from,
                to,
                medium: 0,
                bss,
                kind: part.kind,
                rate: match part.kind {
                    CellFrameKind::Rts | CellFrameKind::Cts => modes.get(ModeId::CONTROL).rate,
                    CellFrameKind::Ack => modes.get(ppdu.mode).ack_rate,
                    _ => modes.get(ppdu.mode).rate,
                },
                bytes: match part.kind {
                    CellFrameKind::Rts => RTS_BYTES,
                    CellFrameKind::Cts | CellFrameKind::Ack => ACK_BYTES,
                    _ => ppdu.bytes,
                },
                received: part.received,
                retry: is_body && ppdu.retry,
                pm: is_body && ppdu.pm,
                flags: if is_body { ppdu.flags } else { ServiceFlags::default() },
                sequence: if is_body { ppdu.sequence } else { 0 },
                nav: if ppdu.to == Receiver::Group { Span::ZERO } else { plan.nav(part.kind) },
                packet,
                beacon: beacon.clone(),
            });
        }
    }

    /// The number of the station that is this member.
    fn station(&self, member: Member) -> Option<StationId> {
        match self.nodes[member as usize] {
            (Node::Station(station), _) => Some(station),
            _ => None,
        }
    }

    /// Records what a station's policy knows about its traffic, if that has changed.
    pub(super) fn note_adaptation(&mut self, station: Member, adaptation: Adaptation, now: Instant) {
        let Some(station) = self.station(station) else { return };
        let Some(trace) = &mut self.trace else { return };
        let last = trace.adaptations.iter().rev().find(|(_, other, _)| *other == station);
        if last.is_none_or(|(_, _, last)| *last != adaptation) {
            trace.adaptations.push((now, station, adaptation));
        }
    }

    /// Records the length of the access point's transmission queue.
    pub(super) fn note_queue(&mut self, frames: u32, now: Instant) {
        if let Some(trace) = &mut self.trace {
            trace.ap_queue.push((now, frames));
        }
    }

    /// Records the number of packets in the access point's power-save buffers, if that has changed.
    pub(super) fn note_power_save(&mut self, packets: u32, now: Instant) {
        if let Some(trace) = &mut self.trace
            && trace.ap_power_save.last().is_none_or(|(_, last)| *last != packets)
        {
            trace.ap_power_save.push((now, packets));
        }
    }
}
