//! `kill -9` of the store under load, a hundred times: no acknowledged write is lost, and none is applied twice.
//!
//! The store is this test binary, started again with an order in its environment. It inherits the listening socket, so
//! its address stays the same.
use crate::store_common::{Folder, Text, leader::Leader, settings};
use protocols_real::store::{Keep, export, postgres, serve};
use std::{
    collections::VecDeque,
    net::TcpListener,
    os::fd::{AsFd, OwnedFd},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The child's storage: a path, or a PostgreSQL URL.
const ORDER: &str = "FENCEPOST_TEST_STORE";

fn keep(order: &str) -> Keep {
    match order.starts_with("postgresql:") {
        true => Keep::Postgres(postgres::PostgresSettings::new(order, None, None).unwrap()),
        false => Keep::Embedded(order.into()),
    }
}

/// The store process, not a test in itself.
#[test]
fn the_store_process() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let socket: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        serve(listener, settings(keep(&order)), CancellationToken::new()).await.unwrap();
    });
}

fn spawn(listener: &TcpListener, order: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = module_path!().split_once("::").expect("a module of this binary").1;
    command.args(["--exact", &format!("{name}::the_store_process"), "--nocapture"]).env(ORDER, order);
    command.stdin(OwnedFd::from(listener.try_clone().unwrap())).stdout(Stdio::null()).spawn().unwrap()
}

/// Kills one of `processes` stores, `kills` times, and re-elects the leader every tenth time. Returns the leader with
/// its answers.
async fn kill_often(order: &str, kills: u32, processes: u32) -> Leader {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut leader = Leader::new(listener.local_addr().unwrap());
    let mut stores: VecDeque<_> = (0..processes).map(|_| spawn(&listener, order)).collect();
    for kill in 1..=kills {
        // The times vary: primes spread the kills over the rhythm of commits and retries.
        leader.work(Duration::from_millis(u64::from(kill * 37 % 41)), 50).await;
        kill_process(stores.pop_front().expect("one runs"));
        stores.push_back(spawn(&listener, order));
        if kill % 10 == 0 {
            leader.elect();
        }
    }
    leader.finish().await;
    stores.into_iter().for_each(kill_process);
    leader
}

fn kill_process(mut store: Child) {
    store.kill().unwrap();
    store.wait().unwrap();
}

async fn survives(name: &str, order: &str, kills: u32, processes: u32) {
    let start = Instant::now();
    let leader = kill_often(order, kills, processes).await;
    let audit = Text::default();
    let lines = export(&keep(order), audit.clone()).await.unwrap();
    if let Ok(path) = std::env::var("FENCEPOST_TEST_AUDIT") {
        std::fs::write(path, audit.bytes()).unwrap();
    }
    let (applied, lost, doubled) = leader.account(&audit.bytes());
    println!(
        "{name}: {kills} kills in {:.1} s, {} acknowledged ({} as duplicates), {applied} applied, {lost} lost, {doubled} \
         doubled, {lines} audit lines",
        start.elapsed().as_secs_f64(),
        leader.acknowledged.len(),
        leader.duplicates,
    );
    assert_eq!((lost, doubled), (0, 0));
    assert!(leader.acknowledged.len() as u32 >= 50 * kills);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_or_doubled() {
    let folder = Folder::new();
    survives("embedded", folder.store().to_str().unwrap(), 100, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_by_two_stores_that_share_a_postgres() {
    let Some(server) = crate::store_common::postgres::start() else { return };
    let url = server.url(&server.database_name().await);
    survives("two stores on postgres", &url, 30, 2).await;
}
