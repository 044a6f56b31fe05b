//! One suite of decisions, three arms: the store's own database, PostgreSQL, and two stores that share a PostgreSQL. All of
//! them must decide alike.
//!
//! A transcript lies in `testdata/store/`: `> REQUEST` is asked, `>> REQUEST` lines are asked together, `! restart` stops the
//! store and starts it again. A request is `[RESOURCE] seal NODE TERM TOKEN`, `… write NODE TERM TOKEN SEQ CLIENT:NUMBER` or
//! `… state`. The `<` lines are the answers as they come over the wire. `FENCEPOST_UPDATE=1` writes them anew.
#![cfg(feature = "real")]

mod store_common;

use protocols::real::store::{Auth, Keep, Settings, export};
use std::{fmt::Write as _, fs, path::Path};
use store_common::{Folder, Server, Text, postgres, settings};

/// Stores that share what they keep.
struct Arm {
    keep: Keep,
    stores: usize,
}

impl Arm {
    async fn start(&self) -> Vec<Server> {
        let mut servers = Vec::new();
        for _ in 0..self.stores {
            let settings = Settings { auth: Auth::Insecure, ..settings(self.keep.clone()) };
            servers.push(Server::start(settings).await);
        }
        servers
    }

    /// The transcript with today's answers. Requests go to the stores in turn.
    async fn replay(&self, transcript: &str) -> String {
        let (mut servers, mut text, mut together) = (self.start().await, String::new(), Vec::new());
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
                servers = self.start().await;
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "cannot read the line {line:?}");
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
    let (resource, words) = if words[0] == "schedule" { ("schedule", &words[1..]) } else { ("sequence", &words[..]) };
    match words {
        ["seal", node, term, token] => {
            format!(r#"{{"seal":{{"resource":"{resource}","node":"{node}","term":{term},"token":{token}}}}}"#)
        }
        ["write", node, term, token, seq, request] => format!(
            r#"{{"write":{{"resource":"{resource}","node":"{node}","term":{term},"token":{token},"seq":{seq},"read_version":0,"request":"{request}"}}}}"#
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
            assert_eq!(export(&keep, Text::default()).await, Ok(decisions as u64));
        }
    }
}
