//! Suggests the options that probably explain a log. Asks where the values are ambiguous: a field that may be the
//! token, the order, the verdict, or the line itself is never suggested for `--ignore`.

use super::{
    called::{FIELDS, LEADERS, SENDERS, VERDICTS},
    columns::Column,
    looks::{
        fits, harmless, is_of_things, is_state, kinds_of_line, looks_like, may_be_verdict, may_refuse, names_place,
        tells_elections,
    },
    meaning::{meaning, refuses},
    question::{may_lead, suggested, which},
    values::{plain, quoted},
};
use std::collections::BTreeSet;

/// What a survey found out about a log, and what it did not.
pub struct Known<'a> {
    /// Fields whose meaning is unknown.
    pub unknown: Vec<&'a Column>,
    /// Fields of a write that the log lacks.
    pub missing: Vec<&'static str>,
    /// The log's fields that are understood, each with our name for it.
    pub mapped: Vec<(&'static str, &'a Column)>,
    /// Our fields to which options give a constant.
    pub set: Vec<&'a str>,
    /// Verdict values whose meaning is unknown.
    pub words: Vec<String>,
    /// A field that every write needs but only some lines have.
    pub of_some: Option<(&'static str, &'a Column)>,
    /// Is there more than one file?
    pub several: bool,
    /// Do all lines report elections, depositions or grants?
    pub elections: bool,
    /// The first file's name without extension.
    pub stem: &'a str,
    /// How many lines were looked at.
    pub lines: usize,
}

/// Suggested options, and questions for someone who knows the log.
#[derive(Default)]
pub(super) struct Advice<'a> {
    pub(super) used: BTreeSet<&'a str>,
    pub(super) map: Vec<(&'static str, &'a Column)>,
    pub(super) set: Vec<String>,
    word: Vec<String>,
    pub(super) ignore: Vec<String>,
    pub(super) asked: Vec<String>,
}

/// The suggestions, as the end of a sentence.
pub fn advice(known: &Known) -> String {
    let mut advice = Advice::default();
    advice.before(known);
    for (ours, _) in FIELDS {
        if known.wants(ours) {
            advice.find(known, ours);
        }
    }
    advice.copies(known);
    advice.elections(known);
    advice.verdicts(known);
    advice.leaders(known);
    advice.times(known);
    advice.lengths(known);
    advice.missing(known);
    advice.left(known);
    advice.of_some(known);
    advice.told()
}

impl<'a> Known<'a> {
    /// Does the log name each line's operation but not the item it acts on?
    pub(super) fn has_effects(&self) -> bool {
        self.unknown.iter().any(|column| column.is_called(&["operation"]))
    }

    pub(super) fn column(&self, ours: &str) -> Option<&'a Column> {
        self.mapped.iter().find(|(mapped, _)| *mapped == ours).map(|(_, column)| *column)
    }

    fn has(&self, ours: &str) -> bool {
        self.column(ours).is_some() || self.set.contains(&ours)
    }

    pub(super) fn wants(&self, ours: &str) -> bool {
        match ours {
            "token" => !["token", "epoch", "generation"].iter().any(|ours| self.has(ours)),
            _ => !self.has(ours),
        }
    }
}

impl<'a> Advice<'a> {
    pub(super) fn has(&self, known: &Known, ours: &str) -> bool {
        !known.wants(ours) || self.map.iter().any(|(mapped, _)| *mapped == ours)
    }

    pub(super) fn free(&self, column: &Column) -> bool {
        !self.used.contains(column.name.as_str())
    }

    /// Ignores a field of a row's old state if the log has the same field of the new state: the old one does not say
    /// who wrote.
    fn before(&mut self, known: &Known<'a>) {
        let all = || known.unknown.iter().chain(known.mapped.iter().map(|(_, column)| column));
        let is_now = |name: String| all().any(|column| column.name == name);
        for column in known.unknown.iter().filter(|column| column.name_after().is_some_and(is_now)) {
            self.used.insert(&column.name);
            self.ignore.push(column.name.clone());
        }
    }

    /// Ignores what repeats the writer or the resource on every line.
    fn copies(&mut self, known: &Known<'a>) {
        let named = |ours| {
            let mapped = self.map.iter().find(|(mapped, _)| *mapped == ours).map(|(_, column)| *column);
            mapped.or_else(|| known.column(ours))
        };
        let said: Vec<&Column> = ["node", "resource"].into_iter().filter_map(named).collect();
        for column in known.unknown.iter().filter(|column| said.iter().any(|said| column.repeats(said))) {
            if self.used.insert(&column.name) {
                self.ignore.push(column.name.clone());
            }
        }
    }

    /// Finds the column for our field, or asks if several fit.
    fn find(&mut self, known: &Known<'a>, ours: &'static str) {
        let free: Vec<&Column> = known.unknown.iter().copied().filter(|column| self.free(column)).collect();
        let called = FIELDS.iter().find(|(name, _)| *name == ours).map_or(&[][..], |(_, called)| *called);
        let joined = |name: &str| name.replace('_', "");
        let exact = free.iter().copied().filter(|column| {
            std::iter::once(&ours).chain(called).any(|name| column.joined() == joined(name)) && fits(ours, column)
        });
        let mut found: Vec<&Column> = exact.collect();
        let is_called_so = !found.is_empty();
        if found.is_empty() || ours == "token" {
            let more = free.iter().copied().filter(|column| looks_like(ours, column, known.lines));
            found
                .extend(more.filter(|column| !found.iter().any(|known| known.name == column.name)).collect::<Vec<_>>());
        }
        // A constant column distinguishes nothing.
        if found.len() > 1 && ["token", "node", "verdict", "resource"].contains(&ours) {
            let telling: Vec<&Column> = found.iter().copied().filter(|column| !column.is_constant()).collect();
            found = if telling.is_empty() { found } else { telling };
        }
        if let Some((first, others)) = found.split_first()
            && ["node", "resource"].contains(&ours)
            && others.iter().all(|other| other.repeats(first) && first.repeats(other))
        {
            found.truncate(1);
        }
        let first = found.first().copied();
        match (first, found.len()) {
            (None, _) => {}
            (Some(one), 1) => self.take(ours, one),
            // Of several times or names on a line, the first one called so is usually right.
            (Some(one), _) if ["t_us", "request", "seq"].contains(&ours) => self.take(ours, one),
            (Some(one), _) if ours == "resource" && is_called_so && one.joined() != "key" => self.take(ours, one),
            _ => {
                self.asked.push(which(ours, &found));
                self.used.extend(found.iter().map(|column| column.name.as_str()));
            }
        }
    }

    pub(super) fn take(&mut self, ours: &'static str, column: &'a Column) {
        self.used.insert(&column.name);
        self.map.push((ours, column));
    }

    /// Suggests meanings for the verdict's words; asks about unclear words, and if another field may be the verdict.
    fn verdicts(&mut self, known: &Known<'a>) {
        let mapped = self.map.iter().find(|(ours, _)| *ours == "verdict").map(|(_, column)| *column);
        let words: Vec<String> = match mapped {
            Some(column) => column.values.iter().map(plain).collect(),
            None => known.words.clone(),
        };
        let Some(column) = mapped.or_else(|| known.column("verdict")) else { return };
        let mut open = Vec::new();
        for word in words.into_iter().filter(|word| !VERDICTS.iter().any(|(ours, _)| ours == word)) {
            match meaning(column, &word) {
                Some(ours) => self.word.push(format!("verdict:{word}={ours}")),
                None => open.push(word),
            }
        }
        // A field that may instead say who leads is not taken as the verdict.
        if let Some(column) = mapped.filter(|column| !open.is_empty() && may_lead(column)) {
            self.no_verdict();
            self.asked.push(which("verdict", &[column]));
            return;
        }
        if !open.is_empty() {
            let listed: Vec<String> = open.iter().take(5).map(|word| format!("`{word}`")).collect();
            let (each, it) = if open.len() == 1 { ("it", "it") } else { ("each", "one of them") };
            self.asked.push(format!(
                "the meaning of {} is unknown: --word 'verdict:{}=ok' (or fenced, duplicate, failed) for {each}, or \
                 --only FIELD=VALUE to skip lines with {it} if they are not writes",
                listed.join(", "),
                open[0]
            ));
        }
        // If this field never refuses, another may be the verdict.
        let says_no = |column: &&Column| self.free(column) && may_refuse(column, known.lines);
        if mapped.is_some() && !refuses(column) {
            let others: Vec<&Column> = known.unknown.iter().copied().filter(says_no).collect();
            if !others.is_empty() {
                self.no_verdict();
                let both: Vec<&Column> = std::iter::once(column).chain(others.iter().copied()).collect();
                self.asked.push(which("verdict", &both));
                self.used.extend(both.iter().map(|column| column.name.as_str()));
            }
        }
    }

    /// Withdraws the field that was taken as the verdict.
    fn no_verdict(&mut self) {
        self.map.retain(|(ours, _)| *ours != "verdict");
        self.word.retain(|word| !word.starts_with("verdict:"));
    }

    /// Maps a field that reports only who began to lead and who stopped.
    fn elections(&mut self, known: &Known<'a>) {
        let told = |column: &'a Column| Some((column, tells_elections(column)?));
        let whole = |column: &&Column| self.free(column) && column.lines == known.lines;
        let mut all = known.unknown.iter().copied().filter(whole).filter_map(told);
        let Some((column, words)) = all.next().filter(|_| known.wants("event")) else { return };
        self.word.extend(words.into_iter().map(|(event, word)| format!("event:{word}={event}")));
        self.take("event", column);
    }

    /// Suggests constants for missing fields, or asks.
    fn missing(&mut self, known: &Known<'a>) {
        let elections = known.elections || self.map.iter().any(|(ours, _)| *ours == "event");
        let mut open: Vec<&str> =
            known.missing.iter().copied().filter(|ours| !self.map.iter().any(|(mapped, _)| mapped == ours)).collect();
        open.retain(|ours| !elections || ["t_us", "node"].contains(ours));
        // Names that may be either usually say who wrote.
        open.sort_by_key(|ours| *ours == "resource");
        for ours in open {
            if self.asked.iter().any(|asked| asked.contains(&format!("--map {ours}="))) {
                continue;
            }
            let free: Vec<&Column> = known.unknown.iter().copied().filter(|column| self.free(column)).collect();
            let may_be = |column: &&Column| match ours {
                // A field that names things is asked about as the resource.
                "verdict" => may_be_verdict(column, known.lines) && !(known.wants("resource") && names_place(column)),
                "node" | "resource" => {
                    let token = ours == "resource" && column.is_opaque() && !self.has(known, "token");
                    // A field that may report a result is no name.
                    let says = refuses(column)
                        || is_state(column)
                        || column.has_word(&["code", "status", "error", "err", "result", "outcome"]);
                    let says = says || kinds_of_line(column).is_some();
                    let names = column.is_names() && !column.is_distinct() && !is_of_things(column) && !says;
                    !column.is_constant() && names && !harmless(column) && !token
                }
                _ => false,
            };
            let mut may: Vec<&Column> = free.iter().copied().filter(may_be).collect();
            if ours == "node" && may.is_empty() && !known.several {
                let sender = |column: &&Column| {
                    let names = column.is_names() && !column.is_constant() && !column.is_distinct();
                    column.has_word(&SENDERS) && (names || column.names_few())
                };
                may = free.iter().copied().filter(sender).collect();
            }
            if let ("verdict", [only]) = (ours, may.as_slice()) {
                // Only lines of refused writes have this field.
                let word = |value| meaning(only, &plain(value)).filter(|ours| *ours != "ok");
                if only.lines < known.lines && only.values.iter().all(|value| word(value).is_some()) {
                    let words = only.values.iter().filter_map(|value| Some((plain(value), word(value)?)));
                    self.word.extend(words.map(|(word, ours)| format!("verdict:{word}={ours}")));
                    self.set.push("verdict=ok".to_owned());
                    self.take("verdict", only);
                    continue;
                }
            }
            match (ours, may.is_empty()) {
                ("verdict", true) => self.set.push("verdict=ok".to_owned()),
                ("resource", true) => self.set.push(format!("resource={}", known.stem)),
                ("node", true) if known.several => self.asked.push(
                    "no field names the writer: --set 'node={file}' if each file is from one node, and no node has two \
                     files"
                        .to_owned(),
                ),
                ("node", true) if elections => self.asked.push(
                    "no field names the leader alone: where a message names it, --elected '{node} became leader'; a field, --map node=FIELD; and \
                     the file, --set 'node={file}'".to_owned(),
                ),
                ("node", true) => self.asked.push("no field names the writer: --set node=NAME if one program wrote the \
                                                   log".to_owned()),
                ("t_us", _) => self.time(known),
                _ => {
                    self.asked.push(which(ours, &may));
                    self.used.extend(may.iter().map(|column| column.name.as_str()));
                }
            }
        }
    }

    /// Asks for the time: no field can be read as one.
    fn time(&mut self, known: &Known<'a>) {
        let called = FIELDS[0].1;
        let named = |column: &&Column| {
            self.free(column)
                && (column.joined() == "tus" || called.iter().any(|name| column.joined() == name.replace('_', "")))
        };
        let asked = match known.unknown.iter().copied().find(named) {
            Some(column) => {
                self.used.insert(&column.name);
                format!(
                    "the time format of {} is unknown: --map {} and --time-format FORMAT, such as '%d.%m.%Y %H:%M:%S'",
                    column.shown(),
                    quoted(&format!("t_us={}", column.name))
                )
            }
            None => "which field is the time, which every line needs: --map t_us=FIELD".to_owned(),
        };
        self.asked.push(asked);
    }

    /// Asks who wrote: the `node` of a line may be what was written, and another field the writer.
    fn leaders(&mut self, known: &Known<'a>) {
        let Some(node) = known.column("node").filter(|column| column.name == "node") else { return };
        let leads = |column: &&Column| self.free(column) && column.has_word(&LEADERS) && column.is_names();
        let Some(leader) = known.unknown.iter().copied().find(leads).filter(|leader| leader.is_fewer(node)) else {
            return;
        };
        self.asked.push(format!(
            "which is the writer, {} or {}? --ignore {} for the former, --map node={} --ignore node for the latter",
            node.shown(),
            leader.shown(),
            leader.name,
            leader.name
        ));
        self.used.insert(&leader.name);
    }

    fn told(self) -> String {
        let map = self.map.iter().map(|(ours, column)| format!("{ours}={}", column.name)).collect();
        let options = [("--map", map), ("--set", self.set), ("--word", self.word), ("--ignore", self.ignore)];
        suggested(options, &self.asked)
    }
}
