//! Tunes the kernels to the TCP settings of a scenario, as far as a kernel has settings for them.
//!
//! | scenario | kernel |
//! | --- | --- |
//! | headers of 52 bytes or more | time stamps (RFC 7323), otherwise none |
//! | transport `sack`, `cubic` | selective acknowledgements, otherwise none |
//! | `tcp.initial_window` | the route's `initcwnd` |
//! | `tcp.delayed_ack = false` | the route's `quickack` |
//! | `tcp.min_rto` | the route's `rto_min`, which bounds the variance term |
//!
//! The rest keeps the kernel's behaviour: the first timeout, loss detection (RACK, tail loss probes), the delay of
//! acknowledgements, HyStart.

use std::io;
use std::process::Command;

use airwatt_proto::cc::Algorithm;
use airwatt_sim::live::Host;
use airwatt_sim::net::Plan;
use airwatt_sim::scenario::{Scenario, Transport};

use crate::error::{EmulateError, failed};
use crate::hosts::{Hosts, NETWORK, address, interface, set};

/// IP and TCP headers with a time stamp option and its padding.
const WITH_TIMESTAMPS: u64 = 52;

/// Tunes every host.
pub(crate) fn apply(scenario: &Scenario, plan: &Plan, hosts: &Hosts) -> Result<(), EmulateError> {
    let without_sack = |transport| {
        matches!(transport, Transport::Tcp { congestion: Algorithm::Reno | Algorithm::NewReno, .. })
    };
    let sack = plan.flows.iter().any(|flow| !without_sack(flow.transport));
    let timestamps = scenario.tcp.header.as_bytes() >= WITH_TIMESTAMPS;
    for member in hosts.members() {
        let host = member.host;
        let route = route(scenario, host);
        member.namespace.run(move || {
            for (key, on) in [("ipv4/tcp_sack", sack), ("ipv4/tcp_timestamps", timestamps)] {
                set(key, if on { "1" } else { "0" }).map_err(failed(format_args!("net.{key}")))?;
            }
            change_route(&route)
        })?;
    }
    Ok(())
}

/// The arguments of `ip` that set the attributes of a host's route.
fn route(scenario: &Scenario, host: Host) -> Vec<String> {
    let tcp = &scenario.tcp;
    let source = address(host).to_string();
    let mut words: Vec<String> = ["route", "change", NETWORK, "dev", interface(host)]
        .into_iter()
        .chain(["proto", "kernel", "scope", "link", "src", &source])
        .map(str::to_owned)
        .collect();
    let mut attribute = |name: &str, value: String| words.extend([name.to_owned(), value]);
    attribute("rto_min", format!("{}ms", tcp.min_rto.as_nanos().div_ceil(1_000_000)));
    if let Some(segments) = tcp.initial_window {
        attribute("initcwnd", segments.to_string());
    }
    if !tcp.delayed_ack {
        attribute("quickack", "1".to_owned());
    }
    words
}

/// Runs `ip` in the calling thread's network namespace.
fn change_route(words: &[String]) -> Result<(), EmulateError> {
    let answer = Command::new("ip").args(words).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => EmulateError::Missing(
            "ip: no such program; flows over kernel sockets need it to tune routes (Debian: iproute2)"
                .to_owned(),
        ),
        _ => failed("ip")(error),
    })?;
    if answer.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&answer.stderr);
    let line = said.lines().next().unwrap_or_default();
    Err(EmulateError::Failed(format!("ip {}: {line}", words.join(" "))))
}
