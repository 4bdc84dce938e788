//! Bytes that were composed by hand from the tables of the standard, and the check numbers of the arithmetic.

use airwatt_base::Span;
use proptest::prelude::*;

use super::*;
use crate::tests::action_frame;

fn read(body: &[u8]) -> Result<Option<TwtAction>, MalformedFrame> {
    TwtAction::decode(&Frame::decode(&action_frame(false, body)).unwrap())
}

fn suggestion() -> TwtSetup {
    TwtSetup {
        dialog_token: 5,
        request: true,
        command: TwtCommand::Suggest,
        trigger: false,
        implicit: true,
        unannounced: true,
        flow: 3,
        protection: false,
        information_disabled: false,
        target_us: None,
        duration: WakeDuration::Short(64),
        interval: WakeInterval { mantissa: 512, exponent: 12 },
        channel: 0,
    }
}

/// The request type of the suggestion: request 1, command 1 << 1, implicit 1 << 5, unannounced 1 << 6, flow 3 << 7, exponent
/// 12 << 10; the sum is 0x31e3.
const SUGGESTION: [u8; 20] = [22, 6, 5, 216, 15, 0, 0xe3, 0x31, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0x00, 0x02, 0];

#[test]
fn a_request_is_where_the_standard_puts_it() {
    let mut out = Vec::new();
    TwtAction::Setup(suggestion()).encode(&mut out);
    assert_eq!(out, SUGGESTION);
    assert_eq!(read(&SUGGESTION), Ok(Some(TwtAction::Setup(suggestion()))));
}

#[test]
fn an_element_without_a_target_wake_time_leaves_it_open() {
    let mut short = SUGGESTION[..8].to_vec();
    short[4] = 7;
    short.extend_from_slice(&SUGGESTION[16..]);
    assert_eq!(read(&short), Ok(Some(TwtAction::Setup(suggestion()))));
}

#[test]
fn intervals_and_durations_have_their_units() {
    let interval = |mantissa, exponent| WakeInterval { mantissa, exponent };
    assert_eq!(interval(512, 12).span(), Span::from_micros(2_097_152));
    assert_eq!(interval(1000, 13).span(), Span::from_micros(8_192_000));
    assert_eq!(WakeInterval::at_most(Span::from_micros(102_400)), interval(51_200, 1));
    assert_eq!(WakeInterval::at_most(Span::from_secs(300)), interval(36_621, 13));
    assert_eq!(interval(36_621, 13).span(), Span::from_micros(299_999_232));
    assert_eq!(WakeDuration::Short(64).span(), Span::from_micros(16_384));
    assert_eq!(WakeDuration::Short(255).span(), Span::from_micros(65_280));
    assert_eq!(WakeDuration::TimeUnits(255).span(), Span::from_micros(261_120));
}

#[test]
fn what_is_no_individual_agreement_is_not_read() {
    for control in [1, 1 << 2, 2 << 2, 3 << 2, 1 << 6] {
        let mut other = SUGGESTION;
        other[5] = control;
        assert_eq!(read(&other), Ok(None), "control {control}");
    }
    let mut grouping = SUGGESTION;
    grouping[6] = grouping[6] & !0xe | 3 << 1;
    assert_eq!(read(&grouping), Ok(None));
    assert_eq!(read(&[22, 7, 3 << 5 | 2]), Ok(None), "a broadcast teardown");
    assert_eq!(read(&[3, 6, 5]), Ok(None), "another category");
    assert_eq!(read(&[]), Ok(None));
}

#[test]
fn damaged_elements_are_errors() {
    for end in 2..SUGGESTION.len() {
        assert!(read(&SUGGESTION[..end]).is_err(), "{end} bytes");
    }
    let (mut element, mut length) = (SUGGESTION, SUGGESTION);
    element[3] = 215;
    length[4] = 14;
    assert_eq!(read(&element), Err(MalformedFrame::Malformed("TWT set-up without a TWT element")));
    assert_eq!(read(&length), Err(MalformedFrame::Malformed("length of a TWT element")));
}

#[test]
fn teardown_and_information_name_a_flow_or_all() {
    assert_eq!(read(&[22, 7, 2]), Ok(Some(TwtAction::Teardown { flow: Some(2) })));
    assert_eq!(read(&[23, 7, 0x80]), Ok(Some(TwtAction::Teardown { flow: None })));
    let suspend =
        TwtAction::Information { flow: Some(1), response_requested: true, next_requested: false, next: None };
    assert_eq!(read(&[22, 11, 1 | 1 << 3]), Ok(Some(suspend)));
    let resume = TwtAction::Information {
        flow: None,
        response_requested: false,
        next_requested: true,
        next: Some((0x0605_0403_0201, NextTwtBytes::Six)),
    };
    assert_eq!(read(&[22, 11, 0x80 | 1 << 4 | 2 << 5, 1, 2, 3, 4, 5, 6]), Ok(Some(resume)));
    assert!(read(&[22, 11, 2 << 5, 1, 2, 3, 4, 5]).is_err());
}

proptest! {
    #[test]
    fn what_was_read_writes_the_same_bytes(mut body in proptest::collection::vec(any::<u8>(), 20), action in 0usize..3) {
        // Bits that the standard reserves, or that are about other agreements, are 0.
        (body[0], body[1], body[3], body[4]) = (22, [6, 7, 11][action], 216, 15);
        body[5] &= INFORMATION_DISABLED | DURATION_IN_TIME_UNITS;
        if action == 1 {
            body[2] = if body[2] & 0x80 == 0 { body[2] & 7 } else { 0x80 };
        } else if action == 2 && body[2] & 0x80 != 0 {
            body[2] &= 0xf8;
        }
        if let Some(read) = read(&body).unwrap() {
            let mut out = Vec::new();
            read.encode(&mut out);
            prop_assert_eq!(&out[..], &body[..out.len()]);
        }
    }

    #[test]
    fn an_interval_of_the_format_is_never_longer_and_hardly_shorter(micros in 1u64..1 << 46) {
        let span = Span::from_micros(micros);
        let found = WakeInterval::at_most(span).span();
        prop_assert!(found <= span);
        prop_assert!(span.as_nanos() - found.as_nanos() <= span.as_nanos() / 32_768);
    }
}
