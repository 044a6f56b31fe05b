//! A run as one page: a file of HTML that needs no network, from an event model that every history fills.

mod columns;

use crate::{
    Clock, Judgement, Names,
    by_group::ByGroup,
    clock,
    course::{
        Course,
        model::{Model, Moment},
    },
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

/// What the page's file is called.
pub const FILE: &str = "timeline.html";
/// What the file of two runs is called.
pub const FILE_OF_TWO: &str = "beside.html";

/// A page has at most so many groups: the first ones, and the one that a report tells of.
const GROUPS_MAX: usize = 24;

/// The page and what it includes, in order.
const HTML: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
/// The colours of all our pages, light and dark.
pub(crate) const THEME: &str = include_str!("page/theme.css");
const SCRIPTS: [&str; 11] = [
    include_str!("page/base.js"),
    include_str!("page/decode.js"),
    include_str!("page/scale.js"),
    include_str!("page/pen.js"),
    include_str!("page/lanes.js"),
    include_str!("page/members.js"),
    include_str!("page/store.js"),
    include_str!("page/turns.js"),
    include_str!("page/words.js"),
    include_str!("page/moves.js"),
    include_str!("page/start.js"),
];

/// Collects the page of each group while the history streams by. Memory grows with the history: about 20 bytes an event.
pub struct Pages(ByGroup<Page>);

impl Pages {
    /// Nothing yet, of a history with this header; without one, groups are met with their events.
    pub fn new(header: Option<&Header>) -> Self {
        let make = |header: &Header| Page::new(Some(header), Names::of(&header.nodes, Some(header)));
        Pages(ByGroup::new(header, make, || Page::new(None, Names::default())))
    }

    /// Names that the history's reader has met since: without a header they come with the events, before these.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.0.each().iter_mut().for_each(|page| page.course.learn(nodes, resources));
    }

    /// Times were counted from here on, microseconds since whatever the log counts from.
    pub fn counts_from(&mut self, begins_us: u64) {
        self.0.each().iter_mut().for_each(|page| page.course.counts_from(instant(begins_us)));
    }

    /// Moments are to be said as this clock says them.
    pub fn tell_times(&mut self, clock: Clock) {
        self.0.each().iter_mut().for_each(|page| page.course.tell_times(clock));
    }

    /// The page of the group that a report tells of: the first in which something was wrong, or else the liveliest.
    pub fn into_page(self, judgement: &Judgement) -> String {
        self.into_sheet(judgement).page()
    }

    /// The same, ready for a page of its own or one that it shares with another run.
    pub fn into_sheet(self, judgement: &Judgement) -> Sheet {
        let told = judgement.worst_group();
        let all = self.0.into_each();
        let groups = all.len();
        let shown = all.into_iter().enumerate().filter(|(group, _)| *group == told || *group < GROUPS_MAX);
        let mut sheets: Vec<GroupSheet> = shown
            .map(|(group, page)| {
                let judged = judgement.groups.get(group).unwrap_or(judgement);
                let (model, packed) = page.into_model(judged, (groups > 1).then_some((group, groups)));
                GroupSheet { group, model, packed }
            })
            .collect();
        let place = sheets.iter().position(|sheet| sheet.group == told).unwrap_or(0);
        let GroupSheet { group, model, packed } = sheets.remove(place);
        Sheet { group, model, packed, others: sheets }
    }
}

/// A run, ready for a page.
pub struct Sheet {
    /// Which group the page begins with.
    group: usize,
    model: Model,
    packed: Packed,
    /// The other groups, which a page of this run alone can turn to.
    others: Vec<GroupSheet>,
}

/// One group of a run.
struct GroupSheet {
    group: usize,
    model: Model,
    packed: Packed,
}

/// A group that the page has, and where its data are.
#[derive(Serialize)]
struct Listed {
    n: usize,
    place: String,
    bad: bool,
    verdict: String,
}

/// Where two runs begin to differ: the first moment that one has and the other has not, and what each has from there on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Apart {
    /// When, microseconds of true time.
    pub t_us: u64,
    /// How the moments of the two are said.
    #[serde(skip)]
    pub clocks: [Clock; 2],
    /// What the first run has that the other has not, and when; null when nothing follows.
    pub first: Option<(u64, String)>,
    /// What the second has.
    pub second: Option<(u64, String)>,
}

impl Sheet {
    /// A page of this run alone.
    pub fn page(&self) -> String {
        render(&[self])
    }

    /// A page of this run and another, on one time axis.
    pub fn beside(&self, other: &Sheet) -> String {
        render(&[self, other])
    }

    /// Where they begin to differ, as far as moments go; `None` when they have the same.
    pub fn apart(&self, other: &Sheet) -> Option<Apart> {
        let own = |one: &Model, other: &Model| {
            let known = |m: &Moment| other.moments.iter().any(|o| (o.t, &o.text) == (m.t, &m.text));
            one.moments.iter().find(|m| !known(m)).map(|m| (m.t, m.text.clone()))
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

    fn into_model(self, judgement: &Judgement, group: Option<(usize, usize)>) -> (Model, Packed) {
        (self.course.into_model(judgement, group), self.columns.pack())
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
            // A log of somebody else's has no generations, which lines of ours always have.
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

/// Is it of a leadership or a grant without a token? Lines of ours write 0 for that.
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

/// Names as they stand inside JSON strings.
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

/// What a time of a log is called: an instant where it counts from 1970.
fn instant(t_us: u64) -> String {
    let time = clock::instant(t_us);
    time.map_or_else(|| format!("t_us {t_us}"), |time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// JSON that may stand inside a script: nothing in it ends the script or begins a comment.
pub(crate) fn inline(value: &impl serde::Serialize) -> String {
    // What is serialised here has no maps with other keys than strings, and no numbers that JSON lacks.
    let text = serde_json::to_string(value).unwrap_or_default();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The groups of a run that has several, for a page of it alone.
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

/// What the scripts read of one run, or of one of its groups.
fn data(place: &str, model: &Model, packed: &Packed) -> String {
    let tag = |kind: &str, part: &str, text: &str| {
        format!("<script type=\"application/{kind}\" id=\"{part}-{place}\">{text}</script>\n")
    };
    let (model, columns) = (inline(model), inline(packed));
    [tag("octet-stream", "data", &packed.data), tag("json", "model", &model), tag("json", "packed", &columns)].concat()
}

fn render(sheets: &[&Sheet]) -> String {
    let title: Vec<String> =
        sheets.iter().map(|sheet| sheet.model.title.replace('&', "&amp;").replace('<', "&lt;")).collect();
    let of = |(place, sheet): (usize, &&Sheet)| data(&place.to_string(), &sheet.model, &sheet.packed);
    let mut runs: String = sheets.iter().enumerate().map(of).collect();
    if let [alone] = sheets {
        runs += &groups(alone);
    }
    let mut page = String::with_capacity(runs.len() + 100_000);
    // One pass: what is filled in may itself look like a mark.
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
