//! When the radio of a kernel's station sleeps, as its frames say.
//!
//! mac80211_hwsim does not switch a radio off, so that its sleep follows from what it announces (802.11-2020 11.2.3):
//! * After a frame with PM = 1 that was acknowledged it dozes, until it sends or a beacon is due.
//! * It receives every beacon of its access point, and stays awake after one whose TIM has its bit, so that the kernel can
//!   leave power save or send a trigger, or whose group bit is set, until the last group-addressed frame.
//! * Under U-APSD, an own QoS frame with PM = 1 opens a service period, which ends with EOSP.
//!
//! Left out: listen intervals, and scans, during which the radio is on another channel and counts as dozing.

use airwatt_base::{Instant, Span};
use airwatt_dot11::{Frame, FrameKind, MacAddress, MacHeader, ManagementBody, TIME_UNIT};

/// Time before a beacon at which the radio is awake: the inaccuracy of its clock.
const BEACON_GUARD: Span = Span::from_micros(500);
/// A beacon that is later than this is missed.
const BEACON_LATEST: Span = Span::from_millis(10);
/// Time within which a kernel answers a beacon with its bit.
const ANSWER: Span = Span::from_millis(10);
/// Time for which a radio waits for the next frame of a service period or of group-addressed traffic.
const NEXT_FRAME: Span = Span::from_millis(20);

/// The access point of a station.
#[derive(Clone, Copy, Debug)]
struct Association {
    bssid: MacAddress,
    aid: u16,
    /// The time at which the last beacon was due, and the interval of beacons.
    beacon: Option<(Instant, Span)>,
}

/// Why a radio in power save is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Nothing,
    Beacon,
    Answer,
    Service,
    Group,
}

/// The power management of one radio.
#[derive(Clone, Debug)]
pub(super) struct PowerManagement {
    association: Option<Association>,
    /// Whether its last frame had PM = 1.
    pm: bool,
    /// Whether its association request asked for U-APSD.
    uapsd: bool,
    wait: Wait,
    /// The end of the wait.
    until: Instant,
    /// Time that the radio takes to wake up.
    wake_up: Span,
}

impl PowerManagement {
    pub(super) const fn new(wake_up: Span) -> Self {
        let (wait, until) = (Wait::Nothing, Instant::FOREVER);
        Self { association: None, pm: false, uapsd: false, wait, until, wake_up }
    }

    /// Whether the radio may doze if it has nothing to send.
    pub(super) fn may_doze(&self) -> bool {
        let knows_beacons = self.association.is_some_and(|association| association.beacon.is_some());
        self.pm && knows_beacons && self.wait == Wait::Nothing
    }

    /// The access point with which it is associated.
    pub(super) fn access_point(&self) -> Option<MacAddress> {
        self.association.map(|association| association.bssid)
    }

    /// When to call [`PowerManagement::handle_timeout`].
    pub(super) fn next_timeout(&self, now: Instant) -> Option<Instant> {
        if self.wait != Wait::Nothing {
            return Some(self.until);
        }
        self.may_doze().then(|| self.next_wake_up(now)).flatten()
    }

    /// Ends a wait, or wakes up for a beacon.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.wait != Wait::Nothing {
            if self.until <= now {
                self.wait = Wait::Nothing;
            }
        } else if self.may_doze() && self.next_wake_up(now).is_some_and(|at| at <= now) {
            let ahead = self.wake_up + BEACON_GUARD;
            self.wait_for(Wait::Beacon, now + ahead + BEACON_LATEST);
        }
    }

    /// The access point has a beacon to send: this is its target time.
    pub(super) fn beacon_due(&mut self, bytes: &[u8], now: Instant) {
        let Ok(frame) = Frame::decode(bytes) else { return };
        let Ok(Some(ManagementBody::Beacon { interval, .. })) = ManagementBody::decode(&frame) else {
            return;
        };
        let sender = frame.header().address2;
        if let Some(association) = &mut self.association
            && sender == Some(association.bssid)
        {
            association.beacon = Some((now, interval.max(TIME_UNIT)));
        }
    }

    /// An own frame has left the medium.
    pub(super) fn sent(&mut self, bytes: &[u8], acknowledged: bool, now: Instant) {
        let Ok(frame) = Frame::decode(bytes) else { return };
        let header = frame.header();
        match header.control.kind {
            FrameKind::AssociationRequest | FrameKind::ReassociationRequest => {
                let Ok(Some(ManagementBody::AssociationRequest { elements, .. })) =
                    ManagementBody::decode(&frame)
                else {
                    return;
                };
                self.uapsd = elements.wmm().is_some_and(|wmm| wmm.station_uapsd() != 0);
            }
            FrameKind::Deauthentication | FrameKind::Disassociation => self.leave(),
            kind if kind.is_data() && header.control.to_ds && acknowledged => {
                self.pm = header.control.power_management;
                if !self.pm {
                    self.wait = Wait::Nothing;
                } else if self.uapsd && kind.is_qos() {
                    self.wait_for(Wait::Service, now + NEXT_FRAME);
                }
            }
            _ => {}
        }
    }

    /// A frame has arrived at the radio.
    pub(super) fn received(&mut self, bytes: &[u8], now: Instant) {
        let Ok(frame) = Frame::decode(bytes) else { return };
        let header = frame.header();
        let of_own = self.association.is_some_and(|own| header.address2 == Some(own.bssid));
        match (header.control.kind, ManagementBody::decode(&frame)) {
            (_, Ok(Some(ManagementBody::AssociationResponse(response, _)))) if response.status == 0 => {
                if let Some(bssid) = header.address2 {
                    self.association = Some(Association { bssid, aid: response.aid, beacon: None });
                    self.pm = false;
                }
            }
            (FrameKind::Beacon, Ok(Some(ManagementBody::Beacon { elements, .. }))) if of_own => {
                let aid = self.association.map_or(0, |own| own.aid);
                let (marked, group) = elements
                    .tim()
                    .map_or((false, false), |tim| (tim.tim_bit(aid), tim.group && tim.dtim_count == 0));
                match (group, marked) {
                    (true, _) => self.wait_for(Wait::Group, now + NEXT_FRAME),
                    (false, true) => self.wait_for(Wait::Answer, now + ANSWER),
                    (false, false) if self.wait == Wait::Beacon => self.wait = Wait::Nothing,
                    (false, false) => {}
                }
            }
            (FrameKind::Deauthentication | FrameKind::Disassociation, _) if of_own => self.leave(),
            (kind, _) if kind.is_data() && of_own && self.ends_group(header) => self.wait = Wait::Nothing,
            (kind, _) if kind.is_data() && of_own => match header.qos {
                Some(qos) if qos.eosp() => self.wait = Wait::Nothing,
                _ if self.wait != Wait::Nothing => self.until = self.until.max(now + NEXT_FRAME),
                _ => {}
            },
            _ => {}
        }
    }

    /// Whether this is the last group-addressed frame after a beacon.
    fn ends_group(&self, header: &MacHeader) -> bool {
        self.wait == Wait::Group && header.address1.is_group() && !header.control.more_data
    }

    fn leave(&mut self) {
        self.association = None;
        self.pm = false;
        self.wait = Wait::Nothing;
    }

    fn wait_for(&mut self, what: Wait, until: Instant) {
        self.wait = what;
        self.until = until;
    }

    /// When the radio has to begin to wake up for the next beacon.
    fn next_wake_up(&self, now: Instant) -> Option<Instant> {
        let (due, interval) = self.association?.beacon?;
        let ahead = self.wake_up + BEACON_GUARD;
        // A timer that is late wakes the radio all the same, for the beacon that is still to come.
        let next = now.saturating_since(due).covering(interval).max(1);
        Some(due + interval * next - ahead)
    }
}

#[cfg(test)]
mod tests {
    use airwatt_dot11::{FrameControl, QosControl};

    use super::*;

    const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 0]);
    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 1, 0]);
    const WAKE_UP: Span = Span::from_millis(1);

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn frame(kind: FrameKind, from: MacAddress, to: MacAddress, pm: bool, eosp: bool) -> Vec<u8> {
        let mut control = FrameControl::new(kind);
        (control.to_ds, control.from_ds) = (from == STATION, from == AP);
        control.power_management = pm;
        let mut header = MacHeader::new(control, to);
        header.address2 = Some(from);
        header.address3 = Some(AP);
        header.sequence_control = Some(0);
        if kind.is_qos() {
            header.qos = Some(QosControl::new(0).with_eosp(eosp));
        }
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        bytes
    }

    /// A beacon of 100 time units whose TIM has these bits.
    fn beacon(marked: bool, group: bool) -> Vec<u8> {
        let mut bytes = frame(FrameKind::Beacon, AP, MacAddress::BROADCAST, false, false);
        bytes.extend([0; 8]);
        bytes.extend([100, 0, 0, 0]);
        bytes.extend([5, 4, 0, 2, u8::from(group), u8::from(marked) << 1]);
        bytes
    }

    fn associated(uapsd: bool) -> PowerManagement {
        let mut power = PowerManagement::new(WAKE_UP);
        let mut request = frame(FrameKind::AssociationRequest, STATION, AP, false, false);
        request.extend([0, 0, 10, 0]);
        request.extend([0xdd, 7, 0, 0x50, 0xf2, 2, 0, 1, if uapsd { 15 } else { 0 }]);
        power.sent(&request, true, ms(1));
        let mut response = frame(FrameKind::AssociationResponse, AP, STATION, false, false);
        response.extend([0, 0, 0, 0, 1, 0xc0]);
        power.received(&response, ms(2));
        power.beacon_due(&beacon(false, false), ms(100));
        power.received(&beacon(false, false), ms(101));
        power
    }

    #[test]
    fn it_dozes_after_an_acknowledged_frame_with_pm_and_wakes_for_beacons() {
        let mut power = associated(false);
        assert!(!power.may_doze());
        let null = frame(FrameKind::Null, STATION, AP, true, false);
        power.sent(&null, false, ms(110));
        assert!(!power.may_doze(), "the access point does not know");
        power.sent(&null, true, ms(111));
        assert!(power.may_doze());
        // The beacon at 100 + 102.4 ms, less 1.5 ms.
        let wake = Instant::from_micros(100_000 + 102_400 - 1_500);
        assert_eq!(power.next_timeout(ms(112)), Some(wake));
        power.handle_timeout(wake + Span::from_micros(50));
        assert!(!power.may_doze());
        power.beacon_due(&beacon(false, false), Instant::from_micros(202_400));
        power.received(&beacon(false, false), ms(203));
        assert!(power.may_doze());
        // A beacon with the station's bit of the TIM keeps it awake until the kernel has answered.
        power.handle_timeout(power.next_timeout(ms(210)).unwrap());
        power.received(&beacon(true, false), ms(305));
        assert!(!power.may_doze());
        power.sent(&frame(FrameKind::Null, STATION, AP, false, false), true, ms(306));
        assert!(!power.may_doze());
        assert_eq!(power.next_timeout(ms(307)), None);
    }

    #[test]
    fn a_beacon_that_does_not_come_is_not_awaited_for_ever() {
        let mut power = associated(false);
        power.sent(&frame(FrameKind::Null, STATION, AP, true, false), true, ms(111));
        let wake = power.next_timeout(ms(112)).unwrap();
        power.handle_timeout(wake);
        let late = power.next_timeout(wake).unwrap();
        power.handle_timeout(late);
        assert!(power.may_doze());
        assert!(power.next_timeout(late).unwrap() > late);
    }

    #[test]
    fn group_addressed_frames_end_with_more_data() {
        let mut power = associated(false);
        power.sent(&frame(FrameKind::Null, STATION, AP, true, false), true, ms(111));
        power.received(&beacon(false, true), ms(203));
        assert!(!power.may_doze());
        power.received(&frame(FrameKind::Data, AP, MacAddress::BROADCAST, false, false), ms(204));
        assert!(power.may_doze());
    }

    #[test]
    fn a_service_period_begins_with_a_trigger_and_ends_with_eosp() {
        let mut power = associated(true);
        power.sent(&frame(FrameKind::QosNull, STATION, AP, true, false), true, ms(111));
        assert!(!power.may_doze());
        power.received(&frame(FrameKind::QosData, AP, STATION, false, false), ms(112));
        assert!(!power.may_doze());
        power.received(&frame(FrameKind::QosData, AP, STATION, false, true), ms(113));
        assert!(power.may_doze());
        power.received(&beacon(true, false), ms(203));
        assert!(!power.may_doze(), "a trigger is to come");
        power.sent(&frame(FrameKind::QosNull, STATION, AP, true, false), true, ms(204));
        power.received(&frame(FrameKind::QosData, AP, STATION, false, true), ms(205));
        assert!(power.may_doze());
    }
}
