//! The singleton work that only the leader does.

pub mod outbox;
pub mod scheduler;
pub mod sequencer;
