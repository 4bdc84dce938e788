//! What running a script can lead to.

use std::fmt;

use airwatt_base::Span;

/// Why a script was not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text is no script.
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What was expected and found.
        text: String,
    },
    /// The script uses what the runner or the stack does not have.
    Unsupported {
        /// The line, from 1.
        line: usize,
        /// What it is.
        text: String,
    },
    /// The stack did not do what the script says.
    Failed {
        /// The line, from 1.
        line: usize,
        /// What was expected and what happened.
        text: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line, text } => write!(f, "line {line}: {text}"),
            Self::Unsupported { line, text } => write!(f, "line {line}: not supported: {text}"),
            Self::Failed { line, text } => write!(f, "line {line}: {text}"),
        }
    }
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptResult {
    /// The stack did everything as the script says.
    Passed,
    /// Everything but PSH bits, first on this line.
    PassedButPush(usize),
    /// It did not, or the script cannot be run.
    Not(Problem),
}

impl fmt::Display for ScriptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::PassedButPush(line) => write!(f, "passed but for PSH (line {line})"),
            Self::Not(problem @ Problem::Unsupported { .. }) => write!(f, "{problem}"),
            Self::Not(problem) => write!(f, "failed: {problem}"),
        }
    }
}

/// How far times may be from those of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The least.
    pub least: Span,
    /// The share of the time since the previous event that is tolerated if it is more, in thousandths.
    pub share: u64,
}

impl Tolerance {
    /// What packetdrill tolerates: 4 ms, or an eighth of the time since the previous event.
    pub const ORIGINAL: Self = Self { least: Span::from_millis(4), share: 125 };
    /// One tick of a kernel with 1000 Hz.
    pub const TICK: Self = Self { least: Span::from_millis(1), share: 0 };

    /// What is tolerated at a time `since` the previous event.
    pub(crate) fn at(self, since: Span) -> Span {
        self.least.max(Span::from_nanos(since.as_nanos() / 1000 * self.share))
    }
}
