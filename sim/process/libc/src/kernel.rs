//! A process's own small kernel: its descriptors, its threads, its clocks, and what it has to tell its world. Nothing in
//! here is unsafe, and nothing calls the system, except that it talks with the world.

mod descriptors;
pub mod draws;
pub mod epoll;
pub mod files;
mod glibc;
mod listening;
pub mod local;
pub mod options;
mod settings;
pub mod socket;
mod stream;
pub mod threads;

use draws::Draws;
use epoll::Epoll;
use fencepost_process::{Broken, Event, Go, Op, Plain, ROOM, Start, Then, Turn, receive, send};
use files::Files;
use glibc::Glibc;
use local::Local;
use socket::Socket;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    net::Ipv4Addr,
    os::fd::AsRawFd,
};
use threads::{On, Thread};

/// The first simulated descriptor: the machine's own are below.
pub const FIRST: i32 = 1 << 20;
/// A process may have so many.
const DESCRIPTORS_MAX: usize = 1 << 16;

/// After so many readings of the clock, or yields, without a wait, somebody is waiting for time to pass.
const SPINS_MAX: u32 = 10_000;
const YIELDS_MAX: u32 = 100;
/// So often may time pass without a word: the world wants to know that the process lives.
const PASSES_MAX: u32 = 1_000;

/// What a descriptor stands for.
pub struct Object {
    pub kind: Kind,
    pub nonblocking: bool,
    /// How many descriptors stand for it.
    descriptors: u32,
    /// The epoll objects that watch it, and under which descriptor.
    watchers: Vec<(usize, i32)>,
}

pub enum Kind {
    Epoll(Epoll),
    Event {
        count: u64,
        semaphore: bool,
    },
    Local(Local),
    Socket(Box<Socket>),
    /// `/dev/urandom`.
    Random,
}

/// A descriptor: the object, and whether `exec` would close it.
#[derive(Clone, Copy)]
pub struct Descriptor {
    pub object: usize,
    pub close_on_exec: bool,
}

/// Two pipes, the fastest that the system has: a socket takes half as long again.
pub struct Link {
    pub from: File,
    pub to: File,
}

pub struct Kernel {
    link: Link,
    sent: Vec<u8>,
    received: Vec<u8>,
    ops: Vec<Op>,
    pub mono: u64,
    pub wall: u64,
    stop_at: u64,
    quiet_until: u64,
    /// How often time has passed since the world last heard of this process.
    passed: u32,
    sends: u64,
    pub name: String,
    pub pid: u32,
    pub ip: Ipv4Addr,
    pub cpus: u16,
    pub entropy: Draws,
    order: Draws,
    spins: u32,
    yields: u32,
    pub threads: Vec<Thread>,
    ready: Vec<usize>,
    started: u32,
    waits: u64,
    /// A thread that has ended and is about to vanish.
    pub leaving: Option<usize>,
    objects: Vec<Option<Object>>,
    descriptors: Vec<Option<Descriptor>>,
    conns: BTreeMap<u32, usize>,
    /// Sockets that listen, by object.
    listeners: BTreeSet<usize>,
    next_conn: u32,
    next_port: u16,
    queries: u32,
    answers: BTreeMap<u32, Vec<Ipv4Addr>>,
    refused: BTreeSet<String>,
    glibc: Glibc,
    /// None if its files are the machine's.
    pub files: Option<Files>,
}

impl Kernel {
    /// The kernel of a process that has been told to start.
    pub fn new(link: Link, start: Start) -> Kernel {
        let mut kernel = Kernel {
            link,
            sent: Vec::with_capacity(16 << 10),
            received: Vec::new(),
            ops: Vec::new(),
            mono: 0,
            wall: 0,
            stop_at: u64::MAX,
            quiet_until: 0,
            passed: 0,
            sends: 0,
            name: start.name,
            pid: start.pid,
            ip: start.ip,
            cpus: start.cpus.max(1),
            entropy: Draws::new(start.seed, "entropy"),
            order: Draws::new(start.seed, "order of threads"),
            spins: 0,
            yields: 0,
            threads: Vec::new(),
            ready: Vec::new(),
            started: 0,
            waits: 0,
            leaving: None,
            objects: Vec::new(),
            descriptors: Vec::new(),
            conns: BTreeMap::new(),
            listeners: BTreeSet::new(),
            next_conn: 0,
            next_port: 0,
            queries: 0,
            answers: BTreeMap::new(),
            refused: BTreeSet::new(),
            glibc: Glibc::default(),
            files: Files::new(start.disk),
        };
        kernel.apply(start.go);
        kernel
    }

    /// Tells the world what was done, and waits for its answer.
    ///
    /// # Errors
    /// The world is gone.
    pub fn exchange(&mut self, then: Then) -> io::Result<()> {
        self.passed = 0;
        self.stamp_written();
        let turn = Turn { mono: self.mono, ops: std::mem::take(&mut self.ops), then };
        send(&turn, &mut self.link.to, &mut self.sent)?;
        // The list's memory is used again.
        self.ops = turn.ops;
        self.ops.clear();
        if matches!(turn.then, Then::Exit { .. } | Then::Died { .. }) {
            return Ok(());
        }
        let go = Go::of(receive(&mut self.link.from, &mut self.received)?);
        self.apply(go.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?);
        Ok(())
    }

    fn apply(&mut self, go: Go) {
        self.mono = go.mono.max(self.mono);
        self.wall = go.wall;
        (self.stop_at, self.quiet_until) = (go.stop_at, go.quiet_until);
        for event in go.events {
            self.happens(event);
        }
        self.wake_the_late();
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Connected { conn } => self.connected(conn),
            Event::Broken { conn, why } => self.broken(conn, why),
            Event::Accepted { conn, at, port, from, from_port } => {
                self.accepted(conn, (at, port).into_address(), (from, from_port).into_address());
            }
            Event::Bytes { conn, bytes } => self.arrived(conn, &bytes),
            Event::Credit { conn, bytes } => self.credited(conn, bytes as usize),
            Event::Eof { conn } => self.ended(conn),
            Event::Synced { sync, error } => self.synced(sync, error),
            Event::Resolved { query, ips } => {
                self.answers.insert(query, ips);
                self.wake(|on| *on == On::Name(query), 1);
            }
        }
    }

    /// Is it a descriptor of the machine's with which the kernel talks with its world?
    pub fn needs(&self, descriptor: i32) -> bool {
        [&self.link.from, &self.link.to].iter().any(|file| file.as_raw_fd() == descriptor)
    }

    /// Lets time pass until then, if that is nobody else's business.
    fn passes(&mut self, until: u64) -> bool {
        if until >= self.quiet_until || !self.ops.is_empty() || self.passed >= PASSES_MAX {
            return false;
        }
        self.passed += 1;
        self.stamp_written();
        self.wall = self.wall.wrapping_add(until - self.mono);
        self.mono = until;
        self.wake_the_late();
        true
    }

    pub fn tell(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Says what is not simulated, once for each sentence.
    pub fn refuse(&mut self, call: &str, sentence: &str) {
        if self.refused.insert(sentence.to_owned()) {
            self.tell(Op::Refused { call: call.to_owned(), sentence: sentence.to_owned() });
        }
    }

    /// Asks for a host's address; [`Kernel::answer`] has the answer when a thread that waits for it is woken.
    pub fn ask(&mut self, name: &str) -> u32 {
        self.queries += 1;
        self.tell(Op::Resolve { query: self.queries, name: name.to_owned() });
        self.queries
    }

    pub fn answer(&mut self, query: u32) -> Option<Vec<Ipv4Addr>> {
        self.answers.remove(&query)
    }

    /// Counts a reading of the clock; true if the caller should sleep a little, as it seems to wait for time.
    pub fn spins(&mut self) -> bool {
        self.spins += 1;
        self.spins > SPINS_MAX
    }

    /// The same for a thread that gives way. If no other thread wants to run, nothing but time can change anything.
    pub fn spins_of_yields(&mut self) -> bool {
        self.yields += 1;
        self.yields > YIELDS_MAX && self.is_idle() || self.yields > SPINS_MAX
    }

    /// The caller has slept a little, and is expected to want more.
    pub fn expect_spins(&mut self) {
        (self.spins, self.yields) = (SPINS_MAX - 100, YIELDS_MAX);
    }

    /// The object that the descriptor stands for.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn find(&self, descriptor: i32) -> Result<usize, i32> {
        let at = place(descriptor)?;
        self.descriptors.get(at).copied().flatten().map(|found| found.object).ok_or(libc::EBADF)
    }

    pub fn object(&self, object: usize) -> &Object {
        self.objects[object].as_ref().expect("an object lives as long as a descriptor stands for it")
    }

    pub fn object_mut(&mut self, object: usize) -> &mut Object {
        self.objects[object].as_mut().expect("an object lives as long as a descriptor stands for it")
    }

    /// # Errors
    /// `ENOTSOCK`.
    pub fn socket(&mut self, object: usize) -> Result<&mut Socket, i32> {
        match &mut self.object_mut(object).kind {
            Kind::Socket(socket) => Ok(socket),
            _ => Err(libc::ENOTSOCK),
        }
    }

    /// What `poll` would say of it.
    pub fn mask(&self, object: usize) -> u32 {
        match &self.object(object).kind {
            Kind::Socket(socket) => socket.mask(),
            Kind::Local(local) => local.mask(),
            Kind::Event { count, .. } => {
                (if *count > 0 { epoll::IN } else { 0 }) | (if *count < u64::MAX - 1 { epoll::OUT } else { 0 })
            }
            Kind::Random => epoll::IN,
            Kind::Epoll(_) => 0,
        }
    }

    /// Something has changed of what `mask` says: whoever waits for it looks again.
    pub fn notify(&mut self, object: usize, mask: u32) {
        for at in 0..self.object(object).watchers.len() {
            let (watcher, descriptor) = self.object(object).watchers[at];
            let Kind::Epoll(epoll) = &mut self.object_mut(watcher).kind else { continue };
            if epoll.queue((descriptor, object), mask) {
                self.wake(|on| on.waits_for(watcher), usize::MAX);
            }
        }
        self.wake(|on| on.waits_for(object), usize::MAX);
    }
}

/// A descriptor's place in the table.
fn place(descriptor: i32) -> Result<usize, i32> {
    let place = descriptor.checked_sub(FIRST).and_then(|place| usize::try_from(place).ok());
    place.filter(|place| *place < DESCRIPTORS_MAX).ok_or(libc::EBADF)
}

/// An address and a port, as the standard library has them.
trait IntoAddress {
    fn into_address(self) -> std::net::SocketAddrV4;
}

impl IntoAddress for (Ipv4Addr, u16) {
    fn into_address(self) -> std::net::SocketAddrV4 {
        std::net::SocketAddrV4::new(self.0, self.1)
    }
}

/// The number of an error that a connection ends with.
fn errno(why: &Broken) -> i32 {
    match why {
        Broken::Refused => libc::ECONNREFUSED,
        Broken::Reset => libc::ECONNRESET,
        Broken::TimedOut => libc::ETIMEDOUT,
        Broken::HostUnreachable => libc::EHOSTUNREACH,
        Broken::NetUnreachable => libc::ENETUNREACH,
    }
}
