//! Where an access point places the service periods of target wake time agreements. Beacons come each 102.4 ms from 0 on.

use airwatt_base::{Instant, Machine, Span};
use proptest::prelude::*;

use super::ladders::ms;
use crate::powersave::{
    AccessPointConfig, AccessPointInput, AccessPointOutput, AccessPointPowerSave, Downlink, StationId,
    WakeAgreement, WakeAnswer, WakeFrame, WakeLimits, WakeProposal, WakeRequest,
};

/// Stations and their access point, whose answers wait until they are said to be sent.
struct Cell {
    ap: AccessPointPowerSave<u32>,
    now: Instant,
    token: u8,
    /// Answers that wait, the oldest first.
    answers: Vec<(StationId, WakeFrame)>,
    /// By station: what holds, or is on its way.
    held: Vec<Option<WakeAgreement>>,
}

impl Cell {
    fn new(stations: usize) -> Self {
        Self::with(WakeLimits::default(), stations)
    }

    fn with(wakes: WakeLimits, stations: usize) -> Self {
        let beacon_interval = Span::from_micros(102_400);
        let config = AccessPointConfig { beacon_interval, wakes, ..AccessPointConfig::default() };
        let mut ap = AccessPointPowerSave::new(config);
        for _ in 0..stations {
            ap.add_station(false);
        }
        Self { ap, now: ms(1), token: 0, answers: Vec::new(), held: vec![None; stations] }
    }

    /// A station asks; its answer waits.
    fn ask(&mut self, station: StationId, request: WakeRequest) -> WakeAnswer {
        self.token = self.token.wrapping_add(1);
        let proposal = WakeProposal { request, start: None };
        let frame = WakeFrame::Request { token: self.token, proposal };
        self.ap.handle_input(AccessPointInput::Wake { station, frame }, self.now);
        let Some(AccessPointOutput::Transmit { frame: Downlink::Wake(frame), .. }) = self.ap.poll_output()
        else {
            panic!("no answer")
        };
        let WakeFrame::Answer { answer, .. } = frame else { panic!("{frame:?}") };
        self.answers.retain(|(other, _)| *other != station);
        self.answers.push((station, frame));
        self.held[station as usize] = match answer {
            WakeAnswer::Accept(agreement) => Some(agreement),
            _ => None,
        };
        answer
    }

    /// The oldest answer is done.
    fn send(&mut self, delivered: bool) {
        if self.answers.is_empty() {
            return;
        }
        let (station, frame) = self.answers.remove(0);
        let frame = Downlink::Wake(frame);
        self.ap.handle_input(AccessPointInput::Started { station }, self.now);
        self.ap.handle_input(AccessPointInput::Sent { station, frame, delivered }, self.now);
        if !delivered {
            self.held[station as usize] = None;
        }
    }

    fn tear_down(&mut self, station: StationId) {
        self.ap.handle_input(
            AccessPointInput::Wake { station, frame: WakeFrame::Teardown { broadcast: false } },
            self.now,
        );
        self.held[station as usize] = None;
    }
}

/// In units of 256 us.
fn request(interval: u64, duration: u64) -> WakeRequest {
    let units = |count| Span::from_micros(256) * count;
    WakeRequest::nearest(units(interval), units(duration), true)
}

/// A beacon interval.
const BEACONS: u64 = 400;

fn first(answer: WakeAnswer) -> u64 {
    match answer {
        WakeAnswer::Accept(agreement) => agreement.first.as_nanos() / 1_000,
        other => panic!("{other:?}"),
    }
}

/// Three stations ask before the first of them has its answer: periods begin at 51.2 ms, and 16.384 ms behind each other. The answer to the
/// second one is lost, and it asks again: its time is free. So is that of the first one after its teardown, at 1 s, for the next period
/// between two beacons: 51.2 ms behind the tenth.
#[test]
fn times_are_taken_from_the_answer_on() {
    let mut cell = Cell::new(4);
    let asked: Vec<u64> = (0..3).map(|station| first(cell.ask(station, request(BEACONS, 64)))).collect();
    assert_eq!(asked, [51_200, 67_584, 83_968]);
    cell.send(true);
    cell.send(false);
    assert_eq!(first(cell.ask(1, request(BEACONS, 64))), 67_584);
    cell.send(true);
    cell.send(true);
    cell.now = ms(1_000);
    cell.tear_down(0);
    assert_eq!(first(cell.ask(3, request(BEACONS, 64))), 1_075_200);
    assert_eq!(first(cell.ask(0, request(BEACONS, 64))), 1_075_200 + 3 * 16_384);
}

/// The schedule's first period begins at 50 time units, 51.2 ms. Two stations share its periods of four beacon intervals, which count as nobody's
/// agreement; the one agreement that the access point accepts begins behind them, and who leaves the schedule may have that.
#[test]
fn a_schedule_is_for_all_who_join_it() {
    let schedule = WakeRequest { broadcast: true, ..request(4 * BEACONS, 64) };
    let joins = WakeRequest { broadcast: true, ..request(7, 1) };
    let mut cell =
        Cell::with(WakeLimits { schedule: Some(schedule), agreements: 1, ..WakeLimits::default() }, 4);
    assert_eq!(first(cell.ask(0, joins)), 51_200);
    cell.now = ms(60);
    let WakeAnswer::Accept(agreement) = cell.ask(1, joins) else { panic!("refused") };
    assert_eq!((agreement.request, agreement.first), (schedule, Instant::from_micros(51_200 + 409_600)));
    (0..2).for_each(|_| cell.send(true));
    assert_eq!(first(cell.ask(2, request(BEACONS, 64))), 153_600 + 16_384);
    cell.send(true);
    assert_eq!(cell.ask(3, request(BEACONS, 64)), WakeAnswer::Reject(request(BEACONS, 64)));
    cell.tear_down(2);
    assert_eq!(first(cell.ask(1, request(BEACONS, 64))), 153_600 + 16_384);
    let mut without = Cell::new(1);
    assert_eq!(without.ask(0, joins), WakeAnswer::Reject(joins));
}

/// Every 102.4 ms six periods of 16.384 ms fit. The seventh begins as far behind 51.2 ms as the six last together.
#[test]
fn a_period_that_finds_no_room_begins_behind_all_others() {
    let mut cell = Cell::new(7);
    let starts = (0..7).map(|station| first(cell.ask(station, request(BEACONS, 64))));
    assert_eq!(starts.collect::<Vec<_>>()[5..], [133_120, 149_504]);
}

/// The least common multiple of [`INTERVALS`].
const CIRCLE: usize = 4_800;
const INTERVALS: [u64; 6] = [160, 200, 320, 400, 480, 800];

/// The units that an agreement takes on the circle.
fn units(agreement: &WakeAgreement) -> impl Iterator<Item = usize> + use<> {
    let units = |span: Span| (span.as_nanos() / 256_000) as usize;
    let (every, long) = (units(agreement.request.interval), units(agreement.request.duration));
    let begin = units(agreement.first.saturating_since(Instant::ZERO));
    let periods = 0..CIRCLE / every;
    periods.flat_map(move |period| (0..long).map(move |unit| (begin + period * every + unit) % CIRCLE))
}

/// Whether a period of so many units fits between those that are taken.
fn has_room(taken: &[bool], every: usize, long: usize) -> bool {
    let is_free = |unit: usize| taken.iter().skip(unit).step_by(every).all(|taken| !taken);
    let free: Vec<bool> = (0..every).map(is_free).collect();
    let mut run = 0;
    (0..every + long).any(|unit| {
        run = if free[unit % every] { run + 1 } else { 0 };
        run >= long
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask { station: StationId, interval: u64, duration: u64 },
    Send { delivered: bool },
    TearDown { station: StationId },
    Wait { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let station = || 0..12_u32;
    prop_oneof![
        4 => (station(), proptest::sample::select(&INTERVALS[..]), 64_u64..100)
            .prop_map(|(station, interval, duration)| Step::Ask { station, interval, duration }),
        3 => proptest::bool::weighted(0.8).prop_map(|delivered| Step::Send { delivered }),
        1 => station().prop_map(|station| Step::TearDown { station }),
        1 => (0_u64..2_000).prop_map(|ms| Step::Wait { ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// As long as there is room, the periods of two agreements never share time.
    #[test]
    fn no_periods_meet_while_there_is_room(plan in proptest::collection::vec(step(), 1..60)) {
        let mut cell = Cell::new(12);
        for step in plan {
            match step {
                Step::Send { delivered } => cell.send(delivered),
                Step::TearDown { station } => cell.tear_down(station),
                Step::Wait { ms } => cell.now += Span::from_millis(ms),
                Step::Ask { station, interval, duration } => {
                    let mut taken = vec![false; CIRCLE];
                    let others = (0..).zip(&cell.held).filter(|(other, _)| *other != station);
                    others.filter_map(|(_, held)| held.as_ref()).flat_map(units).for_each(|at| taken[at] = true);
                    let fits = has_room(&taken, interval as usize, duration as usize);
                    let request = request(interval, duration);
                    let WakeAnswer::Accept(agreement) = cell.ask(station, request) else {
                        panic!("there are fewer than 16 agreements")
                    };
                    prop_assert!(agreement.first >= cell.now);
                    prop_assert_eq!(units(&agreement).all(|at| !taken[at]), fits);
                }
            }
        }
    }
}
