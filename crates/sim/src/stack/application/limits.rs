//! Ranges that the settings of several applications share.

use airwatt_base::settings::{SettingError, in_range};
use airwatt_base::{Size, Span};

pub(super) use crate::limits::{MAX_RATE, MAX_SPAN, MIN_RATE};

use super::Connection;

type Checked = Result<(), SettingError>;

/// Connections that a flow may open one after another, each from a port of its own.
const MAX_FRESH: u32 = 10_000;

pub(super) fn check_size(size: Option<Size>) -> Checked {
    size.map_or(Ok(()), |size| {
        in_range("size", size, Size::from_bytes(1), Size::from_bytes(1_000_000_000_000))
    })
}

pub(super) fn check_packet(packet: Size) -> Checked {
    in_range("packet", packet, Size::from_bytes(1), Size::from_bytes(65_000))
}

pub(super) fn check_mean_gap(gap: Span) -> Checked {
    in_range("mean_gap", gap, Span::from_micros(1), MAX_SPAN)
}

pub(super) fn check_message(key: &str, size: Size) -> Checked {
    in_range(key, size, Size::from_bytes(1), Size::from_bytes(1_000_000_000))
}

/// A connection for each request needs a pair of ports, and so a number of requests.
pub(super) fn check_fresh(fresh: bool, count: Option<u32>) -> Checked {
    match count {
        None if fresh => Err(SettingError::missing("count", "a number with fresh connections")),
        Some(count) if fresh => in_range("count", count, 1, MAX_FRESH),
        _ => Ok(()),
    }
}

/// The number of connections, if each request has one.
pub(super) fn fresh_connections(fresh: bool, count: Option<u32>) -> Option<Connection> {
    count.filter(|_| fresh).map(|count| count as Connection)
}

pub(super) fn check_count(count: Option<u32>) -> Checked {
    count.map_or(Ok(()), |count| in_range("count", count, 1, 10_000_000))
}
