//! Work and grants of which a line does not say when they were over, although other lines do: they may have gone on.

use super::{claim::Claim, key::Key, translate::Told};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Who began something, and the file and line that say so.
type Begun = (Key, (usize, u64));

/// So many that may go on are remembered of one thing.
const OPEN_MOST: usize = 64;

/// So many of which the length is known are remembered.
const TIMED_MOST: usize = 10_000;

/// What may have gone on.
#[derive(Default)]
pub struct Unended {
    work: Kind,
    grants: Kind,
}

#[derive(Default)]
struct Kind {
    /// Some line says when one was over.
    told: bool,
    open: BTreeMap<Key, Vec<Begun>>,
    /// Who has one on it whose length is known, which a renewal goes by.
    timed: BTreeSet<(Key, Key)>,
    /// The first that may have gone on when another began, and that one.
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
        // Of writes that last no time nobody says so.
        let of_writes = event == "apply" && (lasts || told.unended || self.work.told);
        if shared || !(of_writes || matches!(event, "grant" | "grant-end")) {
            return;
        }
        let at = (file, told.line);
        let Some((on, by)) = Claim::of(&told.fields).on_and_by() else { return };
        match event {
            "grant-end" => self.grants.ends(on, by),
            // Tokens say which of two grants is the later.
            "grant" => self.grants.begins(on, by, at, (lasts, !has("token"))),
            _ => {
                // Work is no renewal of the work before.
                self.work.timed.clear();
                self.work.begins(on, by, at, (lasts, true));
            }
        }
    }

    /// The line of what may have gone on when another began, and that one's.
    pub fn found(&self) -> Option<[(usize, u64); 2]> {
        [&self.work, &self.grants].into_iter().find_map(|kind| kind.found.filter(|_| kind.told))
    }
}
