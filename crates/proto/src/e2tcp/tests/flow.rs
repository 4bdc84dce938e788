//! Tests of flow control by the window field, of probes of a closed window, and of urgent data.

use super::*;

fn small(window: u32) -> E2tcpConfig {
    E2tcpConfig { receive_window: window, receive_buffer: window, ..plain() }
}

#[test]
fn the_field_is_sent_only_when_the_window_changes() {
    let mut pair = Pair::established(&plain(), &plain());
    pair.reading = false;
    pair.input(A, Input::Write(pattern(80_000)));
    pair.finish();
    // The buffer holds twice the window: until 65535 bytes are unread the window does not change.
    assert_eq!(pair.lines("win").first(), Some(&"350 <B 0 ack 66000 win 64535"));
    assert_eq!(pair.lines("win").len(), 15);
    assert_eq!(pair.ends[B].readable_bytes(), 80_000);
}

#[test]
fn a_slow_reader_stops_the_sender_and_a_probe_finds_it_open() {
    let mut pair = Pair::apart(&plain(), &small(5000));
    pair.reading = false;
    pair.input(A, Input::Open);
    pair.input(A, Input::Write(pattern(20_000)));
    pair.run(800);
    // The SYN carries the window field, which becomes the largest window.
    assert_eq!(pair.lines("SYN")[1], "50 <B 7 SYN F S 0(0) ack 0 win 5000");
    assert_eq!(pair.ends[A].largest_window(), 1);
    assert_eq!(pair.ends[B].readable_bytes(), 5000);
    assert!(pair.ends[A].timer(E2tcpTimer::Probe).is_some());
    assert_eq!(pair.ends[A].timer(E2tcpTimer::Transmission), None);
    pair.run(60_000);
    let probes = pair.ends[A].statistics().probes_sent;
    assert!((7..=10).contains(&probes), "they become rare: {probes}");
    assert_eq!(pair.ends[B].readable_bytes(), 5000, "a probe is not taken in beyond the window");
    // The packets that announce the opening are lost.
    pair.script = Box::new(|who, _, _| if who == B { Fate::Lose } else { Fate::Arrive });
    pair.read(B, 5000);
    pair.script = Box::new(|_, _, _| Fate::Arrive);
    pair.reading = true;
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(20_000));
    assert_eq!(pair.ends[A].statistics().transmission_timeouts, 0);
}

/// A transfer of 400 full packets over a fast hop to a program that reads `bite` bytes, and then nothing for `pause` milliseconds.
fn to_slow_reader(
    bite: u64,
    pause: u64,
    lost: impl FnMut(usize, u64, &E2tcpPacket) -> Fate + 'static,
) -> Pair {
    let config = E2tcpConfig::default();
    let mut pair = Pair::established(&config, &config).with(lost);
    pair.delay = Span::from_millis(1);
    pair.reading = false;
    pair.input(A, Input::Write(pattern(400_000)));
    let mut at = 0;
    while pair.streams[B].bytes.len() < 400_000 {
        at += pause;
        assert!(at < 600_000, "never ends");
        pair.run(at);
        let bite = pair.ends[B].readable_bytes().min(bite);
        if bite > 0 {
            pair.read(B, bite);
        }
    }
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(400_000));
    pair
}

#[test]
fn a_slow_reader_is_sent_nothing_twice_and_seldom_asked() {
    // A window that closes for less than the kernel's least timeout is hardly ever probed, and a longer one once or twice.
    for (bite, pause, probes) in [(8_000, 20, 5), (65_536, 100, 5), (200_000, 500, 8)] {
        let pair = to_slow_reader(bite, pause, |_, _, _| Fate::Arrive);
        let sent = pair.ends[A].statistics();
        let said = format!("{bite} bytes each {pause} ms: {sent:?}");
        assert!(sent.probes_sent <= probes, "{said}");
        assert_eq!((sent.packets_resent, sent.transmission_timeouts), (0, 0), "{said}");
        // Beside the probes, full packets, and what the window of 65,535 bytes cuts before it closes.
        assert!(sent.data_packets_sent <= 401 + 2 * sent.probes_sent, "{said}");
        assert_eq!(sent.payload_sent - sent.payload_resent, 400_000, "{said}");
    }
}

#[test]
fn a_peer_whose_openings_are_lost_is_asked_soon() {
    // Every packet of the reader that announces an open window while nothing is on its way to it.
    let mut last = (0, 0);
    let lost = move |who: usize, n: u64, packet: &E2tcpPacket| {
        let number = packet.header.acknowledgement.map_or(0, |ack| ack.number.value());
        let announces =
            who == B && packet.len == 0 && number == last.0 && packet.header.window.unwrap_or(0) > 2_000;
        let follows = who == B && n == last.1 + 1;
        last = if who == B { (number, n) } else { last };
        if announces && follows { Fate::Lose } else { Fate::Arrive }
    };
    let pair = to_slow_reader(65_536, 100, lost);
    assert!(!pair.lines("/lost/").is_empty());
    // Had it been asked after 200 ms each time, it would have taken longer by that for each announcement.
    let late = pair.now.as_nanos() / 1_000_000;
    assert!(late < 2_000, "{late} ms");
}

#[test]
fn a_field_replaces_the_largest_window_or_caps_it() {
    for (field, largest) in [(WindowField::Replaces, 40), (WindowField::Caps, 25)] {
        let config = E2tcpConfig { window_field: field, ..plain() };
        let mut pair = Pair::apart(&config, &E2tcpConfig { receive_buffer: 80_000, ..small(40_000) });
        pair.input(A, Input::Open);
        pair.input(A, Input::Write(pattern(300_000)));
        pair.finish();
        assert_eq!(pair.ends[A].largest_window(), largest);
        assert_eq!(pair.streams[B].bytes, pattern(300_000));
    }
}

#[test]
fn a_reader_that_reads_in_small_bites_gets_no_small_packets() {
    let mut pair = Pair::apart(&plain(), &small(4000));
    pair.reading = false;
    pair.input(A, Input::Open);
    pair.input(A, Input::Write(pattern(30_000)));
    for step in 0..3000 {
        pair.run(step * 10);
        let bite = pair.ends[B].readable_bytes().min(100);
        if bite > 0 {
            pair.read(B, bite);
        }
    }
    pair.finish();
    assert_eq!(pair.streams[B].bytes.len() as u64 + pair.ends[B].readable_bytes(), 30_000);
    let sent = pair.ends[A].statistics().data_packets_sent;
    assert!(sent <= 45, "{sent} packets for 30 full ones");
}

#[test]
fn urgent_data_is_announced_where_it_ends() {
    let mut pair = Pair::established(&plain(), &plain());
    pair.input(A, Input::Write(pattern(1500)));
    pair.input(A, Input::Urgent);
    pair.input(A, Input::Write(pattern(100)));
    pair.finish();
    // Packets sent before the call are not marked.
    assert!(pair.lines("urg").is_empty());
    pair.input(A, Input::Write(pattern(100)));
    let mut pair = Pair::established(&plain(), &plain())
        .with(|who, n, _| if who == A && n <= 12 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(13_500)));
    pair.input(A, Input::Urgent);
    pair.finish();
    assert_eq!(pair.lines("S 13500(500)").last().map(|line| line.contains("urg 500")), Some(true));
    assert_eq!(pair.events[B][0], Event::Urgent { until: 13_500 }, "before the data itself");
    let told = pair.events[B].iter().filter(|event| matches!(event, Event::Urgent { .. })).count();
    assert_eq!(told, 1);
}
