//! Running a script: one event after the other, in script time.
//!
//! A relative time counts from the end of the previous event, which for a packet of the stack is when it was sent.

use airwatt_base::{Instant, Span};
use airwatt_proto::tcp::linux::bits;

use crate::Problem;
use crate::expression::{Failure, Symbols, run as run_code};
use crate::outcome::{ScriptResult, Tolerance};
use crate::script::{Action, Event, Literal, PacketPattern, Script, SystemCall, When};
use crate::settings::of_command;
use crate::stack::{Refused, Sent, Stack};
use crate::written::{Difference, Mapping, write};

/// Any time of an event lies within this of the previous one: a script that waits for ever fails.
const PATIENCE: Span = Span::from_secs(1000);

/// Runs a script.
pub fn run(script: &Script, stack: &mut impl Stack, tolerance: Tolerance) -> ScriptResult {
    let mut run = Run {
        stack,
        tolerance: tolerance_of(script, tolerance),
        strict_segments: script.options.contains_key("strict_segments"),
        mapping: Mapping::default(),
        variables: Symbols::new(),
        now: Instant::ZERO,
        previous: Instant::ZERO,
        blocked: None,
        push: None,
        pending: None,
    };
    let stamps = script.options.get("tcp_ts_tick_usecs").and_then(|value| value.parse().ok());
    run.mapping.stamp_tick = stamps.filter(|tick| *tick > 0);
    if script.options.get("ip_version").is_some_and(|version| version != "ipv4") {
        return ScriptResult::Not(Problem::Unsupported { line: 1, text: "IPv6".to_owned() });
    }
    for event in &script.events {
        if let Err(problem) = run.event(event) {
            return ScriptResult::Not(problem);
        }
    }
    if let Some((call, ..)) = &run.blocked {
        let text = format!("{} has not returned at the end of the script", call.name);
        let line = script.events.last().map_or(1, |event| event.line);
        return ScriptResult::Not(Problem::Failed { line, text });
    }
    run.push.map_or(ScriptResult::Passed, ScriptResult::PassedButPush)
}

/// A script may set the tolerance itself, which counts where the caller has the original's.
fn tolerance_of(script: &Script, tolerance: Tolerance) -> Tolerance {
    let own = |name: &str| script.options.get(name).and_then(|value| value.parse::<f64>().ok());
    if tolerance != Tolerance::ORIGINAL {
        return tolerance;
    }
    Tolerance {
        least: own("tolerance_usecs").map_or(tolerance.least, |usecs| Span::from_micros(usecs as u64)),
        share: own("tolerance_percent").map_or(tolerance.share, |percent| (percent * 10.0) as u64),
    }
}

struct Run<'a, S> {
    stack: &'a mut S,
    tolerance: Tolerance,
    strict_segments: bool,
    mapping: Mapping,
    variables: Symbols,
    now: Instant,
    /// When the previous event ended.
    previous: Instant,
    /// A call that has not returned, its line, and when it has to.
    blocked: Option<(SystemCall, usize, Span)>,
    /// The first line at which PSH differed.
    push: Option<usize>,
    /// A packet that was taken from the stack before it was compared.
    pending: Option<Sent>,
}

/// The time of an event: the earliest, the latest, and what is tolerated on both ends.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    to: Instant,
    tolerated: Span,
}

impl<S: Stack> Run<'_, S> {
    fn event(&mut self, event: &Event) -> Result<(), Problem> {
        let line = event.line;
        let window = self.window(event.time);
        if let Action::Expect(pattern) = &event.action {
            self.now = self.now.max(self.expect(pattern, window, line)?);
            self.previous = self.now;
            return Ok(());
        }
        self.wait(window.from)?;
        match &event.action {
            Action::Inject(pattern) => {
                let packet = self.mapping.injected(pattern);
                self.stack.inject(packet);
            }
            Action::Call(call) => self.call(call, event.time, line)?,
            Action::Command(text) => {
                for setting in of_command(text, line)? {
                    self.stack.set(&setting).map_err(|text| Problem::Unsupported { line, text })?;
                }
            }
            Action::Code(code) => {
                let info = self.stack.info();
                run_code(code, &info, &mut self.variables).map_err(|failure| match failure {
                    Failure::False(text) => Problem::Failed { line, text },
                    Failure::Unknown(text) => Problem::Unsupported { line, text: format!("the code {text}") },
                })?;
            }
            Action::Expect(_) => {}
        }
        self.finish_blocked()?;
        self.previous = self.now;
        Ok(())
    }

    fn window(&self, time: When) -> Window {
        let at = |span: Span, relative: bool| {
            (if relative { self.previous } else { Instant::ZERO }).saturating_add(span)
        };
        let (from, to) = match time {
            When::Any => (self.previous, self.previous + PATIENCE),
            When::Between { from, to, relative } => (at(from, relative), at(to, relative)),
            When::Blocking { from, relative, .. } => (at(from, relative), at(from, relative)),
        };
        let since = from.saturating_since(self.previous);
        Window { from, to, tolerated: self.tolerance.at(since) + self.stack.slack() }
    }

    /// Lets time pass until `at`.
    fn wait(&mut self, at: Instant) -> Result<(), Problem> {
        while self.now < at {
            if self.blocked.is_none() {
                self.stack.wait(at);
                self.now = at;
                break;
            }
            // A call may return at each thing that happens.
            self.now = self.now.max(self.stack.advance(at));
            if self.pending.is_none() {
                self.pending = self.stack.sent();
            } else {
                self.stack.wait(at);
                self.now = at;
            }
            self.finish_blocked()?;
        }
        Ok(())
    }

    /// The stack has to send packets that fit the pattern. Returns when the last of them was sent.
    fn expect(&mut self, pattern: &PacketPattern, window: Window, line: usize) -> Result<Instant, Problem> {
        let mut rest = pattern.clone();
        loop {
            let last = window.to.saturating_add(window.tolerated);
            let Some(sent) = self.next_sent(last)? else {
                let text = format!("expected > {}, got no packet until {}", write(pattern), seconds(last));
                return Err(Problem::Failed { line, text });
            };
            let seen = self.mapping.written(&sent.packet);
            let failed = |what: &str| Problem::Failed {
                line,
                text: format!(
                    "{what}: expected > {} at {}, got {} > {}",
                    write(pattern),
                    between(window),
                    seconds(sent.at),
                    write(&seen)
                ),
            };
            if sent.at > last || sent.at.saturating_add(window.tolerated) < window.from {
                return Err(failed("time"));
            }
            // A line may stand for several packets that follow each other. PSH, FIN and the like are those of the last.
            let part = seen.len > 0 && seen.len < rest.len && !self.strict_segments;
            let mut expected = rest.clone();
            if part {
                expected.len = seen.len;
                expected.flags &= !(bits::PSH | bits::FIN);
            }
            match self.mapping.compare(&expected, &seen) {
                Some(Difference::In(what)) => return Err(failed(what)),
                Some(Difference::Push) => self.push = self.push.or(Some(line)),
                None => {}
            }
            if !part {
                return Ok(sent.at);
            }
            rest.start = rest.start.wrapping_add(seen.len);
            rest.len -= seen.len;
        }
    }

    /// The next packet that the stack sends until `last`.
    fn next_sent(&mut self, last: Instant) -> Result<Option<Sent>, Problem> {
        loop {
            if let Some(sent) = self.pending.take().or_else(|| self.stack.sent()) {
                return Ok(Some(sent));
            }
            if self.now >= last {
                return Ok(None);
            }
            self.now = self.now.max(self.stack.advance(last));
            self.finish_blocked()?;
        }
    }

    fn call(&mut self, call: &SystemCall, time: When, line: usize) -> Result<(), Problem> {
        let blocking = match time {
            When::Blocking { to, .. } => Some(to),
            _ => None,
        };
        match (self.stack.call(call), blocking) {
            (Err(Refused::Blocked), Some(to)) => {
                self.blocked = Some((call.clone(), line, to));
                Ok(())
            }
            (Err(Refused::Blocked), None) => {
                let text = format!("{} blocks, expected it to return at once", call.name);
                Err(Problem::Failed { line, text })
            }
            (result, _) => returned(call, result, line),
        }
    }

    /// Asks whether a call that blocks has returned by now.
    fn finish_blocked(&mut self) -> Result<(), Problem> {
        let Some((call, line, to)) = self.blocked.take() else { return Ok(()) };
        let result = self.stack.call(&call);
        let to = Instant::ZERO.saturating_add(to);
        let tolerated = self.tolerance.at(Span::ZERO) + self.stack.slack();
        if result == Err(Refused::Blocked) {
            if self.now > to.saturating_add(tolerated) {
                let text = format!("{} has not returned at {}", call.name, seconds(to));
                return Err(Problem::Failed { line, text });
            }
            self.blocked = Some((call, line, to.saturating_since(Instant::ZERO)));
            return Ok(());
        }
        if self.now.saturating_add(tolerated) < to || self.now > to.saturating_add(tolerated) {
            let text = format!("{} returned at {} instead of {}", call.name, seconds(self.now), seconds(to));
            return Err(Problem::Failed { line, text });
        }
        returned(&call, result, line)
    }
}

/// Compares the result of a call with the expected one.
fn returned(call: &SystemCall, result: Result<i64, Refused>, line: usize) -> Result<(), Problem> {
    let (value, error) = match result {
        Ok(value) => (value, None),
        Err(Refused::Error(name)) => (-1, Some(name)),
        Err(Refused::Unsupported(text)) => return Err(Problem::Unsupported { line, text }),
        Err(Refused::Blocked) => return Ok(()),
    };
    let fits = match &call.result {
        Literal::Any => true,
        expected => expected.number() == Some(value) && (call.error.is_none() || call.error == error),
    };
    if fits {
        return Ok(());
    }
    let error = error.map(|name| format!(" {name}")).unwrap_or_default();
    let expected = call.result.number().map(|number| number.to_string()).unwrap_or_default();
    let wanted = call.error.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let text = format!("{}: expected {expected}{wanted}, got {value}{error}", call.name);
    Err(Problem::Failed { line, text })
}

fn seconds(at: Instant) -> String {
    format!("{:.6} s", at.as_secs_f64())
}

fn between(window: Window) -> String {
    if window.from == window.to {
        return seconds(window.from);
    }
    format!("{:.6} to {}", window.from.as_secs_f64(), seconds(window.to))
}
