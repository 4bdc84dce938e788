//! The Snoop agent, rule by rule.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Seq, Span};

use crate::gateway::*;
use crate::tcp::{Ecn, Flags, SackBlocks, Segment};

fn data(number: u32) -> Segment {
    Segment { seq: Seq::new(number * 1_000), len: 1_000, ..ack(0) }
}

/// The acknowledgement of all segments before this one.
fn ack(number: u32) -> Segment {
    Segment {
        seq: Seq::new(1),
        ack: Seq::new(number * 1_000),
        window: 50_000,
        len: 0,
        flags: Flags::ACK,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    }
}

struct Agent {
    snoop: Snoop,
    now: Instant,
}

/// What came out: segments to the mobile, with whether each is a copy, and acknowledgements to the wired host.
type Out = (Vec<(u32, bool)>, Vec<u32>);

impl Agent {
    fn new(config: SnoopConfig) -> Self {
        Self { snoop: Snoop::new(config), now: Instant::ZERO }
    }

    fn take(&mut self) -> Out {
        let mut out = Out::default();
        while let Some(output) = self.snoop.poll_output() {
            match output {
                SnoopOutput::ToWireless { segment, copy, .. } => {
                    out.0.push((segment.seq.value() / 1_000, copy))
                }
                SnoopOutput::ToWired(segment, ()) => out.1.push(segment.ack.value() / 1_000),
            }
        }
        out
    }

    fn data(&mut self, number: u32) -> Out {
        self.now += Span::from_millis(1);
        self.snoop.handle_input(SnoopInput::FromWired(data(number), ()), self.now);
        self.take()
    }

    fn ack(&mut self, number: u32) -> Out {
        self.now += Span::from_millis(1);
        self.snoop.handle_input(SnoopInput::FromWireless(ack(number), ()), self.now);
        self.take()
    }
}

/// Segments 1 to 6 have come, 1 is acknowledged.
fn six() -> Agent {
    let mut agent = Agent::new(SnoopConfig::default());
    for number in 1..=6 {
        assert_eq!(agent.data(number), (vec![(number, false)], vec![]));
    }
    assert_eq!(agent.ack(2), (vec![], vec![2]));
    agent
}

#[test]
fn the_first_duplicate_brings_the_kept_segment_and_the_expected_ones_nothing() {
    let mut agent = six();
    // Segment 2 was lost: 3, 4, 5 and 6 are each answered by a duplicate.
    assert_eq!(agent.ack(2), (vec![(2, true)], vec![]));
    for _ in 0..3 {
        assert_eq!(agent.ack(2), (vec![], vec![]));
    }
    // One more than 3 to 6 explain: the copy was lost too.
    assert_eq!(agent.ack(2), (vec![(2, true)], vec![]));
    assert_eq!(agent.ack(7), (vec![], vec![7]));
    assert_eq!(agent.snoop.bytes, 0);
    assert_eq!(agent.snoop.statistics().retransmitted, 2);
}

/// An acknowledgement may be of the copy or of what was sent first: it says nothing of the round trip.
#[test]
fn what_was_retransmitted_is_not_measured() {
    let mut agent = six();
    // Segment 1 took 6 ms.
    assert_eq!(agent.ack(2), (vec![(2, true)], vec![]));
    assert_eq!(agent.ack(3), (vec![], vec![3]));
    assert_eq!(agent.snoop.poll_timeout().unwrap().at, agent.now + Span::from_millis(12));
}

#[test]
fn a_loss_on_the_wired_path_is_left_to_the_sender() {
    let mut agent = Agent::new(SnoopConfig::default());
    for number in [1, 3, 4, 5] {
        agent.data(number);
    }
    assert_eq!(agent.ack(2), (vec![], vec![2]));
    for _ in 0..3 {
        assert_eq!(agent.ack(2), (vec![], vec![2]), "segment 2 never came here");
    }
    // The sender's retransmission is marked: were it lost on the hop, the sender would hear of it.
    assert_eq!(agent.data(2), (vec![(2, false)], vec![]));
    assert_eq!(agent.ack(2), (vec![], vec![2]));
    assert_eq!(agent.ack(6), (vec![], vec![6]));
}

#[test]
fn what_the_mobile_has_is_acknowledged_again() {
    let mut agent = six();
    agent.ack(5);
    assert_eq!(agent.data(2), (vec![], vec![5]), "its acknowledgement was lost behind the agent");
    assert_eq!(agent.data(6), (vec![(6, false)], vec![]), "this one may have been lost");
    assert_eq!(agent.ack(4), (vec![], vec![]), "an old acknowledgement is dropped");
}

#[test]
fn a_window_update_passes() {
    let mut agent = six();
    let update = Segment { window: 80_000, ..ack(2) };
    agent.snoop.handle_input(SnoopInput::FromWireless(update, ()), agent.now);
    assert_eq!(agent.take(), (vec![], vec![2]));
}

#[test]
fn silence_brings_the_lowest_segment_ever_more_rarely() {
    let mut agent = six();
    let mut times = Vec::new();
    while let Some(timeout) =
        agent.snoop.poll_timeout().filter(|timeout| timeout.at < Instant::from_millis(30_000))
    {
        agent.snoop.handle_timeout(timeout.at);
        let (copies, acks) = agent.take();
        assert_eq!((copies, acks), (vec![(2, true)], vec![]));
        times.push(timeout.at);
    }
    let gaps: Vec<Span> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0]), "{gaps:?}");
    assert!(gaps.last().is_some_and(|gap| *gap <= SnoopConfig::default().longest));
    assert!(times.len() < 25, "{}", times.len());
}

#[test]
fn memory_is_bounded_and_what_is_not_kept_is_the_senders() {
    let mut agent = Agent::new(SnoopConfig { memory: 2_500, ..SnoopConfig::default() });
    for number in 1..=6 {
        assert_eq!(agent.data(number), (vec![(number, false)], vec![]));
    }
    assert_eq!(agent.snoop.bytes, 2_000);
    agent.ack(3);
    assert_eq!(agent.ack(3), (vec![], vec![3]), "segment 3 is not kept");
}

/// Sequence numbers wrap, and a new connection on the same ports begins with nothing kept.
#[test]
fn numbers_wrap_and_a_syn_begins_anew() {
    let mut snoop: Snoop = Snoop::new(SnoopConfig::default());
    let mut segment = Segment { seq: Seq::new(u32::MAX - 1_499), ..data(0) };
    let mut now = Instant::ZERO;
    for _ in 0..3 {
        now += Span::from_millis(1);
        snoop.handle_input(SnoopInput::FromWired(segment, ()), now);
        segment.seq += 1_000;
    }
    assert_eq!(snoop.bytes, 3_000);
    snoop.handle_input(SnoopInput::FromWireless(Segment { ack: Seq::new(500), ..ack(0) }, ()), now);
    assert_eq!(snoop.bytes, 1_000);
    let syn = Segment { flags: Flags::SYN, ..ack(0) };
    snoop.handle_input(SnoopInput::FromWired(syn, ()), now);
    assert_eq!(snoop.bytes, 0);
    assert!(snoop.poll_timeout().is_none());
}

#[test]
fn an_agent_keeps_the_contract() {
    let at = Instant::from_millis;
    let inputs = [
        (at(0), SnoopInput::FromWired(data(1), ())),
        (at(1), SnoopInput::FromWired(data(2), ())),
        (at(2), SnoopInput::FromWired(data(3), ())),
        (at(60), SnoopInput::FromWireless(ack(2), ())),
        (at(61), SnoopInput::FromWireless(ack(2), ())),
        (at(5_000), SnoopInput::FromWired(data(4), ())),
        (at(5_100), SnoopInput::FromWireless(ack(5), ())),
    ];
    let outputs = check_machine(|| Snoop::<()>::new(SnoopConfig::default()), &inputs, at(10_000));
    assert!(outputs.len() > inputs.len(), "{outputs:?}");
}
