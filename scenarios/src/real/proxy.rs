//! Proxies between processes: where partitions, latency and loss of real mode happen, without any privilege.
//!
//! A partition is silence: what was under way waits in the sockets' buffers, as TCP would send it again, and a new
//! connection is accepted by the proxy but leads nowhere until the partition is healed.

use protocols::types::MICROSECOND;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
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

/// What a lost segment's resend costs, as TCP's first retransmission does (RFC 6298, §2: at least 1 s; Linux: 200 ms).
const RESEND: Duration = Duration::from_millis(200);
/// Chunks that may be on their way in one direction.
const UNDER_WAY_MAX: usize = 256;
const CHUNK: usize = 16 * 1024;

/// How one direction of a link is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Gate {
    /// How many partitions lie over it.
    pub blocked: u32,
    /// Extra latency, microseconds.
    pub extra_us: u64,
    /// Probability that a chunk is lost once, and comes later.
    pub loss: f64,
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
    /// Leads connections to `to`.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(to: SocketAddr) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (forward, backward) = (Direction::default(), Direction::default());
        let (there, back) = (forward.clone(), backward.clone());
        let accepting = tokio::spawn(async move {
            // Dropping the set ends every connection.
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                        connections.spawn(connection(stream, to, there.clone(), back.clone()));
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

async fn connection(from: TcpStream, to: SocketAddr, forward: Direction, backward: Direction) {
    let (mut there, mut back) = (forward.subscribe(), backward.subscribe());
    open(&mut there).await;
    open(&mut back).await;
    // Nobody listens: whoever came is turned away too.
    let Ok(onward) = TcpStream::connect(to).await else { return };
    let _ = (from.set_nodelay(true), onward.set_nodelay(true));
    let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), onward.into_split());
    // One half may live on after the other has ended; a connection that is reset loses both.
    let mut halves = JoinSet::new();
    halves.spawn(pump(from_read, to_write, there));
    halves.spawn(pump(to_read, from_write, back));
    while let Some(Ok(End::Orderly)) = halves.join_next().await {}
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
    let (mut buffer, mut draws) = (vec![0; CHUNK], 0x9e37_79b9_7f4a_7c15u64);
    loop {
        let read = from.read(&mut buffer).await;
        let Gate { extra_us, loss, .. } = open(&mut gate).await;
        let length = match read {
            Ok(0) => break,
            Ok(length) => length,
            Err(_) => return End::Reset,
        };
        let lost = if loss > 0.0 && chance(&mut draws) < loss { RESEND } else { Duration::ZERO };
        let due = Instant::now() + Duration::from_nanos(extra_us * MICROSECOND) + lost;
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
        tokio::time::sleep_until(due).await;
        open(&mut gate).await;
        if to.write_all(&chunk).await.is_err() {
            return End::Reset;
        }
    }
    if to.shutdown().await.is_ok() { End::Orderly } else { End::Reset }
}

/// xorshift64*: loss on a real link needs no better dice, and no entropy (Vigna, 2016).
fn chance(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (mut read, mut write) = stream.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut read, &mut write).await });
            }
        });
        address
    }

    async fn say(stream: &mut TcpStream, text: &[u8]) -> Result<Vec<u8>, tokio::time::error::Elapsed> {
        stream.write_all(text).await.expect("writable");
        let mut answer = vec![0; text.len()];
        tokio::time::timeout(Duration::from_millis(150), stream.read_exact(&mut answer)).await.map(|r| {
            r.expect("readable");
            answer
        })
    }

    #[tokio::test]
    async fn a_partition_is_silence_and_loses_nothing() {
        let proxy = Proxy::start(echo().await).await.expect("a port");
        let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
        assert_eq!(say(&mut stream, b"one").await, Ok(b"one".to_vec()));
        proxy.forward.send_modify(|g| g.blocked += 1);
        assert!(say(&mut stream, b"two").await.is_err());
        let mut late = TcpStream::connect(proxy.address).await.expect("the proxy accepts");
        assert!(say(&mut late, b"new").await.is_err());
        proxy.forward.send_modify(|g| g.blocked -= 1);
        let mut answer = [0; 3];
        stream.read_exact(&mut answer).await.expect("what waited comes");
        assert_eq!(&answer, b"two");
        late.read_exact(&mut answer).await.expect("the new connection goes on");
        assert_eq!(&answer, b"new");
    }

    #[tokio::test]
    async fn the_end_of_one_direction_travels_and_the_other_goes_on() {
        let proxy = Proxy::start(echo().await).await.expect("a port");
        let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
        stream.write_all(b"last").await.expect("writable");
        stream.shutdown().await.expect("half closed");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("readable");
        assert_eq!(answer, b"last");
    }
}
