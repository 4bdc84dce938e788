//! Files of every format and link type: what is read of them, and what is said of damage and loss.

use std::ops::ControlFlow;

use super::*;

#[test]
fn every_link_type_finds_the_ip_packet() {
    let ip = udp(A, B, (5000, 53), 20);
    let mut cooked = vec![0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0, 8, 0];
    cooked.extend(&ip);
    let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0];
    cooked2.extend(&ip);
    let tagged = ethernet(0x8100, &[&[0, 7, 0x08, 0x00][..], &ip].concat());
    let pppoe = ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 50, 0, 0x21][..], &ip].concat());
    let loopback = [&[2, 0, 0, 0][..], &ip].concat();
    for (link, bytes) in [
        (1, ethernet(0x0800, &ip)),
        (1, tagged),
        (1, pppoe),
        (101, ip.clone()),
        (228, ip.clone()),
        (113, cooked),
        (276, cooked2),
        (0, loopback),
    ] {
        let capture = File::new(link).packet(1, &bytes).read();
        let found = capture.packets[0].ip.expect("an IP packet");
        assert_eq!(found.bytes, 48, "link type {link}");
        assert_eq!(found.transport, TransportHeader::Udp { source_port: 5000, destination_port: 53 });
    }
}

/// Nothing but damage: there is no station whose radio could be asked about, which is no fault of the question.
#[test]
fn a_capture_without_usable_packets_fails() {
    let capture = File::new(101).packet(1, &[0; 28]).read();
    let error =
        analyze_capture(&capture, &Question::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(!error.is_wrong_input());
    let text = error.to_string();
    assert!(text.ends_with("of 1 packets none is an IP packet from one host to another"), "{text}");
}

#[test]
fn gre_is_looked_into() {
    let inner = ethernet(0x0800, &udp(A, B, (1, 443), 0));
    let mut outer = udp([10, 0, 0, 1], [10, 0, 0, 2], (0, 0), 0)[..20].to_vec();
    outer[9] = 47;
    outer[3] = (20 + 8 + inner.len()) as u8;
    outer.extend_from_slice(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 9]); // with a key
    outer.extend_from_slice(&inner);
    let capture = File::new(101).packet(1, &outer).read();
    assert_eq!(capture.packets[0].ip.unwrap().source, std::net::IpAddr::from(A));
    assert_eq!(flows::flows(&capture, None).1.quic, 28);
}

#[test]
fn pcapng_has_its_own_clock() {
    let packet = ethernet(0x0800, &udp(A, B, (1, 2), 0));
    for (resolution, ticks, expected_ns) in [
        (None, 1_500_000, 1_500_000_000),
        (Some(9), 1_500_000_000, 1_500_000_000),
        (Some(0x80 | 10), 1536, 1_500_000_000),
    ] {
        let capture = Capture::read("test", &pcapng(1, resolution, ticks, &packet)[..]).unwrap();
        assert_eq!(capture.start_unix_ns, expected_ns);
        assert_eq!(capture.packets[0].ip.unwrap().bytes, 28);
    }
}

/// In seconds such a count is 584 years times 10^9; all packets together at the end of the clock would be a capture of no length.
#[test]
fn a_time_that_no_clock_shows_is_none() {
    let packet = ethernet(0x0800, &udp(A, B, (1, 2), 0));
    let capture = Capture::read("test", &pcapng(1, Some(0), u64::MAX, &packet)[..]).unwrap();
    assert_eq!((capture.notes.without_time, capture.packets.len()), (1, 1));
    let capture = Capture::read("test", &pcapng(1, Some(9), u64::MAX, &packet)[..]).unwrap();
    assert_eq!(capture.notes.without_time, 0);
}

/// Packets say what was dropped before them and statistics what was in all, which is more or the same.
#[test]
fn what_a_capture_says_that_it_lost_is_a_note() {
    let whole = |words: &[u32]| -> Vec<u8> {
        let length = 4 * (words.len() as u32 + 2);
        let body = words.iter().skip(1).copied();
        [words[0], length].into_iter().chain(body).chain([length]).flat_map(u32::to_be_bytes).collect()
    };
    let file = pcapng(1, None, 0, &ethernet(0x0800, &udp(A, B, (1, 2), 0)));
    let note = |blocks: &[Vec<u8>]| {
        let capture = Capture::read("test", &[file.clone(), blocks.concat()].concat()[..]).unwrap();
        capture.notes.dropped
    };
    let number = |code: u32, count: u64| [code << 16 | 8, (count >> 32) as u32, count as u32];
    let statistics = |index: u32, options: &[u32]| whole(&[&[5, index, 0, 0][..], options, &[0]].concat());
    let packet = |dropped: u64| whole(&[&[6, 0, 0, 9, 0, 0][..], &number(4, dropped)].concat());
    assert_eq!(note(&[]), 0);
    assert_eq!(note(&[packet(3), packet(2)]), 5);
    let both = [number(5, 7), number(7, 1 << 33)].concat();
    assert_eq!(note(&[packet(3), statistics(0, &both)]), (1 << 33) + 7);
    assert_eq!(
        note(&[statistics(0, &number(5, 4)), statistics(0, &number(5, 9)), packet(2)]),
        9,
        "from the beginning"
    );
    assert_eq!(
        note(&[statistics(1, &number(5, 4)), statistics(0, &number(4, 4))]),
        0,
        "of no interface; received"
    );
    assert_eq!(note(&[statistics(0, &number(5, 9)), file.clone(), packet(2)]), 11, "of two sections");
    assert_eq!(note(&[statistics(0, &number(5, u64::MAX)), file.clone(), packet(2)]), u64::MAX);
}

#[test]
fn what_cannot_be_read_says_so_in_one_line() {
    let error = |bytes: &[u8]| {
        let text = Capture::read("x.pcap", bytes).unwrap_err().to_string();
        assert!(text.starts_with("x.pcap: ") && !text.contains('\n'), "{text}");
        text
    };
    assert!(error(&[]).contains("empty"));
    assert!(error(b"hello, this is no capture at all").contains("not a pcap"));
    assert!(error(&[0x1f, 0x8b, 8, 0]).contains("compressed data"));
    assert!(error(&File::new(1).0[..20]).contains("cut short"));
    assert!(error(&File::new(1).0).ends_with("a capture without packets"));
    let first = File::new(1).packet(1, &[0; 60]).0;
    assert!(
        error(&first[..first.len() - 1]).ends_with("a capture without packets; its first one is cut short")
    );
    let foreign = error(&File::new(147).packet(1, &[0; 20]).0);
    assert!(foreign.contains("link type 147") && foreign.contains("radiotap (127)"), "{foreign}");
    let foreign = error(&pcapng(147, None, 0, &[0; 20]));
    assert!(foreign.contains("link type 147"), "{foreign}");
    let open = |path: &str| {
        let mut goes_on = |_| ControlFlow::Continue(());
        Capture::open(path.as_ref(), &Limits::default(), &mut goes_on).unwrap_err().to_string()
    };
    assert_eq!(open("no/such/file.pcap"), "no/such/file.pcap: cannot be read: No such file or directory");
    assert_eq!(open("no\nfile.pcap"), "no\\nfile.pcap: cannot be read: No such file or directory");
    assert!(open("src").contains("expected a folder with 1 to 900 files"), "{}", open("src"));
}

#[test]
fn privileges_can_be_given_up_between_opening_and_reading() {
    let open = |path: &str, opened: &mut dyn FnMut() -> std::io::Result<()>| {
        let mut goes_on = |_| ControlFlow::Continue(());
        Capture::open_then(path.as_ref(), &Limits::default(), &[], opened, &mut goes_on)
            .unwrap_err()
            .to_string()
    };
    let mut calls = 0;
    let mut refused = || {
        calls += 1;
        Err(std::io::Error::other("no"))
    };
    assert_eq!(
        open("no/such/file.pcap", &mut refused),
        "no/such/file.pcap: cannot be read: No such file or directory"
    );
    // It is not called without a file, and nothing is read if it fails.
    let program = std::env::current_exe().unwrap();
    assert!(open(program.to_str().unwrap(), &mut refused).contains("cannot be read: no"));
    assert_eq!(calls, 1);
    assert!(open(program.to_str().unwrap(), &mut || Ok(())).contains("not a pcap"));
}

#[test]
fn a_cut_packet_leaves_the_rest() {
    let mut file = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(A, B, (1, 2), 9));
    file.0.truncate(file.0.len() - 3);
    let capture = file.read();
    assert_eq!((capture.packets.len(), capture.notes.truncated), (1, true));
}

/// A length that no tool writes is damage, not a packet that was under way when the capture ended.
#[test]
fn a_damaged_length_is_no_cut_packet() {
    let damaged = |length: u32, behind: usize| {
        let mut file = File::new(101).packet(1, &udp(A, B, (1, 2), 0));
        let at = file.0.len();
        file = file.packet(2, &udp(A, B, (1, 2), 9));
        file.0[at + 8..at + 12].copy_from_slice(&length.to_le_bytes());
        file.0.resize(file.0.len() + behind, 0);
        let capture = file.read();
        assert_eq!((capture.packets.len(), capture.notes.truncated), (1, false), "{length}");
        let (position, what) = capture.notes.damaged.unwrap();
        assert_eq!(position, at as u64);
        what
    };
    assert!(damaged(u32::MAX, 0).contains("longer than the snap length"));
    assert!(damaged((1 << 18) + 1, 0).contains("longer than the snap length"));
    assert!(damaged(200_000, 100_000).contains("longer than the rest of the file"));
}

/// A fraction of a second or more is shown by no clock: the packet has no time of its own, and moves no total.
#[test]
fn an_impossible_fraction_moves_no_total() {
    let mut file = File::new(101).packet(1, &udp(A, B, (1, 2), 0));
    let at = file.0.len();
    file = file.packet(1_000, &udp(A, B, (1, 2), 9)).packet(2_000, &udp(A, B, (1, 2), 9));
    let whole = crate::clock::covered(&file.read());
    file.0[at + 4..at + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(crate::clock::covered(&file.read()), whole);
}

#[test]
fn what_a_compressed_file_has_before_its_damage_is_kept() {
    let file = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(A, B, (1, 2), 9));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &file.0).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.extend(b"junk behind it");
    let capture = Capture::read("x.pcap.gz", &bytes[..]).unwrap();
    assert_eq!(capture.packets.len(), 2);
    let (position, what) = capture.notes.damaged.unwrap();
    assert_eq!(position, file.0.len() as u64);
    assert!(what.contains("compressed data"), "{what}");
}

/// A bit that flips in the compressed data may change any packet, which only the checksum at its end says.
#[test]
fn a_compressed_file_with_a_wrong_checksum_is_refused() {
    let mut file = File::new(101);
    for number in 0..200 {
        file = file.packet(number, &udp(A, B, (1, 2), u16::try_from(number % 90).unwrap()));
    }
    // Stored blocks, in which no bit is one of a code.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut encoder, &file.0).unwrap();
    let whole = encoder.finish().unwrap();
    assert_eq!(Capture::read("x.pcap.gz", &whole[..]).unwrap().packets.len(), 200);
    let zstd =
        ruzstd::encoding::compress_to_vec(&file.0[..], ruzstd::encoding::CompressionLevel::Uncompressed);
    for (mut bytes, end) in [(whole, 8), (zstd, 4)] {
        for at in [bytes.len() / 2, bytes.len() - end] {
            bytes[at] ^= 4;
            let error = Capture::read("x.pcap.gz", &bytes[..]).unwrap_err().to_string();
            assert!(error.contains("any of its packets may be wrong"), "{at}: {error}");
            bytes[at] ^= 4;
        }
    }
}

#[test]
fn jumps_of_the_clock_cut_the_capture() {
    let packet = udp(A, B, (1, 2), 0);
    let capture = File::new(101)
        .packet(5_000_000, &packet)
        .packet(5_400_000, &packet)
        .packet(5_300_000, &packet) // late, sorted
        .packet(4_000_000_000_000, &packet) // years ahead
        .packet(4_000_001_000_000, &packet)
        .packet(1_000_000, &packet) // set back
        .read();
    let spans: Vec<Span> = capture.segments.iter().map(SteadyPart::duration).collect();
    assert_eq!(spans, [Span::from_millis(400), Span::from_secs(1), Span::ZERO]);
    assert_eq!(clock::covered(&capture), Span::from_millis(1_400));
    assert_eq!(capture.notes.out_of_order, 1);
    let numbers: Vec<u32> = capture.packets.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [1, 3, 2, 4, 5, 6]);
}

#[test]
fn the_private_end_is_meant_and_others_are_asked_for() {
    let capture = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(B, A, (2, 1), 0)).read();
    let station = stations::clear(&capture).unwrap();
    assert_eq!(station.to_string(), "192.168.1.2");
    let ways: Vec<_> = capture.packets.iter().map(|packet| station.direction(&capture, packet)).collect();
    assert_eq!(ways, [Some(Direction::Up), Some(Direction::Down)]);
    let doubtful = File::new(101).packet(1, &udp(A, [192, 168, 1, 3], (1, 2), 0)).read();
    assert_eq!(stations::clear(&doubtful), None);
    let missing = stations::named(&capture, "10.1.1.1").unwrap_err().to_string();
    assert!(missing.contains("10.1.1.1") && missing.contains("192.168.1.2"), "{missing}");
    assert!(stations::named(&capture, "phone").unwrap_err().to_string().contains("--station"));
}

#[test]
fn bundles_are_cut_to_packets() {
    let capture = File::new(101).packet(1, &udp(B, A, (1, 2), 4_000)).read();
    let station = Station::parse("192.168.1.2").unwrap();
    let list = &replay::arrivals(&capture, &station)[0].arrivals;
    let bytes: Vec<u32> = list.iter().map(|arrival| arrival.bytes).collect();
    assert_eq!(bytes, [1_500, 1_500, 1_132]);
    assert!(list.iter().all(
        |arrival| arrival.to == airwatt_sim::replay::Destination::Station && arrival.at == Instant::ZERO
    ));
}

#[test]
fn quantiles_are_samples() {
    let mut samples: Vec<Span> = (1..=100).rev().map(Span::from_millis).collect();
    let report = DelayReport::of(&mut samples).unwrap();
    assert_eq!((report.p50, report.p95, report.p99), (0.050, 0.095, 0.099));
    assert!((report.mean - 0.0505).abs() < 1e-12);
    assert_eq!(DelayReport::of(&mut []), None);
}

#[test]
fn an_open_frame_carries_its_ip_packet() {
    let capture = ladder(&[(0, data(1, false))]);
    assert_eq!(capture.packets[0].ip.unwrap().bytes, 128);
    let found = capture.frame(&capture.packets[0]).unwrap();
    assert_eq!(found.msdu_bytes, 128);
    assert_eq!(found.air_bytes, 24 + 8 + 128 + 4);
    assert_eq!(stations::clear(&capture), Some(Station::Mac(STATION)));
}

/// The IP packet of 128 bytes behind LLC and SNAP, enciphered: what each cipher adds is told from its first octets, and is not counted.
#[test]
fn what_a_cipher_adds_is_not_of_the_packet() {
    let ciphers: [(&str, &[u8], usize); 6] = [
        // Three octets of initialization vector and the key, then four of the check value.
        ("WEP", &[0x11, 0x22, 0x33, 0x00], 4),
        // The second octet repeats the first with bit 5 set and bit 7 clear. Behind the data, Michael's 8 octets and 4 of the check value.
        ("TKIP", &[0x41, 0x61, 0x05, 0x20, 0, 0, 0, 0], 12),
        ("TKIP", &[0xc1, 0x61, 0x05, 0x20, 0, 0, 0, 0], 12),
        // The third octet is reserved and zero, whatever the packet number is.
        ("CCMP", &[0x41, 0x00, 0x00, 0x20, 0, 0, 0, 0], 8),
        ("CCMP", &[0x41, 0x61, 0x00, 0x20, 0, 0, 0, 0], 8),
        ("GCMP", &[0x42, 0x01, 0x00, 0x60, 0, 0, 0, 0], 8),
    ];
    for (name, before, after) in ciphers {
        let mut bytes = frame(FrameKind::Data, false, |header| {
            header.control.protected = true;
            header.sequence_control = Some(1 << 4);
        });
        bytes.truncate(bytes.len() - (8 + 128));
        bytes.extend_from_slice(before);
        bytes.resize(bytes.len() + 8 + 128 + after, 0x5a);
        let capture = ladder(&[(0, bytes)]);
        let found = capture.frame(&capture.packets[0]).unwrap();
        assert_eq!(found.msdu_bytes, 128, "{name} {before:02x?}");
    }
}

/// Three packets with 20, 30 and 40 bytes above their headers of 28: both ends have three, and the bytes are of the end that sent them.
#[test]
fn candidates_count_packets_and_bytes_by_direction() {
    let capture = File::new(101)
        .packet(1, &udp(A, B, (1, 2), 20))
        .packet(2, &udp(B, A, (2, 1), 30))
        .packet(3, &udp(B, A, (2, 1), 40))
        .packet(4, &udp(B, [192, 168, 1, 3], (2, 1), 10))
        .read();
    let found = stations::candidates(&capture);
    let found: Vec<_> = found
        .iter()
        .map(|end| (end.station.to_string(), end.packets, end.bytes_sent, end.bytes_received))
        .collect();
    let of = |ip: &str, packets, sent, received| (ip.to_owned(), packets, sent, received);
    assert_eq!(
        found,
        [
            of("198.51.100.1", 4, 58 + 68 + 38, 48),
            of("192.168.1.2", 3, 48, 58 + 68),
            of("192.168.1.3", 1, 0, 38),
        ]
    );
}

fn analyse(bytes: &[u8]) {
    let Ok(capture) = Capture::read("damaged", bytes) else { return };
    let station = stations::clear(&capture);
    let document = report::describe(&capture, station.as_ref(), None);
    assert!(serde_json::to_string(&document).is_ok());
    if let Some(station) = station {
        let _ = replay::arrivals(&capture, &station);
    }
}

proptest! {
    #[test]
    fn damaged_captures_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        which in 0usize..3,
    ) {
        let air = [null(true), beacon(&[1, 9]), poll(), data(1, true), data(2, false)];
        let file = air.iter().zip(1..).fold(File::new(127), |file, (bytes, at)| file.packet(at * 90_000, bytes));
        let mut bytes = match which {
            0 => file.0,
            1 => pcapng(1, Some(9), 77, &ethernet(0x0800, &udp(A, B, (1, 2), 30))),
            _ => File::new(1).packet(1, &ethernet(0x8100, &[0; 40])).packet(2, &ethernet(0x0800, &udp(A, B, (1, 2), 9))).0,
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        analyse(&bytes);
    }
}

/// A capture merged of two monitors' has each frame twice. Without the later ones it is the first monitor's.
#[test]
fn frames_of_a_second_monitor_are_left_out() {
    let tim = |aids| TimFields { dtim_count: 0, dtim_period: 1, group: false, aids };
    let stamped = |at_ms: u64, number: u16, aids: &'static [u16]| {
        let mut bytes = beacon_of(1_000 * at_ms, tim(aids), None);
        let header = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        bytes[header + 22..header + 24].copy_from_slice(&(number << 4).to_le_bytes());
        (at_ms, bytes)
    };
    let mut frames = vec![(0, poll()), (0, ack(STATION)), (1, data(1, false)), (1, ack(AP)), (2, null(true))];
    frames
        .extend((1..9).map(|count| stamped(100 * count, count as u16, if count == 5 { &[1] } else { &[] })));
    frames.extend([(503, poll()), (503, ack(STATION)), (504, data(2, false)), (504, ack(AP))]);
    frames.sort_by_key(|(at_ms, _)| *at_ms);
    let once = ladder(&frames);
    for apart_ms in [0, 3, 250] {
        let again = frames.iter().map(|(at_ms, bytes)| (at_ms + apart_ms, bytes.clone()));
        let mut twice: Vec<_> = frames.iter().cloned().chain(again).collect();
        twice.sort_by_key(|(at_ms, _)| *at_ms);
        let merged = ladder(&twice);
        let left: Vec<_> = merged.packets.iter().map(|packet| packet.at).collect();
        assert_eq!(left, once.packets.iter().map(|packet| packet.at).collect::<Vec<_>>(), "{apart_ms}");
        let doubles = merged.notes.doubles.unwrap();
        assert_eq!((doubles.frames as usize, doubles.apart), (frames.len(), Span::from_millis(apart_ms)));
        let beacons = |capture: &Capture| capture.networks[&AP].beacons;
        assert_eq!(beacons(&merged), beacons(&once));
    }
    assert_eq!(once.notes.doubles, None);
}
