//! One holder at a time, named to the others.

use super::*;

#[test]
fn the_second_waits_and_then_names_the_first() {
    let path = std::env::temp_dir().join(format!("airwatt-lock-{}", std::process::id()));
    let first = Lock::acquire(&path, Span::from_millis(0)).expect("free");
    // Another open file of the same process is another holder to flock(2).
    let Err(LockError::Held(holder)) = Lock::acquire(&path, Span::from_millis(120)) else {
        panic!("held by the first");
    };
    assert!(holder.starts_with(&format!("process {} (", std::process::id())), "{holder}");
    drop(first);
    assert!(!path.exists(), "nothing is left");
    let second = Lock::acquire(&path, Span::from_millis(0)).expect("free again");
    fs::remove_dir(&path).expect("removed by somebody else");
    let third = Lock::acquire(&path, Span::from_millis(0)).expect("a new folder");
    drop((second, third));
    assert!(!path.exists());
}

#[test]
fn only_holders_of_this_file_count() {
    let line = "7: FLOCK  ADVISORY  WRITE 4711 00:19:815 0 EOF";
    assert_eq!(process_of(line, "00:19:815"), Pid::from_raw(4711));
    assert_eq!(process_of(line, "00:19:816"), None);
    assert_eq!(process_of("7: -> FLOCK  ADVISORY  WRITE 4712 00:19:815 0 EOF", "00:19:815"), None);
    assert_eq!(process_of("7: FLOCK  ADVISORY  WRITE 0 00:19:815 0 EOF", "00:19:815"), None);
}
