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
    assert_eq!("1.4mJ".parse::<Energy>(), Ok(Power::from_nanowatts(1_400_000) * Span::from_secs(1)));
    assert_eq!(
        "0.273A".parse::<Current>().unwrap() * "3V".parse().unwrap(),
        "819mW".parse::<Power>().unwrap()
    );
}

#[test]
fn errors_say_what_is_expected() {
    let error = |text: &str| text.parse::<Span>().unwrap_err().to_string();
    assert_eq!(error("20"), r#"expected a number with its unit, such as 20ms, got "20""#);
    assert_eq!(
        error("20Mbps"),
        r#"expected a number with one of the units s, ms, us, µs, ns, min, h, d, got "20Mbps""#
    );
    assert_eq!(error("-1ms"), r#"expected zero or more, got "-1ms""#);
    assert_eq!(error("0.5ns"), r#"expected a multiple of 1ns, got "0.5ns""#);
    assert_eq!(error("soon"), r#"expected a number with its unit, such as 20ms, got "soon""#);
    assert!(error("99999999999h").starts_with("expected at most "), "{}", error("99999999999h"));
    assert!("1.3 packets".parse::<QueueLimit>().is_err());
    assert!(
        "nanms".parse::<Span>().is_err() && "".parse::<Span>().is_err() && "1.2.3s".parse::<Span>().is_err()
    );
}

/// A queue is full of packets however short they are, or of bytes however many packets have them.
#[test]
fn a_queue_admits_what_fits_into_its_limit() {
    let packets = QueueLimit::Packets(3);
    assert!(packets.admits(2, 1 << 40, 1_500) && !packets.admits(3, 0, 1));
    let bytes = QueueLimit::Bytes(Size::from_bytes(3_000));
    assert!(bytes.admits(1_000, 1_500, 1_500) && !bytes.admits(0, 1_501, 1_500));
}

#[test]
fn messages_have_the_units_that_people_use() {
    let spoken = [0, 30, 90, 600, 605, 10_800, 86_400].map(|seconds| Span::from_secs(seconds).spoken());
    assert_eq!(spoken, ["0s", "30s", "90s", "10min", "605s", "3h", "1d"]);
    assert_eq!(Span::from_millis(3_600_500).spoken(), "3600.5s");
}

#[test]
fn files_get_the_same_words() {
    let error = serde_json::from_str::<Span>("20").unwrap_err().to_string();
    assert!(error.starts_with(r#"expected a number with its unit, such as 20ms, got "20""#), "{error}");
    assert_eq!(serde_json::to_string(&Span::from_millis(20)).unwrap(), r#""20ms""#);
}

#[test]
fn transmission_and_propagation_times() {
    assert_eq!(Rate::from_bps(1_000_000).time_for(Size::from_bytes(1500)), Span::from_millis(12));
    assert_eq!(Rate::from_bps(3).time_for(Size::from_bytes(1)), Span::from_nanos(2_666_666_667));
    assert_eq!("4m".parse::<Distance>().unwrap().propagation(), Span::from_nanos(13));
}

proptest! {
    /// Whether it takes all of its digits or is a round number of a large unit.
    #[test]
    fn what_is_printed_reads_back(any: u64, digits in 0..10_000u64, zeros in 0..15u32) {
        for count in [any, digits * 10u64.pow(zeros)] {
            let size = Size::from_bytes(count);
            prop_assert_eq!(Span::from_nanos(count).to_string().parse(), Ok(Span::from_nanos(count)));
            prop_assert_eq!(Rate::from_bps(count).to_string().parse(), Ok(Rate::from_bps(count)));
            prop_assert_eq!(size.to_string().parse(), Ok(size));
            prop_assert_eq!(QueueLimit::Bytes(size).to_string().parse(), Ok(QueueLimit::Bytes(size)));
            prop_assert_eq!(Power::from_nanowatts(count).to_string().parse(), Ok(Power::from_nanowatts(count)));
            prop_assert_eq!(Current::from_nanoamperes(count).to_string().parse(), Ok(Current::from_nanoamperes(count)));
            prop_assert_eq!(Charge::from_nanocoulombs(count).to_string().parse(), Ok(Charge::from_nanocoulombs(count)));
        }
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

/// Quantities whose dimension is in the value.
mod real {
    use crate::units::{Dimension, Energy, Quantity, Quotient, Rate, Span};

    fn read(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_text_has_its_dimension_and_its_si_value() {
        for (text, dimension, value) in [
            ("20ms", Dimension::Time, 0.02),
            ("13.3ns", Dimension::Time, 13.3e-9),
            ("2e-3 s", Dimension::Time, 0.002),
            ("1.5h", Dimension::Time, 5400.0),
            ("16Mbps", Dimension::Rate, 16e6),
            ("1KiB", Dimension::Size, 1024.0),
            ("12kb", Dimension::Bits, 12e3),
            ("390mW", Dimension::Power, 0.39),
            ("11.4Wh", Dimension::Energy, 41_040.0),
            ("-40kJ", Dimension::Energy, -40e3),
            ("63mA", Dimension::Current, 0.063),
            ("3.3V", Dimension::Voltage, 3.3),
            ("4m", Dimension::Distance, 4.0),
        ] {
            let quantity = read(text);
            assert_eq!(quantity.dimension(), dimension, "{text}");
            assert_eq!(quantity.value().to_bits(), f64::to_bits(value), "{text}");
        }
    }

    /// What is printed is read back, by the integer quantity too if it is one.
    #[test]
    fn printing_and_reading_are_inverse() {
        for text in ["20ms", "16Mbps", "50MB", "390mW", "1.4mJ", "3.3V", "0ns", "13.3ns", "-2.5s", "0.1s"] {
            let quantity = read(text);
            assert_eq!(read(&quantity.to_string()), quantity, "{text}");
        }
        assert_eq!(read("20.0ms").to_string().parse::<Span>(), "20ms".parse());
        assert_eq!(read("1.5Mbps").to_string().parse::<Rate>(), "1.5Mbps".parse());
        assert_eq!(read("1Wh").to_string().parse::<Energy>(), "3.6kJ".parse());
        assert_eq!(read("13.3ns").to_string(), "13.3ns");
    }

    #[test]
    fn every_unit_of_a_table_belongs_to_one_dimension() {
        for dimension in Dimension::ALL {
            assert_eq!(Dimension::of_si_unit(dimension.si_unit()), Some(dimension));
            for unit in dimension.units().split(", ") {
                assert_eq!(read(&format!("1{unit}")).dimension(), dimension, "{unit}");
            }
        }
    }

    #[test]
    fn arithmetic_keeps_dimensions() {
        let [time, rate, size, power] = ["12ms", "1Mbps", "1500B", "250mW"].map(read);
        assert_eq!((time + read("8ms")).unwrap().to_string(), "20ms");
        assert_eq!((time - read("2ms")).unwrap().to_string(), "10ms");
        assert_eq!((time * 2.0).to_string(), "24ms");
        // As binary fractions they are 300.00000000000006 ms.
        assert_eq!((read("0.1s") + read("0.2s")).unwrap().to_string(), "300ms");
        assert_eq!(size / rate, Ok(Quotient::Quantity(time)));
        assert_eq!(size / time, Ok(Quotient::Quantity(rate)));
        assert_eq!((rate * time).unwrap(), size);
        assert_eq!((power * time).unwrap().to_string(), "3mJ");
        assert_eq!(read("3mJ") / time, Ok(Quotient::Quantity(power)));
        assert_eq!((read("63mA") * read("3.3V")).unwrap().to_string(), "207.9mW");
        assert_eq!(time / read("6ms"), Ok(Quotient::Ratio(2.0)));
        assert!(time.compare(read("13ms")).unwrap().is_lt());
        for [one, other] in [["-0s", "0s"], ["0s", "-0s"]] {
            assert!(read(one).compare(read(other)).unwrap().is_eq(), "zero has no sign");
        }
    }

    #[test]
    fn what_has_no_meaning_says_why() {
        for (text, words) in [
            ("20", "as in 20ms"),
            ("ms", "expected a number"),
            ("nanms", "expected a number"),
            ("1e999s", "expected a number"),
            ("1_0ms", "expected a number"),
            ("20parsec", "got \"20parsec\""),
        ] {
            let message = text.parse::<Quantity>().unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
        let wrong = Quantity::parse_as(Dimension::Time, "20MB").unwrap_err().to_string();
        assert!(wrong.starts_with("expected a unit of s, ms,"), "{wrong}");
        let [time, rate] = ["1s", "1bps"].map(read);
        assert_eq!((time + rate).unwrap_err().to_string(), "expected dimensions that add, got time and rate");
        assert!((time * time).is_err() && (rate / time).is_err() && time.compare(rate).is_err());
    }
}
