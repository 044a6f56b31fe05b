//! Kubernetes: its arms, scripts and generated requests.
//!
//! A line is a request: method, target below the namespace, body. `@l1` is the version of Lease `l1`, `$l1` its uid. A
//! reply is the status and the body, a watch's line by line; versions and uids are numbered in order of appearance,
//! times and `managedFields` are omitted.

use super::{
    generate, in_time, report,
    script::{self, Arm, check},
};
use hyper::{
    Method,
    header::{CONTENT_TYPE, USER_AGENT},
};
use proptest::{prelude::*, sample::select};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    http::{Ask, Http},
    site::Endpoint,
};
use serde_json::Value;
use servers::{Folder, Server};
use sim::service::kubernetes::Kubernetes as Model;
use std::sync::Arc;

const NAMESPACE: &str = "/apis/coordination.k8s.io/v1/namespaces/default";

/// The implementation of an arm.
enum Served {
    Real(Box<(Server, Folder)>),
    Model { _task: <TokioEnv as Env>::Task },
}

/// A server, and the versions and uids seen so far.
struct Kubernetes {
    served: Served,
    http: Http<TokioEnv>,
    versions: Vec<String>,
    uids: Vec<String>,
}

impl Kubernetes {
    fn of(served: Served, port: u16) -> Kubernetes {
        let http = Http::new(TokioEnv::new(1), Endpoint { host: "127.0.0.1".to_owned(), port });
        Kubernetes { served, http, versions: Vec::new(), uids: Vec::new() }
    }

    /// The model, served over a socket.
    fn model() -> Kubernetes {
        let (state, port, env) = (Arc::<Model>::default(), servers::free_address().port(), TokioEnv::new(1));
        let task = env.clone().spawn(async move { state.serve_on(env, port).await.expect("the port is free") });
        Kubernetes::of(Served::Model { _task: task }, port)
    }

    /// The real server, if available.
    fn real() -> Option<Kubernetes> {
        let folder = Folder::new();
        let server = servers::kubernetes(&folder, "a comparison with kube-apiserver 1.20")?;
        let port = server.address.port();
        Some(Kubernetes::of(Served::Real(Box::new((server, folder))), port))
    }

    async fn raw(&self, method: &str, target: &str, body: &str) -> (u16, String) {
        let (kind, target) = match target.split_once(' ') {
            Some((kind, target)) => (format!("application/{kind}"), target),
            None => ("application/json".to_owned(), target),
        };
        let target = format!("{NAMESPACE}{target}");
        for _ in 0..1000 {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let mut ask = Ask::new(method, target.as_str()).with(USER_AGENT.as_str(), "fencepost");
            if !body.is_empty() {
                ask = ask.with(CONTENT_TYPE.as_str(), &kind).sending(body.to_owned());
            }
            // The model's task may not be listening yet.
            if let Ok(answer) = self.http.ask(ask).await {
                return (answer.status, String::from_utf8_lossy(&answer.body).into_owned());
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("{} does not answer {method} {target}", self.name());
    }

    /// Replaces `@l1` and `$l1`.
    async fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for lease in ["l1", "l2"] {
            for (sign, field) in [("@", "resourceVersion"), ("$", "uid")] {
                let placeholder = format!("{sign}{lease}");
                if text.contains(&placeholder) {
                    let (_, body) = self.raw("GET", &format!("/leases/{lease}"), "").await;
                    let object: Value = serde_json::from_str(&body).unwrap_or_default();
                    let value = object["metadata"][field].as_str().unwrap_or("0").to_owned();
                    text = text.replace(&placeholder, &value);
                }
            }
        }
        text
    }

    fn shown(&mut self, value: Value) -> Value {
        fn place(seen: &mut Vec<String>, value: &str, name: &str) -> Value {
            let place = seen.iter().position(|known| known == value).unwrap_or_else(|| {
                seen.push(value.to_owned());
                seen.len() - 1
            });
            format!("{name}{}", place + 1).into()
        }
        match value {
            Value::Array(mut items) => {
                // The server has conflicts in the order of a map of Go's, which is none.
                items.sort_by_cached_key(|item| (item["field"].to_string(), item["message"].to_string()));
                Value::Array(items.into_iter().map(|item| self.shown(item)).collect())
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().filter(|(name, value)| name != "managedFields" && !value.is_null());
                let mut shown = serde_json::Map::new();
                // Sorted by name, since values are numbered in that order.
                let mut fields: Vec<(String, Value)> = fields.collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                for (name, value) in fields {
                    let value = match (name.as_str(), value) {
                        ("creationTimestamp", _) => "#".into(),
                        ("uid", Value::String(uid)) => place(&mut self.uids, &uid, "uid"),
                        ("resourceVersion", Value::String(version)) => place(&mut self.versions, &version, "v"),
                        ("message", Value::String(mut text)) => {
                            for (place, uid) in self.uids.iter().enumerate() {
                                text = text.replace(uid, &format!("uid{}", place + 1));
                            }
                            text.into()
                        }
                        (_, value) => self.shown(value),
                    };
                    shown.insert(name, value);
                }
                Value::Object(shown)
            }
            value => value,
        }
    }
}

impl Arm for Kubernetes {
    fn name(&self) -> String {
        if self.is_model() { "the model".to_owned() } else { "kube-apiserver 1.20".to_owned() }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        if self.is_model() {
            *self = Kubernetes::model();
        } else {
            assert_eq!(self.raw("DELETE", "/leases", "").await.0, 200);
            (self.versions, self.uids) = (Vec::new(), Vec::new());
        }
    }

    async fn ask(&mut self, _: &str, text: &str) -> Vec<String> {
        let (method, rest) = text.split_once(' ').expect("a method and a target");
        // Before its target, a patch has its kind.
        let end = if method == "PATCH" {
            rest.find(" {").unwrap_or(rest.len())
        } else {
            rest.find(' ').unwrap_or(rest.len())
        };
        let (target, body) = rest.split_at(end);
        let (target, body) = (target, body.trim_start());
        let (target, body) = (self.filled(target).await, self.filled(body).await);
        let (status, answer) = self.raw(method, &target, &body).await;
        let lines: Vec<&str> = match target.contains("watch=1") {
            true => answer.lines().filter(|line| !line.trim().is_empty()).collect(),
            false => vec![answer.as_str()],
        };
        let line = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(value) => format!("{status} {}", self.shown(value)),
            Err(_) => format!("{status} {}", line.trim()),
        };
        lines.into_iter().map(line).collect()
    }

    async fn reconnect(&mut self, _: &str) {}

    async fn restart(&mut self) {
        match &mut self.served {
            Served::Real(real) => real.0.restart(),
            Served::Model { .. } => unreachable!("no script restarts it"),
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The real server and the model give every reply of every script.
#[test]
fn kubernetes_scripts() {
    super::run(async {
        let (mut model, mut real) = (Kubernetes::model(), Kubernetes::real());
        let (mut count, mut wrong) = (0, Vec::new());
        for mut script in script::all("kubernetes") {
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

fn name() -> impl Strategy<Value = String> {
    word(&["l1", "l1", "l1", "l2"])
}

/// A Lease's `spec`, each field at most once; in a patch, a field may be removed.
fn spec(removes: bool) -> impl Strategy<Value = String> {
    let field = move |name: &'static str, values: &'static [&'static str]| {
        let value = prop_oneof![6 => word(values), u32::from(removes) => Just("null".to_owned())];
        prop::option::of(value.prop_map(move |value| format!("\"{name}\":{value}")))
    };
    let fields = (
        field("holderIdentity", &["\"a\"", "\"a\"", "\"b\"", "\"\""]),
        field("leaseDurationSeconds", &["15", "15", "1", "0", "-1"]),
        field("leaseTransitions", &["0", "1", "1", "-1"]),
        field("acquireTime", &["\"2026-01-01T00:00:00.000000Z\"", "\"2026-01-01T01:00:00.000000+01:00\""]),
        field("renewTime", &["\"2026-01-01T00:00:00.000000Z\"", "\"2026-01-01T00:00:00.500000Z\""]),
    );
    fields.prop_map(|(a, b, c, d, e)| {
        let fields: Vec<String> = [a, b, c, d, e].into_iter().flatten().collect();
        format!("{{{}}}", fields.join(","))
    })
}

fn metadata(name: String) -> impl Strategy<Value = String> {
    let version = word(&["@l1", "@l1", "@l1", "@l1", "@l2", "", "0", "99999999"]);
    let uid = word(&["", "", "", "", "", "$l1", "$l2", "other"]);
    (prop::option::weighted(0.8, version), uid).prop_map(move |(version, uid)| {
        let version = version.map_or(String::new(), |version| format!(",\"resourceVersion\":\"{version}\""));
        let uid = if uid.is_empty() { uid } else { format!(",\"uid\":\"{uid}\"") };
        format!("\"metadata\":{{\"name\":\"{name}\"{version}{uid}}}")
    })
}

fn put() -> impl Strategy<Value = String> {
    let object = |name: String| (Just(name.clone()), metadata(name), spec(false));
    name()
        .prop_flat_map(object)
        .prop_map(|(name, metadata, spec)| format!("PUT /leases/{name} {{{metadata},\"spec\":{spec}}}"))
}

fn patch() -> impl Strategy<Value = String> {
    let kind = word(&["merge-patch+json", "merge-patch+json", "strategic-merge-patch+json"]);
    let metadata = || {
        word(&[
            "",
            "",
            "",
            "\"metadata\":{\"resourceVersion\":\"@l1\"},",
            "\"metadata\":{\"resourceVersion\":\"99999999\"},",
        ])
    };
    let merge = (kind, name(), word(&["", "", "", "?fieldManager=one", "?force=true"]), metadata(), spec(true))
        .prop_map(|(kind, name, query, metadata, spec)| {
            format!("PATCH {kind} /leases/{name}{query} {{{metadata}\"spec\":{spec}}}")
        });
    let who = word(&[
        "?fieldManager=one",
        "?fieldManager=one",
        "?fieldManager=two",
        "?fieldManager=two&force=true",
        "?fieldManager=one&force=true",
        "",
    ]);
    let apply = (name(), who, spec(false)).prop_map(|(name, who, spec)| {
        let kind = "\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\"";
        format!(
            "PATCH apply-patch+yaml /leases/{name}{who} {{{kind},\"metadata\":{{\"name\":\"{name}\"}},\"spec\":{spec}}}"
        )
    });
    prop_oneof![merge, apply]
}

fn request() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (name(), spec(false)).prop_map(|(name, spec)| format!("POST /leases {{\"metadata\":{{\"name\":\"{name}\"}},\"spec\":{spec}}}")),
        12 => put(),
        8 => patch(),
        2 => name().prop_map(|name| format!("DELETE /leases/{name}")),
        4 => name().prop_map(|name| format!("GET /leases/{name}")),
        2 => word(&["GET /leases", "GET /leases?fieldSelector=metadata.name=l1"]),
        1 => word(&["GET /leases/L_1", "DELETE /leases/none", "PUT /leases/l1 {\"metadata\":{\"name\":\"l2\"}}", "POST /leases/l1 {}"]),
    ]
}

/// Plays a sequence on both; returns the conversation up to the first difference, if any.
async fn play(sequence: &[String], model: &mut Kubernetes, real: &mut Kubernetes) -> Result<usize, String> {
    model.reset().await;
    real.reset().await;
    let mut told = String::new();
    for line in sequence {
        told += &format!("  {line}\n");
        let (m, r) = (model.ask("", line).await, real.ask("", line).await);
        if m != r {
            return Err(format!("{told}  {} said  {}\n  the model said  {}", real.name(), r[0], m[0]));
        }
        told += &format!("  < {}\n", r[0]);
    }
    Ok(sequence.len())
}

/// Model and server agree on any requests in any order.
#[test]
fn kubernetes_generated() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let Some(mut real) = Kubernetes::real() else { return };
    let mut model = Kubernetes::model();
    let mut compared = 0;
    generate(prop::collection::vec(request(), 1..60), 400, |sequence: &Vec<String>| {
        compared += runtime.block_on(in_time(play(sequence, &mut model, &mut real)))?;
        Ok(())
    });
    report(&real.name(), compared, "generated");
}
