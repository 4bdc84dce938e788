//! A network namespace that nobody else can name: it lives as long as the thread that holds it, its processes and its
//! sockets.
//!
//! A thread of its own steps into a new network and a new mount namespace and waits for jobs. Sockets that a job opens, devices that it
//! makes and processes that it starts belong there. `/etc/hosts`, `/sys` and the
//! hostname are the namespace's own.

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
    /// A new namespace of this hostname, whose `/etc/hosts` says `names`.
    pub(crate) fn new(called: &str, names: &str) -> Result<Self, EmulateError> {
        let (jobs, taken) = mpsc::channel::<Job>();
        let (entered, outcome) = mpsc::channel();
        let (name, names) = (called.to_owned(), names.to_owned());
        let thread = thread::Builder::new()
            .name(called.to_owned())
            .spawn(move || {
                let done = enter(&name, &names);
                let stop = done.is_err();
                // Whoever made the namespace waits for the outcome; if he is gone there is nobody to tell.
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

    /// Does `job` in the namespace and returns what it returns.
    ///
    /// # Panics
    /// If the job does.
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

/// Takes the calling thread into namespaces of its own.
fn enter(called: &str, names: &str) -> Result<(), EmulateError> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS)
        .map_err(|error| failed("network namespaces")(error.into()))?;
    (|| -> io::Result<()> {
        sethostname(called)?;
        let nothing: Option<&str> = None;
        // What is mounted here must not show elsewhere.
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
        // A directory that every system has holds the file until it lies over the real one.
        mount(Some("tmpfs"), "/sys", Some("tmpfs"), MsFlags::empty(), Some("size=64k"))?;
        std::fs::write("/sys/hosts", names)?;
        mount(Some("/sys/hosts"), "/etc/hosts", nothing, MsFlags::MS_BIND, nothing)?;
        umount2("/sys", MntFlags::MNT_DETACH)?;
        // Devices of this network namespace and no others.
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nothing)?;
        Ok(())
    })()
    .map_err(failed("name and mounts of a host"))
}
