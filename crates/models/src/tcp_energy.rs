//! Energy of a client's radio for the upload of a file over TCP: always awake, and with ideal sleep between bursts.
//!
//! M. Hashimoto, *Transport-Layer Solutions for Achieving Fairness and Energy Efficiency in Wireless LANs*, PhD thesis,
//! Osaka University, 2013, equations 3.7, 3.11 to 3.41, 3.43 and 3.50 to 3.60. A transfer of d = S_d / S_p packets is an
//! initial slow start and then cycles of E(n) periods that end in a triple duplicate and one that ends in timeouts. m
//! packets share a burst and an acknowledgement. With E(t^t), E(t^r), E(e^t), E(e^r) of [`crate::mac_frame`]:
//!
//! ```text
//! W_bdp   = RTT / (E[t^t] + E[t^r]/m)                                                                    (3.7)
//! r_td    = W/2 + 1                                                       W <= W_bdp, and so on         (3.14)
//! r_z     = r_ss + l_ss ((1 - Q_ss) + Q_ss r_to),    r_to = G(p) T0 / ((1-p) RTT)                (3.50, 3.55)
//! n_cycle = (d - d_ss) / (n Y + 1/(1-p)),            n = 1/Q(W),  Y = (1-p)/p + W         (3.56, 3.58, 3.59)
//! r_e     = n_cycle (n r_td + r_to),                 T = RTT (r_z + r_e)                          (3.20, 3.60)
//! n^t = d,  n^r = (d_ss - l_ss (1 + Q_ss) W_ss/2)/m + n_cycle n ((1-p)/p + W/2)/m                 (3.16, 3.17)
//! t^s(w)  = (RTT/ceil(w/m) - m E[t^t] - E[t^r] - t^st)^+        sleep in one gap, ceil(w/m) gaps a round (3.25)
//! J_cam   = n^t e^t + n^r e^r + P^l (T - n^t t^t - n^r t^r)                                       (3.11, 3.18)
//! J_sleep = n^t e^t + n^r e^r + P^s T^s + n^st (P^as T^as + P^sa T^sa) + P^l (the rest)           (3.12, 3.19)
//! ```
//!
//! T^s and n^st are the sums of 3.26 to 3.40. All gaps of a round are equal, and windows grow by one packet a round, so the
//! sum over a congestion-avoidance period has a closed form; the cost of a point does not depend on p.
//!
//! **Interpretation.** As printed, 3.30 counts the round in which a loss is detected twice: sleep and work then exceed
//! the duration of the transfer. `accounting = repaired` sums 3.26 and 3.33 to r_td - 1 rounds and limits listening
//! time to zero or more; `unclamped` does only the former; `printed` does neither. If the limit applies, the parts of
//! the time exceed the whole by `overlap_s`, which is below 1 % of it in the range below. T0 is not in the source; 3 s
//! (RFC 1122 4.2.3.1) gives the reductions of figure 3.10 within 5 points, as does any value from 3 to 6 s. 3.52 and
//! 3.57 are used in their repaired form ([`crate::tcp_blocks`]), and 3.25 with E(t^t) instead of the printed t^l.
//!
//! Symbols: p, q without unit; times in s; powers in W; energies in J; m, w in packets. The model holds for p of at
//! least q^(N+1), the loss on the wireless link alone (`path_loss` is the rest, due to the path, and negative for
//! smaller p), W_bdp of at least a few packets, RTT of at least about 50 ms with T0 = 3 s, and m up to about E(W) (3.25
//! charges a whole burst to a gap even if the window has fewer packets). Left out: beacons, queues, other stations,
//! delayed acknowledgements other than m, the latency that bursts add to rounds except in `burst_total_s` (3.41).

use crate::fields::{choice, outputs, parameters};
use crate::mac_frame::{Exchanges, Frames};
use crate::radio::RadioPowers;
use crate::tcp_blocks::{SlowStart, backoff_factor, check_p, check_window, slow_start};
use crate::tcp_blocks::{timeout_probability, window};
use crate::{ModelError, not_negative, positive, require};

mod rounds;
#[cfg(test)]
mod tests;

use rounds::{Gaps, Slept};

choice! {
    /// How often the round in which a loss is detected counts in the rounds of a period, and whether listening time may be negative.
    pub enum Accounting {
        /// The round counts once, and listening time is never negative.
        Repaired = "repaired",
        /// The round counts once; listening time may be negative.
        Unclamped = "unclamped",
        /// The round counts twice, as printed.
        Printed = "printed",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// p, the probability of a packet loss that the sender sees; above 0, below 1.
        pub p: f64 = 0.01,
        /// RTT, the round-trip time.
        pub rtt_s: f64 = 0.1,
        /// m, data packets in a burst and for each acknowledgement, 1 or more.
        pub m: u32 = 1,
        /// T0, the retransmission timeout.
        pub rto_s: f64 = 3.0,
        /// S_d, the size of the file.
        pub file_bytes: f64 = 10e6,
        /// w1, the initial window, 1 or more.
        pub initial_packets: f64 = 1.0,
        /// Counting of the round in which a loss is detected.
        pub accounting: Accounting = Accounting::Repaired,
        /// The frames; S_p is its data packet.
        pub frames: Frames = Frames::default(),
        /// The radio.
        pub radio: RadioPowers = RadioPowers::default(),
    }
}

outputs! {
    /// Energies and times of the whole transfer.
    pub struct Output {
        /// J_sleep / J_cam (3.43).
        pub ratio: f64,
        /// J_cam, the energy of a radio that is always awake.
        pub cam_j: f64,
        /// J_sleep, the energy of a radio that sleeps in every gap that is long enough.
        pub ideal_j: f64,
        /// J^t in both cases: sending data, with the control frames and waits around it.
        pub transmit_j: f64,
        /// J^r in both cases: receiving acknowledgements.
        pub receive_j: f64,
        /// J^l, idle listening of a radio that is always awake.
        pub cam_idle_j: f64,
        /// J^l, idle listening with ideal sleep.
        pub idle_j: f64,
        /// J^s, sleep.
        pub sleep_j: f64,
        /// J^st, transitions to sleep and back.
        pub transition_j: f64,
        /// T, the duration of the transfer.
        pub total_s: f64,
        /// T^t, time of sending data.
        pub transmit_s: f64,
        /// T^r, time of receiving acknowledgements.
        pub receive_s: f64,
        /// Time of idle listening with ideal sleep.
        pub idle_s: f64,
        /// T^s, time of sleep.
        pub sleep_s: f64,
        /// T^st, time of transitions.
        pub transition_s: f64,
        /// Amount by which the parts of the time with ideal sleep exceed the whole if listening was limited to zero.
        pub overlap_s: f64,
        /// Duration of the transfer with the delay of bursts (3.41).
        pub burst_total_s: f64,
        /// n^st, number of sleep periods.
        pub sleeps: f64,
        /// E(W), the window at a loss.
        pub loss_window_packets: f64,
        /// W_bdp, the packets that the path holds.
        pub pipe_packets: f64,
        /// r_td, rounds of a period that ends in triple duplicate ACKs.
        pub period_rounds: f64,
        /// Rounds of the initial slow start.
        pub slow_start_rounds: f64,
        /// Q(E(W)), the share of losses that end in a timeout.
        pub timeout_share: f64,
        /// q^(N+1), the probability that a packet is lost on the wireless link.
        pub air_loss: f64,
        /// p_l, the probability that a packet is lost beyond the wireless link; negative if p is below the loss on the
        /// wireless link.
        pub path_loss: f64,
    }
}

/// Rounds and packets of a transfer, computed before the energy.
struct Transfer {
    start: SlowStart,
    /// E(W).
    window: f64,
    /// W_bdp.
    pipe: f64,
    period_rounds: f64,
    /// Q_ss.
    start_timeout: f64,
    timeout_share: f64,
    /// r_to.
    timeout_rounds: f64,
    /// E(R), number of transmissions in consecutive timeouts.
    retries: f64,
    /// n_cycle, the number of cycles.
    cycles: f64,
    /// E(n), periods in a cycle.
    periods: f64,
    /// r_zeta.
    initial_rounds: f64,
    /// r_eta.
    steady_rounds: f64,
    /// d.
    packets: f64,
    /// n^r.
    acks: f64,
}

impl Transfer {
    fn of(params: &Params, air: &Exchanges) -> Self {
        let Params { p, rtt_s, initial_packets, .. } = *params;
        let m = f64::from(params.m);
        let pipe = rtt_s / (air.uplink_s + air.downlink_s / m);
        let packets = (params.file_bytes / params.frames.data_bytes).max(1.0);
        let start = slow_start(p, packets, initial_packets, 2.0, pipe);
        let (window, good) = (window(p, 1.0), (1.0 - p) / p);
        let start_timeout = timeout_probability(start.window, p);
        let timeout_share = timeout_probability(window, p);
        let timeout_rounds = backoff_factor(p) / (1.0 - p) * params.rto_s / rtt_s;
        let (retries, periods) = (1.0 / (1.0 - p), 1.0 / timeout_share);
        let cycles = (packets - start.packets).max(0.0) / (periods * (good + window) + retries);
        let period_rounds = period_rounds(good, window, pipe);
        // The number is not below zero if the whole file fits into the first windows.
        let start_acks = (start.packets - start.loss * (1.0 + start_timeout) * start.window / 2.0).max(0.0);
        let recovery = (1.0 - start_timeout) + start_timeout * timeout_rounds;
        Self {
            start,
            window,
            pipe,
            period_rounds,
            start_timeout,
            timeout_share,
            timeout_rounds,
            retries,
            cycles,
            periods,
            initial_rounds: start.rounds + start.loss * recovery,
            steady_rounds: cycles * (periods * period_rounds + timeout_rounds),
            packets,
            acks: (start_acks + cycles * periods * (good + window / 2.0)) / m,
        }
    }

    /// Sleep and transitions of the whole transfer (3.29 to 3.31, 3.37 and 3.38).
    fn slept(&self, params: &Params, air: &Exchanges) -> Slept {
        let gaps = Gaps::new(params.rtt_s, params.m, air, params.radio.transition_s());
        let period = match params.accounting {
            Accounting::Repaired | Accounting::Unclamped => self.period_rounds - 1.0,
            Accounting::Printed => self.period_rounds,
        };
        // Equations 3.28 and 3.36. The time is not below zero if the timeout is shorter than the retransmission.
        let waiting_s = params.rtt_s * self.timeout_rounds;
        let busy_s = self.retries * (air.uplink_s + params.radio.transition_s());
        let timeout = Slept { time_s: (waiting_s - busy_s).max(0.0), times: self.retries };
        let initial = gaps.slow_start(params.initial_packets, self.start.rounds);
        let found = gaps.slow_start_loss(params.initial_packets, self.start.rounds);
        let initial_loss = found.scaled(1.0 - self.start_timeout).plus(timeout.scaled(self.start_timeout));
        let steady = gaps.avoidance(self.window, period).plus(gaps.avoidance_loss(self.window, period));
        let cycle = steady.scaled(self.periods).plus(timeout);
        initial.plus(initial_loss.scaled(self.start.loss)).plus(cycle.scaled(self.cycles))
    }
}

/// Equation 3.14: rounds of a period whose window is limited by the packets that the path holds.
pub(crate) fn period_rounds(good: f64, window: f64, pipe: f64) -> f64 {
    if window <= pipe {
        window / 2.0 + 1.0
    } else if window <= 2.0 * pipe {
        good / pipe + window * (window + 8.0) / (8.0 * pipe) + (pipe - window) / 2.0 + 0.75
    } else {
        good / pipe + window / pipe + 0.75
    }
}

/// Computes the energy of the transfer.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let radio = &params.radio;
    let air = params.frames.exchanges(radio);
    let transfer = Transfer::of(params, &air);
    let slept = transfer.slept(params, &air);
    let total_s = params.rtt_s * (transfer.initial_rounds + transfer.steady_rounds);
    let (transmit_s, receive_s) = (transfer.packets * air.uplink_s, transfer.acks * air.downlink_s);
    let (transmit_j, receive_j) = (transfer.packets * air.uplink_j, transfer.acks * air.downlink_j);
    let cam_idle_s = total_s - transmit_s - receive_s;
    let transition_s = slept.times * radio.transition_s();
    let left_s = cam_idle_s - slept.time_s - transition_s;
    let clamps = params.accounting == Accounting::Repaired;
    let idle_s = if clamps { left_s.max(0.0) } else { left_s };
    let (sleep_j, transition_j) = (radio.sleep_w * slept.time_s, slept.times * radio.transition_j());
    let (cam_idle_j, idle_j) = (radio.listen_w * cam_idle_s, radio.listen_w * idle_s);
    let cam_j = transmit_j + receive_j + cam_idle_j;
    let ideal_j = transmit_j + receive_j + idle_j + sleep_j + transition_j;
    Ok(Output {
        ratio: ideal_j / cam_j,
        cam_j,
        ideal_j,
        transmit_j,
        receive_j,
        cam_idle_j,
        idle_j,
        sleep_j,
        transition_j,
        total_s,
        transmit_s,
        receive_s,
        idle_s,
        sleep_s: slept.time_s,
        transition_s,
        overlap_s: idle_s - left_s,
        burst_total_s: burst_total_s(params, &transfer),
        sleeps: slept.times,
        loss_window_packets: transfer.window,
        pipe_packets: transfer.pipe,
        period_rounds: transfer.period_rounds,
        slow_start_rounds: transfer.start.rounds,
        timeout_share: transfer.timeout_share,
        air_loss: air.loss,
        path_loss: (params.p - air.loss) / (1.0 - air.loss),
    })
}

/// Equation 3.41. The first bracket averages 1/w over the rounds of slow start, the second uses the inverse of the mean
/// of w, as printed.
fn burst_total_s(params: &Params, transfer: &Transfer) -> f64 {
    let (rtt_s, more) = (params.rtt_s, f64::from(params.m) - 1.0);
    let rounds = transfer.start.rounds;
    let start_s = rtt_s / (rounds * params.initial_packets) * (2.0 - (1.0 - rounds).exp2());
    let steady_s = 4.0 * rtt_s / (3.0 * transfer.window);
    (rtt_s + more * start_s) * transfer.initial_rounds + (rtt_s + more * steady_s) * transfer.steady_rounds
}

fn check(params: &Params) -> Result<(), ModelError> {
    check_p(params.p)?;
    positive("rtt_s", params.rtt_s)?;
    require((1..=1_000_000).contains(&params.m), "m", f64::from(params.m), "1 to 1000000 packets")?;
    not_negative("rto_s", params.rto_s)?;
    positive("file_bytes", params.file_bytes)?;
    check_window("initial_packets", params.initial_packets)?;
    params.frames.check()?;
    params.radio.check()
}
