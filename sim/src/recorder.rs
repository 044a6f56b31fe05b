//! What listens to a run's history: the judge always; the timeline and a file on request.

use protocols::history::{Event, Header, Sink, json::Writer};
use reports::{Judge, Names, timeline::Highlights};
use std::io::Write;

/// Hands the history to everyone who wants it.
pub struct Recorder {
    /// The judge.
    pub judge: Judge,
    /// What the text report shows, when somebody will read it.
    pub highlights: Option<Highlights>,
    /// The history as JSON lines.
    pub history: Option<Writer<Box<dyn Write + Send>>>,
}

impl Recorder {
    /// Listens to the run that `header` describes.
    pub fn new(header: &Header, timeline: bool, history: Option<Box<dyn Write + Send>>) -> Self {
        Recorder {
            judge: Judge::new(Some(header)),
            highlights: timeline.then(|| Highlights::new(Some(header), &Names::of(&header.nodes, Some(header)))),
            history: history.map(|to| Writer::new(to, header)),
        }
    }

    /// The next event.
    #[inline]
    pub fn record(&mut self, event: &Event) {
        self.judge.record(event);
        if let Some(highlights) = &mut self.highlights {
            highlights.record(event);
        }
        if let Some(history) = &mut self.history {
            history.record(event);
        }
    }
}
