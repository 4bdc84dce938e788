//! What an interface has of target wake time: files of its driver in debugfs. They are found and never written to.
//!
//! nl80211 has no command by which a station asks for an agreement, so that the daemon asks for none. Some drivers take a request in a
//! file, which does not say what the access point answered (docs/twt.md, "What a driver would have to offer").

use std::io::ErrorKind;
use std::path::Path;

/// Below the folder of the interface: of ath11k, and of iwlwifi in two ages of the kernel.
const FILES: [&str; 3] = ["twt/add_dialog", "iwlmld/twt_setup", "iwlmld/twt_operation"];

/// The files that take requests, in the folder of an interface in debugfs ([`super::wifi::debugfs`]). `None` if debugfs is not mounted, not in
/// the kernel, or not for this user to read.
pub(super) fn files(folder: Option<&Path>) -> Option<Vec<&'static str>> {
    let folder = folder.filter(|folder| folder.is_dir())?;
    let mut files = Vec::new();
    for file in FILES {
        match std::fs::metadata(folder.join(file)) {
            Ok(_) => files.push(file),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
            Err(_) => {}
        }
    }
    Some(files)
}

/// What that means, in a sentence.
pub(super) fn text(files: Option<&[&str]>) -> String {
    match files {
        None => "not set: nl80211 has no command for it".to_owned(),
        Some([]) => "not set: nl80211 has no command for it, and the driver no file".to_owned(),
        Some(files) => {
            let files = files.join(", ");
            format!(
                "not set: the driver takes requests in debugfs ({files}), and does not say what is answered"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_may_have_files_that_take_requests() {
        let folder = std::env::temp_dir().join(format!("airwatt-target-wake-{}", std::process::id()));
        assert_eq!(files(Some(&folder)), None);
        assert_eq!(files(None), None);
        std::fs::create_dir_all(folder.join("twt")).unwrap();
        assert_eq!(files(Some(&folder)), Some(Vec::new()));
        std::fs::write(folder.join("twt/add_dialog"), "").unwrap();
        let found = files(Some(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Some(vec!["twt/add_dialog"]));
        assert!(text(found.as_deref()).contains("in debugfs (twt/add_dialog)"));
    }
}
