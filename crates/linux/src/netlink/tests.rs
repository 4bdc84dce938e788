//! Attributes as bytes.

use super::attribute;

#[test]
fn attributes_survive_a_round_trip() {
    let mut bytes = Vec::new();
    for (kind, value) in [(1_u16, vec![1_u8]), (2, vec![]), (3, vec![1, 2, 3, 4, 5])] {
        attribute::push(&mut bytes, kind, &value);
    }
    assert_eq!(bytes.len() % 4, 0);
    assert_eq!(attribute::parse(&bytes), [(1, vec![1]), (2, vec![]), (3, vec![1, 2, 3, 4, 5])]);
}

#[test]
fn malformed_attributes_end_the_list() {
    for bytes in [&[0_u8, 0][..], &[3, 0, 1, 0], &[200, 0, 1, 0, 9], &[0, 0, 0, 0, 0, 0]] {
        assert!(attribute::parse(bytes).is_empty());
    }
}
