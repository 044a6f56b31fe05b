//! What a vacancy costs on etcd: with one key that all compete for, and with the queue of etcd's own library. Electors
//! against a store that is as small as it can be: keys by revision, and who watches their deletion.

use protocols::{
    clock::Now,
    election::{Protocol, Setup, Timings, etcd, etcd_key},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    payload::Payload,
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
    types::{MILLISECOND, NodeId, SECOND},
};
use std::collections::VecDeque;

struct Fleet {
    electors: Vec<Box<AnyElector>>,
    /// In order of creation.
    keys: Vec<KeyState>,
    revision: i64,
    /// Which node's which stream waits for the deletion of which key.
    watches: Vec<(usize, u64, Vec<u8>)>,
    due: VecDeque<(usize, Input)>,
    /// What the campaigns asked, observers apart.
    asked: Vec<&'static str>,
    leader: Option<usize>,
}

impl Fleet {
    fn new(protocol: &Protocol, nodes: usize) -> Fleet {
        let timings = Timings {
            lease_ttl: 9 * SECOND,
            renew_interval: 3 * SECOND,
            request_timeout: SECOND,
            election_timeout: None,
            rules: Default::default(),
            own: Default::default(),
        };
        let setup = |node: usize| Setup {
            node: NodeId(node as u16),
            group: 0,
            seat: None,
            names: (0..nodes).map(|node| format!("n{node}")).collect(),
            timings,
            nonce: 1,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let electors = (0..nodes).map(|node| (protocol.elector)(setup(node))).collect();
        let due = (0..nodes).map(|node| (node, Input::Start)).collect();
        let (keys, watches, asked) = (Vec::new(), Vec::new(), Vec::new());
        let mut fleet = Fleet { electors, keys, revision: 1, watches, due, asked, leader: None };
        fleet.settle();
        fleet
    }

    /// Until nobody has anything more to say.
    fn settle(&mut self) {
        while let Some((node, input)) = self.due.pop_front() {
            let (mut out, mono) = (Vec::new(), 100 * MILLISECOND);
            self.electors[node].step(Now { mono, wall: mono }, input, &mut out);
            out.into_iter().for_each(|output| self.output(node, output));
        }
    }

    fn output(&mut self, node: usize, output: Output) {
        match output {
            Output::Elected(_) => assert_eq!(self.leader.replace(node), None, "two lead"),
            Output::Service(ServiceOutput::Request { number, request, concurrent, .. }) => {
                let request: Request = Request::restore(request).expect("a request to etcd");
                let reply = Ok(self.answer(node, request, concurrent).erase());
                self.due.push_back((node, Input::Service(ServiceInput::Reply { number, reply })));
            }
            Output::Service(ServiceOutput::Open { number, request }) => match StreamRequest::restore(request) {
                Ok(StreamRequest::WatchDelete { key, .. }) => self.watches.push((node, number, key)),
                Ok(StreamRequest::Keepalive { ttl_s, .. }) => self.item(node, number, Item::KeptAlive { ttl_s }),
                _ => {}
            },
            Output::Service(ServiceOutput::Close(number)) => {
                self.watches.retain(|watch| (watch.0, watch.1) != (node, number));
            }
            _ => {}
        }
    }

    fn item(&mut self, node: usize, number: u64, item: Item) {
        self.due.push_back((node, Input::Service(ServiceInput::Item { number, item: item.erase() })));
    }

    fn answer(&mut self, node: usize, request: Request, by_the_observer: bool) -> Reply {
        let found = |key: Option<&KeyState>, revision| Reply::Found { key: key.cloned(), revision };
        let (word, reply) = match request {
            Request::Grant { ttl_s } => ("grant", Reply::Granted { lease: 1 + node as i64, ttl_s }),
            Request::CreateKey { key, value, lease } => {
                let there = self.keys.iter().find(|there| there.key == key.as_bytes()).cloned();
                let state = there.clone().unwrap_or_else(|| {
                    self.revision += 1;
                    KeyState { key: key.into_bytes(), value, create_revision: self.revision, lease }
                });
                let (create_revision, value, lease) = (state.create_revision, state.value.clone(), state.lease);
                let (created, revision) = (there.is_none(), self.revision);
                self.keys.extend(created.then_some(state));
                ("create", Reply::Created { created, create_revision, value, lease, revision })
            }
            Request::Predecessor { max_create_revision, .. } => {
                let before = self.keys.iter().rfind(|key| key.create_revision <= max_create_revision);
                ("predecessor", found(before, self.revision))
            }
            Request::First { .. } => ("first", found(self.keys.first(), self.revision)),
            Request::GetKey { key } => {
                let own = self.keys.iter().find(|there| there.key == key.as_bytes());
                ("own", found(own, self.revision))
            }
            other => panic!("nobody asks {other:?} here"),
        };
        if !by_the_observer {
            self.asked.push(word);
        }
        reply
    }

    /// The leader has died, and its lease is over: who watches its key is told. Gives what is asked until all is quiet.
    fn vacancy(&mut self) -> Vec<&'static str> {
        let leader = self.leader.take().expect("a leader");
        self.asked.clear();
        self.revision += 1;
        self.watches.retain(|watch| watch.0 != leader);
        let gone = self.keys.iter().position(|key| key.value == format!("n{leader}")).expect("its key");
        let gone = self.keys.remove(gone).key;
        let (told, rest) = self.watches.drain(..).partition(|watch| watch.2 == gone);
        self.watches = rest;
        let told: Vec<(usize, u64, Vec<u8>)> = told;
        told.into_iter().for_each(|(node, number, _)| self.item(node, number, Item::Deleted));
        self.settle();
        assert!(self.leader.is_some_and(|next| next != leader), "a successor");
        std::mem::take(&mut self.asked)
    }
}

#[test]
fn vacancies_wake_everybody_or_one() {
    for nodes in [3, 5, 9] {
        let mut herd = Fleet::new(&etcd_key::PROTOCOL, nodes);
        assert_eq!(herd.vacancy(), vec!["create"; nodes - 1], "all who are left, of {nodes}");
        assert_eq!(herd.vacancy(), vec!["create"; nodes - 2], "all who are left then");
        let mut queue = Fleet::new(&etcd::PROTOCOL, nodes);
        for _ in 0..2 {
            assert_eq!(queue.vacancy(), ["predecessor", "own"], "the next of {nodes} looks, and looks at its own key");
        }
    }
}
