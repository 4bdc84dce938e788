//! What the daemon can bring over a driver, for the doctor: by the tail of the driver's power save, and by what an earlier daemon measured.
//!
//! docs/station.md has the simulations. Of pauses with random lengths one in twenty is longer than three times their mean. So power save
//! alone keeps the 95th percentile of peers whose pauses last a third of the tail on the average.

use airwatt_base::Span;
use serde_json::Value;

use super::drivers::Sleeps;

/// From this tail on power save alone is fast for somebody who types: two keys a second.
const TYPING_IS_FAST: Span = Span::from_millis(1_500);
/// Fewer packets say nothing about the slowest in twenty.
const TIMED: u64 = 20;
/// The share of the time with power save on above which waits are those of power save.
const ON: f64 = 0.9;

/// What to expect; `stored` is the last document of a daemon on this interface.
pub(super) fn expected(sleeps: Sleeps, stored: Option<&Value>) -> String {
    let stays_awake = stored.is_some_and(|document| document["radio_in_power_save"] == "stays-awake");
    match sleeps {
        Sleeps::Never => "nothing: this driver has no power save".to_owned(),
        _ if stays_awake => {
            "nothing: the last daemon found that the radio stays awake although power save is on".to_owned()
        }
        Sleeps::After(tail) if tail >= TYPING_IS_FAST => {
            let mean = Span::from_millis((tail.as_nanos() / 3_000_000).next_multiple_of(100));
            format!(
                "fast answers to peers whose packets come more than {mean} apart on the average, for what power save off costs meanwhile; \
                 little to somebody who types into this host, if it receives every beacon: the radio is awake for {tail} after each packet"
            )
        }
        Sleeps::After(tail) => format!(
            "fast answers to peers that ask this host, as by ssh: the radio sleeps {tail} after each packet; nothing for what \
             this host asks for"
        ),
        Sleeps::Unknown => {
            "not known: nobody knows how long after a packet this radio sleeps; the daemon measures it, and does nothing where \
             no packet waits"
                .to_owned()
        }
    }
}

/// What peers waited for with power save on, before the daemon acted, and since.
pub(super) fn measured(document: &Value) -> Option<String> {
    let p95_ms = |period: &Value| {
        let timed = period["peers"]["timed"].as_u64().filter(|timed| *timed >= TIMED)?;
        Some((timed, period["peers"]["p95_s"].as_f64()? * 1e3))
    };
    let before = Some(&document["before"]).filter(|period| period["power_save_share"].as_f64() >= Some(ON));
    let (timed, wait) = before.and_then(p95_ms)?;
    let since =
        p95_ms(&document["with"]).map_or_else(String::new, |(_, wait)| format!(", with it {wait:.0} ms"));
    Some(format!(
        "measured: power save alone, 95 % of {timed} packets of peers waited at most {wait:.0} ms{since}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::station::drivers;

    fn of_driver(name: &str) -> String {
        expected(drivers::known(name).expect("it is listed").sleeps, None)
    }

    #[test]
    fn a_driver_that_stays_awake_while_somebody_types_needs_no_daemon_for_that() {
        for (name, tail, mean) in [("brcmfmac", "2s", "700ms"), ("wl18xx_driver", "1.5s", "500ms")] {
            let said = of_driver(name);
            assert!(
                said.starts_with(&format!("fast answers to peers whose packets come more than {mean}")),
                "{said}"
            );
            assert!(said.contains("little to somebody who types") && said.contains(tail), "{said}");
        }
        assert!(of_driver("iwlwifi").starts_with("fast answers to peers that ask this host, as by ssh"));
        assert!(of_driver("mt7601u").starts_with("nothing: this driver has no power save"));
        assert!(of_driver("mt7921e").starts_with("not known"));
    }

    #[test]
    fn what_a_daemon_measured_comes_before_the_list() {
        let period = |share: f64, timed: u64, p95_s: f64| json!({ "power_save_share": share, "peers": { "timed": timed, "p95_s": p95_s } });
        let document =
            |before, with| json!({ "radio_in_power_save": "sleeps", "before": before, "with": with });
        let awake = json!({ "radio_in_power_save": "stays-awake" });
        let tail = Sleeps::After(Span::from_millis(100));
        assert!(expected(tail, Some(&awake)).contains("stays awake although power save is on"));
        let known = document(period(1.0, 20, 0.1), period(0.3, 40, 0.012));
        assert_eq!(
            measured(&known).unwrap(),
            "measured: power save alone, 95 % of 20 packets of peers waited at most 100 ms, with it 12 ms"
        );
        assert_eq!(measured(&document(period(1.0, 19, 0.1), period(1.0, 40, 0.1))), None, "too few");
        assert_eq!(
            measured(&document(period(0.0, 20, 0.1), period(1.0, 40, 0.1))),
            None,
            "power save was off"
        );
        assert_eq!(measured(&json!({})), None);
    }
}
