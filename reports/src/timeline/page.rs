//! A run as one HTML file that needs no network. Any history can fill its model of events.

mod columns;
mod entries;

use super::Highlights;
use crate::{
    Clock, Judgement, Names,
    by_group::ByGroup,
    clock,
    course::{Course, model::Model, moment::Entry},
};
use chrono::SecondsFormat;
use columns::{Columns, Packed};
use protocols::{
    history::{
        Event, Header, Kind, Sink,
        json::{Naming, append_line},
    },
    types::{NodeId, Resource},
};
use serde::Serialize;
use std::borrow::Cow;

/// The name of a page's file.
pub const FILE: &str = "timeline.html";
/// The name of the file for two runs.
pub const FILE_OF_TWO: &str = "beside.html";

/// The most groups in a page: the first ones, and the one that a report shows.
const GROUPS_MAX: usize = 24;

/// The page and what it includes, in order.
const HTML: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
/// The colours of all our pages, light and dark.
pub(crate) const THEME: &str = include_str!("page/theme.css");
const SCRIPTS: [&str; 12] = [
    include_str!("page/base.js"),
    include_str!("page/decode.js"),
    include_str!("page/scale.js"),
    include_str!("page/pen.js"),
    include_str!("page/futures.js"),
    include_str!("page/lanes.js"),
    include_str!("page/members.js"),
    include_str!("page/store.js"),
    include_str!("page/turns.js"),
    include_str!("page/words.js"),
    include_str!("page/moves.js"),
    include_str!("page/start.js"),
];

/// Collects the page of each group while the history streams by. Memory grows with the history: about 20 bytes per
/// event.
pub struct Pages(ByGroup<Page>);

impl Pages {
    /// Empty pages for a history with this header. Without one, groups are found as their events arrive.
    pub fn new(header: Option<&Header>) -> Self {
        let make = |header: &Header| Page::new(Some(header), Names::of(&header.nodes, Some(header)));
        Pages(ByGroup::new(header, make, || Page::new(None, Names::default())))
    }

    /// Adds names that the history's reader has met since: without a header they come just before the events that use
    /// them.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.0.each().iter_mut().for_each(|page| page.course.learn(nodes, resources));
    }

    /// Times were counted from `begins_us`, microseconds since whatever the log counts from.
    pub fn counts_from(&mut self, begins_us: u64) {
        self.0.each().iter_mut().for_each(|page| page.course.counts_from(instant(begins_us)));
    }

    /// Sets the clock that formats times.
    pub fn tell_times(&mut self, clock: Clock) {
        self.0.each().iter_mut().for_each(|page| page.course.tell_times(clock));
    }

    /// The page that begins with the group that a report shows: the first in which something was wrong, or else the
    /// liveliest.
    pub fn into_page(self, judgement: &Judgement) -> String {
        self.into_sheet(judgement).page()
    }

    /// The same as a [`Sheet`], for a page of its own or one that it shares with another run.
    pub fn into_sheet(self, judgement: &Judgement) -> Sheet {
        self.into_both(judgement).1
    }

    /// The same with what a text report tells of that group.
    pub fn into_both(self, judgement: &Judgement) -> (Highlights, Sheet) {
        let told = judgement.worst_group();
        let all = self.0.into_each();
        let groups = all.len();
        let shown = all.into_iter().enumerate().filter(|(group, _)| *group == told || *group < GROUPS_MAX);
        let mut all: Vec<(Highlights, GroupSheet)> = shown
            .map(|(group, page)| {
                let judged = judgement.groups.get(group).unwrap_or(judgement);
                let (highlights, model, packed) = page.into_model(judged, (groups > 1).then_some((group, groups)));
                (highlights, GroupSheet { group, model, packed })
            })
            .collect();
        let place = all.iter().position(|(_, sheet)| sheet.group == told).unwrap_or(0);
        let (highlights, GroupSheet { group, model, packed }) = all.remove(place);
        let others = all.into_iter().map(|(_, sheet)| sheet).collect();
        (highlights, Sheet { group, model, packed, others })
    }
}

/// A run, ready for a page.
pub struct Sheet {
    /// The group that the page begins with.
    group: usize,
    model: Model,
    packed: Packed,
    /// The other groups, to which a page of only this run can switch.
    others: Vec<GroupSheet>,
}

/// One group of a run.
struct GroupSheet {
    group: usize,
    model: Model,
    packed: Packed,
}

/// A group of the page, and where its data are.
#[derive(Serialize)]
struct Listed {
    n: usize,
    place: String,
    bad: bool,
    verdict: String,
}

/// A failing run, repeated up to each of some moments and drawn anew from there: how many of these futures fail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Futures {
    /// How many were drawn from each moment.
    pub drawn: u32,
    /// The moments, in microseconds, and how many futures fail.
    pub moments: Vec<(u64, u32)>,
    /// What that shows, in a sentence.
    pub words: String,
}

/// Where two runs begin to differ: the first moment that only one of them has, and the first such moment of each.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Apart {
    /// The earliest of these moments, microseconds of true time.
    pub t_us: u64,
    /// The clocks that format the runs' times.
    #[serde(skip)]
    pub clocks: [Clock; 2],
    /// The first run's first moment that the second lacks, with its time; null if there is none.
    pub first: Option<(u64, String)>,
    /// The same of the second run.
    pub second: Option<(u64, String)>,
}

impl Sheet {
    /// A page of only this run.
    pub fn page(&self) -> String {
        render(&[self], None)
    }

    /// The same with the futures of the run.
    pub fn page_with(&self, futures: &Futures) -> String {
        render(&[self], Some(futures))
    }

    /// A page of this run and another, on one time axis.
    pub fn beside(&self, other: &Sheet) -> String {
        render(&[self, other], None)
    }

    /// Where the moments of two runs begin to differ; `None` if they are the same.
    pub fn apart(&self, other: &Sheet) -> Option<Apart> {
        let own = |one: &Model, other: &Model| {
            let known = |m: &Entry| other.entries.iter().any(|o| (o.t, &o.text) == (m.t, &m.text));
            one.entries.iter().find(|m| !known(m)).map(|m| (m.t, m.text.clone()))
        };
        let (first, second) = (own(&self.model, &other.model), own(&other.model, &self.model));
        let t_us = [&first, &second].into_iter().flatten().map(|(t, _)| *t).min()?;
        Some(Apart { t_us, clocks: [self.model.clock, other.model.clock], first, second })
    }
}

impl Sink for Pages {
    fn record(&mut self, event: &Event) {
        self.0.record(event);
    }
}

/// One group's page.
struct Page {
    course: Course,
    columns: Columns,
}

impl Page {
    fn new(header: Option<&Header>, names: Names) -> Self {
        Page { course: Course::new(header, names), columns: Columns::default() }
    }

    fn into_model(self, judgement: &Judgement, group: Option<(usize, usize)>) -> (Highlights, Model, Packed) {
        let (highlights, mut model) = Highlights::of(self.course, judgement, group);
        model.entries = entries::entries(&model);
        (highlights, model, self.columns.pack())
    }
}

impl Sink for Page {
    fn record(&mut self, event: &Event) {
        let Page { columns, course } = &mut *self;
        let i = match &event.kind {
            Kind::Issue { node, write } | Kind::Apply { node, write, .. } => course.number(write.incarnation(*node)),
            _ => 0,
        };
        let line = || {
            let mut line = String::new();
            append_line(&mut line, event, &Escaped(course.names()));
            // A log has no generations, which our lines always have.
            if !course.is_foreign() {
                return line;
            }
            let line = line.replacen(",\"generation\":0", "", 1);
            if lacks_token(&event.kind) { line.replacen(",\"token\":0", "", 1) } else { line }
        };
        columns.add(event, |_, _| i, line);
        course.record(event);
    }
}

/// Is its leadership or grant without a token? Our lines write 0 for that.
fn lacks_token(kind: &Kind) -> bool {
    match kind {
        Kind::Elected(of) | Kind::Deposed { incarnation: of, .. } | Kind::Seal { incarnation: of, .. } => {
            !of.has_token()
        }
        Kind::Issue { node, write } | Kind::Apply { node, write, .. } => !write.incarnation(*node).has_token(),
        Kind::Grant { token, .. } | Kind::GrantEnd { token, .. } => token.is_none(),
        _ => false,
    }
}

/// Names escaped for JSON strings.
struct Escaped<'a>(&'a Names);

fn escaped(name: &str) -> Option<Cow<'static, str>> {
    let quoted = serde_json::to_string(name).ok()?;
    Some(Cow::Owned(quoted[1..quoted.len() - 1].to_owned()))
}

impl Naming for Escaped<'_> {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        escaped(&self.0.node(node))
    }

    fn resource(&self, resource: Resource) -> Option<Cow<'_, str>> {
        escaped(&self.0.resource(resource))
    }
}

/// A log's time in words: date and time if it counts from 1970.
fn instant(t_us: u64) -> String {
    let time = clock::instant(t_us);
    time.map_or_else(|| format!("t_us {t_us}"), |time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// JSON for use inside a script: nothing in it ends the script or begins a comment.
pub(crate) fn inline(value: &impl serde::Serialize) -> String {
    // The values serialised here have only maps with string keys, and no numbers that JSON lacks.
    let text = serde_json::to_string(value).unwrap_or_default();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The groups of a run with several, for a page of only this run.
fn groups(sheet: &Sheet) -> String {
    if sheet.others.is_empty() {
        return String::new();
    }
    let place = |group: usize| format!("g{group}");
    let listed = |n, place, model: &Model| Listed { n, place, bad: model.bad, verdict: model.verdict.clone() };
    let mut all = vec![listed(sheet.group, "0".to_owned(), &sheet.model)];
    all.extend(sheet.others.iter().map(|other| listed(other.group, place(other.group), &other.model)));
    all.sort_by_key(|listed| listed.n);
    let list = format!("<script type=\"application/json\" id=\"groups\">{}</script>\n", inline(&all));
    let pages = sheet.others.iter().map(|other| data(&place(other.group), &other.model, &other.packed));
    list + &pages.collect::<String>()
}

/// The scripts' data about one run, or one of its groups.
fn data(place: &str, model: &Model, packed: &Packed) -> String {
    let tag = |kind: &str, part: &str, text: &str| {
        format!("<script type=\"application/{kind}\" id=\"{part}-{place}\">{text}</script>\n")
    };
    let (model, columns) = (inline(model), inline(packed));
    [tag("octet-stream", "data", &packed.data), tag("json", "model", &model), tag("json", "packed", &columns)].concat()
}

fn render(sheets: &[&Sheet], futures: Option<&Futures>) -> String {
    let title: Vec<String> =
        sheets.iter().map(|sheet| sheet.model.title.replace('&', "&amp;").replace('<', "&lt;")).collect();
    let of = |(place, sheet): (usize, &&Sheet)| data(&place.to_string(), &sheet.model, &sheet.packed);
    let mut runs: String = sheets.iter().enumerate().map(of).collect();
    if let [alone] = sheets {
        runs += &groups(alone);
    }
    if let Some(futures) = futures.filter(|futures| !futures.moments.is_empty()) {
        runs += &format!("<script type=\"application/json\" id=\"futures\">{}</script>\n", inline(futures));
    }
    let mut page = String::with_capacity(runs.len() + 100_000);
    // In one pass: inserted text may itself look like a placeholder.
    let mut rest = HTML;
    for (mark, text) in [
        ("@TITLE@", title.join(" | ").as_str()),
        ("@CSS@", &[THEME, CSS].concat()),
        ("@RUNS@", &runs),
        ("@SCRIPTS@", &SCRIPTS.concat()),
    ] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests;
