//! Counters for Prometheus: its text format (version 0.0.4) over HTTP, on a Unix socket or a loopback address.
//!
//! The counters are those of the machines, read when somebody asks. Left out: everything of HTTP but GET, and addresses
//! that other hosts reach.

use std::fmt::{self, Write as _};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;
use crate::control;
use crate::folder::Folder;
use crate::local_server::{Listener, LocalServer, Request};

/// Where metrics are served. What is at a path when its text is read is a socket or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAddress {
    /// A Unix socket.
    Unix(PathBuf),
    /// An address of the loopback interface.
    Loopback(SocketAddr),
}

impl MetricsAddress {
    /// The path of a Unix socket.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unix(path) => Some(path),
            Self::Loopback(_) => None,
        }
    }
}

impl FromStr for MetricsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").map(PathBuf::from) {
            // A daemon's current folder is the root, and a folder has no socket's name.
            if !path.is_absolute() || path.file_name().is_none() {
                return Err(format!("expected unix: and an absolute path, got {text}"));
            }
            let is_free = match fs::symlink_metadata(&path) {
                Ok(found) => found.file_type().is_socket(),
                Err(_) => true,
            };
            return match is_free {
                true => Ok(Self::Unix(path)),
                false => Err(format!(
                    "expected the path of a socket or of nothing, got {text}, where another file is"
                )),
            };
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            _ => Err(format!("expected unix:PATH or a loopback address with its port, got {text}")),
        }
    }
}

/// The server of a daemon's metrics.
#[derive(Debug)]
pub struct Metrics {
    server: LocalServer,
    address: MetricsAddress,
    /// The folder of the socket that was not there before.
    made: Option<Folder>,
}

impl Metrics {
    /// Listens at `address`.
    ///
    /// # Errors
    /// If it is taken, or something else than a socket is at a path.
    pub fn bind(address: &MetricsAddress) -> Result<Self, Error> {
        let mut made = None;
        let (listener, address) = match address {
            MetricsAddress::Unix(path) => {
                let at = path.parent().unwrap_or(Path::new("."));
                let was_there = at.exists();
                made = Some(Folder::create(at)?).filter(|_| !was_there);
                // For everybody who may enter the folder.
                (Listener::Unix(control::listen_for_all(path)?), address.clone())
            }
            MetricsAddress::Loopback(at) => {
                let what = format!("metrics at {at}");
                let listener = TcpListener::bind(at).map_err(Error::of(&what))?;
                let at = listener.local_addr().map_err(Error::of(&what))?;
                (Listener::Tcp(listener), MetricsAddress::Loopback(at))
            }
        };
        Ok(Self { server: LocalServer::new(listener)?, address, made })
    }

    /// Where it listens; a port of 0 has become the one that the kernel chose.
    pub const fn address(&self) -> &MetricsAddress {
        &self.address
    }

    /// Answers the requests that have arrived, without waiting.
    ///
    /// # Errors
    /// If the kernel refuses, which would be a fault of this program.
    pub fn serve(&mut self, mut page: impl FnMut() -> Page) -> Result<(), Error> {
        self.server.serve(|bytes| {
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
                return Request::Partial;
            };
            let (status, body) = match bytes.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
                [b"GET", b"/metrics", ..] => ("200 OK", page().0),
                [b"GET", ..] => ("404 Not Found", "expected /metrics\n".to_owned()),
                _ => ("405 Method Not Allowed", "expected GET\n".to_owned()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: \
                 close\r\n\r\n",
                body.len()
            );
            Request::Complete { length: end + 4, answer: (head + &body).into_bytes(), closes: true }
        })
    }
}

impl AsFd for Metrics {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        if let MetricsAddress::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
        if let Some(folder) = &self.made {
            folder.remove_if_empty();
        }
    }
}

/// A page of metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page(String);

impl Page {
    /// Adds a counter, whose name ends with `_total`, with a value for each set of labels.
    pub fn counter<'a>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels<'a>, u64)>,
    ) {
        self.family(name, "counter", help);
        for (labels, value) in values {
            self.line(name, labels, &value);
        }
    }

    /// Adds a value that may also fall.
    pub fn gauge<'a>(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels<'a>, f64)>) {
        self.family(name, "gauge", help);
        for (labels, value) in values {
            self.line(name, labels, &value);
        }
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: Labels<'_>, value: &dyn fmt::Display) {
        self.0 += name;
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

/// Names and texts of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl fmt::Display for Page {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
