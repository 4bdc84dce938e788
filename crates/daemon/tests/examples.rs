//! The examples of the helps: each is what this program accepts, as far as it can be tried without a change of the host.

#![allow(missing_docs, reason = "tests")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DAEMON: &str = env!("CARGO_BIN_EXE_airwattd");

fn run(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut command = Command::new(DAEMON);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The examples of a command and of those below it.
fn examples_of(folder: &Path, command: &[&str]) -> Vec<String> {
    let done = run(folder, &[command, &["--help"]].concat(), "");
    assert!(done.status.success(), "{command:?}");
    let help = String::from_utf8(done.stdout).unwrap();
    let after = |title: &str| help.split_once(title).map_or("", |(_, after)| after).lines().skip(1);
    let mut found: Vec<String> = after("\nExamples:")
        .filter_map(|line| line.strip_prefix("  airwattd "))
        .map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned())
        .collect();
    let names = after("\nCommands:").take_while(|line| !line.is_empty());
    for name in
        names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()))
    {
        if name != "help" {
            found.extend(examples_of(folder, &[command, &[name]].concat()));
        }
    }
    found
}

#[test]
fn every_example_of_the_helps_is_accepted() {
    let folder = std::env::temp_dir().join(format!("airwatt-examples-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let text = |words: &[&str], input: &str| String::from_utf8(run(&folder, words, input).stdout).unwrap();
    let (own, other) = (text(&["genkey"], ""), text(&["genkey"], ""));
    let public = text(&["pubkey"], &other);
    for (kind, example) in [("tunnel", "client"), ("gateway", "mobile")] {
        let mut example = text(&[kind, "example", example], "");
        for (end, key) in [("PRIVATE_KEY\"", &own), ("PUBLIC_KEY\"", &public)] {
            let lines = example.lines().map(|line| match (line.find('"'), line.find(end)) {
                (Some(from), Some(to)) => {
                    format!("{}\"{}\"{}\n", &line[..from], key.trim(), &line[to + end.len()..])
                }
                _ => format!("{line}\n"),
            });
            example = lines.collect();
        }
        fs::write(folder.join(format!("{kind}.toml")), example).unwrap();
    }
    // As `tunnel pair` names the file of its first end.
    fs::copy(folder.join("tunnel.toml"), folder.join("airwatt0-concentrator.toml")).unwrap();
    let examples = examples_of(&folder, &[]);
    assert!(examples.len() > 20, "{examples:?}");
    for (index, example) in examples.iter().enumerate() {
        let (command, redirected) =
            example.split_once('>').map_or((example.as_str(), false), |(one, _)| (one, true));
        let command = command.replace("/etc/airwatt/", "");
        let mut words: Vec<&str> = command.split_whitespace().collect();
        let own_folder = format!("pair-{index}");
        match words[..] {
            // They are printed to standard output.
            ["tunnel" | "gateway", "example", ..] => assert!(redirected, "{example}"),
            ["tunnel", "pair", ..] => {
                fs::create_dir(folder.join(&own_folder)).unwrap();
                words.extend(["--folder", &own_folder]);
            }
            ["tunnel" | "gateway", "up", ..] => words.push("--check"),
            // What depends on the interfaces of the host, or changes it: its arguments are read.
            _ => words.push("--help"),
        }
        let done = run(&folder, &words, "192.168.1.1\nnothing\n");
        assert!(done.status.success(), "airwattd {example}: {}", String::from_utf8_lossy(&done.stderr));
    }
    fs::remove_dir_all(folder).unwrap();
}
