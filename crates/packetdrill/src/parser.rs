//! The parser of scripts.
//!
//! Left out, and reported as not supported: packets that are not TCP, experimental options, IPv6, and arithmetic in arguments.

use airwatt_base::Span;
use airwatt_proto::tcp::linux::bits;

use crate::Problem;
use crate::scanner::Scanner;
use crate::script::{Action, EcnField, Event, Literal, PacketPattern, Script, SystemCall, TcpOption, When};

/// Parses a script.
///
/// # Errors
/// If the text is not a script, or uses what this runner does not have.
pub fn parse(text: &str) -> Result<Script, Problem> {
    let mut scanner = Scanner::new(text);
    let mut script = Script::default();
    while scanner.take("--") {
        let name = scanner.take_while(|each| each.is_alphanumeric() || each == '_').to_owned();
        let value = if scanner.take("=") { scanner.take_while(|each| !each.is_whitespace()) } else { "" };
        script.options.insert(name, value.to_owned());
    }
    if scanner.peek() == Some('`') {
        let time = When::Between { from: Span::ZERO, to: Span::ZERO, relative: true };
        script.events.push(Event { line: scanner.line(), time, action: command(&mut scanner)? });
    }
    while scanner.peek().is_some() {
        let line = scanner.line();
        if scanner.peek() == Some('`') {
            // The command that cleans up: a machine leaves nothing behind.
            command(&mut scanner)?;
            continue;
        }
        let time = time(&mut scanner)?;
        script.events.push(Event { line, time, action: action(&mut scanner)? });
    }
    Ok(script)
}

fn action(scanner: &mut Scanner) -> Result<Action, Problem> {
    match scanner.peek() {
        Some('<') => {
            scanner.need("<")?;
            packet(scanner).map(Action::Inject)
        }
        Some('>') => {
            scanner.need(">")?;
            packet(scanner).map(Action::Expect)
        }
        Some('`') => command(scanner),
        Some('%') => {
            scanner.need("%{")?;
            Ok(Action::Code(scanner.take_until("}%")?.to_owned()))
        }
        _ => call(scanner).map(Action::Call),
    }
}

fn command(scanner: &mut Scanner) -> Result<Action, Problem> {
    scanner.need("`")?;
    Ok(Action::Command(scanner.take_until("`")?.to_owned()))
}

fn time(scanner: &mut Scanner) -> Result<When, Problem> {
    if scanner.take("*") {
        return Ok(When::Any);
    }
    let relative = scanner.take("+");
    let from = seconds(scanner)?;
    if scanner.take("...") {
        return Ok(When::Blocking { from, to: seconds(scanner)?, relative });
    }
    if scanner.take("~") {
        scanner.take("+");
        return Ok(When::Between { from, to: seconds(scanner)?, relative });
    }
    Ok(When::Between { from, to: from, relative })
}

/// A time in seconds. It ends before the dots of a blocking call.
fn seconds(scanner: &mut Scanner) -> Result<Span, Problem> {
    let before = scanner.clone();
    let whole = scanner.take_while(|each| each.is_ascii_digit());
    let mut fraction = "";
    if !scanner.rest().starts_with("..") && scanner.rest().starts_with('.') {
        scanner.need(".")?;
        if scanner.rest().starts_with(|each: char| each.is_ascii_digit()) {
            fraction = scanner.take_while(|each| each.is_ascii_digit());
        }
    }
    let nanos = format!("{fraction:0<9}");
    let count = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    match (count(whole), count(&nanos[..9])) {
        (Some(whole), Some(nanos)) if whole < 1 << 30 && scanner.rest() != before.rest() => {
            Ok(Span::from_secs(whole) + Span::from_nanos(nanos))
        }
        _ => Err(before.wrong("a time")),
    }
}

fn packet(scanner: &mut Scanner) -> Result<PacketPattern, Problem> {
    let mut packet = PacketPattern::default();
    for (open, close) in [("[", "]"), ("(", ")")] {
        if scanner.take(open) {
            packet.ecn = ip(scanner.take_until(close)?.trim(), scanner)?;
        }
    }
    for other in ["icmp", "udp", "ipv4", "ipv6", "gre", "mpls"] {
        if scanner.take_word(other) {
            return Err(scanner.unsupported(&format!("packets of kind {other}")));
        }
    }
    let before = scanner.clone();
    for flag in scanner.take_while(|each| !each.is_whitespace()).chars() {
        match flag {
            '-' => {}
            // The three bits of AccECN's counter as one number.
            '0'..='7' => {
                for (bit, value) in [(bits::AE, 4), (bits::CWR, 2), (bits::ECE, 1)] {
                    packet.flags |= if (flag as u8 - b'0') & value == 0 { 0 } else { bit };
                }
            }
            _ => match bits::LETTERS.iter().find(|(_, letter)| *letter == flag) {
                Some((bit, _)) => packet.flags |= bit,
                None => return Err(before.wrong("flags")),
            },
        }
    }
    packet.start = scanner.integer()?;
    scanner.need(":")?;
    let end: u32 = scanner.integer()?;
    scanner.need("(")?;
    packet.len = scanner.integer()?;
    scanner.need(")")?;
    if end.wrapping_sub(packet.start) != packet.len {
        return Err(before.wrong("a length that is the difference of the sequence numbers"));
    }
    if scanner.take_word("ack") {
        packet.ack = Some(scanner.integer()?);
    }
    if scanner.take_word("win") {
        packet.window = Some(scanner.integer()?);
    }
    if scanner.take_word("urg") {
        packet.urgent = Some(scanner.integer()?);
    }
    // `<` may also begin the options of this packet: an inbound packet has its time before the `<`.
    packet.options = Some(Vec::new());
    if scanner.take("<") {
        packet.options = if scanner.take("...") { None } else { Some(options(scanner)?) };
        scanner.need(">")?;
    }
    Ok(packet)
}

fn ip(text: &str, scanner: &Scanner) -> Result<Option<EcnField>, Problem> {
    Ok(Some(match text {
        "noecn" => EcnField::Is(0),
        "ect1" => EcnField::Is(1),
        "ect0" => EcnField::Is(2),
        "ce" => EcnField::Is(3),
        "ect01" => EcnField::Capable,
        _ => return Err(scanner.unsupported(&format!("the IP header's `{text}`"))),
    }))
}

fn options(scanner: &mut Scanner) -> Result<Vec<TcpOption>, Problem> {
    let mut options = Vec::new();
    while scanner.peek() != Some('>') {
        let name = scanner.word();
        match name {
            "mss" => options.push(TcpOption::Mss(scanner.integer()?)),
            "wscale" => options.push(TcpOption::Wscale(scanner.integer()?)),
            "sackOK" => options.push(TcpOption::SackOk),
            "nop" | "eol" => {}
            "sack" => {
                let mut blocks = Vec::new();
                while scanner.peek().is_some_and(|next| next.is_ascii_digit()) {
                    let start = scanner.integer()?;
                    scanner.need(":")?;
                    blocks.push((start, scanner.integer()?));
                }
                options.push(TcpOption::Sack(blocks));
            }
            "TS" => {
                scanner.need("val")?;
                let value = scanner.integer()?;
                scanner.need("ecr")?;
                options.push(TcpOption::Timestamp(value, scanner.integer()?));
            }
            _ => return Err(scanner.unsupported(&format!("the TCP option `{name}`"))),
        }
        scanner.take(",");
    }
    Ok(options)
}

fn call(scanner: &mut Scanner) -> Result<SystemCall, Problem> {
    let before = scanner.clone();
    let name = scanner.word().to_owned();
    if name.is_empty() || !scanner.take("(") {
        return Err(before.wrong("a packet, a call, a command or code"));
    }
    let arguments = values(scanner, ")")?;
    let (mut result, mut error) = (Literal::Any, None);
    if scanner.take("=") {
        result = value(scanner)?;
        if scanner.peek().is_some_and(|next| next.is_ascii_uppercase()) {
            error = Some(scanner.word().to_owned());
        }
        if scanner.take("(") {
            scanner.take_until(")")?;
        }
    }
    Ok(SystemCall { name, arguments, result, error })
}

fn values(scanner: &mut Scanner, end: &str) -> Result<Vec<Literal>, Problem> {
    let mut values = Vec::new();
    while !scanner.take(end) {
        values.push(value(scanner)?);
        if !scanner.take(",") && !scanner.rest().trim_start().starts_with(end) {
            return Err(scanner.wrong(&format!("`,` or `{end}`")));
        }
    }
    Ok(values)
}

fn value(scanner: &mut Scanner) -> Result<Literal, Problem> {
    match scanner.peek() {
        Some('.') => scanner.need("...").map(|()| Literal::Any),
        Some('"') => {
            scanner.need("\"")?;
            scanner.take_until("\"").map(|text| Literal::Text(text.to_owned()))
        }
        Some('[') => {
            scanner.need("[")?;
            values(scanner, "]").map(Literal::List)
        }
        Some('{') => {
            scanner.need("{")?;
            fields(scanner)
        }
        Some(next) if next.is_ascii_digit() || next == '-' => scanner.number().map(Literal::Number),
        _ => {
            let mut symbols = Vec::new();
            loop {
                let symbol = scanner.word();
                if symbol.is_empty() {
                    return Err(scanner.wrong("a value"));
                }
                symbols.push(symbol.to_owned());
                if scanner.take("(") {
                    // A function of the C library: its argument is the value.
                    let mut arguments = values(scanner, ")")?;
                    return arguments.pop().ok_or_else(|| scanner.wrong("an argument"));
                }
                if !scanner.take("|") {
                    return Ok(Literal::Symbols(symbols));
                }
            }
        }
    }
}

fn fields(scanner: &mut Scanner) -> Result<Literal, Problem> {
    let mut fields = Vec::new();
    while !scanner.take("}") {
        let before = scanner.clone();
        let name = scanner.word().to_owned();
        if scanner.take("(") {
            // The length of an array stands behind its name.
            scanner.take_until(")")?;
        }
        if !name.is_empty() && scanner.take("=") {
            fields.push((name, value(scanner)?));
        } else {
            *scanner = before;
            fields.push((String::new(), value(scanner)?));
        }
        scanner.take(",");
    }
    Ok(Literal::Fields(fields))
}
