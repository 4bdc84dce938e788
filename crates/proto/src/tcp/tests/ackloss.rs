//! Tests of ACK-loss detection in a whole sender, with each congestion control.

use airwatt_base::RandomStream;
use airwatt_base::settings::Settings;

use super::*;
use crate::cc::{AckLossConfig, AckLossRule, SegmentsPerAck};

/// The algorithms whose fast recovery leaves a window that can be halved.
const LOSS_BASED: [Algorithm; 7] = [
    Algorithm::Reno,
    Algorithm::NewReno,
    Algorithm::Sack,
    Algorithm::Cubic,
    Algorithm::Westwood,
    Algorithm::Veno,
    Algorithm::Jersey,
];

/// Simulates an upload of 12 s over a path with room for 100 segments, on which `loss` per cent of the acknowledgements
/// are lost. Returns the sender's end, and its mean window in segments over the last 8 s.
fn upload(config: &TcpConfig, loss: u32) -> (Connection, u32) {
    let mut stream = RandomStream::new(5, "test/acks");
    let mut pair: Pair<InLengths> = Pair::established(config, millis(20)).with(move |who, _, segment| {
        let ack = who == B && segment.is_pure_ack();
        if ack && stream.below(100) < loss { Fate::Lose } else { Fate::Arrive }
    });
    pair.input(A, Input::Write(1 << 40));
    let mut sum = 0;
    for step in 0..120 {
        pair.run(millis(100));
        pair.ladder.clear();
        sum += if step < 40 { 0 } else { pair.ends[A].cwnd() / 1000 };
    }
    let [sender, _] = pair.ends;
    (sender, sum / 80)
}

/// The published rule.
fn published() -> AckLossConfig {
    AckLossConfig { rule: AckLossRule::Published, ..AckLossConfig::default() }
}

fn with(congestion: Algorithm, ackloss: Option<AckLossConfig>, delayed: bool) -> TcpConfig {
    TcpConfig {
        congestion,
        ackloss,
        delayed_ack: delayed.then(DelayedAck::default),
        initial_ssthresh: Some(20_000),
        ..plain()
    }
}

#[test]
fn without_lost_acknowledgements_nothing_changes() {
    for congestion in LOSS_BASED {
        for delayed in [false, true] {
            let (plain, window) = upload(&with(congestion, None, delayed), 0);
            let (watching, watched) = upload(&with(congestion, Some(published()), delayed), 0);
            assert_eq!(window, watched);
            assert_eq!(watching.statistics(), plain.statistics(), "{}", congestion.name());
            let b = watching.ackloss().expect("it is there").segments_per_ack();
            assert_eq!(b, 1 + u32::from(delayed));
        }
    }
}

#[test]
fn lost_acknowledgements_keep_every_window_small() {
    for congestion in LOSS_BASED {
        for delayed in [false, true] {
            let (blind, open) = upload(&with(congestion, None, delayed), 5);
            let (seeing, kept) = upload(&with(congestion, Some(published()), delayed), 5);
            let name = congestion.name();
            assert_eq!(blind.statistics().ack_losses, 0);
            assert!(seeing.statistics().ack_loss_halvings > 20, "{name}: {:?}", seeing.statistics());
            assert!(kept < 20 && open > 90, "{name}: {kept} against {open} segments");
        }
    }
}

/// The published experiment: delayed acknowledgements, and a sender that assumes b = 1.
#[test]
fn without_the_estimate_delayed_acknowledgements_close_the_window() {
    let fixed = AckLossConfig { segments_per_ack: SegmentsPerAck::Fixed(1), ..published() };
    for congestion in LOSS_BASED {
        let (_, window) = upload(&with(congestion, Some(fixed), true), 0);
        assert!(window <= 3, "{}: {window} segments", congestion.name());
        let (_, window) = upload(&with(congestion, Some(fixed), false), 0);
        assert!(window > 90, "{}: {window} segments where none are delayed", congestion.name());
    }
}

#[test]
fn settings_of_the_detector_are_checked_with_the_others() {
    let ackloss = Some(AckLossConfig { threshold: 0, ..published() });
    let problem = TcpConfig { ackloss, ..plain() }.check().expect_err("wrong").to_string();
    assert_eq!(problem, "ackloss.threshold: expected 1 to 1000, got 0");
}
