//! How clients find the leader when they do not ask every node: by an address that moves with leadership.
//!
//! **Where it comes from.** Three ways that are in use, as far as they differ:
//! - A virtual IP (keepalived, kube-vip): the new leader announces it to everybody on the network segment (gratuitous ARP), and
//!   whoever leads no more takes it off its own interface.
//! - A DNS record: the new leader overwrites it, and resolvers keep the old one until its ttl is over. Whoever leads no more
//!   has nothing to do.
//! - A label (Vault's `vault-active`, and a Kubernetes Service that selects by it): each node sets and removes its own. Clients
//!   are sent to all that have it, in turn.
//!
//! An owner repeats its claim every [`CLAIMED_EVERY`], as kube-vip does. Claims have no token, and the last one counts: an address
//! brings clients to the leader sooner or later, and never keeps a former leader from taking effect.
//!
//! **What breaks it.** A node that keeps the address after it has lost its leadership (kube-vip/kube-vip issues 277, 996 and 1775,
//! acassen/keepalived issue 1702, hashicorp/vault issue 18117), and a ttl that is longer than anybody can wait: the clients
//! are sent to a node that does not lead, while one that does is up.

mod kind;

pub use kind::Kind;

use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::{Core, Input, Output, TimerId},
    message::{Address, Message},
    types::{NodeId, SECOND},
};
use std::{collections::BTreeMap, ops::Range};

/// From one claim of an owner to the next, nanoseconds: as often as kube-vip broadcasts (`vip_arpRate`, 3000 ms).
pub const CLAIMED_EVERY: u64 = 3 * SECOND;

/// What programs do that stop leading and go on saying that they do.
pub const KEPT_AFTER_LOSS: Bug = Bug {
    id: "address-kept-after-loss",
    protocols: &["redis-lease", "redis-fenced", "etcd-election", "k8s-lease"],
    what: "A deposed leader keeps claiming the address at which clients find the leader: clients are sent to a node \
           that does not lead, beside the one that does.",
    source: "kube-vip/kube-vip issues 277, 996 and 1775; acassen/keepalived issue 1702; hashicorp/vault issue 18117",
    violation: "metrics.dark_ms",
    shown: Shown::by("stale-address", "k8s-lease", 4).with("--address vip").above(4_000),
};

/// A node's hold on the address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    /// Who is told.
    pub directory: NodeId,
    /// What kind of address it is.
    pub kind: Kind,
    /// This node says that the address is its own.
    pub held: bool,
}

/// Who answers for the address: a name server, the API that has the labels, or the network segment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directory {
    kind: Kind,
    clients: Range<u16>,
    /// In the order in which they have claimed it; of a virtual IP and a record, the last one only.
    owners: Vec<NodeId>,
    /// How often each client has asked.
    asked: BTreeMap<NodeId, usize>,
}

impl Directory {
    /// One that nobody has claimed anything of, for these clients.
    pub const fn new(kind: Kind, clients: Range<u16>) -> Self {
        Directory { kind, clients, owners: Vec::new(), asked: BTreeMap::new() }
    }

    fn claimed(&mut self, by: NodeId, out: &mut Vec<Output>) {
        let moves = !self.owners.contains(&by);
        if self.kind != Kind::Label {
            self.owners.clear();
        }
        if !self.owners.contains(&by) {
            self.owners.push(by);
        }
        if self.kind == Kind::Vip && moves {
            let message = Message::Address(Address::Is(Some(by)));
            out.extend(self.clients.clone().map(|client| Output::Send { to: NodeId(client), message }));
        }
    }

    /// Whom a client is sent to. Where there are several owners, each client goes to each of them in turn, and not all begin with
    /// the same one.
    fn owner(&mut self, client: NodeId) -> Option<NodeId> {
        let asked = self.asked.entry(client).or_insert(client.index());
        *asked += 1;
        self.owners.get(asked.checked_rem(self.owners.len())?).copied()
    }
}

impl Core for Directory {
    fn step(&mut self, _: Now, input: Input, out: &mut Vec<Output>) {
        let Input::Message { from, message: Message::Address(said) } = input else { return };
        match said {
            Address::Claimed => self.claimed(from, out),
            Address::Released => self.owners.retain(|owner| *owner != from),
            Address::Asked => {
                let message = Message::Address(Address::Is(self.owner(from)));
                out.push(Output::Send { to: from, message });
            }
            Address::Is(_) => {}
        }
    }
}

/// What a client knows of the address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Resolver {
    directory: NodeId,
    ttl: u64,
    patience: u64,
    leader: Option<NodeId>,
    /// The directory owes an answer.
    asked: bool,
}

impl Resolver {
    /// One that keeps an answer for `ttl` nanoseconds, and asks again after `patience` without one.
    pub const fn new(directory: NodeId, ttl: u64, patience: u64) -> Self {
        Resolver { directory, ttl, patience, leader: None, asked: false }
    }

    /// Whom it takes for the leader.
    pub const fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    /// Asks. What it was told last goes on counting until there is an answer.
    pub fn ask(&mut self, now: Now, timer: TimerId, out: &mut Vec<Output>) {
        if std::mem::replace(&mut self.asked, true) {
            out.push(Output::Redial { to: self.directory });
        }
        out.push(Output::Send { to: self.directory, message: Message::Address(Address::Asked) });
        out.push(Output::SetTimer { id: timer, at: now.mono + self.patience });
    }

    /// It is told who has the address; nobody: it asks again when its patience is over.
    pub fn told(&mut self, now: Now, timer: TimerId, node: Option<NodeId>, out: &mut Vec<Output>) {
        self.asked = false;
        if node.is_some() {
            self.leader = node;
            out.push(Output::SetTimer { id: timer, at: now.mono + self.ttl });
        }
    }
}
