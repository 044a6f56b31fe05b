//! Serves a replicated server on any [`Env`]: its connections, its 100 ms timer, and its own connection to its primary.
//!
//! Reference: redis/redis 7.0.15, `src/replication.c: connectWithMaster, syncWithMaster,
//! replicationHandleMasterDisconnection, replicationCron`. A replica that lost its primary connects again at once, and
//! then every second.

use super::{
    replica::{Primary, file},
    server::{ClientId, Server},
};
use crate::service::{
    grants,
    redis::wire::{Broken, Parser},
};
use protocols::types::{MILLISECOND, NodeId, SECOND};
use protocols_clients::{
    env::{Env, Listener},
    resp::{self, Reader, Reply},
    site::Endpoint,
};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::Notify,
};

/// The interval of the timer, in nanoseconds.
const TICK: u64 = 100 * MILLISECOND;
/// After this much silence the other end counts as gone (`repl-timeout`), in nanoseconds.
const TIMEOUT: u64 = 60 * SECOND;

#[derive(Clone)]
pub struct Shared {
    server: Arc<Mutex<Server>>,
    /// Notified when it is to follow another primary, or none.
    follows: Arc<Notify>,
    /// The process in the world that runs this server, and whether the history has it as the primary.
    told: Arc<Mutex<Option<(NodeId, bool)>>>,
}

impl Shared {
    pub fn new(server: Server) -> Self {
        Shared { server: Arc::new(Mutex::new(server)), follows: Arc::default(), told: Arc::default() }
    }

    /// Sets the process that runs this server. From now on, the history records when it becomes the primary.
    pub(super) fn starts_as(&self, node: NodeId) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some((node, false));
    }

    fn tell(&self) {
        let leads = self.lock().is_primary();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((node, told)) = told.as_mut().filter(|(_, told)| *told != leads) {
            *told = leads;
            grants::tell_member(*node, leads);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the server, and passes the results on.
    fn work<T>(&self, work: impl FnOnce(&mut Server) -> T) -> T {
        let (done, follows) = {
            let mut server = self.lock();
            let before = server.follows;
            let done = work(&mut server);
            server.wake_all();
            (done, server.follows != before)
        };
        if follows {
            self.tell();
            self.follows.notify_waiters();
        }
        done
    }

    /// Serves until dropped, which closes all connections.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        let now_ms = wall_ms(&env);
        self.lock().restart(now_ms);
        self.tell();
        let _ticks = env.spawn(self.clone().ticks(env.clone()));
        let _replica = env.spawn(self.clone().follow(env.clone()));
        let mut listener = env.listen(port).await?;
        let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
        loop {
            let stream = listener.accept().await?;
            connections.retain(|(alive, _)| alive.strong_count() > 0);
            let alive = Arc::new(());
            let watch = Arc::downgrade(&alive);
            connections.push((watch, env.spawn(self.clone().connection(env.clone(), stream, alive))));
        }
    }

    async fn ticks<E: Env>(self, env: E) {
        loop {
            env.sleep(TICK).await;
            let now_ms = wall_ms(&env);
            self.work(|server| server.tick(now_ms));
        }
    }

    async fn connection<E: Env>(self, env: E, mut stream: E::Stream, _alive: Arc<()>) {
        let id = self.lock().open();
        let wake = self.lock().wake(id);
        let _closes = Closes(self.clone(), id);
        let (mut parser, mut bytes) = (Parser::default(), vec![0; 4096]);
        loop {
            let (out, closing) = self.lock().take(id);
            if !out.is_empty() && (stream.write_all(&out).await.is_err() || stream.flush().await.is_err()) {
                return;
            }
            if closing {
                let _ = stream.shutdown().await;
                return;
            }
            tokio::select! {
                biased;
                read = stream.read(&mut bytes) => {
                    let Ok(count @ 1..) = read else { return };
                    parser.feed(&bytes[..count]);
                    loop {
                        match parser.command() {
                            Ok(Some(args)) => {
                                let now_ms = wall_ms(&env);
                                self.work(|server| server.command(id, now_ms, &args));
                            }
                            Ok(None) => break,
                            Err(Broken::TooMuch) => return,
                            Err(Broken::Protocol(why)) => {
                                let _ = stream.write_all(format!("-{why}\r\n").as_bytes()).await;
                                return;
                            }
                        }
                    }
                }
                () = wake.notified() => {}
            }
        }
    }

    /// Follows the configured primary.
    async fn follow<E: Env>(self, env: E) {
        let mut failed = 0;
        loop {
            let follows = self.follows.notified();
            tokio::pin!(follows);
            follows.as_mut().enable();
            let (primary, number) = {
                let server = self.lock();
                (server.primary.as_ref().map(|primary| primary.address.clone()), server.follows)
            };
            let Some(address) = primary else {
                failed = 0;
                follows.await;
                continue;
            };
            if failed == number {
                env.sleep(SECOND).await;
            }
            let to = Endpoint { host: address.host, port: address.port };
            tokio::select! {
                biased;
                () = &mut follows => {}
                // Tries again, however it ended.
                _ = self.replicate(&env, &to) => failed = number,
            }
            let now_ms = wall_ms(&env);
            let mut server = self.lock();
            if let Some(primary) = server.primary.as_mut().filter(|primary| primary.up) {
                (primary.up, primary.down_since_ms) = (false, Some(now_ms));
                failed = 0;
            }
        }
    }

    /// Takes over the primary's stream, and continues until it ends.
    async fn replicate<E: Env>(&self, env: &E, to: &Endpoint) -> Option<()> {
        let mut stream = env.timeout(TIMEOUT, env.connect(to)).await?.ok()?;
        let (mut reader, own) = (Reader::default(), self.lock().address.clone());
        let port = own.port.to_string();
        let hello: [&[&str]; 4] = [
            &["PING"],
            &["REPLCONF", "listening-port", &port],
            &["REPLCONF", "ip-address", &own.host],
            &["REPLCONF", "capa", "eof", "capa", "psync2"],
        ];
        for words in hello {
            ask(env, &mut stream, &mut reader, words).await?;
        }
        let (id, offset) = {
            let server = self.lock();
            let known = server.stream.offset > 0 || server.follows > 1;
            if known { (server.stream.id.clone(), server.stream.offset + 1) } else { ("?".to_owned(), -1) }
        };
        stream.write_all(&resp::command(&["PSYNC", &id, &offset.to_string()])).await.ok()?;
        let answer = line(env, &mut stream, &mut reader).await?;
        let words: Vec<&str> = answer.split(' ').collect();
        match words[..] {
            ["+CONTINUE", id] => self.work(|server| server.goes_on(id)),
            ["+FULLRESYNC", id, offset] => {
                let kind = line(env, &mut stream, &mut reader).await?;
                let file = match kind.strip_prefix("$EOF:") {
                    Some(end) => more(env, &mut stream, &mut reader, |reader| reader.until(end.as_bytes())).await?,
                    None => {
                        let count = kind.strip_prefix('$')?.parse().ok()?;
                        more(env, &mut stream, &mut reader, |reader| reader.exactly(count)).await?
                    }
                };
                let offset = offset.parse().ok()?;
                self.work(|server| server.starts_over(id, offset, &file))?;
            }
            _ => return None,
        }
        self.go_on(env, stream, reader.rest()).await
    }

    /// Continues the stream once it runs.
    async fn go_on<E: Env>(&self, env: &E, mut stream: E::Stream, first: Vec<u8>) -> Option<()> {
        let (mut parser, mut bytes) = (Parser::default(), vec![0; 4096]);
        parser.feed(&first);
        let (mut heard, mut acknowledge) = (env.now().mono, env.now().mono);
        loop {
            let now_ms = wall_ms(env);
            while let Some(args) = parser.command().ok()? {
                self.work(|server| server.apply_from_primary(now_ms, &args));
            }
            self.lock().heard(now_ms);
            tokio::select! {
                biased;
                read = stream.read(&mut bytes) => {
                    let count = read.ok().filter(|count| *count > 0)?;
                    parser.feed(&bytes[..count]);
                    heard = env.now().mono;
                }
                () = env.sleep_until(acknowledge) => {
                    if env.now().mono.saturating_sub(heard) > TIMEOUT {
                        return None;
                    }
                    let offset = self.lock().stream.offset.to_string();
                    stream.write_all(&resp::command(&["REPLCONF", "ACK", &offset])).await.ok()?;
                    acknowledge = env.now().mono + SECOND;
                }
            }
        }
    }
}

impl Server {
    /// The primary continues from this server's offset.
    fn goes_on(&mut self, id: &str) {
        if self.stream.id != id {
            self.stream.shift(id.to_owned());
            self.disconnect_replicas();
        }
        if let Some(Primary { up, down_since_ms, .. }) = &mut self.primary {
            (*up, *down_since_ms) = (true, None);
        }
    }

    /// The primary has sent a full copy. Anything that only this server had is lost.
    fn starts_over(&mut self, id: &str, offset: i64, bytes: &[u8]) -> Option<()> {
        file::load(&mut self.model, bytes)?;
        self.stream.restart(id.to_owned(), offset);
        self.disconnect_replicas();
        self.goes_on(id);
        Some(())
    }

    fn heard(&mut self, now_ms: i64) {
        if let Some(primary) = &mut self.primary {
            primary.heard_at_ms = now_ms;
        }
    }
}

/// Reports the end of its connection to the server.
struct Closes(Shared, ClientId);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.lock().close(self.1);
    }
}

/// The wall clock, in milliseconds.
pub(super) fn wall_ms<E: Env>(env: &E) -> i64 {
    (env.now().wall / MILLISECOND) as i64
}

/// Reads until `take` returns a value.
async fn more<E: Env, T: Send>(
    env: &E,
    stream: &mut (impl AsyncRead + Unpin + Send),
    reader: &mut Reader,
    take: impl Fn(&mut Reader) -> Option<T> + Send,
) -> Option<T> {
    let mut bytes = vec![0; 4096];
    loop {
        if let Some(taken) = take(reader) {
            return Some(taken);
        }
        let count = env.timeout(TIMEOUT, stream.read(&mut bytes)).await?.ok().filter(|count| *count > 0)?;
        reader.feed(&bytes[..count]);
    }
}

/// The next non-empty line: a busy primary sends empty ones as keepalives.
async fn line<E: Env>(env: &E, stream: &mut (impl AsyncRead + Unpin + Send), reader: &mut Reader) -> Option<String> {
    loop {
        let line = more(env, stream, reader, |reader| reader.line()).await?;
        let line = line.trim_start_matches('\n');
        if !line.is_empty() {
            return Some(line.to_owned());
        }
    }
}

async fn ask<E: Env>(
    env: &E,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin + Send),
    reader: &mut Reader,
    words: &[&str],
) -> Option<Reply> {
    stream.write_all(&resp::command(words)).await.ok()?;
    more(env, stream, reader, |reader| reader.take().ok().flatten()).await
}
