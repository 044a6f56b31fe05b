//! Plays the transcripts in `testdata/etcd-election` to the elector and compares what it wants done.
//!
//! `! node NAME ttl SECONDS` sets up, `> TIME input` is an input at that second of the monotonic clock, `= TIME timer` a
//! timer that fell due before it, `< output` what came out. Everything but `!`, `>` and `#` lines is written by
//! `FENCEPOST_UPDATE=1 cargo test -p protocols etcd_transcripts::`.

use protocols::{
    clock::Now,
    election::{self, Setup, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
    types::{MILLISECOND, NodeId, SECOND},
};
use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

const TIMERS: [&str; 5] = ["keepalive", "deadline", "again", "reopen", "observe"];

/// Seconds with as many decimals as it takes, three at least.
fn seconds(nanoseconds: u64) -> String {
    let text = format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND);
    let keep = text.trim_end_matches('0').len().max(text.len() - 6);
    text[..keep].to_string()
}

fn nanoseconds(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    whole.parse::<u64>().expect("seconds") * SECOND + format!("{part:0<9}").parse::<u64>().expect("decimals")
}

/// The rest of an input line after its time.
fn input(text: &str) -> Input {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = || words[1].parse().expect("a number");
    let rest = |from: usize| words[from..].join(" ");
    match words[0] {
        "start" => Input::Start,
        "resign" => Input::Resign,
        "fenced" => Input::Fenced,
        "reply" => Input::Service(ServiceInput::Reply {
            number: number(),
            reply: match words[2] {
                "unknown" => Err(Failure::Unknown(rest(3))),
                "rejected" => Err(Failure::Rejected(rest(3))),
                _ => Ok(reply(&words[2..]).erase()),
            },
        }),
        "item" => Input::Service(ServiceInput::Item { number: number(), item: item(&words[2..]).erase() }),
        "ended" => Input::Service(ServiceInput::Ended { number: number(), failure: Failure::Unknown(rest(2)) }),
        other => panic!("no such input: {other}"),
    }
}

fn reply(words: &[&str]) -> Reply {
    let number = |place: usize| words[place].parse::<i64>().expect("a number");
    match words[0] {
        "granted" => Reply::Granted { lease: i64::from_str_radix(words[1], 16).expect("hex"), ttl_s: number(3) },
        "revoked" => Reply::Revoked,
        "created" => Reply::Created { created: true, create_revision: number(1), value: words[2].into() },
        "existed" => Reply::Created { created: false, create_revision: number(1), value: words[2].into() },
        "proclaimed" => Reply::Proclaimed { done: words[1] == "yes" },
        "deleted" => Reply::Deleted { done: words[1] == "yes" },
        "found" if words[1] == "none" => Reply::Found { key: None, revision: number(3) },
        "found" => Reply::Found { key: Some(key(words[1], words[2], number(3))), revision: number(5) },
        other => panic!("no such reply: {other}"),
    }
}

fn key(name: &str, value: &str, create_revision: i64) -> KeyState {
    KeyState { key: name.as_bytes().to_vec(), value: value.into(), create_revision, lease: 1 }
}

fn item(words: &[&str]) -> Item {
    match words[0] {
        "kept" => Item::KeptAlive { ttl_s: words[1].parse().expect("seconds") },
        "deleted" => Item::Deleted,
        "changed" => Item::Changed { key: key(words[1], words[2], 1) },
        other => panic!("no such item: {other}"),
    }
}

fn output(output: &Output) -> String {
    match output {
        Output::Service(ServiceOutput::Request { number, request, concurrent, .. }) => {
            let request: &Request = request.get().expect("a request to etcd");
            let how = if *concurrent { "concurrent " } else { "" };
            format!("{how}request {number} {request:?}")
        }
        Output::Service(ServiceOutput::Open { number, request }) => {
            let request = match request.get().expect("a stream of etcd's") {
                StreamRequest::WatchDelete { key, start_revision } => {
                    format!("WatchDelete {} from {start_revision}", key.escape_ascii())
                }
                other => format!("{other:?}"),
            };
            format!("open {number} {request}")
        }
        Output::Service(other) => format!("{other:?}").to_lowercase(),
        Output::SetTimer { id, at } => format!("set {} {}", TIMERS[*id as usize], seconds(*at)),
        Output::CancelTimer(id) => format!("cancel {}", TIMERS[*id as usize]),
        Output::Point(point) => format!("point {}", point.name()),
        Output::Campaign => "campaign".into(),
        Output::Elected(l) => format!("elected token {} until {}", l.token, seconds(l.valid_until)),
        Output::Renewed(l) => format!("renewed token {} until {}", l.token, seconds(l.valid_until)),
        Output::Deposed(why) => format!("deposed {}", why.name()),
        Output::Observed(who) => format!("observed {who:?}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

struct Player {
    elector: Box<AnyElector>,
    timers: BTreeMap<u16, u64>,
    text: String,
}

impl Player {
    fn set_up(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let names: Vec<String> = ["n0", "n1", "n2"].map(String::from).to_vec();
        let node = NodeId(names.iter().position(|n| n == words[2]).expect("n0, n1 or n2") as u16);
        let lease_ttl = nanoseconds(words[4]);
        let timings = Timings {
            lease_ttl,
            renew_interval: lease_ttl / 3,
            request_timeout: 1000 * MILLISECOND,
            election_timeout: None,
        };
        let elector = (election::etcd::PROTOCOL.elector)(Setup {
            group: 0,
            node,
            names,
            timings,
            nonce: 7,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        });
        Player { elector, timers: BTreeMap::new(), text: String::new() }
    }

    fn step(&mut self, at: u64, input: Input) {
        let mut outputs = Vec::new();
        self.elector.step(Now { mono: at, wall: 0 }, input, &mut outputs);
        for out in outputs {
            match &out {
                Output::SetTimer { id, at } => drop(self.timers.insert(*id, *at)),
                // Cancelling what is not set is of no interest.
                Output::CancelTimer(id) if self.timers.remove(id).is_none() => continue,
                _ => {}
            }
            writeln!(self.text, "< {}", output(&out)).expect("a string");
        }
    }

    /// Fires what is due up to `until`; a pause (`>>`) makes all of it fire at its end.
    fn fire(&mut self, until: u64, paused: bool) {
        while let Some((at, id)) = self.timers.iter().map(|(id, at)| (*at, *id)).min().filter(|(at, _)| *at <= until) {
            self.timers.remove(&id);
            let at = if paused { until } else { at };
            writeln!(self.text, "= {} {}", seconds(at), TIMERS[id as usize]).expect("a string");
            self.step(at, Input::Timer(id));
        }
    }
}

fn play(script: &str) -> String {
    let mut lines = script.lines().filter(|l| !l.starts_with(['<', '=']));
    let mut head = String::new();
    let set_up = loop {
        let line = lines.next().expect("a line that starts with !");
        writeln!(head, "{line}").expect("a string");
        if line.starts_with('!') {
            break line;
        }
    };
    let mut player = Player::set_up(set_up);
    player.text = head;
    for line in lines {
        let Some(rest) = line.strip_prefix('>') else {
            writeln!(player.text, "{line}").expect("a string");
            continue;
        };
        let paused = rest.starts_with('>');
        let (at, what) = rest.trim_start_matches('>').trim().split_once(' ').expect("time and input");
        let at = nanoseconds(at);
        player.fire(at, paused);
        writeln!(player.text, "{line}").expect("a string");
        if what != "wait" {
            player.step(at, input(what));
        }
    }
    player.text
}

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/etcd-election");
    let mut paths: Vec<_> = fs::read_dir(&folder).expect("testdata").map(|f| f.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "transcripts are missing");
    for path in paths {
        let script = fs::read_to_string(&path).expect("a transcript");
        let played = play(&script);
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&path, &played).expect("writable");
        } else {
            assert_eq!(played, script, "{}: regenerate with FENCEPOST_UPDATE=1 and read the diff", path.display());
        }
    }
}
