//! The traffic of a scenario, as far as the models describe it.
//!
//! `mac-frame` gives the duration and the energy of a packet's frames, and `psm-throughput` how long a download through
//! power save lasts. Left out: scenarios in the general form, without a line or without Wi-Fi, with several stations or
//! cells, transfers without an end, and applications other than `bulk`, `cbr` and `interactive`.

use airwatt_base::QueueLimit;
use airwatt_models::mac_frame::{self, DurationRule};
use airwatt_models::radio::RadioPowers;
use airwatt_models::{psm_throughput, sctp_tunnel};
use airwatt_proto::powersave::Dozing;
use airwatt_sim::scenario::{ApplicationConfig, Direction, Scenario, Transport};

use super::estimate::{Beacons, CONTROL_BPS, Exchange, Pace, Rates, Traffic, exchange};
use super::{TunnelAdvice, model_radio};
use crate::phy;

/// Queue of the line that is assumed if its limit is in bytes.
const QUEUE_PACKETS: f64 = 50.0;

/// The values of a scenario that the models need.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    rtt_s: f64,
    down_bps: f64,
    up_bps: f64,
    queue_packets: f64,
    beacon: Beacons,
    beacon_air_s: f64,
    mtu_bytes: f64,
    header_bytes: f64,
    rates: Rates,
    /// Segments that an acknowledgement covers.
    data_for_ack: f64,
    duration_s: Option<f64>,
    radio: RadioPowers,
    flows: Vec<Flow>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    down: bool,
    is_udp: bool,
    sends: Sends,
}

#[derive(Clone, Copy, Debug)]
enum Sends {
    Bulk { bytes: f64 },
    Constant { bps: f64, packet_bytes: f64 },
    Random { gap_s: f64, packet_bytes: f64 },
}

impl Setting {
    /// `None` for what the models do not describe.
    pub(super) fn of(scenario: &Scenario) -> Option<Self> {
        if !(scenario.cell.is_empty() && scenario.node.is_empty()) {
            return None;
        }
        let (wired, wifi) = (scenario.wired.as_ref()?, scenario.wifi.as_ref()?);
        let [station] = scenario.station.as_slice() else { return None };
        if station.count != 1 {
            return None;
        }
        let radio = station.radio.profile();
        let flows = scenario.flow.iter().map(|flow| {
            let sends = match &flow.application {
                ApplicationConfig::Bulk(bulk) => Sends::Bulk { bytes: bulk.size?.as_bytes() as f64 },
                ApplicationConfig::Cbr(cbr) => Sends::Constant {
                    bps: cbr.rate.as_bps() as f64,
                    packet_bytes: cbr.packet.as_bytes() as f64,
                },
                ApplicationConfig::Interactive(typing) => Sends::Random {
                    gap_s: typing.mean_gap.as_secs_f64(),
                    packet_bytes: typing.packet.as_bytes() as f64,
                },
                _ => return None,
            };
            let is_udp = flow.transport.like() == Transport::Udp;
            Some(Flow { down: flow.direction? == Direction::Down, is_udp, sends })
        });
        let tcp = &scenario.tcp;
        Some(Self {
            rtt_s: wired.rtt.as_secs_f64(),
            down_bps: wired.down.rate.as_bps() as f64,
            up_bps: wired.up.rate.as_bps() as f64,
            queue_packets: match wired.down.queue {
                QueueLimit::Packets(packets) => f64::from(packets),
                QueueLimit::Bytes(_) => QUEUE_PACKETS,
            },
            beacon: Beacons {
                interval_s: scenario.ap.beacon_interval.as_secs_f64(),
                listen_interval: station.listening().beacons(scenario.ap.dtim_period),
                sleep_clock: radio.sleep_clock,
            },
            beacon_air_s: phy::beacon_time(
                wifi.standard,
                wifi.beacon_rate.unwrap_or_else(|| wifi.standard.default_beacon_rate()),
                phy::BEACON_BYTES,
            )
            .as_secs_f64(),
            mtu_bytes: tcp.mtu.as_bytes() as f64,
            header_bytes: tcp.header.as_bytes() as f64,
            rates: Rates {
                data_bps: wifi.vector()?.rate().as_bps() as f64,
                control_bps: wifi.control_rate.map_or(CONTROL_BPS, |rate| rate.as_bps() as f64),
            },
            data_for_ack: if tcp.delayed_ack { f64::from(tcp.delayed_ack_segments) } else { 1.0 },
            duration_s: scenario.duration.map(airwatt_base::Span::as_secs_f64),
            radio: model_radio(radio),
            flows: flows.collect::<Option<_>>()?,
        })
    }

    /// The same with another listen interval, if there is one. `None` for transfers to a station that skips beacons: at a second
    /// between beacons `psm-throughput` is 45 % below what runs spend.
    pub(super) fn listening(&self, beacons: Option<u32>) -> Option<Self> {
        let has_bulk = self.flows.iter().any(|flow| matches!(flow.sends, Sends::Bulk { .. }));
        let beacon = self.beacon.listening(beacons);
        if beacon.listen_interval > 1 && has_bulk {
            return None;
        }
        Some(Self { beacon, ..self.clone() })
    }

    fn exchange(&self, up_bytes: f64, down_bytes: f64) -> Option<Exchange> {
        exchange(&self.radio, self.rates, up_bytes, down_bytes)
    }

    /// The rate that one bulk flow gets, in bit/s of IP packets.
    fn bulk_bps(&self, down: bool, dozing: Dozing) -> Option<f64> {
        let is_bulk = |flow: &&Flow| matches!(flow.sends, Sends::Bulk { .. });
        let same = self.flows.iter().filter(is_bulk).filter(|flow| flow.down == down).count() as f64;
        let line = if down { self.down_bps } else { self.up_bps };
        let air = self.exchange(self.mtu_bytes, self.mtu_bytes)?;
        let share = line.min(8.0 * self.mtu_bytes / air.uplink_s) / same;
        if !(matches!(dozing, Dozing::BetweenBeacons(_)) && down && self.flows.len() == 1) {
            return Some(share);
        }
        let waiting = psm_throughput::solve(&psm_throughput::Params {
            rtt_s: self.rtt_s,
            down_bps: self.down_bps,
            up_bps: self.up_bps,
            queue_packets: self.queue_packets,
            beacon_s: self.beacon.received_s(),
            mtu_bytes: self.mtu_bytes,
            ack_bytes: self.header_bytes,
            ..psm_throughput::Params::default()
        });
        Some(share.min(waiting.ok()?.throughput_bps))
    }

    /// The time that the flows last under a policy, and the bytes of each bulk flow in that time.
    fn lengths(&self, dozing: Dozing) -> Option<(f64, Vec<Option<f64>>)> {
        let payload_bytes = self.mtu_bytes - self.header_bytes;
        let mut elapsed_s = self.duration_s.unwrap_or(0.0);
        let mut sizes = Vec::new();
        for flow in &self.flows {
            let Sends::Bulk { bytes } = flow.sends else {
                sizes.push(None);
                continue;
            };
            let rate_bps = self.bulk_bps(flow.down, dozing)? * payload_bytes / self.mtu_bytes;
            if self.duration_s.is_none() {
                elapsed_s = elapsed_s.max(8.0 * bytes / rate_bps);
                sizes.push(Some(bytes));
            } else {
                sizes.push(Some(bytes.min(rate_bps * elapsed_s / 8.0)));
            }
        }
        (elapsed_s > 0.0).then_some((elapsed_s, sizes))
    }

    /// The scenario's packets under a policy, which decides how long a download takes.
    pub(super) fn traffic(&self, dozing: Dozing) -> Option<Traffic> {
        let (elapsed_s, sizes) = self.lengths(dozing)?;
        let (mut down, mut up, mut busy_s, mut frames_j, mut bits) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (flow, size) in self.flows.iter().zip(&sizes) {
            let (data_bytes, count) = self.packets(flow, elapsed_s, *size);
            let answers = if flow.is_udp { 0.0 } else { count / self.data_for_ack };
            let (air, ups, downs) = if flow.down {
                (self.exchange(self.header_bytes, data_bytes)?, answers, count)
            } else {
                (self.exchange(data_bytes, self.header_bytes)?, count, answers)
            };
            up += ups;
            down += downs;
            busy_s += ups * air.uplink_s + downs * air.downlink_s;
            frames_j += ups * air.uplink_j + downs * air.downlink_j;
            bits += 8.0 * count * (data_bytes - self.header_bytes);
        }
        let has_bulk = sizes.iter().any(Option::is_some);
        let gap_up_s = self.gaps_up_s().fold(f64::INFINITY, f64::min);
        // Over a fixed time a bulk flow's goodput is that of the time until it is done, which no model gives.
        let is_known = self.duration_s.is_none() || !has_bulk;
        let short = self.exchange(1.0, 1.0)?;
        Some(Traffic {
            elapsed_s,
            goodput_bps: is_known.then(|| bits / elapsed_s),
            down_packets: down,
            wakes: None,
            busy_s,
            frames_j,
            poll_j: short.uplink_j,
            end_j: short.downlink_j,
            pace: Pace::Steady { packets: down + up, has_bulk, gap_up_s },
            down_wait_s: if self.flows.iter().any(|flow| flow.down) {
                self.beacon.received_s().min(gap_up_s)
            } else {
                0.0
            },
            late_share: 1.0,
            radio: self.radio,
            beacon: self.beacon,
            beacon_air_s: self.beacon_air_s,
        })
    }

    /// Times between the packets that flows send up by themselves, at a constant rate.
    fn gaps_up_s(&self) -> impl Iterator<Item = f64> {
        self.flows.iter().filter(|flow| !flow.down).filter_map(|flow| match flow.sends {
            Sends::Constant { bps, packet_bytes } => Some(8.0 * packet_bytes / bps),
            _ => None,
        })
    }

    /// The length of an IP packet with data of a flow, and the number of such packets.
    fn packets(&self, flow: &Flow, elapsed_s: f64, size_bytes: Option<f64>) -> (f64, f64) {
        if let Some(size_bytes) = size_bytes {
            return (self.mtu_bytes, size_bytes / (self.mtu_bytes - self.header_bytes));
        }
        match flow.sends {
            Sends::Constant { bps, packet_bytes } => {
                (packet_bytes + self.header_bytes, bps * elapsed_s / (8.0 * packet_bytes))
            }
            Sends::Random { gap_s, packet_bytes } => (packet_bytes + self.header_bytes, elapsed_s / gap_s),
            Sends::Bulk { .. } => (self.mtu_bytes, 0.0),
        }
    }

    /// A tunnel whose burst is the largest with a delay within the bound; `None` without steady traffic.
    pub(super) fn tunnel(&self, bound_s: f64) -> Option<TunnelAdvice> {
        let (mut down_bps, mut up_bps) = (0.0, 0.0);
        for flow in &self.flows {
            let rate_bps = match flow.sends {
                Sends::Bulk { .. } => self.bulk_bps(flow.down, Dozing::Never)?,
                Sends::Constant { bps, .. } => bps,
                Sends::Random { .. } => 0.0,
            };
            *(if flow.down { &mut down_bps } else { &mut up_bps }) += rate_bps;
        }
        if down_bps + up_bps == 0.0 {
            return None;
        }
        let frames = mac_frame::Frames {
            q: 0.0,
            timing: DurationRule::Ofdm,
            data_rate_bps: self.rates.data_bps,
            control_rate_bps: self.rates.control_bps,
            ..sctp_tunnel::Params::default().frames
        };
        let solved = sctp_tunnel::solve(&sctp_tunnel::Params {
            up_bps,
            down_bps,
            burst: sctp_tunnel::TunnelBurst::Within,
            delay_bound_s: bound_s,
            frames,
            radio: self.radio,
            ..sctp_tunnel::Params::default()
        })
        .ok()?;
        Some(TunnelAdvice {
            burst_packets: solved.burst_packets,
            delay_s: solved.delay_s,
            cam_w: solved.cam_w,
            ideal_w: solved.ideal_w,
            saving_floored: solved.saving_floored,
            trigger_interval_s: solved.trigger_interval_s,
        })
    }
}
