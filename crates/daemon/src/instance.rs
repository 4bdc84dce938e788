//! One daemon of a kind on one interface: its control socket, the log of what it has changed on the host, and its guardian.
//!
//! A daemon holds its control socket before it changes anything, so that a second one of the same name is refused. It
//! starts a guardian next, then undoes what an earlier one left that was killed together with its guardian, and writes
//! each of its own changes to the log before it makes it. All of that, and what a guardian restores, happens under a lock:
//! a late guardian finds the next daemon running and leaves its changes alone.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airwatt_base::{Instant, Span};
use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::{Changes, Undone};
use airwatt_linux::clock::Clock;
use airwatt_linux::control::{self, ControlSocket};
use airwatt_linux::folder::{self, Folder};
use airwatt_linux::guardian::{self, Guardian};
use airwatt_linux::lock::{Lock, LockError};
use airwatt_linux::{interface, namespace, seccomp};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::warn;

use crate::common::Shown;
use crate::failure::Failure;
use crate::output;

/// The folder of control sockets and undo logs. It is gone after a restart, as the changes are.
const RUN_FOLDER: &str = "/run/airwatt";
/// Time for which a program waits for its turn.
const LOCK_PATIENCE: Span = Span::from_secs(10);
/// Time in which a daemon that ends, or its guardian, undoes its changes: ten times what was measured.
const UNDO_PATIENCE: Duration = Duration::from_millis(300);
/// The ending of the file in which a daemon keeps where its peers are.
const PEERS: &str = ".peers";

/// Waits until no other program of airwatt starts, ends or restores the host.
///
/// # Errors
/// If another one holds the lock all the time, or the folder of the lock cannot be used.
pub(crate) fn lock() -> Result<Lock, Failure> {
    Lock::acquire(Path::new(RUN_FOLDER), LOCK_PATIENCE).map_err(|error| match error {
        LockError::Held(holder) => {
            Failure::Failed(format!("{RUN_FOLDER} is locked by {holder}; waited {LOCK_PATIENCE}"))
        }
        LockError::Folder(error) if error.io().kind() == ErrorKind::PermissionDenied => unseen(),
        LockError::Folder(error) => error.into(),
    })
}

/// The name of a daemon that may run: its files under [`RUN_FOLDER`] follow from it.
#[derive(Clone, Copy)]
pub(crate) struct Instance<'a> {
    /// The command, such as `tunnel`.
    pub(crate) kind: &'static str,
    /// The name of the program in its undo log.
    pub(crate) program: &'static str,
    /// The interface.
    pub(crate) name: &'a str,
}

/// The names of the daemons of a kind that run in this network namespace, sorted, by their control sockets.
///
/// # Errors
/// If this user may not see them.
pub(crate) fn running(kind: &str) -> Result<Vec<String>, Failure> {
    Ok(of_this_namespace(with_file(kind, ".sock")?))
}

/// The names of the daemons of a kind that have changed the host, sorted, by their logs: those that run or were killed.
///
/// # Errors
/// As [`running`].
pub(crate) fn with_log(kind: &str) -> Result<Vec<String>, Failure> {
    Ok(of_this_namespace(with_file(kind, ".jsonl")?))
}

/// A line for a `restore` of all daemons of a kind when there is nothing to restore.
pub(crate) fn nothing_here(kind: &str) -> String {
    format!("{kind} in this network namespace (net:[{}]): nothing to restore", own_namespace())
}

fn of_this_namespace(found: Vec<(String, u64)>) -> Vec<String> {
    let here = own_namespace();
    found.into_iter().filter(|(_, namespace)| *namespace == here).map(|(name, _)| name).collect()
}

/// The network namespace of this process: interfaces of two namespaces may have one name, and their daemons have files of their own.
fn own_namespace() -> u64 {
    // `/proc` always has it; without `/proc` there is one namespace.
    namespace::current().unwrap_or_default()
}

/// The interface that an argument of `down` names, which is that of a daemon with something on this host, or a configuration.
///
/// # Errors
/// If it is neither.
pub(crate) fn named<'a>(kind: &'static str, argument: &'a Path) -> Result<Option<&'a str>, Failure> {
    let is_name = |name: &&str| !name.contains('/') && !argument.exists();
    let Some(name) = argument.to_str().filter(is_name) else { return Ok(None) };
    if (Instance { kind, program: "", name }).has_files()? {
        return Ok(Some(name));
    }
    Err(Failure::Input(format!(
        "{name}: expected a configuration, or the interface of a {kind} that runs or was killed"
    )))
}

/// The interface that an argument of `restore` names, which is one, or a configuration from which `read` takes it. A name comes first whose
/// daemon has something on this host.
///
/// # Errors
/// If the configuration cannot be read.
pub(crate) fn to_restore(
    kind: &'static str,
    argument: &Path,
    read: impl FnOnce(&Path) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let Some(name) = argument.to_str().filter(|name| !name.contains('/')) else { return read(argument) };
    let is_file = (argument.is_file() || name.ends_with(".toml"))
        && !(Instance { kind, program: "", name }).has_files()?;
    if is_file { read(argument) } else { Ok(name.to_owned()) }
}

/// This user may not see what daemons have left.
fn unseen() -> Failure {
    Failure::Missing(format!("{RUN_FOLDER}: permission denied: run this as root"))
}

/// Says how a daemon is ended whose configuration has become wrong since it started.
pub(crate) fn by_name(kind: &str) -> impl FnOnce(Failure) -> Failure {
    let hint = format!("hint: airwattd {kind} down NAME, without the file");
    move |failure| match failure {
        Failure::Input(line) => Failure::Input(format!("{line}; {hint}")),
        other => other,
    }
}

/// The names of the files of all daemons.
///
/// # Errors
/// If this user may not see them.
fn files() -> Result<Vec<String>, Failure> {
    match std::fs::read_dir(RUN_FOLDER) {
        Ok(entries) => {
            Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(unseen()),
        Err(error) => Err(Failure::of_io(RUN_FOLDER, &error)),
    }
}

/// The daemons of a kind with a file of this ending: their names and network namespaces, sorted.
fn with_file(kind: &str, ending: &str) -> Result<Vec<(String, u64)>, Failure> {
    let parts = |file: String| {
        let (name, namespace) =
            file.strip_prefix(kind)?.strip_prefix('-')?.strip_suffix(ending)?.rsplit_once('.')?;
        Some((name.to_owned(), namespace.parse().ok()?))
    };
    let mut found: Vec<(String, u64)> = files()?.into_iter().filter_map(parts).collect();
    found.sort();
    Ok(found)
}

/// A daemon that has started, and has not changed the host yet.
pub(crate) struct Started {
    pub(crate) control: ControlSocket,
    pub(crate) guardian: Guardian,
    pub(crate) changes: Changes,
}

/// What was found where a killed daemon may have left something.
pub(crate) enum Found {
    /// A daemon runs there, and nothing was undone.
    Running,
    /// No daemon runs.
    Left(Left),
}

/// What a killed daemon has left.
#[derive(Default)]
pub(crate) struct Left {
    /// The changes that were undone, as the commands that had made them.
    pub(crate) undone: Vec<String>,
    /// A line about each part of the log that could not be read.
    damage: Vec<String>,
    /// Why the log is still there.
    kept: Option<String>,
}

impl Instance<'_> {
    /// Its control socket.
    pub(crate) fn control_socket(&self) -> PathBuf {
        self.file(own_namespace(), "sock")
    }

    /// A file of it.
    fn file(&self, namespace: u64, ending: &str) -> PathBuf {
        Path::new(RUN_FOLDER).join(self.file_name(namespace, ending))
    }

    fn file_name(&self, namespace: u64, ending: &str) -> String {
        format!("{}-{}.{namespace}.{ending}", self.kind, self.name)
    }

    fn undo_log(&self) -> PathBuf {
        self.file(own_namespace(), "jsonl")
    }

    /// The network namespace of the daemon: this one, or if there is none here, that of the only one elsewhere.
    fn nearest(&self) -> Result<u64, Failure> {
        let own = own_namespace();
        if self.control_socket().exists() {
            return Ok(own);
        }
        let elsewhere: Vec<u64> = with_file(self.kind, ".sock")?
            .into_iter()
            .filter_map(|(name, namespace)| (name == self.name).then_some(namespace))
            .filter(|namespace| self.runs_in(*namespace))
            .collect();
        match elsewhere[..] {
            [] => Ok(own),
            [namespace] => Ok(namespace),
            _ => Err(Failure::Failed(format!(
                "{}: expected one {} of this name, got {} in other network namespaces; hint: ip netns exec",
                self.name,
                self.kind,
                elsewhere.len()
            ))),
        }
    }

    /// The command that does this in another network namespace, which may have no name of ip-netns(8).
    fn command_in(&self, namespace: &str, does: &str) -> String {
        let enter = if namespace.starts_with("net:[") {
            "nsenter --net=/proc/PROCESS/ns/net".to_owned()
        } else {
            format!("ip netns exec {namespace}")
        };
        format!("{enter} airwattd {} {does} {}", self.kind, self.name)
    }

    /// Whether it runs in this namespace. One that was killed may have left its socket.
    fn runs_in(&self, namespace: u64) -> bool {
        UnixStream::connect(self.file(namespace, "sock")).is_ok()
    }

    /// The file in which it keeps where its peers are, and its folder, which is there as long as the daemon runs.
    pub(crate) fn peers_file(&self) -> Result<(Option<Folder>, String), airwatt_linux::Error> {
        let Self { kind, name, .. } = self;
        Ok((Folder::open(Path::new(RUN_FOLDER))?, format!("{kind}-{name}.{}{PEERS}", own_namespace())))
    }

    /// Starts the daemon's guardian (this program with the arguments `guard`), and restores what a killed daemon left.
    ///
    /// # Errors
    /// If a daemon of this name runs, or the guardian or the restoration fails.
    pub(crate) fn start(&self, guard: &[&str]) -> Result<Started, Failure> {
        let _lock = lock()?;
        self.remove_leftovers()?;
        let control = self.bind()?;
        let guardian = Guardian::start(guard)?;
        let Left { damage, kept, .. } = self.undo_left()?;
        for line in damage {
            warn!("{line}");
        }
        // Without a log nothing must be changed.
        kept.map_or(Ok(()), |line| Err(Failure::Failed(line)))?;
        let (changes, _) = Changes::open(&self.undo_log(), self.program)?;
        Ok(Started { control, guardian, changes })
    }

    /// Listens at its control socket, and changes nothing else.
    ///
    /// # Errors
    /// If another one listens there.
    pub(crate) fn listen(&self) -> Result<ControlSocket, Failure> {
        let _lock = lock()?;
        self.bind()
    }

    fn bind(&self) -> Result<ControlSocket, Failure> {
        ControlSocket::bind(&self.control_socket()).map_err(|error| match error.io().kind() {
            ErrorKind::AddrInUse => Failure::Taken(error.to_string()),
            _ => error.into(),
        })
    }

    /// Removes the control sockets of daemons of this kind that were killed together with their guardians, in any network namespace, and
    /// where the peers were of those whose namespace is gone: it can no longer be entered to clean up in it. Needs the lock, under which
    /// all of them are bound.
    fn remove_leftovers(&self) -> Result<(), Failure> {
        for (name, namespace) in with_file(self.kind, ".sock")? {
            control::remove_dead(&Instance { name: &name, ..*self }.file(namespace, "sock"));
        }
        let Some(folder) = Folder::open(Path::new(RUN_FOLDER))? else { return Ok(()) };
        let reachable = namespace::reachable();
        for ending in [PEERS.to_owned(), folder::draft_of(PEERS), folder::draft_of(".jsonl")] {
            for (name, namespace) in with_file(self.kind, &ending)? {
                if !reachable.contains_key(&namespace) {
                    folder.remove(&format!("{}-{name}.{namespace}{ending}", self.kind))?;
                }
            }
        }
        Ok(())
    }

    /// Whether something of a daemon of this name is there, in any network namespace.
    fn has_files(&self) -> Result<bool, Failure> {
        let own = format!("{}-{}.", self.kind, self.name);
        Ok(files()?.iter().any(|file| file.starts_with(&own)))
    }

    /// What a killed daemon has left to undo; `None` while one runs.
    pub(crate) fn left(&self) -> Result<Option<Changes>, Failure> {
        if self.runs_in(own_namespace()) {
            return Ok(None);
        }
        Ok(Some(Changes::open(&self.undo_log(), self.program)?.0))
    }

    /// Undoes what the log lists.
    fn undo_left(&self) -> Result<Left, Failure> {
        let (mut changes, damage) = Changes::open(&self.undo_log(), self.program)?;
        let (undone, kept) = undo_all(&mut changes)?;
        // A daemon that was killed while it wrote its first change down had not made it.
        if let Some(folder) = Folder::open(Path::new(RUN_FOLDER))?
            && kept.is_none()
        {
            folder.remove(&folder::draft_of(&self.file_name(own_namespace(), "jsonl")))?;
        }
        Ok(Left { undone, damage, kept })
    }

    /// Removes what a killed daemon has left: its control socket, and what its log lists. Does nothing while one runs.
    pub(crate) fn clean_up(&self) -> Result<Found, Failure> {
        if !Path::new(RUN_FOLDER).exists() {
            return Ok(Found::Left(Left::default()));
        }
        let _lock = lock()?;
        if control::remove_dead(&self.control_socket()) {
            return Ok(Found::Running);
        }
        self.undo_left().map(Found::Left)
    }

    /// `restore`: undoes what a killed daemon has left in this network namespace, and says what that was.
    ///
    /// # Errors
    /// If that fails, or if a part of the log cannot be read, so that something may be left.
    pub(crate) fn restore(&self) -> Result<(), Failure> {
        let Self { kind, name, .. } = self;
        let here = own_namespace();
        let (mut unread, mut log_kept) = (0, None);
        let found = match self.clean_up()? {
            Found::Running => "is running; nothing was undone".to_owned(),
            Found::Left(Left { undone, damage, kept }) => {
                unread = damage.len();
                log_kept = kept;
                damage.iter().for_each(|line| output::error(&format!("{line}: left out")));
                if undone.is_empty() {
                    "nothing to restore".to_owned()
                } else {
                    format!("undone: {}", undone.join("; "))
                }
            }
        };
        output::progress(&format!("{kind} {name} in this network namespace (net:[{here}]): {found}"));
        for (_, namespace) in with_file(kind, ".jsonl")?.iter().filter(|(other, _)| other == name) {
            if *namespace != here && !self.runs_in(*namespace) {
                let place = namespace::name(*namespace);
                output::progress(&format!(
                    "{place} has changes of a {kind} of this name; hint: {}",
                    self.command_in(&place, "restore")
                ));
            }
        }
        if unread > 0 {
            let log = self.undo_log();
            let log = log.display();
            return Err(Failure::Failed(format!(
                "{log}: {unread} of its lines cannot be read, so that changes of the host may be left; hint: look at it and at the \
                 host, then remove it"
            )));
        }
        log_kept.map_or(Ok(()), |line| Err(Failure::Failed(line)))
    }

    /// `restore NAME`: as [`Self::restore`], for a name that is known: something of such a daemon is there, in any network namespace, or its
    /// `configuration`. A service manager restores after each end, whatever is left.
    ///
    /// # Errors
    /// If the name is not known, and as [`Self::restore`].
    pub(crate) fn restore_named(&self, configuration: &Path) -> Result<(), Failure> {
        let Self { kind, name, .. } = self;
        let is_managed = std::env::var_os("SERVICE_RESULT").is_some();
        if is_managed || configuration.exists() || self.has_files()? {
            return self.restore();
        }
        Err(Failure::Failed(format!(
            "{name}: no {kind} of this name has left anything on this host, and there is no {}",
            configuration.display()
        )))
    }

    /// What the daemon in a network namespace answers to a command.
    fn ask(&self, namespace: u64, command: &str) -> Result<Value, Failure> {
        control::ask(&self.file(namespace, "sock"), command).map_err(|error| match error.io().kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                Failure::Failed(format!("no {} runs on {}", self.kind, self.name))
            }
            _ => error.into(),
        })
    }

    /// What the daemon in a network namespace reports of its state, with the namespace's name unless it is this one.
    fn status(&self, namespace: u64) -> Result<Value, Failure> {
        let mut document = self.ask(namespace, "status")?;
        let is_elsewhere = namespace != own_namespace();
        document["namespace"] = is_elsewhere.then(|| namespace::name(namespace)).into();
        Ok(document)
    }

    /// What the daemon in this network namespace reports of its state, if one runs.
    pub(crate) fn own_status(&self) -> Option<Value> {
        self.status(own_namespace()).ok()
    }

    /// Ends the daemon in this network namespace and waits for its end, or cleans up after one that was killed. One in another namespace
    /// is another one, which nobody has asked to end.
    pub(crate) fn stop(&self, patience: Span) -> Result<(), Failure> {
        let (here, nearest) = (own_namespace(), self.nearest()?);
        if nearest != here {
            let place = namespace::name(nearest);
            return Err(Failure::Failed(format!(
                "{}: no {} of this name runs in this network namespace (net:[{here}]); one runs in {place}; hint: {}",
                self.name,
                self.kind,
                self.command_in(&place, "down")
            )));
        }
        let socket = self.control_socket();
        if control::ask(&socket, "stop").is_err() {
            return if self.is_mute(here) { Err(Failure::Failed(self.mute())) } else { self.restore() };
        }
        let began = Clock::start();
        while socket.exists() || interface::index(self.name).is_some() {
            if began.now() > Instant::ZERO + patience {
                let Self { kind, name, .. } = self;
                return Err(Failure::Failed(format!("{name}: the {kind} has not ended within {patience}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Whether it runs and does not answer, as one that is stopped by a debugger or a signal. One that is just ending does not either.
    fn is_mute(&self, namespace: u64) -> bool {
        let runs = || self.runs_in(namespace);
        runs() && {
            std::thread::sleep(UNDO_PATIENCE);
            runs() && self.status(namespace).is_err()
        }
    }

    fn mute(&self) -> String {
        let Self { kind, name, .. } = self;
        format!(
            "{name}: the {kind} runs and does not answer; hint: is it stopped, as by SIGSTOP or a debugger?"
        )
    }

    /// The life of the guardian, which has `keep` and no other privilege. `prepare` is done at once, and `first` with what it gives when
    /// the daemon has ended, before the host is restored.
    pub(crate) fn guard<T>(
        &self,
        keep: &[ProcessCapability],
        prepare: impl FnOnce() -> T,
        first: impl FnOnce(T),
    ) -> Result<(), Failure> {
        // The kernel has named it `exe`, by the link that was executed.
        let _ = rustix::thread::set_name(c"airwattd-guard");
        capability::keep_only(keep, None)?;
        seccomp::keep_only_needed(false)?;
        let prepared = prepare();
        guardian::watch()?;
        first(prepared);
        match self.clean_up()? {
            // After an orderly end the daemon itself has undone everything, and said why its log stays.
            Found::Left(Left { undone, kept: Some(line), .. }) if !undone.is_empty() => {
                Err(Failure::Failed(line))
            }
            _ => Ok(()),
        }
    }
}

/// Prints the metrics of one daemon, which is the only one of its kind here if none is named.
fn print_metrics(kind: &'static str, one: Option<&Instance<'_>>) -> Result<(), Failure> {
    let names = one.map_or_else(|| running(kind), |one| Ok(vec![one.name.to_owned()]))?;
    let [name] = &names[..] else {
        let known = if names.is_empty() {
            "none runs here".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        return Err(Failure::Input(format!("--metrics: expected the interface of one {kind}; {known}")));
    };
    let instance = Instance { kind, program: "", name };
    let document = instance.ask(instance.nearest()?, "metrics")?;
    output::print(document["metrics"].as_str().unwrap_or_default());
    Ok(())
}

/// Prints the state of one daemon, or of all of a kind: as JSON, as metrics, or as `text` makes it of each document. `plural` is the key of
/// their list.
///
/// # Errors
/// If the one does not run.
pub(crate) fn show(
    kind: &'static str,
    one: Option<&Instance<'_>>,
    plural: &str,
    shown: &Shown,
    text: fn(&Value) -> String,
) -> Result<(), Failure> {
    if shown.metrics {
        return print_metrics(kind, one);
    }
    let mut mute = Vec::new();
    let documents: Vec<Value> = match one {
        Some(instance) => {
            let status = instance.status(instance.nearest()?);
            if status.is_err() {
                tell_of_killed(kind, one)?;
            }
            vec![status?]
        }
        None => {
            let status =
                |(name, namespace): &(String, u64)| Instance { kind, program: "", name }.status(*namespace);
            let mut found = with_file(kind, ".sock")?;
            let here = own_namespace();
            found.sort_by_key(|(_, namespace)| *namespace != here);
            let mut documents = Vec::new();
            for one in &found {
                match status(one) {
                    Ok(document) => documents.push(document),
                    // One that ends meanwhile is no error.
                    Err(_) => {
                        let instance = Instance { kind, program: "", name: &one.0 };
                        mute.extend(instance.is_mute(one.1).then(|| instance.mute()));
                    }
                }
            }
            documents
        }
    };
    if shown.json {
        let document = json!({ "schema": 1, "version": env!("CARGO_PKG_VERSION"), plural: documents });
        output::print(&format!("{document:#}\n"));
    } else {
        if documents.is_empty() && mute.is_empty() {
            output::progress(&format!("no {kind} is running here"));
        }
        if one.is_none() {
            tell_of_killed(kind, None)?;
        }
        let texts: Vec<String> = documents.iter().map(text).collect();
        output::print(&output::folded(&texts.join("\n"), 4));
    }
    if mute.is_empty() { Ok(()) } else { Err(Failure::Failed(mute.join("; "))) }
}

/// Says which daemons of a kind, or whether the one, were killed and have left changes of the host.
fn tell_of_killed(kind: &'static str, one: Option<&Instance<'_>>) -> Result<(), Failure> {
    let dead = || -> Result<Vec<(String, u64)>, Failure> {
        let is_dead = |(name, namespace): &(String, u64)| {
            one.is_none_or(|one| one.name == name)
                && !Instance { kind, program: "", name }.runs_in(*namespace)
        };
        Ok(with_file(kind, ".jsonl")?.into_iter().filter(is_dead).collect())
    };
    let mut found = dead()?;
    if !found.is_empty() {
        // One that is ending no longer answers, and has its changes undone in a moment.
        std::thread::sleep(UNDO_PATIENCE);
        let still = dead()?;
        found.retain(|one| still.contains(one));
    }
    for (name, namespace) in found {
        let place = if namespace == own_namespace() {
            String::new()
        } else {
            format!(" in network namespace {}", namespace::name(namespace))
        };
        output::progress(&format!(
            "{kind} {name} was killed{place} and has left changes of the host; hint: airwattd {kind} restore {name}"
        ));
    }
    Ok(())
}

/// Answers what has been asked on a daemon's control socket: `status` is its document, `stop` ends it.
///
/// # Errors
/// As [`ControlSocket::serve`].
pub(crate) fn serve_control(
    control: &mut ControlSocket,
    document: &impl Serialize,
) -> Result<(), airwatt_linux::Error> {
    control.serve(|command| answer(command, || document))
}

/// The answer to one command, for which `document` is made if it is needed.
///
/// # Errors
/// If there is no such command.
pub(crate) fn answer<D: Serialize>(command: &str, document: impl FnOnce() -> D) -> Result<String, String> {
    match command {
        "status" => serde_json::to_string(&document()).map_err(|error| error.to_string()),
        "stop" => {
            // As SIGTERM, so that there is one way to end.
            let own = rustix::process::getpid();
            let ended = rustix::process::kill_process(own, rustix::process::Signal::TERM);
            ended.map(|()| json!({ "stopping": true }).to_string()).map_err(|error| error.to_string())
        }
        other => Err(format!("command: expected status or stop, got {other}")),
    }
}

/// Undoes all changes, and removes the folder of the daemons if nothing is in it any more.
///
/// # Errors
/// If that fails, or if the log stays although nothing is left to undo.
pub(crate) fn undo(changes: &mut Changes) -> Result<(), Failure> {
    match undo_all(changes)?.1 {
        Some(kept) => Err(Failure::Failed(kept)),
        None => Ok(()),
    }
}

/// As [`undo`]. Returns what was undone, and a line if the log stays.
fn undo_all(changes: &mut Changes) -> Result<(Vec<String>, Option<String>), Failure> {
    let Undone { commands, mut failed, log } = changes.undo();
    let _ = std::fs::remove_dir(RUN_FOLDER);
    if failed.is_empty() {
        let kept = log.map(|error| {
            format!(
                "{error}: all that it lists is undone, but it stays; hint: `restore`, once it can be removed"
            )
        });
        return Ok((commands, kept));
    }
    failed.extend(log.map(|error| error.to_string()));
    Err(Failure::Failed(failed.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restore_takes_an_interface_or_a_configuration() {
        let of = |argument: &Path| to_restore("tunnel", argument, |_| Ok("of-file".to_owned())).unwrap();
        assert_eq!(of(Path::new("airwatt-absent")), "airwatt-absent");
        assert_eq!(of(Path::new("src")), "src", "a folder is no configuration");
        assert_eq!(of(Path::new("Cargo.toml")), "of-file", "a file of this folder");
        for absent in ["./absent.toml", "airwatt-absent.toml"] {
            assert_eq!(of(Path::new(absent)), "of-file", "which reading it says");
        }
    }
}
