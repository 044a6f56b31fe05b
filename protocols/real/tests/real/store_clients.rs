//! Clients that are not to be trusted: none is in another's way.
use crate::store_common::{Client, Folder, PATIENCE, SEALED_7, STATE, Server, seal, settings, write};
use protocols_real::store::{Auth, Keep, StoreSettings, server::Limits};
use std::time::{Duration, Instant};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{sleep, timeout},
};

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
    let limits = Limits { idle, unfinished: idle, ..Limits::default() };
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

/// Who asks nothing, or nothing that the store believes, has a place for a short time only, however it trickles.
#[tokio::test]
async fn places_are_kept_for_who_finishes_a_request() {
    let folder = Folder::new();
    let unfinished = Duration::from_millis(300);
    let limits = Limits { connections: 12, unfinished, ..Limits::default() };
    let server = Server::start(StoreSettings { limits, ..settings(Keep::Embedded(folder.store())) }).await;
    let mut member = server.client().await;
    assert!(member.ask(STATE).await.starts_with(r#"{"state""#));
    let start = Instant::now();
    let mut held = Vec::new();
    for nth in 0..10 {
        let mut client = server.client().await;
        let text = if nth % 2 == 0 { " ".to_owned() } else { seal("n1", 1, 7, "garbage") + "\n" };
        held.push(tokio::spawn(async move {
            while client.write.write_all(text.as_bytes()).await.is_ok() {
                sleep(Duration::from_millis(5)).await;
            }
        }));
    }
    for task in held {
        timeout(PATIENCE, task).await.expect("it is let go").unwrap();
    }
    assert!(start.elapsed() < 20 * unfinished, "{:?}", start.elapsed());
    // A member that has asked may be silent, but not stop in the middle of a line.
    assert!(member.ask(STATE).await.starts_with(r#"{"state""#));
    member.say("{").await;
    assert_eq!(member.hear().await, "");
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
    timeout(PATIENCE, served).await.unwrap();
    server.stop().await.unwrap();
}
