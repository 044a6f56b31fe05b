//! The same of every kind of resource.

use super::{database, leaders, own_store::ByStore, tables};
use crate::world::{Part, TTL_S, all, at, lines, play, sleep_s};
use bytes::Bytes;
use fencepost_seat::{
    Backend, Fenced, FencedKv, FencedObjects, FencedPool, FencedRedis, FencedSql, Lead, Seat,
    fence::{FenceError, object_store::without_head},
};
use object_store::{
    ObjectStoreExt,
    memory::InMemory,
    path::Path,
    throttle::{ThrottleConfig, ThrottledStore},
};
use protocols::service::{Service, etcd, postgres, redis};
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::{
    collections::BTreeMap,
    fmt::Display,
    future::pending,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_postgres::Client;

/// A resource.
pub(super) const NAME: &str = "charges";
const INSERT: &str = "INSERT INTO written (what) VALUES ($1)";

/// Something that leaders write to.
pub(super) trait Resource {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String>;
    /// The same, once for this request; whether it was written now.
    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String>;
    /// What was written; in the order of the writes, where that is known.
    async fn written(&mut self, name: &str) -> Vec<String>;
}

fn told<T, E: Display>(done: Result<T, FenceError<E>>) -> Result<T, String> {
    done.map_err(|error| error.to_string())
}

struct BySql(Client);

impl Resource for BySql {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let write = async |sql: &tokio_postgres::Transaction<'_>| sql.execute(INSERT, &[&what]).await.map(drop);
        told(self.0.fenced::<_, tokio_postgres::Error>(lead, name, write).await)
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        let write = async |sql: &tokio_postgres::Transaction<'_>| sql.execute(INSERT, &[&what]).await.map(drop);
        let once = self.0.fenced_once::<_, tokio_postgres::Error>(lead, NAME, request, write);
        told(once.await).map(|done| done.is_some())
    }

    async fn written(&mut self, _: &str) -> Vec<String> {
        super::rows(&self.0).await
    }
}

#[derive(Clone)]
struct BySqlx(PgPool);

impl Resource for BySqlx {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let insert = sqlx::query(INSERT).bind(what.to_owned());
        told(self.0.fenced(lead, name, async |sql| insert.execute(sql).await.map(drop)).await)
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        let insert = sqlx::query(INSERT).bind(what.to_owned());
        let once = self.0.fenced_once(lead, NAME, request, async |sql| insert.execute(sql).await.map(drop));
        told(once.await).map(|done| done.is_some())
    }

    async fn written(&mut self, _: &str) -> Vec<String> {
        sqlx::query_scalar("SELECT what FROM written ORDER BY id").fetch_all(&self.0).await.unwrap()
    }
}

#[derive(Clone)]
struct ByRedis {
    connection: ::redis::aio::MultiplexedConnection,
    /// What was written, by the number that Redis gave it.
    numbers: Arc<Mutex<BTreeMap<u64, String>>>,
}

fn appends(what: &str) -> ::redis::Pipeline {
    let mut commands = ::redis::pipe();
    commands.cmd("INCR").arg("number").cmd("SET").arg(format!("written:{what}")).arg("yes");
    commands
}

impl Resource for ByRedis {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let (number, done): (u64, String) = told(self.connection.fenced(lead, name, &appends(what)).await)?;
        assert_eq!(done, "OK");
        self.numbers.lock().unwrap().insert(number, what.to_owned());
        Ok(())
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        let keep = Duration::from_secs(3_600);
        let done: Option<(u64, String)> =
            told(self.connection.fenced_once(lead, NAME, request, keep, &appends(what)).await)?;
        self.numbers.lock().unwrap().extend(done.iter().map(|(number, _)| (*number, what.to_owned())));
        Ok(done.is_some())
    }

    async fn written(&mut self, _: &str) -> Vec<String> {
        let written: Vec<String> = self.numbers.lock().unwrap().values().cloned().collect();
        let last: usize = ::redis::cmd("GET").arg("number").query_async(&mut self.connection).await.unwrap();
        assert_eq!(last, written.len(), "what was refused has been written");
        written
    }
}

#[derive(Clone)]
struct ByEtcd(etcd_client::KvClient);

impl Resource for ByEtcd {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let put = etcd_client::Txn::new().and_then([etcd_client::TxnOp::put(format!("written/{what}"), "", None)]);
        let done = told(self.0.fenced(lead, name, put).await)?;
        assert!(done.succeeded() && done.op_responses().len() == 1);
        Ok(())
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        use etcd_client::{Compare, CompareOp, Txn, TxnOp};
        let done = format!("done/{request}");
        let put = Txn::new()
            .when([Compare::create_revision(done.clone(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(format!("written/{what}"), "", None), TxnOp::put(done, "", None)]);
        told(self.0.fenced(lead, NAME, put).await).map(|answer| answer.succeeded())
    }

    async fn written(&mut self, _: &str) -> Vec<String> {
        let all = etcd_client::GetOptions::new().with_prefix();
        let got = self.0.get("written/", Some(all)).await.unwrap();
        let mut written: Vec<_> = got.kvs().iter().collect();
        written.sort_by_key(|kv| kv.mod_revision());
        written.iter().map(|kv| kv.key_str().unwrap().replace("written/", "")).collect()
    }
}

/// A store of objects that takes its time, so that others come in between.
pub(super) fn slow_store() -> Arc<ThrottledStore<InMemory>> {
    let wait = Duration::from_millis(10);
    let config = ThrottleConfig { wait_get_per_call: wait, wait_put_per_call: wait, ..Default::default() };
    Arc::new(ThrottledStore::new(InMemory::new(), config))
}

/// An object that is written anew, of one line for each write.
#[derive(Clone)]
struct ByObject(Arc<ThrottledStore<InMemory>>);

impl Resource for ByObject {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let adds = |old: Option<Bytes>| [&old.unwrap_or_default(), what.as_bytes(), b"\n"].concat().into();
        told(self.0.update_fenced(lead, &Path::from(name), adds).await).map(drop)
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        let adds = |old: Option<Bytes>| [&old.unwrap_or_default(), what.as_bytes(), b"\n"].concat().into();
        let (path, keep) = (Path::from(NAME), NonZeroUsize::MIN);
        told(self.0.update_fenced_once(lead, &path, request, keep, adds).await).map(|done| done.is_some())
    }

    async fn written(&mut self, name: &str) -> Vec<String> {
        let found = self.0.get(&Path::from(name)).await.unwrap().bytes().await.unwrap();
        std::str::from_utf8(without_head(&found)).unwrap().lines().map(str::to_owned).collect()
    }
}

/// The older leader, the newer one, and the older one again; then each request twice.
async fn take_turns<B: Backend<Fencing = Fenced>>(backend: B, mut resource: impl Resource) {
    let (older, newer) = leaders(backend).await;
    for (term, what) in [(&older, "a"), (&older, "b"), (&newer, "c"), (&newer, "d"), (&older, "e")] {
        let written = resource.write(term.lead(), NAME, what).await;
        println!("{what}: {}", written.map_or_else(|error| error, |()| "written".to_owned()));
    }
    println!("the older is over: {:?}", older.lead().ended().await);
    for (request, what) in [("1", "f"), ("1", "f"), ("2", "g")] {
        println!("request {request}: {:?}", resource.once(newer.lead(), request, what).await);
    }
    println!("request 3 of the older: {:?}", resource.once(older.lead(), "3", "h").await);
    println!("there is {:?}", resource.written(NAME).await);
    println!("the newer: {:?}", newer.lead().check());
}

/// Both at once, in each order that this makes of their requests. Whoever is first, the older one writes nothing after
/// the newer one has.
async fn race<B: Backend<Fencing = Fenced>>(backend: B, resource: impl Resource + Clone) {
    for lag in -10_i8..=10 {
        let (older, newer) = leaders(backend.clone()).await;
        let name = format!("resource{lag}");
        // How many of three it has written.
        let write = async |lead: &Lead<Fenced>, after_ms: i8, who: &str| {
            let mut resource = resource.clone();
            sleep_s(f64::from(after_ms.max(0)) / 1e3).await;
            for round in 0..3_usize {
                if resource.write(lead, &name, &format!("{who}{lag}.{round}")).await.is_err() {
                    return round;
                }
            }
            3_usize
        };
        let (old, new) = tokio::join!(write(older.lead(), lag, "older"), write(newer.lead(), -lag, "newer"));
        let again = write(older.lead(), 0, "again").await;
        let written = resource.clone().written(&name).await;
        let first = written.iter().position(|what| what.starts_with(&format!("newer{lag}.")));
        let last = written.iter().rposition(|what| what.starts_with(&format!("older{lag}.")));
        let acknowledged = written.iter().filter(|what| what.contains(&format!("er{lag}."))).count();
        assert_eq!(acknowledged, old + new, "{written:?}");
        let order = if last < first { "in order" } else { "mixed" };
        println!("{lag}: the older wrote {old}, the newer {new}, the older again {again}, {order}");
        tokio::join!(older.finish(), newer.finish());
    }
}

/// Two leaders with one token, as after a service has lost its counter. The one that writes first is the only one.
async fn compare<B: Backend<Fencing = Fenced>>(backend: B, mut resource: impl Resource) {
    let seat = |name: &str| Seat::new(backend.clone(), name).ttl(Duration::from_secs_f64(TTL_S)).member("x").unwrap();
    let (first, second) = (seat("first"), seat("second"));
    let (first, second) = (first.campaign().await, second.campaign().await);
    assert_eq!(first.lead().token(), second.lead().token());
    for (term, what) in [(&first, "a"), (&second, "b"), (&first, "c")] {
        let written = resource.write(term.lead(), NAME, what).await;
        println!("{what}: {}", written.map_or_else(|error| error, |()| "written".to_owned()));
    }
}

/// A request of which the second command fails, and then the same without that one.
async fn fail<B: Backend<Fencing = Fenced>>(backend: B, mut connection: ::redis::aio::MultiplexedConnection) {
    let (_older, newer) = leaders(backend).await;
    let keep = Duration::from_secs(3_600);
    let mut commands = ::redis::pipe();
    commands.cmd("SET").arg("text").arg("words").cmd("INCR").arg("text");
    let failed = connection.fenced_once::<Vec<String>>(newer.lead(), NAME, "1", keep, &commands).await;
    println!("it fails: {}", failed.is_err_and(|error| matches!(error, FenceError::Write(_))));
    let done = connection.fenced_once::<Option<(u64, String)>>(newer.lead(), NAME, "1", keep, &appends("a")).await;
    println!("it is done: {done:?}");
}

#[derive(Clone, Copy)]
enum What {
    TakeTurns,
    Race,
    Compare,
    /// Only on Redis.
    Fail,
}

impl What {
    async fn play<B: Backend<Fencing = Fenced>>(self, backend: B, resource: impl Resource + Clone) {
        match self {
            What::TakeTurns => take_turns(backend, resource).await,
            What::Race => race(backend, resource).await,
            What::Compare => compare(backend, resource).await,
            What::Fail => {}
        }
    }
}

struct Plays(What, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Sql,
    Sqlx,
    Redis,
    Etcd,
    Object,
    Store,
}

impl Part for Plays {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let Plays(what, kind) = self;
        match kind {
            Kind::Sql => {
                tables().await;
                let resource = BySql(database().await);
                match what {
                    What::Compare => compare(backend, resource).await,
                    _ => take_turns(backend, resource).await,
                }
            }
            Kind::Sqlx => {
                tables().await;
                let pool = PgPoolOptions::new().max_connections(4);
                let pool = pool.connect("postgres://invoices@postgres/invoices?sslmode=disable").await.unwrap();
                what.play(backend, BySqlx(pool)).await;
            }
            Kind::Redis => {
                let client = ::redis::Client::open("redis://redis").unwrap();
                let connection = client.get_multiplexed_async_connection().await.unwrap();
                match what {
                    What::Fail => fail(backend, connection).await,
                    _ => what.play(backend, ByRedis { connection, numbers: Arc::default() }).await,
                }
            }
            Kind::Etcd => {
                let client = etcd_client::Client::connect(["http://etcd:2379"], None).await.unwrap();
                what.play(backend, ByEtcd(client.kv_client())).await;
            }
            Kind::Object => what.play(backend, ByObject(slow_store())).await,
            Kind::Store => what.play(backend, ByStore::default()).await,
        }
        pending::<()>().await;
    }
}

fn turns(service: &'static Service, main: impl Fn() + Copy + 'static) {
    let lines = lines(service, main);
    println!("{}", all(&lines));
    for what in ["a", "b", "c", "d"] {
        at(&lines, &format!("{what}: written"));
    }
    at(&lines, "e: not written: the resource refused the token");
    at(&lines, "the older is over: Refused");
    at(&lines, "request 1: Ok(true)");
    at(&lines, "request 1: Ok(false)");
    at(&lines, "request 2: Ok(true)");
    at(&lines, "request 3 of the older: Err(\"not written: the resource refused the token\")");
    at(&lines, "there is [\"a\", \"b\", \"c\", \"d\", \"f\", \"g\"]");
    at(&lines, "the newer: Ok(())");
}

#[test]
fn a_leader_writes_to_any_resource_until_a_newer_one_has_and_a_request_is_done_once() {
    turns(&postgres::SERVICE, || play(Plays(What::TakeTurns, Kind::Sql)));
    turns(&postgres::SERVICE, || play(Plays(What::TakeTurns, Kind::Sqlx)));
    turns(&redis::SERVICE, || play(Plays(What::TakeTurns, Kind::Redis)));
    turns(&etcd::SERVICE, || play(Plays(What::TakeTurns, Kind::Etcd)));
    turns(&etcd::SERVICE, || play(Plays(What::TakeTurns, Kind::Object)));
    turns(&etcd::SERVICE, || play(Plays(What::TakeTurns, Kind::Store)));
}

fn raced(service: &'static Service, main: impl Fn() + Copy + 'static) {
    let lines = lines(service, main);
    println!("{}", all(&lines));
    let rounds: Vec<&str> =
        lines.iter().map(|line| &*line.text).filter(|text| text.contains("the older wrote")).collect();
    let ends = "the newer 3, the older again 0, in order";
    assert!(rounds.len() == 21 && rounds.iter().all(|round| round.ends_with(ends)));
    // Each was first at least once.
    let late = rounds.iter().filter(|round| round.contains("the older wrote 0")).count();
    assert!((1..21).contains(&late));
}

#[test]
fn of_two_leaders_at_once_the_newer_one_writes_on_and_the_older_one_is_refused() {
    raced(&postgres::SERVICE, || play(Plays(What::Race, Kind::Sqlx)));
    raced(&redis::SERVICE, || play(Plays(What::Race, Kind::Redis)));
    raced(&etcd::SERVICE, || play(Plays(What::Race, Kind::Etcd)));
    raced(&etcd::SERVICE, || play(Plays(What::Race, Kind::Object)));
    raced(&etcd::SERVICE, || play(Plays(What::Race, Kind::Store)));
}

fn compared(service: &'static Service, main: impl Fn() + Copy + 'static) {
    let lines = lines(service, main);
    println!("{}", all(&lines));
    at(&lines, "a: written");
    at(&lines, "b: not written: the resource refused the token");
    at(&lines, "c: written");
}

#[test]
fn of_two_leaders_with_one_token_only_the_first_to_write_is_accepted() {
    compared(&postgres::SERVICE, || play(Plays(What::Compare, Kind::Sql)));
    compared(&postgres::SERVICE, || play(Plays(What::Compare, Kind::Sqlx)));
    compared(&redis::SERVICE, || play(Plays(What::Compare, Kind::Redis)));
    compared(&redis::SERVICE, || play(Plays(What::Compare, Kind::Object)));
    compared(&redis::SERVICE, || play(Plays(What::Compare, Kind::Store)));
}

#[test]
fn a_request_of_which_a_command_failed_in_redis_is_not_done() {
    let lines = lines(&redis::SERVICE, || play(Plays(What::Fail, Kind::Redis)));
    println!("{}", all(&lines));
    at(&lines, "it fails: true");
    at(&lines, "it is done: Ok(Some(Some((1, \"OK\"))))");
}
