//! The frames of an exchange with their durations, and the time during which frames are on the air.

use airwatt_base::{Instant, Span};

use super::CellFrameKind;

/// The sum of the time during which frames were on the air, up to any instant of the present exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Airborne {
    before: Span,
    /// Frames of the present exchange, in order.
    present: Vec<(Instant, Instant)>,
}

impl Airborne {
    /// Moves the frames so far to the past.
    pub(crate) fn fold(&mut self) {
        for &(start, end) in &self.present {
            self.before += end - start;
        }
        self.present.clear();
    }

    /// Adds a frame from `start` to `end`, which does not begin before the one added last.
    pub(crate) fn add(&mut self, start: Instant, end: Instant) {
        self.present.push((start, end));
    }

    /// Adds what is new of a frame from `start` to `end`, which may lie under others. `horizon`: up to no time before it is the sum asked for.
    pub(crate) fn add_heard(&mut self, start: Instant, end: Instant, horizon: Instant) {
        let past = self.present.iter().take_while(|(_, end)| *end <= horizon).count();
        for (start, end) in self.present.drain(..past) {
            self.before += end - start;
        }
        let start = self.present.last().map_or(start, |(_, last)| start.max(*last));
        if start < end {
            self.present.push((start, end));
        }
    }

    /// The sum up to `at`, which does not lie before the end of any frame of the past.
    pub(crate) fn until(&self, at: Instant) -> Span {
        let begun = self.present.iter().take_while(|(start, _)| *start < at);
        begun.fold(self.before, |sum, &(start, end)| sum + (end.min(at) - start))
    }
}

/// Durations of the parts of one exchange.
pub(crate) struct Plan {
    pub(crate) rts: bool,
    pub(crate) rts_time: Span,
    pub(crate) cts_time: Span,
    /// From the beginning of the exchange to that of the data frame.
    pub(crate) before_data: Span,
    pub(crate) data_time: Span,
    /// ACK or BlockAck.
    pub(crate) response: CellFrameKind,
    pub(crate) ack_time: Span,
    /// Propagation delay.
    pub(crate) tau: Span,
    pub(crate) sifs: Span,
}

impl Plan {
    /// How long a frame of the exchange is on the air.
    pub(crate) const fn time_of(&self, kind: CellFrameKind) -> Span {
        match kind {
            CellFrameKind::Rts => self.rts_time,
            CellFrameKind::Cts => self.cts_time,
            CellFrameKind::Ack | CellFrameKind::BlockAck => self.ack_time,
            _ => self.data_time,
        }
    }

    /// From the beginning of the exchange to the arrival of the acknowledgement.
    pub(crate) fn total(&self) -> Span {
        self.before_data + self.data_time + self.sifs + self.ack_time + self.tau * 2
    }

    /// Appends the frames of the exchange to `parts`.
    pub(crate) fn lay_out(
        &self,
        kind: CellFrameKind,
        start: Instant,
        [received, response]: [bool; 2],
        rts_failed: bool,
        parts: &mut Parts,
    ) {
        if self.rts {
            parts.push(CellFrameKind::Rts, start, self.rts_time, true, !rts_failed);
            if !rts_failed {
                let cts = start + self.rts_time + self.tau + self.sifs;
                parts.push(CellFrameKind::Cts, cts, self.cts_time, false, true);
            }
        }
        if !rts_failed {
            let data = start + self.before_data;
            parts.push(kind, data, self.data_time, true, received);
            if received {
                let ack = data + self.data_time + self.tau + self.sifs;
                parts.push(self.response, ack, self.ack_time, false, response);
            }
        }
    }

    /// The Duration field of a frame of the exchange: the rest of the exchange (802.11-2020 9.2.5.2).
    pub(crate) fn nav(&self, kind: CellFrameKind) -> Span {
        let after_data = self.sifs + self.ack_time;
        let after_cts = self.sifs + self.data_time + after_data;
        match kind {
            CellFrameKind::Rts => self.sifs + self.cts_time + after_cts,
            CellFrameKind::Cts => after_cts,
            CellFrameKind::Ack | CellFrameKind::BlockAck | CellFrameKind::Beacon | CellFrameKind::Group => {
                Span::ZERO
            }
            _ => after_data,
        }
    }
}

/// One frame of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) kind: CellFrameKind,
    pub(crate) start: Instant,
    pub(crate) duration: Span,
    /// Whether the sender of the PPDU sends it; otherwise its receiver does.
    pub(crate) by_sender: bool,
    pub(crate) received: bool,
}

/// The PPDUs of an exchange: at most RTS, CTS, data and response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The first `count` are valid.
    parts: [Part; 4],
    count: usize,
}

impl Default for Parts {
    fn default() -> Self {
        let none = Part {
            kind: CellFrameKind::Data,
            start: Instant::ZERO,
            duration: Span::ZERO,
            by_sender: true,
            received: false,
        };
        Self { parts: [none; 4], count: 0 }
    }
}

impl Parts {
    /// One frame.
    pub(crate) fn of(part: Part) -> Self {
        Self { parts: [part; 4], count: 1 }
    }

    pub(crate) fn push(
        &mut self,
        kind: CellFrameKind,
        start: Instant,
        duration: Span,
        by_sender: bool,
        received: bool,
    ) {
        self.parts[self.count] = Part { kind, start, duration, by_sender, received };
        self.count += 1;
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Part> {
        self.parts[..self.count].iter()
    }
}
