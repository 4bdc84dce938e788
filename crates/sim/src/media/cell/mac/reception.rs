//! What a MAC has received from each other member: frames that come again because the response to them was lost are dropped
//! (802.11-2020 10.3.2.14.3).
//!
//! Only packets are looked at. Null frames and PS-Polls may come again and change nothing.

use crate::media::cell::frame::{Body, Mpdu, MpduSet};
use crate::media::cell::mac::OnAir;
use crate::net::packet::Packet;
use crate::net::route::Member;

/// More than any sequence number.
const NONE: u16 = u16::MAX;

/// The receptions of one MAC, by the members that send to it.
#[derive(Clone, Debug)]
pub(super) struct Receptions {
    /// The first of these members.
    first: Member,
    /// The sequence number of the last packet of each.
    last: Vec<u16>,
}

impl Receptions {
    /// Nothing has been received from members from `first` on.
    pub(super) const fn new(first: Member) -> Self {
        Self { first, last: Vec::new() }
    }

    /// Calls `each` for the frames of a PPDU that have arrived and did not before, with the packets in them.
    pub(super) fn receive(
        &mut self,
        from: Member,
        mpdus: OnAir<'_>,
        received: &MpduSet,
        mut each: impl FnMut(&Mpdu, Option<&Packet>),
    ) {
        for (place, mpdu) in (0..).zip(mpdus) {
            if !received.contains(place) {
                continue;
            }
            let Body::Data(packet) = &mpdu.body else {
                each(mpdu, None);
                continue;
            };
            let last = self.last_of(from);
            if mpdu.retries == 0 || *last != mpdu.sequence {
                *last = mpdu.sequence;
                each(mpdu, Some(packet));
            }
        }
    }

    fn last_of(&mut self, from: Member) -> &mut u16 {
        let place = usize::from(from - self.first);
        if self.last.len() <= place {
            self.last.resize(place + 1, NONE);
        }
        &mut self.last[place]
    }
}
