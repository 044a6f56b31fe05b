//! The listeners to a run's history: the judges always; timeline and file on request.

use protocols::history::{Event, Header, Kind, Phase, Sink, json::Writer};
use reports::{Judges, invariant::Entry, stories::Stories, timeline::page::Pages};
use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most events of a run that are kept, some 50 MB.
pub const KEPT_MAX: usize = 400_000;

/// Passes the history to all listeners.
pub struct Recorder {
    pub judges: Judges,
    /// Collects what the text report shows, if wanted.
    pub stories: Option<Stories>,
    /// Collects the HTML page, if wanted.
    pub pages: Option<Pages>,
    /// Writes the history as JSON lines.
    pub history: Option<Writer<Box<dyn Write + Send>>>,
    /// All events so far, if they are wanted after judgement; `None` once there are more than [`KEPT_MAX`].
    pub kept: Option<Vec<Event>>,
    /// Whether the run ends when the program is asked to.
    pub stops: bool,
    /// The run's virtual time in microseconds, for display.
    pub now_us: Option<Arc<AtomicU64>>,
    /// The number of faults that have struck.
    pub faults: u64,
}

impl Recorder {
    /// Listens to the run that `header` describes.
    pub fn new(
        header: &Header,
        invariants: &[&'static Entry],
        timeline: bool,
        history: Option<Box<dyn Write + Send>>,
    ) -> Self {
        Recorder {
            judges: Judges::by(invariants, Some(header)),
            stories: timeline.then(|| Stories::new(Some(header))),
            pages: None,
            history: history.map(|to| Writer::new(to, header)),
            kept: None,
            stops: false,
            now_us: None,
            faults: 0,
        }
    }

    #[inline]
    pub fn record(&mut self, event: &Event) {
        self.judges.record(event);
        if let Some(now_us) = &self.now_us {
            now_us.store(event.t_us, Ordering::Relaxed);
        }
        if let Kind::Fault(fault) = &event.kind {
            self.faults += u64::from(fault.phase != Phase::End);
        }
        match &mut self.kept {
            Some(kept) if kept.len() < KEPT_MAX => kept.push(event.clone()),
            Some(_) => self.kept = None,
            None => {}
        }
        if let Some(stories) = &mut self.stories {
            stories.record(event);
        }
        if let Some(pages) = &mut self.pages {
            pages.record(event);
        }
        if let Some(history) = &mut self.history {
            history.record(event);
        }
    }
}
