//! The wireless leg of a relay: one connection of a table of E2TCP connections.

use airwatt_base::{Instant, Machine as _};

use crate::e2tcp::{ConnectionKey, ConnectionTable, Input, TableInput};
use crate::end::Stream;
use crate::tcp::{ReceiveBuffer, SendBuffer};

/// A connection of a table as a leg; without a key there is none yet, and calls have no effect.
pub(super) struct TableLeg<'a, S: SendBuffer, R: ReceiveBuffer> {
    pub(super) table: &'a mut ConnectionTable<S, R>,
    pub(super) key: Option<ConnectionKey>,
}

impl<S, R> TableLeg<'_, S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    fn call(&mut self, input: Input<R::Data, R::Payload>, now: Instant) {
        if let Some(key) = self.key {
            self.table.handle_input(TableInput::Call(key, input), now);
        }
    }
}

impl<S, R> Stream for TableLeg<'_, S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Data = R::Data;

    fn open(&mut self, now: Instant) {
        self.call(Input::Open, now);
    }

    fn listen(&mut self, now: Instant) {
        self.call(Input::Listen, now);
    }

    fn write(&mut self, data: R::Data, now: Instant) {
        self.call(Input::Write(data), now);
    }

    fn read(&mut self, bytes: u64, now: Instant) -> R::Data {
        let connection = self.key.and_then(|key| self.table.connection(key));
        let data = connection.map_or_else(|| R::default().front(0), |connection| connection.front(bytes));
        self.call(Input::Read(bytes), now);
        data
    }

    fn close(&mut self, now: Instant) {
        self.call(Input::Close, now);
    }

    fn abort(&mut self, now: Instant) {
        self.call(Input::Abort, now);
    }

    fn readable(&self) -> u64 {
        self.key
            .and_then(|key| self.table.connection(key))
            .map_or(0, |connection| connection.readable_bytes())
    }

    fn unacknowledged(&self) -> u64 {
        self.key
            .and_then(|key| self.table.connection(key))
            .map_or(0, |connection| connection.unacknowledged_bytes())
    }
}
