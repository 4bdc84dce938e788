//! The steps of exchanges in a cell of which some stations do not hear each other: several may be under way at once.
//!
//! [`Hidden`] says what each member hears and what of a frame arrives. This module does with each frame, as it begins and ends, what
//! `exchange` does with a whole exchange: the radios and MACs at the two ends, the record, and the result.

use airwatt_base::{Instant, Span};

use crate::media::cell::CellMedium;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::{air_of, contention_of};
use crate::media::cell::air::hidden::{ACCESS_POINT, AirFrame, Exchange, Hidden, Phase};
use crate::media::cell::frame::parts::{Part, Parts};
use crate::media::cell::frame::{CellFrameKind, MpduSet, Ppdu, Receiver};
use crate::media::cell::radio::cause_account::Charged;
use crate::route::Member;

impl CellMedium {
    /// Takes the next step that is due. At equal times frames end first; then those begin whose senders cannot have noticed each other.
    #[inline(never)]
    pub(crate) fn step_overlap(&mut self, now: Instant) {
        let blind = self.channel.blind;
        let hidden = self.hidden();
        if let Some(index) = hidden.next_step(false, now) {
            self.phase_ended(index, now);
        } else {
            let senders = hidden.senders(now, blind);
            let begins = hidden.next_step(true, now);
            if !senders.is_empty() {
                self.access_together(&senders, now);
            } else if let Some(index) = begins {
                self.continue_exchange(index, now);
            }
        }
        self.hidden().settle(now);
    }

    fn hidden(&mut self) -> &mut Hidden {
        self.hidden.as_deref_mut().expect("the channel says that some stations are hidden")
    }

    /// These members begin to send.
    fn access_together(&mut self, senders: &[Member], now: Instant) {
        let blind = self.channel.blind;
        let mut chosen: Vec<ContenderId> = Vec::new();
        let mut winners = std::mem::take(&mut self.winners);
        for &member in senders {
            winners.clear();
            self.hidden().access(member, now, blind, &mut winners);
            if winners.len() > 1 {
                self.resolve_internal_collisions(&mut winners, now);
            }
            chosen.extend(&winners);
        }
        self.winners = winners;
        let is_busy = self.hidden().is_busy();
        for (place, &contender) in chosen.iter().enumerate() {
            // An access at which several begin counts once, as one that begins under a frame does.
            let collides = place == usize::from(!is_busy);
            let waited = self.hidden().contention(contender).waited(contender);
            let txop_end = now + self.contenders[contender as usize].txop;
            let index = self.prepare(contender, (now, waited), txop_end, collides, now);
            self.continue_exchange(index, now);
        }
    }

    /// Composes the next PPDU of a contender, whose exchange begins at `start`. Returns its index.
    fn prepare(
        &mut self,
        contender: ContenderId,
        (start, waited): (Instant, Span),
        txop_end: Instant,
        collides: bool,
        now: Instant,
    ) -> usize {
        self.compose(contender, start);
        let index = self.channel.ppdus().len() - 1;
        let ppdu = self.channel.ppdus()[index];
        self.channel.count_attempt(index, start, collides);
        self.share_causes(index);
        let mut lengths = self.lengths.clone();
        if lengths.is_empty() {
            lengths.push(ppdu.bytes);
        }
        let exchange = Exchange {
            phase: Phase::Begin,
            due: start,
            to: match ppdu.to {
                Receiver::Member(to) => Some(to),
                Receiver::Group => None,
            },
            frame: None,
            ended: now,
            waited,
            txop_end,
            received: MpduSet::default(),
            lengths,
            shares: self.shares.clone(),
        };
        self.hidden().add(ppdu.from, exchange);
        index
    }

    /// The next frame of an exchange begins, if its sender can send.
    fn continue_exchange(&mut self, index: usize, now: Instant) {
        let ppdu = self.channel.ppdus()[index];
        let plan = self.channel.plan(&ppdu);
        let (kind, phase) = match self.hidden().exchange(index).phase {
            Phase::Begin if ppdu.rts => (CellFrameKind::Rts, Phase::Rts),
            Phase::BeforeCts => (CellFrameKind::Cts, Phase::Cts),
            Phase::BeforeResponse => (plan.response, Phase::Response),
            _ => (ppdu.kind, Phase::Data),
        };
        let receiver = self.hidden().exchange(index).to;
        let answers = matches!(phase, Phase::Cts | Phase::Response);
        let ends = if answers { [receiver, Some(ppdu.from)] } else { [Some(ppdu.from), receiver] };
        let from = ends[0].unwrap_or(ACCESS_POINT);
        let radio = self.macs[usize::from(from)].radio();
        let sends = self.hidden().is_sending(from, now);
        if sends || radio.is_some_and(|radio| !self.radios.is_ready(radio)) {
            // Nothing comes, and the other end waits for it.
            let due = if answers { now + self.channel.response_timeout() } else { now };
            self.hidden().release(from);
            return self.go_on(index, (Phase::Timeout, due));
        }
        let is_group = receiver.is_none();
        let mut frame = AirFrame::new(kind, ends, now);
        frame.duration = plan.time_of(kind);
        frame.end = now + frame.duration + plan.tau;
        frame.nav = if is_group { Span::ZERO } else { plan.nav(kind) };
        frame.nav_reset = (kind == CellFrameKind::Rts).then(|| self.channel.nav_timeout());
        frame.signal_mw = self.channel.signal_mw(from);
        let tim = self.channel.time_to_tim(&ppdu).filter(|_| is_group);
        let part = Part { kind, start: now, duration: frame.duration, by_sender: !answers, received: true };
        self.channel.put_on_air(now, now + part.duration);
        let end = frame.end;
        self.hidden().begin(index, frame);
        let exchange = self.hidden().exchange_mut(index);
        (exchange.phase, exchange.due) = tim.map_or((phase, end), |tim| (Phase::Tim, now + tim));
        self.charge(index, &part, ends);
    }

    /// Adds a frame of an exchange that begins to the accounts at its two ends.
    fn charge(&mut self, index: usize, part: &Part, ends: [Option<Member>; 2]) {
        let (now, parts) = (part.start, Parts::of(*part));
        let cause = self.channel.ppdus()[index].cause();
        let radios = ends.map(|member| self.radio_of(member.map_or(Receiver::Group, Receiver::Member)));
        let hidden = self.hidden.as_deref();
        let exchange = hidden.map(|hidden| hidden.exchange(index));
        let Some((hidden, exchange)) = hidden.zip(exchange) else { return };
        let waited = if exchange.ended < now { now - exchange.ended } else { exchange.waited };
        let charged = Charged { cause, shares: &exchange.shares };
        if let Some(radio) = radios[0] {
            let air = air_of(Some(hidden), &self.channel, radio);
            self.radios.begin_exchange(radio, charged, part.by_sender, now, &parts, air);
            self.radios.send_own(radio, part.by_sender, &parts, air);
        }
        if let (Some(radio), Some(member)) = (radios[1], ends[1])
            && self.radios.hears(radio, now)
            && !hidden.is_sending(member, now)
        {
            let air = air_of(Some(hidden), &self.channel, radio);
            self.radios.begin_exchange(radio, charged, !part.by_sender, now, &parts, air);
        }
        self.account(index, waited, now, &parts);
        let ppdu = &self.channel.ppdus()[index];
        if self.charges_air_time
            && ppdu.from == ACCESS_POINT
            && matches!(ppdu.to, Receiver::Member(_))
            && part.by_sender
        {
            self.charge_air_time(index, &parts);
        }
    }

    /// The phase of an exchange that ends with a frame, or in vain, is over.
    fn phase_ended(&mut self, index: usize, now: Instant) {
        let sifs = self.channel.sifs();
        let timeout = self.channel.response_timeout();
        match self.hidden().exchange(index).phase {
            Phase::Rts => {
                let heard = self.control_frame_ended(index, now);
                let next =
                    if heard { (Phase::BeforeCts, now + sifs) } else { (Phase::Timeout, now + timeout) };
                self.go_on(index, next);
            }
            Phase::Cts => {
                let heard = self.control_frame_ended(index, now);
                let next = if heard { (Phase::BeforeData, now + sifs) } else { (Phase::Timeout, now) };
                self.go_on(index, next);
            }
            Phase::Tim => {
                let end = self.hidden().note_group(index);
                let ppdu = self.channel.ppdus()[index];
                self.deliver_tim(&ppdu, end, now);
                self.go_on(index, (Phase::Data, end));
            }
            Phase::Response => {
                let heard = self.control_frame_ended(index, now);
                self.response_ended(index, heard, now);
            }
            Phase::Timeout => self.response_ended(index, false, now),
            _ => self.data_ended(index, now),
        }
    }

    fn go_on(&mut self, index: usize, next: (Phase, Instant)) {
        let exchange = self.hidden().exchange_mut(index);
        (exchange.phase, exchange.due) = next;
    }

    /// An RTS, a CTS or a response is over. Returns whether it has arrived.
    fn control_frame_ended(&mut self, index: usize, now: Instant) -> bool {
        let frame = self.hidden().end(index, now);
        let is_response = self.hidden().exchange(index).phase == Phase::Response;
        let awake = self.is_awake(frame.to, frame.start) || is_response;
        let heard = frame.is_whole() && awake && !(is_response && self.channel.loses_response());
        let by_sender = frame.kind == CellFrameKind::Rts;
        let AirFrame { kind, start, duration, .. } = frame;
        if is_response {
            let received = self.hidden().exchange(index).received;
            self.channel.set_received(received);
        }
        self.record(index, &Parts::of(Part { kind, start, duration, by_sender, received: heard }));
        heard
    }

    /// Whether a member has been awake since `start`.
    fn is_awake(&self, member: Option<Member>, start: Instant) -> bool {
        let radio = member.and_then(|member| self.macs[usize::from(member)].radio());
        radio.is_none_or(|radio| self.radios.hears(radio, start))
    }

    /// A PPDU is over.
    fn data_ended(&mut self, index: usize, now: Instant) {
        let ppdu = self.channel.ppdus()[index];
        let frame = self.hidden().end(index, now);
        let AirFrame { kind, start, duration, .. } = frame;
        let part = Part { kind, start, duration, by_sender: true, received: true };
        let Receiver::Member(to) = ppdu.to else {
            self.channel.set_received(MpduSet::first(1));
            self.record(index, &Parts::of(part));
            self.group_addressed_arrived(&ppdu, now);
            self.contention_of(ppdu.contender).succeeded(ppdu.contender);
            return self.finish_exchange(index, now);
        };
        let received = self.arriving(index, &frame);
        self.channel.set_received(received);
        self.hidden().exchange_mut(index).received = received;
        let parts = Parts::of(Part { received: !received.is_empty(), ..part });
        self.record(index, &parts);
        if received.is_empty() {
            let due = now + self.channel.response_timeout();
            return self.go_on(index, (Phase::Timeout, due));
        }
        if self.charges_air_time && to == ACCESS_POINT {
            self.charge_air_time(index, &parts);
        }
        self.deliver(&ppdu, to, now);
        let due = now + self.channel.sifs();
        self.go_on(index, (Phase::BeforeResponse, due));
    }

    /// The MPDUs of a PPDU that arrive: neither another frame nor noise has destroyed them, and the receiver is awake.
    fn arriving(&mut self, index: usize, frame: &AirFrame) -> MpduSet {
        let mut received = MpduSet::default();
        if !self.is_awake(frame.to, frame.start) {
            return received;
        }
        let ppdu = self.channel.ppdus()[index];
        let lengths = std::mem::take(&mut self.hidden().exchange_mut(index).lengths);
        let intact = frame.intact(self.channel.modes().get(ppdu.mode), &lengths);
        for (place, bytes) in (0..).zip(&lengths) {
            if intact.contains(place) && !self.channel.is_noisy(&ppdu, *bytes) {
                received.insert(place);
            }
        }
        received
    }

    /// The response is over, or does not come. `heard`: it has arrived.
    fn response_ended(&mut self, index: usize, heard: bool, now: Instant) {
        let ppdu = self.channel.ppdus()[index];
        let received = self.hidden().exchange(index).received;
        self.channel.set_received(received);
        let (macs, mut out) = self.split();
        if !received.is_empty()
            && let Receiver::Member(to) = ppdu.to
        {
            macs[usize::from(to)].responded(now, &mut out);
            if !heard {
                macs[usize::from(ppdu.from)].note_arrivals(&ppdu, &received);
            }
        }
        let result = heard.then_some(&received);
        let left = macs[usize::from(ppdu.from)].conclude(&ppdu, result, now, &mut out);
        if heard && let Some(txop_end) = self.txop_goes_on(index, &ppdu, now) {
            let start = now + self.channel.sifs();
            self.drop_exchange(index);
            self.prepare(ppdu.contender, (start, Span::ZERO), txop_end, false, now);
            return;
        }
        let contention = self.contention_of(ppdu.contender);
        if heard || left {
            contention.succeeded(ppdu.contender);
        } else {
            contention.failed(ppdu.contender);
        }
        self.finish_exchange(index, now);
    }

    /// The end of the sender's transmission opportunity, if its next exchange fits (802.11-2020 10.23.2.8).
    fn txop_goes_on(&mut self, index: usize, ppdu: &Ppdu, now: Instant) -> Option<Instant> {
        let contender = &self.contenders[ppdu.contender as usize];
        if contender.txop.is_zero() || !self.is_ready(ppdu.contender) {
            return None;
        }
        let next = self.macs[usize::from(ppdu.from)].next_ppdu(contender.category)?;
        let end = now + self.channel.sifs() + self.channel.plan(&next).total();
        Some(self.hidden().exchange(index).txop_end).filter(|txop_end| end <= *txop_end)
    }

    fn contention_of(&mut self, contender: ContenderId) -> &mut crate::media::cell::Contention {
        contention_of(self.hidden.as_deref_mut(), &mut self.contention, contender)
    }

    fn drop_exchange(&mut self, index: usize) {
        let from = self.channel.ppdus()[index].from;
        self.channel.remove(index);
        self.hidden().remove(index, from);
    }

    /// Its sender contends again if it has more to send.
    fn finish_exchange(&mut self, index: usize, now: Instant) {
        let Ppdu { contender, .. } = self.channel.ppdus()[index];
        self.drop_exchange(index);
        if self.wants_to_send(contender) {
            self.contention_of(contender).resume(contender, now);
        }
    }
}
