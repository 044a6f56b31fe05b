//! A drill while it is played: what is heard, and what is done to members.

use crate::{
    drill::{
        audit::{Row, Told},
        ear::{Ear, Said},
        file::File,
        kept::{Line, last_lines},
        load::Load,
        stage::{Heard, Stage},
        story::{Note, Noted},
    },
    error::Failed,
    proxy::Answer,
};
use protocols::history::{NodeState, Phase};
use protocols_real::log::true_time_us;
use scenarios::fault::Fault;
use std::time::Duration;
use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    time::Instant,
};

/// How long a member that has ended by itself stays down, as under a supervisor.
const SUPERVISOR: Duration = Duration::from_secs(1);
/// How long a leader that was isolated, or has woken, is watched before what it was kept from is over.
pub const OVERLAP: Duration = Duration::from_secs(2);
/// How often a member may end before anybody leads.
const STARTS_MAX: u32 = 5;
/// How often processes are looked at.
const LOOKS: Duration = Duration::from_millis(50);

/// A write of a member's that is to be held back.
pub struct Arm {
    pub member: usize,
    /// How many of its writes pass before.
    pub passes: u64,
    /// Its connection's port, and what lets it go.
    pub held: Option<(u16, oneshot::Sender<()>)>,
}

/// A drill while it is played.
pub struct Run<'f> {
    pub file: &'f File,
    pub stage: Stage,
    heard: UnboundedReceiver<Heard>,
    ear: Ear,
    pub notes: Vec<Noted>,
    /// Who leads, by what they have said; the last elected last.
    pub leaders: Vec<usize>,
    /// The writes of each member that were accepted, and those that were refused, since the last fault.
    pub rows: Vec<u64>,
    pub refusals: Vec<u64>,
    /// The last answer to a write, with its connection's port.
    pub answer: Option<(u16, Answer)>,
    /// What may have been a write, and is not judged.
    pub unjudged: Option<String>,
    pub arm: Option<Arm>,
    /// Which members have said that they can take over.
    pub ready: Vec<bool>,
    /// The member that is to be stopped at its next line of that kind.
    pub pauses: Option<usize>,
    pub load: Option<Load>,
    /// Whether members that end are started again.
    pub supervised: bool,
    /// Members that have ended by themselves, and when they are started again.
    pub down: Vec<Option<Instant>>,
    ends: u32,
    faults: u32,
}

impl<'f> Run<'f> {
    pub fn new(file: &'f File, stage: Stage, heard: UnboundedReceiver<Heard>, ear: Ear) -> Run<'f> {
        let members = stage.members.len();
        Run {
            file,
            stage,
            heard,
            ear,
            notes: Vec::new(),
            leaders: Vec::new(),
            rows: vec![0; members],
            refusals: vec![0; members],
            answer: None,
            unjudged: None,
            arm: None,
            ready: vec![false; members],
            pauses: None,
            load: None,
            supervised: true,
            down: vec![None; members],
            ends: 0,
            faults: 0,
        }
    }

    pub async fn stop(&mut self, member: usize) -> Result<(), Failed> {
        if let Some(process) = self.stage.members[member].process() {
            process.stop().await?;
        }
        self.note(Note::Node(member, NodeState::Paused));
        Ok(())
    }

    pub async fn resume(&mut self, member: usize) -> Result<(), Failed> {
        self.note(Note::Node(member, NodeState::Resumed));
        match self.stage.members[member].process() {
            Some(process) => process.resume().await,
            None => Ok(()),
        }
    }

    pub async fn kill(&mut self, member: usize) {
        if let Some(process) = self.stage.members[member].process() {
            process.kill().await;
            self.stage.members[member].has_ended();
            self.has_stopped(member);
        }
    }

    pub fn has_stopped(&mut self, member: usize) {
        self.leaders.retain(|leader| *leader != member);
        self.ready[member] = false;
        self.stage.members[member].ready = Default::default();
        self.note(Note::Node(member, NodeState::Down));
    }

    pub fn start_again(&mut self, member: usize) -> Result<(), Failed> {
        self.down[member] = None;
        // What it said in its former life may have been read after its end.
        self.ready[member] = false;
        self.stage.start_member(member)?;
        self.note(Note::Node(member, NodeState::Up));
        Ok(())
    }

    /// Notes a fault, and returns its number.
    pub fn begin(&mut self, fault: &Fault, phase: Phase, on: &[usize]) -> u32 {
        self.faults += 1;
        self.note(Note::Fault(self.faults - 1, Box::new(fault.clone()), phase, on.to_vec()));
        self.faults - 1
    }

    pub fn end(&mut self, index: u32, fault: &Fault, on: &[usize]) {
        self.note(Note::Fault(index, Box::new(fault.clone()), Phase::End, on.to_vec()));
    }

    pub fn note(&mut self, note: Note) {
        self.notes.push(Noted { t_us: true_time_us(), note });
    }

    pub async fn wait(&mut self, length: Duration) -> Result<(), Failed> {
        self.until(length, |_| false).await.map(drop)
    }

    /// Listens until `enough`, at most for so long. Returns whether it was enough.
    pub async fn until(&mut self, at_most: Duration, enough: impl Fn(&Run) -> bool) -> Result<bool, Failed> {
        let end = Instant::now() + at_most;
        let mut look = tokio::time::interval(LOOKS);
        while !enough(self) {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(end) => return Ok(false),
                _ = look.tick() => self.supervise()?,
                Some(heard) = self.heard.recv() => self.hear(heard).await?,
            }
        }
        Ok(true)
    }

    pub async fn hear(&mut self, heard: Heard) -> Result<(), Failed> {
        match heard {
            Heard::Line(member, line) => self.listen(member, &line).await?,
            Heard::Store(Told::Row(Row { t_us, port, accepted })) => {
                self.row(t_us, self.stage.at_port(port), accepted);
            }
            Heard::Store(Told::Unjudged(command)) => _ = self.unjudged.get_or_insert(command),
            Heard::Answer(port, answer) => self.answer = Some((port, answer)),
            Heard::Write(member, port, go) => match &mut self.arm {
                Some(arm) if arm.member == member && arm.held.is_none() && arm.passes == 0 => {
                    arm.held = Some((port, go));
                }
                Some(arm) if arm.member == member => {
                    arm.passes = arm.passes.saturating_sub(1);
                    let _ = go.send(());
                }
                // The connection may have ended.
                _ => drop(go.send(())),
            },
            Heard::Lost(why) => return Err(why),
        }
        Ok(())
    }

    fn row(&mut self, t_us: u64, member: Option<usize>, accepted: bool) {
        let counts = if accepted { &mut self.rows } else { &mut self.refusals };
        if let Some(count) = member.and_then(|member| counts.get_mut(member)) {
            *count += 1;
        }
        self.notes.push(Noted { t_us, note: Note::Row { member, accepted } });
    }

    async fn listen(&mut self, member: usize, line: &Line) -> Result<(), Failed> {
        for said in (self.ear)(&self.stage.members[member].name, &line.text) {
            match said {
                Said::Elected(_) | Said::Deposed => self.leads(member, said, line.t_us),
                Said::Accepted => self.row(line.t_us, Some(member), true),
                Said::Refused => self.row(line.t_us, Some(member), false),
                Said::Started => self.stage.members[member].ready.set(),
                Said::Ready => self.ready[member] = true,
                Said::Pause if self.pauses == Some(member) => {
                    self.pauses = None;
                    self.stop(member).await?;
                }
                Said::Pause => {}
            }
        }
        Ok(())
    }

    fn leads(&mut self, member: usize, said: Said, t_us: u64) {
        self.leaders.retain(|leader| *leader != member);
        if let Said::Elected(_) = said {
            self.leaders.push(member);
        }
        let leader = self.leaders.last().map(|leader| self.stage.members[*leader].port);
        self.load.iter().for_each(|load| load.led_by(leader));
        self.notes.push(Noted { t_us, note: Note::Said(member, said) });
    }

    /// Starts members again that have ended by themselves.
    pub fn supervise(&mut self) -> Result<(), Failed> {
        for member in 0..self.stage.members.len() {
            if self.stage.members[member].has_ended() {
                self.has_stopped(member);
                self.ends += 1;
                let nobody_led = !self.notes.iter().any(|noted| matches!(noted.note, Note::Said(..)));
                if nobody_led && self.ends >= STARTS_MAX {
                    let (name, log) = (&self.stage.members[member].name, self.stage.members[member].output());
                    let (said, log) = (last_lines(log, 8), log.display());
                    return Err(Failed::Unplayable(format!(
                        "{name} ends again and again; see {log}, which ends with\n{said}"
                    )));
                }
                self.down[member] = Some(Instant::now() + SUPERVISOR);
            }
            let due = self.down[member].is_some_and(|due| due <= Instant::now());
            if due && self.supervised {
                self.start_again(member)?;
            }
        }
        Ok(())
    }
}
