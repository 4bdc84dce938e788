//! The programs in the kernel: whether it can have them, putting them there, finding them again, taking them out.
//!
//! A struct_ops map that is registered outlives the process that loaded it. Kernels from 6.4 hold it by a link, which can be
//! given a new map in one step, so that at no time the congestion control is missing; the link lives as long as its name in
//! the BPF file system. Older ones register the map itself: then the old one goes before the new one comes, and a
//! connection that begins in between gets the host's default.
//!
//! Nothing is remembered in files: what is loaded is found by asking the kernel, whoever loaded it.

mod replace;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use airwatt_proto::cc::AckLossConfig;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, PrintLevel};

use super::{NAMES, settings};
use crate::failure::Failure;
use crate::{host, output};

/// An object as the linker placed it, aligned as the structures that libbpf reads in it.
#[repr(align(8))]
pub(super) struct Embedded<T: ?Sized>(pub(super) T);

static OBJECT: &Embedded<[u8]> = &Embedded(*include_bytes!(concat!(env!("OUT_DIR"), "/ackloss.bpf.o")));

/// The kernel describes its types here; without it no program fits (CONFIG_DEBUG_INFO_BTF).
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const BPF_FS: &str = "/sys/fs/bpf";
/// statfs(2)'s f_type of the BPF file system.
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;
/// Folder of ours in it.
const PINS: &str = "/sys/fs/bpf/airwatt";
/// linux/bpf.h: the map is registered by a link.
const BPF_F_LINK: u32 = 1 << 13;

/// What libbpf said last, for the one line of an error.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Keeps what libbpf says instead of letting it write to standard error.
pub(super) fn silence() {
    fn keep(_: PrintLevel, line: String) {
        if let Ok(mut last) = LAST_WORDS.lock() {
            line.trim().clone_into(&mut last);
        }
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
}

fn last_words() -> String {
    LAST_WORDS.lock().map(|last| last.trim_start_matches("libbpf: ").to_owned()).unwrap_or_default()
}

/// An error that names what this kernel, or this process, has not.
pub(super) fn check() -> Result<(), Failure> {
    if !host::exists(KERNEL_TYPES) {
        return Err(Failure::Missing(format!(
            "{KERNEL_TYPES} is missing: this kernel was built without CONFIG_DEBUG_INFO_BTF"
        )));
    }
    host::need_privileges()?;
    // Every kernel with struct_ops for TCP has this type; it came with 5.6.
    let types = libbpf_rs::btf::Btf::from_vmlinux()
        .map_err(|error| Failure::Missing(format!("{KERNEL_TYPES}: {error}")))?;
    let type_of = |name: &str| types.type_by_name::<libbpf_rs::btf::BtfType<'_>>(name).is_some();
    if !type_of("bpf_struct_ops_tcp_congestion_ops") {
        return Err(Failure::Missing(
            "congestion controls in BPF (struct_ops, CONFIG_BPF_JIT and Linux 5.15) are missing in this kernel".to_owned(),
        ));
    }
    Ok(())
}

/// Whether maps can be registered by links (6.4).
fn has_links() -> bool {
    libbpf_rs::btf::Btf::from_vmlinux()
        .is_ok_and(|types| types.type_by_name::<libbpf_rs::btf::BtfType<'_>>("bpf_struct_ops_link").is_some())
}

/// How a congestion control is held in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Held {
    /// By a link: replaced in one step.
    Link,
    /// By itself: an old one goes before a new one comes.
    Registration,
}

/// A congestion control of ours that the kernel has.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: &'static str,
    pub(super) held: Held,
    pub(super) map: u32,
    /// `struct ackloss_config`, if its program shows one.
    pub(super) settings: Option<Vec<u8>>,
}

/// All that are registered.
pub(super) fn loaded() -> Result<Vec<Loaded>, Failure> {
    let links: Vec<u32> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(info) => Some(info.map_id),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for info in MapInfoIter::default().filter(|info| info.ty == MapType::StructOps) {
        let Some(name) = NAMES.into_iter().find(|name| info.name.as_encoded_bytes() == name.as_bytes())
        else {
            continue;
        };
        let by_link = links.contains(&info.id);
        let Some(value) = value_of(info.id) else { continue };
        // struct bpf_struct_ops_common_value begins with a count and a state; 1 is "in use", by itself.
        let in_use = value.get(4..8).is_some_and(|state| state == 1_u32.to_ne_bytes());
        if by_link || in_use {
            let held = if by_link { Held::Link } else { Held::Registration };
            found.push(Loaded { name, held, map: info.id, settings: settings_of(&value) });
        }
    }
    found.sort_by_key(|loaded| loaded.name);
    Ok(found)
}

fn value_of(map: u32) -> Option<Vec<u8>> {
    MapHandle::from_map_id(map).ok()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// The constants of the programs that a struct_ops map has: its value shows their ids in the places of the functions.
fn settings_of(value: &[u8]) -> Option<Vec<u8>> {
    let ids: Vec<u64> =
        value.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect();
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let constants = ProgInfoIter::with_query_opts(options)
        .filter(|program| {
            ids.contains(&u64::from(program.id)) && program.name.as_encoded_bytes().starts_with(b"al")
        })
        .flat_map(|program| program.map_ids)
        .next()?;
    let constants = MapHandle::from_map_id(constants).ok()?;
    constants.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Tells one build of the programs from another: FNV-1a of the object.
fn build() -> u64 {
    OBJECT
        .0
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What loading did with each name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Loaded,
    Replaced,
    /// It was there, of the same build, with the same settings.
    Kept,
    /// The kernel has no CUBIC that a program may call.
    Unavailable,
}

/// Puts both into the kernel, in place of older ones. `mounted` is told if the BPF file system had to be mounted.
pub(super) fn load(
    config: &AckLossConfig,
    mut mounted: impl FnMut() -> Result<(), Failure>,
) -> Result<Vec<(&'static str, Done)>, Failure> {
    let wanted = settings::to_bytes(config, build());
    let present = loaded()?;
    let kept =
        |name: &str| present.iter().any(|old| old.name == name && old.settings.as_deref() == Some(&wanted));
    if NAMES.into_iter().all(kept) {
        return Ok(NAMES.map(|name| (name, Done::Kept)).to_vec());
    }
    let link = has_links() && bpf_file_system(&mut mounted)?;
    // First with CUBIC; where that cannot be had, without.
    let (mut object, names) = match open(&wanted, link, &NAMES).and_then(into_kernel) {
        Ok(object) => (object, NAMES.as_slice()),
        Err(_) => (open(&wanted, link, &NAMES[..1]).and_then(into_kernel)?, &NAMES[..1]),
    };
    let mut done = Vec::new();
    for name in NAMES {
        let old = present.iter().find(|old| old.name == name);
        done.push((
            name,
            match old {
                _ if !names.contains(&name) => Done::Unavailable,
                Some(_) if kept(name) => Done::Kept,
                _ => register(&mut object, name, link, old)?,
            },
        ));
    }
    Ok(done)
}

fn open(wanted: &[u8], link: bool, names: &[&str]) -> Result<OpenObject, Failure> {
    let failed = |error: libbpf_rs::Error| Failure::Failed(format!("the BPF object: {error}"));
    let mut object = ObjectBuilder::default().open_memory(&OBJECT.0).map_err(failed)?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if let Some(known) = NAMES.into_iter().find(|known| *known == name) {
            map.set_autocreate(names.contains(&known)).map_err(failed)?;
            if link {
                map.set_map_flags(BPF_F_LINK).map_err(failed)?;
            }
        } else if name.ends_with(".rodata")
            && let Some(value) = map.initial_value_mut()
            && let Some(value) = value.get_mut(..wanted.len())
        {
            value.copy_from_slice(wanted);
        }
    }
    Ok(object)
}

fn into_kernel(object: OpenObject) -> Result<Object, Failure> {
    object.load().map_err(|error| {
        Failure::Missing(format!("this kernel does not take the programs: {error}: {}", last_words()))
    })
}

fn register(
    object: &mut Object,
    name: &'static str,
    link: bool,
    old: Option<&Loaded>,
) -> Result<Done, Failure> {
    let failed = |error: libbpf_rs::Error| Failure::Failed(format!("{name}: {error}: {}", last_words()));
    let missing = || Failure::Failed(format!("{name} is not in the BPF object"));
    let mut map = object.maps_mut().find(|map| map.name() == name).ok_or_else(missing)?;
    let pin = pin_of(name);
    if link
        && old.is_some_and(|old| old.held == Held::Link)
        && let Ok(mut existing) = Link::open(&pin)
    {
        output::say(&format!("[#] bpf: the link {} gets a new {name}", pin.display()));
        replace::in_one_step(&mut existing, &map).map_err(failed)?;
        return Ok(Done::Replaced);
    }
    if let Some(old) = old {
        take_out(old)?;
    }
    output::say(&format!("[#] bpf: register the congestion control {name}"));
    let mut attached = map.attach_struct_ops().map_err(failed)?;
    if link {
        attached.pin(&pin).map_err(failed)?;
    } else {
        attached.disconnect();
    }
    Ok(if old.is_some() { Done::Replaced } else { Done::Loaded })
}

fn pin_of(name: &str) -> PathBuf {
    Path::new(PINS).join(name)
}

/// Takes a congestion control out. Connections that have it keep it.
pub(super) fn take_out(loaded: &Loaded) -> Result<(), Failure> {
    let Loaded { name, held, map, .. } = loaded;
    output::say(&format!("[#] bpf: unregister the congestion control {name}"));
    match held {
        Held::Link => {
            let pin = pin_of(name);
            std::fs::remove_file(&pin).map_err(|error| Failure::of_io(&pin.display().to_string(), &error))
        }
        Held::Registration => MapHandle::from_map_id(*map)
            .and_then(|map| map.delete(&0_u32.to_ne_bytes()))
            .map_err(|error| Failure::Failed(format!("{name}: {error}"))),
    }
}

/// Whether names can be given to links: true with the BPF file system mounted and our folder in it.
fn bpf_file_system(mounted: &mut impl FnMut() -> Result<(), Failure>) -> Result<bool, Failure> {
    if !is_bpf_file_system() {
        // What is mounted in a namespace of this process alone would go with it, and the link with that.
        if !shares_mounts() || !host::exists(BPF_FS) {
            return Ok(false);
        }
        output::say(&format!("[#] mount -t bpf bpf {BPF_FS}"));
        mounted()?;
        let flags = rustix::mount::MountFlags::NOSUID
            | rustix::mount::MountFlags::NODEV
            | rustix::mount::MountFlags::NOEXEC;
        rustix::mount::mount(
            "bpf",
            BPF_FS,
            "bpf",
            flags,
            Some(CString::new("mode=700").expect("no NUL").as_c_str()),
        )
        .map_err(|error| Failure::of_io(BPF_FS, &error.into()))?;
    }
    match std::fs::create_dir(PINS) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Failure::of_io(PINS, &error)),
        _ => Ok(true),
    }
}

fn is_bpf_file_system() -> bool {
    rustix::fs::statfs(BPF_FS).is_ok_and(|fs| fs.f_type as u64 == BPF_FS_MAGIC)
}

/// Whether this process sees the host's mounts, which are those of the first process and of the kernel's own (process 2, where
/// the first one hides). `ip netns exec` has some of its own. Taken for true where nothing tells.
fn shares_mounts() -> bool {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt"));
    match (of("1").or_else(|_| of("2")), of("self")) {
        (Ok(host), Ok(own)) => host == own,
        _ => true,
    }
}

/// Removes our folder, and the mount if it was ours.
pub(super) fn clear_pins(mounted: bool) -> Result<(), Failure> {
    if host::exists(PINS) {
        std::fs::remove_dir(PINS).map_err(|error| Failure::of_io(PINS, &error))?;
    }
    if mounted && is_bpf_file_system() {
        output::say(&format!("[#] umount {BPF_FS}"));
        rustix::mount::unmount(BPF_FS, rustix::mount::UnmountFlags::empty())
            .map_err(|error| Failure::of_io(BPF_FS, &error.into()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
