//! Decodes commands, and serves the model on any [`Env`].
//!
//! Reference: redis/redis 7.0.15, `src/networking.c: processInputBuffer, processMultibulkBuffer, processInlineBuffer,
//! readQueryFromClient`, `src/sds.c: sdssplitargs`. Limits and error messages are Redis's. Not modelled: a NUL byte
//! ends a line for C's string functions, so that a real server waits for ever where this one answers with an error.

use super::model::{Model, Session};
use crate::service::grants;
use protocols::history::GrantEnd;
use protocols_clients::env::{Env, Listener};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The longest inline command, and the longest line with a count, in bytes.
pub const INLINE_MAX: usize = 64 * 1024;
/// The longest argument, in bytes (`proto-max-bulk-len`).
pub const BULK_MAX: i64 = 512 * 1024 * 1024;
/// The most bytes that a connection may send before a command is complete (`client-query-buffer-limit`).
pub const QUERY_MAX: usize = 1024 * 1024 * 1024;

/// An error in the input, after which the connection cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// Sent as an error reply before closing.
    Protocol(String),
    /// More than [`QUERY_MAX`]: closed without a reply.
    TooMuch,
}

/// Collects bytes and returns commands.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Everything before this index is parsed.
    at: usize,
    /// An incomplete RESP command.
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    args: Vec<Vec<u8>>,
    bytes: usize,
    missing: i64,
    /// The length of the next argument, once known.
    length: Option<usize>,
}

impl Parser {
    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next command, never empty; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The input is not RESP, or too long; the parser cannot continue.
    pub fn command(&mut self) -> Result<Option<Vec<Vec<u8>>>, Broken> {
        loop {
            let args = if self.begun.is_some() || self.rest().first() == Some(&b'*') {
                self.multibulk()?
            } else {
                self.inline()?
            };
            match args {
                // An empty line or `*0` is ignored.
                Some(args) if args.is_empty() => {}
                args => return Ok(args),
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// The next line without its end, and the start of the one after it.
    fn line(&self, too_big: &str) -> Result<Option<(&[u8], usize)>, Broken> {
        let rest = self.rest();
        match rest.iter().position(|byte| *byte == b'\r') {
            // The byte after CR is assumed to be LF.
            Some(end) if end + 1 < rest.len() => Ok(Some((&rest[..end], self.at + end + 2))),
            None if rest.len() > INLINE_MAX => Err(protocol_error(too_big)),
            _ => Ok(None),
        }
    }

    fn multibulk(&mut self) -> Result<Option<Vec<Vec<u8>>>, Broken> {
        if self.begun.is_none() {
            let Some((line, next)) = self.line("too big mbulk count string")? else { return Ok(None) };
            let count = super::call::integer(&line[1..]).ok().filter(|count| *count <= i32::MAX.into());
            let missing = count.ok_or_else(|| protocol_error("invalid multibulk length"))?;
            self.at = next;
            if missing <= 0 {
                return Ok(Some(Vec::new()));
            }
            // Limits the allocation: a large count without arguments must not reserve memory.
            let args = Vec::with_capacity(usize::try_from(missing).unwrap_or(0).min(16));
            self.begun = Some(Begun { args, bytes: 0, missing, length: None });
        }
        while self.argument()? {
            if let Some(done) = self.begun.take_if(|begun| begun.missing == 0) {
                return Ok(Some(done.args));
            }
        }
        let bytes = self.begun.as_ref().map_or(0, |begun| begun.bytes);
        if bytes + self.rest().len() > QUERY_MAX { Err(Broken::TooMuch) } else { Ok(None) }
    }

    /// Reads an argument of the incomplete command; `false` if more bytes are needed.
    fn argument(&mut self) -> Result<bool, Broken> {
        let Some(begun) = &self.begun else { return Ok(false) };
        let length = match begun.length {
            Some(length) => length,
            None => {
                let Some((line, next)) = self.line("too big bulk count string")? else { return Ok(false) };
                let Some(digits) = line.strip_prefix(b"$") else {
                    // Whatever byte is there, even a line's end.
                    let got = String::from_utf8_lossy(&self.rest()[..1]).into_owned();
                    return Err(protocol_error(&format!("expected '$', got '{got}'")));
                };
                let length = super::call::integer(digits).ok().filter(|length| (0..=BULK_MAX).contains(length));
                let length = length.and_then(|length| usize::try_from(length).ok());
                let length = length.ok_or_else(|| protocol_error("invalid bulk length"))?;
                self.at = next;
                length
            }
        };
        let argument = self.rest().get(..length + 2).map(|bytes| bytes[..length].to_vec());
        let Some(begun) = &mut self.begun else { return Ok(false) };
        match argument {
            Some(argument) => {
                begun.length = None;
                begun.missing -= 1;
                begun.bytes += argument.len();
                begun.args.push(argument);
                self.at += length + 2;
                Ok(true)
            }
            None => {
                begun.length = Some(length);
                Ok(false)
            }
        }
    }

    fn inline(&mut self) -> Result<Option<Vec<Vec<u8>>>, Broken> {
        let rest = self.rest();
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            let too_big = rest.len() > INLINE_MAX;
            return if too_big { Err(protocol_error("too big inline request")) } else { Ok(None) };
        };
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        let args = split(line).ok_or_else(|| protocol_error("unbalanced quotes in request"))?;
        self.at += end + 1;
        Ok(Some(args))
    }
}

fn protocol_error(what: &str) -> Broken {
    Broken::Protocol(format!("ERR Protocol error: {what}"))
}

/// Splits an inline command into words, separated by blanks: `"…"` with backslash escapes, `'…'` without. `None` if a
/// quote is not closed, or is closed within a word.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = &rest[rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len())..];
        if rest.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        loop {
            rest = match rest {
                [] => break,
                [b' ' | b'\t' | b'\n' | b'\r' | 0, after @ ..] => {
                    rest = after;
                    break;
                }
                [quote @ (b'"' | b'\''), after @ ..] => {
                    let after = quoted(*quote, after, &mut word)?;
                    if !after.first().is_none_or(blank) {
                        return None;
                    }
                    rest = after;
                    break;
                }
                [byte, after @ ..] => {
                    word.push(*byte);
                    after
                }
            };
        }
        words.push(word);
    }
}

/// Reads to the closing quote; returns the rest.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let hex = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
    loop {
        rest = match rest {
            [] => return None,
            [end, after @ ..] if *end == quote => return Some(after),
            [b'\\', b'\'', after @ ..] if quote == b'\'' => {
                word.push(b'\'');
                after
            }
            [b'\\', b'x', high, low, after @ ..] if quote == b'"' && hex(*high).is_some() && hex(*low).is_some() => {
                word.push((hex(*high)? << 4) | hex(*low)?);
                after
            }
            [b'\\', escaped, after @ ..] if quote == b'"' => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        };
    }
}

/// Serves `model` on `port` until dropped, which closes all connections.
///
/// # Errors
/// The port is taken, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, model: Arc<Mutex<Model>>) -> io::Result<()> {
    let mut listener = env.listen(port).await?;
    let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
    loop {
        let stream = listener.accept().await?;
        connections.retain(|(alive, _)| alive.strong_count() > 0);
        let alive = Arc::new(());
        let watch = Arc::downgrade(&alive);
        let connection = Connection { env: env.clone(), model: model.clone(), _alive: alive };
        connections.push((watch, env.spawn(connection.run(stream))));
    }
}

struct Connection<E: Env> {
    env: E,
    model: Arc<Mutex<Model>>,
    /// Dropped when the connection ends.
    _alive: Arc<()>,
}

impl<E: Env> Connection<E> {
    async fn run(self, mut stream: E::Stream) {
        let mut session = self.lock().open();
        let mut parser = Parser::default();
        let (mut bytes, mut out) = (vec![0; 4096], Vec::new());
        loop {
            let Ok(count @ 1..) = stream.read(&mut bytes).await else { return };
            parser.feed(&bytes[..count]);
            out.clear();
            let open = self.answer(&mut parser, &mut session, &mut out);
            if !out.is_empty() && (stream.write_all(&out).await.is_err() || stream.flush().await.is_err()) {
                return;
            }
            if !open {
                // Best effort: the client may already be gone.
                let _ = stream.shutdown().await;
                return;
            }
        }
    }

    /// Answers all complete commands; `false` if the connection must be closed.
    fn answer(&self, parser: &mut Parser, session: &mut Session, out: &mut Vec<u8>) -> bool {
        loop {
            match parser.command() {
                Ok(None) => return true,
                Ok(Some(args)) => {
                    let now_ms = self.env.now().wall / 1_000_000;
                    let reply = self.apply(session, now_ms, &args);
                    reply.encode(session.protocol(), out);
                }
                Err(Broken::TooMuch) => return false,
                Err(Broken::Protocol(why)) => {
                    super::resp::Resp::Error(why).encode(session.protocol(), out);
                    return false;
                }
            }
        }
    }

    /// Executes a command, and reports the holder of leadership in every group.
    fn apply(&self, session: &mut Session, now_ms: u64, args: &[Vec<u8>]) -> super::resp::Resp {
        let mut model = self.lock();
        if let Some(key) = grants::leader_key() {
            return apply_keyed(&mut model, &key, session, now_ms, args);
        }
        let peer = session.peer_after(args);
        let others = |group| model.holder_name(group, now_ms).zip(peer).is_some_and(|(holder, peer)| holder != peer);
        let others: Vec<bool> = (0..grants::groups()).map(others).collect();
        let reply = model.apply(session, now_ms, args);
        let flushed = flushes(args);
        for (group, others) in (0..).zip(others) {
            let why = match (flushed, others) {
                (true, _) => GrantEnd::Lost,
                (false, true) => GrantEnd::Taken,
                (false, false) => GrantEnd::Released,
            };
            grants::tell_of(group, model.holder(group, now_ms), why);
        }
        reply
    }

    fn lock(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn flushes(args: &[Vec<u8>]) -> bool {
    args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"flushall"))
}

/// Executes a command, and reports the holder of the key by which programs elect.
fn apply_keyed(
    model: &mut Model,
    key: &str,
    session: &mut Session,
    now_ms: u64,
    args: &[Vec<u8>],
) -> super::resp::Resp {
    // What a restart has lost is not released by whoever asks next.
    grants::tell(model.holder_of(key, now_ms), GrantEnd::Lost);
    let reply = model.apply(session, now_ms, args);
    let holder = model.holder_of(key, now_ms);
    let why = match (flushes(args), holder.is_some()) {
        (true, _) => GrantEnd::Lost,
        (false, true) => GrantEnd::Taken,
        (false, false) => GrantEnd::Released,
    };
    grants::tell(holder, why);
    reply
}
