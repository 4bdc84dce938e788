//! What announced a frame before the station asked for it by a PS-Poll: More Data of the last frame, or the beacon before.

use airwatt_base::{Instant, Span};

use crate::power_save::cell::Cell;
use crate::power_save::wait::Unanswered;
use crate::power_save::{IN_FLIGHT, Mark, PROMPT};

pub(super) const NOT_ANNOUNCED: &str =
    "neither the beacon before the PS-Poll nor More Data announced a frame, which may have arrived after it";
const NO_BEACON: &str = "the beacon before the PS-Poll was not captured with a TIM that can be read, so that the frame may have arrived after it";
const STALE: &str = "the beacon before the PS-Poll may have announced the frame that was delivered right before it, and another one have arrived later";

/// What says that a frame was buffered when a PS-Poll came.
#[derive(Clone, Copy)]
pub(super) enum Evidence {
    MoreData(Mark),
    Beacon(Mark),
}

impl Evidence {
    pub(super) const fn mark(self) -> Mark {
        let (Self::MoreData(mark) | Self::Beacon(mark)) = self;
        mark
    }
}

/// What says that a frame was buffered when the PS-Poll came, or why nothing does.
pub(super) fn evidence(
    (of, aid): (&Unanswered, u16),
    cell: &Cell,
    poll: Instant,
) -> Result<Evidence, &'static str> {
    if let Some((mark, None)) = of.promise {
        return Ok(Evidence::MoreData(mark));
    }
    let doubt = of.promise.and_then(|(_, doubt)| doubt);
    let Some(last) = cell.last_before(poll) else { return Err(doubt.unwrap_or(NO_BEACON)) };
    let has_missed = cell.was_due(last.0, poll.saturating_sub(PROMPT));
    if has_missed || announced_from(cell, aid, last.0, poll).is_none() {
        let is_unknown = cell.unknown_tims(last.0.saturating_sub(Span::from_nanos(1)), poll) > 0;
        return Err(doubt.unwrap_or(if is_unknown || has_missed { NO_BEACON } else { NOT_ANNOUNCED }));
    }
    let is_fresh = of.from.is_none_or(|from| cell.due(last).saturating_since(from) > IN_FLIGHT);
    if is_fresh { Ok(Evidence::Beacon(last)) } else { Err(doubt.unwrap_or(STALE)) }
}

/// The first beacon from a time on and before another that has the bit.
pub(super) fn announced_from(cell: &Cell, aid: u16, from: Instant, until: Instant) -> Option<Mark> {
    cell.with_tim(from.saturating_sub(Span::from_nanos(1)), until, aid)
}
