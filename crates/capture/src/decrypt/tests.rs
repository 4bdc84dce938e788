//! The published vectors, and the captures that `captures/wpa2.py` encrypts with ciphers of its own.

use std::ops::ControlFlow;
use std::path::Path;

use super::cipher::Cipher;
use super::*;
use crate::{Capture, GroupProtocol, Limits, TransportHeader};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().unwrap()
}

/// The vectors of 802.11-2020 J.4.2.
#[test]
fn a_passphrase_gives_the_key_of_the_standard() {
    for (passphrase, ssid, key) in [
        ("password", "IEEE", "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"),
        (
            "ThisIsAPassword",
            "ThisIsASSID",
            "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af",
        ),
        (
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "becb93866bb8c3832cb777c2f559807c8c59afcb6eae734885001300a981cc62",
        ),
    ] {
        let found = NetworkKey::passphrase(passphrase).unwrap().master_key(Some(ssid.as_bytes()));
        assert_eq!(found, Some(array(key)), "{passphrase}");
        let named = NetworkKey::passphrase(&format!("{passphrase}:{ssid}")).unwrap();
        assert_eq!(named.master_key(None), Some(array(key)), "{passphrase}");
    }
}

/// The vector of CCMP in 802.11-2020 J.6.4.
#[test]
fn ccmp_opens_the_frame_of_the_standard() {
    let key = TemporalKey { cipher: Cipher::Ccmp, octets: array("c97c1f67ce371185514a8a19f2bdd52f") };
    let frame = "0848c32c0fd2e128a57c5030f1844408abaea5b8fcba8033 0ce7002076 9703b5
        f3d0a2fe9a3dbf2342a643e43246e80c3c04d019 7845ce0b16f97623";
    let octets = hex(frame);
    let frame = Frame::decode(&octets).unwrap();
    let header = CipherHeader::read(frame.body()).unwrap();
    let opened = key.open(&frame, header).unwrap();
    assert_eq!(opened, hex("f8ba1a55d02f85ae967bb62fb6cda8eb7e78a050"));
    // What a retransmission changes is not protected; what says where a frame belongs is.
    for (at, bit, fits) in [
        (1, 0x08, true),
        (1, 0x10, true),
        (1, 0x20, true),
        (23, 0x10, true),
        (22, 0x01, false),
        (5, 0x01, false),
        (40, 1, false),
    ] {
        let mut changed = octets.clone();
        changed[at] ^= bit;
        let frame = Frame::decode(&changed).unwrap();
        let opened = CipherHeader::read(frame.body()).and_then(|header| key.open(&frame, header));
        assert_eq!(opened.is_some(), fits, "octet {at}");
    }
}

/// The vector of GCMP in 802.11-2020 J.11.
#[test]
fn gcmp_opens_the_frame_of_the_standard() {
    let key = TemporalKey { cipher: Cipher::Gcmp, octets: array("c97c1f67ce371185514a8a19f2bdd52f") };
    let mut octets = hex("88480b000fd2e128a57c5030f18444085030f1844408 8033 0300 082b0020 5f5f8900
        60e9700cc4d40ac6d288b201c38f5bf08b807442640a1596e5dbdad41d1f3623f45d7a12db7afb23
        def619c2a374b6df66ffa53b6c69d79e");
    let opened = |octets: &[u8]| {
        let frame = Frame::decode(octets).unwrap();
        key.open(&frame, CipherHeader::read(frame.body()).unwrap())
    };
    assert_eq!(opened(&octets), Some((0..40).collect()));
    *octets.last_mut().unwrap() ^= 1;
    assert_eq!(opened(&octets), None);
}

fn shipped(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)).unwrap()
}

/// Reads a capture from its bytes, through a file, with keys.
fn read(bytes: &[u8], keys: &[&str]) -> Capture {
    static FILES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = FILES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("airwatt-decrypt-{}-{number}.pcap", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let keys: Vec<NetworkKey> = keys
        .iter()
        .map(|key| NetworkKey::passphrase(key).or_else(|_| NetworkKey::psk(key)).unwrap())
        .collect();
    let goes_on = &mut |_| ControlFlow::Continue(());
    let capture = Capture::open_then(&path, &Limits::default(), &keys, || Ok(()), goes_on).unwrap();
    std::fs::remove_file(&path).unwrap();
    capture
}

/// The UDP datagrams of a capture by the number that its script gave them, without retransmissions.
fn datagrams(capture: &Capture) -> Vec<u16> {
    let ports = capture.packets.iter().filter(|packet| !packet.repeated).filter_map(|packet| {
        match packet.ip?.transport {
            TransportHeader::Udp { source_port, .. } => Some(source_port - 41_000),
            _ => None,
        }
    });
    ports.collect()
}

/// The packets of a pcap file, with its header first.
fn packets(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut rest) = (vec![file[..24].to_vec()], &file[24..]);
    while rest.len() > 16 {
        let length = 16 + u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        parts.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    parts
}

/// The reasons of a report with their frames.
fn reasons(report: &DecryptionReport) -> Vec<(&str, u64)> {
    report.undecidable.iter().map(|one| (one.reason.as_str(), one.frames)).collect()
}

const RIGHT: &str = "correct horse";

#[test]
fn every_form_of_a_frame_is_opened_in_both_ciphers() {
    for name in ["wpa2-ccmp.pcap", "wpa2-gcmp.pcap"] {
        for key in [RIGHT, "correct horse:example", "correct%20horse"] {
            let capture = read(&shipped(name), &["wrong passphrase", key]);
            assert_eq!(datagrams(&capture), [1, 2, 3, 4, 5, 6, 9, 8], "{name} {key}");
            let groups: Vec<GroupProtocol> =
                capture.packets.iter().filter_map(|packet| packet.group).collect();
            assert_eq!(groups.iter().filter(|group| **group == GroupProtocol::Arp).count(), 2, "{name}");
            let report = capture.decryption.as_ref().unwrap();
            assert_eq!(
                (report.verdict, report.protected_frames, report.decrypted_frames),
                ("partly", 16, 15)
            );
            assert!(reasons(report)[0].0.contains("no 4-way handshake"), "{report:?}");
            assert_eq!(report.undecidable[0].stations, ["02:00:00:00:00:03"]);
            assert_eq!(report.undecidable[0].first_packet, 13);
            // What the cipher adds is not the datagram's.
            let bytes = |packet: &crate::CapturedPacket| capture.frame(packet).map(|frame| frame.msdu_bytes);
            assert_eq!(bytes(&capture.packets[6]), capture.packets[6].ip.map(|ip| ip.bytes), "{name}");
        }
    }
}

/// The files that a monitor rotated: keys are known across them, and packets are numbered through.
#[test]
fn a_handshake_opens_the_files_after_it() {
    let parts = packets(&shipped("wpa2-ccmp.pcap"));
    let folder = std::env::temp_dir().join(format!("airwatt-decrypt-folder-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, of) in [("a.pcap", 1..9), ("b.pcap", 9..parts.len())] {
        std::fs::write(folder.join(name), [&parts[..1], &parts[of]].concat().concat()).unwrap();
    }
    let keys = [NetworkKey::passphrase(RIGHT).unwrap()];
    let goes_on = &mut |_| ControlFlow::Continue(());
    let capture = Capture::open_then(&folder, &Limits::default(), &keys, || Ok(()), goes_on).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let report = capture.decryption.unwrap();
    assert_eq!((report.decrypted_frames, report.undecidable[0].first_packet), (15, 13));
}

#[test]
fn a_key_in_hexadecimal_digits_opens_the_same() {
    let mut master = [0; 32];
    master.copy_from_slice(&NetworkKey::passphrase(RIGHT).unwrap().master_key(Some(b"example")).unwrap());
    let text: String = master.iter().map(|octet| format!("{octet:02X}")).collect();
    let capture = read(&shipped("wpa2-ccmp.pcap"), &[&text]);
    assert_eq!(capture.decryption.unwrap().decrypted_frames, 15);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let file = shipped("wpa2-ccmp.pcap");
    let parts = packets(&file);
    let without = |left_out: &[usize]| {
        let kept = parts.iter().enumerate().filter(|(number, _)| !left_out.contains(number));
        kept.flat_map(|(_, part)| part.clone()).collect::<Vec<u8>>()
    };
    let of = |bytes: &[u8], key: &str| read(bytes, &[key]).decryption.unwrap();
    let first_reason = |report: DecryptionReport, decrypted: u64, reason: &str| {
        assert_eq!(report.decrypted_frames, decrypted, "{report:?}");
        assert!(reasons(&report).iter().any(|(text, _)| text.contains(reason)), "{reason}: {report:?}");
    };
    let wrong = of(&file, "wrong passphrase");
    assert_eq!((wrong.verdict, wrong.decrypted_frames), ("undecidable", 0));
    assert!(reasons(&wrong)[0].0.contains("no given passphrase"), "{wrong:?}");
    first_reason(
        of(&file, "correct horse:other"),
        0,
        "no passphrase is given for their network, \"example\"",
    );
    // The beacons have the name.
    first_reason(of(&without(&[1, 23]), RIGHT), 0, "the name of their network");
    assert_eq!(of(&without(&[1, 23]), "correct horse:example").decrypted_frames, 15);
    // The second message is what nothing replaces; the first is replaced by the third, whose group key then is lost.
    first_reason(of(&without(&[4]), RIGHT), 0, "no 4-way handshake");
    assert_eq!(of(&without(&[2, 3]), RIGHT).decrypted_frames, 15);
    first_reason(of(&without(&[5]), RIGHT), 14, "the group's key");
    // The capture begins after the first handshake; the later one is protected by its key.
    first_reason(of(&without(&[2, 3, 4, 5, 6]), RIGHT), 0, "no 4-way handshake");
    // A later handshake of which the second message is missing.
    first_reason(of(&without(&[18]), RIGHT), 13, "a later handshake is missing");
    // The last octets of a frame are cut off: the length on the air stays.
    let mut cut = parts.clone();
    cut[7].truncate(80);
    let kept = (cut[7].len() - 16) as u32;
    cut[7][8..12].copy_from_slice(&kept.to_le_bytes());
    first_reason(of(&cut.concat(), RIGHT), 14, "too few of their bytes");
    // The station's element asks for SAE, by the number of the key management in its second message.
    let at = parts[4].windows(4).rposition(|octets| octets == [0x00, 0x0f, 0xac, 2]).unwrap() + 3;
    for (number, what) in [(8, "SAE"), (4, "fast transition"), (1, "802.1X")] {
        let mut other = parts.clone();
        other[4][at] = number;
        first_reason(of(&other.concat(), RIGHT), 0, what);
    }
}

#[test]
fn keys_never_stand_in_texts() {
    let key = NetworkKey::passphrase("a secret:network").unwrap();
    assert!(!format!("{key:?}").contains("secret"));
    for text in
        ["short", &"x".repeat(64), "has\ttabulator", "a secret:", &format!("a secret:{}", "n".repeat(33))]
    {
        let error = NetworkKey::passphrase(text).unwrap_err().to_string();
        assert!(error.starts_with("expected") && !error.contains(text), "{error}");
    }
    for text in ["", "12", &"g".repeat(64), &"0".repeat(63), "ä".repeat(32).as_str()] {
        assert!(NetworkKey::psk(text).is_err(), "{text}");
    }
}

/// Damaged handshakes and frames give no panic, and no frame that is damaged behind its header is opened.
#[test]
fn damaged_frames_are_not_opened() {
    const RADIOTAP: usize = 14;
    let master = NetworkKey::passphrase(RIGHT).unwrap().master_key(Some(b"example")).unwrap();
    let digits: String = master.iter().map(|octet| format!("{octet:02x}")).collect();
    for name in ["wpa2-ccmp.pcap", "wpa2-gcmp.pcap"] {
        let parts = packets(&shipped(name));
        let frames: Vec<&[u8]> = parts[1..].iter().map(|part| &part[16 + RADIOTAP..]).collect();
        for (number, damaged) in frames.iter().enumerate() {
            for at in (0..damaged.len()).step_by(3) {
                let mut decryption = Decryption::new(&[NetworkKey::psk(&digits).unwrap()]);
                let mut is_opened = false;
                for (place, octets) in frames.iter().enumerate() {
                    let mut octets = octets.to_vec();
                    if place == number {
                        octets[at] ^= 0x55;
                    }
                    let Ok(frame) = Frame::decode(&octets) else { continue };
                    if frame.header().control.protected {
                        is_opened |= decryption.open(&frame, true, 1).is_some() && place == number;
                    } else {
                        decryption.observe(&frame, frame.body());
                    }
                    if place == number {
                        break;
                    }
                }
                // Behind the longest header stand packet number, data and checksum; the third and fourth octet of the cipher's header do not
                // count.
                assert!(!is_opened || at < 26 + 4, "{name}: frame {number}, octet {at}");
            }
        }
    }
}
