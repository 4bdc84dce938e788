//! The driver: mutates the corpus of a target for a time, and stops at the first input that breaks a rule.
//!
//! `airwatt-fuzz TARGET SECONDS [SEED] [--keep]`; with `--keep` inputs with a new feature are added to the corpus.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use airwatt_base::RandomStream;
use airwatt_fuzz::{Feature, MEGABYTES, SECONDS, TARGETS, Target, corpus, processor_s, read_corpus};
use peak_alloc::PeakAlloc;

#[expect(clippy::disallowed_types, reason = "the user states real time")]
type Clock = std::time::Instant;

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

/// Values that often lie at a bound.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    1_500,
    65_535,
    0x7fff_ffff,
    0xffff_fffe,
    0xffff_ffff,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let keep = arguments.iter().any(|argument| argument == "--keep");
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--keep").collect();
    let number = |text: Option<&&str>, default: u64| text.map_or(Some(default), |text| text.parse().ok());
    let target = words.first().and_then(|name| TARGETS.iter().find(|target| target.name == *name));
    let (Some(target), Some(seconds), Some(seed)) =
        (target, number(words.get(1), 60), number(words.get(2), 1))
    else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        println!("expected TARGET SECONDS [SEED] [--keep], where TARGET is one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    match fuzz(target, seconds, seed, keep) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs inputs for `seconds`.
fn fuzz(target: &Target, seconds: u64, seed: u64, keep: bool) -> Result<String, String> {
    let inputs = read_corpus(target).map_err(|error| format!("{}: {error}", corpus(target).display()))?;
    let mut inputs: Vec<Vec<u8>> = inputs.into_iter().map(|(_, input)| input).collect();
    let before = inputs.len();
    let mut features = BTreeSet::new();
    for input in &inputs {
        features.insert(run(target, input)?);
    }
    let mut random = RandomStream::new(seed, "fuzz");
    let mut count = 0_u64;
    let begin = Clock::now();
    while begin.elapsed().as_secs() < seconds {
        let input = mutated(target, &inputs, &mut random);
        count += 1;
        if features.insert(run(target, &input)?) {
            if keep {
                write(&corpus(target), &input)?;
            }
            inputs.push(input);
        }
    }
    Ok(format!(
        "{}: {count} inputs in {seconds} s with seed {seed}, {} features, corpus {before} + {} new",
        target.name,
        features.len(),
        inputs.len() - before
    ))
}

/// Runs one input; an error is a rule that it breaks, with the file that keeps it.
fn run(target: &Target, input: &[u8]) -> Result<Feature, String> {
    ALLOCATIONS.reset_peak_usage();
    let memory = ALLOCATIONS.current_usage_as_mb();
    let begin = processor_s();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let took = processor_s() - begin;
    let megabytes = ALLOCATIONS.peak_usage_as_mb() - memory;
    let broken = match outcome {
        Err(_) => "it panics".to_owned(),
        Ok(_) if took > SECONDS => format!("it takes {took:.1} s"),
        Ok(_) if megabytes > MEGABYTES => format!("it takes {megabytes} MB"),
        Ok(feature) => return Ok(feature),
    };
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target.name);
    let file = write(&place, input)?;
    Err(format!("{}: {broken}; the input is {file}", target.name))
}

/// Writes an input under a name that follows from its bytes.
fn write(folder: &Path, input: &[u8]) -> Result<String, String> {
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let path = folder.join(format!("{:016x}", input.iter().fold(0xcbf2_9ce4_8422_2325, hash)));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input));
    written.map(|()| path.display().to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

/// An input of the corpus after a few mutations.
fn mutated(target: &Target, inputs: &[Vec<u8>], random: &mut RandomStream) -> Vec<u8> {
    let mut input = pick(inputs, random).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(6) {
        mutate(&mut input, target, inputs, random);
    }
    input.truncate(target.longest);
    input
}

fn pick<'a, T>(list: &'a [T], random: &mut RandomStream) -> Option<&'a T> {
    if list.is_empty() { None } else { list.get(below(list.len(), random)) }
}

fn below(count: usize, random: &mut RandomStream) -> usize {
    random.below(u32::try_from(count.max(1)).unwrap_or(u32::MAX)) as usize
}

/// One mutation.
fn mutate(input: &mut Vec<u8>, target: &Target, inputs: &[Vec<u8>], random: &mut RandomStream) {
    let at = below(input.len(), random);
    let length = (1 + below(16, random)).min(input.len() - at);
    match random.below(10) {
        _ if input.is_empty() => input.extend(pick(inputs, random).cloned().unwrap_or_else(|| vec![0])),
        0 => input[at] ^= 1 << random.below(8),
        1 => input[at] = random.below(256) as u8,
        2 | 3 => {
            let number = NUMBERS[below(NUMBERS.len(), random)]
                .wrapping_add(u64::from(random.below(3)))
                .wrapping_sub(1);
            let width = [1, 2, 4, 8][random.below(4) as usize].min(input.len() - at);
            let bytes = if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
            let bytes = if random.below(2) == 0 { &bytes[..width] } else { &bytes[8 - width..] };
            input[at..at + width].copy_from_slice(bytes);
        }
        4 => {
            input.drain(at..at + length);
        }
        5 => {
            let copy = input[at..at + length].to_vec();
            let to = below(input.len(), random);
            input.splice(to..to, copy);
        }
        6 => input.truncate(at),
        7 => {
            // Half of this input, half of another.
            let other = pick(inputs, random).map_or(&[][..], Vec::as_slice);
            let from = below(other.len(), random);
            input.truncate(at);
            input.extend_from_slice(&other[from.min(other.len())..]);
        }
        8 if !target.dictionary.is_empty() => {
            let word = target.dictionary[below(target.dictionary.len(), random)];
            input.splice(at..at, word.bytes());
        }
        _ => {
            let other = pick(inputs, random).map_or(&[][..], Vec::as_slice);
            let from = below(other.len(), random);
            let piece = &other[from.min(other.len())..(from + 64).min(other.len())];
            input.splice(at..at, piece.iter().copied());
        }
    }
}
