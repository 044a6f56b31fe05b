//! What a run leaves behind.

use super::World;
use crate::recorder::Recorder;
use protocols::coverage::{self, Marks};

/// What a run leaves behind.
pub struct Finished {
    /// The hash over everything that happened.
    pub trace_hash: String,
    /// The trace's text could not be written.
    pub trace_error: Option<std::io::Error>,
    /// How many events happened.
    pub events: u64,
    /// What listened to the history.
    pub recorder: Recorder,
    /// The coverage marks that the run came to.
    pub marks: Marks,
}

impl World {
    /// Takes apart what is left at the end.
    pub fn finish(mut self: Box<Self>) -> Finished {
        let (hash, trace_error) = self.trace.finish();
        let marks = coverage::take();
        Finished { trace_hash: hash, trace_error, events: self.trace.count(), recorder: self.recorder, marks }
    }
}
