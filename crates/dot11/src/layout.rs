//! The layout of frames in time at one transmit vector. Exchanges compute with it.

use airwatt_base::Span;

/// A preamble, whole symbols, and what follows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The time of everything but the data, `extension` included.
    preamble: Span,
    /// The part of `preamble` that is behind the data: packet extension and signal extension.
    extension: Span,
    symbol: Span,
    /// The time of all symbols is rounded up to a multiple of this.
    grid: Span,
    /// Data bits in a thousand symbols.
    bits_per_kilosymbol: u64,
    fixed_bits: u64,
}

impl Layout {
    pub(crate) fn new(
        preamble: Span,
        extension: Span,
        [symbol, grid]: [Span; 2],
        bits_per_kilosymbol: u64,
        fixed_bits: u64,
    ) -> Self {
        Self { preamble: preamble + extension, extension, symbol, grid, bits_per_kilosymbol, fixed_bits }
    }

    /// The time of everything but the data: training fields, headers, and the extensions behind the data.
    pub const fn preamble(&self) -> Span {
        self.preamble
    }

    /// The time of training fields and headers, which a receiver hears before the body.
    pub fn training(&self) -> Span {
        self.preamble - self.extension
    }

    /// The length of a symbol.
    pub const fn symbol(&self) -> Span {
        self.symbol
    }

    /// Bits that the PHY adds to the body.
    pub const fn fixed_bits(&self) -> u64 {
        self.fixed_bits
    }

    /// The time from the beginning of a frame until a receiver has its first `bytes`, counted from the MAC header on. The
    /// delay of the decoder is left out.
    pub fn time_of_first(&self, bytes: u32) -> Span {
        self.time(bytes) - self.extension
    }

    /// The time for which a PPDU with a PSDU of so many bytes is on the air.
    pub const fn time(&self, psdu_bytes: u32) -> Span {
        let bits = psdu_bytes as u64 * 8 + self.fixed_bits;
        let symbols = (bits * 1_000).div_ceil(self.bits_per_kilosymbol);
        let mut data = symbols * self.symbol.as_nanos();
        if self.grid.as_nanos() != self.symbol.as_nanos() {
            data = data.next_multiple_of(self.grid.as_nanos());
        }
        Span::from_nanos(self.preamble.as_nanos() + data)
    }

    /// The longest PSDU that is on the air for no longer than `time`.
    pub fn bytes_within(&self, time: Span) -> u32 {
        let steps = time.saturating_sub(self.preamble).whole(self.grid);
        let symbols = (self.grid * steps).whole(self.symbol);
        let bits = (symbols * self.bits_per_kilosymbol / 1_000).saturating_sub(self.fixed_bits);
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }
}
