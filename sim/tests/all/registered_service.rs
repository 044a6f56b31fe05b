//! A coordination service from another crate: its client and its model, with a wire protocol of their own. The core that
//! asks it is `redis-fenced`'s, with Redis's requests and answers as types.
//!
//! Each connection carries one request and its answer, one line each: `TAKE value ttl_ms`, `KEEP value ttl_ms`,
//! `GIVE value` or `LOOK`; `TOKEN n`, `DONE`, `HELD value` or `NO`. The server counts tokens, and time by its wall clock.

use protocols::{
    election::{Protocol, redis_fenced},
    elector::ServiceOutput,
    error::Failure,
    history::GrantEnd,
    payload::Nothing,
    service::{
        Service,
        redis::{Api, Reply, Request},
    },
    types::MILLISECOND,
};
use protocols_clients::{
    env::{Env, Listener},
    queue::{Backend, Boxed, Queue, Stream, within},
    registry::{Client, Deliver, Running},
    site::{Endpoint, Site},
};
use reports::Verdict;
use scenarios::{Params, Plan, scenario};
use sim::{
    registry::{NotAdded, Registry},
    run::{self, Options, Run},
    service::{
        Dropped, Entry, Model, Serving, alone,
        grants::{self, Holder},
    },
    world::env::SimEnv,
};
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    sync::mpsc::UnboundedReceiver,
};

static SERVICE: Service = Service {
    name: "lease-server",
    process: Some("leases"),
    port: 7070,
    elects: true,
    has_keys: true,
    expires_by_wall_clock: true,
    is_asked: true,
    ..Service::NONE
};

static PROTOCOL: Protocol = Protocol { name: "lease-holder", service: &SERVICE, ..redis_fenced::PROTOCOL };

const MODEL: Entry = Entry { service: SERVICE.name, members: |count, _| alone(count, || Arc::new(Server::default())) };

const CLIENT: Client<SimEnv> = Client { service: SERVICE.name, run: client };

fn client(env: SimEnv, site: Site, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
    Box::pin(async move {
        let Some(server) = site.service.into_iter().next() else { return };
        Queue::new(env, &SERVICE, move |input| deliver(input)).run(Asking { env, server }, outputs).await;
    })
}

async fn read_line(stream: impl AsyncRead + Unpin) -> io::Result<String> {
    let line = BufReader::new(stream).lines().next_line().await?;
    line.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Opens a connection for each request.
struct Asking {
    env: SimEnv,
    server: Endpoint,
}

impl Backend for Asking {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, server) = (self.env, self.server.clone());
        Box::pin(async move {
            let line = match request {
                Request::AcquireFenced { value, ttl_ms, .. } => format!("TAKE {value} {ttl_ms}\n"),
                Request::CompareAndPexpire { value, ttl_ms, .. } => format!("KEEP {value} {ttl_ms}\n"),
                Request::CompareAndDelete { value, .. } => format!("GIVE {value}\n"),
                Request::Get { .. } => "LOOK\n".to_owned(),
                other => return Err(Failure::Rejected(format!("the server has no {other:?}"))),
            };
            let asked = async {
                let mut stream = env.connect(&server).await?;
                stream.write_all(line.as_bytes()).await?;
                read_line(&mut stream).await
            };
            let answer = async { asked.await.map_err(|error: io::Error| Failure::Unknown(error.to_string())) };
            let answer = within(&env, timeout, answer).await?;
            match (line.split(' ').next(), answer.split_once(' ')) {
                (Some("TAKE"), Some(("TOKEN", token))) => Ok(Reply::Token(token.parse().ok())),
                (Some("TAKE"), None) if answer == "NO" => Ok(Reply::Token(None)),
                (Some("LOOK\n"), Some(("HELD", value))) => Ok(Reply::Value(Some(value.into()))),
                (Some("LOOK\n"), None) => Ok(Reply::Value(None)),
                (Some("KEEP" | "GIVE"), None) => Ok(Reply::Done(answer == "DONE")),
                _ => Err(Failure::Unknown(format!("an answer that is none: {answer:?}"))),
            }
        })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

/// The server's state, which survives its process.
#[derive(Default)]
struct Leases {
    counter: u64,
    /// The value, its token, and its end by the server's wall clock, nanoseconds.
    held: Option<(String, u64, u64)>,
}

impl Leases {
    fn expire(&mut self, wall: u64) {
        self.held.take_if(|(_, _, until)| *until <= wall);
    }

    fn holder(&self) -> Option<Holder> {
        let (value, token, until) = self.held.as_ref()?;
        let name = value.split('/').next().unwrap_or_default().to_owned();
        Some(Holder { name, token: *token, until: Some(*until) })
    }

    fn answer(&mut self, wall: u64, line: &str) -> String {
        self.expire(wall);
        let until = |ttl_ms: &str| wall + ttl_ms.parse::<u64>().expect("milliseconds") * MILLISECOND;
        match (line.split(' ').collect::<Vec<_>>().as_slice(), &mut self.held) {
            (["TAKE", value, ttl_ms], held @ None) => {
                self.counter += 1;
                *held = Some(((*value).to_owned(), self.counter, until(ttl_ms)));
                format!("TOKEN {}\n", self.counter)
            }
            (["KEEP", value, ttl_ms], Some(held)) if held.0 == *value => {
                held.2 = until(ttl_ms);
                "DONE\n".to_owned()
            }
            (["GIVE", value], Some(held)) if held.0 == *value => {
                self.held = None;
                "DONE\n".to_owned()
            }
            (["LOOK"], Some((value, ..))) => format!("HELD {value}\n"),
            _ => "NO\n".to_owned(),
        }
    }
}

#[derive(Default)]
struct Server(Arc<Mutex<Leases>>);

impl Model for Server {
    fn drop_leadership(&self, candidate: &str, _group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut leases = self.0.lock().expect("nothing panics");
        if what == Dropped::Key && leases.holder().is_some_and(|held| held.name == candidate) {
            leases.held = None;
        }
        leases.holder()
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            let mut listener = env.listen(port).await?;
            // The tasks end with the process.
            let mut tasks = Vec::new();
            loop {
                let mut stream = listener.accept().await?;
                let (leases, clock) = (self.0.clone(), env);
                tasks.push(env.spawn(async move {
                    // A client that has gone away will ask again.
                    let Ok(line) = read_line(&mut stream).await else { return };
                    let answer = carry_out(&leases, clock.now().wall, &line);
                    let _ = stream.write_all(answer.as_bytes()).await;
                }));
            }
        })
    }
}

/// Answers a request, and records the resulting holder in the history.
fn carry_out(leases: &Mutex<Leases>, wall: u64, line: &str) -> String {
    let why = if line.starts_with("TAKE") { GrantEnd::Taken } else { GrantEnd::Released };
    let mut leases = leases.lock().expect("nothing panics");
    let answer = leases.answer(wall, line);
    grants::tell(leases.holder(), why);
    answer
}

fn registry() -> Result<Registry, NotAdded> {
    Registry::default().with_protocol(&PROTOCOL)?.with_service(MODEL, CLIENT)
}

fn plan(story: &str) -> Plan {
    let params = Params { rate: 20, ..Params::default() };
    scenario::find(story).expect("a scenario").compile(&params, &PROTOCOL, 7).expect("the parameters make sense")
}

fn run(plan: &Plan, registry: Registry) -> Run {
    run::run(plan, Options { registry, ..Options::default() }).expect("it runs")
}

#[test]
fn a_service_of_ones_own_elects_and_what_it_grants_is_judged() {
    for story in ["gc-pause", "lost-lease", "service-restart"] {
        let run = run(&plan(story), registry().expect("new names"));
        assert_eq!(run.judgement.verdict, Verdict::Pass, "{story}: {:?}", run.judgement.invariants);
        let phantom = run.judgement.invariant("phantom_leader").expect("it is judged");
        assert!(phantom.holds && phantom.could_fail && phantom.detail.contains("granted"), "{story}: {phantom:?}");
    }
}

#[test]
fn without_its_model_or_its_client_nobody_is_elected() {
    let mut silent = registry().expect("new names");
    silent.models.retain(|model| model.service != SERVICE.name);
    let unasked = Registry { clients: Registry::default().clients, ..registry().expect("new names") };
    for lacking in [silent, unasked] {
        assert_eq!(run(&plan("steady"), lacking).judgement.metrics.elections, 0);
    }
}
