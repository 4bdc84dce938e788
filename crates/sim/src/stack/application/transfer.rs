//! A transfer: the data of a source over a connection, until all of it is acknowledged.

use airwatt_base::Instant;

use super::{Call, SocketRequest, Source, StreamBlocks};
use crate::stack::flow::FlowRecord;
use crate::stack::role::Role;
use crate::stack::transport::SocketEvent;

/// One transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// What the sender writes.
    pub source: Source,
    /// The blocks of a stream and the time that each took; `None` for other sources.
    pub blocks: Option<StreamBlocks>,
    /// Bytes to be written now.
    pending: Option<u64>,
}

impl Transfer {
    /// A transfer that has not begun.
    pub fn new(source: Source) -> Self {
        let blocks = source.is_stream().then(StreamBlocks::default);
        Self { source, blocks, pending: None }
    }

    /// Writes what the source has now.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let bytes = self.source.take(now);
        if let (Some(blocks), Some(end)) = (&mut self.blocks, self.source.block_end()) {
            blocks.written(end, now);
        }
        self.pending = (bytes > 0).then_some(bytes);
    }

    pub(super) fn poll_call(&mut self) -> Option<Call> {
        let bytes = self.pending.take()?;
        Some(Call { connection: 0, role: Role::Sender, request: SocketRequest::Write(bytes) })
    }

    pub(super) fn handle_event(
        &mut self,
        role: Role,
        event: SocketEvent,
        record: &mut FlowRecord,
        now: Instant,
    ) {
        if role == Role::Receiver {
            let settled = record.received + record.given_up_by_receiver;
            if let Some(blocks) = &mut self.blocks {
                blocks.arrived(settled, now);
            }
            if self.source.size().is_some_and(|size| settled >= size) {
                record.completed.get_or_insert(now);
            }
        } else if event == SocketEvent::AllAcknowledged && self.source.is_exhausted() {
            record.acknowledged.get_or_insert(now);
        }
    }
}
