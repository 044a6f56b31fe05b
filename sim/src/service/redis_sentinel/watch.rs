//! Serves a sentinel on any [`Env`]: its timer, its own connections, and those of its clients.

use super::{
    sentinel::{LinkId, Output, Sentinel},
    serve::wall_ms,
};
use crate::service::redis::{
    resp::{Protocol, Resp},
    wire::{Broken, Parser},
};
use protocols::types::MILLISECOND;
use protocols_clients::{
    env::{Env, Listener},
    resp::{self, Reader},
    site::Endpoint,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// A subscriber's channels, and the queue of its messages.
type Subscriber = (BTreeSet<String>, UnboundedSender<Vec<u8>>);

/// The queue of a link's commands, and the link's task.
type Link<E> = (UnboundedSender<Vec<u8>>, <E as Env>::Task);

/// A sentinel with its links and subscribers.
struct Inner<E: Env> {
    sentinel: Arc<Mutex<Sentinel>>,
    links: Mutex<BTreeMap<LinkId, Link<E>>>,
    subscribers: Mutex<BTreeMap<u64, Subscriber>>,
}

/// Serves a sentinel until dropped.
///
/// # Errors
/// The port is taken, or the socket closed.
pub async fn serve<E: Env>(sentinel: Arc<Mutex<Sentinel>>, env: E, port: u16) -> io::Result<()> {
    let watch =
        Watch { env, inner: Arc::new(Inner { sentinel, links: Mutex::default(), subscribers: Mutex::default() }) };
    watch.work(|sentinel, now| sentinel.start(now));
    let served = watch.accept(port).await;
    // Breaks the cycle: tasks hold the watch, which holds tasks.
    lock(&watch.inner.links).clear();
    served
}

struct Watch<E: Env> {
    env: E,
    inner: Arc<Inner<E>>,
}

impl<E: Env> Clone for Watch<E> {
    fn clone(&self) -> Self {
        Watch { env: self.env.clone(), inner: self.inner.clone() }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Env> Watch<E> {
    async fn accept(&self, port: u16) -> io::Result<()> {
        let _ticks = self.env.spawn(self.clone().ticks());
        let mut listener = self.env.listen(port).await?;
        let mut connections: Vec<(Weak<()>, E::Task)> = Vec::new();
        for number in 1.. {
            let stream = listener.accept().await?;
            connections.retain(|(alive, _)| alive.strong_count() > 0);
            let alive = Arc::new(());
            let handle = Arc::downgrade(&alive);
            connections.push((handle, self.env.spawn(self.clone().connection(stream, number, alive))));
        }
        Ok(())
    }

    async fn ticks(self) {
        loop {
            let wait_ms = self.work(|sentinel, now| sentinel.tick(now));
            self.env.sleep(wait_ms * MILLISECOND).await;
        }
    }

    /// Runs `work` on the sentinel, and carries out its outputs.
    fn work<T>(&self, work: impl FnOnce(&mut Sentinel, i64) -> T) -> T {
        let now = wall_ms(&self.env);
        let (done, outputs) = {
            let mut sentinel = lock(&self.inner.sentinel);
            let done = work(&mut sentinel, now);
            (done, sentinel.take())
        };
        outputs.into_iter().for_each(|output| self.perform(output));
        done
    }

    fn perform(&self, output: Output) {
        match output {
            Output::Open { link, to } => {
                let (sender, receiver) = unbounded_channel();
                let to = Endpoint { host: to.host, port: to.port };
                let task = self.env.spawn(self.clone().link(link, to, receiver));
                lock(&self.inner.links).insert(link, (sender, task));
            }
            // Dropped outside of the lock, since that drops the connection.
            Output::Close(link) => drop(lock(&self.inner.links).remove(&link)),
            Output::Send { link, words } => {
                if let Some((sender, _)) = lock(&self.inner.links).get(&link) {
                    let _ = sender.send(resp::command(&words));
                }
            }
            Output::Publish { channel, message } => {
                let text = Resp::Array(vec![Resp::bulk("message"), Resp::bulk(&channel), Resp::bulk(&message)]);
                let mut bytes = Vec::new();
                text.encode(Protocol::Resp2, &mut bytes);
                for (channels, sender) in lock(&self.inner.subscribers).values() {
                    if channels.contains(&channel) {
                        let _ = sender.send(bytes.clone());
                    }
                }
            }
        }
    }

    /// A connection to a server or another sentinel.
    async fn link(self, link: LinkId, to: Endpoint, commands: UnboundedReceiver<Vec<u8>>) {
        // Ignores how it ended.
        let _ = self.talk(link, &to, commands).await;
        self.work(|sentinel, now| sentinel.closed(now, link));
    }

    async fn talk(&self, link: LinkId, to: &Endpoint, mut commands: UnboundedReceiver<Vec<u8>>) -> Option<()> {
        let mut stream = self.env.connect(to).await.ok()?;
        let (mut reader, mut bytes) = (Reader::default(), vec![0; 4096]);
        loop {
            tokio::select! {
                biased;
                read = stream.read(&mut bytes) => {
                    let count = read.ok().filter(|count| *count > 0)?;
                    reader.feed(&bytes[..count]);
                    while let Some(reply) = reader.take().ok()? {
                        self.work(|sentinel, now| sentinel.heard(now, link, &reply));
                    }
                }
                command = commands.recv() => stream.write_all(&command?).await.ok()?,
            }
        }
    }

    /// Serves a connection of a client or another sentinel.
    async fn connection(self, mut stream: E::Stream, number: u64, _alive: Arc<()>) {
        let (sender, mut published) = unbounded_channel();
        lock(&self.inner.subscribers).insert(number, (BTreeSet::new(), sender));
        let _gone = Gone(self.clone(), number);
        let (mut parser, mut bytes) = (Parser::default(), vec![0; 4096]);
        loop {
            let mut out = Vec::new();
            tokio::select! {
                biased;
                Some(message) = published.recv() => out = message,
                read = stream.read(&mut bytes) => {
                    let Ok(count @ 1..) = read else { return };
                    parser.feed(&bytes[..count]);
                    loop {
                        match parser.command() {
                            Ok(Some(args)) => self.answer(number, &args, &mut out),
                            Ok(None) => break,
                            Err(Broken::TooMuch) => return,
                            Err(Broken::Protocol(why)) => {
                                let _ = stream.write_all(format!("-{why}\r\n").as_bytes()).await;
                                return;
                            }
                        }
                    }
                }
            }
            if stream.write_all(&out).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, number: u64, args: &[Vec<u8>], out: &mut Vec<u8>) {
        let name = args.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        if matches!(name.as_slice(), b"subscribe" | b"unsubscribe") {
            let subscribes = name == b"subscribe";
            for channel in &args[1..] {
                let mut subscribers = lock(&self.inner.subscribers);
                let Some((channels, _)) = subscribers.get_mut(&number) else { return };
                let text = String::from_utf8_lossy(channel).into_owned();
                if subscribes {
                    channels.insert(text)
                } else {
                    channels.remove(&text)
                };
                let count = Resp::Integer(channels.len() as i64);
                Resp::Array(vec![Resp::bulk(&name), Resp::bulk(channel), count]).encode(Protocol::Resp2, out);
            }
            return;
        }
        let reply = self.work(|sentinel, now| sentinel.answer(now, args));
        let unknown = || {
            let quoted: String = args.iter().skip(1).map(|a| format!("'{}' ", String::from_utf8_lossy(a))).collect();
            let name = String::from_utf8_lossy(&args[0]).into_owned();
            Resp::Error(format!("ERR unknown command '{name}', with args beginning with: {quoted}"))
        };
        reply.unwrap_or_else(unknown).encode(Protocol::Resp2, out);
    }
}

/// Removes a subscriber when its connection ends.
struct Gone<E: Env>(Watch<E>, u64);

impl<E: Env> Drop for Gone<E> {
    fn drop(&mut self) {
        lock(&self.0.inner.subscribers).remove(&self.1);
    }
}
