//! A world of a page for candidates and a power switch.

use protocols::{
    clock::Now,
    core::{self, Core},
    election::{
        Setup, Timings,
        stonith::{PROTOCOL, SETTLE},
    },
    elector::{AnyElector, Input, Output},
    fence::power::{Message, PowerSwitch},
    payload::Opaque,
    types::{MILLISECOND, NodeId, SECOND},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

pub const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: 714 * MILLISECOND,
    request_timeout: SECOND,
    election_timeout: None,
};
/// No packet travels longer: the protocol's assumption.
pub const TRIP_MAX: u64 = SETTLE;

pub enum Event {
    /// To a node's process of that start; `None` is to whichever runs.
    Input(usize, Option<u64>, Input),
    Timer(usize, u64, u16, u64),
    Device(NodeId, Opaque),
    DeviceTimer(u64),
    Boot(usize),
}

pub struct Node {
    pub elector: Option<Box<AnyElector>>,
    pub starts: u64,
    pub timers: BTreeMap<u16, u64>,
    pub paused_until: u64,
    pub leads: bool,
    /// When it last stopped leading, or lost its power while it led.
    pub led_until: Option<u64>,
}

pub struct World {
    pub now: u64,
    pub count: u64,
    pub events: BTreeMap<(u64, u64), Event>,
    pub random: ChaCha8Rng,
    pub nodes: Vec<Node>,
    pub device: PowerSwitch,
    pub device_timer: u64,
    pub cut: BTreeSet<(NodeId, NodeId)>,
    pub loss: u64,
    pub trip_max: u64,
    /// Who asked to have whose power cut.
    pub asked: Vec<(NodeId, NodeId)>,
    /// When, whose.
    pub cuts: Vec<(u64, NodeId)>,
    pub elections: Vec<(u64, NodeId)>,
}

impl World {
    pub fn new(count: usize, seed: u64) -> World {
        let node = || Node {
            elector: None,
            starts: 0,
            timers: BTreeMap::new(),
            paused_until: 0,
            leads: false,
            led_until: None,
        };
        let mut world = World {
            now: 0,
            count: 0,
            events: BTreeMap::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            nodes: (0..count).map(|_| node()).collect(),
            device: PowerSwitch::new(count as u16),
            device_timer: 0,
            cut: BTreeSet::new(),
            loss: 0,
            trip_max: MILLISECOND,
            asked: Vec::new(),
            cuts: Vec::new(),
            elections: Vec::new(),
        };
        for node in 0..count {
            let at = world.draw(50 * MILLISECOND);
            world.push(at, Event::Boot(node));
        }
        world
    }

    pub fn draw(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below
    }

    pub fn push(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    pub fn leaders(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].leads).collect()
    }

    pub fn device_id(&self) -> NodeId {
        NodeId(self.nodes.len() as u16)
    }

    pub fn cut_apart(&mut self, some: &[u16], others: &[u16]) {
        for (a, b) in some.iter().flat_map(|a| others.iter().map(move |b| (NodeId(*a), NodeId(*b)))) {
            self.cut.extend([(a, b), (b, a)]);
        }
    }

    pub fn send(&mut self, from: NodeId, to: NodeId, message: Opaque) {
        if self.cut.contains(&(from, to)) || self.draw(100) < self.loss {
            return;
        }
        let at = self.now + 1 + self.draw(self.trip_max);
        let message = if to == self.device_id() {
            Event::Device(from, message)
        } else {
            Event::Input(to.index(), None, Input::Peer { from, message })
        };
        self.push(at, message);
    }

    pub fn boot(&mut self, node: usize) {
        if self.nodes[node].elector.is_some() {
            return;
        }
        let names = (0..self.nodes.len()).map(|index| format!("n{index}")).collect();
        let (nonce, service, bugs) = (self.random.next_u64(), vec![self.device_id()], Default::default());
        let setup =
            Setup { group: 0, node: NodeId(node as u16), names, timings: TIMINGS, nonce, stored: None, service, bugs };
        self.nodes[node].elector = Some((PROTOCOL.elector)(setup));
        self.nodes[node].starts += 1;
        self.step(node, Input::Start);
    }

    pub fn die(&mut self, node: usize) {
        let now = self.now;
        let dead = &mut self.nodes[node];
        dead.elector = None;
        dead.timers.clear();
        dead.paused_until = 0;
        if std::mem::take(&mut dead.leads) {
            dead.led_until = Some(now);
        }
    }

    pub fn step(&mut self, node: usize, input: Input) {
        let now = Now { mono: self.now, wall: 0 };
        let Some(elector) = &mut self.nodes[node].elector else { return };
        let mut outputs = Vec::new();
        elector.step(now, input, &mut outputs);
        for output in outputs {
            match output {
                Output::Send { to, message } => {
                    if let Some(Message::Fence { target, .. }) = message.get() {
                        self.asked.push((NodeId(node as u16), *target));
                    }
                    self.send(NodeId(node as u16), to, message);
                }
                Output::SetTimer { id, at } => {
                    self.nodes[node].timers.insert(id, at);
                    let starts = self.nodes[node].starts;
                    self.push(at.max(self.now), Event::Timer(node, starts, id, at));
                }
                Output::CancelTimer(id) => {
                    self.nodes[node].timers.remove(&id);
                }
                Output::Elected(leadership) => self.elected(node, leadership.valid_until),
                Output::Deposed(_) => {
                    assert!(std::mem::take(&mut self.nodes[node].leads), "n{node} stops what it had not begun");
                    self.nodes[node].led_until = Some(self.now);
                }
                _ => {}
            }
        }
    }

    pub fn elected(&mut self, node: usize, valid_until: u64) {
        assert!(!self.nodes[node].leads, "n{node} is elected twice");
        assert!(valid_until > self.now);
        for (other, state) in self.nodes.iter().enumerate().filter(|(other, _)| *other != node) {
            assert!(!state.leads, "{}: n{node} leads while n{other} does", self.now);
            let settled = state.led_until.is_none_or(|until| self.now >= until + TRIP_MAX);
            assert!(settled, "{}: n{node} leads, but n{other} wrote until {:?}", self.now, state.led_until);
        }
        self.nodes[node].leads = true;
        self.elections.push((self.now, NodeId(node as u16)));
    }

    pub fn device_step(&mut self, input: core::Input) {
        let mut outputs = Vec::new();
        self.device.step(Now { mono: self.now, wall: 0 }, input, &mut outputs);
        for output in outputs {
            match output {
                core::Output::PowerOff { node, restart_after } => {
                    self.cuts.push((self.now, node));
                    self.die(node.index());
                    self.push(self.now + restart_after.unwrap(), Event::Boot(node.index()));
                }
                core::Output::Tell { to, message } => {
                    self.send(self.device_id(), to, message);
                }
                core::Output::SetTimer { at, .. } => {
                    self.device_timer = at;
                    self.push(at, Event::DeviceTimer(at));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn run_until(&mut self, end: u64) {
        while self.events.keys().next().is_some_and(|key| key.0 <= end) {
            let Some((key, event)) = self.events.pop_first() else { return };
            self.now = key.0.max(self.now);
            match event {
                Event::Boot(node) => self.boot(node),
                // A paused process finds what has come, in order, when it wakes.
                Event::Input(node, _, _) | Event::Timer(node, ..) if self.nodes[node].paused_until > self.now => {
                    let at = self.nodes[node].paused_until;
                    let event = match event {
                        Event::Input(node, None, input) => Event::Input(node, Some(self.nodes[node].starts), input),
                        event => event,
                    };
                    self.push(at, event);
                }
                Event::Input(node, starts, input) => {
                    if starts.is_none_or(|starts| starts == self.nodes[node].starts) {
                        self.step(node, input);
                    }
                }
                Event::Timer(node, starts, id, at) => {
                    let state = &mut self.nodes[node];
                    if state.starts == starts && state.timers.get(&id) == Some(&at) {
                        state.timers.remove(&id);
                        self.step(node, Input::Timer(id));
                    }
                }
                Event::Device(from, message) => self.device_step(core::Input::Peer { from, message }),
                Event::DeviceTimer(at) if at == self.device_timer => self.device_step(core::Input::Timer(0)),
                Event::DeviceTimer(_) => {}
            }
        }
        self.now = end;
    }
}
