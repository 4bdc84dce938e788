use super::*;

#[test]
fn users_are_found_by_name() {
    let root = User::named("root").unwrap().unwrap();
    assert_eq!((root.name(), root.is_root()), ("root", true));
    for name in ["", "no-such-user", "a\0b"] {
        assert_eq!(User::named(name).unwrap(), None, "{name:?}");
    }
}

#[test]
fn nobody_exists_everywhere_and_is_not_root() {
    assert!(!User::nobody().is_root());
}
