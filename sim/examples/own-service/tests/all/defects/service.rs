//! A small service on a lease in Redis, with one defect at a time.

use redis::aio::MultiplexedConnection;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

const LEASE: Duration = Duration::from_secs(3);
const RENEW: Duration = Duration::from_millis(700);
const RETRY: Duration = Duration::from_millis(500);
const WORK: Duration = Duration::from_millis(200);
/// For one request. An answer that does not come by then never matters.
const REQUEST: Duration = Duration::from_millis(600);
/// A write is on its way for less than this, and clocks differ by less in a lease.
const MARGIN: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    None,
    /// Leads until Redis says otherwise, however long that takes.
    NoDeadline,
    /// The deadline is on the wall clock.
    WallClock,
    /// A renewal waits for its answer for ever, and nothing else ends the work.
    NoTimeout,
    /// A renewal that fails is taken for one that succeeded.
    ErrorIgnored,
    /// What the renewal's answer says is not looked at, nor the deadline between renewals.
    AnswerIgnored,
    /// The work goes on in the background when leadership is lost.
    NotJoined,
    /// The lease is looked at once for a batch of writes.
    CheckedOncePerBatch,
    /// Work blocks the runtime's only thread for longer than the lease lasts.
    BlocksTheRuntime,
    /// Without Redis, it leads: better than nobody.
    FailsOpen,
    /// The lease is counted from the answer, and the deadline is not looked at between renewals.
    BeliefFromAnswer,
    /// Who finds a lease of its own that it had given up takes it for a new one.
    TakesOldLease,
    /// The key is set although there is one.
    Overwrites,
    /// The key never expires.
    NoExpiry,
    /// The lease's length in the wrong unit.
    WrongUnit,
    /// All nodes have one name.
    OneNameForAll,
    /// The first token is used for ever.
    TokenCached,
    /// Each write takes a new token.
    TokenAtWrite,
    /// The token is the node's wall clock.
    TokenOfWallClock,
    /// The store is shown no token. With a store that compares none, that is no defect.
    ShowsNoToken,
    /// Followers write, too.
    FollowersWrite,
    /// Who has led once never stands again.
    LeadsOnce,
    /// The old work is not ended when the node is elected again.
    OldWorkGoesOn,
}

struct Service {
    defect: Defect,
    name: String,
    cached: AtomicU64,
}

pub fn run(defect: Defect) {
    let name = std::env::var("HOSTNAME").expect("HOSTNAME is set");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(Arc::new(Service { defect, name, cached: AtomicU64::new(0) }).serve());
}

impl Service {
    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }

    fn holder(&self) -> &str {
        if self.has(Defect::OneNameForAll) { "billing" } else { &self.name }
    }

    async fn serve(self: Arc<Self>) {
        loop {
            let connected = timeout(REQUEST, connect()).await;
            let led = match connected {
                Ok(Ok(mut redis)) => self.stand(&mut redis).await,
                _ if self.has(Defect::FailsOpen) => {
                    // Its number is of no use, so it takes a high one.
                    self.lead(None, 1_000_000, Instant::now()).await;
                    true
                }
                _ => false,
            };
            if led && self.has(Defect::LeadsOnce) {
                std::future::pending::<()>().await;
            }
            if self.has(Defect::FollowersWrite) {
                let _ = put(1).await;
            }
            sleep(RETRY).await;
        }
    }

    /// Leads if the lease is free; whether it did.
    async fn stand(self: &Arc<Self>, redis: &mut MultiplexedConnection) -> bool {
        let asked = Instant::now();
        let Ok(Ok(Some(token))) = timeout(REQUEST, self.acquire(redis)).await else { return false };
        self.lead(Some(redis), token, asked).await;
        true
    }

    async fn acquire(&self, redis: &mut MultiplexedConnection) -> redis::RedisResult<Option<u64>> {
        let mut set = redis::cmd("SET");
        set.arg("leader").arg(self.holder());
        if !self.has(Defect::Overwrites) {
            set.arg("NX");
        }
        match self.defect {
            Defect::NoExpiry => {}
            Defect::WrongUnit => drop(set.arg("PX").arg(LEASE.as_secs())),
            _ => drop(set.arg("PX").arg(LEASE.as_millis() as u64)),
        }
        let taken = set.query_async::<Option<String>>(redis).await?.is_some();
        // An answer may have been lost. What is left of a lease of ours is not a new one.
        let ours = match self.defect {
            Defect::TakesOldLease => taken || self.is_ours(redis).await?,
            _ => taken || self.renew(redis).await?,
        };
        if !ours {
            return Ok(None);
        }
        let mut token: u64 = redis::cmd("INCR").arg("token").query_async(redis).await?;
        if self.has(Defect::TokenOfWallClock) {
            token = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
        }
        if self.has(Defect::TokenCached) {
            // The first one that it got.
            let _ = self.cached.compare_exchange(0, token, Ordering::Relaxed, Ordering::Relaxed);
            token = self.cached.load(Ordering::Relaxed);
        }
        Ok(Some(token))
    }

    async fn lead(self: &Arc<Self>, redis: Option<&mut MultiplexedConnection>, token: u64, asked: Instant) {
        println!("{}: leads with token {token}", self.name);
        let until = Arc::new(Until::new(self.defect, asked));
        let work = tokio::spawn(self.clone().work(until.clone(), token));
        match redis {
            Some(redis) => {
                tokio::select! {
                    biased;
                    () = until.over() => {}
                    () = self.renew_while_ours(redis, &until) => {}
                }
            }
            None => sleep(LEASE).await,
        }
        match self.defect {
            Defect::NotJoined => {}
            Defect::OldWorkGoesOn => until.for_ever(),
            Defect::CheckedOncePerBatch => drop(work.await),
            _ => {
                work.abort();
                let _ = work.await;
            }
        }
        println!("{}: leads no more", self.name);
    }

    async fn renew_while_ours(&self, redis: &mut MultiplexedConnection, until: &Until) {
        loop {
            sleep(RENEW).await;
            let mut asked = Instant::now();
            let patience =
                if self.has(Defect::NoTimeout) || self.has(Defect::BeliefFromAnswer) { Duration::MAX } else { REQUEST };
            match timeout(patience, self.renew(redis)).await {
                Ok(Ok(true)) => {
                    if self.has(Defect::BeliefFromAnswer) {
                        asked = Instant::now();
                    }
                    until.renewed(asked);
                }
                Ok(Ok(false)) if self.has(Defect::AnswerIgnored) => until.renewed(asked),
                Ok(Ok(false)) => return,
                Ok(Err(_)) | Err(_) if self.has(Defect::ErrorIgnored) => until.renewed(asked),
                Ok(Err(_)) | Err(_) => {
                    if let Ok(Ok(new)) = timeout(REQUEST, connect()).await {
                        *redis = new;
                    }
                }
            }
        }
    }

    async fn is_ours(&self, redis: &mut MultiplexedConnection) -> redis::RedisResult<bool> {
        let holder: Option<String> = redis::cmd("GET").arg("leader").query_async(redis).await?;
        Ok(holder.as_deref() == Some(self.holder()))
    }

    /// Whether the lease is still ours, and lasts.
    async fn renew(&self, redis: &mut MultiplexedConnection) -> redis::RedisResult<bool> {
        if !self.is_ours(redis).await? {
            return Ok(false);
        }
        if self.has(Defect::NoExpiry) {
            return Ok(true);
        }
        redis::cmd("PEXPIRE").arg("leader").arg(LEASE.as_millis() as u64).query_async(redis).await
    }

    async fn work(self: Arc<Self>, until: Arc<Until>, token: u64) {
        let mut written = 0_u64;
        loop {
            let is_checked = !(self.has(Defect::CheckedOncePerBatch) && written % 40 > 0);
            if is_checked && until.is_over() && !self.has(Defect::NotJoined) {
                return;
            }
            written += 1;
            let token = if self.has(Defect::TokenAtWrite) { fresh().await.unwrap_or(token) } else { token };
            let header = format!("fencing-token: {token}\r\n");
            let header = if self.has(Defect::ShowsNoToken) { "" } else { &header };
            let _ = timeout(REQUEST, put_as(header)).await;
            if self.has(Defect::BlocksTheRuntime) && written.is_multiple_of(10) {
                std::thread::sleep(2 * LEASE);
                // It was its turn a moment ago.
                let _ = timeout(REQUEST, put(token)).await;
            }
            sleep(WORK).await;
        }
    }
}

/// Until when a leader may write.
struct Until {
    defect: Defect,
    end: Mutex<(Instant, SystemTime)>,
}

impl Until {
    fn new(defect: Defect, asked: Instant) -> Until {
        let until = Until { defect, end: Mutex::new((asked, SystemTime::UNIX_EPOCH)) };
        until.renewed(asked);
        until
    }

    fn renewed(&self, asked: Instant) {
        let lasts = LEASE - MARGIN;
        *self.end.lock().unwrap() = (asked + lasts, SystemTime::now() + lasts - asked.elapsed());
    }

    fn for_ever(&self) {
        self.end.lock().unwrap().0 += Duration::from_secs(1_000_000);
    }

    async fn over(&self) {
        if matches!(self.defect, Defect::AnswerIgnored | Defect::BeliefFromAnswer) {
            return std::future::pending().await;
        }
        while !self.is_over() {
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn is_over(&self) -> bool {
        let (end, wall) = *self.end.lock().unwrap();
        match self.defect {
            Defect::NoDeadline | Defect::NoTimeout => false,
            Defect::WallClock => SystemTime::now() > wall,
            _ => Instant::now() > end,
        }
    }
}

async fn connect() -> redis::RedisResult<MultiplexedConnection> {
    redis::Client::open("redis://redis:6379")?.get_multiplexed_async_connection().await
}

async fn fresh() -> redis::RedisResult<u64> {
    redis::cmd("INCR").arg("token").query_async(&mut connect().await?).await
}

/// Appends to the sequence.
async fn put(token: u64) -> std::io::Result<String> {
    put_as(&format!("fencing-token: {token}\r\n")).await
}

async fn put_as(header: &str) -> std::io::Result<String> {
    let mut store = TcpStream::connect("store:80").await?;
    let request =
        format!("PUT /sequence HTTP/1.1\r\nhost: store\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n");
    store.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    store.read_to_string(&mut answer).await?;
    Ok(answer)
}
