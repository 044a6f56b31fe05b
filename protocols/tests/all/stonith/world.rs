//! A bench of candidates, and a power switch beside it.

use protocols::{
    bench::{
        Bench,
        event::{Event, Step},
    },
    clock::Now,
    core::{self, Core},
    election::{
        Setup, Timers, Timings,
        stonith::{PROTOCOL, SETTLE},
    },
    elector::{AnyElector, Input, Output},
    fence::power::{Message, PowerSwitch},
    types::{MILLISECOND, NodeId, SECOND},
};

pub const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: 714 * MILLISECOND,
    request_timeout: SECOND,
    election_timeout: None,
    rules: protocols::election::rules::Rules::USUAL,
    own: Timers::NONE,
};
/// No packet travels longer: the protocol's assumption.
pub const TRIP_MAX: u64 = SETTLE;

pub struct World {
    pub bench: Bench,
    device: PowerSwitch,
    /// Who asked to have whose power cut.
    pub asked: Vec<(NodeId, NodeId)>,
    /// When, whose.
    pub cuts: Vec<(u64, NodeId)>,
    pub elections: Vec<(u64, NodeId)>,
    /// When each node last stopped leading, or lost its power while it led.
    led_until: Vec<Option<u64>>,
}

impl World {
    pub fn new(count: u16, seed: u64) -> World {
        let with_device = move |setup| (PROTOCOL.elector)(Setup { service: vec![NodeId(count)], ..setup });
        let mut bench = Bench::new(count, TIMINGS, seed, with_device);
        bench.network.delay = 1..1 + MILLISECOND;
        for node in bench.nodes() {
            let at = bench.draw(50 * MILLISECOND);
            bench.start_at(at, node);
        }
        World {
            bench,
            device: PowerSwitch::new(count),
            asked: Vec::new(),
            cuts: Vec::new(),
            elections: Vec::new(),
            led_until: vec![None; count.into()],
        }
    }

    pub fn leaders(&self) -> Vec<u16> {
        self.bench.believers().into_iter().map(|node| node.0).collect()
    }

    pub fn device_id(&self) -> NodeId {
        NodeId(self.led_until.len() as u16)
    }

    pub fn cut_apart(&mut self, some: &[u16], others: &[u16]) {
        let nodes = |of: &[u16]| of.iter().copied().map(NodeId).collect::<Vec<_>>();
        self.bench.network.cut_apart(&nodes(some), &nodes(others), u64::MAX);
    }

    pub fn cut(&mut self, from: u16, to: u16) {
        self.bench.network.cut(NodeId(from), NodeId(to), u64::MAX);
    }

    pub fn die(&mut self, node: NodeId) {
        if self.bench.seat(node).belief().is_some() {
            self.led_until[node.index()] = Some(self.bench.now());
        }
        self.bench.crash(node, 0);
    }

    pub fn resign(&mut self, node: NodeId) {
        let step = self.bench.give(node, Input::Resign);
        self.note(&step);
    }

    pub fn run_until(&mut self, end: u64) {
        while let Some(step) = self.bench.next(end) {
            self.note(&step);
            match step.event {
                Event::Outside { from, message, .. } => self.device_step(core::Input::Peer { from, message }),
                // The device's timer was set for then.
                Event::Alarm(at) if at == step.at => self.device_step(core::Input::Timer(0)),
                _ => {}
            }
        }
    }

    fn note(&mut self, step: &Step<Box<AnyElector>>) {
        assert_eq!(self.bench.broken(), None);
        let Some(node) = step.node() else { return };
        for output in &step.outputs {
            match output {
                Output::Send { message, .. } => {
                    if let Some(Message::Fence { target, .. }) = message.get() {
                        self.asked.push((node, *target));
                    }
                }
                Output::Elected(leadership) => self.elected(node, leadership.valid_until),
                Output::Deposed(_) => self.led_until[node.index()] = Some(step.at),
                _ => {}
            }
        }
    }

    fn elected(&mut self, node: NodeId, valid_until: u64) {
        let now = self.bench.now();
        assert!(valid_until > now);
        for other in self.bench.nodes().filter(|other| *other != node) {
            assert_eq!(self.bench.seat(other).belief(), None, "{now}: {node:?} leads while {other:?} does");
            let led_until = self.led_until[other.index()];
            let settled = led_until.is_none_or(|until| now >= until + TRIP_MAX);
            assert!(settled, "{now}: {node:?} leads, but {other:?} wrote until {led_until:?}");
        }
        self.elections.push((now, node));
    }

    fn device_step(&mut self, input: core::Input) {
        let now = self.bench.now();
        let mut outputs = Vec::new();
        self.device.step(Now { mono: now, wall: 0 }, input, &mut outputs);
        for output in outputs {
            match output {
                core::Output::PowerOff { node, restart_after } => {
                    self.cuts.push((now, node));
                    self.die(node);
                    self.bench.start_at(now + restart_after.unwrap(), node);
                }
                core::Output::Tell { to, message } => self.bench.send(self.device_id(), to, message),
                core::Output::SetTimer { at, .. } => self.bench.alarm(at, at),
                other => panic!("{other:?}"),
            }
        }
    }
}
