//! Consul: its arms, scripts and generated requests.
//!
//! A line is a request: method, target, body. `$1`, `$2` … are the sessions in order of creation, `@k` is the index of
//! the last change of key `k`. Each script's keys have their own prefix, so that earlier lock-delays do not interfere.
//! A reply is the status, the index if any, and the body; indexes count from the beginning of the script.

use super::{
    generate, in_time, report,
    script::{self, Arm, check},
};
use hyper::Method;
use proptest::{prelude::*, sample::select};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    http::{Ask, Http},
    site::Endpoint,
};
use serde_json::Value;
use servers::{Folder, Server};
use sim::service::consul::Consul as Model;
use std::sync::Arc;

/// The implementation of an arm.
enum Served {
    Real(Box<(Server, Folder)>),
    Model { state: Arc<Model>, port: u16, task: <TokioEnv as Env>::Task },
}

/// A server, and the sessions and keys seen so far.
pub struct Consul {
    served: Served,
    http: Http<TokioEnv>,
    /// The prefix of this script's keys.
    prefix: String,
    scripts: u64,
    /// The index before the script.
    base: u64,
    sessions: Vec<String>,
}

fn client(port: u16) -> Http<TokioEnv> {
    Http::new(TokioEnv::new(1), Endpoint { host: "127.0.0.1".to_owned(), port })
}

fn serve(state: &Arc<Model>, port: u16) -> <TokioEnv as Env>::Task {
    let (env, state) = (TokioEnv::new(1), state.clone());
    env.clone().spawn(async move { state.serve_on(env, port).await.expect("the port is free") })
}

impl Consul {
    fn of(served: Served, port: u16) -> Consul {
        Consul { served, http: client(port), prefix: String::new(), scripts: 0, base: 0, sessions: Vec::new() }
    }

    /// The model, served over a socket.
    pub fn model() -> Consul {
        let (state, port) = (Arc::<Model>::default(), servers::free_address().port());
        let task = serve(&state, port);
        Consul::of(Served::Model { state, port, task }, port)
    }

    /// The real server, if available.
    pub fn real() -> Option<Consul> {
        let folder = Folder::new();
        let server = servers::consul(&folder, "a comparison with Consul 1.8")?;
        let port = server.address.port();
        Some(Consul::of(Served::Real(Box::new((server, folder))), port))
    }

    /// Sends a request, and retries until somebody listens and the server leads.
    async fn raw(&self, method: &Method, target: &str, body: &str) -> (u16, Option<u64>, String) {
        for _ in 0..1000 {
            let ask = Ask::new(method.clone(), target).sending(body.to_owned());
            match self.http.ask(ask).await {
                Ok(answer) if !answer.text().contains("No cluster leader") => {
                    let index = answer.header("x-consul-index").and_then(|index| index.parse().ok());
                    return (answer.status, index, String::from_utf8_lossy(&answer.body).into_owned());
                }
                _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
        panic!("{} does not answer {method} {target}", self.name());
    }

    async fn index_of(&self, key: &str) -> u64 {
        let (_, _, body) = self.raw(&Method::GET, &format!("/v1/kv/{}/{key}", self.prefix), "").await;
        let value: Value = serde_json::from_str(&body).unwrap_or_default();
        value[0]["ModifyIndex"].as_u64().unwrap_or(0)
    }

    /// Replaces `$n` and `@k`.
    async fn filled(&self, text: &str) -> String {
        let mut text = text.replace("/v1/kv/", &format!("/v1/kv/{}/", self.prefix));
        for (place, id) in self.sessions.iter().enumerate().rev() {
            text = text.replace(&format!("${}", place + 1), id);
        }
        // A session that never existed.
        while let Some(at) = text.find('$') {
            let end = text[at + 1..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| at + 1 + n);
            text.replace_range(at..end, "00000000-0000-0000-0000-000000000000");
        }
        while let Some(at) = text.find('@') {
            let end = text[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(text.len(), |n| at + 1 + n);
            let index = self.index_of(&text[at + 1..end]).await;
            text.replace_range(at..end, &index.to_string());
        }
        text
    }

    fn counted(&self, index: u64) -> String {
        if index > self.base { (index - self.base).to_string() } else { "before".to_owned() }
    }

    fn shown(&self, body: &str) -> String {
        let mut text = match serde_json::from_str::<Value>(body) {
            Ok(mut value) => {
                for entry in value.as_array_mut().into_iter().flatten() {
                    for name in ["CreateIndex", "ModifyIndex"] {
                        if let Some(index) = entry.get(name).and_then(Value::as_u64) {
                            entry[name] = self.counted(index).into();
                        }
                    }
                }
                value.to_string()
            }
            Err(_) => body.trim_end().replace('\n', "\\n"),
        };
        for (place, id) in self.sessions.iter().enumerate() {
            text = text.replace(id, &format!("${}", place + 1));
        }
        text.replace(&format!("{}/", self.prefix), "")
    }
}

impl Arm for Consul {
    fn name(&self) -> String {
        if self.is_model() { "the model".to_owned() } else { "consul 1.8".to_owned() }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        for id in std::mem::take(&mut self.sessions) {
            self.raw(&Method::PUT, &format!("/v1/session/destroy/{id}"), "").await;
        }
        self.scripts += 1;
        self.prefix = format!("t{}", self.scripts);
        assert_eq!(self.raw(&Method::PUT, &format!("/v1/kv/{}/began", self.prefix), "").await.0, 200);
        self.base = self.index_of("began").await;
    }

    async fn ask(&mut self, _: &str, text: &str) -> Vec<String> {
        let (method, rest) = text.split_once(' ').unwrap_or((text, "/"));
        let (target, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let (target, body) = (self.filled(target).await, self.filled(body).await);
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let (status, index, body) = self.raw(&method, &target, &body).await;
        let made = serde_json::from_str::<Value>(&body).ok().and_then(|value| Some(value["ID"].as_str()?.to_owned()));
        self.sessions.extend(made);
        let index = index.map_or(String::new(), |index| format!(" index {}", self.counted(index)));
        vec![format!("{status}{index} {}", self.shown(&body)).trim_end().to_owned()]
    }

    async fn reconnect(&mut self, _: &str) {}

    async fn restart(&mut self) {
        let port = match &mut self.served {
            Served::Real(real) => {
                real.0.restart();
                real.0.address.port()
            }
            Served::Model { state, port, task } => {
                // After its server has closed connections, a port stays in use for a while.
                *port = servers::free_address().port();
                *task = serve(state, *port);
                *port
            }
        };
        self.http = client(port);
    }

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The real server and the model give every reply of every script.
#[test]
fn consul_scripts() {
    super::run(async {
        let (mut model, mut real) = (Consul::model(), Consul::real());
        let (mut count, mut wrong) = (0, Vec::new());
        for mut script in script::all("consul") {
            if let Some(real) = &mut real {
                if super::updating() {
                    let replies = script.play(real).await;
                    script.update(replies);
                }
                wrong.extend(check(&script, real).await);
                count += script.commands();
            }
            wrong.extend(check(&script, &mut model).await);
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
        if let Some(real) = real {
            report(&real.name(), count, "scripted");
        }
    });
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    word(&["k", "k", "l", "m", "a/b"])
}

fn session() -> impl Strategy<Value = String> {
    word(&["$1", "$1", "$2", "$3", "$9"])
}

fn create() -> impl Strategy<Value = String> {
    // Each field at most once: of duplicates, Go accepts either.
    let maybe = |words: &'static [&'static str]| prop::option::of(word(words));
    let fields = (
        word(&["\"LockDelay\":\"0s\"", "\"LockDelay\":\"20ms\"", "\"lockdelay\":0", "\"LockDelay\":\"60ms\""]),
        maybe(&[
            "\"TTL\":\"10s\"",
            "\"TTL\":\"1m\"",
            "\"ttl\":\"24h\"",
            "\"TTL\":\"0s\"",
            "\"TTL\":\"\"",
            "\"TTL\":\"9s\"",
            "\"TTL\":\"25h\"",
            "\"TTL\":\"ten\"",
            "\"TTL\":\"10\"",
        ]),
        maybe(&["\"Behavior\":\"delete\"", "\"Behavior\":\"release\"", "\"Behavior\":\"\"", "\"Behavior\":\"keep\""]),
        maybe(&[
            "\"Name\":\"n\"",
            "\"Checks\":[]",
            "\"Node\":\"consul\"",
            "\"Other\":1",
            "\"Node\":\"other\"",
            "\"Checks\":[\"none\"]",
        ]),
    );
    fields.prop_map(|(delay, ttl, behavior, other)| {
        let fields: Vec<String> = [Some(delay), ttl, behavior, other].into_iter().flatten().collect();
        format!("PUT /v1/session/create {{{}}}", fields.join(","))
    })
}

fn request() -> impl Strategy<Value = String> {
    let value = || word(&["", "v", "w", "longer"]);
    let number = || word(&["@k", "@l", "0", "0", "1", "99999999", "x", "", "-1", "18446744073709551616"]);
    prop_oneof![
        4 => create(),
        3 => session().prop_map(|id| format!("PUT /v1/session/renew/{id}")),
        2 => session().prop_map(|id| format!("PUT /v1/session/destroy/{id}")),
        2 => session().prop_map(|id| format!("GET /v1/session/info/{id}")),
        8 => (key(), session(), value()).prop_map(|(key, id, value)| format!("PUT /v1/kv/{key}?acquire={id} {value}")),
        4 => (key(), session(), value()).prop_map(|(key, id, value)| format!("PUT /v1/kv/{key}?release={id} {value}")),
        6 => (key(), value()).prop_map(|(key, value)| format!("PUT /v1/kv/{key} {value}")),
        2 => (key(), word(&["0", "7", "18446744073709551615", "x", ""]), value())
            .prop_map(|(key, flags, value)| format!("PUT /v1/kv/{key}?flags={flags} {value}")),
        4 => (key(), number(), value()).prop_map(|(key, cas, value)| format!("PUT /v1/kv/{key}?cas={cas} {value}")),
        2 => (key(), number()).prop_map(|(key, cas)| format!("DELETE /v1/kv/{key}?cas={cas}")),
        2 => key().prop_map(|key| format!("DELETE /v1/kv/{key}")),
        8 => key().prop_map(|key| format!("GET /v1/kv/{key}")),
        1 => key().prop_map(|key| format!("GET /v1/kv/{key}?raw")),
        1 => key().prop_map(|key| format!("GET /v1/kv/{key}?consistent")),
        1 => word(&["GET /v1/kv/k?index=1&wait=10ms", "GET /v1/kv/k?index=x", "GET /v1/kv/k?index=1&wait=x"]),
        1 => word(&["GET /v1/kv/k?stale&consistent", "PUT /v1/kv/k?cas=0&release=$1 v", "POST /v1/kv/k", "GET /v1/nothing"]),
        1 => word(&["PUT /v1/session/renew/abc", "GET /v1/session/info/abc", "GET /v1/session/create", "PUT /v1/session/renew/"]),
        1 => word(&["PUT /v1/kv/k?acquire= v", "PUT /v1/kv/k?acquire=abc v", "PUT /v1/kv/k?release=abc v", "PUT /v1/kv/k?release= v"]),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![80 => request(), 1 => Just("wait".to_owned())]
}

/// Plays a sequence on both; returns the conversation up to the first difference, if any.
async fn play(sequence: &[String], model: &mut Consul, real: &mut Consul) -> Result<usize, String> {
    model.reset().await;
    real.reset().await;
    let (mut count, mut told) = (0, String::new());
    for line in sequence {
        told += &format!("  {line}\n");
        if line == "wait" {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        }
        let (m, r) = (model.ask("", line).await, real.ask("", line).await);
        count += 1;
        if m != r {
            return Err(format!("{told}  {} said  {}\n  the model said  {}", real.name(), r[0], m[0]));
        }
        told += &format!("  < {}\n", r[0]);
    }
    Ok(count)
}

/// Model and server agree on any requests in any order.
#[test]
fn consul_generated() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let Some(mut real) = Consul::real() else { return };
    let mut model = Consul::model();
    let mut compared = 0;
    generate(prop::collection::vec(line(), 1..60), 400, |sequence: &Vec<String>| {
        let mut result = Ok(());
        // Retried, since a lock-delay may have ended on one arm only.
        for _ in 0..3 {
            match runtime.block_on(in_time(play(sequence, &mut model, &mut real))) {
                Ok(count) => {
                    compared += count;
                    return Ok(());
                }
                Err(why) => result = Err(why),
            }
        }
        result
    });
    report(&real.name(), compared, "generated");
}
