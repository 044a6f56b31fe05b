//! Runs a plan and judges it. Every command that simulates goes through here.

use crate::{
    error::Failed,
    fleet::Fleet,
    host,
    program::{Line, Sent},
    recorder::{Listeners, Recorder},
    registry::Registry,
    world::{Driver, Finished, Passed, World, programs::Programs},
};
use protocols::{
    coverage::Marks,
    election::Protocol,
    history::{Event, Header},
};
use reports::{
    Judgement,
    json::{ReadLease, RunFacts},
    timeline::{
        Highlights,
        page::{Futures, Pages, Sheet},
    },
};
use scenarios::{plan::Plan, read_lease};
use std::{
    io::Write,
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
};

/// What a run should produce in addition to the verdict.
#[derive(Default)]
pub struct Options {
    pub registry: Registry,
    pub driver: Driver,
    /// Collect what the text report shows.
    pub timeline: bool,
    /// Make an HTML page; see [`Run::page`].
    pub page: bool,
    /// Keep the events, unless there are more; see [`Run::kept`].
    pub keep: usize,
    /// Write the history here, as JSON lines.
    pub history: Option<Box<dyn Write + Send>>,
    /// Count the sends of programs; see [`Run::sent`].
    pub count_sends: bool,
    /// Count the named points that are passed; see [`Run::passed`].
    pub count_points: bool,
    /// Write the trace as text here, one line per event.
    pub trace: Option<Box<dyn Write + Send>>,
    /// End when the program is asked to; the run is judged as far as it got. See [`Run::cut_short`].
    pub stops: bool,
    /// No other run is under way, so that the judge can use a core of its own.
    pub alone: bool,
    /// Report the run's virtual time here, in microseconds.
    pub now_us: Option<Arc<AtomicU64>>,
}

/// Why a run of a program without tokens shows nothing.
const UNTOLD: &str = "the store accepted writes without a token, and no line says when a leadership begins: a write of a \
                      former leader cannot be told from one of a leader that was elected again";

/// A judged run.
pub struct Run {
    pub plan: Arc<Plan>,
    pub protocol: &'static Protocol,
    /// The run's description for the judge.
    pub header: Header,
    /// Hash, number of events, and times.
    pub facts: RunFacts,
    /// The verdict, invariants and figures.
    pub judgement: Judgement,
    /// What the text report shows, if that or a page was requested.
    pub highlights: Option<Highlights>,
    /// The run's HTML page, if requested.
    pub page: Option<Sheet>,
    /// What its page shows of its futures; see [`crate::reduce::futures`].
    pub futures: Option<Futures>,
    /// Whether the run ended early because the program was asked to end.
    pub cut_short: bool,
    /// The events, if requested and not too many.
    pub kept: Option<Vec<Event>>,
    /// The coverage marks that it reached.
    pub marks: Marks,
    /// What its programs printed, if its candidates were programs.
    pub printed: Vec<Line>,
    /// Their sends, if requested.
    pub sent: Vec<Sent>,
    /// Whether the store accepted a write of which nobody can tell to which leadership it belongs.
    pub untold: bool,
    /// Requests that a model refused because it does not know them, each once.
    pub refused: Vec<String>,
    /// The number of faults that struck; a triggered fault may wait until the run ends.
    pub faults: u64,
    /// The named points that were passed, if requested, in order.
    pub passed: Vec<Passed>,
}

impl Run {
    /// The hash over everything that happened.
    pub fn trace_hash(&self) -> &str {
        self.facts.trace_hash.as_deref().unwrap_or_default()
    }
}

/// What was violated although nobody can tell whose some writes were is a violation all the same.
fn shows_nothing_if(untold: bool, judgement: &mut Judgement) {
    if untold && judgement.violated().next().is_none() {
        judgement.shows_nothing(UNTOLD.to_owned());
    }
}

/// The bound on clock drift, for reports; `None` unless reads are served from memory under a lease.
fn read_lease(plan: &Plan, protocol: &Protocol) -> Option<ReadLease> {
    let ms = |ns: u64| ns as f64 / 1e6;
    read_lease::of_plan(plan, protocol).map(|bound| ReadLease {
        leader_ms: ms(bound.leader),
        others_ms: ms(bound.others),
        takeover_min_ms: ms(bound.takeover),
        holds_up_to_ppm: bound.holds_up_to_ppm,
    })
}

fn counting(mut world: World, sends: bool, points: bool, leader_key: Option<(String, String)>) -> World {
    if sends {
        world.count_sends();
    }
    if points {
        world.count_points();
    }
    if let Some((service, key)) = leader_key {
        world.elect_by(&service, key);
    }
    world
}

/// Executes `plan`, which is valid in the registry, in a separate thread.
///
/// # Errors
/// The harness or code under test panicked, or a requested output could not be written.
pub fn run(plan: &Plan, options: Options) -> Result<Run, Failed> {
    let started = Instant::now();
    let (plan, registry) = (Arc::new(plan.clone()), &options.registry);
    let protocol = registry.plans.protocol(&plan.protocol)?;
    let topology = Arc::new(registry.plans.topology(&plan, protocol)?);
    let header = plan.header_of(protocol, &topology);
    let fleet = Fleet::new(plan.clone(), topology.clone(), registry)?;
    // A page knows what the text report shows.
    let timeline = options.timeline && !options.page;
    let make_world = {
        let mut listeners = Listeners::new(&header, &registry.invariants, timeline, options.history);
        listeners.pages = options.page.then(|| Pages::new(Some(&header)));
        (listeners.kept, listeners.kept_max) = ((options.keep > 0).then(Vec::new), options.keep);
        let mut recorder = if options.alone { Recorder::beside(listeners)? } else { Recorder::new(listeners) };
        recorder.now_us = options.now_us;
        recorder.stops = options.stops;
        let (plan, sends, points) = (plan.clone(), options.count_sends, options.count_points);
        let leader_key = registry.program.as_ref().filter(|_| protocol.is_program()).and_then(|p| p.leader_key());
        move || {
            let world = World::new(plan, protocol, topology, options.driver, recorder, options.trace);
            counting(world, sends, points, leader_key)
        }
    };
    let finished = host::run(plan.seed, make_world, Box::new(move |node| fleet.start(node)))?;
    let Finished { trace_hash, trace_error, events, recorder, marks, programs, passed } = *finished;
    let faults = recorder.faults;
    let Listeners { judges, stories, pages, history, kept, .. } = recorder.finish()?;
    if let Some(error) = trace_error {
        return Err(Failed::Harness(format!("cannot write the trace: {error}")));
    }
    if let Some(history) = history {
        history.finish().map_err(|e| Failed::Harness(format!("cannot write the history: {e}")))?;
    }
    let mut judgement = judges.finish();
    let cut_short = judgement.end_us < plan.duration_ms.saturating_mul(1_000);
    if cut_short {
        judgement.cut_short(plan.duration_ms.saturating_mul(1_000));
    }
    let Programs { printed, sent, untold, refused, .. } = programs;
    let (sent, untold) = (sent.unwrap_or_default(), untold > 0);
    shows_nothing_if(untold, &mut judgement);
    let (highlights, page) = pages.map(|pages| pages.into_both(&judgement)).unzip();
    let highlights = highlights.or_else(|| stories.map(|stories| stories.into_telling(&judgement)));
    let facts = RunFacts {
        trace_hash: Some(trace_hash),
        events: Some(events),
        simulated_ms: Some(judgement.end_us / 1_000),
        read_lease: read_lease(&plan, protocol),
        wall_ms: Some(started.elapsed().as_millis() as u64),
    };
    Ok(Run {
        plan,
        protocol,
        header,
        facts,
        judgement,
        highlights,
        page,
        futures: None,
        cut_short,
        kept,
        marks,
        printed,
        sent,
        untold,
        refused,
        faults,
        passed,
    })
}
