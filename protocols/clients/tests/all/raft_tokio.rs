//! The same Raft nodes on tokio, real sockets and a real disk: a leader is elected, dies, a leader of a later term
//! follows, and the first returns as a follower with its state intact.

use protocols::{
    election::Timings,
    elector::{ServiceInput, ServiceOutput},
    payload::Payload,
    service::raft::{Item, StreamRequest},
    types::{MILLISECOND, NodeId},
};
use protocols_clients::{
    env::tokio::{EnvSettings, TokioEnv},
    raft::{self, journal},
    site::{Endpoint, Site},
};
use std::{
    fs,
    path::PathBuf,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

/// Longer than anything takes here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node on its own runtime, so that it can die like a process.
struct Node {
    runtime: Option<Runtime>,
    _outputs: UnboundedSender<ServiceOutput>,
}

impl Node {
    fn start(site: Site, folder: PathBuf, seen: Sender<(NodeId, Item)>) -> Node {
        fs::create_dir_all(&folder).unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let seed = u64::from(site.node.0) + 1;
        let env = TokioEnv::with(EnvSettings { seed, folder: Some(folder), ..EnvSettings::default() });
        let (outputs, to_client) = unbounded_channel();
        let request = StreamRequest::Watch.erase();
        outputs.send(ServiceOutput::Open { number: 1, request }).unwrap();
        let node = site.node;
        let deliver = move |input| {
            if let ServiceInput::Item { item, .. } = input {
                // The watcher may have stopped listening.
                let _ = seen.send((node, Item::restore(item).expect("an item of Raft's")));
            }
        };
        runtime.spawn(raft::client::run(env, site, to_client, deliver));
        Node { runtime: Some(runtime), _outputs: outputs }
    }

    fn kill(&mut self) {
        self.runtime.take().unwrap().shutdown_timeout(PATIENCE);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn sites(ports: &[u16]) -> Vec<Site> {
    let endpoint = |port: &u16| Endpoint { host: "127.0.0.1".to_owned(), port: *port };
    let nodes: Vec<NodeId> = (0..ports.len() as u16).map(NodeId).collect();
    // Generous, because tests share the machine.
    let timings = Timings {
        lease_ttl: 600 * MILLISECOND,
        renew_interval: 100 * MILLISECOND,
        request_timeout: 1_000 * MILLISECOND,
        election_timeout: Some((600 * MILLISECOND, 1_200 * MILLISECOND)),
        rules: Default::default(),
        own: Default::default(),
    };
    let site = |node: &NodeId| Site {
        service: Vec::new(),
        node: *node,
        peers: ports.iter().map(endpoint).collect(),
        port: ports[node.index()],
        founders: nodes.clone(),
        timings,
        bugs: Default::default(),
    };
    nodes.iter().map(site).collect()
}

/// Waits until a node reports what `wanted` looks for.
fn wait<T>(seen: &Receiver<(NodeId, Item)>, what: &str, mut wanted: impl FnMut(NodeId, Item) -> Option<T>) -> T {
    loop {
        let (node, item) = seen.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what}"));
        if let Some(found) = wanted(node, item) {
            return found;
        }
    }
}

#[test]
fn a_leader_dies_and_comes_back_as_a_follower() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("raft-on-tokio");
    let _ = fs::remove_dir_all(&folder);
    let ports: Vec<u16> = (0..3).map(|_| servers::free_address().port()).collect();
    let (see, seen) = channel();
    let start = |site: &Site| Node::start(site.clone(), folder.join(format!("n{}", site.node.0)), see.clone());
    let sites = sites(&ports);
    let mut nodes: Vec<Node> = sites.iter().map(start).collect();

    let leads_after = |above: u64| {
        move |node, item| match item {
            Item::Leading { term, .. } if term > above => Some((node, term)),
            _ => None,
        }
    };
    let (first, term) = wait(&seen, "nobody is elected", leads_after(0));
    nodes[first.index()].kill();
    while seen.try_recv().is_ok() {}
    let (second, later) = wait(&seen, "nobody follows the dead leader", leads_after(term));
    assert_ne!(first, second);

    let journal = fs::read(folder.join(format!("n{}", first.0)).join(journal::FILE)).unwrap();
    let (state, whole) = journal::replay(&journal);
    assert_eq!(whole, journal.len());
    assert_eq!(state.vote.map(|vote| vote.leader_id.term), Some(term));

    nodes[first.index()] = start(&sites[first.index()]);
    wait(&seen, "the one that came back finds no leader", |node, item| match item {
        Item::Following { term, leader: Some(_) } if node == first => {
            assert!(term >= later, "it follows in term {term}, after {later}");
            Some(())
        }
        _ => None,
    });
}
