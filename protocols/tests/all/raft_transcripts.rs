//! `raft`'s core against transcripts: what goes in, and every output it brings, reviewed as text.
//!
//! A transcript lies in `testdata/raft/`. Its first line that is no comment sets the candidate up; `> TIME INPUT` is one
//! step at that time of the node's clocks, in milliseconds. The `<` lines below it are what came out. `FENCEPOST_UPDATE=1`
//! writes the `<` lines anew.

use protocols::{
    clock::Now,
    election::{self, Setup, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::raft::{Item, Reply, Request},
    types::{MILLISECOND, NodeId},
};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

const TIMERS: [&str; 2] = ["expire", "retry"];

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/raft");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no transcripts");
    for file in files {
        let expected = fs::read_to_string(&file).unwrap();
        let actual = replay(&expected);
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&file, actual).unwrap();
        } else {
            let name = file.file_name().unwrap();
            assert_eq!(actual, expected, "{name:?} differs; FENCEPOST_UPDATE=1 regenerates it");
        }
    }
}

/// The transcript with the outputs that come today.
fn replay(transcript: &str) -> String {
    let mut text = String::new();
    let mut run: Option<Run> = None;
    for line in transcript.lines().filter(|line| !line.starts_with('<')) {
        writeln!(text, "{line}").unwrap();
        match (line.strip_prefix("> "), &mut run) {
            (Some(input), Some(run)) => run.step(input, &mut text),
            (None, None) if line.starts_with("setup ") => run = Some(Run::new(line)),
            _ => assert!(line.is_empty() || line.starts_with('#'), "cannot read the line {line:?}"),
        }
    }
    text
}

struct Run {
    names: Vec<String>,
    elector: Box<AnyElector>,
    timers: BTreeMap<u16, u64>,
    /// The token of the belief, and of every one before it.
    belief: Option<u64>,
    tokens: Vec<u64>,
    now: u64,
}

impl Run {
    /// `setup node=NAME of=NAME,…`: election timeout 150 to 300 ms, heartbeat 50 ms.
    fn new(line: &str) -> Self {
        let fields: BTreeMap<&str, &str> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
        let names: Vec<String> = fields["of"].split(',').map(String::from).collect();
        let node = NodeId(names.iter().position(|name| name == fields["node"]).unwrap() as u16);
        let timings = Timings {
            lease_ttl: 150 * MILLISECOND,
            renew_interval: 50 * MILLISECOND,
            request_timeout: 50 * MILLISECOND,
            election_timeout: Some((150 * MILLISECOND, 300 * MILLISECOND)),
        };
        let setup = Setup {
            group: 0,
            node,
            names: names.clone(),
            timings,
            nonce: 7,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let elector = (election::raft::PROTOCOL.elector)(setup);
        Run { names, elector, timers: BTreeMap::new(), belief: None, tokens: Vec::new(), now: 0 }
    }

    fn node(&self, name: &str) -> NodeId {
        NodeId(self.names.iter().position(|known| known == name).unwrap() as u16)
    }

    fn step(&mut self, line: &str, text: &mut String) {
        let (time, input) = line.split_once(' ').unwrap();
        let now = time.parse::<u64>().unwrap() * MILLISECOND;
        assert!(now >= self.now, "time goes backwards: {line}");
        self.now = now;
        let input = self.input(input);
        if let Input::Timer(id) = input {
            let at = self.timers.remove(&id).unwrap_or_else(|| panic!("timer {id} is not set: {line}"));
            assert!(at <= self.now, "timer {id} fires early: {line}");
        }
        let mut out = Vec::new();
        self.elector.step(Now { mono: now, wall: now }, input, &mut out);
        for output in &out {
            self.keep_count(output);
            writeln!(text, "< {}", self.show(output)).unwrap();
        }
    }

    fn input(&self, text: &str) -> Input {
        let number = |text: &str| text.parse::<u64>().unwrap();
        let item = |item: Item| Input::Service(ServiceInput::Item { number: 1, item: item.erase() });
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["start"] => Input::Start,
            ["resign"] => Input::Resign,
            ["fenced"] => Input::Fenced,
            ["transfer", to] => Input::Transfer(self.node(to)),
            ["admit", node] => Input::Admit(self.node(node)),
            ["expel", node] => Input::Expel(self.node(node)),
            ["timer", name] => Input::Timer(TIMERS.iter().position(|timer| *timer == name).unwrap() as u16),
            ["leading", term, "acked", at] => {
                item(Item::Leading { term: number(term), acked_at: number(at) * MILLISECOND })
            }
            ["candidate", term] => item(Item::Candidate { term: number(term) }),
            ["following", term, leader] => {
                let leader = Some(leader).filter(|leader| *leader != "nobody").map(|leader| self.node(leader));
                item(Item::Following { term: number(term), leader })
            }
            ["reply", request, ref reply @ ..] => {
                let reply = match reply {
                    ["done"] => Ok(Reply::Done.erase()),
                    ["rejected", why @ ..] => Err(Failure::Rejected(why.join(" "))),
                    ["unknown", why @ ..] => Err(Failure::Unknown(why.join(" "))),
                    _ => panic!("cannot read the reply {reply:?}"),
                };
                Input::Service(ServiceInput::Reply { number: number(request), reply })
            }
            _ => panic!("cannot read the input {text:?}"),
        }
    }

    /// What every elector owes the node, whatever a transcript says; and that no token is used twice.
    fn keep_count(&mut self, output: &Output) {
        match output {
            Output::SetTimer { id, at } => {
                self.timers.insert(*id, *at);
            }
            Output::CancelTimer(id) => {
                self.timers.remove(id);
            }
            Output::Elected(leadership) => {
                assert_eq!(self.belief, None, "elected twice");
                assert!(leadership.valid_until > self.now, "elected with nothing left to believe");
                assert!(self.tokens.last().is_none_or(|last| *last < leadership.token), "a token comes again");
                self.tokens.push(leadership.token);
                self.belief = Some(leadership.token);
            }
            Output::Renewed(leadership) => {
                assert_eq!(self.belief, Some(leadership.token), "renewed what is not believed");
                assert!(leadership.valid_until > self.now, "renewed into the past");
            }
            Output::Deposed(_) => assert!(self.belief.take().is_some(), "deposed without a belief"),
            _ => {}
        }
    }

    fn show(&self, output: &Output) -> String {
        let ms = |nanoseconds: u64| nanoseconds as f64 / MILLISECOND as f64;
        let name = |node: &NodeId| self.names[node.index()].as_str();
        match output {
            Output::Service(ServiceOutput::Request { number, request, timeout, .. }) => {
                let request = match request.get().expect("a request for Raft") {
                    Request::Transfer { to: None } => "transfer".to_owned(),
                    Request::Transfer { to: Some(to) } => format!("transfer to {}", name(to)),
                    Request::AddVoter { node } => format!("add {}", name(node)),
                    Request::RemoveVoter { node } => format!("remove {}", name(node)),
                };
                format!("request {number} {request}, timeout {}", ms(*timeout))
            }
            Output::Service(ServiceOutput::Cancel(number)) => format!("cancel {number}"),
            Output::Service(ServiceOutput::Open { .. }) => "watch".to_owned(),
            Output::SetTimer { id, at } => format!("timer {} at {}", TIMERS[*id as usize], ms(*at)),
            Output::CancelTimer(id) => format!("no timer {}", TIMERS[*id as usize]),
            Output::Point(point) => format!("point {}", point.name()),
            Output::Campaign => "campaign".to_owned(),
            Output::Elected(l) => format!("elected, token {}, valid until {}", l.token, ms(l.valid_until)),
            Output::Renewed(l) => format!("renewed, token {}, valid until {}", l.token, ms(l.valid_until)),
            Output::Deposed(why) => format!("deposed, {}", why.name()),
            Output::Observed(leader) => format!("observed {}", leader.as_ref().map_or("nobody", name)),
            Output::Membership(node, joined) => format!("{} {}", name(node), if *joined { "joined" } else { "left" }),
            other => format!("{other:?}"),
        }
    }
}
