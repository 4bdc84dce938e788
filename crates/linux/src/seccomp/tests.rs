use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use super::*;

/// The system calls of a group, as systemd-analyze prints the groups.
fn calls_of(groups: &BTreeMap<String, Vec<String>>, group: &str) -> BTreeSet<String> {
    let members = groups.get(group).into_iter().flatten();
    members
        .flat_map(|name| if name.starts_with('@') { calls_of(groups, name) } else { [name.clone()].into() })
        .collect()
}

#[test]
fn the_list_is_a_part_of_what_the_units_permit() {
    let Ok(done) = Command::new("systemd-analyze").arg("syscall-filter").output() else { return };
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut group = String::new();
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        if line.starts_with('@') {
            group = line.to_owned();
        } else if let Some(name) = line.strip_prefix("    ").filter(|name| !name.starts_with('#')) {
            groups.entry(group.clone()).or_default().push(name.to_owned());
        }
    }
    let permitted = calls_of(&groups, "@system-service");
    assert!(permitted.contains("read"));
    let names = COMMON.iter().chain(&OLDER).map(|(name, _)| name.trim_start_matches("SYS_"));
    let others: Vec<&str> = names.filter(|name| !permitted.contains(*name)).collect();
    assert!(others.is_empty(), "not in @system-service: {others:?}");
}

#[test]
fn other_calls_fail_and_end_nothing() {
    // The filter stays with its thread.
    let outcome = std::thread::spawn(|| {
        rustix::thread::set_no_new_privs(true).unwrap();
        assert!(Command::new("true").status().is_ok());
        keep_only_needed(false).unwrap();
        let text = fs::read_to_string("/proc/thread-self/status").unwrap();
        let error = Command::new("true").status().unwrap_err();
        (text.lines().any(|line| line == "Seccomp:\t2"), error.raw_os_error())
    });
    assert_eq!(outcome.join().unwrap(), (true, Some(1)));
}
