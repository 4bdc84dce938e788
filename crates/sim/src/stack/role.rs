//! The ends of a conversation.

/// The end of a conversation, by the direction of the flow that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the flow's data.
    Sender,
    /// The end that receives it.
    Receiver,
}
