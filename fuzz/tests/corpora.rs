//! Replays the corpora: no input panics, and each stays within its bounds of time and memory.

use airwatt_fuzz::{MEGABYTES, SECONDS, TARGETS, processor_s, read_corpus};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

#[test]
fn every_input_keeps_the_rules() {
    for target in TARGETS {
        let inputs = read_corpus(target).expect("a corpus");
        assert!(inputs.len() >= 20, "{}: {} inputs", target.name, inputs.len());
        for (name, input) in inputs {
            ALLOCATIONS.reset_peak_usage();
            let memory = ALLOCATIONS.current_usage_as_mb();
            let begin = processor_s();
            (target.run)(&input);
            let took = processor_s() - begin;
            let megabytes = ALLOCATIONS.peak_usage_as_mb() - memory;
            assert!(took < SECONDS, "{}/{name}: {took} s", target.name);
            assert!(megabytes < MEGABYTES, "{}/{name}: {megabytes} MB", target.name);
        }
    }
}
