//! Electors of the protocols with a service against transcripts: what goes in, and every output it brings, reviewed as text.
//!
//! Transcripts lie in `testdata/<protocol>.txt`, each below a line `== NAME`. Its first line that is no comment sets the
//! candidate up; `> TIME INPUT` is one step at that time of the node's clocks, in milliseconds; `+2` is 2 ms after the step
//! before, `@` is when the timer named is due. A timer that fires later than it is due is a pause. `wall MS` sets the wall clock
//! so far ahead of where it began. The `<` lines below a step are what came out; `FENCEPOST_UPDATE=1` writes them anew.

mod consul;
mod etcd;
mod golden;
mod kubernetes;
mod object_store;
mod postgres;
mod raft;
mod redis;
mod zookeeper;

use protocols::{
    clock::Now,
    election::{self, Protocol, Setup, Timer, Timers, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Opaque,
    types::{MILLISECOND, NodeId, SECOND},
};
use std::{collections::BTreeMap, fmt::Write as _, path::Path};

/// A service's language.
struct Language {
    /// What timers are called, by id.
    timers: &'static [&'static str],
    /// A reply in words.
    reply: fn(&Names, &[&str]) -> Option<Opaque>,
    /// An item of a stream in words.
    item: fn(&Names, &[&str]) -> Option<Opaque>,
    /// A request, and the request for a stream, in words.
    request: fn(&Names, &Opaque) -> String,
    stream: fn(&Opaque) -> String,
}

/// The candidates' names.
struct Names(Vec<String>);

impl Names {
    fn node(&self, name: &str) -> NodeId {
        let place = self.0.iter().position(|known| known == name);
        NodeId(place.unwrap_or_else(|| panic!("{name} is no candidate")) as u16)
    }

    fn of(&self, node: NodeId) -> &str {
        &self.0[node.index()]
    }
}

fn check(protocol: &str, language: &Language, least: usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(protocol).with_extension("txt");
    let protocol = election::find(protocol).expect("a protocol");
    golden::check(&file, least, |transcript| replay(protocol, language, transcript));
}

/// The transcript with the outputs that come today.
fn replay(protocol: &'static Protocol, language: &Language, transcript: &str) -> String {
    let mut text = String::new();
    let mut run: Option<Run> = None;
    for line in transcript.lines().filter(|line| !line.starts_with('<')) {
        writeln!(text, "{line}").unwrap();
        match (line.strip_prefix("> "), &mut run) {
            (Some(input), Some(run)) => run.step(input, &mut text),
            (None, Some(run)) if line.starts_with("wall ") => run.wall_ms = line[5..].parse().unwrap(),
            (None, None) if line.starts_with("setup ") => run = Some(Run::new(protocol, language, line)),
            _ => assert!(line.is_empty() || line.starts_with('#'), "cannot read the line {line:?}"),
        }
    }
    text
}

struct Run<'a> {
    language: &'a Language,
    tokened: bool,
    names: Names,
    elector: Box<AnyElector>,
    /// When each timer that is set is to fire, nanoseconds.
    timers: BTreeMap<u16, u64>,
    /// The token of the belief, and the last one there was.
    belief: Option<u64>,
    last_token: u64,
    now: u64,
    /// How far the wall clock is ahead of where it began.
    wall_ms: i64,
}

impl<'a> Run<'a> {
    /// `setup node=NAME of=NAME,… ttl=MS renew=MS timeout=MS nonce=N`, `members=N` of its service, `election=MS..MS` where it is drawn,
    /// and `retry-period=MS` and its like where a protocol's own are not as they are by default.
    fn new(protocol: &Protocol, language: &'a Language, line: &str) -> Self {
        let fields: BTreeMap<&str, &str> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
        let names = Names(fields["of"].split(',').map(String::from).collect());
        let lease_ttl = parse_ms(fields["ttl"]);
        let usual = protocol.timers.defaults((protocol.granted_ttl)(lease_ttl));
        let given = |timer: Timer| fields.get(timer.words().replace(' ', "-").as_str()).map(|ms| parse_ms(ms));
        let timings = Timings {
            lease_ttl,
            renew_interval: parse_ms(fields["renew"]),
            request_timeout: parse_ms(fields["timeout"]),
            election_timeout: fields
                .get("election")
                .and_then(|range| range.split_once(".."))
                .map(|(shortest, longest)| (parse_ms(shortest), parse_ms(longest))),
            rules: Default::default(),
            own: Timers::from(|timer| given(timer).or(usual.get(timer))),
        };
        let setup = Setup {
            group: 0,
            seat: None,
            node: names.node(fields["node"]),
            names: names.0.clone(),
            timings,
            nonce: fields["nonce"].parse().unwrap(),
            stored: None,
            service: (100..100 + fields.get("members").map_or(0, |count| count.parse().unwrap())).map(NodeId).collect(),
            bugs: Default::default(),
        };
        let (elector, timers) = ((protocol.elector)(setup), BTreeMap::new());
        let (tokened, belief, last_token, now) = (protocol.tokened, None, 0, 0);
        Run { language, tokened, names, elector, timers, belief, last_token, now, wall_ms: 0 }
    }

    fn step(&mut self, line: &str, text: &mut String) {
        let (time, input) = line.split_once(' ').unwrap();
        let input = self.input(input);
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
        let wall = (1_000_000 * SECOND + now).checked_add_signed(self.wall_ms * MILLISECOND as i64).unwrap();
        self.elector.step(Now { mono: now, wall }, input, &mut out);
        for output in &out {
            // To cancel what is not set is of no interest.
            let idle = matches!(output, Output::CancelTimer(id) if !self.timers.contains_key(id));
            self.keep_count(output);
            if !idle {
                writeln!(text, "< {}", self.show(output)).unwrap();
            }
        }
    }

    /// An input in words. What is none of those that all electors know is an item of the first stream.
    fn input(&self, text: &str) -> Input {
        let words: Vec<&str> = text.split(' ').collect();
        let (names, number) = (&self.names, |text: &str| text.parse::<u64>().unwrap());
        let item = |stream: u64, words: &[&str]| {
            let item = (self.language.item)(names, words).unwrap_or_else(|| panic!("cannot read {text:?}"));
            Input::Service(ServiceInput::Item { number: stream, item })
        };
        match words[..] {
            ["start"] => Input::Start,
            ["resign"] => Input::Resign,
            ["fenced"] => Input::Fenced,
            ["transfer", to] => Input::Transfer(names.node(to)),
            ["add-voter", node] => Input::AddVoter(names.node(node)),
            ["remove-voter", node] => Input::RemoveVoter(names.node(node)),
            ["timer", name] => Input::Timer(self.language.timers.iter().position(|t| *t == name).unwrap() as u16),
            ["reply", request, ref reply @ ..] => {
                let reply = match reply {
                    ["rejected", why @ ..] => Err(Failure::Rejected(why.join(" "))),
                    ["unknown", why @ ..] => Err(Failure::Unknown(why.join(" "))),
                    words => Ok((self.language.reply)(names, words).unwrap_or_else(|| panic!("cannot read {text:?}"))),
                };
                Input::Service(ServiceInput::Reply { number: number(request), reply })
            }
            ["item", stream, ref words @ ..] => item(number(stream), words),
            ["ended", stream, ref why @ ..] => {
                let failure = Failure::Unknown(why.join(" "));
                Input::Service(ServiceInput::Ended { number: number(stream), failure })
            }
            ref words => item(1, words),
        }
    }

    /// What every elector owes the node, whatever a transcript says; and that no token is used twice.
    fn keep_count(&mut self, output: &Output) {
        match output {
            Output::SetTimer { id, at } => drop(self.timers.insert(*id, *at)),
            Output::CancelTimer(id) => drop(self.timers.remove(id)),
            Output::Elected(leadership) => {
                assert_eq!(self.belief, None, "elected twice");
                assert!(leadership.valid_until > self.now, "elected with nothing left to believe");
                assert!(!self.tokened || leadership.token > self.last_token, "a token comes again");
                self.last_token = leadership.token;
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
        let (names, timer) = (&self.names, |id: &u16| self.language.timers[usize::from(*id)]);
        match output {
            Output::Service(ServiceOutput::Request { number, request, timeout, concurrent }) => {
                let concurrent = if *concurrent { ", concurrent" } else { "" };
                let request = (self.language.request)(names, request);
                format!("request {number} {request}, timeout {}{concurrent}", ms(*timeout))
            }
            Output::Service(ServiceOutput::Open { number, request }) => {
                format!("open {number} {}", (self.language.stream)(request))
            }
            Output::Service(ServiceOutput::Cancel(number)) => format!("cancel {number}"),
            Output::Service(ServiceOutput::Push(number)) => format!("push {number}"),
            Output::Service(ServiceOutput::Close(number)) => format!("close {number}"),
            Output::SetTimer { id, at } => format!("timer {} at {}", timer(id), ms(*at)),
            Output::CancelTimer(id) => format!("no timer {}", timer(id)),
            Output::Point(point) => format!("point {}", point.name()),
            Output::Campaign => "campaign".to_owned(),
            Output::Elected(l) => format!("elected, token {}, valid until {}", l.token, ms(l.valid_until)),
            Output::Renewed(l) => format!("renewed, token {}, valid until {}", l.token, ms(l.valid_until)),
            Output::Deposed(why) => format!("deposed, {}", why.name()),
            Output::Observed(leader) => format!("observed {}", leader.map_or("nobody", |leader| names.of(leader))),
            Output::Membership(node, joined) => {
                format!("{} {}", names.of(*node), if *joined { "joined" } else { "left" })
            }
            other => format!("{other:?}"),
        }
    }
}

fn parse_ms(text: &str) -> u64 {
    text.parse::<u64>().unwrap() * MILLISECOND
}

fn ms(nanoseconds: u64) -> String {
    if nanoseconds == u64::MAX { "for ever".into() } else { format!("{}", nanoseconds as f64 / MILLISECOND as f64) }
}
