//! The files of a capture: one, standard input, or those of a folder.
//!
//! Tools that rotate their files (`tcpdump -C`, `-G` and `-W`, `dumpcap -b`) fill a folder. Of a folder the files count
//! whose names end as those of captures do, also with a number after it or compressed; others and folders in it are left out.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::source::Origin;
use super::{failure, file_name};
use crate::error::CaptureError;

/// Files that a capture may consist of: each is open at the same time.
const MOST_FILES: usize = 900;

/// A file of a capture before it is read.
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Its size, if it is a regular file.
    pub(crate) bytes: Option<u64>,
    in_folder: bool,
}

impl SourceFile {
    fn of(path: PathBuf, in_folder: bool) -> Self {
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let bytes = metadata.map(|file| file.len());
        Self { name: file_name(&path), origin: Origin::Path(path), bytes, in_folder }
    }

    /// Opens the file.
    pub(crate) fn open(&mut self) -> Result<(), CaptureError> {
        if let Origin::Path(path) = &self.origin {
            let file = File::open(path).map_err(|error| failure(&self.name, &error))?;
            // The size is that of the file that is open, whatever the path names by now.
            self.bytes = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
            self.origin = Origin::File(file);
        }
        Ok(())
    }
}

/// The files that a path stands for.
pub(crate) fn of(path: &Path) -> Result<Vec<SourceFile>, CaptureError> {
    if path == Path::new("-") {
        let name = file_name(path);
        return Ok(vec![SourceFile { name, origin: Origin::StandardInput, bytes: None, in_folder: false }]);
    }
    if !path.is_dir() {
        return Ok(vec![SourceFile::of(path.to_owned(), false)]);
    }
    let failed = |error: std::io::Error| failure(&file_name(path), &error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        if entry.is_file() && is_capture_name(&entry) {
            paths.push(entry);
        }
    }
    paths.sort();
    if paths.is_empty() || paths.len() > MOST_FILES {
        return Err(CaptureError::Folder { folder: file_name(path), files: paths.len(), most: MOST_FILES });
    }
    Ok(paths.into_iter().map(|path| SourceFile::of(path, true)).collect())
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
