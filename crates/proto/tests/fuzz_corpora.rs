//! Replays the corpus of the fuzz target of the E2TCP connection, which a fuzzer found and reduced, with the target's own code.
//! The header's corpus is replayed where its contents are known, in the tests of `e2tcp`.

#[path = "../../../fuzz/operations.rs"]
mod operations;

#[test]
fn a_connection_under_what_a_fuzzer_found() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/e2tcp_connection");
    let mut count = 0;
    for entry in std::fs::read_dir(place).expect("the corpus is there") {
        operations::run(&std::fs::read(entry.expect("readable").path()).expect("readable"));
        count += 1;
    }
    assert!(count > 100, "{count} files");
}
