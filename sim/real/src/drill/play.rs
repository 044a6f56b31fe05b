//! Plays a drill's plan, and notes what happens.

mod run;

use super::{
    ear::{Ear, Said},
    file::File,
    kept::last_lines,
    load::Load,
    scenario::{Plan, Scenario},
    stage::{Places, Stage},
    story::{self, Facts, Note, Noticed},
};
use crate::{
    error::Failed,
    stalls::{Stalls, Watch},
};
use protocols::history::{NodeState, Phase};
use protocols_real::log::true_time_us;
use run::{Arm, Run};
use scenarios::fault::{Fault, Who};
use std::{path::PathBuf, time::Duration};

/// How long a fleet may take to start, elect and write.
const BEGINS_WITHIN: Duration = Duration::from_secs(90);
/// How long a leader that was isolated, or has woken, is watched before what it was kept from is over.
const OVERLAP: Duration = Duration::from_secs(2);
/// How long everybody is watched after the last fault.
const SETTLES: Duration = Duration::from_secs(4);
/// How long the service is down.
const RESTARTS_AFTER: Duration = Duration::from_secs(2);

/// What came of a drill.
pub struct Drilled {
    /// The run's history.
    pub history: PathBuf,
    pub stalls: Stalls,
    /// How long it took.
    pub lasted: Duration,
    /// Whether a write was held back, and what the store did with it in the end.
    pub held: Option<Held>,
    pub noticed: Noticed,
}

/// What became of a write that was held back until a successor had written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    Accepted,
    /// The store has not taken it.
    Refused,
    /// No successor wrote before it had to be let go.
    NoSuccessor,
    /// The leader did not write.
    NoWrite,
}

/// Plays `plan`; see [`super::drill`].
pub async fn play(file: &File, plan: &Plan, places: &Places, ear: Ear) -> Result<Drilled, Failed> {
    let (stage, heard) = Stage::start(file, places).await?;
    let folder = &places.folder;
    let watch = Watch::start(folder).map_err(Failed::cannot(format!("write into {}", folder.display())))?;
    let start_us = true_time_us();
    let mut run = Run::new(file, stage, heard, ear);
    let held = run.whole(plan).await;
    let end_us = true_time_us();
    let stalls = watch.end();
    run.load = None;
    let Run { stage, notes, .. } = run;
    let names: Vec<String> = stage.members.iter().map(|member| member.name.clone()).collect();
    stage.end().await;
    let held = held?;
    let facts = Facts { file, plan, names, start_us };
    let history = folder.join("history.jsonl");
    let noticed = story::write(&facts, notes, held.is_some(), &history)?;
    Ok(Drilled { history, stalls, lasted: Duration::from_micros(end_us - start_us), held, noticed })
}

impl Run<'_> {
    async fn whole(&mut self, plan: &Plan) -> Result<Option<Held>, Failed> {
        for index in 0..self.stage.members.len() {
            self.stage.start_member(index)?;
            self.note(Note::Node(index, NodeState::Up));
        }
        self.load = self.file.load.as_ref().map(|load| {
            Load::start(load, self.stage.members.iter().map(|member| (member.name.clone(), member.port)).collect())
        });
        let begun = |run: &Run| run.leaders.last().is_some_and(|leader| run.rows[*leader] > 0);
        if !self.until(BEGINS_WITHIN, begun).await? {
            return Err(self.nobody_began());
        }
        self.wait(Duration::from_millis(plan.works_ms)).await?;
        let Some(leader) = self.leader().await? else { return Err(self.nobody_began()) };
        let held = self.strike(plan, leader).await?;
        self.wait(SETTLES).await?;
        self.note(Note::End);
        Ok(held)
    }

    /// Who leads; if nobody does at the moment, the next who does.
    async fn leader(&mut self) -> Result<Option<usize>, Failed> {
        self.until(self.file.fleet.within, |run| !run.leaders.is_empty()).await?;
        Ok(self.leaders.last().copied())
    }

    async fn strike(&mut self, plan: &Plan, leader: usize) -> Result<Option<Held>, Failed> {
        let on = || Who::Named(self.stage.members[leader].name.clone());
        match plan.scenario {
            Scenario::Steady => {
                self.wait(self.file.fleet.lease).await?;
                Ok(None)
            }
            Scenario::CleanKill => {
                let fault = Fault::Kill { node: on(), restart_after_ms: None };
                self.begin(&fault, Phase::Once, &[leader]);
                self.kill(leader).await;
                self.replaced(leader).await?;
                self.start_again(leader)?;
                Ok(None)
            }
            Scenario::GracefulStepDown => {
                let fault = Fault::Resign { node: on() };
                self.begin(&fault, Phase::Once, &[leader]);
                self.stage.members[leader].process().into_iter().for_each(|process| process.ask_to_end());
                self.supervised = false;
                self.replaced(leader).await?;
                self.supervised = true;
                // One that takes no notice of SIGTERM has gone on.
                self.kill(leader).await;
                self.start_again(leader)?;
                Ok(None)
            }
            Scenario::GcPauseBetweenWrites => {
                self.paused(leader, on()).await?;
                Ok(None)
            }
            Scenario::GcPause => self.held(leader, plan.nth, on(), true).await.map(Some),
            Scenario::LateWrite => self.held(leader, plan.nth, on(), false).await.map(Some),
            Scenario::IsolateLeader => {
                let fault = self.isolation(on());
                let index = self.begin(&fault, Phase::Begin, &[leader]);
                self.stage.cut_off(leader, true);
                self.replaced(leader).await?;
                self.wait(OVERLAP).await?;
                self.stage.cut_off(leader, false);
                self.end(index, &fault, &[leader]);
                Ok(None)
            }
            Scenario::ServiceRestart => {
                let fault = Fault::Kill { node: Who::Service, restart_after_ms: None };
                self.begin(&fault, Phase::Once, &[self.stage.members.len()]);
                if let Some(service) = &mut self.stage.service {
                    service.kill().await;
                }
                self.note(Note::Node(self.stage.members.len(), NodeState::Down));
                self.wait(RESTARTS_AFTER).await?;
                if let Some(service) = &mut self.stage.service {
                    service.restart().await?;
                }
                self.note(Note::Node(self.stage.members.len(), NodeState::Up));
                self.rows.iter_mut().for_each(|rows| *rows = 0);
                self.until(self.file.fleet.within, |run| run.rows.iter().any(|rows| *rows > 0)).await?;
                Ok(None)
            }
        }
    }

    fn isolation(&self, on: Who) -> Fault {
        Fault::Partition { from: vec![on], to: vec![Who::Service], one_way: false, for_ms: None }
    }

    async fn paused(&mut self, leader: usize, on: Who) -> Result<bool, Failed> {
        let fault = Fault::Pause { node: on, for_ms: 0.0 };
        self.stop(leader);
        let index = self.begin(&fault, Phase::Begin, &[leader]);
        let replaced = self.replaced(leader).await?;
        self.resume(leader);
        self.end(index, &fault, &[leader]);
        Ok(replaced)
    }

    /// Holds back the leader's next `nth` write until a successor has written. Meanwhile the leader is stopped, or cut off
    /// from the service.
    async fn held(&mut self, leader: usize, nth: u64, on: Who, stopped: bool) -> Result<Held, Failed> {
        self.arm = Some(Arm { member: leader, passes: nth - 1, held: None });
        let caught = |run: &Run| run.arm.as_ref().is_some_and(|arm| arm.held.is_some());
        if !self.until(self.file.fleet.within, caught).await? {
            self.arm = None;
            return Ok(Held::NoWrite);
        }
        let wire = Fault::Partition { from: vec![on.clone()], to: vec![Who::Store], one_way: true, for_ms: None };
        let fault = if stopped { Fault::Pause { node: on, for_ms: 0.0 } } else { self.isolation(on) };
        let on_wire = self.begin(&wire, Phase::Begin, &[leader]);
        match stopped {
            true => self.stop(leader),
            false => self.stage.cut_off(leader, true),
        }
        let index = self.begin(&fault, Phase::Begin, &[leader]);
        let replaced = self.replaced(leader).await?;
        let before = self.rows[leader];
        self.note(Note::LetGo);
        if let Some(go) = self.arm.take().and_then(|arm| arm.held) {
            // The connection may have ended.
            let _ = go.send(());
        }
        self.end(on_wire, &wire, &[leader]);
        if stopped {
            self.resume(leader);
            self.end(index, &fault, &[leader]);
        }
        let accepted = self.until(OVERLAP, |run| run.rows[leader] > before).await?;
        if !stopped {
            self.stage.cut_off(leader, false);
            self.end(index, &fault, &[leader]);
        }
        Ok(match (replaced, accepted) {
            (false, _) => Held::NoSuccessor,
            (true, true) => Held::Accepted,
            (true, false) => {
                self.note(Note::NotTaken(leader));
                Held::Refused
            }
        })
    }

    /// Waits until another member than `struck` has written, as long as the fleet may take.
    async fn replaced(&mut self, struck: usize) -> Result<bool, Failed> {
        self.rows.iter_mut().for_each(|rows| *rows = 0);
        let others = move |run: &Run| run.rows.iter().enumerate().any(|(index, rows)| index != struck && *rows > 0);
        self.until(self.file.fleet.within, others).await
    }

    fn nobody_began(&self) -> Failed {
        let wrote = self.notes.iter().any(|noted| matches!(noted.note, Note::Row { member: Some(_), .. }));
        let led = self.notes.iter().any(|noted| matches!(noted.note, Note::Said(_, Said::Elected(_))));
        let (member, resource) = (&self.stage.members[0], self.file.store.resource());
        let why = match (led, wrote) {
            (false, true) => {
                "a member writes, but none has said that it leads: compare `[log] elected` with its output".to_owned()
            }
            (false, false) => "no member has said that it leads, by `[log]`".to_owned(),
            (true, _) => format!("the leader has not written to `{resource}`"),
        };
        let (within, log) = (BEGINS_WITHIN.as_secs(), member.log().display());
        Failed::Unplayable(format!("after {within} s {why}; {log} ends with\n{}", last_lines(member.log(), 8)))
    }
}
