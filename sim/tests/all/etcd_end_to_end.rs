//! The genuine etcd client, and electors on it, against the served model over real sockets on loopback.
//!
//! `the_client_sees_etcd` records what the client sees; `FENCEPOST_ETCD=127.0.0.1:PORT` makes the same calls to a real
//! etcd with an empty store instead, which must give the same text.

use etcd_client::{
    Client, Compare, CompareOp, DeleteOptions, Error, EventType, GetOptions, GetResponse, LeaseGrantOptions,
    LeaseTimeToLiveOptions, PutOptions, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse, WatchOptions,
};
use protocols::{
    clock::Now,
    core::TimerId,
    election::{self, Setup, Timings},
    elector::{Input, Output, ServiceInput},
    types::{MILLISECOND, NodeId, SECOND},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    etcd::connect,
    site::Endpoint,
};
use sim::service::etcd::{model::Model, wire};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A port that was just free.
fn free_port() -> u16 {
    servers::free_address().port()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("within a minute") });
}

/// Serves a new model.
fn serve(env: &TokioEnv) -> (Endpoint, Arc<Mutex<Model>>, <TokioEnv as Env>::Task) {
    let (port, model) = (free_port(), Arc::new(Mutex::new(Model::new())));
    let served = wire::serve(env.clone(), port, model.clone());
    let task = env.spawn(async move { drop(served.await) });
    (Endpoint { host: "127.0.0.1".into(), port }, model, task)
}

fn outcome<T>(result: Result<T, Error>, show: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(answer) => show(answer),
        Err(Error::GRpcStatus(status)) => format!("{:?}: {}", status.code(), status.message()),
        Err(error) => error.to_string(),
    }
}

fn keys(answer: &GetResponse) -> String {
    let mut text = format!("revision {} count {}", answer.header().expect("a header").revision(), answer.count());
    if answer.more() {
        text += " more";
    }
    for kv in answer.kvs() {
        let (key, value) = (kv.key_str().expect("text"), kv.value_str().expect("text"));
        let leased = if kv.lease() == 0 { "" } else { " leased" };
        let (created, modified, version) = (kv.create_revision(), kv.mod_revision(), kv.version());
        write!(text, " {key}={value} ({created} {modified} {version}{leased})").expect("a string");
    }
    text
}

async fn key_calls(c: &mut Client, log: &mut Vec<String>) -> Result<(), Error> {
    for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
        let put = c.put(key, value, Some(PutOptions::new().with_prev_key())).await?;
        let before = put.prev_key().map(|kv| kv.value().to_vec());
        log.push(format!("put {key}: revision {} {before:?}", put.header().expect("a header").revision()));
    }
    let sorted = |target, order| GetOptions::new().with_prefix().with_sort(target, order).with_limit(1);
    let gets = [
        ("a", GetOptions::new()),
        ("a", GetOptions::new().with_from_key()),
        ("a", GetOptions::new().with_revision(2)),
        ("a", GetOptions::new().with_revision(9)),
        ("", GetOptions::new()),
        ("a", GetOptions::new().with_from_key().with_count_only().with_limit(1)),
        ("a", GetOptions::new().with_from_key().with_keys_only()),
        ("a", GetOptions::new().with_range("c").with_sort(SortTarget::Mod, SortOrder::Descend)),
        ("a", GetOptions::new().with_range("c").with_max_mod_revision(3)),
        ("b", sorted(SortTarget::Create, SortOrder::Descend).with_max_create_revision(2)),
        ("a", GetOptions::new().with_range("c").with_limit(1).with_sort(SortTarget::Create, SortOrder::Descend)),
    ];
    for (key, options) in gets {
        log.push(format!("get: {}", outcome(c.get(key, Some(options)).await, |answer| keys(&answer))));
    }
    let deleted = c.delete("b", Some(DeleteOptions::new().with_prev_key())).await?;
    let revision = deleted.header().expect("a header").revision();
    log.push(format!("delete: revision {revision} {} {}", deleted.deleted(), deleted.prev_kvs().len()));
    let nothing = c.delete("b", None).await?;
    log.push(format!("delete: revision {} {}", nothing.header().expect("a header").revision(), nothing.deleted()));
    let missing = c.put("a", "9", Some(PutOptions::new().with_lease(77))).await;
    log.push(format!("put on no lease: {}", outcome(missing, |_| "done".into())));
    let ignored = c.put("zz", "", Some(PutOptions::new().with_ignore_value())).await;
    log.push(format!("put nothing: {}", outcome(ignored, |_| "done".into())));
    Ok(())
}

async fn transactions(c: &mut Client, log: &mut Vec<String>) {
    let get = |key: &str| TxnOp::get(key, None);
    let put = |key: &str, value: &str| TxnOp::put(key, value, None);
    let create = |key: &str| Compare::create_revision(key, CompareOp::Equal, 0);
    let campaign = |value: &str| Txn::new().when([create("k")]).and_then([put("k", value)]).or_else([get("k")]);
    let inner = Txn::new().when([create("n")]).and_then([get("n")]).or_else([put("m", "1")]);
    let value = Compare::value("k", CompareOp::Equal, "v");
    let txns = [
        campaign("v"),
        Txn::new().and_then([put("other", "1")]),
        campaign("w"),
        Txn::new().when([value]).and_then([put("x", "1"), get("x"), TxnOp::delete("k", None), get("k")]),
        Txn::new().when([Compare::value("k", CompareOp::Equal, "")]).and_then([get("x")]).or_else([get("other")]),
        Txn::new().when([Compare::version("k", CompareOp::Equal, 0)]).and_then([TxnOp::delete("k", None)]),
        Txn::new().and_then([put("n", "1"), TxnOp::txn(inner)]),
        Txn::new().and_then([put("p", "1"), put("p", "2")]),
        Txn::new().and_then([put("p", "1"), TxnOp::delete("p", None)]),
        Txn::new().and_then([put("p", "1"), TxnOp::put("q", "1", Some(PutOptions::new().with_lease(77)))]),
        Txn::new().and_then([put("p", "1"), TxnOp::get("a", Some(GetOptions::new().with_revision(99)))]),
        Txn::new().and_then(vec![get("a"); 129]),
    ];
    for txn in txns {
        log.push(format!(
            "txn: {}",
            outcome(c.txn(txn).await, |answer| {
                let mut text =
                    format!("revision {} {}", answer.header().expect("a header").revision(), answer.succeeded());
                for response in answer.op_responses() {
                    match response {
                        TxnOpResponse::Put(r) => write!(text, " | put {:?}", r.header().map(|h| h.revision())),
                        TxnOpResponse::Get(r) => write!(text, " | get {}", keys(&r)),
                        TxnOpResponse::Delete(r) => {
                            write!(text, " | delete {:?} {}", r.header().map(|h| h.revision()), r.deleted())
                        }
                        TxnOpResponse::Txn(r) => {
                            write!(text, " | txn {:?} {}", r.header().map(|h| h.revision()), r.succeeded())
                        }
                    }
                    .expect("a string");
                }
                text
            })
        ));
    }
}

async fn leases(env: &TokioEnv, c: &mut Client, log: &mut Vec<String>) -> Result<(), Error> {
    let short = c.lease_grant(1, None).await?;
    let granted = env.now().mono;
    log.push(format!("grant 1: ttl {} revision {}", short.ttl(), short.header().expect("a header").revision()));
    let chosen = LeaseGrantOptions::new().with_id(0xabc);
    log.push(format!("grant: {:x}", c.lease_grant(30, Some(chosen.clone())).await?.id()));
    log.push(format!("again: {}", outcome(c.lease_grant(30, Some(chosen)).await, |_| "done".into())));
    for (key, lease) in [("lb", 0xabc), ("la", 0xabc), ("short", short.id())] {
        c.put(key, "1", Some(PutOptions::new().with_lease(lease))).await?;
    }
    let left = c.lease_time_to_live(0xabc, Some(LeaseTimeToLiveOptions::new().with_keys())).await?;
    let mut held: Vec<_> = left.keys().iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
    held.sort();
    log.push(format!("ttl: granted {} keys {held:?}", left.granted_ttl()));
    log.push(format!("ttl of none: {}", c.lease_time_to_live(77, None).await?.ttl()));
    log.push(format!("keepalive of none: {}", outcome(c.lease_keep_alive(77).await.map(drop), |()| "done".into())));
    let (mut keeper, mut answers) = c.lease_keep_alive(0xabc).await?;
    keeper.keep_alive().await?;
    log.push(format!("keepalive: ttl {:?}", answers.message().await?.map(|answer| answer.ttl())));
    let mut watch = c.watch("l", Some(WatchOptions::new().with_prefix().with_prev_key())).await?;
    c.lease_revoke(0xabc).await?;
    log_events("revoked", &mut watch, log, 2).await?;
    log.push(format!("revoke again: {}", outcome(c.lease_revoke(0xabc).await, |_| "done".into())));
    keeper.keep_alive().await?;
    log.push(format!("keepalive of the revoked: ttl {:?}", answers.message().await?.map(|answer| answer.ttl())));
    let mut watch = c.watch("short", None).await?;
    log_events("expired", &mut watch, log, 1).await?;
    let took = env.now().mono - granted;
    // The scan comes within 500 ms; the rest allows for a busy machine.
    let in_time = (2 * SECOND..6 * SECOND).contains(&took);
    log.push(format!("expired after its 2 s: {in_time}"));
    Ok(())
}

/// Logs a watch's events until `count` have arrived, or it was cancelled.
async fn log_events(
    what: &str,
    watch: &mut etcd_client::WatchStream,
    log: &mut Vec<String>,
    mut expected: usize,
) -> Result<(), Error> {
    while expected > 0 {
        let Some(answer) = watch.message().await? else { break };
        let revision = answer.header().expect("a header").revision();
        let mut text = format!("{what}: revision {revision}");
        for (is, word) in [(answer.created(), " created"), (answer.canceled(), " cancelled")] {
            text += if is { word } else { "" };
        }
        if answer.canceled() {
            write!(text, " {} {}", answer.compact_revision(), answer.cancel_reason()).expect("a string");
            expected = 0;
        }
        for event in answer.events() {
            expected = expected.saturating_sub(1);
            let kind = if event.event_type() == EventType::Put { "put" } else { "delete" };
            let kv = event.kv().expect("a key");
            write!(text, " {kind} {} at {}", kv.key_str()?, kv.mod_revision()).expect("a string");
            if let Some(before) = event.prev_kv() {
                write!(text, " was {}", before.value_str()?).expect("a string");
            }
        }
        log.push(text);
    }
    Ok(())
}

async fn watches(c: &mut Client, log: &mut Vec<String>) -> Result<(), Error> {
    let mut past = c.watch("a", Some(WatchOptions::new().with_start_revision(2).with_prev_key())).await?;
    log_events("from the past", &mut past, log, 2).await?;
    c.put("a", "now", None).await?;
    log_events("and now", &mut past, log, 1).await?;
    let both = Txn::new().and_then([TxnOp::put("wa", "1", None), TxnOp::put("wb", "2", None)]);
    let mut prefix = c.watch("w", Some(WatchOptions::new().with_prefix())).await?;
    c.txn(both).await?;
    log_events("one revision", &mut prefix, log, 2).await?;
    c.compact(4, None).await?;
    log.push(format!("compact: {}", outcome(c.compact(4, None).await, |_| "done".into())));
    log.push(format!("compact: {}", outcome(c.compact(999, None).await, |_| "done".into())));
    let old = c.get("a", Some(GetOptions::new().with_revision(3))).await;
    log.push(format!("get: {}", outcome(old, |answer| keys(&answer))));
    let mut lost = c.watch("a", Some(WatchOptions::new().with_start_revision(2))).await?;
    log_events("compacted", &mut lost, log, 9).await?;
    let mut wrong = c.watch("b", Some(WatchOptions::new().with_range("a"))).await?;
    log_events("wrong range", &mut wrong, log, 9).await
}

#[test]
fn the_client_sees_etcd() {
    run(async {
        let env = TokioEnv::new(1);
        let (mut endpoint, _model, _task) = serve(&env);
        if let Ok(real) = std::env::var("FENCEPOST_ETCD") {
            let (host, port) = real.split_once(':').expect("host:port");
            endpoint = Endpoint { host: host.into(), port: port.parse().expect("a port") };
        }
        let mut client = connect(env.clone(), endpoint).await.expect("a client");
        env.sleep(50 * MILLISECOND).await;
        let mut log = Vec::new();
        key_calls(&mut client, &mut log).await.expect("answers");
        transactions(&mut client, &mut log).await;
        leases(&env, &mut client, &mut log).await.expect("answers");
        watches(&mut client, &mut log).await.expect("answers");
        let text = log.join("\n") + "\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/etcd-client.txt");
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&path, text).expect("writable");
        } else {
            assert_eq!(text, fs::read_to_string(&path).expect("the text"));
        }
    });
}

/// A candidate: core, genuine client, real timers. Dropping it ends everything.
struct Candidate {
    inputs: UnboundedSender<Input>,
    outputs: UnboundedReceiver<Output>,
    _tasks: [<TokioEnv as Env>::Task; 2],
}

impl Candidate {
    fn start(env: &TokioEnv, endpoint: &Endpoint, node: u16, lease_ttl: u64) -> Self {
        let (inputs, mut incoming) = unbounded_channel::<Input>();
        let (seen, outputs) = unbounded_channel();
        let (requests, service) = unbounded_channel();
        let answers = inputs.clone();
        let deliver = move |input: ServiceInput| drop(answers.send(Input::Service(input)));
        let client = protocols_clients::etcd::run(env.clone(), vec![endpoint.clone()], service, deliver);
        let timings = Timings {
            lease_ttl,
            renew_interval: lease_ttl / 3,
            request_timeout: SECOND,
            election_timeout: None,
            rules: Default::default(),
            own: Default::default(),
        };
        let names = vec!["n0".into(), "n1".into()];
        let setup = Setup {
            group: 0,
            seat: None,
            node: NodeId(node),
            names,
            timings,
            nonce: 1,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let mut elector = (election::etcd::PROTOCOL.elector)(setup);
        let clock = env.clone();
        let core = async move {
            let mut timers: BTreeMap<TimerId, u64> = BTreeMap::new();
            let mut out = Vec::new();
            loop {
                let due = timers.iter().map(|(id, at)| (*at, *id)).min();
                let wait = due.map_or(SECOND, |(at, _)| at.saturating_sub(clock.now().mono));
                let input = match clock.timeout(wait, incoming.recv()).await {
                    Some(Some(input)) => input,
                    Some(None) => return,
                    None => match due {
                        Some((_, id)) => {
                            timers.remove(&id);
                            Input::Timer(id)
                        }
                        None => continue,
                    },
                };
                elector.step(clock.now(), input, &mut out);
                for output in out.drain(..) {
                    match output {
                        Output::Service(output) => drop(requests.send(output)),
                        Output::SetTimer { id, at } => drop(timers.insert(id, at)),
                        Output::CancelTimer(id) => drop(timers.remove(&id)),
                        other => drop(seen.send(other)),
                    }
                }
            }
        };
        inputs.send(Input::Start).expect("it listens");
        Candidate { inputs, outputs, _tasks: [env.spawn(client), env.spawn(core)] }
    }

    /// Waits for the first output from which `want` takes something.
    async fn wait<T>(&mut self, want: impl Fn(&Output) -> Option<T>) -> T {
        loop {
            let output = self.outputs.recv().await.expect("it runs");
            if let Some(found) = want(&output) {
                return found;
            }
        }
    }

    async fn elected(&mut self) -> (u64, u64) {
        self.wait(|output| match output {
            Output::Elected(leadership) => Some((leadership.token, leadership.valid_until)),
            _ => None,
        })
        .await
    }
}

#[test]
fn candidates_take_turns() {
    run(async {
        let env = TokioEnv::new(2);
        let (endpoint, model, task) = serve(&env);
        env.sleep(50 * MILLISECOND).await;
        let mut first = Candidate::start(&env, &endpoint, 0, 2 * SECOND);
        let (first_token, _) = first.elected().await;
        let mut second = Candidate::start(&env, &endpoint, 1, 2 * SECOND);
        let seen = |output: &Output| match output {
            Output::Observed(Some(node)) => Some(*node),
            _ => None,
        };
        assert_eq!(second.wait(seen).await, NodeId(0), "a follower learns who leads");

        first.inputs.send(Input::Resign).expect("it runs");
        let (second_token, _) = second.elected().await;
        assert!(second_token > first_token, "{second_token} after {first_token}");
        let deposed = first.wait(|output| matches!(output, Output::Deposed(_)).then_some(())).await;
        assert_eq!(deposed, ());

        // etcd restarts with its keys and leases, and both clients reconnect.
        drop(task);
        let restarted = wire::serve(env.clone(), endpoint.port, model);
        let _task = env.spawn(async move { drop(restarted.await) });
        let later = env.now().mono + 3 * SECOND;
        let renewed = move |output: &Output| match output {
            Output::Renewed(leadership) if leadership.valid_until > later => Some(()),
            Output::Deposed(why) => panic!("deposed over a restart of etcd: {why:?}"),
            _ => None,
        };
        second.wait(renewed).await;

        // The second dies: the first waits until its lease expires, and gets a higher token again.
        let died: Now = env.now();
        drop(second);
        let (third_token, _) = first.elected().await;
        let took = env.now().mono - died.mono;
        assert!(third_token > second_token, "{third_token} after {second_token}");
        assert!((SECOND..6 * SECOND).contains(&took), "took over after {took} ns");
    });
}
