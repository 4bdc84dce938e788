//! When the setting changes and when probes are sent: blocks in threes, one of each setting, each three in random order.
//!
//! ```text
//!   | off            | airwatt        | on             | on             | off            | airwatt        |
//!   |..p  p  p  p ...|..p  p  p  p ...|
//!    ^ settle     ^ grace: no probe whose answer would come under the next setting
//! ```
//! One probe a second and up to 0.2 s more, so that probes do not keep step with beacons. An answer counts for the block
//! in which its probe was sent, and only before that block ends.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Machine, RandomStream, Span, Timeout};
use serde::Serialize;

/// After a switch, what was under way under the other setting ends.
const SETTLE: Span = Span::from_secs(1);
/// At the end of a block, for the longest wait of a reflector and a round trip of up to a second.
const GRACE: Span = Span::from_secs(2);
const INTERVAL: Span = Span::from_secs(1);
const JITTER: Span = Span::from_millis(200);

/// Who decides about power save during a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Setting {
    /// Power save is off.
    Off,
    /// Power save is on: the driver decides when the radio sleeps.
    On,
    /// The policy of the daemon switches power save.
    Airwatt,
}

impl Setting {
    pub(super) const ALL: [Self; 3] = [Self::Off, Self::On, Self::Airwatt];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Airwatt => "airwatt",
        }
    }
}

/// One probe and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) setting: Setting,
    /// Time from the probe to its answer, less what the answer waited at the reflector; `None` if none came.
    pub(super) delay: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The answer to the probe of this number, which waited for so long at the reflector.
    Answer { number: u32, waited: Span },
    /// The setting of the block is in force from now on.
    Switched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// A block begins: bring its setting into force.
    Begin(Setting),
    /// Send the probe of this number.
    Send(u32),
    /// The measurement is complete.
    End,
}

/// Why the schedule wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A block begins, or the last one ends.
    Block,
    /// A probe is due.
    Probe,
}

/// The state of a measurement.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The settings of the blocks that are to come, in reverse order.
    blocks: Vec<Setting>,
    block: Span,
    random: RandomStream,
    /// The setting under way, when its block ends, and when its next probe is due. `None` before the first block.
    under_way: Option<(Setting, Instant, Option<Instant>)>,
    began: Instant,
    ended: bool,
    /// Probes without an answer yet: when they were sent.
    open: BTreeMap<u32, Instant>,
    sent: u32,
    samples: Vec<Sample>,
    outputs: VecDeque<Output>,
}

impl Schedule {
    /// A measurement of at least `total`, in blocks of `block`.
    pub(super) fn new(total: Span, block: Span, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, "schedule");
        let rounds = total.covering(block).div_ceil(Setting::ALL.len() as u64).max(1);
        let mut blocks = Vec::new();
        for _ in 0..rounds {
            let mut left = Setting::ALL.to_vec();
            while !left.is_empty() {
                blocks.push(left.swap_remove(random.below(left.len() as u32) as usize));
            }
        }
        Self {
            blocks,
            block,
            random,
            under_way: None,
            began: Instant::ZERO,
            ended: false,
            open: BTreeMap::new(),
            sent: 0,
            samples: Vec::new(),
            outputs: VecDeque::new(),
        }
    }

    /// The probes of blocks that have ended.
    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// When it will end, counted from its first timeout.
    pub(super) fn length(&self) -> Span {
        self.block.saturating_mul(self.blocks.len() as u64)
    }

    /// Ends the block under way and begins the next one.
    fn next_block(&mut self, now: Instant) {
        if let Some((setting, ..)) = self.under_way.take() {
            let lost = std::mem::take(&mut self.open).into_values();
            self.samples.extend(lost.map(|_| Sample { setting, delay: None }));
        }
        match self.blocks.pop() {
            Some(setting) => {
                self.under_way = Some((setting, now.saturating_add(self.block), None));
                self.outputs.push_back(Output::Begin(setting));
            }
            None => {
                self.ended = true;
                self.outputs.push_back(Output::End);
            }
        }
    }

    /// The time of the next probe from `from` on, if its answer can still count.
    fn next_probe(&mut self, from: Instant, end: Instant) -> Option<Instant> {
        let jitter = Span::from_secs_f64(self.random.unit() * JITTER.as_secs_f64());
        let at = from.saturating_add(jitter);
        (at.saturating_add(GRACE) <= end).then_some(at)
    }
}

impl Machine for Schedule {
    type Input = Input;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, input: Input, now: Instant) {
        let Some((setting, end, _)) = self.under_way else { return };
        match input {
            Input::Switched => {
                let first = self.next_probe(now.saturating_add(SETTLE), end);
                self.under_way = Some((setting, end, first));
            }
            Input::Answer { number, waited } => {
                if let Some(sent) = self.open.remove(&number) {
                    let delay = Some(now.saturating_since(sent).saturating_sub(waited));
                    self.samples.push(Sample { setting, delay });
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self.under_way {
            _ if self.ended => {}
            None => self.next_block(now),
            Some((_, end, _)) if end <= now => self.next_block(now),
            Some((setting, end, Some(probe))) if probe <= now => {
                self.outputs.push_back(Output::Send(self.sent));
                self.open.insert(self.sent, now);
                self.sent += 1;
                let next = self.next_probe(now.saturating_add(INTERVAL), end);
                self.under_way = Some((setting, end, next));
            }
            Some(_) => {}
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let (at, reason) = match self.under_way {
            _ if self.ended => return None,
            None => (self.began, Reason::Block),
            Some((_, end, probe)) => match probe {
                Some(probe) if probe < end => (probe, Reason::Probe),
                _ => (end, Reason::Block),
            },
        };
        Some(Timeout { at, reason })
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;
    use proptest::prelude::*;

    use super::*;

    /// Runs a measurement whose probes are answered after `delay` of their setting, or not at all.
    fn run(
        total: Span,
        block: Span,
        delay: impl Fn(Setting) -> Option<Span>,
    ) -> (Schedule, Vec<(Instant, Output)>) {
        let mut schedule = Schedule::new(total, block, 1);
        let (mut log, mut setting) = (Vec::new(), Setting::Off);
        let mut answers: BTreeMap<Instant, u32> = BTreeMap::new();
        loop {
            let timeout = schedule.poll_timeout().map(|timeout| timeout.at);
            let answer = answers.first_key_value().map(|(at, number)| (*at, *number));
            let now = match (timeout, answer) {
                (Some(at), Some((answer, number))) if answer < at => {
                    answers.remove(&answer);
                    schedule.handle_input(Input::Answer { number, waited: Span::ZERO }, answer);
                    answer
                }
                (Some(at), _) => {
                    schedule.handle_timeout(at);
                    at
                }
                (None, _) => return (schedule, log),
            };
            while let Some(output) = schedule.poll_output() {
                log.push((now, output));
                match output {
                    Output::Begin(begun) => {
                        setting = begun;
                        schedule.handle_input(Input::Switched, now);
                    }
                    Output::Send(number) => {
                        answers.extend(delay(setting).map(|delay| (now.saturating_add(delay), number)));
                    }
                    Output::End => {}
                }
            }
        }
    }

    /// The setting of each block and the time at which it began.
    fn blocks(log: &[(Instant, Output)]) -> Vec<(Instant, Setting)> {
        let begun = |(at, output): &(Instant, Output)| match output {
            Output::Begin(setting) => Some((*at, *setting)),
            _ => None,
        };
        log.iter().filter_map(begun).collect()
    }

    #[test]
    fn it_keeps_the_contract() {
        let (at, answer) = (Instant::from_millis, |number| Input::Answer { number, waited: Span::ZERO });
        let inputs = [
            (at(20), Input::Switched),
            (at(3_000), answer(0)),
            (at(3_000), answer(0)),
            (at(10_020), Input::Switched),
            (at(20_500), answer(99)),
            (at(21_000), Input::Switched),
        ];
        let make = || Schedule::new(Span::from_secs(30), Span::from_secs(10), 1);
        let outputs = check_machine(make, &inputs, at(100_000));
        assert_eq!(outputs.last(), Some(&(at(30_000), Output::End)));
        assert!(outputs.iter().filter(|(_, output)| matches!(output, Output::Send(_))).count() > 12);
    }

    #[test]
    fn each_setting_gets_the_same_time() {
        let (schedule, log) = run(Span::from_secs(900), Span::from_secs(20), |_| Some(Span::from_millis(1)));
        let begun = blocks(&log);
        assert_eq!(begun.len(), 45);
        assert!(begun.windows(2).all(|pair| pair[1].0.saturating_since(pair[0].0) == Span::from_secs(20)));
        assert_eq!(log.last().unwrap().1, Output::End);
        for setting in Setting::ALL {
            let probes = schedule.samples().iter().filter(|sample| sample.setting == setting).count();
            // 17 s of each block have probes, 1.1 s apart on average.
            assert!((210..=255).contains(&probes), "{setting:?}: {probes}");
        }
    }

    proptest! {
        #[test]
        fn every_three_blocks_have_each_setting_once(seed: u64, seconds in 0_u64..2_000, block in 5_u64..600) {
            let schedule = Schedule::new(Span::from_secs(seconds), Span::from_secs(block), seed);
            prop_assert_eq!(schedule.blocks.len() % 3, 0);
            prop_assert!(schedule.length() >= Span::from_secs(seconds.max(1)));
            for three in schedule.blocks.chunks(3) {
                prop_assert!(Setting::ALL.iter().all(|setting| three.contains(setting)), "{three:?}");
            }
        }
    }

    #[test]
    fn the_orders_within_three_blocks_are_equally_likely() {
        let mut orders = BTreeMap::new();
        let schedule = Schedule::new(Span::from_secs(180_000), Span::from_secs(10), 5);
        for three in schedule.blocks.chunks(3) {
            *orders.entry(three.iter().map(|setting| setting.name()).collect::<String>()).or_insert(0) += 1;
        }
        // 6000 of six orders: 1000 each, with a standard deviation of 29.
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1_150).contains(count)), "{orders:?}");
    }

    #[test]
    fn delays_are_booked_to_their_setting() {
        let delay = |setting| Some(Span::from_millis(if setting == Setting::On { 60 } else { 2 }));
        let (schedule, _) = run(Span::from_secs(60), Span::from_secs(10), delay);
        assert!(schedule.samples().len() > 30);
        assert!(schedule.samples().iter().all(|sample| sample.delay == delay(sample.setting)));
    }

    #[test]
    fn what_is_not_answered_before_its_block_ends_is_lost() {
        for delay in [None, Some(Span::from_secs(30))] {
            let (schedule, log) = run(Span::from_secs(40), Span::from_secs(10), |_| delay);
            let sent = log.iter().filter(|(_, output)| matches!(output, Output::Send(_))).count();
            assert_eq!(schedule.samples().len(), sent);
            assert!(schedule.samples().iter().all(|sample| sample.delay.is_none()));
        }
    }

    #[test]
    fn an_answer_that_comes_twice_counts_once_and_what_the_reflector_waited_is_left_out() {
        let mut schedule = Schedule::new(Span::from_secs(20), Span::from_secs(20), 3);
        schedule.handle_timeout(Instant::ZERO);
        while schedule.poll_output().is_some() {}
        schedule.handle_input(Input::Switched, Instant::ZERO);
        let sent = schedule.poll_timeout().unwrap().at;
        schedule.handle_timeout(sent);
        assert_eq!(schedule.poll_output(), Some(Output::Send(0)));
        let answer = Input::Answer { number: 0, waited: Span::from_millis(400) };
        let back = sent.saturating_add(Span::from_millis(450));
        schedule.handle_input(answer, back);
        schedule.handle_input(answer, back);
        schedule.handle_input(Input::Answer { number: 99, waited: Span::ZERO }, back);
        let delays: Vec<_> = schedule.samples().iter().map(|sample| sample.delay).collect();
        assert_eq!(delays, [Some(Span::from_millis(50))]);
    }
}
