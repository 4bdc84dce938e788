//! From text to a script.

use std::str::FromStr;

use airwatt_base::settings::Settings;
use airwatt_base::{Seq, Span};
use airwatt_proto::cc::{AckLossConfig, AckLossRule, Algorithm, Growth, SegmentsPerAck, StretchConfig};
use airwatt_proto::tcp::{
    DelayedAck, Flags, InitialWindow, PartialAckTimer, RtoClock, SackRecovery, TcpConfig, WindowRules,
};

use super::{Action, Pattern, Script, Step, Wrong};

/// Reads a script. An error has its line.
pub(crate) fn parse(text: &str) -> Result<Script, (usize, Wrong)> {
    let config = TcpConfig { mss: 1000, receive_window: 100_000, delayed_ack: None, ..TcpConfig::default() };
    let mut script = Script { config, established: true, steps: Vec::new() };
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let words: Vec<&str> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
        statement(&mut script, line, &words).map_err(|wrong| (line, wrong))?;
    }
    script.config.check().map_err(|wrong| (1, wrong.to_string()))?;
    Ok(script)
}

fn statement(script: &mut Script, line: usize, words: &[&str]) -> Result<(), Wrong> {
    match words {
        [] => Ok(()),
        ["set", ..] if !script.steps.is_empty() => Err("settings come before the first event".to_owned()),
        ["set", settings @ ..] => settings.iter().try_for_each(|setting| set(script, setting)),
        [time, command @ ..] => {
            let after = time.strip_prefix('+').and_then(|span| self::span(span).ok());
            let after = after.ok_or_else(|| format!("{time:?} is not a time, as in +20ms"))?;
            let action = action(command, script.config.mss)?;
            script.steps.push(Step { line, after, action });
            Ok(())
        }
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, Wrong> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

fn span(text: &str) -> Result<Span, Wrong> {
    if text == "0" { Ok(Span::ZERO) } else { text.parse().map_err(|_| format!("{text:?} is not a time")) }
}

fn switch(text: &str) -> Result<bool, Wrong> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{text:?} is neither on nor off")),
    }
}

fn set(script: &mut Script, setting: &str) -> Result<(), Wrong> {
    let (key, value) = setting.split_once('=').ok_or_else(|| format!("{setting:?} is not KEY=VALUE"))?;
    let config = &mut script.config;
    match key {
        "transport" => config.congestion = algorithm(value)?,
        "mss" => config.mss = number(value)?,
        "receive_window" => config.receive_window = number(value)?,
        "initial_window" => config.initial_window = InitialWindow::Segments(number(value)?),
        "initial_ssthresh" => config.initial_ssthresh = Some(number::<u32>(value)? * config.mss),
        "dup_ack_threshold" => config.dup_ack_threshold = number(value)?,
        "limited_transmit" => config.limited_transmit = switch(value)?,
        "nagle" => config.nagle = switch(value)?,
        "read_at_once" => config.read_at_once = switch(value)?,
        "handshake" => script.established = !switch(value)?,
        "sequence" => config.initial_sequence = Seq::new(number(value)?),
        "growth" if value == "acks" => config.growth = Growth::Acks,
        "partial_ack_timer" if value == "slow-but-steady" => {
            config.partial_ack_timer = PartialAckTimer::SlowButSteady;
        }
        "sack_recovery" if value == "pipe" => config.sack_recovery = SackRecovery::Pipe,
        "sack_recovery" if value == "openbsd" => config.sack_recovery = SackRecovery::OpenBsd,
        "window_rules" if value == "whole-segments" => config.window_rules = WindowRules::WholeSegments,
        "window_rules" if value == "bsd" => config.window_rules = WindowRules::Bsd,
        "delayed_ack" => {
            let (every, timeout) =
                value.split_once('/').ok_or("delayed_ack is SEGMENTS/TIME, as in 2/40ms")?;
            config.delayed_ack = Some(DelayedAck { every: number(every)?, timeout: span(timeout)? });
        }
        "coarse" => {
            let (tick, least) = value.split_once('/').ok_or("coarse is TICK/LEAST, as in 100ms/2")?;
            config.rto_clock = RtoClock::Coarse;
            (config.rto_tick, config.rto_min_ticks) = (span(tick)?, number(least)?);
        }
        "ackloss" => {
            let mut ackloss = AckLossConfig { rule: AckLossRule::Published, ..AckLossConfig::default() };
            match value {
                "estimate" => {}
                "stretch" => ackloss.rule = AckLossRule::Stretch(StretchConfig::default()),
                b => ackloss.segments_per_ack = SegmentsPerAck::Fixed(number(b)?),
            }
            config.ackloss = Some(ackloss);
        }
        "reliability" => config.reliability = number(value)?,
        "min_rto" => config.min_rto = span(value)?,
        "initial_rto" => config.initial_rto = span(value)?,
        "max_rto" => config.max_rto = span(value)?,
        _ => return Err(format!("{key:?} is not a setting, or {value:?} not one of its values")),
    }
    Ok(())
}

fn algorithm(name: &str) -> Result<Algorithm, Wrong> {
    let found = Algorithm::ALL.iter().find(|algorithm| algorithm.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
        format!("expected one of {}, got {name:?}", names.join(", "))
    })
}

fn action(words: &[&str], mss: u32) -> Result<Action, Wrong> {
    Ok(match words {
        ["<", segment @ ..] => Action::Inject(segments(segment, mss)?),
        [">", segment @ ..] => Action::Expect(segments(segment, mss)?),
        ["write", bytes] => Action::Write(number(bytes)?),
        ["read", bytes] => Action::Read(number(bytes)?),
        ["open"] => Action::Open,
        ["listen"] => Action::Listen,
        ["close"] => Action::Close,
        ["abort"] => Action::Abort,
        ["event", "gap", block] => Action::Told("gap", self::block(block, mss)?),
        ["event", "late", block] => Action::Told("late", self::block(block, mss)?),
        ["event", name] => Action::Event((*name).to_owned()),
        ["assert", facts @ ..] => {
            Action::Assert(facts.iter().map(|fact| pair(fact)).collect::<Result<_, _>>()?)
        }
        [] => return Err("a time without a command".to_owned()),
        [other, ..] => return Err(format!("{other:?} is not a command with as many words")),
    })
}

fn pair(fact: &str) -> Result<(String, String), Wrong> {
    let (key, value) = fact.split_once('=').ok_or_else(|| format!("{fact:?} is not KEY=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}

/// One segment, or several that `data 2-5` stands for.
fn segments(words: &[&str], mss: u32) -> Result<Vec<Pattern>, Wrong> {
    let mut pattern = Pattern::default();
    let mut data = None;
    let mut rest = words;
    while let [word, tail @ ..] = rest {
        let argument = || tail.first().ok_or_else(|| format!("{word:?} needs a value"));
        rest = &tail[tail.len().min(1)..];
        match *word {
            "data" => data = Some(numbers(argument()?)?),
            "through" => pattern.ack = Some(number::<u32>(argument()?)? * mss + 1),
            "ack" => pattern.ack = Some(number(argument()?)?),
            "win" => pattern.window = Some(number(argument()?)?),
            "sack" => {
                let blocks = tail.iter().map(|block| self::block(block, mss));
                pattern.sack = blocks.collect::<Result<_, _>>()?;
                rest = &[];
            }
            _ => {
                rest = tail;
                match flags(word) {
                    Some(flags) => pattern.flags = Some(flags),
                    None => pattern.range = Some(range(word)?),
                }
            }
        }
    }
    let Some((first, last)) = data else { return Ok(vec![pattern]) };
    pattern.ack = pattern.ack.or(Some(1));
    let one = |index: u32| Pattern { range: Some((index * mss + 1, mss as u16)), ..pattern.clone() };
    Ok((first - 1..last).map(one).collect())
}

/// `4` or `4-6`, counted from one.
fn numbers(text: &str) -> Result<(u32, u32), Wrong> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first == 0 || last < first {
        Err(format!("{text:?} is not one or several segments"))
    } else {
        Ok((first, last))
    }
}

/// `3001:4001`, or segments.
fn block(text: &str, mss: u32) -> Result<(u32, u32), Wrong> {
    if let Some((start, end)) = text.split_once(':') {
        return Ok((number(start)?, number(end)?));
    }
    numbers(text).map(|(first, last)| ((first - 1) * mss + 1, last * mss + 1))
}

fn flags(word: &str) -> Option<Flags> {
    let flag = |letter| {
        Some(match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            _ => return None,
        })
    };
    word.chars().try_fold(Flags::NONE, |flags, letter| Some(flags | flag(letter)?))
}

fn range(word: &str) -> Result<(u32, u16), Wrong> {
    let read = || -> Option<(u32, u16)> {
        let (start, rest) = word.split_once(':')?;
        let (end, len) = rest.strip_suffix(')')?.split_once('(')?;
        let (start, end, len): (u32, u32, u16) = (start.parse().ok()?, end.parse().ok()?, len.parse().ok()?);
        (start.wrapping_add(u32::from(len)) == end).then_some((start, len))
    };
    read().ok_or_else(|| format!("{word:?} is not a range, as in 1:1001(1000)"))
}
