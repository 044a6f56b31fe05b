//! Commands that clients and peers send to replicated servers and sentinels: ten thousand random ones each, to a real
//! one and to the model, which must answer alike. Nothing is down here; see `sentinel_failover` for that.

use super::{number, report};
use crate::texts::decode;
use protocols_clients::{env::tokio::TokioEnv, resp};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use servers::Folder;
use sim::service::redis_sentinel::{
    Address,
    sentinel::{Config, Sentinel},
    serve::Shared,
    server, watch,
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A connection to either of them.
pub(super) struct Talk {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Talk {
    /// Connects, once somebody listens.
    pub(super) async fn to(port: u16) -> Talk {
        for _ in 0..2_000 {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
                stream.set_nodelay(true).expect("a socket can be told");
                return Talk { stream, buffer: Vec::new() };
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nobody listens on port {port}");
    }

    pub(super) async fn say<W: AsRef<[u8]>>(&mut self, words: &[W]) {
        self.stream.write_all(&resp::command(words)).await.expect("somebody listens");
    }

    /// The next reply or message.
    pub(super) async fn hear(&mut self) -> String {
        let mut bytes = [0; 4096];
        loop {
            if let Some((shown, length)) = decode(&self.buffer) {
                self.buffer.drain(..length);
                return shown;
            }
            let count = self.stream.read(&mut bytes).await.expect("an answer");
            assert_ne!(count, 0, "the server hung up");
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }

    pub(super) async fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> String {
        self.say(words).await;
        self.hear().await
    }
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// The least number of commands.
const COMMANDS: u64 = 10_000;

fn draw() -> Draw {
    Draw(ChaCha8Rng::seed_from_u64(number("FENCEPOST_CONFORMANCE_SEED", 1)))
}

/// Sends both the same commands, and fails at the first different answer.
async fn compare(mut model: Talk, mut real: Talk, name: &str, mut command: impl FnMut(u64) -> Vec<String>) {
    let count = COMMANDS * number("FENCEPOST_CONFORMANCE_CASES", 1);
    let mut last = Vec::new();
    for place in 0..count {
        let words = command(place);
        let (one, other) = (model.ask(&words).await, real.ask(&words).await);
        last.push(format!("{words:?} -> {other}"));
        let from = last.len().saturating_sub(12);
        assert_eq!(
            one,
            other,
            "the model answers the {place}th command otherwise; it and what came before:\n{}",
            last[from..].join("\n")
        );
    }
    report(name, count as usize, "generated");
}

fn sentinel_model(port: u16, primary: SocketAddr) -> impl Sized {
    let to = |address: SocketAddr| Address { host: address.ip().to_string(), port: address.port() };
    let config = Config { down_after_ms: 600_000, ..Config::of(to(primary), 2) };
    let own = Address { host: "127.0.0.1".to_owned(), port };
    let sentinel = Sentinel::new(config, own, "f".repeat(40), 7);
    let env = TokioEnv::new(3);
    use protocols_clients::env::Env;
    env.clone().spawn(async move {
        watch::serve(Arc::new(Mutex::new(sentinel)), env, port).await.expect("the port is free");
    })
}

/// A random command for a sentinel; the state that it creates is the same on both sides.
fn sentinel_command(draw: &mut Draw, primary: SocketAddr, epoch: &mut u64) -> Vec<String> {
    let port = primary.port().to_string();
    let voters = ["a", "b", "c"].map(|name| name.repeat(40));
    let name = draw.one(&["mymaster", "mymaster", "mymaster", "other", ""]).to_owned();
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match draw.below(12) {
        0 => own(&["PING"]),
        1 => own(&["PING", draw.one(&["there", ""])]),
        2 => own(&["ROLE"]),
        3 | 4 => own(&[draw.one(&["SENTINEL", "sentinel"]), "get-master-addr-by-name", &name]),
        5..=7 => {
            // A sentinel votes once per epoch; for older epochs it only reports its vote.
            *epoch += draw.below(3) as u64 / 2;
            let asked = epoch.saturating_sub(draw.below(3) as u64).to_string();
            let asked = if draw.below(12) == 0 { "x".to_owned() } else { asked };
            let host = draw.one(&["127.0.0.1", "127.0.0.1", "127.0.0.1", "10.0.0.1"]);
            let port = if draw.below(8) == 0 { "1".to_owned() } else { port };
            let voter = draw.below(4);
            let who = voters.get(voter).map_or("*", String::as_str);
            own(&["SENTINEL", "is-master-down-by-addr", host, &port, &asked, who])
        }
        8 => own(&[
            "SENTINEL",
            draw.one(&["get-master-addr-by-name", "ckquorum", "failover", "is-master-down-by-addr", "myid"]),
            "x",
            "y",
        ]),
        9 => own(&["SENTINEL", draw.one(&["ckquorum", "failover"]), draw.one(&["other", ""])]),
        10 => own(&["SENTINEL", draw.one(&["nope", "MYIDS", "get-master"])]),
        _ => own(&["PUBLISH", draw.one(&["news", "__sentinel__:goodbye"]), "text"]),
    }
}

#[test]
fn sentinel_commands() {
    super::run(async {
        let folder = Folder::new();
        let Some(primary) = servers::redis(&folder, "a comparison with redis 7.0", servers::Tls::Off) else { return };
        let lines = format!(
            "sentinel monitor mymaster 127.0.0.1 {} 2\nsentinel down-after-milliseconds mymaster 600000\n",
            primary.address.port()
        );
        let Some(real) = servers::sentinel(&folder, "a comparison with redis 7.0", &lines) else { return };
        let port = servers::free_address().port();
        let _model = sentinel_model(port, primary.address);
        let (mut draw, mut epoch) = (draw(), 0);
        let (model, real) = (Talk::to(port).await, Talk::to(real.address.port()).await);
        compare(model, real, "redis sentinel 7.0", |_| sentinel_command(&mut draw, primary.address, &mut epoch)).await;
    });
}

/// A random command for a server, about replication or transactions.
fn server_command(draw: &mut Draw) -> Vec<String> {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let key = draw.one(&["a", "b", "c"]);
    match draw.below(16) {
        0 | 1 => own(&["MULTI"]),
        2..=4 => own(&["EXEC"]),
        5 => own(&["DISCARD"]),
        6 | 7 => own(&["SET", key, draw.one(&["1", "x", "7"])]),
        8 => own(&["INCR", key]),
        9 => own(&["GET", key]),
        10 => own(&["DEL", key]),
        11 => own(&["PUBLISH", draw.one(&["news", "__sentinel__:hello"]), "text"]),
        12 => own(&["CLIENT", "KILL", "TYPE", draw.one(&["pubsub", "replica", "slave", "nobody"])]),
        13 => own(&[draw.one(&["REPLICAOF", "slaveof"]), "NO", "ONE"]),
        14 => own(&["REPLICAOF", "127.0.0.1", draw.one(&["x", "-1", "65536"])]),
        _ => own(&["REPLCONF", draw.one(&["capa", "nonsense"]), "eof"]),
    }
}

#[test]
fn replicated_commands() {
    super::run(async {
        let folder = Folder::new();
        let Some(real) = servers::redis(&folder, "a comparison with redis 7.0", servers::Tls::Off) else { return };
        let port = servers::free_address().port();
        let _model = serve(port, None);
        let mut draw = draw();
        let (model, real) = (Talk::to(port).await, Talk::to(real.address.port()).await);
        compare(model, real, "redis 7.0, replication", |_| server_command(&mut draw)).await;
    });
}

/// Serves the model of a server on `port`, as a replica of `primary`, if given.
pub(super) fn serve(port: u16, primary: Option<u16>) -> <TokioEnv as protocols_clients::env::Env>::Task {
    use protocols_clients::env::Env;
    let to = |port| Address { host: "127.0.0.1".to_owned(), port };
    let shared = Shared::new(server::Server::new(to(port), primary.map(to), u64::from(port)));
    let env = TokioEnv::new(u64::from(port));
    env.clone().spawn(async move { shared.serve(env, port).await.expect("the port is free") })
}

/// Repeats a command until it gives the wanted answer.
pub(super) async fn until(talk: &mut Talk, words: &[&str], wanted: &str) {
    for _ in 0..600 {
        if talk.ask(words).await == wanted {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{words:?} is not answered by {wanted}");
}
