//! The members of one seat, and what befalls their leader.

use crate::{
    Error,
    args::Part,
    draws::Draws,
    ending,
    fault::Fault,
    firewall::{Firewall, Silence},
    forget::forget_leader,
    ledger::Write,
    process::{Competitor, Event},
    raft,
    record::{Record, Struck},
    service::Service,
    told::Told,
};
use servers::{Folder, Link, free_address};
use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

/// How many processes compete for a seat.
const MEMBERS: usize = 3;
/// A fleet in which nobody writes for longer is stuck, or for as many leases.
const STUCK: Duration = Duration::from_secs(60);
const STUCK_LEASES: u32 = 8;
/// How often a fault is tried that has met no leader, or that the leader has outdone.
const TRIED: u32 = 50;

pub struct Fleet {
    program: PathBuf,
    /// What every member does, but for its name and its links.
    part: Part,
    members: Vec<Member>,
    events: Receiver<Event>,
    tells: Sender<Event>,
    draws: Draws,
    reign: Reign,
    /// Who is cut off from the service, or from the other members.
    cut: Option<usize>,
    silence: Option<Silence>,
    firewall: Option<Arc<Firewall>>,
    /// Whether a process that ends has no successor at its place.
    over: bool,
    pub told: Record,
    /// Of members that elect among themselves.
    _folder: Option<Folder>,
}

struct Member {
    process: Competitor,
    life: usize,
    /// Whether its end is our doing.
    killed: bool,
    /// With which token it leads.
    leads: Option<u64>,
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
    /// Starts the members. With a firewall, one that is cut off from the service is so for the kernel, too.
    pub fn start(program: PathBuf, mut part: Part, seed: u64, firewall: Option<Arc<Firewall>>) -> Result<Fleet, Error> {
        let folder = (part.service == Service::Raft).then(Folder::new);
        if let Some(folder) = &folder {
            raft::found(folder.path(), MEMBERS)?;
            part.service_at = (0..MEMBERS).map(|_| free_address()).collect();
            part.folder = folder.path().to_owned();
        }
        let (tells, events) = channel();
        let mut fleet = Fleet {
            program,
            part,
            members: Vec::new(),
            events,
            tells,
            draws: Draws::new(seed),
            reign: Reign::default(),
            cut: None,
            silence: None,
            firewall,
            over: false,
            told: Record::default(),
            _folder: folder,
        };
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
        let to_service: Vec<Link> = self.part.service_at.iter().map(|at| Link::to(*at)).collect::<Result<_, _>>()?;
        let mut service_at: Vec<SocketAddr> = to_service.iter().map(|link| link.address).collect();
        if self.part.service == Service::Raft {
            // Where it listens. It dials the others only.
            service_at[place] = self.part.service_at[place];
            for (other, link) in to_service.iter().enumerate() {
                if self.cut.is_some_and(|cut| cut == place || cut == other) {
                    link.cut();
                }
            }
        }
        let to_database = Link::to(self.part.database_at)?;
        let (database_at, name) = (to_database.address, format!("m{place}.{life}"));
        let part = Part { service_at, database_at, name, ..self.part.clone() };
        let mut command = Command::new(&self.program);
        command.arg("member").args(part.to_args());
        let links = to_service.into_iter().chain([to_database]).collect();
        let process = Competitor::start(command, links, (place, life), self.tells.clone())?;
        Ok(Member { process, life, killed: false, leads: None })
    }

    /// Between a member and the service, or between it and the other members.
    fn links_to_service(&self, place: usize) -> impl Iterator<Item = &Link> {
        let own = &self.members[place].process.links[..self.part.service_at.len()];
        let of_others = self.members.iter().filter(|_| self.part.service == Service::Raft);
        own.iter().chain(of_others.map(move |member| &member.process.links[place]))
    }

    fn link_to_database(&self, place: usize) -> &Link {
        &self.members[place].process.links[self.part.service_at.len()]
    }

    /// Strikes one leader after the other.
    pub fn play(&mut self, faults: &[Fault]) -> Result<(), Error> {
        for fault in faults {
            // One that met a leader whose successor already led says nothing about failover.
            let mut tried = 0;
            while !self.strike(*fault)? {
                tried += 1;
                if tried == TRIED {
                    return Err(format!("{fault:?} befell no leader of `{}`", self.part.seat).into());
                }
            }
        }
        Ok(())
    }

    /// How many messages have passed between members and the service, or among themselves, answers included.
    pub fn messages(&self) -> u64 {
        let of =
            |member: &Member| member.process.links[..self.part.service_at.len()].iter().map(Link::passed).sum::<u64>();
        self.members.iter().map(of).sum()
    }

    /// Kills the one that led last.
    pub fn lose_leader(&mut self) {
        let member = &mut self.members[self.reign.place];
        member.killed = true;
        member.process.kill();
    }

    /// Kills all members at once, and notes what happens for so long, and until a leader writes.
    pub fn lose_all(&mut self, length: Duration) -> Result<(), Error> {
        for member in &mut self.members {
            member.killed = true;
            member.process.kill();
        }
        self.recover(length)
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
        let stuck = self.stuck_after();
        // Where nothing is fenced, it may have been struck within a transaction, for whose locks its successor waits for
        // ever. A session of PostgreSQL's outlasts any pause.
        let waits = fault == Fault::Pause || (fault == Fault::CutFromDatabase && !self.part.is_fenced());
        // These take a key that is gone, or a Lease that names nobody, again if they come before the others.
        let renews = fault == Fault::Forgotten && matches!(self.part.service, Service::Kubernetes | Service::Redlock);
        let patience = if waits || renews { 3 * self.part.lease + Duration::from_secs(1) } else { stuck };
        self.told.remember(at, format!("{fault:?} of m{place}, with token {token}"));
        match fault {
            Fault::Kill => {
                self.members[place].killed = true;
                self.members[place].process.kill();
            }
            Fault::Pause => {
                self.members[place].process.signal("STOP")?;
            }
            Fault::CutFromService => {
                self.cut = Some(place);
                if let Some(firewall) = &self.firewall {
                    let ports = self.links_to_service(place).flat_map(Link::ports).collect();
                    self.silence = Some(firewall.silence(ports)?);
                }
                self.links_to_service(place).for_each(Link::cut);
            }
            Fault::CutFromDatabase => self.link_to_database(place).cut(),
            Fault::Forgotten => {
                if !forget_leader(self.part.service, &self.part.service_at, &self.part.seat)? {
                    return Ok(false);
                }
            }
        }
        let mut successor = self.successor(token, at + patience)?;
        self.end(fault, place)?;
        if successor.is_none() && renews {
            return Ok(false);
        }
        if successor.is_none() {
            successor = self.successor(token, at + patience + stuck)?;
        }
        let Some(Reign { led: Some(led), wrote: Some(wrote), .. }) = successor else {
            return Err(format!("{fault:?}: {}", self.stuck()).into());
        };
        if led >= at {
            self.told.struck.push(Struck { fault, led: led - at, wrote: wrote - at });
        }
        Ok(led >= at)
    }

    fn end(&mut self, fault: Fault, place: usize) -> Result<(), Error> {
        self.told.remember(Instant::now(), format!("the end of {fault:?}"));
        match fault {
            // The one that takes its place starts when its end is noted.
            Fault::Kill | Fault::Forgotten => {}
            Fault::Pause => self.members[place].process.signal("CONT")?,
            Fault::CutFromService => {
                (self.cut, self.silence) = (None, None);
                self.links_to_service(place).for_each(Link::heal);
            }
            Fault::CutFromDatabase => self.link_to_database(place).heal(),
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
        let until = Instant::now() + self.stuck_after();
        loop {
            let Reign { token, place, wrote, .. } = self.reign;
            let leads = self.members[place].leads.is_some();
            if leads && wrote.is_some() {
                let length = Duration::from_millis(200 + self.draws.below(1_000));
                self.watch(length)?;
                if self.reign.token == token && self.members[place].leads.is_some() {
                    return Ok(self.reign);
                }
            } else if (leads || !self.outlived()) && !self.next(until)? {
                return Err(self.stuck());
            }
        }
    }

    /// Whether, without tokens, the newest leadership has ended before another one, which is the newest now.
    fn outlived(&mut self) -> bool {
        let leading = self.members.iter().enumerate().filter_map(|(place, member)| Some((member.leads?, place)));
        match leading.max() {
            Some((token, place)) if !self.part.service.has_tokens() => {
                self.reign = Reign { token, place, led: None, wrote: None };
                true
            }
            _ => false,
        }
    }

    fn stuck_after(&self) -> Duration {
        STUCK.max(STUCK_LEASES * self.part.lease)
    }

    fn stuck(&self) -> Error {
        let leads =
            |(place, member): (usize, &Member)| member.leads.map(|_| format!(" m{place}.{} leads;", member.life));
        let leads: String = self.members.iter().enumerate().filter_map(leads).collect();
        format!(
            "nobody has written for `{}` within {} s after {} faults;{leads} before that:{}",
            self.part.seat,
            self.stuck_after().as_secs(),
            self.told.struck.len(),
            self.told.last(),
        )
        .into()
    }

    /// Notes the next event; false if there is none until then.
    fn next(&mut self, until: Instant) -> Result<bool, Error> {
        match ending::next(&self.events, until.saturating_duration_since(Instant::now()))? {
            Some(event) => self.note(event).map(|()| true),
            None => Ok(false),
        }
    }

    fn note(&mut self, event: Event) -> Result<(), Error> {
        let Event { at, place, life, line } = event;
        if self.reign.wrote.is_none() || line.as_ref().is_none_or(|line| !line.starts_with("wrote")) {
            self.told.remember(at, format!("m{place}.{life} {}", line.as_deref().unwrap_or("has ended")));
        }
        let member = &mut self.members[place];
        let current = member.life == life;
        match line.as_deref().map(Told::read) {
            Some(Some(Told::Leads { token })) => {
                member.leads = if current { Some(token) } else { member.leads };
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
            Some(Some(Told::LeadsNoMore { .. })) if current => member.leads = None,
            Some(Some(Told::Failing(why))) => self.told.failing.push((at, why)),
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

    /// Kills all, and notes what they have said until then.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.over = true;
        for member in &mut self.members {
            member.process.finish();
        }
        while self.next(Instant::now())? {}
        Ok(())
    }
}
