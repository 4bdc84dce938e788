//! The programs in the kernel: whether it supports them, loading, finding and unregistering them.
//!
//! A struct_ops map that is registered outlives the process that loaded it. Since 6.4 a link can hold it. The link can be given a
//! new map in one step, so that the congestion control is never missing, and lives as long as its name in the BPF file system. Older
//! kernels register the map itself: the old one is then unregistered before the new one is registered, and a connection that begins in
//! between gets the host's default.
//!
//! No file has a record of this: the kernel is asked what is loaded, whoever loaded it, and a mount of the BPF file system that was made
//! here has our name as its source.

mod replace;

use std::ffi::{CString, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use airwatt_linux::capability::ProcessCapability;
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
/// Our folder in it.
const PINS: &str = "/sys/fs/bpf/airwatt";
/// Names that the kernel itself creates in every BPF file system (CONFIG_BPF_PRELOAD).
const PRELOADED: [&str; 2] = ["maps.debug", "progs.debug"];
/// linux/bpf.h: the map is registered by a link.
const BPF_F_LINK: u32 = 1 << 13;

/// The source of a mount that was made here.
const MOUNT_SOURCE: &str = "airwatt";
/// The last message of libbpf, for the one line of an error.
static LAST_MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Keeps libbpf's messages, which it would write to standard error otherwise.
pub(super) fn keep_messages() {
    fn keep(_: PrintLevel, line: String) {
        if let Ok(mut last) = LAST_MESSAGE.lock() {
            line.trim().clone_into(&mut last);
        }
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
}

fn last_message() -> String {
    LAST_MESSAGE.lock().map(|last| last.trim_start_matches("libbpf: ").to_owned()).unwrap_or_default()
}

/// Fails with the name of what this kernel does not support, or this process may not do.
pub(super) fn check() -> Result<(), Failure> {
    check_kernel()?;
    host::need(&[ProcessCapability::SysAdmin, ProcessCapability::NetAdmin])
}

/// Fails with the name of what this kernel does not support.
pub(super) fn check_kernel() -> Result<(), Failure> {
    if !Path::new(KERNEL_TYPES).exists() {
        return Err(Failure::Missing(format!(
            "{KERNEL_TYPES} is missing: this kernel was built without CONFIG_DEBUG_INFO_BTF"
        )));
    }
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

/// What keeps a congestion control registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Attachment {
    /// A link, whose map can be replaced in one step.
    Link,
    /// Its own map, which has to be unregistered before another is registered.
    Registration,
}

/// A congestion control of ours that the kernel has.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: &'static str,
    pub(super) attachment: Attachment,
    pub(super) map: u32,
    /// `struct ackloss_config`, if its program shows one.
    pub(super) settings: Option<Vec<u8>>,
}

impl Loaded {
    /// Whether this is the one of this name with these settings, so that a load keeps it.
    fn is_kept(&self, name: &str, wanted: &[u8]) -> bool {
        self.name == name && self.settings.as_deref() == Some(wanted)
    }
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
            let attachment = if by_link { Attachment::Link } else { Attachment::Registration };
            found.push(Loaded { name, attachment, map: info.id, settings: settings_of(&value) });
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

/// What `load` did with each congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Loaded,
    Replaced,
    /// One of the same build with the same settings was registered already.
    Kept,
    /// The kernel has no CUBIC that a program may call.
    Unavailable,
}

/// Those that [`load`] would register. Without privileges the kernel shows none that is registered.
pub(super) fn to_register(config: &AckLossConfig) -> Result<Vec<&'static str>, Failure> {
    let (wanted, present) = (settings::to_bytes(config, build()), loaded()?);
    Ok(NAMES.into_iter().filter(|name| !present.iter().any(|old| old.is_kept(name, &wanted))).collect())
}

/// Registers both in the kernel, in place of older ones.
pub(super) fn load(config: &AckLossConfig) -> Result<Vec<(&'static str, Outcome)>, Failure> {
    let wanted = settings::to_bytes(config, build());
    let present = loaded()?;
    let kept = |name: &str| present.iter().any(|old| old.is_kept(name, &wanted));
    if NAMES.into_iter().all(kept) {
        return Ok(NAMES.map(|name| (name, Outcome::Kept)).to_vec());
    }
    let link = has_links() && bpf_file_system()?;
    // First with CUBIC, then without it if that fails.
    let (mut object, names) = match open(&wanted, link, &NAMES).and_then(into_kernel) {
        Ok(object) => (object, NAMES.as_slice()),
        Err(_) => (open(&wanted, link, &NAMES[..1]).and_then(into_kernel)?, &NAMES[..1]),
    };
    let mut outcomes = Vec::new();
    for name in NAMES {
        let old = present.iter().find(|old| old.name == name);
        outcomes.push((
            name,
            match old {
                _ if !names.contains(&name) => Outcome::Unavailable,
                Some(_) if kept(name) => Outcome::Kept,
                _ => register(&mut object, name, link, old)?,
            },
        ));
    }
    Ok(outcomes)
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
        Failure::Missing(format!("this kernel does not take the programs: {error}: {}", last_message()))
    })
}

fn register(
    object: &mut Object,
    name: &'static str,
    link: bool,
    old: Option<&Loaded>,
) -> Result<Outcome, Failure> {
    let failed = |error: libbpf_rs::Error| Failure::Failed(format!("{name}: {error}: {}", last_message()));
    let missing = || Failure::Failed(format!("{name} is not in the BPF object"));
    let mut map = object.maps_mut().find(|map| map.name() == name).ok_or_else(missing)?;
    let pin = pin_of(name);
    if link
        && old.is_some_and(|old| old.attachment == Attachment::Link)
        && let Ok(mut existing) = Link::open(&pin)
    {
        output::progress(&format!("[#] bpf: the link {} gets a new {name}", pin.display()));
        replace::in_one_step(&mut existing, &map).map_err(failed)?;
        return Ok(Outcome::Replaced);
    }
    if let Some(old) = old {
        unregister(old)?;
    }
    output::progress(&registration(name));
    let mut attached = map.attach_struct_ops().map_err(failed)?;
    if link {
        attached.pin(&pin).map_err(failed)?;
    } else {
        attached.disconnect();
    }
    Ok(if old.is_some() { Outcome::Replaced } else { Outcome::Loaded })
}

/// The line about a congestion control that is registered.
pub(super) fn registration(name: &str) -> String {
    format!("[#] bpf: register the congestion control {name}")
}

fn pin_of(name: &str) -> PathBuf {
    Path::new(PINS).join(name)
}

/// Unregisters a congestion control. Connections that have it keep it.
pub(super) fn unregister(loaded: &Loaded) -> Result<(), Failure> {
    let Loaded { name, attachment, map, .. } = loaded;
    output::progress(&format!("[#] bpf: unregister the congestion control {name}"));
    match attachment {
        Attachment::Link => {
            let pin = pin_of(name);
            std::fs::remove_file(&pin).map_err(|error| Failure::of_io(&pin.display().to_string(), &error))
        }
        Attachment::Registration => MapHandle::from_map_id(*map)
            .and_then(|map| map.delete(&0_u32.to_ne_bytes()))
            .map_err(|error| Failure::Failed(format!("{name}: {error}"))),
    }
}

/// Makes sure that links can be given names: mounts the BPF file system if it is not, and creates our folder in it. False if
/// that is not possible here.
fn bpf_file_system() -> Result<bool, Failure> {
    if !is_bpf_file_system() {
        // A mount in a namespace of this process alone would end with the process, and the link with the mount.
        if !shares_mounts() || !Path::new(BPF_FS).exists() {
            return Ok(false);
        }
        output::progress(&format!("[#] mount -t bpf {MOUNT_SOURCE} {BPF_FS}"));
        let flags = rustix::mount::MountFlags::NOSUID
            | rustix::mount::MountFlags::NODEV
            | rustix::mount::MountFlags::NOEXEC;
        rustix::mount::mount(
            MOUNT_SOURCE,
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

/// Whether our folder is there, or the mount that was made for it.
pub(super) fn has_pins() -> bool {
    Path::new(PINS).exists() || is_mounted_here()
}

/// Removes our folder, and the mount if it was made here. Both stay if other programs have names in them. Returns whether one was removed.
pub(super) fn clear_pins() -> Result<bool, Failure> {
    let is_removed = match std::fs::remove_dir(PINS) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            output::progress(&format!("{PINS} stays: other programs have names in it"));
            false
        }
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::of_io(PINS, &error)),
    };
    if !is_mounted_here() {
        return Ok(is_removed);
    }
    // Names only: an entry keeps its folder open, and the mount busy.
    let names: Vec<OsString> = std::fs::read_dir(BPF_FS)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .map_err(|error| Failure::of_io(BPF_FS, &error))?;
    if names.iter().any(|found| PRELOADED.iter().all(|name| found != name)) {
        output::progress(&format!("{BPF_FS} stays mounted: other programs have names in it"));
        return Ok(is_removed);
    }
    output::progress(&format!("[#] umount {BPF_FS}"));
    rustix::mount::unmount(BPF_FS, rustix::mount::UnmountFlags::NOFOLLOW)
        .map_err(|error| Failure::of_io(BPF_FS, &error.into()))?;
    Ok(true)
}

/// Whether the topmost mount at the BPF file system's place was made by this program.
fn is_mounted_here() -> bool {
    std::fs::read_to_string("/proc/self/mountinfo").is_ok_and(|mounts| is_topmost_ours(&mounts))
}

/// `mountinfo` has a line for each mount, later ones on top of earlier ones: its place is the fifth word, type and source come after a
/// hyphen.
fn is_topmost_ours(mountinfo: &str) -> bool {
    let at_place = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some(BPF_FS));
    at_place
        .and_then(|line| line.split_once(" - "))
        .is_some_and(|(_, mount)| mount.split(' ').take(2).eq(["bpf", MOUNT_SOURCE]))
}

#[cfg(test)]
mod tests;
