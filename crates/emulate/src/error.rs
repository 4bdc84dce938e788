//! Errors of emulations.

use std::fmt;
use std::io;

use airwatt_base::reason_of;

/// The reason why an emulation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulateError {
    /// The input is wrong: one line with the key or argument.
    Input(String),
    /// A privilege or a kernel feature is missing: one line that names it.
    Missing(String),
    /// The input was correct, but the emulation failed.
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

impl From<airwatt_linux::Error> for EmulateError {
    fn from(error: airwatt_linux::Error) -> Self {
        if error.io().kind() == io::ErrorKind::PermissionDenied {
            return Self::Missing(format!("{error}; emulation needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN)"));
        }
        Self::Failed(error.to_string())
    }
}

/// The error for a system call that failed during `what`, with the kernel's reason.
pub(crate) fn failed(what: impl fmt::Display) -> impl FnOnce(io::Error) -> EmulateError {
    move |error| {
        let reason = reason_of(&error);
        if error.kind() == io::ErrorKind::PermissionDenied {
            return EmulateError::Missing(format!(
                "{what}: {reason}; emulation needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN)"
            ));
        }
        EmulateError::Failed(format!("{what}: {reason}"))
    }
}
