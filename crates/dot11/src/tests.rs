//! Frame formats: round trips, fields at their places, and bytes that are no frames.

use airwatt_base::Span;
use proptest::prelude::*;

use super::*;

const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const SERVER: MacAddress = MacAddress([2, 0, 0, 0, 0, 3]);

/// An action frame of the access point, whose body follows the header.
pub(super) fn action_frame(protected: bool, body: &[u8]) -> Vec<u8> {
    let mut control = FrameControl::new(FrameKind::Action);
    control.protected = protected;
    let mut header = MacHeader::new(control, STATION);
    (header.address2, header.address3) = (Some(AP), Some(AP));
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

fn beacon(aids: &[u16]) -> Vec<u8> {
    beacon_each(TIME_UNIT * 100, aids)
}

fn beacon_each(interval: Span, aids: &[u16]) -> Vec<u8> {
    let mut header = MacHeader::new(FrameControl::new(FrameKind::Beacon), MacAddress::BROADCAST);
    header.address2 = Some(AP);
    header.address3 = Some(AP);
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    BeaconFields {
        timestamp_us: 123_456,
        interval,
        capability: Capability(Capability::ESS | Capability::SHORT_SLOT),
        ssid: b"airwatt",
        rates: &[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c],
        ds_channel: None,
        tim: TimFields { dtim_count: 1, dtim_period: 3, group: false, aids },
        wmm: Some(0x80),
        access: None,
    }
    .encode(&mut bytes);
    bytes
}

#[test]
fn a_crc_of_known_text() {
    assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
    let mut frame = b"123456789".to_vec();
    append_fcs(&mut frame, 0);
    assert!(check_fcs(&frame));
    frame[3] ^= 1;
    assert!(!check_fcs(&frame));
    assert!(!check_fcs(&[1, 2, 3]));
}

#[test]
fn a_beacon_and_its_tim() {
    let bytes = beacon(&[1, 17, 18]);
    let frame = Frame::decode(&bytes).unwrap();
    assert_eq!(frame.header().bssid(), Some(AP));
    let Ok(Some(ManagementBody::Beacon { interval, timestamp_us, elements, capability })) =
        ManagementBody::decode(&frame)
    else {
        panic!("not a beacon");
    };
    assert_eq!((interval, timestamp_us), (Span::from_micros(102_400), 123_456));
    assert!(capability.has(Capability::ESS) && !capability.has(Capability::SHORT_PREAMBLE));
    assert_eq!(elements.ssid(), Some(&b"airwatt"[..]));
    let tim = elements.tim().unwrap();
    assert_eq!((tim.dtim_count, tim.dtim_period, tim.group), (1, 3, false));
    assert_eq!(tim.aids().collect::<Vec<_>>(), [1, 17, 18]);
    assert!(tim.tim_bit(17) && !tim.tim_bit(16) && !tim.tim_bit(2007));
    let wmm = elements.wmm().unwrap();
    // The octet's other bits count the changes of the parameters.
    assert!(wmm.ap_uapsd() && !WmmInfo { qos_info: 0x0f, ..wmm }.ap_uapsd());
}

/// 802.11-2020 9.4.2.22: both times are in time units of 1024 us, with the low octet first.
#[test]
fn quiet_intervals_have_their_times_in_time_units() {
    let element = |count| [&[40, 6, count, 3, 10, 0, 2, 1][..], &[41, 6, 1, 1, 1, 0, 1, 0]].concat();
    let expected = QuietInterval {
        count: 2,
        period: 3,
        duration: Span::from_micros(10_240),
        offset: Span::from_micros(258 * 1_024),
    };
    assert_eq!(QuietInterval::all(Elements(&element(2))).collect::<Vec<_>>(), [expected]);
    // A count of 0 is reserved.
    assert_eq!(QuietInterval::all(Elements(&element(0))).next(), None);
}

#[test]
fn access_parameters_are_those_of_best_effort() {
    let access = AccessParameters { aifsn: 3, cw_min: 7, cw_max: 1023, txop: Span::from_micros(2_528) };
    let voice = AccessParameters { aifsn: 2, cw_min: 3, cw_max: 7, txop: Span::from_micros(1_504) };
    let mut out = Vec::new();
    Elements::push_wmm_parameters(&mut out, 0x80, [access, access, access, voice]);
    // 802.11-2020 9.4.2.28: ACI and AIFSN, exponents of the windows, and the limit in units of 32 us; 79 of them.
    assert_eq!(out[..14], [221, 24, 0, 0x50, 0xf2, 2, 1, 1, 0x80, 0, 0x03, 0xa3, 79, 0]);
    assert_eq!((out.len(), out[14]), (26, 0x23));
    assert_eq!(out[22..], [0x62, 0x32, 47, 0]);
    assert_eq!(Elements(&out).wmm(), Some(WmmInfo { qos_info: 0x80, best_effort: Some(access) }));
    // An information element has none, nor has one that is cut off.
    out.truncate(12);
    out[1] = 10;
    assert_eq!(Elements(&out).wmm(), Some(WmmInfo { qos_info: 0x80, best_effort: None }));
    out.clear();
    Elements::push_wmm(&mut out, 0x80);
    assert_eq!(Elements(&out).wmm(), Some(WmmInfo { qos_info: 0x80, best_effort: None }));
}

#[test]
fn an_interval_of_no_whole_time_units_is_declared() {
    let interval_of = |bytes: &[u8]| match ManagementBody::decode(&Frame::decode(bytes).unwrap()) {
        Ok(Some(ManagementBody::Beacon { interval, .. })) => interval,
        other => panic!("not a beacon: {other:?}"),
    };
    let published = Span::from_millis(100);
    let bytes = beacon_each(published, &[1]);
    assert_eq!(interval_of(&bytes), published);
    // Behind the header of 24 octets and the timestamp, the field has 98 time units, and the element the nanoseconds.
    assert_eq!(bytes[32..34], [98, 0]);
    assert_eq!(bytes[bytes.len() - 14..bytes.len() - 8], [221, 12, 2, 0, 0, 1]);
    assert_eq!(bytes[bytes.len() - 8..], 100_000_000_u64.to_le_bytes());
    // An element that does not agree with the field is not this one.
    let mut other = bytes;
    other[32] = 97;
    assert_eq!(interval_of(&other), TIME_UNIT * 97);
    // A whole number of time units needs none.
    assert_eq!(beacon(&[1]).len() + 14, beacon_each(published, &[1]).len());
}

#[test]
fn an_empty_map_is_one_octet_and_a_late_one_begins_late() {
    let mut out = Vec::new();
    TimFields { dtim_count: 0, dtim_period: 1, group: true, aids: &[] }.encode(&mut out);
    assert_eq!(out, [5, 4, 0, 1, 1, 0]);
    out.clear();
    TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[2007, 0, 3000] }.encode(&mut out);
    assert_eq!(out, [5, 4, 0, 1, 250, 0x80]);
}

#[test]
fn a_ps_poll_carries_its_aid() {
    let mut header = MacHeader::new(FrameControl::new(FrameKind::PsPoll), AP);
    header.address2 = Some(STATION);
    header.duration_id = 0xc000 | 5;
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    assert_eq!(bytes.len(), 16);
    let (back, _) = MacHeader::decode(&bytes).unwrap();
    assert_eq!((back.ps_poll_aid(), back.bssid()), (Some(5), Some(AP)));
}

#[test]
fn the_ds_bits_place_the_addresses() {
    let mut control = FrameControl::new(FrameKind::QosData);
    control.to_ds = true;
    let mut up = MacHeader::new(control, AP);
    (up.address2, up.address3) = (Some(STATION), Some(SERVER));
    assert_eq!((up.source(), up.destination(), up.bssid()), (Some(STATION), SERVER, Some(AP)));
    control.to_ds = false;
    control.from_ds = true;
    let mut down = MacHeader::new(control, STATION);
    (down.address2, down.address3) = (Some(AP), Some(SERVER));
    assert_eq!((down.source(), down.destination(), down.bssid()), (Some(SERVER), STATION, Some(AP)));
    control.to_ds = true;
    let mut four = MacHeader::new(control, AP);
    (four.address3, four.address4) = (Some(STATION), Some(SERVER));
    assert_eq!((four.source(), four.destination(), four.bssid()), (Some(SERVER), STATION, None));
    assert_eq!(four.encoded_len(), 32);
}

#[test]
fn qos_control_bits() {
    let qos = QosControl::new(6).with_eosp(true);
    assert_eq!((qos.tid(), qos.eosp(), qos.amsdu()), (6, true, false));
    assert!(!qos.with_eosp(false).eosp());
}

#[test]
fn radiotap_round_trip() {
    let vector = TxVector::ht(15, Width::Mhz40, Guard::Short).unwrap().with_coding(Coding::Ldpc);
    let header = Radiotap {
        tsft_us: Some(77),
        flags: RadiotapFlags(RadiotapFlags::FCS),
        channel: Some(Channel { frequency_mhz: 5180, flags: Channel::OFDM_5GHZ }),
        signal_dbm: Some(-60),
        tx_flags: Some(TxFlags(1)),
        data_retries: Some(2),
        mcs: McsField::of(&vector),
        ..Radiotap::default()
    };
    // Written behind other bytes: alignment counts from the header's own start.
    let mut bytes = vec![9; 3];
    let length = header.encode(&mut bytes);
    let (back, read) = Radiotap::decode(&bytes[3..]).unwrap();
    assert_eq!((back, read), (header, length));
    assert_eq!(back.vector(), Some(vector));
    let greenfield = Radiotap { mcs: McsField::of(&vector.greenfield()), ..back };
    assert_eq!(greenfield.vector(), Some(vector.greenfield()));
}

#[test]
fn radiotap_words_and_vendors() {
    // First word: flags, then the vendor's word (its bits mean nothing here), then back to radiotap with a rate.
    let mut bytes = vec![0, 0, 0, 0];
    for word in [1 << 1 | 1 << 30 | 1 << 31, 0x7 | 1 << 29 | 1 << 31, 1u32 << 2] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&[0x10, 0]); // flags, padding
    bytes.extend_from_slice(&[1, 2, 3, 0, 3, 0, 7, 7, 7]); // OUI, sub-namespace, three bytes to skip
    bytes.push(108);
    bytes[2] = bytes.len() as u8;
    let (header, _) = Radiotap::decode(&bytes).unwrap();
    assert!(header.flags.has(RadiotapFlags::FCS));
    assert_eq!(header.vector(), TxVector::ofdm("54Mbps".parse().unwrap()));
}

#[test]
fn radiotap_vht_and_he() {
    let with = |bit: u32, field: [u8; 12]| {
        let mut bytes = vec![0, 0, 20, 0];
        bytes.extend_from_slice(&(1u32 << bit).to_le_bytes());
        bytes.extend_from_slice(&field);
        Radiotap::decode(&bytes).unwrap().0
    };
    // Guard and width known; short guard, 80 MHz, MCS 9, one stream.
    let vht = with(21, [0x44, 0, 4, 4, 0x91, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(vht.vector(), TxVector::vht(9, 1, Width::Mhz80, Guard::Short));
    // MCS and width known; MCS 11, 80 MHz, two streams.
    let he = with(23, [0x20, 0x40, 2, 0, 0, 11, 0, 0, 2, 0, 2, 0]);
    assert_eq!(he.vector(), TxVector::he(11, 2, Width::Mhz80, Guard::Long));
    // The same extended in range, with guard interval 1.6 us and training fields of 1x, all known; DCM and LDPC.
    let he = with(23, [0x21, 0x40, 6, 0, 0, 0x31, 0, 0, 0x50, 0, 1, 0]);
    let fields = HeFields { form: HeForm::ExtendedRange, ltf: Ltf::Single, dcm: true, extension_us: 0 };
    let vector = TxVector::he(1, 1, Width::Mhz20, Guard::Double).unwrap().with_he_fields(fields);
    assert_eq!(he.vector(), Some(vector.with_coding(Coding::Ldpc)));
    // Index, streams or width that no vector has.
    assert_eq!(with(23, [0x20, 0x40, 2, 0, 0, 12, 0, 0, 2, 0, 2, 0]).vector(), None);
    assert_eq!(with(21, [0x44, 0, 4, 4, 0x90, 0, 0, 0, 0, 0, 0, 0]).vector(), None);
}

#[test]
fn amsdu_and_snap() {
    let mut body = Vec::new();
    for (at, length) in [(0u8, 11usize), (1, 8)] {
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend_from_slice(&STATION.0);
        body.extend_from_slice(&SERVER.0);
        body.extend_from_slice(&(length as u16).to_be_bytes());
        encapsulate(0x0800, &mut body);
        body.extend(std::iter::repeat_n(at, length - 8));
    }
    let found: Vec<_> = amsdu_subframes(&body).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(snap_payload(found[0].body), Some((0x0800, &[0u8, 0, 0][..])));
    assert_eq!((found[1].length, found[1].source), (8, SERVER));
    assert_eq!(snap_payload(&[0xaa, 0xaa, 3]), None);
}

#[test]
fn mac_addresses_as_text() {
    assert_eq!("02:00:00:00:00:01".parse(), Ok(AP));
    assert_eq!("02-00-00-00-00-01".parse(), Ok(AP));
    assert_eq!(AP.to_string(), "02:00:00:00:00:01");
    for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02:00:00:00:00:+1", "é:00"] {
        assert_eq!(wrong.parse::<MacAddress>(), Err(ParseMacError), "{wrong}");
    }
}

fn look_at_everything(bytes: &[u8]) {
    for frame in [Frame::decode(bytes), Frame::decode_padded(bytes)].into_iter().flatten() {
        let header = frame.header();
        let _ = (header.source(), header.destination(), header.bssid(), header.ps_poll_aid());
        if let Ok(Some(ManagementBody::Beacon { elements, .. })) = ManagementBody::decode(&frame) {
            let _ = (elements.count(), elements.wmm(), elements.ssid());
            let _ = elements.tim().map(|tim| tim.aids().count());
        }
        let _ = TwtAction::decode(&frame);
        let _ = WnmSleep::decode(&frame);
        let _ = (amsdu_subframes(frame.body()).count(), snap_payload(frame.body()));
    }
    if let Ok((header, length)) = Radiotap::decode(bytes) {
        assert!(length <= bytes.len());
        let _ = header.vector().map(|vector| vector.frame_time(Band::Ghz2, u32::MAX));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        look_at_everything(&bytes);
    }

    #[test]
    fn damaged_frames_are_read_without_panic(
        changes in proptest::collection::vec((0usize..120, any::<u8>()), 0..8),
        cut in 0usize..120,
    ) {
        let mut bytes = Vec::new();
        Radiotap { rate_500kbps: Some(12), ..Radiotap::default() }.encode(&mut bytes);
        bytes.extend(beacon(&[4, 900]));
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        look_at_everything(&bytes);
        look_at_everything(bytes.get(10..).unwrap_or(&[]));
    }

    #[test]
    fn a_header_that_was_read_writes_the_same_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 36..60)) {
        bytes[0] &= !3;
        if let Ok((header, length)) = MacHeader::decode(&bytes) {
            let mut out = Vec::new();
            header.encode(&mut out);
            prop_assert_eq!(&out[..], &bytes[..length]);
            prop_assert_eq!(header.encoded_len(), length);
        }
    }

    #[test]
    fn each_waiting_station_has_its_bit(aids in proptest::collection::btree_set(1u16..=2007, 0..20)) {
        let list: Vec<u16> = aids.iter().copied().collect();
        let mut out = Vec::new();
        TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &list }.encode(&mut out);
        let tim = Tim::decode(&out[2..]).unwrap();
        prop_assert_eq!(usize::from(out[1]), out.len() - 2);
        prop_assert_eq!(tim.aids().collect::<Vec<_>>(), list);
    }
}

#[test]
fn wnm_sleep_mode_is_what_the_access_point_agreed_to() {
    let read = |protected: bool, body: &[u8]| {
        WnmSleep::decode(&Frame::decode(&action_frame(protected, body)).unwrap())
    };
    assert_eq!(read(false, &[10, 17, 1, 0, 0, 93, 4, 0, 0, 9, 0]), Ok(Some(WnmSleep::Entered)));
    // Group keys of three octets stand before the element.
    assert_eq!(read(false, &[10, 17, 1, 3, 0, 7, 7, 7, 93, 4, 1, 1, 0, 0]), Ok(Some(WnmSleep::Left)));
    assert_eq!(read(false, &[10, 17, 1, 0, 0, 93, 4, 0, 2, 0, 0]), Ok(None), "denied");
    assert_eq!(read(false, &[10, 17, 1, 0, 0, 93, 4, 1, 2, 0, 0]), Ok(None), "it may not leave");
    assert_eq!(read(false, &[10, 16, 1, 93, 4, 0, 0, 0, 0]), Ok(None), "a request");
    assert_eq!(read(true, &[10, 17, 1, 0, 0, 93, 4, 0, 0, 0, 0]), Ok(None), "encrypted");
    assert!(read(false, &[10, 17, 1, 9, 0, 1]).is_err(), "the keys run past the end");
}

#[test]
fn he_capabilities_say_who_asks_for_target_wake_time() {
    let roles = |bytes: &[u8]| (Elements(bytes).is_twt_requester(), Elements(bytes).is_twt_responder());
    let with = |mac: u8| roles(&[0, 1, 0x74, 255, 3, 35, mac, 0]);
    assert_eq!(with(0b010), (true, false));
    assert_eq!(with(0b100), (false, true));
    assert_eq!(with(0b001), (false, false));
    assert_eq!(roles(&[255, 2, 36, 6]), (false, false), "the HE operation has none");
}
