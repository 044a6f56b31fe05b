//! A lease server: one lease, and a counter that issues tokens. Holds its API, its client and its model.
//!
//! Each connection carries one request and its answer, one line each:
//!
//! | request | answer |
//! |---|---|
//! | `TAKE name ttl_ms` | `TOKEN n`: granted, always with a new token; `HELD name`: another holds it |
//! | `KEEP n ttl_ms` | `DONE`: extended, from now; `GONE`: that token no longer holds the lease |
//! | `GIVE n` | `DONE`: released; `GONE` as above |
//!
//! Anything else is answered with `ERROR`. Time is the server's wall clock. Lease and counter survive a restart of the
//! server.

use protocols::{
    elector::ServiceOutput,
    error::Failure,
    history::GrantEnd,
    payload::{Nothing, Payload},
    service::{self, Service},
    types::MILLISECOND,
};
use protocols_clients::{
    env::{Env, Listener},
    queue::{Backend, Boxed, Queue, Stream, within},
    registry::{Client, Deliver, Running},
    site::{Endpoint, Site},
};
use sim::{
    service::{
        Dropped, Entry, Model, Serving, alone,
        grants::{self, Holder},
    },
    world::env::SimEnv,
};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    sync::mpsc::UnboundedReceiver,
};

pub const SERVICE: Service = Service {
    name: "lease-server",
    process: Some("leases"),
    port: 7070,
    elects: true,
    has_keys: true,
    expires_by_wall_clock: true,
    is_asked: true,
    ..Service::NONE
};

/// The service's model in the simulation.
pub const MODEL: Entry =
    Entry { service: SERVICE.name, members: |count, _| alone(count, || Arc::new(Server::default())) };

/// The service's client.
pub const CLIENT: Client<SimEnv> = Client { service: SERVICE.name, run: client };

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl service::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// A request; times to live in milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Takes the lease unless another candidate holds it.
    Take { name: String, ttl_ms: u64 },
    /// Extends the lease to `ttl_ms` from now.
    Keep { token: u64, ttl_ms: u64 },
    /// Releases the lease.
    Give { token: u64 },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// The lease is granted, with this token.
    Token(u64),
    /// The named candidate holds the lease.
    Held(String),
    Done,
    /// The token no longer holds the lease.
    Gone,
}

impl Payload for Request {}
impl Payload for Reply {}

impl Request {
    fn line(&self) -> String {
        match self {
            Request::Take { name, ttl_ms } => format!("TAKE {name} {ttl_ms}\n"),
            Request::Keep { token, ttl_ms } => format!("KEEP {token} {ttl_ms}\n"),
            Request::Give { token } => format!("GIVE {token}\n"),
        }
    }

    fn read(line: &str) -> Option<Request> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["TAKE", name, ttl_ms] if !name.is_empty() => {
                Some(Request::Take { name: name.to_owned(), ttl_ms: ttl_ms.parse().ok()? })
            }
            ["KEEP", token, ttl_ms] => Some(Request::Keep { token: token.parse().ok()?, ttl_ms: ttl_ms.parse().ok()? }),
            ["GIVE", token] => Some(Request::Give { token: token.parse().ok()? }),
            _ => None,
        }
    }
}

impl Reply {
    fn line(&self) -> String {
        match self {
            Reply::Token(token) => format!("TOKEN {token}\n"),
            Reply::Held(name) => format!("HELD {name}\n"),
            Reply::Done => "DONE\n".to_owned(),
            Reply::Gone => "GONE\n".to_owned(),
        }
    }

    fn read(line: &str) -> Result<Reply, Failure> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["TOKEN", token] => token.parse().map(Reply::Token).map_err(|_| ()),
            ["HELD", name] => Ok(Reply::Held(name.to_owned())),
            ["DONE"] => Ok(Reply::Done),
            ["GONE"] => Ok(Reply::Gone),
            ["ERROR"] => return Err(Failure::Rejected("the server does not understand the request".into())),
            _ => Err(()),
        }
        .map_err(|()| Failure::Unknown(format!("an answer that is none: {line:?}")))
    }
}

/// Longer than any line of the protocol, in bytes.
const LINE_MAX: usize = 256;

/// Reads a line, without its end.
async fn read_line(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let (mut line, mut bytes) = (Vec::new(), [0; LINE_MAX]);
    loop {
        let count = stream.read(&mut bytes).await?;
        line.extend_from_slice(&bytes[..count]);
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end);
            return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into());
        }
        if count == 0 || line.len() > LINE_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn client(env: SimEnv, site: Site, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
    Box::pin(async move {
        let Some(server) = site.service.into_iter().next() else { return };
        Queue::new(env, &SERVICE, move |input| deliver(input)).run(Asking { env, server }, outputs).await;
    })
}

/// Opens a connection for each request, and closes it afterwards.
struct Asking<E: Env> {
    env: E,
    server: Endpoint,
}

impl<E: Env> Backend for Asking<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, server) = (self.env.clone(), self.server.clone());
        Box::pin(async move {
            let asked = async {
                let mut stream = env.connect(&server).await?;
                stream.write_all(request.line().as_bytes()).await?;
                read_line(&mut stream).await
            };
            let answer = async { asked.await.map_err(|error: io::Error| Failure::Unknown(error.to_string())) };
            Reply::read(&within(&env, timeout, answer).await?)
        })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

#[derive(Default)]
struct Leases {
    /// The last token issued.
    counter: u64,
    held: Option<Holder>,
}

impl Leases {
    /// The holder at the server's wall time `wall`, in nanoseconds.
    fn holder(&self, wall: u64) -> Option<&Holder> {
        self.held.as_ref().filter(|held| held.until.is_none_or(|until| wall < until))
    }

    fn answer(&mut self, wall: u64, request: Request) -> Reply {
        let until = |ttl_ms: u64| Some(wall.saturating_add(ttl_ms.saturating_mul(MILLISECOND)));
        let is_held = |leases: &Leases, token| leases.holder(wall).is_some_and(|held| held.token == token);
        match request {
            Request::Take { name, ttl_ms } => match self.holder(wall) {
                Some(other) if other.name != name => Reply::Held(other.name.clone()),
                _ => {
                    self.counter += 1;
                    self.held = Some(Holder { name, token: self.counter, until: until(ttl_ms) });
                    Reply::Token(self.counter)
                }
            },
            Request::Keep { token, .. } | Request::Give { token } if !is_held(self, token) => Reply::Gone,
            Request::Keep { ttl_ms, .. } => {
                self.held.iter_mut().for_each(|held| held.until = until(ttl_ms));
                Reply::Done
            }
            Request::Give { .. } => {
                self.held = None;
                Reply::Done
            }
        }
    }
}

/// The server's state, which survives crashes of its process.
#[derive(Default)]
struct Server(Arc<Mutex<Leases>>);

fn lock(leases: &Mutex<Leases>) -> MutexGuard<'_, Leases> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model for Server {
    fn drop_leadership(&self, candidate: &str, _group: u16, what: Dropped, wall_ms: u64) -> Option<Holder> {
        let mut leases = lock(&self.0);
        if what == Dropped::Key {
            leases.held.take_if(|held| held.name == candidate);
        }
        leases.holder(wall_ms * MILLISECOND).cloned()
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            let mut listener = env.listen(port).await?;
            let mut open: Vec<(Weak<()>, _)> = Vec::new();
            loop {
                let mut stream = listener.accept().await?;
                open.retain(|(alive, _)| alive.strong_count() > 0);
                let (leases, alive) = (self.0.clone(), Arc::new(()));
                let watch = Arc::downgrade(&alive);
                let task = env.spawn(async move {
                    let _alive = alive;
                    let Ok(line) = read_line(&mut stream).await else { return };
                    let answer = Request::read(&line).map(|request| carry_out(&leases, env.now().wall, request));
                    let answer = answer.map_or_else(|| "ERROR\n".to_owned(), |reply| reply.line());
                    // A client that has gone away will ask again.
                    if stream.write_all(answer.as_bytes()).await.is_ok() {
                        let _ = stream.shutdown().await;
                    }
                });
                open.push((watch, task));
            }
        })
    }
}

/// Answers a request, and records the resulting holder in the history.
fn carry_out(leases: &Mutex<Leases>, wall: u64, request: Request) -> Reply {
    let why = if matches!(request, Request::Take { .. }) { GrantEnd::Taken } else { GrantEnd::Released };
    let mut leases = lock(leases);
    let reply = leases.answer(wall, request);
    grants::tell(leases.holder(wall).cloned(), why);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(leases: &mut Leases, at_ms: u64, line: &str) -> String {
        let request = Request::read(line).expect("a request");
        assert_eq!(request.line().trim_end(), line);
        leases.answer(at_ms * MILLISECOND, request).line().trim_end().to_owned()
    }

    #[test]
    fn a_lease_is_one_candidate_s_until_its_time_is_over() {
        let mut leases = Leases::default();
        assert_eq!(said(&mut leases, 0, "TAKE n1 1000"), "TOKEN 1");
        assert_eq!(said(&mut leases, 999, "TAKE n2 1000"), "HELD n1");
        assert_eq!(said(&mut leases, 999, "KEEP 1 1000"), "DONE");
        assert_eq!(said(&mut leases, 1_998, "TAKE n2 1000"), "HELD n1");
        assert_eq!(said(&mut leases, 1_999, "KEEP 1 1000"), "GONE", "a lease that is over is not kept");
        assert_eq!(said(&mut leases, 1_999, "TAKE n2 1000"), "TOKEN 2");
        assert_eq!(said(&mut leases, 2_000, "GIVE 1"), "GONE");
        assert_eq!(said(&mut leases, 2_000, "TAKE n2 1000"), "TOKEN 3");
        assert_eq!(said(&mut leases, 2_000, "GIVE 3"), "DONE");
        assert_eq!(said(&mut leases, 2_000, "TAKE n1 1000"), "TOKEN 4");
    }

    #[test]
    fn what_is_no_line_of_ours_is_refused() {
        for line in ["", "TAKE", "TAKE  5", "TAKE n1 x", "KEEP 1", "KEEP -1 5", "GIVE 1 2", "take n1 5"] {
            assert_eq!(Request::read(line), None, "{line}");
        }
        for reply in [Reply::Token(7), Reply::Held("n1".into()), Reply::Done, Reply::Gone] {
            assert_eq!(Reply::read(reply.line().trim_end()), Ok(reply));
        }
        assert!(matches!(Reply::read("ERROR"), Err(Failure::Rejected(_))));
        assert!(matches!(Reply::read("TOKEN x"), Err(Failure::Unknown(_))));
    }
}
