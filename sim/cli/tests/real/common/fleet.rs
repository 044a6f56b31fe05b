//! A fenced store and nodes, each started like an operator would.

use super::{Folder, Process, SOON, eventually, fencepost, free_address, http, program, text};
use protocols_real::store::{token::TokenKey, wire};
use serde_json::Value;
use std::{collections::BTreeMap, ffi::OsString, net::SocketAddr};

/// The key of every fleet here. It must not appear anywhere.
pub const TOKEN_KEY: &str = "correct-horse-battery-staple";

/// A process of ours and how it was started.
pub struct Member {
    pub process: Process,
    /// The address it listens on.
    pub address: SocketAddr,
    arguments: Vec<OsString>,
}

/// A store and nodes that use one coordination service.
pub struct Fleet {
    /// The folder of all files.
    pub folder: Folder,
    pub store: Option<Member>,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Member>,
    /// Options of every node.
    pub node_options: Vec<String>,
    /// Environment of every process.
    pub environment: Vec<(String, String)>,
}

fn strings(options: &[&str]) -> Vec<String> {
    options.iter().map(|o| (*o).to_owned()).collect()
}

impl Fleet {
    /// An empty fleet.
    pub fn new(folder: Folder) -> Fleet {
        folder.write("token.key", TOKEN_KEY);
        Fleet { folder, store: None, nodes: BTreeMap::new(), node_options: Vec::new(), environment: Vec::new() }
    }

    /// Adds options for every node.
    pub fn tell_nodes(&mut self, options: &[&str]) {
        self.node_options.extend(strings(options));
    }

    /// Starts a process of ours with these arguments, and waits until it listens.
    pub fn start(&self, name: &str, address: SocketAddr, arguments: Vec<OsString>) -> Member {
        let mut command = program();
        command.args(&arguments).envs(self.environment.iter().cloned());
        let mut process = Process::start(command, &self.folder.path().join(format!("{name}.log")));
        assert!(process.listens(address), "{name} ended: {}", process.log());
        Member { process, address, arguments }
    }

    /// Starts the store; its data is in a file unless `options` say otherwise.
    pub fn start_store(&mut self, options: &[&str]) {
        let address = free_address();
        let mut arguments = strings(&["store", "--listen", &address.to_string()]);
        arguments.extend(["--token-key".to_owned(), self.folder.file("token.key")]);
        if !options.contains(&"--postgres") {
            arguments.extend(["--data".to_owned(), self.folder.file("store.redb")]);
        }
        arguments.extend(strings(options));
        self.store = Some(self.start("store", address, arguments.into_iter().map(Into::into).collect()));
        self.store_serves(1);
    }

    /// The store binds its port before it creates its file: waits until it has served this many times.
    fn store_serves(&mut self, times: usize) {
        let process = &self.store().process;
        let serves = || (process.log().matches("store serves").count() >= times).then_some(());
        eventually("the store serves", SOON, serves);
    }

    pub fn store(&mut self) -> &mut Member {
        self.store.as_mut().expect("it was started")
    }

    /// Starts `count` nodes, `n1`, `n2`, …, on a service; several servers are separated by commas.
    pub fn start_nodes(&mut self, count: usize, backend: &str, service: impl ToString) {
        let addresses: Vec<_> = (1..=count).map(|n| (format!("n{n}"), free_address())).collect();
        let peers: Vec<String> = addresses.iter().map(|(name, address)| format!("{name}={address}")).collect();
        for (name, address) in addresses {
            let mut arguments = strings(&["node", "--id", &name, "--backend", backend, "--peers", &peers.join(",")]);
            arguments.extend(strings(&["--service", &service.to_string(), "--listen", &address.to_string()]));
            arguments.extend(strings(&["--store", &self.store().address.to_string()]));
            arguments.extend(["--token-key".to_owned(), self.folder.file("token.key")]);
            arguments.extend(self.node_options.clone());
            let member = self.start(&name, address, arguments.into_iter().map(Into::into).collect());
            self.nodes.insert(name, member);
        }
    }

    /// Restarts a member with its old arguments; the old process is gone.
    pub fn restart_store(&mut self) {
        let Member { address, arguments, .. } = self.store.take().expect("it was started");
        self.store = Some(self.start("store", address, arguments));
    }

    pub fn node(&self, name: &str) -> SocketAddr {
        self.nodes[name].address
    }

    /// Waits until some node acts as leader, and returns its name.
    pub fn leader(&self) -> String {
        eventually("a node leads", SOON, || {
            self.nodes.iter().find(|(_, member)| http::leads(member.address)).map(|(name, _)| name.clone())
        })
    }

    /// Asks the leader under one name until it gets a number: repeated requests get the same number.
    pub fn number(&self, name: &str) -> u64 {
        eventually(&format!("a number for {name}"), SOON, || {
            self.nodes.values().find_map(|m| http::next(m.address, name).and_then(|a| a.seq()))
        })
    }

    /// Ends nodes and store, and returns the store's audit, which passes `check`.
    pub fn audit(&mut self, keep: &[&str]) -> String {
        for (name, member) in &mut self.nodes {
            assert_eq!(member.process.end().code(), Some(0), "{name}: {}", member.process.log());
        }
        let store = &mut self.store().process;
        assert_eq!(store.end().code(), Some(0), "the store: {}", store.log());
        let audit = self.export(keep);
        let file = self.folder.write("audit.jsonl", &audit);
        let checked = fencepost(["check", &file]);
        // If only one leader ever wrote, nothing could go wrong, and `check` reports that this proves nothing.
        let one = text(&checked.stdout).contains("only one leader wrote");
        let code = if one { Some(2) } else { Some(0) };
        assert_eq!(checked.status.code(), code, "{}{}", text(&checked.stdout), text(&checked.stderr));
        for (name, log) in self.logs() {
            assert!(!log.contains("panicked"), "{name} has panicked:\n{log}");
        }
        audit
    }

    fn export(&self, keep: &[&str]) -> String {
        let data = self.folder.file("store.redb");
        let keep = if keep.is_empty() { vec!["--data", &data] } else { keep.to_vec() };
        let mut command = program();
        command.arg("audit").args(keep).envs(self.environment.iter().cloned());
        let audit = super::run(command);
        assert!(audit.status.success(), "{}", text(&audit.stderr));
        text(&audit.stdout)
    }

    /// The output of all processes.
    pub fn logs(&self) -> Vec<(String, String)> {
        let nodes = self.nodes.iter().map(|(name, member)| (name.clone(), member.process.log()));
        nodes.chain(self.store.iter().map(|m| ("store".to_owned(), m.process.log()))).collect()
    }
}

fn lines(audit: &str) -> impl Iterator<Item = Value> {
    audit.lines().map(|line| serde_json::from_str(line).expect("an audit is JSON lines"))
}

/// Numbers that an audit's accepted writes issued.
pub fn accepted(audit: &str) -> Vec<u64> {
    let writes = lines(audit).filter(|l| l["event"] == "apply" && l["resource"] == "sequence" && l["verdict"] == "ok");
    writes.map(|l| l["seq"].as_u64().expect("a write has a number")).collect()
}

/// The request with its MAC, made with the key.
pub fn signed(line: &str) -> String {
    let key = TokenKey::new(TOKEN_KEY.as_bytes()).expect("the key is long enough");
    wire::line(&key.sign(wire::parse(line).expect("a request")))
}
