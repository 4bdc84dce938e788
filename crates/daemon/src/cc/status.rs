//! `status`: what is loaded, which new connections get it, and the connections that have it.

use std::fmt::Write;

use serde::Serialize;

use airwatt_linux::undo::UndoEntry;
use airwatt_linux::{interface, route};

use super::changes::{self, Change};
use super::kernel::{self, Attachment};
use super::settings::{self, ActiveSettings};
use super::sockets::{self, Connection, Counters};
use super::{Status, is_ours};
use crate::failure::Failure;
use crate::{host, output};

#[derive(Serialize)]
struct Document {
    schema: u32,
    version: &'static str,
    loaded: Vec<Algorithm>,
    /// Routes of this network namespace that ask for one of ours.
    routes: Vec<DirectedRoute>,
    /// The congestion control of sockets for which nothing else is chosen.
    default: String,
    /// The changes that `unload` will undo.
    changes: Vec<UndoEntry<Change>>,
    connections: Vec<ConnectionRow>,
}

#[derive(Serialize)]
struct Algorithm {
    name: &'static str,
    attachment: Attachment,
    map_id: u32,
    settings: Option<ActiveSettings>,
}

/// A connection, with b as `ackloss_b` computes it.
#[derive(Serialize)]
struct ConnectionRow {
    #[serde(flatten)]
    connection: Connection,
    /// b.
    segments_per_ack: Option<u32>,
}

#[derive(Serialize)]
struct DirectedRoute {
    destination: String,
    interface: String,
    algorithm: String,
}

pub(super) fn run(options: &Status) -> Result<(), Failure> {
    kernel::check()?;
    let loaded: Vec<_> = kernel::loaded()?
        .into_iter()
        .map(|found| Algorithm {
            name: found.name,
            attachment: found.attachment,
            map_id: found.map,
            settings: found.settings.as_deref().and_then(settings::from_bytes),
        })
        .collect();
    let routes = route::list()?
        .iter()
        .filter_map(|route| {
            let algorithm = route.congestion_control().filter(|name| is_ours(name))?;
            let names: Vec<_> = route.interfaces().into_iter().map(interface::name).collect();
            let (address, length) = route.destination();
            Some(DirectedRoute {
                destination: format!("{address}/{length}"),
                interface: names.join(","),
                algorithm,
            })
        })
        .collect();
    let (log, damage) = changes::read(&options.state.file)?;
    damage.iter().for_each(|line| output::error(&format!("{line}: left out")));
    let document = Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        loaded,
        routes,
        default: host::default_control()?,
        changes: log.entries().to_vec(),
        connections: Vec::new(),
    };
    let document = Document { connections: connections(&document.loaded)?, ..document };
    output::print_document(&document, options.json, printed);
    Ok(())
}

/// The table in lines of 80 columns.
fn printed(document: &Document) -> String {
    output::folded(&table(document), 2)
}

/// The connections of this network namespace.
fn connections(loaded: &[Algorithm]) -> Result<Vec<ConnectionRow>, Failure> {
    let row = |connection: Connection| {
        let settings =
            loaded.iter().find(|known| known.name == connection.algorithm).and_then(|known| known.settings);
        let mean = connection.counters.map(|counters| counters.segments_per_ack_mean);
        let segments_per_ack = settings.zip(mean).map(|(settings, mean)| settings.b(mean));
        ConnectionRow { connection, segments_per_ack }
    };
    Ok(sockets::read()?.into_iter().map(row).collect())
}

fn table(document: &Document) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string");
    if document.loaded.is_empty() {
        line("nothing is loaded".to_owned());
    }
    for Algorithm { name, settings, .. } in &document.loaded {
        line(match settings {
            Some(settings) => format!("{name}: {}", describe(settings)),
            None => format!("{name}: loaded by something else"),
        });
    }
    for DirectedRoute { destination, interface, algorithm } in &document.routes {
        line(format!("new connections to {destination} by {interface}: {algorithm}"));
    }
    if is_ours(&document.default) {
        line(format!("other new connections: {}", document.default));
    }
    if !document.connections.is_empty() {
        line(format!(
            "\n{:<22} {:>10} {:>5} {:>11} {:>11} {:>11}",
            "connection", "window", "b", "gaps", "losses", "halvings"
        ));
    }
    for ConnectionRow { connection, segments_per_ack } in &document.connections {
        let Connection { local, remote, algorithm, cwnd_segments, .. } = connection;
        let counters = connection.counters.map_or_else(
            || "  (of an older program)".to_owned(),
            |counters| {
                let b = segments_per_ack.map_or("?".to_owned(), |b| b.to_string());
                let Counters { ack_gaps, ack_losses, ack_loss_halvings, .. } = counters;
                format!("{b:>5} {ack_gaps:>11} {ack_losses:>11} {ack_loss_halvings:>11}")
            },
        );
        line(format!("{local} to {remote}"));
        line(format!("  {algorithm:<20} {cwnd_segments:>10} {counters}"));
    }
    text
}

fn describe(settings: &ActiveSettings) -> String {
    let b = settings.segments_per_ack.map_or("estimated".to_owned(), |b| b.to_string());
    let ActiveSettings { threshold, beta, rule, .. } = settings;
    format!("rule {}, threshold {threshold}, beta {beta}, b {b}", rule.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_80_columns_whatever_the_addresses_and_counters() {
        let end = "[2001:db8:1111:2222:3333:4444:5555:6666]:50000".parse().unwrap();
        let counters = Counters {
            ack_losses: u32::MAX,
            ack_gaps: u32::MAX,
            ack_loss_halvings: u32::MAX,
            segments_per_ack_mean: 2.0,
        };
        let connection = |counters| Connection {
            local: end,
            remote: end,
            algorithm: "ackloss_cubic".to_owned(),
            cwnd_segments: u32::MAX,
            ssthresh_segments: None,
            mss_bytes: 1_448,
            bytes_acknowledged: 0,
            counters,
        };
        let row = |counters| ConnectionRow { connection: connection(counters), segments_per_ack: Some(64) };
        let document = Document {
            schema: 1,
            version: "0",
            loaded: vec![Algorithm {
                name: "ackloss_cubic",
                attachment: Attachment::Link,
                map_id: 1,
                settings: None,
            }],
            routes: vec![DirectedRoute {
                destination: "2001:db8:1111:2222:3333:4444:5555:6666/128".to_owned(),
                interface: "wlp0s20f3,enp0s31f6".to_owned(),
                algorithm: "ackloss_cubic".to_owned(),
            }],
            default: "ackloss_cubic".to_owned(),
            changes: Vec::new(),
            connections: vec![row(Some(counters)), row(None)],
        };
        let text = printed(&document);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let header = text.lines().find(|line| line.starts_with("connection")).unwrap();
        let numbers = text.lines().find(|line| line.starts_with("  ackloss_cubic")).unwrap();
        assert_eq!(header.len(), numbers.len(), "{text}");
    }
}
