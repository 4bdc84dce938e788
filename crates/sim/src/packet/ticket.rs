//! What leads from a packet to what it carries.

/// Bits of a ticket that hold the index of its entry; the others hold the generation.
pub(super) const INDEX_BITS: u32 = 24;

/// Leads to an entry of a [`Store`](super::Store).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

impl Ticket {
    pub(super) const fn new(index: usize, generation: u8) -> Self {
        Self(index as u32 | (generation as u32) << INDEX_BITS)
    }

    /// The index of the entry. While nothing is freed, indices count entries in the order of their insertion.
    pub const fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    pub(super) const fn generation(self) -> u8 {
        (self.0 >> INDEX_BITS) as u8
    }
}
