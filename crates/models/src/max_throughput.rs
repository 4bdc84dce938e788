//! Theoretical maximum throughput of 802.11: one station that always has a frame to send, alone on the channel.
//!
//! J. Jun, P. Peddabachagari, M. Sichitiu, *Theoretical Maximum Throughput of IEEE 802.11 and its Applications*, IEEE NCA
//! 2003. Every frame takes one cycle, and nothing ever collides or is lost:
//!
//! ```text
//! cycle = DIFS + CWmin/2 slot + [RTS + SIFS + CTS + SIFS] + DATA + SIFS + ACK + 2 tau (4 tau with RTS)
//! DATA  = preamble + (coding bits + 8 (overhead + payload)) / rate          in whole symbols where they are given
//! S     = 8 payload / cycle
//! ```
//!
//! The model holds for one saturated sender of frames that are not aggregated and a receiver that answers only with
//! acknowledgements; for TCP it is an upper bound, because its acknowledgements take air time as well. The mean backoff
//! counts every slot as idle, which is exact if no other station sends.
//!
//! [`Params::jun_2003_ofdm`] contains the figures with which both Hashimoto theses derive the capacity of 802.11a from
//! the paper (31.04 Mb/s for 1460 bytes at 54 Mb/s): 9 us of SIFS, where the standard has 16 us (802.11-2020 17.4.4),
//! the acknowledgement at the rate of the data, 34 bytes around the payload (a MAC header with four addresses, and the
//! FCS), no rounding of the data to symbols. [`Params::ofdm`] and [`Params::hr_dsss`] are the standard's figures, which
//! `airwatt_dot11` holds.
//!
//! Left out: collisions and retries (see [`crate::dcf_saturation`]), aggregation and block acknowledgements, TXOPs.

use std::sync::LazyLock;

use airwatt_base::Span;
use airwatt_dot11 as dot11;

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive};

#[cfg(test)]
mod tests;

/// What the PHY adds to a frame. The rates of the models need not be rates of the PHY, so the layout is that of the lowest one;
/// all OFDM rates share it.
struct Framing {
    preamble_s: f64,
    coding_bits: f64,
    symbol_s: f64,
}

impl Framing {
    fn of(standard: dot11::Standard) -> Self {
        let layout =
            standard.layout(standard.timing().lowest_rate).expect("the lowest rate is one of the PHY");
        Self {
            preamble_s: seconds(layout.preamble()),
            coding_bits: layout.fixed_bits() as f64,
            symbol_s: seconds(layout.symbol()),
        }
    }
}

/// 802.11a, and g among stations of its kind but for its signal extension.
static OFDM: LazyLock<Framing> = LazyLock::new(|| Framing::of(dot11::Standard::A));

/// A time in seconds, correctly rounded.
fn seconds(time: Span) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// Bytes of an ACK frame (802.11-2020 9.3.1.4).
const ACK_BYTES: f64 = 14.0;
/// Bytes around an IP packet: MAC header 24, LLC and SNAP 8, FCS 4.
const IP_OVERHEAD_BYTES: f64 = 36.0;

/// Parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Data in each frame that counts as throughput, in bytes.
    pub payload_bytes: f64,
    /// Headers and check sums around it that are sent at the data rate, in bytes.
    pub overhead_bytes: f64,
    /// The rate of the data, in bit/s.
    pub data_rate_bps: f64,
    /// Preamble and PHY header of the data frame, in seconds.
    pub preamble_s: f64,
    /// Bits that the PHY adds at the data rate (OFDM: service field and tail).
    pub coding_bits: f64,
    /// The symbol to whose multiples the data is rounded up, in seconds; zero for no rounding.
    pub symbol_s: f64,
    /// DIFS, in seconds.
    pub difs_s: f64,
    /// SIFS, in seconds.
    pub sifs_s: f64,
    /// Duration of a backoff slot, in seconds.
    pub slot_s: f64,
    /// CWmin in slots: the backoff is drawn from zero to this.
    pub cw_min: u32,
    /// Duration of the acknowledgement frame, in seconds.
    pub ack_s: f64,
    /// Durations of the RTS and the CTS frame, in seconds; `None` for data without them.
    pub rts_cts_s: Option<(f64, f64)>,
    /// The propagation time of one frame, in seconds.
    pub propagation_s: f64,
}

outputs! {
    /// One cycle and its throughput.
    pub struct Output {
        /// S, the throughput of payload.
        pub throughput_bps: f64,
        /// The time from one frame to the next.
        pub cycle_s: f64,
        /// The mean backoff in a cycle.
        pub backoff_s: f64,
        /// The duration of the data frame.
        pub data_s: f64,
    }
}

choice! {
    /// The physical layer.
    pub enum Phy {
        /// 802.11a, or g without older stations.
        Ofdm = "ofdm",
        /// 802.11b with the long preamble.
        HrDsss = "hr-dsss",
        /// 802.11a with the figures of the paper.
        Jun2003 = "jun-2003",
    }
}

parameters! {
    /// The model for the frames of a standard: the parameters that most questions need.
    pub struct FramesOfStandard {
        /// The physical layer.
        pub phy: Phy = Phy::Ofdm,
        /// An IP packet; with `jun-2003`, a payload.
        pub packet_bytes: f64 = 1500.0,
        /// The rate of the data.
        pub data_rate_bps: f64 = 54e6,
        /// The rate of the acknowledgement; `jun-2003` uses the rate of the data.
        pub control_rate_bps: f64 = 24e6,
    }
}

impl FramesOfStandard {
    /// All parameters of the model.
    pub fn params(&self) -> Params {
        let Self { phy, packet_bytes, data_rate_bps, control_rate_bps } = *self;
        match phy {
            Phy::Ofdm => Params::ofdm(data_rate_bps, control_rate_bps, packet_bytes),
            Phy::HrDsss => Params::hr_dsss(data_rate_bps, control_rate_bps, packet_bytes),
            Phy::Jun2003 => Params::jun_2003_ofdm(data_rate_bps, packet_bytes),
        }
    }
}

impl Params {
    /// 802.11a, or g without older stations (802.11-2020 17.4.4): IP packets of `packet_bytes` at `data_rate_bps`,
    /// acknowledged at `control_rate_bps`, without RTS.
    pub fn ofdm(data_rate_bps: f64, control_rate_bps: f64, packet_bytes: f64) -> Self {
        Self {
            symbol_s: OFDM.symbol_s,
            ack_s: ofdm_frame_s(ACK_BYTES, control_rate_bps),
            ..Self::of(dot11::Standard::A, &OFDM, data_rate_bps, packet_bytes)
        }
    }

    /// The standard's figures for IP packets, without rounding to symbols and without the time of the acknowledgement.
    fn of(standard: dot11::Standard, framing: &Framing, data_rate_bps: f64, packet_bytes: f64) -> Self {
        let timing = standard.timing();
        Self {
            payload_bytes: packet_bytes,
            overhead_bytes: IP_OVERHEAD_BYTES,
            data_rate_bps,
            preamble_s: framing.preamble_s,
            coding_bits: framing.coding_bits,
            symbol_s: 0.0,
            // 802.11-2020 10.3.7.
            difs_s: seconds(timing.sifs + timing.slot * 2),
            sifs_s: seconds(timing.sifs),
            slot_s: seconds(timing.slot),
            cw_min: timing.cw_min,
            ack_s: 0.0,
            rts_cts_s: None,
            propagation_s: 0.0,
        }
    }

    /// The figures from which the theses derive the capacity, with frames of `payload_bytes` (see the documentation of
    /// the module).
    pub fn jun_2003_ofdm(data_rate_bps: f64, payload_bytes: f64) -> Self {
        Self {
            overhead_bytes: 34.0,
            symbol_s: 0.0,
            sifs_s: 9e-6,
            ..Self::ofdm(data_rate_bps, data_rate_bps, payload_bytes)
        }
    }

    /// 802.11b with the long preamble (802.11-2020 clause 16): IP packets of `packet_bytes` at `data_rate_bps`,
    /// acknowledged at `control_rate_bps`, without RTS. As in the paper, frames are not rounded up to the whole
    /// microseconds of the LENGTH field (802.11-2020 16.2.3.5).
    pub fn hr_dsss(data_rate_bps: f64, control_rate_bps: f64, packet_bytes: f64) -> Self {
        let framing = Framing::of(dot11::Standard::B);
        Self {
            ack_s: framing.preamble_s + 8.0 * ACK_BYTES / control_rate_bps,
            ..Self::of(dot11::Standard::B, &framing, data_rate_bps, packet_bytes)
        }
    }
}

/// Duration of an OFDM frame of `bytes` at `rate_bps` in a 20 MHz channel, in whole symbols (802.11-2020 17.4.3).
pub fn ofdm_frame_s(bytes: f64, rate_bps: f64) -> f64 {
    let Framing { preamble_s, coding_bits, symbol_s } = *OFDM;
    preamble_s + whole_symbols((coding_bits + 8.0 * bytes) / rate_bps, symbol_s)
}

/// Rounds `time_s` up to a multiple of `symbol_s`. The margin prevents that a quotient which should be an integer costs
/// an additional symbol by rounding errors; it is far below a bit of a symbol.
fn whole_symbols(time_s: f64, symbol_s: f64) -> f64 {
    if symbol_s == 0.0 {
        return time_s;
    }
    (time_s / symbol_s - 1e-9).ceil() * symbol_s
}

/// Computes the maximum throughput for the frames of a standard.
///
/// # Errors
/// Returns an error for a rate or a packet that is not finite and above zero.
pub fn solve_standard(standard: &FramesOfStandard) -> Result<Output, ModelError> {
    positive("packet_bytes", standard.packet_bytes)?;
    positive("data_rate_bps", standard.data_rate_bps)?;
    positive("control_rate_bps", standard.control_rate_bps)?;
    solve(&standard.params())
}

/// Computes the maximum throughput.
///
/// # Errors
/// Returns an error for a rate or a payload that is not finite and above zero, and for any other parameter that is not
/// finite and zero or more.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let bits = params.coding_bits + 8.0 * (params.overhead_bytes + params.payload_bytes);
    let data_s = params.preamble_s + whole_symbols(bits / params.data_rate_bps, params.symbol_s);
    let backoff_s = f64::from(params.cw_min) / 2.0 * params.slot_s;
    let reservation_s = params
        .rts_cts_s
        .map_or(0.0, |(rts_s, cts_s)| rts_s + cts_s + 2.0 * (params.sifs_s + params.propagation_s));
    let exchange_s = data_s + params.sifs_s + params.ack_s + 2.0 * params.propagation_s;
    let cycle_s = params.difs_s + backoff_s + reservation_s + exchange_s;
    Ok(Output { throughput_bps: 8.0 * params.payload_bytes / cycle_s, cycle_s, backoff_s, data_s })
}

fn check(params: &Params) -> Result<(), ModelError> {
    positive("payload_bytes", params.payload_bytes)?;
    positive("data_rate_bps", params.data_rate_bps)?;
    let (rts_s, cts_s) = params.rts_cts_s.unwrap_or_default();
    for (parameter, value) in [
        ("overhead_bytes", params.overhead_bytes),
        ("preamble_s", params.preamble_s),
        ("coding_bits", params.coding_bits),
        ("symbol_s", params.symbol_s),
        ("difs_s", params.difs_s),
        ("sifs_s", params.sifs_s),
        ("slot_s", params.slot_s),
        ("ack_s", params.ack_s),
        ("rts_cts_s", rts_s),
        ("rts_cts_s", cts_s),
        ("propagation_s", params.propagation_s),
    ] {
        not_negative(parameter, value)?;
    }
    Ok(())
}
