//! ZooKeeper: its arms and scripts.
//!
//! Every script and generated sequence has its own folder, to which its paths are relative; `@/a` is outside of it.
//! Everything in an answer is compared except times and session ids; transaction ids count from the start of the
//! script. After every command all sessions send a ping, so that pending watch events arrive.

use super::{
    report,
    script::{self, Arm, check},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    zookeeper::{
        answer::{Answer, Notification, ReplyHeader, Stat},
        call::{Acl, Call, Watches},
        jute::{Packets, Reader},
        wire::{ConnectRequest, ConnectResponse, NOTIFICATION, PING, op},
    },
};
use servers::{Folder, Server};
use sim::service::zookeeper::Zookeeper as Model;
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Longer than a script lasts, in milliseconds.
const TIMEOUT_MS: i32 = 30_000;

enum Served {
    Real { server: Server, _folder: Folder },
    Model { state: Arc<Model>, port: u16, task: <TokioEnv as Env>::Task },
}

/// A server and its sessions.
pub struct Zookeeper {
    served: Served,
    sessions: BTreeMap<String, Session>,
    /// Names of all sessions ever, by id.
    names: BTreeMap<i64, String>,
    folder: String,
    folders: u32,
    base: i64,
}

struct Session {
    stream: TcpStream,
    packets: Packets,
    granted: ConnectResponse,
    xid: i32,
    told: Vec<Notification>,
}

fn serve(state: &Arc<Model>, port: u16) -> <TokioEnv as Env>::Task {
    let (env, state) = (TokioEnv::new(1), state.clone());
    env.clone().spawn(async move { state.serve_on(env, port).await.expect("the port is free") })
}

impl Session {
    async fn open(port: u16, request: &ConnectRequest) -> Session {
        for _ in 0..1000 {
            // The model's task may not be listening yet.
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
                stream.set_nodelay(true).expect("a socket can be told");
                let (packets, granted) = (Packets::default(), ConnectResponse::default());
                let mut session = Session { stream, packets, granted, xid: 0, told: Vec::new() };
                session.stream.write_all(&request.packet()).await.expect("the server listens");
                let answer = session.packet().await.expect("a session or none");
                session.granted = ConnectResponse::read(&answer).expect("an answer");
                return session;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nobody listens on port {port}");
    }

    /// The next packet; `None` if the server has closed the connection.
    async fn packet(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(packet) = self.packets.next_packet().expect("packets") {
                return Some(packet.to_vec());
            }
            match self.stream.read(&mut bytes).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.packets.feed(&bytes[..count]),
            }
        }
    }

    /// The answer to a request; watch events are kept.
    async fn ask(&mut self, call: &Call) -> Option<(ReplyHeader, Option<Answer>)> {
        let xid = if *call == Call::Ping { PING } else { self.xid + 1 };
        self.xid = self.xid.max(xid);
        self.stream.write_all(&call.packet(xid)).await.ok()?;
        loop {
            let packet = self.packet().await?;
            let (header, mut rest) = ReplyHeader::read(&packet).expect("a header");
            if header.xid == NOTIFICATION {
                self.told.push(Notification::read(&mut rest).expect("a notification"));
                continue;
            }
            assert_eq!(header.xid, xid, "answers come in the order of the requests");
            let answer = (header.error == 0).then(|| Answer::read(call.op(), &mut rest).expect("an answer"));
            assert_eq!(rest.rest(), Reader::new(&[]).rest(), "nothing is left of the answer to {call:?}");
            return Some((header, answer));
        }
    }
}

impl Zookeeper {
    fn new(served: Served) -> Zookeeper {
        let (sessions, names) = (BTreeMap::new(), BTreeMap::new());
        Zookeeper { served, sessions, names, folder: String::new(), folders: 0, base: 0 }
    }

    /// The model, served over a socket.
    pub fn model() -> Zookeeper {
        let (state, port) = (Arc::<Model>::default(), servers::free_address().port());
        let task = serve(&state, port);
        Zookeeper::new(Served::Model { state, port, task })
    }

    /// The real server, if available.
    pub fn real() -> Option<Zookeeper> {
        let folder = Folder::new();
        let server = servers::zookeeper(&folder, "a comparison with ZooKeeper 3.8")?;
        Some(Zookeeper::new(Served::Real { server, _folder: folder }))
    }

    /// Abandons a session: drops its connection without closing the session.
    pub fn leave(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    fn port(&self) -> u16 {
        match &self.served {
            Served::Real { server, .. } => server.address.port(),
            Served::Model { port, .. } => *port,
        }
    }

    async fn open(&mut self, name: &str, timeout_ms: i32) -> &mut Session {
        let request = ConnectRequest { timeout_ms, password: vec![0; 16], ..ConnectRequest::default() };
        let session = Session::open(self.port(), &request).await;
        self.names.insert(session.granted.session, name.to_owned());
        self.sessions.insert(name.to_owned(), session);
        self.sessions.get_mut(name).expect("it was opened")
    }

    fn path(&self, word: &str) -> String {
        match word {
            "/" => self.folder.clone(),
            word if word.starts_with('/') => format!("{}{word}", self.folder),
            "\"\"" => String::new(),
            word => word.trim_start_matches('@').to_owned(),
        }
    }

    fn call(&self, words: &[&str]) -> Call {
        let path = |place: usize| self.path(words[place]);
        let data = |place: usize| match words[place] {
            "-" => None,
            "\"\"" => Some(Vec::new()),
            text => Some(text.as_bytes().to_vec()),
        };
        let number = |place: usize| words[place].parse().expect("a number");
        let watch = words.last() == Some(&"watch");
        match words[0] {
            name @ ("create" | "create2" | "container") => Call::Create {
                op: match name {
                    "create" => op::CREATE,
                    "create2" => op::CREATE2,
                    _ => op::CREATE_CONTAINER,
                },
                path: path(1),
                data: data(2),
                acl: if words.contains(&"nobody") { Vec::new() } else { Acl::open() },
                flags: number(3),
            },
            "delete" => Call::Delete(path(1), number(2)),
            "set" => Call::SetData(path(1), data(2), number(3)),
            "check" => Call::Check(path(1), number(2)),
            "exists" => Call::Exists(path(1), watch),
            "get" => Call::GetData(path(1), watch),
            "ls" => Call::GetChildren(path(1), watch),
            "ls2" => Call::GetChildren2(path(1), watch),
            "sync" => Call::Sync(path(1)),
            "ping" => Call::Ping,
            "close" => Call::CloseSession,
            "multi" => {
                let calls = words[1..].split(|word| *word == ";").filter(|words| !words.is_empty());
                Call::Multi(calls.map(|words| self.call(words)).collect())
            }
            "setwatches" => {
                let paths = |name: &str| {
                    let list = words.iter().find_map(|word| word.strip_prefix(name)).unwrap_or_default();
                    list.split(',').filter(|path| !path.is_empty()).map(|path| self.path(path)).collect()
                };
                let last_zxid = self.base + words[1].parse::<i64>().expect("a transaction");
                let (data, exist, children) = (paths("data="), paths("exist="), paths("children="));
                Call::SetWatches(Watches { last_zxid, data, exist, children })
            }
            other => panic!("what is {other:?}?"),
        }
    }

    fn show_path(&self, path: &str) -> String {
        match path.strip_prefix(&self.folder) {
            Some("") => "/".to_owned(),
            Some(rest) => rest.to_owned(),
            None => format!("@{path}"),
        }
    }

    fn zxid(&self, zxid: i64) -> String {
        if zxid > 0 { (zxid - self.base).to_string() } else { format!("={zxid}") }
    }

    fn stat(&self, stat: &Stat) -> String {
        let owner = match stat.owner {
            0 => "nobody",
            owner => self.names.get(&owner).map_or("somebody", String::as_str),
        };
        let Stat { version, cversion, aversion, data_length, children, .. } = stat;
        let [created, written, changed] = [stat.czxid, stat.mzxid, stat.pzxid].map(|zxid| self.zxid(zxid));
        assert!(stat.ctime <= stat.mtime, "{stat:?}");
        format!(
            "created {created} written {written} children {changed} versions {version} {cversion} {aversion} of {owner} \
             bytes {data_length} nodes {children}"
        )
    }

    fn answer(&self, answer: &Answer) -> String {
        let names = |names: &Vec<String>| {
            let mut names = names.clone();
            names.sort();
            format!("[{}]", names.join(" "))
        };
        match answer {
            Answer::Nothing => "done".to_owned(),
            Answer::Path(path) => self.show_path(path),
            Answer::PathStat(path, stat) => format!("{} {}", self.show_path(path), self.stat(stat)),
            Answer::Stat(stat) => self.stat(stat),
            Answer::Data(data, stat) => {
                let data =
                    data.as_ref().map_or_else(|| "-".to_owned(), |data| format!("{:?}", String::from_utf8_lossy(data)));
                format!("{data} {}", self.stat(stat))
            }
            Answer::Names(all) => names(all),
            Answer::NamesStat(all, stat) => format!("{} {}", names(all), self.stat(stat)),
            Answer::Multi(parts) => {
                let part = |(op, part): &(i32, Result<Answer, i32>)| match part {
                    Ok(answer) => format!("{op}: {}", self.answer(answer)),
                    Err(code) => format!("{op}: error {code}"),
                };
                parts.iter().map(part).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The watch events of all sessions.
    async fn told(&mut self) -> Vec<String> {
        let (mut lines, mut closed) = (Vec::new(), Vec::new());
        for (name, session) in &mut self.sessions {
            if session.ask(&Call::Ping).await.is_none() {
                closed.push(name.clone());
            }
            session.told.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
        }
        for (name, session) in &mut self.sessions {
            let told = std::mem::take(&mut session.told);
            lines.extend(told.into_iter().map(|told| (name.clone(), told)));
        }
        let show =
            |(name, told): (String, Notification)| format!("{name}: {} {}", told.kind, self.show_path(&told.path));
        let mut lines: Vec<String> = lines.into_iter().map(show).collect();
        for name in closed {
            self.sessions.remove(&name);
            lines.push(format!("{name}: closed"));
        }
        lines
    }
}

impl Arm for Zookeeper {
    fn name(&self) -> String {
        if self.is_model() { "the model".into() } else { "zookeeper 3.8".into() }
    }

    fn is_model(&self) -> bool {
        matches!(self.served, Served::Model { .. })
    }

    async fn reset(&mut self) {
        for session in self.sessions.values_mut() {
            session.ask(&Call::CloseSession).await;
        }
        self.sessions.clear();
        self.names.clear();
        self.folders += 1;
        self.folder = format!("/t{}", self.folders);
        let (path, acl) = (self.folder.clone(), Acl::open());
        let create = Call::Create { op: op::CREATE, path, data: None, acl, flags: 0 };
        let session = self.open("", TIMEOUT_MS).await;
        let (header, answer) = session.ask(&create).await.expect("an answer");
        assert!(answer.is_some(), "the folder can be made");
        self.base = header.zxid;
        self.sessions.get_mut("").expect("it is open").ask(&Call::CloseSession).await;
        self.sessions.clear();
    }

    async fn ask(&mut self, session: &str, text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words[0] == "session" {
            let granted = self.open(session, words[1].parse().expect("milliseconds")).await.granted.timeout_ms;
            return vec![format!("granted {granted}")];
        }
        if !self.sessions.contains_key(session) {
            self.open(session, TIMEOUT_MS).await;
        }
        let call = self.call(&words);
        let answer = self.sessions.get_mut(session).expect("it is open").ask(&call).await;
        let mut lines = vec![match &answer {
            None => "closed".to_owned(),
            Some((header, Some(answer))) => format!("at {} {}", self.zxid(header.zxid), self.answer(answer)),
            Some((header, None)) => format!("at {} error {}", self.zxid(header.zxid), header.error),
        }];
        if answer.is_none() || call == Call::CloseSession {
            self.sessions.remove(session);
        }
        lines.extend(self.told().await);
        lines
    }

    async fn reconnect(&mut self, name: &str) {
        let Some(session) = self.sessions.remove(name) else { return };
        let ConnectResponse { session, password, timeout_ms } = session.granted.clone();
        let request = ConnectRequest { session, password, timeout_ms, last_zxid: 0 };
        let session = Session::open(self.port(), &request).await;
        assert_eq!(session.granted.timeout_ms, timeout_ms, "the session goes on");
        self.sessions.insert(name.to_owned(), session);
    }

    async fn restart(&mut self) {
        let known: Vec<(String, ConnectResponse)> =
            self.sessions.iter().map(|(name, session)| (name.clone(), session.granted.clone())).collect();
        self.sessions.clear();
        match &mut self.served {
            Served::Real { server, .. } => server.restart(),
            Served::Model { state, port, task } => {
                // After its server has closed connections, a port stays in use for a while.
                *port = servers::free_address().port();
                *task = serve(state, *port);
            }
        }
        for (name, ConnectResponse { session, password, timeout_ms }) in known {
            let request = ConnectRequest { session, password, timeout_ms, last_zxid: 0 };
            let session = Session::open(self.port(), &request).await;
            assert_eq!(session.granted.timeout_ms, timeout_ms, "sessions outlive the server");
            self.sessions.insert(name, session);
        }
    }

    async fn rest(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The real server and the model give every reply of every script.
#[test]
fn zookeeper_scripts() {
    super::run(async {
        let (mut model, mut real) = (Zookeeper::model(), Zookeeper::real());
        let (mut count, mut wrong): (usize, Vec<String>) = (0, Vec::new());
        for mut script in script::all("zookeeper") {
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
