//! Clusters of three real members on loopback, linked by relays: a member can be killed, paused, restarted, or cut off
//! from the others while clients still reach it.
//!
//! Linux only: the dialling member is found through `/proc`.

mod kind;
mod links;
pub(crate) mod relay;
mod roster;
pub(crate) mod sockets;

use crate::{
    folder::{Folder, free_address},
    process::{Process, eventually},
};
pub use kind::Kind;
use links::Links;
pub use roster::Roster;
pub use sockets::MEMBERS;
use std::{net::SocketAddr, time::Duration};

/// How long several processes may take to start and elect on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster; dropping it kills its members.
pub struct Members {
    kind: Kind,
    processes: Vec<Process>,
    stopped: [bool; MEMBERS],
    /// Consul's agent on its clients' machine.
    agent: Option<(Process, SocketAddr)>,
    links: Links,
    folder: Folder,
}

impl Members {
    /// Starts an empty cluster, and waits until a member leads.
    ///
    /// # Panics
    /// No member leads in time.
    pub fn start(kind: Kind) -> Members {
        let links = Links::new(&kind, MEMBERS).expect("loopback has free ports");
        let (processes, stopped) = (Vec::new(), [false; MEMBERS]);
        let mut members = Members { kind, processes, stopped, agent: None, links, folder: Folder::new() };
        for member in 0..MEMBERS {
            let prepared = members.kind.prepare(member, &members.links.places, members.folder.path());
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
        let command = self.kind.agent(address, &self.links.places, self.folder.path())?;
        let process = Process::start(command, &self.folder.path().join("agent.log"));
        self.links.is(MEMBERS, process.pid());
        let what = format!("an agent that writes, see {}", self.folder.path().display());
        eventually(&what, PATIENCE, || self.kind.writes(address).then_some(()));
        Some((process, address))
    }

    fn begin(&self, member: usize) -> Process {
        let command = self.kind.command(member, &self.links.places, self.folder.path());
        let process = Process::start(command, &self.folder.path().join(format!("{member}.log")));
        self.links.is(member, process.pid());
        process
    }

    /// Where clients ask: each member, or Consul's agent.
    pub fn clients(&self) -> Vec<SocketAddr> {
        self.agent.as_ref().map_or_else(|| self.servers(), |(_, address)| vec![*address])
    }

    /// The members' own client addresses.
    pub fn servers(&self) -> Vec<SocketAddr> {
        self.links.places.iter().map(|place| place.client).collect()
    }

    /// The member that reports that it leads, if exactly one does.
    pub fn leader(&mut self) -> Option<usize> {
        let runs: Vec<bool> = (0..MEMBERS).map(|member| self.runs(member)).collect();
        let leads = |member: &usize| runs[*member] && self.kind.leads(*member, &self.links.places);
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
        self.links.cut_off(member);
    }

    /// Ends all cuts.
    pub fn heal(&mut self) {
        self.links.heal();
    }

    /// A member's output.
    pub fn log(&self, member: usize) -> String {
        self.processes[member].log()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.agent = None;
        self.processes.clear();
    }
}
