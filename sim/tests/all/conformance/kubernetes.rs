//! Kubernetes: transcripts of kube-apiserver 1.20.2, with which the model must agree.
//!
//! A line is a request: method, target below the namespace, body. `@l1` is the version of Lease `l1`, `$l1` its uid. A
//! reply is the status and the body, a watch's line by line; versions and uids are numbered in order of appearance,
//! times and `managedFields` are omitted.
//!
//! The transcripts are committed because Debian has no package of the server: it must be built from Debian's source
//! (`kubernetes` 1.20.2, `make gen_openapi`, then `go build ./cmd/kube-apiserver` with golang-1.19, in GOPATH mode),
//! which takes minutes. If `FENCEPOST_KUBE_APISERVER` (its address, `https://…`) and `FENCEPOST_KUBE_TOKEN` (a bearer
//! token with full rights to Leases in the namespace `default`) are set, a real server is compared, too, and
//! `FENCEPOST_UPDATE=1` records the transcripts anew.

use super::{
    report,
    script::{self, Arm},
};
use hyper::Method;
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    http::{Ask, Http},
    site::Endpoint,
};
use serde_json::Value;
use sim::service::kubernetes::Kubernetes as Model;
use std::{process::Command, sync::Arc};

const NAMESPACE: &str = "/apis/coordination.k8s.io/v1/namespaces/default";

enum Served {
    Real { address: String, token: String },
    Model { http: Http<TokioEnv>, _task: <TokioEnv as Env>::Task },
}

/// A server, and the versions and uids seen so far.
struct Kubernetes {
    served: Served,
    versions: Vec<String>,
    uids: Vec<String>,
}

impl Kubernetes {
    fn model() -> Served {
        let (state, port, env) = (Arc::<Model>::default(), servers::free_address().port(), TokioEnv::new(1));
        let task = env.clone().spawn(async move { state.serve_on(env, port).await.expect("the port is free") });
        let http = Http::new(TokioEnv::new(1), Endpoint { host: "127.0.0.1".to_owned(), port });
        Served::Model { http, _task: task }
    }

    fn of(served: Served) -> Kubernetes {
        Kubernetes { served, versions: Vec::new(), uids: Vec::new() }
    }

    /// A real server, if one is configured.
    fn real() -> Option<Kubernetes> {
        let variable = |name| std::env::var(name).ok();
        let address = variable("FENCEPOST_KUBE_APISERVER")?;
        Some(Kubernetes::of(Served::Real { address, token: variable("FENCEPOST_KUBE_TOKEN").unwrap_or_default() }))
    }

    async fn raw(&self, method: &str, target: &str, body: &str) -> (u16, String) {
        let target = format!("{NAMESPACE}{target}");
        match &self.served {
            Served::Model { http, .. } => {
                for _ in 0..1000 {
                    let mut ask = Ask::new(Method::from_bytes(method.as_bytes()).expect("a method"), target.as_str());
                    if !body.is_empty() {
                        ask = ask.with("content-type", "application/json").sending(body.to_owned());
                    }
                    // The model's task may not be listening yet.
                    if let Ok(answer) = http.ask(ask).await {
                        return (answer.status, String::from_utf8_lossy(&answer.body).into_owned());
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                panic!("the model does not answer");
            }
            // Its certificate is self-signed, so curl must not verify it.
            Served::Real { address, token } => {
                let mut curl = Command::new("curl");
                curl.args(["-sk", "-A", "fencepost", "-X", method, "-w", "\n%{http_code}"]);
                curl.args(["-H", &format!("Authorization: Bearer {token}"), &format!("{address}{target}")]);
                if !body.is_empty() {
                    curl.args(["-H", "Content-Type: application/json", "--data-binary", body]);
                }
                let output = curl.output().expect("curl can be run");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let (body, status) = text.rsplit_once('\n').expect("curl tells the status");
                (status.parse().expect("a status"), body.to_owned())
            }
        }
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
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.shown(item)).collect()),
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
        if self.is_model() { "the model".to_owned() } else { "kube-apiserver".to_owned() }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        (self.versions, self.uids) = (Vec::new(), Vec::new());
        if self.is_model() {
            self.served = Kubernetes::model();
        } else {
            assert_eq!(self.raw("DELETE", "/leases", "").await.0, 200);
        }
    }

    async fn ask(&mut self, _: &str, text: &str) -> Vec<String> {
        let (method, rest) = text.split_once(' ').expect("a method and a target");
        let (target, body) = rest.split_once(' ').unwrap_or((rest, ""));
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

    async fn restart(&mut self) {}

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The model, and a real server if available, answer as in the transcripts.
#[test]
fn kubernetes_transcripts() {
    super::run(async {
        let (mut model, mut real) = (Kubernetes::of(Kubernetes::model()), Kubernetes::real());
        let (mut count, mut wrong) = (0, Vec::new());
        for mut script in script::all("kubernetes") {
            if let Some(real) = &mut real {
                let replies = script.play(real).await;
                if super::updating() {
                    script.update(replies);
                } else {
                    wrong.extend(script.check(real, &replies).err());
                }
            }
            let replies = script.play(&mut model).await;
            wrong.extend(script.check(&model, &replies).err());
            count += script.commands();
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
        report("transcripts of kube-apiserver 1.20", count, "recorded");
    });
}
