//! Modes, and links that lead elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("airwatt-folder-{}-{name}", std::process::id()))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").permissions().mode() & 0o7777
}

#[test]
fn files_are_their_owners_alone() {
    let path = place("modes");
    let folder = Folder::create(&path).expect("created");
    folder.write("state", b"one").expect("written");
    folder.write("state", b"two").expect("replaced");
    assert_eq!((mode(&path), mode(&path.join("state"))), (0o700, 0o600));
    assert_eq!(folder.read("state").expect("read").as_deref(), Some(&b"two"[..]));
    assert_eq!(folder.read("other").expect("none"), None);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
    drop(Folder::private(&path).expect("opened"));
    assert_eq!(mode(&path), 0o700);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).expect("set");
    let error = Folder::open(&path).expect_err("others may write").to_string();
    assert!(error.contains("only its owner"), "{error}");
    fs::remove_dir_all(&path).expect("removed");
}

#[test]
fn links_are_not_followed() {
    let (path, elsewhere) = (place("links"), place("elsewhere"));
    fs::write(&elsewhere, "precious").expect("written");
    let folder = Folder::create(&path).expect("created");
    symlink(&elsewhere, path.join("state.new")).expect("planted");
    folder.write("state", b"ours").expect("written");
    assert!(!path.join("state.new").exists());
    fs::remove_file(path.join("state")).expect("removed");
    symlink(&elsewhere, path.join("state")).expect("planted");
    let error = folder.read("state").expect_err("a link").to_string();
    assert!(error.contains("symbolic link"), "{error}");
    folder.write("state", b"ours").expect("replaces the link");
    assert!(fs::symlink_metadata(path.join("state")).expect("there").is_file());
    assert_eq!(fs::read_to_string(&elsewhere).expect("there"), "precious");
    let link = place("link-to-folder");
    symlink(&path, &link).expect("planted");
    let error = Folder::create(&link).expect_err("a link").to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::remove_file(&link).expect("removed");
    fs::remove_file(&elsewhere).expect("removed");
    fs::remove_dir_all(&path).expect("removed");
}
