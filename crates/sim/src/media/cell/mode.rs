//! The transmit modes of a cell: a rate, the layout of frames at it, the time of the response to them, and the largest aggregate.
//!
//! A MAC sets the mode of a PPDU when it composes it. The modes of beacons, control frames and group-addressed frames belong to the
//! channel; each link has one for data, and links at the same rate share it.

use airwatt_base::{Rate, Span};
use airwatt_dot11::{Format, Layout, Standard};

use super::frame::{ACK_BYTES, BLOCK_ACK_BYTES, ModeId};

/// Longest A-MPDU of 802.11n (802.11-2020 9.4.2.55.3).
pub const MAX_AMPDU_BYTES: u32 = 65_535;
/// aPPDUMaxTime of 802.11n's mixed format (table 19-25).
pub const MAX_PPDU_TIME: Span = Span::from_micros(5_484);
/// Largest window of a block-ack agreement of 802.11n, in frames (9.4.1.13).
pub const MAX_WINDOW: u16 = 64;

/// How much is sent in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationConfig {
    /// Most frames; with 1 there is no block-ack agreement.
    pub mpdus: u16,
    /// Longest A-MPDU.
    pub bytes: u32,
    /// Longest time on the air.
    pub time: Span,
}

/// A link: how data goes over it, and how much at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) mode: ModeId,
    pub(super) limit: AggregateLimit,
}

/// The largest A-MPDU of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct AggregateLimit {
    /// Most frames. At rates without A-MPDUs it is 1.
    pub(super) mpdus: u16,
    pub(super) bytes: u32,
}

impl Link {
    /// A link on which each frame has a PPDU of its own.
    pub(super) const fn single(mode: ModeId) -> Self {
        Self { mode, limit: AggregateLimit { mpdus: 1, bytes: 0 } }
    }
}

/// The number of modes that belong to the channel.
const CHANNEL_MODES: usize = 4;

/// One mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) rate: Rate,
    pub(super) layout: Layout,
    /// Rate of the ACK of a frame in this mode.
    pub(super) ack_rate: Rate,
    /// Duration of the ACK.
    pub(super) ack: Span,
    /// Duration of the BlockAck.
    pub(super) block_ack: Span,
}

/// The modes of a channel.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    standard: Standard,
    /// Whether frames at rates of 802.11b have the short preamble.
    short_preamble: bool,
    /// The first four are the constants of [`ModeId`].
    table: Vec<Mode>,
}

impl Modes {
    /// The modes of data, control frames, beacons and group-addressed frames at these rates of the PHY.
    pub(super) fn new(standard: Standard, short_preamble: bool, rates: [Rate; CHANNEL_MODES]) -> Self {
        let mut modes = Self { standard, short_preamble, table: Vec::new() };
        let [_, control, ..] = rates;
        modes.table.extend(rates.map(|rate| modes.mode(rate, control)));
        modes
    }

    /// The mode of a link whose data has this rate. A frame is not acknowledged at a higher rate than its own (802.11-2020 10.6.6.5.2).
    pub(super) fn of_link(&mut self, rate: Rate) -> ModeId {
        if rate == self.get(ModeId::DATA).rate {
            return ModeId::DATA;
        }
        let own = self.table.iter().skip(CHANNEL_MODES).position(|mode| mode.rate == rate);
        let index = own.map_or(self.table.len(), |place| CHANNEL_MODES + place);
        if own.is_none() {
            let ack_rate = self.get(ModeId::CONTROL).rate.min(self.standard.control_rate(rate));
            self.table.push(self.mode(rate, ack_rate));
        }
        ModeId(u8::try_from(index).expect("a PHY has fewer rates than modes have numbers"))
    }

    /// A mode of the channel or of a link.
    pub(super) fn get(&self, id: ModeId) -> &Mode {
        &self.table[usize::from(id.0)]
    }

    /// The layout of frames at `rate`.
    pub(super) fn layout(&self, rate: Rate) -> Layout {
        let vector = self.standard.vector(rate).expect("a checked scenario has rates of its PHY");
        let vector = if self.short_preamble { vector.with_short_preamble() } else { vector };
        vector.layout(self.standard.band())
    }

    fn mode(&self, rate: Rate, ack_rate: Rate) -> Mode {
        let response = self.layout(ack_rate);
        let (ack, block_ack) = (response.time(ACK_BYTES), response.time(BLOCK_ACK_BYTES));
        Mode { rate, layout: self.layout(rate), ack_rate, ack, block_ack }
    }

    /// A link in this mode. `most`: what an aggregate and its response may take of the air.
    pub(super) fn link(&self, mode: ModeId, config: &AggregationConfig, most: Span) -> Link {
        let Mode { rate, layout, block_ack, .. } = self.get(mode);
        let is_ht = self.standard.vector(*rate).is_some_and(|vector| vector.format() == Format::HtMixed);
        if config.mpdus <= 1 || !is_ht {
            return Link::single(mode);
        }
        let time = config.time.min(most.saturating_sub(self.standard.timing().sifs + *block_ack));
        let bytes = config.bytes.min(layout.bytes_within(time));
        Link { mode, limit: AggregateLimit { mpdus: config.mpdus, bytes } }
    }
}
