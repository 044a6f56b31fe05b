//! Judges a subset of a log's lines by themselves, and so detects a log that is violated if all its lines belong to one
//! leadership, but holds if some field assigns each line to one of several. Only someone who knows the log can decide.
//! A field that every log has cannot be that one: the writer, token, time or client.

use super::{
    LogError,
    called::{EXCUSES, LEADERS, PLACES, SHARDS, TOKENS},
    columns::Column,
    looks::{harmless, is_of_things, is_times, is_way},
    options::{OWN, Options},
    seen::Seen,
    values::quoted,
};
use protocols::history::{
    Sink,
    json::{Lines, Reader, Telling},
};
use reports::{Judges, Names, Verdict, invariant::Entry};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// A field with more values than this is not considered.
const PARTS_MOST: usize = 64;
/// How often a leadership must resume after another, if neither the field's name nor its shape says that it separates
/// leaderships.
const RETURNS_LEAST: u64 = 4;

/// The lines that have one value of the field.
struct Part {
    judge: Alone,
    nodes: BTreeSet<String>,
    /// Nodes with their tokens.
    leaders: BTreeSet<String>,
}

/// A log split by the values of one field.
struct Parts {
    by: Column,
    /// The smallest of the field's values.
    first: String,
    each: BTreeMap<String, Part>,
    /// How often, in the whole log, a leadership resumed after another.
    returns: u64,
    /// Does the log have writes? And does it have elections or grants?
    writes: bool,
    elections: bool,
}

/// Asks about a field that may separate leaderships, each of which holds by itself, and says which option to add.
pub fn question(args: &Options, files: &[PathBuf], seen: &Seen, judge: impl Fn() -> Alone) -> Option<String> {
    let said = |ours: &str| args.map.iter().chain(&args.set).any(|pair| pair.split('=').next() == Some(ours));
    if said("group") {
        return None;
    }
    let left_out = |field: &&String| args.ignore.contains(field) && may_tell_apart(&Column::new(field));
    let mut fields: Vec<&String> = seen.fields.iter().filter(left_out).collect();
    // Fields with such a name are more likely.
    fields.sort_by_key(|field| !Column::new(field).has_word(&SHARDS));
    let found = fields.into_iter().find_map(|field| {
        let mut parts = Parts::read(args, files, field, &judge).ok().flatten()?;
        (parts.are_plausible() && parts.hold()).then_some(parts)
    })?;
    let (name, shown) = (&found.by.name, found.by.shown());
    let mapped = args.map.iter().any(|pair| pair.starts_with("resource=")) || seen.fields.contains("resource");
    let add = match mapped || (found.writes && found.elections) {
        true => format!("--only {}", quoted(&format!("{name}={}", found.first))),
        false => format!("--map {} --set {}", quoted(&format!("resource={name}")), quoted(OWN)),
    };
    Some(format!(
        "two leaders overlap, unless {shown} assigns the lines to separate leaderships; add {add} if it does, or --set \
         group=0 if all lines belong to one leadership"
    ))
}

/// Can a field with this name say which leadership a line belongs to?
fn may_tell_apart(column: &Column) -> bool {
    let said = column.has_word(&SHARDS);
    let token = column.has_word(&TOKENS) && !column.has_word(&["lease"]);
    !token && !column.has_word(&LEADERS) && !column.has_word(&EXCUSES) && (said || !harmless(column))
}

impl Parts {
    fn read(
        args: &Options,
        files: &[PathBuf],
        field: &str,
        judge: impl Fn() -> Alone,
    ) -> Result<Option<Parts>, LogError> {
        let (mut lines, _) = args.merged(files, args.sources(files)?, Some(field), 0)?;
        let by = Column::new(field);
        let mut parts =
            Parts { by, first: String::new(), each: BTreeMap::new(), returns: 0, writes: false, elections: false };
        let (mut last, mut all) = (String::new(), BTreeSet::new());
        while let Some((_, told)) = lines.line()? {
            let (fields, value) = (told.fields, told.by.unwrap_or_default());
            parts.by.add(&Value::String(value.clone()));
            let text = |name: &str| fields.get(name).map(Value::to_string).unwrap_or_default();
            parts.writes |= fields["event"] == "apply";
            parts.elections |=
                ["elected", "deposed", "grant", "grant-end"].iter().any(|event| fields["event"] == *event);
            let fresh = || Part { judge: judge(), nodes: BTreeSet::new(), leaders: BTreeSet::new() };
            let part = parts.each.entry(value).or_insert_with(fresh);
            let leader = format!("{} {}{}{}", text("node"), text("token"), text("epoch"), text("generation"));
            parts.returns += u64::from(leader != last && !all.insert(leader.clone()));
            part.nodes.insert(text("node"));
            part.leaders.insert(leader.clone());
            part.judge.line(&fields);
            last = leader;
            if parts.each.len() > PARTS_MOST {
                return Ok(None);
            }
        }
        parts.first = parts.each.keys().next().cloned().unwrap_or_default();
        Ok(Some(parts))
    }

    /// Does each part hold by itself?
    fn hold(&mut self) -> bool {
        std::mem::take(&mut self.each).into_values().all(|part| part.judge.holds())
    }

    /// Do the field's name and shape suggest that it separates leaderships, and nothing else?
    fn are_plausible(&self) -> bool {
        let by = &self.by;
        if self.each.len() < 2
            || is_way(by)
            || by.is_mostly_distinct()
            || is_of_things(by)
            || by.is_content()
            || is_times(by)
        {
            return false;
        }
        let said = by.has_word(&SHARDS);
        let of_one = |count: fn(&Part) -> usize| self.each.values().all(|part| count(part) == 1);
        let turns = self.each.values().filter(|part| part.leaders.len() > 1).count();
        // A field with one node or one leader per value may instead name the leader or its token.
        let says_who = of_one(|part| part.nodes.len()) || of_one(|part| part.leaders.len());
        let names_who = self.each.iter().any(|(value, part)| part.nodes.iter().any(|node| names(node, value)));
        match (said, says_who) {
            (true, true) => !names_who && !by.is_opaque(),
            (true, false) => true,
            (false, true) => by.has_word(&PLACES) && !names_who && !by.is_opaque() && !by.is_numbers(),
            (false, false) => turns > 1 && (self.returns >= RETURNS_LEAST || by.has_word(&PLACES)),
        }
    }
}

/// Does the value contain the words of the node's name?
fn names(node: &str, value: &str) -> bool {
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect::<BTreeSet<_>>();
    words(node.trim_matches('"')).is_subset(&words(value))
}

// Judges a subset of a log's lines by themselves.

/// A judge for a subset of a log's lines.
pub struct Alone {
    telling: Telling,
    judges: Judges,
    /// Some line could not be read as an event.
    wrong: bool,
}

impl Alone {
    pub fn new(invariants: &[&'static Entry], overlap_us: u64) -> Alone {
        let judges = Judges::allowing(invariants, None, overlap_us);
        Alone { telling: Telling::default(), judges, wrong: false }
    }

    pub fn line(&mut self, fields: &Map<String, Value>) {
        self.wrong |= self.telling.line(fields).is_err();
        self.telling.take().for_each(|event| self.judges.record(&event));
    }

    /// True if all lines were readable and no safety invariant is violated.
    pub fn holds(mut self) -> bool {
        self.telling.over();
        self.telling.take().for_each(|event| self.judges.record(&event));
        !self.wrong && self.judges.finish_with(&Names::of(self.telling.names(), None)).verdict != Verdict::Safety
    }
}

/// True if all lines are readable and no safety invariant is violated.
pub fn hold(lines: Box<dyn Lines<Error = LogError>>, invariants: &[&'static Entry], overlap_us: u64) -> bool {
    let Ok(mut reader) = Reader::of(lines) else { return false };
    let mut judges = Judges::allowing(invariants, None, overlap_us);
    for event in reader.by_ref() {
        let Ok(event) = event else { return false };
        judges.record(&event);
    }
    judges.finish_with(&Names::of(reader.names(), None)).verdict != Verdict::Safety
}
