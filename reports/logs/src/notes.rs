//! Observations about a log that bear on its verdict.

use super::{
    LogError,
    apart::{self, Alone},
    opaque::Opaque,
    options::Options,
    seen::{Seen, Unsure},
    times::Unit,
    translate::Translation,
    values::REQUEST,
};
use chrono::FixedOffset;
use protocols::history::{Event, Kind, json::Lines};
use reports::Names;
use std::{cell::RefCell, collections::BTreeSet, path::PathBuf, rc::Rc};

/// How many other orders of simultaneous lines are tried.
const ORDERS: u64 = 12;

/// Notes about a log, complete once all of it is read.
#[derive(Default)]
pub struct Notes {
    seen: Option<Rc<RefCell<Seen>>>,
    maps: Vec<(String, String)>,
    names: Vec<String>,
    skew_ns: u64,
    /// The unit assumed for numeric times, if it was not given.
    unit: Option<Unit>,
    /// The unit given for numeric times.
    said: Option<Unit>,
    zone: Option<FixedOffset>,
    by_time: bool,
    /// What it takes to read the log again.
    again: Option<(Options, Vec<PathBuf>)>,
}

impl Notes {
    /// Why a violated log may hold after all: its lines may be of several leaderships. `judge` makes a judge for the
    /// lines of one.
    pub(super) fn apart(&self, judge: impl Fn() -> Alone) -> Option<String> {
        let ((args, files), seen) = (self.again.as_ref()?, self.seen.as_ref()?.borrow());
        apart::question(args, files, &seen, judge)
    }

    /// Why the verdict is open, if it differs in another order that the log's times allow. `is_it` says whether an
    /// order has the same verdict.
    pub fn order_decides(&self, is_it: impl Fn(Box<dyn Lines<Error = LogError>>) -> bool) -> Option<String> {
        let ((args, files), tied) = (self.again.as_ref()?, self.seen.as_ref()?.borrow().tied);
        if !tied || !self.by_time {
            return None;
        }
        let other = |shuffle: u64| args.open_in(files, shuffle).map(|input| !is_it(input.lines));
        match (1..=ORDERS).map(other).find(|other| *other != Ok(false)) {
            None => return None,
            Some(Ok(_)) => {}
            // The other orders cannot be tried.
            Some(Err(why)) => {
                return Some(format!("lines of two leaders have the same time, and {why}; name a file instead"));
            }
        }
        Some(self.unsure().unwrap_or_else(|| {
            "lines of two leaders have indistinguishable times, and the verdict depends on which came first; pass \
             --order line if lines are in the order in which the resource applied them, or --order FIELD if it \
             numbered them"
                .to_owned()
        }))
    }

    pub(super) fn read_again(self, args: &Options, files: &[PathBuf]) -> Notes {
        Notes { again: Some((args.clone(), files.to_vec())), ..self }
    }

    pub(super) fn of(
        seen: Rc<RefCell<Seen>>,
        translation: &Translation,
        names: Vec<String>,
        unit: Option<Unit>,
        skew_ns: u64,
    ) -> Notes {
        let maps = translation.maps.iter().map(|(ours, theirs)| (ours.clone(), theirs.clone())).collect();
        let (zone, by_time) = (translation.times.zone, translation.order.is_none());
        let unit = unit.filter(|unit| *unit != Unit::Us);
        Notes { seen: Some(seen), maps, names, skew_ns, unit, zone, by_time, ..Notes::default() }
    }

    /// The same with the unit given for numeric times.
    pub(super) fn of_times_in(self, said: Option<Unit>) -> Notes {
        Notes { said, ..self }
    }

    /// Checks options against the whole log.
    ///
    /// # Errors
    /// No line has a field that an option names, or the unit or zone given applies to no time: one sentence.
    pub fn check(&self) -> Result<(), LogError> {
        let Some(seen) = &self.seen else { return Ok(()) };
        let seen = seen.borrow();
        let why = match self.maps.iter().find(|(_, theirs)| !seen.fields.contains(theirs)) {
            Some((ours, theirs)) => format!("--map {ours}={theirs}: no line has a field `{theirs}`"),
            None if let Some(asked) = seen.asked.iter().find(|asked| {
                !seen.said.contains(*asked)
                    && ["--elected", "--accepted"].iter().any(|option| asked.starts_with(option))
            }) =>
            {
                format!("{asked}: no line fits; remove it, or mend it")
            }
            None if self.said.is_some() && seen.counted == 0 && seen.zoned + seen.bare > 0 => {
                "--time-unit has no effect: every time is a date and time, which needs no unit; remove it".to_owned()
            }
            None if self.zone.is_some() && seen.bare == 0 && seen.counted > 0 => {
                "--zone has no effect: no time is a date and time without a zone; remove it".to_owned()
            }
            None => return Ok(()),
        };
        Err(why.into())
    }

    /// The offset of the log's times from UTC, seconds: 0 unless one other zone is used throughout.
    pub fn offset_s(&self) -> i32 {
        let Some(seen) = &self.seen else { return 0 };
        let seen = seen.borrow();
        let bare = self.zone.map(|zone| zone.local_minus_utc()).filter(|_| seen.bare > 0 || seen.offsets_s.is_empty());
        let mut all: BTreeSet<i32> = seen.offsets_s.iter().copied().chain(bare).collect();
        match (all.pop_first(), all.is_empty(), bare.is_none() && seen.bare > 0) {
            (Some(only), true, false) => only,
            _ => 0,
        }
    }

    /// Why a log that holds shows nothing: some lines may have come in the other order.
    pub fn unsure(&self) -> Option<String> {
        let seen = self.seen.as_ref()?.borrow();
        if seen.bare > 0 && seen.zoned > 0 && self.zone.is_none() {
            return Some(
                "some times have a zone and others do not, so lines of both kinds cannot be put in order; pass --zone \
                 for the times without one"
                    .to_owned(),
            );
        }
        let named = |(file, line): (usize, u64)| match self.names.len() {
            1 => format!("line {line}"),
            _ => format!("line {line} of {}", self.names[file]),
        };
        if let Some([one, other]) = seen.unended.map(|lines| lines.map(named)) {
            return Some(format!(
                "{one} does not say when its work or grant ended, as other lines do, so it may have lasted until \
                 {other} or longer"
            ));
        }
        if let Some((token, higher)) = seen.opaque.as_ref().and_then(Opaque::back) {
            return Some(format!(
                "tokens look numbered, and {token} was first accepted after {higher}; if their order is that of their numbers, write \
                 them as numbers (for example with jq) and leave out --opaque-tokens"
            ));
        }
        let Some(Unsure { lines, apart_ns, over }) = seen.unsure.clone() else { return seen.doubt.clone() };
        let [one, other] = lines.map(named);
        let remedy = match self.names.len() {
            1 => {
                "pass --order line if lines are in the order in which the resource applied them, or --order FIELD if \
                 it numbered them"
            }
            _ => "pass --order FIELD to order lines by a number that the resource assigned",
        };
        if over {
            return Some(format!(
                "the work or grant of {one} ended within {} of {other}, too close to tell whether the two overlap; \
                 {remedy}",
                said(apart_ns)
            ));
        }
        let why = match apart_ns {
            0 => "have the same time".to_owned(),
            apart => format!("are {} apart, closer than their times can distinguish", said(apart)),
        };
        Some(format!("{one} and {other} {why}, and the verdict depends on which came first; {remedy}"))
    }

    /// Whether nodes that do not lead say that they have stopped, too.
    pub fn says_idle(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.borrow().says_idle)
    }

    /// The group of the resource that is written, if its name has it.
    pub fn group_of(&self, event: &Event, resources: Option<&[String]>) -> u64 {
        let Kind::Apply { write, .. } = &event.kind else { return 0 };
        let name = resources.and_then(|names| names.get(usize::from(write.resource.0)));
        let grouped = self.seen.as_ref().zip(name).map(|(seen, name)| seen.borrow().grouped.get(name).copied());
        grouped.flatten().unwrap_or(0)
    }

    /// A check that the log's tokens do not allow, and what it needs.
    pub fn unchecked(&self) -> Option<(&'static str, &'static str)> {
        let opaque = self.seen.as_ref()?.borrow().opaque.is_some();
        opaque.then_some(("order of tokens", "tokens that are numbers; these can only be compared for equality"))
    }

    /// Gives `names` the log's own names of requests.
    pub fn call_requests(&self, names: &mut Names) {
        if let Some(seen) = &self.seen {
            names.call_requests(REQUEST, seen.borrow_mut().take_requests());
        }
    }

    /// The notes, as sentences.
    pub fn sentences(&self) -> Vec<String> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let (seen, mut notes) = (seen.borrow(), Vec::new());
        if let Some(unit) = self.unit {
            notes.push(format!("Numeric times were read as {unit} since 1970; pass --time-unit if that is wrong."));
        }
        if let Some(opaque) = &seen.opaque {
            let called: Vec<String> =
                opaque.first().into_iter().map(|(number, token)| format!("{number} is {token}")).collect();
            notes.push(format!(
                "Tokens are in no order, so they were compared for equality only, and numbered as their writes were first accepted: \
                 {}.",
                called.join(", ")
            ));
        }
        if seen.bare > 0 && self.zone.is_none() {
            let beside = if seen.zoned > 0 { ", beside others with one" } else { "" };
            notes.push(format!(
                "{} without a time zone{beside}, read as UTC; pass --zone if that is wrong.",
                lines(seen.bare)
            ));
        }
        notes.extend(skipped(&seen));
        if seen.led.len() > 1 {
            let led: Vec<String> =
                seen.led.iter().enumerate().map(|(group, name)| format!("{group} is {name}")).collect();
            notes.push(format!("Each `resource` that has leaders was judged on its own; group {}.", led.join(", ")));
        }
        if seen.twice > 0 {
            notes.push(format!("{} repeated word for word; each was counted once.", lines(seen.twice)));
        }
        if seen.back > 0 {
            let (are, them) = if seen.back == 1 { ("is", "it") } else { ("are", "them") };
            notes.push(format!("{} {are} dated before the line above {them}; file order was kept.", lines(seen.back)));
        }
        let behind = seen.behind_ns;
        if self.names.len() > 1 && self.by_time {
            let files = self.names.len();
            let skew = match self.skew_ns {
                0 => {
                    "Pass --skew 200ms if clocks may differ by that much; a number that the resource assigned is better"
                        .to_owned()
                }
                skew => format!("Clocks may differ by {}; a number that the resource assigned is better", said(skew)),
            };
            notes.push(format!("{files} files were merged by their times. {skew}: --order FIELD."));
            if (1..10_000_000_000).contains(&behind) {
                let behind = said(behind.div_ceil(1_000_000) * 1_000_000);
                notes.push(format!(
                    "Every stale write and every overlap is within {behind} of a line of another file. If clocks may \
                     differ by that much, pass --skew {behind}: they then prove nothing."
                ));
            }
        }
        if seen.ties > 0 {
            let (lines, have) = (lines(seen.ties), if seen.ties == 1 { "has" } else { "have" });
            notes.push(format!("{lines} {have} the same time as one of another file; which came first is unknown."));
        }
        notes
    }
}

/// What was not judged, and by what lines were told apart.
fn skipped(seen: &Seen) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(name) = seen.recognised {
        notes.push(format!(
            "Read as text of {name}, by its messages; only elections were judged. Pass --elected and --deposed if that is wrong."
        ));
    }
    for asked in seen.asked.iter().filter(|asked| !seen.said.contains(*asked)) {
        notes.push(format!("No line fits {asked}."));
    }
    if let Some(service) = seen.service {
        let others = match seen.others {
            0 => String::new(),
            others => format!("; {} skipped, which say nothing about who leads", lines(others)),
        };
        notes.push(format!("Read as {service}, whose records say who holds what{others}."));
        notes.extend(seen.remarks.first().cloned());
        return notes;
    }
    if seen.others > 0 && seen.by_message {
        notes.push(format!("{} skipped, which say nothing of what was asked for.", lines(seen.others)));
    } else if seen.others > 0 {
        notes.push(format!("{} skipped, by --only or --word event:…=none.", lines(seen.others)));
    }
    notes
}

fn lines(n: u64) -> String {
    if n == 1 { "1 line".to_owned() } else { format!("{n} lines") }
}

/// A duration as options accept it.
fn said(ns: u64) -> String {
    match ns {
        ns if ns % 1_000_000_000 == 0 => format!("{}s", ns / 1_000_000_000),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1_000),
    }
}
