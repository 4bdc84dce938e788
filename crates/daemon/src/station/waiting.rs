//! A daemon that waits for its Wi-Fi interface: a host without one is no failure for a service manager, and an adapter may be plugged in.
//!
//! It is known as one that runs is: `status`, `report` and `off` find its control socket, metrics say that it waits, and SIGHUP has it
//! read its configuration again.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

use airwatt_base::Span;
use airwatt_linux::control::{self, ControlSocket};
use airwatt_linux::event_loop::{EventLoop, Interest, Token};
use airwatt_linux::metrics::{Metrics, MetricsAddress, Page};
use airwatt_linux::service;
use airwatt_linux::signals::{Signal, Signals};
use serde::Serialize;
use tracing::{info, warn};

use super::config::Config;
use super::{Interface, Run, state, wifi};
use crate::failure::Failure;
use crate::instance::{self, Instance, serve_control};
use crate::output;

/// The kind of its control socket, which is another one than that of a daemon that runs.
const KIND: &str = "waiting-station";
/// What stands for the first Wi-Fi interface in names of files. No interface has such a name: the kernel permits no colon.
pub(super) const FIRST: &str = ":first";
/// Time between two looks for the interface. Not every kernel without one tells when that changes.
const PATIENCE: Span = Span::from_secs(30);

const SIGNALS: Token = Token(0);
const CONTROL: Token = Token(1);
const METRICS: Token = Token(2);

/// What a daemon that waits reports of itself.
#[derive(Debug, Serialize)]
struct Waiting {
    schema: u32,
    version: &'static str,
    /// `null` for the first one.
    interface: Option<String>,
    /// Always `waits`.
    state: &'static str,
    /// What is missing.
    why: String,
}

/// The interface of a name in files, for people.
pub(super) fn described(name: &str) -> &str {
    if name == FIRST { "the first Wi-Fi interface" } else { name }
}

/// The name under which the daemon that these options would start is switched off, if it is: that of its interface, or [`FIRST`] if they
/// name none.
pub(super) fn switched_off<'a>(options: &'a Interface, found: Option<&'a str>) -> Option<&'a str> {
    let first = options.interface.is_none().then_some(FIRST);
    options.interface.as_deref().or(found).into_iter().chain(first).find(|name| state::is_off(name))
}

/// The gauge that every daemon has, and the only one of a daemon that waits: its name and meaning.
pub(super) const GAUGE: (&str, &str) =
    ("airwatt_station_waiting", "1 if the daemon waits for its Wi-Fi interface, 0 otherwise.");

/// A page for Prometheus with this gauge.
pub(super) fn metrics(interface: Option<&str>, waits: bool) -> Page {
    let mut page = Page::default();
    let labels = [("interface", interface.unwrap_or("-"))];
    page.gauge(GAUGE.0, GAUGE.1, [(&labels[..], f64::from(u8::from(waits)))]);
    page
}

/// The daemon that waits for an interface, or for [`FIRST`].
pub(super) fn instance(name: &str) -> Instance<'_> {
    Instance { kind: KIND, program: "airwattd station", name }
}

/// The names of interfaces for which a daemon waits in this network namespace. One that was killed may have left its socket.
pub(super) fn names() -> Result<Vec<String>, Failure> {
    let mut names = instance::running(KIND)?;
    names.retain(|name| UnixStream::connect(instance(name).control_socket()).is_ok());
    Ok(names)
}

/// Removes the sockets of those that were killed.
pub(super) fn clean_up() -> Result<(), Failure> {
    for name in instance::running(KIND)? {
        let _lock = instance::lock()?;
        control::remove_dead(&instance(&name).control_socket());
    }
    Ok(())
}

/// Waits until the interface of the configuration is there. Returns the configuration, which may have been read again; `None` if the daemon
/// was ended meanwhile.
///
/// # Errors
/// If another daemon waits for the same interface, and whatever has nothing to do with a missing interface.
pub(super) fn wait_for_interface(options: &Run, mut config: Config) -> Result<Option<Config>, Failure> {
    let Some(mut why) = missing(&config)? else { return Ok(Some(config)) };
    let signals = Signals::take()?;
    let mut events = EventLoop::new()?;
    events.add(&signals, SIGNALS, Interest::Read)?;
    let mut ends = Ends::open(&config, &events)?;
    output::progress(&format!("{why}: waits for one, and looks each {PATIENCE}"));
    service::ready("waits for a Wi-Fi interface");
    loop {
        let until = events.now() + PATIENCE;
        // Somebody who asks does not put off the next look.
        while events.now() < until {
            let ready: Vec<Token> = events.wait(Some(until))?.iter().map(|ready| ready.token).collect();
            if ready.contains(&SIGNALS) {
                match signals.read()? {
                    Some(Signal::Terminate) => return Ok(None),
                    Some(Signal::Reload) => {
                        reload(options, &mut config, &mut ends, &events);
                        break;
                    }
                    None => {}
                }
            }
            ends.answer(&ready, &config, &why)?;
        }
        match missing(&config)? {
            Some(reason) => why = reason,
            None => return Ok(Some(config)),
        }
    }
}

/// Why there is nothing to run on yet; `None` if there is.
fn missing(config: &Config) -> Result<Option<String>, Failure> {
    match wifi::find(&Interface { interface: config.interface.clone() }) {
        Ok(_) => Ok(None),
        Err(Failure::Missing(why)) => Ok(Some(why)),
        Err(other) => Err(other),
    }
}

/// Reads the configuration again. What is wrong with it is said, and the old one stays.
fn reload(options: &Run, config: &mut Config, ends: &mut Ends, events: &EventLoop) {
    service::reloading();
    let read = Config::of_command(options.file.as_deref(), &options.interface);
    match read.and_then(|read| ends.follow(&read, events).map(|()| read)) {
        Ok(read) => {
            *config = read;
            info!("configuration read again");
        }
        Err(failure) => warn!(%failure, "configuration not read; nothing has changed"),
    }
    service::ready("waits for a Wi-Fi interface");
}

/// The sockets at which a daemon that waits answers.
struct Ends {
    name: String,
    control: ControlSocket,
    address: Option<MetricsAddress>,
    metrics: Option<Metrics>,
}

/// The name of the configured interface in names of files.
pub(super) fn name_of(config: &Config) -> String {
    config.interface.clone().unwrap_or_else(|| FIRST.to_owned())
}

fn listen(name: &str, events: &EventLoop) -> Result<ControlSocket, Failure> {
    let control = instance(name).listen().map_err(|failure| match failure {
        Failure::Taken(_) => {
            let owner = control::describe_owner(&instance(name).control_socket());
            let owner = owner.map_or_else(String::new, |owner| format!(", {owner}"));
            Failure::Taken(format!("{}: a station daemon waits for it already{owner}", described(name)))
        }
        other => other,
    })?;
    events.add(&control, CONTROL, Interest::Read)?;
    Ok(control)
}

fn serve(address: Option<&MetricsAddress>, events: &EventLoop) -> Result<Option<Metrics>, Failure> {
    let metrics = serve_metrics(address)?;
    if let Some(metrics) = &metrics {
        events.add(metrics, METRICS, Interest::Read)?;
    }
    Ok(metrics)
}

impl Ends {
    fn open(config: &Config, events: &EventLoop) -> Result<Self, Failure> {
        let (name, address) = (name_of(config), config.metrics.clone());
        let control = listen(&name, events)?;
        let metrics = serve(address.as_ref(), events)?;
        Ok(Self { name, control, address, metrics })
    }

    /// Moves to where another configuration has them. If that fails they stay.
    fn follow(&mut self, config: &Config, events: &EventLoop) -> Result<(), Failure> {
        let (name, address) = (name_of(config), config.metrics.clone());
        let control = (name != self.name).then(|| listen(&name, events)).transpose()?;
        // An address that was taken may be free by now.
        if address != self.address || self.metrics.is_none() {
            self.metrics = serve(address.as_ref(), events)?;
            self.address = address;
        }
        if let Some(control) = control {
            (self.name, self.control) = (name, control);
        }
        Ok(())
    }

    fn answer(&mut self, ready: &[Token], config: &Config, why: &str) -> Result<(), Failure> {
        let document = Waiting {
            schema: 1,
            version: env!("CARGO_PKG_VERSION"),
            interface: config.interface.clone(),
            state: "waits",
            why: why.to_owned(),
        };
        if ready.contains(&CONTROL) {
            serve_control(&mut self.control, &document)?;
        }
        if ready.contains(&METRICS)
            && let Some(metrics) = &mut self.metrics
        {
            metrics.serve(|| self::metrics(document.interface.as_deref(), true))?;
        }
        Ok(())
    }
}

/// Serves metrics, if there is an address for them. That something else has the address, as the daemon of another interface with the same
/// configuration, is only worth a warning: this one works without.
pub(super) fn serve_metrics(address: Option<&MetricsAddress>) -> Result<Option<Metrics>, Failure> {
    match address.map(Metrics::bind).transpose() {
        Err(error) if error.io().kind() == ErrorKind::AddrInUse => {
            warn!(%error, "runs without metrics; hint: another address in /etc/airwatt/station-NAME.toml");
            Ok(None)
        }
        bound => Ok(bound?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_another_daemon_has_is_no_failure() {
        let loopback = MetricsAddress::Loopback(([127, 0, 0, 1], 0).into());
        let path = std::env::temp_dir().join(format!("airwatt-station-{}/metrics", std::process::id()));
        for address in [loopback, MetricsAddress::Unix(path.clone())] {
            let first = serve_metrics(Some(&address)).unwrap().unwrap();
            assert!(serve_metrics(Some(first.address())).unwrap().is_none(), "{address:?}");
            let free = first.address().clone();
            drop(first);
            assert!(serve_metrics(Some(&free)).unwrap().is_some(), "{address:?}");
        }
        // The folder went with the socket.
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(serve_metrics(Some(&MetricsAddress::Unix(path.clone()))).is_err(), "not a socket");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert!(serve_metrics(None).unwrap().is_none());
    }
}
