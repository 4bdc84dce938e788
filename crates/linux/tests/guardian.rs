//! A daemon that changes the host, its guardian, and every way in which either can end.
//!
//! The host's setting is a file. This program is the test, the daemon and the guardian, by its first argument.

#![expect(clippy::print_stdout, reason = "its processes report to each other on standard output")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_linux::event_loop::{EventLoop, Interest, Token};
use airwatt_linux::guardian::{self, Guardian};
use airwatt_linux::signals::Signals;
use airwatt_linux::undo::UndoLog;
use rustix::process::{Pid, Signal, kill_process};

const BEFORE: &str = "as it was";
const CHANGED: &str = "as the daemon wants it";
/// Within this time after a SIGKILL the host is restored.
const BOUND: Span = Span::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("daemon") => daemon(Path::new(&arguments[2])),
        Some("guard") => {
            guardian::watch().unwrap();
            restore(Path::new(&arguments[2]));
        }
        _ => tests(),
    }
}

/// Changes the setting, says so, and restores it at SIGTERM.
fn daemon(folder: &Path) {
    let signals = Signals::take().unwrap();
    let guardian = Guardian::start(&["guard", folder.to_str().unwrap()]).unwrap();
    let (mut log, _) = UndoLog::<String>::read(&folder.join("state/log"), "test").unwrap();
    let entry = log.begin(BEFORE.to_owned(), |_| false).unwrap();
    fs::write(folder.join("setting"), CHANGED).unwrap();
    log.complete(entry).unwrap();
    println!("{}", guardian.process());
    let mut events = EventLoop::new().unwrap();
    events.add(&signals, Token(0), Interest::Read).unwrap();
    events.add(&guardian, Token(1), Interest::Read).unwrap();
    let ready = events.wait(None).unwrap()[0];
    if ready.token == Token(1) {
        println!("the guardian has ended");
        return;
    }
    assert!(signals.read().unwrap().is_some());
    drop(log);
    restore(folder);
}

fn restore(folder: &Path) {
    let (mut log, damage) = UndoLog::<String>::read(&folder.join("state/log"), "test").unwrap();
    assert!(damage.is_empty());
    for entry in log.entries() {
        fs::write(folder.join("setting"), &entry.change).unwrap();
    }
    log.retain(|_| false).unwrap();
}

struct Running {
    folder: PathBuf,
    daemon: Child,
    out: BufReader<ChildStdout>,
    guardian: Pid,
}

impl Running {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("airwatt-guardian-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("setting"), BEFORE).unwrap();
        let program = std::env::current_exe().unwrap();
        let mut daemon =
            Command::new(program).arg("daemon").arg(&folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(daemon.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let guardian = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let running = Self { folder, daemon, out, guardian };
        assert_eq!(running.setting(), CHANGED);
        running
    }

    fn setting(&self) -> String {
        fs::read_to_string(self.folder.join("setting")).unwrap()
    }

    fn kill(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.daemon), signal).unwrap();
    }

    /// Waits until the setting is restored and the guardian has ended.
    fn await_restored(&self) {
        let clock = Clock::start();
        while self.setting() != BEFORE || self.folder.join("state").exists() || is_alive(self.guardian) {
            assert!(clock.now() < Instant::ZERO + BOUND, "{}: {}", self.folder.display(), self.setting());
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether the process exists and is no zombie.
fn is_alive(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

fn tests() {
    killed();
    terminated();
    signals_for_the_whole_service();
    a_guardian_that_ends_is_noticed();
    a_guardian_that_cannot_start_is_an_error();
}

fn killed() {
    for round in 0..5 {
        let mut running = Running::start(&format!("killed-{round}"));
        running.kill(Signal::KILL);
        running.await_restored();
        running.daemon.wait().unwrap();
    }
}

fn terminated() {
    let mut running = Running::start("terminated");
    running.kill(Signal::TERM);
    assert!(running.daemon.wait().unwrap().success());
    assert_eq!(running.setting(), BEFORE);
    running.await_restored();
}

/// A service manager sends SIGTERM to both, and the daemon may hang: the guardian must outlive that.
fn signals_for_the_whole_service() {
    let mut running = Running::start("service");
    running.kill(Signal::STOP);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(running.guardian, signal).unwrap();
    }
    sleep(Duration::from_millis(50));
    assert!(is_alive(running.guardian));
    assert_eq!(running.setting(), CHANGED);
    running.kill(Signal::KILL);
    running.await_restored();
    running.daemon.wait().unwrap();
}

fn a_guardian_that_ends_is_noticed() {
    let mut running = Running::start("noticed");
    kill_process(running.guardian, Signal::KILL).unwrap();
    let mut line = String::new();
    running.out.read_line(&mut line).unwrap();
    assert_eq!(line, "the guardian has ended\n");
}

fn a_guardian_that_cannot_start_is_an_error() {
    let error = Guardian::start_program(&mut Command::new("false")).unwrap_err().to_string();
    assert!(error.starts_with("the guardian: it did not start"), "{error}");
    let error = Guardian::start_program(&mut Command::new("/no/such/program")).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}
