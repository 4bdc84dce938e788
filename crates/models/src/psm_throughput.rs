//! Throughput of a TCP download by a station that wakes for beacons only.
//!
//! D. Camps-Mur, S. Sallent-Ribes, *Enhancing the performance of TCP over Wi-Fi Power Saving Mechanisms*, equations 1 to
//! 6. BI is the beacon interval, and k = ceil(RTT/BI):
//!
//! ```text
//! RTT_eff = k BI,   cwnd > RTT_eff R_DL / MTU  to lose no throughput                                        (1)
//! N_max   = Q / (1 - R_d/R_ACK),   R_ACK = R_UL / 8 s_ack,  R_d = R_DL / MTU                                (2)
//! M = (BI - (RTT mod BI)) / T_bott,   L = T_WiFi(M) / T_bott,   D = M + L
//! Thr = 3/4 N_max / (k BI)                                          N_max <= D                              (3)
//! Thr = (D + 3/4 N_max) / 2 BI                                      N_max > D, RTT <= BI, N_max/2 >= D      (4)
//! Thr = (N_max + (3 - a) D) / 4 BI,  a = (2 D - N_max) / N_max      N_max > D, RTT <= BI, N_max/2 < D       (4)
//! Thr = 3/4 (N_max + k D) / ((1 + k) BI)                            N_max > D, RTT > BI                     (5)
//! Thr = 3/4 Q_AP / (k BI)                                           Wi-Fi is the bottleneck                 (6)
//! ```
//!
//! in packets/s, times MTU for bit/s. Symbols: RTT (without power save), BI, T in s; rates in bit/s; Q, Q_AP, N_max, M,
//! L, D in packets. N_max is the largest burst that a queue of Q packets holds while acknowledgements, compressed into
//! the time of their own line, clock out more data than the line drains. Over Wi-Fi the two differ by the ratio of the
//! frames.
//!
//! **Interpretation.** M uses RTT mod BI; the paper prints BI mod RTT, which is BI for every RTT above it and
//! contradicts the worked cases (110 ms: 90 ms to the next beacon). Case 2 of (4) is the average over the growth of the
//! window with each round counted once (`averaging = per-round`): it keeps the printed factor 3 - a and is continuous
//! with case 1 and with (3). `time-weighted` differs by 5 % at most; `printed` adds 1 - a to twice the value and is
//! neither. Acknowledgements of 52 bytes (with timestamps) give the printed N_max of 89. T_WiFi is 180 us for each
//! packet; the source does not give it. The rate of the line limits the result; `window_limit_bps` is the formula
//! alone.
//!
//! The model holds for one long download in congestion avoidance, if losses are only due to bursts above N_max and the
//! data of one beacon is delivered before the next. Left out: slow start, other stations, frames that wake the station
//! before a beacon.

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// The place where packets queue.
    pub enum Bottleneck {
        /// The wired line to the access point.
        Line = "line",
        /// The access point itself.
        Wifi = "wifi",
    }
}

choice! {
    /// The kind of average in the second case of equation 4.
    pub enum Averaging {
        /// An average over rounds.
        PerRound = "per-round",
        /// An average over time.
        TimeWeighted = "time-weighted",
        /// The average as printed.
        Printed = "printed",
    }
}

choice! {
    /// The equation that applies.
    pub enum Regime {
        /// Every round fits between two beacons (3).
        OneInterval = "one-interval",
        /// Every round takes one more beacon interval (4, first case).
        OneMore = "one-more",
        /// Rounds take one more beacon interval once the window has grown (4, second case).
        Mixed = "mixed",
        /// RTT above the beacon interval, and windows above the rest of it (5).
        Long = "long",
        /// The access point's buffer (6).
        AccessPoint = "access-point",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// RTT, the round-trip time without power save.
        pub rtt_s: f64 = 0.02,
        /// R_DL, the downlink rate of the line.
        pub down_bps: f64 = 16e6,
        /// R_UL, the uplink rate of the line; acknowledgements have to be faster than the data that they acknowledge.
        pub up_bps: f64 = 1e6,
        /// Q, the queue before the line, 1 or more.
        pub queue_packets: f64 = 50.0,
        /// Q_AP, the access point's queue, 1 or more; used if Wi-Fi is the bottleneck.
        pub ap_queue_packets: f64 = 100.0,
        /// BI, the beacon interval.
        pub beacon_s: f64 = 0.1,
        /// MTU, the size of a packet.
        pub mtu_bytes: f64 = 1500.0,
        /// s_ack, the size of an acknowledgement.
        pub ack_bytes: f64 = 52.0,
        /// T_WiFi for one packet and its acknowledgement.
        pub wifi_packet_s: f64 = 180e-6,
        /// The place where packets queue.
        pub bottleneck: Bottleneck = Bottleneck::Line,
        /// The kind of average in the second case of equation 4.
        pub averaging: Averaging = Averaging::PerRound,
    }
}

outputs! {
    /// The throughput and its intermediate results.
    pub struct Output {
        /// The throughput, limited by the rate of the line.
        pub throughput_bps: f64,
        /// The throughput that the window permits, by the formula alone.
        pub window_limit_bps: f64,
        /// RTT_eff, the effective round-trip time.
        pub effective_rtt_s: f64,
        /// The window from which on no throughput is lost (1).
        pub needed_packets: f64,
        /// N_max, the largest burst without loss (2).
        pub burst_packets: f64,
        /// R_ACK / R_d, the ratio of the rates of compressed acknowledgements and of the data.
        pub compression: f64,
        /// BI - RTT mod BI, the time from the acknowledgements of a burst to the next beacon.
        pub to_beacon_s: f64,
        /// M, packets that the line delivers until the next beacon.
        pub until_beacon_packets: f64,
        /// D = M + L, the packets that arrive before the next beacon.
        pub in_time_packets: f64,
        /// The equation that applies.
        pub regime: Regime,
    }
}

/// Ratios of times are rounded to this precision, so that an integer number of intervals is one in floating point too.
const STEP: f64 = 1e9;

fn rounded(ratio: f64) -> f64 {
    (ratio * STEP).round() / STEP
}

/// Computes the throughput.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let Params { rtt_s, down_bps, beacon_s, mtu_bytes, wifi_packet_s, .. } = *params;
    let intervals = rounded(rtt_s / beacon_s).ceil().max(1.0);
    let bottleneck_s = 8.0 * mtu_bytes / down_bps;
    // If the RTT is a multiple of the interval, a whole interval remains, not none.
    let phase = rounded(rtt_s / beacon_s).fract();
    let to_beacon_s = beacon_s * (1.0 - phase);
    let until_beacon = to_beacon_s / bottleneck_s;
    let in_time = until_beacon * (1.0 + wifi_packet_s / bottleneck_s);
    let compression = match params.bottleneck {
        Bottleneck::Line => params.up_bps * mtu_bytes / (params.ack_bytes * down_bps),
        Bottleneck::Wifi => mtu_bytes / params.ack_bytes,
    };
    let burst = params.queue_packets / (1.0 - 1.0 / compression);
    let (regime, rate) = match params.bottleneck {
        Bottleneck::Wifi => (Regime::AccessPoint, 0.75 * params.ap_queue_packets / (intervals * beacon_s)),
        Bottleneck::Line => line(params, burst, in_time, intervals),
    };
    let window_limit_bps = rate * 8.0 * mtu_bytes;
    Ok(Output {
        throughput_bps: window_limit_bps.min(down_bps),
        window_limit_bps,
        effective_rtt_s: intervals * beacon_s,
        needed_packets: intervals * beacon_s / bottleneck_s,
        burst_packets: burst,
        compression,
        to_beacon_s,
        until_beacon_packets: until_beacon,
        in_time_packets: in_time,
        regime,
    })
}

/// Equations 3 to 5, in packets per second.
fn line(params: &Params, burst: f64, in_time: f64, intervals: f64) -> (Regime, f64) {
    let beacon_s = params.beacon_s;
    if burst <= in_time {
        return (Regime::OneInterval, 0.75 * burst / (intervals * beacon_s));
    }
    if intervals > 1.0 {
        let rate = 0.75 * (burst + intervals * in_time) / ((1.0 + intervals) * beacon_s);
        return (Regime::Long, rate);
    }
    let half = burst / 2.0;
    if half >= in_time {
        return (Regime::OneMore, (in_time + 0.75 * burst) / (2.0 * beacon_s));
    }
    let a = (in_time - half) / half;
    let rate = match params.averaging {
        Averaging::PerRound => (burst + (3.0 - a) * in_time) / (4.0 * beacon_s),
        Averaging::TimeWeighted => {
            (burst * (1.0 - a / 2.0) + in_time * (3.0 - 2.0 * a)) / (2.0 * (2.0 - a) * beacon_s)
        }
        Averaging::Printed => (burst + (3.0 - a) * in_time + (1.0 - a)) / (2.0 * beacon_s),
    };
    (Regime::Mixed, rate)
}

fn check(params: &Params) -> Result<(), ModelError> {
    positive("rtt_s", params.rtt_s)?;
    positive("down_bps", params.down_bps)?;
    positive("up_bps", params.up_bps)?;
    let one = "a finite number of 1 or more packets";
    for (parameter, value) in
        [("queue_packets", params.queue_packets), ("ap_queue_packets", params.ap_queue_packets)]
    {
        require(value.is_finite() && value >= 1.0, parameter, value, one)?;
    }
    positive("beacon_s", params.beacon_s)?;
    positive("mtu_bytes", params.mtu_bytes)?;
    positive("ack_bytes", params.ack_bytes)?;
    not_negative("wifi_packet_s", params.wifi_packet_s)?;
    let smaller = params.ack_bytes < params.mtu_bytes;
    require(smaller, "ack_bytes", params.ack_bytes, "fewer than mtu_bytes")?;
    let faster = params.up_bps * params.mtu_bytes > params.ack_bytes * params.down_bps;
    let wifi = params.bottleneck == Bottleneck::Wifi;
    require(faster || wifi, "up_bps", params.up_bps, "more than down_bps ack_bytes / mtu_bytes")
}
