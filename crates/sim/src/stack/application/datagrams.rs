//! Datagrams: the data of a source, each write in a packet of its own that is sent once. The other end may answer each.
//!
//! Left out: repetitions by the application, as CoAP has them; in a cell the MAC repeats a frame before.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Span};

use super::{Call, DatagramFate, SocketRequest, Source};
use crate::stack::role::Role;

/// The answers to datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Payload of an answer in bytes.
    pub bytes: u32,
    /// The end that sends the source's data; the other end answers.
    pub begins: Role,
}

/// A flow of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// What is written.
    pub source: Source,
    answers: Option<Answers>,
    /// Who sends a datagram now, its payload in bytes, and the question that it answers.
    pending: VecDeque<(Role, u32, Option<u32>)>,
    /// Number of the last datagram.
    number: u32,
    /// Number of datagrams that arrived or were lost.
    settled: u32,
    /// When questions without an answer were sent, by number.
    questions: BTreeMap<u32, Instant>,
    /// The question to which a datagram on its way is the answer, by number.
    answering: BTreeMap<u32, u32>,
    /// Times from questions to their answers.
    pub durations: Vec<Span>,
}

impl Datagrams {
    /// A flow that has not begun.
    pub const fn new(source: Source, answers: Option<Answers>) -> Self {
        Self {
            source,
            answers,
            pending: VecDeque::new(),
            number: 0,
            settled: 0,
            questions: BTreeMap::new(),
            answering: BTreeMap::new(),
            durations: Vec::new(),
        }
    }

    fn begins(&self) -> Role {
        self.answers.map_or(Role::Sender, |answers| answers.begins)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let bytes = self.source.take(now);
        if bytes > 0 {
            self.pending.push_back((self.begins(), bytes as u32, None));
        }
    }

    /// A datagram arrived or was lost. One that arrived may be answered, or be an answer.
    pub(super) fn settle(&mut self, number: u32, fate: DatagramFate, now: Instant) {
        self.settled += 1;
        let Some(answers) = self.answers else { return };
        match (fate, self.answering.remove(&number)) {
            (DatagramFate::Arrived(..), None) => {
                let answering = if answers.begins == Role::Sender { Role::Receiver } else { Role::Sender };
                self.pending.push_back((answering, answers.bytes, Some(number)));
            }
            (DatagramFate::Arrived(..), Some(question)) => {
                let asked = self.questions.remove(&question);
                self.durations.extend(asked.map(|asked| now - asked));
            }
            (DatagramFate::Lost, question) => {
                self.questions.remove(&question.unwrap_or(number));
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.source.is_exhausted() && self.pending.is_empty() && self.settled >= self.number
    }

    pub(super) fn poll_call(&mut self, now: Instant) -> Option<Call> {
        let (role, bytes, question) = self.pending.pop_front()?;
        self.number += 1;
        match question {
            Some(question) => drop(self.answering.insert(self.number, question)),
            None if self.answers.is_some() => drop(self.questions.insert(self.number, now)),
            None => {}
        }
        let request = SocketRequest::Send { number: self.number, bytes, since: now, flow: None };
        Some(Call { connection: 0, role, request })
    }
}
