//! The decision vectors in `tests/vectors/ackloss.csv`, with which other implementations of the detector are compared
//! event by event.
//!
//! `AIRWATT_BLESS=1 cargo test -p airwatt-proto vectors` writes the file; otherwise the test compares.

use std::fmt::Write;

use airwatt_base::RandomStream;

use super::*;

const HEADER: &str = "\
# Decisions of the ACK-loss detector (crates/proto/src/cc/ackloss.rs), event by event. Every field is a decimal integer.
#
# S rows begin a connection:
#   S,mss,threshold,beta_shift,fixed_b,listing,stretch,regular_sixteenths,single_sixteenths
#   fixed_b: 0 with the estimate, else b. listing: 1 where an ACK for less than b segments takes one off the count.
#   stretch: 1 for the extension, 0 for the published rule (and the two shares have no meaning).
# The other rows are an event, and the state behind it:
#   event,x,y,sent,duplicates,told,smoothed,b,count,data_loss,waiting,round_end,recover,regular,single,proven,pending,losses,gaps,halve
#   A: new data acknowledged from position x to y, sent up to `sent`, after so many duplicate ACKs; told: what the timestamp
#   tells, 0 nothing, 1 lost, 2 stretched, 3 undecided.
#   L: duplicate ACKs told of a data loss. T: the retransmission timer expired. x, y, duplicates and told are 0 in both.
#   Positions are bytes. smoothed: segments in 2^-16. regular, single, proven: shares in 2^-15. They
#   and pending (0 or 1) stay as they begin where there is no extension.
#   data_loss and waiting: 0 or 1. halve: 1 if the window is to be halved now:
#   cwnd = max(cwnd / 2, 1 segment), ssthresh = cwnd.
";

/// A connection under test, and the rows that it produces.
struct Recorder {
    detector: AckLoss,
    mss: u64,
    una: u64,
    sent: u64,
    rows: String,
}

impl Recorder {
    fn new(config: AckLossConfig, mss: u32, rows: String) -> Self {
        config.check().expect("good settings");
        let fixed = match config.segments_per_ack {
            SegmentsPerAck::Estimated => 0,
            SegmentsPerAck::Fixed(b) => b,
        };
        let listing = u8::from(config.counting == Counting::Listing);
        let (stretch, shares) = match config.rule {
            AckLossRule::Published => (0, StretchConfig { regular_sixteenths: 0, single_sixteenths: 0 }),
            AckLossRule::Stretch(stretch) => (1, stretch),
        };
        let AckLossConfig { threshold, beta_shift, .. } = config;
        let StretchConfig { regular_sixteenths, single_sixteenths } = shares;
        let mut rows = rows;
        writeln!(
            rows,
            "S,{mss},{threshold},{beta_shift},{fixed},{listing},{stretch},{regular_sixteenths},{single_sixteenths}"
        )
        .expect("a string");
        Self { detector: AckLoss::new(config, mss), mss: u64::from(mss), una: 1, sent: 1, rows }
    }

    fn row(&mut self, event: &str, halve: bool) {
        let AckLossState { smoothed, b, count, round_end, recover, .. } = self.detector.state();
        let AckLossState { regular, single, proven, losses, gaps, .. } = self.detector.state();
        let pending = u8::from(self.detector.stretch.pending);
        let (loss, waiting) = (u8::from(self.detector.data_loss), u8::from(self.detector.waiting));
        let halve = u8::from(halve);
        writeln!(
            self.rows,
            "{event},{smoothed},{b},{count},{loss},{waiting},{round_end},{recover},{regular},{single},{proven},{pending},{losses},{gaps},{halve}"
        )
        .expect("a string");
    }

    /// Acknowledges this many more bytes, with `window` segments in flight.
    fn ack(&mut self, bytes: u64, window: u64, duplicates: u32) {
        self.ack_with_evidence(bytes, window, duplicates, TimestampEvidence::Absent);
    }

    fn ack_with_evidence(&mut self, bytes: u64, window: u64, duplicates: u32, evidence: TimestampEvidence) {
        let (from, to) = (self.una, self.una + bytes);
        self.una = to;
        self.sent = self.sent.max(to + window * self.mss);
        let sent = self.sent;
        let halve = self.detector.on_ack(Advance { from, to, sent, duplicates, evidence });
        self.row(&format!("A,{from},{to},{sent},{duplicates},{}", evidence as u8), halve);
    }

    fn data_loss(&mut self) {
        self.detector.on_data_loss(self.sent);
        self.row(&format!("L,0,0,{},0,0", self.sent), false);
    }

    fn timeout(&mut self) {
        self.detector.on_timeout(self.sent);
        self.row(&format!("T,0,0,{},0,0", self.sent), false);
    }
}

fn configs() -> Vec<AckLossConfig> {
    let published = AckLossConfig { rule: AckLossRule::Published, ..AckLossConfig::default() };
    let stretch = AckLossRule::Stretch(StretchConfig::default());
    let fixed = |b| AckLossConfig { segments_per_ack: SegmentsPerAck::Fixed(b), ..published };
    vec![
        published,
        AckLossConfig { counting: Counting::Listing, ..published },
        AckLossConfig { threshold: 3, beta_shift: 3, ..published },
        fixed(1),
        AckLossConfig { counting: Counting::Listing, ..fixed(2) },
        AckLossConfig { rule: stretch, ..published },
        AckLossConfig { rule: stretch, beta_shift: 4, ..published },
        AckLossConfig { rule: stretch, ..fixed(2) },
    ]
}

/// Exercises each rule by itself: a lost ACK with its round trip of grace, reordering, data losses in both round trips,
/// a timeout.
fn scripted(recorder: &mut Recorder, each: u64) {
    let mss = recorder.mss;
    for (jump, duplicates, loss) in [(2, 0, false), (3, 2, false), (2, 1, false), (9, 0, false), (2, 0, true)]
    {
        (0..10).for_each(|_| recorder.ack(each * mss, 10, 0));
        recorder.ack(jump * each * mss, 10, duplicates);
        if loss {
            recorder.data_loss();
            recorder.ack(mss, 10, 0);
            recorder.ack(11 * mss, 10, 0);
        }
    }
    recorder.timeout();
    (0..12).for_each(|_| recorder.ack(mss, 10, 0));
    (0..8).for_each(|_| recorder.ack(mss / 3, 10, 0));
}

/// Applies random events with all kinds of receivers in turn.
fn random(recorder: &mut Recorder, seed: u64) {
    let mut stream = RandomStream::new(seed, "test/vectors");
    for phase in 0_u32..6 {
        let window = u64::from(4 + stream.below(30));
        for _ in 0..30 {
            let regular = u64::from(1 + (phase & 1)) * recorder.mss;
            match stream.below(40) {
                0 => recorder.data_loss(),
                1 if phase == 4 => recorder.timeout(),
                2..=5 => recorder.ack(regular * 2, window, 0),
                6 => recorder.ack(regular * 3, window, 0),
                7 => recorder.ack(regular * 2, window, 1 + stream.below(2)),
                8 => recorder.ack(u64::from(1 + stream.below(2 * recorder.mss as u32)), window, 0),
                9..=20 if phase == 3 => {
                    recorder.ack(u64::from(2 + stream.below(37)) * recorder.mss, window, 0);
                }
                9..=12 if phase == 5 => {
                    recorder.ack_with_evidence(regular * 2, window, 0, TimestampEvidence::Lost)
                }
                17..=20 if phase == 5 => {
                    recorder.ack_with_evidence(regular * 2, window, 0, TimestampEvidence::Undecided)
                }
                13..=16 if phase == 5 => {
                    let jump = u64::from(2 + stream.below(37)) * recorder.mss;
                    recorder.ack_with_evidence(jump, window, stream.below(2), TimestampEvidence::Stretched);
                }
                _ => recorder.ack(regular, window, 0),
            }
        }
    }
}

#[test]
fn the_vectors_hold() {
    let mut rows = HEADER.to_owned();
    for (index, config) in configs().into_iter().enumerate() {
        for (mss, each) in [(1000, 1), (1460, 2)] {
            let mut recorder = Recorder::new(config, mss, rows);
            scripted(&mut recorder, each);
            random(&mut recorder, index as u64);
            rows = recorder.rows;
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/ackloss.csv");
    if std::env::var_os("AIRWATT_BLESS").is_some() {
        std::fs::write(path, rows).expect("written");
        return;
    }
    let kept = std::fs::read_to_string(path).expect("the file is there; AIRWATT_BLESS=1 writes it");
    for (number, (kept, now)) in kept.lines().zip(rows.lines()).enumerate() {
        assert_eq!(kept, now, "line {} of ackloss.csv", number + 1);
    }
    assert_eq!(kept.lines().count(), rows.lines().count());
}

/// The file contains every kind of decision.
#[test]
fn the_vectors_show_every_decision() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/ackloss.csv");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let column = |row: &str, index: usize| row.split(',').nth(index).map(str::to_owned);
    let rows = |event: &str, stretch: &str, halve: &str| {
        let mut current = None;
        let mut found = 0;
        for row in text.lines().filter(|row| !row.starts_with('#')) {
            if row.starts_with('S') {
                current = column(row, 6);
                continue;
            }
            let here = current.as_deref() == Some(stretch) && row.starts_with(event);
            found += u32::from(here && column(row, 19).as_deref() == Some(halve));
        }
        found
    };
    for stretch in ["0", "1"] {
        assert!(rows("A", stretch, "1") >= 20, "halvings");
        assert!(rows("L", stretch, "0") >= 10 && rows("T", stretch, "0") >= 5);
    }
}
