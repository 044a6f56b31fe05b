//! Redis over the genuine `redis` crate.

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    service::redis::{
        ACQUIRE_FENCED, Api, COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, HAND_OVER, LOCK, Reply, Request, SERVICE,
    },
};
use redis::{
    AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError, Script, Value, aio::MultiplexedConnection,
};
use std::sync::{Arc, LazyLock};
use tokio::sync::{Mutex, mpsc::UnboundedReceiver};

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.only(), outputs, move |input| deliver(input))),
    }
}

/// Carries out the requests that come from `outputs` and hands every answer to `deliver`, until `outputs` closes.
///
/// A single connection is kept, and replaced after it breaks or a request times out, so that a late answer on the old
/// one cannot be taken for an answer on the new one. No timer of tokio or of the `redis` crate is used: both would
/// ignore the node's clock.
pub async fn run<E: Env>(
    env: E,
    endpoint: Endpoint,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    Redis::new(env.clone(), endpoint, RedisConnectionInfo::default()).run(outputs, deliver).await;
}

/// The same with separate timeouts for connecting and for the request, as in clients with a timeout per step
/// (redis-rb's `connect_timeout`, `read_timeout`, `write_timeout`, all set to `timeout` here).
pub(crate) async fn run_by_steps<E: Env>(
    env: E,
    endpoint: Endpoint,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let backend = Redis(Arc::new(Connector::new(env.clone(), endpoint, true)));
    Queue::new(env, &SERVICE, deliver).run(backend, outputs).await;
}

/// A connection that several electors can share. Clones share it.
#[derive(Clone)]
pub struct Redis<E: Env>(Arc<Connector<E>>);

impl<E: Env> Redis<E> {
    /// A connection to `endpoint`, logged in as `info` says; nothing is dialled yet.
    pub fn new(env: E, endpoint: Endpoint, info: RedisConnectionInfo) -> Self {
        Redis(Arc::new(Connector { info, ..Connector::new(env, endpoint, false) }))
    }

    /// Carries out an elector's requests; see [`run`].
    pub async fn run(
        self,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        Queue::new(self.0.env.clone(), &SERVICE, deliver).run(self, outputs).await;
    }
}

impl<E: Env> Backend for Redis<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let connector = self.0.clone();
        Box::pin(async move { connector.carry_out(request, timeout).await })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

/// Connects when first needed, and keeps the connection.
pub(crate) struct Connector<E: Env> {
    env: E,
    endpoint: Endpoint,
    info: RedisConnectionInfo,
    /// Whether connecting has a timeout of its own.
    connects_apart: bool,
    slot: Mutex<Slot<E>>,
}

/// At most one live connection, and how many have been made.
struct Slot<E: Env> {
    generation: u64,
    live: Option<(MultiplexedConnection, E::Task)>,
}

impl<E: Env> Connector<E> {
    pub(crate) fn new(env: E, endpoint: Endpoint, connects_apart: bool) -> Self {
        let slot = Mutex::new(Slot { generation: 0, live: None });
        Connector { env, endpoint, info: RedisConnectionInfo::default(), connects_apart, slot }
    }

    /// Carries out one request within its timeout, connecting first if necessary. Connecting may take up to `timeout`
    /// in addition if it is timed separately.
    pub(crate) async fn carry_out(&self, request: Request, timeout: u64) -> Result<Reply, Failure> {
        if self.connects_apart {
            within(&self.env, timeout, self.connection()).await?;
        }
        let mut used = None;
        let attempt = async {
            let (generation, mut connection) = self.connection().await?;
            used = Some(generation);
            SCRIPTS.ask(&mut connection, &request).await
        };
        let outcome = within(&self.env, timeout, attempt).await;
        if let (Err(Failure::Unknown(_)), Some(generation)) = (&outcome, used) {
            self.give_up(generation).await;
        }
        outcome
    }

    /// The live connection and its generation; connects if there is none. Dropping the future discards a connection in
    /// progress.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), Failure> {
        let mut slot = self.slot.lock().await;
        match &slot.live {
            Some((connection, _)) => Ok((slot.generation, connection.clone())),
            // Boxed: most requests find a connection, and need not reserve space for connecting.
            None => Box::pin(self.connect(&mut slot)).await,
        }
    }

    async fn connect(&self, slot: &mut Slot<E>) -> Result<(u64, MultiplexedConnection), Failure> {
        let unknown = |error: std::io::Error| Failure::Unknown(format!("no connection: {error}"));
        let stream = self.env.connect(&self.endpoint).await.map_err(unknown)?;
        let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
        let made = MultiplexedConnection::new_with_config(&self.info, stream, config).await;
        let (connection, driver) = made.map_err(failure)?;
        slot.generation += 1;
        slot.live = Some((connection.clone(), self.env.spawn(driver)));
        Ok((slot.generation, connection))
    }

    /// Closes the connection of `generation`, unless it has been closed or replaced already.
    async fn give_up(&self, generation: u64) {
        let mut slot = self.slot.lock().await;
        if slot.generation == generation {
            slot.live = None;
        }
    }
}

/// Shared, so that their digests are computed once.
static SCRIPTS: LazyLock<Scripts> = LazyLock::new(Scripts::new);

struct Scripts {
    compare_and_pexpire: Script,
    compare_and_delete: Script,
    acquire_fenced: Script,
    lock: Script,
    hand_over: Script,
}

impl Scripts {
    fn new() -> Self {
        Scripts {
            compare_and_pexpire: Script::new(COMPARE_AND_PEXPIRE),
            compare_and_delete: Script::new(COMPARE_AND_DELETE),
            acquire_fenced: Script::new(ACQUIRE_FENCED),
            lock: Script::new(LOCK),
            hand_over: Script::new(HAND_OVER),
        }
    }

    /// Sends a request and waits without a timeout. Scripts go by digest first, and are loaded if the server does not
    /// know them.
    async fn ask(&self, to: &mut MultiplexedConnection, request: &Request) -> Result<Reply, Failure> {
        let answer: Result<Value, RedisError> = match request {
            Request::SetNxPx { key, value, ttl_ms } => {
                redis::cmd("SET").arg(key).arg(value).arg("NX").arg("PX").arg(*ttl_ms).query_async(to).await
            }
            Request::Get { key } => redis::cmd("GET").arg(key).query_async(to).await,
            Request::Del { key } => redis::cmd("DEL").arg(key).query_async(to).await,
            Request::Pexpire { key, ttl_ms } => redis::cmd("PEXPIRE").arg(key).arg(*ttl_ms).query_async(to).await,
            Request::CompareAndPexpire { key, value, ttl_ms } => {
                self.compare_and_pexpire.key(key).arg(value).arg(*ttl_ms).invoke_async(to).await
            }
            Request::CompareAndDelete { key, value } => {
                self.compare_and_delete.key(key).arg(value).invoke_async(to).await
            }
            Request::AcquireFenced { key, token_key, value, ttl_ms } => {
                self.acquire_fenced.key(key).key(token_key).arg(value).arg(*ttl_ms).invoke_async(to).await
            }
            Request::Lock { key, value, ttl_ms } => self.lock.key(key).arg(value).arg(*ttl_ms).invoke_async(to).await,
            Request::HandOver { key, token_key, value, to: successor, ttl_ms } => {
                let mut call = self.hand_over.prepare_invoke();
                call.key(key).key(token_key).arg(value).arg(successor).arg(*ttl_ms).invoke_async(to).await
            }
        };
        understand(request, answer.map_err(failure)?)
    }
}

/// A reply that does not fit its request leaves the outcome unknown.
fn understand(request: &Request, answer: Value) -> Result<Reply, Failure> {
    match (request, answer) {
        (Request::SetNxPx { .. } | Request::Lock { .. }, Value::Okay) => Ok(Reply::Done(true)),
        (Request::SetNxPx { .. } | Request::Lock { .. }, Value::Nil) => Ok(Reply::Done(false)),
        (Request::Get { .. }, Value::Nil) => Ok(Reply::Value(None)),
        (Request::Get { .. }, Value::BulkString(bytes)) => Ok(Reply::Value(Some(bytes))),
        (
            Request::Del { .. }
            | Request::Pexpire { .. }
            | Request::CompareAndPexpire { .. }
            | Request::CompareAndDelete { .. },
            Value::Int(count),
        ) => Ok(Reply::Done(count > 0)),
        (Request::AcquireFenced { .. } | Request::HandOver { .. }, Value::Nil) => Ok(Reply::Token(None)),
        (Request::AcquireFenced { .. } | Request::HandOver { .. }, Value::Int(token)) if token > 0 => {
            Ok(Reply::Token(Some(token.unsigned_abs())))
        }
        (_, answer) => Err(Failure::Unknown(format!("an answer that does not fit the request: {answer:?}"))),
    }
}

/// An error reply is a refusal. After any other error the request may have taken effect.
fn failure(error: RedisError) -> Failure {
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::Extension => Failure::Rejected(error.to_string()),
        _ => Failure::Unknown(error.to_string()),
    }
}
