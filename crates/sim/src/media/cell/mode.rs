//! The transmit modes of a cell: a rate, the layout of frames at it, and the time of the response to them.
//!
//! A MAC sets the mode of a PPDU when it composes it. The modes of beacons, control frames and group-addressed frames belong to the
//! channel; each link has one for data, and links at the same rate share it.

use airwatt_base::{Rate, Span};
use airwatt_dot11::{Layout, Standard};

use super::frame::{ACK_BYTES, ModeId};

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
        Mode { rate, layout: self.layout(rate), ack_rate, ack: self.layout(ack_rate).time(ACK_BYTES) }
    }
}
