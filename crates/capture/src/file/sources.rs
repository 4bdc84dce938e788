//! The files of a capture: one, standard input, or those of a folder.
//!
//! Tools that rotate their files (`tcpdump -C`, `-G` and `-W`, `dumpcap -b`) fill a folder. Of a folder the files count
//! whose names end as those of captures do, also with a number after it or compressed; others and folders in it are left out.
//! What has such a name and is no regular file, such as a pipe, is not opened, since to open it may wait or do something.

use std::fs::{File, Metadata};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::source::Origin;
use super::{failure, file_name};
use crate::error::CaptureError;

/// Files that a capture may consist of: each is open at the same time.
const MOST_FILES: usize = 900;
const NOT_REGULAR: &str = "it is no regular file";

/// A file of a capture before it is read.
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Its size, if it is a regular file.
    pub(crate) bytes: Option<u64>,
    in_folder: bool,
    /// Why it is not opened.
    pub(super) refused: Option<CaptureError>,
}

impl SourceFile {
    fn of(path: PathBuf) -> Self {
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let bytes = metadata.map(|file| file.len());
        Self { name: file_name(&path), origin: Origin::Path(path), bytes, in_folder: false, refused: None }
    }

    /// A file of a folder.
    fn in_folder(path: PathBuf) -> Self {
        let name = file_name(&path);
        let refused = match std::fs::metadata(&path) {
            // Links may lead to files of /proc, which count as regular.
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Some(CaptureError::Empty(name)),
            Ok(metadata) if metadata.is_file() => None,
            Ok(_) => Some(CaptureError::NotACapture(name, NOT_REGULAR.to_owned())),
            Err(error) => Some(failure(&name, &error)),
        };
        let file = Self { in_folder: true, refused, ..Self::of(path) };
        // Nothing of what is not opened is read.
        Self { bytes: file.bytes.or(file.refused.as_ref().map(|_| 0)), ..file }
    }

    /// Opens the file, unless it is refused.
    pub(crate) fn open(&mut self) -> Result<(), CaptureError> {
        if self.refused.is_some() {
            return Ok(());
        }
        if let Origin::Path(path) = &self.origin {
            let file = File::open(path).map_err(|error| failure(&self.name, &error))?;
            // The size is that of the file that is open, whatever the path names by now.
            let metadata = file.metadata().map_err(|error| failure(&self.name, &error))?;
            if let Err(error) = check_kind(&self.name, &metadata) {
                if !self.in_folder {
                    return Err(error);
                }
                self.refused = Some(error);
                return Ok(());
            }
            self.bytes = metadata.is_file().then_some(metadata.len());
            self.origin = Origin::File(file);
        }
        Ok(())
    }
}

/// The files that a path stands for.
pub(crate) fn of(path: &Path) -> Result<Vec<SourceFile>, CaptureError> {
    if path == Path::new("-") {
        let name = file_name(path);
        let source =
            SourceFile { name, origin: Origin::StandardInput, bytes: None, in_folder: false, refused: None };
        return Ok(vec![source]);
    }
    if !path.is_dir() {
        // To open a device may do something. What cannot be looked at says why when it is opened.
        if let Ok(metadata) = std::fs::metadata(path) {
            check_kind(&file_name(path), &metadata)?;
        }
        return Ok(vec![SourceFile::of(path.to_owned())]);
    }
    let failed = |error: std::io::Error| failure(&file_name(path), &error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        if is_capture_name(&entry) && !entry.is_dir() {
            paths.push(entry);
        }
    }
    paths.sort();
    if paths.is_empty() || paths.len() > MOST_FILES {
        return Err(CaptureError::Folder { folder: file_name(path), files: paths.len(), most: MOST_FILES });
    }
    Ok(paths.into_iter().map(SourceFile::in_folder).collect())
}

/// Refuses a file that does something when it is read: a device, or one of `/proc` and its kind, which count as regular and state a
/// length of zero. `/proc/kmsg` waits for the kernel to write a line, which nobody else gets then.
fn check_kind(name: &str, metadata: &Metadata) -> Result<(), CaptureError> {
    let kind = metadata.file_type();
    if kind.is_file() && metadata.len() == 0 {
        return Err(CaptureError::Empty(name.to_owned()));
    }
    if kind.is_file() || kind.is_fifo() {
        return Ok(());
    }
    Err(CaptureError::NotACapture(name.to_owned(), format!("{NOT_REGULAR}; hint: - is standard input")))
}

/// Whether the files are those of a folder.
pub(super) fn is_folder(sources: &[SourceFile]) -> bool {
    sources.iter().any(|source| source.in_folder)
}

/// The size of all files together, if it is known of each.
pub(super) fn total_bytes(sources: &[SourceFile]) -> Option<u64> {
    sources.iter().map(|source| source.bytes).sum()
}

/// Whether a file is named as a capture: `x.pcap`, `x.pcapng.gz`, `x.cap`, `x.pcap12`.
fn is_capture_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let plain = plain.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let has_end = [".pcap", ".pcapng", ".cap"].iter().any(|end| plain.ends_with(end));
    has_end && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_when_it_is_read_is_not_opened() {
        let refused =
            |path: &str| of(Path::new(path)).err().map(|error| error.to_string()).unwrap_or_default();
        for file in ["/proc/kmsg", "/proc/self/mounts"] {
            assert_eq!(
                refused(file),
                format!("{file}: expected a pcap or pcapng capture, got an empty file")
            );
        }
        for device in ["/dev/zero", "/dev/tty"] {
            assert!(
                refused(device).ends_with("it is no regular file; hint: - is standard input"),
                "{device}"
            );
        }
        // One that takes the place of another file after it was looked at.
        let mut changed = SourceFile::of(PathBuf::from("/proc/self/mounts"));
        assert!(matches!(changed.open(), Err(CaptureError::Empty(_))));
        assert!(of(Path::new("/proc/self/fd/none")).is_ok(), "what is not there says so when it is opened");
    }

    #[test]
    fn names_of_captures() {
        for name in [
            "a.pcap",
            "A.PCAPNG",
            "x.cap",
            "x.pcap3",
            "x.pcapng.gz",
            "x_00001_20260101.pcap.zst",
            "y.pcap12.gz",
        ] {
            assert!(is_capture_name(Path::new(name)), "{name}");
        }
        for name in ["INDEX.md", "pcap", ".hidden.pcap", "x.pcap.txt", "x.gz"] {
            assert!(!is_capture_name(Path::new(name)), "{name}");
        }
    }
}
