//! The MAC entities of a cell: access points and stations, each with its queues and its side of power save, ad-hoc
//! stations, and nodes outside the simulator.
//!
//! A MAC prepares the PPDU for an access that it has won ([`Mac::compose`]), receives ([`Mac::receive`] when the frame has
//! arrived, [`Mac::responded`] when its own response is out), and learns the result of an attempt ([`Mac::conclude`]). A frame stays in its queue until it is acknowledged or given up. What a MAC does to other parts of the
//! cell goes through [`Effects`].

mod access_point;
mod categories;
mod downlink;
mod external;
mod frame_queue;
mod peer;
mod reception;
mod reorder;
mod sender;
mod station;
mod station_queues;
mod tx_queue;

use std::ops::Range;

use airwatt_base::{Instant, Span};

pub(super) use self::access_point::AccessPointMac;
pub(super) use self::external::ExternalMac;
use self::frame_queue::FrameQueue;
pub(super) use self::peer::PeerMac;
pub(super) use self::station::StationMac;
use super::access::category::Category;
use super::access::contention::ContenderId;
use super::air::effects::Effects;
use super::frame::parts::Parts;
use super::frame::{Mpdu, MpduSet, OnAir, Ppdu};
use super::radio::RadioId;

/// A MAC entity.
#[derive(Clone, Debug)]
pub(super) enum Mac {
    /// Of an access point.
    AccessPoint(Box<AccessPointMac>),
    /// Of a station.
    Station(Box<StationMac>),
    /// Of an ad-hoc station.
    Peer(Box<PeerMac>),
    /// Of a node outside the simulator.
    External(Box<ExternalMac>),
}

impl Mac {
    /// The radio whose energy this MAC uses; `None` if nothing accounts for it.
    pub(super) fn radio(&self) -> Option<RadioId> {
        match self {
            Self::AccessPoint(mac) => mac.radio,
            Self::Station(mac) => Some(mac.sender.radio),
            Self::Peer(mac) => Some(mac.sender.radio),
            Self::External(mac) => Some(mac.radio),
        }
    }

    /// The contenders for data.
    #[inline]
    pub(super) fn contenders(&self) -> Range<ContenderId> {
        match self {
            Self::AccessPoint(mac) => mac.contenders(),
            Self::Station(mac) => mac.sender.contenders(),
            Self::Peer(mac) => mac.sender.contenders(),
            Self::External(mac) => mac.contenders(),
        }
    }

    /// Whether a frame of this category waits and may be sent after contention.
    pub(super) fn contends(&self, category: Category) -> bool {
        match self {
            Self::Station(mac) => mac.contends(category),
            _ => !self.queue(category).is_empty(),
        }
    }

    /// The PPDU of the next frame as it would be sent now; `None` if no frame waits.
    pub(super) fn next_ppdu(&self, category: Category) -> Option<Ppdu> {
        match self {
            Self::Station(mac) => mac.next_ppdu(category),
            _ => self.queue(category).next_ppdu(false),
        }
    }

    /// The frames of a category that are on the air.
    #[inline]
    pub(super) fn on_air(&self, category: Category) -> OnAir<'_> {
        self.queue(category).on_air()
    }

    /// Length of a frame of a category that has no other packet, MAC header to FCS, in bytes.
    pub(super) fn frame_bytes(&self, category: Category, mpdu: &Mpdu) -> u32 {
        self.queue(category).frame_bytes(mpdu)
    }

    /// Appends the lengths of the MPDUs of a category that are on the air.
    pub(super) fn lengths(&self, category: Category, lengths: &mut Vec<u32>) {
        self.queue(category).lengths(lengths);
    }

    /// The bits of the BlockAck to a PPDU on the air.
    pub(super) fn bitmap(&self, ppdu: &Ppdu, category: Category, received: &MpduSet) -> MpduSet {
        self.queue(category).bitmap(ppdu.sequence, received)
    }

    /// Notes which frames of a PPDU on the air have arrived although no response to them has.
    pub(super) fn note_arrivals(&mut self, ppdu: &Ppdu, received: &MpduSet) {
        match self {
            Self::AccessPoint(mac) => mac.note_arrivals(ppdu, received),
            Self::Station(mac) => mac.sender.note_arrivals(ppdu, received),
            Self::Peer(mac) => mac.sender.note_arrivals(ppdu, received),
            Self::External(mac) => mac.note_arrivals(received),
        }
    }

    /// The frames of a category. Stations have only data.
    #[inline]
    fn queue(&self, category: Category) -> &FrameQueue {
        match self {
            Self::AccessPoint(mac) => mac.queue(category),
            Self::Station(mac) => mac.sender.queue(category),
            Self::Peer(mac) => mac.sender.queue(category),
            Self::External(mac) => mac.queue(category),
        }
    }

    /// Fixes the header bits of the next frame at its first attempt and returns its PPDU. Panics if no frame waits.
    pub(super) fn compose(&mut self, category: Category, now: Instant, out: &mut Effects<'_>) -> Ppdu {
        match self {
            Self::AccessPoint(mac) => mac.compose(category, now, out),
            Self::Station(mac) => mac.compose(category),
            Self::Peer(mac) => mac.sender.compose(category, false),
            Self::External(mac) => mac.compose(category),
        }
    }

    /// Handles the arrival of those frames of a PPDU to this MAC that the channel says.
    pub(super) fn receive(&mut self, ppdu: &Ppdu, mpdus: OnAir<'_>, now: Instant, out: &mut Effects<'_>) {
        match self {
            Self::AccessPoint(mac) => mac.receive(ppdu, mpdus, now, out),
            Self::Station(mac) => mac.receive(ppdu, mpdus, now, out),
            Self::Peer(mac) => mac.receive(ppdu, mpdus, now, out),
            // What the frame carries is outside: its sender reports where it has arrived.
            Self::External(_) => {}
        }
    }

    /// Handles the end of this MAC's response to the PPDU that has arrived last.
    pub(super) fn responded(&mut self, now: Instant, out: &mut Effects<'_>) {
        match self {
            Self::AccessPoint(_) | Self::Peer(_) | Self::External(_) => {}
            Self::Station(mac) => mac.responded(now, out),
        }
    }

    /// Handles the result of this MAC's own attempt `ppdu`: the frames that the response says to have arrived, or `None` if no response
    /// came. Returns whether a frame has left its queue: acknowledged, or given up at the retry limit. The first one does so first.
    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        match self {
            Self::AccessPoint(mac) => mac.conclude(ppdu, received, now, out),
            Self::Station(mac) => mac.conclude(ppdu, received, now, out),
            Self::Peer(mac) => mac.conclude(ppdu, received, now, out),
            Self::External(mac) => mac.conclude(ppdu, received, now, out),
        }
    }

    /// Serves the timers of power save, and gaps before frames that have waited long enough.
    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        match self {
            Self::AccessPoint(mac) => mac.handle_timeout(now, out),
            Self::Station(mac) => mac.handle_timeout(now, out),
            Self::Peer(mac) => mac.handle_timeout(now, out),
            Self::External(_) => {}
        }
    }

    /// Adds the frames of an exchange that began at `start`, and the time for which the MAC `waited` for it, to its station's air
    /// time. `sends`: this MAC sends the PPDU.
    pub(super) fn account(&mut self, sends: bool, waited: Span, start: Instant, parts: &Parts) {
        if let Self::Station(mac) = self {
            mac.account(sends, waited, start, parts);
        }
    }
}
