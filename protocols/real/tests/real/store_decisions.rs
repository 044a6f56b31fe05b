//! One suite of decisions for three arms: the store's own database, PostgreSQL, and two stores sharing a PostgreSQL.
//! All must decide alike.
//!
//! Transcripts are in `testdata/store/`. `> REQUEST` is sent, consecutive `>> REQUEST` lines are sent together, `!
//! restart` restarts the store, and `remember N` at the head sets how many numbers it remembers. A request is
//! `[RESOURCE] seal NODE TERM TOKEN`, `… write NODE TERM TOKEN SEQ CLIENT:NUMBER`, `… make|enact|delete NODE TERM TOKEN
//! SEQ CLIENT:NUMBER PLAN` or `… state`. The `<` lines are the answers on the wire. `FENCEPOST_UPDATE=1` rewrites them.
use crate::store_common::{Folder, Server, Text, postgres, seal, settings, write};
use protocols_real::store::{
    self, Auth, Keep, export,
    loaded::{REMEMBERED, Rules},
    postgres::PostgresSettings,
};
use std::{fmt::Write as _, fs, path::Path, time::Duration};

/// Stores that share their storage.
struct Arm {
    keep: Keep,
    stores: usize,
}

impl Arm {
    async fn start(&self, rules: Rules) -> Vec<Server> {
        let mut servers = Vec::new();
        for _ in 0..self.stores {
            let settings = store::StoreSettings { auth: Auth::Insecure, rules, ..settings(self.keep.clone()) };
            servers.push(Server::start(settings).await);
        }
        servers
    }

    /// The transcript with the current answers. Requests go to the stores in turn.
    async fn replay(&self, transcript: &str) -> String {
        let remembered = transcript.lines().find_map(|line| line.strip_prefix("remember "));
        let remembered = remembered.map_or(REMEMBERED, |number| number.parse().unwrap());
        let rules = Rules { remembered, ..Rules::default() };
        let (mut servers, mut text, mut together) = (self.start(rules).await, String::new(), Vec::new());
        let mut turn = 0;
        let lines: Vec<_> = transcript.lines().filter(|line| !line.starts_with("< ")).collect();
        for (number, line) in lines.iter().enumerate() {
            writeln!(text, "{line}").unwrap();
            if let Some(request) = line.strip_prefix(">> ") {
                together.push(request);
                if lines.get(number + 1).is_some_and(|next| next.starts_with(">> ")) {
                    continue;
                }
            } else if let Some(request) = line.strip_prefix("> ") {
                together.push(request);
            } else if *line == "! restart" {
                for server in servers {
                    server.stop().await.unwrap();
                }
                servers = self.start(rules).await;
            } else {
                assert!(
                    line.is_empty() || line.starts_with('#') || line.starts_with("remember "),
                    "cannot read the line {line:?}"
                );
            }
            if !together.is_empty() {
                let mut client = servers[turn % self.stores].client().await;
                turn += 1;
                let asked: String = together.iter().map(|request| json(request) + "\n").collect();
                client.say(&asked).await;
                for _ in together.drain(..) {
                    writeln!(text, "< {}", client.hear().await).unwrap();
                }
            }
        }
        for server in servers {
            server.stop().await.unwrap();
        }
        text
    }
}

fn json(request: &str) -> String {
    let words: Vec<_> = request.split(' ').collect();
    let (resource, words) = match words[0] {
        named @ ("schedule" | "plans") => (named, &words[1..]),
        _ => ("sequence", &words[..]),
    };
    match words {
        ["seal", node, generation, token] => {
            format!(
                r#"{{"seal":{{"resource":"{resource}","node":"{node}","generation":{generation},"token":{token}}}}}"#
            )
        }
        ["write", node, generation, token, seq, request] => format!(
            r#"{{"write":{{"resource":"{resource}","node":"{node}","generation":{generation},"token":{token},"seq":{seq},"read_version":0,"request":"{request}"}}}}"#
        ),
        [operation, node, generation, token, seq, request, plan] => format!(
            r#"{{"write":{{"resource":"{resource}","node":"{node}","generation":{generation},"token":{token},"seq":{seq},"read_version":0,"request":"{request}","operation":"{operation}","payload":{{"number":{plan},"at_us":{plan}}}}}}}"#
        ),
        ["state"] => format!(r#"{{"state":{{"resource":"{resource}"}}}}"#),
        _ => panic!("cannot read the request {request:?}"),
    }
}

fn transcripts() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/store");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[tokio::test]
async fn embedded() {
    for file in transcripts() {
        let (folder, expected) = (Folder::new(), fs::read_to_string(&file).unwrap());
        let actual = Arm { keep: Keep::Embedded(folder.store()), stores: 1 }.replay(&expected).await;
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&file, actual).unwrap();
        } else {
            assert_eq!(actual, expected, "{file:?} differs; FENCEPOST_UPDATE=1 regenerates it");
        }
    }
}

#[tokio::test]
async fn on_postgres_alone_and_shared() {
    let Some(server) = postgres::start() else { return };
    for file in transcripts() {
        let expected = fs::read_to_string(&file).unwrap();
        for stores in [1, 2] {
            let keep = Keep::Postgres(server.database().await);
            let actual = Arm { keep: keep.clone(), stores }.replay(&expected).await;
            assert_eq!(actual, expected, "{file:?} differs on PostgreSQL with {stores} stores");
            let decisions = expected.lines().filter(|l| l.starts_with("< ") && !l.contains("\"state\"")).count();
            let audit = Text::default();
            let lines = export(&keep, audit.clone()).await;
            let written = String::from_utf8(audit.bytes()).unwrap();
            let deletions = written.matches(r#""event":"deleted""#).count();
            assert_eq!(lines, Ok((decisions + deletions) as u64));
        }
    }
}

#[tokio::test]
async fn postgres_may_come_and_go_and_psql_sees_the_ledger() {
    let Some(server) = postgres::start() else { return };
    let database = server.database_name().await;
    let tls = Some(crate::store_common::tls_config(true));
    let url = server.url(&database);
    let wary =
        PostgresSettings::new(&format!("{url}?sslmode=require"), None, Some(crate::store_common::tls_config(false)))
            .unwrap();
    assert!(export(&Keep::Postgres(wary), Text::default()).await.is_err());
    let keep = Keep::Postgres(PostgresSettings::new(&format!("{url}?sslmode=require"), None, tls).unwrap());
    let store = Server::start(settings(keep)).await;
    let mut client = store.client().await;
    let signed = crate::store_common::signed;
    client.ask(&signed(&seal("n1", 1, 7, ""))).await;
    for seq in 1..=5 {
        // Cuts all of the store's connections, like a failover.
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fencepost store'";
        server.sql("postgres", cut).await;
        let answer = client.ask(&signed(&write("n1", 1, 7, seq, &format!("shop:{seq}"), ""))).await;
        assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
    }
    // Another session holds the row, so the store waits.
    let url = server.url(&database);
    let (somebody, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    somebody.batch_execute("begin; select 1 from fenced_resource where name = 'sequence' for update").await.unwrap();
    client.say(&(signed(&write("n1", 1, 7, 6, "shop:6", "")) + "\n")).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    somebody.batch_execute("commit").await.unwrap();
    assert!(client.hear().await.contains(r#""verdict":"ok""#));
    let seen = "select concat_ws(' ', r.max_token, r.owner_node, r.owner_term, r.version, s.last_seq, s.owner_token)
                from fenced_resource r join sequence s using (name) where name = 'sequence'";
    assert_eq!(server.sql(&database, seen).await, ["7 n1 1 6 6 7"]);
    let told = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where ssl and datname is not null";
    assert_eq!(server.sql(&database, told).await, ["1"]);
    store.stop().await.unwrap();
}
