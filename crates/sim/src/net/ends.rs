//! Applications and their sockets in the network: what an application asks of its sockets, what they send, and what arrives.

use airwatt_base::Instant;
use airwatt_proto::end::SenderWindow;
use airwatt_proto::quic::QuicEnd;

use super::node::Stack;
use super::{Message, Network, WindowSample};
use crate::packet::{FlowLabel, GroupKind, NO_FLOW, Packet, Payload, QuicPacket};
use crate::stack::application::{ApplicationId, Connection, DatagramFate, SocketRequest};
use crate::stack::role::Role;
use crate::stack::socket::SocketId;
use crate::stack::transport::{SocketTransport, TransportOutput};

impl Network {
    /// Serves the timers of a socket, and charges its host for retransmission timeouts.
    pub(super) fn wake_socket(&mut self, id: SocketId) {
        let now = self.now;
        let socket = &mut self.sockets[id as usize];
        let Some(host) = &mut self.nodes[usize::from(socket.node)].host else {
            return socket.transport.handle_timeout(now);
        };
        let before = socket.transport.counts().timeouts;
        socket.transport.handle_timeout(now);
        host.time_out(socket.transport.counts().timeouts - before, now);
    }

    /// Takes the outputs of a socket's transport.
    pub(super) fn drain_socket(&mut self, id: SocketId) {
        let now = self.now;
        let socket = &mut self.sockets[id as usize];
        let entry = &mut self.applications[socket.application as usize];
        let record = &mut self.records[socket.flow as usize];
        let delivered = record.delivered();
        while let Some(output) = socket.transport.poll_output() {
            let transmitted = match output {
                TransportOutput::Transmit(payload, bytes) => Some((payload, bytes)),
                TransportOutput::TransmitQuic(datagram, content) => {
                    let ticket = self.store.put_bytes(&datagram);
                    let payload = Payload::Quic(QuicPacket { ticket, content });
                    Some((payload, QuicEnd::packet_bytes(&datagram)))
                }
                TransportOutput::Event(event) => {
                    entry.machine.handle_event((socket.connection, socket.role), event, record, now);
                    None
                }
            };
            if let Some((payload, bytes)) = transmitted {
                record.bytes_sent += if socket.counted { u64::from(bytes) } else { 0 };
                let packet = socket.packet(payload, bytes, now);
                if let Some(route) = self.routes.get(socket.node, packet.dst) {
                    let (interface, next) = (route.interface, route.next);
                    self.messages.push_back(Message::Transmit { interface, next, packet });
                }
            }
        }
        record.meter.add(record.delivered().saturating_sub(delivered), now);
        if let Some(windows) = &mut self.windows
            && socket.role == Role::Sender
        {
            note_window(windows, (socket.flow, socket.connection), socket.transport.sender_window(), now);
        }
        self.schedule.put(socket.slot, socket.transport.due());
        let (application, answers) = (socket.application, entry.machine.answers());
        self.note_end(application);
        if answers {
            self.serve_calls(application);
        }
    }

    /// Counts a finite application that has just come to its end.
    #[inline]
    pub(super) fn note_end(&mut self, id: ApplicationId) {
        let entry = &mut self.applications[id as usize];
        let record = &self.records[id as usize];
        if !entry.finished && entry.machine.is_finite() && entry.machine.is_over(record) {
            entry.finished = true;
            self.unfinished -= 1;
        }
    }

    /// An application is due: it begins, or has something to send.
    pub(super) fn wake_application(&mut self, id: ApplicationId) {
        let now = self.now;
        let entry = &mut self.applications[id as usize];
        self.schedule.cancel(entry.slot);
        let record = &mut self.records[id as usize];
        if record.started.is_none() {
            record.started = Some(now);
            entry.machine.begin(now);
            if entry.machine.opens_at_once() {
                self.open_connection(id, 0);
            }
        }
        self.applications[id as usize].machine.handle_timeout(now);
        self.serve_calls(id);
    }

    /// Opens a connection of an application, if it does not stand already.
    fn open_connection(&mut self, id: ApplicationId, connection: Connection) {
        let now = self.now;
        let entry = &self.applications[id as usize];
        if !entry.handshake {
            return;
        }
        let [listening, opening] = entry.pair(connection);
        self.sockets[listening as usize].transport.listen(now);
        self.sockets[opening as usize].transport.open(now);
        self.drain_socket(listening);
        self.drain_socket(opening);
    }

    /// Executes the calls of an application, and sets its timer.
    pub(super) fn serve_calls(&mut self, id: ApplicationId) {
        let now = self.now;
        loop {
            let entry = &mut self.applications[id as usize];
            let Some(call) = entry.machine.poll_call(now) else {
                let (slot, due) = (entry.slot, entry.machine.due());
                return self.schedule.put(slot, due);
            };
            let socket = entry.socket(call.connection, call.role);
            match call.request {
                SocketRequest::Open => self.open_connection(id, call.connection),
                SocketRequest::Write(bytes) => {
                    self.sockets[socket as usize].transport.write(bytes, now);
                    self.drain_socket(socket);
                }
                SocketRequest::WriteStream { bytes, urgency, more } => {
                    self.sockets[socket as usize].transport.write_stream(bytes, urgency, more, now);
                    self.drain_socket(socket);
                }
                SocketRequest::Send { number, bytes, since, flow } => {
                    self.send_datagram(socket, number, bytes, since, flow);
                }
                SocketRequest::SendToGroup { bytes, since } => self.send_to_group(socket, bytes, since),
            }
        }
    }

    /// Sends a datagram of a socket. Its frames are charged to `flow`, or to that of the socket.
    fn send_datagram(
        &mut self,
        id: SocketId,
        number: u32,
        bytes: u32,
        since: Instant,
        flow: Option<FlowLabel>,
    ) {
        let socket = &self.sockets[id as usize];
        let SocketTransport::Udp(udp) = socket.transport else { return };
        let record = &mut self.records[socket.flow as usize];
        let bytes = bytes + udp.header_bytes;
        record.packets_sent += 1;
        record.bytes_sent += u64::from(bytes);
        let flow = flow.unwrap_or(socket.flow);
        let packet = Packet { flow, ..socket.packet(Payload::Datagram(number), bytes, since) };
        self.forward(socket.node, &packet);
    }

    /// Sends a group-addressed packet of a capture by the route of a socket's packets. Of which kind it is matters for traces of
    /// frames only, which a replay does not have.
    fn send_to_group(&mut self, id: SocketId, bytes: u32, since: Instant) {
        let socket = &self.sockets[id as usize];
        let payload = Packet::group(GroupKind::Arp, 0, bytes, since).payload;
        let packet = Packet { flow: NO_FLOW, ..socket.packet(payload, bytes, since) };
        self.forward(socket.node, &packet);
    }

    pub(super) fn receive_datagram(&mut self, id: SocketId, packet: &Packet, header_bytes: u32) {
        let now = self.now;
        let Payload::Datagram(number) = packet.payload else { return };
        let socket = &self.sockets[id as usize];
        let (role, latency) = (socket.role, now - packet.sent);
        let record = &mut self.records[socket.flow as usize];
        let payload = u64::from(packet.bytes - header_bytes);
        // Answers are no data of the flow.
        if role == Role::Receiver {
            record.arrive(latency);
            record.received += payload;
            record.meter.add(payload, now);
        }
        let flow = socket.flow;
        self.settle_datagram(flow, number, DatagramFate::Arrived(role, latency));
    }

    /// A datagram was lost: the flow of the socket that sent it counts it, whatever its frames are charged to.
    pub(super) fn lose_datagram(&mut self, packet: &Packet, number: u32) {
        let Stack::Host(ports) = &self.nodes[usize::from(packet.src.0)].stack else { return };
        let Some(sender) = ports.get([packet.sport, packet.dport]) else { return };
        let flow = self.sockets[sender as usize].flow;
        self.records[flow as usize].packets_lost += 1;
        self.settle_datagram(flow, number, DatagramFate::Lost);
    }

    /// Reports to the application of a flow what became of a datagram.
    pub(super) fn settle_datagram(&mut self, flow: FlowLabel, number: u32, fate: DatagramFate) {
        let record = &mut self.records[flow as usize];
        self.applications[flow as usize].machine.settle(number, fate, record, self.now);
        self.note_end(flow);
        self.serve_calls(flow);
    }
}

fn note_window(
    windows: &mut Vec<WindowSample>,
    (flow, connection): (FlowLabel, Connection),
    window: SenderWindow,
    at: Instant,
) {
    let SenderWindow { window: cwnd, threshold: ssthresh, flight } = window;
    let sample = WindowSample { at, flow, connection, cwnd, ssthresh, flight };
    match windows.iter().rev().find(|last| (last.flow, last.connection) == (flow, connection)) {
        Some(last)
            if (last.cwnd, last.ssthresh, last.flight) == (sample.cwnd, sample.ssthresh, sample.flight) => {}
        _ => windows.push(sample),
    }
}
