//! Electors that share their connections to an agent.

use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::consul::{Item, Reads, Reply, Request, Watch},
    types::SECOND,
};
use protocols_clients::{
    consul::{Connections, run_on},
    env::tokio::TokioEnv,
    site::Endpoint,
};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    time::timeout,
};

/// Longer than anything takes here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const ELECTORS: usize = 100;
/// How many connections there are for requests that are answered at once, and for watches that block.
const SHORT: usize = 24;
const BLOCKING: usize = 40;

/// An agent without keys, which does not answer before its gate is open, and never answers a query that blocks.
struct Agent {
    port: u16,
    gate: watch::Sender<bool>,
    accepted: watch::Receiver<usize>,
    blocking: watch::Receiver<usize>,
}

impl Agent {
    async fn start() -> Agent {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (gate, opens) = watch::channel(false);
        let ((accepts, accepted), (blocks, blocking)) = (watch::channel(0), watch::channel(0));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, opens.clone(), blocks.clone()));
                accepts.send_modify(|count| *count += 1);
            }
        });
        Agent { port, gate, accepted, blocking }
    }

    fn connections(&self) -> Connections<TokioEnv> {
        Connections::new(TokioEnv::new(1), Endpoint { host: "127.0.0.1".to_owned(), port: self.port })
    }
}

async fn answer(mut stream: TcpStream, mut gate: watch::Receiver<bool>, blocks: watch::Sender<usize>) {
    let (mut asked, mut bytes) = (Vec::new(), [0; 1_024]);
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        asked.extend_from_slice(&bytes[..count]);
        if !asked.ends_with(b"\r\n\r\n") {
            continue;
        }
        if String::from_utf8_lossy(&asked).contains("index=") {
            blocks.send_modify(|count| *count += 1);
            continue;
        }
        asked.clear();
        let _ = gate.wait_for(|open| *open).await;
        let answer = b"HTTP/1.1 404 Not Found\r\nX-Consul-Index: 7\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}

async fn reaches(counted: &mut watch::Receiver<usize>, count: usize) {
    timeout(PATIENCE, counted.wait_for(|has| *has == count)).await.expect("in time").expect("it listens");
}

struct Elector {
    outputs: mpsc::UnboundedSender<ServiceOutput>,
}

impl Elector {
    fn on(connections: &Connections<TokioEnv>, told: mpsc::UnboundedSender<ServiceInput>) -> Elector {
        let (outputs, asked) = mpsc::unbounded_channel();
        let deliver = move |input| drop(told.send(input));
        tokio::spawn(run_on(TokioEnv::new(1), connections.clone(), None, asked, deliver));
        Elector { outputs }
    }

    fn says(&self, output: ServiceOutput) {
        self.outputs.send(output).expect("it runs");
    }

    fn asks(&self, number: u64, timeout: u64) {
        let request = Request::Get { key: "key".to_owned(), reads: Reads::Default }.erase();
        self.says(ServiceOutput::Request { number, request, timeout, concurrent: true });
    }

    fn watches(&self) {
        let request = Watch { key: "key".to_owned(), reads: Reads::Default, wait_ms: None }.erase();
        self.says(ServiceOutput::Open { number: 1, request });
    }
}

async fn next(heard: &mut mpsc::UnboundedReceiver<ServiceInput>) -> ServiceInput {
    timeout(PATIENCE, heard.recv()).await.expect("in time").expect("electors run")
}

#[tokio::test]
async fn a_hundred_electors_share_the_connections_of_a_few() {
    let mut agent = Agent::start().await;
    let connections = agent.connections();
    let (told, mut heard) = mpsc::unbounded_channel();
    let electors: Vec<Elector> = (0..ELECTORS).map(|_| Elector::on(&connections, told.clone())).collect();
    electors.iter().for_each(|elector| elector.asks(1, 600 * SECOND));
    reaches(&mut agent.accepted, SHORT).await;
    agent.gate.send_replace(true);
    for _ in &electors {
        let ServiceInput::Reply { reply: Ok(reply), .. } = next(&mut heard).await else { panic!("no answer") };
        assert_eq!(Reply::restore(reply).ok(), Some(Reply::Found(None)));
    }
    assert_eq!(*agent.accepted.borrow(), SHORT, "those that wait take the connections of those that were answered");
    // Each watch tells the key's state first. As many as may block do, and the others read it again and again.
    electors.iter().for_each(Elector::watches);
    for _ in 0..ELECTORS + 2 * (ELECTORS - BLOCKING) {
        let ServiceInput::Item { item, .. } = next(&mut heard).await else { panic!("a watch has ended") };
        assert_eq!(Item::restore(item).ok(), Some(Item(None)));
    }
    reaches(&mut agent.blocking, BLOCKING).await;
    assert_eq!(*agent.accepted.borrow(), SHORT + BLOCKING);
    // Who may block no more leaves it to others.
    let before = *agent.blocking.borrow();
    drop(electors);
    let next_ones: Vec<Elector> = (0..BLOCKING).map(|_| Elector::on(&connections, told.clone())).collect();
    next_ones.iter().for_each(Elector::watches);
    reaches(&mut agent.blocking, before + BLOCKING).await;
}

#[tokio::test]
async fn a_request_waits_for_its_turn_no_longer_than_its_timeout_and_takes_that_of_one_that_is_given_up() {
    let mut agent = Agent::start().await;
    let connections = agent.connections();
    let (told, mut heard) = mpsc::unbounded_channel();
    let electors: Vec<Elector> = (0..SHORT).map(|_| Elector::on(&connections, told.clone())).collect();
    electors.iter().for_each(|elector| elector.asks(1, 600 * SECOND));
    reaches(&mut agent.accepted, SHORT).await;
    let late = Elector::on(&connections, told);
    late.asks(2, SECOND / 10);
    let ServiceInput::Reply { number: 2, reply: Err(Failure::Unknown(_)) } = next(&mut heard).await else {
        panic!("somebody was answered");
    };
    late.asks(3, 600 * SECOND);
    electors.iter().for_each(|elector| elector.says(ServiceOutput::Cancel(1)));
    reaches(&mut agent.accepted, SHORT + 1).await;
    agent.gate.send_replace(true);
    let ServiceInput::Reply { number: 3, reply: Ok(_) } = next(&mut heard).await else {
        panic!("a request that was given up is answered");
    };
}
