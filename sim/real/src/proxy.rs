//! Proxies between processes: where partitions, latency and loss of real mode happen, without any privilege.
//!
//! A partition is silence: what was under way waits in the sockets' buffers, as TCP would send it again, and a new
//! connection is accepted by the proxy but leads nowhere until the partition is healed.
//!
//! Every link is a TCP connection, so a plan's network is carried out as TCP lets it through: latency and jitter delay each
//! chunk without reordering any, a lost segment holds up everything behind it until it was sent again, and what a network
//! duplicates or reorders never shows. A latency below [`FINEST`] is what loopback and the proxy cost anyhow.

use crate::keepalive;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::Instant,
};

/// A retransmission timer's least value (Linux, `TCP_RTO_MIN`; RFC 6298 §2.4 has 1 s, which nobody uses), microseconds. It
/// doubles with every resend of the same segment (§5.5).
const RESEND_US: u64 = 200_000;
/// The timer before anything was measured: a lost handshake's (RFC 6298 §2.1), microseconds.
const HANDSHAKE_US: u64 = 1_000_000;
/// A segment is sent so often at most until it arrives.
const RESENDS_MAX: u32 = 6;
/// Bytes that travel or are lost together: Ethernet's 1500 less the headers.
const SEGMENT: usize = 1448;
/// Shorter delays are not carried out: the system's timers have whole milliseconds.
const FINEST: Duration = Duration::from_millis(1);
/// Chunks that may be on their way in one direction.
const UNDER_WAY_MAX: usize = 256;
const CHUNK: usize = 16 * 1024;

/// How one direction of a link is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Gate {
    /// How many partitions lie over it.
    pub blocked: u32,
    /// The plan's network: always there.
    pub line: Line,
    /// Extra latency while a fault lasts, microseconds.
    pub extra_us: u64,
    /// Probability that a segment is lost while a fault lasts.
    pub loss: f64,
}

/// What a plan's network does to a direction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    /// Shortest latency, microseconds.
    pub latency_us: u64,
    /// Uniform extra latency on top, up to so many microseconds.
    pub jitter_us: u64,
    /// Probability that a segment is lost, and comes later.
    pub loss: f64,
}

impl Gate {
    /// How long `bytes` take, microseconds: latency, and the resends of what is lost on the way.
    fn delay_us(&self, bytes: usize, draws: &mut Draws) -> u64 {
        let jitter = draws.below(self.line.jitter_us);
        let segments = bytes.div_ceil(SEGMENT).max(1);
        // The segments of a chunk are under way together: the one that is lost most often decides.
        let resent = (0..segments).map(|_| self.resends_us(RESEND_US, draws)).max().unwrap_or(0);
        self.line.latency_us + jitter + self.extra_us + resent
    }

    /// How long the resends of one segment take, microseconds, when the timer first has `timer_us`.
    fn resends_us(&self, timer_us: u64, draws: &mut Draws) -> u64 {
        let loss = self.line.loss.max(self.loss);
        if loss <= 0.0 {
            return 0;
        }
        let lost = (0..RESENDS_MAX).take_while(|_| draws.chance() < loss).count();
        (0..lost).map(|nth| timer_us << nth).sum()
    }
}

/// A direction of a link.
pub type Direction = Arc<watch::Sender<Gate>>;

/// One link: whatever connects to its address is led to the other side.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    /// From whoever connects to the other side.
    pub forward: Direction,
    /// And back.
    pub backward: Direction,
    accepting: AbortHandle,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    /// Leads connections to `to` over such a line, both ways. There they are given up when they were blocked for so long, if
    /// ever; see [`crate::keepalive`].
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(to: SocketAddr, line: Line, gives_up_after: Option<Duration>) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let direction = || Arc::new(watch::Sender::new(Gate { line, ..Gate::default() }));
        let (forward, backward) = (direction(), direction());
        let (there, back) = (forward.clone(), backward.clone());
        let accepting = tokio::spawn(async move {
            // Dropping the set ends every connection.
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                        connections.spawn(connection(stream, to, there.clone(), back.clone(), gives_up_after));
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Proxy { address, forward, backward, accepting: accepting.abort_handle() })
    }
}

/// Waits until nothing blocks the direction.
async fn open(gate: &mut watch::Receiver<Gate>) -> Gate {
    // The sender lives as long as the proxy.
    gate.wait_for(|g| g.blocked == 0).await.map(|g| *g).unwrap_or_default()
}

async fn connection(
    from: TcpStream,
    to: SocketAddr,
    forward: Direction,
    backward: Direction,
    gives_up_after: Option<Duration>,
) {
    let (mut there, mut back) = (forward.subscribe(), backward.subscribe());
    let mut draws = Draws::new();
    // SYN and its answer; either may be lost.
    let mut handshake_us = 0;
    for gate in [&mut there, &mut back] {
        let gate = open(gate).await;
        let latency_us = gate.line.latency_us + draws.below(gate.line.jitter_us) + gate.extra_us;
        handshake_us += latency_us + gate.resends_us(HANDSHAKE_US, &mut draws);
    }
    wait_until(Instant::now() + Duration::from_micros(handshake_us)).await;
    // Nobody listens: whoever came is turned away too.
    let Ok(onward) = TcpStream::connect(to).await else { return };
    let _ = (from.set_nodelay(true), onward.set_nodelay(true));
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
    // One half may live on after the other has ended; a connection that is reset loses both.
    let mut halves = JoinSet::new();
    halves.spawn(pump(from_read, to_write, there));
    halves.spawn(pump(to_read, from_write, back));
    while let Some(Ok(End::Orderly)) = halves.join_next().await {}
}

/// Waits, unless it is over before a timer could tell.
async fn wait_until(due: Instant) {
    if due.saturating_duration_since(Instant::now()) >= FINEST {
        tokio::time::sleep_until(due).await;
    }
}

/// How one half of a connection came to its end.
#[derive(PartialEq, Eq)]
enum End {
    /// All was said.
    Orderly,
    /// One side has gone away.
    Reset,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Carries bytes one way until they end, each chunk no sooner than its direction allows.
async fn pump(mut from: OwnedReadHalf, to: OwnedWriteHalf, mut gate: watch::Receiver<Gate>) -> End {
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
        let due = Instant::now() + Duration::from_micros(passed.delay_us(length, &mut draws));
        if chunks.send((due, buffer[..length].to_vec())).await.is_err() {
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
        // Behind a chunk that is late, everything is.
        wait_until(due).await;
        open(&mut gate).await;
        if to.write_all(&chunk).await.is_err() {
            return End::Reset;
        }
    }
    if to.shutdown().await.is_ok() { End::Orderly } else { End::Reset }
}

/// xorshift64*: loss on a real link needs no better dice, and no entropy (Vigna, 2016). Every direction of every
/// connection throws its own.
struct Draws(u64);

impl Draws {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(1);
        // An odd factor: no two are alike, and none is zero.
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
