//! Power of a client whose TCP flows share one tunnel that sends them in bursts of m packets.
//!
//! M. Hashimoto 2013 (PhD thesis), chapter 4, equations 4.1 to 4.17, in the limit of rare losses, which is exact for the
//! probabilities of the published figures (p = q^8, 10^-8 at q = 0.1). A burst of m packets takes m/R:
//!
//! ```text
//! R        = min(sum of r / s_data, 1 / (E[t^t] + E[t^r]))                                           (4.5, 4.6)
//! s(x)     = x + 32, up to a multiple of 4; sizes up and down are means over data and ACKs        (4.8 to 4.12)
//! P_cam    = P^l + R (E[e^t] - P^l E[t^t] + E[e^r] - P^l E[t^r])
//! gap      = m/R - m E[t^t] - E[t^r] - t^st
//! P_sleep  = R/m (m E[e^t] + E[e^r] + P^as T^as + P^sa T^sa + P^s gap)        where gap > 0, else P_cam
//! D        = (m - 1) / 2R,   saving = (P_cam - P_sleep) / P_cam                                    (4.13, 4.14)
//! interval = max(min(m H / n, t_max), t_min)                                                     (4.16, 4.17)
//! ```
//!
//! Symbols: r in bit/s of TCP data, R in packets/s, s in bytes, times in s, powers in W; E(.) as in
//! [`crate::mac_frame`] with the tunnel's packet sizes.
//!
//! **Interpretation.** One packet is received for m sent (`answers = per-burst`), as in 3.17: 69.6 % at 450 kB/s and m
//! = 5, for which the thesis prints 69 %; with one for each packet, as in its text, it would be 66 %. A kbyte is 1000
//! bytes. The 16-byte header of a DATA chunk is not counted (`encapsulation_bytes` 32; a real tunnel has 48). A delay
//! bound selects the largest m with D < bound, strictly. A negative saving counts as zero in figure 4.8
//! (`saving_floored`: a client would stay awake) but is drawn in figure 4.5 (`saving`). In always-awake mode both
//! directions carry as many packets as are sent, for any m.
//!
//! The model holds for a backlog that is never empty and constant rates; all gaps are equal. Left out: losses beyond
//! the wireless link, slow start, the headers of IP packets inside the tunnel, other stations.

use crate::fields::{choice, outputs, parameters};
use crate::mac_frame::{Exchanges, Frames};
use crate::radio::RadioPowers;
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// The choice of m.
    pub enum TunnelBurst {
        /// The given m.
        Fixed = "fixed",
        /// The largest m whose mean delay is below the bound.
        Below = "below-bound",
        /// The largest m whose mean delay is at most the bound.
        Within = "within-bound",
    }
}

choice! {
    /// Number of packets received in response.
    pub enum PacketAnswers {
        /// One packet for each burst sent.
        PerBurst = "per-burst",
        /// One packet for each packet sent.
        PerPacket = "per-packet",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// TCP data sent by the client, all flows together.
        pub up_bps: f64 = 3.6e6,
        /// TCP data received by the client, all flows together.
        pub down_bps: f64 = 0.0,
        /// m, number of packets in a burst, 1 or more; with a delay bound it follows from the bound.
        pub m: u32 = 1,
        /// The choice of m.
        pub burst: TunnelBurst = TunnelBurst::Fixed,
        /// D_th, the bound of the mean delay in the buffer.
        pub delay_bound_s: f64 = 0.01,
        /// Number of packets received in response.
        pub answers: PacketAnswers = PacketAnswers::PerBurst,
        /// Bytes that the tunnel adds to a packet.
        pub encapsulation_bytes: f64 = 32.0,
        /// t_max, the longest interval between triggers.
        pub trigger_max_s: f64 = 0.1,
        /// The frames, with the sizes of TCP packets.
        pub frames: Frames = Frames { q: 0.1, ..Frames::default() },
        /// The radio.
        pub radio: RadioPowers = RadioPowers::default(),
    }
}

outputs! {
    /// Powers, and the delay.
    pub struct Output {
        /// (P_cam - P_sleep) / P_cam; negative if sleep costs more.
        pub saving: f64,
        /// The same, but zero instead of a negative value.
        pub saving_floored: f64,
        /// P_cam, the power of an always awake client.
        pub cam_w: f64,
        /// P_sleep, the power of a client that sleeps between bursts.
        pub ideal_w: f64,
        /// Part of P_sleep: sending.
        pub transmit_w: f64,
        /// Part of P_sleep: receiving.
        pub receive_w: f64,
        /// Part of P_sleep: idle listening.
        pub idle_w: f64,
        /// Part of P_sleep: sleep.
        pub sleep_w: f64,
        /// Part of P_sleep: transitions to sleep and back.
        pub transition_w: f64,
        /// m, the number of packets in a burst.
        pub burst_packets: f64,
        /// D, the mean delay in the buffer.
        pub delay_s: f64,
        /// Sleep in a gap; zero if the gap is too short.
        pub gap_sleep_s: f64,
        /// Number of sleep periods per second.
        pub sleeps_per_second: f64,
        /// R, packets per second.
        pub packets_per_second: f64,
        /// The TCP throughput at which the channel is saturated.
        pub full_bps: f64,
        /// Interval of triggers for downlink packets (4.17).
        pub trigger_interval_s: f64,
        /// Mean size of an uplink packet in the tunnel.
        pub up_bytes: f64,
        /// Mean size of a downlink packet in the tunnel.
        pub down_bytes: f64,
        /// q^(N+1), the probability that a packet is lost on the wireless link.
        pub air_loss: f64,
    }
}

/// s(x) of 4.12: the size in the tunnel, padded to a multiple of four bytes.
pub fn tunnelled_bytes(packet_bytes: f64, encapsulation_bytes: f64) -> f64 {
    ((packet_bytes + encapsulation_bytes) / 4.0).ceil() * 4.0
}

/// Computes the powers.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and if there is no data in either
/// direction.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let radio = &params.radio;
    let (up_bytes, down_bytes) = sizes(params);
    let frames = Frames { data_bytes: up_bytes, ack_bytes: down_bytes, ..params.frames };
    let air = frames.exchanges(radio);
    let packet_bits = 8.0 * params.frames.data_bytes;
    let full = 1.0 / (air.uplink_s + air.downlink_s);
    let rate = ((params.up_bps + params.down_bps) / packet_bits).min(full);
    let m = burst(params, rate)?;
    let bare_w = |answers: f64| {
        let up_w = air.uplink_j - radio.listen_w * air.uplink_s;
        let down_w = air.downlink_j - radio.listen_w * air.downlink_s;
        radio.listen_w + rate * (up_w + answers * down_w)
    };
    let cam_w = bare_w(1.0);
    let parts = Parts::of(params, &air, rate, m);
    let ideal_w = if parts.gap_sleep_s > 0.0 { parts.total_w() } else { cam_w };
    let saving = (cam_w - ideal_w) / cam_w;
    Ok(Output {
        saving,
        saving_floored: saving.max(0.0),
        cam_w,
        ideal_w,
        transmit_w: parts.transmit_w,
        receive_w: parts.receive_w,
        idle_w: parts.idle_w,
        sleep_w: parts.sleep_w,
        transition_w: parts.transition_w,
        burst_packets: m,
        delay_s: (m - 1.0) / (2.0 * rate),
        gap_sleep_s: parts.gap_sleep_s,
        sleeps_per_second: if parts.gap_sleep_s > 0.0 { rate / m } else { 0.0 },
        packets_per_second: rate,
        full_bps: full * packet_bits,
        trigger_interval_s: trigger_interval_s(params, packet_bits, m),
        up_bytes,
        down_bytes,
        air_loss: air.loss,
    })
}

/// The parts of the power with sleep between bursts.
struct Parts {
    transmit_w: f64,
    receive_w: f64,
    idle_w: f64,
    sleep_w: f64,
    transition_w: f64,
    gap_sleep_s: f64,
}

impl Parts {
    fn of(params: &Params, air: &Exchanges, rate: f64, m: f64) -> Self {
        let radio = &params.radio;
        let answers = match params.answers {
            PacketAnswers::PerBurst => 1.0 / m,
            PacketAnswers::PerPacket => 1.0,
        };
        let gap_sleep_s = m / rate - m * (air.uplink_s + answers * air.downlink_s) - radio.transition_s();
        if gap_sleep_s > 0.0 {
            return Self {
                transmit_w: rate * air.uplink_j,
                receive_w: rate * answers * air.downlink_j,
                idle_w: 0.0,
                sleep_w: rate / m * radio.sleep_w * gap_sleep_s,
                transition_w: rate / m * radio.transition_j(),
                gap_sleep_s,
            };
        }
        // The client is always awake, so the number of responses is that of this mode.
        Self {
            transmit_w: rate * air.uplink_j,
            receive_w: rate * air.downlink_j,
            idle_w: radio.listen_w * (1.0 - rate * (air.uplink_s + air.downlink_s)),
            sleep_w: 0.0,
            transition_w: 0.0,
            gap_sleep_s: 0.0,
        }
    }

    fn total_w(&self) -> f64 {
        self.transmit_w + self.receive_w + self.idle_w + self.sleep_w + self.transition_w
    }
}

/// Mean sizes of uplink and downlink packets (4.8 to 4.12).
fn sizes(params: &Params) -> (f64, f64) {
    let down = params.down_bps / (params.up_bps + params.down_bps);
    let tunnelled = |bytes| tunnelled_bytes(bytes, params.encapsulation_bytes);
    let (data, ack) = (tunnelled(params.frames.data_bytes), tunnelled(params.frames.ack_bytes));
    ((1.0 - down) * data + down * ack, down * data + (1.0 - down) * ack)
}

/// m; with a bound, the largest for which (m - 1) / 2R is below the bound or at most equal to it.
fn burst(params: &Params, rate: f64) -> Result<f64, ModelError> {
    let waiting = 2.0 * rate * params.delay_bound_s;
    // The margin makes a quotient an integer that should be one but is not in floating point.
    let m = match params.burst {
        TunnelBurst::Fixed => f64::from(params.m),
        TunnelBurst::Below => (waiting - 1e-9).ceil().max(1.0),
        TunnelBurst::Within => (waiting + 1e-9).floor() + 1.0,
    };
    require(m <= 1e9, "delay_bound_s", params.delay_bound_s, "a bound that 10^9 packets reach")?;
    Ok(m)
}

/// Equations 4.16 and 4.17 with n / H at its steady value. Uplink packets are triggers themselves: if they are as
/// frequent as downlink packets, none is added, and the interval is only that of the triggers that would follow if they
/// stopped.
fn trigger_interval_s(params: &Params, packet_bits: f64, m: f64) -> f64 {
    let floor_s = params.radio.transition_s().min(params.trigger_max_s);
    let rate = params.down_bps / packet_bits;
    if rate > 0.0 { (m / rate).min(params.trigger_max_s).max(floor_s) } else { params.trigger_max_s }
}

fn check(params: &Params) -> Result<(), ModelError> {
    not_negative("up_bps", params.up_bps)?;
    not_negative("down_bps", params.down_bps)?;
    let flows = params.up_bps + params.down_bps;
    require(flows > 0.0, "up_bps", params.up_bps, "above zero, or down_bps above zero")?;
    require((1..=1_000_000_000).contains(&params.m), "m", f64::from(params.m), "1 to 10^9 packets")?;
    not_negative("delay_bound_s", params.delay_bound_s)?;
    not_negative("encapsulation_bytes", params.encapsulation_bytes)?;
    positive("trigger_max_s", params.trigger_max_s)?;
    params.frames.check()?;
    params.radio.check()
}
