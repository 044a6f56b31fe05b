//! A log that is violated if all of its lines are of one leadership, and holds if a field says of which each is: then only
//! somebody who knows the log can tell. What every log has is no such field: who wrote, under which token, when, for whom.

use super::{
    called::{EXCUSES, LEADERS, PLACES, SHARDS, TOKENS},
    columns::Column,
    looks::{harmless, is_of_things, is_times},
    options::HistoryArgs,
    seen::Seen,
    values::quoted,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::BufRead,
    path::PathBuf,
};

/// So many leaderships are told apart.
const PARTS_MOST: usize = 64;
/// The longest log that is taken apart, which has to be held as a whole, bytes.
const BYTES_MOST: usize = 1 << 28;
/// So often must a leadership go on after another, if neither name nor shape of a field says that it tells them apart.
const RETURNS_LEAST: u64 = 4;

/// The lines of one leadership, if a field tells them apart.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    nodes: BTreeSet<String>,
    /// Nodes, each with its token.
    leaders: BTreeSet<String>,
}

/// A log taken apart.
struct Parts {
    by: Column,
    each: BTreeMap<String, Part>,
    /// How often a leadership went on after another of the whole log.
    returns: u64,
    /// It tells of writes, and of elections or grants.
    writes: bool,
    elections: bool,
}

/// Which field may tell leaderships apart that each hold alone, and what to add if it does.
pub fn question(args: &HistoryArgs, files: &[PathBuf], seen: &Seen, holds: impl Fn(&[u8]) -> bool) -> Option<String> {
    let said = |ours: &str| args.map.iter().chain(&args.set).any(|pair| pair.split('=').next() == Some(ours));
    if said("group") {
        return None;
    }
    let left_out = |field: &&String| args.ignore.contains(field) && may_tell_apart(&Column::new(field));
    let mut fields: Vec<&String> = seen.fields.iter().filter(left_out).collect();
    // What is called so is more probable.
    fields.sort_by_key(|field| !Column::new(field).has_word(&SHARDS));
    let found = fields.into_iter().find_map(|field| {
        let parts = Parts::read(args, files, field).ok().flatten()?;
        (parts.are_plausible() && parts.each.values().all(|part| holds(&part.text))).then_some(parts)
    })?;
    let (name, shown) = (&found.by.name, found.by.shown());
    let mapped = args.map.iter().any(|pair| pair.starts_with("resource=")) || seen.fields.contains("resource");
    let add = match mapped || (found.writes && found.elections) {
        true => format!("--only {}", quoted(&format!("{name}={}", found.each.keys().next()?))),
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
    fn read(args: &HistoryArgs, files: &[PathBuf], field: &str) -> Result<Option<Parts>, String> {
        let mut input = args.open_by(files, Some(field), 0)?;
        let mut parts =
            Parts { by: Column::new(field), each: BTreeMap::new(), returns: 0, writes: false, elections: false };
        let (mut bytes, mut last, mut all) = (0, String::new(), BTreeSet::new());
        let mut line = Vec::new();
        while input.lines.read_until(b'\n', &mut line).map_err(|e| e.to_string())? > 0 {
            bytes += line.len();
            let value = input.places.by();
            parts.by.add(&Value::String(value.clone()));
            let fields: Value = serde_json::from_slice(&line).map_err(|e| e.to_string())?;
            let text = |name: &str| fields.get(name).map(Value::to_string).unwrap_or_default();
            parts.writes |= fields["event"] == "apply";
            parts.elections |=
                ["elected", "deposed", "grant", "grant-end"].iter().any(|event| fields["event"] == *event);
            let part = parts.each.entry(value).or_default();
            let leader = format!("{} {}{}{}", text("node"), text("token"), text("epoch"), text("generation"));
            parts.returns += u64::from(leader != last && !all.insert(leader.clone()));
            part.nodes.insert(text("node"));
            part.leaders.insert(leader.clone());
            part.text.append(&mut line);
            last = leader;
            if bytes > BYTES_MOST || parts.each.len() > PARTS_MOST {
                return Ok(None);
            }
        }
        Ok(Some(parts))
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
