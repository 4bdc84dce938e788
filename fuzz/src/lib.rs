//! Fuzz targets: each takes any bytes and must neither panic nor exceed its bounds of time and memory.
//!
//! A target returns a [`Feature`], which summarizes what the input led to: an error and its kind, or the shape of what was
//! read. The driver keeps inputs with a feature that no input had before. This guides it as coverage would, without an
//! instrumented compiler; it is coarser, so that a long run with a coverage-guided fuzzer may find more.

#[path = "../operations.rs"]
mod operations;
mod proxies;
mod sessions;
mod targets;

use std::path::{Path, PathBuf};

/// What an input led to, in a few bits.
pub type Feature = u64;

/// One target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its corpus.
    pub name: &'static str,
    /// What it does with an input.
    pub run: fn(&[u8]) -> Feature,
    /// Words that are inserted into inputs.
    pub dictionary: &'static [&'static str],
    /// Longest input in bytes.
    pub longest: usize,
}

/// Processor time that one input may take, in seconds: generous, since tests are not optimized.
pub const SECONDS: f64 = 1.0;
/// Memory that one input may take, in megabytes.
pub const MEGABYTES: f32 = 64.0;

/// Processor time of this thread in seconds.
pub fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "pcap", run: targets::capture, dictionary: &[], longest: 4_096 },
    Target { name: "pcapng", run: targets::capture, dictionary: &[], longest: 4_096 },
    Target { name: "compressed", run: targets::capture, dictionary: &[], longest: 4_096 },
    Target { name: "dot11", run: targets::dot11, dictionary: &[], longest: 512 },
    Target { name: "radiotap", run: targets::radiotap, dictionary: &[], longest: 256 },
    Target { name: "scenario", run: targets::scenario, dictionary: targets::SCENARIO_WORDS, longest: 4_096 },
    Target { name: "e2tcp_header", run: targets::e2tcp_header, dictionary: &[], longest: 512 },
    Target { name: "e2tcp_connection", run: targets::e2tcp_connection, dictionary: &[], longest: 1_024 },
    Target { name: "session", run: sessions::run, dictionary: &[], longest: 256 },
    Target { name: "split_proxy", run: targets::split_proxy, dictionary: &[], longest: 1_024 },
    Target { name: "tunnel_datagram", run: targets::tunnel_datagram, dictionary: &[], longest: 2_048 },
];

/// The folder of a target's corpus.
pub fn corpus(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// The inputs of a target's corpus with their names, in order of name.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn read_corpus(target: &Target) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(corpus(target))? {
        let entry = entry?;
        inputs.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
    }
    inputs.sort();
    Ok(inputs)
}
