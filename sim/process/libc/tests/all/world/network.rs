//! Connections of the small world.

use super::{Answer, Host};
use fencepost_process::{Broken, Event, Op};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

/// The host of an address that no host has.
const NOBODY: usize = usize::MAX;

/// What travels to one end (0 or 1) of a connection.
pub struct Segment {
    conn: usize,
    to: usize,
    what: What,
}

enum What {
    Syn,
    Accepted,
    Refused,
    Data(Vec<u8>),
    Fin,
    Reset,
    Credit(u64),
}

struct End {
    host: usize,
    /// The process's own number of the connection.
    number: u32,
    open: bool,
    fin_sent: bool,
    inbox: Vec<u8>,
}

struct Conn {
    ends: [End; 2],
    from_port: u16,
    to: Ipv4Addr,
    port: u16,
}

pub struct Network {
    pub latency: u64,
    conns: Vec<Conn>,
    by_number: BTreeMap<(usize, u32), (usize, usize)>,
    listeners: BTreeSet<(usize, Ipv4Addr, u16)>,
    accepted: BTreeMap<usize, u32>,
}

impl Default for Network {
    fn default() -> Network {
        let (by_number, listeners, accepted) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Network { latency: 250_000, conns: Vec::new(), by_number, listeners, accepted }
    }
}

impl Network {
    pub fn host_of(&self, segment: &Segment) -> usize {
        self.conns[segment.conn].ends[segment.to].host
    }

    /// Who is at the other end, and at which port.
    pub fn peer_of(&self, host: usize, number: u32, hosts: &[Host]) -> String {
        let Some((conn, end)) = self.by_number.get(&(host, number)) else { return "nobody".to_owned() };
        let it = &self.conns[*conn];
        let name = hosts.get(it.ends[1 - end].host).map_or("nowhere", |host| &host.name);
        format!("{name}:{}", if *end == 0 { it.port } else { it.from_port })
    }

    /// What a process did with its connections.
    pub fn perform(&mut self, host: usize, op: Op, hosts: &[Host]) -> Vec<Segment> {
        let ends = |network: &Network, number: u32| network.by_number.get(&(host, number)).copied();
        match op {
            Op::Listen { at, port } => drop(self.listeners.insert((host, at, port))),
            Op::Unlisten { at, port } => drop(self.listeners.remove(&(host, at, port))),
            Op::Connect { conn: number, from_port, to, port } => {
                let found = if to.is_loopback() { Some(host) } else { hosts.iter().position(|host| host.ip == to) };
                let end = |host, number| End { host, number, open: true, fin_sent: false, inbox: Vec::new() };
                let conn = self.conns.len();
                self.by_number.insert((host, number), (conn, 0));
                let ends = [end(host, number), end(found.unwrap_or(NOBODY), u32::MAX)];
                self.conns.push(Conn { ends, from_port, to, port });
                // To nobody: silence.
                return found.map(|_| Segment { conn, to: 1, what: What::Syn }).into_iter().collect();
            }
            Op::Send { conn, bytes } => {
                let Some((conn, end)) = ends(self, conn) else { return Vec::new() };
                return vec![Segment { conn, to: 1 - end, what: What::Data(bytes) }];
            }
            Op::Consumed { conn, bytes } => {
                let Some((conn, end)) = ends(self, conn) else { return Vec::new() };
                return vec![Segment { conn, to: 1 - end, what: What::Credit(bytes) }];
            }
            Op::Shutdown { conn } => {
                let Some((conn, end)) = ends(self, conn) else { return Vec::new() };
                self.conns[conn].ends[end].fin_sent = true;
                return vec![Segment { conn, to: 1 - end, what: What::Fin }];
            }
            Op::Close { conn: number, reset } => {
                let Some((conn, end)) = self.by_number.remove(&(host, number)) else { return Vec::new() };
                return self.close(conn, end, reset);
            }
            _ => {}
        }
        Vec::new()
    }

    fn close(&mut self, conn: usize, end: usize, reset: bool) -> Vec<Segment> {
        let it = &mut self.conns[conn].ends[end];
        it.open = false;
        let what = match (reset, it.fin_sent) {
            (true, _) => What::Reset,
            (false, false) => What::Fin,
            (false, true) => return Vec::new(),
        };
        it.fin_sent = true;
        if self.conns[conn].ends[1 - end].host == NOBODY {
            return Vec::new();
        }
        vec![Segment { conn, to: 1 - end, what }]
    }

    /// The process has died, and its machine closes what it had.
    pub fn forget(&mut self, host: usize) -> Vec<Segment> {
        self.listeners.retain(|(of, ..)| *of != host);
        let its: Vec<_> = self.by_number.iter().filter(|((of, _), _)| *of == host).map(|(k, v)| (*k, *v)).collect();
        let mut segments = Vec::new();
        for (key, (conn, end)) in its {
            self.by_number.remove(&key);
            segments.extend(self.close(conn, end, true));
        }
        segments
    }

    /// Something has arrived: what its process is told, and what goes back.
    pub fn arrives(
        &mut self,
        segment: Segment,
        answer: Option<(u16, Answer)>,
        now: u64,
        hosts: &[Host],
    ) -> (Vec<(usize, Event)>, Vec<Segment>) {
        let Segment { conn, to, what } = segment;
        let back = |what| (Vec::new(), vec![Segment { conn, to: 1 - to, what }]);
        let it = &mut self.conns[conn];
        let (host, port) = (it.ends[to].host, it.port);
        if let (What::Syn, Some((open, _))) = (&what, &answer) {
            return back(if *open == port { What::Accepted } else { What::Refused });
        }
        if !it.ends[to].open {
            // Nobody is there any more; whoever sends learns it.
            return if matches!(what, What::Data(_)) { back(What::Reset) } else { (Vec::new(), Vec::new()) };
        }
        let number = it.ends[to].number;
        let tell = |event| (vec![(host, event)], Vec::new());
        match (what, answer) {
            (What::Syn, _) => {
                let listens = |at| self.listeners.contains(&(host, at, port));
                if !listens(Ipv4Addr::UNSPECIFIED) && !listens(it.to) {
                    return back(What::Refused);
                }
                let number = self.accepted.entry(host).and_modify(|last| *last += 2).or_insert(1);
                it.ends[1].number = *number;
                self.by_number.insert((host, *number), (conn, 1));
                let from = if it.to.is_loopback() { it.to } else { hosts[it.ends[0].host].ip };
                let event = Event::Accepted { conn: *number, at: it.to, port, from, from_port: it.from_port };
                (vec![(host, event)], vec![Segment { conn, to: 0, what: What::Accepted }])
            }
            (What::Data(bytes), Some((_, answer))) => {
                let count = bytes.len() as u64;
                it.ends[to].inbox.extend(bytes);
                let said = answer.borrow_mut()(now, &mut it.ends[to].inbox);
                let mut segments = vec![Segment { conn, to: 1 - to, what: What::Credit(count) }];
                if !said.is_empty() {
                    segments.push(Segment { conn, to: 1 - to, what: What::Data(said) });
                }
                (Vec::new(), segments)
            }
            (What::Fin, Some(_)) => {
                it.ends[to].open = false;
                back(What::Fin)
            }
            (_, Some(_)) => (Vec::new(), Vec::new()),
            (What::Accepted, _) => tell(Event::Connected { conn: number }),
            (What::Data(bytes), _) => tell(Event::Bytes { conn: number, bytes }),
            (What::Credit(bytes), _) => tell(Event::Credit { conn: number, bytes }),
            (What::Fin, _) => tell(Event::Eof { conn: number }),
            (What::Refused, _) => self.broken(conn, to, Broken::Refused),
            (What::Reset, _) => self.broken(conn, to, Broken::Reset),
        }
    }

    fn broken(&mut self, conn: usize, to: usize, why: Broken) -> (Vec<(usize, Event)>, Vec<Segment>) {
        let end = &mut self.conns[conn].ends[to];
        end.open = false;
        self.by_number.remove(&(end.host, end.number));
        (vec![(end.host, Event::Broken { conn: end.number, why })], Vec::new())
    }
}
