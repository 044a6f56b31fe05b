//! How clients find the leader without asking every node: by an address that moves with leadership.
//!
//! **Where it comes from.** Three methods are in use; they differ as follows:
//! - A virtual IP (keepalived, kube-vip): the new leader announces it to the whole network segment (gratuitous ARP),
//!   and a former leader removes it from its own interface.
//! - A DNS record: the new leader overwrites it, and resolvers keep the old one until its TTL expires. A former leader
//!   has nothing to do.
//! - A label (Vault's `vault-active`, and a Kubernetes Service that selects by it): each node sets and removes its own.
//!   Clients are sent to the labelled nodes in turn.
//!   are sent to all that have it, in turn.
//!
//! An owner repeats its claim every [`CLAIMED_EVERY`], as kube-vip does. Claims carry no token, and the last one wins:
//! an address brings clients to the leader eventually, and never stops a former leader from taking effect.
//!
//! **What breaks it.** A node keeps the address after losing leadership (kube-vip/kube-vip issues 277, 996 and 1775,
//! acassen/keepalived issue 1702, hashicorp/vault issue 18117), or the TTL is longer than clients can wait. Clients
//! then go to a node that does not lead, although another one does.

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

/// The interval between an owner's claims, nanoseconds: kube-vip's (`vip_arpRate`, 3000 ms).
pub const CLAIMED_EVERY: u64 = 3 * SECOND;

/// A program that stops leading but keeps claiming that it leads.
pub const KEPT_AFTER_LOSS: Bug = Bug {
    id: "address-kept-after-loss",
    protocols: &["redis-lease", "redis-fenced", "etcd-election", "k8s-lease"],
    what: "A deposed leader keeps claiming the address at which clients find the leader: clients are sent to a node \
           that does not lead, beside the one that does.",
    source: "kube-vip/kube-vip issues 277, 996 and 1775; acassen/keepalived issue 1702; hashicorp/vault issue 18117",
    violation: "metrics.dark_ms",
    shown: Shown::by("stale-address", "k8s-lease", 4).with("--address vip").above(4_000),
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    /// The claim's recipient.
    pub directory: NodeId,
    pub kind: Kind,
    /// Whether this node claims the address.
    pub held: bool,
}

/// The party that answers for the address: a name server, the API with the labels, or the network segment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directory {
    kind: Kind,
    clients: Range<u16>,
    /// In the order of their claims; for a virtual IP or a record, only the last one.
    owners: Vec<NodeId>,
    /// How often each client has asked.
    asked: BTreeMap<NodeId, usize>,
}

impl Directory {
    /// A directory without claims, for these clients.
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

    /// The owner that a client is sent to. With several owners, each client goes to them in turn, and the clients start
    /// at different ones.
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

/// A client's view of the address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Resolver {
    directory: NodeId,
    ttl: u64,
    patience: u64,
    leader: Option<NodeId>,
    /// Whether the directory owes an answer.
    asked: bool,
}

impl Resolver {
    /// A resolver that keeps an answer for `ttl` nanoseconds, and repeats an unanswered question after `patience`.
    pub const fn new(directory: NodeId, ttl: u64, patience: u64) -> Self {
        Resolver { directory, ttl, patience, leader: None, asked: false }
    }

    /// The node it takes for the leader.
    pub const fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    /// Asks the directory. The last answer remains valid meanwhile.
    pub fn ask(&mut self, now: Now, timer: TimerId, out: &mut Vec<Output>) {
        if std::mem::replace(&mut self.asked, true) {
            out.push(Output::Redial { to: self.directory });
        }
        out.push(Output::Send { to: self.directory, message: Message::Address(Address::Asked) });
        out.push(Output::SetTimer { id: timer, at: now.mono + self.patience });
    }

    /// Takes the directory's answer. If nobody has the address, it asks again after its patience.
    pub fn told(&mut self, now: Now, timer: TimerId, node: Option<NodeId>, out: &mut Vec<Output>) {
        self.asked = false;
        if node.is_some() {
            self.leader = node;
            out.push(Output::SetTimer { id: timer, at: now.mono + self.ttl });
        }
    }
}
