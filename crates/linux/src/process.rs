//! Other processes, as `/proc` shows them.

use std::fs;
use std::io::ErrorKind;

use rustix::process::{Pid, Signal};

/// The process and its command line, as far as they can be seen.
pub(crate) fn describe(process: Pid) -> String {
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    match command.trim() {
        "" => format!("process {process}"),
        command => format!("process {process} ({command})"),
    }
}

/// Whether the process is being killed, or has ended: its files are closed in a moment, unless another process has them too.
pub(crate) fn is_ending(process: Pid) -> bool {
    match fs::read_to_string(format!("/proc/{process}/status")) {
        Ok(status) => is_ending_by(&status),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The same by the text of `/proc/PID/status` (proc_pid_status(5)).
fn is_ending_by(status: &str) -> bool {
    let killed = 1_u64 << (Signal::KILL.as_raw() - 1);
    status.lines().filter_map(|line| line.split_once(':')).any(|(key, value)| match key {
        "State" => value.trim_start().starts_with(['Z', 'X']),
        "SigPnd" | "ShdPnd" => {
            u64::from_str_radix(value.trim(), 16).is_ok_and(|pending| pending & killed != 0)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_killed_is_ending() {
        for (status, is_ending) in [
            (
                "Name:\tairwattd\nState:\tS (sleeping)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n",
                false,
            ),
            ("State:\tZ (zombie)\n", true),
            ("State:\tR (running)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true),
            ("State:\tD (disk sleep)\nSigPnd:\t0000000000000100\n", true),
            ("", false),
        ] {
            assert_eq!(is_ending_by(status), is_ending, "{status}");
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = Pid::from_child(&child);
        child.wait().unwrap();
        assert!(is_ending(process));
        assert!(!super::is_ending(rustix::process::getpid()));
    }
}
