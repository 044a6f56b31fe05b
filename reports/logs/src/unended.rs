//! Work and grants whose end is not stated, although other lines state theirs: they may still have been in progress.

use super::{claim::Claim, key::Key, translate::Told};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A holder, with the file and line of the beginning.
type Begun = (Key, (usize, u64));

/// How many that may still be in progress are remembered for each resource.
const OPEN_MOST: usize = 64;

/// How many with a stated duration are remembered.
const TIMED_MOST: usize = 10_000;

/// Work and grants that may still be in progress.
#[derive(Default)]
pub struct Unended {
    work: Kind,
    grants: Kind,
}

#[derive(Default)]
struct Kind {
    /// Some line states an end.
    told: bool,
    open: BTreeMap<Key, Vec<Begun>>,
    /// Resources and holders whose last span had a stated duration, which a renewal inherits.
    timed: BTreeSet<(Key, Key)>,
    /// The lines of the first that may still have been in progress when another began, and of that other.
    found: Option<[(usize, u64); 2]>,
}

impl Kind {
    fn begins(&mut self, on: Key, by: Key, at: (usize, u64), (lasts, may_go_on): (bool, bool)) {
        self.told |= lasts;
        let timed = !lasts && self.timed.contains(&(on, by));
        if lasts && may_go_on && self.timed.len() < TIMED_MOST {
            self.timed.insert((on, by));
        }
        let open = self.open.entry(on).or_default();
        open.retain(|(other, _)| *other != by);
        if let Some((_, first)) = open.first() {
            self.found.get_or_insert([*first, at]);
        }
        if !lasts && !timed && may_go_on && open.len() < OPEN_MOST {
            open.push((by, at));
        }
    }

    fn ends(&mut self, on: Key, by: Key) {
        self.told = true;
        self.open.entry(on).or_default().retain(|(other, _)| *other != by);
        self.timed.remove(&(on, by));
    }
}

impl Unended {
    /// Takes the next line.
    pub fn takes(&mut self, file: usize, told: &Told) {
        let has = |name: &str| told.fields.contains_key(name);
        let lasts = ["until", "duration", "ttl"].into_iter().any(has);
        let event = told.fields["event"].as_str().unwrap_or_default();
        let shared = told.fields.get("shared").and_then(Value::as_bool).unwrap_or(false);
        // Instantaneous writes state no end.
        let of_writes = event == "apply" && (lasts || told.unended || self.work.told);
        if shared || !(of_writes || matches!(event, "grant" | "grant-end")) {
            return;
        }
        let at = (file, told.line);
        let Some((on, by)) = Claim::of(&told.fields).on_and_by() else { return };
        match event {
            "grant-end" => self.grants.ends(on, by),
            // Tokens tell which of two grants is the later.
            "grant" => self.grants.begins(on, by, at, (lasts, !has("token"))),
            _ => {
                // Work does not renew earlier work.
                self.work.timed.clear();
                self.work.begins(on, by, at, (lasts, true));
            }
        }
    }

    /// The line of what may still have been in progress when another began, and the line of that other.
    pub fn found(&self) -> Option<[(usize, u64); 2]> {
        [&self.work, &self.grants].into_iter().find_map(|kind| kind.found.filter(|_| kind.told))
    }
}
