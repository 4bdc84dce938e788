//! Tests with single segments for situations that two correct ends seldom cause.

use airwatt_base::Seq;

use super::*;

fn segment(seq: u32, ack: u32, window: u32, len: u16) -> Segment {
    Segment {
        seq: Seq::new(seq),
        ack: Seq::new(ack),
        window,
        len,
        flags: Flags::ACK,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    }
}

/// An end in the middle of a connection; returns what it sends on each input.
struct End(Connection);

impl End {
    fn new(config: TcpConfig) -> Self {
        Self(Connection::established(config.clone(), &config))
    }

    fn input(&mut self, at: u64, input: Input) -> Vec<String> {
        self.0.handle_input(input, Instant::from_millis(at));
        self.sent()
    }

    fn wake(&mut self, at: u64) -> Vec<String> {
        self.0.handle_timeout(Instant::from_millis(at));
        self.sent()
    }

    fn sent(&mut self) -> Vec<String> {
        let outputs = std::iter::from_fn(|| self.0.poll_output());
        outputs
            .filter_map(|output| match output {
                Output::Transmit(segment) => Some(segment.to_string()),
                Output::Event(_) => None,
            })
            .collect()
    }

    fn arrive(&mut self, at: u64, segment: Segment) -> Vec<String> {
        self.input(at, Input::Segment(segment, ()))
    }
}

/// RFC 5681 section 2: a window update and a segment with data are no duplicate ACKs.
#[test]
fn only_true_duplicates_count() {
    let mut end = End::new(plain());
    end.input(0, Input::Write(5000));
    for index in 0..5 {
        end.arrive(20, segment(1, 1, 90_000 + index, 0));
    }
    for index in 0..5 {
        end.arrive(20, segment(1 + 100 * index, 1, 90_004, 100));
    }
    assert_eq!(end.0.statistics().duplicate_acks, 0);
    for _ in 0..2 {
        assert_eq!(end.arrive(20, segment(501, 1, 90_004, 0)), Vec::<String>::new());
    }
    assert_eq!(end.arrive(20, segment(501, 1, 90_004, 0)), [". 1:1001(1000) ack 501 win 99500"]);
}

/// RFC 9293 section 3.10.7.4: an overtaken segment does not update the window.
#[test]
fn a_late_segment_does_not_set_the_window() {
    let mut end = End::new(plain());
    end.input(0, Input::Write(10_000));
    end.arrive(20, segment(1, 10_001, 0, 0));
    end.arrive(21, segment(1, 9001, 50_000, 0));
    assert_eq!(end.input(22, Input::Write(1000)), Vec::<String>::new(), "the window is closed");
    assert_eq!(end.arrive(30, segment(1, 10_001, 5000, 0)).len(), 1);
}

#[test]
fn an_ack_while_a_probe_is_out_lies_in_the_peers_window() {
    let mut end = End::new(plain());
    end.arrive(0, segment(1, 1, 0, 0));
    end.input(0, Input::Write(2000));
    assert_eq!(end.wake(1000), [". 1:2(1) ack 1 win 100000"]);
    assert_eq!(end.arrive(1010, segment(1, 1, 0, 500)), [". 1:1(0) ack 501 win 99500"]);
}

#[test]
fn a_window_that_opened_and_closed_is_probed_from_the_start() {
    let mut end = End::new(plain());
    end.arrive(0, segment(1, 1, 0, 0));
    end.input(0, Input::Write(500));
    end.wake(1000);
    end.wake(3000);
    assert_eq!(end.0.timer(TcpTimer::Persist), Some(Instant::from_secs(7)));
    assert_eq!(end.arrive(3500, segment(1, 1, 600, 0)), ["P. 1:501(500) ack 1 win 100000"]);
    end.arrive(3600, segment(1, 501, 0, 0));
    end.input(4000, Input::Write(500));
    assert_eq!(end.0.timer(TcpTimer::Persist), Some(Instant::from_millis(4000) + end.0.rto()));
}

/// A peer that has filled our window acknowledges from just beyond it.
#[test]
fn an_ack_just_behind_the_window_counts() {
    let mut end = End::new(plain());
    end.input(0, Input::Write(1000));
    end.arrive(20, segment(100_001, 1001, 5000, 0));
    assert_eq!(end.0.unacknowledged_bytes(), 0);
}

/// RFC 9293 section 3.10.7.4, first step: a closed window drops text, not acknowledgements.
#[test]
fn a_closed_window_still_takes_acknowledgements() {
    let mut end = End::new(TcpConfig { receive_window: 1000, read_at_once: false, ..plain() });
    end.input(0, Input::Write(1000));
    end.arrive(5, segment(1, 1, 1000, 1000));
    assert_eq!(end.arrive(20, segment(1001, 1001, 1000, 1)), [". 1001:1001(0) ack 1001 win 0"]);
    assert_eq!((end.0.unacknowledged_bytes(), end.0.readable_bytes()), (0, 1000));
}

/// Karn's algorithm: an ACK of data that was sent twice gives no sample, even if it also covers data sent once.
#[test]
fn an_ack_over_a_timeouts_segments_gives_no_sample() {
    let mut end = End::new(TcpConfig { initial_window: InitialWindow::Segments(2), ..plain() });
    end.input(0, Input::Write(2000));
    end.wake(1000);
    end.arrive(1020, segment(1, 1001, 50_000, 0));
    end.input(1020, Input::Write(1000));
    end.arrive(1021, segment(1, 1501, 50_000, 0));
    assert_eq!(end.0.statistics().segments_sent, 5, "1, 2, again 1 and 2, and 3");
    end.arrive(1040, segment(1, 3001, 50_000, 0));
    assert_eq!((end.0.unacknowledged_bytes(), end.0.statistics().rtt_count), (0, 0));
}

/// Retransmitted segments may have other boundaries: only their new bytes count.
#[test]
fn overlapping_bytes_are_taken_once() {
    let config = TcpConfig { receive_window: 20, ..plain() };
    let mut end: Connection<SendBytes, ReceiveBytes> = Connection::established(config.clone(), &config);
    let text: Vec<u8> = (b'a'..=b'z').collect();
    for (from, to) in [(8, 12), (2, 5), (0, 3), (4, 9), (3, 6), (11, 26)] {
        let piece = segment(1 + from, 1, 100, (to - from) as u16);
        end.handle_input(Input::Segment(piece, text[from as usize..to as usize].to_vec()), Instant::ZERO);
    }
    assert_eq!(end.front(u64::MAX), &text[..20], "in order, up to the edge of the window");
    end.handle_input(Input::Read(20), Instant::ZERO);
    assert_eq!(end.readable_bytes(), 0);
}
