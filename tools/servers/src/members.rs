//! Clusters of three real members on loopback, linked by relays: a member can be killed, paused, restarted, or cut off
//! from the others while clients still reach it.
//!
//! Linux only: the dialling member is found through `/proc`.

mod kind;
pub(crate) mod relay;
mod roster;
pub(crate) mod sockets;

use crate::{
    folder::{Folder, free_address},
    process::{Process, eventually},
};
pub use kind::Kind;
use relay::{Relay, Wall};
pub use roster::Roster;
pub use sockets::MEMBERS;
use sockets::Place;
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// How long several processes may take to start and elect on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often other ports are tried, since free ports may be taken before they are used.
const TRIED: u32 = 5;

/// A running cluster; dropping it kills its members.
pub struct Members {
    kind: Kind,
    processes: Vec<Process>,
    places: Vec<Place>,
    stopped: [bool; MEMBERS],
    /// Consul's agent on its clients' machine.
    agent: Option<(Process, SocketAddr)>,
    wall: Arc<Wall>,
    relays: Vec<Relay>,
    folder: Folder,
}

impl Members {
    /// Starts an empty cluster, and waits until a member leads.
    ///
    /// # Panics
    /// No member leads in time.
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
            let prepared = members.kind.prepare(member, &members.places, members.folder.path());
            prepared.expect("temporary files can be written");
            let process = members.begin(member);
            members.processes.push(process);
        }
        members.await_leader();
        members.agent = members.start_agent();
        members
    }

    /// Starts Consul's agent for clients, and waits until it can write.
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

    /// The members' own client addresses.
    pub fn servers(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.client).collect()
    }

    /// The member that reports that it leads, if exactly one does.
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
    /// No member leads in time.
    pub fn await_leader(&mut self) -> usize {
        let what = format!("a leader, see {}", self.folder.path().display());
        eventually(&what, PATIENCE, || self.leader())
    }

    fn runs(&mut self, member: usize) -> bool {
        !self.stopped[member] && !self.processes[member].has_ended()
    }

    /// Kills a member, as in a power loss.
    pub fn kill(&mut self, member: usize) {
        self.processes[member].kill();
    }

    /// Restarts a killed member with its disk.
    pub fn restart(&mut self, member: usize) {
        self.processes[member] = self.begin(member);
    }

    /// Pauses a member's process.
    pub fn pause(&mut self, member: usize) {
        self.processes[member].signal("STOP");
        self.stopped[member] = true;
    }

    /// Resumes a member's process.
    pub fn resume(&mut self, member: usize) {
        self.processes[member].signal("CONT");
        self.stopped[member] = false;
    }

    /// Cuts a member off from the others, while clients reach all of them.
    pub fn cut_off(&mut self, member: usize) {
        for other in (0..MEMBERS).filter(|other| *other != member) {
            self.wall.cut(member, other);
            self.wall.cut(other, member);
        }
    }

    /// Ends all cuts.
    pub fn heal(&mut self) {
        self.wall.heal();
    }

    /// A member's output.
    pub fn log(&self, member: usize) -> String {
        self.processes[member].log()
    }
}

/// The members' addresses, and the relays in front of them; `None` if a port was taken.
fn between(kind: &Kind, wall: &Arc<Wall>) -> Option<(Vec<Place>, Vec<Relay>)> {
    let places: Vec<Place> = (0..MEMBERS).map(|_| Place::free(true).ok()).collect::<Option<_>>()?;
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
