//! Proxies between processes inject partitions, latency and loss in real mode, without privileges.
//!
//! A partition is silence: bytes in flight wait in the sockets' buffers, as TCP would resend them. The proxy accepts
//! new connections but connects them only once the partition heals.
//!
//! Every link is a TCP connection, which limits how a plan's network shows: latency and jitter delay each chunk without
//! reordering, a lost segment holds up everything behind it until it is resent, and duplication and reordering never
//! show. Latencies below [`FINEST`] are ignored: loopback and the proxy cost that much anyway.

use crate::keepalive;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, oneshot, watch},
    task::{AbortHandle, JoinSet},
    time::Instant,
};

/// The minimum retransmission timeout in microseconds (Linux, `TCP_RTO_MIN`; RFC 6298 §2.4 asks for 1 s, which nobody
/// uses). It doubles with every resend of the same segment (§5.5).
const RESEND_US: u64 = 200_000;
/// The timeout before the first measurement, that is, of a handshake (RFC 6298 §2.1), in microseconds.
const HANDSHAKE_US: u64 = 1_000_000;
/// The most resends of one segment; then it arrives.
const RESENDS_MAX: u32 = 6;
/// Bytes that travel or are lost together: Ethernet's 1500 less the headers.
const SEGMENT: usize = 1448;
/// Shorter delays are skipped: the system's timers have whole milliseconds.
const FINEST: Duration = Duration::from_millis(1);
/// The most chunks in flight in one direction.
const UNDER_WAY_MAX: usize = 256;
const CHUNK: usize = 16 * 1024;

/// The state of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Gate {
    /// The number of partitions that block it.
    pub blocked: u32,
    /// The plan's network, always in effect.
    pub line: Line,
    /// Extra latency while a fault lasts, in microseconds.
    pub extra_us: u64,
    /// The probability that a segment is lost while a fault lasts.
    pub loss: f64,
}

/// A plan's network, for one direction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    /// The shortest latency, in microseconds.
    pub latency_us: u64,
    /// The largest extra latency, uniformly distributed, in microseconds.
    pub jitter_us: u64,
    /// The probability that a segment is lost and has to be resent.
    pub loss: f64,
}

impl Gate {
    /// How long `bytes` take, in microseconds: latency plus resends of lost segments.
    fn delay_us(&self, bytes: usize, draws: &mut Draws) -> u64 {
        let jitter = draws.below(self.line.jitter_us);
        let segments = bytes.div_ceil(SEGMENT).max(1);
        // The segments of a chunk travel together; the one lost most often decides.
        let resent = (0..segments).map(|_| self.resends_us(RESEND_US, draws)).max().unwrap_or(0);
        self.line.latency_us + jitter + self.extra_us + resent
    }

    /// How long the resends of one segment take, in microseconds, with a first timeout of `timer_us`.
    fn resends_us(&self, timer_us: u64, draws: &mut Draws) -> u64 {
        let loss = self.line.loss.max(self.loss);
        if loss <= 0.0 {
            return 0;
        }
        let lost = (0..RESENDS_MAX).take_while(|_| draws.chance() < loss).count();
        (0..lost).map(|nth| timer_us << nth).sum()
    }
}

/// Watches one connection through a proxy.
pub trait Watch: Send {
    /// Where in the bytes that the connecting side sends something begins that has to be asked about, if anything does.
    fn sent(&mut self, bytes: &[u8]) -> Option<usize>;

    /// What the other side answers to it; `None` if these bytes do not tell yet.
    fn answered(&mut self, bytes: &[u8]) -> Option<Answer>;
}

/// An answer to what was asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It was refused, or changed nothing.
    Refused,
    /// It was carried out; what it changed, others know.
    Given,
}

/// Is told of connections through a proxy, and asked about what they send before it is passed on. Connections are known by
/// their port on the other side.
pub struct Tap {
    /// For a new connection.
    pub opened: Box<dyn Fn(u16) -> Box<dyn Watch> + Send + Sync>,
    /// What was found waits on the wire until it is answered: also when its sender is gone.
    pub asked: mpsc::UnboundedSender<(u16, oneshot::Sender<()>)>,
    pub answered: mpsc::UnboundedSender<(u16, Answer)>,
}

pub type Direction = Arc<watch::Sender<Gate>>;

/// One link: connections to its address are forwarded to the other side.
pub struct Proxy {
    pub address: SocketAddr,
    /// From the connecting side to the other.
    pub forward: Direction,
    pub backward: Direction,
    accepting: AbortHandle,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    /// Forwards connections to `to` over `line`, both ways. If `gives_up_after` is given, connections blocked for that
    /// long are closed; see [`crate::keepalive`].
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(to: SocketAddr, line: Line, gives_up_after: Option<Duration>) -> io::Result<Proxy> {
        Proxy::tapped(to, line, gives_up_after, None).await
    }

    /// The same, with a tap.
    ///
    /// # Errors
    /// No port is free.
    pub async fn tapped(
        to: SocketAddr,
        line: Line,
        gives_up_after: Option<Duration>,
        tap: Option<Arc<Tap>>,
    ) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let direction = || Arc::new(watch::Sender::new(Gate { line, ..Gate::default() }));
        let (forward, backward) = (direction(), direction());
        let (there, back) = (forward.clone(), backward.clone());
        let accepting = tokio::spawn(async move {
            // Dropping the set closes every connection.
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                        connections.spawn(connection(stream, to, [there.clone(), back.clone()], gives_up_after, tap.clone()));
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Proxy { address, forward, backward, accepting: accepting.abort_handle() })
    }
}

/// Waits until the direction is not blocked.
async fn open(gate: &mut watch::Receiver<Gate>) -> Gate {
    // The sender lives as long as the proxy.
    gate.wait_for(|g| g.blocked == 0).await.map(|g| *g).unwrap_or_default()
}

async fn connection(
    from: TcpStream,
    to: SocketAddr,
    [forward, backward]: [Direction; 2],
    gives_up_after: Option<Duration>,
    tap: Option<Arc<Tap>>,
) {
    let (mut there, mut back) = (forward.subscribe(), backward.subscribe());
    let mut draws = Draws::new();
    // SYN and SYN-ACK; either may be lost.
    let mut handshake_us = 0;
    for gate in [&mut there, &mut back] {
        let gate = open(gate).await;
        let latency_us = gate.line.latency_us + draws.below(gate.line.jitter_us) + gate.extra_us;
        handshake_us += latency_us + gate.resends_us(HANDSHAKE_US, &mut draws);
    }
    wait_until(Instant::now() + Duration::from_micros(handshake_us)).await;
    // If nobody listens, the client is turned away too.
    let Ok(onward) = TcpStream::connect(to).await else { return };
    let _ = (from.set_nodelay(true), onward.set_nodelay(true));
    let tapped = tap.and_then(|tap| Tapped::new(tap, onward.local_addr().ok()?.port()));
    let (onward, _keepalive) = match gives_up_after {
        None => (onward, None),
        Some(after) => {
            match keepalive::watch(onward, [there.clone(), back.clone()], |gate: &Gate| gate.blocked > 0, after) {
                Ok((onward, keepalive)) => (onward, Some(keepalive)),
                Err(_) => return,
            }
        }
    };
    let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), onward.into_split());
    // One half may outlive the other, but a reset ends both.
    let mut halves = JoinSet::new();
    halves.spawn(pump(from_read, to_write, there, tapped.clone().map(Side::Sent)));
    halves.spawn(pump(to_read, from_write, back, tapped.map(Side::Answered)));
    while let Some(Ok(End::Orderly)) = halves.join_next().await {}
}

/// Waits, unless the wait is too short for a timer.
async fn wait_until(due: Instant) {
    if due.saturating_duration_since(Instant::now()) >= FINEST {
        tokio::time::sleep_until(due).await;
    }
}

/// How one half of a connection ended.
#[derive(PartialEq, Eq)]
enum End {
    /// End of file.
    Orderly,
    /// One side went away.
    Reset,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection's end of a tap.
#[derive(Clone)]
struct Tapped {
    tap: Arc<Tap>,
    port: u16,
    watch: Arc<Mutex<Box<dyn Watch>>>,
    /// What was found has been passed on, and not been answered.
    waits: Arc<AtomicBool>,
}

/// The direction whose bytes are watched.
enum Side {
    Sent(Tapped),
    Answered(Tapped),
}

impl Tapped {
    fn new(tap: Arc<Tap>, port: u16) -> Option<Tapped> {
        let watch = Arc::new(Mutex::new((tap.opened)(port)));
        Some(Tapped { tap, port, watch, waits: Arc::default() })
    }

    /// Where the bytes have to wait, and until when; `None` if they need not.
    fn asks(&self, bytes: &[u8]) -> Option<(usize, oneshot::Receiver<()>)> {
        let at = self.watch.lock().unwrap_or_else(PoisonError::into_inner).sent(bytes)?;
        let (go, asked) = oneshot::channel();
        self.tap.asked.send((self.port, go)).ok()?;
        Some((at, asked))
    }

    fn hears(&self, bytes: &[u8]) {
        if !self.waits.load(Ordering::Relaxed) {
            return;
        }
        if let Some(answer) = self.watch.lock().unwrap_or_else(PoisonError::into_inner).answered(bytes) {
            self.waits.store(false, Ordering::Relaxed);
            // Nobody may want to know any more.
            let _ = self.tap.answered.send((self.port, answer));
        }
    }
}

/// Forwards bytes one way until they end, each chunk no sooner than its direction allows.
async fn pump(mut from: OwnedReadHalf, to: OwnedWriteHalf, mut gate: watch::Receiver<Gate>, side: Option<Side>) -> End {
    let (chunks, waiting) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY_MAX);
    let writing = tokio::spawn(write(waiting, to, gate.clone()));
    let _writing = AbortOnDrop(writing.abort_handle());
    let (mut buffer, mut draws) = (vec![0; CHUNK], Draws::new());
    loop {
        let read = from.read(&mut buffer).await;
        let passed = open(&mut gate).await;
        let length = match read {
            Ok(0) => break,
            Ok(length) => length,
            Err(_) => return End::Reset,
        };
        let mut first = 0;
        if let Some(Side::Answered(tapped)) = &side {
            tapped.hears(&buffer[..length]);
        }
        if let Some(Side::Sent(tapped)) = &side
            && let Some((at, asked)) = tapped.asks(&buffer[..length])
        {
            if at > 0 && chunks.send((Instant::now(), buffer[..at].to_vec())).await.is_err() {
                return End::Reset;
            }
            first = at;
            // Nobody may want to hold it any more.
            let _ = asked.await;
            tapped.waits.store(true, Ordering::Relaxed);
        }
        let due = Instant::now() + Duration::from_micros(passed.delay_us(length, &mut draws));
        if chunks.send((due, buffer[first..length].to_vec())).await.is_err() {
            return End::Reset;
        }
    }
    drop(chunks);
    writing.await.unwrap_or(End::Reset)
}

async fn write(
    mut chunks: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<Gate>,
) -> End {
    while let Some((due, chunk)) = chunks.recv().await {
        // A late chunk delays everything behind it.
        wait_until(due).await;
        open(&mut gate).await;
        if to.write_all(&chunk).await.is_err() {
            return End::Reset;
        }
    }
    if to.shutdown().await.is_ok() { End::Orderly } else { End::Reset }
}

/// xorshift64* (Vigna, 2016), which needs no entropy and is good enough for packet loss. Each direction of each
/// connection has its own generator.
struct Draws(u64);

impl Draws {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(1);
        // The factor is odd, so that no two seeds are equal; `max` keeps them above zero.
        let mut draws = Draws(MADE.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1));
        draws.chance();
        draws
    }

    /// From 0 to below 1.
    fn chance(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 to `most`.
    fn below(&mut self, most: u64) -> u64 {
        (self.chance() * (most + 1) as f64) as u64
    }
}

#[cfg(test)]
mod tests;
