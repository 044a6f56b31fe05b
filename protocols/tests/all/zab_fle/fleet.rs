//! A fleet of candidates on a network and on disks that a test can do anything to.

use protocols::{
    clock::Now,
    core::TimerId,
    election::{
        Setup, Timings,
        zab_fle::{Message, Quorum, ZabFle},
    },
    elector::{self, Elector},
    payload::Nothing,
    types::{MICROSECOND, MILLISECOND, NodeId, SECOND},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeMap, VecDeque};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The sync limit of these fleets, nanoseconds.
pub const TTL: u64 = SECOND;

/// What a fleet's elector knows at its start.
pub fn setup(node: u16, count: u16, nonce: u64, stored: Option<Vec<u8>>) -> Setup {
    let timings = Timings { lease_ttl: TTL, renew_interval: TTL / 10, request_timeout: SECOND, election_timeout: None };
    let names = (1..=count).map(|n| format!("n{n}")).collect();
    Setup { group: 0, node: NodeId(node), names, timings, nonce, stored, service: Vec::new(), bugs: Default::default() }
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
    pub node: u16,
    pub token: u64,
    pub from: u64,
    pub to: u64,
}

enum Event {
    Deliver { from: u16, to: u16, message: Message },
    Timer { node: u16, life: u64, id: TimerId, at: u64 },
    Disk { node: u16, life: u64 },
    Trouble(Trouble),
    Up(u16),
    Mend { from: u16, to: u8 },
}

struct Machine {
    core: Option<ZabFle>,
    life: u64,
    timers: BTreeMap<TimerId, u64>,
    durable: Option<Vec<u8>>,
    under_way: VecDeque<Vec<u8>>,
    rate_ppm: i64,
    paused_until: u64,
    /// The place of its belief in `Fleet::reigns`.
    leads: Option<usize>,
    observed: Option<NodeId>,
}

/// Candidates, and the world that they live in.
pub struct Fleet {
    pub now: u64,
    pub reigns: Vec<Reign>,
    /// How many states were given to disks.
    pub writes: u64,
    /// Power is lost at the machine that asks for this write, whether or not it is done.
    pub power_fails_at: Option<(u64, bool)>,
    /// Lost, doubled, and delayed messages, of 256 each.
    pub loss: u8,
    machines: Vec<Machine>,
    cuts: Vec<[u32; 8]>,
    queue: BTreeMap<(u64, u64), Event>,
    numbers: u64,
    random: ChaCha8Rng,
}

impl Fleet {
    /// A fleet of `count` whose clocks' rates are up to `ppm` off.
    pub fn new(count: u16, ppm: u64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let machines = (0..count).map(|_| Machine {
            core: None,
            life: 0,
            timers: BTreeMap::new(),
            durable: None,
            under_way: VecDeque::new(),
            rate_ppm: (random.next_u64() % (2 * ppm + 1)) as i64 - ppm as i64,
            paused_until: 0,
            leads: None,
            observed: None,
        });
        let machines = machines.collect();
        let mut fleet = Fleet {
            now: 0,
            reigns: Vec::new(),
            writes: 0,
            power_fails_at: None,
            loss: 0,
            machines,
            cuts: vec![[0; 8]; count.into()],
            queue: BTreeMap::new(),
            numbers: 0,
            random,
        };
        for node in 0..count {
            let after = fleet.draw(50 * MILLISECOND);
            fleet.push(after, Event::Up(node));
        }
        fleet
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below.max(1)
    }

    fn push(&mut self, after: u64, event: Event) {
        self.numbers += 1;
        self.queue.insert((self.now + after, self.numbers), event);
    }

    /// Makes trouble so many milliseconds from now.
    pub fn plan(&mut self, after_ms: u64, trouble: Trouble) {
        self.push(after_ms * MILLISECOND, Event::Trouble(trouble));
    }

    fn mono(&self, node: u16, at: u64) -> u64 {
        let rate = (1_000_000 + self.machines[usize::from(node)].rate_ppm) as u128;
        // Each clock has its own zero.
        (u128::from(at) * rate / 1_000_000) as u64 + u64::from(node) * 7 * SECOND
    }

    /// When the node's clock will show that.
    fn true_time(&self, node: u16, mono: u64) -> u64 {
        let rate = (1_000_000 + self.machines[usize::from(node)].rate_ppm) as u128;
        let since = u128::from(mono.saturating_sub(u64::from(node) * 7 * SECOND));
        (since * 1_000_000).div_ceil(rate) as u64
    }

    /// Whoever believes now that it leads.
    pub fn leaders(&self) -> Vec<u16> {
        let current = |m: &Machine| m.leads.is_some_and(|place| self.reigns[place].to > self.now);
        (0..).zip(&self.machines).filter(|(_, m)| current(m)).map(|(node, _)| node).collect()
    }

    /// Whom each node that runs observes as the leader.
    pub fn observed(&self) -> Vec<Option<NodeId>> {
        self.machines.iter().filter(|m| m.core.is_some()).map(|m| m.observed).collect()
    }

    /// Goes on for so many milliseconds.
    pub fn run(&mut self, for_ms: u64) {
        let end = self.now + for_ms * MILLISECOND;
        while let Some(((at, _), event)) = self.queue.pop_first() {
            if at > end {
                self.numbers += 1;
                // Before everything else of that time, as it was.
                self.queue.insert((at, 0), event);
                break;
            }
            self.now = at;
            self.happen(event);
        }
        self.now = end;
    }

    fn paused(&self, node: u16) -> Option<u64> {
        let until = self.machines[usize::from(node)].paused_until;
        (until > self.now).then(|| until - self.now)
    }

    fn happen(&mut self, event: Event) {
        let concerns = match &event {
            Event::Deliver { to, .. } => Some(*to),
            Event::Timer { node, .. } | Event::Disk { node, .. } => Some(*node),
            _ => None,
        };
        if let Some(wait) = concerns.and_then(|node| self.paused(node)) {
            return self.push(wait, event);
        }
        match event {
            Event::Deliver { from, to, message } => self.step(to, Input::Peer { from: NodeId(from), message }),
            Event::Timer { node, life, id, at } => {
                let machine = &mut self.machines[usize::from(node)];
                if machine.life == life && machine.timers.get(&id) == Some(&at) {
                    machine.timers.remove(&id);
                    self.step(node, Input::Timer(id));
                }
            }
            Event::Disk { node, life } => {
                let machine = &mut self.machines[usize::from(node)];
                if machine.life == life
                    && let Some(state) = machine.under_way.pop_front()
                {
                    machine.durable = Some(state);
                    self.step(node, Input::Persisted);
                }
            }
            Event::Up(node) => {
                if self.machines[usize::from(node)].core.is_none() {
                    let nonce = self.random.next_u64();
                    let (count, machine) = (self.machines.len() as u16, &mut self.machines[usize::from(node)]);
                    machine.life += 1;
                    machine.core = Some(ZabFle::with_quorum(
                        setup(node, count, nonce, machine.durable.clone()),
                        Quorum::of_equals(count.into()),
                    ));
                    self.step(node, Input::Start);
                }
            }
            Event::Trouble(trouble) => self.trouble(trouble),
            Event::Mend { from, to } => self.cut(from, to, |cuts| *cuts -= 1),
        }
    }

    fn cut(&mut self, from: u16, to: u8, change: impl Fn(&mut u32)) {
        for (bit, cuts) in self.cuts[usize::from(from)].iter_mut().enumerate() {
            if to >> bit & 1 == 1 {
                change(cuts);
            }
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Down { node, power, for_ms } => {
                let kept = if power { self.draw(4) as usize } else { usize::MAX };
                self.down(node, kept);
                self.push(for_ms * MILLISECOND, Event::Up(node));
            }
            Trouble::Pause { node, for_ms } => {
                let machine = &mut self.machines[usize::from(node)];
                machine.paused_until = machine.paused_until.max(self.now + for_ms * MILLISECOND);
            }
            Trouble::Cut { from, to, for_ms } => {
                self.cut(from, to, |cuts| *cuts += 1);
                self.push(for_ms * MILLISECOND, Event::Mend { from, to });
            }
            Trouble::Resign => {
                for node in self.leaders() {
                    if self.paused(node).is_none() {
                        self.step(node, Input::Resign);
                    }
                }
            }
        }
    }

    /// The process ends, and so many of the writes that are under way are done all the same.
    fn down(&mut self, node: u16, kept: usize) {
        let now = self.now;
        let machine = &mut self.machines[usize::from(node)];
        machine.core = None;
        machine.timers.clear();
        machine.observed = None;
        if let Some(state) = machine.under_way.drain(..).take(kept).next_back() {
            machine.durable = Some(state);
        }
        if let Some(place) = machine.leads.take() {
            self.reigns[place].to = self.reigns[place].to.min(now);
        }
    }

    fn step(&mut self, node: u16, input: Input) {
        let mono = self.mono(node, self.now);
        let Some(core) = &mut self.machines[usize::from(node)].core else { return };
        let mut out = Vec::new();
        core.step(Now { mono, wall: 0 }, input, &mut out);
        for output in out {
            let machine = &mut self.machines[usize::from(node)];
            let life = machine.life;
            match output {
                Output::Send { to, message } => self.send(node, to.0, message),
                Output::Persist(state) => {
                    machine.under_way.push_back(state);
                    self.writes += 1;
                    if let Some((write, done)) = self.power_fails_at
                        && write == self.writes
                    {
                        self.down(node, if done { usize::MAX } else { 0 });
                        return self.push(100 * MILLISECOND, Event::Up(node));
                    }
                    let after = 300 * MICROSECOND + self.draw(400 * MICROSECOND);
                    self.push(after, Event::Disk { node, life });
                }
                Output::SetTimer { id, at } => {
                    machine.timers.insert(id, at);
                    let due = self.true_time(node, at).saturating_sub(self.now);
                    self.push(due, Event::Timer { node, life, id, at });
                }
                Output::CancelTimer(id) => {
                    machine.timers.remove(&id);
                }
                Output::Elected(l) => {
                    assert!(machine.leads.is_none(), "elected twice without an end between");
                    machine.leads = Some(self.reigns.len());
                    let to = self.true_time(node, l.valid_until);
                    self.reigns.push(Reign { node, token: l.token, from: self.now, to });
                }
                Output::Renewed(l) => {
                    let place = machine.leads.expect("only who leads renews");
                    assert_eq!(self.reigns[place].token, l.token);
                    self.reigns[place].to = self.true_time(node, l.valid_until);
                }
                Output::Deposed(_) => {
                    let place = machine.leads.take().expect("only who leads is deposed");
                    self.reigns[place].to = self.reigns[place].to.min(self.now);
                }
                Output::Observed(leader) => machine.observed = leader,
                _ => {}
            }
        }
    }

    fn send(&mut self, from: u16, to: u16, message: Message) {
        if self.cuts[usize::from(from)][usize::from(to)] > 0 {
            return;
        }
        let [lost, doubled, astray] = [0; 3].map(|_: u8| self.draw(256) < u64::from(self.loss));
        let mut after = 200 * MICROSECOND + self.draw(300 * MICROSECOND);
        if astray {
            after += self.draw(400 * MILLISECOND);
        }
        if doubled {
            let later = after + self.draw(100 * MILLISECOND);
            self.push(later, Event::Deliver { from, to, message });
        }
        if !lost {
            self.push(after, Event::Deliver { from, to, message });
        }
    }
}
