use std::io;

use super::*;

#[test]
fn standard_error_is_the_journal_if_its_device_and_inode_are_named() {
    let file = rustix::fs::fstat(io::stderr()).unwrap();
    assert!(is_journal(Some(&format!("{}:{}", file.st_dev, file.st_ino))));
    assert!(!is_journal(Some(&format!("{}:{}", file.st_dev, file.st_ino + 1))));
    assert!(!is_journal(None));
}

#[test]
fn priorities_are_those_of_syslog() {
    let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
    assert_eq!(levels.map(priority), ["<3>", "<4>", "<6>", "<7>", "<7>"]);
}
