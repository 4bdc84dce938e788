//! Frame ladders of target wake time. Times are those of the other [ladders](super::ladders); the first service period begins at
//! 150 ms, half a beacon interval behind the first beacon, and the others 200 ms after each other. They last 8.192 ms.

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Machine, Span};

use super::air::{Air, station_config};
use super::ladders::{expect, ms};
use crate::powersave::{
    AccessPointConfig, AccessPointInput, AccessPointOutput, AccessPointPowerSave, Downlink, OutsidePeriods,
    PowerSaveConfig, PowerSaveFrame, StationInput, StationOutput, StationPowerSave, TwtConfig, Uplink,
    WakeAgreement, WakeAnswer, WakeDevice, WakeFrame, WakeLimits, WakeProposal, WakeRequest,
};

fn config(announced: bool, early_end: bool) -> TwtConfig {
    TwtConfig {
        interval: Span::from_millis(200),
        duration: Span::from_micros(8_192),
        announced,
        early_end: Some(early_end),
        ..TwtConfig::default()
    }
}

fn twt(announced: bool, early_end: bool) -> PowerSaveConfig {
    PowerSaveConfig::Twt(config(announced, early_end))
}

/// A cell at 140 ms, after a beacon that nobody has received. So many packets come 1 ms later.
fn asleep(policy: PowerSaveConfig, packets: u32) -> Air {
    let mut air = Air::new(10, 100, &[policy]);
    air.run_until(ms(140));
    assert!(!air.log.iter().any(|line| line.ends_with("beacon s0")), "{:?}", air.log);
    air.log.clear();
    for packet in 0..packets {
        air.down(141_000, 0, packet);
    }
    air
}

/// The station is awake 0.5 ms before the period, announces itself, and sleeps at EOSP.
#[test]
fn in_an_announced_period_the_station_speaks_first() {
    let mut air = asleep(twt(true, true), 2);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 0 more",
            "151.5 ap>s0 1 eosp",
            "151.5 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "350.5 s0>ap trigger pm=1",
            "351.0 ap>s0 null eosp",
            "351.0 s0 dozes",
        ],
    );
}

/// Nothing is sent before the period; the access point begins it. With nothing to send the station is awake to its end.
#[test]
fn in_an_unannounced_period_the_access_point_speaks_first() {
    let mut air = asleep(twt(false, true), 2);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 0 more",
            "151.0 ap>s0 1 eosp",
            "151.0 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "358.1 s0 dozes",
        ],
    );
}

fn triggered(announced: bool) -> PowerSaveConfig {
    PowerSaveConfig::Twt(TwtConfig { trigger_enabled: true, ..config(announced, true) })
}

/// In a trigger-enabled period the access point polls the station, which answers with a QoS Null if it has nothing to send. Only then does
/// what waits follow if the agreement is announced.
#[test]
fn in_a_trigger_enabled_period_the_access_point_polls() {
    let mut air = asleep(triggered(true), 2);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 poll",
            "151.0 s0>ap trigger pm=1",
            "151.5 ap>s0 0 more",
            "152.0 ap>s0 1 eosp",
            "152.0 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "350.5 ap>s0 poll",
            "351.0 s0>ap trigger pm=1",
            "351.5 ap>s0 null eosp",
            "351.5 s0 dozes",
        ],
    );
}

/// Two frames of the user wait for the period without waking the radio, and are polled one by one. The first one says that another waits, so that
/// EOSP waits for that.
#[test]
fn frames_of_the_user_wait_for_polls() {
    for announced in [true, false] {
        let mut air = asleep(triggered(announced), 0);
        air.up(141_000, 0, 7);
        air.up(142_000, 0, 8);
        air.run_until(ms(190));
        expect(
            &air,
            &[
                "149.2 s0 wakes",
                "150.5 ap>s0 poll",
                "151.0 s0>ap data pm=1",
                "151.5 ap>s0 poll",
                "152.0 s0>ap data pm=1",
                "152.5 ap>s0 null eosp",
                "152.5 s0 dozes",
            ],
        );
    }
}

/// A poll that does not arrive is repeated. When all four attempts are lost, the station sleeps with its frame at the end of the period, receives
/// a beacon for the time, and sends the frame in the next one.
#[test]
fn a_poll_that_is_lost_is_repeated() {
    let mut air = asleep(triggered(true), 0);
    air.script = vec![("ap>s0 poll", 1)];
    air.up(141_000, 0, 7);
    air.run_until(ms(190));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 poll LOST",
            "151.0 ap>s0 poll",
            "151.5 s0>ap data pm=1",
            "152.0 ap>s0 null eosp",
            "152.0 s0 dozes",
        ],
    );
    air.log.clear();
    air.script = vec![("ap>s0 poll", 4)];
    air.up(341_000, 0, 8);
    air.run_until(ms(590));
    let frames: Vec<&str> =
        air.log.iter().filter(|line| !line.ends_with("beacon")).map(String::as_str).collect();
    assert_eq!(
        frames,
        [
            "349.2 s0 wakes",
            "350.5 ap>s0 poll LOST",
            "351.0 ap>s0 poll LOST",
            "351.5 ap>s0 poll LOST",
            "352.0 ap>s0 poll LOST",
            "358.1 s0 dozes",
            "399.2 s0 wakes",
            "400.2 s0 dozes",
            "549.2 s0 wakes",
            "550.5 ap>s0 poll",
            "551.0 s0>ap data pm=1",
            "551.5 ap>s0 null eosp",
            "551.5 s0 dozes",
        ]
    );
}

/// An announced period is one of service once the station has spoken in it.
#[test]
fn a_period_in_which_no_poll_arrives_is_none_of_service() {
    for (lost, periods) in [(4, 0), (3, 1)] {
        let mut air = asleep(triggered(true), 0);
        air.script = vec![("ap>s0 poll", lost)];
        air.up(141_000, 0, 7);
        air.run_until(ms(190));
        assert_eq!(air.clients[0].machine.counts().periods, periods, "{:?}", air.log);
    }
}

/// A device that does not honour EOSP is awake for the whole duration.
#[test]
fn without_early_end_the_station_is_awake_to_the_end() {
    let mut air = asleep(twt(true, false), 1);
    air.run_until(ms(160));
    expect(&air, &["149.2 s0 wakes", "150.5 s0>ap trigger pm=1", "151.0 ap>s0 0 eosp", "158.1 s0 dozes"]);
}

/// Of ten frames that take 0.5 ms each, eight arrive within 4.096 ms. One more has begun when the station falls asleep, at the end of the
/// period, and is repeated in vain. It and the last one come in the next period, in their order.
#[test]
fn what_does_not_fit_waits_for_the_next_period() {
    let short = TwtConfig { duration: Span::from_micros(4_096), ..config(false, true) };
    let mut air = asleep(PowerSaveConfig::Twt(short), 10);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 0 more",
            "151.0 ap>s0 1 more",
            "151.5 ap>s0 2 more",
            "152.0 ap>s0 3 more",
            "152.5 ap>s0 4 more",
            "153.0 ap>s0 5 more",
            "153.5 ap>s0 6 more",
            "154.0 ap>s0 7 more",
            "154.0 s0 dozes",
            "154.5 ap>s0 8 more LOST",
            "155.0 ap>s0 8 more LOST",
            "155.5 ap>s0 8 more LOST",
            "156.0 ap>s0 8 more LOST",
            "200.2 beacon s0",
            "300.2 beacon s0",
            "349.2 s0 wakes",
            "350.5 ap>s0 8 more",
            "351.0 ap>s0 9 eosp",
            "351.0 s0 dozes",
        ],
    );
}

/// A frame of the user is sent at once and asks for nothing; what answers it waits for the period.
#[test]
fn a_frame_outside_periods_opens_none() {
    let mut air = asleep(twt(true, true), 0);
    air.up(142_000, 0, 7);
    air.down(142_100, 0, 8);
    air.run_until(ms(160));
    expect(
        &air,
        &[
            "142.0 s0 wakes",
            "142.8 s0>ap data pm=1",
            "142.8 s0 dozes",
            "149.2 s0 wakes",
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 8 eosp",
            "151.0 s0 dozes",
        ],
    );
}

/// Two frames of the user wait for the period without waking the radio; the first one also asks for the access point's in an announced
/// agreement. A third one, within the period, does not wait, and the fourth waits for the next.
#[test]
fn a_device_may_hold_frames_back_for_its_period() {
    for announced in [false, true] {
        let config = TwtConfig { outside: Some(OutsidePeriods::Held), ..config(announced, false) };
        let mut air = asleep(PowerSaveConfig::Twt(config), 0);
        for (at_us, packet) in [(141_000, 7), (142_000, 8), (155_000, 9), (170_000, 10)] {
            air.up(at_us, 0, packet);
        }
        air.run_until(ms(360));
        let sent: Vec<&str> =
            air.log.iter().filter_map(|line| line.strip_suffix(" s0>ap data pm=1")).collect();
        // Each frame asks for what the access point has, which says that it has nothing.
        let at = if announced {
            ["150.5", "151.5", "155.5", "350.5"]
        } else {
            ["150.5", "151.0", "155.5", "350.5"]
        };
        assert_eq!(sent, at);
        let slept: Vec<&str> = air.log.iter().filter_map(|line| line.strip_suffix(" s0 dozes")).collect();
        assert_eq!((slept[0], slept[slept.len() - 1]), ("158.1", "358.1"));
    }
}

/// Of ten frames that take 0.5 ms each, eight leave within 4.096 ms, one more has begun, and the last one is discarded. One that comes
/// later waits for the next period.
#[test]
fn a_device_may_discard_what_is_left_at_the_end() {
    let short = TwtConfig {
        duration: Span::from_micros(4_096),
        outside: Some(OutsidePeriods::Discarded),
        ..config(false, true)
    };
    let mut air = asleep(PowerSaveConfig::Twt(short), 0);
    for packet in 0..10 {
        air.up(141_000, 0, packet);
    }
    air.up(170_000, 0, 10);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 s0>ap data pm=1",
            "151.0 s0>ap data pm=1",
            "151.5 s0>ap data pm=1",
            "152.0 s0>ap data pm=1",
            "152.5 s0>ap data pm=1",
            "153.0 s0>ap data pm=1",
            "153.5 s0>ap data pm=1",
            "154.0 s0>ap data pm=1",
            "154.0 s0 discards [9]",
            "154.0 s0 dozes",
            "154.5 s0>ap data pm=1",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
            "300.2 beacon",
            "349.2 s0 wakes",
            "350.5 s0>ap data pm=1",
            "354.0 s0 dozes",
        ],
    );
}

/// The device is awake 16 ms before the period and what it takes to wake up, and receives two beacons after it.
#[test]
fn a_device_may_be_awake_for_longer_and_receive_beacons() {
    let slow = TwtConfig {
        interval: Span::from_millis(500),
        beacons_after: Some(2),
        overhead: Some(Span::from_millis(16)),
        ..config(true, true)
    };
    let mut air = asleep(PowerSaveConfig::Twt(slow), 1);
    air.run_until(ms(700));
    expect(
        &air,
        &[
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 0 eosp",
            "151.0 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
            "299.2 s0 wakes",
            "300.2 beacon",
            "300.2 s0 dozes",
            "400.2 beacon",
            "500.2 beacon",
            "600.2 beacon",
            "633.2 s0 wakes",
            "650.5 s0>ap trigger pm=1",
            "651.0 ap>s0 null eosp",
            "651.0 s0 dozes",
            "699.2 s0 wakes",
        ],
    );
}

/// What a device's maker documents holds unless it is set, and its limits hold in any case.
#[test]
fn a_device_has_habits_and_limits() {
    let of = |device| TwtConfig { device: Some(device), ..TwtConfig::default() };
    let check = |config: TwtConfig| config.check().map_err(|error| error.to_string());
    assert_eq!(check(of(WakeDevice::Nrf70)), Ok(()));
    let long = TwtConfig { duration: Span::from_micros(261_120), ..TwtConfig::default() };
    assert_eq!(check(long), Ok(()));
    for (config, refused) in [
        (
            TwtConfig { device: Some(WakeDevice::Nrf70), ..long },
            "duration: expected 1ms to 256ms (device nrf70), got 261.12ms",
        ),
        (
            TwtConfig { interval: Span::from_secs(1), ..of(WakeDevice::Siwx917) },
            "interval: expected at least 1.024s (device siwx917), got 1s",
        ),
        (of(WakeDevice::St67w611), "announced: expected false (device st67w611), got true"),
        (
            TwtConfig { trigger_enabled: true, outside: Some(OutsidePeriods::Held), ..TwtConfig::default() },
            "outside: not with trigger_enabled: frames of the user wait for Trigger frames",
        ),
    ] {
        assert_eq!(check(config), Err(refused.to_owned()));
    }
}

/// The station is awake until it has its answer, and says so in the request.
#[test]
fn the_station_asks_before_it_sleeps() {
    let mut air = Air::new(10, 100, &[twt(true, true)]);
    air.run_until(ms(152));
    expect(
        &air,
        &[
            "0.5 s0>ap suggest pm=0",
            "1.0 ap>s0 accept",
            "1.5 s0>ap null pm=1",
            "1.5 s0 dozes",
            "100.2 beacon",
            "149.2 s0 wakes",
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 null eosp",
            "151.0 s0 dozes",
        ],
    );
}

/// An answer that is given up makes no agreement. The station waits for it for 100 ms from the acknowledgement of its request, and asks
/// again.
#[test]
fn a_request_without_an_answer_is_repeated() {
    let mut air = Air::new(10, 100, &[twt(true, true)]);
    air.script = vec![("ap>s0 accept", 4)];
    air.run_until(ms(105));
    expect(
        &air,
        &[
            "0.5 s0>ap suggest pm=0",
            "1.0 ap>s0 accept LOST",
            "1.5 ap>s0 accept LOST",
            "2.0 ap>s0 accept LOST",
            "2.5 ap>s0 accept LOST",
            "100.2 beacon",
            "101.0 s0>ap suggest pm=0",
            "101.5 ap>s0 accept",
            "102.0 s0>ap null pm=1",
            "102.0 s0 dozes",
        ],
    );
}

/// The answer of an access point with these limits to the last of these requests, each of a station of its own.
fn answer(limits: WakeLimits, proposals: &[WakeProposal]) -> WakeAnswer {
    let config = AccessPointConfig { wakes: limits, ..AccessPointConfig::default() };
    let mut ap = AccessPointPowerSave::<u32>::new(config);
    let mut last = None;
    for proposal in proposals {
        let station = ap.add_station(false);
        let frame = WakeFrame::Request { token: 1, proposal: *proposal };
        ap.handle_input(AccessPointInput::Wake { station, frame }, ms(1));
        let Some(AccessPointOutput::Transmit { frame, .. }) = ap.poll_output() else { panic!("no answer") };
        let Downlink::Wake(WakeFrame::Answer { token: 1, information: false, answer }) = frame else {
            panic!("{frame:?}")
        };
        // The same request again is one whose acknowledgement was lost.
        ap.handle_input(
            AccessPointInput::Wake { station, frame: WakeFrame::Request { token: 1, proposal: *proposal } },
            ms(2),
        );
        assert_eq!(ap.poll_output(), None);
        ap.handle_input(AccessPointInput::Started { station }, ms(2));
        ap.handle_input(AccessPointInput::Sent { station, frame, delivered: true }, ms(2));
        last = Some(answer);
    }
    last.expect("there is a request")
}

fn proposal(interval: Span, units: u64, start: Option<Instant>) -> WakeProposal {
    WakeProposal { request: WakeRequest::nearest(interval, Span::from_micros(256) * units, true), start }
}

/// Beacons come each 100 ms from 0 on, so that the first period begins at 50 ms and the next one 16.384 ms behind it. A time that is demanded
/// is kept: 7 ms and a multiple of 100 ms, not before 21 ms. The least duration is 64 units, and an interval is no shorter than it.
#[test]
fn the_access_point_answers_as_mt7915_does() {
    let limits = WakeLimits { agreements: 2, ..WakeLimits::default() };
    let interval = Span::from_millis(100);
    let fits = proposal(interval, 64, None);
    let at = |answer: WakeAnswer| match answer {
        WakeAnswer::Accept(WakeAgreement { first, .. }) => first,
        other => panic!("{other:?}"),
    };
    assert_eq!(at(answer(limits, &[fits])), ms(50));
    assert_eq!(at(answer(limits, &[fits, fits])), Instant::from_micros(66_384));
    assert_eq!(answer(limits, &[fits, fits, fits]), WakeAnswer::Reject(fits.request));
    assert_eq!(at(answer(limits, &[proposal(interval, 64, Some(ms(7)))])), ms(107));
    assert_eq!(at(answer(limits, &[proposal(interval, 64, Some(ms(30)))])), ms(30));
    assert_eq!(answer(limits, &[proposal(interval, 63, None)]), WakeAnswer::Dictate(fits.request));
    let least = proposal(Span::from_micros(16_384), 64, None);
    assert_eq!(
        answer(limits, &[proposal(Span::from_millis(5), 8, None)]),
        WakeAnswer::Dictate(least.request)
    );
    let longer = WakeProposal {
        request: WakeRequest { interval: Span::from_millis(10), ..fits.request },
        start: None,
    };
    assert_eq!(answer(limits, &[longer]), WakeAnswer::Reject(longer.request));
    assert_eq!(answer(WakeLimits { agreements: 0, ..limits }, &[fits]), WakeAnswer::Reject(fits.request));
}

/// A station that is refused what it asks for takes what is dictated, and does without an agreement if that is refused too.
#[test]
fn a_station_takes_what_is_dictated() {
    let mut station = StationPowerSave::new(station_config(), twt(true, true));
    station.handle_timeout(Instant::ZERO);
    let next = |station: &mut StationPowerSave| match station.poll_output() {
        Some(StationOutput::Send(PowerSaveFrame::Wake(WakeFrame::Request { token, proposal }))) => {
            (token, proposal)
        }
        other => panic!("{other:?}"),
    };
    let (token, first) = next(&mut station);
    assert_eq!(
        (token, first.request),
        (1, WakeRequest::nearest(Span::from_millis(200), Span::from_micros(8_192), true))
    );
    let sent = |station: &mut StationPowerSave, token, proposal| {
        let frame = Uplink::Control(PowerSaveFrame::Wake(WakeFrame::Request { token, proposal }));
        station.handle_input(StationInput::Sent { frame, delivered: true }, ms(1));
    };
    sent(&mut station, token, first);
    let dictated = WakeRequest { duration: Span::from_micros(16_384), ..first.request };
    let dictate = WakeFrame::Answer { token, information: false, answer: WakeAnswer::Dictate(dictated) };
    station.handle_input(StationInput::Wake(dictate), ms(2));
    let (token, second) = next(&mut station);
    assert_eq!((token, second.request), (2, dictated));
    sent(&mut station, token, second);
    let reject = WakeFrame::Answer { token, information: false, answer: WakeAnswer::Reject(dictated) };
    station.handle_input(StationInput::Wake(reject), ms(3));
    assert_eq!(station.poll_output(), Some(StationOutput::Send(PowerSaveFrame::PmNull { pm: true })));
    let frame = Uplink::Control(PowerSaveFrame::PmNull { pm: true });
    station.handle_input(StationInput::Sent { frame, delivered: true }, ms(4));
    assert_eq!(station.poll_output(), Some(StationOutput::Doze));
    // It wakes up for the first beacon, at 100 ms.
    assert_eq!(station.due(), Instant::from_micros(99_200));
}

/// An access point that has forgotten the agreement answers no announcement. After three periods the station asks again, and gets what
/// waited. The next period is the first between two beacons that is at least 20 ms away.
#[test]
fn an_agreement_that_is_not_kept_is_asked_for_again() {
    let mut air = asleep(twt(true, true), 0);
    air.ap.handle_input(
        AccessPointInput::Wake { station: 0, frame: WakeFrame::Teardown { broadcast: false } },
        ms(140),
    );
    air.down(141_000, 0, 1);
    air.run_until(ms(700));
    let about = |line: &&String| line.contains("s0>ap") || line.contains("ap>s0");
    let frames: Vec<&str> = air.log.iter().filter(about).map(String::as_str).collect();
    assert_eq!(
        frames,
        [
            "150.5 s0>ap trigger pm=1",
            "350.5 s0>ap trigger pm=1",
            "550.5 s0>ap trigger pm=1",
            "558.6 s0>ap teardown pm=0",
            "559.1 ap>s0 1",
            "559.6 s0>ap suggest pm=0",
            "560.1 ap>s0 accept",
            "560.6 s0>ap null pm=1",
            "650.5 s0>ap trigger pm=1",
            "651.0 ap>s0 null eosp",
        ]
    );
}

/// An agreement that traffic suspends for 30 ms.
fn suspending(suspend_at: Option<u32>) -> PowerSaveConfig {
    let resume_after = Some(Span::from_millis(30));
    PowerSaveConfig::Twt(TwtConfig { resume_after, suspend_at, ..config(true, true) })
}

/// A frame of the user at 142 ms suspends the agreement, so that the answer comes at once and the period at 150 ms is none. 30 ms after
/// that answer, which came at 145.1 ms, the station names the period at 350 ms, and sleeps.
#[test]
fn a_frame_of_the_user_suspends_the_agreement() {
    let mut air = asleep(suspending(None), 0);
    air.up(142_000, 0, 7);
    air.down(144_600, 0, 8);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "142.0 s0 wakes",
            "142.8 s0>ap suspend pm=0",
            "143.3 s0>ap data pm=0",
            "145.1 ap>s0 8",
            "175.6 s0>ap resume pm=1",
            "175.6 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "350.5 s0>ap trigger pm=1",
            "351.0 ap>s0 null eosp",
            "351.0 s0 dozes",
        ],
    );
}

/// One packet in a period is not yet traffic, and the second one is. With a threshold of three, two are served as without suspension.
#[test]
fn packets_of_a_period_suspend_the_agreement_from_the_threshold_on() {
    let frames = |suspend_at, packets| {
        let mut air = asleep(suspending(suspend_at), packets);
        air.down(152_000, 0, 9);
        air.run_until(ms(190));
        air.log.iter().filter(|line| line.contains('>')).cloned().collect::<Vec<_>>()
    };
    assert_eq!(frames(None, 1), ["150.5 s0>ap trigger pm=1", "151.0 ap>s0 0 eosp"]);
    assert_eq!(frames(Some(3), 2), ["150.5 s0>ap trigger pm=1", "151.0 ap>s0 0 more", "151.5 ap>s0 1 eosp"]);
    assert_eq!(
        frames(None, 2),
        [
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 0 more",
            "151.5 ap>s0 1 eosp",
            "152.0 s0>ap suspend pm=0",
            "152.5 ap>s0 9",
            "183.0 s0>ap resume pm=1",
        ]
    );
}

/// An information frame that is given up is repeated 10 ms later: the access point goes on buffering, and serves no period, until it has it.
#[test]
fn a_lost_resumption_is_repeated() {
    let mut air = asleep(suspending(None), 0);
    air.script = vec![("s0>ap resume", 4)];
    air.up(142_000, 0, 7);
    air.run_until(ms(190));
    expect(
        &air,
        &[
            "142.0 s0 wakes",
            "142.8 s0>ap suspend pm=0",
            "143.3 s0>ap data pm=0",
            "173.8 s0>ap resume pm=1 LOST",
            "174.3 s0>ap resume pm=1 LOST",
            "174.8 s0>ap resume pm=1 LOST",
            "175.3 s0>ap resume pm=1 LOST",
            "185.8 s0>ap resume pm=1",
            "185.8 s0 dozes",
        ],
    );
}

/// An access point like those of Linux takes no information frames. The PM bit says the same: a frame of the user carries PM = 0, and a Null
/// frame returns to the agreement, whose next period is at 350 ms.
#[test]
fn without_information_frames_the_power_management_bit_suspends() {
    let mut air = Air::new(10, 100, &[suspending(None)]).without_information();
    air.run_until(ms(140));
    air.log.clear();
    air.up(142_000, 0, 7);
    air.run_until(ms(352));
    let frames: Vec<&str> = air.log.iter().filter(|line| line.contains('>')).map(String::as_str).collect();
    assert_eq!(
        frames,
        [
            "142.8 s0>ap data pm=0",
            "173.3 s0>ap null pm=1",
            "350.5 s0>ap trigger pm=1",
            "351.0 ap>s0 null eosp",
        ]
    );
}
