//! The measurement's two machines as one: the schedule, and the daemon's controller, which acts in its own blocks only.
//!
//! In a block with power save off or on the controller observes, and its policy switches nothing. At the begin of one of its
//! own blocks it decides as after any other time in which it did not act: it knows the flows of before.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Timeout};

use super::schedule::{self, Schedule, Setting};
use crate::station::controller::{self, Controller};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    Schedule(schedule::Input),
    Controller(controller::Input),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Schedule(schedule::Output),
    Controller(controller::Output),
}

/// The state of a measurement with the daemon's policy.
#[derive(Clone, Debug)]
pub(super) struct AbTest {
    pub(super) schedule: Schedule,
    pub(super) controller: Controller,
    outputs: VecDeque<Output>,
}

impl AbTest {
    /// A measurement that begins with power save on or off.
    pub(super) fn new(schedule: Schedule, on: bool) -> Self {
        Self { schedule, controller: Controller::new(on, Instant::FOREVER), outputs: VecDeque::new() }
    }

    fn drain_controller(&mut self) {
        self.outputs.extend(std::iter::from_fn(|| self.controller.poll_output()).map(Output::Controller));
    }

    /// Takes the outputs of the schedule, and tells the controller whose turn it is before anybody acts on them.
    fn drain_schedule(&mut self, now: Instant) {
        while let Some(output) = self.schedule.poll_output() {
            let (acts, on) = match output {
                schedule::Output::Begin(Setting::Airwatt) => (Some(true), None),
                schedule::Output::Begin(setting) => (Some(false), Some(setting == Setting::On)),
                schedule::Output::End => (Some(false), None),
                schedule::Output::Send(_) => (None, None),
            };
            if let Some(acts) = acts {
                self.controller.handle_input(controller::Input::Act(acts), now);
            }
            if let Some(on) = on {
                self.controller.handle_input(controller::Input::Found(on), now);
            }
            self.outputs.push_back(Output::Schedule(output));
            self.drain_controller();
        }
    }
}

impl Machine for AbTest {
    type Input = Input;
    type Output = Output;
    type Reason = ();

    fn handle_input(&mut self, input: Input, now: Instant) {
        match input {
            Input::Schedule(input) => self.schedule.handle_input(input, now),
            Input::Controller(input) => self.controller.handle_input(input, now),
        }
        self.drain_controller();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.schedule.handle_timeout(now);
        self.drain_schedule(now);
        self.controller.handle_timeout(now);
        self.drain_controller();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<()>> {
        let schedule = self.schedule.poll_timeout().map(|timeout| timeout.at);
        let controller = self.controller.poll_timeout().map(|timeout| timeout.at);
        let at = schedule.into_iter().chain(controller).min().filter(|at| *at < Instant::FOREVER)?;
        Some(Timeout { at, reason: () })
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Span;
    use airwatt_base::testkit::check_machine;
    use airwatt_proto::powersave::{ArrivalAfterPause, FlowSample, PowerSaveConfig, Volume};

    use super::*;

    const BLOCK: Span = Span::from_secs(20);

    /// A driver, and a flow that somebody types into at no regular times if `types`: the setting at each half second, and the block.
    fn run(found: bool, types: bool) -> Vec<(Setting, bool)> {
        let mut test = AbTest::new(Schedule::new(Span::from_secs(360), BLOCK, 3), found);
        let policy = PowerSaveConfig::named("latency-guard").expect("it is listed");
        let associated = controller::Input::Associated(policy, Span::from_micros(102_400));
        test.handle_input(Input::Controller(associated), Instant::ZERO);
        let (mut on, mut setting, mut seen) = (found, Setting::Off, Vec::new());
        let mut last = Instant::ZERO;
        for tick in 0..720 {
            let until = Instant::from_millis(tick * 500 + 499);
            while let Some(at) = test.poll_timeout().map(|timeout| timeout.at).filter(|at| *at <= until) {
                test.handle_timeout(at);
                carry_out(&mut test, &mut on, &mut setting, at);
            }
            if types && [0, 1, 3].contains(&(tick % 5)) {
                let (sent, received) = (Volume { packets: 1, bytes: 92 }, Volume::default());
                let sample =
                    FlowSample { flow: 1, peer: 1, dscp: 0, sent, received, first: until, last: until };
                // The key of a peer before it waited if power save was on.
                let pause = until - last;
                last = until;
                let arrival = ArrivalAfterPause {
                    peer: 1,
                    at: until,
                    pause,
                    silence: pause,
                    waited: Some(on),
                    has_sent: true,
                };
                test.handle_input(Input::Controller(controller::Input::Arrivals(vec![arrival])), until);
                test.handle_input(Input::Controller(controller::Input::Flows(vec![sample])), until);
                carry_out(&mut test, &mut on, &mut setting, until);
            }
            seen.push((setting, on));
        }
        seen
    }

    fn carry_out(test: &mut AbTest, on: &mut bool, setting: &mut Setting, now: Instant) {
        while let Some(output) = test.poll_output() {
            match output {
                Output::Schedule(schedule::Output::Begin(begun)) => {
                    *setting = begun;
                    if begun != Setting::Airwatt {
                        *on = begun == Setting::On;
                    }
                    test.handle_input(Input::Schedule(schedule::Input::Switched), now);
                }
                Output::Controller(controller::Output::PowerSave(wanted)) => {
                    assert_eq!(*setting, Setting::Airwatt, "the policy switches in its own blocks only");
                    *on = wanted;
                }
                Output::Controller(controller::Output::Trigger) => unreachable!("the guard sends none"),
                Output::Controller(controller::Output::ReadFlows) => {
                    let flows = controller::Input::Flows(Vec::new());
                    test.handle_input(Input::Controller(flows), now);
                }
                Output::Controller(controller::Output::ReadSetting) => {
                    let read = controller::Input::Setting { found: *on, known: *on };
                    test.handle_input(Input::Controller(read), now);
                }
                Output::Controller(controller::Output::Changed(_)) | Output::Schedule(_) => {}
            }
        }
    }

    fn share_on(seen: &[(Setting, bool)], of: Setting) -> f64 {
        let of: Vec<bool> = seen.iter().filter(|(setting, _)| *setting == of).map(|(_, on)| *on).collect();
        of.iter().filter(|on| **on).count() as f64 / of.len() as f64
    }

    #[test]
    fn it_keeps_the_contract() {
        let policy = PowerSaveConfig::named("latency-guard").expect("it is listed");
        let associated = controller::Input::Associated(policy, Span::from_micros(102_400));
        let (sent, received) = (Volume { packets: 1, bytes: 92 }, Volume::default());
        let flows = |second: u64| {
            let at = Instant::from_secs(second);
            let sample = FlowSample { flow: 1, peer: 1, dscp: 0, sent, received, first: at, last: at };
            (at, Input::Controller(controller::Input::Flows(vec![sample])))
        };
        let mut inputs = vec![(Instant::ZERO, Input::Controller(associated))];
        for block in 0..3 {
            inputs.push((Instant::from_secs(20 * block), Input::Schedule(schedule::Input::Switched)));
            inputs.extend((1..10).map(|second| flows(20 * block + second)));
        }
        let make = || AbTest::new(Schedule::new(Span::from_secs(60), BLOCK, 3), true);
        let outputs = check_machine(make, &inputs, Instant::from_secs(100));
        let is_of_schedule = |output: &Output| matches!(output, Output::Schedule(_));
        let of_schedule = outputs.iter().filter(|(_, output)| is_of_schedule(output)).count();
        assert!(of_schedule > 30 && of_schedule < outputs.len(), "{of_schedule} of {}", outputs.len());
    }

    #[test]
    fn each_block_has_its_setting_whatever_the_policy_wants() {
        for (found, types) in [(false, false), (false, true), (true, false), (true, true)] {
            let seen = run(found, types);
            assert_eq!((share_on(&seen, Setting::Off), share_on(&seen, Setting::On)), (0.0, 1.0));
            let ours = share_on(&seen, Setting::Airwatt);
            if types {
                assert!(ours < 0.1, "somebody types all the time: {ours}");
            } else {
                assert!(ours > 0.95, "nobody does: {ours}");
            }
        }
    }
}
