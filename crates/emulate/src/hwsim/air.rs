//! The air between simulated radios of a kernel: the simulator's cell, with the frames of the kernel's MACs.
//!
//! A machine without input or output of its own. Each radio is a node of the cell. Unicast frames contend, are repeated and
//! acknowledged; broadcasts arrive at every radio that is awake. Which radios sleep is [concluded](super::power) from the frames.
//!
//! Left out: several channels (a frame on another channel than that of the beacons is lost), the rates that the kernel's rate
//! control chooses (frames have the rates of the scenario), its access categories, and aggregates.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use airwatt_base::{Instant, Machine, Timeout};
use airwatt_dot11::{Frame, FrameKind, MacAddress};
use airwatt_energy::StateSeconds;
use airwatt_linux::hwsim::{RadioAddress, SentFrame};
use airwatt_sim::media::cell::frame::{CellFrameKind, ExternalFrame};
use airwatt_sim::media::cell::{CellConfig, CellInput, CellMedium, CellOutput, CellStation};
use airwatt_sim::route::Member;
use serde::Serialize;

use super::power::PowerManagement;

/// The length of the frame check sequence, which frames of hwsim do not have.
const FCS_BYTES: u32 = 4;

/// Why the air wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The cell has something to do.
    Cell,
    /// A radio sleeps or wakes up.
    Power,
}

/// An output of the air.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// A frame has arrived at a radio.
    Deliver { to: RadioAddress, frame: Arc<SentFrame> },
    /// A frame has left the medium.
    Report { frame: Arc<SentFrame>, acknowledged: bool, attempts: u32 },
}

#[derive(Clone, Debug)]
struct Node {
    radio: RadioAddress,
    /// The addresses with which it has sent.
    addresses: Vec<MacAddress>,
    power: PowerManagement,
    /// Frames in the cell.
    pending: u32,
    asleep: bool,
    wakeups: u64,
    sends_beacons: bool,
    sent: u64,
    given_up: u64,
}

/// A frame in the cell.
#[derive(Clone, Debug)]
struct InFlight {
    frame: Arc<SentFrame>,
    from: usize,
    /// Whether it goes to an address that no radio has: nobody acknowledges it.
    to_nobody: bool,
}

/// The air.
#[derive(Clone, Debug)]
pub(super) struct Air {
    cell: CellMedium,
    nodes: Vec<Node>,
    in_flight: BTreeMap<u32, InFlight>,
    next: u32,
    /// The channel of the beacons.
    frequency_mhz: Option<u32>,
    outputs: VecDeque<Output>,
    now: Instant,
}

/// What a radio has done.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeReport {
    address: Option<String>,
    /// `access-point` or `station`.
    role: &'static str,
    access_point: Option<String>,
    states: StateSeconds,
    energy_j: f64,
    wakeups: u64,
    frames: u64,
    given_up: u64,
}

/// What has happened on the air.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    schema: u32,
    elapsed_s: f64,
    /// Time with a frame on the air.
    airborne_s: f64,
    frames: u64,
    retries: u64,
    collisions: u64,
    nodes: Vec<NodeReport>,
}

impl Air {
    /// An air of these radios. The cell has the settings of `config`, and each radio those of `station`.
    pub(super) fn new(
        config: &CellConfig,
        station: &CellStation,
        radios: &[RadioAddress],
        seed: u64,
    ) -> Self {
        let named = |index| CellStation { name: format!("hwsim{index}"), ..station.clone() };
        let stations: Vec<CellStation> = (0..radios.len()).map(named).collect();
        let node = |radio: &RadioAddress| Node {
            radio: *radio,
            addresses: Vec::new(),
            power: PowerManagement::new(station.radio.wake_up.time),
            pending: 0,
            asleep: false,
            wakeups: 0,
            sends_beacons: false,
            sent: 0,
            given_up: 0,
        };
        Self {
            cell: CellMedium::external("hwsim", config, &stations, seed),
            nodes: radios.iter().map(node).collect(),
            in_flight: BTreeMap::new(),
            next: 0,
            frequency_mhz: None,
            outputs: VecDeque::new(),
            now: Instant::ZERO,
        }
    }

    /// What has happened until now.
    pub(super) fn report(&mut self, now: Instant) -> Report {
        let end = self.cell.finish(now);
        let statistics = self.cell.statistics();
        let node = |(id, node): (usize, &Node)| {
            let id = id as u32;
            let ledger = self.cell.ledger(id);
            NodeReport {
                address: node.addresses.first().map(MacAddress::to_string),
                role: if node.sends_beacons { "access-point" } else { "station" },
                access_point: node.power.access_point().map(|address| address.to_string()),
                states: StateSeconds::of(ledger),
                energy_j: ledger.energy(self.cell.radio(id)).as_joules(),
                wakeups: node.wakeups,
                frames: node.sent,
                given_up: node.given_up,
            }
        };
        Report {
            schema: 1,
            elapsed_s: end.as_secs_f64(),
            airborne_s: self.cell.airborne(end).as_secs_f64(),
            frames: statistics.frames,
            retries: statistics.retries,
            collisions: statistics.collisions,
            nodes: self.nodes.iter().enumerate().map(node).collect(),
        }
    }

    fn node_with(&self, address: MacAddress) -> Option<usize> {
        self.nodes.iter().position(|node| node.addresses.contains(&address))
    }

    /// Takes a frame that a radio sends.
    fn send(&mut self, frame: SentFrame, now: Instant) {
        let frame = Arc::new(frame);
        let from = self.nodes.iter().position(|node| node.radio == frame.radio);
        let decoded = Frame::decode(&frame.bytes).ok();
        let (Some(from), Some(header)) = (from, decoded.as_ref().map(Frame::header)) else {
            return self.outputs.push_back(Output::Report { frame, acknowledged: false, attempts: 1 });
        };
        if let Some(address) = header.address2
            && !self.nodes[from].addresses.contains(&address)
        {
            self.nodes[from].addresses.push(address);
        }
        let kind = header.control.kind;
        if kind == FrameKind::Beacon {
            self.nodes[from].sends_beacons = true;
            self.frequency_mhz = Some(frame.frequency_mhz);
            self.nodes.iter_mut().for_each(|node| node.power.beacon_due(&frame.bytes, now));
        }
        let group = header.address1.is_group();
        if self.frequency_mhz.is_some_and(|own| own != frame.frequency_mhz) {
            return self.outputs.push_back(Output::Report { frame, acknowledged: group, attempts: 1 });
        }
        let to = if group { None } else { self.node_with(header.address1) };
        let external = ExternalFrame {
            number: self.next,
            kind: match kind {
                FrameKind::Beacon => CellFrameKind::Beacon,
                _ if to.is_none() => CellFrameKind::Group,
                FrameKind::QosNull => CellFrameKind::QosNull,
                FrameKind::Null => CellFrameKind::Null,
                _ => CellFrameKind::Data,
            },
            bytes: u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX - FCS_BYTES) + FCS_BYTES,
        };
        self.next = self.next.wrapping_add(1);
        let to_nobody = to.is_none() && !group;
        self.in_flight.insert(external.number, InFlight { frame, from, to_nobody });
        let node = &mut self.nodes[from];
        node.pending += 1;
        node.sent += 1;
        // A frame wakes the radio.
        node.wakeups += u64::from(std::mem::take(&mut node.asleep));
        let (from, to) = (from as Member, to.map(|to| to as Member));
        self.cell.handle_input(CellInput::Frame { from, to, frame: external }, now);
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.cell.poll_output() {
            match output {
                CellOutput::FrameArrived { number, at } => {
                    let Some(InFlight { frame, .. }) = self.in_flight.get(&number) else { continue };
                    let node = &mut self.nodes[at as usize];
                    node.power.received(&frame.bytes, now);
                    self.outputs.push_back(Output::Deliver { to: node.radio, frame: Arc::clone(frame) });
                }
                CellOutput::FrameEnded { number, acknowledged, attempts } => {
                    let Some(InFlight { frame, from, to_nobody }) = self.in_flight.remove(&number) else {
                        continue;
                    };
                    let acknowledged = acknowledged && !to_nobody;
                    let node = &mut self.nodes[from];
                    node.pending -= 1;
                    node.given_up += u64::from(!acknowledged);
                    node.power.sent(&frame.bytes, acknowledged, now);
                    self.outputs.push_back(Output::Report { frame, acknowledged, attempts });
                }
                _ => {}
            }
        }
        self.apply_power(now);
    }

    /// Puts radios to sleep and wakes them as their power management says.
    fn apply_power(&mut self, now: Instant) {
        for (of, node) in (0..).zip(&mut self.nodes) {
            let asleep = node.power.may_doze() && node.pending == 0;
            if asleep != node.asleep {
                node.asleep = asleep;
                node.wakeups += u64::from(!asleep);
                self.cell.handle_input(CellInput::Radio { of, awake: !asleep }, now);
            }
        }
    }
}

impl Machine for Air {
    type Input = SentFrame;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, frame: SentFrame, now: Instant) {
        self.now = now;
        self.send(frame, now);
        self.drain(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        for node in &mut self.nodes {
            node.power.handle_timeout(now);
        }
        self.apply_power(now);
        self.cell.handle_timeout(now);
        self.drain(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let cell = self.cell.poll_timeout().map(|timeout| (timeout.at, Reason::Cell));
        let power = self.nodes.iter().filter_map(|node| node.power.next_timeout(self.now));
        let earliest = cell.into_iter().chain(power.map(|at| (at, Reason::Power)));
        earliest.min_by_key(|(at, _)| *at).map(|(at, reason)| Timeout { at, reason })
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Span;
    use airwatt_base::testkit::check_machine;
    use airwatt_sim::net::{MediumKind, NetworkPlan};
    use airwatt_sim::scenario::Scenario;

    use super::*;

    const AP: RadioAddress = [0x42, 0, 0, 0, 0, 0];
    const STATION: RadioAddress = [0x42, 0, 0, 0, 1, 0];

    fn air() -> Air {
        let scenario = Scenario::load("fast-dsl", &[]).unwrap();
        let plan = NetworkPlan::new(&scenario.ready().unwrap(), 1);
        let MediumKind::Cell(bsss) = &plan.media[0].kind else { panic!("the first medium is a cell") };
        Air::new(&bsss[0].config, &bsss[0].stations[0], &[AP, STATION], 1)
    }

    fn mac(radio: RadioAddress) -> [u8; 6] {
        [0x02, 0, 0, 0, radio[4], 0]
    }

    /// A frame with the subtype and flags of `control` and a body of this length.
    fn frame(radio: RadioAddress, control: [u8; 2], to: [u8; 6], body: usize) -> SentFrame {
        let mut bytes = Vec::from(control);
        bytes.extend([0, 0]);
        bytes.extend(to);
        bytes.extend(mac(radio));
        bytes.extend(mac(AP));
        bytes.extend([0, 0]);
        bytes.resize(bytes.len() + body, 0);
        SentFrame::new(radio, bytes, 2_412)
    }

    fn run(air: &mut Air, until: Instant) -> Vec<(Instant, Output)> {
        let mut outputs = Vec::new();
        let mut now = Instant::ZERO;
        loop {
            while let Some(output) = air.poll_output() {
                outputs.push((now, output));
            }
            match air.poll_timeout() {
                Some(timeout) if timeout.at <= until => now = timeout.at,
                _ => return outputs,
            }
            air.handle_timeout(now);
        }
    }

    const BEACON: [u8; 2] = [0x80, 0];
    const UP: [u8; 2] = [0x08, 1];
    const BROADCAST: [u8; 6] = [0xff; 6];

    #[test]
    fn a_unicast_frame_takes_its_time_on_the_air_and_is_acknowledged() {
        let mut air = air();
        air.handle_input(frame(AP, BEACON, BROADCAST, 60), Instant::ZERO);
        run(&mut air, Instant::from_millis(5));
        air.handle_input(frame(STATION, UP, mac(AP), 1_476), Instant::from_millis(5));
        let outputs = run(&mut air, Instant::from_millis(50));
        let [(arrived, Output::Deliver { to, .. }), (ended, Output::Report { acknowledged, attempts, .. })] =
            &outputs[..]
        else {
            panic!("{outputs:?}");
        };
        assert_eq!((*to, *acknowledged, *attempts), (AP, true, 1));
        // 1,504 bytes at the scenario's rate, and an acknowledgement after it.
        assert!(*arrived > Instant::from_millis(5) + Span::from_micros(80), "{arrived}");
        assert!(*ended > *arrived && *ended < *arrived + Span::from_micros(100), "{ended}");
        let report = air.report(Instant::from_millis(50));
        assert_eq!((report.nodes[0].role, report.nodes[1].frames), ("access-point", 1));
        let states = report.nodes[1].states;
        let sum = states.transmit + states.receive + states.listen + states.sleep + states.transition;
        assert!((sum - 0.05).abs() < 1e-9 && states.sleep == 0.0, "{states:?}");
    }

    #[test]
    fn a_frame_to_nobody_and_one_on_another_channel_are_not_acknowledged() {
        let mut air = air();
        air.handle_input(frame(AP, BEACON, BROADCAST, 60), Instant::ZERO);
        air.handle_input(frame(STATION, UP, [2, 9, 9, 9, 9, 9], 100), Instant::ZERO);
        let mut elsewhere = frame(STATION, UP, mac(AP), 100);
        elsewhere.frequency_mhz = 2_437;
        air.handle_input(elsewhere, Instant::ZERO);
        air.handle_input(SentFrame::new(STATION, vec![1, 2, 3], 2_412), Instant::ZERO);
        let outputs = run(&mut air, Instant::from_millis(50));
        let unicast = |output: &Output| match output {
            Output::Report { frame, acknowledged, .. } if frame.bytes[0] != BEACON[0] => Some(*acknowledged),
            _ => None,
        };
        let reports: Vec<bool> = outputs.iter().filter_map(|(_, output)| unicast(output)).collect();
        assert_eq!(reports, [false; 3]);
    }

    #[test]
    fn a_sleeping_radio_misses_a_frame_and_costs_less() {
        let mut air = air();
        air.handle_input(frame(AP, BEACON, BROADCAST, 60), Instant::ZERO);
        let mut response = frame(AP, [0x10, 0], mac(STATION), 0);
        response.bytes.extend([0, 0, 0, 0, 1, 0xc0]);
        // The station has to be known before a frame can be addressed to it.
        air.handle_input(frame(STATION, UP, mac(AP), 10), Instant::ZERO);
        run(&mut air, Instant::from_millis(5));
        air.handle_input(response, Instant::from_millis(5));
        run(&mut air, Instant::from_millis(9));
        let mut beacon = frame(AP, BEACON, BROADCAST, 8);
        beacon.bytes.extend([100, 0, 0, 0]);
        air.handle_input(beacon.clone(), Instant::from_millis(10));
        air.handle_input(frame(STATION, [0x48, 0x11], mac(AP), 0), Instant::from_millis(12));
        run(&mut air, Instant::from_millis(20));
        assert!(air.nodes[1].asleep);
        air.handle_input(frame(AP, [0x08, 2], mac(STATION), 100), Instant::from_millis(20));
        let outputs = run(&mut air, Instant::from_millis(100));
        assert!(
            matches!(outputs[..], [(_, Output::Report { acknowledged: false, attempts, .. })] if attempts > 1),
            "{outputs:?}"
        );
        // Awake for the beacon.
        run(&mut air, Instant::from_micros(10_000 + 102_400 - 100));
        assert!(!air.nodes[1].asleep);
        beacon.bytes.truncate(24 + 12);
        air.handle_input(beacon, Instant::from_micros(10_000 + 102_400));
        run(&mut air, Instant::from_millis(140));
        let report = air.report(Instant::from_millis(140));
        assert!(report.nodes[1].states.sleep > 0.1, "{:?}", report.nodes[1]);
        assert!(report.nodes[1].energy_j < report.nodes[0].energy_j / 2.0);
        assert_eq!(report.nodes[1].wakeups, 1);
    }

    #[test]
    fn it_is_a_machine_of_the_contract() {
        let inputs = [(Instant::from_millis(1), frame(AP, BEACON, BROADCAST, 60))];
        let outputs = check_machine(air, &inputs, Instant::from_millis(20));
        assert_eq!(outputs.len(), 2, "delivered and reported");
    }
}
