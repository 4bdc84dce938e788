//! The commands and flows that run in the hosts, and the detection of their end.

use std::io;
use std::process::{self, Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use airwatt_base::reason_of;
use airwatt_linux::event_loop::Waker;
use airwatt_linux::user::User;
use airwatt_sim::live::OutsideHost;
use airwatt_sim::scenario::Ready;
use tracing::debug;

use crate::EmulationOptions;
use crate::error::{EmulateError, failed};
use crate::hosts::process::start;
use crate::hosts::{Hosts, name};
use crate::report::{Report, Reports};
use crate::traffic::{self, KnownFlow, Traffic};

/// The work of the hosts in an emulation. Commands under `serve` in the scenario run in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One command, with whose end the emulation ends.
    Command(Command),
    /// The commands that the scenario lists for its hosts or, if it lists none, its flows over kernel sockets.
    Scenario,
}

/// A command in a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Name of the host; `None` for the first station.
    pub host: Option<String>,
    /// Program and arguments.
    pub words: Vec<String>,
}

/// Destination of the standard output of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Standard,
    /// Standard error, because standard output is reserved for a document.
    Error,
}

/// The running commands and flows.
#[derive(Debug)]
pub(crate) struct Running {
    /// Processes, and whether the emulation waits for their end.
    children: Vec<(Child, bool)>,
    traffic: Option<Traffic>,
    /// Number of awaited commands and finite flows that have not ended.
    awaited: usize,
    endless: bool,
    output: Output,
    /// The user as whom the commands of the scenario run; `None` for that of this process.
    user: Option<User>,
    reports: Reports,
    inbox: Receiver<Report>,
    /// The exit status of the commands.
    pub(crate) status: Option<i32>,
    failure: Option<String>,
}

impl Running {
    /// Starts everything that waits for requests, so that it is ready when the clock starts.
    pub(crate) fn prepare(
        scenario: &Ready<'_>,
        seed: u64,
        hosts: &Hosts,
        options: &EmulationOptions,
    ) -> Result<Self, EmulateError> {
        let (queue, inbox) = mpsc::channel();
        let waker = Waker::new()?;
        let mut running = Self {
            children: Vec::new(),
            traffic: None,
            awaited: 0,
            endless: false,
            output: options.output,
            user: options.user.as_deref().map(user_named).transpose()?,
            reports: Reports { queue, waker },
            inbox,
            status: None,
            failure: None,
        };
        for table in &scenario.host {
            let host = hosts.named(&table.name)?;
            for line in &table.serve {
                running.spawn_line(hosts, host, line, false)?;
            }
            if !table.serve.is_empty() {
                await_listeners(hosts, host, table.serve.len());
            }
        }
        let lists = scenario.host.iter().any(|table| !table.run.is_empty());
        if options.work == Work::Scenario && !lists {
            running.traffic = Some(Traffic::prepare(scenario, seed, hosts)?);
        }
        Ok(running)
    }

    /// Starts everything that sends requests.
    pub(crate) fn start(
        &mut self,
        scenario: &Ready<'_>,
        hosts: &Hosts,
        work: &Work,
    ) -> Result<(), EmulateError> {
        if let Work::Command(Command { host, words }) = work {
            let host = host.as_deref().map_or(Ok(OutsideHost::Station(0)), |name| hosts.named(name))?;
            return self.spawn(hosts, host, words, Stdio::inherit(), None, true);
        }
        for table in &scenario.host {
            let host = hosts.named(&table.name)?;
            for line in &table.run {
                self.spawn_line(hosts, host, line, true)?;
            }
        }
        if let Some(traffic) = &mut self.traffic {
            self.awaited += traffic.finite();
            self.endless = traffic.finite() < traffic.flows();
            traffic.start(&self.reports);
        }
        Ok(())
    }

    /// Starts a command of the scenario.
    fn spawn_line(
        &mut self,
        hosts: &Hosts,
        host: OutsideHost,
        line: &str,
        awaited: bool,
    ) -> Result<(), EmulateError> {
        self.spawn(hosts, host, &shell(line), Stdio::null(), self.user.clone(), awaited)
    }

    fn spawn(
        &mut self,
        hosts: &Hosts,
        host: OutsideHost,
        words: &[String],
        input: Stdio,
        user: Option<User>,
        awaited: bool,
    ) -> Result<(), EmulateError> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(EmulateError::Input(
                "command: expected a program with its arguments, got nothing".to_owned(),
            ));
        };
        let mut command = process::Command::new(program);
        command.args(arguments).stdin(input);
        if self.output == Output::Error {
            command.stdout(io::stderr());
        }
        let started = hosts.get(host).namespace.run(move || start(&mut command, user));
        let child = started.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => EmulateError::Missing(format!("{program}: no such program")),
            io::ErrorKind::PermissionDenied => {
                EmulateError::Input(format!("{program}: {}", reason_of(&error)))
            }
            _ => failed(program)(error),
        })?;
        debug!(host = name(host), program, pid = child.id(), "command started");
        self.awaited += usize::from(awaited);
        self.watch(child, awaited)
    }

    /// Reports the end of a process. Its process ID stays reserved, so that it can be killed.
    fn watch(&mut self, child: Child, awaited: bool) -> Result<(), EmulateError> {
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        self.children.push((child, awaited));
        let reports = self.reports.clone();
        let wait = move || {
            use nix::sys::wait::{Id, WaitPidFlag, waitid};
            // The process is not reaped here, so that its ID is not reused while it may still be killed.
            while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
                == Err(nix::errno::Errno::EINTR)
            {}
            reports.send(Report::Exited { awaited });
        };
        thread::Builder::new().name("wait".to_owned()).spawn(wait).map_err(failed("a thread"))?;
        Ok(())
    }

    /// Wakes the bridge when a command or flow has ended.
    pub(crate) const fn waker(&self) -> &Waker {
        &self.reports.waker
    }

    /// Processes the reports of ended commands and flows.
    pub(crate) fn take_reports(&mut self) {
        while let Ok(report) = self.inbox.try_recv() {
            match report {
                Report::Exited { awaited } => {
                    self.awaited -= usize::from(awaited);
                    self.collect_exited();
                }
                Report::FlowDone => self.awaited -= 1,
                Report::FlowFailed(line) => {
                    self.failure.get_or_insert(line);
                }
            }
        }
    }

    /// Collects the exit statuses of processes that have ended.
    fn collect_exited(&mut self) {
        use std::os::unix::process::ExitStatusExt;

        self.children.retain_mut(|(child, awaited)| match child.try_wait() {
            Ok(Some(status)) => {
                let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
                if *awaited && (self.status.is_none() || self.status == Some(0)) {
                    self.status = Some(code);
                }
                false
            }
            _ => true,
        });
    }

    /// Whether all commands and flows that end by themselves have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.failure.is_some() || self.awaited == 0 && !self.endless
    }

    /// The error of a failed flow.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// A flow over kernel sockets, by the server's port.
    pub(crate) fn flow_on_port(&self, port: u16) -> Option<KnownFlow> {
        self.traffic.as_ref()?.flow_on_port(port)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.traffic = None;
        for (child, _) in &mut self.children {
            // A command dies with its keeper at once, and so do all its descendants.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The user of this name.
fn user_named(name: &str) -> Result<User, EmulateError> {
    let found = User::named(name).map_err(|error| EmulateError::Failed(error.to_string()))?;
    found.ok_or_else(|| {
        EmulateError::Input(format!("--user: expected the name of a user of this machine, got {name:?}"))
    })
}

/// The arguments that run a line in the shell. The shell executes the command without another process in between.
fn shell(line: &str) -> Vec<String> {
    ["sh", "-c", line].map(str::to_owned).to_vec()
}

/// Waits until this many sockets of the host listen, but at most [`PATIENCE`]: a server may listen on none.
fn await_listeners(hosts: &Hosts, host: OutsideHost, servers: usize) {
    const PATIENCE: Duration = Duration::from_secs(2);
    const STEP: Duration = Duration::from_millis(10);
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        if hosts.get(host).namespace.run(traffic::listening) >= servers {
            return;
        }
        thread::sleep(STEP);
    }
}
