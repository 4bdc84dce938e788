//! Files of settings that users hand over: scenarios and radio profiles, which may come from strangers.
//!
//! A device such as `/dev/zero` never ends, a FIFO blocks until somebody writes, and either may be what a downloaded scenario names as its
//! base. Only regular files are read, and only up to [`MAX_BYTES`]. Files of `/proc` count as regular, but `/proc/kmsg` blocks until the kernel
//! writes a line, which nobody else gets then: they state a length of zero, and of a file that does nothing is read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The longest file that is read. The longest scenario that ships has 3 kB.
pub(crate) const MAX_BYTES: u64 = 16_000_000;

/// Returns the text of a file; that of a file without a length, as those of `/proc` are, is empty.
///
/// # Errors
/// Returns an error if the file cannot be opened, is no regular file, is longer than 16 MB or is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    // Opening a FIFO blocks, so its kind is looked up before; and again afterwards, since the name may lead elsewhere by then.
    check_kind(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    let opened = file.metadata()?;
    check_kind(&opened)?;
    if opened.len() == 0 {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(invalid(format!("expected at most {} MB", MAX_BYTES / 1_000_000)));
    }
    String::from_utf8(bytes).map_err(|_| invalid("expected a text, got a file that is not UTF-8".to_owned()))
}

fn check_kind(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let got = if metadata.is_dir() { "a folder" } else { "a device, FIFO or socket" };
    Err(invalid(format!("expected a regular file, got {got}")))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let folder = std::env::temp_dir().join(format!("airwatt-text-file-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let refused = |path: &Path| read_text(path).expect_err("refused").to_string();
        assert_eq!(refused(Path::new("/dev/zero")), "expected a regular file, got a device, FIFO or socket");
        assert_eq!(refused(&folder), "expected a regular file, got a folder");
        assert_eq!(read_text("/proc/self/status").expect("it is not read"), "");
        let long = folder.join("long");
        File::create(&long).and_then(|file| file.set_len(MAX_BYTES + 1)).expect("a sparse file");
        assert_eq!(refused(&long), "expected at most 16 MB");
        File::create(&long).and_then(|file| file.set_len(MAX_BYTES)).expect("a sparse file");
        assert_eq!(read_text(&long).expect("16 MB of NUL are UTF-8").len() as u64, MAX_BYTES);
        fs::write(&long, [0xff]).expect("written");
        assert_eq!(refused(&long), "expected a text, got a file that is not UTF-8");
        let missing = read_text(folder.join("missing")).expect_err("there is none");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
