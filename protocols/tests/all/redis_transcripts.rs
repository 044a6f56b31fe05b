//! The Redis protocols' cores against transcripts: what goes in, and every output it brings, reviewed as text.
//!
//! A transcript lies in `testdata/<protocol>/`. Its first line that is no comment sets the candidate up; `> TIME INPUT` is
//! one step at that time of the node's clocks, in milliseconds; `+2` is 2 ms after the step before, `@` is when the timer
//! named is due. The `<` lines below it are what came out. `FENCEPOST_UPDATE=1` writes the `<` lines anew.

use protocols::{
    clock::Now,
    election::{self, Setup, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    error::Failure,
    payload::{Opaque, Payload},
    service::redis,
    types::{MILLISECOND, NodeId, SECOND},
};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

#[test]
fn redis_naive() {
    check_folder("redis-naive");
}

#[test]
fn redis_lease() {
    check_folder("redis-lease");
}

#[test]
fn redis_fenced() {
    check_folder("redis-fenced");
}

fn check_folder(protocol: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(protocol);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no transcripts for {protocol}");
    for file in files {
        let expected = fs::read_to_string(&file).unwrap();
        let actual = replay(protocol, &expected);
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&file, actual).unwrap();
        } else {
            let name = file.file_name().unwrap();
            assert_eq!(actual, expected, "{protocol}/{name:?} differs; FENCEPOST_UPDATE=1 regenerates it");
        }
    }
}

/// The transcript with the outputs that come today.
fn replay(protocol: &str, transcript: &str) -> String {
    let mut text = String::new();
    let mut run: Option<Run> = None;
    for line in transcript.lines().filter(|line| !line.starts_with('<')) {
        writeln!(text, "{line}").unwrap();
        match (line.strip_prefix("> "), &mut run) {
            (Some(input), Some(run)) => run.step(input, &mut text),
            (None, None) if line.starts_with("setup ") => run = Some(Run::new(protocol, line)),
            _ => assert!(line.is_empty() || line.starts_with('#'), "cannot read the line {line:?}"),
        }
    }
    text
}

struct Run {
    elector: Box<AnyElector>,
    /// When each timer that is set is to fire, nanoseconds.
    timers: BTreeMap<u16, u64>,
    believes: bool,
    now: u64,
}

impl Run {
    /// `setup node=NAME of=NAME,… ttl=MS renew=MS timeout=MS nonce=N`
    fn new(protocol: &str, line: &str) -> Self {
        let fields: BTreeMap<&str, &str> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
        let names: Vec<String> = fields["of"].split(',').map(String::from).collect();
        let node = names.iter().position(|name| name == fields["node"]).unwrap();
        let ms = |name: &str| fields[name].parse::<u64>().unwrap() * MILLISECOND;
        let timings = Timings {
            lease_ttl: ms("ttl"),
            renew_interval: ms("renew"),
            request_timeout: ms("timeout"),
            election_timeout: None,
        };
        let nonce = fields["nonce"].parse().unwrap();
        let setup = Setup {
            group: 0,
            node: NodeId(node as u16),
            names,
            timings,
            nonce,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let elector = (election::find(protocol).unwrap().elector)(setup);
        Run { elector, timers: BTreeMap::new(), believes: false, now: 0 }
    }

    fn step(&mut self, line: &str, text: &mut String) {
        let (time, input) = line.split_once(' ').unwrap();
        let input = parse_input(input);
        let now = match (&input, time) {
            (Input::Timer(id), "@") => self.timers[id].max(self.now),
            (_, time) => match time.strip_prefix('+') {
                Some(later) => self.now + parse_ms(later),
                None => parse_ms(time),
            },
        };
        assert!(now >= self.now, "time goes backwards, {} to {}: {line}", ms(self.now), ms(now));
        self.now = now;
        if let Input::Timer(id) = input {
            let at = self.timers.remove(&id).unwrap_or_else(|| panic!("timer {id} is not set: {line}"));
            assert!(at <= self.now, "timer {id} fires early: {line}");
        }
        let mut out = Vec::new();
        self.elector.step(Now { mono: self.now, wall: 1_000_000 * SECOND + self.now }, input, &mut out);
        for output in &out {
            self.keep_count(output);
            writeln!(text, "< {}", show_output(output)).unwrap();
        }
    }

    /// What every elector owes the node, whatever a transcript says.
    fn keep_count(&mut self, output: &Output) {
        match output {
            Output::SetTimer { id, at } => {
                self.timers.insert(*id, *at);
            }
            Output::CancelTimer(id) => {
                self.timers.remove(id);
            }
            Output::Elected(leadership) => {
                assert!(!self.believes, "elected twice");
                assert!(leadership.valid_until > self.now, "elected with nothing left to believe");
                self.believes = true;
            }
            Output::Renewed(leadership) => {
                assert!(self.believes, "renewed without a belief");
                assert!(leadership.valid_until > self.now, "renewed into the past");
            }
            Output::Deposed(_) => assert!(std::mem::take(&mut self.believes), "deposed without a belief"),
            _ => {}
        }
    }
}

const TIMERS: [&str; 3] = ["poll", "renew", "expire"];

fn parse_input(text: &str) -> Input {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["start"] => Input::Start,
        ["resign"] => Input::Resign,
        ["fenced"] => Input::Fenced,
        ["timer", name] => Input::Timer(TIMERS.iter().position(|timer| *timer == name).unwrap() as u16),
        ["reply", number, ref reply @ ..] => {
            let reply = parse_reply(reply);
            Input::Service(ServiceInput::Reply { number: number.parse().unwrap(), reply })
        }
        _ => panic!("cannot read the input {text:?}"),
    }
}

fn parse_reply(words: &[&str]) -> Result<Opaque, Failure> {
    let reply = match words {
        ["done", done] => redis::Reply::Done(done.parse().unwrap()),
        ["value", "none"] => redis::Reply::Value(None),
        ["value", value] => redis::Reply::Value(Some(value.as_bytes().to_vec())),
        ["token", "none"] => redis::Reply::Token(None),
        ["token", token] => redis::Reply::Token(Some(token.parse().unwrap())),
        ["unknown", why @ ..] => return Err(Failure::Unknown(why.join(" "))),
        ["rejected", why @ ..] => return Err(Failure::Rejected(why.join(" "))),
        _ => panic!("cannot read the reply {words:?}"),
    };
    Ok(reply.erase())
}

fn parse_ms(text: &str) -> u64 {
    text.parse::<u64>().unwrap() * MILLISECOND
}

fn ms(nanoseconds: u64) -> String {
    if nanoseconds == u64::MAX { "for ever".into() } else { format!("{}", nanoseconds as f64 / MILLISECOND as f64) }
}

fn show_output(output: &Output) -> String {
    match output {
        Output::Service(ServiceOutput::Request { number, request, timeout, concurrent }) => {
            let concurrent = if *concurrent { " concurrent" } else { "" };
            format!("request {number} {} timeout {}{concurrent}", show_request(request), ms(*timeout))
        }
        Output::Service(ServiceOutput::Cancel(number)) => format!("cancel {number}"),
        Output::Service(other) => format!("{other:?}"),
        Output::SetTimer { id, at } => format!("timer {} at {}", TIMERS[*id as usize], ms(*at)),
        Output::CancelTimer(id) => format!("no timer {}", TIMERS[*id as usize]),
        Output::Point(point) => format!("point {}", point.name()),
        Output::Campaign => "campaign".into(),
        Output::Elected(leadership) => {
            format!("elected, token {}, valid until {}", leadership.token, ms(leadership.valid_until))
        }
        Output::Renewed(leadership) => {
            format!("renewed, token {}, valid until {}", leadership.token, ms(leadership.valid_until))
        }
        Output::Deposed(why) => format!("deposed, {}", why.name()),
        Output::Observed(leader) => leader.map_or("observed nobody".into(), |leader| format!("observed {}", leader.0)),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn show_request(request: &Opaque) -> String {
    match request.get().expect("a request for Redis") {
        redis::Request::SetNxPx { key, value, ttl_ms } => format!("set {key} {value} nx px {ttl_ms}"),
        redis::Request::Get { key } => format!("get {key}"),
        redis::Request::Del { key } => format!("del {key}"),
        redis::Request::Pexpire { key, ttl_ms } => format!("pexpire {key} {ttl_ms}"),
        redis::Request::CompareAndPexpire { key, value, ttl_ms } => {
            format!("compare-and-pexpire {key} {value} {ttl_ms}")
        }
        redis::Request::CompareAndDelete { key, value } => format!("compare-and-delete {key} {value}"),
        redis::Request::AcquireFenced { key, token_key, value, ttl_ms } => {
            format!("acquire-fenced {key} {token_key} {value} {ttl_ms}")
        }
    }
}
