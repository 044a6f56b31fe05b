//! The clients, the same on both sides: one holds a lease or session and keeps it alive, the other writes all the time.
//! They are the electors' own clients.

use super::seen::{Log, Seen};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::{consul, etcd, zookeeper},
    types::{MILLISECOND, SECOND},
};
use protocols_clients::{env::Env, site::Endpoint};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    Etcd,
    Zookeeper,
    Consul,
}

/// The interval between writes, in nanoseconds.
const WRITES: u64 = 100 * MILLISECOND;
/// The timeout of a write or renewal, in nanoseconds. ZooKeeper's end with their connection.
const PATIENCE: u64 = SECOND;
/// How often etcd's client checks for due renewals (`client/v3/lease.go: sendKeepAliveLoop`), in nanoseconds.
const LOOK: u64 = 500 * MILLISECOND;
/// When Consul's client retries a renewal (`api/session.go: RenewPeriodic`), in nanoseconds.
const RENEW_AGAIN: u64 = SECOND;

/// A running client.
struct Line<E: Env> {
    env: E,
    outputs: UnboundedSender<ServiceOutput>,
    inputs: UnboundedReceiver<ServiceInput>,
    number: u64,
    _task: E::Task,
}

impl<E: Env> Line<E> {
    fn open(service: Service, env: &E, members: Vec<Endpoint>) -> Line<E> {
        let ((outputs, requests), (answers, inputs)) = (unbounded_channel(), unbounded_channel());
        let (own, deliver) = (env.clone(), move |input| drop(answers.send(input)));
        let task = async move {
            match service {
                Service::Etcd => protocols_clients::etcd::run(own, members, requests, deliver).await,
                Service::Zookeeper => protocols_clients::zookeeper::run(own, members, requests, deliver).await,
                Service::Consul => protocols_clients::consul::run(own, members, requests, deliver).await,
            }
        };
        Line { env: env.clone(), outputs, inputs, number: 0, _task: env.spawn(task) }
    }

    fn say(&self, output: ServiceOutput) {
        // The client ends with this end of the channel.
        let _ = self.outputs.send(output);
    }

    fn stream(&mut self, request: impl Payload) -> u64 {
        self.number += 1;
        self.say(ServiceOutput::Open { number: self.number, request: request.erase() });
        self.number
    }

    async fn next(&mut self) -> ServiceInput {
        match self.inputs.recv().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }

    fn request(&mut self, request: impl Payload) -> u64 {
        self.number += 1;
        let (number, request) = (self.number, request.erase());
        self.say(ServiceOutput::Request { number, request, timeout: PATIENCE, concurrent: true });
        number
    }

    /// Asks, and waits for the answer; ignores stream items meanwhile.
    async fn ask<R: Payload>(&mut self, request: impl Payload) -> Result<R, Failure> {
        let asked = self.request(request);
        loop {
            if let ServiceInput::Reply { number, reply } = self.next().await
                && number == asked
            {
                return reply.map(|reply| R::restore(reply).expect("a reply of the service's own type"));
            }
        }
    }
}

/// Holds a lease of `ttl_s` seconds, and keeps it alive.
pub async fn hold<E: Env>(service: Service, env: E, members: Vec<Endpoint>, ttl_s: u64, log: Log) {
    let line = Line::open(service, &env, members);
    match service {
        Service::Etcd => hold_etcd(line, ttl_s, &log).await,
        Service::Zookeeper => hold_zookeeper(line, ttl_s, &log).await,
        Service::Consul => hold_consul(line, ttl_s, &log).await,
    }
    log.sees(Seen::Lost);
}

async fn hold_etcd<E: Env>(mut line: Line<E>, ttl_s: u64, log: &Log) {
    let lease = loop {
        match line.ask(etcd::Request::Grant { ttl_s: ttl_s.cast_signed() }).await {
            Ok(etcd::Reply::Granted { lease, .. }) => break lease,
            other => log.fails(&other.err().unwrap_or(Failure::Unknown("no lease".into()))),
        }
    };
    let request = etcd::StreamRequest::Keepalive { lease, ttl_s: ttl_s.cast_signed() };
    let (mut open, mut said) = (None, 0);
    loop {
        let now = line.env.now().mono;
        match open {
            None => (open, said) = (Some(line.stream(request.clone())), now),
            Some(stream) if now >= said + ttl_s * SECOND / 3 => {
                line.say(ServiceOutput::Push(stream));
                said = now;
            }
            Some(_) => {}
        }
        let mut look = line.env.sleep(LOOK);
        loop {
            let input = tokio::select! {
                biased;
                input = line.next() => input,
                () = &mut look => break,
            };
            match input {
                ServiceInput::Item { item, .. } => match etcd::Item::restore(item) {
                    Ok(etcd::Item::KeptAlive { ttl_s: 1.. }) => log.sees(Seen::Answered),
                    _ => return,
                },
                ServiceInput::Ended { failure, .. } => {
                    log.fails(&failure);
                    open = None;
                }
                ServiceInput::Reply { .. } => {}
            }
        }
    }
}

async fn hold_zookeeper<E: Env>(mut line: Line<E>, ttl_s: u64, log: &Log) {
    line.stream(zookeeper::StreamRequest { timeout_ms: (ttl_s * 1_000) as u32 });
    loop {
        let ServiceInput::Item { item, .. } = line.next().await else { continue };
        match zookeeper::Item::restore(item) {
            Ok(zookeeper::Item::Connected { .. }) => log.sees(Seen::Answered),
            Ok(zookeeper::Item::Disconnected) => log.fails(&Failure::Unknown("connection loss".into())),
            Ok(zookeeper::Item::Expired) => return,
            _ => {}
        }
    }
}

async fn hold_consul<E: Env>(mut line: Line<E>, ttl_s: u64, log: &Log) {
    let create =
        consul::Request::CreateSession { name: "holder".into(), ttl_ms: ttl_s * 1_000, lock_delay_ms: Some(0) };
    let session = loop {
        match line.ask(create.clone()).await {
            Ok(consul::Reply::Session { id }) => break id,
            other => log.fails(&other.err().unwrap_or(Failure::Unknown("no session".into()))),
        }
    };
    loop {
        let renewed = line.ask(consul::Request::RenewSession { session: session.clone() }).await;
        let wait = match renewed {
            Ok(consul::Reply::Renewed { alive: false }) => return,
            Ok(_) => {
                log.sees(Seen::Answered);
                ttl_s * SECOND / 2
            }
            Err(why) => {
                log.fails(&why);
                RENEW_AGAIN
            }
        };
        line.env.sleep(wait).await;
    }
}

/// Writes all the time, through a majority's agreement.
pub async fn probe<E: Env>(service: Service, env: E, members: Vec<Endpoint>, ttl_s: u64, log: Log) {
    let mut line = Line::open(service, &env, members);
    if service == Service::Zookeeper {
        return probe_zookeeper(line, ttl_s, &log).await;
    }
    for count in 0_u64.. {
        let next = line.env.now().mono + WRITES;
        let done = match service {
            Service::Etcd => {
                let (key, value) = (format!("probe/{count}"), String::new());
                line.ask::<etcd::Reply>(etcd::Request::CreateKey { key, value, lease: 0 }).await.map(drop)
            }
            _ => {
                // Nobody holds the key: the request changes nothing, but goes through the log.
                let (key, value) = ("probe".to_owned(), String::new());
                let session = "00000000-0000-0000-0000-000000000000".to_owned();
                line.ask::<consul::Reply>(consul::Request::Release { key, value, session }).await.map(drop)
            }
        };
        match done {
            Ok(()) => log.sees(Seen::Answered),
            Err(why) => log.fails(&why),
        }
        line.env.sleep_until(next).await;
    }
}

/// The same within a session, which is reopened when it ends.
async fn probe_zookeeper<E: Env>(mut line: Line<E>, ttl_s: u64, log: &Log) {
    let session = zookeeper::StreamRequest { timeout_ms: (ttl_s * 1_000) as u32 };
    line.stream(session.clone());
    let (path, data) = ("/probe".to_owned(), Vec::new());
    let set = zookeeper::Op::Set { path: path.clone(), data: data.clone(), version: -1 };
    let create = zookeeper::Op::Create { path, data, mode: zookeeper::Mode::Persistent };
    let (mut connected, mut asked) = (false, None);
    let mut next = line.env.now().mono;
    loop {
        if connected && asked.is_none() {
            line.env.sleep_until(next).await;
            next = line.env.now().mono + WRITES;
            let op = if log.was_answered() { &set } else { &create };
            asked = Some(line.request(zookeeper::Request::Write(op.clone())));
        }
        match line.next().await {
            ServiceInput::Item { item, .. } => match zookeeper::Item::restore(item) {
                Ok(zookeeper::Item::Connected { .. }) => connected = true,
                Ok(zookeeper::Item::Disconnected) => connected = false,
                Ok(zookeeper::Item::Expired) => {
                    log.fails(&Failure::Rejected("session expired".into()));
                    connected = false;
                    line.stream(session.clone());
                }
                _ => {}
            },
            ServiceInput::Reply { number, reply } if asked == Some(number) => {
                asked = None;
                match reply {
                    Ok(_) => log.sees(Seen::Answered),
                    Err(why) => log.fails(&why),
                }
            }
            _ => {}
        }
    }
}
