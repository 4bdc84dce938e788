//! What a sniffer beside the cell would record, if a trace is wanted.

use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::{ServiceFlags, StationId};

use super::frame::{ACK_BYTES, AirFrame, Body, Kind, Mpdu, Node, RTS_BYTES};
use super::machine::Cell;
use super::medium::{Parts, Plan};

impl Cell {
    pub(super) fn record(&mut self, mpdu: &Mpdu, parts: &Parts, plan: &Plan) {
        let pm_of_station = self.pm_of(mpdu);
        let station = Node::Station(mpdu.station);
        let frames = parts.iter().map(|part| {
            let (from, to) =
                if part.by_station { (station, Node::AccessPoint) } else { (Node::AccessPoint, station) };
            let is_body = !matches!(part.kind, Kind::Rts | Kind::Cts | Kind::Ack);
            let at_control_rate = !is_body || part.kind == Kind::PsPoll;
            AirFrame {
                start: part.start,
                duration: part.duration,
                from,
                to,
                kind: part.kind,
                rate: if at_control_rate { self.config.control_rate } else { self.config.data_rate },
                bytes: match part.kind {
                    Kind::Rts => RTS_BYTES,
                    Kind::Cts | Kind::Ack => ACK_BYTES,
                    _ => plan.bytes,
                },
                received: part.received,
                retry: is_body && mpdu.retries > 0,
                pm: is_body && part.by_station && pm_of_station,
                flags: if is_body { mpdu.flags } else { ServiceFlags::default() },
                sequence: mpdu.sequence,
                nav: plan.nav(part.kind),
                packet: if let (true, Body::Data(packet)) = (is_body, mpdu.body) {
                    Some(packet)
                } else {
                    None
                },
                beacon: None,
            }
        });
        let frames: Vec<AirFrame> = frames.collect();
        if let Some(trace) = &mut self.trace {
            trace.frames.extend(frames);
        }
    }

    pub(super) fn record_beacon(&mut self, start: Instant, duration: Span, bytes: u32, received: bool) {
        let marked = (0..self.stations.len() as StationId).filter(|id| self.power_save.tim(*id)).collect();
        let beacon = Some((self.beacon.unwrap_or_default(), marked));
        let frame = AirFrame {
            start,
            duration,
            from: Node::AccessPoint,
            to: Node::All,
            kind: Kind::Beacon,
            rate: self.config.beacon_rate,
            bytes,
            received,
            retry: false,
            pm: false,
            flags: ServiceFlags::default(),
            sequence: self.ap_sequence,
            nav: Span::ZERO,
            packet: None,
            beacon,
        };
        if let Some(trace) = &mut self.trace {
            trace.frames.push(frame);
        }
    }
}
