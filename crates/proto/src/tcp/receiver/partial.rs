//! The receive half with partial reliability: PRTP, an option of the receiver that is transparent to a plain TCP
//! sender.
//!
//! If a gap opens and [`crate::reliability`] permits it, the receive half acknowledges past the gap, as if the data had
//! arrived. Otherwise it sends duplicate ACKs as TCP does, and the sender retransmits the missing segment. A gap before
//! the FIN may be skipped as well, once the FIN is known. Such an acknowledgement is never delayed, so the ACK clock is
//! that of a gap just filled.
//!
//! Skipped data that arrives later lies below the window. It is answered like any segment that is not acceptable, but
//! its bytes are delivered late, and no D-SACK block reports them because they are not duplicates.

use super::Receiver;
use crate::event::Event;
use crate::reliability::Reliability;
use crate::tcp::buffer::ReceiveBuffer;
use crate::tcp::reassembly::{Text, store_late};
use crate::tcp::statistics::Statistics;

/// State of a receive half that may skip gaps.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Partial {
    pub(in crate::tcp) reliability: Reliability,
    /// Position after the last byte of the stream; `None` until the stream is complete up to its FIN.
    end: Option<u64>,
    /// Pending notifications for the application, in order.
    pub(in crate::tcp) events: Vec<Event>,
}

impl Partial {
    pub(in crate::tcp) fn new(percent: u8, window: Option<u32>) -> Self {
        Self { reliability: Reliability::new(percent, window), end: None, events: Vec::new() }
    }
}

impl<R: ReceiveBuffer> Receiver<R> {
    /// Takes bytes that were skipped before and arrive now. Returns their number.
    #[inline(never)]
    pub(in crate::tcp) fn take_late(
        &mut self,
        text: Text,
        payload: &R::Payload,
        statistics: &mut Statistics,
    ) -> u64 {
        let Some(partial) = &mut self.partial else { return 0 };
        partial.reliability.note_packet(text.len);
        let places = [self.next, partial.end.unwrap_or(self.next)];
        let halves = (&mut partial.reliability, &mut self.buffer);
        let arrived = store_late(halves, text, payload, places, |event| partial.events.push(event));
        statistics.bytes_late += arrived;
        statistics.bytes_skipped -= arrived;
        arrived
    }

    /// Acknowledges past gaps as far as the reliability permits. Returns how many bytes beyond the gaps became in
    /// order.
    #[inline(never)]
    pub(in crate::tcp) fn skip_gaps(&mut self, statistics: &mut Statistics) -> u64 {
        let Some(mut partial) = self.partial.take() else { return 0 };
        let mut delivered = 0;
        while self.fin != Some(self.next) {
            let range = self.out_of_order.first().map(|range| range.start);
            // An inconsistent peer may have sent data beyond its FIN.
            let fin = self.fin.filter(|fin| *fin > self.next);
            let Some(until) = [range, fin].into_iter().flatten().min() else { break };
            let bytes = partial.reliability.skip(self.next, until);
            if bytes == 0 {
                break;
            }
            // Positions count from the SYN; the application counts from the first byte of data.
            partial.events.push(Event::Gap { at: self.next - 1, bytes });
            statistics.bytes_skipped += bytes;
            self.next += bytes;
            self.deliver(bytes);
            if range == Some(self.next) {
                let more = self.out_of_order.remove(0).end - self.next;
                self.next += more;
                self.deliver(more);
                partial.events.push(Event::Delivered { bytes: more });
                delivered += more;
            }
        }
        if self.fin == Some(self.next) {
            partial.end = self.fin;
        }
        // A gap more than a window below cannot be filled by packets that are still in flight.
        partial.reliability.forget_gaps(self.next.saturating_sub(u64::from(self.capacity)));
        self.partial = Some(partial);
        delivered
    }
}
