//! A node's link to the store: messages over one connection, which is replaced whenever it breaks, falls silent or is
//! given up.
//!
//! Messages sent without a connection are lost, as are those under way when it breaks. Once there is a new connection
//! the core is told, and resends under the same request ids.

use super::wire::{self, LINE_MAX, Reply, Request};
use crate::{directory::Directory, store::token::TokenKey};
use protocols::{
    message::Message,
    types::{NodeId, Resource},
};
use protocols_clients::site::Endpoint;
use rustls_pki_types::ServerName;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter},
    net::TcpStream,
    sync::{Notify, mpsc},
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_util::{
    bytes::BytesMut,
    codec::{Decoder, LinesCodec},
};

/// How many messages may wait to be written; more are lost.
const QUEUE: usize = 1024;
/// The pause after the first attempt to connect; doubled up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A link to the store. Dropping it ends it.
#[derive(Debug)]
pub struct Link {
    queue: mpsc::Sender<Message>,
    shared: Arc<Status>,
    given_up: Arc<Notify>,
    task: AbortHandle,
}

#[derive(Debug)]
pub enum Event {
    /// The store's answer.
    Answer(Message),
    /// A connection has replaced an earlier one, whose pending answers will not arrive.
    Renewed,
}

#[derive(Debug, Default)]
struct Status {
    connected: AtomicBool,
    connections: AtomicU64,
    lost: AtomicU64,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    /// Starts to connect, and hands every answer of the store to `deliver`. Must be called on a tokio runtime.
    pub fn start(settings: LinkSettings, mut deliver: impl FnMut(Message) + Send + 'static) -> Self {
        Link::watched(settings, move |event| {
            if let Event::Answer(message) = event {
                deliver(message);
            }
        })
    }

    /// Starts to connect, and hands every event to `deliver`. Must be called on a tokio runtime.
    pub fn watched(settings: LinkSettings, deliver: impl FnMut(Event) + Send + 'static) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE);
        let shared = Arc::new(Status::default());
        let given_up = Arc::new(Notify::new());
        let running = run(settings, shared.clone(), given_up.clone(), messages, deliver);
        Link { queue, shared, given_up, task: tokio::spawn(running).abort_handle() }
    }

    /// Drops the connection, if there is one, and makes another.
    pub fn redial(&self) {
        if self.connected() {
            // Only an established connection: the next one has nothing pending yet.
            self.given_up.notify_waiters();
        }
    }

    /// Sends a seal or a write; anything else is not for a store and is lost.
    pub fn send(&self, message: Message) {
        if !self.connected() || self.queue.try_send(message).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn connected(&self) -> bool {
        self.shared.connected.load(Ordering::Relaxed)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// How many messages were lost before they were written.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

async fn run(
    settings: LinkSettings,
    status: Arc<Status>,
    given_up: Arc<Notify>,
    mut messages: mpsc::Receiver<Message>,
    mut deliver: impl FnMut(Event) + Send,
) {
    let codec = Codec { settings: &settings };
    let (mut pause, mut unreachable) = (PAUSE_MIN, false);
    let store = format!("{}:{}", settings.store.host, settings.store.port);
    loop {
        match connect(&settings).await {
            Err(why) if !std::mem::replace(&mut unreachable, true) => {
                tracing::warn!(store, "the store cannot be reached: {why}");
            }
            Err(why) => tracing::debug!(store, "the store cannot be reached: {why}"),
            Ok(stream) => {
                if std::mem::take(&mut unreachable) {
                    tracing::info!(store, "the store can be reached again");
                }
                // Messages queued for the previous connection are outdated.
                while messages.try_recv().is_ok() {
                    status.lost.fetch_add(1, Ordering::Relaxed);
                }
                let before = status.connections.fetch_add(1, Ordering::Relaxed);
                status.connected.store(true, Ordering::Relaxed);
                if before > 0 {
                    deliver(Event::Renewed);
                }
                let mut useful = false;
                let conversation = converse(stream, &codec, &mut messages, &mut deliver, &mut useful);
                let why = tokio::select! {
                    biased;
                    why = conversation => why,
                    () = given_up.notified() => Some("it owes an answer".to_owned()),
                };
                status.connected.store(false, Ordering::Relaxed);
                if useful {
                    pause = PAUSE_MIN;
                }
                match why {
                    None => return,
                    Some(why) => tracing::warn!(store, "the connection to the store is given up: {why}"),
                }
            }
        }
        // Even after a working connection: a store that accepts and hangs up must not cause a busy loop.
        sleep(pause).await;
        pause = PAUSE_MAX.min(pause * 2);
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect(settings: &LinkSettings) -> Result<Box<dyn Stream>, String> {
    let connecting = async {
        let stream = TcpStream::connect((settings.store.host.as_str(), settings.store.port)).await?;
        stream.set_nodelay(true)?;
        Ok::<Box<dyn Stream>, std::io::Error>(match &settings.tls {
            None => Box::new(stream),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), stream).await?),
        })
    };
    match timeout(settings.connect, connecting).await {
        Ok(connected) => connected.map_err(|e| e.to_string()),
        Err(_) => Err("it took too long".to_owned()),
    }
}

/// Writes messages and reads answers until the connection fails, and returns the reason; `None` when the link has
/// ended.
async fn converse(
    stream: Box<dyn Stream>,
    codec: &Codec<'_>,
    messages: &mut mpsc::Receiver<Message>,
    deliver: &mut impl FnMut(Event),
    useful: &mut bool,
) -> Option<String> {
    let LinkSettings { silence, probe, .. } = *codec.settings;
    let (mut read, write) = tokio::io::split(stream);
    let (mut lines, mut buffer) = (LinesCodec::new_with_max_length(LINE_MAX), BytesMut::new());
    let (mut outstanding, mut warned) = (0u64, false);
    // When something last arrived, or the first outstanding request was sent; and when to ask for a state if nothing
    // else is sent: at once in the beginning, because a store does not wait long for a first request.
    let (mut heard, mut probed_at) = (Instant::now(), Instant::now());
    let (mut write, mut queued) = (BufWriter::with_capacity(16 << 10, write), Vec::with_capacity(64));
    loop {
        let deadline = if outstanding > 0 { heard + silence } else { probed_at };
        buffer.reserve(LINE_MAX);
        tokio::select! {
            biased;
            received = read.read_buf(&mut buffer) => {
                match received {
                    Ok(0) => return Some("the store closed it".to_owned()),
                    Ok(_) => {}
                    Err(e) => return Some(e.to_string()),
                }
                loop {
                    let line = match lines.decode(&mut buffer) {
                        Ok(Some(line)) => line,
                        Ok(None) => break,
                        Err(e) => return Some(format!("the answer is not a store's: {e}")),
                    };
                    heard = Instant::now();
                    outstanding = outstanding.saturating_sub(1);
                    match answered(&line, codec, &mut warned) {
                        Ok(None) => {}
                        Ok(Some(message)) => {
                            *useful = true;
                            message.map(Event::Answer).map(&mut *deliver);
                        }
                        Err(why) => return Some(why),
                    }
                }
            }
            count = messages.recv_many(&mut queued, 64) => {
                if count == 0 {
                    return None;
                }
                let (text, asked) = codec.lines(queued.drain(..));
                if outstanding == 0 && asked > 0 {
                    heard = Instant::now();
                }
                outstanding += asked;
                probed_at = Instant::now() + probe;
                if let Some(why) = say(&mut write, &text, silence).await {
                    return Some(why);
                }
            }
            () = tokio::time::sleep_until(deadline) => {
                if outstanding > 0 {
                    return Some("the store is silent".to_owned());
                }
                (outstanding, heard, probed_at) = (1, Instant::now(), Instant::now() + probe);
                if let Some(why) = say(&mut write, &question(), silence).await {
                    return Some(why);
                }
            }
        }
    }
}

/// What a link asks when it has nothing else to send.
fn question() -> String {
    wire::line(&Request::State(wire::StateOf { resource: Resource::SEQUENCE.into() })) + "\n"
}

/// Decodes a line of the store: `None` for a refusal, otherwise the message, if the line carries one.
fn answered(line: &str, codec: &Codec, warned: &mut bool) -> Result<Option<Option<Message>>, String> {
    match serde_json::from_str(line) {
        Ok(Reply::Refused { why }) => {
            // Cores keep retrying; one warning per connection is enough.
            if !std::mem::replace(warned, true) {
                tracing::warn!("the store refuses: {why}");
            }
            Ok(None)
        }
        Ok(reply) => Ok(Some(codec.message(reply))),
        Err(_) => Err("the answer is not a store's".to_owned()),
    }
}

/// Writes `text` within `most`; returns the reason on failure.
async fn say(write: &mut (impl AsyncWrite + Unpin), text: &str, most: Duration) -> Option<String> {
    let writing = async {
        write.write_all(text.as_bytes()).await?;
        write.flush().await
    };
    match timeout(most, writing).await {
        Ok(Ok(())) => None,
        Ok(Err(e)) => Some(e.to_string()),
        Err(_) => Some("the store accepts nothing".to_owned()),
    }
}

/// Translates between messages, which have numbers, and the wire, which has names.
struct Codec<'s> {
    settings: &'s LinkSettings,
}

impl Codec<'_> {
    /// The lines for these messages, and their number.
    fn lines(&self, messages: impl Iterator<Item = Message>) -> (String, u64) {
        let (mut text, mut count) = (String::new(), 0);
        for request in messages.filter_map(|message| self.request(message)) {
            text += &wire::line(&request);
            text.push('\n');
            count += 1;
        }
        (text, count)
    }

    /// `None` if the message is not for a store, or its client has been forgotten.
    fn request(&self, message: Message) -> Option<Request> {
        let (node, mac) = (self.settings.node.clone(), String::new());
        let request = match message {
            Message::Seal { resource, generation, token } => {
                Request::Seal(wire::Seal { resource: resource.into(), node, generation, token, payload: true, mac })
            }
            Message::Write(write) => {
                let client = self.settings.directory.name(write.client)?;
                Request::Write(wire::Write {
                    resource: write.resource.into(),
                    node,
                    generation: write.generation,
                    token: write.token,
                    seq: write.seq,
                    read_version: write.read_version,
                    request: format!("{client}:{}", write.number),
                    operation: write.operation,
                    payload: write.payload,
                    mac,
                })
            }
            _ => return None,
        };
        Some(match &self.settings.key {
            Some(key) => key.sign(request),
            None => request,
        })
    }

    /// `None` if the reply carries no message, as the answer to a probe does.
    fn message(&self, reply: Reply) -> Option<Message> {
        match reply {
            Reply::Sealed(wire::Sealed { resource, node, generation, token, verdict, seq, version, payload }) => {
                let resource = resource.into();
                let sealed = match verdict {
                    wire::Verdict::Fenced { highest } => Message::SealRefused { resource, generation, token, highest },
                    _ => Message::Sealed { resource, generation, token, seq, version, payload },
                };
                (node == self.settings.node).then_some(sealed)
            }
            Reply::Written(wire::Written { resource, generation, seq, request, verdict }) => {
                let (client, number) = wire::request_id(&request)?;
                let client: NodeId = self.settings.directory.number(client);
                let request = protocols::types::RequestId { client, number };
                let (resource, verdict) = (resource.into(), verdict.into());
                Some(Message::Written { resource, generation, seq, request, verdict })
            }
            Reply::State(_) | Reply::Refused { .. } => None,
        }
    }
}

// How a node reaches the store.

#[derive(Clone)]
pub struct LinkSettings {
    /// Where the store listens.
    pub store: Endpoint,
    /// The node's own name, to which its requests are bound.
    pub node: String,
    /// Names of processes and clients; shared with the node's other links.
    pub directory: Arc<Directory>,
    /// Signs requests; without it the store must run insecure.
    pub key: Option<TokenKey>,
    /// TLS, and the name that the store's certificate must have.
    pub tls: Option<(TlsConnector, ServerName<'static>)>,
    /// The timeout of connecting.
    pub connect: Duration,
    /// A connection with a request outstanding is given up after this long without input: a partition is silence.
    pub silence: Duration,
    /// After this long without sending, the link asks for a state, to detect a dead connection before it is needed.
    pub probe: Duration,
}

impl LinkSettings {
    /// The default times: 1 s to connect, 2 s of silence, a probe every 10 s.
    pub fn new(store: Endpoint, node: String, directory: Arc<Directory>, key: Option<TokenKey>) -> Self {
        let (connect, silence, probe) = (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10));
        LinkSettings { store, node, directory, key, tls: None, connect, silence, probe }
    }
}
