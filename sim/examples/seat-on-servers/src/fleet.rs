//! The members of one seat, and what befalls their leader.

use crate::{
    Error,
    args::Part,
    draws::Draws,
    fault::Fault,
    forget::forget_leader,
    ledger::Write,
    process::{Competitor, Event},
    told::Told,
};
use servers::Link;
use std::{
    path::PathBuf,
    process::Command,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

/// How many processes compete for a seat.
const MEMBERS: usize = 3;
/// A fleet in which nobody writes for longer is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// The links of a member.
const TO_SERVICE: usize = 0;
const TO_DATABASE: usize = 1;

pub struct Fleet {
    program: PathBuf,
    /// What every member does, but for its name and its links.
    part: Part,
    members: Vec<Member>,
    events: Receiver<Event>,
    tells: Sender<Event>,
    draws: Draws,
    reign: Reign,
    /// Whether a process that ends has no successor at its place.
    over: bool,
    pub told: Record,
}

/// What has happened.
#[derive(Default)]
pub struct Record {
    /// Writes that the database has acknowledged, and when each was told.
    pub acknowledged: Vec<(Instant, Write)>,
    pub struck: Vec<Struck>,
    /// How many leaderships there were.
    pub reigns: usize,
    /// Processes that ended by themselves, after an unclean stop.
    pub ended: usize,
}

/// A fault, and how long it kept others from leading.
#[derive(Clone, Copy, Debug)]
pub struct Struck {
    pub fault: Fault,
    /// From the fault until another said that it leads.
    pub led: Duration,
    /// From the fault until the database had acknowledged its first write.
    pub wrote: Duration,
}

struct Member {
    process: Competitor,
    life: usize,
    /// Whether its end is our doing.
    killed: bool,
    leads: bool,
}

/// The newest leadership.
#[derive(Clone, Copy, Default)]
struct Reign {
    token: u64,
    place: usize,
    led: Option<Instant>,
    wrote: Option<Instant>,
}

impl Fleet {
    /// Starts the members.
    pub fn start(program: PathBuf, part: Part, seed: u64) -> Result<Fleet, Error> {
        let (tells, events) = channel();
        let (members, draws) = (Vec::new(), Draws::new(seed));
        let (reign, told) = (Reign::default(), Record::default());
        let mut fleet = Fleet { program, part, members, events, tells, draws, reign, over: false, told };
        for place in 0..MEMBERS {
            let member = fleet.member(place, 0)?;
            fleet.members.push(member);
        }
        Ok(fleet)
    }

    pub fn seat(&self) -> &str {
        &self.part.seat
    }

    fn member(&self, place: usize, life: usize) -> Result<Member, Error> {
        let links = vec![Link::to(self.part.service_at)?, Link::to(self.part.database_at)?];
        let (service_at, database_at) = (links[TO_SERVICE].address, links[TO_DATABASE].address);
        let part = Part { service_at, database_at, name: format!("m{place}.{life}"), ..self.part.clone() };
        let mut command = Command::new(&self.program);
        command.arg("member").args(part.to_args());
        let process = Competitor::start(command, links, (place, life), self.tells.clone())?;
        Ok(Member { process, life, killed: false, leads: false })
    }

    /// Strikes one leader after the other.
    pub fn play(&mut self, faults: &[Fault]) -> Result<(), Error> {
        for fault in faults {
            // One that met a leader whose successor already led says nothing about failover.
            while !self.strike(*fault)? {}
        }
        Ok(())
    }

    /// Notes what happens for so long, and until a leader writes.
    pub fn recover(&mut self, length: Duration) -> Result<(), Error> {
        self.watch(length)?;
        self.calm().map(drop)
    }

    /// Notes what happens for so long.
    pub fn watch(&mut self, length: Duration) -> Result<(), Error> {
        let until = Instant::now() + length;
        while self.next(until)? {}
        Ok(())
    }

    /// Strikes the leader, waits until its successor has written, and ends the fault. False if another led already.
    fn strike(&mut self, fault: Fault) -> Result<bool, Error> {
        let Reign { token, place, .. } = self.calm()?;
        let at = Instant::now();
        let process = &mut self.members[place].process;
        let mut patience = STUCK;
        match fault {
            Fault::Kill => {
                self.members[place].killed = true;
                self.members[place].process.kill();
            }
            Fault::Pause => {
                process.signal("STOP")?;
                // Where nothing is fenced, it may have been paused with a lock, and its successor waits for ever.
                patience = 3 * self.part.lease + Duration::from_secs(1);
            }
            Fault::CutFromService => process.links[TO_SERVICE].cut(),
            Fault::CutFromDatabase => process.links[TO_DATABASE].cut(),
            Fault::Forgotten => {
                if !forget_leader(self.part.service, self.part.service_at, &self.part.seat)? {
                    return Ok(false);
                }
            }
        }
        let mut successor = self.successor(token, at + patience)?;
        self.end(fault, place)?;
        if successor.is_none() {
            successor = self.successor(token, at + STUCK)?;
        }
        let Some(Reign { led: Some(led), wrote: Some(wrote), .. }) = successor else { return Err(self.stuck()) };
        if led >= at {
            self.told.struck.push(Struck { fault, led: led - at, wrote: wrote - at });
        }
        Ok(led >= at)
    }

    fn end(&mut self, fault: Fault, place: usize) -> Result<(), Error> {
        let process = &mut self.members[place].process;
        match fault {
            // The one that takes its place starts when its end is noted.
            Fault::Kill | Fault::Forgotten => {}
            Fault::Pause => process.signal("CONT")?,
            Fault::CutFromService => process.links[TO_SERVICE].heal(),
            Fault::CutFromDatabase => process.links[TO_DATABASE].heal(),
        }
        Ok(())
    }

    /// Waits until a newer leader than that of this token has written; `None` if none has by then.
    fn successor(&mut self, token: u64, until: Instant) -> Result<Option<Reign>, Error> {
        loop {
            if self.reign.token > token && self.reign.wrote.is_some() {
                return Ok(Some(self.reign));
            }
            if !self.next(until)? {
                return Ok(None);
            }
        }
    }

    /// Waits until a leader has written, and for a while longer that the seed chooses. It may lead no more then, which
    /// only its own line would tell.
    fn calm(&mut self) -> Result<Reign, Error> {
        let until = Instant::now() + STUCK;
        loop {
            let Reign { token, place, wrote, .. } = self.reign;
            if wrote.is_some() && self.members[place].leads {
                let length = Duration::from_millis(200 + self.draws.below(1_000));
                self.watch(length)?;
                if self.reign.token == token && self.members[place].leads {
                    return Ok(self.reign);
                }
            } else if !self.next(until)? {
                return Err(self.stuck());
            }
        }
    }

    fn stuck(&self) -> Error {
        format!("nobody has written for `{}` within {} s", self.part.seat, STUCK.as_secs()).into()
    }

    /// Notes the next event; false if there is none until then.
    fn next(&mut self, until: Instant) -> Result<bool, Error> {
        match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(event) => self.note(event).map(|()| true),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn note(&mut self, event: Event) -> Result<(), Error> {
        let Event { at, place, life, line } = event;
        let member = &mut self.members[place];
        let current = member.life == life;
        match line.as_deref().map(Told::read) {
            Some(Some(Told::Leads { token })) => {
                member.leads |= current;
                self.told.reigns += 1;
                if token > self.reign.token {
                    self.reign = Reign { token, place, led: Some(at), wrote: None };
                }
            }
            Some(Some(Told::Wrote { token, request })) => {
                if token == self.reign.token && self.reign.wrote.is_none() {
                    self.reign.wrote = Some(at);
                }
                self.told.acknowledged.push((at, Write { request, token, member: format!("m{place}.{life}") }));
            }
            Some(Some(Told::LeadsNoMore { .. })) if current => member.leads = false,
            None if current && !self.over => {
                self.told.ended += usize::from(!member.killed);
                self.members[place] = self.member(place, life + 1)?;
            }
            // Of a process whose place another has taken.
            Some(Some(Told::LeadsNoMore { .. })) | None => {}
            Some(None) => return Err(format!("a member of `{}` said {line:?}", self.part.seat).into()),
        }
        Ok(())
    }

    /// Kills all, and returns what has happened.
    pub fn finish(mut self) -> Result<Record, Error> {
        self.over = true;
        for member in &mut self.members {
            member.process.finish();
        }
        while self.next(Instant::now())? {}
        Ok(self.told)
    }
}
