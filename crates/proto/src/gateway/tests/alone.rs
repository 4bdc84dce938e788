//! A base station alone, between two sockets.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine as _, Span};

use super::super::note::Why;
use super::super::{
    ConnectFailure, ConnectionEnding, SplitProxy, SplitProxyConfig, SplitProxyInput as In,
    SplitProxyOutput as Out,
};
use super::split_proxy::{opening, pattern};

/// The sockets of the first connection.
const NEAR: u64 = 0;
const FAR: u64 = 1;
const NOW: Instant = Instant::ZERO;

fn outputs(proxy: &mut SplitProxy, input: In) -> Vec<Out> {
    proxy.handle_input(input, NOW);
    std::iter::from_fn(|| proxy.poll_output()).collect()
}

/// A proxy with one connection on both legs.
fn standing() -> SplitProxy {
    let mut proxy = SplitProxy::alone(SplitProxyConfig::default());
    let opening = opening(1);
    assert_eq!(
        outputs(&mut proxy, In::Opening(0, opening.clone())),
        [Out::Connect(FAR, 0, opening.addresses())]
    );
    assert_eq!(outputs(&mut proxy, In::Opening(0, opening.clone())), [], "it is held");
    assert_eq!(outputs(&mut proxy, In::Connected(FAR)), [Out::Admit(NEAR, opening)]);
    assert_eq!(proxy.connections(), (1, 1));
    assert_eq!(outputs(&mut proxy, In::Accepted(NEAR)), []);
    assert_eq!(proxy.connections(), (1, 0));
    proxy
}

/// Writes everything that waits for a socket.
fn drain(proxy: &mut SplitProxy, socket: u64) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let bytes = proxy.outgoing(socket).to_vec();
        if bytes.is_empty() {
            return all;
        }
        proxy.note_written(socket, bytes.len(), NOW);
        all.extend(bytes);
    }
}

#[test]
fn both_directions_and_their_ends_are_carried_on_within_the_buffer() {
    let mut proxy = standing();
    let data = pattern(300_000);
    let mut at = 0;
    // The host beyond takes nothing: what the other one may send is bounded.
    while proxy.room(NEAR) > 0 {
        let end = data.len().min(at + proxy.room(NEAR) as usize);
        assert_eq!(outputs(&mut proxy, In::Received(NEAR, data[at..end].to_vec())), []);
        at = end;
    }
    assert_eq!(at, 131_072);
    assert_eq!(drain(&mut proxy, FAR), data[..at]);
    assert!(proxy.room(NEAR) > 0);
    assert_eq!(outputs(&mut proxy, In::PeerClosed(NEAR)), []);
    assert!(proxy.is_to_shut(FAR) && !proxy.is_to_shut(NEAR));
    proxy.note_shut(FAR, NOW);
    // The other direction goes on.
    assert_eq!(outputs(&mut proxy, In::Received(FAR, data[..9_000].to_vec())), []);
    assert_eq!(outputs(&mut proxy, In::PeerClosed(FAR)), [Out::Close(FAR)]);
    assert!(!proxy.is_to_shut(NEAR), "not before everything is written");
    assert_eq!(drain(&mut proxy, NEAR), data[..9_000]);
    assert!(proxy.is_to_shut(NEAR));
    proxy.note_shut(NEAR, NOW);
    let ended = Out::Ended(0, opening(1).addresses(), ConnectionEnding::Closed);
    assert_eq!(std::iter::from_fn(|| proxy.poll_output()).collect::<Vec<_>>(), [Out::Close(NEAR), ended]);
    assert_eq!((proxy.connections(), proxy.counters().undelivered), ((0, 0), 0));
}

#[test]
fn refusals_come_through_as_what_they_are() {
    let answers: [(_, fn(_) -> _); 3] = [
        (ConnectFailure::Refused, Out::Refuse),
        (ConnectFailure::Unreachable, Out::Unreachable),
        (ConnectFailure::Declined, Out::Pass),
    ];
    for (failure, answer) in answers {
        let mut proxy = SplitProxy::alone(SplitProxyConfig::default());
        outputs(&mut proxy, In::Opening(0, opening(1)));
        let seen = outputs(&mut proxy, In::Failed(FAR, failure));
        assert_eq!(seen[0], answer(opening(1)), "{failure:?}");
        assert_eq!(proxy.connections(), (0, 0));
    }
    let mut proxy = SplitProxy::alone(SplitProxyConfig::default());
    outputs(&mut proxy, In::Opening(0, opening(1)));
    let seen = outputs(&mut proxy, In::Failed(FAR, ConnectFailure::TimedOut));
    assert!(
        matches!(seen[..], [Out::Reset(NEAR), Out::Ended(_, _, ConnectionEnding::Unanswered)]),
        "{seen:?}"
    );
}

#[test]
fn a_reset_of_one_leg_resets_the_other_and_what_is_lost_is_counted() {
    let mut proxy = standing();
    outputs(&mut proxy, In::Received(NEAR, pattern(1_000)));
    let seen = outputs(&mut proxy, In::Failed(FAR, ConnectFailure::Refused));
    assert!(
        matches!(seen[..], [Out::Reset(NEAR), Out::Ended(_, _, ConnectionEnding::Lost(1_000))]),
        "{seen:?}"
    );
    assert_eq!(proxy.counters().undelivered, 1_000);
}

#[test]
fn a_syn_with_the_addresses_of_a_connection_is_for_its_socket() {
    let mut proxy = standing();
    assert_eq!(outputs(&mut proxy, In::Opening(0, opening(1))), [Out::Present(opening(1))]);
    assert_eq!(proxy.connections(), (1, 0));
}

#[test]
fn a_limit_and_draining_pass_connections_on_and_silence_ends_one() {
    let mut proxy = SplitProxy::alone(SplitProxyConfig { half_open: 1, ..SplitProxyConfig::default() });
    outputs(&mut proxy, In::Opening(0, opening(1)));
    assert_eq!(outputs(&mut proxy, In::Opening(0, opening(2))), [Out::Pass(opening(2))]);
    assert_eq!((proxy.counters().over_limit, proxy.counters().passed), (1, 1));
    let few = SplitProxyConfig { connections: 1, ..SplitProxyConfig::default() };
    let mut other = SplitProxy::alone(few);
    outputs(&mut other, In::Opening(0, opening(1)));
    assert_eq!(outputs(&mut other, In::Opening(0, opening(2))), [Out::Pass(opening(2))]);
    let [note] = other.take_notes().try_into().unwrap();
    assert_eq!((note.why, other.counters().over_limit), (Why::NoDescriptor, 1));
    outputs(&mut proxy, In::Drain);
    outputs(&mut proxy, In::Abort);
    assert_eq!(outputs(&mut proxy, In::Opening(0, opening(3))), [Out::Pass(opening(3))]);
    assert_eq!(proxy.connections(), (0, 0));
    let mut proxy = standing();
    let idle = SplitProxyConfig::default().idle;
    proxy.handle_timeout(NOW + idle);
    assert_eq!(proxy.connections(), (0, 0));
}

#[test]
fn a_proxy_keeps_the_contract() {
    let at = Instant::from_millis;
    let inputs = [
        (at(0), In::Opening(0, opening(1))),
        (at(30), In::Connected(FAR)),
        (at(31), In::Accepted(NEAR)),
        (at(40), In::Received(NEAR, pattern(100))),
        (at(50), In::Opening(0, opening(2))),
        (at(60), In::Connected(3)),
    ];
    let config = SplitProxyConfig { idle: Span::from_secs(20), ..SplitProxyConfig::default() };
    let outputs = check_machine(|| SplitProxy::alone(config.clone()), &inputs, at(60_000));
    let ended = outputs.iter().filter(|(_, output)| matches!(output, Out::Ended(..))).count();
    assert_eq!(ended, 2, "one is silent for too long, and one was not accepted: {outputs:?}");
}
