//! The adapter for the genuine `redis` crate against the simulated server, over real sockets. (This build is for the
//! simulation, but outside of a simulation, tokio works normally.)

use protocols::{
    elector::{RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::redis::{Reply, Request},
    types::MILLISECOND,
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    site::Endpoint,
};
use sim::service::redis::{model::Model, wire};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
    time::sleep,
};

/// Long enough for a loaded machine, in nanoseconds.
const PATIENCE: u64 = 20_000 * MILLISECOND;

fn free_port() -> u16 {
    servers::free_address().port()
}

struct Server {
    port: u16,
    model: Arc<Mutex<Model>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(port: u16, model: Arc<Mutex<Model>>) -> Server {
        let serving = wire::serve(TokioEnv::new(0), port, model.clone());
        let task = tokio::spawn(async move { serving.await.unwrap() });
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
        Server { port, model, task }
    }

    /// The process dies: all connections close, and state that Redis does not persist is lost.
    async fn stop(self) -> (u16, Arc<Mutex<Model>>) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
        self.model.lock().unwrap().restart();
        (self.port, self.model)
    }
}

struct Client {
    outputs: UnboundedSender<ServiceOutput>,
    answers: UnboundedReceiver<ServiceInput>,
    requests: RequestNumber,
    _task: <TokioEnv as Env>::Task,
}

impl Client {
    fn new(port: u16) -> Client {
        let env = TokioEnv::new(1);
        let (outputs, to_adapter) = unbounded_channel();
        let (from_adapter, answers) = unbounded_channel();
        let endpoint = Endpoint { host: "127.0.0.1".into(), port };
        let adapter = protocols_clients::redis::run(env.clone(), endpoint, to_adapter, move |input| {
            from_adapter.send(input).unwrap();
        });
        Client { outputs, answers, requests: 0, _task: env.spawn(adapter) }
    }

    fn send(&mut self, request: Request, timeout: u64, concurrent: bool) -> RequestNumber {
        self.requests += 1;
        let (number, request) = (self.requests, request.erase());
        self.outputs.send(ServiceOutput::Request { number, request, timeout, concurrent }).unwrap();
        number
    }

    async fn answer(&mut self) -> (RequestNumber, Result<Reply, Failure>) {
        match self.answers.recv().await.unwrap() {
            ServiceInput::Reply { number, reply } => {
                (number, reply.map(|reply| Reply::restore(reply).expect("an answer of Redis")))
            }
            other => panic!("not an answer of Redis: {other:?}"),
        }
    }

    async fn ask(&mut self, request: Request) -> Result<Reply, Failure> {
        let number = self.send(request, PATIENCE, false);
        let (answered, reply) = self.answer().await;
        assert_eq!(answered, number);
        reply
    }
}

fn key() -> String {
    "leader".into()
}

fn take(value: &str, ttl_ms: u64) -> Request {
    Request::SetNxPx { key: key(), value: value.into(), ttl_ms }
}

fn take_fenced(value: &str, ttl_ms: u64) -> Request {
    Request::AcquireFenced { key: key(), token_key: "token".into(), value: value.into(), ttl_ms }
}

fn get() -> Request {
    Request::Get { key: key() }
}

fn renew(value: &str, ttl_ms: u64) -> Request {
    Request::CompareAndPexpire { key: key(), value: value.into(), ttl_ms }
}

fn give_back(value: &str) -> Request {
    Request::CompareAndDelete { key: key(), value: value.into() }
}

#[tokio::test]
async fn every_request_is_carried_out() {
    let server = Server::start(free_port(), Arc::default()).await;
    let mut client = Client::new(server.port);
    let long = 600_000;
    // The scripts are not loaded yet: each first use is refused with NOSCRIPT, loaded, and repeated.
    let conversation = [
        (get(), Reply::Value(None)),
        (take("a", long), Reply::Done(true)),
        (take("b", long), Reply::Done(false)),
        (get(), Reply::Value(Some(b"a".to_vec()))),
        (renew("b", long), Reply::Done(false)),
        (renew("a", long), Reply::Done(true)),
        (renew("a", long), Reply::Done(true)),
        (Request::Pexpire { key: key(), ttl_ms: long }, Reply::Done(true)),
        (give_back("b"), Reply::Done(false)),
        (give_back("a"), Reply::Done(true)),
        (give_back("a"), Reply::Done(false)),
        (Request::Pexpire { key: key(), ttl_ms: long }, Reply::Done(false)),
        (take_fenced("a", long), Reply::Token(Some(1))),
        (take_fenced("b", long), Reply::Token(None)),
        (Request::Del { key: key() }, Reply::Done(true)),
        (Request::Del { key: key() }, Reply::Done(false)),
        (take_fenced("b", long), Reply::Token(Some(2))),
    ];
    for (request, expected) in conversation {
        assert_eq!(client.ask(request.clone()).await, Ok(expected), "{request:?}");
    }
}

#[tokio::test]
async fn a_key_runs_out_by_the_servers_clock() {
    let server = Server::start(free_port(), Arc::default()).await;
    let mut client = Client::new(server.port);
    assert_eq!(client.ask(take("a", 30)).await, Ok(Reply::Done(true)));
    sleep(Duration::from_millis(60)).await;
    assert_eq!(client.ask(renew("a", 30)).await, Ok(Reply::Done(false)));
    assert_eq!(client.ask(take("b", 600_000)).await, Ok(Reply::Done(true)));
}

#[tokio::test]
async fn a_refusal_is_not_an_unknown_outcome() {
    let server = Server::start(free_port(), Arc::default()).await;
    let mut client = Client::new(server.port);
    for request in [take("a", 0), take("a", u64::MAX), renew("a", 5), take_fenced("a", 0)] {
        let reply = client.ask(request.clone()).await;
        match request {
            Request::CompareAndPexpire { .. } => assert_eq!(reply, Ok(Reply::Done(false))),
            _ => assert!(matches!(reply, Err(Failure::Rejected(_))), "{request:?}: {reply:?}"),
        }
    }
    assert_eq!(client.ask(take("a", 600_000)).await, Ok(Reply::Done(true)));
}

#[tokio::test]
async fn a_broken_connection_is_made_anew() {
    let server = Server::start(free_port(), Arc::default()).await;
    let mut client = Client::new(server.port);
    assert_eq!(client.ask(take_fenced("a", 600_000)).await, Ok(Reply::Token(Some(1))));
    let (port, model) = server.stop().await;
    // Either the old connection turns out dead or a new one is refused; which of them is not determined.
    for _ in 0..2 {
        let reply = client.ask(get()).await;
        assert!(matches!(reply, Err(Failure::Unknown(_))), "{reply:?}");
    }
    // Acknowledged writes are kept, scripts are not: they are loaded again.
    let _server = Server::start(port, model).await;
    assert_eq!(client.ask(get()).await, Ok(Reply::Value(Some(b"a".to_vec()))));
    assert_eq!(client.ask(give_back("a")).await, Ok(Reply::Done(true)));
    assert_eq!(client.ask(take_fenced("b", 600_000)).await, Ok(Reply::Token(Some(2))));
}

#[tokio::test]
async fn a_mute_server_is_an_unknown_outcome_and_the_next_request_connects_again() {
    let port = free_port();
    // It accepts, but never answers.
    let mute = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let mut client = Client::new(port);
    for _ in 0..2 {
        let (first, second) =
            (client.send(get(), 50 * MILLISECOND, false), client.send(get(), 50 * MILLISECOND, false));
        for number in [first, second] {
            assert_eq!(client.answer().await, (number, Err(Failure::Unknown("timed out".into()))));
        }
    }
    drop(mute);
    let _server = Server::start(port, Arc::default()).await;
    assert_eq!(client.ask(take("a", 600_000)).await, Ok(Reply::Done(true)));
}

#[tokio::test]
async fn what_is_cancelled_is_not_answered_and_what_is_concurrent_does_not_wait() {
    let port = free_port();
    let _mute = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let mut client = Client::new(port);
    let under_way = client.send(get(), PATIENCE, false);
    let waiting = client.send(get(), PATIENCE, false);
    let last = client.send(get(), 50 * MILLISECOND, false);
    let concurrent = client.send(get(), 50 * MILLISECOND, true);
    assert_eq!(client.answer().await.0, concurrent);
    client.outputs.send(ServiceOutput::Cancel(waiting)).unwrap();
    client.outputs.send(ServiceOutput::Cancel(under_way)).unwrap();
    assert_eq!(client.answer().await.0, last);
    assert!(client.answers.try_recv().is_err());
}
