//! What lies between members: everything that one says to another passes a relay, which can keep it to itself.
//!
//! A member listens on 127.0.0.1, and tells the others that it listened on an address of its own, 127.0.0.2 and up, on the same
//! port; that is its relay. Who dials is known by who has the other end of the connection, or by what is said first. A cut is silent, as that of a
//! network is: nothing is refused, nothing is closed, and what was said meanwhile comes when the cut is healed (of datagrams
//! nothing does). A connection is accepted during a cut, since the kernel does that; nobody answers on it.

use super::{
    place::{MEMBERS, address_of, own_address},
    sockets,
};
use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// From one look at whether datagrams are still wanted to the next.
const LOOK: Duration = Duration::from_secs(1);
/// How long it is waited for a member that does not listen yet.
const LISTENS_WITHIN: Duration = Duration::from_secs(1);
/// How often it is asked whose connection it is; its owner may not have come to have it.
const ASKED: u32 = 20;
/// The longest datagram.
const DATAGRAM: usize = 1 << 16;

/// Who cannot say anything to whom, and which processes the members are.
#[derive(Default)]
pub(super) struct Wall {
    state: Mutex<State>,
    changed: Condvar,
    over: AtomicBool,
}

#[derive(Default)]
struct State {
    cut: BTreeSet<(usize, usize)>,
    processes: Vec<Option<u32>>,
    /// What is to be closed in the end.
    streams: Vec<Weak<TcpStream>>,
}

impl Wall {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing passes from `from` to `to`.
    pub(super) fn cut(&self, from: usize, to: usize) {
        self.state().cut.insert((from, to));
    }

    /// Everything passes again.
    pub(super) fn heal(&self) {
        self.state().cut.clear();
        self.changed.notify_all();
    }

    /// The member of that place is this process.
    pub(super) fn is(&self, member: usize, process: u32) {
        let mut state = self.state();
        let count = state.processes.len().max(member + 1);
        state.processes.resize(count, None);
        state.processes[member] = Some(process);
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.state().cut.contains(&(from, to))
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits until `from` can say something to `to`; false when nobody wants to know any more.
    fn passes(&self, from: usize, to: usize) -> bool {
        let state = self.state();
        let wait = |state: &mut State| state.cut.contains(&(from, to)) && !self.is_over();
        drop(self.changed.wait_while(state, wait).unwrap_or_else(PoisonError::into_inner));
        !self.is_over()
    }

    fn owner(&self, own: SocketAddr, far: SocketAddr) -> Option<usize> {
        let processes = self.state().processes.clone();
        (0..ASKED).find_map(|asked| {
            if asked > 0 {
                thread::sleep(Duration::from_millis(5));
            }
            sockets::owner(own, far, &processes)
        })
    }

    /// A stream that is closed in the end.
    fn keep(&self, stream: TcpStream) -> Arc<TcpStream> {
        let (stream, mut state) = (Arc::new(stream), self.state());
        state.streams.retain(|stream| stream.strong_count() > 0);
        state.streams.push(Arc::downgrade(&stream));
        stream
    }

    /// Nothing is relayed any more.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        for stream in self.state().streams.drain(..).filter_map(|stream| stream.upgrade()) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }
}

/// Relays everything that is said to a member on one port, until the wall is at its end.
pub(super) struct Relay {
    thread: JoinHandle<()>,
    /// Where it waits for connections.
    at: Option<SocketAddr>,
}

impl Relay {
    /// Connections to that member's port. `introduces` says that the first packet of each names the address of who dials, which
    /// is to be that of its relay.
    ///
    /// # Errors
    /// The address is taken.
    pub(super) fn streams(wall: &Arc<Wall>, to: usize, port: u16, introduces: bool) -> io::Result<Relay> {
        let (at, wall) = (address_of(to, port), wall.clone());
        let listener = TcpListener::bind(at)?;
        let thread = thread::spawn(move || {
            // It is woken by a connection that nobody wants.
            while let Ok((stream, from)) = listener.accept()
                && !wall.is_over()
            {
                let wall = wall.clone();
                thread::spawn(move || {
                    // What cannot be relayed is closed.
                    let _ = relay(&wall, stream, from, to, port, introduces);
                });
            }
        });
        Ok(Relay { thread, at: Some(at) })
    }

    /// Datagrams to that member's port, which everybody sends from the one that he listens on.
    ///
    /// # Errors
    /// The address is taken.
    pub(super) fn datagrams(wall: &Arc<Wall>, to: usize, ports: Vec<u16>) -> io::Result<Relay> {
        let (socket, wall) = (UdpSocket::bind(address_of(to, ports[to]))?, wall.clone());
        socket.set_read_timeout(Some(LOOK))?;
        let thread = thread::spawn(move || {
            let mut bytes = vec![0; DATAGRAM];
            while !wall.is_over() {
                let Ok((count, sender)) = socket.recv_from(&mut bytes) else { continue };
                let from = ports.iter().position(|port| *port == sender.port());
                // Who is no member is never cut off.
                if from.is_none_or(|from| !wall.is_cut(from, to)) {
                    // Datagrams may be lost.
                    let _ = socket.send_to(&bytes[..count], own_address(ports[to]));
                }
            }
        });
        Ok(Relay { thread, at: None })
    }

    /// Waits for its end, which the wall's has to come before.
    pub(super) fn join(self) {
        if let Some(at) = self.at {
            // It wakes up also when that is refused: then it is at its end already.
            drop(TcpStream::connect(at));
        }
        // What went wrong there was said there.
        let _ = self.thread.join();
    }
}

fn relay(
    wall: &Arc<Wall>,
    dialled: TcpStream,
    dialler: SocketAddr,
    to: usize,
    port: u16,
    introduces: bool,
) -> io::Result<()> {
    dialled.set_nodelay(true)?;
    let dialled = wall.keep(dialled);
    let mut first = Vec::new();
    let from = match introduces {
        true => {
            first = introduction(&dialled)?;
            introduced(&mut first)
        }
        false => wall.owner(dialler, address_of(to, port)),
    };
    let from = from.ok_or(io::ErrorKind::NotFound)?;
    if !(wall.passes(from, to) && wall.passes(to, from)) {
        return Ok(());
    }
    let onwards = dial(own_address(port))?;
    onwards.set_nodelay(true)?;
    let onwards = wall.keep(onwards);
    (&*onwards).write_all(&first)?;
    let answers = {
        let (wall, onwards, dialled) = (wall.clone(), onwards.clone(), dialled.clone());
        thread::spawn(move || pump(&wall, (to, from), &onwards, &dialled))
    };
    pump(wall, (from, to), &dialled, &onwards);
    // Its panics are its own.
    let _ = answers.join();
    Ok(())
}

/// Dials a member. One that does not listen would have refused the connection, and whoever dials would have tried again:
/// ZooKeeper's followers do, for five seconds (`Learner.java: connectToLeader`), since they may be earlier than their leader.
fn dial(to: SocketAddr) -> io::Result<TcpStream> {
    let until = Instant::now() + LISTENS_WITHIN;
    loop {
        match TcpStream::connect(to) {
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(20)),
            dialled => return dialled,
        }
    }
}

/// Carries what comes from one end to the other until there is no more, which the other end is told as well.
fn pump(wall: &Wall, (from, to): (usize, usize), mut source: &TcpStream, mut sink: &TcpStream) {
    let mut bytes = vec![0; 1 << 14];
    loop {
        let count = source.read(&mut bytes).unwrap_or(0);
        if !wall.passes(from, to) {
            return;
        }
        if count == 0 || sink.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Either may be closed already. An end of one direction is one of both: that of a process is.
    let _ = (sink.shutdown(Shutdown::Both), source.shutdown(Shutdown::Both));
}

/// The first packet of ZooKeeper's connections for elections (`QuorumCnxManager.java: InitialMessage`): eight bytes of version,
/// eight of the member's number from 1 on, four that say how long its address is, and that.
const NUMBER: std::ops::Range<usize> = 8..16;
const LENGTH: std::ops::Range<usize> = 16..20;

/// Reads the first packet; whoever has the lower number closes the connection right after it.
fn introduction(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; LENGTH.end];
    stream.read_exact(&mut packet)?;
    let length = u32::from_be_bytes(packet[LENGTH].try_into().unwrap_or_default()) as usize;
    packet.resize(LENGTH.end + length.min(DATAGRAM), 0);
    stream.read_exact(&mut packet[LENGTH.end..])?;
    Ok(packet)
}

/// Who it is, as the first packet says. The address in it becomes that of its relay, which is as long.
fn introduced(packet: &mut [u8]) -> Option<usize> {
    let number = u64::from_be_bytes(packet[NUMBER].try_into().ok()?);
    let member = usize::try_from(number.checked_sub(1)?).ok().filter(|member| *member < MEMBERS)?;
    let (own, relayed) = (b"127.0.0.1:", format!("127.0.0.{}:", 2 + member));
    let place = packet.windows(own.len()).position(|part| part == own)?;
    packet[place..place + own.len()].copy_from_slice(relayed.as_bytes());
    Some(member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::free_port;

    /// A line there and back.
    fn echo(stream: &mut TcpStream, line: &[u8]) -> io::Result<Vec<u8>> {
        stream.write_all(line)?;
        let mut bytes = vec![0; line.len()];
        stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn what_is_said_in_a_cut_comes_when_it_is_healed() {
        let (wall, port) = (Arc::new(Wall::default()), free_port().expect("a port"));
        // Whoever dials here is this process: member 1, which talks to member 0.
        wall.is(0, 1);
        wall.is(1, std::process::id());
        let listener = TcpListener::bind(own_address(port)).expect("a port");
        let relay = Relay::streams(&wall, 0, port, false).expect("a port");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody dials");
            let mut bytes = [0; 64];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                stream.write_all(&bytes[..count]).expect("somebody listens");
            }
        });
        let mut stream = TcpStream::connect(address_of(0, port)).expect("a relay");
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        assert_eq!(echo(&mut stream, b"hello").expect("an answer"), b"hello");
        wall.cut(0, 1);
        assert!(echo(&mut stream, b"hello").is_err());
        wall.heal();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).expect("it was kept");
        assert_eq!(&bytes, b"hello");
        wall.end();
        relay.join();
        assert_eq!(stream.read(&mut bytes).unwrap_or(0), 0);
    }
    #[test]
    fn who_introduces_himself_is_found_at_his_relay() {
        let mut packet = [&[255; 8][..], &2_u64.to_be_bytes(), &15_u32.to_be_bytes(), b"127.0.0.1:13888"].concat();
        assert_eq!(introduced(&mut packet), Some(1));
        assert!(packet.ends_with(b"127.0.0.3:13888"));
        let mut stranger = [&[255; 8][..], &9_u64.to_be_bytes(), &15_u32.to_be_bytes(), b"127.0.0.1:13888"].concat();
        assert_eq!(introduced(&mut stranger), None);
    }
}
