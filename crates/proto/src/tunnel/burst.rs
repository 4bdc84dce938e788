//! The size of bursts and the interval between triggers, from measured rates (Hashimoto 2013, equations 4.13 and 4.15 to
//! 4.17).
//!
//! Both ends measure packets in slots of H = 100 ms and smooth them with alpha = 1/8. Integers only: a rate is a number of
//! packets in a slot, in units of 2^-16. Slots are closed when something happens, so that an idle tunnel has no timer.

use airwatt_base::{Instant, Span};

use super::TunnelConfig;

/// H, the slot in which packets are counted. The thesis gives no value.
pub const SLOT: Span = Span::from_millis(100);
/// log2 of 1 / alpha. The thesis gives no value; 1/8 is the weight of TCP's smoothed round-trip time (RFC 6298).
const ALPHA_SHIFT: u32 = 3;
/// Closed slots whose largest number of packets bounds the smoothed rate for the size of bursts. The smoothing alone has a fifth of a rate
/// that has ended after 1.2 s, and the packets of a rate a hundred times lower would wait for bursts for seconds.
const RECENT_SLOTS: usize = 5;
/// Binary places of a rate.
const PLACES: u32 = 16;
/// t_max of 4.17: a beacon interval, after which the station learns of buffered packets anyway.
pub const TRIGGER_LONGEST: Span = Span::from_millis(100);
/// t_min of 4.17. The thesis demands at least the time of a radio's transitions, about 1 ms.
pub const TRIGGER_SHORTEST: Span = Span::from_millis(5);

/// Packets per slot, smoothed (4.15).
#[derive(Clone, Debug)]
struct Rate {
    /// The beginning of the current slot; `None` before the first packet.
    slot: Option<Instant>,
    /// Packets in the current slot.
    count: u32,
    /// Packets in each of the last closed slots, in no order.
    recent: [u32; RECENT_SLOTS],
    /// The place of the next slot to close among them.
    next: usize,
    /// n, in units of 2^-16 packets.
    smoothed: u64,
}

impl Rate {
    const fn new() -> Self {
        Self { slot: None, count: 0, recent: [0; RECENT_SLOTS], next: 0, smoothed: 0 }
    }

    /// Closes the slots that ended at or before `now`.
    fn advance(&mut self, now: Instant) {
        let Some(mut slot) = self.slot else { return };
        while slot + SLOT <= now {
            self.smoothed = Self::smooth(self.smoothed, self.count);
            self.recent[self.next] = self.count;
            self.next = (self.next + 1) % RECENT_SLOTS;
            self.count = 0;
            slot += SLOT;
            if self.smoothed == 0 {
                // Nothing has come for so long that the remaining slots change nothing: the next packet begins a new one.
                return self.slot = None;
            }
        }
        self.slot = Some(slot);
    }

    const fn smooth(smoothed: u64, count: u32) -> u64 {
        (smoothed * ((1 << ALPHA_SHIFT) - 1) + ((count as u64) << PLACES)) >> ALPHA_SHIFT
    }

    fn note(&mut self, now: Instant) {
        self.advance(now);
        self.slot.get_or_insert(now);
        self.count = self.count.saturating_add(1);
    }

    /// n, or the largest number of packets in one of the last slots and the present one, if that is less.
    fn bounded(&self) -> u64 {
        let most = self.recent.iter().fold(self.count, |most, count| most.max(*count));
        self.smoothed.min(u64::from(most) << PLACES)
    }

    /// n at `now`.
    fn at(&self, now: Instant) -> u64 {
        let mut rate = self.clone();
        rate.advance(now);
        rate.smoothed
    }
}

/// m, the number of packets in a burst, and the time-out.
#[derive(Clone, Debug)]
pub struct BurstSize {
    rate: Rate,
    budget: Option<Span>,
    most: u32,
    hold: Span,
    packets: u32,
}

impl BurstSize {
    /// The size of bursts under these settings.
    pub fn new(config: &TunnelConfig) -> Self {
        let (budget, most) = (config.delay_budget, config.most_packets());
        let packets = if budget.is_some() { 1 } else { most };
        Self { rate: Rate::new(), budget, most, hold: config.hold_time(), packets }
    }

    /// A packet of the own host has come.
    pub fn note_packet(&mut self, now: Instant) {
        let Some(budget) = self.budget else { return };
        self.rate.note(now);
        self.packets = packets_within(budget, self.rate.bounded()).min(self.most);
    }

    /// m.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// The longest time for which a packet is held.
    pub const fn hold(&self) -> Span {
        self.hold
    }
}

/// The largest m whose mean delay D = (m - 1) / 2R (4.13) is below `budget`, at least 1, for a rate of `smoothed` 2^-16
/// packets in a slot.
fn packets_within(budget: Span, smoothed: u64) -> u32 {
    // m - 1 < 2 R D, with R = n / H.
    let twice = 2 * u128::from(smoothed) * u128::from(budget.as_nanos());
    let packets = twice.div_ceil(u128::from(SLOT.as_nanos()) << PLACES);
    u32::try_from(packets).unwrap_or(u32::MAX).max(1)
}

/// The interval between triggers.
#[derive(Clone, Debug)]
pub struct TriggerInterval {
    received: Rate,
    last_sent: Instant,
}

impl TriggerInterval {
    /// The interval of a client that has received nothing.
    pub const fn new() -> Self {
        Self { received: Rate::new(), last_sent: Instant::ZERO }
    }

    /// A packet of the peer's host has come.
    pub fn note_received(&mut self, now: Instant) {
        self.received.note(now);
    }

    /// A datagram was sent.
    pub const fn note_sent(&mut self, at: Instant) {
        self.last_sent = at;
    }

    /// The interval for bursts of `m` packets (4.16, 4.17), as of the last packet; `None` if it is not below its upper bound.
    pub fn triggers(&self, m: u32) -> Option<Span> {
        Self::interval(m, self.received.smoothed)
    }

    /// The same at `now`.
    pub fn triggers_at(&self, m: u32, now: Instant) -> Option<Span> {
        Self::interval(m, self.received.at(now))
    }

    /// The time of the next trigger; `None` if there is none to send.
    pub fn due(&mut self, m: u32, now: Instant) -> Option<Instant> {
        self.received.advance(now);
        let interval = self.triggers(m)?;
        Some((self.last_sent + interval).max(now + TRIGGER_SHORTEST))
    }

    fn interval(m: u32, smoothed: u64) -> Option<Span> {
        let slots = (u128::from(m) * u128::from(SLOT.as_nanos())) << PLACES;
        let interval = slots.checked_div(u128::from(smoothed))?;
        let interval = Span::from_nanos(u64::try_from(interval).unwrap_or(u64::MAX));
        (interval < TRIGGER_LONGEST).then(|| interval.max(TRIGGER_SHORTEST))
    }
}

impl Default for TriggerInterval {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// n after packets at a steady rate.
    fn steady(gap: Span, seconds: u64) -> (Rate, Instant) {
        let (mut rate, mut now) = (Rate::new(), Instant::ZERO);
        while now < Instant::from_secs(seconds) {
            rate.note(now);
            now += gap;
        }
        (rate, now)
    }

    #[test]
    fn a_slot_is_smoothed_by_an_eighth() {
        let mut rate = Rate::new();
        (0..8).for_each(|_| rate.note(at(0)));
        assert_eq!(rate.at(at(99)), 0, "the slot is open");
        assert_eq!(rate.at(at(100)), 1 << PLACES, "an eighth of 8");
        (0..16).for_each(|_| rate.note(at(150)));
        // 7/8 of 1 and an eighth of 16.
        assert_eq!(rate.at(at(200)), (2 << PLACES) + (7 << PLACES) / 8);
    }

    #[test]
    fn a_rate_that_ends_is_forgotten() {
        let (mut rate, now) = steady(MS, 5);
        assert!(rate.at(now) > 99 << PLACES);
        rate.advance(now + Span::from_secs(3_600));
        assert_eq!((rate.smoothed, rate.slot), (0, None));
    }

    /// After bulk, typing waits for bursts no longer than half a second: with the smoothed rate alone it was 3 to 5 s.
    #[test]
    fn bursts_follow_a_rate_that_falls() {
        let config = TunnelConfig { delay_budget: Some(Span::from_millis(10)), ..TunnelConfig::default() };
        let mut size = BurstSize::new(&config);
        let end = Instant::from_secs(5);
        let mut now = Instant::ZERO;
        while now < end {
            size.note_packet(now);
            assert!(size.rate.bounded() == size.rate.smoothed, "a steady rate is not bounded");
            now += Span::from_nanos(100_000);
        }
        assert_eq!(size.packets(), 64);
        while now < end + Span::from_secs(1) {
            size.note_packet(now);
            let is_soon = now < end + SLOT.saturating_mul(RECENT_SLOTS as u64);
            assert_eq!(size.packets(), if is_soon { 64 } else { 1 }, "{now:?}");
            now += SLOT;
        }
    }

    /// Section 4 of the algorithms: the largest m with (m - 1) / 2R < D, strictly.
    #[test]
    fn bursts_stay_below_the_delay_budget() {
        let per_slot = |packets: u64| packets << PLACES;
        // 500 kB/s are 333.3 packets/s: m = 2 for 3 ms and 7 for 10 ms, as in figure 4.8.
        let slow = (100 << PLACES) / 3;
        assert_eq!(packets_within(Span::from_millis(3), slow), 2);
        assert_eq!(packets_within(Span::from_millis(10), slow), 7);
        // 800 kB/s are 533.3 packets/s: 4 and 11.
        let fast = (160 << PLACES) / 3;
        assert_eq!(packets_within(Span::from_millis(3), fast), 4);
        assert_eq!(packets_within(Span::from_millis(10), fast), 11);
        // 100 packets/s and 10 ms: m - 1 < 2, so that m = 3 would have exactly the delay of the budget.
        assert_eq!(packets_within(Span::from_millis(10), per_slot(10)), 2);
        assert_eq!(packets_within(Span::from_millis(10), 0), 1);
        assert_eq!(packets_within(Span::from_secs(3_600), u64::MAX), u32::MAX);
    }

    /// Equations 4.16 and 4.17: 300 packets/s are one in 3.33 ms, so that bursts of 5 fill in 16.7 ms.
    #[test]
    fn the_trigger_interval_is_that_of_a_burst_within_its_bounds() {
        let (rate, now) = steady(Span::from_nanos(3_333_333), 20);
        let mut interval = TriggerInterval { received: rate, last_sent: now };
        let five = interval.due(5, now).unwrap().saturating_since(now);
        assert!((five.as_secs_f64() - 5.0 / 300.0).abs() < 2e-4, "{five:?}");
        assert_eq!(interval.due(1, now), Some(now + TRIGGER_SHORTEST));
        assert_eq!(interval.due(31, now), None, "beacons come as often");
        assert_eq!(interval.due(5, now + Span::from_secs(60)), None, "nothing came for a minute");
    }
}
