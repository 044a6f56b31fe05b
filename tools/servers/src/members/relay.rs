//! Relays between members: all traffic from one member to another passes a relay, which can withhold it.
//!
//! A member listens on 127.0.0.1, and announces an address of its own, 127.0.0.2 and up, with the same port; that is
//! its relay. The dialling member is identified by the owner of the connection's other end, or by its first packet. A
//! cut is silent, as in a network: nothing is refused or closed, and data sent meanwhile arrives when the cut is healed
//! (datagrams do not). During a cut, the kernel still accepts connections, but nobody answers on them.

use super::sockets::{self, MEMBERS_MAX, address_of, own_address};
use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The interval of checks whether datagrams are still to be relayed.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait for a member that does not listen yet.
const LISTENS_WITHIN: Duration = Duration::from_secs(1);
/// How often to look up a connection's owner, who may not have it yet.
const ASKED: u32 = 20;
/// The longest datagram, in bytes.
const DATAGRAM: usize = 1 << 16;

/// The cuts between members, and the members' processes.
#[derive(Default)]
pub(crate) struct Wall {
    state: Mutex<State>,
    changed: Condvar,
    over: AtomicBool,
    /// How many pieces of data it has let pass, in all directions.
    pub(crate) passed: AtomicU64,
}

#[derive(Default)]
struct State {
    cut: BTreeSet<(usize, usize)>,
    processes: Vec<Option<u32>>,
    /// Streams to close at the end.
    streams: Vec<Weak<TcpStream>>,
}

impl Wall {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts off traffic from `from` to `to`.
    pub(crate) fn cut(&self, from: usize, to: usize) {
        self.state().cut.insert((from, to));
    }

    /// Ends all cuts.
    pub(crate) fn heal(&self) {
        self.state().cut.clear();
        self.changed.notify_all();
    }

    /// Sets the process of a member.
    pub(super) fn is(&self, member: usize, process: u32) {
        let mut state = self.state();
        let count = state.processes.len().max(member + 1);
        state.processes.resize(count, None);
        state.processes[member] = Some(process);
    }

    fn has_cuts(&self) -> bool {
        !self.state().cut.is_empty()
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.state().cut.contains(&(from, to))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits until traffic from `from` to `to` may pass; false if the wall has ended.
    pub(crate) fn passes(&self, from: usize, to: usize) -> bool {
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

    /// Registers a stream to close at the end.
    pub(crate) fn keep(&self, stream: TcpStream) -> Arc<TcpStream> {
        let (stream, mut state) = (Arc::new(stream), self.state());
        state.streams.retain(|stream| stream.strong_count() > 0);
        state.streams.push(Arc::downgrade(&stream));
        stream
    }

    /// The streams that are open still, and perhaps some that have just been closed.
    pub(crate) fn streams(&self) -> Vec<Arc<TcpStream>> {
        self.state().streams.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends all relaying.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        for stream in self.state().streams.drain(..).filter_map(|stream| stream.upgrade()) {
            // The stream may already be closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }
}

/// Relays all traffic to one port of a member until the wall ends.
pub(super) struct Relay {
    thread: JoinHandle<()>,
    /// Its listening address.
    at: Option<SocketAddr>,
}

impl Relay {
    /// Relays connections to a member's port. With `introduces`, the first packet of each contains the dialling
    /// member's address, which is replaced by that of its relay.
    ///
    /// # Errors
    /// The address is taken.
    pub(super) fn streams(wall: &Arc<Wall>, to: usize, port: u16, introduces: bool) -> io::Result<Relay> {
        let (at, wall) = (address_of(to, port), wall.clone());
        let listener = TcpListener::bind(at)?;
        let thread = thread::spawn(move || {
            // `join` wakes it with a connection.
            while let Ok((stream, from)) = listener.accept()
                && !wall.is_over()
            {
                let wall = wall.clone();
                thread::spawn(move || {
                    // A connection that cannot be relayed is closed.
                    let _ = relay(&wall, stream, from, to, port, introduces);
                });
            }
        });
        Ok(Relay { thread, at: Some(at) })
    }

    /// Relays datagrams to a member's port; each member sends from the port on which it listens.
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
                // Other senders are never cut off.
                if from.is_none_or(|from| !wall.is_cut(from, to)) {
                    // Datagrams may be lost.
                    let _ = socket.send_to(&bytes[..count], own_address(ports[to]));
                }
            }
        });
        Ok(Relay { thread, at: None })
    }

    /// Waits for its end; the wall must have ended before.
    pub(super) fn join(self) {
        if let Some(at) = self.at {
            // If the connection is refused, the relay has already ended.
            drop(TcpStream::connect(at));
        }
        // The thread has reported its own failures.
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
    let from = OnceLock::new();
    if introduces {
        first = introduction(&dialled)?;
        let _ = from.set(Some(introduced(&mut first).ok_or(io::ErrorKind::NotFound)?));
    }
    let asked = wall.clone();
    let passes: Passes = Arc::new(move |back| {
        // Who has dialled is found out once it matters: on a busy machine, it takes long to look through all sockets.
        if !asked.has_cuts() {
            return !asked.is_over();
        }
        let from = *from.get_or_init(|| asked.owner(dialler, address_of(to, port)));
        from.is_some_and(|from| if back { asked.passes(to, from) } else { asked.passes(from, to) })
    });
    if !(passes(false) && passes(true)) {
        return Ok(());
    }
    let onwards = dial(own_address(port))?;
    onwards.set_nodelay(true)?;
    let onwards = wall.keep(onwards);
    (&*onwards).write_all(&first)?;
    join(wall, &passes, &dialled, &onwards);
    Ok(())
}

/// Waits until data may pass a connection, to the side that was dialled, or back; false if it never may.
pub(crate) type Passes = Arc<dyn Fn(bool) -> bool + Send + Sync>;

/// Forwards data both ways between a connection that was dialled and the one that goes on, until one of them ends.
pub(crate) fn join(wall: &Arc<Wall>, passes: &Passes, dialled: &Arc<TcpStream>, onwards: &Arc<TcpStream>) {
    let answers = {
        let (wall, passes, onwards, dialled) = (wall.clone(), passes.clone(), onwards.clone(), dialled.clone());
        thread::spawn(move || pump(&wall, || passes(true), &onwards, &dialled))
    };
    pump(wall, || passes(false), dialled, onwards);
    // A panic of that thread is its own.
    let _ = answers.join();
}

/// Dials a member, and waits for it to listen. A real dial would be refused and retried: ZooKeeper's followers retry
/// for five seconds (`Learner.java: connectToLeader`), since they may start before their leader.
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

/// Forwards data until the source ends, and then passes the end on.
fn pump(wall: &Wall, passes: impl Fn() -> bool, mut source: &TcpStream, mut sink: &TcpStream) {
    let mut bytes = vec![0; 1 << 14];
    loop {
        let count = source.read(&mut bytes).unwrap_or(0);
        if !passes() {
            return;
        }
        if count == 0 || sink.write_all(&bytes[..count]).is_err() {
            break;
        }
        wall.passed.fetch_add(1, Ordering::Relaxed);
    }
    // Either may already be closed. The end of one direction ends both, as with a process's end.
    let _ = (sink.shutdown(Shutdown::Both), source.shutdown(Shutdown::Both));
}

/// The first packet of ZooKeeper's election connections (`QuorumCnxManager.java: InitialMessage`): eight bytes of
/// version, eight of the member's number counted from 1, four with the length of its address, and the address.
const NUMBER: std::ops::Range<usize> = 8..16;
const LENGTH: std::ops::Range<usize> = 16..20;

/// Reads the first packet; a member with the lower number closes the connection right after it.
fn introduction(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; LENGTH.end];
    stream.read_exact(&mut packet)?;
    let length = u32::from_be_bytes(packet[LENGTH].try_into().unwrap_or_default()) as usize;
    packet.resize(LENGTH.end + length.min(DATAGRAM), 0);
    stream.read_exact(&mut packet[LENGTH.end..])?;
    Ok(packet)
}

/// The sender of the first packet. Replaces the address in it by that of the sender's relay, which has the same length.
fn introduced(packet: &mut [u8]) -> Option<usize> {
    let number = u64::from_be_bytes(packet[NUMBER].try_into().ok()?);
    let member = usize::try_from(number.checked_sub(1)?).ok().filter(|member| *member < MEMBERS_MAX)?;
    let (own, relayed) = (b"127.0.0.1:", format!("127.0.0.{}:", 2 + member));
    let place = packet.windows(own.len()).position(|part| part == own)?;
    packet[place..place + own.len()].copy_from_slice(relayed.as_bytes());
    Some(member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::free_port;

    /// Sends a line, and returns the echo.
    fn echo(stream: &mut TcpStream, line: &[u8]) -> io::Result<Vec<u8>> {
        stream.write_all(line)?;
        let mut bytes = vec![0; line.len()];
        stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn what_is_said_in_a_cut_comes_when_it_is_healed() {
        let (wall, port) = (Arc::new(Wall::default()), free_port().expect("a port"));
        // The dialling process is this one: member 1, which talks to member 0.
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
