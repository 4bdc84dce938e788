//! Tests that quantities read what they print, and reject what they cannot represent.

use proptest::prelude::*;

use super::*;

#[test]
fn text_with_a_unit_is_exact() {
    assert_eq!("20ms".parse::<Span>(), Ok(Span::from_millis(20)));
    assert_eq!("1.5 us".parse::<Span>(), Ok(Span::from_nanos(1_500)));
    assert_eq!("16Mbps".parse::<Rate>(), Ok(Rate::from_bps(16_000_000)));
    assert_eq!("1.024Mbps".parse::<Rate>(), Ok(Rate::from_bps(1_024_000)));
    assert_eq!("50MB".parse::<Size>(), Ok(Size::from_bytes(50_000_000)));
    assert_eq!("1.5MiB".parse::<Size>(), Ok(Size::from_bytes(3 << 19)));
    assert_eq!("390mW".parse::<Power>(), Ok(Power::from_nanowatts(390_000_000)));
    assert_eq!("100packets".parse::<QueueLimit>(), Ok(QueueLimit::Packets(100)));
    assert_eq!("150kB".parse::<QueueLimit>(), Ok(QueueLimit::Bytes(Size::from_bytes(150_000))));
    assert_eq!("1.4mJ".parse::<Energy>(), Ok(Energy::from_attojoules(1_400_000_000_000_000)));
    assert_eq!(
        "0.273A".parse::<Current>().unwrap() * "3V".parse().unwrap(),
        "819mW".parse::<Power>().unwrap()
    );
}

#[test]
fn errors_say_what_is_allowed() {
    let error = |text: &str| text.parse::<Span>().unwrap_err().to_string();
    assert_eq!(error("20"), r#""20" has no unit; write for example "20ms""#);
    assert_eq!(
        error("20Mbps"),
        r#""20Mbps" has a unit that does not fit; allowed are s, ms, us, µs, ns, min, h, d"#
    );
    assert_eq!(error("-1ms"), r#""-1ms" is negative; allowed is zero or more"#);
    assert_eq!(error("0.5ns"), r#""0.5ns" is finer than the resolution; allowed are multiples of 1ns"#);
    assert_eq!(error("soon"), r#""soon" is not a number with a unit; write for example "20ms""#);
    assert!(error("99999999999h").contains("too large"), "{}", error("99999999999h"));
    assert!("1.3 packets".parse::<QueueLimit>().is_err());
    assert!(
        "nanms".parse::<Span>().is_err() && "".parse::<Span>().is_err() && "1.2.3s".parse::<Span>().is_err()
    );
}

#[test]
fn files_get_the_same_words() {
    let error = serde_json::from_str::<Span>("20").unwrap_err().to_string();
    assert!(error.starts_with(r#""20" has no unit"#), "{error}");
    assert_eq!(serde_json::to_string(&Span::from_millis(20)).unwrap(), r#""20ms""#);
}

#[test]
fn transmission_and_propagation_times() {
    assert_eq!(Rate::from_bps(1_000_000).time_for(Size::from_bytes(1500)), Span::from_millis(12));
    assert_eq!(Rate::from_bps(3).time_for(Size::from_bytes(1)), Span::from_nanos(2_666_666_667));
    assert_eq!("4m".parse::<Distance>().unwrap().propagation(), Span::from_nanos(13));
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(count: u64) {
        prop_assert_eq!(Span::from_nanos(count).to_string().parse(), Ok(Span::from_nanos(count)));
        prop_assert_eq!(Rate::from_bps(count).to_string().parse(), Ok(Rate::from_bps(count)));
        prop_assert_eq!(Size::from_bytes(count).to_string().parse(), Ok(Size::from_bytes(count)));
        prop_assert_eq!(Power::from_nanowatts(count).to_string().parse(), Ok(Power::from_nanowatts(count)));
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<QueueLimit>();
        let _ = text.parse::<Energy>();
    }

    #[test]
    fn no_number_panics(text in "-?[0-9._]{0,45}(s|h|GB|MiB|packets)?") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<Size>();
        let _ = text.parse::<QueueLimit>();
    }
}
