//! How packets travel through the machines of a run, and who is told of their arrival or loss.

use airwatt_base::{Instant, Machine, Size, Slot};
use airwatt_proto::powersave::{StationId, Window};
use airwatt_proto::tcp;

use super::{DOWN_LINK, Flow, FlowState, HOP, Hop, HopSpec, WindowSample, World, foreign};
use crate::apps::{Arrival, Delay, Dialogue, End, EndOutput, EndWindow, Side, Transfer};
use crate::media::cell::{CellInput, CellOutput};
use crate::media::{PipeOutput, PointToPointInput, PointToPointOutput};
use crate::packet::{Body, FlowId, Packet};

/// An input on its way to its machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    /// To the hop, towards the station or away from it.
    Hop { down: bool, packet: Packet },
    /// To the flow's wire, towards the stations or towards the server.
    Wire { down: bool, packet: Packet },
    /// To an end of a flow's connections.
    End { flow: FlowId, end: usize, body: Body },
}

impl World {
    pub(super) fn serve(&mut self, slot: Slot) {
        let now = self.now;
        match slot {
            HOP => match &mut self.hop {
                Hop::Cell(cell) => {
                    cell.handle_timeout(now);
                    self.drain_cell();
                }
                Hop::Link(link) => {
                    link.handle_timeout(now);
                    self.drain_duplex();
                }
            },
            _ if slot < self.first_flow => {
                let (wire, down) = ((slot - DOWN_LINK) as usize / 2, (slot - DOWN_LINK).is_multiple_of(2));
                if let Some(entry) = self.wires.get_mut(wire) {
                    entry.direction(down).handle_timeout(now);
                    self.drain_wire(wire, down);
                }
            }
            _ => {
                let flow = self.owners[(slot - self.first_flow) as usize];
                match slot - self.flows[flow as usize].first_slot {
                    0 => self.act(flow),
                    end => {
                        let end = end as usize - 1;
                        self.transfer(flow).end_mut(end).handle_timeout(now);
                        self.drain_end(flow, end);
                    }
                }
            }
        }
    }

    pub(super) fn deliver_messages(&mut self) {
        while let Some(message) = self.messages.pop_front() {
            let now = self.now;
            match message {
                Message::Hop { down, packet } => match &mut self.hop {
                    Hop::Cell(cell) => {
                        let Some(station) = self.flows[packet.flow as usize].station else { continue };
                        let input = if down {
                            CellInput::Down { station, packet }
                        } else {
                            CellInput::Up { station, packet }
                        };
                        cell.handle_input(input, now);
                        self.drain_cell();
                    }
                    Hop::Link(link) => {
                        link.handle_input(PointToPointInput { down, packet }, now);
                        self.drain_duplex();
                    }
                },
                Message::Wire { down, packet } => self.enter_wire(down, packet),
                Message::End { flow, end, body } => {
                    self.transfer(flow).end_mut(end).receive(&body, now);
                    self.drain_end(flow, end);
                }
            }
        }
    }

    // Applications.

    /// A flow's application is due: it begins, or has something to send.
    fn act(&mut self, flow: FlowId) {
        let now = self.now;
        let Flow { first_slot, application, .. } = &mut self.flows[flow as usize];
        let slot = *first_slot;
        self.schedule.cancel(slot);
        match application {
            FlowState::Transfer(transfer) => {
                if transfer.progress.started.is_none() {
                    transfer.progress.started = Some(now);
                    match &mut transfer.dialogue {
                        Some(dialogue) => dialogue.begin(now),
                        None => transfer.source.begin(now),
                    }
                    if transfer.handshake {
                        self.shake_hands(flow);
                    }
                }
                self.write(flow);
            }
            FlowState::Datagrams(datagrams) => {
                if datagrams.started.is_none() {
                    datagrams.started = Some(now);
                    datagrams.source.begin(now);
                }
                self.send_datagrams(flow);
            }
            FlowState::Saturated(saturation) => {
                for _ in 0..saturation.first_batch() {
                    self.send_saturated(flow);
                }
            }
            FlowState::Replay(replay) => {
                let taken = replay.take();
                let next = replay.due();
                self.schedule.put(slot, next);
                if let Some((number, arrival)) = taken {
                    self.send_replayed(flow, number, arrival);
                }
            }
            FlowState::Foreign(_) => {}
        }
    }

    /// Opens each connection from the end at the station's side, as clients do.
    fn shake_hands(&mut self, flow: FlowId) {
        let now = self.now;
        for leg in 0..self.transfer(flow).legs.len() {
            self.transfer(flow).end_mut(2 * leg).listen(now);
            self.drain_end(flow, 2 * leg);
            self.transfer(flow).end_mut(2 * leg + 1).open(now);
            self.drain_end(flow, 2 * leg + 1);
        }
    }

    /// Writes what the application has to send now.
    fn write(&mut self, flow: FlowId) {
        let now = self.now;
        let transfer = self.transfer(flow);
        if let Some(dialogue) = &mut transfer.dialogue {
            dialogue.handle_timeout(now);
            return self.converse(flow);
        }
        let (bytes, end) = (transfer.source.take(now), transfer.sender());
        let next = transfer.source.due();
        if let (Some(blocks), Some(written)) = (&mut transfer.blocks, transfer.source.block_end()) {
            blocks.written(written, now);
        }
        if bytes > 0 {
            transfer.end_mut(end).write(bytes, now);
            self.drain_end(flow, end);
        }
        self.schedule.put(self.flows[flow as usize].first_slot, next);
    }

    /// Writes what the dialogue has an end say now.
    fn converse(&mut self, flow: FlowId) {
        let now = self.now;
        if let Some((end, bytes)) = self.transfer(flow).take_speech() {
            self.transfer(flow).end_mut(end).write(bytes, now);
            self.drain_end(flow, end);
        }
        let next = self.transfer(flow).dialogue.as_ref().and_then(Dialogue::due);
        self.schedule.put(self.flows[flow as usize].first_slot, next);
    }

    fn send_datagrams(&mut self, flow: FlowId) {
        let now = self.now;
        let Flow { down, application: FlowState::Datagrams(datagrams), first_slot, .. } =
            &mut self.flows[flow as usize]
        else {
            return;
        };
        let payload = datagrams.source.take(now);
        let next = datagrams.source.due();
        let (slot, down) = (*first_slot, *down);
        if payload > 0 {
            let bytes = datagrams.send(payload);
            let body = Body::Datagram(datagrams.sent);
            let side = if down { Side::Server } else { Side::Station };
            let packet = Packet { flow, bytes, sent: now, body };
            let way = self.flows[flow as usize].way();
            self.messages.push_back(way.message(side, packet));
        }
        self.schedule.put(slot, next);
    }

    fn send_replayed(&mut self, flow: FlowId, number: u64, arrival: Arrival) {
        let packet = Packet { flow, bytes: arrival.bytes, sent: arrival.at, body: Body::Datagram(number) };
        self.messages.push_back(Message::Hop { down: arrival.down, packet });
    }

    fn send_saturated(&mut self, flow: FlowId) {
        let Flow { down, application: FlowState::Saturated(saturation), .. } = &mut self.flows[flow as usize]
        else {
            return;
        };
        let body = Body::Datagram(saturation.number());
        let packet = Packet { flow, bytes: saturation.packet_bytes, sent: self.now, body };
        self.messages.push_back(Message::Hop { down: *down, packet });
    }

    // Outputs to messages.

    fn poll_cell(&mut self) -> Option<CellOutput> {
        let Hop::Cell(cell) = &mut self.hop else { return None };
        let output = cell.poll_output();
        if output.is_none() {
            self.schedule.put(HOP, cell.poll_timeout().map(|t| t.at));
        }
        output
    }

    fn drain_cell(&mut self) {
        while let Some(output) = self.poll_cell() {
            match output {
                CellOutput::ToStation { packet, .. } => self.arrived(packet, Side::Station),
                CellOutput::ToWire { packet, .. } => self.at_base(packet, false),
                CellOutput::Lost { packet, .. } => self.lost(packet),
                CellOutput::Window { station, window } => self.bound_windows(station, window),
            }
        }
    }

    /// What a station's power save wants its peers to send goes, in equal parts, to the ends of its downloads that are under
    /// way.
    fn bound_windows(&mut self, station: StationId, window: Window) {
        let downloads = |flow: &&Flow| flow.station == Some(station) && flow.down && flow.is_under_way();
        let count = self.flows.iter().filter(downloads).count().max(1) as u64;
        let share = match window {
            Window::Open => None,
            Window::Grant { bytes } => Some(bytes / count),
        };
        for id in 0..self.flows.len() {
            let flow = &mut self.flows[id];
            let FlowState::Transfer(transfer) = &mut flow.application else { continue };
            if flow.station != Some(station) || !flow.down {
                continue;
            }
            let Some(end) = transfer.at(Side::Station) else { continue };
            if let End::Tcp(connection) = transfer.end_mut(end) {
                connection.handle_input(tcp::Input::Grant(share), self.now);
                self.drain_end(id as FlowId, end);
            }
        }
    }

    fn poll_duplex(&mut self) -> Option<PointToPointOutput> {
        let Hop::Link(link) = &mut self.hop else { return None };
        let output = link.poll_output();
        if output.is_none() {
            self.schedule.put(HOP, link.poll_timeout().map(|t| t.at));
        }
        output
    }

    fn drain_duplex(&mut self) {
        while let Some(PointToPointOutput { down, output }) = self.poll_duplex() {
            match output {
                PipeOutput::Arrived { packet, began } => {
                    self.note_delivery(&packet, began, true);
                    if down {
                        self.arrived(packet, Side::Station);
                    } else {
                        self.at_base(packet, false);
                    }
                }
                PipeOutput::Damaged { packet, began } => {
                    self.note_delivery(&packet, began, false);
                    self.lost(packet);
                }
                PipeOutput::Dropped(packet) => self.lost(packet),
            }
        }
    }

    fn enter_wire(&mut self, down: bool, packet: Packet) {
        let now = self.now;
        let Some(wire) = self.flows[packet.flow as usize].wire else { return };
        self.wires[wire].direction(down).handle_input(packet, now);
        self.drain_wire(wire, down);
    }

    fn drain_wire(&mut self, wire: usize, down: bool) {
        loop {
            let link = self.wires[wire].direction(down);
            match link.poll_output() {
                Some(PipeOutput::Arrived { packet, .. }) if down => self.at_base(packet, true),
                Some(PipeOutput::Arrived { packet, .. }) => self.arrived(packet, Side::Server),
                Some(PipeOutput::Damaged { packet, .. } | PipeOutput::Dropped(packet)) => self.lost(packet),
                None => {
                    let slot = DOWN_LINK + 2 * wire as Slot + Slot::from(!down);
                    return self.schedule.put(slot, link.poll_timeout().map(|t| t.at));
                }
            }
        }
    }

    /// A packet has come to the base station, on its way down or up: it goes on, unless its connection ends here.
    fn at_base(&mut self, packet: Packet, down: bool) {
        let side = if down { Side::BaseToServer } else { Side::BaseToStation };
        let Flow { station, wire, application, .. } = &mut self.flows[packet.flow as usize];
        let (neighbour, wired) = (station.is_none(), wire.is_some());
        match application {
            FlowState::Transfer(transfer) if transfer.at(side).is_some() => self.arrived(packet, side),
            // What is measured at the head of the air does not go on.
            FlowState::Saturated(_) | FlowState::Replay(_) => self.arrived(packet, Side::Server),
            FlowState::Foreign(foreign) if !down => match foreign::turn(foreign, packet) {
                Some(turned) => self.messages.push_back(Message::Hop { down: true, packet: turned }),
                None if wired => self.messages.push_back(Message::Wire { down: false, packet }),
                None => self.arrived(packet, Side::Server),
            },
            // A neighbour is on the base station's own wire.
            _ if down && neighbour => self.arrived(packet, Side::Station),
            _ if down => self.messages.push_back(Message::Hop { down: true, packet }),
            _ if wired => self.messages.push_back(Message::Wire { down: false, packet }),
            _ => self.arrived(packet, Side::Server),
        }
    }

    fn drain_end(&mut self, flow: FlowId, end: usize) {
        let now = self.now;
        let entry = &mut self.flows[flow as usize];
        let slot = entry.slot_of_end(end);
        let way = entry.way();
        let Flow { application: FlowState::Transfer(transfer), meter, .. } = entry else { return };
        let (was_over, delivered) = (transfer.is_over(), transfer.progress.delivered());
        let side = transfer.side(end);
        // Bytes count on the station's leg.
        let counts = end + 2 >= transfer.ends();
        while let Some(output) = transfer.end_mut(end).poll_output() {
            match output {
                EndOutput::Transmit(body, bytes) => {
                    transfer.progress.bytes_sent += if counts { u64::from(bytes) } else { 0 };
                    let packet = Packet { flow, bytes, sent: now, body };
                    self.messages.push_back(way.message(side, packet));
                }
                EndOutput::Event(event) => transfer.note(end, event, now),
            }
        }
        meter.add(transfer.progress.delivered().saturating_sub(delivered), now);
        if let Some(blocks) = &mut transfer.blocks {
            blocks.arrived(transfer.progress.received + transfer.progress.skipped, now);
        }
        if transfer.is_finite() && transfer.is_over() && !was_over {
            self.unfinished -= 1;
        }
        if let Some(windows) = &mut self.windows
            && end == transfer.sender()
        {
            note_window(windows, flow, transfer, now);
        }
        self.schedule.put(slot, transfer.end(end).due());
        if transfer.dialogue.is_some() {
            return self.converse(flow);
        }
        if let Some((from, to, bytes)) = transfer.relayable() {
            self.relay(flow, from, to, bytes);
        }
    }

    /// The base station reads `bytes` from one connection and writes them to the other.
    fn relay(&mut self, flow: FlowId, from: usize, to: usize, bytes: u64) {
        let now = self.now;
        self.transfer(flow).end_mut(from).read(bytes, now);
        self.transfer(flow).end_mut(to).write(bytes, now);
        self.drain_end(flow, from);
        self.drain_end(flow, to);
    }

    /// A packet has arrived on this side.
    fn arrived(&mut self, packet: Packet, side: Side) {
        let now = self.now;
        let flow = packet.flow;
        let Flow { application, meter, .. } = &mut self.flows[flow as usize];
        match (application, packet.body) {
            (FlowState::Transfer(transfer), body) => {
                let Some(end) = transfer.at(side) else { return };
                if body.has_data() && end == transfer.receiver() {
                    transfer.progress.packets_arrived += 1;
                    transfer.progress.latency += now - packet.sent;
                }
                self.messages.push_back(Message::End { flow, end, body });
            }
            (FlowState::Datagrams(datagrams), _) => {
                let before = datagrams.delivered;
                datagrams.arrive(packet.bytes, now - packet.sent, now);
                meter.add(datagrams.delivered - before, now);
                self.unfinished -= usize::from(datagrams.is_over());
            }
            (FlowState::Saturated(saturation), _) => {
                saturation.delivered += u64::from(packet.bytes);
                meter.add(u64::from(packet.bytes), now);
                self.send_saturated(flow);
            }
            (FlowState::Replay(replay), Body::Datagram(number)) => {
                let down = side == Side::Station;
                replay.delays.push(Delay { number, down, delay: now - packet.sent });
                self.replay_progressed(flow, number);
            }
            (FlowState::Foreign(_), _) => self.crossed(packet, true),
            (FlowState::Replay(_), _) => {}
        }
    }

    fn lost(&mut self, packet: Packet) {
        let now = self.now;
        match (&mut self.flows[packet.flow as usize].application, packet.body) {
            (FlowState::Transfer(transfer), body) => {
                transfer.progress.acks_lost += u64::from(body.is_pure_ack());
            }
            (FlowState::Datagrams(datagrams), _) => {
                datagrams.lose(now);
                self.unfinished -= usize::from(datagrams.is_over());
            }
            (FlowState::Saturated(_), _) => self.send_saturated(packet.flow),
            (FlowState::Replay(replay), Body::Datagram(number)) => {
                replay.lost += 1;
                self.replay_progressed(packet.flow, number);
            }
            (FlowState::Foreign(_), _) => self.crossed(packet, false),
            (FlowState::Replay(_), _) => {}
        }
    }

    /// A data packet has crossed the point-to-point link, or was damaged on it.
    fn note_delivery(&mut self, packet: &Packet, began: Instant, sound: bool) {
        let HopSpec::Link(link) = &self.spec.hop else { return };
        let (Some(last), FlowState::Transfer(transfer)) =
            (packet.body.last_byte(), &mut self.flows[packet.flow as usize].application)
        else {
            return;
        };
        let own = link.rate.time_for(Size::from_bytes(u64::from(packet.bytes)));
        transfer.deliveries.note(last, began, own, sound, self.now, link.cut_through);
    }

    /// A packet of a replay is settled: those that waited for it go, and a replay without a duration is over when its
    /// last packet is.
    fn replay_progressed(&mut self, flow: FlowId, number: u64) {
        let Flow { application: FlowState::Replay(replay), .. } = &mut self.flows[flow as usize] else {
            return;
        };
        let released = replay.settle(number);
        if replay.due().is_none() && replay.is_over() {
            self.unfinished = self.unfinished.saturating_sub(1);
        }
        for (number, arrival) in released {
            self.send_replayed(flow, number, arrival);
        }
    }

    fn transfer(&mut self, flow: FlowId) -> &mut Transfer {
        match &mut self.flows[flow as usize].application {
            FlowState::Transfer(transfer) => transfer,
            _ => unreachable!("only a transfer has connections"),
        }
    }
}

/// Over what a flow's packets go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) station: Option<StationId>,
    pub(super) wire: Option<usize>,
}

impl Way {
    /// A packet leaves a host or the base station.
    const fn message(self, from: Side, packet: Packet) -> Message {
        match from {
            Side::Server if self.wire.is_some() => Message::Wire { down: true, packet },
            Side::Server | Side::BaseToStation => Message::Hop { down: true, packet },
            Side::BaseToServer => Message::Wire { down: false, packet },
            Side::Station if self.station.is_none() => Message::Wire { down: false, packet },
            Side::Station => Message::Hop { down: false, packet },
        }
    }
}

fn note_window(windows: &mut Vec<WindowSample>, flow: FlowId, transfer: &Transfer, at: Instant) {
    let EndWindow { window: cwnd, threshold: ssthresh, flight } = transfer.end(transfer.sender()).window();
    let sample = WindowSample { at, flow, cwnd, ssthresh, flight };
    match windows.iter().rev().find(|last| last.flow == flow) {
        Some(last)
            if (last.cwnd, last.ssthresh, last.flight) == (sample.cwnd, sample.ssthresh, sample.flight) => {}
        _ => windows.push(sample),
    }
}
