//! A small perfect air that joins an access point and its stations: one frame at a time, each with its acknowledgement
//! in [`FRAME`], no contention but an order of turns, losses as a script or a stream of random numbers says.

use std::collections::{BTreeSet, VecDeque};

use airwatt_base::{Instant, Machine, RandomStream, Span};

use crate::powersave::*;

/// Time of one attempt of a frame, with its acknowledgement or the time-out for it.
pub(super) const FRAME: Span = Span::from_micros(500);
const BEACON: Span = Span::from_micros(200);
/// Attempts before a frame is given up.
const ATTEMPTS: u32 = 4;
const WAKE_TIME: Span = Span::from_micros(300);

/// What happens to an attempt.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Delivered,
    Lost,
    AckLost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Frame {
    Beacon,
    Down { station: StationId, frame: Downlink<u32>, flags: ServiceFlags },
    Up { station: StationId, frame: Uplink, pm: bool },
}

#[derive(Clone, Debug)]
struct OnAir {
    frame: Frame,
    attempt: u32,
    received: bool,
    ends: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Radio {
    Awake,
    Waking(Instant),
    Dozing,
    /// On another channel.
    Away,
}

pub(super) struct Client {
    pub(super) machine: StationPowerSave,
    pub(super) radio: Radio,
    controls: VecDeque<PowerSaveFrame>,
    data: VecDeque<u32>,
    inputs: Vec<(Instant, StationInput)>,
    outputs: Vec<(Instant, StationOutput)>,
    pub(super) got: BTreeSet<u32>,
    asleep_since: Instant,
    pub(super) slept: Span,
    /// Time of the attempts at this station's frames, both ways.
    busy: Span,
    /// Contention that the air does not have, as a share of the time: makes a station believe that the air is full.
    pub(super) contention: Option<f64>,
    /// The machine asked for the air time.
    asked: bool,
    /// Bytes that its peer may still send it, if it has said how many.
    pub(super) window: Option<u64>,
}

pub(super) struct Air {
    pub(super) now: Instant,
    pub(super) ap: AccessPointPowerSave<u32>,
    pub(super) clients: Vec<Client>,
    queue: VecDeque<(StationId, Downlink<u32>)>,
    queue_limit: usize,
    beacon_waits: bool,
    on_air: Option<OnAir>,
    /// Whose turn comes next: the access point is the last.
    turn: usize,
    /// What is lost next: the beginning of the frame's line in the log, and for how many attempts.
    pub(super) script: Vec<(&'static str, u32)>,
    /// Random loss of attempts, and of acknowledgements.
    pub(super) noise: Option<(RandomStream, f64)>,
    pub(super) log: Vec<String>,
    logging: bool,
    pub(super) dropped: BTreeSet<u32>,
    setup: (AccessPointConfig, Vec<(StationConfig, PowerSaveConfig)>),
    ap_inputs: Vec<(Instant, AccessPointInput<u32>)>,
    ap_outputs: Vec<(Instant, AccessPointOutput<u32>)>,
    refused: Vec<StationId>,
    recalls: Vec<StationId>,
    recording: bool,
}

/// The access point's beacons come at 100 ms, 200 ms, ...: the stations are in power save by then.
fn ap_config(power_save_buffer: u32) -> AccessPointConfig {
    let wakes =
        WakeLimits { least_duration: Span::from_micros(256), information: true, ..WakeLimits::default() };
    AccessPointConfig {
        power_save_buffer,
        first_beacon: Instant::from_millis(100),
        wakes,
        ..AccessPointConfig::default()
    }
}

pub(super) fn station_config() -> StationConfig {
    StationConfig {
        first_beacon: Instant::from_millis(100),
        wake_time: WAKE_TIME,
        ..StationConfig::default()
    }
}

/// What an action frame is in the log.
const fn wake_line(frame: WakeFrame) -> &'static str {
    match frame {
        WakeFrame::Request { proposal: WakeProposal { start: None, .. }, .. } => "suggest",
        WakeFrame::Request { .. } => "demand",
        WakeFrame::Answer { answer: WakeAnswer::Accept(_), .. } => "accept",
        WakeFrame::Answer { answer: WakeAnswer::Alternate(_), .. } => "alternate",
        WakeFrame::Answer { answer: WakeAnswer::Dictate(_), .. } => "dictate",
        WakeFrame::Answer { answer: WakeAnswer::Reject(_), .. } => "reject",
        WakeFrame::Teardown { .. } => "teardown",
        WakeFrame::Information { next: None } => "suspend",
        WakeFrame::Information { .. } => "resume",
    }
}

impl Air {
    /// One cell; the power-save buffers hold `power_save_buffer` packets each, the transmission queue `queue_limit`.
    pub(super) fn new(power_save_buffer: u32, queue_limit: usize, policies: &[PowerSaveConfig]) -> Self {
        let stations: Vec<_> = policies.iter().map(|policy| (station_config(), *policy)).collect();
        Self::with_stations(power_save_buffer, queue_limit, stations)
    }

    /// With an access point that takes no information frames.
    pub(super) fn without_information(mut self) -> Self {
        self.setup.0.wakes.information = false;
        self.ap = AccessPointPowerSave::new(self.setup.0);
        for (_, policy) in &self.setup.1 {
            self.ap.add_station(policy.needs_uapsd());
        }
        self
    }

    /// As [`Air::new`], of stations with settings of their own.
    pub(super) fn with_stations(
        power_save_buffer: u32,
        queue_limit: usize,
        stations: Vec<(StationConfig, PowerSaveConfig)>,
    ) -> Self {
        let setup = (ap_config(power_save_buffer), stations);
        let mut ap = AccessPointPowerSave::new(setup.0);
        for (_, policy) in &setup.1 {
            ap.add_station(policy.needs_uapsd());
        }
        let clients = setup.1.iter().map(|(config, policy)| {
            let machine = StationPowerSave::new(*config, *policy);
            Client {
                machine,
                radio: Radio::Awake,
                controls: VecDeque::new(),
                data: VecDeque::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                got: BTreeSet::new(),
                asleep_since: Instant::ZERO,
                slept: Span::ZERO,
                busy: Span::ZERO,
                contention: None,
                asked: false,
                window: None,
            }
        });
        Self {
            now: Instant::ZERO,
            clients: clients.collect(),
            ap,
            queue: VecDeque::new(),
            queue_limit,
            beacon_waits: false,
            on_air: None,
            turn: 0,
            script: Vec::new(),
            noise: None,
            log: Vec::new(),
            logging: true,
            dropped: BTreeSet::new(),
            setup,
            ap_inputs: Vec::new(),
            ap_outputs: Vec::new(),
            refused: Vec::new(),
            recalls: Vec::new(),
            recording: true,
        }
    }

    /// For long runs: neither log nor record.
    pub(super) fn quiet(mut self) -> Self {
        self.logging = false;
        self.recording = false;
        self
    }

    /// A packet comes from the distribution system, at this time.
    pub(super) fn down(&mut self, at_us: u64, station: StationId, packet: u32) {
        self.run_until(Instant::from_micros(at_us));
        self.ap_input(AccessPointInput::Deliver { station, packet });
        self.start_next();
    }

    /// A frame of the user is queued at the station, at this time.
    pub(super) fn up(&mut self, at_us: u64, station: StationId, packet: u32) {
        self.run_until(Instant::from_micros(at_us));
        self.clients[station as usize].data.push_back(packet);
        self.report_backlog(station);
        self.report_flow(station, true);
        self.start_next();
    }

    pub(super) fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            assert!(at >= self.now, "time never goes back");
            self.now = at;
            self.step();
        }
        self.now = until;
    }

    /// Packets that the access point still holds, in either place or on the air.
    pub(super) fn held(&self) -> usize {
        let is_packet = |frame: &Downlink<u32>| matches!(frame, Downlink::Packet(_));
        let on_air =
            matches!(&self.on_air, Some(OnAir { frame: Frame::Down { frame, .. }, .. }) if is_packet(frame));
        let queued = self.queue.iter().filter(|(_, frame)| is_packet(frame)).count();
        let buffered: usize = (0..self.clients.len()).map(|s| self.ap.buffered(s as StationId)).sum();
        buffered + queued + usize::from(on_air)
    }

    /// Frames of the users that wait to be sent.
    pub(super) fn uplink_held(&self) -> usize {
        self.clients.iter().map(|client| client.data.len()).sum()
    }

    /// Puts every machine's recorded inputs through the conformance test, and compares what came out.
    pub(super) fn check_machines(&self) {
        let (ap_config, stations) = &self.setup;
        let make_ap = || {
            let mut ap = AccessPointPowerSave::<u32>::new(*ap_config);
            for (_, policy) in stations {
                ap.add_station(policy.needs_uapsd());
            }
            ap
        };
        assert_eq!(airwatt_base::testkit::check_machine(make_ap, &self.ap_inputs, self.now), self.ap_outputs);
        for (client, (config, policy)) in self.clients.iter().zip(stations) {
            let make = || StationPowerSave::new(*config, *policy);
            assert_eq!(airwatt_base::testkit::check_machine(make, &client.inputs, self.now), client.outputs);
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let stations = self.clients.iter().flat_map(|client| {
            let waking = if let Radio::Waking(at) = client.radio { Some(at) } else { None };
            [client.machine.poll_timeout().map(|timeout| timeout.at), waking]
        });
        let ap = self.ap.poll_timeout().map(|timeout| timeout.at);
        let on_air = self.on_air.as_ref().map(|on_air| on_air.ends);
        stations.chain([ap, on_air]).flatten().min().map(|at| at.max(self.now))
    }

    fn step(&mut self) {
        self.serve_ap();
        for station in 0..self.clients.len() {
            self.serve_station(station);
            if matches!(self.clients[station].radio, Radio::Waking(at) if at <= self.now) {
                self.clients[station].radio = Radio::Awake;
                self.station_input(station as StationId, StationInput::Awake);
            }
        }
        if self.on_air.as_ref().is_some_and(|on_air| on_air.ends <= self.now) {
            self.attempt_ends();
        }
        self.start_next();
    }

    fn serve_ap(&mut self) {
        if self.ap.poll_timeout().is_some_and(|timeout| timeout.at <= self.now) {
            self.ap.handle_timeout(self.now);
            self.drain_ap();
        }
    }

    fn serve_station(&mut self, station: usize) {
        let machine = &mut self.clients[station].machine;
        if machine.poll_timeout().is_some_and(|timeout| timeout.at <= self.now) {
            machine.handle_timeout(self.now);
            self.drain_station(station);
        }
    }

    fn ap_input(&mut self, input: AccessPointInput<u32>) {
        self.serve_ap();
        if self.recording {
            self.ap_inputs.push((self.now, input));
        }
        self.ap.handle_input(input, self.now);
        self.drain_ap();
    }

    fn drain_ap(&mut self) {
        while let Some(output) = self.ap.poll_output() {
            if self.recording {
                self.ap_outputs.push((self.now, output));
            }
            match output {
                AccessPointOutput::Transmit { station, frame } => match frame {
                    Downlink::Packet(packet) if self.queue.len() >= self.queue_limit => {
                        self.refused.push(station);
                        self.dropped.insert(packet);
                        self.note(format!("refused {packet}"));
                    }
                    _ => self.queue.push_back((station, frame)),
                },
                AccessPointOutput::TransmitGroup { .. } | AccessPointOutput::DroppedGroup { .. } => {
                    unreachable!("nothing is addressed to a group")
                }
                AccessPointOutput::Recall { station } => self.recalls.push(station),
                AccessPointOutput::Beacon { .. } => self.beacon_waits = true,
                AccessPointOutput::Dropped { packet, why, .. } => {
                    self.dropped.insert(packet);
                    self.note(format!("dropped {packet} {why:?}"));
                }
            }
        }
        while let Some(station) = self.recalls.pop() {
            let (back, stay) = self.queue.drain(..).partition(|(other, _)| *other == station);
            self.queue = stay;
            let back: VecDeque<(StationId, Downlink<u32>)> = back;
            for (station, frame) in back {
                self.ap_input(AccessPointInput::Recalled { station, frame });
            }
        }
        while let Some(station) = self.refused.pop() {
            self.ap_input(AccessPointInput::Refused { station });
        }
    }

    fn station_input(&mut self, station: StationId, input: StationInput) {
        self.serve_station(station as usize);
        if self.recording {
            self.clients[station as usize].inputs.push((self.now, input));
        }
        self.clients[station as usize].machine.handle_input(input, self.now);
        self.drain_station(station as usize);
    }

    /// Answers a question for the air time, after the drain that brought it.
    fn answer(&mut self, station: usize) {
        let client = &mut self.clients[station];
        if !std::mem::take(&mut client.asked) {
            return;
        }
        let waited = client.contention.map_or(0.0, |share| share * self.now.as_secs_f64());
        let air_time =
            AirTime { transmit: client.busy, receive: Span::ZERO, backoff: Span::from_secs_f64(waited) };
        let input = StationInput::AirTime(air_time);
        if self.recording {
            client.inputs.push((self.now, input));
        }
        client.machine.handle_input(input, self.now);
        self.drain_station(station);
    }

    fn report_backlog(&mut self, station: StationId) {
        let frames = self.clients[station as usize].data.len() as u32;
        self.station_input(station, StationInput::Backlog { frames });
    }

    /// All packets are of one flow.
    fn report_flow(&mut self, station: StationId, is_sent: bool) {
        if !self.clients[station as usize].machine.sees_flows() {
            return;
        }
        let (now, volume) = (self.now, Volume { packets: 1, bytes: 1_500 });
        let [sent, received] =
            if is_sent { [volume, Volume::default()] } else { [Volume::default(), volume] };
        let sample = FlowSample { flow: 1, peer: 1, dscp: 0, sent, received, first: now, last: now };
        self.station_input(station, StationInput::Flow(sample));
    }

    fn drain_station(&mut self, station: usize) {
        while let Some(output) = self.clients[station].machine.poll_output() {
            let now = self.now;
            let recording = self.recording;
            let client = &mut self.clients[station];
            if recording {
                client.outputs.push((now, output));
            }
            match output {
                StationOutput::Wake => {
                    assert_eq!(client.radio, Radio::Dozing, "only a sleeping radio is woken");
                    client.radio = Radio::Waking(now + WAKE_TIME);
                    client.slept += now - client.asleep_since;
                    self.note(format!("s{station} wakes"));
                }
                StationOutput::Doze => {
                    assert_eq!(client.radio, Radio::Awake, "only a radio that is awake falls asleep");
                    let held = client.machine.holds_frames();
                    assert!(held || client.data.is_empty(), "asleep with a backlog");
                    assert!(held || client.controls.is_empty(), "asleep with a control frame to send");
                    client.radio = Radio::Dozing;
                    client.asleep_since = now;
                    self.note(format!("s{station} dozes"));
                }
                StationOutput::LeaveChannel => {
                    assert_eq!(client.radio, Radio::Awake, "only a radio that is awake leaves the channel");
                    client.radio = Radio::Away;
                    self.note(format!("s{station} leaves"));
                }
                StationOutput::ReturnToChannel => {
                    assert_eq!(client.radio, Radio::Away, "only a radio that has left returns");
                    client.radio = Radio::Awake;
                    self.note(format!("s{station} returns"));
                }
                StationOutput::Send(control) => {
                    assert_eq!(client.radio, Radio::Awake, "sends only while awake");
                    client.controls.push_back(control);
                }
                StationOutput::Discard => {
                    let sent = self.on_air.as_ref().is_some_and(|on_air| {
                        matches!(on_air.frame, Frame::Up { station: from, frame: Uplink::Data { .. }, .. }
                            if from as usize == station)
                    });
                    let discarded = client.data.split_off(usize::from(sent).min(client.data.len()));
                    self.note(format!("s{station} discards {discarded:?}"));
                    self.report_backlog(station as StationId);
                }
                StationOutput::MeasureAirTime => client.asked = true,
                StationOutput::Window(ReceiveWindow::Open) => {
                    client.window = None;
                    self.note(format!("s{station} window open"));
                }
                StationOutput::Window(ReceiveWindow::Grant { bytes }) => {
                    client.window = Some(bytes);
                    self.note(format!("s{station} window {bytes}"));
                }
            }
        }
        self.answer(station);
    }

    fn note(&mut self, line: String) {
        if self.logging {
            let micros = self.now.as_nanos() / 1_000;
            self.log.push(format!("{}.{} {line}", micros / 1_000, micros / 100 % 10));
        }
    }

    /// Gives the idle medium to a beacon, else to the next in turn that has a frame and is awake.
    fn start_next(&mut self) {
        if self.on_air.is_some() {
            return;
        }
        if std::mem::take(&mut self.beacon_waits) {
            return self.start(Frame::Beacon);
        }
        let parties = self.clients.len() + 1;
        if let Some((noise, _)) = &mut self.noise {
            self.turn = noise.below(parties as u32) as usize;
        }
        let first = self.turn;
        for party in (0..parties).map(|offset| (first + offset) % parties) {
            let frame = if party < self.clients.len() { self.uplink(party) } else { self.downlink() };
            if let Some(frame) = frame {
                self.turn = (party + 1) % parties;
                return self.start(frame);
            }
        }
    }

    /// The frame for which a station contends.
    fn uplink(&self, party: usize) -> Option<Frame> {
        self.answer_to_trigger(party).filter(|_| !self.clients[party].machine.holds_frames())
    }

    fn answer_to_trigger(&self, party: usize) -> Option<Frame> {
        let client = &self.clients[party];
        let control = client.controls.front().map(|control| Uplink::Control(*control));
        let data = client.data.front().map(|_| Uplink::Data { bytes: 1500 });
        let frame = control.or(data).filter(|_| client.radio == Radio::Awake)?;
        Some(Frame::Up { station: party as StationId, frame, pm: client.machine.pm() })
    }

    fn downlink(&mut self) -> Option<Frame> {
        let (station, frame) = self.queue.pop_front()?;
        // A Trigger frame has no such flags.
        let flags = if frame == Downlink::Trigger { ServiceFlags::default() } else { self.ap.flags(station) };
        self.ap_input(AccessPointInput::Started { station });
        Some(Frame::Down { station, frame, flags })
    }

    fn start(&mut self, frame: Frame) {
        let length = if frame == Frame::Beacon { BEACON } else { FRAME };
        self.on_air = Some(OnAir { frame, attempt: 1, received: false, ends: self.now + length });
    }

    /// The frame's line in the log.
    fn line(&self, frame: Frame) -> String {
        match frame {
            Frame::Beacon => {
                let tim = |s: &usize| self.ap.tim(*s as StationId);
                let set: Vec<String> =
                    (0..self.clients.len()).filter(tim).map(|s| format!(" s{s}")).collect();
                format!("beacon{}", set.concat())
            }
            Frame::Down { station, frame, flags } => {
                let what = match frame {
                    Downlink::Packet(packet) => packet.to_string(),
                    Downlink::NullData => "null".to_owned(),
                    Downlink::Wake(frame) => wake_line(frame).to_owned(),
                    Downlink::Trigger => "poll".to_owned(),
                };
                let more = if flags.more_data { " more" } else { "" };
                format!("ap>s{station} {what}{more}{}", if flags.eosp { " eosp" } else { "" })
            }
            Frame::Up { station, frame, pm } => {
                let what = match frame {
                    Uplink::Data { .. } => "data",
                    Uplink::Control(PowerSaveFrame::Trigger) => "trigger",
                    Uplink::Control(PowerSaveFrame::PmNull { .. }) => "null",
                    Uplink::Control(PowerSaveFrame::PsPoll) => "poll",
                    Uplink::Control(PowerSaveFrame::Wake(frame)) => wake_line(frame),
                };
                format!("s{station}>ap {what} pm={}", u8::from(pm))
            }
        }
    }

    fn fate(&mut self, line: &str) -> Fate {
        if let Some((start, times)) = self.script.first_mut()
            && line.starts_with(*start)
        {
            *times -= 1;
            if *times == 0 {
                self.script.remove(0);
            }
            return Fate::Lost;
        }
        let Some((stream, loss)) = &mut self.noise else { return Fate::Delivered };
        if stream.chance(*loss) {
            Fate::Lost
        } else if stream.chance(*loss / 4.0) {
            Fate::AckLost
        } else {
            Fate::Delivered
        }
    }

    fn attempt_ends(&mut self) {
        let mut on_air = self.on_air.take().expect("an attempt is under way");
        let line = self.line(on_air.frame);
        let mut fate = self.fate(&line);
        if let Frame::Down { station, .. } | Frame::Up { station, .. } = on_air.frame {
            self.clients[station as usize].busy += FRAME;
        }
        if matches!(on_air.frame, Frame::Down { station, .. } if self.clients[station as usize].radio != Radio::Awake)
        {
            fate = Fate::Lost;
        }
        let answer = match on_air.frame {
            Frame::Down { station, frame: Downlink::Trigger, .. } if fate == Fate::Delivered => {
                self.answer_to_trigger(station as usize)
            }
            _ => None,
        };
        if answer.is_none() && matches!(on_air.frame, Frame::Down { frame: Downlink::Trigger, .. }) {
            fate = Fate::Lost;
        }
        self.note(if fate == Fate::Delivered { line } else { format!("{line} LOST") });
        if on_air.frame == Frame::Beacon {
            return self.beacon_ends(fate);
        }
        // A frame that is sent again after a lost acknowledgement is a duplicate, and not handed up.
        if fate != Fate::Lost && !on_air.received {
            on_air.received = true;
            self.handed_up(on_air.frame);
        }
        if fate != Fate::Delivered && on_air.attempt < ATTEMPTS {
            on_air.attempt += 1;
            on_air.ends = self.now + FRAME;
            self.on_air = Some(on_air);
            return;
        }
        self.done(on_air.frame, fate == Fate::Delivered);
        if let Some(answer) = answer {
            self.start(answer);
        }
    }

    fn beacon_ends(&mut self, fate: Fate) {
        for station in 0..self.clients.len() {
            if fate == Fate::Delivered && self.clients[station].radio == Radio::Awake {
                let tim = self.ap.tim(station as StationId);
                self.station_input(station as StationId, StationInput::Beacon { tim, group: false });
            }
        }
    }

    fn handed_up(&mut self, frame: Frame) {
        match frame {
            Frame::Beacon => {}
            Frame::Down { frame: Downlink::Trigger, .. } => {}
            Frame::Down { station, frame, flags } => {
                if let Downlink::Packet(packet) = frame {
                    self.clients[station as usize].got.insert(packet);
                }
                if let Downlink::Wake(frame) = frame {
                    return self.station_input(station, StationInput::Wake(frame));
                }
                let null = frame == Downlink::NullData;
                self.station_input(
                    station,
                    StationInput::Received { bytes: if null { 0 } else { 1500 }, flags, null },
                );
                if !null {
                    self.report_flow(station, false);
                }
            }
            Frame::Up { station, frame, pm } => {
                let kind = match frame {
                    Uplink::Data { .. } => UplinkKind::Data,
                    Uplink::Control(PowerSaveFrame::Trigger) => UplinkKind::Trigger,
                    Uplink::Control(PowerSaveFrame::PmNull { .. } | PowerSaveFrame::Wake(_)) => {
                        UplinkKind::Null
                    }
                    Uplink::Control(PowerSaveFrame::PsPoll) => UplinkKind::PsPoll,
                };
                let client = &self.clients[station as usize];
                if client.machine.awaits_trigger() {
                    let waits = client.data.len() > usize::from(kind == UplinkKind::Data);
                    self.ap_input(AccessPointInput::QueueSize { station, waits });
                }
                self.ap_input(AccessPointInput::UplinkReceived { station, pm, kind });
                if let Uplink::Control(PowerSaveFrame::Wake(frame)) = frame {
                    self.ap_input(AccessPointInput::Wake { station, frame });
                }
            }
        }
    }

    fn done(&mut self, frame: Frame, delivered: bool) {
        match frame {
            Frame::Beacon => {}
            Frame::Down { station, frame, .. } => {
                self.ap_input(AccessPointInput::Sent { station, frame, delivered });
            }
            Frame::Up { station, frame, .. } => {
                let client = &mut self.clients[station as usize];
                match frame {
                    Uplink::Control(_) => drop(client.controls.pop_front()),
                    Uplink::Data { .. } => drop(client.data.pop_front()),
                }
                self.station_input(station, StationInput::Sent { frame, delivered });
                if let Uplink::Data { .. } = frame {
                    self.report_backlog(station);
                }
            }
        }
    }
}
