//! Plays a drill's plan, and notes what happens.

mod clocks;
mod links;
mod run;
mod service;

use super::{
    clock::Unnoticed,
    ear::{Ear, Said},
    file::{File, Store},
    kept::last_lines,
    load::Load,
    scenario::{Plan, Scenario},
    stage::{Places, Stage},
    story::{self, Facts, Note},
    unheard::Unheard,
};
use crate::{
    error::Failed,
    proxy::Answer,
    stalls::{Stalls, Watch},
};
use logs::Says;
use protocols::history::{NodeState, Phase};
use protocols_real::log::true_time_us;
use run::{Arm, OVERLAP, Run};
use scenarios::fault::{Fault, Who};
use std::{path::PathBuf, time::Duration};

/// How long a fleet may take to start, elect and write.
const BEGINS_WITHIN: Duration = Duration::from_secs(90);
/// How long members may write before one of them says that it leads.
const UNHEARD: Duration = Duration::from_secs(10);
/// How long everybody is watched after the last fault.
const SETTLES: Duration = Duration::from_secs(4);
/// What came of a drill.
pub struct Drilled {
    /// The run's history.
    pub history: PathBuf,
    pub stalls: Stalls,
    /// How long it took.
    pub lasted: Duration,
    /// Whether a write was held back, and what the store did with it in the end.
    pub held: Option<Held>,
    /// Why it shows nothing, if it shows no violation.
    pub doubt: Option<String>,
    /// Such a fleet does not meet the fault: no process looks at a clock, or the leader does not wait for late answers.
    pub unmet: bool,
    /// No member has said that it stopped leading, although there is text for that.
    pub unheard: Option<Unheard>,
}

/// What became of a write that was held back until a successor had written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    Accepted,
    /// The store has refused it.
    Refused,
    /// The store has not taken it, and has not refused it: it may have been withdrawn, or lost.
    Unknown,
    /// No successor wrote before it had to be let go.
    NoSuccessor,
    /// The leader did not write.
    NoWrite,
}

/// Plays `plan`; see [`super::drill`].
pub async fn play(file: &File, plan: &Plan, places: &Places, ear: Ear) -> Result<Drilled, Failed> {
    let (stage, heard) = Stage::start(file, plan.scenario, places).await?;
    let folder = &places.folder;
    let watch = Watch::start(folder).map_err(Failed::cannot(format!("write into {}", folder.display())))?;
    let start_us = true_time_us();
    let mut run = Run::new(file, stage, heard, ear);
    run.load = file.load.as_ref().map(|load| Load::start(load, &run.stage, places)).transpose()?;
    let struck = run.whole(plan).await;
    let end_us = true_time_us();
    let stalls = watch.end();
    let silent = run.load.take().and_then(|mut load| load.ended());
    let Run { stage, notes, unjudged, .. } = run;
    let names: Vec<String> = stage.members.iter().map(|member| member.name.clone()).collect();
    let log = |index: usize| (names[index].clone(), stage.members[index].log().to_owned());
    let preset = file.log.preset.as_deref().and_then(|name| logs::preset(name).ok());
    let deposes = preset.is_some_and(|preset| preset.phrases.iter().any(|(says, _)| *says == Says::Deposed));
    let says = deposes || !file.log.deposed.is_empty();
    let unheard = if says { Unheard::of(&notes, start_us, log) } else { None };
    stage.end().await;
    let Struck { held, replaced, unnoticed } = struck?;
    let facts = Facts { file, plan, names, start_us };
    let history = folder.join("history.jsonl");
    let doubt = story::write(&facts, notes, held == Some(Held::Refused), &history)?;
    let unjudged = unjudged.map(|command| {
        format!("a member sent {command} to keys that are judged, and whether that has written is not to be seen")
    });
    let unmet = unnoticed.as_ref().is_some_and(|unnoticed| unnoticed.unmet);
    let unnoticed = unnoticed.map(|unnoticed| unnoticed.why);
    let doubt =
        unnoticed.or(of_the_fault(plan.scenario, held, replaced).map(str::to_owned)).or(doubt).or(unjudged).or(silent);
    Ok(Drilled { history, stalls, lasted: Duration::from_micros(end_us - start_us), held, doubt, unmet, unheard })
}

/// Why the fault shows nothing.
fn of_the_fault(scenario: Scenario, held: Option<Held>, replaced: bool) -> Option<&'static str> {
    match held {
        Some(Held::NoWrite) => Some("the leader sent no write that could be held back"),
        Some(Held::Unknown) => Some("the write that was held back was neither accepted nor refused once it was let go"),
        Some(Held::Accepted) => Some("the write that was held back was accepted"),
        _ if scenario.replaces() && !replaced => Some("no other member wrote while the leader was struck"),
        _ => None,
    }
}

/// What came of the fault.
#[derive(Default)]
struct Struck {
    held: Option<Held>,
    /// Another member has written meanwhile.
    replaced: bool,
    /// Why the fault was none.
    unnoticed: Option<Unnoticed>,
}

impl Struck {
    /// Of a fault that replaces nobody.
    fn unless(unnoticed: Option<Unnoticed>) -> Struck {
        Struck { unnoticed, ..Struck::default() }
    }
}

impl Run<'_> {
    async fn whole(&mut self, plan: &Plan) -> Result<Struck, Failed> {
        for index in 0..self.stage.members.len() {
            self.stage.start_member(index)?;
            self.note(Note::Node(index, NodeState::Up));
        }
        let begun =
            |run: &Run| run.leaders.last().is_some_and(|leader| run.rows[*leader] > 0) && run.unready().is_none();
        self.until(BEGINS_WITHIN, |run| begun(run) || run.writes_unheard()).await?;
        if !begun(self) {
            return Err(self.nobody_began());
        }
        self.wait(Duration::from_millis(plan.works_ms)).await?;
        let Some(leader) = self.leader().await? else { return Err(self.nobody_began()) };
        let struck = self.strike(plan, leader).await?;
        self.wait(SETTLES).await?;
        self.note(Note::End);
        Ok(struck)
    }

    /// A member that has not started, or that neither leads nor has said that it can take over, if the file says by what that is
    /// known; and where it does.
    fn unready(&self) -> Option<(usize, &'static str)> {
        let starts = self.file.fleet.ready.is_some();
        let starting = (0..self.ready.len()).find(|member| starts && !self.stage.members[*member].ready.is_set());
        let says = !self.file.log.ready.is_empty();
        let waits = |member: &usize| says && !self.ready[*member] && !self.leaders.contains(member);
        let waiting = || (0..self.ready.len()).find(waits).map(|member| (member, "cannot take over, by `[log] ready`"));
        starting.map(|member| (member, "is not ready, by `[fleet] ready`")).or_else(waiting)
    }

    /// Whether members write, and none has said that it leads, for a while.
    fn writes_unheard(&self) -> bool {
        let said = self.notes.iter().any(|noted| matches!(noted.note, Note::Said(..)));
        let wrote = self.notes.iter().find(|noted| matches!(noted.note, Note::Row { .. })).map(|noted| noted.t_us);
        !said && wrote.is_some_and(|wrote| Duration::from_micros(true_time_us().saturating_sub(wrote)) > UNHEARD)
    }

    /// Who leads; if nobody does at the moment, or another one cannot take over, who does then.
    async fn leader(&mut self) -> Result<Option<usize>, Failed> {
        let led = |run: &Run| !run.leaders.is_empty() && run.unready().is_none();
        let led = self.until(self.file.fleet.within, led).await?;
        Ok(self.leaders.last().copied().filter(|_| led))
    }

    async fn strike(&mut self, plan: &Plan, leader: usize) -> Result<Struck, Failed> {
        let name = self.stage.members[leader].name.clone();
        let on = || Who::Named(name.clone());
        let replaced = match plan.scenario {
            Scenario::Steady => {
                self.wait(self.file.fleet.lease).await?;
                false
            }
            Scenario::CleanKill => {
                let fault = Fault::Kill { node: on(), restart_after_ms: None };
                self.begin(&fault, Phase::Once, &[leader]);
                self.kill(leader).await;
                let replaced = self.replaced(leader).await?;
                self.start_again(leader)?;
                replaced
            }
            Scenario::GracefulStepDown => self.asked_to_end(leader, &Fault::Resign { node: on() }).await?,
            Scenario::GcPauseBetweenWrites => {
                self.stop(leader).await?;
                self.paused(leader, on()).await?
            }
            Scenario::PauseAtLine => {
                self.pauses = Some(leader);
                let stopped = self.until(self.file.fleet.within, |run| run.pauses.is_none()).await?;
                stopped && self.paused(leader, on()).await?
            }
            Scenario::GcPause => return self.held(leader, plan.nth, on(), true).await,
            Scenario::LateWrite => return self.held(leader, plan.nth, on(), false).await,
            Scenario::IsolateLeader => self.isolated(leader, on()).await?,
            Scenario::LateAnswer => {
                let (replaced, unnoticed) = self.answers_late(leader, on()).await?;
                return Ok(Struck { held: None, replaced, unnoticed });
            }
            Scenario::ServiceRestart => return Ok(Struck::unless(self.service_restarts().await?)),
            Scenario::ServiceLeaderRestart => return Ok(Struck::unless(self.service_leader_restarts().await?)),
            Scenario::ServiceLeaderIsolated => return Ok(Struck::unless(self.service_leader_is_isolated().await?)),
            Scenario::ClockStep => return Ok(Struck::unless(self.clock_steps(leader).await?)),
            Scenario::ClockSkew => return Ok(Struck::unless(self.clocks_differ(leader).await?)),
        };
        Ok(Struck { replaced, ..Struck::default() })
    }

    /// The leader is asked to end, and left to do so for a lease after another one has written.
    async fn asked_to_end(&mut self, leader: usize, fault: &Fault) -> Result<bool, Failed> {
        self.begin(fault, Phase::Once, &[leader]);
        self.supervised = false;
        if let Some(process) = self.stage.members[leader].process() {
            process.ask_to_end().await?;
        }
        let replaced = self.replaced(leader).await?;
        self.until(self.file.fleet.lease, |run| run.down[leader].is_some()).await?;
        self.supervised = true;
        self.kill(leader).await;
        self.start_again(leader)?;
        Ok(replaced)
    }

    /// The leader has been stopped; it goes on once another one has written.
    async fn paused(&mut self, leader: usize, on: Who) -> Result<bool, Failed> {
        let fault = Fault::Pause { node: on, for_ms: 0.0 };
        let index = self.begin(&fault, Phase::Begin, &[leader]);
        let replaced = self.replaced(leader).await?;
        self.resume(leader).await?;
        self.end(index, &fault, &[leader]);
        Ok(replaced)
    }

    /// Holds back the leader's next `nth` write until a successor has written. Meanwhile the leader is stopped, or cut off
    /// from the service.
    async fn held(&mut self, leader: usize, nth: u64, on: Who, stopped: bool) -> Result<Struck, Failed> {
        self.arm = Some(Arm { member: leader, passes: nth - 1, held: None });
        let caught = |run: &Run| run.arm.as_ref().is_some_and(|arm| arm.held.is_some());
        if !self.until(self.file.fleet.within, caught).await? {
            self.arm = None;
            return Ok(Struck { held: Some(Held::NoWrite), ..Struck::default() });
        }
        let wire = Fault::Partition { from: vec![on.clone()], to: vec![Who::Store], one_way: true, for_ms: None };
        let fault = if stopped { Fault::Pause { node: on, for_ms: 0.0 } } else { links::isolation(on) };
        let on_wire = self.begin(&wire, Phase::Begin, &[leader]);
        match stopped {
            true => self.stop(leader).await?,
            false => self.stage.cut_off(leader, true),
        }
        let index = self.begin(&fault, Phase::Begin, &[leader]);
        let replaced = self.replaced(leader).await?;
        let (accepted, refused) = (self.rows[leader], self.refusals[leader]);
        self.answer = None;
        let mut port = 0;
        if let Some((of, go)) = self.arm.take().and_then(|arm| arm.held) {
            port = of;
            // The connection may have ended.
            let _ = go.send(());
        }
        self.end(on_wire, &wire, &[leader]);
        if stopped {
            self.resume(leader).await?;
            self.end(index, &fault, &[leader]);
        }
        let answer = |run: &Run| run.answer.filter(|(of, _)| *of == port).map(|(_, answer)| answer);
        let decided = move |run: &Run| {
            run.rows[leader] > accepted || run.refusals[leader] > refused || answer(run) == Some(Answer::Refused)
        };
        self.until(OVERLAP, decided).await?;
        let by_script = matches!(self.file.store, Store::Redis { .. }) && answer(self) == Some(Answer::Given);
        let has_row = self.refusals[leader] > refused;
        let refused = has_row || answer(self) == Some(Answer::Refused) || by_script;
        if !stopped {
            self.stage.cut_off(leader, false);
            self.end(index, &fault, &[leader]);
        }
        let held = match (replaced, self.rows[leader] > accepted) {
            (false, _) => Held::NoSuccessor,
            (true, true) => Held::Accepted,
            (true, false) if refused => {
                // The drill's own store has noted it itself.
                if !has_row {
                    self.note(Note::NotTaken(leader));
                }
                Held::Refused
            }
            (true, false) => Held::Unknown,
        };
        Ok(Struck { held: Some(held), replaced, unnoticed: None })
    }

    /// Waits until another member than `struck` has written, as long as the fleet may take.
    async fn replaced(&mut self, struck: usize) -> Result<bool, Failed> {
        self.rows.iter_mut().for_each(|rows| *rows = 0);
        let others = move |run: &Run| run.rows.iter().enumerate().any(|(index, rows)| index != struck && *rows > 0);
        self.until(self.file.fleet.within, others).await
    }

    fn nobody_began(&self) -> Failed {
        let writer = self.notes.iter().rev().find_map(|noted| match noted.note {
            Note::Row { member, .. } => Some(member),
            _ => None,
        });
        let led = self.notes.iter().rev().find_map(|noted| match noted.note {
            Note::Said(member, Said::Elected(_)) => Some(member),
            _ => None,
        });
        let resource = self.file.store.resource();
        let late = self.unready();
        let why = match (led, writer) {
            (_, None) if self.unjudged.is_some() => {
                let command = self.unjudged.as_deref().unwrap_or_default();
                format!("{command} was sent to `{resource}`, and whether that has written is not to be seen")
            }
            (_, Some(None)) => {
                format!("`{resource}` is written, but past the proxy: members reach the store at {{store}}")
            }
            (None, Some(_)) => {
                "a member writes, but has not said that it leads: compare `[log] elected` with its output".to_owned()
            }
            (None, None) => "no member has said that it leads, by `[log]`".to_owned(),
            (Some(leader), _) if self.rows[leader] > 0 => match late {
                Some((late, why)) => format!("{} {why}", self.stage.members[late].name),
                None => "no member leads any more, by `[log]`".to_owned(),
            },
            (Some(_), _) => format!("the leader has not written to `{resource}`"),
        };
        let whose = late.map(|(late, _)| late).or(writer.flatten()).or(led).unwrap_or(0);
        let log = self.stage.members[whose].log();
        let ends = match last_lines(log, 8) {
            none if none.is_empty() => "has nothing".to_owned(),
            lines => format!("ends with\n{lines}"),
        };
        Failed::Unplayable(format!("the fleet has not begun: {why}; {} {ends}", log.display()))
    }
}
