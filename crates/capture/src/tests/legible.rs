//! What a frame says counts only as far as it can be read: by its checksum, by what a block acknowledgement is about, by the form of a TIM.

use super::*;

/// A frame behind a radiotap header that says that it has its FCS; `harm` changes it after that was reckoned.
fn summed(bytes: &[u8], harm: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let radiotap = Radiotap {
        rate_500kbps: Some(48),
        flags: airwatt_dot11::RadiotapFlags(airwatt_dot11::RadiotapFlags::FCS),
        ..Radiotap::default()
    };
    let mut out = Vec::new();
    radiotap.encode(&mut out);
    let (_, at) = Radiotap::decode(bytes).unwrap();
    let start = out.len();
    out.extend_from_slice(&bytes[at..]);
    airwatt_dot11::append_fcs(&mut out, start);
    harm(&mut out);
    out
}

/// An access point that announces nothing by More Data, and conceals nothing: its frame has that bit in the capture since it was damaged.
#[test]
fn a_frame_with_a_wrong_checksum_is_left_out() {
    let more_data = |bytes: &mut Vec<u8>| {
        let start = Radiotap::decode(bytes).unwrap().1;
        bytes[start + 1] ^= 0x20;
    };
    let later =
        [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false)), (308, null(true))];
    let mut frames = [&buffered()[..], &later].concat();
    frames[7].1 = data(2, false);
    let of = |harm: &dyn Fn(usize, &mut Vec<u8>)| {
        let place =
            |(place, (at, bytes)): (usize, &(u64, Vec<u8>))| (*at, summed(bytes, |bytes| harm(place, bytes)));
        frames.iter().enumerate().map(place).collect::<Vec<_>>()
    };
    let violated = |frames: &[(u64, Vec<u8>)]| {
        tim_never_set(frames).iter().filter(|(verdict, _)| *verdict == Verdict::Violated).count()
    };
    let damaged = of(&|place, bytes| {
        if place == 7 {
            more_data(bytes)
        }
    });
    assert_eq!(violated(&damaged), 0);
    let read = ladder(&damaged);
    assert_eq!(read.frames.iter().map(|frame| frame.damaged).filter(|damaged| *damaged).count(), 1);
    // A monitor whose checksums are never right says nothing by them.
    let never = of(&|place, bytes| {
        *bytes.last_mut().unwrap() ^= 0xff;
        if place == 7 {
            more_data(bytes);
        }
    });
    assert!(ladder(&never).frames.iter().all(|frame| !frame.damaged));
    assert_eq!(violated(&never), 2);
}

/// A block acknowledgement of these bits from number 2 on, of a traffic identifier.
fn block_ack(tid: u16, bitmap: u64) -> Vec<u8> {
    let mut bytes = frame(FrameKind::BlockAck, true, |header| header.address3 = None);
    bytes.extend_from_slice(&(tid << 12 | 2 << 1).to_le_bytes());
    bytes.extend_from_slice(&(2_u16 << 4).to_le_bytes());
    bytes.extend_from_slice(&bitmap.to_le_bytes());
    bytes
}

/// The frame with More Data is acknowledged if the block acknowledgement after it is about its number and its traffic identifier.
#[test]
fn a_block_acknowledgement_is_about_what_it_names() {
    let qos = |number: u16, more: bool| {
        frame(FrameKind::QosData, false, |header| {
            header.control.more_data = more;
            header.sequence_control = Some(number << 4);
            header.qos = Some(QosControl::new(0));
        })
    };
    let judged = |answer: Vec<u8>| {
        let frames = [
            (0, poll()),
            (1, qos(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            (2, ack(STATION)),
            (100, beacon(&[1])),
            (101, poll()),
            (102, qos(2, true)),
            (102, answer),
            (202, beacon(&[])),
            (305, beacon(&[7])),
            (306, poll()),
            (307, qos(3, false)),
            (307, ack(AP)),
        ];
        let found = findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::TimNeverSet);
        let of_promise = |one: &&power_save::Occurrence| one.verdict != Verdict::Kept;
        found.unwrap().occurrences.iter().find(of_promise).unwrap().detail.clone().unwrap()
    };
    let doubt = "no acknowledgement of the frame with More Data was captured";
    assert!(!judged(block_ack(0, 1)).contains(doubt));
    assert!(judged(block_ack(0, 2)).contains(doubt));
    assert!(judged(block_ack(5, 1)).contains(doubt));
    // Of what came before its first bit it says nothing.
    let said = ladder(&[(0, block_ack(0, 1))]).block_acks[0];
    assert!(said.has(0, 1) && said.has(0, 2) && !said.has(0, 3) && !said.has(0, 300) && !said.has(1, 2));
}

/// A beacon of several BSSIDs whose map does not begin with its first octet does not say whose bits it has.
#[test]
fn a_map_of_several_bssids_is_read_where_it_has_one_form() {
    let several = |aids: &[u16]| {
        let mut bytes = beacon(aids);
        bytes.extend_from_slice(&[71, 1, 3]);
        bytes
    };
    let of = |bytes: Vec<u8>| {
        let beacons = ladder(&[(0, bytes)]).beacons;
        (beacons[0].shows_bits(), beacons[0].aids.clone())
    };
    assert_eq!(of(several(&[9])), (true, vec![9]));
    assert_eq!(of(several(&[300])), (false, vec![]));
    assert_eq!(of(beacon(&[300])), (true, vec![300]));
    // Beacons that do not show the bit conceal nothing.
    let frames = |other: &dyn Fn(&[u16]) -> Vec<u8>| {
        let later = [
            (202, other(&[300])),
            (305, other(&[301])),
            (306, poll()),
            (307, data(3, false)),
            (308, null(true)),
        ];
        tim_never_set(&[&buffered()[..], &later].concat())
    };
    assert_eq!(frames(&beacon)[1].0, Verdict::Violated);
    assert_eq!(frames(&several)[1].0, Verdict::Undecidable);
}

/// What keeps an access point waiting may be of a neighbour whose data the monitor does not receive, but whose acknowledgements it does.
#[test]
fn a_channel_is_not_free_before_an_acknowledgement_of_what_was_not_captured() {
    const NEIGHBOUR: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    let verdict_with = |kind: FrameKind| {
        let other = frame(kind, true, |header| {
            (header.address1, header.address2, header.address3) = (NEIGHBOUR, None, None);
        });
        let begin = [&buffered()[..7], &[(101, ack(STATION))]].concat();
        let others: Vec<_> = (0..41).map(|place| (103 + 2 * place, other.clone())).collect();
        let frames =
            [&begin[..], &others, &[(186, data(2, false)), (186, ack(AP)), (202, beacon(&[]))]].concat();
        let found = findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::LateDelivery);
        found.unwrap().occurrences.last().unwrap().verdict
    };
    assert_eq!(verdict_with(FrameKind::Cts), Verdict::Violated);
    assert_eq!(verdict_with(FrameKind::Ack), Verdict::Undecidable);
}
