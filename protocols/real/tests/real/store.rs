//! The store behind real sockets: what it believes, decides and keeps.
use crate::store_common::{Client, Folder, SEALED_7, STATE, Server, Text, seal, settings, signed, write};
use protocols::{
    history::{Kind, json::Reader},
    message::WriteVerdict,
};
use protocols_real::store::{
    Auth, Keep, StoreError, StoreSettings, audit::Retention, backend::Backend, dropped, embedded::Embedded, export,
    loaded::Rules, token::KeyError, wire,
};
use std::{sync::Arc, time::Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

const NO_MAC: &str = r#"{"refused":{"why":"the mac is missing or does not vouch for this request"}}"#;

/// The MAC in a signed request.
fn mac(signed: &str) -> &str {
    signed.rsplit('"').nth(1).unwrap()
}

#[tokio::test]
async fn a_forged_token_is_refused_and_bricks_nothing() {
    let folder = Folder::new();
    let server = Server::start(settings(Keep::Embedded(folder.store()))).await;
    let mut client = server.client().await;
    let highest = (1 << 62) - 1;
    assert_eq!(client.ask(&seal("n9", 1, highest, "")).await, NO_MAC);
    assert_eq!(client.ask(&seal("n9", 1, highest, &"0".repeat(64))).await, NO_MAC);
    // A valid MAC for another token, generation or node is invalid here.
    let sealing = signed(&seal("n1", 1, 7, ""));
    let overheard = mac(&sealing);
    for forged in [seal("n1", 1, highest, overheard), seal("n1", 2, 7, overheard), seal("n2", 1, 7, overheard)] {
        assert_eq!(client.ask(&forged).await, NO_MAC);
    }
    assert_eq!(client.ask(&write("n1", 1, highest, 1, "shop:1", overheard)).await, NO_MAC);
    let untouched = r#"{"state":{"resource":"sequence","highest":0,"owner":null,"seq":0,"version":0}}"#;
    assert_eq!(client.ask(STATE).await, untouched);
    assert_eq!(client.ask(&sealing).await, SEALED_7);
    let written = r#"{"written":{"resource":"sequence","generation":1,"seq":1,"request":"shop:1","verdict":"ok"}}"#;
    assert_eq!(client.ask(&signed(&write("n1", 1, 7, 1, "shop:1", ""))).await, written);
    // Refusals are not in the audit.
    let audit = Text::default();
    assert_eq!(server.audit.export(audit.clone()).await, Ok(2));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_overheard_writes_nothing_else_and_nothing_twice() {
    let folder = Folder::new();
    let server = Server::start(settings(Keep::Embedded(folder.store()))).await;
    let mut leader = server.client().await;
    let overheard = [seal("n1", 1, 7, ""), write("n1", 1, 7, 1, "shop:1", "")].map(|line| signed(&line));
    for line in &overheard {
        assert!(leader.ask(line).await.contains(r#""verdict":"ok""#), "{line}");
    }
    let mut thief = server.client().await;
    for mac in overheard.iter().map(|line| mac(line)) {
        for other in [write("n1", 1, 7, 2, "thief:1", mac), write("n1", 1, 7, 2, "shop:2", mac)] {
            assert_eq!(thief.ask(&other).await, NO_MAC);
            assert_eq!(thief.ask(&other.replace("sequence", "schedule")).await, NO_MAC);
        }
    }
    // The very same requests again change nothing, and the leader goes on.
    let before = leader.ask(STATE).await;
    for line in &overheard {
        let answer = thief.ask(line).await;
        assert!(answer.contains(r#"{"duplicate":{"seq":1}}"#) || answer.contains("sealed"), "{answer}");
        assert_eq!(leader.ask(STATE).await, before);
    }
    assert!(leader.ask(&signed(&write("n1", 1, 7, 2, "shop:2", ""))).await.contains(r#""verdict":"ok""#));
    // Once there is a successor, they are fenced.
    assert!(leader.ask(&signed(&seal("n2", 1, 8, ""))).await.contains(r#""verdict":"ok""#));
    for line in &overheard {
        assert!(thief.ask(line).await.contains(r#"{"fenced":{"highest":8}}"#), "{line}");
    }
    server.stop().await.unwrap();
}

#[test]
fn a_store_without_a_key_says_so() {
    assert!(Auth::from_options(None, true).is_ok());
    let why = Auth::from_options(None, false).map(|_| ()).unwrap_err();
    assert_eq!(why, KeyError::None);
    assert!(Auth::from_options(Some(std::path::Path::new("/nowhere")), false).is_err());
    assert!(Auth::from_options(Some(std::path::Path::new("/nowhere")), true).is_err());
}

#[tokio::test]
async fn a_restart_keeps_ledgers_requests_and_audit() {
    let folder = Folder::new();
    let server = Server::insecure(folder.store()).await;
    let mut client = server.client().await;
    client.ask(&seal("n1", 1, 7, "")).await;
    for seq in 1..=3 {
        client.ask(&write("n1", 1, 7, seq, &format!("shop:{seq}"), "")).await;
    }
    let before = client.ask(STATE).await;
    let running = export(&Keep::Embedded(folder.store()), Text::default()).await;
    assert_eq!(running.unwrap_err(), StoreError::InUse(folder.store()));
    server.stop().await.unwrap();

    let server = Server::insecure(folder.store()).await;
    let mut client = server.client().await;
    assert_eq!(client.ask(STATE).await, before);
    let again = client.ask(&write("n1", 1, 7, 2, "shop:2", "")).await;
    assert!(again.contains(r#""verdict":{"duplicate":{"seq":2}}"#), "{again}");
    assert!(client.ask(&write("n1", 1, 7, 4, "shop:4", "")).await.contains(r#""verdict":"ok""#));
    client.ask(&seal("n2", 1, 8, "")).await;
    let stale = client.ask(&write("n1", 1, 7, 5, "shop:5", "")).await;
    assert!(stale.contains(r#""verdict":{"fenced":{"highest":8}}"#), "{stale}");
    server.stop().await.unwrap();

    let audit = Text::default();
    assert_eq!(export(&Keep::Embedded(folder.store()), audit.clone()).await, Ok(8));
    let events: Vec<_> = Reader::new(&audit.bytes()[..]).unwrap().map(|event| event.unwrap().kind).collect();
    let verdicts: Vec<_> = events
        .iter()
        .filter_map(|kind| match kind {
            Kind::Apply { write, verdict, .. } => Some((write.seq, *verdict)),
            _ => None,
        })
        .collect();
    let (ok, fenced) = (WriteVerdict::Ok, WriteVerdict::Fenced { highest: 8 });
    let again = WriteVerdict::Duplicate { seq: 2 };
    assert_eq!(verdicts, [(1, ok), (2, ok), (3, ok), (2, again), (4, ok), (5, fenced)]);
}

#[tokio::test]
async fn without_fencing_a_stale_clean_up_deletes_what_the_successor_made() {
    let operate = |operation: &str, node: &str, token: u64, seq: u64, plan: u64| {
        format!(
            r#"{{"write":{{"resource":"plans","node":"{node}","generation":1,"token":{token},"seq":{seq},"read_version":0,"request":"{node}:{seq}","operation":"{operation}","payload":{{"number":{plan},"at_us":1}}}}}}"#
        )
    };
    for fencing in [true, false] {
        let rules = Rules { fencing, ..Rules::default() };
        let folder = Folder::new();
        let keep = Keep::Embedded(folder.store());
        let server = Server::start(StoreSettings { auth: Auth::Insecure, rules, ..settings(keep.clone()) }).await;
        let mut client = server.client().await;
        for (node, token) in [("n1", 7), ("n2", 8)] {
            client.ask(&seal(node, 1, token, "").replace("sequence", "plans")).await;
        }
        client.ask(&operate("make", "n2", 8, 1, 40)).await;
        client.ask(&operate("enact", "n2", 8, 2, 40)).await;
        client.ask(&operate("delete", "n1", 7, 3, 9)).await;
        let state = client.ask(r#"{"state":{"resource":"plans"}}"#).await;
        let plans = if fencing { r#"{"made":[40],"live":40}"# } else { r#"{"made":[],"live":40}"# };
        assert!(state.contains(plans), "with fencing {fencing}: {state}");
        server.stop().await.unwrap();
        let audit = Text::default();
        export(&keep, audit.clone()).await.unwrap();
        let audit = String::from_utf8(audit.bytes()).unwrap();
        assert_eq!(audit.contains(r#""event":"deleted""#), !fencing, "{audit}");
    }
}

#[tokio::test]
async fn without_fencing_the_stale_write_takes_effect() {
    let rules = Rules { fencing: false, ..Rules::default() };
    let folder = Folder::new();
    let keep = Keep::Embedded(folder.store());
    let server = Server::start(StoreSettings { auth: Auth::Insecure, rules, ..settings(keep) }).await;
    let mut client = server.client().await;
    client.ask(&seal("n1", 1, 7, "")).await;
    client.ask(&seal("n2", 1, 8, "")).await;
    for (node, token) in [("n2", 8), ("n1", 7)] {
        let answer = client.ask(&write(node, 1, token, 1, "shop:1", "")).await;
        assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn many_writes_share_a_commit() {
    let folder = Folder::new();
    let server = Server::insecure(folder.store()).await;
    let mut client = server.client().await;
    client.ask(&seal("n1", 1, 7, "")).await;
    let count = 5000;
    let asked: String = (1..=count).map(|seq| write("n1", 1, 7, seq, &format!("shop:{seq}"), "") + "\n").collect();
    let start = Instant::now();
    let Client { mut read, write } = client;
    let mut write = write;
    let asking = tokio::spawn(async move { write.write_all(asked.as_bytes()).await.map(|()| write) });
    for _ in 0..count {
        let mut line = String::new();
        read.read_line(&mut line).await.unwrap();
        assert!(line.contains(r#""verdict":"ok""#), "{line}");
    }
    println!("{:.0} durable writes a second on one connection", count as f64 / start.elapsed().as_secs_f64());
    drop(asking.await);
    server.stop().await.unwrap();
}

/// Old audit lines are dropped, but the ledger stays: the store's decisions do not depend on the audit.
#[tokio::test]
async fn an_audit_that_is_cut_loses_nothing_the_ledger_needs() {
    const DECISIONS: u64 = 1_500;
    let kept = 16 << 10;
    // Long lines, so that the audit outweighs the steps in which the file grows.
    let shop = "shop".repeat(15);
    let audit = Retention { bytes: Some(kept), ..Retention::ALL };
    let mut sizes = Vec::new();
    for audit in [Retention::ALL, audit] {
        let folder = Folder::new();
        let keep = Keep::Embedded(folder.store());
        let rules = Rules { remembered: 100, audit, ..Rules::default() };
        let settings = || StoreSettings { auth: Auth::Insecure, rules, ..settings(keep.clone()) };
        let server = Server::start(settings()).await;
        let mut client = server.client().await;
        assert_eq!(client.ask(&seal("n1", 1, 7, "")).await, SEALED_7);
        for seq in 1..=DECISIONS {
            let answer = client.ask(&write("n1", 1, 7, seq, &format!("{shop}:{seq}"), "")).await;
            assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
        }
        server.stop().await.unwrap();
        let size = |path| std::fs::metadata(path).unwrap().len();
        sizes.push(size(folder.store()));
        let lines = Text::default();
        let count = export(&keep, lines.clone()).await.unwrap();
        let dropped = dropped(&keep).await.unwrap();
        match audit == Retention::ALL {
            true => assert_eq!((count, dropped), (DECISIONS + 1, None)),
            false => {
                let dropped = dropped.expect("most of it");
                assert_eq!(count + dropped.lines, DECISIONS + 1);
                let said = dropped.to_string();
                assert!(said.starts_with(&format!("audit begins at line {}: ", dropped.lines + 1)), "{said}");
                let bytes = lines.bytes();
                assert!(bytes.len() as u64 <= kept + 512 + count, "{} bytes", bytes.len());
                let last = Reader::new(bytes.as_slice()).unwrap().last().expect("lines are left").unwrap();
                assert!(matches!(last.kind, Kind::Apply { .. }), "{last:?}");
            }
        }
        // As before: stale tokens are refused, the latest request is answered again, and an old one is not applied
        // twice.
        let server = Server::start(settings()).await;
        let mut client = server.client().await;
        let answer = client.ask(&seal("n0", 1, 6, "")).await;
        assert!(answer.contains(r#""verdict":{"fenced":{"highest":7}}"#), "{answer}");
        let next = DECISIONS + 1;
        let answer = client.ask(&write("n1", 1, 7, next, &format!("{shop}:{DECISIONS}"), "")).await;
        assert!(answer.contains(&format!(r#""verdict":{{"duplicate":{{"seq":{DECISIONS}}}}}"#)), "{answer}");
        let answer = client.ask(&write("n1", 1, 7, next, &format!("{shop}:1"), "")).await;
        assert!(answer.contains(r#""failed""#), "{answer}");
        let answer = client.ask(&write("n1", 1, 7, next + 1, "new:1", "")).await;
        assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
        server.stop().await.unwrap();
    }
    assert!(sizes[1] < sizes[0], "{sizes:?}");
}

/// A store that is to keep less gives back the space of a large file when it opens.
#[tokio::test]
async fn a_store_that_keeps_less_than_before_compacts_its_file() {
    let folder = Folder::new();
    let size = || std::fs::metadata(folder.store()).unwrap().len();
    let store = Embedded::open(&folder.store(), Rules::default()).unwrap();
    let mut backend = store.clone();
    for batch in 0..120u64 {
        let writes = (1..=1000).map(|nth| wire::parse(&write("n1", 1, 7, batch * 1000 + nth, "shop:0", "")).unwrap());
        // Most are out of order; refusals are audited as well.
        backend.decide(&Arc::new(writes.collect())).await.unwrap();
    }
    drop((store, backend));
    let before = size();
    let audit = Retention { bytes: Some(64 << 10), ..Retention::ALL };
    drop(Embedded::open(&folder.store(), Rules { audit, ..Rules::default() }).unwrap());
    let after = size();
    assert!(before > 16 << 20 && after < before / 2, "{before} bytes before, {after} after");
}
