//! The log's lines about connections that are not relayed to their end. They are limited in number, since anybody who sends SYNs could
//! fill the log with them. `status` counts all.

use std::net::IpAddr;

use airwatt_base::{Instant, Span};
use airwatt_proto::gateway::Note;
use tracing::{info, warn};

use super::sockets::socket_address;

/// How often the log says at most that a limit keeps connections from being relayed.
const LIMIT_TOLD_EVERY: Span = Span::from_secs(60);
/// Lines within a time, at most.
const LINES_MAX: u32 = 50;
const WINDOW: Span = Span::from_secs(10);

/// What the log has said lately.
#[derive(Debug, Default)]
pub(super) struct NoteLog {
    /// When it said last that a limit of this program keeps connections from being relayed.
    limit_told: Option<Instant>,
    /// Whether it has said that SYNs do not get to the device.
    kept_away_told: bool,
    window: Window,
}

/// Lines are counted from the first one on.
#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Window {
    /// Whether another line may be written.
    fn admits(&mut self, now: Instant) -> bool {
        self.began = self.began.or(Some(now));
        let admits = self.lines < LINES_MAX;
        self.lines += u32::from(admits);
        self.left_out += u64::from(!admits);
        admits
    }

    /// The lines that were left out, once the time is over.
    fn close(&mut self, now: Instant) -> u64 {
        if self.began.is_none_or(|began| now < began + WINDOW) {
            return 0;
        }
        std::mem::take(self).left_out
    }
}

impl NoteLog {
    /// Says once that SYNs of mobiles, or to them, do not get to the device. This process sees none of them, so that it is found out when somebody asks.
    pub(super) fn write_kept_away(&mut self, hosts: &[IpAddr]) {
        let Some(first) = hosts.first().filter(|_| !self.kept_away_told) else { return };
        self.kept_away_told = true;
        warn!(
            host = %first,
            hosts = hosts.len(),
            "SYNs that were led to the device did not come back from it, because of the firewall of this host or because the gateway ended: the \
             connections that these hosts open are plain TCP for up to ten minutes"
        );
    }

    /// Writes a line for each note, as far as there may be lines.
    pub(super) fn write(&mut self, notes: Vec<Note>, now: Instant) {
        let left_out = self.window.close(now);
        if left_out > 0 {
            info!("{left_out} more lines like these were left out: `gateway status` counts connections");
        }
        for note in notes {
            let Note { addresses, fate, why } = note;
            if self.window.admits(now) {
                let (from, to) = (socket_address(addresses.sender()), socket_address(addresses.receiver()));
                info!(%from, %to, why = why.text(), "connection {}", fate.text());
            }
            if why.is_limit() && self.limit_told.is_none_or(|told| now - told >= LIMIT_TOLD_EVERY) {
                self.limit_told = Some(now);
                warn!(
                    why = why.text(),
                    "connections beyond a limit are not relayed: `gateway status` counts them"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_a_bounded_number_of_lines_and_their_count() {
        let mut window = Window::default();
        let at = |millis: u64| Instant::ZERO + Span::from_millis(millis);
        let admitted = (0..20_000).filter(|count| window.admits(at(count / 10))).count();
        assert_eq!(admitted, LINES_MAX as usize);
        assert_eq!(window.close(at(9_999)), 0);
        assert_eq!(window.close(at(10_000)), 20_000 - u64::from(LINES_MAX));
        assert_eq!(window.close(at(60_000)), 0, "it is said once");
        assert!(window.admits(at(60_000)));
    }
}
