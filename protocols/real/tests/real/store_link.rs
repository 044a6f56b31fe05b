//! A node's link to the store, and TLS between them.
use crate::store_common::{Folder, STATE, Server, settings};
use protocols::{
    message::{Message, Write, WriteVerdict},
    types::{NodeId, Operation, RequestId, Resource},
};
use protocols_real::store::{Keep, StoreSettings, link::Link};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, time::sleep};

#[tokio::test]
async fn a_link_carries_messages_and_finds_the_store_again() {
    let folder = Folder::new();
    let server = Server::start(settings(Keep::Embedded(folder.store()))).await;
    let (sender, mut answers) = mpsc::unbounded_channel();
    let link = server.link("n1", move |message| {
        let _ = sender.send(message);
    });
    let connected = async {
        while !link.connected() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    connected.await;
    let (resource, generation, token) = (Resource::SEQUENCE, 1, 7);
    link.send(Message::Seal { resource, generation, token });
    let sealed = Message::Sealed { resource, generation, token, seq: 0, version: 0, payload: None };
    assert_eq!(answers.recv().await, Some(sealed));
    let request = RequestId { client: NodeId(0), number: 1 << 32 | 1 };
    let write = Write {
        resource,
        operation: Operation::Record,
        generation,
        token,
        seq: 1,
        read_version: 0,
        client: request.client,
        number: request.number,
        payload: None,
    };
    link.send(Message::Write(write));
    let written = |verdict| Message::Written { resource, generation, seq: 1, request, verdict };
    assert_eq!(answers.recv().await, Some(written(WriteVerdict::Ok)));
    // Messages that are not for a store are dropped.
    link.send(Message::Next { request });
    link.send(Message::Write(Write { token: 6, ..write }));
    assert_eq!(answers.recv().await, Some(written(WriteVerdict::Fenced { highest: 7 })));
    server.stop().await.unwrap();
    while link.connected() {
        sleep(Duration::from_millis(5)).await;
    }
    link.send(Message::Write(write));
    assert_eq!(link.lost(), 1, "nothing is kept for later");
}

#[tokio::test]
async fn tls_keeps_out_who_does_not_speak_it_and_whom_nobody_vouches_for() {
    let folder = Folder::new();
    let keep = Keep::Embedded(folder.store());
    let server =
        Server::start(StoreSettings { tls: Some(crate::store_common::tls_acceptor()), ..settings(keep) }).await;
    let mut plain = server.client().await;
    plain.say(&format!("{STATE}\n")).await;
    assert!(!plain.hear().await.contains("state"));
    let (sender, mut answers) = mpsc::unbounded_channel();
    let start = |trusting| {
        let mut settings = crate::store_common::link_settings(server.address, "n1");
        let connector = tokio_rustls::TlsConnector::from(Arc::new(crate::store_common::tls_config(trusting)));
        settings.tls = Some((connector, "localhost".try_into().unwrap()));
        let sender = sender.clone();
        Link::start(settings, move |message| {
            let _ = sender.send(message);
        })
    };
    let (wary, link) = (start(false), start(true));
    while !link.connected() {
        sleep(Duration::from_millis(5)).await;
    }
    link.send(Message::Seal { resource: Resource::SCHEDULE, generation: 1, token: 7 });
    assert!(matches!(answers.recv().await, Some(Message::Sealed { .. })));
    assert_eq!(wary.connections(), 0);
    drop((link, wary));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_link_gives_up_on_silence() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = crate::store_common::link_settings(listener.local_addr().unwrap(), "n1");
    settings.silence = Duration::from_millis(200);
    let link = Link::start(settings, |_| {});
    let (mut held, start) = (Vec::new(), Instant::now());
    for connection in 1..=3 {
        held.push(listener.accept().await.unwrap());
        while link.connections() < connection {
            sleep(Duration::from_millis(5)).await;
        }
        link.send(Message::Seal { resource: Resource::SEQUENCE, generation: 1, token: 7 });
    }
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
