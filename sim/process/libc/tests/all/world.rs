//! A small world for tests: hosts on a network with one latency, without losses. What an answerer does is a function;
//! every other host is a process.

mod network;

use fencepost_process::{Child, Error, Event, Go, Main, Op, Start, Then, Turn, Zygote};
use network::{Network, Segment};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    net::Ipv4Addr,
    rc::Rc,
    sync::{Mutex, PoisonError},
};

pub const SECOND: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
/// What the clocks show at the beginning: monotonic, and since 1970.
const MONO: u64 = 1_000 * SECOND;
const WALL: u64 = 1_767_225_600 * SECOND;

/// Takes the time and what has come of a connection; leaves what is no whole question, and returns the answers.
pub type Answer = Rc<RefCell<dyn FnMut(u64, &mut Vec<u8>) -> Vec<u8>>>;

pub enum What {
    Process(Main),
    Answers(u16, Answer),
}

/// One host, and what is on it.
pub struct Host {
    pub name: String,
    pub ip: Ipv4Addr,
    what: What,
    child: Option<Child>,
    starts: u64,
    events: Vec<Event>,
    until: Option<u64>,
    woken: bool,
    paused: bool,
    stop_at: u64,
    /// Held before a send.
    held: bool,
    /// How far the wall clock was stepped.
    stepped: i64,
    pub sends: u64,
    pub exchanges: u64,
    /// Lines that are not complete: of standard output, and of standard error.
    said: [Vec<u8>; 2],
    /// How it ended, if it did.
    pub ended: Option<Then>,
}

enum Due {
    Start(usize),
    Segment(Segment),
    Call(Box<dyn FnOnce(&mut World)>),
}

/// Is told of each send before it happens: the process, its number, where to, and the first bytes.
type Spy = Box<dyn FnMut(&mut World, &str, u64, &str, &[u8])>;

pub struct World {
    zygote: Zygote,
    pub now: u64,
    seed: u64,
    number: u64,
    queue: BTreeMap<(u64, u64), Due>,
    pub hosts: Vec<Host>,
    network: Network,
    pub env: Vec<(String, String)>,
    pub cpus: u16,
    /// The folder that is each process's disk; empty if files are the machine's.
    pub disk: String,
    /// Whether processes are told until when nothing can reach them.
    pub says_quiet: bool,
    end: u64,
    spy: Option<Spy>,
    /// What processes did, line by line, with the time.
    pub log: Vec<String>,
}

/// One zygote for all worlds of this program.
pub fn zygote() -> Zygote {
    static ZYGOTE: Mutex<Option<Zygote>> = Mutex::new(None);
    let mut zygote = ZYGOTE.lock().unwrap_or_else(PoisonError::into_inner);
    zygote.get_or_insert_with(|| Zygote::start().expect("this program links fencepost-libc")).clone()
}

impl World {
    pub fn new(seed: u64) -> World {
        World {
            zygote: zygote(),
            now: 0,
            seed,
            number: 0,
            queue: BTreeMap::new(),
            hosts: Vec::new(),
            network: Network::default(),
            env: Vec::new(),
            cpus: 2,
            disk: String::new(),
            says_quiet: true,
            end: 0,
            spy: None,
            log: Vec::new(),
        }
    }

    fn push(&mut self, at: u64, due: Due) {
        self.number += 1;
        self.queue.insert((at.max(self.now), self.number), due);
    }

    fn host(&mut self, name: &str, what: What) -> usize {
        let ip = Ipv4Addr::new(10, 0, 0, self.hosts.len() as u8 + 1);
        let name = name.to_owned();
        let (child, ended, events) = (None, None, Vec::new());
        let stop_at = u64::MAX;
        let (until, starts, sends, exchanges, stepped) = (None, 0, 0, 0, 0);
        let (woken, paused, held, said) = (false, false, false, [Vec::new(), Vec::new()]);
        self.hosts.push(Host {
            name,
            ip,
            what,
            child,
            starts,
            events,
            until,
            woken,
            paused,
            stop_at,
            held,
            stepped,
            sends,
            exchanges,
            said,
            ended,
        });
        self.hosts.len() - 1
    }

    pub fn process(&mut self, name: &str, main: Main) -> &mut World {
        self.process_at(0, name, main)
    }

    pub fn process_at(&mut self, at: u64, name: &str, main: Main) -> &mut World {
        let host = self.host(name, What::Process(main));
        self.push(at, Due::Start(host));
        self
    }

    pub fn answers(
        &mut self,
        name: &str,
        port: u16,
        answer: impl FnMut(u64, &mut Vec<u8>) -> Vec<u8> + 'static,
    ) -> &mut World {
        self.host(name, What::Answers(port, Rc::new(RefCell::new(answer))));
        self
    }

    pub fn at(&mut self, at: u64, call: impl FnOnce(&mut World) + 'static) -> &mut World {
        self.push(at, Due::Call(Box::new(call)));
        self
    }

    /// Asks before every send.
    pub fn before_sends(&mut self, spy: impl FnMut(&mut World, &str, u64, &str, &[u8]) + 'static) -> &mut World {
        self.spy = Some(Box::new(spy));
        for host in &mut self.hosts {
            host.stop_at = 0;
        }
        self
    }

    pub fn find(&mut self, name: &str) -> &mut Host {
        self.hosts.iter_mut().find(|host| host.name == name).expect("a host of this name")
    }

    fn place(&self, name: &str) -> usize {
        self.hosts.iter().position(|host| host.name == name).expect("a host of this name")
    }

    pub fn kill(&mut self, name: &str) {
        let host = self.place(name);
        if let Some(child) = self.hosts[host].child.take() {
            child.kill();
        }
        self.gone(host);
    }

    pub fn start(&mut self, name: &str) {
        let host = self.place(name);
        self.push(self.now, Due::Start(host));
    }

    pub fn pause(&mut self, name: &str, duration: u64) {
        let host = self.place(name);
        self.hosts[host].paused = true;
        let resume = move |world: &mut World| {
            world.hosts[host].paused = false;
            world.hosts[host].woken = true;
        };
        self.push(self.now + duration, Due::Call(Box::new(resume)));
    }

    pub fn step_wall(&mut self, name: &str, by: i64) {
        let host = self.find(name);
        host.stepped += by;
        host.woken = true;
    }

    /// The real process's number, to look at it.
    pub fn pid(&mut self, name: &str) -> u32 {
        self.find(name).child.as_ref().map_or(0, Child::pid)
    }

    /// What the process wrote, without times.
    pub fn said(&self, name: &str) -> String {
        let mark = format!(" {name}: ");
        self.log.iter().filter_map(|line| Some(line.split_once(&mark)?.1)).collect::<Vec<_>>().join("\n")
    }

    fn gone(&mut self, host: usize) {
        let host_mut = &mut self.hosts[host];
        (host_mut.child, host_mut.until, host_mut.held) = (None, None, false);
        host_mut.events.clear();
        for segment in self.network.forget(host) {
            self.send(segment);
        }
    }

    fn send(&mut self, segment: Segment) {
        self.push(self.now + self.network.latency, Due::Segment(segment));
    }

    /// Runs until then, or until nothing is left to happen.
    ///
    /// # Errors
    /// A process cannot be used any more.
    pub fn run_until(&mut self, end: u64) -> Result<(), Error> {
        self.end = end;
        loop {
            self.run_woken()?;
            let timers = self.hosts.iter().filter(|host| !host.paused && !host.held).filter_map(|host| host.until);
            let timer = timers.min().map(|until| until.saturating_sub(MONO).max(self.now));
            let event = self.queue.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = timer.into_iter().chain(event).min().filter(|next| *next <= end) else {
                self.now = end;
                return Ok(());
            };
            self.now = next;
            for host in &mut self.hosts {
                host.woken |= host.until.is_some_and(|until| until.saturating_sub(MONO) <= next);
            }
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= next) {
                match entry.remove() {
                    Due::Start(host) => self.begin(host)?,
                    Due::Segment(segment) => self.arrives(segment),
                    Due::Call(call) => call(self),
                }
            }
        }
    }

    /// When something may happen to anybody but this host.
    fn next_of_others(&self, at: usize) -> u64 {
        let others = || self.hosts.iter().enumerate().filter(|(other, host)| *other != at && !host.paused);
        if !self.says_quiet || others().any(|(_, host)| host.woken || host.held) {
            return 0;
        }
        let timers = others().filter_map(|(_, host)| host.until);
        let event = self.queue.first_key_value().map_or(self.end, |((at, _), _)| *at);
        timers.min().unwrap_or(u64::MAX).min(MONO + event).min(MONO + self.end)
    }

    fn go(&mut self, host: usize) -> Go {
        let quiet_until = self.next_of_others(host);
        let (now, host) = (self.now, &mut self.hosts[host]);
        let wall = (WALL + now).wrapping_add_signed(host.stepped);
        Go { mono: MONO + now, wall, stop_at: host.stop_at, quiet_until, events: std::mem::take(&mut host.events) }
    }

    fn begin(&mut self, at: usize) -> Result<(), Error> {
        let What::Process(main) = &self.hosts[at].what else { return Ok(()) };
        let main = *main;
        let mut child = self.zygote.fork(&self.hosts[at].name, main)?;
        self.hosts[at].starts += 1;
        let go = self.go(at);
        let host = &self.hosts[at];
        let start = Start {
            name: host.name.clone(),
            pid: 100 + at as u32,
            ip: host.ip,
            seed: self.seed ^ (at as u64) << 32 ^ host.starts << 48,
            cpus: self.cpus,
            env: self.env.clone(),
            disk: self.disk.clone(),
            go,
        };
        let turn = child.begin(&start)?;
        self.hosts[at].child = Some(child);
        self.perform(at, turn);
        Ok(())
    }

    fn run_woken(&mut self) -> Result<(), Error> {
        while let Some(at) = self.hosts.iter().position(|host| host.woken && !host.paused) {
            self.hosts[at].woken = false;
            if self.hosts[at].held {
                self.hosts[at].held = false;
            }
            let go = self.go(at);
            let Some(child) = &mut self.hosts[at].child else { continue };
            let turn = child.go(&go)?;
            self.perform(at, turn);
        }
        Ok(())
    }

    /// What a process has done happens now.
    fn perform(&mut self, at: usize, turn: Turn) {
        self.hosts[at].exchanges += 1;
        // Nobody was concerned by the time that it let pass.
        self.now = self.now.max(turn.mono.saturating_sub(MONO));
        for op in turn.ops {
            self.carry_out(at, op);
        }
        match turn.then {
            Then::Wait { until } => self.hosts[at].until = until,
            Then::Send { number, conn, length, head } => {
                (self.hosts[at].held, self.hosts[at].woken, self.hosts[at].sends) = (true, true, number);
                let to = self.network.peer_of(at, conn, &self.hosts);
                let name = self.hosts[at].name.clone();
                if let Some(mut spy) = self.spy.take() {
                    let to = format!("{length} bytes to {to}");
                    spy(self, &name, number, &to, &head);
                    self.spy.get_or_insert(spy);
                }
            }
            then => {
                self.log.push(format!("{:.6} {}! {then:?}", self.now as f64 / 1e9, self.hosts[at].name));
                self.hosts[at].ended = Some(then);
                self.gone(at);
            }
        }
    }

    fn carry_out(&mut self, at: usize, op: Op) {
        match op {
            Op::Say { descriptor, bytes } => {
                let now = self.now as f64 / 1e9;
                let host = &mut self.hosts[at];
                let said = &mut host.said[usize::from(descriptor == 2)];
                said.extend(bytes);
                while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = said.drain(..=end).collect();
                    self.log.push(format!("{now:.6} {}: {}", host.name, String::from_utf8_lossy(&line[..end])));
                }
            }
            Op::Resolve { query, name } => {
                let ips = self.hosts.iter().filter(|host| host.name == name).map(|host| host.ip).collect();
                self.hosts[at].events.push(Event::Resolved { query, ips });
                self.hosts[at].woken = true;
            }
            Op::Sync { sync, from, to, .. } => {
                self.log.push(format!("{} syncs {from}..{to}", self.hosts[at].name));
                self.hosts[at].events.push(Event::Synced { sync, error: 0 });
                self.hosts[at].woken = true;
            }
            Op::Refused { sentence, .. } => {
                self.log.push(format!("{:.6} {}? {sentence}", self.now as f64 / 1e9, self.hosts[at].name));
            }
            op => {
                for segment in self.network.perform(at, op, &self.hosts) {
                    self.send(segment);
                }
            }
        }
    }

    fn arrives(&mut self, segment: Segment) {
        let answerer = |host: usize, hosts: &[Host]| match &hosts[host].what {
            What::Answers(port, answer) => Some((*port, answer.clone())),
            What::Process(_) => None,
        };
        let answer = answerer(self.network.host_of(&segment), &self.hosts);
        let (events, segments) = self.network.arrives(segment, answer, self.now, &self.hosts);
        for segment in segments {
            self.send(segment);
        }
        for (host, event) in events {
            if self.hosts[host].child.is_some() {
                self.hosts[host].events.push(event);
                self.hosts[host].woken = true;
            }
        }
    }
}
