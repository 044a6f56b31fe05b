//! Suggestions for the remaining fields. A field is ignored without asking only if its name says that it is irrelevant
//! to writes; about all others it asks, since they may decide the verdict.

use super::{
    advice::{Advice, Known},
    columns::Column,
    looks::{
        begins, ends, ends_work, harmless, is_due, is_lease, is_length, is_measure, is_of_things, is_reading, is_state,
        is_times, kinds_of_line, named_in, names_things, names_token, tells_role, unit_of,
    },
    meaning::counts_changes,
    question::{leading, which},
    values::quoted,
};

/// What a field may be; `FIELD` stands for its name.
const NUMBERS: &str =
    "may number the writes: --map seq=FIELD if the resource's numbers must rise, --ignore FIELD if not";
const ONCE: &str = "may identify work that must be done once: --map request=FIELD if so, --ignore FIELD if not";
const OPAQUE: &str = "may be the token: --map token=FIELD if each leadership has its own, --ignore FIELD if not";
const TEXT: &str = "is text: write what it says about each write into fields (for example with jq), or --ignore FIELD \
                    if other fields have it";
const ANYTHING: &str = "may matter: --map OURS=FIELD if it is the writer (OURS is node), its token (token), the \
                        resource written to (resource), the request served (request), the outcome (verdict) or a \
                        number that must rise (seq); --ignore FIELD if none of these";
const GROUP: &str = "may separate leaderships, such as shards: --map group=FIELD if each value has its own leaders and \
                     tokens, --ignore FIELD if not";
const SHARED: &str =
    "may say that others may do the same work at once: --map shared=FIELD if so, --ignore FIELD if not";
const READS: &str = "may say that others may do the same work at once, as readers may: --map shared=FIELD and a --word \
                     'shared:VALUE=true' or 'shared:VALUE=false' for each of its values if so; or it";

const READS_TOO: &str = "--map shared=FIELD, and a --word 'shared:VALUE=true' or 'shared:VALUE=false' for each of its \
                         values, if it says that others may do the same work at once, as readers may";

/// Phrases a question about a field.
fn asked(column: &Column, may_be: &str) -> String {
    format!("{} {}", column.shown(), may_be.replace("FIELD", &column.name))
}

fn who_leads_what(field: &str, named: &str, text: &str) -> String {
    let says = |it: &str| quoted(&text.replace("NAMED", it));
    format!(
        "`{field}` says who leads, and names `{named}`: --elected {} if that is what is led, --elected {} if it is who leads, and the \
         same with --deposed for the end; --ignore {field} if neither",
        says("resource"),
        says("node")
    )
}

impl<'a> Advice<'a> {
    fn spare(&self, known: &Known<'a>) -> Vec<&'a Column> {
        known.unknown.iter().copied().filter(|column| self.free(column)).collect()
    }

    fn ask(&mut self, column: &'a Column, question: String) {
        self.used.insert(&column.name);
        self.asked.push(question);
    }

    /// Handles times other than the line's own: when work began or ended, when a lease ends, or the real time of the
    /// line.
    pub(super) fn times(&mut self, known: &Known<'a>) {
        let place = self.map.iter().position(|(ours, _)| *ours == "t_us");
        let at = place.map(|place| self.map[place].1).or_else(|| known.column("t_us"));
        let all: Vec<&Column> =
            self.spare(known).into_iter().filter(|c| is_times(c) && !harmless(c) && !is_due(c)).collect();
        let starts = all.iter().copied().find(|column| begins(column));
        let stops = all.iter().copied().find(|column| ends(column));
        match (place, starts, stops) {
            (Some(place), Some(start), None) if at.is_some_and(ends) => {
                let end = std::mem::replace(&mut self.map[place].1, start);
                self.used.insert(&start.name);
                self.map.push(("until", end));
            }
            (_, _, Some(end)) if at.is_some_and(begins) => self.take("until", end),
            _ => {}
        }
        for column in all.into_iter().filter(|column| self.free(column)).collect::<Vec<_>>() {
            let (name, shown) = (&column.name, column.shown());
            let Some(other) = at.map(|at| &at.name) else {
                let first = "may be the line's time: --map t_us=FIELD if so, --ignore FIELD if not";
                self.ask(column, asked(column, first));
                continue;
            };
            let question = match (ends(column) || is_lease(column), begins(column)) {
                (true, _) => format!(
                    "{shown} may be the end of a lease or of work: --map until={name} if of work, --map until={name} \
                     --set event=grant if each line grants or renews a lease, --ignore {name} if neither"
                ),
                (_, true) => format!(
                    "{shown} may be the start of the work that ended at `{other}`: --map t_us={name},until={other} if \
                     two leaders must not do it at once, --map t_us={other} --ignore {name} if that does not matter"
                ),
                _ => format!(
                    "`{other}` and {shown} may each be the time at which a write took effect: --map t_us={name} \
                     --ignore {other}, or --map t_us={other} --ignore {name}, or --map t_us={other},until={name} if \
                     work lasts from the former to the latter, or --map t_us={other},request={name} if the latter is \
                     when work was due that must be done once"
                ),
            };
            // The user then has to say which one is the time.
            if !ends(column) && !is_lease(column) {
                self.map.retain(|(ours, _)| *ours != "t_us");
            }
            self.ask(column, question);
        }
    }

    /// Handles durations of leases and work.
    pub(super) fn lengths(&mut self, known: &Known<'a>) {
        let at = self.map.iter().find(|(ours, _)| *ours == "t_us").map(|(_, c)| *c).or_else(|| known.column("t_us"));
        let began = at.is_some_and(begins);
        for column in self.spare(known) {
            let (name, shown, unit) = (&column.name, column.shown(), unit_of(column));
            if is_lease(column) {
                let question = format!(
                    "{shown} may be the length of a lease: --set event=grant --map ttl={name}{unit} if each line \
                     grants or renews one, --ignore {name} if not"
                );
                self.ask(column, question);
            } else if is_length(column, began) && !began && !column.has_word(&["duration", "held"]) {
                let other = at.map_or("the time", |at| &at.name);
                let question = format!(
                    "{shown} may be the duration of the work that ended at `{other}`: if two leaders must not do it at \
                     once, write its start into a field BEGAN (for example with jq) and --map \
                     t_us=BEGAN,until={other}; --ignore {name} if that does not matter"
                );
                self.ask(column, question);
            } else if is_length(column, began) {
                let question = format!(
                    "{shown} may be the duration of the work: --map duration={name}{unit} if a line is written when \
                     its work begins and two leaders must not do it at once, --map ttl={name}{unit} --set event=grant \
                     if each line grants a lease of that length, --ignore {name} if neither"
                );
                self.ask(column, question);
            }
        }
    }

    /// Ignores or asks about the fields that are left.
    pub(super) fn left(&mut self, known: &Known<'a>) {
        for column in self.spare(known) {
            let (name, shown) = (&column.name, column.shown());
            let token = self.has(known, "token");
            if names_token(column) && !column.is_constant() {
                let other = if token { ", beside the one above" } else { "" };
                let opaque = if column.is_numbers() && column.has_word(&["id"]) { " --opaque-tokens" } else { "" };
                let question = format!(
                    "{shown} may be the token{other}: --map token={name}{opaque} if the resource refuses writes by it, \
                     --ignore {name} if not"
                );
                self.ask(column, question);
            } else if column.holds_lines() {
                let question = format!(
                    "`{name}` holds objects or lists, which are not split: write each record as an object on its own \
                     line (for example with jq), or --ignore {name} if it holds no writes"
                );
                self.ask(column, question);
            } else if let Some((named, text)) = named_in(column) {
                self.ask(column, who_leads_what(name, &named, &text));
            } else if column.is_called(&["shared"]) {
                self.ask(column, asked(column, SHARED));
            } else if column.is_constant() && is_reading(column) {
                self.ask(column, format!("{} {}", asked(column, READS), ANYTHING.replace("FIELD", name)));
            } else if column.is_constant() && column.is_numbers() && known.has_effects() {
                self.ask(column, asked(column, ONCE));
            } else if column.is_constant() && !is_due(column)
                || harmless(column)
                || is_state(column) && self.has(known, "event")
            {
                self.ignore.push(name.clone());
            } else if column.is_called(&["group"]) {
                self.ask(column, asked(column, GROUP));
            } else if tells_role(column) {
                let question = format!("{shown} may say who leads: {}--ignore {name} if not", leading(name));
                self.ask(column, question);
            } else if let Some(writes) = kinds_of_line(column) {
                let only = quoted(&format!("{name}={writes}"));
                let only = match ends_work(column) {
                    true => String::new(),
                    false => format!("--only {only} if only such lines are writes that took effect, "),
                };
                let reads =
                    if is_reading(column) { format!("{}; ", READS_TOO.replace("FIELD", name)) } else { String::new() };
                let question = format!(
                    "{shown} may say what a line is about: {}{reads}{only}--map verdict={name} if it is the outcome of \
                     each, --ignore {name} if neither",
                    leading(name)
                );
                self.ask(column, question);
            } else if is_reading(column) {
                let question = format!("{} {}", asked(column, READS), ANYTHING.replace("FIELD", name));
                self.ask(column, question);
            } else if is_due(column)
                || names_things(column) && (token || !column.is_opaque()) && !self.has(known, "request")
            {
                self.ask(column, asked(column, ONCE));
            } else if column.is_numbers() {
                self.numbers(known, column);
            } else if column.is_opaque() && !token && !column.is_distinct() {
                self.ask(column, asked(column, OPAQUE));
            } else if column.is_content() {
                self.ask(column, asked(column, TEXT));
            } else if column.is_distinct() && is_of_things(column) {
                self.ignore.push(name.clone());
            } else {
                self.ask(column, asked(column, ANYTHING));
            }
        }
    }

    fn numbers(&mut self, known: &Known<'a>, column: &'a Column) {
        let (seq, request) = (self.has(known, "seq"), self.has(known, "request"));
        let rise = column.counts() || column.is_distinct() && column.seldom_falls();
        let may_be = match () {
            () if is_measure(column) && !counts_changes(column) => return self.ignore.push(column.name.clone()),
            // Line numbers that never fall: nothing depends on them.
            () if is_of_things(column) && column.only_rises() => return self.ignore.push(column.name.clone()),
            () if rise && !seq => NUMBERS,
            () if column.is_mostly_distinct() && !column.is_distinct() && !request => ONCE,
            () if column.tells_apart() && !self.has(known, "resource") => {
                return self.ask(column, which("resource", &[column]));
            }
            () => ANYTHING,
        };
        self.ask(column, asked(column, may_be));
    }

    /// Handles a field that every write needs and some lines lack.
    pub(super) fn of_some(&mut self, known: &Known<'a>) {
        let Some((ours, column)) = known.of_some else { return };
        let name = &column.name;
        let without = match ours {
            "verdict" => "--set verdict=ok if they were accepted".to_owned(),
            "node" => "--set node=NAME if one node wrote them".to_owned(),
            _ => format!("--set {ours}=VALUE if they share one value"),
        };
        self.asked
            .push(format!("some lines lack `{name}`: {without}, --only {name} to skip them if they are not writes"));
    }
}
