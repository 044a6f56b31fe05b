//! A run as one page: a file of HTML that needs no network, from an event model that every history fills.

mod cause;
mod columns;
mod curves;
mod leaderships;
mod model;
mod moments;
mod struck;
mod writes;

use crate::{Judgement, Names, Verdict, by_group::ByGroup};
use columns::{Columns, Packed};
use leaderships::Leaderships;
use model::{Clock, Lane, Model};
use moments::Notes;
use protocols::{
    history::{
        Event, Header, Kind, Sink,
        json::{Naming, append_line},
    },
    types::{Incarnation, NodeId, Resource},
};
use std::borrow::Cow;
use struck::Struck;
use writes::Writes;

/// What the page's file is called.
pub const FILE: &str = "timeline.html";

/// The page and what it includes, in order.
const HTML: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 9] = [
    include_str!("page/base.js"),
    include_str!("page/decode.js"),
    include_str!("page/scale.js"),
    include_str!("page/pen.js"),
    include_str!("page/lanes.js"),
    include_str!("page/store.js"),
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
        self.0.each().iter_mut().for_each(|page| page.names.learn(nodes, resources));
    }

    /// The page of the group that a report tells of: the first in which something was wrong, or else the first.
    pub fn into_page(self, judgement: &Judgement) -> String {
        let worst = |verdict: Verdict| judgement.groups.iter().position(|group| group.verdict == verdict);
        let told = Some(judgement.verdict).filter(|verdict| *verdict != Verdict::Pass).and_then(worst).unwrap_or(0);
        let mut all = self.0.into_each();
        let group = (all.len() > 1).then_some(told);
        let (model, packed) = all.swap_remove(told).into_model(judgement.groups.get(told).unwrap_or(judgement), group);
        render(&model, &packed)
    }
}

impl Sink for Pages {
    fn record(&mut self, event: &Event) {
        self.0.record(event);
    }
}

/// One group's page.
struct Page {
    header: Option<Header>,
    names: Names,
    columns: Columns,
    leaderships: Leaderships,
    struck: Struck,
    writes: Writes,
    notes: Notes,
    clocks: Vec<Clock>,
    /// Nodes of a foreign log that did something.
    acted: Vec<u16>,
    begin: Option<u64>,
    end: u64,
}

impl Page {
    fn new(header: Option<&Header>, names: Names) -> Self {
        Page {
            header: header.cloned(),
            names,
            columns: Columns::default(),
            leaderships: Leaderships::default(),
            struck: Struck::new(header),
            writes: Writes::new(header),
            notes: Notes::default(),
            clocks: Vec::new(),
            acted: Vec::new(),
            begin: header.map(|_| 0),
            end: 0,
        }
    }

    fn wrote(&mut self, event: &Event, incarnation: Incarnation) {
        let i = self.leaderships.number(incarnation);
        if self.header.is_none() && !self.acted.contains(&incarnation.node.0) {
            self.acted.push(incarnation.node.0);
        }
        self.writes.observe(event, i);
    }

    fn lanes(&self) -> Vec<Lane> {
        let Some(header) = &self.header else {
            return self.acted.iter().map(|node| Lane { node: *node, role: "candidate" }).collect();
        };
        let candidates = (0..header.candidates).map(|node| Lane { node, role: "candidate" });
        let services = header.services.iter().map(|node| Lane { node: node.0, role: "service" });
        let store = header.store.iter().map(|node| Lane { node: node.0, role: "store" });
        candidates.chain(services).chain(store).collect()
    }

    fn title(&self, group: Option<usize>) -> String {
        let of = group.map_or_else(String::new, |group| format!(" · group {group}"));
        match &self.header {
            Some(h) => format!("{} · {} · seed {} · fencing {}{of}", h.scenario, h.protocol, h.seed, h.fencing.word()),
            None => format!("a history{of}"),
        }
    }

    fn into_model(mut self, judgement: &Judgement, group: Option<usize>) -> (Model, Packed) {
        self.leaderships.finish(self.end);
        self.struck.finish(self.end);
        self.writes.finish(self.end);
        let (title, lanes, begin, end) = (self.title(group), self.lanes(), self.begin.unwrap_or(0), self.end);
        let broken = judgement.invariants.iter().filter(|i| !i.holds).map(|i| (i.name.to_owned(), i.detail.clone()));
        let (acting, several) = curves::acting(&self.writes.effects, begin, end);
        let packed = self.columns.pack();
        let resources = self.header.as_ref().map_or(protocols::types::USUAL_RESOURCES.len(), |h| h.resources.len());
        let mut model = Model {
            title,
            verdict: match judgement.verdict {
                Verdict::Pass => "Safe",
                Verdict::Safety => "Safety violated",
                Verdict::Liveness => "Liveness violated",
                Verdict::Vacuous => "Inconclusive",
            }
            .to_owned(),
            bad: matches!(judgement.verdict, Verdict::Safety | Verdict::Liveness),
            broken: broken.collect(),
            foreign: self.header.is_none(),
            begin,
            end,
            nodes: (0..self.names.len()).map(|n| self.names.node(NodeId(n as u16)).into_owned()).collect(),
            resources: (0..resources).map(|r| self.names.resource(Resource(r as u8)).into_owned()).collect(),
            lanes,
            incarnations: self.leaderships.named(),
            believing: curves::believing(&self.leaderships.beliefs, begin, end),
            beliefs: self.leaderships.beliefs,
            grants: self.leaderships.grants,
            effects: self.writes.effects,
            shades: self.struck.shades,
            stale: self.writes.stale,
            refused: self.writes.refused,
            dark: self.writes.dark,
            takeovers: self.writes.takeovers,
            acting,
            several,
            clocks: self.clocks,
            events: packed.n,
            ..Model::default()
        };
        model.moments = moments::moments(&model, self.notes);
        model.cause = cause::cause(&model, self.header.as_ref());
        (model, packed)
    }
}

impl Sink for Page {
    fn record(&mut self, event: &Event) {
        self.begin.get_or_insert(event.t_us);
        self.end = event.t_us;
        let Page { columns, notes, leaderships, names, .. } = &mut *self;
        let name = |node: NodeId| names.node(node).into_owned();
        columns.add(
            event,
            |node, write| leaderships.number(write.incarnation(node)),
            || {
                let mut line = String::new();
                append_line(&mut line, event, &Escaped(names));
                line
            },
        );
        let believes = |node| leaderships.believing().any(|i| leaderships.all[i].node == node);
        notes.observe(event, name, believes);
        leaderships.observe(event);
        self.struck.observe(event);
        match &event.kind {
            Kind::Elected(incarnation) => {
                if self.header.is_none() && !self.acted.contains(&incarnation.node.0) {
                    self.acted.push(incarnation.node.0);
                }
                self.writes.elected(event);
            }
            Kind::Seal { incarnation, .. } => self.wrote(event, *incarnation),
            Kind::Issue { node, write } | Kind::Apply { node, write, .. } => {
                self.wrote(event, write.incarnation(*node))
            }
            Kind::Invoke { .. } => self.writes.asked(),
            Kind::Clock { node, wall_offset_us, rate_ppm } => {
                self.clocks.push(Clock { node: node.0, t: event.t_us, offset_us: *wall_offset_us, ppm: *rate_ppm })
            }
            _ => {}
        }
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

/// JSON that may stand inside a script: nothing in it ends the script or begins a comment.
fn inline(value: &impl serde::Serialize) -> String {
    // What is serialised here has no maps with other keys than strings, and no numbers that JSON lacks.
    let text = serde_json::to_string(value).unwrap_or_default();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn render(model: &Model, packed: &Packed) -> String {
    let title: String = model.title.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = String::with_capacity(packed.data.len() + 200_000);
    // One pass: what is filled in may itself look like a mark.
    let mut rest = HTML;
    for (mark, text) in [
        ("@TITLE@", title.as_str()),
        ("@CSS@", CSS),
        ("@DATA@", &packed.data),
        ("@MODEL@", &inline(model)),
        ("@PACKED@", &inline(packed)),
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
