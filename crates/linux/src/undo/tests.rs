//! What is written is what is read, and damage costs no more than it damaged.

use std::fs;
use std::path::PathBuf;

use super::*;

type Log = UndoLog<(u32, String)>;

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airwatt-undo-{}-{name}", std::process::id())).join("log")
}

fn read(path: &Path) -> (Log, Vec<String>) {
    Log::read(path, "a test").expect("a folder of its own")
}

fn change(place: u32, before: &str) -> (u32, String) {
    (place, before.to_owned())
}

#[test]
fn the_first_entry_about_a_place_stays() {
    let path = place("first");
    let (mut log, damage) = read(&path);
    assert!(damage.is_empty() && log.entries().is_empty());
    let index = log.begin(change(1, "cubic"), |known| known.0 == 1).expect("written");
    assert!(!read(&path).0.entries()[0].complete, "written down before it is made");
    log.complete(index).expect("written");
    assert_eq!(log.begin(change(1, "ackloss"), |known| known.0 == 1).expect("written"), 0);
    log.begin(change(2, "reno"), |known| known.0 == 2).expect("written");
    let (mut log, damage) = read(&path);
    assert!(damage.is_empty());
    let found: Vec<_> = log.entries().iter().map(|entry| entry.change.clone()).collect();
    assert_eq!(found, [change(1, "cubic"), change(2, "reno")]);
    log.retain(|_| false).expect("removed");
    log.write().expect("nothing to remove");
    assert!(!path.exists());
    drop(log);
    assert!(!path.parent().expect("a folder").exists());
}

#[test]
fn a_damaged_line_costs_itself() {
    let path = place("damaged");
    let (mut log, _) = read(&path);
    for number in 0..5 {
        log.begin(change(number, "cubic"), |known| known.0 == number).expect("written");
    }
    let whole = fs::read_to_string(&path).expect("there");
    let lines: Vec<&str> = whole.lines().collect();
    for damaged in 0..lines.len() {
        let text: Vec<&str> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| if at == damaged { &line[..7] } else { line })
            .collect();
        fs::write(&path, text.join("\n")).expect("written");
        let (mut log, damage) = read(&path);
        assert_eq!(log.entries().len(), if damaged == 0 { 5 } else { 4 });
        assert!(damage.len() == 1 && damage[0].contains(&format!("line {}", damaged + 1)), "{damage:?}");
        // The change that it was about may not be undone, so that the line stays for somebody to look at.
        log.retain(|_| false).expect("written");
        assert_eq!(path.exists(), damaged > 0);
        if damaged > 0 {
            assert!(fs::read_to_string(&path).expect("there").contains(&lines[damaged][..7]));
            assert_eq!(read(&path).1.len(), 1);
        }
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole.as_bytes()[..length]).expect("written");
        let (log, damage) = read(&path);
        let complete = whole.as_bytes()[..length].iter().filter(|byte| **byte == b'\n').count();
        assert!(log.entries().len() >= complete.saturating_sub(1), "{length}");
        assert!(damage.len() <= 1);
    }
    fs::remove_dir_all(path.parent().expect("a folder")).expect("removed");
}

#[test]
fn what_is_no_log_is_said_in_one_line_each() {
    let path = place("other");
    fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    for bytes in [&b""[..], b"{}", b"[1]", &[0, 255, 254], b"{\"schema\": 1, \"program\": \"x\"}"] {
        fs::write(&path, bytes).expect("written");
        let (log, damage) = read(&path);
        assert!(log.entries().is_empty());
        assert!(damage.len() == 1 && damage[0].lines().count() == 1, "{damage:?}");
    }
    fs::remove_dir_all(path.parent().expect("a folder")).expect("removed");
}
