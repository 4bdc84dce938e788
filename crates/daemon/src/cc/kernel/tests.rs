//! The object as it was compiled, before a kernel sees it.

use super::*;

/// linux/bpf.h: the class of loads from memory, and the register of the stack.
const BPF_LDX: u8 = 1;
const FRAME: u8 = 10;

/// On x86 before 6.8 the kernel's own compiler has a load with a negative offset give 0 unless it is from the stack.
#[test]
fn nothing_is_loaded_backwards() {
    let object = ObjectBuilder::default().open_memory(&OBJECT.0).expect("an object");
    let mut loads = 0;
    for program in object.progs() {
        for (at, instruction) in program.insns().iter().enumerate() {
            let load = instruction.code & 7 == BPF_LDX && instruction.src_reg() != FRAME;
            loads += u32::from(load);
            assert!(!load || instruction.off >= 0, "{:?}, instruction {at}", program.name());
        }
    }
    assert!(loads > 100, "{loads}");
}

#[test]
fn the_object_has_both_congestion_controls_and_room_for_the_settings() {
    let object = ObjectBuilder::default().open_memory(&OBJECT.0).expect("an object");
    let size = |wanted: &dyn Fn(&str) -> bool| {
        object
            .maps()
            .find(|map| wanted(&map.name().to_string_lossy()))
            .map(|map| map.initial_value().map_or(0, <[u8]>::len))
    };
    assert!(NAMES.into_iter().all(|name| size(&|known| known == name).is_some()));
    let settings = settings::to_bytes(&AckLossConfig::default(), build());
    assert_eq!(size(&|known| known.ends_with(".rodata")), Some(settings.len()));
    assert_ne!(build(), 0);
}

#[test]
fn only_a_mount_of_this_program_on_top_is_ours() {
    let line = |number: u32, kind: &str, source: &str| {
        format!(
            "{number} 29 0:31 / {BPF_FS} rw,nosuid,nodev,noexec,relatime shared:9 - {kind} {source} rw,mode=700\n"
        )
    };
    let (ours, other) = (line(40, "bpf", "airwatt"), line(41, "bpf", "bpf"));
    assert!(is_topmost_ours(&ours) && is_topmost_ours(&(other.clone() + &ours)));
    assert!(!is_topmost_ours("") && !is_topmost_ours(&other) && !is_topmost_ours(&(ours + &other)));
    assert!(!is_topmost_ours(&line(42, "tmpfs", "airwatt")));
}
