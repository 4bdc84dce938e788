//! Target wake time at the access point: when the service periods of its agreements begin and end.

use std::fmt::Debug;

use airwatt_base::Instant;

use super::{AccessPointOutput, AccessPointPowerSave, AccessPointTimer, Downlink, Peer, Period};
use crate::powersave::StationId;
use crate::powersave::wake_agreement::{WakeAgreement, WakeAnswer, WakeFrame, WakeRequest};

/// A target wake time agreement, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct WakeTimes {
    agreement: WakeAgreement,
    /// When the agreed period in progress ends, or the next one begins; [`Instant::FOREVER`] while the agreement is suspended.
    edge: Instant,
    /// An agreed period is in progress.
    open: bool,
    /// A frame with EOSP has ended it early.
    ended: bool,
}

impl WakeTimes {
    /// Whether a frame of the station opens a service period now.
    pub(super) const fn awaits_frame(&self) -> bool {
        self.open && self.agreement.request.hears_station()
    }

    /// Whether the station sends only in answer to Trigger frames now.
    pub(super) const fn is_triggered(&self) -> bool {
        self.open && self.agreement.request.trigger_enabled
    }

    /// Whether a packet for the station opens a service period now.
    pub(super) const fn awaits_packet(&self) -> bool {
        self.open && !self.ended && !self.agreement.request.announced
    }

    /// Notes that a frame with EOSP has started.
    pub(super) const fn end_early(&mut self) {
        self.ended = true;
    }
}

impl<P: Copy + Debug> AccessPointPowerSave<P> {
    /// Handles the end of an answer: the agreement begins once the station has acknowledged it, and its times are free again if it never
    /// does.
    pub(super) fn answered(
        &mut self,
        station: StationId,
        frame: WakeFrame,
        acknowledged: bool,
        now: Instant,
    ) {
        let WakeFrame::Answer { answer: WakeAnswer::Accept(agreement), .. } = frame else { return };
        let peer = &mut self.peers[station as usize];
        if peer.offered.take_if(|offered| *offered == agreement).is_some() && acknowledged {
            let edge = agreement.start_after(now);
            peer.wakes = Some(WakeTimes { agreement, edge, open: false, ended: false });
            self.time_next_edge();
        }
    }

    /// Handles an information frame: no period of the agreement begins before one names the next.
    pub(super) fn suspend_or_resume(&mut self, station: StationId, next: Option<Instant>, now: Instant) {
        let Some(wakes) = &mut self.peers[station as usize].wakes else { return };
        match next {
            None => wakes.edge = Instant::FOREVER,
            Some(next) => {
                wakes.agreement = wakes.agreement.going_on_at(next, now);
                wakes.edge = wakes.agreement.first;
            }
        }
        if std::mem::take(&mut wakes.open) {
            self.end_agreed_period(station);
        }
        self.time_next_edge();
    }

    /// Ends the agreement of a station, if it has one or is offered one.
    pub(super) fn end_agreement(&mut self, station: StationId) {
        let peer = &mut self.peers[station as usize];
        peer.offered = None;
        if peer.wakes.take().is_some() {
            self.end_agreed_period(station);
            self.time_next_edge();
        }
    }

    /// The agreements of all stations, those offered among them.
    pub(super) fn agreements(&self) -> impl Iterator<Item = WakeAgreement> + '_ {
        let held = |peer: &Peer<P>| peer.wakes.as_ref().map(|wakes| wakes.agreement);
        self.peers.iter().filter_map(move |peer| peer.offered.or_else(|| held(peer)))
    }

    /// Handles the answer to a Trigger frame, or another frame of a station in a trigger-enabled period: it is sent another Trigger frame while
    /// it has frames, and the period ends with a QoS Null if nothing else is left to carry EOSP.
    pub(super) fn trigger_answered(&mut self, station: StationId) {
        let peer = &self.peers[station as usize];
        if peer.waits {
            self.transmit(station, Downlink::Trigger);
        } else if peer.period == Period::Open && peer.queued == 0 && peer.buffer.is_empty() {
            self.transmit(station, Downlink::NullData);
        }
    }

    /// Begins and ends the agreed service periods that are due.
    pub(super) fn pass_edges(&mut self, now: Instant) {
        for station in 0..self.stations() {
            let peer = &mut self.peers[station as usize];
            let Some(wakes) = peer.wakes.as_mut().filter(|wakes| wakes.edge <= now) else { continue };
            let WakeRequest { interval, duration, .. } = wakes.agreement.request;
            wakes.open = !wakes.open;
            if wakes.open {
                wakes.ended = false;
                wakes.edge += duration;
                peer.waits = false;
                if wakes.agreement.request.trigger_enabled && peer.pm {
                    self.transmit(station, Downlink::Trigger);
                }
                let peer = &self.peers[station as usize];
                if peer.is_opened_by_packets() && !peer.buffer.is_empty() {
                    self.open_period(station);
                }
            } else {
                wakes.edge += interval - duration;
                self.end_agreed_period(station);
            }
        }
        self.time_next_edge();
    }

    /// Ends the service of an agreed period: what has not been sent waits for the next one.
    fn end_agreed_period(&mut self, station: StationId) {
        let peer = &mut self.peers[station as usize];
        let serves = matches!(peer.period, Period::Open | Period::Ending);
        if serves {
            peer.period = if peer.in_air > 0 { Period::Closing } else { Period::None };
        }
        // A Trigger frame may wait although nobody has answered one.
        let triggers =
            peer.pm && peer.wakes.as_ref().is_some_and(|wakes| wakes.agreement.request.trigger_enabled);
        if (serves || triggers) && peer.queued > 0 {
            self.outputs.push_back(AccessPointOutput::Recall { station });
        }
    }

    fn time_next_edge(&mut self) {
        let edges = self.peers.iter().filter_map(|peer| peer.wakes.as_ref());
        match edges.map(|wakes| wakes.edge).min().filter(|edge| *edge < Instant::FOREVER) {
            Some(edge) => self.timers.set(AccessPointTimer::ServicePeriod, edge),
            None => self.timers.stop(AccessPointTimer::ServicePeriod),
        }
    }
}
