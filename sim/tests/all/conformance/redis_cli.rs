//! A second program on the same lock: our elector holds it on five real Redis servers through the genuine client;
//! `redis-cli` sees the key on each, takes it away on a majority, and releases it.

use protocols::{
    bug::Bugs,
    clock::Now,
    election::{Setup, redlock::PROTOCOL},
    elector::{AnyElector, Deposed, Elector, Input, Output, ServiceInput},
    types::{MILLISECOND, NodeId, SECOND},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    redis_servers,
    site::Endpoint,
};
use servers::{Folder, Server};
use std::{collections::BTreeMap, path::PathBuf, process::Command};
use tokio::sync::mpsc::{self, UnboundedReceiver};

const SERVERS: usize = 5;
const KEY: &str = protocols::election::redis_common::KEY;

/// An elector without work and store.
struct Alone {
    env: TokioEnv,
    elector: Box<AnyElector>,
    requests: mpsc::UnboundedSender<protocols::elector::ServiceOutput>,
    answers: UnboundedReceiver<ServiceInput>,
    timers: BTreeMap<u16, u64>,
    _client: <TokioEnv as Env>::Task,
}

impl Alone {
    fn new(servers: &[Server]) -> Alone {
        let env = TokioEnv::new(1);
        let mut timings = PROTOCOL.default_timings();
        (timings.lease_ttl, timings.renew_interval) = (3 * SECOND, SECOND);
        let setup = Setup {
            node: NodeId(0),
            group: 0,
            seat: None,
            names: vec!["n1".to_owned(), "n2".to_owned()],
            timings,
            nonce: 7,
            stored: None,
            service: (2..2 + SERVERS as u16).map(NodeId).collect(),
            bugs: Bugs::default(),
        };
        let endpoint = |server: &Server| Endpoint { host: "127.0.0.1".to_owned(), port: server.address.port() };
        let endpoints = servers.iter().map(endpoint).collect();
        let (requests, outputs) = mpsc::unbounded_channel();
        let (sender, answers) = mpsc::unbounded_channel();
        let deliver = move |input| drop(sender.send(input));
        let client = env.spawn(redis_servers::run(env.clone(), endpoints, outputs, deliver));
        let (elector, timers) = ((PROTOCOL.elector)(setup), BTreeMap::new());
        Alone { env, elector, requests, answers, timers, _client: client }
    }

    /// Runs until the elector is elected (`None`) or deposed, with the reason.
    async fn until_news(&mut self, mut first: Option<Input>) -> Option<Deposed> {
        loop {
            let input = match first.take() {
                Some(input) => input,
                None => self.next().await,
            };
            let (mut out, now): (_, Now) = (Vec::new(), self.env.now());
            self.elector.step(now, input, &mut out);
            let mut news = None;
            for output in out {
                match output {
                    Output::Service(request) => drop(self.requests.send(request)),
                    Output::SetTimer { id, at } => drop(self.timers.insert(id, at)),
                    Output::CancelTimer(id) => drop(self.timers.remove(&id)),
                    Output::Elected(_) => news = Some(None),
                    Output::Deposed(why) => news = Some(Some(why)),
                    _ => {}
                }
            }
            if let Some(news) = news {
                return news;
            }
        }
    }

    async fn next(&mut self) -> Input {
        let first = self.timers.iter().min_by_key(|(_, at)| **at).map(|(id, at)| (*id, *at));
        let (id, at) = first.unwrap_or((0, self.env.now().mono + 60 * SECOND));
        tokio::select! {
            biased;
            answer = self.answers.recv() => Input::Service(answer.expect("the client runs")),
            () = self.env.sleep_until(at) => {
                self.timers.remove(&id);
                Input::Timer(id)
            }
        }
    }
}

/// The output of `redis-cli` on this server.
fn cli(program: &PathBuf, server: &Server, words: &[&str]) -> String {
    let port = server.address.port().to_string();
    let output = Command::new(program).args(["-p", &port]).args(words).output().expect("redis-cli runs");
    servers::text(&output.stdout).trim().to_owned()
}

#[test]
fn redis_cli_takes_the_lock_from_a_majority_and_gives_it_back() {
    super::run(async {
        let what = "redis-cli on the lock of five Redis";
        let Some(program) = servers::find("redis-cli", "redis-tools", what) else { return };
        let folders: Vec<Folder> = (0..SERVERS).map(|_| Folder::new()).collect();
        let all: Vec<Server> =
            folders.iter().filter_map(|folder| servers::redis(folder, what, servers::Tls::Off)).collect();
        if all.len() < SERVERS {
            return;
        }
        let mut alone = Alone::new(&all);
        assert_eq!(alone.until_news(Some(Input::Start)).await, None);
        // It sees the holder on every server.
        for server in &all {
            assert!(cli(&program, server, &["GET", KEY]).starts_with("n1/"));
        }
        // It takes the key on a minority, without effect: three servers are enough.
        assert_eq!(cli(&program, &all[0], &["SET", KEY, "another", "PX", "60000", "XX"]), "OK");
        let patience = tokio::time::timeout(std::time::Duration::from_secs(4), alone.until_news(None)).await;
        assert!(patience.is_err(), "one of five servers was enough to depose the holder");
        // It takes the key on a majority: the next extension fails.
        for server in &all[1..3] {
            assert_eq!(cli(&program, server, &["SET", KEY, "another", "PX", "60000", "XX"]), "OK");
        }
        let before = alone.env.now().mono;
        assert!(matches!(alone.until_news(None).await, Some(Deposed::Lost | Deposed::Expired)));
        let took_ms = (alone.env.now().mono - before) / MILLISECOND;
        assert!(took_ms < 4_000, "{took_ms} ms until it took notice");
        // The elector has released the key on the others.
        for server in &all[3..] {
            assert_eq!(cli(&program, server, &["EXISTS", KEY]), "0");
        }
        // It deletes its own keys, and the elector leads again.
        for server in &all[..3] {
            assert_eq!(cli(&program, server, &["DEL", KEY]), "1");
        }
        assert_eq!(alone.until_news(None).await, None);
        servers::say(&format!("redis-cli took the lock from three of five servers: noticed after {took_ms} ms"));
    });
}
