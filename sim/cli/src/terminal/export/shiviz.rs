//! A log with vector clocks, as ShiViz reads it (`js/model/parser.js`, `js/model/vectorTimestamp.js`: a host's own count goes up
//! by one with each of its events).
//!
//! What happened before what is taken from the events alone: a write reaches the store after it was sent, a belief begins after
//! its grant, or its votes, a client has its answer after the store had the write.

use super::event::{Exporter, Line};
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// What ShiViz has to be told to read the log.
const EXPRESSION: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";
/// Who grants leadership, where nobody says which process does.
const SERVICE: &str = "service";

type Clock = BTreeMap<String, u64>;

/// Writes the log.
pub struct ShiViz<'o> {
    out: &'o mut dyn Write,
    store: String,
    hosts: BTreeMap<String, Clock>,
    /// What somebody may hear of later, by what it is about.
    said: BTreeMap<String, Clock>,
}

impl<'o> ShiViz<'o> {
    /// With the line that says how it is read, which ShiViz passes over.
    pub fn new(out: &'o mut dyn Write, store: Option<String>) -> io::Result<Self> {
        writeln!(out, "# ShiViz: paste below; the regular expression is {EXPRESSION}\n")?;
        let store = store.unwrap_or_else(|| "store".to_owned());
        Ok(ShiViz { out, store, hosts: BTreeMap::new(), said: BTreeMap::new() })
    }

    /// Something happens at a host, which by then has heard of these.
    fn at(&mut self, host: &str, what: &str, heard: &[String]) -> io::Result<Clock> {
        // Blanks end a host's name.
        let host = host.replace(char::is_whitespace, "_");
        let clock = self.hosts.entry(host.clone()).or_default();
        for known in heard.iter().filter_map(|key| self.said.get(key)) {
            for (other, count) in known {
                let own = clock.entry(other.clone()).or_default();
                *own = (*own).max(*count);
            }
        }
        *clock.entry(host.clone()).or_default() += 1;
        let clock = clock.clone();
        writeln!(self.out, "{what}\n{host} {}", json!(clock))?;
        Ok(clock)
    }

    /// Whoever hears of `key` hears of that clock, and of what was said of it before.
    fn say(&mut self, key: String, clock: Clock) {
        let said = self.said.entry(key).or_default();
        for (host, count) in clock {
            let own = said.entry(host).or_default();
            *own = (*own).max(count);
        }
    }
}

impl Exporter for ShiViz<'_> {
    fn event(&mut self, line: &Line) -> io::Result<()> {
        let (node, who, request) = (line.text("node"), line.leadership(), line.text("request"));
        let seconds = line.t_us as f64 / 1e6;
        let at = |what: &str| format!("{seconds:.6} s: {what}");
        let of = |what: &str| format!("{what} {} {}", line.number("group"), line.number("token"));
        let store = self.store.clone();
        let client = request.split(':').next().unwrap_or_default();
        match line.event.as_str() {
            "campaign" => drop(self.at(node, &at("campaigns"), &[])?),
            "vote" => {
                let clock = self.at(node, &at(&format!("votes for {}", line.text("candidate"))), &[])?;
                self.say(of("vote"), clock);
            }
            "grant" => {
                let clock = self.at(SERVICE, &at(&format!("grants {who}")), &[])?;
                self.say(of("grant"), clock);
            }
            "grant-end" => drop(self.at(SERVICE, &at(&format!("ends the grant of {who}")), &[])?),
            "elected" => {
                let clock = self.at(node, &at(&format!("{who} believes that it leads")), &[of("grant"), of("vote")])?;
                self.say(of("elected"), clock);
            }
            "deposed" => drop(self.at(node, &at(&format!("{who} stops: {}", line.text("reason"))), &[])?),
            "seal" => {
                let word = if line.fields.get("accepted") == Some(&json!(true)) { "seals" } else { "may not seal" };
                let what = at(&format!("{who} {word} {}", line.text("resource")));
                let clock = self.at(&store, &what, &[of("elected")])?;
                self.say(of("sealed"), clock);
            }
            "invoke" | "read-invoke" => {
                let clock = self.at(client, &at(&format!("asks {request}")), &[])?;
                self.say(format!("request {request}"), clock);
            }
            "issue" => {
                let what = at(&format!("sends seq {} for {}", line.number("seq"), line.text("resource")));
                let clock = self.at(node, &what, &[of("sealed"), format!("request {request}")])?;
                self.say(format!("write {}", line.write()), clock);
            }
            "apply" => {
                let (seq, on, verdict) = (line.number("seq"), line.text("resource"), line.text("verdict"));
                let what = at(&format!("seq {seq} of {who} on {on}: {verdict}"));
                let clock = self.at(&store, &what, &[format!("write {}", line.write())])?;
                self.said.remove(&format!("write {}", line.write()));
                self.say(format!("answer {request}"), clock);
            }
            "reply" | "read-reply" => {
                let what = at(&format!("{request}: {}", line.text("outcome")));
                self.at(client, &what, &[format!("answer {request}")])?;
                self.said.remove(&format!("answer {request}"));
                self.said.remove(&format!("request {request}"));
            }
            "node" => drop(self.at(node, &at(line.text("state")), &[])?),
            "fault" => {
                let detail = at(line.text("detail"));
                for host in line.list("on") {
                    self.at(host, &detail, &[])?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
