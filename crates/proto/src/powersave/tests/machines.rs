//! What each machine does alone.

use airwatt_base::settings::Settings;
use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, SleepClock, Span};

use super::{ACTIVE, PSM, PSM_LEGACY};
use crate::powersave::*;

#[test]
fn idle_access_point_sends_beacons_and_wakes_for_nothing_else() {
    let make = || {
        let mut ap =
            AccessPointPowerSave::<u32>::new(AccessPointConfig { dtim_period: 3, ..Default::default() });
        ap.add_station(true);
        ap
    };
    let done = check_machine(make, &[], Instant::from_millis(350));
    let beacon = |ms, dtim_count| (Instant::from_millis(ms), AccessPointOutput::Beacon { dtim_count });
    assert_eq!(done, [beacon(0, 0), beacon(100, 2), beacon(200, 1), beacon(300, 0)]);
}

#[test]
fn a_late_driver_gets_one_beacon_and_the_right_count() {
    let mut ap = AccessPointPowerSave::<u32>::new(AccessPointConfig { dtim_period: 3, ..Default::default() });
    ap.handle_timeout(Instant::from_millis(410));
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::Beacon { dtim_count: 2 }));
    assert_eq!(ap.poll_output(), None);
    assert_eq!(ap.poll_timeout().unwrap().at, Instant::from_millis(500));
}

#[test]
fn a_packet_for_a_station_that_is_awake_goes_straight_out() {
    let mut ap = AccessPointPowerSave::<u32>::new(AccessPointConfig::default());
    let station = ap.add_station(true);
    ap.handle_input(AccessPointInput::Deliver { station, packet: 7 }, Instant::ZERO);
    let frame = Downlink::Packet(7);
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::Transmit { station, frame }));
    assert_eq!(ap.flags(station), ServiceFlags::default());
    ap.handle_input(AccessPointInput::Started { station }, Instant::ZERO);
    let sent = AccessPointInput::Sent { station, frame, delivered: false };
    ap.handle_input(sent, Instant::ZERO);
    let lost = AccessPointOutput::Dropped { station, packet: 7, why: Loss::RetryLimit };
    assert_eq!(ap.poll_output(), Some(lost));
}

#[test]
fn every_listed_policy_parses_and_describes_itself() {
    for info in PowerSaveConfig::KINDS {
        let config = PowerSaveConfig::named(info.name).unwrap();
        assert_eq!(config.name(), info.name);
        let uapsd = ["psm", "uapsd", "ba-ta", "ba-ta+str"].contains(&info.name);
        assert_eq!(config.needs_uapsd(), uapsd);
    }
    assert_eq!(
        "psmm".parse::<PowerSaveConfig>().unwrap_err().to_string(),
        r#"expected active, timeout, psm, psm-legacy, uapsd, ba-ta, ba-ta+str, latency-guard, twt, ba-ta-twt or psm-throttling, got "psmm""#
    );
}

/// What each policy cannot do without, by the names that `hide` has.
#[test]
fn policies_say_what_they_need_to_see() {
    let needs = |name: &str| -> Vec<&str> {
        let policy = PowerSaveConfig::named(name).unwrap();
        let is_needed =
            |name: &&str| Observable::named(name).is_some_and(|fact| policy.needs().contains(fact.ability()));
        Observable::NAMES.iter().copied().filter(is_needed).collect()
    };
    for name in ["active", "uapsd", "ba-ta", "ba-ta+str"] {
        assert_eq!(needs(name), [""; 0], "{name}");
    }
    for name in ["timeout", "psm", "latency-guard", "psm-throttling"] {
        assert_eq!(needs(name), ["tim"], "{name}");
    }
    assert_eq!(needs("psm-legacy"), ["service", "tim"]);
}

#[test]
#[should_panic(expected = "psm needs what is hidden")]
fn a_policy_without_what_it_needs_is_refused() {
    StationPowerSave::new(StationConfig { hidden: Abilities::SEE_TIM, ..StationConfig::default() }, PSM);
}

#[test]
fn an_active_station_asks_for_nothing_ever() {
    let make = || StationPowerSave::new(StationConfig::default(), ACTIVE);
    assert_eq!(make().poll_timeout(), None);
    let flags = ServiceFlags::default();
    let inputs = [
        (Instant::from_millis(1), StationInput::Backlog { frames: 1 }),
        (Instant::from_millis(2), StationInput::Received { bytes: 1500, flags, null: false }),
        (Instant::from_millis(3), StationInput::Sent { frame: Uplink::Data { bytes: 52 }, delivered: true }),
        (Instant::from_millis(3), StationInput::Backlog { frames: 0 }),
        (Instant::from_millis(4), StationInput::Beacon { tim: false, group: false }),
    ];
    assert_eq!(check_machine(make, &inputs, Instant::from_secs(10)), []);
    assert!(!make().pm());
}

/// The promise of sleep: an idle hour costs one wake-up for each beacon that is listened to, and no other. (`timeout`
/// falls asleep at 100 ms, when the first of them is already on the air.)
#[test]
fn wakeups_of_an_idle_hour_are_counted_exactly() {
    let cases = [
        ("psm", 1, 36_000),
        ("psm", 10, 3_600),
        ("psm-legacy", 1, 36_000),
        ("timeout", 1, 35_999),
        ("latency-guard", 1, 35_999),
        ("ba-ta", 1, 36_000),
        ("ba-ta+str", 1, 36_000),
        ("psm-throttling", 1, 36_000),
    ];
    for (name, listen_interval, expected) in cases {
        let config = StationConfig { listen_interval, ..StationConfig::default() };
        let mut station = StationPowerSave::new(config, PowerSaveConfig::named(name).unwrap());
        let end = Instant::from_secs(3600);
        while let Some(at) = station.poll_timeout().map(|timeout| timeout.at).filter(|at| *at < end) {
            station.handle_timeout(at);
            let mut awake = false;
            while let Some(output) = station.poll_output() {
                match output {
                    StationOutput::Wake => awake = true,
                    StationOutput::Send(control) => {
                        let frame = Uplink::Control(control);
                        station.handle_input(StationInput::Sent { frame, delivered: true }, at);
                    }
                    StationOutput::Doze => {}
                    StationOutput::MeasureAirTime
                    | StationOutput::Discard
                    | StationOutput::Window(_)
                    | StationOutput::LeaveChannel
                    | StationOutput::ReturnToChannel => {
                        panic!("{name} asks for more than sleep")
                    }
                }
            }
            if awake {
                let beacon = at + config.sleep_clock.guard;
                station.handle_input(StationInput::Awake, at);
                assert!(station.poll_output().is_none(), "{name} stays awake for the beacon");
                station.handle_input(StationInput::Beacon { tim: false, group: false }, beacon);
                assert_eq!(station.poll_output(), Some(StationOutput::Doze));
            }
        }
        let counts = station.counts();
        assert_eq!(counts.wakeups_for(StationTimer::Beacon), expected, "{name}, every {listen_interval}");
        assert_eq!(counts.wakeups().collect::<Vec<_>>(), [("beacon", expected)]);
    }
}

/// The next wake-up is nearer than falling asleep and waking take: the radio stays on.
#[test]
fn no_sleep_that_is_shorter_than_its_transitions() {
    let config = StationConfig {
        wake_time: Span::from_millis(10),
        first_beacon: Instant::from_millis(15),
        ..StationConfig::default()
    };
    let mut station = StationPowerSave::new(config, PSM);
    station.handle_timeout(Instant::ZERO);
    let null = PowerSaveFrame::PmNull { pm: true };
    assert_eq!(station.poll_output(), Some(StationOutput::Send(null)));
    station.handle_input(
        StationInput::Sent { frame: Uplink::Control(null), delivered: true },
        Instant::from_millis(1),
    );
    assert_eq!(station.poll_output(), None, "14 ms are left to the beacon, 20 ms of them in transition");
    let timeout = station.poll_timeout().unwrap();
    assert_eq!((timeout.at, timeout.reason), (Instant::from_micros(4_500), StationTimer::Beacon));
}

/// A sleeping U-APSD station with these packets buffered, and an access point that has just heard its trigger.
fn in_service(packets: std::ops::Range<u32>) -> AccessPointPowerSave<u32> {
    let mut ap = AccessPointPowerSave::new(AccessPointConfig::default());
    let station = ap.add_station(true);
    heard(&mut ap, true, UplinkKind::Null);
    for packet in packets {
        ap.handle_input(AccessPointInput::Deliver { station, packet }, Instant::ZERO);
    }
    assert_eq!(released(&mut ap), []);
    heard(&mut ap, true, UplinkKind::Trigger);
    ap
}

fn heard(ap: &mut AccessPointPowerSave<u32>, pm: bool, kind: UplinkKind) {
    ap.handle_input(AccessPointInput::UplinkReceived { station: 0, pm, kind }, Instant::ZERO);
}

/// What the access point put into the transmission queue since the last call.
fn released(ap: &mut AccessPointPowerSave<u32>) -> Vec<Downlink<u32>> {
    std::iter::from_fn(|| ap.poll_output())
        .filter_map(|output| match output {
            AccessPointOutput::Transmit { frame, .. } => Some(frame),
            _ => None,
        })
        .collect()
}

fn start(ap: &mut AccessPointPowerSave<u32>) -> ServiceFlags {
    let flags = ap.flags(0);
    ap.handle_input(AccessPointInput::Started { station: 0 }, Instant::ZERO);
    flags
}

fn finish(ap: &mut AccessPointPowerSave<u32>, frame: Downlink<u32>, delivered: bool) {
    let sent = AccessPointInput::Sent { station: 0, frame, delivered };
    ap.handle_input(sent, Instant::ZERO);
}

/// Both packets are given up: they come back in their order, ahead of what came later.
/// ```text
/// AP   --0 more x n--  --1 more eosp x n--  (holds 0 1 2)  --0--1--2--
/// STA  (asleep)                                   --trigger--
/// ```
#[test]
fn packets_that_come_back_keep_their_order() {
    let mut ap = in_service(0..2);
    let frames = released(&mut ap);
    for frame in &frames {
        start(&mut ap);
        if *frame == Downlink::Packet(1) {
            ap.handle_input(AccessPointInput::Deliver { station: 0, packet: 2 }, Instant::ZERO);
        }
        finish(&mut ap, *frame, false);
    }
    assert_eq!(released(&mut ap), []);
    assert_eq!(ap.buffered(0), 3);
    heard(&mut ap, true, UplinkKind::Trigger);
    assert_eq!(released(&mut ap), [0, 1, 2].map(Downlink::Packet));
}

/// After a frame missed the station the period takes nothing new: it would only miss the station as well.
#[test]
fn a_period_that_lost_a_frame_is_not_extended() {
    let mut ap = in_service(0..2);
    released(&mut ap);
    start(&mut ap);
    finish(&mut ap, Downlink::Packet(0), false);
    ap.handle_input(AccessPointInput::Deliver { station: 0, packet: 2 }, Instant::ZERO);
    assert_eq!(released(&mut ap), []);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: true, eosp: true });
}

fn room(ap: &mut AccessPointPowerSave<u32>, frames: u32) {
    ap.handle_input(AccessPointInput::Room { frames }, Instant::ZERO);
}

/// Without room for all of the buffer the period goes on: no frame carries EOSP until the last one is released.
#[test]
fn frames_wait_in_the_power_save_buffer_for_room() {
    let mut ap = AccessPointPowerSave::new(AccessPointConfig::default());
    ap.add_station(true);
    heard(&mut ap, true, UplinkKind::Null);
    for packet in 0..3 {
        ap.handle_input(AccessPointInput::Deliver { station: 0, packet }, Instant::ZERO);
    }
    room(&mut ap, 0);
    heard(&mut ap, true, UplinkKind::Trigger);
    assert_eq!((released(&mut ap), ap.tim(0)), (vec![], true));
    room(&mut ap, 1);
    assert_eq!(released(&mut ap), [Downlink::Packet(0)]);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: true, eosp: false });
    finish(&mut ap, Downlink::Packet(0), true);
    ap.handle_input(AccessPointInput::Deliver { station: 0, packet: 3 }, Instant::ZERO);
    assert_eq!(released(&mut ap), []);
    room(&mut ap, 9);
    assert_eq!(released(&mut ap), [1, 2, 3].map(Downlink::Packet));
    let last = [start(&mut ap), start(&mut ap), start(&mut ap)][2];
    assert_eq!(last, ServiceFlags { more_data: false, eosp: true });
}

/// The only released frame is given up while another waits for room: a Null ends the period, and the next one has both.
#[test]
fn a_period_that_lost_a_frame_ends_although_others_wait_for_room() {
    let mut ap = AccessPointPowerSave::new(AccessPointConfig::default());
    ap.add_station(true);
    heard(&mut ap, true, UplinkKind::Null);
    for packet in 0..2 {
        ap.handle_input(AccessPointInput::Deliver { station: 0, packet }, Instant::ZERO);
    }
    room(&mut ap, 1);
    heard(&mut ap, true, UplinkKind::Trigger);
    assert_eq!(released(&mut ap), [Downlink::Packet(0)]);
    start(&mut ap);
    finish(&mut ap, Downlink::Packet(0), false);
    assert_eq!(released(&mut ap), [Downlink::NullData]);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: true, eosp: true });
    finish(&mut ap, Downlink::NullData, true);
    room(&mut ap, 2);
    heard(&mut ap, true, UplinkKind::Trigger);
    assert_eq!(released(&mut ap), [0, 1].map(Downlink::Packet));
}

/// Two stations are served, one by a PS-Poll, when there is room for one frame at a time. The poll gets a single frame.
#[test]
fn stations_that_wait_for_room_take_turns() {
    let mut ap = AccessPointPowerSave::<u32>::new(AccessPointConfig::default());
    for (station, uapsd) in [(0, true), (1, false)] {
        ap.add_station(uapsd);
        let input = AccessPointInput::UplinkReceived { station, pm: true, kind: UplinkKind::Null };
        ap.handle_input(input, Instant::ZERO);
        for packet in 0..2 {
            let packet = packet + 10 * station;
            ap.handle_input(AccessPointInput::Deliver { station, packet }, Instant::ZERO);
        }
    }
    room(&mut ap, 0);
    heard(&mut ap, true, UplinkKind::Trigger);
    let poll = AccessPointInput::UplinkReceived { station: 1, pm: true, kind: UplinkKind::PsPoll };
    ap.handle_input(poll, Instant::ZERO);
    assert_eq!(released(&mut ap), []);
    let mut seen = Vec::new();
    for _ in 0..4 {
        room(&mut ap, 1);
        seen.extend(released(&mut ap));
    }
    assert_eq!(seen, [0, 10, 1].map(Downlink::Packet));
    assert_eq!(ap.buffered(1), 1);
}

/// The frame with EOSP is on the air, perhaps for the second time; it ends the station's period whenever it arrives.
#[test]
fn a_trigger_before_the_end_of_the_period_opens_no_other() {
    let mut ap = in_service(0..1);
    released(&mut ap);
    let flags = start(&mut ap);
    assert!(flags.eosp);
    heard(&mut ap, true, UplinkKind::Data);
    assert_eq!(released(&mut ap), []);
    finish(&mut ap, Downlink::Packet(0), true);
    assert_eq!(released(&mut ap), []);
    heard(&mut ap, true, UplinkKind::Data);
    assert_eq!(released(&mut ap), [Downlink::NullData]);
}

#[test]
fn a_repeated_poll_is_answered_once() {
    let mut ap = AccessPointPowerSave::new(AccessPointConfig::default());
    ap.add_station(false);
    heard(&mut ap, true, UplinkKind::Null);
    for packet in 0..2 {
        ap.handle_input(AccessPointInput::Deliver { station: 0, packet }, Instant::ZERO);
    }
    heard(&mut ap, true, UplinkKind::PsPoll);
    heard(&mut ap, true, UplinkKind::PsPoll);
    assert_eq!(released(&mut ap), [Downlink::Packet(0)]);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: true, eosp: false });
    heard(&mut ap, true, UplinkKind::PsPoll);
    assert_eq!(released(&mut ap), []);
    finish(&mut ap, Downlink::Packet(0), true);
    heard(&mut ap, true, UplinkKind::PsPoll);
    assert_eq!(released(&mut ap), [Downlink::Packet(1)]);
    assert_eq!(start(&mut ap), ServiceFlags::default());
    finish(&mut ap, Downlink::Packet(1), true);
    heard(&mut ap, true, UplinkKind::PsPoll);
    assert_eq!(released(&mut ap), [Downlink::NullData]);
}

/// The announcement of power save is still under way when a frame of the user comes: the frame alone, if it is on the
/// air before the announcement, would leave the access point with PM = 1.
#[test]
fn an_announcement_under_way_is_overtaken_by_another() {
    let timeout = PowerSaveConfig::Timeout(TimeoutConfig { timeout: Some(Span::from_millis(10)) });
    let mut station = StationPowerSave::new(StationConfig::default(), timeout);
    station.handle_timeout(Instant::from_millis(10));
    assert_eq!(station.poll_output(), Some(StationOutput::Send(PowerSaveFrame::PmNull { pm: true })));
    assert!(station.pm());
    station.handle_input(StationInput::Backlog { frames: 1 }, Instant::from_millis(11));
    assert_eq!(station.poll_output(), Some(StationOutput::Send(PowerSaveFrame::PmNull { pm: false })));
    assert!(!station.pm());
    for pm in [true, false] {
        let frame = Uplink::Control(PowerSaveFrame::PmNull { pm });
        station.handle_input(StationInput::Sent { frame, delivered: true }, Instant::from_millis(12));
        assert_eq!(station.poll_output(), None);
    }
}

/// A station of which the access point knows that it sleeps since 1 ms.
fn dozing(config: StationConfig, policy: PowerSaveConfig) -> StationPowerSave {
    let mut station = StationPowerSave::new(config, policy);
    station.handle_timeout(Instant::ZERO);
    let null = PowerSaveFrame::PmNull { pm: true };
    assert_eq!(outputs(&mut station), [StationOutput::Send(null)]);
    let sent = StationInput::Sent { frame: Uplink::Control(null), delivered: true };
    station.handle_input(sent, Instant::from_millis(1));
    assert_eq!(outputs(&mut station), [StationOutput::Doze]);
    station
}

fn outputs(station: &mut StationPowerSave) -> Vec<StationOutput> {
    std::iter::from_fn(|| station.poll_output()).collect()
}

/// Serves the next timeout, which is due at `at`.
#[track_caller]
fn serve(station: &mut StationPowerSave, at: Instant, reason: StationTimer) -> Vec<StationOutput> {
    let timeout = station.poll_timeout().expect("a timer runs");
    assert_eq!((timeout.at, timeout.reason), (at, reason));
    station.handle_timeout(at);
    outputs(station)
}

/// ```text
/// STA  --trigger--  |period ...  (trigger due: left out)  ... eosp|  20 ms  --trigger--
/// ```
#[test]
fn a_scheduled_trigger_within_a_period_waits_for_its_end() {
    let ms = Instant::from_millis;
    let mut station = dozing(
        StationConfig::default(),
        PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(20) }),
    );
    let woken = serve(&mut station, ms(21), StationTimer::Trigger);
    assert_eq!(woken, [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(21));
    assert_eq!(outputs(&mut station), [StationOutput::Send(PowerSaveFrame::Trigger)]);
    let frame = Uplink::Control(PowerSaveFrame::Trigger);
    station.handle_input(StationInput::Sent { frame, delivered: true }, ms(22));
    assert!(station.in_service());
    assert_eq!(serve(&mut station, ms(42), StationTimer::Trigger), []);
    let flags = ServiceFlags { more_data: false, eosp: true };
    station.handle_input(StationInput::Received { bytes: 1500, flags, null: false }, ms(50));
    assert_eq!(outputs(&mut station), [StationOutput::Doze]);
    assert_eq!(serve(&mut station, ms(70), StationTimer::Trigger), [StationOutput::Wake]);
}

/// The radio wakes up for a trigger when the user's frame comes: that one triggers, and no QoS Null is spent.
#[test]
fn a_trigger_yields_to_a_frame_that_comes_while_the_radio_wakes_up() {
    let config = StationConfig { first_beacon: Instant::from_millis(100), ..StationConfig::default() };
    let mut station = dozing(config, PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(20) }));
    let at = Instant::from_millis(21);
    assert_eq!(serve(&mut station, at, StationTimer::Trigger), [StationOutput::Wake]);
    station.handle_input(StationInput::Backlog { frames: 1 }, at);
    station.handle_input(StationInput::Awake, at + Span::from_micros(300));
    assert_eq!(outputs(&mut station), []);
    assert_eq!(station.counts().triggers, 0);
}

/// Every third beacon is heard; the one after a missed one is, whatever its number.
#[test]
fn after_a_missed_beacon_the_very_next_is_heard() {
    let ms = Instant::from_millis;
    let config = StationConfig {
        listen_interval: 3,
        sleep_clock: SleepClock::fixed(Span::ZERO),
        ..StationConfig::default()
    };
    let mut station = dozing(config, PSM);
    assert_eq!(serve(&mut station, ms(300), StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(300));
    assert_eq!(serve(&mut station, ms(310), StationTimer::BeaconWindow), [StationOutput::Doze]);
    assert_eq!(serve(&mut station, ms(400), StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(400));
    station.handle_input(StationInput::Beacon { tim: false, group: false }, ms(401));
    assert_eq!(outputs(&mut station), [StationOutput::Doze]);
    assert_eq!(serve(&mut station, ms(600), StationTimer::Beacon), [StationOutput::Wake]);
    assert_eq!(station.counts().beacons_missed, 1);
}

/// The guard grows with the time since the last beacon: 1 ms over a second of noise is 1 ms x sqrt(T / 1 s), so 0.5 ms before the
/// first beacon at 250 ms and 0.866 ms before one three intervals after the last. A missed beacon makes it grow further.
#[test]
fn the_guard_grows_with_the_time_slept() {
    let ms = Instant::from_millis;
    let interval = Span::from_millis(250);
    let sleep_clock = SleepClock { guard: Span::ZERO, accuracy_ppb: 0, wander_ppb: 1_000_000 };
    let config = StationConfig {
        beacon_interval: interval,
        first_beacon: ms(250),
        sleep_clock,
        ..StationConfig::default()
    };
    let mut station = dozing(config, PSM);
    let next = |station: &StationPowerSave| station.poll_timeout().unwrap().at;
    let at = ms(250) - Span::from_micros(500);
    assert_eq!(next(&station), at);
    assert_eq!(serve(&mut station, at, StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(250));
    station.handle_input(StationInput::Beacon { tim: false, group: false }, ms(250));
    assert_eq!(outputs(&mut station), [StationOutput::Doze]);
    let at = ms(500) - Span::from_micros(500);
    assert_eq!(next(&station), at);
    assert_eq!(serve(&mut station, at, StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(500));
    assert_eq!(serve(&mut station, ms(510), StationTimer::BeaconWindow), [StationOutput::Doze]);
    // sqrt(0.5 s) x 1 ms
    assert_eq!(next(&station), ms(750) - Span::from_nanos(707_106));
}

/// The radio stays awake for its minimum time after the target time of a beacon, also if the beacon ends before.
#[test]
fn a_radio_stays_awake_for_its_minimum_time() {
    let ms = Instant::from_millis;
    let config = StationConfig {
        first_beacon: ms(100),
        min_awake: Span::from_millis(2),
        sleep_clock: SleepClock::fixed(Span::from_millis(1)),
        ..StationConfig::default()
    };
    let mut station = dozing(config, PSM);
    assert_eq!(serve(&mut station, ms(99), StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(99));
    station.handle_input(StationInput::Beacon { tim: false, group: false }, ms(101));
    assert_eq!(outputs(&mut station), []);
    assert_eq!(serve(&mut station, ms(102), StationTimer::MinimumAwake), [StationOutput::Doze]);
    assert_eq!(serve(&mut station, ms(199), StationTimer::Beacon), [StationOutput::Wake]);
    station.handle_input(StationInput::Awake, ms(199));
    station.handle_input(StationInput::Beacon { tim: false, group: false }, ms(203));
    assert_eq!(outputs(&mut station), [StationOutput::Doze], "a late beacon leaves nothing to wait for");
}

/// DTIM beacons are heard besides those of the listen interval: every third and every tenth.
#[test]
fn who_receives_group_frames_wakes_for_every_dtim() {
    let ms = Instant::from_millis;
    let config = StationConfig {
        listen_interval: 10,
        dtim_period: Some(3),
        sleep_clock: SleepClock::fixed(Span::ZERO),
        ..StationConfig::default()
    };
    assert_eq!(config.listening_interval(), Span::from_millis(300));
    let mut station = dozing(config, PSM_LEGACY);
    for beacon in [300, 600, 900, 1_000, 1_200] {
        assert_eq!(serve(&mut station, ms(beacon), StationTimer::Beacon), [StationOutput::Wake]);
        station.handle_input(StationInput::Awake, ms(beacon));
        station.handle_input(StationInput::Beacon { tim: false, group: false }, ms(beacon + 1));
        assert_eq!(outputs(&mut station), [StationOutput::Doze]);
    }
}

#[test]
fn options_of_every_policy_are_checked() {
    for info in PowerSaveConfig::KINDS {
        PowerSaveConfig::named(info.name).unwrap().check().unwrap();
    }
    let throttling = PsmThrottlingConfig { quiet: Span::from_secs(2), ..PsmThrottlingConfig::default() };
    let cases = [
        (
            PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::ZERO }),
            "interval: expected 1ms to 10s, got 0s",
        ),
        (
            PowerSaveConfig::BaTaStr(BaTaStrConfig {
                ba_ta: BaTaConfig { n_max: 0, ..BaTaConfig::default() },
                ..BaTaStrConfig::default()
            }),
            "n_max: expected 1 to 1000, got 0",
        ),
        (PowerSaveConfig::PsmThrottling(throttling), "quiet: expected 1ms to 1s, got 2s"),
    ];
    for (policy, expected) in cases {
        assert_eq!(policy.check().unwrap_err().to_string(), expected);
    }
}

/// An update that nobody answers with the air time does not stop the controller.
#[test]
fn a_driver_without_air_time_is_no_deadlock() {
    let config = BaTaConfig { n_max: 1, count_max: 1, ratio_min: Ratio::ONE, ..BaTaConfig::default() };
    let mut station = StationPowerSave::new(StationConfig::default(), PowerSaveConfig::BaTa(config));
    let flags = ServiceFlags { more_data: false, eosp: true };
    let mut now = Instant::ZERO;
    let mut asked = 0;
    for step in 0..4_000_u64 {
        now = Instant::from_millis(step);
        station.handle_timeout(now);
        let mut sent = Vec::new();
        while let Some(output) = station.poll_output() {
            match output {
                StationOutput::Send(control) => {
                    sent.push(StationInput::Sent { frame: Uplink::Control(control), delivered: true })
                }
                StationOutput::Wake => sent.push(StationInput::Awake),
                StationOutput::MeasureAirTime => asked += 1,
                StationOutput::Doze
                | StationOutput::Discard
                | StationOutput::LeaveChannel
                | StationOutput::ReturnToChannel
                | StationOutput::Window(_) => {}
            }
        }
        if step < 2_000 && station.is_awake() {
            let bytes = if step % 400 < 200 { 1500 } else { 100 };
            sent.push(StationInput::Received { bytes, flags, null: false });
        }
        for input in sent {
            station.handle_input(input, now);
        }
    }
    assert!(asked > 2, "active mode was entered and its air time asked for");
    assert!(station.pm(), "and left, at {now}");
}

/// The station falls asleep with packet 0 on the air and 1 and 2 behind it: those are recalled, 0 is given up, 3 comes later.
/// All are released in the order in which they came.
#[test]
fn frames_that_missed_the_station_keep_their_order() {
    let mut ap = AccessPointPowerSave::<u32>::new(AccessPointConfig::default());
    let station = ap.add_station(true);
    let deliver = |ap: &mut AccessPointPowerSave<u32>, packet| {
        ap.handle_input(AccessPointInput::Deliver { station, packet }, Instant::ZERO);
    };
    (0..3).for_each(|packet| deliver(&mut ap, packet));
    released(&mut ap);
    start(&mut ap);
    heard(&mut ap, true, UplinkKind::Null);
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::Recall { station }));
    assert_eq!(ap.poll_output(), None);
    for packet in 1..3 {
        let frame = Downlink::Packet(packet);
        ap.handle_input(AccessPointInput::Recalled { station, frame }, Instant::ZERO);
    }
    deliver(&mut ap, 3);
    finish(&mut ap, Downlink::Packet(0), false);
    assert_eq!((ap.buffered(station), ap.released(station), ap.tim(station)), (4, 0, true));
    heard(&mut ap, false, UplinkKind::Null);
    assert_eq!(released(&mut ap), (0..4).map(Downlink::Packet).collect::<Vec<_>>());
}

/// The queue drops the second of two frames when the first has started without EOSP: a Null carries it.
/// ```text
/// AP   --0+--  (1 dropped)  --null e--
/// ```
#[test]
fn a_period_whose_last_frame_is_dropped_late_ends_with_a_null() {
    let mut ap = in_service(0..2);
    assert_eq!(released(&mut ap), [0, 1].map(Downlink::Packet));
    assert_eq!(start(&mut ap), ServiceFlags { more_data: true, eosp: false });
    ap.handle_input(AccessPointInput::Refused { station: 0 }, Instant::ZERO);
    assert_eq!(released(&mut ap), [Downlink::NullData]);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: false, eosp: true });
    finish(&mut ap, Downlink::Packet(0), true);
    finish(&mut ap, Downlink::NullData, true);
    assert_eq!(ap.released(0), 0);
}

/// The frame with EOSP of a period that PM = 0 ended, still on the air, must not end the next one.
#[test]
fn an_old_end_of_period_does_not_end_a_new_one() {
    let mut ap = in_service(0..1);
    released(&mut ap);
    start(&mut ap);
    heard(&mut ap, false, UplinkKind::Null);
    heard(&mut ap, true, UplinkKind::Trigger);
    assert_eq!(released(&mut ap), [Downlink::NullData]);
    finish(&mut ap, Downlink::Packet(0), true);
    assert_eq!(start(&mut ap), ServiceFlags { more_data: false, eosp: true });
}

/// While a station is in power save, group-addressed packets wait for the DTIM beacon, as many as the buffer holds.
#[test]
fn group_addressed_packets_wait_for_a_dtim_beacon_while_a_station_is_in_power_save() {
    let config = AccessPointConfig { power_save_buffer: 2, dtim_period: 2, ..AccessPointConfig::default() };
    let mut ap = AccessPointPowerSave::<u32>::new(config);
    let station = ap.add_station(false);
    let now = Instant::from_millis(1);
    let deliver = |ap: &mut AccessPointPowerSave<u32>, packet| {
        ap.handle_input(AccessPointInput::DeliverGroup { packet }, now);
        ap.poll_output()
    };
    assert_eq!(deliver(&mut ap, 1), Some(AccessPointOutput::TransmitGroup { packet: 1 }));
    ap.handle_input(AccessPointInput::UplinkReceived { station, pm: true, kind: UplinkKind::Null }, now);
    assert!(!ap.group_bit());
    assert_eq!(deliver(&mut ap, 2), None);
    assert_eq!(deliver(&mut ap, 3), None);
    assert_eq!(deliver(&mut ap, 4), Some(AccessPointOutput::DroppedGroup { packet: 4 }));
    assert!(ap.group_bit());
    ap.handle_input(AccessPointInput::BeaconSent { group: false }, now);
    assert_eq!(ap.poll_output(), None);
    ap.handle_input(AccessPointInput::BeaconSent { group: true }, now);
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::TransmitGroup { packet: 2 }));
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::TransmitGroup { packet: 3 }));
    assert_eq!((ap.poll_output(), ap.group_bit()), (None, false));
}

/// A station stays awake after a beacon with the group bit until More Data is clear, or for the wait for a frame after the last
/// frame that it received.
#[test]
fn a_station_stays_awake_for_group_addressed_frames() {
    let ms = Instant::from_millis;
    let config = StationConfig { sleep_clock: SleepClock::fixed(Span::ZERO), ..StationConfig::default() };
    let mut station = dozing(config, PSM);
    let beacon = |station: &mut StationPowerSave, at| {
        assert_eq!(serve(station, at, StationTimer::Beacon), [StationOutput::Wake]);
        station.handle_input(StationInput::Awake, at);
        station.handle_input(StationInput::Beacon { tim: false, group: true }, at);
        assert_eq!((outputs(station), station.purpose()), (vec![], Purpose::Group));
    };
    let receive = |station: &mut StationPowerSave, more_data, at| {
        station.handle_input(StationInput::Group { more_data }, at);
        outputs(station)
    };
    beacon(&mut station, ms(100));
    assert_eq!(receive(&mut station, true, ms(102)), []);
    assert_eq!(receive(&mut station, false, ms(103)), [StationOutput::Doze]);
    beacon(&mut station, ms(200));
    assert_eq!(receive(&mut station, true, ms(202)), []);
    assert_eq!(serve(&mut station, ms(252), StationTimer::GroupFrames), [StationOutput::Doze]);
    assert_eq!(receive(&mut station, true, ms(253)), [], "nothing is expected any more");
}
