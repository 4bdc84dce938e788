//! What `TCP_INFO` shows.

use super::Sender;

/// Values of `TCP_INFO` with their names, times in microseconds.
pub(in crate::tcp::linux) fn of(sender: &Sender, now: u64) -> Vec<(&'static str, u64)> {
    let (busy, peer, buffer) = sender.chronograph.times(now);
    let least = sender.rtt.minimum();
    let (queue, clock) = (&sender.queue, sender.timers.clock);
    let mut values = vec![
        ("tcpi_ca_state", sender.congestion.state as u64),
        ("tcpi_retransmits", u64::from(sender.timers.retransmits)),
        ("tcpi_probes", u64::from(sender.timers.probes)),
        ("tcpi_backoff", u64::from(sender.timers.backoff)),
        ("tcpi_rto", clock.span(clock.covering(sender.rtt.rto()))),
        ("tcpi_snd_mss", u64::from(sender.space.current_mss())),
        ("tcpi_unacked", u64::from(queue.packets())),
        ("tcpi_sacked", u64::from(queue.sacked)),
        ("tcpi_lost", u64::from(queue.lost)),
        ("tcpi_retrans", u64::from(queue.resent)),
        ("tcpi_rtt", sender.rtt.srtt().unwrap_or(0)),
        ("tcpi_rttvar", sender.rtt.mdev()),
        ("tcpi_min_rtt", if least == u64::MAX { u64::from(u32::MAX) } else { least }),
        ("tcpi_snd_ssthresh", u64::from(sender.congestion.ssthresh)),
        ("tcpi_snd_cwnd", u64::from(sender.congestion.cwnd)),
        ("tcpi_reordering", u64::from(sender.rack.reordering)),
        ("tcpi_reord_seen", u64::from(sender.rack.reorder_seen)),
        ("tcpi_total_retrans", queue.retransmitted),
        ("tcpi_busy_time", busy),
        ("tcpi_rwnd_limited", peer),
        ("tcpi_sndbuf_limited", buffer),
        ("tcpi_delivered", queue.delivered),
        ("tcpi_pacing_rate", sender.pacing.rate),
    ];
    values.extend(sender.reports.map(|reports| ("tcpi_delivered_ce", u64::from(reports.marks))));
    values
}
