//! The transmit modes of a cell: a rate, the layout of frames at it, the time of the response to them, and the largest aggregate.
//!
//! A MAC sets the mode of a PPDU when it composes it. The modes of beacons, control frames and group-addressed frames belong to the
//! channel; each link has one for data, and links at the same rate share it.

use airwatt_base::{Rate, Span};
use airwatt_dot11::{Layout, Standard, TxVector};

use super::aggregation::{
    Aggregation, MissedBlockAck, agreed_window, has_ampdus, max_ampdu_bytes, max_mpdu_bytes, spacing_bytes,
};
use super::air_estimate::AirTimeEstimate;
use crate::media::cell::access::category::Category;
use crate::media::cell::frame::{ACK_BYTES, DELIMITER_BYTES, ModeId, block_ack_bytes};

/// A link: how data goes over it, and how much at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) mode: ModeId,
    pub(crate) limit: AggregateLimit,
    /// Whether an RTS precedes data whatever its length.
    pub(crate) rts: bool,
    /// An RTS precedes longer PSDUs of data, of one frame and of several: with their responses they take longer than the threshold.
    pub(crate) rts_above: [u32; 2],
    /// An RTS precedes data after so many attempts in a row without a response.
    pub(crate) rts_after: u16,
    /// How long a packet waits until it is discarded, if not for ever.
    pub(crate) lifetime: Option<Span>,
    /// What limits in air time take for a frame.
    pub(crate) estimate: AirTimeEstimate,
}

/// The largest A-MPDU of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AggregateLimit {
    /// Most frames. At rates without A-MPDUs it is 1.
    pub(crate) mpdus: u16,
    pub(crate) bytes: u32,
    /// Longest A-MSDU; 0 if each packet has a frame of its own.
    pub(crate) amsdu: u32,
    /// Longest MPDU that is made of several packets.
    pub(crate) mpdu: u32,
    /// Least number of bytes from the start of one frame to that of the next.
    pub(crate) spacing: u32,
    /// Window of the block-ack agreement; 0 without one.
    pub(crate) window: u16,
    /// Whether a single frame is in an A-MPDU as well.
    pub(crate) delimits_all: bool,
    /// What follows a missing block acknowledgement.
    pub(crate) missed: MissedBlockAck,
    /// Largest number of retransmissions of a frame of data, if it is another one than that of other frames.
    pub(crate) retries: Option<u32>,
}

impl AggregateLimit {
    /// One frame in each PPDU, without a block-ack agreement.
    pub(crate) const SINGLE: Self = Self {
        mpdus: 1,
        bytes: 0,
        amsdu: 0,
        mpdu: 0,
        spacing: 0,
        window: 0,
        delimits_all: false,
        missed: MissedBlockAck::Resend,
        retries: None,
    };
}

impl AggregateLimit {
    /// Most packets of a PPDU, as far as their length does not limit them.
    pub(crate) const fn packets(&self) -> u16 {
        if self.amsdu > 0 { u16::MAX } else { self.mpdus }
    }
}

impl Link {
    /// A link on which each frame has a PPDU of its own.
    pub(crate) const fn single(mode: ModeId) -> Self {
        Self {
            mode,
            limit: AggregateLimit::SINGLE,
            rts: false,
            rts_above: [u32::MAX; 2],
            rts_after: u16::MAX,
            lifetime: None,
            estimate: AirTimeEstimate::NONE,
        }
    }
}

/// The number of modes that belong to the channel.
const CHANNEL_MODES: usize = 4;

/// One mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) vector: TxVector,
    pub(crate) layout: Layout,
    /// The vector of the response to a frame in this mode.
    pub(crate) response: TxVector,
    /// Duration of the ACK.
    pub(crate) ack: Span,
    /// Duration of the BlockAck.
    pub(crate) block_ack: Span,
    /// Least number of bytes from the start of one frame of an A-MPDU to that of the next.
    pub(crate) spacing: u32,
}

/// The modes of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    standard: Standard,
    /// Whether frames at rates of 802.11b have the short preamble.
    short_preamble: bool,
    /// Length of a BlockAck.
    block_ack_bytes: u32,
    /// Least time from the start of one frame of an A-MPDU to that of the next.
    start_spacing: Span,
    /// The first four are the constants of [`ModeId`].
    table: Vec<Mode>,
}

impl Modes {
    /// The modes of data with this vector, and of control frames, beacons and group-addressed frames at these rates.
    pub(crate) fn new(
        standard: Standard,
        short_preamble: bool,
        data: TxVector,
        others: [TxVector; CHANNEL_MODES - 1],
        aggregation: &Aggregation,
    ) -> Self {
        // Agreements are those of the largest aggregates of the channel.
        let window = agreed_window(aggregation.most(data.format()));
        let block_ack_bytes = block_ack_bytes(window);
        let start_spacing = aggregation.start_spacing;
        let mut modes = Self { standard, short_preamble, block_ack_bytes, start_spacing, table: Vec::new() };
        let others = others.map(|vector| modes.prepared(vector));
        let vectors = std::iter::once(modes.prepared(data)).chain(others);
        modes.table = vectors.map(|vector| modes.mode(vector, others[0])).collect();
        modes
    }

    /// The mode of a link whose data has this vector. The response has the rate of control frames, or that which follows from the
    /// vector if it is lower (802.11-2020 10.6.6.5.2).
    pub(crate) fn of_link(&mut self, data: TxVector) -> ModeId {
        let data = self.prepared(data);
        if data == self.get(ModeId::DATA).vector {
            return ModeId::DATA;
        }
        let own = self.table.iter().skip(CHANNEL_MODES).position(|mode| mode.vector == data);
        let index = own.map_or(self.table.len(), |place| CHANNEL_MODES + place);
        if own.is_none() {
            let control = self.get(ModeId::CONTROL).vector.rate();
            let response = self.vector(control.min(self.standard.response_rate(&data)));
            self.table.push(self.mode(data, response));
        }
        ModeId(u16::try_from(index).expect("a PHY has fewer modes than modes have numbers"))
    }

    /// A mode of the channel or of a link.
    pub(crate) fn get(&self, id: ModeId) -> &Mode {
        &self.table[usize::from(id.0)]
    }

    /// All modes.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Mode> {
        self.table.iter()
    }

    /// Length of a BlockAck.
    pub(crate) const fn block_ack_bytes(&self) -> u32 {
        self.block_ack_bytes
    }

    /// The layout of frames at `rate`.
    pub(crate) fn layout(&self, rate: Rate) -> Layout {
        self.vector(rate).layout(self.standard.band())
    }

    /// The vector of a frame at `rate`, a mandatory one of the PHY.
    fn vector(&self, rate: Rate) -> TxVector {
        self.prepared(self.standard.vector(rate).expect("a mandatory rate is one of the PHY"))
    }

    /// The vector with the preamble of the cell.
    fn prepared(&self, vector: TxVector) -> TxVector {
        if self.short_preamble { vector.with_short_preamble() } else { vector }
    }

    fn mode(&self, vector: TxVector, response: TxVector) -> Mode {
        let band = self.standard.band();
        let back = response.layout(band);
        let (ack, block_ack) = (back.time(ACK_BYTES), back.time(self.block_ack_bytes));
        let spacing = spacing_bytes(self.start_spacing, &vector);
        Mode { vector, layout: vector.layout(band), response, ack, block_ack, spacing }
    }

    /// A link in this mode for frames of a category. `most`: what an aggregate and its response may take of the air.
    pub(crate) fn link(&self, id: ModeId, config: &Aggregation, (category, most): (Category, Span)) -> Link {
        let Mode { vector, layout, block_ack, spacing, .. } = self.get(id);
        let estimate = AirTimeEstimate::new(vector, category);
        let format = vector.format();
        let mpdus = config.most(format);
        let delimits_all = vector.is_always_delimited();
        let single = Link::single(id);
        let [bytes, amsdu] = [config.bytes, config.amsdu].map(|size| size.map(|size| size.as_bytes() as u32));
        let amsdu = amsdu.filter(|_| has_ampdus(format)).unwrap_or(0);
        if mpdus <= 1 && amsdu == 0 {
            return Link { limit: AggregateLimit { delimits_all, ..single.limit }, estimate, ..single };
        }
        let time = config.time.min(most.saturating_sub(self.standard.timing().sifs + *block_ack));
        let bytes = bytes.unwrap_or(u32::MAX).min(max_ampdu_bytes(format)).min(layout.bytes_within(time));
        let mpdu = max_mpdu_bytes(format, mpdus > 1).min(bytes.saturating_sub(DELIMITER_BYTES));
        let Aggregation { missed_block_ack: missed, retry_limit: retries, .. } = *config;
        let window = if mpdus > 1 { agreed_window(mpdus) } else { 0 };
        let spacing = *spacing;
        let limit =
            AggregateLimit { mpdus, bytes, amsdu, mpdu, spacing, window, delimits_all, missed, retries };
        Link { limit, estimate, ..single }
    }
}
