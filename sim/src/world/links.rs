//! What is under way between processes: the links, the machines' uplinks, messages that wait or travel, and all byte
//! streams.

use super::{
    connection::Parked,
    network::{Lane, Link},
    packet::Said,
    stream::{Conn, Held, Listening, Side},
    uplink::{Traffic, Uplink},
};
use protocols::{
    election::{Protocol, Transport},
    types::{MILLISECOND, NodeId},
};
use scenarios::{plan::Plan, topology::Topology};
use std::collections::BTreeMap;

pub struct Links {
    /// The uplink of each process.
    uplinks: Vec<Uplink>,
    links: Vec<Link>,
    nodes: usize,
    store: NodeId,
    /// Messages that met silence.
    pub(super) parked: Vec<Parked>,
    /// Messages between candidates in flight.
    pub(super) said: Said,
}

impl Links {
    pub fn new(plan: &Plan, protocol: &Protocol, topology: &Topology) -> Self {
        let names = topology.names();
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (from, to)));
        let links = pairs.map(|(from, to)| Link::new(&plan.network, plan.seed, from, to)).collect();
        let uplinks = vec![Uplink::new(&plan.network); names.len()];
        let (nodes, store) = (names.len(), topology.store());
        let mut links = Links { uplinks, links, nodes, store, parked: Vec::new(), said: Said::default() };
        links.lay_lanes(plan, protocol, topology);
        if plan.copies.is_some() {
            topology.candidates().for_each(|node| links.get(node, node).make_loopback());
        }
        links
    }

    /// Every link, between the processes with these names, draws from this seed from now on.
    pub fn draw_from(&mut self, seed: u64, names: &[String]) {
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (from, to)));
        for (link, (from, to)) in self.links.iter_mut().zip(pairs) {
            link.draw_from(seed, from, to);
        }
    }

    /// Clients connect to candidates, and candidates to the store, as in production; the protocol chooses how
    /// candidates talk to each other. Messages to a fencing device are datagrams, as with IPMI.
    fn lay_lanes(&mut self, plan: &Plan, protocol: &Protocol, topology: &Topology) {
        let candidates = || topology.candidates();
        if protocol.transport == Transport::Stream {
            // The transport's timeout is that of a request.
            let patience = plan.timings.request_timeout_ms.saturating_mul(MILLISECOND);
            for (from, to) in candidates().flat_map(|a| candidates().map(move |b| (a, b))).filter(|(a, b)| a != b) {
                self.get(from, to).lay(Lane::Forward, patience);
            }
        }
        if plan.network.datagrams {
            return;
        }
        let asking = topology.clients().flat_map(|client| candidates().map(move |node| (client, node)));
        for (from, to) in asking.chain(candidates().map(|node| (node, topology.store()))) {
            for (link, lane) in [((from, to), Lane::Forward), ((to, from), Lane::Backward)] {
                self.get(link.0, link.1).lay(lane, 0);
            }
        }
    }

    /// A process requests a connection to another at `now`: nothing else leaves before a round trip.
    pub fn dial(&mut self, from: NodeId, to: NodeId, now: u64) {
        let back = self.get(to, from).draw_greeting();
        self.get(from, to).dial(now + back);
    }

    pub fn store(&self) -> NodeId {
        self.store
    }

    /// The link in one direction.
    #[inline]
    pub fn get(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        &mut self.links[from.index() * self.nodes + to.index()]
    }

    /// When data handed to the machine at `now` has left it, in nanoseconds.
    #[inline]
    pub fn send_out(&mut self, from: NodeId, now: u64, bytes: u64, traffic: Traffic) -> u64 {
        self.uplinks[from.index()].send_out(now, bytes, traffic)
    }

    pub fn uplink(&mut self, node: NodeId) -> &mut Uplink {
        &mut self.uplinks[node.index()]
    }

    /// The same, to look at.
    #[inline]
    pub fn see(&self, from: NodeId, to: NodeId) -> &Link {
        &self.links[from.index() * self.nodes + to.index()]
    }

    /// The round-trip time between two processes, in nanoseconds.
    pub fn trip(&self, from: NodeId, to: NodeId) -> u64 {
        self.see(from, to).wire() + self.see(to, from).wire()
    }

    /// Adds a partition to one direction, or removes one.
    pub fn block(&mut self, from: NodeId, to: NodeId, on: bool) {
        self.get(from, to).block(on);
    }

    /// Adds latency to one direction, in microseconds, or removes it.
    pub fn slow(&mut self, from: NodeId, to: NodeId, extra_us: u64, on: bool) {
        self.get(from, to).slow(extra_us, on);
    }

    /// Adds loss to one direction, or removes it.
    pub fn lose(&mut self, from: NodeId, to: NodeId, probability: f64, on: bool) {
        self.get(from, to).lose(probability, on);
    }
}

// All byte streams: their connections, the listening ports, and segments that met silence.

#[derive(Default)]
pub(super) struct Streams {
    /// By number; a connection that has ended keeps its place.
    pub conns: Vec<Conn>,
    pub listeners: BTreeMap<(NodeId, u16), Listening>,
    pub held: Vec<Held>,
}

impl Streams {
    /// The sending and the receiving process of what goes to the side `to`.
    pub fn ends(&self, conn: u32, to: u8) -> (NodeId, NodeId) {
        let sides = &self.conns[conn as usize].sides;
        (NodeId(sides[1 - to as usize].node), NodeId(sides[to as usize].node))
    }

    pub fn side(&mut self, conn: u32, side: u8) -> &mut Side {
        &mut self.conns[conn as usize].sides[side as usize]
    }
}
