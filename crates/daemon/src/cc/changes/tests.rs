//! The file of changes: what was there first is kept, and nothing is left when nothing is.

use super::*;

fn folder(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("airwattd-changes-{}-{name}", std::process::id()))
}

fn default(namespace: u64, before: &str) -> Change {
    Change::Default { namespace, before: before.to_owned() }
}

#[test]
fn what_was_there_first_is_what_comes_back() {
    let file = folder("first").join("cc.json");
    let mut changes = Changes::read(&file).expect("none");
    changes.remember(default(1, "cubic"), &file).expect("written");
    changes.remember(default(1, "ackloss"), &file).expect("written");
    changes.remember(default(2, "reno"), &file).expect("written");
    let mut read = Changes::read(&file).expect("read");
    assert_eq!(read.changes, [default(1, "cubic"), default(2, "reno")]);
    read.changes.clear();
    read.write(&file).expect("removed");
    assert!(!file.exists() && !file.parent().expect("a folder").exists());
    read.write(&file).expect("nothing to remove");
}

#[test]
fn a_file_of_another_kind_is_refused_in_one_line() {
    let file = folder("refused").join("cc.json");
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    for text in ["", "{}", "[1]", r#"{"schema": 2, "version": "1", "changes": []}"#] {
        fs::write(&file, text).expect("written");
        let failure = Changes::read(&file).expect_err("refused");
        assert!(matches!(&failure, Failure::Input(line) if line.lines().count() == 1), "{failure}");
    }
    fs::remove_dir_all(file.parent().expect("a folder")).expect("removed");
}
