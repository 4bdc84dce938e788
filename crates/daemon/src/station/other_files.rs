//! Configuration files of other programs in several folders, of which one takes the place of those of its name in weaker folders.

use std::fs;
use std::path::{Path, PathBuf};

/// The files in `folder` below `root`, by name and relative to `root`; none if it cannot be read.
pub(super) fn inside(root: &Path, folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| Path::new(folder).join(entry.file_name())).collect();
    files.sort();
    files
}

/// The files in `folders`, the strongest folder first, without those whose name a stronger folder has.
pub(super) fn strongest(root: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let mut files = inside(root, folder);
        files.retain(|file| !found.iter().any(|other| other.file_name() == file.file_name()));
        found.extend(files);
    }
    found
}

/// Whether the name of a file ends in `.` and this.
pub(super) fn ends_in(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}
