//! Requests that are made once, whoever makes them, and transactions that are not what their closure takes them for.

use super::{database, each::slow_store, leaders, tables};
use crate::world::{Part, all, at, lines, play, sleep_s};
use bytes::Bytes;
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
use fencepost_seat::{
    Backend, Fenced, FencedKv, FencedObjects, FencedPool, FencedSql, Lead, fence::object_store::without_head,
};
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use protocols::service::{etcd, postgres::SERVICE};
use sqlx::{PgConnection, PgPool, postgres::PgPoolOptions};
use std::{num::NonZeroUsize, time::Duration};
use tokio_postgres::{Error, Transaction};

const INSERT: &str = "INSERT INTO written (what) VALUES ($1)";

async fn pool() -> PgPool {
    let pool = PgPoolOptions::new().max_connections(1);
    pool.connect("postgres://invoices@postgres/invoices?sslmode=disable").await.unwrap()
}

async fn shown(when: &str) {
    println!("{when}: {:?}", super::rows(&database().await).await);
}

struct TwoLeaders;

impl Part for TwoLeaders {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((older, newer), pool) = (leaders(backend).await, pool().await);
        let mut client = database().await;
        let insert = async |sql: &Transaction<'_>| sql.execute(INSERT, &[&"by the older"]).await;
        let first = client.fenced_once::<_, Error>(older.lead(), "table", "7", insert).await.unwrap();
        let insert = async |sql: &mut PgConnection| sqlx::query(INSERT).bind("by the newer").execute(sql).await;
        let again = pool.fenced_once(newer.lead(), "table", "7", insert).await.unwrap();
        println!("the older did it: {}, the newer: {}", first.is_some(), again.is_some());
        let insert = async |sql: &mut PgConnection| sqlx::query(INSERT).bind("another").execute(sql).await;
        // Of another resource, whose name and the request's are the same when they are put together.
        let other = pool.fenced_once(newer.lead(), "table/7", "", insert).await.unwrap();
        println!("another's request: {}", other.is_some());
        shown("there is").await;
    }
}

#[test]
fn a_request_that_a_former_leader_has_made_is_not_made_again() {
    let lines = lines(&SERVICE, || play(TwoLeaders));
    println!("{}", all(&lines));
    at(&lines, "the older did it: true, the newer: false");
    at(&lines, "another's request: true");
    at(&lines, "there is: [\"by the older\", \"another\"]");
}

struct Swallows;

impl Part for Swallows {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((_older, newer), pool) = (leaders(backend).await, pool().await);
        let mut client = database().await;
        client.execute(INSERT, &[&"there"]).await.unwrap();
        let by_client = async |sql: &Transaction<'_>| {
            sql.execute(INSERT, &[&"a"]).await?;
            // The error has aborted the transaction, and goes unnoticed.
            let _ = sql.execute(INSERT, &[&"there"]).await;
            Ok::<_, Error>(())
        };
        let done = client.fenced_once(newer.lead(), "table", "1", by_client).await;
        println!("by the client: {}", done.is_ok());
        let by_pool = async |sql: &mut PgConnection| {
            sqlx::query(INSERT).bind("a").execute(&mut *sql).await?;
            let _ = sqlx::query(INSERT).bind("there").execute(sql).await;
            Ok::<_, sqlx::Error>(())
        };
        let done = pool.fenced_once(newer.lead(), "table", "1", by_pool).await;
        println!("by the pool: {}", done.is_ok());
        shown("there is").await;
        let insert = async |sql: &mut PgConnection| sqlx::query(INSERT).bind("a").execute(sql).await;
        let done = pool.fenced_once(newer.lead(), "table", "1", insert).await.unwrap();
        println!("again: {}", done.is_some());
        shown("then there is").await;
    }
}

#[test]
fn a_transaction_that_an_error_has_aborted_is_not_taken_for_committed() {
    let lines = lines(&SERVICE, || play(Swallows));
    println!("{}", all(&lines));
    at(&lines, "by the client: false");
    at(&lines, "by the pool: false");
    at(&lines, "there is: [\"there\"]");
    at(&lines, "again: true");
    at(&lines, "then there is: [\"there\", \"a\"]");
}

struct GivesUp;

impl Part for GivesUp {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((_older, newer), pool) = (leaders(backend).await, pool().await);
        for after_us in (0..6_000).step_by(100) {
            let insert = async |sql: &mut PgConnection| sqlx::query(INSERT).bind("lost").execute(sql).await;
            let write = pool.fenced(newer.lead(), "table", async |sql| {
                insert(sql).await?;
                std::future::pending::<Result<(), sqlx::Error>>().await
            });
            let dropped = tokio::time::timeout(Duration::from_micros(after_us), write).await;
            assert!(dropped.is_err());
            // On the pool's only connection.
            let kept = format!("kept {after_us}");
            sqlx::query(INSERT).bind(kept).execute(&pool).await.unwrap();
        }
        let rows = super::rows(&database().await).await;
        println!("kept {}, lost {}", rows.len(), rows.iter().filter(|row| *row == "lost").count());
    }
}

#[test]
fn a_write_that_is_dropped_anywhere_leaves_no_transaction_in_the_pool() {
    let lines = lines(&SERVICE, || play(GivesUp));
    println!("{}", all(&lines));
    at(&lines, "kept 60, lost 0");
}

struct InEtcd;

impl Part for InEtcd {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (older, newer) = leaders(backend).await;
        let client = Client::connect(["http://etcd:2379"], None).await.unwrap();
        let mut kv = client.kv_client();
        let put = |key: &str| Txn::new().and_then([TxnOp::put(key, "x", None)]);
        let first = kv.fenced_once(older.lead(), "keys", "7", put("first")).await.unwrap();
        println!("the older did it: {}", first.is_some_and(|answer| answer.succeeded()));
        println!("the newer: {}", kv.fenced_once(newer.lead(), "keys", "7", put("again")).await.unwrap().is_some());
        // Carried out, although its own comparison does not hold.
        let absent = Compare::version("first", CompareOp::Equal, 0);
        let never = Txn::new().when([absent]).and_then([TxnOp::put("never", "x", None)]);
        for when in ["in vain", "again"] {
            let answer = kv.fenced_once(newer.lead(), "keys", "8", never.clone()).await.unwrap();
            println!("{when}: {:?}", answer.map(|answer| answer.succeeded()));
        }
        println!("the older, too late: {}", kv.fenced_once(older.lead(), "keys", "9", put("late")).await.is_err());
        for key in ["first", "again", "never", "late"] {
            println!("{key}: {}", kv.get(key, None).await.unwrap().count());
        }
    }
}

#[test]
fn a_transaction_of_etcd_that_has_a_name_is_carried_out_once() {
    let lines = lines(&etcd::SERVICE, || play(InEtcd));
    println!("{}", all(&lines));
    for line in ["the older did it: true", "the newer: false", "in vain: Some(false)", "again: None"] {
        at(&lines, line);
    }
    for line in ["the older, too late: true", "first: 1", "again: 0", "never: 0", "late: 0"] {
        at(&lines, line);
    }
}

/// Adds a line to the object, as the request of this name; whether it was done now. It is known until `keep` others are.
async fn adds(store: &impl ObjectStore, lead: &Lead<Fenced>, request: &str, keep: usize, line: &str) -> bool {
    let add = |old: Option<Bytes>| [&old.unwrap_or_default(), line.as_bytes(), b"\n"].concat().into();
    let keep = NonZeroUsize::new(keep).unwrap();
    store.update_fenced_once(lead, &Path::from("object"), request, keep, add).await.unwrap().is_some()
}

async fn content(store: &impl ObjectStore) -> String {
    let found = store.get(&Path::from("object")).await.unwrap().bytes().await.unwrap();
    str::from_utf8(without_head(&found)).unwrap().replace('\n', ",")
}

struct InAnObject;

impl Part for InAnObject {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let ((older, newer), store) = (leaders(backend).await, slow_store());
        println!("the older did it: {}", adds(&store, older.lead(), "7 of\nmine", 3, "a").await);
        println!("the newer: {}", adds(&store, newer.lead(), "7 of\nmine", 3, "b").await);
        println!("another: {}", adds(&store, newer.lead(), "8", 3, "c").await);
        println!("there is {}", content(&store).await);
        // Without a name, and over all of it; names make the first line long.
        let long = "x".repeat(300);
        println!("the third: {}", adds(&store, newer.lead(), &long, 3, "d").await);
        store.put_fenced(newer.lead(), &Path::from("object"), "e,".into()).await.unwrap();
        store.update_fenced(newer.lead(), &Path::from("object"), |_| "f,".into()).await.unwrap();
        for request in ["7 of\nmine", "8", &long] {
            println!("a name after a put: {}", adds(&store, newer.lead(), request, 3, "g").await);
        }
        println!("then there is {}", content(&store).await);
        println!("the fourth: {}", adds(&store, newer.lead(), "10", 3, "h").await);
        println!("the first is forgotten: {}", adds(&store, newer.lead(), "7 of\nmine", 3, "i").await);
        println!("the third is not: {}", !adds(&store, newer.lead(), &long, 3, "j").await);
    }
}

#[test]
fn a_change_of_an_object_that_has_a_name_is_made_once_until_so_many_others_are() {
    let lines = lines(&etcd::SERVICE, || play(InAnObject));
    println!("{}", all(&lines));
    for line in ["the older did it: true", "the newer: false", "another: true", "there is a,c,", "the third: true"] {
        at(&lines, line);
    }
    assert_eq!(lines.iter().filter(|line| line.text == "a name after a put: false").count(), 3);
    for line in ["then there is f,", "the fourth: true", "the first is forgotten: true", "the third is not: true"] {
        at(&lines, line);
    }
}

struct AtOnce;

impl Part for AtOnce {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let (leads, store) = (leaders(backend).await.1, slow_store());
        for lag in 0..30_u32 {
            let request = format!("{lag}");
            let late = async {
                sleep_s(f64::from(lag) / 1e3).await;
                adds(&store, leads.lead(), &request, 1, "late").await
            };
            let (early, late) = tokio::join!(adds(&store, leads.lead(), &request, 1, "early"), late);
            println!("once: {}", early != late);
        }
        println!("lines: {}", content(&store).await.matches(',').count());
    }
}

#[test]
fn a_change_of_an_object_that_is_asked_for_twice_at_once_is_made_once() {
    let lines = lines(&etcd::SERVICE, || play(AtOnce));
    println!("{}", all(&lines));
    assert_eq!(lines.iter().filter(|line| line.text == "once: true").count(), 30);
    at(&lines, "lines: 30");
}
