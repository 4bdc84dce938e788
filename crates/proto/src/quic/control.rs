//! Our congestion controls behind the library's interface, and what a sender measures.
//!
//! The library says which packets are acknowledged and which are lost; when a loss counts is RFC 9002's rule: once for everything
//! that was sent before the last reduction.

#![expect(clippy::disallowed_types, reason = "the library's times, which are made of ours")]

use std::any::Any;
use std::sync::Arc;
use std::time::Instant as LibraryInstant;

use airwatt_base::{Instant, Span};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use super::QuicConfig;
use super::clock::from_library;
use crate::cc::{Acknowledged, CongestionConfig, CongestionControl, Growth, UNLIMITED};

/// Makes the controller of a connection.
pub(super) struct Factory(pub(super) QuicConfig);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: LibraryInstant, mtu: u16) -> Box<dyn Controller> {
        let initial_window = u32::try_from(self.0.initial_window.as_bytes()).unwrap_or(u32::MAX);
        let rule = CongestionControl::new(&CongestionConfig {
            algorithm: self.0.congestion.algorithm(),
            mss: u32::from(mtu),
            initial_window,
            initial_ssthresh: UNLIMITED,
            growth: Growth::Bytes,
            slow_start_at_threshold: false,
        });
        Box::new(QuicController {
            rule,
            mtu: u32::from(mtu),
            initial_window,
            reduced_at: None,
            last_sent: None,
            flight: 0,
            measured: Measured::default(),
        })
    }
}

/// What the controller of a connection has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Measurements of the round-trip time, each of the last packet that an acknowledgement is the first to cover.
    pub(super) samples: u64,
    pub(super) rtt_sum: Span,
}

/// The controller of a connection.
#[derive(Clone)]
pub(super) struct QuicController {
    rule: CongestionControl,
    mtu: u32,
    initial_window: u32,
    /// When the window was reduced last: losses of what was sent before mean nothing more, and its acknowledgements no growth.
    reduced_at: Option<Instant>,
    /// The latest time at which a packet was sent of those that the acknowledgement under way covers.
    last_sent: Option<Instant>,
    pub(super) flight: u64,
    pub(super) measured: Measured,
}

impl QuicController {
    fn is_before_reduction(&self, sent: Instant) -> bool {
        self.reduced_at.is_some_and(|reduced| sent <= reduced)
    }

    /// RFC 9002 section 7.2: two packets.
    fn least_window(&self) -> u64 {
        2 * u64::from(self.mtu)
    }
}

impl Controller for QuicController {
    fn on_sent(&mut self, _: LibraryInstant, bytes: u64, _: u64) {
        self.flight += bytes;
    }

    fn on_ack(
        &mut self,
        now: LibraryInstant,
        sent: LibraryInstant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let (now, sent) = (from_library(now), from_library(sent));
        self.last_sent = self.last_sent.max(Some(sent));
        if app_limited || self.is_before_reduction(sent) {
            return;
        }
        // That the window was in use is the library's `app_limited`.
        let flight = self.rule.cwnd();
        let srtt = Span::from_nanos(u64::try_from(rtt.get().as_nanos()).unwrap_or(u64::MAX));
        self.rule.on_ack(Acknowledged { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), flight, now, srtt });
    }

    fn on_end_acks(&mut self, now: LibraryInstant, in_flight: u64, _: bool, _: Option<u64>) {
        self.flight = in_flight;
        if let Some(sent) = self.last_sent.take() {
            self.measured.samples += 1;
            self.measured.rtt_sum += from_library(now) - sent;
        }
    }

    fn on_congestion_event(
        &mut self,
        now: LibraryInstant,
        sent: LibraryInstant,
        is_persistent: bool,
        lost: u64,
    ) {
        self.flight = self.flight.saturating_sub(lost);
        let (now, sent) = (from_library(now), from_library(sent));
        if !self.is_before_reduction(sent) {
            self.reduced_at = Some(now);
            // RFC 9002 section 7.3.2 reduces the window, where TCP reduces what is in flight.
            self.rule.enter_recovery(self.rule.cwnd(), 0);
            self.rule.leave_recovery();
        }
        if is_persistent {
            self.rule.on_timeout(self.rule.cwnd(), false, false);
            self.reduced_at = None;
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = u32::from(mtu);
        self.rule.set_mss(self.mtu);
    }

    fn window(&self) -> u64 {
        u64::from(self.rule.cwnd()).max(self.least_window())
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = Some(u64::from(self.rule.ssthresh()));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        u64::from(self.initial_window)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
