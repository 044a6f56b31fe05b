//! What a line claims about leadership, as far as the order of lines depends on it, and which orders a log's times
//! allow.

use super::{
    key::{Key, leadership},
    seen::Unsure,
    spans::{Span, Spans},
    translate::Told,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// A write that was accepted or fenced.
    Write(Write),
    /// A leadership begins or is granted.
    Begin(Of),
    /// A leadership ends, so that another may begin.
    End(Of),
    Other,
}

/// The leader, and what it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Of {
    leads: Key,
    node: Key,
    token: Option<u64>,
}

/// A write and its leadership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    resource: Key,
    leadership: Key,
    token: Option<u64>,
    seq: u64,
    accepted: bool,
}

/// A line to be ordered.
pub struct Line {
    pub told: Told,
    pub claim: Claim,
    /// The grant or work whose duration the line states.
    pub span: Option<Span>,
    /// Hashes of the node and of its leadership.
    node: Option<u64>,
    leadership: Option<u64>,
}

impl Line {
    /// Classifies a translated line.
    pub fn new(told: Told) -> Line {
        let claim = Claim::of(&told.fields);
        let span = match &claim {
            Claim::Write(write) if write.accepted => Span::of(&told, write.resource, write.leadership),
            Claim::Begin(of) => Span::of(&told, of.leads, of.node),
            _ => None,
        };
        let node = told.fields.get("node").and_then(Value::as_str).map(|node| xxh3_64(node.as_bytes()));
        let leadership = match &claim {
            Claim::Write(write) => Some(write.leadership),
            _ => None,
        };
        Line { told, claim, span, node, leadership }
    }

    /// Must this line come after `other` of the same node? A node writes while it leads.
    fn must_follow_own(&self, other: &Line) -> bool {
        let of_one = self.node.is_some() && self.node == other.node;
        let told = (&self.claim, &other.claim);
        of_one && matches!(told, (Claim::Write(_), Claim::Begin(_)) | (Claim::End(_), Claim::Write(_)))
    }
}

impl Claim {
    /// What is written or led, and by whom; `None` for a refused write.
    pub(super) fn on_and_by(self) -> Option<(Key, Key)> {
        match self {
            Claim::Write(write) => write.accepted.then_some((write.resource, write.leadership)),
            Claim::Begin(of) | Claim::End(of) => Some((of.leads, of.node)),
            Claim::Other => None,
        }
    }

    pub(super) fn of(fields: &Map<String, Value>) -> Claim {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let accepted = text("verdict") == "ok";
        match text("event") {
            "apply" if accepted || text("verdict") == "fenced" => {
                let token = fields.get("token").or_else(|| fields.get("epoch"));
                let generation = number("generation").or_else(|| number("term")).unwrap_or(0);
                Claim::Write(Write {
                    resource: xxh3_64(text("resource").as_bytes()),
                    leadership: leadership(text("node"), token, generation),
                    token: token.and_then(Value::as_u64),
                    seq: number("seq").unwrap_or(0),
                    accepted,
                })
            }
            event @ ("elected" | "deposed" | "grant" | "grant-end") => {
                let leads = xxh3_64_with_seed(text("resource").as_bytes(), number("group").unwrap_or(0));
                let of = Of { leads, node: xxh3_64(text("node").as_bytes()), token: number("token") };
                if matches!(event, "elected" | "grant") { Claim::Begin(of) } else { Claim::End(of) }
            }
            _ => Claim::Other,
        }
    }

    /// Must this come after `other` for both to hold?
    fn must_follow(&self, other: &Claim) -> bool {
        if let (Claim::Begin(one), Claim::Begin(other)) = (self, other) {
            return one.leads == other.leads
                && one.node != other.node
                && other.token.is_some()
                && other.token < one.token;
        }
        let (Claim::Write(one), Claim::Write(other)) = (self, other) else { return false };
        if one.resource != other.resource || !other.accepted || one.leadership == other.leadership {
            return false;
        }
        match (one.token, other.token) {
            (Some(one), Some(other)) => other < one,
            _ => one.accepted && other.seq > 0 && other.seq < one.seq,
        }
    }
}

/// The last accepted write of one leadership to a resource.
pub(super) struct Last {
    write: Write,
    file: usize,
    line: u64,
    ns: u64,
    first_ns: u64,
}

/// The beginning or the end of a leadership.
pub(super) struct Turn {
    begins: bool,
    node: Key,
    token: Option<u64>,
    file: usize,
    line: u64,
    ns: u64,
}

/// How many beginnings and ends are remembered.
const TURNS_MOST: usize = 64;
/// How many leaderships are remembered for each resource.
const LEADERSHIPS_MOST: usize = 32;
/// How many lines of a file are searched for one that must come first.
pub const AHEAD_MOST: usize = 2_000;

/// The lines of one moment ahead of another. Their file does not fix their order, except that one node's lines about
/// its leadership, and the writes of one leadership, stay in order.
#[derive(Default)]
struct InFront {
    /// One of them names neither node nor leadership.
    of_nobody: bool,
    any: bool,
    tell: Vec<u64>,
    leaderships: Vec<u64>,
}

impl InFront {
    /// May the line come before all lines so far? Adds it to them.
    fn lets_pass(&mut self, line: &Line) -> bool {
        let first = !std::mem::replace(&mut self.any, true);
        let (all, one) = match (line.leadership, line.node) {
            (Some(leadership), _) => (&mut self.leaderships, leadership),
            (None, Some(node)) => (&mut self.tell, node),
            (None, None) => {
                self.of_nobody = true;
                return first;
            }
        };
        let is_new = !all.contains(&one);
        if is_new {
            all.push(one);
        }
        is_new && !self.of_nobody
    }
}

/// The line taken last.
pub(super) struct Taken {
    node: Option<u64>,
    leadership: Option<u64>,
    file: usize,
    ns: u64,
}

/// Chooses the next line: the precision of the times, and the lines taken so far.
#[derive(Default)]
pub struct Ordering {
    /// How much the clocks of two files may differ, nanoseconds.
    pub skew_ns: u64,
    /// The resolution of each file's times, nanoseconds.
    pub digit_ns: Vec<u64>,
    pub(super) last: BTreeMap<Key, Vec<Last>>,
    /// The last beginnings and ends of leaderships, by what is led.
    pub(super) turns: BTreeMap<Key, VecDeque<Turn>>,
    /// Grants and work in progress.
    pub(super) spans: Spans,
    /// Which of the orders that the times allow: 0 is the most favourable; of the others, every second one is
    /// favourable as far as can be seen locally.
    pub shuffle: u64,
    /// Lines of two leaders could be in the other order.
    pub tied: bool,
    /// The line taken last.
    pub(super) taken: Option<Taken>,
    /// The first two lines that could be in the other order.
    pub unsure: Option<Unsure>,
    /// The largest delay, nanoseconds, of a write under an older leadership behind one under a newer leadership in
    /// another file; `u64::MAX` if both are in one file.
    pub behind_ns: u64,
}

impl Ordering {
    /// How much later than stated the lines of this file may be, as other files see it, nanoseconds.
    pub fn margin(&self, file: usize) -> u64 {
        self.skew_ns + self.digit_ns.get(file).map_or(0, |digit| digit.saturating_sub(1))
    }

    /// The file of the next line and its place in that file's queue. Of the lines that may be next, it is the one with
    /// which most lines hold: no order that the times allow is better.
    pub fn next(&self, files: &[&VecDeque<Line>]) -> Option<(usize, usize)> {
        let heads = files.iter().enumerate().filter_map(|(file, lines)| Some((file, lines.front()?)));
        let (limit, _) = heads.map(|(file, line)| (line.told.ns.saturating_add(self.margin(file)), file)).min()?;
        let mut best = None;
        for (file, lines) in files.iter().enumerate() {
            let mut in_front = InFront::default();
            for (place, line) in lines.iter().enumerate().take(AHEAD_MOST) {
                if line.told.ns > limit || line.told.ns > lines[0].told.ns {
                    break;
                }
                if !in_front.lets_pass(line) {
                    continue;
                }
                let key = (
                    self.is_blocked(files, file, line),
                    self.kind() && !matches!(line.claim, Claim::End(_)),
                    self.chance(line),
                    self.is_new(&line.claim),
                    line.told.ns,
                    line.claim.rank(),
                    line.told.whole,
                    file,
                    place,
                );
                if best.as_ref().is_none_or(|known| key < *known) {
                    best = Some(key);
                }
            }
        }
        best.map(|(.., file, place)| (file, place))
    }

    /// Are lines put into the order in which they hold, as far as can be seen from here?
    fn kind(&self) -> bool {
        self.shuffle % 2 == 0
    }

    /// Breaks ties between lines that may be next, at random except in order 0.
    fn chance(&self, line: &Line) -> u64 {
        if self.shuffle == 0 { 0 } else { xxh3_64_with_seed(&line.told.whole.to_le_bytes(), self.shuffle) }
    }

    fn is_blocked(&self, files: &[&VecDeque<Line>], file: usize, line: &Line) -> bool {
        let waits_ns = self.waits_ns(file, line).unwrap_or(0);
        files.iter().enumerate().any(|(other, lines)| {
            let until = match other == file {
                true => line.told.ns,
                false => line.told.ns.saturating_add(self.margin(file)),
            };
            let near = lines.iter().take(AHEAD_MOST).take_while(|ahead| ahead.told.ns <= until);
            let waits = |ahead: &Line| other != file && ahead.told.ns <= waits_ns;
            near.into_iter().any(|ahead| {
                let kindly = self.kind() && (line.claim.must_follow(&ahead.claim) || waits(ahead));
                kindly || line.must_follow_own(ahead)
            })
        })
    }

    /// Until when the start of this line's grant or work may have to wait for another file's to end, if the line's time
    /// allows that.
    pub fn waits_ns(&self, file: usize, line: &Line) -> Option<u64> {
        self.spans.wait_ns(file, line.told.ns, line.span.as_ref()?, self.margin(file))
    }

    /// Without tokens: does this write begin another leadership while the last one may still be in progress?
    fn is_new(&self, claim: &Claim) -> bool {
        let Claim::Write(write) = claim else { return false };
        let last = self.last.get(&write.resource).and_then(|all| all.last());
        write.token.is_none() && last.is_some_and(|last| last.write.leadership != write.leadership)
    }

    /// Takes the next line, and notes what its time leaves open.
    pub fn took(&mut self, file: usize, line: &Line) {
        let (node, leadership, ns) = (line.node, line.leadership, line.told.ns);
        if let Some(last) = self.taken.replace(Taken { node, leadership, file, ns }) {
            let margin = if last.file == file { 0 } else { self.margin(file).max(self.margin(last.file)) };
            let both = last.leadership.is_some() && leadership.is_some();
            let others = last.node != node || both && last.leadership != leadership;
            self.tied |= others && last.ns.saturating_add(margin) >= ns;
        }
        if let Some(span) = &line.span {
            let open = self.spans.begins(file, &line.told, span, self.skew_ns, &self.digit_ns);
            self.unsure = self.unsure.take().or(open);
            self.behind_ns = self.behind_ns.max(self.spans.behind_ns);
        }
        let write = match &line.claim {
            Claim::Write(write) => write,
            Claim::Begin(of) => return self.turns(file, line, of, true),
            Claim::End(of) => {
                self.spans.ended(of.leads, of.node);
                return self.turns(file, line, of, false);
            }
            Claim::Other => return,
        };
        let (ns, margin) = (line.told.ns, self.skew_ns);
        let all = self.last.entry(write.resource).or_default();
        for last in all.iter().filter(|last| last.write.leadership != write.leadership) {
            let digit = self.digit_ns.get(last.file).map_or(0, |digit| digit.saturating_sub(1));
            let open = match last.file == file {
                true => last.ns == ns,
                false => last.ns.saturating_add(margin + digit) >= ns,
            };
            let (before, after) = (last.write.token, write.token);
            let matters = match (before, after) {
                (Some(before), Some(after)) => before <= after,
                _ => write.accepted,
            };
            if open && matters && self.unsure.is_none() {
                let apart_ns = ns.abs_diff(last.ns);
                self.unsure = Some(Unsure::of([(last.file, last.line), (file, line.told.line)], apart_ns));
            }
            if write.accepted && before > after && after.is_some() {
                let behind = if last.file == file { u64::MAX } else { ns.saturating_sub(last.first_ns) };
                self.behind_ns = self.behind_ns.max(behind);
            }
        }
        if !write.accepted {
            return;
        }
        let known = all.iter().position(|last| last.write.leadership == write.leadership);
        let first_ns = known.map_or(ns, |place| all.remove(place).first_ns);
        all.push(Last { write: write.clone(), file, line: line.told.line, ns, first_ns });
        if all.len() > LEADERSHIPS_MOST {
            all.remove(0);
        }
    }
}

impl Ordering {
    /// Records that a leadership begins or ends. Two clocks may leave open whether another ended or began before that.
    fn turns(&mut self, file: usize, line: &Line, of: &Of, begins: bool) {
        let (ns, number, margin) = (line.told.ns, line.told.line, self.margin(file));
        let all = self.turns.entry(of.leads).or_default();
        let matters = |other: &Turn| {
            let tokens = other.token.is_some() && of.token.is_some() && other.token != of.token;
            other.begins != begins || (begins && tokens)
        };
        // Within one file, equal times leave the order open only if they are whole seconds: a shorter overlap does not
        // count.
        let whole = self.digit_ns.get(file).is_some_and(|digit| *digit >= 1_000_000_000);
        let told = |other: &Turn| other.file == file && !(whole && other.ns == ns);
        for other in all.iter().filter(|other| !told(other) && other.node != of.node && matters(other)) {
            let digit = self.digit_ns.get(other.file).map_or(0, |digit| digit.saturating_sub(1));
            let apart_ns = ns.abs_diff(other.ns);
            let open = other.file == file || apart_ns <= margin.saturating_add(digit);
            if open && self.unsure.is_none() {
                self.unsure = Some(Unsure::of([(other.file, other.line), (file, number)], apart_ns));
            }
        }
        if all.len() == TURNS_MOST {
            all.pop_front();
        }
        all.push_back(Turn { begins, node: of.node, token: of.token, file, line: number, ns });
    }
}

impl Claim {
    /// Orders the lines of one moment independently of their place in the file: older leaderships first.
    fn rank(&self) -> (u64, u64) {
        match self {
            Claim::Write(write) => (write.token.unwrap_or(0), write.seq),
            _ => (0, 0),
        }
    }
}
