//! The code of scripts: assertions over the values of `TCP_INFO`, and assignments that live to the end of the script.
//!
//! Scripts write Python. What they use of it is a small part: statements separated by lines or semicolons, integers, comparisons that
//! may be chained, arithmetic, `and`, `or` and `not`. A message after an assertion is only printed if it is a plain text; calls of
//! `print` are skipped.

use std::collections::BTreeMap;

/// Symbols and their values.
pub type Symbols = BTreeMap<String, i64>;

/// Runs the statements with the values `info`, which hide variables of the same names.
///
/// # Errors
/// The assertion that does not hold, with the values of its names, or what is not understood (`Err(Err(...))`).
pub fn run(code: &str, info: &Symbols, variables: &mut Symbols) -> Result<(), Failure> {
    let joined = code.replace("\\\n", " ");
    for line in joined.lines() {
        let line = strip_comment(line);
        for statement in split(line, ';') {
            execute(statement.trim(), info, variables)?;
        }
    }
    Ok(())
}

/// Why code failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An assertion does not hold.
    False(String),
    /// A statement is not understood.
    Unknown(String),
}

fn execute(statement: &str, info: &Symbols, variables: &mut Symbols) -> Result<(), Failure> {
    if statement.is_empty() || statement.starts_with("print") || statement.starts_with("import ") {
        return Ok(());
    }
    if let Some(condition) = statement.strip_prefix("assert") {
        let condition = unparenthesized(split(condition, ',').next().unwrap_or(condition));
        let mut reader = Reader { tokens: tokens(condition)?, at: 0, info, variables };
        if reader.whole()? == 0 {
            let names = reader.named();
            return Err(Failure::False(format!("assert {} ({names})", condition.trim())));
        }
        return Ok(());
    }
    let Some(at) = statement.find('=').filter(|at| *at > 0) else {
        return Err(Failure::Unknown(statement.to_owned()));
    };
    let (target, value) = (&statement[..at], &statement[at + 1..]);
    let operator = target.chars().last().filter(|last| "+-*/%".contains(*last));
    let name = target.trim_end_matches(|each| "+-*/%".contains(each)).trim();
    if name.is_empty() || !name.chars().all(|each| each.is_alphanumeric() || each == '_') {
        return Err(Failure::Unknown(statement.to_owned()));
    }
    let mut value = Reader { tokens: tokens(value)?, at: 0, info, variables }.whole()?;
    if let Some(operator) = operator {
        let before = variables.get(name).copied().unwrap_or(0);
        value = arithmetic(before, operator, value).ok_or_else(|| Failure::Unknown(statement.to_owned()))?;
    }
    variables.insert(name.to_owned(), value);
    Ok(())
}

/// `assert (a == b, c)` asserts a pair in Python, but is meant as the condition.
fn unparenthesized(text: &str) -> &str {
    let text = text.trim();
    let open = text.matches('(').count();
    if open == text.matches(')').count() + 1 { text.trim_start_matches('(') } else { text }
}

fn strip_comment(line: &str) -> &str {
    split(line, '#').next().unwrap_or("")
}

/// The parts between separators that are outside texts and parentheses.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quote, mut depth) = (None, 0_u32);
    text.split(move |each: char| {
        match (quote, each) {
            (Some(open), _) if each == open => quote = None,
            (None, '\'' | '"') => quote = Some(each),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        each == separator && quote.is_none() && depth == 0
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i64),
    Name(String),
    Operator(&'static str),
}

const OPERATORS: [&str; 14] = ["==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")"];

fn tokens(text: &str) -> Result<Vec<Token>, Failure> {
    let (mut rest, mut tokens) = (text.trim_start(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|each: char| !(each.is_alphanumeric() || each == '_')).unwrap_or(rest.len());
            let word = &rest[..end];
            let number = match word.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            };
            tokens.push(number.map_or_else(|| Token::Name(word.to_owned()), Token::Number));
            end
        } else if let Some(operator) = OPERATORS.into_iter().find(|each| rest.starts_with(each)) {
            tokens.push(Token::Operator(operator));
            operator.len()
        } else {
            return Err(Failure::Unknown(text.trim().to_owned()));
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn arithmetic(left: i64, operator: char, right: i64) -> Option<i64> {
    match operator {
        '+' => left.checked_add(right),
        '-' => left.checked_sub(right),
        '*' => left.checked_mul(right),
        '/' => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

/// Reads an expression from its tokens.
struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    info: &'a Symbols,
    variables: &'a Symbols,
}

impl Reader<'_> {
    fn whole(&mut self) -> Result<i64, Failure> {
        let value = self.either()?;
        if self.at == self.tokens.len() { Ok(value) } else { Err(self.unknown()) }
    }

    fn unknown(&self) -> Failure {
        Failure::Unknown(format!("{:?}", self.tokens.get(self.at)))
    }

    fn value_of(&self, name: &str) -> Option<i64> {
        match name {
            "TCP_CA_Open" => Some(0),
            "TCP_CA_Disorder" => Some(1),
            "TCP_CA_CWR" => Some(2),
            "TCP_CA_Recovery" => Some(3),
            "TCP_CA_Loss" => Some(4),
            "TCP_INFINITE_SSTHRESH" => Some(0x7fff_ffff),
            "True" => Some(1),
            "False" => Some(0),
            _ => self.info.get(name).or_else(|| self.variables.get(name)).copied(),
        }
    }

    /// The names in the expression with their values.
    fn named(&self) -> String {
        let mut found: Vec<String> = Vec::new();
        for token in &self.tokens {
            if let Token::Name(name) = token
                && let Some(value) = self.value_of(name)
                && !name.starts_with("TCP_")
            {
                found.push(format!("{name} = {value}"));
            }
        }
        found.join(", ")
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Name(name)) if name == word);
        self.at += usize::from(found);
        found
    }

    fn operator(&mut self, allowed: &[&str]) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(operator)) if allowed.contains(operator) => {
                self.at += 1;
                Some(operator)
            }
            _ => None,
        }
    }

    fn either(&mut self) -> Result<i64, Failure> {
        let mut value = self.both()?;
        while self.word("or") {
            let other = self.both()?;
            value = if value != 0 { value } else { other };
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<i64, Failure> {
        let mut value = self.inverted()?;
        while self.word("and") {
            let other = self.inverted()?;
            value = if value == 0 { value } else { other };
        }
        Ok(value)
    }

    fn inverted(&mut self) -> Result<i64, Failure> {
        if self.word("not") { Ok(i64::from(self.inverted()? == 0)) } else { self.comparison() }
    }

    fn comparison(&mut self) -> Result<i64, Failure> {
        let mut left = self.sum()?;
        let mut holds = None;
        while let Some(operator) = self.operator(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.sum()?;
            let this = match operator {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            holds = Some(holds.unwrap_or(true) && this);
            left = right;
        }
        Ok(holds.map_or(left, i64::from))
    }

    fn sum(&mut self) -> Result<i64, Failure> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            let right = self.product()?;
            value = self.compute(value, operator, right)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, Failure> {
        let mut value = self.unary()?;
        while let Some(operator) = self.operator(&["*", "//", "/", "%"]) {
            let right = self.unary()?;
            value = self.compute(value, operator, right)?;
        }
        Ok(value)
    }

    fn compute(&self, left: i64, operator: &str, right: i64) -> Result<i64, Failure> {
        let operator = operator.chars().next().unwrap_or('+');
        arithmetic(left, operator, right).ok_or_else(|| self.unknown())
    }

    fn unary(&mut self) -> Result<i64, Failure> {
        if self.operator(&["-"]).is_some() {
            return self.unary().map(i64::wrapping_neg);
        }
        if self.operator(&["("]).is_some() {
            let value = self.either()?;
            return self.operator(&[")"]).map(|_| value).ok_or_else(|| self.unknown());
        }
        let value = match self.tokens.get(self.at) {
            Some(Token::Number(number)) => Some(*number),
            Some(Token::Name(name)) => self.value_of(name),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unknown())?;
        self.at += 1;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str) -> Option<Failure> {
        let info = Symbols::from([("tcpi_snd_cwnd".to_owned(), 10), ("tcpi_rtt".to_owned(), 7)]);
        run(code, &info, &mut Symbols::from([("cwnd".to_owned(), 4)])).err()
    }

    #[test]
    fn assertions_compare_as_in_python() {
        for holds in [
            "assert tcpi_snd_cwnd == 10, 'tcpi_snd_cwnd=%d' % tcpi_snd_cwnd",
            "assert 5 <= tcpi_rtt <= 10",
            "assert tcpi_rtt * 2 + 1 == 15 and not tcpi_rtt > 7",
            "assert tcpi_snd_cwnd == 1 or \\\n tcpi_snd_cwnd == 0xa # one of them",
            "cwnd += 2; assert cwnd == 6\nassert cwnd % 4 == 2",
            "print(tcpi_rtt)\nTHIS = 0x7fffffff\nassert THIS == TCP_INFINITE_SSTHRESH",
        ] {
            assert_eq!(failure(holds), None, "{holds}");
        }
    }

    #[test]
    fn a_false_assertion_shows_its_values() {
        let expected = "assert tcpi_snd_cwnd == cwnd (tcpi_snd_cwnd = 10, cwnd = 4)";
        assert_eq!(
            failure("assert tcpi_snd_cwnd == cwnd, 'message'"),
            Some(Failure::False(expected.to_owned()))
        );
        assert!(matches!(failure("assert 1 < 5 < 3"), Some(Failure::False(_))));
    }

    #[test]
    fn what_is_not_understood_is_no_failed_assertion() {
        for code in
            ["for i in x: pass", "assert nothing == 1", "assert 1 +", "assert 1 / 0 == 1", "a = b = 1"]
        {
            assert!(matches!(failure(code), Some(Failure::Unknown(_))), "{code}");
        }
    }
}
