//! A log with vector clocks, in ShiViz's format (`js/model/parser.js`, `js/model/vectorTimestamp.js`: a host's own
//! count goes up by one with each of its events).
//!
//! Only messages order events of different hosts. A history does not record the messages, so they are derived from what
//! must have happened:
//!
//! | happens | after |
//! |---|---|
//! | a belief | the grant to that node with that token, and the votes that were given to it for that token by then |
//! | a seal | the belief of that leadership |
//! | a write is sent | the first seal of that leadership which the resource accepted, and the client's request |
//! | the store decides on a write | it was sent |
//! | a client has its number | the first decision that gave it that number |
//!
//! A client that gave up waiting, or was turned away, has heard of no decision. For requests that are repeated until
//! they are answered, such as a seal, the history does not show which answer arrived: the first one precedes whatever
//! followed.

use super::{
    cast::{Actor, Cast, Labels},
    event::{Exporter, Line},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    slice,
};

/// The regular expression that ShiViz needs to read the log.
const EXPRESSION: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";

type Clock = BTreeMap<String, u64>;

/// A message that a host may receive later.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Said {
    Grant {
        group: u64,
        node: String,
        token: u64,
    },
    Vote {
        group: u64,
        candidate: String,
        token: u64,
    },
    Elected(Leadership),
    Sealed(Leadership, String),
    Asked(String),
    Sent(u64),
    /// The request, its number, and the token if that makes a difference.
    Decided(String, u64, u64),
}

/// Identifies a leadership.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Leadership {
    group: u64,
    node: String,
    token: u64,
    generation: u64,
}

impl Leadership {
    fn of(line: &Line) -> Leadership {
        let [group, token, generation] = ["group", "token", "generation"].map(|field| line.number(field));
        Leadership { group, node: line.text("node").to_owned(), token, generation }
    }
}

/// Writes the log.
pub struct ShiViz<'o> {
    out: &'o mut dyn Write,
    cast: Cast,
    labels: Labels,
    hosts: BTreeMap<String, Clock>,
    said: BTreeMap<Said, Clock>,
    /// Writes whose sending was seen.
    sent: BTreeSet<u64>,
}

impl<'o> ShiViz<'o> {
    /// Writes the first line, with the regular expression, which ShiViz skips.
    pub fn new(out: &'o mut dyn Write, cast: Cast) -> io::Result<Self> {
        writeln!(out, "# ShiViz: paste below; the regular expression is {EXPRESSION}\n")?;
        let (labels, hosts, said) = (Labels::default(), BTreeMap::new(), BTreeMap::new());
        Ok(ShiViz { out, cast, labels, hosts, said, sent: BTreeSet::new() })
    }

    /// An event at a host, which has received the messages `heard` by then.
    fn at(&mut self, line: &Line, who: &Actor, what: &str, heard: &[Said]) -> io::Result<Clock> {
        let host = self.labels.of(who, host);
        let clock = self.hosts.entry(host.clone()).or_default();
        heard.iter().filter_map(|key| self.said.get(key)).for_each(|known| merge(clock, known));
        *clock.entry(host.clone()).or_default() += 1;
        let (clock, seconds) = (clock.clone(), line.t_us as f64 / 1e6);
        writeln!(self.out, "{seconds:.6} s: {}\n{host} {}", one_line(what), json!(clock))?;
        Ok(clock)
    }

    /// A receiver of `key` learns this clock, and those of earlier messages of the same key.
    fn say(&mut self, key: Said, clock: &Clock) {
        merge(self.said.entry(key).or_default(), clock);
    }

    /// The same for a request that is repeated until it is answered: only the first message counts.
    fn say_first(&mut self, key: Said, clock: Clock) {
        self.said.entry(key).or_insert(clock);
    }

    /// Events of the service and of leaderships.
    fn leads(&mut self, line: &Line) -> io::Result<()> {
        let (node, who, leadership) = (Actor::named(line.text("node")), line.leadership(), Leadership::of(line));
        let Leadership { group, token, .. } = leadership;
        let service = self.cast.service();
        match line.event.as_str() {
            "campaign" => drop(self.at(line, &node, "campaigns", &[])?),
            "vote" => {
                let candidate = line.text("candidate");
                let clock = self.at(line, &node, &format!("votes for {candidate}"), &[])?;
                self.say(Said::Vote { group, candidate: candidate.to_owned(), token }, &clock);
            }
            "grant" => {
                let clock = self.at(line, &service, &format!("grants {who}"), &[])?;
                self.say(Said::Grant { group, node: leadership.node, token }, &clock);
            }
            "grant-end" => drop(self.at(line, &service, &format!("ends the grant of {who}"), &[])?),
            "elected" => {
                let votes = Said::Vote { group, candidate: leadership.node.clone(), token };
                let grant = Said::Grant { group, node: leadership.node.clone(), token };
                let clock = self.at(line, &node, &format!("{who} believes that it leads"), &[grant, votes.clone()])?;
                self.said.remove(&votes);
                self.say(Said::Elected(leadership), &clock);
            }
            "deposed" => drop(self.at(line, &node, &format!("{who} stops: {}", line.text("reason")), &[])?),
            _ => {}
        }
        Ok(())
    }

    /// Events of a resource.
    fn writes(&mut self, line: &Line) -> io::Result<()> {
        let (node, who, leadership) = (Actor::named(line.text("node")), line.leadership(), Leadership::of(line));
        let (seq, on, request) = (line.number("seq"), line.text("resource"), line.text("request"));
        let store = self.cast.store(line.text("node"));
        let sends = format!("sends seq {seq} for {on}");
        match line.event.as_str() {
            "seal" => {
                let accepted = line.fields.get("accepted") == Some(&json!(true));
                let what = format!("{who} {} {on}", if accepted { "seals" } else { "may not seal" });
                let clock = self.at(line, &store, &what, &[Said::Elected(leadership.clone())])?;
                if accepted {
                    self.say_first(Said::Sealed(leadership, on.to_owned()), clock);
                }
            }
            "issue" => {
                let heard = [Said::Sealed(leadership, on.to_owned()), Said::Asked(request.to_owned())];
                let clock = self.at(line, &node, &sends, &heard)?;
                self.sent.insert(line.write());
                self.say(Said::Sent(line.write()), &clock);
            }
            _ => {
                let write = Said::Sent(line.write());
                // A store's own log only shows that the sender must have sent the write.
                if !self.sent.contains(&line.write()) {
                    let clock = self.at(line, &node, &sends, &[Said::Asked(request.to_owned())])?;
                    self.say(write.clone(), &clock);
                }
                let verdict = line.text("verdict");
                let clock =
                    self.at(line, &store, &format!("seq {seq} of {who} on {on}: {verdict}"), slice::from_ref(&write))?;
                self.said.remove(&write);
                let given = match verdict {
                    "ok" => seq,
                    "duplicate" => line.number("first"),
                    _ => return Ok(()),
                };
                self.say_first(self.decided(line, given), clock);
            }
        }
        Ok(())
    }

    /// Copies decide independently, so nobody may have heard of an earlier decision.
    fn decided(&self, line: &Line, number: u64) -> Said {
        let token = if self.cast.has_copies() { line.number("token") } else { 0 };
        Said::Decided(line.text("request").to_owned(), number, token)
    }

    /// Events of clients.
    fn asks(&mut self, line: &Line) -> io::Result<()> {
        let (client, request) = (Actor::named(line.client()), line.text("request"));
        if line.event.ends_with("invoke") {
            let clock = self.at(line, &client, &format!("asks {request}"), &[])?;
            self.say(Said::Asked(request.to_owned()), &clock);
            return Ok(());
        }
        let outcome = line.text("outcome");
        let told = (outcome == "ok").then(|| self.decided(line, line.number("seq")));
        self.at(line, &client, &format!("{request}: {outcome}"), told.as_slice())?;
        self.said.remove(&Said::Asked(request.to_owned()));
        if let Some(told) = told {
            self.said.remove(&told);
        }
        Ok(())
    }
}

fn merge(clock: &mut Clock, other: &Clock) {
    for (host, count) in other {
        let own = clock.entry(host.clone()).or_default();
        *own = (*own).max(*count);
    }
}

/// A host's name without blanks, which would end it, including those that only the viewer's regular expressions treat
/// as blanks.
fn host(name: &str) -> String {
    let name = name.replace(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}', "_");
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Replaces characters that would end a line in the viewer by blanks.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c), " ")
}

impl Exporter for ShiViz<'_> {
    fn event(&mut self, line: &Line) -> io::Result<()> {
        match line.event.as_str() {
            "seal" | "issue" | "apply" => self.writes(line),
            "invoke" | "read-invoke" | "reply" | "read-reply" => self.asks(line),
            "node" => self.at(line, &Actor::named(line.text("node")), line.text("state"), &[]).map(drop),
            "fault" => line.list("on").into_iter().try_for_each(|name| {
                self.at(line, &Actor::named(name), line.text("detail"), &[])?;
                Ok(())
            }),
            _ => self.leads(line),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
