//! Expected time and energy of one 802.11 frame exchange with its retries, for a client that sends or receives.
//!
//! M. Hashimoto, *Transport-Layer Solutions for Achieving Fairness and Energy Efficiency in Wireless LANs*, PhD thesis,
//! Osaka University, 2013, equations 3.1 to 3.10. Attempt i fails with probability q and is repeated N times at most:
//!
//! ```text
//! T_BO(i) = CW(i) T_slot / 2,   CW(i) = min((CWmin + 1) 2^(i-1) - 1, CWmax)                             (3.1, 3.2)
//! t^t(i)  = 3 SIFS + DIFS + T_BO(i) + 4 tau + RTS + DATA + CTS + ACK         the client sends, with RTS      (3.3)
//! t^r(i)  = SIFS + DIFS + T_BO(i) + 2 tau + DATA' + ACK                      the access point sends          (3.4)
//! Q(i)    = q^(i-1) (1 - q) for i <= N, q^N for i = N + 1                                                    (3.5)
//! E[t]    = sum_{i<=N+1} Q(i) sum_{j<=i} t(j)                                                          (3.6, 3.10)
//! e^t(i)  = P^l (spaces, backoff, propagation) + P^t (RTS + DATA) + P^r (CTS + ACK)                          (3.8)
//! e^r(i)  = P^l (spaces, backoff, propagation) + P^t ACK + P^r DATA'                                         (3.9)
//! ```
//!
//! Symbols: q and N without unit, times in s, powers in W, energies in J. The double sum is evaluated as the sum over j of
//! t(j) times the probability q^(j-1) that attempt j happens, which is the same number.
//!
//! **Interpretation.** The thesis lists a PLCP preamble of 16 us and gives no rate for control frames. Its printed
//! numbers follow only if the preamble is not charged, RTS, CTS and ACK (20, 14, 14 bytes) go at 54 Mb/s, and a data
//! frame is the IP packet with 24 bytes of MAC and 8 of LLC. That is the default. With `timing = ofdm` each frame has
//! the duration of 802.11-2020 17.4.3 (preamble, service and tail bits, whole symbols, FCS); the usual control rate is
//! then 24 Mb/s.
//!
//! The model holds for q below 1 and independent attempts. Left out: collisions as a cause of q (see
//! [`crate::dcf_saturation`]), overheard frames of others, the freezing of a backoff while others send, fragmentation,
//! aggregation, and the shorter time of a failed attempt: as in the source, each attempt costs a full exchange.

use crate::fields::{choice, outputs, parameters};
use crate::max_throughput::ofdm_frame_s;
use crate::radio::RadioPowers;
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

/// Bytes of RTS, CTS and ACK (802.11-2020 9.3.1.2 to 9.3.1.4).
const RTS_BYTES: f64 = 20.0;
const CTS_BYTES: f64 = 14.0;
const ACK_BYTES: f64 = 14.0;
/// Bytes of the frame check sequence, which the published numbers omit.
const FCS_BYTES: f64 = 4.0;

choice! {
    /// Computation of the duration of a frame.
    pub enum DurationRule {
        /// A preamble and the bytes at their rate, as in the published numbers.
        Published = "published",
        /// Preamble, service and tail bits and whole symbols of 802.11a, with an FCS on data.
        Ofdm = "ofdm",
    }
}

choice! {
    /// Protection of the client's frames.
    pub enum Protection {
        /// RTS and CTS before the client's data.
        RtsCts = "rts-cts",
        /// Data and acknowledgement only.
        None = "none",
    }
}

parameters! {
    /// Frames and the channel that carries them.
    pub struct Frames {
        /// q, the probability that an attempt fails; 0 or more, below 1.
        pub q: f64 = 0.3,
        /// N, retries after the first attempt, at most 255.
        pub retries: u32 = 7,
        /// An IP packet with data.
        pub data_bytes: f64 = 1500.0,
        /// An IP packet with an acknowledgement.
        pub ack_bytes: f64 = 40.0,
        /// MAC and LLC headers around an IP packet.
        pub header_bytes: f64 = 32.0,
        /// The rate of data frames.
        pub data_rate_bps: f64 = 54e6,
        /// The rate of RTS, CTS and ACK.
        pub control_rate_bps: f64 = 54e6,
        /// Computation of the duration of a frame.
        pub timing: DurationRule = DurationRule::Published,
        /// Preamble of each frame, with published timing.
        pub preamble_s: f64 = 0.0,
        /// A backoff slot.
        pub slot_s: f64 = 9e-6,
        /// SIFS.
        pub sifs_s: f64 = 16e-6,
        /// DIFS.
        pub difs_s: f64 = 34e-6,
        /// tau, the propagation time; by default that of 4 m.
        pub propagation_s: f64 = 4.0 / 3e8,
        /// CWmin, at most 65535 slots.
        pub cw_min: u32 = 15,
        /// CWmax, CWmin to 65535 slots.
        pub cw_max: u32 = 1023,
        /// Protection of the client's data.
        pub protection: Protection = Protection::RtsCts,
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// The frames.
        pub frames: Frames = Frames::default(),
        /// P^t, power while sending.
        pub transmit_w: f64 = 1.4,
        /// P^r, power while receiving.
        pub receive_w: f64 = 0.9,
        /// P^l, power while awake and listening.
        pub listen_w: f64 = 0.8,
    }
}

outputs! {
    /// Expected exchanges.
    pub struct Output {
        /// E(t^t), the time in which the client sends a packet.
        pub uplink_s: f64,
        /// E(e^t), the client's energy for it.
        pub uplink_j: f64,
        /// Part of this time: sending.
        pub uplink_transmit_s: f64,
        /// Part of this time: receiving.
        pub uplink_receive_s: f64,
        /// Part of this time: listening (spaces, backoff, propagation).
        pub uplink_listen_s: f64,
        /// E(t^r), the time in which the client receives a packet.
        pub downlink_s: f64,
        /// E(e^r), the client's energy for it.
        pub downlink_j: f64,
        /// Part of this time: sending.
        pub downlink_transmit_s: f64,
        /// Part of this time: receiving.
        pub downlink_receive_s: f64,
        /// Part of this time: listening.
        pub downlink_listen_s: f64,
        /// Mean number of attempts.
        pub attempts: f64,
        /// q^(N+1), the probability that a packet is lost after the last retry.
        pub loss: f64,
    }
}

/// The parts of an exchange's time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Airtime {
    pub(crate) transmit_s: f64,
    pub(crate) receive_s: f64,
    pub(crate) listen_s: f64,
}

impl Airtime {
    pub(crate) fn total_s(&self) -> f64 {
        self.transmit_s + self.receive_s + self.listen_s
    }

    fn energy_j(&self, [transmit_w, receive_w, listen_w]: [f64; 3]) -> f64 {
        transmit_w * self.transmit_s + receive_w * self.receive_s + listen_w * self.listen_s
    }
}

/// The input of the models above: expected times and energies of both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// E(t^t) in seconds.
    pub uplink_s: f64,
    /// E(e^t) in joules.
    pub uplink_j: f64,
    /// E(t^r) in seconds.
    pub downlink_s: f64,
    /// E(e^r) in joules.
    pub downlink_j: f64,
    /// q^(N+1).
    pub loss: f64,
}

impl Frames {
    /// The expected exchanges with a radio. The parameters must have been checked.
    pub(crate) fn exchanges(&self, radio: &RadioPowers) -> Exchanges {
        let powers = [radio.transmit_w, radio.receive_w, radio.listen_w];
        let [uplink, downlink] = self.airtimes();
        Exchanges {
            uplink_s: uplink.total_s(),
            uplink_j: uplink.energy_j(powers),
            downlink_s: downlink.total_s(),
            downlink_j: downlink.energy_j(powers),
            loss: self.loss(),
        }
    }

    /// q^(N+1).
    pub(crate) fn loss(&self) -> f64 {
        self.q.powi(self.retries as i32 + 1)
    }

    /// Expected times of an uplink and of a downlink packet.
    fn airtimes(&self) -> [Airtime; 2] {
        let (attempts, backoff_s) = self.attempts();
        let ack_s = self.control_s(ACK_BYTES);
        let basic_s = self.sifs_s + self.difs_s + 2.0 * self.propagation_s;
        let (reservation_s, rts_s, cts_s) = match self.protection {
            Protection::None => (0.0, 0.0, 0.0),
            Protection::RtsCts => {
                let spaces_s = 2.0 * (self.sifs_s + self.propagation_s);
                (spaces_s, self.control_s(RTS_BYTES), self.control_s(CTS_BYTES))
            }
        };
        let uplink = Airtime {
            transmit_s: attempts * (rts_s + self.packet_s(self.data_bytes)),
            receive_s: attempts * (cts_s + ack_s),
            listen_s: attempts * (basic_s + reservation_s) + backoff_s,
        };
        let downlink = Airtime {
            transmit_s: attempts * ack_s,
            receive_s: attempts * self.packet_s(self.ack_bytes),
            listen_s: attempts * basic_s + backoff_s,
        };
        [uplink, downlink]
    }

    /// The mean number of attempts, and the mean sum of their backoffs.
    fn attempts(&self) -> (f64, f64) {
        let (mut reached, mut attempts, mut slots) = (1.0, 0.0, 0.0);
        let (mut window, limit) = (f64::from(self.cw_min), f64::from(self.cw_max));
        for _ in 0..=self.retries {
            attempts += reached;
            slots += reached * window / 2.0;
            reached *= self.q;
            window = (2.0 * window + 1.0).min(limit);
        }
        (attempts, slots * self.slot_s)
    }

    fn control_s(&self, bytes: f64) -> f64 {
        match self.timing {
            DurationRule::Published => self.preamble_s + 8.0 * bytes / self.control_rate_bps,
            DurationRule::Ofdm => ofdm_frame_s(bytes, self.control_rate_bps),
        }
    }

    fn packet_s(&self, packet_bytes: f64) -> f64 {
        let bytes = packet_bytes + self.header_bytes;
        match self.timing {
            DurationRule::Published => self.preamble_s + 8.0 * bytes / self.data_rate_bps,
            DurationRule::Ofdm => ofdm_frame_s(bytes + FCS_BYTES, self.data_rate_bps),
        }
    }

    /// Rejects values outside the documented ranges.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let q_holds = (0.0..1.0).contains(&self.q);
        require(q_holds, "q", self.q, "0 or more, and below 1")?;
        require(self.retries <= 255, "retries", f64::from(self.retries), "0 to 255")?;
        positive("data_bytes", self.data_bytes)?;
        not_negative("ack_bytes", self.ack_bytes)?;
        not_negative("header_bytes", self.header_bytes)?;
        positive("data_rate_bps", self.data_rate_bps)?;
        positive("control_rate_bps", self.control_rate_bps)?;
        not_negative("preamble_s", self.preamble_s)?;
        not_negative("slot_s", self.slot_s)?;
        not_negative("sifs_s", self.sifs_s)?;
        not_negative("difs_s", self.difs_s)?;
        not_negative("propagation_s", self.propagation_s)?;
        require(self.cw_min <= 65_535, "cw_min", f64::from(self.cw_min), "0 to 65535 slots")?;
        let limit_holds = (self.cw_min..=65_535).contains(&self.cw_max);
        require(limit_holds, "cw_max", f64::from(self.cw_max), "cw_min to 65535 slots")
    }
}

/// Computes the expected exchanges.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Frames`] documents, and for powers that are not finite and
/// zero or more.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    let Params { frames, transmit_w, receive_w, listen_w } = params;
    frames.check()?;
    not_negative("transmit_w", *transmit_w)?;
    not_negative("receive_w", *receive_w)?;
    not_negative("listen_w", *listen_w)?;
    let powers = [*transmit_w, *receive_w, *listen_w];
    let [uplink, downlink] = frames.airtimes();
    Ok(Output {
        uplink_s: uplink.total_s(),
        uplink_j: uplink.energy_j(powers),
        uplink_transmit_s: uplink.transmit_s,
        uplink_receive_s: uplink.receive_s,
        uplink_listen_s: uplink.listen_s,
        downlink_s: downlink.total_s(),
        downlink_j: downlink.energy_j(powers),
        downlink_transmit_s: downlink.transmit_s,
        downlink_receive_s: downlink.receive_s,
        downlink_listen_s: downlink.listen_s,
        attempts: frames.attempts().0,
        loss: frames.loss(),
    })
}
