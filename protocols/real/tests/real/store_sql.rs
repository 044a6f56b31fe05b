//! A plain SQL check of a store on PostgreSQL: `lag()` over the accepted writes finds a number that does not rise.
use crate::store_common::{Client, Server, postgres, seal, settings, write};
use protocols_real::store::{Auth, Keep, StoreSettings, loaded::Rules, postgres::PostgresSettings};

const SEQ_RISES: &str = include_str!("../../sql/seq_rises.sql");

/// Requests a write, and returns its verdict.
async fn written(client: &mut Client, node: &str, token: u64, seq: u64, request: &str) -> String {
    let answer = client.ask(&write(node, 1, token, seq, request, "")).await;
    // `"ok"`, or `{"fenced":{"highest":8}}`.
    let verdict = answer.split_once(r#""verdict":"#).map_or(&*answer, |(_, rest)| rest.trim_start_matches(['{', '"']));
    verdict.split('"').next().unwrap_or_default().to_owned()
}

/// A leader writes 1 to 3 and stalls, its successor writes 4 and 5, and then a late write of the first arrives. The
/// store restarts in between, so its stored state counts. Returns the late write's verdict, and the rows that the SQL
/// finds.
async fn late_write(server: &postgres::Server, fencing: bool) -> (String, Vec<String>) {
    let database = server.database_name().await;
    let start = || async {
        let keep = Keep::Postgres(PostgresSettings::new(&server.url(&database), None, None).unwrap());
        let rules = Rules { fencing, ..Rules::default() };
        Server::start(StoreSettings { auth: Auth::Insecure, rules, ..settings(keep) }).await
    };
    let store = start().await;
    let mut client = store.client().await;
    client.ask(&seal("n1", 1, 7, "")).await;
    for seq in 1..=3 {
        assert_eq!(written(&mut client, "n1", 7, seq, &format!("shop:{seq}")).await, "ok");
    }
    // With fencing, a retry changes nothing.
    if fencing {
        assert_eq!(written(&mut client, "n1", 7, 3, "shop:3").await, "duplicate");
    }
    drop(client);
    store.stop().await.unwrap();
    let store = start().await;
    let mut client = store.client().await;
    client.ask(&seal("n2", 1, 8, "")).await;
    for seq in 4..=5 {
        assert_eq!(written(&mut client, "n2", 8, seq, &format!("shop:{seq}")).await, "ok");
    }
    let late = written(&mut client, "n1", 7, 4, "shop:9").await;
    // In any case, numbers continue from the highest.
    assert_eq!(written(&mut client, "n2", 8, 6, "shop:6").await, "ok");
    drop(client);
    store.stop().await.unwrap();
    let query = SEQ_RISES.trim_end().trim_end_matches(';');
    let rows =
        format!("select concat_ws(' ', resource, previous_node, previous_seq, node, seq) from ({query}\n) as found");
    (late, server.sql(&database, &rows).await)
}

#[tokio::test]
async fn lag_finds_the_number_of_a_stale_write_and_nothing_behind_a_fence() {
    let Some(server) = postgres::start() else { return };
    assert_eq!(late_write(&server, true).await, ("fenced".to_owned(), vec![]));
    assert_eq!(late_write(&server, false).await, ("ok".to_owned(), vec!["sequence n2 5 n1 4".to_owned()]));
}

#[tokio::test]
async fn each_resource_has_numbers_of_its_own() {
    let Some(server) = postgres::start() else { return };
    let database = server.database_name().await;
    let keep = PostgresSettings::new(&server.url(&database), None, None).unwrap();
    // Only to create its tables.
    Server::start(settings(Keep::Postgres(keep))).await.stop().await.unwrap();
    let line = |resource: &str, seq: u64| {
        format!(r#"('{{"event":"apply","resource":"{resource}","node":"n1","token":7,"seq":{seq},"verdict":"ok"}}')"#)
    };
    let find = SEQ_RISES.trim_end().trim_end_matches(';');
    let find = format!("select concat_ws(' ', resource, previous_seq, seq) from ({find}\n) as found");
    let lines = [line("sequence", 9), line("schedule", 1), line("sequence", 10), line("schedule", 2)].join(",");
    server.sql(&database, &format!("insert into fenced_audit (line) values {lines}")).await;
    assert!(server.sql(&database, &find).await.is_empty());
    // A repeated number, and one that falls; the one after that rises again.
    let lines = [line("sequence", 10), line("schedule", 1), line("schedule", 2)].join(",");
    server.sql(&database, &format!("insert into fenced_audit (line) values {lines}")).await;
    assert_eq!(server.sql(&database, &find).await, ["sequence 10 10", "schedule 2 1"]);
}
