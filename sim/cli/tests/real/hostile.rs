//! Hostile input to a running node and a running store: nothing crashes, nobody else has to wait, and nothing wrong is
//! accepted.

use super::common::{
    self, Folder, SOON,
    fleet::{Fleet, accepted, signed},
    http::{self, Answer, request},
    servers,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// How long an honest client may wait meanwhile.
const PROMPT: Duration = Duration::from_secs(2);
/// A node's timeout for a request's head.
const NODE_PATIENCE: Duration = Duration::from_secs(20);
const MEGABYTE: usize = 1 << 20;
const IDLE: usize = 1_000;

/// A leading node, its store, and honest clients' numbers so far.
struct Target {
    fleet: Fleet,
    _redis: servers::Server,
    node: SocketAddr,
    store: SocketAddr,
    pids: [u32; 2],
    numbers: Vec<u64>,
}

impl Target {
    fn start(what: &str) -> Option<Target> {
        let folder = Folder::new();
        let redis = servers::redis(&folder, what, servers::Tls::Off)?;
        let mut fleet = Fleet::new(folder);
        fleet.start_store(&[]);
        fleet.tell_nodes(&["--lease-ttl", "60s"]);
        fleet.start_nodes(1, "redis", redis.address);
        let (node, store) = (fleet.node(&fleet.leader()), fleet.store().address);
        let pids = [fleet.nodes["n1"].process.pid(), fleet.store().process.pid()];
        let mut target = Target { fleet, _redis: redis, node, store, pids, numbers: Vec::new() };
        target.serves();
        Some(target)
    }

    /// An honest client gets its number at once, and the store answers with its state.
    fn serves(&mut self) {
        let name = format!("honest:{}", self.numbers.len() + 1);
        let asked = Instant::now();
        let answer = http::next(self.node, &name).unwrap_or_else(|| panic!("no answer to {name}"));
        assert!(asked.elapsed() < PROMPT, "{name} took {:?}", asked.elapsed());
        self.numbers.push(answer.seq().unwrap_or_else(|| panic!("{name}: {answer:?}")));
        let asked = Instant::now();
        let state = say(self.store, r#"{"state":{"resource":"sequence"}}"#);
        assert!(state.contains(&format!(r#""seq":{}"#, self.numbers.last().expect("it has one"))), "{state}");
        assert!(asked.elapsed() < PROMPT, "the store took {:?}", asked.elapsed());
    }

    /// The original processes still run, and the store has accepted exactly the answered numbers.
    fn ends_unharmed(mut self) {
        self.serves();
        let pids = [self.fleet.nodes["n1"].process.pid(), self.fleet.store().process.pid()];
        assert_eq!(pids, self.pids);
        assert_eq!(accepted(&self.fleet.audit(&[])), self.numbers);
    }
}

/// Sends one line to the store; returns its answer.
fn say(store: SocketAddr, line: &str) -> String {
    let mut stream = TcpStream::connect(store).expect("the store listens");
    let _ = stream.set_read_timeout(Some(http::PATIENCE));
    let _ = stream.write_all(line.as_bytes()).and_then(|()| stream.write_all(b"\n"));
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    common::text(&answer)
}

/// Sends up to this many megabytes of `x` after `head`; returns how many were sent, and the answer.
fn flood(to: SocketAddr, head: &str, megabytes: usize) -> (usize, String) {
    let mut stream = TcpStream::connect(to).expect("it listens");
    let _ = (stream.set_write_timeout(Some(http::PATIENCE)), stream.set_read_timeout(Some(http::PATIENCE)));
    let chunk = vec![b'x'; MEGABYTE];
    let mut sent = 0;
    if stream.write_all(head.as_bytes()).is_ok() {
        while sent < megabytes && stream.write_all(&chunk).is_ok() {
            sent += 1;
        }
    }
    let mut answer = [0; 4096];
    let count = stream.read(&mut answer).unwrap_or(0);
    (sent, common::text(&answer[..count]))
}

#[test]
fn huge_bodies_and_lines_are_cut_short() {
    let Some(mut target) = Target::start("huge bodies") else { return };
    for (path, length) in [
        ("/status", "content-length: 104857600"),
        ("/no-such-path", "content-length: 104857600"),
        ("/status", "content-length: 18446744073709551615"),
    ] {
        let (sent, answer) = flood(target.node, &request("POST", path, &[length]), 100);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(sent < 100, "the node read a body of {sent} MB that nobody asked for");
        target.serves();
    }
    // `/next` needs no body. With one of a length it is an ordinary request: its name gets one number.
    let lines = ["content-length: 104857600", "fencepost-request: hostile:1"];
    flood(target.node, &request("POST", "/next", &lines), 100);
    target.numbers.push(target.fleet.number("hostile:1"));
    let chunked = request("POST", "/next", &["transfer-encoding: chunked", "fencepost-request: hostile:2"]);
    flood(target.node, &format!("{chunked}fffffffff\r\n"), 100);
    target.numbers.push(target.fleet.number("hostile:2"));
    target.numbers.sort_unstable();

    let (sent, _) = flood(target.store, "", 100);
    assert!(sent < 100, "the store read a line of 100 MB");
    let (sent, _) = flood(target.store, r#"{"seal":{"resource":""#, 100);
    assert!(sent < 100, "the store read a line of 100 MB");
    target.ends_unharmed();
}

#[test]
fn huge_heads_and_garbage_are_refused() {
    let Some(mut target) = Target::start("garbage") else { return };
    let long = "x".repeat(100_000);
    let noise: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello, nearly \xff\xff\x00\x00\r\n\r\n";
    let heads: [Vec<u8>; 16] = [
        request("GET", "/status", &[&format!("x: {long}")]).into(),
        request("GET", &format!("/{long}"), &[]).into(),
        request("POST", "/next", &vec!["a: b"; 25_000]).into(),
        format!("{long} / HTTP/1.1\r\n\r\n").into(),
        noise.clone(),
        hello.into(),
        "POST /next\r\n\r\n".into(),
        "POST /next HTTP/0.9\r\n\r\n".into(),
        "POST /next HTTP/9.9\r\nhost: node\r\n\r\n".into(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        "POST /next HTTP/1.1\r\ncontent-length: -1\r\n\r\n".into(),
        "POST /next HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx".into(),
        "POST /next HTTP/1.1\r\nhost: node\r\nbroken header\r\n\r\n".into(),
        "POST /next HTTP/1.1\r\nhost: n\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".into(),
        "POST /next HTTP/1.1\r\nhost: n\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n".into(),
        vec![0; 100_000],
    ];
    for bytes in &heads {
        let shown = common::text(&bytes[..bytes.len().min(60)]);
        let asked = Instant::now();
        let answer = Answer::parse(&http::send(target.node, bytes));
        let fine = answer.as_ref().is_none_or(|a| (400..500).contains(&a.status));
        assert!(fine, "{shown}: {answer:?}");
        assert!(asked.elapsed() < PROMPT, "{shown}: refused after {:?}", asked.elapsed());
    }
    target.serves();
    for bytes in
        heads.iter().chain([&b"null\n".to_vec(), &b"{}\n[]\n".to_vec(), &b"\n\n\n".to_vec(), &[b'['; 4000].into()])
    {
        let mut bytes = bytes.clone();
        bytes.push(b'\n');
        let answer = http::send(target.store, &bytes);
        assert!(answer.is_empty() || answer.contains(r#"{"refused""#), "{answer}");
        assert!(!answer.contains("sealed") && !answer.contains("written"), "{answer}");
    }
    target.ends_unharmed();
}

#[test]
fn wrong_names_of_requests_are_refused() {
    let Some(mut target) = Target::start("wrong names") else { return };
    let long = format!("{}:1", "x".repeat(65));
    let huge = format!("{}:1", "x".repeat(10_000));
    let wrong = [
        "",
        "x",
        ":",
        "x:",
        ":1",
        "x:0",
        "x:-1",
        "x:1.5",
        "x:0x1",
        "x: 1",
        "a b:1",
        "a/b:1",
        "a\":1",
        "x:4611686018427387904",
        "x:18446744073709551615",
        "x:99999999999999999999",
        &long,
        &huge,
        "n1:1",
        "redis:1",
        "store:1",
        "n1.http:1",
    ];
    for name in wrong {
        let answer = http::next(target.node, name).unwrap_or_else(|| panic!("no answer to `{name}`"));
        assert_eq!(answer.status, 400, "`{name}`: {answer:?}");
    }
    let mut bytes =
        b"POST /next HTTP/1.1\r\nhost: n\r\nconnection: close\r\nfencepost-request: \xff\xfe:1\r\n\r\n".to_vec();
    assert_eq!(Answer::parse(&http::send(target.node, &bytes)).map(|a| a.status), Some(400));
    bytes.truncate(bytes.len() - 2);
    bytes.extend(b"fencepost-request: x:1\r\n\r\n");
    assert_eq!(Answer::parse(&http::send(target.node, &bytes)).map(|a| a.status), Some(400));
    target.serves();
    // Valid names at the limits are accepted, and repeated requests get the same number.
    for name in ["x:1", "a-B_c.9:4611686018427387903", &format!("{}:1", "x".repeat(64))] {
        let number = target.fleet.number(name);
        assert_eq!(target.fleet.number(name), number);
        target.numbers.push(number);
    }
    target.numbers.sort_unstable();
    target.ends_unharmed();
}

#[test]
fn forged_tokens_are_refused() {
    let Some(mut target) = Target::start("forged tokens") else { return };
    let before = say(target.store, r#"{"state":{"resource":"sequence"}}"#);
    let seal = |node: &str, generation: u32, token: u64, mac: &str| {
        format!(
            r#"{{"seal":{{"resource":"sequence","node":"{node}","generation":{generation},"token":{token},"mac":"{mac}"}}}}"#
        )
    };
    let write = |token: u64, seq: u64, mac: &str| {
        format!(
            r#"{{"write":{{"resource":"sequence","node":"n1","generation":1,"token":{token},"seq":{seq},"read_version":1,"request":"forger:1","mac":"{mac}"}}}}"#
        )
    };
    let mac = |line: &str| signed(line).rsplit('"').nth(1).expect("the last string").to_owned();
    let (fine, max) = (mac(&seal("n1", 1, 1_000, "")), u64::MAX);
    let forged = [
        seal("n1", 1, 1_000, ""),
        seal("n1", 1, 1_000, "00"),
        seal("n1", 1, 1_000, &"0".repeat(64)),
        seal("n1", 1, 1_000, &"x".repeat(64)),
        seal("n1", 1, 1_000, &fine[..62]),
        seal("n1", 1, 1_001, &fine),
        seal("n1", 2, 1_000, &fine),
        seal("n2", 1, 1_000, &fine),
        seal("n1\\u0000", 1, 1_000, &fine),
        // Above every token that a store accepts.
        seal("n1", 1, max, &fine),
        seal("n1", 1, (1 << 62) + 1, &fine),
        write(1_000, 1, ""),
        write(1_000, 1, &"0".repeat(64)),
        write(1_000, 1, &fine),
        write(1_000, 2, &mac(&write(1_000, 1, ""))),
        write(max, 1, &fine),
        write(1_000, max, &fine),
        write(1_000, 0, &fine),
        format!("{}{}", seal("n1", 1, 1_000, "00"), seal("n1", 1, 1_000, "00")),
        seal("n1", 1, 1_000, &fine).replace("\"token\":1000", "\"token\":1e3"),
        seal("n1", 1, 1_000, &fine).replace("\"token\":1000", "\"token\":-1"),
        seal("n1", 1, 1_000, &fine).replace("\"token\":1000", "\"token\":99999999999999999999"),
        seal("n1", 1, 1_000, &fine).replace("sequence", "everything"),
        seal("n1", 1, 1_000, &fine).replace("\"generation\":1", "\"generation\":1,\"more\":1"),
    ];
    for line in &forged {
        let answer = say(target.store, line);
        assert!(answer.starts_with(r#"{"refused""#) && answer.lines().count() == 1, "{line}: {answer}");
        assert!(!answer.contains(&fine), "a MAC is repeated: {answer}");
    }
    // These MACs are valid otherwise: one for an old token is believed, and fenced.
    let past = say(target.store, &signed(&seal("n1", 1, 0, "")));
    assert!(past.starts_with(r#"{"sealed""#) && past.contains(r#"{"fenced":{"highest":1}}"#), "{past}");
    assert_eq!(say(target.store, r#"{"state":{"resource":"sequence"}}"#), before);
    target.serves();
    target.ends_unharmed();
}

/// Raises this process's limit of open files.
fn raise_open_files() {
    let (pid, wanted) = (std::process::id().to_string(), 4 * IDLE);
    // If the limit is high enough already, or cannot be raised, the connections will tell.
    let _ = Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={wanted}:")]).output();
}

#[test]
fn slow_and_idle_clients_are_in_nobodys_way() {
    let Some(mut target) = Target::start("slow clients") else { return };
    raise_open_files();
    let node = target.node;
    // A byte a second, never a whole head.
    let slow = thread::spawn(move || {
        let mut stream = TcpStream::connect(node).expect("the node listens");
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let started = Instant::now();
        let mut bytes = b"GET /status HTTP/1.1\r\nx: ".iter().chain([b'x'].iter().cycle());
        let mut answer = [0; 64];
        while started.elapsed() < NODE_PATIENCE + SOON {
            let sent = bytes.next().is_some_and(|b| stream.write_all(&[*b]).is_ok());
            match stream.read(&mut answer) {
                Err(e) if sent && matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                }
                _ => return started.elapsed(),
            }
        }
        panic!("the node still listens to a slow client after {:?}", started.elapsed());
    });
    let idle: Vec<TcpStream> = [target.node, target.store]
        .into_iter()
        .flat_map(|address| (0..IDLE).map(move |_| TcpStream::connect(address).expect("one of a thousand connections")))
        .collect();
    // Some have begun a request.
    for (mut stream, bytes) in idle.iter().zip(["", "G", "POST /next HTTP/1.1\r\n", "{\"state\":"].iter().cycle()) {
        let _ = stream.write_all(bytes.as_bytes());
    }
    for _ in 0..20 {
        target.serves();
        thread::sleep(Duration::from_millis(100));
    }
    // Resets, all at once.
    drop(idle);
    target.serves();
    let patience = slow.join().expect("the node lets go of it");
    assert!(patience > NODE_PATIENCE - Duration::from_secs(5), "let go after {patience:?}");
    target.ends_unharmed();
}
