//! The results of a run.

use super::{World, programs::Programs};
use crate::recorder::Recorder;
use protocols::coverage::{self, Marks};

pub struct Finished {
    /// The hash over everything that happened.
    pub trace_hash: String,
    /// Why the trace's text could not be written.
    pub trace_error: Option<std::io::Error>,
    /// The number of events.
    pub events: u64,
    /// The listeners to the history.
    pub recorder: Recorder,
    /// The coverage marks that the run reached.
    pub marks: Marks,
    /// What programs did, if candidates were programs.
    pub programs: Programs,
}

impl World {
    /// Ends the run and returns its results.
    pub fn finish(mut self: Box<Self>) -> Finished {
        let (hash, trace_error) = self.trace.finish();
        let marks = coverage::take();
        let (events, recorder, programs) = (self.trace.count(), self.recorder, self.programs);
        Finished { trace_hash: hash, trace_error, events, recorder, marks, programs }
    }
}
