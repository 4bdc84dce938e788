//! Why there is no emulation.

use std::fmt;
use std::io;

/// Why an emulation did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulateError {
    /// The input is wrong: one line that names it.
    Input(String),
    /// A privilege or a kernel feature is missing: one line that names it.
    Missing(String),
    /// The input was right, and it failed all the same.
    Failed(String),
}

impl fmt::Display for EmulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(line) | Self::Missing(line) | Self::Failed(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for EmulateError {}

/// What went wrong while doing `what`, as the kernel says it.
pub(crate) fn failed(what: impl fmt::Display) -> impl FnOnce(io::Error) -> EmulateError {
    move |error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            return EmulateError::Missing(format!(
                "{what}: {error}; emulation needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN)"
            ));
        }
        EmulateError::Failed(format!("{what}: {error}"))
    }
}
