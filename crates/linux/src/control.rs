//! The control socket of a daemon: commands and answers as JSON, one document a line, over a Unix socket that only its
//! owner may use.
//!
//! A request is `{"command": "status"}`; an answer is the command's document, or `{"error": "..."}`.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use airwatt_base::{Instant, Span};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::process::Pid;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::folder::Folder;
use crate::local_server::{Listener, LocalServer, Request};
use crate::{Error, process};

/// Time for which a client waits for an answer.
const PATIENCE: Span = Span::from_secs(5);
/// Longest time for which a process that was killed may still have its socket: the kernel closes files after it has freed memory.
const ENDING_MAX: Span = Span::from_secs(2);
/// Time between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    command: String,
}

/// The daemon's end.
#[derive(Debug)]
pub struct ControlSocket {
    server: LocalServer,
    path: PathBuf,
}

impl ControlSocket {
    /// Listens at `path` for this user alone, in a folder that is created with mode 0700 if there is none. A socket that a killed daemon left
    /// is replaced: whoever may start two daemons at the same time holds a lock meanwhile.
    ///
    /// # Errors
    /// If another daemon listens there, or the folder is not private.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        Folder::create(path.parent().unwrap_or(Path::new(".")))?;
        let listener = listen(path)?;
        // Whatever the caller's umask is: nobody else can enter the folder meanwhile.
        let own = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, own).map_err(Error::of(&path.display().to_string()))?;
        let server = LocalServer::new(Listener::Unix(listener))?;
        Ok(Self { server, path: path.to_owned() })
    }

    /// Answers the commands that have arrived, without waiting. `answer` gets a command and returns its document in JSON, on one line, or
    /// why there is none.
    ///
    /// # Errors
    /// If the kernel refuses, which would be a fault of this program.
    pub fn serve(&mut self, mut answer: impl FnMut(&str) -> Result<String, String>) -> Result<(), Error> {
        self.server.serve(|bytes| {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Request::Partial };
            let document = serde_json::from_slice::<Command>(&bytes[..end])
                .map_err(|error| format!("expected {{\"command\": NAME}}, got: {error}"))
                .and_then(|request| answer(&request.command))
                .unwrap_or_else(|error| json!({ "error": error }).to_string());
            Request::Complete { length: end + 1, answer: format!("{document}\n").into_bytes(), closes: false }
        })
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Listens at `path`, in place of a socket that a killed daemon left there.
///
/// # Errors
/// If another daemon listens there, of the kind `AddrInUse`, or something else than a socket is there.
pub fn listen(path: &Path) -> Result<UnixListener, Error> {
    let what = path.display().to_string();
    if remove_dead(path) {
        let owner = describe_owner(path).map_or_else(String::new, |owner| format!(": {owner}"));
        let error = io::Error::new(ErrorKind::AddrInUse, format!("another daemon listens there{owner}"));
        return Err(Error::new(what, error));
    }
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_socket(path) => {
            // Dead, and still there, where nothing can be removed, or else of a daemon that has just begun.
            let folder = path.parent().unwrap_or(path);
            let writable = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK);
            let reason = writable.map_or_else(io::Error::from, |()| error);
            Err(Error::new(format!("{what}: cannot be removed"), reason))
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Err(Error::other(what, "expected a socket or nothing, got another file, which is left as it is"))
        }
        bound => bound.map_err(Error::of(&what)),
    }
}

/// As [`listen`], with a socket that every user may connect to. Nobody else may write to its folder, since another file could be put in its
/// place before the mode is set.
///
/// # Errors
/// As [`listen`], or if the folder is missing or somebody else may write to it.
pub fn listen_for_all(path: &Path) -> Result<UnixListener, Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    if Folder::open(folder)?.is_none() {
        return Err(Error::new(folder.display().to_string(), io::Error::from(ErrorKind::NotFound)));
    }
    let listener = listen(path)?;
    let all = fs::Permissions::from_mode(0o666);
    fs::set_permissions(path, all).map_err(Error::of(&path.display().to_string()))?;
    Ok(listener)
}

/// The process that listens at `path`, with its command line, if one does and can be seen from here.
pub fn describe_owner(path: &Path) -> Option<String> {
    owner(path).map(process::describe)
}

fn owner(path: &Path) -> Option<Pid> {
    let stream = UnixStream::connect(path).ok()?;
    // One of a namespace of processes that is not seen from here has the number 0.
    Pid::from_raw(getsockopt(&stream, PeerCredentials).ok()?.pid())
}

/// Whether a daemon listens at `path`. One that is being killed has its socket for a moment more, which this waits for.
fn is_alive(path: &Path) -> bool {
    let began = Clock::start();
    while UnixStream::connect(path).is_ok() {
        let is_ending = owner(path).is_some_and(process::is_ending);
        if !is_ending || began.now() > Instant::ZERO + ENDING_MAX {
            return true;
        }
        thread::sleep(PAUSE);
    }
    false
}

/// Whether a path is one of a socket. A symbolic link is none, whatever it leads to.
fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Removes the socket at `path` unless a daemon listens there, and returns whether one does. What is no socket is left alone.
pub fn remove_dead(path: &Path) -> bool {
    let is_alive = is_alive(path);
    if is_socket(path) && !is_alive {
        let _ = std::fs::remove_file(path);
    }
    is_alive
}

/// The client's end: asks the daemon at `path` and returns its document.
///
/// # Errors
/// If no daemon listens there, it does not answer, or it answers with an error.
pub fn ask(path: &Path, command: &str) -> Result<Value, Error> {
    let what = path.display().to_string();
    let mut stream = UnixStream::connect(path).map_err(Error::of(&what))?;
    let patience = Duration::from_nanos(PATIENCE.as_nanos());
    stream.set_read_timeout(Some(patience)).map_err(Error::of(&what))?;
    stream.write_all(format!("{}\n", json!({ "command": command })).as_bytes()).map_err(Error::of(&what))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::other(&what, &format!("no answer within {PATIENCE}")),
        _ => Error::new(&what, error),
    })?;
    let document: Value = serde_json::from_str(&line).map_err(|error| Error::new(&what, error))?;
    match document.get("error").and_then(Value::as_str) {
        Some(error) => Err(Error::other(what, error)),
        None => Ok(document),
    }
}

#[cfg(test)]
mod tests;
