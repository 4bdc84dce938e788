//! Whole connections through a base station.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Seq, Span};
use proptest::prelude::*;

use super::rig::{Base, Host, MOBILE, QUIET, Rig, SERVER, addresses, pattern};
use crate::bad_path::Badness;
use crate::e2tcp::{
    Addresses, ControlFlags, E2tcpConfig, E2tcpPacket, Endpoint, Header, IpVersion, Level, TableInput,
    TableOutput,
};
use crate::gateway::*;
use crate::tcp::{Flags, SackBlocks, Segment};

fn rig() -> Rig {
    Rig::new(BaseStationConfig::default(), E2tcpConfig::default())
}

fn at_s(seconds: u64) -> Instant {
    Instant::from_millis(1_000 * seconds)
}

fn syn(seq: u32) -> Segment {
    Segment {
        seq: Seq::new(seq),
        ack: Seq::new(0),
        window: 60_000,
        len: 0,
        flags: Flags::SYN,
        sack: SackBlocks::NONE,
        timestamps: None,
    }
}

fn mobile_syn(id: u8, seq: u32) -> E2tcpPacket {
    let header = Header {
        control: ControlFlags::SYN,
        addresses: Some(IpVersion::V4),
        sequence: Some(Seq::new(seq)),
        ..Header::new(id)
    };
    E2tcpPacket { header, len: 0 }
}

#[test]
fn both_hosts_get_everything_and_the_end_whoever_opens() {
    for from_mobile in [true, false] {
        let mut rig = rig().with_data(300_000, 200_000);
        if from_mobile {
            rig.open_from_mobile()
        } else {
            rig.open_from_server()
        }
        rig.run(at_s(600));
        assert_eq!(rig.hosts[0].received, pattern(200_000));
        assert_eq!(rig.hosts[1].received, pattern(300_000));
        assert!(rig.hosts.iter().all(|host| host.closed && host.peer_closed && !host.is_lost()));
        assert_eq!(rig.endings, [ConnectionEnding::Closed]);
        assert_eq!(rig.base.connections(), (0, 0));
        assert_eq!(rig.base.counters().undelivered, 0);
    }
}

/// The mobile's SYN is answered only when the server has answered: 2 ms of the hop and a wired round trip of 20 ms pass before
/// the base station's SYN goes out.
#[test]
fn an_opening_is_answered_when_the_leg_beyond_stands() {
    let mut rig = rig();
    let begun = rig.now;
    rig.open_from_mobile();
    while !rig.hosts[1].connected {
        assert!(rig.step(at_s(10)));
    }
    assert_eq!(rig.now, begun + Span::from_millis(2 + 20 + 2));
}

#[test]
fn a_refusal_comes_through_as_a_refusal() {
    let mut rig = rig();
    rig.listens = false;
    rig.open_from_mobile();
    rig.run(at_s(5));
    assert!(rig.hosts[1].reset && !rig.hosts[1].connected);
    assert_eq!(rig.endings, [ConnectionEnding::Refused]);

    let mut rig = self::rig();
    rig.listens = false;
    rig.open_from_server();
    rig.run(at_s(5));
    assert!(rig.hosts[0].reset && !rig.hosts[0].connected, "the mobile has no listener");
    assert_eq!(rig.endings, [ConnectionEnding::Refused]);
}

/// A server that says nothing: the mobile's own end gives up, as it would without a base station, and is told nothing.
#[test]
fn silence_comes_through_as_silence() {
    let mut rig = rig();
    rig.answers = false;
    rig.open_from_mobile();
    rig.run(at_s(3_600));
    assert!(rig.hosts[1].timed_out && !rig.hosts[1].reset);
    assert_eq!(rig.endings, [ConnectionEnding::Unanswered]);
}

#[test]
fn an_unreachable_host_comes_through_while_the_connection_opens_and_not_later() {
    let mut rig = rig();
    rig.answers = false;
    rig.open_from_mobile();
    rig.run(at_s(0) + Span::from_millis(200));
    rig.base.handle_input(BaseStationInput::Unreachable(addresses(5_000)), rig.now);
    let outputs: Vec<_> = std::iter::from_fn(|| rig.base.poll_output()).collect();
    assert!(outputs.contains(&BaseStationOutput::Unreachable(addresses(5_000))), "{outputs:?}");
    assert!(outputs.contains(&BaseStationOutput::Ended(addresses(5_000), ConnectionEnding::Unreachable)));

    let mut rig = self::rig().with_data(10, 10);
    rig.open_from_mobile();
    while !rig.hosts[1].connected {
        assert!(rig.step(at_s(10)));
    }
    rig.base.handle_input(BaseStationInput::Unreachable(addresses(5_000)), rig.now);
    assert!(rig.base.poll_output().is_none(), "a passing condition");
}

/// A reset of one leg resets the other; what was acknowledged and cannot be delivered is counted.
#[test]
fn a_reset_comes_through_and_what_is_lost_is_counted() {
    for who in [0, 1] {
        let mut rig = rig().with_data(4_000_000, 4_000_000);
        rig.open_from_mobile();
        rig.run(at_s(0) + Span::from_millis(150));
        assert!(rig.hosts[1].connected);
        rig.abort(who);
        rig.run(at_s(1_000));
        assert!(rig.hosts[1 - who].reset, "host {who} has reset the connection");
        let [ConnectionEnding::Lost(lost)] = rig.endings[..] else { panic!("{:?}", rig.endings) };
        assert!(lost > 0);
        assert_eq!(rig.base.counters().undelivered, lost);
        assert_eq!(rig.base.connections(), (0, 0));
    }
}

#[test]
fn half_of_a_closed_connection_goes_on() {
    // The mobile closes at once; the server's data come all the same, long after.
    let mut rig = rig().with_data(2_000_000, 0);
    rig.open_from_mobile();
    rig.run(at_s(1_000));
    assert_eq!(rig.hosts[1].received, pattern(2_000_000));
    assert_eq!(rig.endings, [ConnectionEnding::Closed]);
}

#[test]
fn a_leg_holds_no_more_than_its_buffer() {
    for buffer in [16_384, 262_144] {
        let config = BaseStationConfig { buffer, ..BaseStationConfig::default() };
        let mut rig = Rig::new(config, E2tcpConfig::default()).with_data(3_000_000, 0).with(
            7,
            QUIET,
            Badness { lose: 300, double: 0, delay: 0 },
        );
        rig.open_from_mobile();
        rig.run(at_s(3_000));
        assert_eq!(rig.hosts[1].received.len(), 3_000_000);
        assert!(rig.most_held <= u64::from(buffer), "{} of {buffer}", rig.most_held);
        assert!(rig.most_held > u64::from(buffer) / 4);
    }
}

#[test]
fn the_257th_connection_of_a_mobile_passes_as_plain_tcp() {
    let mut base = Base::new(BaseStationConfig::default());
    base.handle_input(BaseStationInput::Mobile(MOBILE), Instant::ZERO);
    let from = |port| {
        Addresses::new(Endpoint { ip: SERVER, port }, Endpoint { ip: MOBILE, port: 22 })
            .expect("both are IPv4")
    };
    for port in 1_000..1_257 {
        base.handle_input(BaseStationInput::FromWired(from(port), syn(9), Vec::new()), Instant::ZERO);
    }
    assert_eq!(base.connections(), (256, 256));
    let last = std::iter::from_fn(|| base.poll_output()).last();
    assert_eq!(last, Some(BaseStationOutput::Pass(from(1_256), syn(9), Vec::new())));
    // What follows on that connection passes as well.
    let data = Segment { flags: Flags::ACK, len: 3, seq: Seq::new(10), ..syn(9) };
    base.handle_input(BaseStationInput::FromWired(from(1_256), data, vec![1, 2, 3]), Instant::ZERO);
    assert_eq!(base.poll_output(), Some(BaseStationOutput::Pass(from(1_256), data, vec![1, 2, 3])));
    assert_eq!(base.counters().passed, 2);
}

/// A mobile's own table refuses the 257th connection before a packet is sent, so that the mobile uses plain TCP for it.
#[test]
fn a_mobile_knows_when_its_identifiers_are_taken() {
    let mut rig = rig();
    for port in 0..257 {
        rig.mobile.handle_input(TableInput::Open(addresses(port)), Instant::ZERO);
    }
    let outputs: Vec<_> = std::iter::from_fn(|| rig.mobile.poll_output()).collect();
    assert!(matches!(outputs.last(), Some(TableOutput::Refused(refused, _)) if *refused == addresses(256)));
}

/// A flood of SYNs, from either side, costs no more than the limit; those beyond it pass, or are refused so that the mobile falls
/// back to plain TCP. When the flood's own time is over, all is free again.
#[test]
fn a_flood_of_openings_stays_within_its_limit() {
    let config = BaseStationConfig { half_open: 50, ..BaseStationConfig::default() };
    let mut base = Base::new(config);
    base.handle_input(BaseStationInput::Mobile(MOBILE), Instant::ZERO);
    for port in 0..40 {
        let at = addresses(port);
        base.handle_input(
            BaseStationInput::FromMobile(MOBILE, mobile_syn(port as u8, 1), Some(at), Vec::new()),
            Instant::ZERO,
        );
    }
    for port in 0..40 {
        let from = Endpoint { ip: SERVER, port: 2_000 + port };
        let from = Addresses::new(from, Endpoint { ip: MOBILE, port: 22 }).expect("both are IPv4");
        base.handle_input(BaseStationInput::FromWired(from, syn(1), Vec::new()), Instant::ZERO);
    }
    assert_eq!(base.connections(), (50, 50));
    assert_eq!((base.counters().over_limit, base.counters().passed), (30, 30));
    let late = mobile_syn(77, 1);
    base.handle_input(
        BaseStationInput::FromMobile(MOBILE, late, Some(addresses(99)), Vec::new()),
        Instant::ZERO,
    );
    let refused = std::iter::from_fn(|| base.poll_output()).last();
    let Some(BaseStationOutput::ToMobile(_, packet, Some(at), _)) = refused else { panic!("{refused:?}") };
    assert!(packet.header.control.rst() && at == addresses(99).swapped());
    while let Some(timeout) = base.poll_timeout().filter(|timeout| timeout.at < at_s(7_000)) {
        base.handle_timeout(timeout.at);
        while base.poll_output().is_some() {}
    }
    assert_eq!(base.connections(), (0, 0), "nothing is kept for those who never answered");
}

#[test]
fn a_silent_connection_ends_after_its_time_and_not_before() {
    let config = BaseStationConfig { idle: Span::from_secs(60), ..BaseStationConfig::default() };
    let mut rig = Rig::new(config, E2tcpConfig::default());
    rig.keep_open();
    rig.open_from_mobile();
    rig.run(at_s(59));
    assert!(rig.endings.is_empty() && rig.hosts.iter().all(|host| host.connected));
    rig.run(at_s(70));
    assert_eq!(rig.endings, [ConnectionEnding::Idle(0)]);
    assert!(rig.hosts.iter().all(|host| host.reset));
}

/// A mobile speaks for its own address only, and a segment outside the window ends nothing.
#[test]
fn a_stranger_ends_no_connection_and_opens_none_for_others() {
    let mut rig = rig().with_data(300_000, 300_000);
    rig.open_from_mobile();
    rig.run(at_s(0) + Span::from_millis(100));
    let stranger = std::net::IpAddr::from([10, 0, 0, 8]);
    for control in [ControlFlags::RST, ControlFlags::SYN, ControlFlags::FIN] {
        let header = Header { control, ..mobile_syn(0, 77).header };
        let packet = E2tcpPacket { header, len: 0 };
        let input = BaseStationInput::FromMobile(stranger, packet, Some(addresses(5_000)), Vec::new());
        rig.base.handle_input(input, rig.now);
    }
    assert_eq!(rig.base.counters().dropped, 3);
    // Off the path: the ports are known, the sequence numbers are guessed.
    let to_mobile = addresses(5_000).swapped();
    for guess in (0..4_000_000_000_u32).step_by(97_000_001) {
        for flags in [Flags::RST, Flags::RST | Flags::ACK, Flags::SYN] {
            let segment = Segment { seq: Seq::new(guess), ack: Seq::new(guess), flags, ..syn(0) };
            rig.base.handle_input(BaseStationInput::FromWired(to_mobile, segment, Vec::new()), rig.now);
        }
    }
    rig.run(at_s(600));
    assert_eq!(rig.hosts[0].received, pattern(300_000));
    assert_eq!(rig.hosts[1].received, pattern(300_000));
    assert_eq!(rig.endings, [ConnectionEnding::Closed]);
}

/// A mobile that has forgotten its connections opens the same one anew: the old one ends on both sides.
#[test]
fn a_mobile_that_restarts_gets_a_new_connection() {
    let mut rig = rig().with_data(1_000_000, 0);
    rig.open_from_mobile();
    rig.run(at_s(0) + Span::from_millis(200));
    let again =
        BaseStationInput::FromMobile(MOBILE, mobile_syn(0, 99_999), Some(addresses(5_000)), Vec::new());
    rig.base.handle_input(again, rig.now);
    assert_eq!(rig.base.connections(), (1, 1), "the new one opens");
    let outputs: Vec<_> = std::iter::from_fn(|| rig.base.poll_output()).collect();
    assert!(
        outputs.iter().any(|output| matches!(output, BaseStationOutput::Ended(_, ConnectionEnding::Lost(_))))
    );
    let is_syn = |output: &BaseStationOutput<Vec<u8>>| matches!(output, BaseStationOutput::ToWired(_, segment, _) if segment.flags.has(Flags::SYN));
    assert!(outputs.iter().any(is_syn), "{outputs:?}");
}

/// An upload with gaps, only if the mobile asked for it: the server then gets zeros in their place.
#[test]
fn an_upload_has_gaps_only_where_the_mobile_asked() {
    let lossy = Badness { lose: 100, double: 0, delay: 0 };
    for (asks, complete) in [(None, true), (Some(100), true), (Some(80), false)] {
        let mobile = E2tcpConfig { asks, ..E2tcpConfig::default() };
        let mut rig =
            Rig::new(BaseStationConfig::default(), mobile).with(3, QUIET, lossy).with_data(0, 200_000);
        rig.open_from_mobile();
        rig.run(at_s(600));
        let (sent, got) = (pattern(200_000), &rig.hosts[0].received);
        assert_eq!(got.len(), sent.len());
        assert_eq!(*got == sent, complete, "{asks:?}");
        let wrong = got.iter().zip(&sent).filter(|(got, sent)| got != sent);
        assert!(wrong.clone().all(|(got, _)| *got == 0), "gaps are zeros");
        assert!(wrong.count() <= 40_000, "at most a fifth");
        assert_eq!(rig.base.counters().given_up > 0, !complete);
    }
}

#[test]
fn the_level_is_on_the_wire_with_a_syn_alone() {
    let at = addresses(5_000);
    for percent in [0, 90, 100] {
        let header = Header { reliability: Level::new(percent), ..mobile_syn(3, 5).header };
        let mut bytes = Vec::new();
        header.encode(Some(at), &[], &mut bytes);
        assert_eq!(bytes.len(), header.bytes());
        assert_eq!(Header::decode(&bytes).map(|(header, ..)| header), Ok(header));
    }
    assert_eq!(Level::new(101), None);
    // The header of a FIN has no room for it.
    let fin = Header { control: ControlFlags::FIN, reliability: Level::new(90), ..mobile_syn(3, 5).header };
    let mut bytes = Vec::new();
    fin.encode(Some(at), &[], &mut bytes);
    assert_eq!(Header::decode(&bytes).map(|(header, ..)| header.reliability), Ok(None));
}

#[test]
fn a_base_station_keeps_the_contract() {
    let at = Instant::from_millis;
    let to_mobile = addresses(5_000).swapped();
    let answer = Segment { flags: Flags::SYN | Flags::ACK, ack: Seq::new(1), ..syn(500) };
    let inputs = [
        (at(0), BaseStationInput::FromMobile(MOBILE, mobile_syn(0, 7), Some(addresses(5_000)), Vec::new())),
        (at(30), BaseStationInput::FromWired(to_mobile, answer, Vec::new())),
        (at(2_000), BaseStationInput::FromWired(to_mobile, syn(3), Vec::new())),
        (at(2_500), BaseStationInput::Mobile(SERVER)),
    ];
    let outputs = check_machine(|| Base::new(BaseStationConfig::default()), &inputs, at_s(9_000));
    assert!(
        outputs.iter().any(|(_, output)| matches!(output, BaseStationOutput::ToMobile(..))),
        "{outputs:?}"
    );
    assert!(outputs.iter().any(|(_, output)| matches!(output, BaseStationOutput::Ended(..))), "{outputs:?}");
}

/// Found by the property below: the opener had gone when the answer came, and the mobile's probes kept its leg for ever.
#[test]
fn an_opener_that_leaves_before_its_answer_leaves_nothing() {
    let (exact, late) = (Badness { lose: 0, double: 0, delay: 0 }, Badness { lose: 0, double: 0, delay: 36 });
    let config = BaseStationConfig { buffer: 48_526, ..BaseStationConfig::default() };
    let rig = Rig::new(config, E2tcpConfig::default()).with(166_288_678_075_860_433, exact, late);
    let mut rig = rig.with_data(49_815, 52_414);
    rig.open_from_server();
    rig.run(Instant::from_millis(21));
    rig.abort(0);
    rig.run(at_s(20_000));
    assert_eq!(rig.base.connections(), (0, 0));
}

fn any_badness() -> impl Strategy<Value = Badness> {
    (0_u32..250, 0_u32..100, 0_u32..150).prop_map(|(lose, double, delay)| Badness { lose, double, delay })
}

/// What a host has is what the other sent, up to where it is.
fn is_part(host: &Host, sent: usize) -> bool {
    pattern(sent).starts_with(&host.received)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is lost, doubled or overtaken on either leg, and whoever resets the connection at any time: no host ever gets a
    /// wrong byte, a connection that nobody resets delivers everything, and nothing of it is left at the base station.
    #[test]
    fn bytes_arrive_intact(
        seed in any::<u64>(),
        (wired, wireless) in (any_badness(), any_badness()),
        (from_mobile, lens) in (any::<bool>(), (0_usize..60_000, 0_usize..60_000)),
        buffer in 4_096_u32..100_000,
        reset in proptest::option::of((0_usize..2, 0_u64..3_000)),
    ) {
        let config = BaseStationConfig { buffer, ..BaseStationConfig::default() };
        let mut rig = Rig::new(config, E2tcpConfig::default()).with(seed, wired, wireless).with_data(lens.0, lens.1);
        if from_mobile { rig.open_from_mobile() } else { rig.open_from_server() }
        if let Some((who, ms)) = reset {
            rig.run(Instant::from_millis(ms));
            rig.abort(who);
        }
        rig.run(at_s(20_000));
        prop_assert!(is_part(&rig.hosts[0], lens.1) && is_part(&rig.hosts[1], lens.0));
        let lost = rig.hosts.iter().any(Host::is_lost);
        if !lost {
            prop_assert_eq!(rig.hosts[0].received.len(), lens.1);
            prop_assert_eq!(rig.hosts[1].received.len(), lens.0);
        }
        prop_assert!(rig.most_held <= u64::from(buffer), "{} of {}", rig.most_held, buffer);
        prop_assert_eq!(rig.base.connections(), (0, 0));
        prop_assert!(reset.is_some() || !lost || rig.hosts.iter().any(|host| host.timed_out));
    }
}
