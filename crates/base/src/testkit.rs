//! The conformance test that every machine has to pass: [`check_machine`].

use std::fmt::Debug;

use crate::machine::{Machine, Timeout};
use crate::units::{Instant, Span};

/// Largest number of outputs of one drain. More count as a livelock.
const DRAIN_LIMIT: usize = 100_000;
/// Largest number of timeouts that are served before the next input arrives.
const TIMEOUT_LIMIT: usize = 1_000_000;

/// The outputs of a machine, each with its time.
type Trajectory<O> = Vec<(Instant, O)>;

/// Drives the machines that `make` returns through `inputs` (in order of time) and then alone until `end`, and panics
/// with the name of a rule of [`crate::machine`] if it is violated. Returns the outputs of the machine.
pub fn check_machine<M>(
    make: impl Fn() -> M,
    inputs: &[(Instant, M::Input)],
    end: Instant,
) -> Trajectory<M::Output>
where
    M: Machine + Clone + Debug + Send,
    M::Input: Clone + Debug,
    M::Output: Clone + Debug + PartialEq,
{
    let mut fresh = make();
    assert!(fresh.poll_output().is_none(), "a fresh machine says nothing before its first input");

    let plain = drive(make(), inputs, end, Disturbance::None);
    assert_eq!(plain, drive(make(), inputs, end, Disturbance::None), "the same inputs give the same outputs");
    assert_eq!(plain, drive(make(), inputs, end, Disturbance::EarlyWakeups), "waking early changes nothing");
    assert_eq!(
        plain,
        drive(make(), inputs, end, Disturbance::Clones),
        "a clone carries on where its original stood"
    );
    plain
}

#[derive(Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    /// Calls `handle_timeout` just before each timeout and right after each input.
    EarlyWakeups,
    /// Replaces the machine by its clone after each step.
    Clones,
}

fn drive<M>(
    mut machine: M,
    inputs: &[(Instant, M::Input)],
    end: Instant,
    how: Disturbance,
) -> Trajectory<M::Output>
where
    M: Machine + Clone + Debug,
    M::Input: Clone + Debug,
    M::Output: Clone + Debug,
{
    let mut done = Vec::new();
    let mut now = Instant::ZERO;
    for (at, input) in inputs {
        assert!(*at >= now, "the test's inputs are in order of time");
        run_alone(&mut machine, now, *at, how, &mut done);
        now = *at;
        machine.handle_input(input.clone(), now);
        settle(&mut machine, now, &mut done);
        if how == Disturbance::EarlyWakeups && machine.poll_timeout().is_none_or(|t| t.at > now) {
            wake_without_effect(&mut machine, now);
        }
        if how == Disturbance::Clones {
            machine = machine.clone();
        }
    }
    run_alone(&mut machine, now, end, how, &mut done);
    done
}

/// Serves the timeouts before `until`, and those at `until`, which precede an input of the same time.
fn run_alone<M>(
    machine: &mut M,
    mut now: Instant,
    until: Instant,
    how: Disturbance,
    done: &mut Trajectory<M::Output>,
) where
    M: Machine + Clone + Debug,
    M::Output: Clone + Debug,
{
    for _ in 0..TIMEOUT_LIMIT {
        let Some(Timeout { at, reason }) = machine.poll_timeout().filter(|t| t.at <= until) else { return };
        if how == Disturbance::EarlyWakeups && at > now {
            wake_without_effect(machine, at.saturating_sub(Span::from_nanos(1)).max(now));
        }
        now = now.max(at);
        machine.handle_timeout(now);
        settle(machine, now, done);
        let again = machine.poll_timeout();
        assert!(
            again.is_none_or(|t| t.at > now),
            "a served timeout is gone: {reason:?} at {now:?} left {again:?}\n{machine:?}"
        );
        if how == Disturbance::Clones {
            *machine = machine.clone();
        }
    }
    panic!("livelock: over {TIMEOUT_LIMIT} timeouts without input\n{machine:?}");
}

fn wake_without_effect<M: Machine + Debug>(machine: &mut M, now: Instant)
where
    M::Output: Debug,
{
    let before = machine.poll_timeout();
    machine.handle_timeout(now);
    if let Some(output) = machine.poll_output() {
        panic!("waking early changes nothing, but at {now:?} out came {output:?}\n{machine:?}");
    }
    assert_eq!(before, machine.poll_timeout(), "waking early moves no timer (at {now:?})\n{machine:?}");
}

fn settle<M: Machine + Debug>(machine: &mut M, now: Instant, done: &mut Trajectory<M::Output>)
where
    M::Output: Debug,
{
    for _ in 0..DRAIN_LIMIT {
        match machine.poll_output() {
            Some(output) => done.push((now, output)),
            None => {
                assert!(machine.poll_output().is_none(), "a drained machine is quiet");
                return;
            }
        }
    }
    panic!("livelock: over {DRAIN_LIMIT} outputs in one drain\n{machine:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers an input after ten milliseconds, or when it is woken up to `early` after the input.
    #[derive(Clone, Debug)]
    struct Delay {
        early: Option<Span>,
        asked_at: Option<Instant>,
        answers: u32,
    }

    const fn delay(early: Option<Span>) -> Delay {
        Delay { early, asked_at: None, answers: 0 }
    }

    impl Machine for Delay {
        type Input = ();
        type Output = ();
        type Reason = &'static str;

        fn handle_input(&mut self, (): (), now: Instant) {
            self.asked_at = Some(now);
        }

        fn handle_timeout(&mut self, now: Instant) {
            let is_early = |asked_at| self.early.is_some_and(|early| now <= asked_at + early);
            if self.poll_timeout().is_some_and(|due| due.at <= now) || self.asked_at.is_some_and(is_early) {
                self.asked_at = None;
                self.answers += 1;
            }
        }

        fn poll_output(&mut self) -> Option<()> {
            self.answers = self.answers.checked_sub(1)?;
            Some(())
        }

        fn poll_timeout(&self) -> Option<Timeout<&'static str>> {
            self.asked_at.map(|at| Timeout { at: at + Span::from_millis(10), reason: "answer" })
        }
    }

    #[test]
    fn a_machine_that_keeps_to_the_rules_passes() {
        let asked = [(Instant::from_millis(1), ()), (Instant::from_millis(20), ())];
        let answers = check_machine(|| delay(None), &asked, Instant::from_millis(100));
        assert_eq!(answers, [(Instant::from_millis(11), ()), (Instant::from_millis(30), ())]);
    }

    /// A driver of a device may wake a machine right after an input, long before its timer.
    #[test]
    #[should_panic(expected = "waking early changes nothing")]
    fn a_machine_that_answers_when_woken_with_its_input_is_found() {
        let asked = [(Instant::from_millis(1), ())];
        check_machine(|| delay(Some(Span::ZERO)), &asked, Instant::from_millis(100));
    }
}
