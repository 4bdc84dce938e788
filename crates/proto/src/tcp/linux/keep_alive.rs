//! Keep-alives (`SO_KEEPALIVE`): when a peer that has been silent is probed, and when it counts as gone.
//!
//! The timer runs for the whole time of silence and then for what is left of it, as the kernel's does: what arrives in the meantime
//! does not touch it.

use airwatt_base::Span;

use super::clock::Clock;
use super::config::KeepAlive;

/// What an expiry of the timer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The peer was heard of in the meantime: so many microseconds are left.
    Heard { left: u64 },
    /// The peer has been silent for the whole time.
    Silent,
    /// It has not answered any probe.
    Dead,
}

impl KeepAlive {
    /// Judges a silence of so many jiffies after this many unanswered probes. `TCP_USER_TIMEOUT` replaces the number of probes.
    pub(super) fn find(
        &self,
        silence: u64,
        probes: u32,
        user_timeout: Option<Span>,
        clock: Clock,
    ) -> Finding {
        let jiffies = |span: Span| clock.covering(span.as_nanos() / 1000);
        let time = jiffies(self.time);
        if silence < time {
            return Finding::Heard { left: clock.span(time - silence) };
        }
        let is_dead = match user_timeout {
            Some(timeout) => probes > 0 && silence >= jiffies(timeout),
            None => probes >= self.probes,
        };
        if is_dead { Finding::Dead } else { Finding::Silent }
    }
}
