//! Frame exchanges: who won the access, what is sent, who gets it and what happens if not.
//!
//! The outcome of an attempt is known when it begins, because nothing that happens meanwhile can change it. So an exchange
//! takes two wake-ups: when its data frame has arrived (the receiver acts on it), and when the acknowledgement has (the
//! sender does). A failed attempt takes one: contention resumes from there, with everyone's own waiting time:
//! * bystanders of a lone failed frame from the NAV that it announced (802.11-2020 10.3.2.4),
//! * bystanders of a collision from EIFS (10.3.2.3.7),
//! * a sender from its ACKTimeout (10.3.2.11),
//! * the receiver of a broken frame from EIFS.

use airwatt_base::{Instant, Span};
use airwatt_energy::State;
use airwatt_proto::powersave::{
    AccessPointInput, Control, Downlink, Heard, ServiceFlags, StationId, StationInput, Uplink,
};

use super::contention::ContenderId;
use super::frame::{ACK_BYTES, Body, CTS_BYTES, Kind, Mpdu, RTS_BYTES, beacon_bytes};
use super::machine::{
    AP_BEACON, AP_DATA, Cell, CellOutput, FIRST_STATION_CONTENDER, LossPlace, station_contender,
};
use super::medium::{Exchange, Medium, Parts, Plan};
use super::propagation::frame_error_rate;

impl Cell {
    /// Whether the contender's frame is on the air.
    pub(super) fn is_sending(&self, contender: ContenderId) -> bool {
        !matches!(self.medium, Medium::Idle) && self.winners.contains(&contender)
    }

    /// The medium's next step is due.
    pub(super) fn step(&mut self, now: Instant) {
        match std::mem::replace(&mut self.medium, Medium::Idle) {
            Medium::Idle => self.begin_access(now),
            Medium::Exchange(mut exchange) if !exchange.arrived => {
                exchange.arrived = true;
                self.medium = Medium::Exchange(exchange);
                self.frame_arrived(exchange, now);
            }
            Medium::Exchange(exchange) => self.exchange_done(exchange, now),
            Medium::Failure(exchange) => self.attempt_failed(exchange, now),
            Medium::Collision { end } => self.collision_done(end, now),
        }
    }

    /// Contention is decided: one sender, or several that collide.
    fn begin_access(&mut self, now: Instant) {
        let mut winners = std::mem::take(&mut self.winners);
        winners.clear();
        self.contention.access(now, self.blind, &mut winners);
        if winners.len() > 1 && winners[..2] == [AP_DATA, AP_BEACON] {
            // A collision inside the access point: the beacon goes out, data backs off (10.23.2.4).
            winners.remove(0);
            self.contention.failed(AP_DATA);
            self.contention.join(AP_DATA, now);
        }
        self.winners = winners;
        self.airborne.fold();
        match self.winners[..] {
            [sender] => {
                let waited = self.contention.waited(sender);
                self.begin_exchange(sender, now, waited, now + self.config.txop);
            }
            _ => self.begin_collision(now),
        }
    }

    /// Sends the first frame of the sender's queue at `start`, alone, after it `waited` for the medium.
    fn begin_exchange(&mut self, sender: ContenderId, start: Instant, waited: Span, txop_end: Instant) {
        if sender == AP_BEACON {
            return self.begin_beacon(start);
        }
        let mpdu = self.stamp_head(sender, start);
        let station = &self.stations[mpdu.station as usize];
        let from_station = sender != AP_DATA;
        let hears = from_station || station.radio.hears(start);
        self.stations[mpdu.station as usize].air_time.backoff += waited;
        let station = &self.stations[mpdu.station as usize];
        let tau = station.propagation;
        let plan = self.plan(sender, &mpdu, tau);
        let noise = self.noise_of(&mpdu, &plan);
        let rts_failed = plan.rts && !hears;
        let received = hears && !(noise > 0.0 && self.noise.chance(noise));
        let data_start = start + plan.before_data;
        let data_end =
            if rts_failed { start + plan.rts_time + tau } else { data_start + plan.data_time + tau };
        let end = data_end + self.times.sifs + plan.ack_time + tau;
        self.statistics.frames += 1;
        self.statistics.retries += u64::from(mpdu.retries > 0);
        let exchange = Exchange { sender, data_end, end, arrived: false, txop_end, rts_failed };
        self.put_on_air(&mpdu, from_station, start, &plan, received, rts_failed);
        self.frames_print.add(start.as_nanos());
        self.frames_print.add(u64::from(sender) << 32 | u64::from(mpdu.sequence) << 8 | u64::from(received));
        self.medium = if received { Medium::Exchange(exchange) } else { Medium::Failure(exchange) };
    }

    /// Probability that an attempt at the frame fails: for noise as such, or for a weak signal.
    fn noise_of(&self, mpdu: &Mpdu, plan: &Plan) -> f64 {
        let noise = self.config.frame_error_rate;
        let byte_error_rate = self.stations[mpdu.station as usize].byte_error_rate;
        if byte_error_rate == 0.0 {
            return noise;
        }
        1.0 - (1.0 - noise) * (1.0 - frame_error_rate(byte_error_rate, plan.bytes))
    }

    /// Fixes the header bits of the sender's first frame, at its first attempt.
    fn stamp_head(&mut self, sender: ContenderId, now: Instant) -> Mpdu {
        let head = *self.queue_of(sender).front().expect("a sender has a frame");
        if head.stamped {
            return head;
        }
        let mut flags = ServiceFlags::default();
        if sender == AP_DATA {
            flags = self.power_save.flags(head.station);
            self.tell_access_point(AccessPointInput::Started { station: head.station }, now);
        }
        let head = self.queue_of(sender).front_mut().expect("a sender has a frame");
        head.flags = flags;
        head.stamped = true;
        *head
    }

    fn queue_of(&mut self, sender: ContenderId) -> &mut std::collections::VecDeque<Mpdu> {
        match sender {
            AP_DATA => &mut self.ap_queue,
            _ => &mut self.stations[(sender - FIRST_STATION_CONTENDER) as usize].queue,
        }
    }

    /// How long the parts of an exchange last.
    fn plan(&self, sender: ContenderId, mpdu: &Mpdu, tau: Span) -> Plan {
        let bytes = mpdu.body.frame_bytes(self.config.mac_overhead);
        let threshold =
            if sender == AP_DATA { self.config.ap_rts_threshold } else { self.config.station_rts_threshold };
        let rts = threshold.is_some_and(|limit| bytes > limit);
        let times = &self.times;
        let format = if mpdu.body == Body::Control(Control::PsPoll) { &times.control } else { &times.data };
        let (rts_time, cts_time) = (times.control.time(RTS_BYTES), times.control.time(CTS_BYTES));
        let before_data = if rts { rts_time + cts_time + (times.sifs + tau) * 2 } else { Span::ZERO };
        let (data_time, ack_time) = (format.time(bytes), times.control.time(ACK_BYTES));
        Plan { bytes, rts, rts_time, cts_time, before_data, data_time, ack_time, tau, sifs: times.sifs }
    }

    /// Charges the air, the radios and the trace with the frames of a lone exchange.
    fn put_on_air(
        &mut self,
        mpdu: &Mpdu,
        from_station: bool,
        start: Instant,
        plan: &Plan,
        received: bool,
        rts_failed: bool,
    ) {
        let mut parts = Parts::default();
        if plan.rts {
            parts.push(Kind::Rts, start, plan.rts_time, from_station, !rts_failed);
            if !rts_failed {
                let cts = start + plan.rts_time + plan.tau + plan.sifs;
                parts.push(Kind::Cts, cts, plan.cts_time, !from_station, true);
            }
        }
        if !rts_failed {
            let data = start + plan.before_data;
            parts.push(mpdu.body.kind(), data, plan.data_time, from_station, received);
            if received {
                let ack = data + plan.data_time + plan.tau + plan.sifs;
                parts.push(Kind::Ack, ack, plan.ack_time, !from_station, true);
            }
        }
        for part in parts.iter() {
            self.airborne.add(part.start, part.start + part.duration);
        }
        let radio = &mut self.stations[mpdu.station as usize].radio;
        for part in parts.iter().filter(|part| part.by_station) {
            radio.send(part.start, part.start + part.duration, &self.airborne);
        }
        self.account(mpdu.station, start, &parts);
        if self.trace.is_some() {
            self.record(mpdu, &parts, plan);
        }
    }

    /// Charges the frames of a station's own exchange to its air time, gaps between them as waiting, and to the account of
    /// an ideal radio.
    fn account(&mut self, id: StationId, start: Instant, parts: &Parts) {
        let mut at = start;
        for part in parts.iter() {
            let air_time = &mut self.stations[id as usize].air_time;
            air_time.backoff += part.start.saturating_since(at);
            at = part.start + part.duration;
            *(if part.by_station { &mut air_time.transmit } else { &mut air_time.receive }) += part.duration;
            let state = if part.by_station { State::Transmit } else { State::Receive };
            self.tell_ideal(id, state, part.start, at);
        }
    }

    fn begin_beacon(&mut self, start: Instant) {
        let bytes = beacon_bytes(self.stations.len() as u32);
        let duration = self.times.beacon.time(bytes);
        let end = start + duration;
        self.statistics.frames += 1;
        self.airborne.add(start, end);
        self.frames_print.add(start.as_nanos());
        self.frames_print.add(u64::from(AP_BEACON) << 32);
        if self.trace.is_some() {
            self.record_beacon(start, duration, bytes, true);
        }
        let exchange = Exchange {
            sender: AP_BEACON,
            data_end: end,
            end,
            arrived: false,
            txop_end: start,
            rts_failed: false,
        };
        self.medium = Medium::Exchange(exchange);
    }

    /// The data frame of a good exchange is with its receiver.
    fn frame_arrived(&mut self, exchange: Exchange, now: Instant) {
        if exchange.sender == AP_BEACON {
            return self.beacon_arrived(exchange, now);
        }
        let mpdu = self.queue_of(exchange.sender)[0];
        let id = mpdu.station;
        if exchange.sender == AP_DATA {
            if let Body::Data(packet) = mpdu.body {
                self.outputs.push_back(CellOutput::ToStation { station: id, packet });
            }
            return;
        }
        let pm = self.pm_of(&mpdu);
        let kind = match mpdu.body {
            Body::Control(Control::Trigger) => Heard::Trigger,
            Body::Control(Control::PmNull { .. }) | Body::NullData => Heard::Null,
            Body::Control(Control::PsPoll) => Heard::PsPoll,
            Body::Data(packet) => {
                self.outputs.push_back(CellOutput::ToWire { station: id, packet });
                Heard::Data
            }
        };
        self.tell_access_point(AccessPointInput::Heard { station: id, pm, kind }, now);
    }

    /// The PM bit of a station's frame.
    pub(super) fn pm_of(&self, mpdu: &Mpdu) -> bool {
        match mpdu.body {
            Body::Control(Control::PmNull { pm }) => pm,
            Body::Control(_) => true,
            _ => self.stations[mpdu.station as usize].power_save.pm(),
        }
    }

    fn beacon_arrived(&mut self, exchange: Exchange, now: Instant) {
        self.beacon = None;
        let duration = self.times.beacon.time(beacon_bytes(self.stations.len() as u32));
        let start = now - duration;
        self.medium = Medium::Exchange(exchange);
        for id in 0..self.stations.len() as StationId {
            let station = &self.stations[id as usize];
            if station.radio.hears(start) {
                let tim = self.power_save.tim(id);
                self.tell_station(id, StationInput::Beacon { tim }, now);
            }
        }
        self.contention.succeeded(AP_BEACON);
        self.release_medium(now);
    }

    /// The acknowledgement is with the sender.
    fn exchange_done(&mut self, exchange: Exchange, now: Instant) {
        // The medium still counts as this sender's while the machines learn of it.
        self.medium = Medium::Exchange(exchange);
        let sender = exchange.sender;
        if sender == AP_DATA {
            self.tell_received(now);
        }
        self.frame_left(sender, true, now);
        if self.continues_burst(sender, exchange.txop_end, now) {
            self.airborne.fold();
            self.begin_exchange(sender, now + self.times.sifs, self.times.sifs, exchange.txop_end);
            return;
        }
        self.contention.succeeded(sender);
        for index in 0..self.winners.len() {
            // Those whose frames were drowned by this one.
            let other = self.winners[index];
            if other != sender {
                self.retry_or_give_up(other, now);
            }
        }
        self.release_medium(now);
    }

    /// The station's power save learns of the access point's frame when its acknowledgement is out: before that its radio
    /// cannot doze, and the host has had the packet and may have something to send.
    fn tell_received(&mut self, now: Instant) {
        let Mpdu { station, body, flags, .. } = self.ap_queue[0];
        let (bytes, null) = match body {
            Body::Data(packet) => (packet.bytes, false),
            Body::Control(_) | Body::NullData => (0, true),
        };
        self.tell_station(station, StationInput::Received { bytes, flags, null }, now);
    }

    /// Whether the sender's next exchange still fits its transmission opportunity (10.23.2.8).
    fn continues_burst(&mut self, sender: ContenderId, txop_end: Instant, now: Instant) -> bool {
        if self.config.txop.is_zero() {
            return false;
        }
        let Some(next) = self.queue_of(sender).front().copied() else { return false };
        let station = &self.stations[next.station as usize];
        if sender != AP_DATA && !station.radio.is_ready() {
            return false;
        }
        let plan = self.plan(sender, &next, station.propagation);
        now + self.times.sifs + plan.total() <= txop_end
    }

    /// The medium is idle from now on; who has something to send contends.
    fn release_medium(&mut self, now: Instant) {
        self.medium = Medium::Idle;
        self.contention.idle_from(now);
        self.rejoin_winners(now);
    }

    /// Senders of the exchange that is over contend again if they have more to send.
    fn rejoin_winners(&mut self, now: Instant) {
        for index in 0..self.winners.len() {
            let contender = self.winners[index];
            if self.wants_to_send(contender) {
                self.contention.join(contender, now);
            }
        }
    }

    fn wants_to_send(&self, contender: ContenderId) -> bool {
        match contender {
            AP_DATA => !self.ap_queue.is_empty(),
            AP_BEACON => self.beacon.is_some(),
            _ => {
                let station = &self.stations[(contender - FIRST_STATION_CONTENDER) as usize];
                !station.queue.is_empty() && station.radio.is_ready()
            }
        }
    }

    /// The sender's first frame leaves its queue: acknowledged, or given up.
    fn frame_left(&mut self, sender: ContenderId, delivered: bool, now: Instant) {
        let Some(mpdu) = self.queue_of(sender).pop_front() else { return };
        let id = mpdu.station;
        if sender == AP_DATA {
            self.refill(now);
            self.note_ap_queue(now);
            let frame = match mpdu.body {
                Body::Data(packet) => Downlink::Packet(packet),
                _ => Downlink::NullData,
            };
            let flags = mpdu.flags;
            self.tell_access_point(AccessPointInput::Sent { station: id, frame, flags, delivered }, now);
            return;
        }
        let frame = match mpdu.body {
            Body::Data(packet) => {
                self.stations[id as usize].data_queued -= 1;
                if !delivered {
                    self.statistics.given_up += 1;
                    let place = LossPlace::RetryLimit;
                    self.outputs.push_back(CellOutput::Lost { station: id, packet, place });
                }
                Uplink::Data { bytes: packet.bytes }
            }
            Body::Control(control) => Uplink::Control(control),
            Body::NullData => return,
        };
        self.tell_station(id, StationInput::Sent { frame, delivered }, now);
        if matches!(frame, Uplink::Data { .. }) {
            let frames = self.stations[id as usize].data_queued;
            self.tell_station(id, StationInput::Backlog { frames }, now);
        }
    }

    /// A lone frame was not acknowledged.
    fn attempt_failed(&mut self, exchange: Exchange, now: Instant) {
        let sender = exchange.sender;
        let mpdu = self.queue_of(sender)[0];
        self.medium = Medium::Failure(exchange);
        self.retry_or_give_up(sender, now);
        self.medium = Medium::Idle;
        let times = &self.times;
        let bystanders = if exchange.rts_failed {
            // NAV set by an RTS ends when no data follows (10.3.2.4).
            now + (times.sifs + times.slot) * 2
                + times.control.time(CTS_BYTES)
                + self.config.standard.timing().rx_start_delay
        } else {
            now + times.sifs + times.control.time(ACK_BYTES)
        };
        self.contention.idle_from(bystanders);
        let receiver = if sender == AP_DATA { station_contender(mpdu.station) } else { AP_DATA };
        self.contention.defer(receiver, now + self.times.eifs_less_difs);
        if self.wants_to_send(sender) {
            self.contention.join_from(sender, now + self.times.response_timeout);
        }
    }

    fn retry_or_give_up(&mut self, sender: ContenderId, now: Instant) {
        let limit = self.config.retry_limit;
        let head = self.queue_of(sender).front_mut().expect("a sender has a frame");
        head.retries += 1;
        if head.retries > limit {
            self.frame_left(sender, false, now);
            self.contention.succeeded(sender);
        } else {
            self.contention.failed(sender);
        }
    }

    /// The sender whose frame the access point gets although others send too, if there is one.
    fn captured(&self) -> Option<ContenderId> {
        let ratio = self.config.capture_ratio?;
        if self.winners.contains(&AP_DATA) || self.winners.contains(&AP_BEACON) {
            return None;
        }
        let signal =
            |sender: &ContenderId| self.stations[(*sender - FIRST_STATION_CONTENDER) as usize].signal_mw;
        let strongest = self.winners.iter().copied().max_by(|a, b| signal(a).total_cmp(&signal(b)))?;
        let all: f64 = self.winners.iter().map(signal).sum();
        let own = signal(&strongest);
        (own >= ratio * (all - own)).then_some(strongest)
    }

    /// Several nodes begin at once: nobody gets anything, unless one frame drowns the others.
    fn begin_collision(&mut self, now: Instant) {
        self.statistics.collisions += 1;
        let winners = std::mem::take(&mut self.winners);
        let end = winners.iter().map(|sender| now + self.colliding_time(*sender, now)).max().unwrap_or(now);
        self.airborne.add(now, end);
        for &sender in &winners {
            let frame_end = now + self.colliding_time(sender, now);
            self.collide(sender, now, frame_end);
        }
        // The access point's last: a station that sends does not receive what comes for it meanwhile.
        for &sender in winners.iter().rev().filter(|sender| **sender != AP_BEACON) {
            let id = self.queue_of(sender)[0].station;
            self.stations[id as usize].air_time.backoff += self.contention.waited(sender);
            let mut parts = Parts::default();
            let length = self.colliding_time(sender, now);
            parts.push(Kind::Data, now, length, sender != AP_DATA, false);
            self.account(id, now, &parts);
        }
        self.winners = winners;
        self.medium = match self.captured() {
            Some(sender) => self.begin_captured(sender, now, end),
            None => Medium::Collision { end },
        };
    }

    /// The exchange of the frame that drowned the others. Its acknowledgement follows when the last of them is over; those who
    /// hear it have no EIFS to wait, and those whose frames were drowned find out by it.
    fn begin_captured(&mut self, sender: ContenderId, now: Instant, end: Instant) -> Medium {
        let mpdu = self.queue_of(sender)[0];
        let tau = self.stations[mpdu.station as usize].propagation;
        let plan = self.plan(sender, &mpdu, tau);
        let noise = self.noise_of(&mpdu, &plan);
        if plan.rts || (noise > 0.0 && self.noise.chance(noise)) {
            return Medium::Collision { end };
        }
        let data_end = end + tau;
        let mut parts = Parts::default();
        let acknowledged = data_end + self.times.sifs;
        parts.push(Kind::Ack, acknowledged, plan.ack_time, false, true);
        self.airborne.add(acknowledged, acknowledged + plan.ack_time);
        self.account(mpdu.station, acknowledged, &parts);
        if self.trace.is_some() {
            self.record(&mpdu, &parts, &plan);
        }
        let end = acknowledged + plan.ack_time + tau;
        Medium::Exchange(Exchange { sender, data_end, end, arrived: false, txop_end: now, rts_failed: false })
    }

    /// How long the sender's first frame, or its RTS, is on the air.
    fn colliding_time(&mut self, sender: ContenderId, now: Instant) -> Span {
        if sender == AP_BEACON {
            let bytes = beacon_bytes(self.stations.len() as u32);
            return self.times.beacon.time(bytes);
        }
        let mpdu = self.stamp_head(sender, now);
        let plan = self.plan(sender, &mpdu, Span::ZERO);
        if plan.rts { plan.rts_time } else { plan.data_time }
    }

    fn collide(&mut self, sender: ContenderId, start: Instant, end: Instant) {
        self.statistics.frames += 1;
        self.frames_print.add(start.as_nanos());
        self.frames_print.add(u64::from(sender) << 32 | 0xff);
        if sender == AP_BEACON {
            if self.trace.is_some() {
                let bytes = beacon_bytes(self.stations.len() as u32);
                self.record_beacon(start, end - start, bytes, false);
            }
            return;
        }
        let mpdu = self.queue_of(sender)[0];
        self.statistics.retries += u64::from(mpdu.retries > 0);
        let from_station = sender != AP_DATA;
        let plan = self.plan(sender, &mpdu, Span::ZERO);
        if from_station {
            self.stations[mpdu.station as usize].radio.send(start, end, &self.airborne);
        }
        if self.trace.is_some() {
            let mut parts = Parts::default();
            let kind = if plan.rts { Kind::Rts } else { mpdu.body.kind() };
            parts.push(kind, start, end - start, from_station, false);
            self.record(&mpdu, &parts, &plan);
        }
    }

    fn collision_done(&mut self, end: Instant, now: Instant) {
        self.medium = Medium::Collision { end };
        let winners = std::mem::take(&mut self.winners);
        for &sender in &winners {
            if sender == AP_BEACON {
                // Not acknowledged, so not repeated: stations miss this beacon.
                self.beacon = None;
                self.contention.succeeded(AP_BEACON);
            } else {
                self.retry_or_give_up(sender, now);
            }
        }
        self.winners = winners;
        self.medium = Medium::Idle;
        self.contention.idle_from(now + self.times.eifs_less_difs);
        for index in 0..self.winners.len() {
            let sender = self.winners[index];
            if self.wants_to_send(sender) {
                self.contention.join_from(sender, now + self.times.response_timeout);
            }
        }
    }
}
