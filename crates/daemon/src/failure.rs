//! Why a command ends without having done its work, and the exit status that says so.

use std::fmt;
use std::process::ExitCode;

use airwatt_base::reason_of;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::output;

/// One line for standard error, and a status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It ran and failed: 1.
    Failed(String),
    /// The input is wrong: 2.
    Input(String),
    /// A privilege or a feature of the kernel is missing: 4.
    Missing(String),
    /// Another daemon has what this one would have: 5. Units do not start it again.
    Taken(String),
}

impl Failure {
    pub(crate) fn status(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Input(_) => 2,
            Self::Missing(_) => 4,
            Self::Taken(_) => 5,
        })
    }

    /// The same, with more to say behind it.
    pub(crate) fn with(self, more: &str) -> Self {
        self.map(|line| line + more)
    }

    /// The same, with more to say before it.
    pub(crate) fn after(self, more: &str) -> Self {
        self.map(|line| more.to_owned() + &line)
    }

    fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Failed(line) => Self::Failed(change(line)),
            Self::Input(line) => Self::Input(change(line)),
            Self::Missing(line) => Self::Missing(change(line)),
            Self::Taken(line) => Self::Taken(change(line)),
        }
    }

    /// A system call failed that was for `what`.
    pub(crate) fn of_io(what: &str, error: &std::io::Error) -> Self {
        let text = format!("{what}: {}", reason_of(error));
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Missing(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<airwatt_linux::Error> for Failure {
    fn from(error: airwatt_linux::Error) -> Self {
        match error.io().kind() {
            std::io::ErrorKind::PermissionDenied => Self::Missing(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Failed(line) | Self::Input(line) | Self::Missing(line) | Self::Taken(line)) = self;
        formatter.write_str(line)
    }
}

/// Help and version as clap writes them; anything else is wrong input, in one line.
pub(crate) fn of_arguments(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output::print(&output::folded(&error.render().to_string(), 0));
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    output::error(&line(error));
    ExitCode::from(2)
}

/// Wrong arguments in one line. What clap calls a tip is a hint, as those of all other errors.
pub(crate) fn line(error: &clap::Error) -> String {
    // Behind an option, the name of a command is taken for an argument, and the argument of that for a command.
    if let (ErrorKind::ArgumentConflict, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        return format!(
            "{word}: unexpected behind options without a command; hint: a command comes before its options, as in `airwattd station run \
             CONFIG --verbose`"
        );
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut whole = lines.next().unwrap_or("wrong arguments").trim_start_matches("error: ").to_owned();
    // What is missing or allowed stands in the next lines, before the usage.
    for line in lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")) {
        match line.strip_prefix("tip: ") {
            Some(tip) => whole.extend(["; hint: ", tip]),
            None => whole.extend([" ", line]),
        }
    }
    if error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none() {
        whole.push_str("; hint: --help lists them");
    }
    whole
}

#[cfg(test)]
mod tests {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    use clap::{CommandFactory as _, Parser};

    #[derive(Parser)]
    struct Program {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(clap::Subcommand)]
    enum Command {
        Station(crate::station::Station),
    }

    #[test]
    fn a_command_behind_an_option_is_found_in_the_error() {
        let words = ["airwattd", "station", "-v", "run", "/run/s.toml"];
        let error = Program::command().try_get_matches_from(words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
        let word = error.get(ContextKind::InvalidSubcommand);
        assert!(matches!(word, Some(ContextValue::String(word)) if word == "/run/s.toml"), "{error}");
    }
}
