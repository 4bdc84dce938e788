//! Runs a script against a connection.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Seq, Span};
use airwatt_proto::cc::UNLIMITED;
use airwatt_proto::tcp::{Connection, Ecn, Event, Flags, Input, Output, SackBlocks, Segment};

use super::{Action, Pattern, Script, Wrong, parse};

/// The connection under test, and what it said that no line has expected yet.
struct Bench {
    end: Connection,
    now: Instant,
    sent: VecDeque<(Instant, Segment)>,
    events: VecDeque<Event>,
}

/// Runs the script; an error names file and line.
pub(crate) fn run(name: &str, text: &str) -> Result<(), String> {
    let at = |line: usize, wrong: Wrong| format!("{name}:{line}: {wrong}");
    let script = parse::parse(text).map_err(|(line, wrong)| at(line, wrong))?;
    let mut bench = Bench::new(&script);
    let mut last = 1;
    for step in &script.steps {
        last = step.line;
        let time = bench.now + step.after;
        let taken = bench.advance(time, &step.action).and_then(|()| bench.act(&step.action));
        taken.map_err(|wrong| at(step.line, wrong))?;
    }
    bench.all_expected().map_err(|wrong| at(last, wrong))
}

impl Bench {
    fn new(script: &Script) -> Self {
        let config = script.config.clone();
        let end = if script.established {
            // The peer's stream begins at 0 and it offers as much as we do.
            let peer = airwatt_proto::tcp::TcpConfig { initial_sequence: Seq::new(0), ..config.clone() };
            Connection::established(config, &peer)
        } else {
            Connection::new(config)
        };
        Self { end, now: Instant::ZERO, sent: VecDeque::new(), events: VecDeque::new() }
    }

    /// Serves the timers up to `time`. Only a line that expects may come after segments that were not expected yet.
    fn advance(&mut self, time: Instant, action: &Action) -> Result<(), Wrong> {
        while let Some(timeout) = self.end.poll_timeout().filter(|timeout| timeout.at <= time) {
            self.now = self.now.max(timeout.at);
            self.end.handle_timeout(self.now);
            self.drain();
        }
        self.now = time;
        if matches!(action, Action::Expect(_)) { Ok(()) } else { self.all_expected() }
    }

    fn all_expected(&self) -> Result<(), Wrong> {
        match self.sent.front() {
            Some((at, segment)) => Err(format!("nobody expected {segment} at {}", time(*at))),
            None => Ok(()),
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.end.poll_output() {
            match output {
                Output::Transmit(segment) => self.sent.push_back((self.now, segment)),
                Output::Event(event) => self.events.push_back(event),
            }
        }
    }

    fn input(&mut self, input: Input) {
        self.end.handle_input(input, self.now);
        self.drain();
    }

    fn act(&mut self, action: &Action) -> Result<(), Wrong> {
        match action {
            Action::Inject(patterns) => {
                for pattern in patterns {
                    self.input(Input::Segment(segment(pattern, self.end.config().receive_window), ()));
                }
            }
            Action::Expect(patterns) => patterns.iter().try_for_each(|pattern| self.expect(pattern))?,
            Action::Write(bytes) => self.input(Input::Write(*bytes)),
            Action::Read(bytes) => self.input(Input::Read(*bytes)),
            Action::Open => self.input(Input::Open),
            Action::Listen => self.input(Input::Listen),
            Action::Close => self.input(Input::Close),
            Action::Abort => self.input(Input::Abort),
            Action::Event(name) => self.expect_event(name)?,
            Action::Told(name, (start, end)) => self.expect_event(&format!("{name} {start}:{end}"))?,
            Action::Assert(facts) => facts.iter().try_for_each(|(key, value)| self.check(key, value))?,
        }
        Ok(())
    }

    fn expect(&mut self, pattern: &Pattern) -> Result<(), Wrong> {
        let Some((at, segment)) = self.sent.pop_front() else {
            return Err(format!("expected {pattern}, but nothing came"));
        };
        if !matches(pattern, &segment) {
            return Err(format!("expected {pattern}, but {segment} came"));
        }
        if at != self.now {
            return Err(format!("expected at {}, but it came at {}", time(self.now), time(at)));
        }
        Ok(())
    }

    fn expect_event(&mut self, expected: &str) -> Result<(), Wrong> {
        // Delivered data is asserted by its amount.
        self.events.retain(|event| !matches!(event, Event::Delivered { .. }));
        let told = self.events.pop_front().map_or("none".to_owned(), event_name);
        if told == expected { Ok(()) } else { Err(format!("expected event {expected}, but got {told}")) }
    }

    fn check(&self, key: &str, value: &str) -> Result<(), Wrong> {
        let (end, statistics) = (&self.end, self.end.statistics());
        let span = |span: Option<Span>| span.map_or("none".to_owned(), |span| span.to_string());
        let is = match key {
            "cwnd" => self.amount(u64::from(end.cwnd()), value),
            "ssthresh" if end.ssthresh() == UNLIMITED => "none".to_owned(),
            "ssthresh" => self.amount(u64::from(end.ssthresh()), value),
            "flight" => self.amount(u64::from(end.flight()), value),
            "pipe" => end.pipe().map_or("none".to_owned(), |pipe| self.amount(pipe, value)),
            "state" => if end.in_recovery() { "recovery" } else { "open" }.to_owned(),
            "connection" => format!("{:?}", end.state()).to_lowercase(),
            "rto" => span(Some(end.rto())),
            "srtt" => span(end.srtt()),
            "samples" => statistics.rtt_count.to_string(),
            "timeouts" => statistics.timeouts.to_string(),
            "retransmitted" => statistics.segments_retransmitted.to_string(),
            "fast_retransmits" => statistics.fast_retransmits.to_string(),
            "limited_transmits" => statistics.limited_transmits.to_string(),
            "partial_acks" => statistics.partial_acks.to_string(),
            "spurious" => statistics.spurious_retransmits.to_string(),
            "probes" => statistics.probes_sent.to_string(),
            "ack_losses" => statistics.ack_losses.to_string(),
            "ack_loss_halvings" => statistics.ack_loss_halvings.to_string(),
            "b" => end.ackloss().map_or("none".to_owned(), |ackloss| ackloss.segments_per_ack().to_string()),
            "skipped" => self.amount(statistics.bytes_skipped, value),
            "late" => self.amount(statistics.bytes_late, value),
            "delivered" => self.amount(statistics.bytes_delivered, value),
            _ => return Err(format!("{key:?} is not something to assert")),
        };
        if is == value { Ok(()) } else { Err(format!("{key} is {is}, not {value}")) }
    }

    /// An amount in bytes as `expected` is written: in bytes, or in segments where they are whole.
    fn amount(&self, bytes: u64, expected: &str) -> String {
        let mss = u64::from(self.end.config().mss);
        if expected.ends_with('B') || !bytes.is_multiple_of(mss) {
            format!("{bytes}B")
        } else {
            (bytes / mss).to_string()
        }
    }
}

/// The name of an event in a script; places in the stream as sequence numbers.
fn event_name(event: Event) -> String {
    match event {
        Event::Gap { at, bytes } => format!("gap {}:{}", at + 1, at + 1 + bytes),
        Event::Late { at, bytes } => format!("late {}:{}", at + 1, at + 1 + bytes),
        _ => format!("{event:?}").to_lowercase(),
    }
}

fn time(at: Instant) -> Span {
    at.saturating_since(Instant::ZERO)
}

/// The segment that a line injects. What it leaves open: nothing of its own is new, and its window is ours.
fn segment(pattern: &Pattern, window: u32) -> Segment {
    let (seq, len) = pattern.range.unwrap_or((1, 0));
    let mut sack = SackBlocks::NONE;
    for (start, end) in &pattern.sack {
        assert!(sack.push(Seq::new(*start), Seq::new(*end)), "at most three blocks that are not empty");
    }
    Segment {
        seq: Seq::new(seq),
        ack: Seq::new(pattern.ack.unwrap_or(1)),
        window: pattern.window.unwrap_or(window),
        len,
        flags: pattern.flags.unwrap_or(Flags::ACK),
        ecn: Ecn::NONE,
        sack,
        timestamps: None,
    }
}

fn matches(pattern: &Pattern, segment: &Segment) -> bool {
    let plain = |flags: Flags| flags == Flags::ACK || flags == Flags::ACK | Flags::PSH;
    let blocks: Vec<(u32, u32)> =
        segment.sack.iter().map(|(start, end)| (start.value(), end.value())).collect();
    pattern.flags.map_or(plain(segment.flags), |flags| flags == segment.flags)
        && pattern.range.is_none_or(|(seq, len)| (seq, len) == (segment.seq.value(), segment.len))
        && (pattern.range.is_some() || segment.len == 0)
        && pattern.ack.is_none_or(|ack| ack == segment.ack.value())
        && pattern.window.is_none_or(|window| window == segment.window)
        && pattern.sack == blocks
}
