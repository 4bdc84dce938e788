//! What is known of the paths to the peers, so that the tunnel's MTU follows them down and up.
//!
//! The kernel's word is taken for a path that has become narrower, for one to a new address, and for one that carries nothing at
//! present. That a path with traffic has become wider is probed first: the kernel forgets what a router has reported after ten
//! minutes (RFC 1191, section 6.3), and full packets would be lost each time if the router still carries less. The probes are three datagrams
//! of the new size, one a look, since a busy router may not report each. If it reports one, the kernel knows that at the next look;
//! otherwise the path is taken for wide. Left out:
//! an answer of the peer to the probe (RFC 8899), without which a router that reports nothing remains unnoticed, as at the start.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use airwatt_base::{Instant, Span};

use crate::path_watch::Path;

/// Probes that are sent before a path is taken for wide.
const PROBES: u32 = 3;

/// Time within which a look has to follow upon a probe, or the first one is sent again; the kernel remembers a report for longer.
const PROBE_LASTS: Span = Span::from_secs(300);

/// Time without a datagram after which a path carries nothing.
const IDLE_AFTER: Span = Span::from_secs(60);

/// The path to a peer.
#[derive(Clone, Copy, Debug)]
struct KnownPath {
    to: SocketAddr,
    /// Bytes of the largest packet that may be sent.
    mtu: u16,
    /// Datagrams that had been exchanged with the peer at the last look.
    exchanged: u64,
    /// The last look since whose predecessor there were any.
    active: Instant,
    probing: Option<Probing>,
}

/// Probes whose outcome is open.
#[derive(Clone, Copy, Debug)]
struct Probing {
    /// Bytes of each.
    size: u16,
    sent: u32,
    /// When the last one was sent.
    at: Instant,
}

/// The paths by their peers.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownPaths(BTreeMap<usize, KnownPath>);

impl KnownPaths {
    /// Takes what the kernel knows of a path, with whose peer `exchanged` datagrams have been exchanged so far. Returns whether to send a
    /// probe of the size of `path`.
    pub(super) fn take(&mut self, path: Path, exchanged: u64, now: Instant) -> bool {
        let Path { mtu, to, peer } = path;
        let fresh = KnownPath { to, mtu, exchanged, active: now, probing: None };
        let known = self.0.entry(peer).or_insert(fresh);
        let has_traffic = known.exchanged != exchanged;
        if has_traffic {
            (known.exchanged, known.active) = (exchanged, now);
        }
        let is_idle = now.saturating_since(known.active) >= IDLE_AFTER;
        let goes_on =
            |probing: &Probing| probing.size == mtu && now.saturating_since(probing.at) <= PROBE_LASTS;
        let sent = known.probing.filter(goes_on).map_or(0, |probing| probing.sent);
        if mtu <= known.mtu || known.to != to || is_idle || sent == PROBES {
            *known = KnownPath { active: known.active, ..fresh };
            return false;
        }
        if has_traffic {
            known.probing = Some(Probing { size: mtu, sent: sent + 1, at: now });
        }
        has_traffic
    }

    /// The narrowest of the paths.
    pub(super) fn narrowest(&self) -> Option<Path> {
        self.0.iter().map(|(peer, known)| Path { mtu: known.mtu, to: known.to, peer: *peer }).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(mtu: u16) -> Path {
        Path { mtu, to: ([192, 0, 2, 1], 4646).into(), peer: 0 }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_path_becomes_narrower_at_once_and_wider_after_a_probe() {
        let mut paths = KnownPaths::default();
        assert!(!paths.take(path(1_500), 10, at(0)), "as at the start");
        assert!(!paths.take(path(1_300), 20, at(1)));
        assert_eq!(paths.narrowest(), Some(path(1_300)));
        for (look, exchanged) in [(700, 30), (701, 40), (702, 50)] {
            assert!(paths.take(path(1_500), exchanged, at(look)), "{look}");
            assert_eq!(paths.narrowest(), Some(path(1_300)), "while the outcome is open");
        }
        assert!(!paths.take(path(1_500), 60, at(703)));
        assert_eq!(paths.narrowest(), Some(path(1_500)));
    }

    #[test]
    fn a_probe_that_is_reported_or_too_old_confirms_nothing() {
        let mut paths = KnownPaths::default();
        paths.take(path(1_300), 10, at(0));
        assert!(paths.take(path(1_500), 20, at(1)));
        assert!(paths.take(path(1_500), 25, at(2)), "the first one may not have been reported");
        assert!(!paths.take(path(1_300), 30, at(3)), "a router has reported it");
        for (look, exchanged) in [(602, 40), (603, 41), (604, 42)] {
            assert!(paths.take(path(1_500), exchanged, at(look)), "{look}");
        }
        assert!(paths.take(path(1_500), 50, at(2_000)), "the kernel may have forgotten the report");
        assert!(paths.take(path(1_400), 60, at(2_001)), "of another size");
        assert_eq!(paths.narrowest(), Some(path(1_300)));
    }

    #[test]
    fn nothing_is_probed_without_traffic_or_at_a_new_address() {
        let mut paths = KnownPaths::default();
        paths.take(path(1_300), 10, at(0));
        paths.take(Path { peer: 1, ..path(1_400) }, 10, at(0));
        assert!(!paths.take(path(1_500), 10, at(1)), "the radio of an idle peer is not woken up");
        assert_eq!(paths.narrowest(), Some(path(1_300)), "whose packets may follow at once");
        assert!(!paths.take(path(1_500), 10, at(100)));
        assert_eq!(paths.narrowest(), Some(Path { peer: 1, ..path(1_400) }));
        let moved = Path { to: ([198, 51, 100, 1], 4646).into(), peer: 1, mtu: 1_500 };
        assert!(!paths.take(moved, 20, at(1)));
        assert_eq!(paths.narrowest().map(|path| path.mtu), Some(1_500));
    }
}
