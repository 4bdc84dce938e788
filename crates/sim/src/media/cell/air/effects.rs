//! What a MAC does to the other parts of its cell. Each effect is applied at once, so that equal times keep their order.

use std::ops::Range;

use airwatt_base::{Instant, Schedule, Slot};
use airwatt_energy::Cause;
use airwatt_proto::powersave::{Adaptation, Purpose};

use super::channel::Channel;
use super::hidden::Hidden;
use super::sniffer::Sniffer;
use crate::media::cell::access::contention::{ContenderId, Contention};
use crate::media::cell::frame::MpduSet;
use crate::media::cell::frame::parts::Airborne;
use crate::media::cell::interface::CellOutput;
use crate::media::cell::radio::{RadioId, Radios};
use crate::packet::Packet;
use crate::route::Member;

/// The parts of a cell as a MAC reaches them.
pub(crate) struct Effects<'a> {
    channel: &'a Channel,
    contention: &'a mut Contention,
    radios: &'a mut Radios,
    schedule: &'a mut Schedule,
    outputs: &'a mut Vec<CellOutput>,
    sniffer: &'a mut Sniffer,
    /// Who hears whom, if not all hear each other.
    hidden: Option<&'a mut Hidden>,
}

/// The time with frames on the air, as this radio hears them.
#[inline]
pub(crate) fn air_of<'a>(hidden: Option<&'a Hidden>, channel: &'a Channel, radio: RadioId) -> &'a Airborne {
    // Behind the only access point of such a cell its stations follow.
    hidden.map_or_else(|| channel.airborne(), |hidden| hidden.air(radio as Member + 1))
}

/// The contention in which this contender waits.
#[inline]
pub(crate) fn contention_of<'a>(
    hidden: Option<&'a mut Hidden>,
    contention: &'a mut Contention,
    contender: ContenderId,
) -> &'a mut Contention {
    match hidden {
        None => contention,
        Some(hidden) => hidden.contention(contender),
    }
}

impl<'a> Effects<'a> {
    /// Joins the parts for one call of a MAC.
    pub(crate) fn new(
        channel: &'a Channel,
        contention: &'a mut Contention,
        radios: &'a mut Radios,
        schedule: &'a mut Schedule,
        outputs: &'a mut Vec<CellOutput>,
        sniffer: &'a mut Sniffer,
        hidden: Option<&'a mut Hidden>,
    ) -> Self {
        Self { channel, contention, radios, schedule, outputs, sniffer, hidden }
    }

    #[inline]
    fn contention(&mut self, contender: ContenderId) -> &mut Contention {
        contention_of(self.hidden.as_deref_mut(), self.contention, contender)
    }

    /// The frames of the present exchange that its receiver gets.
    pub(crate) const fn received(&self) -> &'a MpduSet {
        self.channel.received()
    }

    /// The contender has a frame to send. It contends if its radio can send; a contender whose frame is on the air contends
    /// again when the exchange has ended.
    pub(crate) fn join(&mut self, contender: ContenderId, radio: Option<RadioId>, now: Instant) {
        if let Some(radio) = radio {
            let air = air_of(self.hidden.as_deref(), self.channel, radio);
            self.radios.wait_for_medium(radio, contender, now, air);
        }
        if radio.is_none_or(|radio| self.radios.is_ready(radio)) && !self.channel.is_sending(contender) {
            match self.hidden.as_deref_mut() {
                None => self.contention.join(contender, now),
                Some(hidden) => hidden.contention(contender).join_busy(contender, now),
            }
        }
    }

    /// The contender has sent its last frame.
    pub(crate) fn sent_all(&mut self, contender: ContenderId, radio: Option<RadioId>, now: Instant) {
        if let Some(radio) = radio {
            let air = air_of(self.hidden.as_deref(), self.channel, radio);
            self.radios.end_waiting(radio, contender, now, air);
        }
    }

    /// The radio is awake for this purpose from now on.
    pub(crate) fn set_purpose(&mut self, radio: RadioId, purpose: Purpose, now: Instant) {
        let cause = match purpose {
            Purpose::Service => Cause::Service,
            Purpose::Group => Cause::Group,
            Purpose::Beacon => Cause::Beacon,
            Purpose::TimeoutTail => Cause::TimeoutTail,
            Purpose::Idle => Cause::Idle,
        };
        let air = air_of(self.hidden.as_deref(), self.channel, radio);
        self.radios.set_purpose(radio, cause, now, air);
    }

    /// The contender has no frame to send any more.
    pub(crate) fn leave(&mut self, contender: ContenderId) {
        if !self.channel.is_sending(contender) {
            self.contention(contender).leave(contender);
        }
    }

    /// Puts a radio to sleep. Its contenders leave the contention.
    pub(crate) fn doze(&mut self, radio: RadioId, contenders: Range<ContenderId>, slot: Slot, now: Instant) {
        let air = air_of(self.hidden.as_deref(), self.channel, radio);
        self.radios.doze(radio, now, air);
        contenders.for_each(|contender| self.contention(contender).leave(contender));
        self.schedule.cancel(slot);
    }

    /// Wakes a radio up. `slot` is served once it is awake.
    pub(crate) fn wake(&mut self, radio: RadioId, slot: Slot, now: Instant) {
        let until = self.radios.wake(radio, now);
        self.schedule.set(slot, until);
    }

    /// Marks a radio as awake.
    pub(crate) fn awake(&mut self, radio: RadioId, slot: Slot, now: Instant) {
        self.schedule.cancel(slot);
        let air = air_of(self.hidden.as_deref(), self.channel, radio);
        self.radios.awake(radio, now, air);
    }

    /// Lets a radio leave the channel. Its contenders leave the contention.
    pub(crate) fn leave_channel(&mut self, radio: RadioId, contenders: Range<ContenderId>, now: Instant) {
        let air = air_of(self.hidden.as_deref(), self.channel, radio);
        self.radios.leave_channel(radio, now, air);
        contenders.for_each(|contender| self.leave(contender));
    }

    /// Lets a radio return to the channel.
    pub(crate) fn return_to_channel(&mut self, radio: RadioId, now: Instant) {
        let air = air_of(self.hidden.as_deref(), self.channel, radio);
        self.radios.return_to_channel(radio, now, air);
    }

    /// Sets the timer of a slot; [`Instant::FOREVER`] cancels it.
    #[inline]
    pub(crate) fn set_timer(&mut self, slot: Slot, at: Instant) {
        self.schedule.set(slot, at);
    }

    /// Emits an output of the cell.
    pub(crate) fn emit(&mut self, output: CellOutput) {
        self.outputs.push(output);
    }

    /// A packet, if there is one in a frame, has arrived at this member.
    pub(crate) fn arrived(&mut self, at: Member, packet: Option<&Packet>) {
        if let Some(packet) = packet {
            self.emit(CellOutput::Arrived { at, packet: *packet });
        }
    }

    /// These packets have arrived too late.
    pub(crate) fn lose(&mut self, packets: impl Iterator<Item = Packet>) {
        packets.for_each(|packet| self.emit(CellOutput::Lost(packet)));
    }

    /// Whether a trace is kept.
    pub(crate) fn traces(&self) -> bool {
        self.sniffer.is_on()
    }

    /// Traces what a station's policy knows about its traffic.
    pub(crate) fn note_adaptation(&mut self, station: Member, adaptation: Adaptation, now: Instant) {
        self.sniffer.note_adaptation(station, adaptation, now);
    }

    /// Traces the length of an access point's transmission queue.
    pub(crate) fn note_queue(&mut self, frames: u32, now: Instant) {
        self.sniffer.note_queue(frames, now);
    }

    /// Traces the number of packets in an access point's power-save buffers.
    pub(crate) fn note_power_save(&mut self, packets: u32, now: Instant) {
        self.sniffer.note_power_save(packets, now);
    }
}
