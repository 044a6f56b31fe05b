//! Redis: its arms and scripts.

use super::{
    report,
    script::{self, Arm},
};
use crate::texts::{command, decode};
use protocols_clients::env::{Env, tokio::TokioEnv};
use servers::{Exact, Version};
use sim::service::redis::{
    Redis as Model,
    resp::{Protocol, Resp},
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The implementation of an arm.
enum Served {
    Real(Exact),
    Model { state: Arc<Model>, port: u16, task: <TokioEnv as Env>::Task },
}

/// A server and its sessions: plain RESP over a socket, the same for both.
pub struct Redis {
    served: Served,
    sessions: BTreeMap<String, Session>,
}

struct Session {
    stream: TcpStream,
    /// The server's id of the connection, unique over all connections.
    id: String,
}

fn serve(state: &Arc<Model>, port: u16) -> <TokioEnv as Env>::Task {
    let (env, state) = (TokioEnv::new(1), state.clone());
    env.clone().spawn(async move { state.serve_on(env, port).await.expect("the port is free") })
}

impl Redis {
    /// The model, served over a socket.
    pub fn model() -> Redis {
        let (state, port) = (Arc::<Model>::default(), servers::free_address().port());
        let task = serve(&state, port);
        Redis { served: Served::Model { state, port, task }, sessions: BTreeMap::new() }
    }

    /// The real server, if available.
    pub fn real() -> Option<Redis> {
        Some(Redis { served: Served::Real(Version::Redis70.start()?), sessions: BTreeMap::new() })
    }

    async fn session(&mut self, name: &str) -> &mut Session {
        if !self.sessions.contains_key(name) {
            let port = match &self.served {
                Served::Real(real) => real.server.address.port(),
                Served::Model { port, .. } => *port,
            };
            let mut session = Session::open(port).await;
            session.id = session.ask("CLIENT ID").await;
            self.sessions.insert(name.to_owned(), session);
        }
        self.sessions.get_mut(name).expect("it was opened")
    }
}

impl Session {
    async fn open(port: u16) -> Session {
        for _ in 0..1000 {
            // The model's task may not be listening yet.
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
                stream.set_nodelay(true).expect("a socket can be told");
                return Session { stream, id: String::new() };
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nobody listens on port {port}");
    }

    async fn ask(&mut self, text: &str) -> String {
        let (mut out, mut answer, mut bytes) = (Vec::new(), Vec::new(), [0; 4096]);
        Resp::Array(command(text).iter().map(Resp::bulk).collect()).encode(Protocol::Resp2, &mut out);
        self.stream.write_all(&out).await.expect("the server listens");
        loop {
            let count = self.stream.read(&mut bytes).await.expect("the server answers");
            assert_ne!(count, 0, "the server hung up on {text:?}");
            answer.extend_from_slice(&bytes[..count]);
            if let Some((shown, length)) = decode(&answer) {
                assert_eq!(length, answer.len(), "more than one answer to {text:?}");
                return shown;
            }
        }
    }
}

impl Arm for Redis {
    fn name(&self) -> String {
        match &self.served {
            Served::Real(real) => real.version.name().to_owned(),
            Served::Model { .. } => "the model".into(),
        }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        self.sessions.clear();
        for command in ["FLUSHALL", "SCRIPT FLUSH"] {
            assert_eq!(self.session("").await.ask(command).await, "+OK");
        }
    }

    /// Sends a line. The connection's id is shown as `#`, as is the answer of `TIME`.
    async fn ask(&mut self, session: &str, text: &str) -> Vec<String> {
        let session = self.session(session).await;
        let reply = session.ask(text).await;
        if text.trim().eq_ignore_ascii_case("time") && reply.starts_with('[') {
            return vec!["#".into()];
        }
        let word = text.to_ascii_lowercase();
        vec![match word.trim() {
            "client id" if reply == session.id => ":#".into(),
            word if word.starts_with("hello") => {
                // An array in RESP2, a map in RESP3.
                let pair = |id: &str, blank| format!("\"id\"{blank}{id}");
                [" ", ": "]
                    .iter()
                    .fold(reply, |reply, blank| reply.replace(&pair(&session.id, blank), &pair(":#", blank)))
            }
            _ => reply,
        }]
    }

    async fn reconnect(&mut self, session: &str) {
        self.sessions.remove(session);
        self.session(session).await;
    }

    async fn restart(&mut self) {
        self.sessions.clear();
        match &mut self.served {
            Served::Real(real) => real.server.restart(),
            Served::Model { state, port, task } => {
                // After its server has closed connections, a port stays in use for a while.
                *port = servers::free_address().port();
                *task = serve(state, *port);
            }
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The real server and the model give every reply of every script.
#[test]
fn redis_scripts() {
    super::run(async {
        let (mut model, mut real) = (Redis::model(), Redis::real());
        let (mut count, mut wrong) = (0, Vec::new());
        for mut script in script::all("redis") {
            if let Some(real) = &mut real {
                if super::updating() {
                    let replies = script.play(real).await;
                    script.update(replies);
                }
                wrong.extend(script::check(&script, real).await);
                count += script.commands();
            }
            wrong.extend(script::check(&script, &mut model).await);
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
        if let Some(real) = real {
            report(&real.name(), count, "scripted");
        }
    });
}
