//! Processing of arriving packets.
//!
//! A packet that cannot belong to this connection is dropped without an answer: identifiers are one byte long, so
//! packets of an earlier connection with the same identifier may still arrive. All others are processed in the order of
//! RFC 9293 section 3.10.7.4: reset, acknowledgement, text, FIN.

use airwatt_base::{Instant, Seq};

use super::connection::Connection;
use super::timer::E2tcpTimer;
use super::wire::{Acknowledgement, E2tcpPacket, Level};
use crate::event::Event;
use crate::lifecycle::State;
use crate::tcp::reassembly::Text;
use crate::tcp::{ReceiveBuffer, SendBuffer};

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    pub(super) fn on_packet(&mut self, packet: &E2tcpPacket, payload: &R::Payload, now: Instant) {
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += packet.bytes() as u64;
        if !self.matches_connection(packet) {
            return;
        }
        match self.state {
            State::Closed => {}
            State::Listen => self.on_first_syn(packet),
            State::SynSent => self.on_packet_in_syn_sent(packet, now),
            _ => self.on_packet_of_stream(packet, payload, now),
        }
    }

    /// Whether the identifier matches this connection, and addresses are of a version that it expects. The table has
    /// checked the addresses themselves. A SYN may carry another identifier; the table has checked whether it is free.
    fn matches_connection(&mut self, packet: &E2tcpPacket) -> bool {
        let ours = match (packet.header.addresses, self.addresses) {
            (Some(theirs), Some(ours)) => theirs == ours,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let opening = matches!(self.state, State::Listen | State::SynSent | State::SynReceived);
        let free = opening && packet.header.control.syn() && packet.header.addresses.is_some();
        ours && (packet.header.connection == self.id || free)
    }

    fn on_first_syn(&mut self, packet: &E2tcpPacket) {
        let (true, None, Some(seq)) =
            (packet.header.control.syn(), packet.header.acknowledgement, packet.header.sequence)
        else {
            return;
        };
        self.id = packet.header.connection;
        self.receiver.synchronize(seq);
        self.obey(packet);
        self.note_window(packet);
        self.receiver.ack_due = true;
        self.state = State::SynReceived;
        self.sender.open();
    }

    /// Takes over how much of its data the peer wants to arrive, if that is for the peer to say.
    fn obey(&mut self, packet: &E2tcpPacket) {
        if self.config.obeys_peer {
            let percent = packet.header.reliability.map_or(100, Level::percent);
            self.receiver.set_reliability(percent, self.config.reliability_window);
        }
    }

    /// Takes the window field of a SYN without acknowledgement, which is valid from the SYN on.
    fn note_window(&mut self, packet: &E2tcpPacket) {
        if let Some(window) = packet.header.window {
            self.sender.on_window(window);
        }
    }

    fn on_packet_in_syn_sent(&mut self, packet: &E2tcpPacket, now: Instant) {
        let header = &packet.header;
        if header.acknowledgement.is_some_and(|ack| !self.acknowledges_syn(&ack)) {
            return;
        }
        if header.control.rst() {
            if header.acknowledgement.is_some() {
                self.finish(Some(Event::Refused));
            }
            return;
        }
        let (true, Some(seq)) = (header.control.syn(), header.sequence) else { return };
        self.id = header.connection;
        self.receiver.synchronize(seq);
        self.obey(packet);
        self.receiver.ack_due = true;
        if let Some(ack) = header.acknowledgement {
            self.take_acknowledgement(&ack, packet, now);
            self.agreed = true;
            self.connect();
        } else {
            // Both ends opened at the same time: each SYN is answered by the other's, which now carries an
            // acknowledgement.
            self.note_window(packet);
            self.state = State::SynReceived;
            self.sender.repeat_syn();
        }
    }

    fn acknowledges_syn(&self, ack: &Acknowledgement) -> bool {
        self.sender.has_begun() && ack.number == self.config.initial_sequence
    }

    fn on_packet_of_stream(&mut self, packet: &E2tcpPacket, payload: &R::Payload, now: Instant) {
        let header = &packet.header;
        let text = header.sequence.map(|seq| self.text(seq, packet));
        let near = text.is_none_or(|text| self.receiver.is_near(&text));
        let valid = header.acknowledgement.is_none_or(|ack| self.sender.may_acknowledge(ack.number));
        if !near || !valid || self.is_new_incarnation(packet) {
            return;
        }
        if header.control.rst() {
            return self.on_reset(packet);
        }
        if header.control.syn() {
            return self.on_repeated_syn(packet, now);
        }
        let acknowledged = header.acknowledgement.is_some_and(|ack| {
            self.take_acknowledgement(&ack, packet, now);
            self.sender.is_synchronized()
        });
        // A peer that leaves the addresses out has seen the identifier accepted.
        self.agreed |= header.addresses.is_none() || acknowledged;
        if self.state == State::SynReceived {
            if !self.agreed {
                return;
            }
            self.connect();
        }
        if let Some(text) = text {
            self.take_text(text, packet, payload);
        }
        self.advance_state(now);
    }

    /// The text of a packet. The packet's sequence number is that of the last byte.
    fn text(&self, seq: Seq, packet: &E2tcpPacket) -> Text {
        let last = self.receiver.position(seq);
        let behind = i64::from(packet.sequence_length()) - 1;
        Text { start: last - behind, len: packet.len, fin: packet.header.control.fin() }
    }

    /// Whether the packet is a SYN of another connection, which the table handles.
    fn is_new_incarnation(&self, packet: &E2tcpPacket) -> bool {
        packet.header.control.syn() && packet.header.sequence != self.receiver.initial_sequence()
    }

    fn on_reset(&mut self, packet: &E2tcpPacket) {
        // A reset without an acknowledgement cannot be attributed to this connection.
        if packet.header.acknowledgement.is_none() {
            return;
        }
        match self.state {
            State::SynReceived => self.finish(Some(Event::Refused)),
            State::TimeWait => self.finish(Some(Event::Closed)),
            _ => self.finish(Some(Event::Reset)),
        }
    }

    /// Processes a repeated SYN: the peer has not received our answer, or proposes another identifier, or both ends
    /// opened at the same time.
    fn on_repeated_syn(&mut self, packet: &E2tcpPacket, now: Instant) {
        self.receiver.ack_due = true;
        if self.state == State::SynReceived {
            self.id = packet.header.connection;
            if let Some(ack) = packet.header.acknowledgement {
                self.take_acknowledgement(&ack, packet, now);
                self.agreed = true;
                self.connect();
            } else {
                self.sender.repeat_syn();
            }
        }
    }

    fn take_acknowledgement(&mut self, ack: &Acknowledgement, packet: &E2tcpPacket, now: Instant) {
        let progress =
            self.sender.on_ack(ack, packet.header.window, now, &mut self.timers, &mut self.statistics);
        if progress.all_acknowledged {
            self.events.push_back(Event::AllAcknowledged);
        }
    }

    fn take_text(&mut self, text: Text, packet: &E2tcpPacket, payload: &R::Payload) {
        if let Some(urgent) = packet.header.urgent {
            let until = text.start + i64::from(urgent);
            if let Some(until) = self.receiver.note_urgent(until) {
                self.events.push_back(Event::Urgent { until });
            }
        }
        let finished = self.receiver.is_finished();
        self.receiver.receive(text, payload, &mut self.events, &mut self.statistics);
        if self.receiver.is_finished() && !finished {
            self.events.push_back(Event::PeerClosed);
        }
    }

    /// Updates the state after FINs were received or acknowledged.
    fn advance_state(&mut self, now: Instant) {
        let (theirs, ours) = (self.receiver.is_finished(), self.sender.is_finished());
        if self.state == State::TimeWait && self.receiver.ack_due {
            // The peer repeats its FIN because it has not received the answer, so the timer starts anew.
            self.timers.set(E2tcpTimer::Linger, now.saturating_add(self.config.linger));
        }
        self.enter(self.state.after_fins(theirs, ours), now);
    }
}
