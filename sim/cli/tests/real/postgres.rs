//! PostgreSQL as the coordination service: our nodes and sessions of `psql` take part in one election, on the row and
//! on the advisory lock.

use super::common::{
    Folder, Process, SOON, eventually,
    fleet::{Fleet, accepted},
    http, servers,
};
use protocols::service::postgres::key_of;
use std::{
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

/// A server with the role that nodes log in as.
fn database(folder: &Folder, what: &str) -> Option<servers::Postgres> {
    let postgres = servers::postgres(folder, what, servers::Access::Anybody)?;
    postgres.psql("create role fencepost superuser login").expect("a superuser may");
    Some(postgres)
}

/// A session of `psql` that runs these statements one after the other, with its output.
fn session(postgres: &servers::Postgres, folder: &Folder, name: &str, statements: &[&str]) -> Process {
    let mut command = Command::new("psql");
    command.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &postgres.url()]);
    command.args(statements.iter().flat_map(|statement| ["-c", statement]));
    Process::start(command, &folder.path().join(name))
}

/// The holder and the token in the row.
fn row(postgres: &servers::Postgres) -> (String, u64) {
    let row = postgres.psql("select split_part(holder, '/', 1), token from fencepost_lock where name = 'leader'");
    let row = row.expect("there is a row");
    let (holder, token) = row.trim().split_once('|').expect("two columns");
    (holder.to_owned(), token.parse().expect("a number"))
}

#[test]
fn a_psql_session_and_our_node_share_the_row() {
    const WHAT: &str = "a row shared with psql";
    const TAKE: &str = "insert into fencepost_lock values ('leader', 'psql/1', now(), now() + interval '1 hour', 1) \
                        on conflict (name) do update set holder = excluded.holder, locked_at = excluded.locked_at, \
                        lock_until = excluded.lock_until, token = fencepost_lock.token + 1 \
                        where fencepost_lock.lock_until <= now() returning token";
    let folder = Folder::new();
    let Some(postgres) = database(&folder, WHAT) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "2s"]);
    fleet.start_nodes(1, "postgres", postgres.server.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");
    assert_eq!(row(&postgres), ("n1".to_owned(), 1));

    // Ours excludes psql, for longer than the lease lasts.
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert_eq!(postgres.psql(TAKE).as_deref().map(str::trim), Ok(""));
        sleep(Duration::from_millis(100));
    }
    assert!(http::leads(n1));

    // psql gets the row when ours resigns, with the next token, and excludes ours.
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    let taken =
        eventually("psql takes the row", SOON, || postgres.psql(TAKE).ok().filter(|told| !told.trim().is_empty()));
    assert_eq!(taken.trim(), "2");
    for _ in 0..30 {
        assert!(!http::leads(n1));
        sleep(Duration::from_millis(100));
    }
    assert_eq!(row(&postgres), ("psql".to_owned(), 2));

    // Ours leads again when psql gives it back.
    postgres.psql("update fencepost_lock set lock_until = now() where holder = 'psql/1'").expect("it is psql's");
    eventually("our node leads again", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");
    assert_eq!(row(&postgres), ("n1".to_owned(), 3));

    // A session that only reads, but locks the row, stops the leader: its extension waits, and its belief ends.
    let look = "begin; select * from fencepost_lock where name = 'leader' for update; select pg_sleep(60)";
    let mut looking = session(&postgres, &fleet.folder, "looking.log", &[look]);
    eventually("our node leads no more", SOON, || (!http::leads(n1)).then_some(()));
    looking.signal("INT");
    looking.wait(SOON);
    eventually("our node leads once more", SOON, || http::leads(n1).then_some(()));
    let third = fleet.number("shop:3");
    assert_eq!(accepted(&fleet.audit(&[])), [first, second, third]);
}

#[test]
fn a_psql_session_and_our_node_exclude_each_other_by_the_advisory_lock() {
    const WHAT: &str = "an advisory lock shared with psql";
    let folder = Folder::new();
    let Some(postgres) = database(&folder, WHAT) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    fleet.tell_nodes(&["--lease-ttl", "3s"]);
    fleet.start_nodes(1, "pg-advisory", postgres.server.address);
    let n1 = fleet.node(&fleet.leader());
    let first = fleet.number("shop:1");

    // It waits behind ours, and has the lock as soon as ours resigns.
    let lock = format!("select pg_advisory_lock({})", key_of(0));
    let hold = [lock.as_str(), "select 'held'", "select pg_sleep(600)"];
    let mut stranger = session(&postgres, &fleet.folder, "stranger.log", &hold);
    sleep(Duration::from_secs(4));
    assert!(!stranger.log().contains("held") && http::leads(n1), "{}", stranger.log());
    assert_eq!(http::ask(n1, "POST", "/resign").map(|a| a.status), Some(202));
    eventually("psql has the lock", SOON, || stranger.log().contains("held").then_some(()));
    for _ in 0..40 {
        assert!(!http::leads(n1), "{}", stranger.log());
        sleep(Duration::from_millis(100));
    }

    // Ours has it when that session ends.
    stranger.signal("INT");
    stranger.wait(SOON);
    eventually("our node leads", SOON, || http::leads(n1).then_some(()));
    let second = fleet.number("shop:2");

    // Our session is terminated: the waiting session has the lock, and ours learns of it at its next ping at the
    // latest.
    let waiting = session(&postgres, &fleet.folder, "waiting.log", &hold);
    eventually("psql waits", SOON, || {
        let waits = postgres.psql("select count(*) from pg_locks where locktype = 'advisory' and not granted");
        (waits.as_deref().map(str::trim) == Ok("1")).then_some(())
    });
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'n1'";
    assert_eq!(postgres.psql(end).as_deref().map(str::trim), Ok("t"));
    eventually("psql has the lock", SOON, || waiting.log().contains("held").then_some(()));
    eventually("our node leads no more", SOON, || (!http::leads(n1)).then_some(()));
    drop(waiting);
    assert_eq!(accepted(&fleet.audit(&[])), [first, second]);
}
