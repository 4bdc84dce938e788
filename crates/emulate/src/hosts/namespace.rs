//! An anonymous network namespace, which exists as long as the thread that holds it, its processes and its sockets.
//!
//! A dedicated thread enters a new network and a new mount namespace and waits for jobs. Sockets that a job opens,
//! devices that it creates and processes that it starts belong to these. The namespace has its own `/etc/hosts`, `/sys`
//! and hostname.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::sethostname;

use crate::error::{EmulateError, failed};

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    jobs: Option<Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Namespace {
    /// Creates a namespace with this hostname, and `names` as the content of `/etc/hosts`.
    pub(crate) fn new(called: &str, names: &str) -> Result<Self, EmulateError> {
        let (jobs, taken) = mpsc::channel::<Job>();
        let (entered, outcome) = mpsc::channel();
        let (name, names) = (called.to_owned(), names.to_owned());
        let thread = thread::Builder::new()
            .name(called.to_owned())
            .spawn(move || {
                let done = enter(&name, &names);
                let stop = done.is_err();
                // The creator waits for the outcome; if it no longer exists, nobody needs it.
                let _ = entered.send(done);
                if !stop {
                    taken.into_iter().for_each(|job| job());
                }
            })
            .map_err(failed("a thread"))?;
        let died = || EmulateError::Failed("the thread of a host died".to_owned());
        outcome.recv().map_err(|_| died())??;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `job` in the namespace and returns its result.
    ///
    /// # Panics
    /// Panics if the job panics.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, outcome) = mpsc::channel();
        let job: Job = Box::new(move || {
            let _ = done.send(job());
        });
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
        outcome.recv().expect("a job in a namespace ends")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves the calling thread into new namespaces.
fn enter(called: &str, names: &str) -> Result<(), EmulateError> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS)
        .map_err(|error| failed("network namespaces")(error.into()))?;
    (|| -> io::Result<()> {
        sethostname(called)?;
        let nothing: Option<&str> = None;
        // Mounts made here must not appear elsewhere.
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
        // The file is created in a directory that every system has, until it is mounted over the real one.
        mount(Some("tmpfs"), "/sys", Some("tmpfs"), MsFlags::empty(), Some("size=64k"))?;
        std::fs::write("/sys/hosts", names)?;
        mount(Some("/sys/hosts"), "/etc/hosts", nothing, MsFlags::MS_BIND, nothing)?;
        umount2("/sys", MntFlags::MNT_DETACH)?;
        // This shows the devices of this network namespace and no others.
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nothing)?;
        Ok(())
    })()
    .map_err(failed("name and mounts of a host"))
}
