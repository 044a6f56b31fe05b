//! What candidates of `stonith` say.

/// What candidates say, besides what the inner elector's say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// I run.
    Alive {
        /// Whom the sender has heard within the ttl, a bit each. Who does not hear is no member, however loud: totem's
        /// members agree on who they are.
        hears: u64,
    },
    /// I am to lead; do you? Sent again until it is granted, or the sender does not want to any more.
    Claim {
        /// Names the claim; never used twice.
        round: u64,
    },
    /// I neither lead nor go on with a claim of my own.
    Grant {
        /// Which claim this answers.
        round: u64,
        /// Nothing that this process ever sent as leader, or its predecessor did, can still be on its way.
        quiet: bool,
    },
}

impl Message {
    /// What kind of message it is, for message counts.
    pub const fn kind(self) -> &'static str {
        match self {
            Message::Alive { .. } => "alive",
            Message::Claim { .. } => "claim",
            Message::Grant { .. } => "grant",
        }
    }
}
