//! The listeners to a run's history: the judges always; timeline and file on request. They are told of many events at
//! once, since each then finds its code and its state in the processor's caches, and the world finds its own.

use crate::error::Failed;
use protocols::history::{Event, Header, Kind, Phase, Sink, json::Writer};
use reports::{Judges, by_group::Stories, invariant::Entry, timeline::page::Pages};
use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
};

/// The most events of a run that are kept for its artifacts, some 50 MB.
pub const KEPT_MAX: usize = 400_000;
/// How many are kept during a run that is expected to pass. A longer run that fails is repeated for its artifacts.
pub const KEPT_FIRST: usize = 120_000;

/// How many events the listeners are told of at once.
const BATCH: usize = 128;
/// How many are sent at once to listeners in another thread, which is woken for them.
const SENT: usize = 1024;
/// How many batches may wait there.
const WAITING_MAX: usize = 8;

/// All listeners.
pub struct Listeners {
    pub judges: Judges,
    /// Collects what the text report shows, if wanted.
    pub stories: Option<Stories>,
    /// Collects the HTML page, if wanted.
    pub pages: Option<Pages>,
    /// Writes the history as JSON lines.
    pub history: Option<Writer<Box<dyn Write + Send>>>,
    /// All events so far, if they are wanted after judgement; `None` once there are more than `kept_max`.
    pub kept: Option<Vec<Event>>,
    pub kept_max: usize,
}

impl Listeners {
    /// To the run that `header` describes.
    pub fn new(
        header: &Header,
        invariants: &[&'static Entry],
        timeline: bool,
        history: Option<Box<dyn Write + Send>>,
    ) -> Self {
        Listeners {
            judges: Judges::by(invariants, Some(header)),
            stories: timeline.then(|| Stories::new(Some(header))),
            pages: None,
            history: history.map(|to| Writer::new(to, header)),
            kept: None,
            kept_max: 0,
        }
    }

    /// Takes the next events out of `batch`.
    fn hear(&mut self, batch: &mut Vec<Event>) {
        for events in batch.chunks(BATCH) {
            self.judges.record_all(events);
            if let Some(stories) = &mut self.stories {
                stories.record_all(events);
            }
            if let Some(pages) = &mut self.pages {
                pages.record_all(events);
            }
            if let Some(history) = &mut self.history {
                history.record_all(events);
            }
        }
        match &mut self.kept {
            Some(kept) if kept.len() + batch.len() <= self.kept_max => return kept.append(batch),
            kept => *kept = None,
        }
        batch.clear();
    }
}

/// Where the listeners are.
enum At {
    Here(Box<Listeners>),
    /// In a thread of their own. Emptied batches come back, to be filled again.
    Thread {
        batches: SyncSender<Vec<Event>>,
        emptied: Receiver<Vec<Event>>,
        thread: JoinHandle<Listeners>,
    },
}

/// Passes the history to all listeners.
pub struct Recorder {
    /// Events that the listeners have not been told of.
    batch: Vec<Event>,
    /// How many events a batch has.
    batch_len: usize,
    listeners: At,
    /// Whether the run ends when the program is asked to.
    pub stops: bool,
    /// The run's virtual time in microseconds, for display.
    pub now_us: Option<Arc<AtomicU64>>,
    /// The number of faults that have struck.
    pub faults: u64,
}

impl Recorder {
    pub fn new(listeners: Listeners) -> Self {
        Recorder::to(At::Here(Box::new(listeners)))
    }

    /// The listeners work in a thread of their own, beside the world. Must be called outside of a simulated world.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn beside(mut listeners: Listeners) -> Result<Self, Failed> {
        let (batches, to_hear) = mpsc::sync_channel::<Vec<Event>>(WAITING_MAX);
        let (empty, emptied) = mpsc::channel();
        let body = move || {
            for mut batch in to_hear {
                listeners.hear(&mut batch);
                // A recorder that has finished needs none.
                let _ = empty.send(batch);
            }
            listeners
        };
        let thread = thread::Builder::new().name("judge".to_owned()).stack_size(8 << 20).spawn(body);
        let thread = thread.map_err(|e| Failed::Harness(format!("cannot start a thread: {e}")))?;
        Ok(Recorder::to(At::Thread { batches, emptied, thread }))
    }

    fn to(listeners: At) -> Self {
        let batch_len = if matches!(listeners, At::Here(_)) { BATCH } else { SENT };
        Recorder { batch: Vec::with_capacity(batch_len), batch_len, listeners, stops: false, now_us: None, faults: 0 }
    }

    #[inline]
    pub fn record(&mut self, event: Event) {
        if let Some(now_us) = &self.now_us {
            now_us.store(event.t_us, Ordering::Relaxed);
        }
        if let Kind::Fault(fault) = &event.kind {
            self.faults += u64::from(fault.phase != Phase::End);
        }
        self.batch.push(event);
        if self.batch.len() == self.batch_len {
            self.tell();
        }
    }

    #[inline(never)]
    fn tell(&mut self) {
        match &mut self.listeners {
            At::Here(listeners) => listeners.hear(&mut self.batch),
            At::Thread { batches, emptied, .. } => {
                let next = emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(SENT));
                // Nobody receives it only if a listener has panicked; the end of the run tells that.
                let _ = batches.send(std::mem::replace(&mut self.batch, next));
            }
        }
    }

    /// Tells the listeners of the last events, and returns them.
    ///
    /// # Errors
    /// A listener panicked.
    pub fn finish(mut self) -> Result<Listeners, Failed> {
        self.tell();
        match self.listeners {
            At::Here(listeners) => Ok(*listeners),
            At::Thread { batches, thread, .. } => {
                drop(batches);
                thread.join().map_err(Failed::of_panic)
            }
        }
    }
}
