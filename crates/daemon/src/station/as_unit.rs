//! `doctor --as-unit`: the doctor under the restrictions of the unit, by systemd-run(1). What a service may do differs from what root may:
//! its capabilities, its filter of system calls, its address families and its view of the file system.

use std::path::Path;
use std::process::Command;

use super::{Doctor, run};
use crate::failure::Failure;

/// Where systemd is the service manager (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";

/// Keys of a unit that are about its life, and none of its restrictions.
const LIFE: [&str; 10] = [
    "Type",
    "ExecStart",
    "ExecStartPre",
    "ExecReload",
    "ExecStopPost",
    "Restart",
    "RestartSec",
    "RestartPreventExitStatus",
    "KillMode",
    "TimeoutStopSec",
];

/// The lines of a unit that restrict its processes.
fn restrictions(unit: &str) -> Vec<&str> {
    let lines = unit.lines().skip_while(|line| *line != "[Service]").skip(1);
    let of_service = lines.take_while(|line| !line.starts_with('['));
    let is_restriction = |line: &&str| match line.split_once('=') {
        Some((key, _)) => !line.starts_with('#') && !LIFE.contains(&key),
        None => false,
    };
    of_service.filter(is_restriction).collect()
}

/// Runs the doctor.
///
/// # Errors
/// Without systemd, and if the doctor ends with an error, which it has printed.
pub(super) fn doctor(options: &Doctor) -> Result<(), Failure> {
    if !Path::new(BOOTED).is_dir() {
        return Err(Failure::Missing("--as-unit: systemd does not run on this host".to_owned()));
    }
    let program = std::env::current_exe().map_err(|error| Failure::of_io("this program", &error))?;
    let unit = run::unit(&program.display().to_string(), &options.interface);
    let mut command = Command::new("systemd-run");
    command.args(["--quiet", "--pipe", "--wait", "--collect"]);
    command.args(restrictions(&unit).into_iter().map(|line| format!("--property={line}")));
    command.arg(program).args(["station", "doctor"]);
    if let Some(name) = &options.interface.interface {
        command.args(["--interface", name]);
    }
    command.args(
        [(options.explain, "--explain"), (options.json, "--json")]
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| word),
    );
    let done =
        command.status().map_err(|error| Failure::Missing(format!("--as-unit: systemd-run: {error}")))?;
    match done.code() {
        Some(0) => Ok(()),
        // It has said why.
        Some(2) => {
            Err(Failure::Input("under the restrictions of the unit the configuration is wrong".to_owned()))
        }
        Some(4) => {
            Err(Failure::Missing("what is missing under the restrictions of the unit is said above; hint: without --as-unit the doctor says what is missing anyway".to_owned()))
        }
        _ => Err(Failure::Failed(format!("under the restrictions of the unit the doctor ended: {done}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::Interface;

    #[test]
    fn every_restriction_of_the_unit_is_a_property() {
        let unit = run::unit("/usr/bin/airwattd", &Interface::default());
        let found = restrictions(&unit);
        for expected in ["NoNewPrivileges=yes", "ProtectSystem=strict", "SystemCallFilter=bpf", "UMask=0077"]
        {
            assert!(found.contains(&expected), "{expected} in {found:?}");
        }
        assert!(
            !found.iter().any(|line| line.starts_with("Exec") || line.starts_with("Restart=")),
            "{found:?}"
        );
    }
}
