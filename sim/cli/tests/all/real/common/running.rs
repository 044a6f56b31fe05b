//! A cluster of `cargo real cluster`, as an operator has it.

use super::{Folder, Process, SOON, eventually, fencepost, http, program, text};
use sim_real::control::{self, Card};
use std::net::SocketAddr;

/// A running cluster on Raft, which needs nothing installed.
pub struct Running {
    pub process: Process,
    /// Its addresses.
    pub card: Card,
    /// The folder of all files.
    folder: Folder,
}

impl Running {
    /// Starts a cluster, and waits until a leader acts.
    pub fn start(options: &[&str]) -> Running {
        Running::start_in(&[], options)
    }

    /// The same with these variables in the environment of all of its processes.
    pub fn start_in(environment: &[(&str, &str)], options: &[&str]) -> Running {
        let folder = Folder::new();
        let files = folder.file("cluster");
        let mut command = program();
        command.envs(environment.iter().copied());
        command.args(["cluster", "--backend", "raft", "--lease-ttl", "400ms", "--dir", &files]).args(options);
        let process = Process::start(command, &folder.path().join("cluster.log"));
        let card = eventually("the cluster says where it is", SOON, || control::card(files.as_ref()).ok());
        let running = Running { process, card, folder };
        // Also over TLS, if the nodes use it.
        let acts = || fencepost(["watch", "--once", "--dir", &running.dir()]).status.success().then_some(());
        eventually("somebody acts", SOON, acts);
        running
    }

    pub fn dir(&self) -> String {
        self.folder.file("cluster")
    }

    /// The acting leader and its address; waits until there is one. For nodes that serve plain HTTP.
    pub fn leader(&self) -> (String, SocketAddr) {
        let leads = || self.card.nodes.iter().find(|(_, address)| http::leads(*address)).cloned();
        eventually("somebody acts", SOON, leads)
    }

    /// Strikes the cluster with a fault.
    pub fn chaos(&self, arguments: &[&str]) {
        let done = fencepost([&["chaos"], arguments, &["--dir", &self.dir()]].concat());
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    }
}
