//! The encoding of members' messages on a connection.

use super::message::{Message, Reader, Writer};
use protocols_clients::env::Env;
use std::io;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf},
    sync::mpsc::UnboundedReceiver,
};

/// The longest frame, in bytes.
const FRAME_MAX: usize = 1 << 24;
const LENGTH: usize = 4;

pub enum Frame {
    /// The dialling member.
    Hello(usize),
    /// A message of the consensus protocol.
    Message(Message),
    /// A question to another member, with its number.
    Ask(u64, Vec<u8>),
    /// The answer to a question; `None` if there is none.
    Answer(u64, Option<Vec<u8>>),
    /// A keepalive.
    Alive,
}

impl Frame {
    /// Its bytes, prefixed by their length.
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
    /// The next frame. Cancel-safe.
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

/// Carries frames both ways until the connection ends, or nothing arrives for `silence` nanoseconds. If `silence` is
/// `None`, it waits as long as the connection lasts, and sends no keepalives.
pub async fn carry<E: Env>(
    env: &E,
    silence: Option<u64>,
    stream: E::Stream,
    frames: &mut UnboundedReceiver<Vec<u8>>,
    mut take: impl FnMut(Frame),
) {
    let (read, mut write) = tokio::io::split(stream);
    let mut coming = Frames { stream: read, buffer: Vec::new() };
    let now = env.now().mono;
    let after = |now: u64, parts: u64| silence.map_or(u64::MAX, |silence| now + silence / parts);
    let (mut alive_at, mut silent_at) = (after(now, 3), after(now, 1));
    loop {
        let wake = async {
            match silence {
                Some(_) => env.sleep_until(alive_at.min(silent_at)).await,
                None => std::future::pending().await,
            }
        };
        // Arrived frames go before timers: they may have arrived while the process was stopped.
        let going = tokio::select! {
            biased;
            frame = coming.next() => {
                let Ok(frame) = frame else { return };
                silent_at = after(env.now().mono, 1);
                take(frame);
                continue;
            }
            Some(bytes) = frames.recv() => bytes,
            () = wake => {
                if env.now().mono >= silent_at {
                    return;
                }
                Frame::Alive.encode()
            }
        };
        alive_at = after(env.now().mono, 3);
        if write.write_all(&going).await.is_err() {
            return;
        }
    }
}
