//! A check as described, its plans, and one run.

use crate::{
    Exhausted, Failure,
    again::Again,
    exhaustive,
    failure::Kind,
    scenarios::{EVERY_SEND, EXHAUSTIVE, Scenario},
    swarm,
    tempo::{Send, Tempo},
};
use protocols::{
    election::Protocol,
    fence::checks::Fencing,
    history::{Fact, Requirement},
    types::NodeId,
};
use reports::Verdict;
use scenarios::{
    Params, Plan,
    fault::Trigger,
    plan,
    scenario::{self, program::paused_before_send},
    streams, suggest, triggers,
};
use sim::{
    program::{From, Line},
    recorder::KEPT_MAX,
    registry::Registry,
    run::{self, Options, Run},
};
use std::ops::Range;

/// A check, as described.
pub struct Trial {
    pub registry: Registry,
    pub protocol: &'static Protocol,
    /// The number of members of services, where it is not the usual.
    pub members: Vec<(String, u16)>,
    pub nodes: u16,
    /// Whether lines say who leads.
    pub observed: bool,
    /// The service whose key says who leads, and the key.
    pub leader_key: Option<(&'static str, &'static str)>,
    pub fencing: Fencing,
    /// The table that the leader writes to, if the store is a database.
    pub table: Option<String>,
    pub scenarios: Vec<Scenario>,
    pub every_scenario: bool,
    pub swarm: Range<u64>,
    pub seeds: Range<u64>,
    /// Before which sends of the first leader it is stopped.
    pub before: Vec<Sends>,
    /// Whether every process is stopped before every send, and how many second pauses follow a takeover.
    pub exhaustive: Option<u64>,
    /// Whether two leaders may take effect before anything has happened.
    pub tolerates: bool,
    pub belief_overlap_ms: Option<f64>,
    pub shrink_runs: u64,
    pub jobs: usize,
    pub again: Again,
}

/// Sends of the first leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sends {
    Every,
    /// Those with this text in them.
    With(String),
}

impl Sends {
    fn are(&self, send: &Send) -> bool {
        match self {
            Sends::Every => true,
            Sends::With(text) => triggers::contains(&send.head, text.as_bytes()),
        }
    }
}

/// One seed in so many is run for so long that nobody could stay silent for ever.
const LIVENESS_EVERY: u64 = 4;
/// How often a plan is drawn until it is valid.
const REDRAWN: u64 = 100;
/// The most sends before which the leader is stopped.
const SENDS_MAX: usize = 400;

/// What a finished run says.
pub struct Ran {
    pub plan: Plan,
    pub verdict: Verdict,
    pub violated: Vec<&'static str>,
    /// Why it shows nothing, if so.
    pub nothing: String,
    pub trace_hash: String,
    pub refused: Vec<String>,
}

impl Trial {
    pub fn one(&self, plan: &Plan) -> Result<Ran, Failure> {
        let run = self.run(plan, Options { registry: self.registry.clone(), ..Options::default() })?;
        let ran = self.judged(&run);
        // A scenario that did not arise may arise at another seed. A write of nobody knows whom could be anything.
        match run.untold && ran.verdict == Verdict::Vacuous {
            true => Err(Failure::new(Kind::Inconclusive, inconclusive(&plan.scenario, &ran.nothing))),
            false => Ok(ran),
        }
    }

    pub fn judged(&self, run: &Run) -> Ran {
        let nothing = run.judgement.invariant("vacuity").map_or(String::new(), |vacuity| vacuity.detail.to_string());
        Ran {
            plan: (*run.plan).clone(),
            verdict: run.judgement.verdict,
            violated: run.judgement.violated().collect(),
            nothing,
            trace_hash: run.trace_hash().to_owned(),
            refused: refused(run),
        }
    }

    /// A run whose events and sends are kept.
    pub fn run_counting(&self, plan: &Plan) -> Result<Run, Failure> {
        let registry = self.registry.clone();
        self.run(plan, Options { registry, keep: KEPT_MAX, count_sends: true, ..Options::default() })
    }

    fn run(&self, plan: &Plan, options: Options) -> Result<Run, Failure> {
        run::run(plan, options).map_err(|why| Failure::harness(format!("a run could not be finished: {why}")))
    }

    /// What processes printed, one line each; of many lines the last ones before `until`, in nanoseconds.
    pub fn printed(&self, run: &Run, last: Option<(usize, u64)>) -> String {
        let (most, until) = last.unwrap_or((usize::MAX, u64::MAX));
        let lines: Vec<&Line> = run.printed.iter().filter(|line| line.now <= until).collect();
        let line = |line: &&Line| {
            let name =
                run.plan.candidates.get(line.node.index()).map_or(plan::STORE, |candidate| candidate.name.as_str());
            format!("  {:>10.6} {name} {}\n", line.now as f64 / 1e9, said(line))
        };
        let text: String = lines[lines.len().saturating_sub(most)..].iter().map(line).collect();
        let printed = match text.is_empty() {
            true => "The processes printed nothing.\n".to_owned(),
            false if lines.len() > most => format!("The last that the processes printed:\n{text}"),
            false => format!("The processes printed:\n{text}"),
        };
        printed + &not_modelled(run)
    }

    /// How many sends before which it is to be stopped the first leader makes until it could have been replaced.
    pub fn sends(&self, tempo: &Tempo) -> usize {
        self.before.iter().map(|which| meant(which, tempo).count()).sum()
    }

    /// The plan in which the service is watched.
    pub fn steady(&self) -> Result<Plan, Failure> {
        self.plan("steady", None, self.seeds.start)
    }

    /// A plan in which nothing happens yet.
    fn quiet(&self, tempo: &Tempo, seed: u64) -> Result<Plan, Failure> {
        self.plan(EVERY_SEND.name, Some(tempo), seed)
    }

    /// What the fleet's processes sent.
    pub fn sent(&self, run: &Run) -> Vec<Send> {
        let by = |node: NodeId| run.plan.candidates.get(node.index()).map(|candidate| candidate.name.clone());
        let sent = run.sent.iter();
        sent.filter_map(|sent| Some(Send { by: by(sent.node)?, at_ms: sent.now as f64 / 1e6, head: sent.head.clone() }))
            .collect()
    }

    /// Every run that was asked for, and what an exhaustive search is to cover.
    pub fn plans(&self, tempo: &Tempo) -> Result<(Vec<Plan>, Option<Exhausted>), Failure> {
        let mut plans = Vec::new();
        for Scenario(name) in &self.scenarios {
            for seed in self.seeds.clone() {
                plans.push(self.plan(name, Some(tempo), seed)?);
            }
        }
        if self.every_scenario {
            let known = self.registry.plans.scenarios.iter().map(|scenario| scenario.name);
            let ours = [EVERY_SEND.name, EXHAUSTIVE.name];
            let others = known.filter(|name| !ours.contains(name) && !self.scenarios.iter().any(|s| s.0 == *name));
            for name in others {
                // Those that do not apply say so by the plan's error.
                let all: Result<Vec<Plan>, _> =
                    self.seeds.clone().map(|seed| self.plan(name, Some(tempo), seed)).collect();
                plans.extend(all.unwrap_or_default());
            }
        }
        for seed in self.swarm.clone() {
            plans.push(self.drawn(tempo, seed)?);
        }
        for which in &self.before {
            plans.extend(self.paused_before_sends(tempo, which)?);
        }
        let mut exhausted = None;
        if let Some(pairs) = self.exhaustive {
            let quiet = self.quiet(tempo, self.seeds.start)?;
            let sends_of = |plan: &Plan| self.run_counting(plan).map(|run| self.sent(&run));
            let (stopped, covered) = exhaustive::plans(quiet, tempo, pairs, sends_of)?;
            plans.extend(stopped);
            exhausted = Some(covered);
        }
        match plans.is_empty() {
            true => Err(Failure::wrong("there is nothing to run: no seed, no send and no scenario that applies")),
            false => Ok((plans, exhausted)),
        }
    }

    fn plan(&self, name: &str, tempo: Option<&Tempo>, seed: u64) -> Result<Plan, Failure> {
        let known = &self.registry.plans.scenarios;
        let Some(scenario) = known.iter().find(|scenario| scenario.name == name) else {
            let names: Vec<&str> = known.iter().map(|scenario| scenario.name).collect();
            return Err(Failure::wrong(suggest::unknown("scenario", name, &names)));
        };
        let params = self.params(tempo);
        let mut plan = scenario.compile(&params, self.protocol, seed).map_err(|why| Failure::wrong(why.0))?;
        plan.service_members.extend(self.members.iter().cloned());
        plan.dual_belief_bound_ms = self.belief_overlap_ms;
        if let Some(tempo) = tempo {
            let settled_ms = scenario::settled_ms(&params, self.protocol) as f64;
            let by_ms = (tempo.acted_ms + tempo.between_ms - settled_ms).max(0.0).ceil();
            let mut random = streams::stream(seed, "sends");
            plan.duration_ms += by_ms as u64;
            for planned in &mut plan.faults {
                match &mut planned.when {
                    Trigger::At { ms } => *ms += by_ms,
                    Trigger::Passage { nth, after, .. } => {
                        *nth = streams::between(&mut random, 1, tempo.sends());
                        *after = Some(Box::new(Trigger::At { ms: settled_ms + by_ms }));
                    }
                }
            }
            let longer_ms = tempo.bound_ms().saturating_sub(plan.liveness_bound_ms);
            plan.liveness_bound_ms = tempo.bound_ms();
            plan.duration_ms += if (seed - self.seeds.start) % LIVENESS_EVERY == 0 { longer_ms } else { 0 };
        }
        self.registry.plans.validate(&plan).map_err(|why| Failure::wrong(why.0))?;
        Ok(plan)
    }

    fn params(&self, tempo: Option<&Tempo>) -> Params {
        let lease_ttl_ms = tempo.map(|tempo| (tempo.takeover_ms.ceil() as u64).max(3));
        Params {
            nodes: self.nodes,
            fencing: self.fencing,
            lease_ttl_ms,
            pause_ms: tempo.map(Tempo::pause_ms),
            // Nobody asks programs for anything, and they read from their own memory as they like.
            read_lease: Some(false),
            reads_per_s: Some(0),
            ..Params::default()
        }
    }

    fn drawn(&self, tempo: &Tempo, seed: u64) -> Result<Plan, Failure> {
        let quiet = self.quiet(tempo, seed)?;
        let has_services = !self.protocol.service.is_none();
        let plan = |attempt| swarm::plan(quiet.clone(), tempo, has_services, seed, attempt);
        // Of two drawn faults, one may mean nothing beside the other, and then both are drawn again.
        let valid = (0..REDRAWN).map(plan).find(|plan| self.registry.plans.validate(plan).is_ok());
        valid.ok_or_else(|| Failure::harness(format!("no valid plan was drawn for seed {seed}")))
    }

    /// One plan for each of these sends of the first leader.
    fn paused_before_sends(&self, tempo: &Tempo, which: &Sends) -> Result<Vec<Plan>, Failure> {
        let quiet = self.quiet(tempo, self.seeds.start)?;
        let pause_ms = tempo.pause_ms();
        let matching = match which {
            Sends::Every => None,
            Sends::With(text) => Some(text.clone()),
        };
        if meant(which, tempo).next().is_none() {
            let (name, text) = (&tempo.leader, matching.unwrap_or_default());
            let why = format!("INCONCLUSIVE: {name} leads, and none of its sends has {text:?} in its first 512 bytes");
            return Err(Failure::new(Kind::Inconclusive, why));
        }
        let plan = |(place, send): (usize, &Send)| {
            let (nth, matching) = (place as u64 + 1, matching.clone());
            let plan = paused_before_send(quiet.clone(), &tempo.leader, nth, matching, pause_ms as f64);
            // Once it leads, another has to take over. Before, another may lead from the start.
            let leaders = if send.at_ms > tempo.acted_ms { 2 } else { 1 };
            Plan {
                duration_ms: (send.at_ms + pause_ms as f64 + tempo.takeover_ms).ceil() as u64 + 3_000,
                requires: [(Fact::Pauses, 1), (Fact::LeadersTookEffect, leaders)]
                    .map(|(fact, at_least)| Requirement { fact, at_least })
                    .into(),
                ..plan
            }
        };
        Ok(meant(which, tempo).take(SENDS_MAX).enumerate().map(plan).collect())
    }
}

/// These sends of the first leader, until it could have been replaced.
fn meant<'a>(which: &'a Sends, tempo: &'a Tempo) -> impl Iterator<Item = &'a Send> {
    let until_ms = tempo.replaced_ms();
    tempo.sent_by_leader().take_while(move |send| send.at_ms <= until_ms).filter(|send| which.are(send))
}

pub fn inconclusive(scenario: &str, why: &str) -> String {
    format!("INCONCLUSIVE: {scenario} shows nothing: {why}")
}

/// The calls and requests of a run that are not simulated, each once.
pub fn refused(run: &Run) -> Vec<String> {
    let mut refused: Vec<String> = Vec::new();
    let calls = run.printed.iter().filter(|line| line.from == From::Refused).map(|line| &line.text);
    for sentence in calls.chain(&run.refused) {
        if !refused.contains(sentence) {
            refused.push(sentence.clone());
        }
    }
    refused
}

/// What models refused, and a real service would have answered.
fn not_modelled(run: &Run) -> String {
    let sentences: String = run.refused.iter().map(|sentence| format!("  {sentence}\n")).collect();
    match sentences.is_empty() {
        true => sentences,
        false => {
            format!("A real service would have answered this, so what a process did then is no finding:\n{sentences}")
        }
    }
}

/// A line, with where it comes from if that is not standard output.
fn said(line: &Line) -> String {
    match line.from {
        From::Output => line.text.clone(),
        From::Error => format!("[stderr] {}", line.text),
        From::Refused => format!("[not simulated] {}", line.text),
        From::End => format!("[ended: {}]", line.text),
    }
}
