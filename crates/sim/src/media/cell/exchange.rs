//! The steps of an exchange: an access or a collision, the arrival of the frame, its acknowledgement or the lack of one.
//!
//! [`Channel`](super::air::channel::Channel) decides what happens on the air and when; this module passes each step to the MACs and
//! radios at the two ends, and to contention.
//!
//! Where some stations do not hear each other, `overlap` passes them instead.
//!
//! Steps that are rare are never inlined: what is frequent then shares one small stack frame.

mod overlap;

use std::cmp::Reverse;

use airwatt_base::{Instant, Span};
use airwatt_energy::{BeaconReception, Cause};

use super::access::category::Category;
use super::access::contention::ContenderId;
use super::air::channel::Step;
use super::air::effects::{air_of, contention_of};
use super::frame::parts::Parts;
use super::frame::{CellFrameKind, Mpdu, MpduSet, Ppdu, Receiver, placed};
use super::mac::Mac;
use super::radio::RadioId;
use super::radio::cause_account::Charged;
use super::{CellMedium, Contender};
use crate::route::Member;

impl CellMedium {
    /// Serves the step of the channel that is due.
    pub(super) fn step(&mut self, now: Instant) {
        match self.channel.step() {
            Step::Access => self.begin_access(now),
            Step::TimArrived => self.tim_arrived(now),
            Step::Arrived => self.ppdu_arrived(now),
            Step::Acknowledged => self.exchange_ended(now),
            Step::ResponseLost => self.response_lost(now),
            Step::Failed => self.attempt_failed(now),
            Step::CollisionEnded => self.collision_ended(now),
            Step::Overlap => self.step_overlap(now),
        }
    }

    /// Contention is decided: one sender, or several whose frames collide.
    fn begin_access(&mut self, now: Instant) {
        let mut winners = std::mem::take(&mut self.winners);
        winners.clear();
        self.contention.access(now, self.channel.blind, &mut winners);
        if winners.len() > 1 {
            self.resolve_internal_collisions(&mut winners, now);
        }
        self.channel.clear();
        for &contender in &winners {
            self.compose(contender, now);
        }
        match winners[..] {
            [sender] => {
                let txop_end = now + self.contenders[sender as usize].txop;
                self.begin_exchange(now, now, self.contention.waited(sender), txop_end);
            }
            _ => self.begin_collision(now),
        }
        self.winners = winners;
    }

    /// Of the contenders of one radio that win together, the one of the highest category sends, and among equals the first one. The
    /// others back off as after a collision (802.11-2020 10.23.2.4).
    pub(super) fn resolve_internal_collisions(&mut self, winners: &mut Vec<ContenderId>, now: Instant) {
        let mut index = 0;
        while let Some(&id) = winners.get(index) {
            let contender = &self.contenders[id as usize];
            let loses = winners.iter().any(|&other_id| {
                let other = &self.contenders[other_id as usize];
                let precedes = (other.category, Reverse(other_id)) > (contender.category, Reverse(id));
                other_id != id && precedes && other.shares_radio(contender)
            });
            if loses {
                winners.remove(index);
                let contention = contention_of(self.hidden.as_deref_mut(), &mut self.contention, id);
                contention.failed(id);
                let Some(counts) = &mut self.categories else {
                    // A backoff of no slots is drawn once more, as in the trajectories on file.
                    contention.join(id, now);
                    continue;
                };
                contention.resume(id, now);
                // Beacons are not counted.
                if let Some(counts) = counts.get_mut(contender.category as usize) {
                    counts.internal_collisions += 1;
                }
            } else {
                index += 1;
            }
        }
    }

    /// Adds the next frame of a contender to the access that begins.
    pub(super) fn compose(&mut self, contender: ContenderId, now: Instant) {
        let Contender { member, category, .. } = self.contenders[contender as usize];
        let (macs, mut out) = self.split();
        let ppdu = macs[member as usize].compose(category, now, &mut out);
        if let Some(counts) = &mut self.categories
            && category != Category::Beacon
        {
            let counts = &mut counts[category as usize];
            counts.frames += 1;
            counts.retries += u64::from(ppdu.retry);
        }
        self.channel.add(ppdu);
    }

    /// Puts the only frame of an access on the air at `start`, after its sender `waited` for the channel.
    fn begin_exchange(&mut self, now: Instant, start: Instant, waited: Span, txop_end: Instant) {
        let to = self.channel.ppdus()[0].to;
        let hears = match to {
            Receiver::Member(to) => {
                let radio = self.macs[to as usize].radio();
                radio.is_none_or(|radio| self.radios.hears(radio, start))
            }
            Receiver::Group => true,
        };
        self.share_causes(0);
        let parts = self.channel.begin_alone(hears, &self.lengths, start, txop_end);
        let (ppdu, air) = (&self.channel.ppdus()[0], self.channel.airborne());
        let charged = Charged { cause: ppdu.cause(), shares: &self.shares };
        let mut take_part = |member: Member, sends, hears| {
            let mac = &mut self.macs[member as usize];
            mac.account(sends, waited, start, &parts);
            if let Some(radio) = mac.radio() {
                self.radios.take_part(radio, charged, [sends, hears], now, &parts, air);
            }
        };
        take_part(ppdu.from, true, true);
        if let Receiver::Member(to) = to {
            take_part(to, false, hears);
        }
        if self.charges_air_time {
            self.charge_air_time(0, &parts);
        }
        self.record(0, &parts);
    }

    /// Notes the lengths of the frames of an aggregate, and the bytes of each cause among them in the order of their first frames.
    #[inline]
    pub(super) fn share_causes(&mut self, index: usize) {
        self.lengths.clear();
        self.shares.clear();
        if self.channel.ppdus()[index].msdus > 1 {
            self.share_causes_of_aggregate(index);
        }
    }

    #[inline(never)]
    fn share_causes_of_aggregate(&mut self, index: usize) {
        let Ppdu { from, contender, .. } = self.channel.ppdus()[index];
        let (sender, category) =
            (&self.macs[usize::from(from)], self.contenders[contender as usize].category);
        sender.lengths(category, &mut self.lengths);
        for mpdu in sender.on_air(category) {
            let (cause, bytes) = (mpdu.cause(), sender.frame_bytes(category, mpdu));
            match self.shares.iter_mut().find(|(other, _)| *other == cause) {
                Some((_, sum)) => *sum += bytes,
                None => self.shares.push((cause, bytes)),
            }
        }
    }

    /// Adds the frames of an exchange, for which its sender `waited`, to the accounts of the MACs at its two ends and of their
    /// radios.
    pub(super) fn account(&mut self, index: usize, waited: Span, start: Instant, parts: &Parts) {
        let Ppdu { from, to, .. } = self.channel.ppdus()[index];
        let mut account = |member: Member, sends| {
            let mac = &mut self.macs[member as usize];
            mac.account(sends, waited, start, parts);
            if let Some(radio) = mac.radio() {
                self.radios.own_frames(radio, sends, start, parts);
            }
        };
        account(from, true);
        if let Receiver::Member(to) = to {
            account(to, false);
        }
    }

    /// Tells the access point of a frame how long it is on the air, as drivers report it: the PPDU without what precedes and answers it.
    #[inline(never)]
    pub(super) fn charge_air_time(&mut self, index: usize, parts: &Parts) {
        let Ppdu { from, to, kind, contender, .. } = self.channel.ppdus()[index];
        let Receiver::Member(to) = to else { return };
        let part = parts.iter().find(|part| part.by_sender && part.kind == kind);
        let category = self.contenders[contender as usize].category;
        if let Mac::AccessPoint(mac) = &mut self.macs[usize::from(from)] {
            // Behind an RTS that fails there is none.
            mac.begins_to_send(part.map_or(Span::ZERO, |part| part.duration));
        } else if let (Mac::AccessPoint(mac), Some(part)) = (&mut self.macs[usize::from(to)], part)
            && part.received
        {
            mac.charge(from, category, part.duration);
        }
    }

    #[inline]
    pub(super) fn record(&mut self, index: usize, parts: &Parts) {
        if self.sniffer.is_on() {
            self.record_frames(index, parts);
        }
    }

    #[cold]
    fn record_frames(&mut self, index: usize, parts: &Parts) {
        let ppdu = &self.channel.ppdus()[index];
        let sender = &self.macs[ppdu.from as usize];
        let marked = match (sender, ppdu.to) {
            (Mac::AccessPoint(mac), Receiver::Group) => mac.marked(),
            _ => Vec::new(),
        };
        let category = self.contenders[ppdu.contender as usize].category;
        let mut lengths = Vec::new();
        sender.lengths(category, &mut lengths);
        let frames: Vec<(Mpdu, u32)> = placed(sender.on_air(category))
            .map(|(place, mpdu)| (*mpdu, lengths[usize::from(place)]))
            .collect();
        let received = self.channel.received();
        let bitmap = sender.bitmap(ppdu, category, received);
        let air = (&self.channel.plan(ppdu), self.channel.modes(), received);
        self.sniffer.record(ppdu, (&frames, category.tid()), parts, air, bitmap, marked);
    }

    /// The frame of a successful exchange has arrived.
    fn ppdu_arrived(&mut self, now: Instant) {
        let ppdu = self.channel.ppdus()[self.channel.current()];
        let to = match (ppdu.to, ppdu.kind) {
            (Receiver::Member(to), CellFrameKind::Trigger) => return self.trigger_arrived(&ppdu, to, now),
            (Receiver::Member(to), _) => to,
            (Receiver::Group, _) if matches!(self.macs[usize::from(ppdu.from)], Mac::External(_)) => {
                return self.external_broadcast_arrived(&ppdu, now);
            }
            (Receiver::Group, _) => {
                self.group_addressed_arrived(&ppdu, now);
                self.contention.succeeded(ppdu.contender);
                return self.release(now);
            }
        };
        self.deliver(&ppdu, to, now);
    }

    /// What has arrived of a PPDU goes to its receiver.
    #[inline]
    pub(super) fn deliver(&mut self, ppdu: &Ppdu, to: Member, now: Instant) {
        let category = self.contenders[ppdu.contender as usize].category;
        let (macs, mut out) = self.split();
        let ends = [usize::from(ppdu.from), usize::from(to)];
        let [sender, receiver] = macs.get_disjoint_mut(ends).expect("a frame has two ends");
        if let (Mac::Station(from), Mac::AccessPoint(to)) = (&*sender, &mut *receiver)
            && from.power_save.awaits_trigger()
        {
            let waits = from.waits_behind(ppdu, sender.on_air(category), out.received());
            to.note_queue_size(ppdu.from, waits, now);
        }
        if let Mac::External(mac) = sender {
            mac.arrived(ppdu, to, &mut out);
        }
        receiver.receive(ppdu, sender.on_air(category), now, &mut out);
    }

    /// A Trigger frame has arrived. Its station answers a SIFS later with frames of its highest category, in its own mode. Only that answer says that it
    /// has arrived; what becomes of it is decided when it begins.
    #[inline(never)]
    fn trigger_arrived(&mut self, trigger: &Ppdu, to: Member, now: Instant) {
        let answering = match &self.macs[usize::from(to)] {
            Mac::Station(mac) => mac.answering().filter(|contender| self.is_ready(*contender)),
            _ => None,
        };
        let Some(contender) = answering else { return self.attempt_failed(now) };
        let sifs = self.channel.sifs();
        self.channel.clear();
        self.contention.leave(contender);
        self.compose(contender, now + sifs);
        self.channel.omit_rts();
        self.begin_exchange(now, now + sifs, sifs, now);
        let answered = (!self.channel.received().is_empty()).then(|| MpduSet::first(1));
        let (macs, mut out) = self.split();
        if macs[usize::from(trigger.from)].conclude(trigger, answered.as_ref(), now, &mut out) {
            self.contention.succeeded(trigger.contender);
        } else {
            self.contention.failed(trigger.contender);
        }
        if self.wants_to_send(trigger.contender) {
            self.contention.join(trigger.contender, now);
        }
    }

    /// A beacon or another group-addressed frame of an access point has arrived.
    #[inline(never)]
    pub(super) fn group_addressed_arrived(&mut self, ppdu: &Ppdu, now: Instant) {
        if ppdu.kind == CellFrameKind::Beacon {
            self.beacon_arrived(ppdu, now);
        } else {
            self.group_frame_arrived(ppdu, now);
        }
    }

    fn beacon_arrived(&mut self, ppdu: &Ppdu, now: Instant) {
        let start = now - self.channel.frame_time(ppdu);
        let (macs, mut out) = self.split();
        macs[ppdu.from as usize].conclude(ppdu, Some(out.received()), now, &mut out);
        let Mac::AccessPoint(access_point) = &macs[ppdu.from as usize] else { return };
        for station in access_point.stations() {
            self.beacon_received(ppdu.from, station, BeaconReception::Whole, [start, now], now);
        }
    }

    /// A broadcast of a node outside has arrived at all nodes that are awake.
    #[inline(never)]
    fn external_broadcast_arrived(&mut self, ppdu: &Ppdu, now: Instant) {
        let start = now - self.channel.frame_time(ppdu);
        for index in 0..self.stations.len() {
            let (radio, at) = (index as RadioId, self.stations[index]);
            if at == ppdu.from || !self.radios.hears(radio, start) {
                continue;
            }
            let cause = if ppdu.kind == CellFrameKind::Beacon { Cause::Beacon } else { Cause::Group };
            self.radios.heard_group(radio, cause, start, now, self.channel.airborne());
            let (macs, mut out) = self.split();
            if let Mac::External(mac) = &macs[usize::from(ppdu.from)] {
                mac.arrived(ppdu, at, &mut out);
            }
        }
        let (macs, mut out) = self.split();
        macs[usize::from(ppdu.from)].conclude(ppdu, Some(out.received()), now, &mut out);
        self.contention.succeeded(ppdu.contender);
        self.release(now);
    }

    /// A group-addressed frame has arrived at the stations of its BSS.
    fn group_frame_arrived(&mut self, ppdu: &Ppdu, now: Instant) {
        let start = now - self.channel.frame_time(ppdu);
        let (macs, mut out) = self.split();
        macs[ppdu.from as usize].conclude(ppdu, Some(out.received()), now, &mut out);
        let Mac::AccessPoint(access_point) = &macs[ppdu.from as usize] else { return };
        for station in access_point.stations() {
            if let Some(radio) = self.radio_of(Receiver::Member(station)) {
                if !self.radios.hears(radio, start) || !self.gets_group(station) {
                    continue;
                }
                let air = air_of(self.hidden.as_deref(), &self.channel, radio);
                self.radios.heard_group(radio, Cause::Group, start, now, air);
            }
            let (macs, mut out) = self.split();
            if let Mac::Station(mac) = &mut macs[station as usize] {
                mac.group_received(ppdu.flags.more_data, now, &mut out);
            }
        }
    }

    /// The TIM of a beacon has arrived, for stations that receive no more of a beacon.
    #[inline(never)]
    fn tim_arrived(&mut self, now: Instant) {
        let ppdu = self.channel.ppdus()[self.channel.current()];
        let end = self.channel.data_end();
        self.deliver_tim(&ppdu, end, now);
    }

    /// The TIM of a beacon that lasts until `end` has arrived.
    pub(super) fn deliver_tim(&mut self, ppdu: &Ppdu, end: Instant, now: Instant) {
        let start = end - self.channel.frame_time(ppdu);
        let Mac::AccessPoint(access_point) = &self.macs[ppdu.from as usize] else { return };
        for station in access_point.stations() {
            self.beacon_received(ppdu.from, station, BeaconReception::Tim, [start, end], now);
        }
    }

    /// A beacon has arrived at stations that receive as much of it as `extent`.
    fn beacon_received(
        &mut self,
        access_point: Member,
        station: Member,
        extent: BeaconReception,
        [start, end]: [Instant; 2],
        now: Instant,
    ) {
        let hears = self.radio_of(Receiver::Member(station)).is_none_or(|radio| {
            self.radios.profile(radio).beacon_reception == extent
                && self.radios.hears(radio, start)
                && self.gets_group(station)
        });
        if !hears {
            return;
        }
        if let Some(radio) = self.radio_of(Receiver::Member(station)) {
            let air = air_of(self.hidden.as_deref(), &self.channel, radio);
            self.radios.heard_group(radio, Cause::Beacon, start, end, air);
        }
        let (macs, mut out) = self.split();
        let Mac::AccessPoint(sender) = &macs[access_point as usize] else { return };
        let (tim, group) = (sender.tim(station), sender.group_bit);
        if let Mac::Station(mac) = &mut macs[station as usize] {
            mac.beacon(tim, group, now, &mut out);
        }
    }

    /// The acknowledgement has arrived at the sender. The frame still counts as on the air while the MACs learn of that.
    fn exchange_ended(&mut self, now: Instant) {
        let current = self.channel.current();
        let ppdu = self.channel.ppdus()[current];
        let (macs, mut out) = self.split();
        if let Receiver::Member(to) = ppdu.to {
            macs[to as usize].responded(now, &mut out);
        }
        macs[ppdu.from as usize].conclude(&ppdu, Some(out.received()), now, &mut out);
        if let Some(txop_end) = self.txop_that_continues(&ppdu, now) {
            let sifs = self.channel.sifs();
            self.channel.clear();
            self.compose(ppdu.contender, now + sifs);
            self.begin_exchange(now, now + sifs, sifs, txop_end);
            return;
        }
        self.contention.succeeded(ppdu.contender);
        for index in 0..self.channel.ppdus().len() {
            // The senders whose frames this one exceeded.
            if index != current {
                self.conclude_failure(index, now);
            }
        }
        self.release(now);
    }

    /// The response is over, and its sender alone knows that frames have arrived. The sender of the frames has received a broken frame,
    /// and defers for EIFS (802.11-2020 10.3.2.3.7); the others have received a good one.
    #[inline(never)]
    fn response_lost(&mut self, now: Instant) {
        let current = self.channel.current();
        let ppdu = self.channel.ppdus()[current];
        let (macs, mut out) = self.split();
        if let Receiver::Member(to) = ppdu.to {
            macs[to as usize].responded(now, &mut out);
        }
        macs[ppdu.from as usize].note_arrivals(&ppdu, out.received());
        self.conclude_failure(current, now);
        self.contention.idle_from(now);
        self.channel.release();
        let from = now + self.channel.eifs_less_difs();
        self.defer(ppdu.from, from);
        if self.wants_to_send(ppdu.contender) {
            self.contention.join_from(ppdu.contender, from);
        }
    }

    /// The end of the sender's transmission opportunity, if its next exchange fits (802.11-2020 10.23.2.8).
    fn txop_that_continues(&self, ppdu: &Ppdu, now: Instant) -> Option<Instant> {
        let Contender { member, category, txop, .. } = self.contenders[ppdu.contender as usize];
        if txop.is_zero() || !self.is_ready(ppdu.contender) {
            return None;
        }
        let next = self.macs[member as usize].next_ppdu(category)?;
        self.channel.txop_end().filter(|_| self.channel.fits(&next, now))
    }

    /// The channel is idle from now on. The senders of the exchange contend again if they have more to send.
    fn release(&mut self, now: Instant) {
        self.channel.release();
        self.contention.idle_from(now);
        for index in 0..self.channel.ppdus().len() {
            let contender = self.channel.ppdus()[index].contender;
            if self.wants_to_send(contender) {
                self.contention.join(contender, now);
            }
        }
    }

    /// A lone frame was not acknowledged.
    #[inline(never)]
    fn attempt_failed(&mut self, now: Instant) {
        let ppdu = self.channel.ppdus()[0];
        self.conclude_failure(0, now);
        self.contention.idle_from(self.channel.deferral(now));
        self.channel.release();
        if let Receiver::Member(receiver) = ppdu.to {
            self.defer(receiver, now + self.channel.eifs_less_difs());
        }
        self.defer_others(ppdu.from, now);
        if self.wants_to_send(ppdu.contender) {
            self.contention.join_from(ppdu.contender, now + self.channel.response_timeout());
        }
    }

    /// The contenders for data of a member's radio wait until `from` before they contend.
    fn defer(&mut self, member: Member, from: Instant) {
        let contenders = self.macs[member as usize].contenders();
        for id in contenders.clone() {
            self.contention.defer(id, from);
        }
        for [station, access_point] in &self.pairs {
            let other = match contenders {
                _ if contenders == *station => access_point,
                _ if contenders == *access_point => station,
                _ => continue,
            };
            for id in other.clone() {
                self.contention.defer(id, from);
            }
        }
    }

    /// The categories that have not sent in a MAC whose frame failed wait for ACKTimeout, as the one that has.
    fn defer_others(&mut self, sender: Member, now: Instant) {
        let contenders = self.macs[sender as usize].contenders();
        if contenders.len() > 1 {
            for id in contenders {
                self.contention.defer(id, now + self.channel.response_timeout());
            }
        }
    }

    /// The MAC repeats its frame or gives it up.
    fn conclude_failure(&mut self, index: usize, now: Instant) {
        let ppdu = self.channel.ppdus()[index];
        let (macs, mut out) = self.split();
        if macs[ppdu.from as usize].conclude(&ppdu, None, now, &mut out) {
            self.contention.succeeded(ppdu.contender);
        } else {
            self.contention.failed(ppdu.contender);
        }
    }

    /// Several MACs begin together: no frame is received, unless one exceeds the others by far.
    #[inline(never)]
    fn begin_collision(&mut self, now: Instant) {
        self.channel.begin_together(now);
        for index in 0..self.channel.ppdus().len() {
            let ppdu = self.channel.ppdus()[index];
            let parts = self.channel.colliding(&ppdu, now);
            self.share_causes(index);
            self.charge_collision(&ppdu, now, &parts);
            self.record(index, &parts);
        }
        // The access point's frame comes last: a station that sends does not receive what is sent to it meanwhile.
        for index in (0..self.channel.ppdus().len()).rev() {
            let ppdu = self.channel.ppdus()[index];
            if ppdu.to == Receiver::Group {
                continue;
            }
            let waited = self.contention.waited(ppdu.contender);
            let parts = self.channel.colliding(&ppdu, now);
            self.account(index, waited, now, &parts);
            self.charge_air_time(index, &parts);
        }
        if let Some((index, start, parts)) = self.channel.capture(now) {
            let ppdu = &self.channel.ppdus()[index];
            if let Some(radio) = self.radio_of(Receiver::Member(ppdu.from)) {
                let air = self.channel.airborne();
                let charged = Charged { cause: ppdu.cause(), shares: &[] };
                self.radios.begin_exchange(radio, charged, true, now, &parts, air);
            }
            self.account(index, Span::ZERO, start, &parts);
            self.charge_air_time(index, &parts);
            self.record(index, &parts);
        }
    }

    /// Charges one of several frames that begin together to the radio that sends it, and to the one to which it is addressed if
    /// that listens.
    fn charge_collision(&mut self, ppdu: &Ppdu, now: Instant, parts: &Parts) {
        let air = self.channel.airborne();
        let charged = Charged { cause: ppdu.cause(), shares: &self.shares };
        let radio_of = |receiver| match receiver {
            Receiver::Member(member) => self.macs[usize::from(member)].radio(),
            Receiver::Group => None,
        };
        if let Some(radio) = radio_of(Receiver::Member(ppdu.from)) {
            self.radios.begin_exchange(radio, charged, true, now, parts, air);
            self.radios.send_own(radio, true, parts, air);
        }
        let sends = |to: RadioId| {
            self.channel.ppdus().iter().any(|other| radio_of(Receiver::Member(other.from)) == Some(to))
        };
        if let Some(radio) = radio_of(ppdu.to)
            && self.radios.hears(radio, now)
            && !sends(radio)
        {
            self.radios.begin_exchange(radio, charged, false, now, parts, air);
        }
    }

    #[inline(never)]
    fn collision_ended(&mut self, now: Instant) {
        for index in 0..self.channel.ppdus().len() {
            self.conclude_failure(index, now);
        }
        self.channel.release();
        self.contention.idle_from(now + self.channel.eifs_less_difs());
        for index in 0..self.channel.ppdus().len() {
            let Ppdu { contender, from, .. } = self.channel.ppdus()[index];
            self.defer_others(from, now);
            if self.wants_to_send(contender) {
                self.contention.join_from(contender, now + self.channel.response_timeout());
            }
        }
    }

    /// Whether nothing else that it hears disturbs a group-addressed frame at this station.
    fn gets_group(&self, station: Member) -> bool {
        self.hidden.as_ref().is_none_or(|hidden| hidden.gets_group(station))
    }

    pub(super) fn wants_to_send(&self, id: ContenderId) -> bool {
        let Contender { member, category, .. } = self.contenders[id as usize];
        self.macs[member as usize].contends(category) && self.is_ready(id)
    }

    /// Whether the radio of the contender can send now.
    pub(super) fn is_ready(&self, id: ContenderId) -> bool {
        self.contenders[id as usize].radio.is_none_or(|radio| self.radios.is_ready(radio))
    }

    pub(super) fn radio_of(&self, receiver: Receiver) -> Option<RadioId> {
        match receiver {
            Receiver::Member(member) => self.macs[member as usize].radio(),
            Receiver::Group => None,
        }
    }
}
