//! A log that is violated if all of its lines are of one leadership, and holds if a field says of which each is: then only
//! somebody who knows the log can tell. What every log has is no such field: who wrote, under which token, when, for whom.

use super::{
    LogError,
    alone::Alone,
    called::{EXCUSES, LEADERS, PLACES, SHARDS, TOKENS},
    columns::Column,
    looks::{harmless, is_of_things, is_times},
    options::Options,
    seen::Seen,
    values::quoted,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// So many leaderships are told apart.
const PARTS_MOST: usize = 64;
/// So often must a leadership go on after another, if neither name nor shape of a field says that it tells them apart.
const RETURNS_LEAST: u64 = 4;

/// The lines of one leadership, if a field tells them apart.
struct Part {
    judge: Alone,
    nodes: BTreeSet<String>,
    /// Nodes, each with its token.
    leaders: BTreeSet<String>,
}

/// A log taken apart.
struct Parts {
    by: Column,
    /// The least of the field's values.
    first: String,
    each: BTreeMap<String, Part>,
    /// How often a leadership went on after another of the whole log.
    returns: u64,
    /// It tells of writes, and of elections or grants.
    writes: bool,
    elections: bool,
}

/// Which field may tell leaderships apart that each hold alone, and what to add if it does.
pub fn question(args: &Options, files: &[PathBuf], seen: &Seen, judge: impl Fn() -> Alone) -> Option<String> {
    let said = |ours: &str| args.map.iter().chain(&args.set).any(|pair| pair.split('=').next() == Some(ours));
    if said("group") {
        return None;
    }
    let left_out = |field: &&String| args.ignore.contains(field) && may_tell_apart(&Column::new(field));
    let mut fields: Vec<&String> = seen.fields.iter().filter(left_out).collect();
    // What is called so is more probable.
    fields.sort_by_key(|field| !Column::new(field).has_word(&SHARDS));
    let found = fields.into_iter().find_map(|field| {
        let mut parts = Parts::read(args, files, field, &judge).ok().flatten()?;
        (parts.are_plausible() && parts.hold()).then_some(parts)
    })?;
    let (name, shown) = (&found.by.name, found.by.shown());
    let mapped = args.map.iter().any(|pair| pair.starts_with("resource=")) || seen.fields.contains("resource");
    let add = match mapped || (found.writes && found.elections) {
        true => format!("--only {}", quoted(&format!("{name}={}", found.first))),
        false => format!("--map {}", quoted(&format!("resource={name}"))),
    };
    Some(format!(
        "two led at once if all lines are of one leadership, and none did if {shown} says of which each is; add {add} if it \
         does, or --set group=0 if all are of one"
    ))
}

/// Can a field that is called so say of which leadership a line is?
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

    /// Does each of them hold by itself?
    fn hold(&mut self) -> bool {
        std::mem::take(&mut self.each).into_values().all(|part| part.judge.holds())
    }

    /// Do name and shape say that it may tell leaderships apart, and nothing else?
    fn are_plausible(&self) -> bool {
        let by = &self.by;
        if self.each.len() < 2 || by.is_mostly_distinct() || is_of_things(by) || by.is_content() || is_times(by) {
            return false;
        }
        let said = by.has_word(&SHARDS);
        let of_one = |count: fn(&Part) -> usize| self.each.values().all(|part| count(part) == 1);
        let turns = self.each.values().filter(|part| part.leaders.len() > 1).count();
        // Then it may as well say who leads, where that is, or under what.
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

/// Does the value have the node's name in it?
fn names(node: &str, value: &str) -> bool {
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect::<BTreeSet<_>>();
    words(node.trim_matches('"')).is_subset(&words(value))
}
