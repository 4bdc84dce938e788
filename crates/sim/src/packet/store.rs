//! What packets carry that does not fit into them: bytes of external hosts, and other packets; and the packets that an SCTP
//! association carries, of which its messages have only the numbers.
//!
//! The holder of a packet owns its ticket. The network frees it where the packet is delivered or unpacked, and where the
//! packet is lost. A MAC keeps copies of a packet for retransmission and never opens them; a medium reports each packet
//! exactly once. A ticket that was freed and is used again is a defect, and panics.

use std::collections::BTreeMap;

use super::Packet;
use super::ticket::{INDEX_BITS, Ticket};

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Packets that one packet carries.
    Packets(Vec<Packet>),
    /// The bytes of one packet.
    Bytes(Vec<u8>),
}

/// The entries of a network.
#[derive(Clone, Debug, Default)]
pub struct Store {
    entries: Vec<(u8, Entry)>,
    free: Vec<u32>,
    /// Packets in associations, by their numbers.
    admitted: BTreeMap<u64, Packet>,
    next_number: u64,
    /// Entries in use.
    live: usize,
    /// Whether entries are kept when they are freed, as a trace needs them.
    pinned: bool,
}

impl Store {
    /// Keeps every entry from now on, whether it is freed or not.
    pub fn pin(&mut self) {
        self.pinned = true;
    }

    /// What the entries occupy that are kept though they may have been freed, in bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        if self.pinned { size_of_val(&self.entries[..]) } else { 0 }
    }

    /// Entries that have not been freed.
    pub const fn live(&self) -> usize {
        self.live
    }

    /// Stores a copy of these bytes. The buffer of a freed entry is used again.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> Ticket {
        self.live += 1;
        if let Some(index) = self.free.pop() {
            let (generation, entry) = &mut self.entries[index as usize];
            match entry {
                Entry::Bytes(buffer) => {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                }
                Entry::Packets(_) => *entry = Entry::Bytes(bytes.to_vec()),
            }
            return Ticket::new(index as usize, *generation);
        }
        self.append(Entry::Bytes(bytes.to_vec()))
    }

    /// Stores packets that one packet is to carry.
    pub(crate) fn put_packets(&mut self, packets: Vec<Packet>) -> Ticket {
        self.live += 1;
        if let Some(index) = self.free.pop() {
            let (generation, entry) = &mut self.entries[index as usize];
            *entry = Entry::Packets(packets);
            return Ticket::new(index as usize, *generation);
        }
        self.append(Entry::Packets(packets))
    }

    fn append(&mut self, entry: Entry) -> Ticket {
        let index = self.entries.len();
        assert!(index < 1 << INDEX_BITS, "a store holds at most {} entries", 1 << INDEX_BITS);
        self.entries.push((0, entry));
        Ticket::new(index, 0)
    }

    /// The entry of a ticket. Panics if the ticket was freed.
    pub fn get(&self, ticket: Ticket) -> &Entry {
        let (generation, entry) = &self.entries[ticket.index()];
        assert_eq!(*generation, ticket.generation(), "a ticket is used after it was freed");
        entry
    }

    /// The bytes of a ticket; none if it leads to packets. Panics if the ticket was freed.
    pub fn bytes(&self, ticket: Ticket) -> &[u8] {
        match self.get(ticket) {
            Entry::Bytes(bytes) => bytes,
            Entry::Packets(_) => &[],
        }
    }

    /// The same bytes, to be changed.
    pub(crate) fn bytes_mut(&mut self, ticket: Ticket) -> &mut [u8] {
        let (generation, entry) = &mut self.entries[ticket.index()];
        assert_eq!(*generation, ticket.generation(), "a ticket is used after it was freed");
        match entry {
            Entry::Bytes(bytes) => bytes,
            Entry::Packets(_) => &mut [],
        }
    }

    /// Frees a ticket. Panics if it was freed before.
    pub fn free(&mut self, ticket: Ticket) {
        let pinned = self.pinned;
        let (generation, _) = &mut self.entries[ticket.index()];
        assert_eq!(*generation, ticket.generation(), "a ticket is freed once");
        self.live -= 1;
        if !pinned {
            *generation = generation.wrapping_add(1);
            self.free.push(ticket.index() as u32);
        }
    }

    /// Takes the packets of a ticket, and frees it. Panics if it was freed before.
    pub(crate) fn take_packets(&mut self, ticket: Ticket) -> Vec<Packet> {
        let packets = match self.get(ticket) {
            Entry::Packets(packets) => packets.clone(),
            Entry::Bytes(_) => Vec::new(),
        };
        self.free(ticket);
        packets
    }

    /// Takes the bytes of a ticket, and frees it. Panics if it was freed before.
    pub(crate) fn take_bytes(&mut self, ticket: Ticket) -> Vec<u8> {
        let bytes = self.bytes(ticket).to_vec();
        self.free(ticket);
        bytes
    }

    /// Keeps a packet that an association carries as a message, and returns its number there.
    pub fn admit(&mut self, packet: Packet) -> u64 {
        self.next_number += 1;
        self.admitted.insert(self.next_number, packet);
        self.next_number
    }

    /// Takes the packet with this number; `None` if it was taken before, as when it arrived although its sender gave it up.
    pub fn claim(&mut self, number: u64) -> Option<Packet> {
        self.admitted.remove(&number)
    }

    /// The bytes of every entry in the order of insertion. Only a pinned store has them all.
    pub fn into_bytes(self) -> Vec<Vec<u8>> {
        let bytes = |(_, entry)| match entry {
            Entry::Bytes(bytes) => bytes,
            Entry::Packets(_) => Vec::new(),
        };
        self.entries.into_iter().map(bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Instant;

    use super::super::Payload;
    use super::*;

    fn packet(payload: Payload) -> Packet {
        Packet { payload, ..Packet::datagram(0, 100, Instant::ZERO) }
    }

    #[test]
    fn a_packet_carries_packets() {
        let mut store = Store::default();
        let inner = [packet(Payload::Datagram(1)), packet(Payload::Datagram(2))];
        let header = airwatt_proto::tunnel::TunnelHeader { number: 0, ends_burst: true };
        let carried = Payload::Carried(store.put_packets(inner.to_vec()), header);
        let Payload::Carried(ticket, _) = packet(carried).payload else { panic!("it carries packets") };
        assert_eq!(store.live(), 1);
        assert_eq!(store.take_packets(ticket), inner);
        assert_eq!(store.live(), 0);
    }

    #[test]
    fn a_freed_entry_is_used_again_under_another_ticket() {
        let mut store = Store::default();
        let first = store.put_bytes(b"first");
        store.free(first);
        let second = store.put_bytes(b"second");
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert_eq!(store.bytes(second), b"second");
    }

    #[test]
    fn a_pinned_store_keeps_what_was_freed() {
        let mut store = Store::default();
        store.pin();
        for text in [b"one", b"two"] {
            let ticket = store.put_bytes(text);
            store.free(ticket);
        }
        assert_eq!(store.live(), 0);
        assert_eq!(store.into_bytes(), [b"one".to_vec(), b"two".to_vec()]);
    }

    #[test]
    #[should_panic(expected = "used after it was freed")]
    fn a_stale_ticket_panics() {
        let mut store = Store::default();
        let ticket = store.put_bytes(b"bytes");
        store.free(ticket);
        store.bytes(ticket);
    }
}
