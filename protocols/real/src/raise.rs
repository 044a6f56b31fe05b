//! Raises a coordination service's token source above what the fenced resource has seen: the remedy when a service has
//! lost its data.
//!
//! **Redis** draws tokens from a counter, which is set unless it is high enough already. **etcd** draws them from its
//! revision, which cannot be set: every write raises it by one, so keys are written until it is high enough. Tens of
//! thousands of revisions take seconds; beyond [`WRITES_MAX`], the snapshot that etcd was restored from must be
//! restored again, with `etcdutl snapshot restore --bump-revision N --mark-compacted` (etcd 3.6, and 3.5 from 3.5.5
//! on).

use protocols::{election::redis_fenced::TOKEN_KEY, service::Service};
use protocols_clients::{env::Env, etcd, site::Endpoint};
use redis::Script;
use tokio::task::JoinSet;

/// The most revisions written to raise etcd's.
pub const WRITES_MAX: u64 = 1_000_000;
/// Concurrent writes.
const AT_ONCE: u64 = 64;
/// The key that is written, and deleted afterwards.
const SCRATCH: &str = "fencepost/raise-token";
/// Lua's numbers are exact up to here, and so is the script's comparison.
const EXACT_MAX: u64 = 1 << 53;

/// Sets the counter `KEYS[1]` to `ARGV[1]` unless it is already that high; returns the old value and the new one.
const RAISE: &str = "\
local was = tonumber(redis.call('get', KEYS[1]) or '0')
if was < tonumber(ARGV[1]) then
  redis.call('set', KEYS[1], ARGV[1])
end
return {was, tonumber(redis.call('get', KEYS[1]))}
";

/// The token source's position before and after; the next token is higher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raised {
    pub from: u64,
    pub to: u64,
}

/// Why tokens cannot be raised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RaiseError {
    #[error("only redis and etcd have tokens that can be raised; terms are in the nodes' own data")]
    NoSource,
    #[error("{0} is more than Redis's scripts can count; tokens are below {EXACT_MAX}")]
    TooHigh(u64),
    #[error("{0}")]
    Service(String),
}

/// Raises the tokens of the service at `endpoint` above `above`. Never lowers them.
///
/// # Errors
/// The service cannot be reached or refuses, has no token source of its own, or is too far below; as one sentence.
pub async fn raise<E: Env>(env: E, service: &Service, endpoint: Endpoint, above: u64) -> Result<Raised, RaiseError> {
    match service.name {
        "redis" => redis(&endpoint, above).await,
        "etcd" => revision(env, endpoint, above).await,
        _ => Err(RaiseError::NoSource),
    }
}

async fn redis(endpoint: &Endpoint, above: u64) -> Result<Raised, RaiseError> {
    if above >= EXACT_MAX {
        return Err(RaiseError::TooHigh(above));
    }
    let explain =
        |e: redis::RedisError| RaiseError::Service(format!("Redis at {}:{} says: {e}", endpoint.host, endpoint.port));
    let client = redis::Client::open((endpoint.host.as_str(), endpoint.port)).map_err(explain)?;
    let mut connection = client.get_multiplexed_async_connection().await.map_err(explain)?;
    let (from, to) =
        Script::new(RAISE).key(TOKEN_KEY).arg(above).invoke_async(&mut connection).await.map_err(explain)?;
    Ok(Raised { from, to })
}

async fn revision<E: Env>(env: E, endpoint: Endpoint, above: u64) -> Result<Raised, RaiseError> {
    let shown = format!("{}:{}", endpoint.host, endpoint.port);
    let explain = |e: etcd_client::Error| RaiseError::Service(format!("etcd at {shown} says: {e}"));
    let odd = || RaiseError::Service(format!("etcd at {shown} gives no revision"));
    let mut client = etcd::connect(env, endpoint).await.map_err(explain)?;
    let of = |header: Option<&etcd_client::ResponseHeader>| header.map(|h| h.revision().max(0) as u64).ok_or_else(odd);
    let from = of(client.get(SCRATCH, None).await.map_err(explain)?.header())?;
    let missing = above.saturating_sub(from);
    if missing == 0 {
        return Ok(Raised { from, to: from });
    }
    if missing > WRITES_MAX {
        return Err(RaiseError::Service(format!(
            "etcd's revision is {from}, and {missing} writes to raise it are too many; restore its snapshot with `etcdutl \
             snapshot restore --bump-revision {missing} --mark-compacted`"
        )));
    }
    let mut writers = JoinSet::new();
    for nth in 0..AT_ONCE.min(missing) {
        let (mut client, writes) = (client.clone(), (missing - nth).div_ceil(AT_ONCE));
        writers.spawn(async move {
            for _ in 0..writes {
                client.put(SCRATCH, "", None).await?;
            }
            Ok::<_, etcd_client::Error>(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written.map_err(|e| RaiseError::Service(e.to_string()))?.map_err(explain)?;
    }
    let to = of(client.delete(SCRATCH, None).await.map_err(explain)?.header())?;
    match to >= above {
        true => Ok(Raised { from, to }),
        false => Err(RaiseError::Service(format!("etcd's revision is {to} after {missing} writes; try again"))),
    }
}
