//! Connections between members: each dials every other one, and says there what it has to say. A connection on which
//! nothing comes for a while is given up and dialled again, and what was on it is lost (etcd: `rafthttp/stream.go`,
//! `ConnReadTimeout`, a sign of life every third of it; `streamReader.run` dials again after 100 ms).

use super::message::{Message, Reader, Writer};
use protocols::types::{MILLISECOND, SECOND};
use protocols_clients::{env::Env, site::Endpoint};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
};

/// How long dialling may take, and from one attempt to the next, nanoseconds.
const DIAL: (u64, u64) = (SECOND, 100 * MILLISECOND);
/// The longest frame, bytes.
const FRAME_MAX: usize = 1 << 24;
const LENGTH: usize = 4;

/// What goes over a connection.
pub enum Frame {
    /// Who dials.
    Hello(usize),
    /// A message of the agreement.
    Message(Message),
    /// One member asks another something.
    Ask(u64, Vec<u8>),
    /// The answer; none: there is none to be had.
    Answer(u64, Option<Vec<u8>>),
    /// A sign of life.
    Alive,
}

impl Frame {
    /// Its bytes, with their length before them.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer(vec![0; LENGTH]);
        match self {
            Frame::Hello(from) => drop(body.byte(0).number(*from as u64)),
            Frame::Message(message) => message.encode(body.byte(1)),
            Frame::Ask(number, ask) => drop(body.byte(2).number(*number).bytes(ask)),
            Frame::Answer(number, None) => drop(body.byte(3).number(*number)),
            Frame::Answer(number, Some(answer)) => drop(body.byte(4).number(*number).bytes(answer)),
            Frame::Alive => drop(body.byte(5)),
        }
        let length = (body.0.len() - LENGTH) as u32;
        body.0[..LENGTH].copy_from_slice(&length.to_le_bytes());
        body.0
    }

    fn decode(bytes: &[u8]) -> Option<Frame> {
        let mut from = Reader(bytes);
        Some(match from.byte()? {
            0 => Frame::Hello(usize::try_from(from.number()?).ok()?),
            1 => Frame::Message(Message::decode(&mut from)?),
            2 => Frame::Ask(from.number()?, from.bytes()?.to_vec()),
            3 => Frame::Answer(from.number()?, None),
            4 => Frame::Answer(from.number()?, Some(from.bytes()?.to_vec())),
            5 => Frame::Alive,
            _ => return None,
        })
    }
}

struct Frames<S> {
    stream: ReadHalf<S>,
    buffer: Vec<u8>,
}

impl<S: AsyncRead> Frames<S> {
    /// The next frame; dropping this half way loses nothing.
    async fn next(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(length) = self.buffer.first_chunk::<LENGTH>() {
                let end = LENGTH + u32::from_le_bytes(*length) as usize;
                if end > FRAME_MAX {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if end <= self.buffer.len() {
                    let frame = Frame::decode(&self.buffer[LENGTH..end]);
                    self.buffer.drain(..end);
                    return frame.ok_or_else(|| io::ErrorKind::InvalidData.into());
                }
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Carries frames both ways until the connection ends, or nothing comes for too long. Did it end?
pub async fn carry<E: Env>(
    env: &E,
    silence: u64,
    stream: E::Stream,
    frames: &mut UnboundedReceiver<Vec<u8>>,
    mut take: impl FnMut(Frame),
) -> bool {
    let (read, mut write) = tokio::io::split(stream);
    let mut coming = Frames { stream: read, buffer: Vec::new() };
    let now = env.now().mono;
    let (mut alive_at, mut silent_at) = (now + silence / 3, now + silence);
    loop {
        let wake = env.sleep_until(alive_at.min(silent_at));
        // What has come goes before what is due: it may have lain there while the process was stopped.
        let going = tokio::select! {
            biased;
            frame = coming.next() => {
                let Ok(frame) = frame else { return true };
                silent_at = env.now().mono + silence;
                take(frame);
                continue;
            }
            Some(bytes) = frames.recv() => bytes,
            () = wake => {
                if env.now().mono >= silent_at {
                    return false;
                }
                Frame::Alive.encode()
            }
        };
        alive_at = env.now().mono + silence / 3;
        if write.write_all(&going).await.is_err() {
            return true;
        }
    }
}

/// What waits for answers, by member and number.
type Asked = BTreeMap<(usize, u64), oneshot::Sender<Option<Vec<u8>>>>;

/// A member's connections to the others.
pub struct Links<E> {
    env: E,
    own: usize,
    silence: u64,
    peers: Vec<Endpoint>,
    out: Mutex<Vec<Option<UnboundedSender<Vec<u8>>>>>,
    asked: Mutex<(u64, Asked)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Env> Links<E> {
    /// Those of member `own`; nothing is dialled yet.
    pub fn new(env: E, own: usize, silence: u64, peers: Vec<Endpoint>) -> Arc<Self> {
        let out = peers.iter().map(|_| None).collect();
        Arc::new(Links { env, own, silence, peers, out: Mutex::new(out), asked: Mutex::default() })
    }

    /// Sends a frame, if there is a connection.
    pub fn send(&self, to: usize, frame: &Frame) -> bool {
        lock(&self.out)[to].as_ref().is_some_and(|out| out.send(frame.encode()).is_ok())
    }

    /// Is there a connection?
    pub fn reaches(&self, member: usize) -> bool {
        lock(&self.out)[member].is_some()
    }

    /// Asks a member something; nothing when the connection breaks, or there is none.
    pub async fn ask(&self, to: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut asked = lock(&self.asked);
            asked.0 += 1;
            let number = asked.0;
            asked.1.insert((to, number), sender);
            number
        };
        if !self.send(to, &Frame::Ask(number, body)) {
            lock(&self.asked).1.remove(&(to, number));
            return None;
        }
        answer.await.ok().flatten()
    }

    /// Keeps a connection to a member, until dropped; `lost` is told whenever it breaks.
    pub async fn keep(self: Arc<Self>, to: usize, lost: impl Fn()) {
        let env = self.env.clone();
        loop {
            if let Some(Ok(stream)) = env.timeout(DIAL.0, env.connect(&self.peers[to])).await {
                let (sender, mut frames) = unbounded_channel();
                let _ = sender.send(Frame::Hello(self.own).encode());
                lock(&self.out)[to] = Some(sender);
                let take = |frame| {
                    if let Frame::Answer(number, answer) = frame
                        && let Some(waits) = lock(&self.asked).1.remove(&(to, number))
                    {
                        // Who does not wait any more has had its own timeout.
                        let _ = waits.send(answer);
                    }
                };
                let ended = carry(&env, self.silence, stream, &mut frames, take).await;
                lock(&self.out)[to] = None;
                // A question goes over a connection of its own, which hears of an end and waits through a silence.
                if ended {
                    lock(&self.asked).1.retain(|(of, _), _| *of != to);
                }
                lost();
            }
            env.sleep(DIAL.1).await;
        }
    }
}
