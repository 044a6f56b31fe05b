//! What a fence lets pass. The resource is a table in the database that the seats stand on, too; `each` has the others.

mod each;
mod http;
mod once;
mod own_store;

use crate::world::{Part, TTL_S, all, at, find, lines, lines_with, node, play, settings, sleep_s, until_s};
use fencepost_seat::{Backend, Fenced, FencedSql, Lead, Seat, Term, fence::FenceError, fence::postgres::MIGRATION};
use protocols::service::postgres::SERVICE;
use scenarios::fault::Fault;
use std::{future::pending, time::Duration};
use tokio::time::Instant;
use tokio_postgres::{Client, NoTls};

type Written = Result<(), FenceError<tokio_postgres::Error>>;

async fn database() -> Client {
    let login = "postgres://invoices@postgres/invoices";
    let (database, connection) = tokio_postgres::connect(login, NoTls).await.unwrap();
    tokio::spawn(connection);
    database
}

/// Two leaders of one resource, the second with a higher token. Seats of different names stand for two moments of one:
/// neither belief is over, as after a pause that nobody has noticed yet.
async fn leaders<B: Backend<Fencing = Fenced>>(backend: B) -> (Term<Fenced>, Term<Fenced>) {
    let seat = |name: &str| Seat::new(backend.clone(), name).ttl(Duration::from_secs_f64(TTL_S)).member("x").unwrap();
    let (older, newer) = (seat("older"), seat("newer"));
    // Each seat counts its own tokens. Of these, the higher one has more digits.
    for (seat, times) in [(&older, 1), (&newer, 9)] {
        for _ in 0..times {
            seat.campaign().await.finish().await;
        }
    }
    let (older, newer) = (older.campaign().await, newer.campaign().await);
    assert!(older.lead().token() < newer.lead().token());
    (older, newer)
}

async fn tables() {
    let table = "CREATE TABLE IF NOT EXISTS written (id bigserial, what text PRIMARY KEY);";
    database().await.batch_execute(&format!("{MIGRATION}{table}")).await.unwrap();
}

/// Writes one row, after so many seconds.
async fn write(database: &mut Client, lead: &Lead<Fenced>, what: &str, after_s: f64) -> Written {
    let insert = "INSERT INTO written (what) VALUES ($1)";
    let write = database.fenced(lead, "table", async |sql| {
        println!("{what} begins");
        sleep_s(after_s).await;
        sql.execute(insert, &[&what]).await.map(drop)
    });
    let written = write.await;
    println!("{what}: {}", if let Err(error) = &written { error.to_string() } else { "written".to_owned() });
    written
}

async fn rows(database: &Client) -> Vec<String> {
    let rows = database.query("SELECT what FROM written ORDER BY id", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

struct WritesTwice;

impl Part for WritesTwice {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((older, newer), mut sql) = (leaders(backend).await, database().await);
        for (term, what) in [(&older, "a"), (&older, "b"), (&newer, "c"), (&newer, "d"), (&older, "e")] {
            let _ = write(&mut sql, term.lead(), what, 0.0).await;
        }
        println!("n1 has written {:?}", rows(&sql).await);
        println!("the older is over: {:?}", older.lead().ended().await);
        println!("the newer: {:?}", newer.lead().check());
    }
}

#[test]
fn a_leader_writes_until_a_newer_one_has_written() {
    let lines = lines(&SERVICE, || play(WritesTwice));
    println!("{}", all(&lines));
    at(&lines, "n1 has written [\"a\", \"b\", \"c\", \"d\"]");
    at(&lines, "e: not written: the resource refused the token");
    assert!(find(&lines, "e begins").is_none());
    at(&lines, "the older is over: Refused");
    at(&lines, "the newer: Ok(())");
}

struct WritesSlowly;

impl Part for WritesSlowly {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((older, newer), mut first, mut second) = (leaders(backend).await, database().await, database().await);
        let slow = write(&mut first, older.lead(), "older", 2.0);
        let quick = async {
            sleep_s(1.0).await;
            write(&mut second, newer.lead(), "newer", 0.0).await
        };
        let (slow, quick) = tokio::join!(slow, quick);
        println!("n1 has written both: {}", slow.is_ok() && quick.is_ok());
    }
}

#[test]
fn a_newer_leader_waits_for_a_write_that_is_under_way() {
    let lines = lines(&SERVICE, || play(WritesSlowly));
    println!("{}", all(&lines));
    at(&lines, "n1 has written both: true");
    assert!(at(&lines, "newer begins") >= at(&lines, "older begins") + 2.0);
}

struct OutlastsItsLead;

impl Part for OutlastsItsLead {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        tables().await;
        let ((older, _newer), mut sql) = (leaders(backend).await, database().await);
        let lead = older.lead().clone();
        let refuses = async {
            sleep_s(1.0).await;
            lead.refused();
        };
        let (written, ()) = tokio::join!(write(&mut sql, older.lead(), "late", 2.0), refuses);
        println!("n1: {:?}, and there is {:?}", written.is_ok(), rows(&sql).await);
        let _ = write(&mut sql, older.lead(), "later", 0.0).await;
    }
}

#[test]
fn a_write_that_outlasts_its_leadership_is_not_committed() {
    let lines = lines(&SERVICE, || play(OutlastsItsLead));
    println!("{}", all(&lines));
    at(&lines, "n1: false, and there is []");
    at(&lines, "later: not written: the resource refused the token");
    assert!(find(&lines, "later begins").is_none(), "it is over, so nothing is asked");
}

struct PausedInTheMiddle;

impl Part for PausedInTheMiddle {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let began = Instant::now();
        let mut sql = database().await;
        match name {
            "n1" => {
                tables().await;
                let (older, _newer) = leaders(backend).await;
                until_s(began, 4.0).await;
                let _ = write(&mut sql, older.lead(), "older", 2.0).await;
            }
            "n2" => {
                until_s(began, 3.0).await;
                // It has another name and another seat, and the higher token.
                let seat = settings(backend).member(name).unwrap();
                seat.campaign().await.finish().await;
                let term = seat.campaign().await;
                until_s(began, 5.5).await;
                let _ = write(&mut sql, term.lead(), "newer", 0.0).await;
                pending::<()>().await;
            }
            _ => {}
        }
    }
}

#[test]
fn a_leader_that_is_paused_in_a_write_keeps_its_successor_waiting_for_a_lease_at_most() {
    let pause = Fault::Pause { node: node("n1"), for_ms: 20_000.0 };
    let lines = lines_with(&SERVICE, || play(PausedInTheMiddle), vec![(5.0, pause)]);
    println!("{}", all(&lines));
    let written = at(&lines, "newer: written");
    assert!((5.5..5.0 + TTL_S).contains(&written), "{written}");
    assert!(find(&lines, "older: written").is_none());
}
