//! The store behind real sockets: which clients are answered, which are refused, and that none can harm the others.
use crate::store_common::{Client, Folder, STATE, Server, Text, seal, settings, signed, write};
use protocols::{
    history::{Kind, json::Reader},
    message::WriteVerdict,
};
use protocols_real::store::{
    Auth, Keep, StoreError, StoreSettings, audit::Retention, backend::Backend, dropped, embedded::Embedded, export,
    loaded::Rules, server::Limits, token::KeyError, wire,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

const SEALED_7: &str =
    r#"{"sealed":{"resource":"sequence","node":"n1","generation":1,"token":7,"verdict":"ok","seq":0,"version":0}}"#;

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
async fn garbage_is_refused_and_closed_while_others_are_served() {
    let folder = Folder::new();
    let server = Server::insecure(folder.store()).await;
    let mut good = server.client().await;
    assert_eq!(good.ask(&seal("n1", 1, 7, "")).await, SEALED_7);
    let long = format!(r#"{{"state":{{"resource":"{}"}}}}"#, "x".repeat(5000)) + "\n";
    let endless = "x".repeat(1 << 20);
    let table: [(&[u8], &str); 7] = [
        (b"hello\n", "the line is not a JSON object (column 1)"),
        (b"\n", "the line is not a JSON object (column 0)"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "the line is not a JSON object (column 1)"),
        (b"{\"state\":{\"resource\":\"\xff\"}}\n", "the line is not UTF-8"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", "the line is not UTF-8"),
        (long.as_bytes(), "the line is longer than 4096 bytes"),
        (endless.as_bytes(), "the line is longer than 4096 bytes"),
    ];
    for (seq, (garbage, why)) in (1..).zip(table) {
        let mut bad = server.client().await;
        // The store may hang up before an endless line has been sent.
        let _ = bad.write.write_all(garbage).await;
        assert_eq!(bad.hear().await, format!(r#"{{"refused":{{"why":"{why}"}}}}"#));
        assert_eq!(bad.hear().await, "", "the connection is closed");
        let answer = good.ask(&write("n1", 1, 7, seq, &format!("shop:{seq}"), "")).await;
        assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn half_a_line_and_silence_is_let_go() {
    let folder = Folder::new();
    let idle = Duration::from_millis(300);
    let limits = Limits { idle, ..Limits::default() };
    let keep = Keep::Embedded(folder.store());
    let server = Server::start(StoreSettings { auth: Auth::Insecure, limits, ..settings(keep) }).await;
    let (mut half, mut silent, mut slow) = (server.client().await, server.client().await, server.client().await);
    let start = Instant::now();
    half.say(r#"{"state":{"#).await;
    // A trickle of bytes does not keep a connection open.
    let drip = tokio::spawn(async move {
        while slow.write.write_all(b" ").await.is_ok() {
            sleep(idle / 5).await;
        }
    });
    assert_eq!((half.hear().await.as_str(), silent.hear().await.as_str()), ("", ""));
    assert!(start.elapsed() >= idle && start.elapsed() < 10 * idle, "{:?}", start.elapsed());
    drip.await.unwrap();
    // A client that sends everything and then closes its side is answered.
    let mut piped = server.client().await;
    piped.say(STATE).await;
    piped.write.shutdown().await.unwrap();
    assert!(piped.hear().await.starts_with(r#"{"state""#));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_thousand_idle_connections_and_one_that_never_reads_hold_up_nobody() {
    let folder = Folder::new();
    let server = Server::insecure(folder.store()).await;
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    // A client that keeps asking and never reads.
    let mut deaf = server.client().await;
    let flood = tokio::spawn(async move {
        let questions = format!("{STATE}\n").repeat(1000);
        while deaf.write.write_all(questions.as_bytes()).await.is_ok() {}
    });
    let mut client = server.client().await;
    assert_eq!(client.ask(&seal("n1", 1, 7, "")).await, SEALED_7);
    let mut slowest = Duration::ZERO;
    for seq in 1..=200 {
        let start = Instant::now();
        let answer = client.ask(&write("n1", 1, 7, seq, &format!("shop:{seq}"), "")).await;
        assert!(answer.contains(r#""verdict":"ok""#), "{answer}");
        slowest = slowest.max(start.elapsed());
    }
    println!("1000 idle connections and a deaf one: 200 writes served, the slowest in {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    flood.abort();
    drop((idle, deaf.read));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn one_connection_too_many_is_closed() {
    let folder = Folder::new();
    let limits = Limits { connections: 2, ..Limits::default() };
    let keep = Keep::Embedded(folder.store());
    let server = Server::start(StoreSettings { auth: Auth::Insecure, limits, ..settings(keep) }).await;
    let (mut first, mut second) = (server.client().await, server.client().await);
    assert!(first.ask(STATE).await.starts_with(r#"{"state""#) && second.ask(STATE).await.starts_with(r#"{"state""#));
    assert_eq!(server.client().await.hear().await, "");
    drop(first);
    let served = async {
        loop {
            let mut third = Client::connect(server.address).await;
            let _ = third.write.write_all(format!("{STATE}\n").as_bytes()).await;
            if third.hear().await.starts_with(r#"{"state""#) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::store_common::PATIENCE, served).await.unwrap();
    server.stop().await.unwrap();
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
