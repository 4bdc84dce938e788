//! Tunes the kernels to the TCP settings of a scenario, as far as a kernel has settings for them.
//!
//! | scenario | kernel |
//! | --- | --- |
//! | headers of 52 bytes or more | time stamps (RFC 7323), otherwise none |
//! | transport `sack`, `cubic` | selective acknowledgements, otherwise none |
//! | `tcp.ecn`, `tcp.accecn` | ECN or AccECN without its option of every connection, otherwise none |
//! | `tcp.keep_alive_time`, `tcp.keep_alive_interval`, `tcp.keep_alive_probes` | the same of hosts, in whole seconds; sockets ask for them |
//! | `tcp.initial_window` | the route's `initcwnd` |
//! | `tcp.delayed_ack = false`, but with profile `linux` | the route's `quickack` |
//! | `tcp.min_rto` | the route's `rto_min`, which bounds the variance term |
//!
//! The rest keeps the kernel's behaviour: the first timeout, loss detection (RACK, tail loss probes), the delay of
//! acknowledgements, HyStart.

use airwatt_base::Span;
use airwatt_linux::route::{KernelRoute, Metric};
use airwatt_proto::cc::Algorithm;
use airwatt_proto::tcp::TcpProfile;
use airwatt_sim::live::OutsideHost;
use airwatt_sim::net::NetworkPlan;
use airwatt_sim::scenario::{Scenario, TcpControl, Transport};

use crate::error::{EmulateError, failed};
use crate::hosts::{Hosts, NETWORK, address, interface, set};

/// IP and TCP headers with a time stamp option and its padding.
const WITH_TIMESTAMPS: u64 = 52;

/// Tunes every host.
pub(crate) fn apply(scenario: &Scenario, plan: &NetworkPlan, hosts: &Hosts) -> Result<(), EmulateError> {
    let without_sack = |transport| {
        matches!(
            transport,
            Transport::Tcp(TcpControl { congestion: Algorithm::Reno | Algorithm::NewReno, .. })
        )
    };
    let sack = plan.flows.iter().any(|flow| !without_sack(flow.transport));
    let timestamps = scenario.tcp.header.as_bytes() >= WITH_TIMESTAMPS;
    for member in hosts.members() {
        let host = member.host;
        let scenario = scenario.clone();
        member.namespace.run(move || -> Result<(), EmulateError> {
            for (key, on) in [
                ("ipv4/tcp_sack", sack),
                ("ipv4/tcp_timestamps", timestamps),
                ("ipv4/tcp_ecn", scenario.tcp.ecn && !scenario.tcp.accecn),
            ] {
                set(key, if on { "1" } else { "0" }).map_err(failed(format_args!("net.{key}")))?;
            }
            if scenario.tcp.accecn {
                for (key, value) in [("ipv4/tcp_ecn", "3"), ("ipv4/tcp_ecn_option", "0")] {
                    set(key, value)
                        .map_err(failed(format_args!("net.{key} (Linux 6.18 or later has AccECN)")))?;
                }
            }
            let seconds = |span: Span| span.as_nanos().div_ceil(1_000_000_000).to_string();
            for (key, value) in [
                ("ipv4/tcp_keepalive_time", seconds(scenario.tcp.keep_alive_time)),
                ("ipv4/tcp_keepalive_intvl", seconds(scenario.tcp.keep_alive_interval)),
                ("ipv4/tcp_keepalive_probes", scenario.tcp.keep_alive_probes.to_string()),
            ] {
                set(key, &value).map_err(failed(format_args!("net.{key}")))?;
            }
            Ok(route(&scenario, host)?.replace()?)
        })?;
    }
    Ok(())
}

/// A host's route with the scenario's settings.
fn route(scenario: &Scenario, host: OutsideHost) -> Result<KernelRoute, EmulateError> {
    let tcp = &scenario.tcp;
    let interface = airwatt_linux::interface::index(interface(host))
        .ok_or_else(|| EmulateError::Failed(format!("{}: no such interface", interface(host))))?;
    let milliseconds = tcp.min_rto.as_nanos().div_ceil(1_000_000);
    let mut metrics = vec![Metric::MinRtoMs(u32::try_from(milliseconds).unwrap_or(u32::MAX))];
    metrics.extend(tcp.initial_window.map(Metric::InitialWindow));
    // The profile of Linux delays as the kernel does.
    if !tcp.delayed_ack && tcp.profile != Some(TcpProfile::Linux) {
        metrics.push(Metric::QuickAck(true));
    }
    Ok(KernelRoute::over(interface, NETWORK)
        .of_kernel()
        .from_source(address(host).into())
        .with_metrics(&metrics))
}
