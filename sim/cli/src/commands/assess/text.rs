//! An assessment as text, for one screen of 80 columns.

use super::{
    change::Change,
    sentence::{self, time, value},
};
use crate::commands::about::filled;
use protocols::election::Timer;
use reports::statistics::count;
use sim::assess::{Along, Assessment, Case, Event};

const WIDTH: usize = 80;

/// The content of the report.
pub(super) struct Told<'a> {
    pub case: &'a Case<'a>,
    /// True if any timer was given.
    pub timers_given: bool,
    pub seen: &'a Assessment,
    pub changes: &'a [Change],
    pub commands: &'a [String],
}

/// An event, and the value of the hazard from which it occurs.
pub(super) struct Row {
    pub id: &'static str,
    pub what: String,
    pub at: Option<f64>,
}

/// All hazards in words.
pub(super) fn hazards(case: &Case) -> String {
    let of = case.hazards;
    let from = if case.protocol.service.elects { "the coordination service" } else { "the other candidates" };
    let said = [
        of.pause_ms.map(|ms| format!("the leader stops for {}", time(ms as f64))),
        of.cut_ms.map(|ms| format!("the leader is cut off from {from} for {}", time(ms as f64))),
        of.drift_ppm.map(|ppm| format!("clocks run up to {ppm} ppm fast or slow")),
        of.skew_ms.map(|ms| format!("wall clocks are up to {} off", time(ms as f64))),
        of.latency_us.map(|us| format!("a packet takes {} ms one way", us as f64 / 1e3)),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    let cut = match (of.pause_ms, of.cut_ms) {
        (None, None) => ", while the leader is cut off for longer than its lease",
        _ => "",
    };
    format!("{}{cut}", said.join("; "))
}

impl Told<'_> {
    pub fn text(&self) -> String {
        let mut text = filled(&self.setting(), 0, WIDTH);
        text += &filled(&format!("Hazard: {}.", hazards(self.case)), 0, WIDTH);
        text.push('\n');
        text += &filled(&sentence::answer(self.case, self.seen), 0, WIDTH);
        text.push('\n');
        text += &self.table();
        text += &filled(&format!("Breaks first: {}", sentence::first(self.case, self.seen)), 0, WIDTH);
        for change in self.changes {
            text += &filled(&format!("Change: {}", changed(change)), 0, WIDTH);
        }
        if self.seen.interrupted {
            let ended = "INTERRUPTED: the edges may be lower than those above, and not every change was tried.";
            text += &filled(ended, 0, WIDTH);
        } else if self.changes.is_empty() {
            text += "Change: nothing, for this hazard.\n";
        }
        text += &filled(&self.stands_on(), 0, WIDTH);
        text += "Go on:\n";
        self.commands.iter().fold(text, |text, command| text + &wrapped(command))
    }

    fn setting(&self) -> String {
        let Case { protocol, params, .. } = self.case;
        let timings = params.timings(protocol);
        let ms = |ms: u64| time(ms as f64);
        let mut said = match timings.election_timeout_ms {
            Some((from_ms, to_ms)) => vec![
                format!("election timeout {} to {}", ms(from_ms), ms(to_ms)),
                format!("heartbeat {}", ms(timings.renew_interval_ms)),
            ],
            None => vec![format!("lease {}", ms(params.granted_ttl_ms(protocol)))],
        };
        let own = timings.own_ms();
        if !protocol.timers.renews_at_retry && timings.election_timeout_ms.is_none() {
            said.push(format!("renewed every {}", ms(timings.renew_interval_ms)));
        }
        for timer in Timer::ALL {
            said.extend(own.get(timer).map(|length| format!("{} {}", timer.words(), ms(length))));
        }
        let whose = if self.timers_given { "" } else { " (defaults)" };
        let store = match (protocol.tokened, params.fencing.word()) {
            (false, _) => "no token".to_owned(),
            (true, word) => format!("fencing {word}"),
        };
        format!("{}: {}{whose}; {} candidates; {store}.", protocol.name, said.join(", "), params.nodes)
    }

    pub fn rows(&self) -> Vec<Row> {
        let (seen, along) = (self.seen, self.case.along());
        let row = |id, what: &str, at| Row { id, what: what.to_owned(), at };
        let edge = |event| seen.edge(event).map(|edge| edge.at as f64);
        let mut rows = Vec::new();
        match along {
            Along::Pause if self.case.hazards.cut_ms.is_none() => {
                rows.push(row("takeover_by_timers", "somebody may take over, by the timers", seen.clearance.pause_ms));
            }
            Along::Cut => {
                rows.push(row("takeover_by_timers", "somebody may take over, by the timers", seen.clearance.cut_ms));
            }
            Along::Drift => {
                let ppm = seen.drift_ppm.map(|ppm| ppm as f64);
                rows.push(row("two_believe_by_timers", "two nodes may believe, by the timers", ppm.or(Some(0.0))));
            }
            _ => {}
        }
        if matches!(along, Along::Pause | Along::Cut) {
            rows.push(row("takeover", "somebody takes over, in runs", edge(Event::Takeover)));
        }
        rows.push(row("two_believe", "two nodes believe that they lead, in runs", edge(Event::TwoBelieve)));
        let stale = match self.case.compares() {
            true => "a stale write arrives, which the store refuses",
            false => "a stale write takes effect, in runs",
        };
        rows.push(row("stale_write", stale, edge(Event::Violation)));
        if !matches!(along, Along::Pause | Along::Cut) {
            rows.push(row("nobody_leads", "nobody leads in time, in runs", edge(Event::Unled)));
        }
        rows
    }

    /// What the timers make a leader do that runs and cannot renew.
    fn stops(&self) -> String {
        match self.seen.belief_ms {
            _ if self.case.protocol.service.outlasts_pauses => String::new(),
            Some(ms) => {
                let ms = if ms < 0.0 { format!("-{}", time(-ms)) } else { format!("+{}", time(ms)) };
                format!("  {:<48}{:>12}  {ms:>14}\n", "cut off, the leader stops before a takeover by", "")
            }
            None => {
                format!("  {:<48}{:>12}  {:>14}\n", "cut off, the leader stops before a takeover by", "", "never stops")
            }
        }
    }

    fn table(&self) -> String {
        let (along, asked) = (self.case.along(), self.case.asked() as f64);
        let rows = self.rows();
        let mut text = match rows.is_empty() {
            true => String::new(),
            false => format!("  {:<48}{:>12}  {:>14}\n", "", "above", "margin"),
        };
        for Row { id, what, at } in rows {
            let (at, margin) = match at {
                None if id.ends_with("by_timers") => ("unknown".to_owned(), String::new()),
                None if self.seen.interrupted => ("unknown".to_owned(), "not seen yet".to_owned()),
                None => (format!("> {}", value(along, self.seen.most as f64)), "not seen".to_owned()),
                Some(at) if at >= asked => (value(along, at), format!("+{}", value(along, at - asked))),
                Some(at) => (value(along, at), format!("-{}", value(along, asked - at))),
            };
            text += format!("  {what:<48}{at:>12}  {margin:>14}").trim_end();
            text.push('\n');
        }
        text + &self.stops()
    }

    fn stands_on(&self) -> String {
        let along = self.case.along();
        format!(
            "Based on the timers' arithmetic and on {}: {} seeds at {}, the others to find the edges. Runs are \
             samples: what they do not show may still happen.",
            count(self.seen.runs + self.changes.iter().map(|change| change.runs).sum::<u64>(), "run"),
            self.seen.asked.len(),
            value(along, self.case.asked() as f64)
        )
    }
}

fn changed(change: &Change) -> String {
    let option = if change.options.is_empty() { String::new() } else { format!("{}: ", change.options) };
    let came = match change.violated {
        0 if change.runs == 0 => "this was not tried".to_owned(),
        0 => format!("none of {} that tried it is unsafe", count(change.runs, "run")),
        some => format!("{some} of {} that tried it are still unsafe", count(change.runs, "run")),
    };
    format!("{option}{}; {came}.", change.what)
}

/// A command, wrapped with backslashes so that a shell reads one line.
fn wrapped(command: &str) -> String {
    let mut text = String::new();
    let mut line = "  ".to_owned();
    for (place, word) in command.split(' ').enumerate() {
        if place > 0 && line.chars().count() + 1 + word.chars().count() + 2 > WIDTH {
            text += &format!("{line} \\\n");
            line = "    ".to_owned();
        } else if place > 0 {
            line.push(' ');
        }
        line += word;
    }
    format!("{text}{line}\n")
}
