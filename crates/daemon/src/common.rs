//! What all daemons have in common on the command line.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::output;

/// Options of every daemon that runs in the foreground.
#[derive(Args)]
pub(crate) struct Foreground {
    /// Check the configuration and end
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the commands that would change the host, and end; the configuration is checked too
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) log: Log,
}

impl Foreground {
    /// Says that the configuration was checked, if that was asked for. `hints` is how many were given about this host.
    pub(crate) fn in_order(&self, file: &Path, hints: usize) {
        if self.check {
            let found = match hints {
                0 => "nothing is wrong with this configuration",
                _ => "nothing is wrong with this configuration itself: the hints above are about this host",
            };
            output::progress(&format!("{}: {found}", file.display()));
        }
    }
}

/// A daemon by its configuration.
#[derive(Args)]
pub(crate) struct ByFile {
    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// A daemon by its interface.
#[derive(Args)]
pub(crate) struct ByName {
    /// Its interface
    #[arg(value_name = "INTERFACE")]
    pub(crate) interface: String,
}

/// Which daemons are shown, and how.
#[derive(Args)]
pub(crate) struct Shown {
    /// The interface of one; without it, all
    #[arg(value_name = "INTERFACE")]
    pub(crate) interface: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the metrics of one for Prometheus, as for the textfile collector of node_exporter
    #[arg(long, conflicts_with = "json")]
    pub(crate) metrics: bool,
}

/// How much a daemon says.
#[derive(Args)]
pub(crate) struct Log {
    /// Say what is done on standard error; twice for more. AIRWATT_LOG has levels by module
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Log {
    /// Starts the log.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        airwatt_linux::log::of_daemon(self.verbose).map_err(Failure::Input)
    }
}
