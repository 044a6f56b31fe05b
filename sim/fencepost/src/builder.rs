//! How a check is described.

use crate::{
    Checked, Failure, Survey,
    again::{Again, Asked},
    scenarios::{CLOCK_SET_BACK, EVERY_SEND, EXHAUSTIVE, Scenario, TAKEOVERS},
    services::{Service, Store},
    trial::{Sends, Trial},
};
use fencepost_libc::main_of;
use fencepost_process::Main;
use protocols::election::program as fleet;
use sim::{
    program::{self, Accepts, Database, Pattern, Program},
    registry::Registry,
};
use std::{num::NonZero, ops::Range, panic::Location, process::Termination, thread, time::Duration};

/// A world with services, a store and the processes of one's own service; see the [crate](crate).
#[must_use = "`check` runs it"]
#[derive(Default)]
pub struct World {
    services: Vec<Service>,
    store: Option<Store>,
    fleet: Option<Fleet>,
    env: Vec<(String, String)>,
    leads_when: Vec<String>,
    stops_when: Vec<String>,
    belief_overlap: Option<Duration>,
    scenarios: Vec<Scenario>,
    every_scenario: bool,
    swarm: Option<Range<u64>>,
    seeds: Option<Range<u64>>,
    before: Vec<Sends>,
    exhaustive: Option<u64>,
    shrink_runs: Option<u64>,
    jobs: Option<usize>,
}

struct Fleet {
    nodes: u16,
    main: Main,
}

/// How many runs the search for the smallest plan may take.
const SHRINK_RUNS: u64 = 60;
/// The seeds of a check that names none.
const SEEDS: Range<u64> = 0..20;

impl World {
    pub fn new() -> World {
        World::default()
    }

    /// Adds a service. It answers at its usual name and port.
    pub fn service(mut self, service: Service) -> World {
        self.services.push(service);
        self
    }

    /// The resource that leaders write to: a [`store`](crate::store), which is also there if none is named, or a
    /// [`database`](crate::database).
    pub fn store(self, store: impl Into<Store>) -> World {
        World { store: Some(store.into()), ..self }
    }

    /// So many processes, named `n1`, `n2` and so on, each of which runs this `main` as it is. A closure may not capture
    /// anything: it runs in another process.
    pub fn fleet<F, T>(self, nodes: u16, main: F) -> World
    where
        F: Fn() -> T + Copy + 'static,
        T: Termination,
    {
        World { fleet: Some(Fleet { nodes, main: main_of(main) }), ..self }
    }

    /// A variable in the environment of every process. There is no other but `HOSTNAME`, the process's name.
    pub fn env(mut self, name: &str, value: &str) -> World {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A process leads when it prints a line with this part, which may have `{token}` in it: `leads with token {token}`.
    /// Such a line is printed once for each leadership. Without tokens, nothing else tells one leadership from the next.
    pub fn leads_when(mut self, line: &str) -> World {
        self.leads_when.push(line.to_owned());
        self
    }

    /// A process leads no more when it prints a line with this part.
    pub fn stops_when(mut self, line: &str) -> World {
        self.stops_when.push(line.to_owned());
        self
    }

    /// Two running processes may believe that they lead at the same time for so long, as their lines say. Without this,
    /// beliefs may overlap as they like: only effects are judged.
    pub fn belief_overlap(self, most: Duration) -> World {
        World { belief_overlap: Some(most), ..self }
    }

    /// Runs each of these scenarios at each seed.
    pub fn scenarios(mut self, scenarios: impl IntoIterator<Item = Scenario>) -> World {
        self.scenarios.extend(scenarios);
        self
    }

    /// Runs every scenario of Fencepost that applies to programs with these services.
    pub fn every_scenario(self) -> World {
        World { every_scenario: true, ..self }
    }

    /// Runs a drawn plan for each of these seeds: several faults at once, on any process, and then quiet for long enough
    /// that somebody must write again.
    pub fn swarm(self, seeds: Range<u64>) -> World {
        World { swarm: Some(seeds), ..self }
    }

    /// The seeds of scenarios; 0..20 if none are named.
    pub fn seeds(self, seeds: Range<u64>) -> World {
        World { seeds: Some(seeds), ..self }
    }

    /// Runs once for each send of the first leader, from its start until it could have been replaced, and stops it there
    /// for longer than it takes until another leads: wherever it can be caught between checking and writing.
    pub fn pause_before_every_send(mut self) -> World {
        self.before.push(Sends::Every);
        self
    }

    /// The same for those sends only that have this text among their first 512 bytes: `COMMIT`, or `PUT /sequence`. Clients
    /// that compress what they send, such as those of gRPC, may not show it.
    pub fn pause_before_sends(mut self, matching: &str) -> World {
        self.before.push(Sends::With(matching.to_owned()));
        self
    }

    /// Runs once for each send of each process until the first leader could have been replaced, and each of five lengths: a
    /// little shorter than the soonest takeover that was measured, that, the longest, a little longer, and three times as
    /// long. And so many runs in which a second process is stopped, before any send after a takeover, evenly chosen of all.
    /// [`Checked::exhausted`] says what was covered.
    pub fn exhaustive(self, pairs: u64) -> World {
        World { exhaustive: Some(pairs), ..self }
    }

    /// Looks for the smallest plan that fails the same way in at most so many runs; 60 if it is not said, and 0 for not at
    /// all.
    pub fn shrink_runs(self, runs: u64) -> World {
        World { shrink_runs: Some(runs), ..self }
    }

    /// At most so many runs at a time; as many as there are cores if it is not said.
    pub fn jobs(self, jobs: usize) -> World {
        World { jobs: Some(jobs), ..self }
    }

    /// Runs everything, and returns what was run.
    ///
    /// # Panics
    /// A run violated an invariant, a scenario showed nothing, or the world could not be made; the message says what to
    /// do.
    #[track_caller]
    pub fn check(self) -> Checked {
        match self.try_check() {
            Ok(checked) => checked,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// As [`World::check`], with the failure as a value.
    ///
    /// # Errors
    /// What [`World::check`] panics with.
    #[track_caller]
    pub fn try_check(self) -> Result<Checked, Failure> {
        let again = Again::new(Location::caller());
        let trial = self.trial(again)?;
        match Asked::plan()? {
            Some(asked) => trial.repeat(&asked),
            None => trial.all(),
        }
    }

    /// Runs everything that [`World::check`] would run, and counts what came of it instead of stopping at the first run that is
    /// broken. A service that is not safe by itself is surveyed, too.
    ///
    /// # Errors
    /// Nobody wrote, nobody took over, or a run could not be made.
    #[track_caller]
    pub fn survey(self) -> Result<Survey, Failure> {
        let again = Again::new(Location::caller());
        Trial { tolerates: true, ..self.trial(again)? }.survey()
    }

    fn makes_sense(&self, seeds: &Range<u64>) -> Result<(), Failure> {
        let nothing = self.scenarios.is_empty()
            && !self.every_scenario
            && self.before.is_empty()
            && self.swarm.is_none()
            && self.exhaustive.is_none();
        let unsaid = self.leads_when.is_empty() || self.stops_when.is_empty();
        let wrong = if seeds.is_empty() {
            format!("there are no seeds in {}..{}", seeds.start, seeds.end)
        } else if nothing {
            "nothing happens; name `scenarios`, or `pause_before_every_send`".to_owned()
        } else if self.before.contains(&Sends::With(String::new())) {
            "every send has an empty text in it; use `pause_before_every_send`".to_owned()
        } else if self.services.iter().any(|s| s.service.is_embedded && (s.members.is_some() || s.leader_key.is_some()))
        {
            "`quorum()` has neither members nor a key: the fleet itself elects, of so many as `fleet` says".to_owned()
        } else if self.belief_overlap.is_some() && unsaid {
            "nothing says who believes; name lines with `leads_when` and `stops_when`".to_owned()
        } else {
            return Ok(());
        };
        Err(Failure::wrong(wrong))
    }

    fn trial(self, again: Again) -> Result<Trial, Failure> {
        let Some(Fleet { nodes, main }) = self.fleet else {
            return Err(Failure::wrong("there is no fleet; name the processes with `fleet(3, my_service::main)`"));
        };
        let seeds = self.seeds.clone().unwrap_or(SEEDS);
        self.makes_sense(&seeds)?;
        let store = self.store.unwrap_or(crate::store());
        let mut tokened = store.fencing.checks().token;
        let mut program = Program::new(main).map_err(Failure::wrong)?.restarted();
        if let Some(crate::Database { table, token, schema }) = &store.database {
            let database = Database::new(table, token.as_deref(), schema).map_err(Failure::wrong)?;
            program = program.writes_to(database);
        }
        if let Some(crate::Own { main, accepts_when }) = &store.own {
            if accepts_when.is_empty() {
                return Err(Failure::wrong("the store is a program; name the line of a write with `accepts_when`"));
            }
            let accepts: Result<_, _> = accepts_when.iter().map(|line| Accepts::new(line)).collect();
            program = program.served_by(program::Own::new(*main, accepts.map_err(Failure::wrong)?));
        }
        let leader_key = leader_key(&self.services)?;
        if let Some((service, key)) = leader_key {
            program = program.elects_by(service, key);
        }
        for (name, value) in &self.env {
            program = program.with_env(name, value);
        }
        for line in &self.leads_when {
            let pattern = Pattern::new(line).map_err(Failure::wrong)?;
            tokened = pattern.has_token();
            program = program.leads_when(pattern);
        }
        for line in &self.stops_when {
            program = program.stops_when(Pattern::new(line).map_err(Failure::wrong)?);
        }
        let services: Vec<_> = self.services.iter().map(|service| service.service).collect();
        let registry = Registry::default().with_program(program, &services, tokened).map_err(Failure::wrong)?;
        let added = [&EVERY_SEND, &EXHAUSTIVE, &TAKEOVERS, &CLOCK_SET_BACK];
        let registry = added.into_iter().try_fold(registry, Registry::with_scenario);
        let registry = registry.map_err(Failure::wrong)?;
        let jobs = self.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
        Ok(Trial {
            protocol: fleet::of(&services, tokened),
            members: self.services.iter().filter_map(|s| Some((s.service.process?.to_owned(), s.members?))).collect(),
            registry,
            observed: !self.leads_when.is_empty(),
            leader_key,
            nodes,
            fencing: store.fencing,
            table: store.database.map(|database| database.table),
            scenarios: self.scenarios,
            every_scenario: self.every_scenario,
            swarm: self.swarm.unwrap_or(0..0),
            seeds,
            before: self.before,
            exhaustive: self.exhaustive,
            tolerates: false,
            belief_overlap_ms: self.belief_overlap.map(|most| most.as_secs_f64() * 1e3),
            shrink_runs: self.shrink_runs.unwrap_or(SHRINK_RUNS),
            jobs: jobs.max(1),
            again,
        })
    }
}

/// The service that elects, by its process, and its key.
fn leader_key(services: &[Service]) -> Result<Option<(&'static str, &'static str)>, Failure> {
    let mut keys = services.iter().filter_map(|s| Some((s, s.service.process?, s.leader_key?)));
    let Some((service, process, key)) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return Err(Failure::wrong("two services have a `leader_key`; name the one by which the processes elect"));
    }
    if key.is_empty() {
        return Err(Failure::wrong(format!("the `leader_key` of {process} is empty")));
    }
    if service.service.name == protocols::service::postgres::SESSIONS.name && key.parse::<i64>().is_err() {
        return Err(Failure::wrong(format!(
            "the `leader_key` of {process} is the number of an advisory lock, and `{key}` is none"
        )));
    }
    Ok(Some((process, key)))
}
