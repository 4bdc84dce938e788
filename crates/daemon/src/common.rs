//! What all daemons have in common on the command line.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// The folder of control sockets and undo logs. It is gone after a restart, as the changes are.
pub(crate) const RUN_FOLDER: &str = "/run/airwatt";

/// Removes the folder if nothing is in it any more, as a daemon does that ends.
pub(crate) fn leave_run_folder() {
    let _ = std::fs::remove_dir(RUN_FOLDER);
}

/// Options of every daemon that runs in the foreground.
#[derive(Args)]
pub(crate) struct Foreground {
    /// Check the configuration and end
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the commands that would change the host, and end
    #[arg(long, conflicts_with = "check")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) log: Log,
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

/// The control socket of a daemon of this kind and name.
pub(crate) fn control_socket(kind: &str, name: &str) -> PathBuf {
    format!("{RUN_FOLDER}/{kind}-{name}.sock").into()
}

/// The undo log of a daemon of this kind and name.
pub(crate) fn undo_log(kind: &str, name: &str) -> PathBuf {
    format!("{RUN_FOLDER}/{kind}-{name}.jsonl").into()
}
