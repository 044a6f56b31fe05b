//! A fleet of candidates on a network and on disks that a test can do anything to.

use protocols::{
    bench::{
        Bench,
        event::{Event, Step},
        seat::Clock,
    },
    election::{
        Setup, Timings,
        zab_fle::{Message, Quorum, ZabFle},
    },
    elector,
    payload::Nothing,
    types::{Leadership, MICROSECOND, MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The sync limit of these fleets, nanoseconds.
pub const TTL: u64 = SECOND;

/// What a fleet's elector knows at its start.
pub fn setup(node: u16, count: u16, nonce: u64, stored: Option<Vec<u8>>) -> Setup {
    let timings = Timings {
        lease_ttl: TTL,
        renew_interval: TTL / 10,
        request_timeout: SECOND,
        election_timeout: None,
        rules: Default::default(),
        own: Default::default(),
    };
    let names = (1..=count).map(|n| format!("n{n}")).collect();
    Setup {
        group: 0,
        seat: None,
        node: NodeId(node),
        names,
        timings,
        nonce,
        stored,
        service: Vec::new(),
        bugs: Default::default(),
    }
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The process dies, or with it the machine's power, and comes back after so many milliseconds.
    Down { node: u16, power: bool, for_ms: u64 },
    /// Nothing on the node runs for so many milliseconds.
    Pause { node: u16, for_ms: u64 },
    /// Nothing passes from `from` to anybody in the set `to` (one bit a node) for so many milliseconds.
    Cut { from: u16, to: u8, for_ms: u64 },
    /// The leader of the moment is asked to give up.
    Resign,
}

/// A belief: from its beginning to its end in true time, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reign {
    pub node: NodeId,
    pub token: u64,
    pub from: u64,
    pub to: u64,
}

/// Candidates, and what has become of them.
pub struct Fleet {
    pub bench: Bench<ZabFle>,
    pub reigns: Vec<Reign>,
    troubles: Vec<Trouble>,
    /// The place of each candidate's belief in `reigns`.
    leads: Vec<Option<usize>>,
}

impl Fleet {
    /// A fleet of `count` whose clocks' rates are up to `ppm` off.
    pub fn new(count: u16, ppm: u64, seed: u64) -> Self {
        let equals = move |setup| ZabFle::with_quorum(setup, Quorum::of_equals(count.into()));
        let mut bench = Bench::new(count, setup(0, 1, 0, None).timings, seed, equals);
        bench.network.delay = 200 * MICROSECOND..500 * MICROSECOND;
        bench.network.late_by = 400 * MILLISECOND;
        bench.disks.delay = Some(300 * MICROSECOND..700 * MICROSECOND);
        for node in bench.nodes() {
            let fast_ppm = bench.draw(2 * ppm + 1) as i64 - ppm as i64;
            // Each clock has its own zero.
            let ahead = i128::from(node.0) * i128::from(7 * SECOND);
            bench.seat_mut(node).clock = Clock { ahead, fast_ppm, stands: false };
            let at = bench.draw(50 * MILLISECOND);
            bench.start_at(at, node);
        }
        Fleet { bench, reigns: Vec::new(), troubles: Vec::new(), leads: vec![None; count.into()] }
    }

    /// So many of a thousand messages are lost, doubled and late.
    pub fn set_loss(&mut self, per_thousand: u32) {
        let network = &mut self.bench.network;
        (network.loss, network.duplicate, network.late) = (per_thousand, per_thousand, per_thousand);
    }

    /// Makes trouble so many milliseconds from now.
    pub fn plan(&mut self, after_ms: u64, trouble: Trouble) {
        let at = self.bench.now() + after_ms * MILLISECOND;
        self.bench.alarm(at, self.troubles.len() as u64);
        self.troubles.push(trouble);
    }

    /// Whoever believes now that it leads.
    pub fn leaders(&self) -> Vec<NodeId> {
        let now = self.bench.now();
        let current = |node: &NodeId| self.leads[node.index()].is_some_and(|place| self.reigns[place].to > now);
        self.bench.nodes().filter(current).collect()
    }

    /// Whom each node that runs observes as the leader.
    pub fn observed(&self) -> Vec<Option<NodeId>> {
        let seats = self.bench.nodes().map(|node| self.bench.seat(node));
        seats.filter(|seat| seat.is_up()).map(|seat| seat.observed()).collect()
    }

    /// Goes on for so many milliseconds.
    pub fn run(&mut self, for_ms: u64) {
        let end = self.bench.now() + for_ms * MILLISECOND;
        while let Some(step) = self.bench.next(end) {
            self.note(&step);
            if let Event::Alarm(number) = step.event {
                self.trouble(self.troubles[number as usize]);
            }
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        let until = |for_ms: u64| self.bench.now() + for_ms * MILLISECOND;
        match trouble {
            Trouble::Down { node, power, for_ms } => {
                let back = until(for_ms);
                let done = if power { self.bench.draw(4) as usize } else { usize::MAX };
                self.bench.crash(NodeId(node), done);
                self.ended(NodeId(node));
                self.bench.start_at(back, NodeId(node));
            }
            Trouble::Pause { node, for_ms } => self.bench.pause(NodeId(node), until(for_ms)),
            Trouble::Cut { from, to, for_ms } => {
                let end = until(for_ms);
                let others = (0..8).filter(|bit| to >> bit & 1 == 1).map(NodeId);
                others.for_each(|other| self.bench.network.cut(NodeId(from), other, end));
            }
            Trouble::Resign => {
                for node in self.leaders() {
                    if self.bench.seat(node).paused_until() <= self.bench.now() {
                        let step = self.bench.give(node, Input::Resign);
                        self.note(&step);
                    }
                }
            }
        }
    }

    /// The belief ends now, unless it has ended before.
    fn ended(&mut self, node: NodeId) {
        if let Some(place) = self.leads[node.index()].take() {
            self.reigns[place].to = self.reigns[place].to.min(self.bench.now());
        }
    }

    fn note(&mut self, step: &Step<ZabFle>) {
        assert_eq!(self.bench.broken(), None);
        let Some(node) = step.node() else { return };
        let until = |l: &Leadership| self.bench.seat(node).clock.time(l.valid_until).expect("a clock that runs");
        for output in &step.outputs {
            match output {
                Output::Elected(l) => {
                    self.leads[node.index()] = Some(self.reigns.len());
                    self.reigns.push(Reign { node, token: l.token, from: step.at, to: until(l) });
                }
                Output::Renewed(l) => {
                    let place = self.leads[node.index()].expect("only who leads renews");
                    self.reigns[place].to = until(l);
                }
                Output::Deposed(_) => {
                    let place = self.leads[node.index()].take().expect("only who leads is deposed");
                    self.reigns[place].to = self.reigns[place].to.min(step.at);
                }
                _ => {}
            }
        }
        if step.crashed {
            self.ended(node);
            self.bench.start_at(step.at + 100 * MILLISECOND, node);
        }
    }
}
