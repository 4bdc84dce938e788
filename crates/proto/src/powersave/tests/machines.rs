//! What each machine does alone.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Span};

use crate::powersave::*;

#[test]
fn idle_access_point_sends_beacons_and_wakes_for_nothing_else() {
    let make = || {
        let mut ap = AccessPoint::<u32>::new(AccessPointConfig { dtim_period: 3, ..Default::default() });
        ap.add_station(true);
        ap
    };
    let done = check_machine(make, &[], Instant::from_millis(350));
    let beacon = |ms, dtim_count| (Instant::from_millis(ms), AccessPointOutput::Beacon { dtim_count });
    assert_eq!(done, [beacon(0, 0), beacon(100, 2), beacon(200, 1), beacon(300, 0)]);
}

#[test]
fn a_late_driver_gets_one_beacon_and_the_right_count() {
    let mut ap = AccessPoint::<u32>::new(AccessPointConfig { dtim_period: 3, ..Default::default() });
    ap.handle_timeout(Instant::from_millis(410));
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::Beacon { dtim_count: 2 }));
    assert_eq!(ap.poll_output(), None);
    assert_eq!(ap.poll_timeout().unwrap().at, Instant::from_millis(500));
}

#[test]
fn a_packet_for_a_station_that_is_awake_goes_straight_out() {
    let mut ap = AccessPoint::<u32>::new(AccessPointConfig::default());
    let station = ap.add_station(true);
    ap.handle_input(AccessPointInput::Deliver { station, packet: 7 }, Instant::ZERO);
    let frame = Downlink::Packet(7);
    assert_eq!(ap.poll_output(), Some(AccessPointOutput::Transmit { station, frame }));
    assert_eq!(ap.flags(station), ServiceFlags::default());
    ap.handle_input(AccessPointInput::Started { station }, Instant::ZERO);
    let sent = AccessPointInput::Sent { station, frame, flags: ServiceFlags::default(), delivered: false };
    ap.handle_input(sent, Instant::ZERO);
    let lost = AccessPointOutput::Dropped { station, packet: 7, why: Loss::RetryLimit };
    assert_eq!(ap.poll_output(), Some(lost));
}

#[test]
fn every_listed_policy_parses_and_describes_itself() {
    for info in Policy::NAMES {
        let config = PolicyConfig::parse(info.name).unwrap();
        assert_eq!((config.name(), config.needs_uapsd()), (info.name, info.needs_uapsd));
        assert_eq!(config.to_string(), info.name);
        assert_eq!(Station::new(StationConfig::default(), config).uapsd(), info.needs_uapsd);
    }
    assert_eq!(
        "psmm".parse::<PolicyConfig>().unwrap_err().to_string(),
        r#""psmm" is not a power-save policy; allowed are active, timeout, psm, psm-legacy, uapsd"#
    );
}

#[test]
fn an_active_station_asks_for_nothing_ever() {
    let make = || Station::new(StationConfig::default(), PolicyConfig::Active);
    assert_eq!(make().poll_timeout(), None);
    let flags = ServiceFlags::default();
    let inputs = [
        (Instant::from_millis(1), StationInput::Backlog { frames: 1 }),
        (Instant::from_millis(2), StationInput::Received { bytes: 1500, flags, null: false }),
        (Instant::from_millis(3), StationInput::Sent { frame: Uplink::Data { bytes: 52 }, delivered: true }),
        (Instant::from_millis(3), StationInput::Backlog { frames: 0 }),
        (Instant::from_millis(4), StationInput::Beacon { tim: false }),
    ];
    assert_eq!(check_machine(make, &inputs, Instant::from_secs(10)), []);
    assert!(!make().pm());
}

/// The promise of sleep: an idle hour costs one wake-up for each beacon that is listened to, and no other. (`timeout`
/// falls asleep at 100 ms, when the first of them is already on the air.)
#[test]
fn wakeups_of_an_idle_hour_are_counted_exactly() {
    let cases = [("psm", 1, 36_000), ("psm", 10, 3_600), ("psm-legacy", 1, 36_000), ("timeout", 1, 35_999)];
    for (name, listen_interval, expected) in cases {
        let config = StationConfig { listen_interval, ..StationConfig::default() };
        let mut station = Station::new(config, PolicyConfig::parse(name).unwrap());
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
                }
            }
            if awake {
                let beacon = at + config.wake_guard;
                station.handle_input(StationInput::Awake, at);
                assert!(station.poll_output().is_none(), "{name} stays awake for the beacon");
                station.handle_input(StationInput::Beacon { tim: false }, beacon);
                assert_eq!(station.poll_output(), Some(StationOutput::Doze));
            }
        }
        let counts = station.counts();
        assert_eq!(counts.wakeups_for(StationTimer::Beacon), expected, "{name}, every {listen_interval}");
        assert_eq!(counts.wakeups_total(), expected);
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
    let mut station = Station::new(config, PolicyConfig::Psm);
    station.handle_timeout(Instant::ZERO);
    let null = Control::PmNull { pm: true };
    assert_eq!(station.poll_output(), Some(StationOutput::Send(null)));
    station.handle_input(
        StationInput::Sent { frame: Uplink::Control(null), delivered: true },
        Instant::from_millis(1),
    );
    assert_eq!(station.poll_output(), None, "14 ms are left to the beacon, 20 ms of them in transition");
    let timeout = station.poll_timeout().unwrap();
    assert_eq!((timeout.at, timeout.reason), (Instant::from_micros(4_500), StationTimer::Beacon));
}
