//! Energy and delay of a candidate by the models.
//!
//! The frames of all packets have their time and energy. The pace of the packets decides how long a radio can sleep between
//! them; in the rest of the time it listens or sleeps, and it wakes for beacons and triggers. Left out: policies that adapt
//! (`ba-ta`), whose interval no equation gives for a traffic, and the response of TCP to the delay.

use airwatt_base::{Rate, SleepClock, Span};
use airwatt_dot11::Standard;
use airwatt_energy::Radio as Profile;
use airwatt_models::mac_frame::{self, DurationRule, Frames, Protection};
use airwatt_models::radio::RadioPowers;
use airwatt_proto::powersave::{Dozing, Fetch};

use super::{Candidate, CapturedTraffic, Modelled, model_radio};
use crate::phy;
use crate::report::GapReport;

/// Rate of acknowledgements on the air, unless the scenario sets one: the highest mandatory rate of 802.11a.
pub(super) const CONTROL_BPS: f64 = 24e6;
/// The shortest gap between packets in which a radio that sleeps at once falls asleep.
const SLEEP_AT_ONCE_S: f64 = 0.001;

/// Rates of data and of control frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) data_bps: f64,
    pub(super) control_bps: f64,
}

/// The beacons of a cell, and those of them that a station receives. Beacons that are skipped are beacons that come more rarely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beacons {
    /// Time between two beacons.
    pub(super) interval_s: f64,
    /// Beacon intervals from one that is received to the next.
    pub(super) listen_interval: u32,
    /// The clock by which the station wakes up for them.
    pub(super) sleep_clock: SleepClock,
}

impl Beacons {
    /// Time between two beacons that the station receives.
    pub(super) fn received_s(&self) -> f64 {
        self.interval_s * f64::from(self.listen_interval)
    }

    /// Time before a beacon at which the radio is awake.
    fn guard_s(&self) -> f64 {
        self.sleep_clock.guard_after(Span::from_secs_f64(self.received_s())).as_secs_f64()
    }

    /// The same beacons with another listen interval, if there is one.
    pub(super) fn listening(&self, beacons: Option<u32>) -> Self {
        Self { listen_interval: beacons.unwrap_or(self.listen_interval), ..*self }
    }
}

/// Duration and energy of a packet up and of one down, without failures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) uplink_s: f64,
    pub(super) uplink_j: f64,
    pub(super) downlink_s: f64,
    pub(super) downlink_j: f64,
}

/// The frames of a packet of `up_bytes` up, and of one of `down_bytes` down.
pub(super) fn exchange(
    radio: &RadioPowers,
    rates: Rates,
    up_bytes: f64,
    down_bytes: f64,
) -> Option<Exchange> {
    let frames = Frames {
        q: 0.0,
        data_bytes: up_bytes.max(1.0),
        ack_bytes: down_bytes.max(1.0),
        data_rate_bps: rates.data_bps,
        control_rate_bps: rates.control_bps,
        timing: DurationRule::Ofdm,
        protection: Protection::None,
        ..Frames::default()
    };
    let RadioPowers { transmit_w, receive_w, listen_w, .. } = *radio;
    let solved = mac_frame::solve(&mac_frame::Params { frames, transmit_w, receive_w, listen_w }).ok()?;
    Some(Exchange {
        uplink_s: solved.uplink_s,
        uplink_j: solved.uplink_j,
        downlink_s: solved.downlink_s,
        downlink_j: solved.downlink_j,
    })
}

/// The times of packets, as far as the timers of a policy depend on them.
#[derive(Clone, Debug)]
pub(super) enum Pace {
    /// Packets spread over the time, as a scenario describes them.
    Steady {
        packets: f64,
        has_bulk: bool,
        /// Time between packets that come up by themselves at a constant rate.
        gap_up_s: f64,
    },
    /// Packets as a capture has them: gaps between them, by their least length.
    Captured { gaps: Vec<GapReport>, gaps_up: Vec<GapReport>, packets_down: f64 },
}

impl Pace {
    /// The time for which a radio sleeps that stays awake for `timeout_s` after each packet, and the number of times.
    fn asleep(&self, timeout_s: f64, rest_s: f64) -> (f64, f64) {
        match self {
            // All or nothing: between all packets, or never.
            Self::Steady { packets, has_bulk, .. } => {
                let awake_s = packets * timeout_s;
                if *has_bulk || awake_s > rest_s { (0.0, 0.0) } else { (rest_s - awake_s, *packets) }
            }
            // Of each gap that is longer than the timeout, the time beyond the timeout.
            Self::Captured { gaps, .. } => {
                let longer = longer(gaps, timeout_s);
                (rest_s.min(longer.time_s - longer.count as f64 * timeout_s), longer.count as f64)
            }
        }
    }

    /// The share of the packets that can be late which find the radio asleep.
    fn late_share(&self, timeout_s: f64, asleep_s: f64) -> f64 {
        match self {
            Self::Steady { .. } => f64::from(u8::from(asleep_s != 0.0)),
            Self::Captured { packets_down: 0.0, .. } => 0.0,
            Self::Captured { gaps, packets_down, .. } => {
                longer(gaps, timeout_s).before_down as f64 / packets_down
            }
        }
    }

    /// Number of triggers if each packet up postpones the next by `interval_s`.
    fn triggers(&self, interval_s: f64, elapsed_s: f64) -> f64 {
        match self {
            // The answers to bulk data come in bursts and leave gaps.
            Self::Steady { has_bulk, gap_up_s, .. } => {
                if *has_bulk || *gap_up_s > interval_s {
                    elapsed_s / interval_s
                } else {
                    0.0
                }
            }
            // One in each interval of a longer gap, less the part of an interval that each gap ends in.
            Self::Captured { gaps_up, .. } => {
                let longer = longer(gaps_up, interval_s);
                (longer.time_s / interval_s - longer.count as f64 / 2.0).max(0.0)
            }
        }
    }
}

/// The report of gaps that are longer than the bound, or than the nearest bound that was counted.
fn longer(gaps: &[GapReport], bound_s: f64) -> GapReport {
    let off = |gap: &&GapReport| (gap.longer_than_s - bound_s).abs();
    let nearest = gaps.iter().min_by(|one, other| off(one).total_cmp(&off(other)));
    nearest.copied().unwrap_or(GapReport { longer_than_s: bound_s, count: 0, time_s: 0.0, before_down: 0 })
}

/// All packets of a run or of a capture, with what their frames cost a radio that is awake for them.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub(super) elapsed_s: f64,
    pub(super) goodput_bps: Option<f64>,
    pub(super) down_packets: f64,
    /// The number of times that packets wake a radio that sleeps at once; `None` if each packet that is polled for does.
    pub(super) wakes: Option<f64>,
    pub(super) busy_s: f64,
    pub(super) frames_j: f64,
    /// A short frame up: a trigger or a PS-Poll.
    pub(super) poll_j: f64,
    /// A short frame down, which ends what a trigger asks for.
    pub(super) end_j: f64,
    pub(super) pace: Pace,
    /// The longest wait of a packet down for a packet up that fetches it; zero without packets down other than answers.
    pub(super) down_wait_s: f64,
    /// The share of the packets that can be late: 1 if the flow that is delayed most counts.
    pub(super) late_share: f64,
    pub(super) radio: RadioPowers,
    pub(super) beacon: Beacons,
    /// Time of a beacon on the air.
    pub(super) beacon_air_s: f64,
}

impl Traffic {
    /// A station's captured packets.
    pub(super) fn of_capture(captured: &CapturedTraffic, profile: &Profile) -> Option<Self> {
        let CapturedTraffic { pace, cell, transmit_s, receive_s, .. } = captured;
        let radio = model_radio(profile);
        // The report of a cell does not name the band: beacons at OFDM rates are taken as those of 5 GHz.
        let beacon_rate = Rate::from_bps(cell.beacon_rate_bps as u64);
        let beacon_air_s = phy::beacon_time(Standard::N, beacon_rate, cell.beacon_bytes).as_secs_f64();
        let beacons_s = pace.elapsed_s / cell.beacon_interval_s * beacon_air_s;
        let received_s = (receive_s - beacons_s).max(0.0);
        let (down, packets) = (pace.packets_down as f64, (pace.packets_down + pace.packets_up) as f64);
        let data_bps = cell.data_rate_bps;
        let rates = Rates { data_bps, control_bps: CONTROL_BPS.min(data_bps) };
        let short = exchange(&radio, rates, 1.0, 1.0)?;
        let beacon = Beacons {
            interval_s: cell.beacon_interval_s,
            listen_interval: cell.listen_interval,
            sleep_clock: profile.sleep_clock,
        };
        Some(Self {
            elapsed_s: pace.elapsed_s,
            goodput_bps: None,
            down_packets: down,
            wakes: Some(longer(&pace.gaps, SLEEP_AT_ONCE_S).count as f64),
            busy_s: transmit_s + received_s,
            frames_j: radio.transmit_w * transmit_s + radio.receive_w * received_s,
            poll_j: short.uplink_j,
            end_j: short.downlink_j,
            pace: Pace::Captured {
                gaps: pace.gaps.clone(),
                gaps_up: pace.gaps_up.clone(),
                packets_down: down,
            },
            down_wait_s: if down > 0.0 { beacon.received_s() } else { 0.0 },
            late_share: if packets > 0.0 { down / packets } else { 0.0 },
            radio,
            beacon,
            beacon_air_s,
        })
    }

    /// The same packets if of so many beacons only one is received; `None` leaves the listen interval.
    pub(super) fn listening(&self, beacons: Option<u32>) -> Self {
        let beacon = self.beacon.listening(beacons);
        let down_wait_s = self.down_wait_s * beacon.received_s() / self.beacon.received_s();
        Self { beacon, down_wait_s, ..self.clone() }
    }

    /// Energy of a radio that sleeps for `asleep_s` of the rest, receives the beacons meanwhile, and wakes `wakes` times.
    fn spent_j(&self, rest_s: f64, asleep_s: f64, wakes: f64) -> f64 {
        let radio = &self.radio;
        let wake_j = radio.transition_j();
        let above_w = radio.listen_w - radio.sleep_w;
        let beacons_j = asleep_s / self.beacon.received_s()
            * ((self.beacon.guard_s() + self.beacon_air_s) * above_w + wake_j);
        let resting_j = radio.listen_w * (rest_s - asleep_s) + radio.sleep_w * asleep_s;
        self.frames_j + resting_j + beacons_j + wakes * wake_j
    }
}

/// A random wait of some packets, evenly distributed up to the longest.
#[derive(Clone, Copy, Debug)]
struct Wait {
    longest_s: f64,
    /// The share of the packets that wait.
    share: f64,
}

impl Wait {
    /// Its mean over all packets.
    fn mean_s(self) -> f64 {
        self.longest_s / 2.0 * self.share
    }

    /// Its 95th percentile over all packets, which is zero where fewer than one in twenty waits.
    fn p95_s(self) -> f64 {
        let beyond = 0.05;
        if self.share > beyond { self.longest_s * (1.0 - beyond / self.share) } else { 0.0 }
    }
}

/// The figures that the models give for a candidate; `None` if none describes it.
pub(super) fn estimate(traffic: &Traffic, candidate: &Candidate) -> Option<Modelled> {
    let elapsed_s = traffic.elapsed_s;
    let rest_s = (elapsed_s - traffic.busy_s).max(0.0);
    let awake_j = traffic.spent_j(rest_s, 0.0, 0.0);
    let wait = Wait { longest_s: traffic.down_wait_s, share: traffic.late_share };
    let (energy_j, wait) = match candidate.dozing {
        Dozing::Never => (awake_j, Wait { longest_s: 0.0, ..wait }),
        Dozing::BetweenBeacons(fetch) => {
            let beacons = (elapsed_s / traffic.beacon.received_s()).min(traffic.down_packets);
            // One trigger for what a beacon announces, or a poll for each packet, which is its own answer.
            let asked_j = match fetch {
                Fetch::Trigger => beacons * (traffic.poll_j + traffic.end_j),
                Fetch::Poll => traffic.down_packets * traffic.poll_j,
            };
            (traffic.spent_j(rest_s, rest_s, traffic.wakes.unwrap_or(beacons)) + asked_j, wait)
        }
        Dozing::BetweenTriggers => {
            let interval_s = candidate.value_s();
            let triggers = traffic.pace.triggers(interval_s, elapsed_s);
            let asked_j = triggers * (traffic.poll_j + traffic.end_j);
            let energy_j = traffic.spent_j(rest_s, rest_s, triggers + traffic.wakes.unwrap_or(0.0)) + asked_j;
            (energy_j, Wait { longest_s: wait.longest_s.min(interval_s), ..wait })
        }
        Dozing::AfterTimeout => {
            let timeout_s = candidate.value_s();
            let (asleep_s, sleeps) = traffic.pace.asleep(timeout_s, rest_s);
            let late = traffic.pace.late_share(timeout_s, asleep_s);
            (traffic.spent_j(rest_s, asleep_s, sleeps), Wait { share: wait.share * late, ..wait })
        }
        Dozing::Adaptive => return None,
    };
    let energy_j = energy_j.min(awake_j);
    Some(Modelled {
        energy_j,
        power_w: energy_j / elapsed_s,
        delay_s: wait.mean_s(),
        delay_p95_s: wait.p95_s(),
        goodput_bps: traffic.goodput_bps,
    })
}
