//! Redis behind Sentinel, with Jedis's client: a connection pool to the server that the sentinels name as the primary.
//!
//! Reference: redis/jedis 4.3, `JedisSentinelPool.java: initSentinels, initMaster, MasterListener`. At first the
//! sentinels are asked in turn. Then one listener per sentinel asks again, subscribes to `+switch-master`, and waits
//! for messages without a timeout; if its connection breaks, it starts over after 5 s. The primary's address comes from
//! nowhere else: after a broken connection the client reconnects to the same server, even if that is no longer the
//! primary, and never asks for its role. Requests to the primary go through the genuine `redis` crate.

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    redis::Connector,
    resp::{self, Reader, Reply as Answer},
    site::Endpoint,
};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    service::{
        redis::{Api, Reply, Request},
        redis_sentinel::{MASTER, SERVICE, SWITCHED},
    },
    types::SECOND,
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc::UnboundedReceiver,
};

/// The timeout for connecting to a sentinel, and for its answer (`Protocol.DEFAULT_TIMEOUT`), nanoseconds.
const TIMEOUT: u64 = 2 * SECOND;
/// The delay before a listener reconnects (`subscribeRetryWaitTimeMillis`), nanoseconds.
const AGAIN: u64 = 5 * SECOND;

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.service, outputs, move |input| deliver(input))),
    }
}

/// Carries out the requests that come from `outputs` on the primary that the sentinels name, and hands every answer to
/// `deliver`, until `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    sentinels: Vec<Endpoint>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let pool = Pool { env: env.clone(), sentinels: sentinels.into(), primary: Arc::default() };
    // Dropping a task stops it.
    let listen = |sentinel: &Endpoint| env.spawn(pool.clone().listen(sentinel.clone()));
    let _listeners: Vec<E::Task> = pool.sentinels.iter().map(listen).collect();
    Queue::new(env.clone(), &SERVICE, deliver).run(pool.clone(), outputs).await;
}

type Primary<E> = (Endpoint, Arc<Connector<E>>);

struct Pool<E: Env> {
    env: E,
    sentinels: Arc<[Endpoint]>,
    primary: Arc<Mutex<Option<Primary<E>>>>,
}

impl<E: Env> Clone for Pool<E> {
    fn clone(&self) -> Self {
        Pool { env: self.env.clone(), sentinels: self.sentinels.clone(), primary: self.primary.clone() }
    }
}

impl<E: Env> Backend for Pool<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let pool = self.clone();
        Box::pin(async move {
            let until = pool.env.now().mono + timeout;
            let primary = within(&pool.env, timeout, pool.primary()).await?;
            primary.carry_out(request, until.saturating_sub(pool.env.now().mono)).await
        })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

impl<E: Env> Pool<E> {
    /// The primary; asks the sentinels if none has named one yet.
    async fn primary(&self) -> Result<Arc<Connector<E>>, Failure> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        for sentinel in self.sentinels.iter() {
            if let Some(primary) = self.ask(sentinel).await {
                self.follow(primary);
                break;
            }
        }
        self.known().ok_or_else(|| Failure::Unknown("no sentinel says who the primary is".to_owned()))
    }

    fn known(&self) -> Option<Arc<Connector<E>>> {
        let primary = self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        primary.as_ref().map(|(_, connector)| connector.clone())
    }

    /// Switches to a new primary. Requests under way on the old one continue there.
    fn follow(&self, to: Endpoint) {
        let mut primary = self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        if primary.as_ref().is_none_or(|(known, _)| *known != to) {
            *primary = Some((to.clone(), Arc::new(Connector::new(self.env.clone(), to, false))));
        }
    }

    async fn connect(&self, sentinel: &Endpoint) -> Option<Talk<E>> {
        let stream = self.env.timeout(TIMEOUT, self.env.connect(sentinel)).await?.ok()?;
        Some(Talk { stream, reader: Reader::default() })
    }

    async fn ask(&self, sentinel: &Endpoint) -> Option<Endpoint> {
        let mut talk = self.connect(sentinel).await?;
        self.env.timeout(TIMEOUT, talk.primary()).await?
    }

    async fn listen(self, sentinel: Endpoint) {
        loop {
            // Reconnects however it ended.
            let _ = self.hear(&sentinel).await;
            self.env.sleep(AGAIN).await;
        }
    }

    async fn hear(&self, sentinel: &Endpoint) -> Option<()> {
        let mut talk = self.connect(sentinel).await?;
        if let Some(primary) = self.env.timeout(TIMEOUT, talk.primary()).await? {
            self.follow(primary);
        }
        talk.say(&["SUBSCRIBE", SWITCHED]).await?;
        loop {
            if let Some([kind, _, event]) = talk.hear().await?.texts()
                && kind == "message"
                && let [name, _, _, host, port] = event.split(' ').collect::<Vec<_>>()[..]
                && name == MASTER
                && let Ok(port) = port.parse()
            {
                self.follow(Endpoint { host: host.to_owned(), port });
            }
        }
    }
}

struct Talk<E: Env> {
    stream: E::Stream,
    reader: Reader,
}

impl<E: Env> Talk<E> {
    async fn say(&mut self, words: &[&str]) -> Option<()> {
        self.stream.write_all(&resp::command(words)).await.ok()
    }

    async fn hear(&mut self) -> Option<Answer> {
        let mut bytes = vec![0; 4096];
        loop {
            if let Some(answer) = self.reader.take().ok()? {
                return Some(answer);
            }
            let count = self.stream.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
            self.reader.feed(&bytes[..count]);
        }
    }

    /// The primary, according to this sentinel.
    async fn primary(&mut self) -> Option<Endpoint> {
        self.say(&["SENTINEL", "get-master-addr-by-name", MASTER]).await?;
        let answer = self.hear().await?;
        let [host, port] = answer.texts()?;
        Some(Endpoint { host: host.to_owned(), port: port.parse().ok()? })
    }
}
