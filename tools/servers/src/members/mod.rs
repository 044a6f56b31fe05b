//! Clusters of three real members on loopback, with relays between them: a member can be killed, stopped, started again, or
//! cut off from the others while clients still reach it.
//!
//! For Linux: who dials is read from `/proc`.

mod kind;
pub(crate) mod place;
mod relay;
mod sockets;

use crate::{
    folder::Folder,
    port::{free_address, free_port},
    process::{Process, eventually},
};
pub use kind::Kind;
pub use place::MEMBERS;
use place::Place;
use relay::{Relay, Wall};
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// How long several processes may take to start and to elect on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Ports that were free a moment ago may be taken the next; so often others are tried.
const TRIED: u32 = 5;

/// A cluster that runs; its members are killed when it is dropped.
pub struct Members {
    kind: Kind,
    processes: Vec<Process>,
    places: Vec<Place>,
    stopped: [bool; MEMBERS],
    /// Consul's own, on the machine of its clients.
    agent: Option<(Process, SocketAddr)>,
    wall: Arc<Wall>,
    relays: Vec<Relay>,
    folder: Folder,
}

impl Members {
    /// Starts a cluster with nothing in it, and waits until a member leads.
    ///
    /// # Panics
    /// None does.
    pub fn start(kind: Kind) -> Members {
        let (folder, wall) = (Folder::new(), Arc::new(Wall::default()));
        let (places, relays) = (0..TRIED).find_map(|_| between(&kind, &wall)).expect("loopback has free ports");
        let mut members = Members {
            kind,
            processes: Vec::new(),
            places,
            stopped: [false; MEMBERS],
            agent: None,
            wall,
            relays,
            folder,
        };
        for member in 0..MEMBERS {
            members.kind.prepare(member, &members.places, members.folder.path());
            let process = members.begin(member);
            members.processes.push(process);
        }
        members.await_leader();
        members.agent = members.start_agent();
        members
    }

    /// Starts what Consul has on the machines of its clients, and waits until something can be written by it.
    fn start_agent(&self) -> Option<(Process, SocketAddr)> {
        let address = free_address();
        let command = self.kind.agent(address, &self.places, self.folder.path())?;
        let process = Process::start(command, &self.folder.path().join("agent.log"));
        self.wall.is(MEMBERS, process.pid());
        let what = format!("an agent that writes, see {}", self.folder.path().display());
        eventually(&what, PATIENCE, || self.kind.writes(address).then_some(()));
        Some((process, address))
    }

    fn begin(&self, member: usize) -> Process {
        let command = self.kind.command(member, &self.places, self.folder.path());
        let process = Process::start(command, &self.folder.path().join(format!("{member}.log")));
        self.wall.is(member, process.pid());
        process
    }

    /// Where clients ask: each member, or Consul's agent.
    pub fn clients(&self) -> Vec<SocketAddr> {
        self.agent.as_ref().map_or_else(|| self.servers(), |(_, address)| vec![*address])
    }

    /// Where the members themselves can be asked.
    pub fn servers(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.client).collect()
    }

    /// Which member says that it leads, if one alone does.
    pub fn leader(&mut self) -> Option<usize> {
        let runs: Vec<bool> = (0..MEMBERS).map(|member| self.runs(member)).collect();
        let leads = |member: &usize| runs[*member] && self.kind.leads(*member, &self.places);
        match (0..MEMBERS).filter(leads).collect::<Vec<_>>()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Waits until a member leads.
    ///
    /// # Panics
    /// None does.
    pub fn await_leader(&mut self) -> usize {
        let what = format!("a leader, see {}", self.folder.path().display());
        eventually(&what, PATIENCE, || self.leader())
    }

    fn runs(&mut self, member: usize) -> bool {
        !self.stopped[member] && !self.processes[member].has_ended()
    }

    /// Kills a member, as a power loss does.
    pub fn kill(&mut self, member: usize) {
        self.processes[member].kill();
    }

    /// Starts a member again that was killed, with what was on its disk.
    pub fn restart(&mut self, member: usize) {
        self.processes[member] = self.begin(member);
    }

    /// Stops a member's process.
    pub fn pause(&mut self, member: usize) {
        self.processes[member].signal("STOP");
        self.stopped[member] = true;
    }

    /// Lets it go on.
    pub fn resume(&mut self, member: usize) {
        self.processes[member].signal("CONT");
        self.stopped[member] = false;
    }

    /// Nothing passes between a member and the others, while clients reach all of them.
    pub fn cut_off(&mut self, member: usize) {
        for other in (0..MEMBERS).filter(|other| *other != member) {
            self.wall.cut(member, other);
            self.wall.cut(other, member);
        }
    }

    /// Everybody reaches everybody again.
    pub fn heal(&mut self) {
        self.wall.heal();
    }

    /// What a member has printed.
    pub fn log(&self, member: usize) -> String {
        self.processes[member].log()
    }
}

/// Where members listen, and the relays before them; none where a port was taken.
fn between(kind: &Kind, wall: &Arc<Wall>) -> Option<(Vec<Place>, Vec<Relay>)> {
    let port = || free_port().ok();
    let places: Vec<Place> = (0..MEMBERS)
        .map(|_| Some(Place { client: SocketAddr::from(([127, 0, 0, 1], port()?)), peer: port()?, second: port()? }))
        .collect::<Option<_>>()?;
    let second: Vec<u16> = places.iter().map(|place| place.second).collect();
    let mut relays = Vec::new();
    for (member, place) in places.iter().enumerate() {
        relays.push(Relay::streams(wall, member, place.peer, false).ok()?);
        if kind.has_second() {
            relays.push(Relay::streams(wall, member, place.second, kind.introduces()).ok()?);
        }
        if kind.gossips() {
            relays.push(Relay::datagrams(wall, member, second.clone()).ok()?);
        }
    }
    Some((places, relays))
}

impl Drop for Members {
    fn drop(&mut self) {
        self.agent = None;
        self.processes.clear();
        self.wall.end();
        self.relays.drain(..).for_each(Relay::join);
    }
}
