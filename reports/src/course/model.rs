//! The course of a run as data: leaderships, what struck whom, what the store accepted, and the numbered moments. Any
//! history can fill it. Times are microseconds of true time.

use super::{
    ends::{Ended, GrantEnded, Outlived},
    moment::{Entry, Moment},
};
use crate::{
    clock::Clock as Times,
    freshness::Read,
    said::{Said, Sentence},
    words::duration,
};
use protocols::{history::FaultEvent, types::Incarnation};
use serde::Serialize;
use std::{borrow::Cow, collections::BTreeMap};

/// One run, or one group of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Model {
    /// Scenario, protocol, seed and fencing; `a history` for a log without a header.
    pub(crate) title: String,
    /// The verdict as shown: `Safe`, `Safety violated` …
    pub(crate) verdict: String,
    /// Was safety or liveness violated?
    pub(crate) bad: bool,
    /// What happened, in sentences.
    pub(crate) cause: Vec<Sentence>,
    /// The violated invariants, each with its finding.
    pub(crate) broken: Vec<(String, Said)>,
    /// The run was interrupted before anything was violated.
    #[serde(skip)]
    pub(crate) cut_short: bool,
    /// A log without a header: it begins and ends with its own events.
    pub(crate) foreign: bool,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The names of all processes, by id.
    pub(crate) nodes: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// The nodes with a lane, each with its role: `candidate`, `service` or `store`.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) incarnations: Vec<Named>,
    pub(crate) beliefs: Vec<Belief>,
    pub(crate) grants: Vec<Grant>,
    /// When members of the service led the others, as far as they knew: member, from, to.
    pub(crate) led: Vec<(u16, u64, u64)>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) shades: Vec<Shade>,
    pub(crate) stale: Vec<Stale>,
    pub(crate) refused: Vec<Refused>,
    /// Intervals of dark time: from, to, and how much of it is dark.
    pub(crate) dark: Vec<(u64, u64, u64)>,
    pub(crate) takeovers: Vec<Takeover>,
    /// The whole story, in order. The text report draws it, and the page lists it as [`Model::entries`].
    #[serde(skip)]
    pub(crate) moments: Vec<Moment>,
    #[serde(rename = "moments")]
    pub(crate) entries: Vec<Entry>,
    pub(crate) believing: Vec<(u64, u64)>,
    pub(crate) acting: Vec<(u64, u64)>,
    /// Intervals with several acting leaders: from, to, the most at once, the resource.
    pub(crate) several: Vec<(u64, u64, u64, usize)>,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) events: u64,
    /// The resources beside the first that get a strip, and how many others were written to.
    pub(crate) strips: Vec<usize>,
    pub(crate) unshown: usize,
    /// Stale reads, and answers of former leaders.
    pub(crate) misread: Vec<Misread>,
    /// The instant shown as 0 s, if times were counted from elsewhere and are no times of day.
    pub(crate) epoch: Option<String>,
    /// How times are formatted.
    #[serde(skip_serializing_if = "Times::is_elapsed")]
    pub(crate) clock: Times,
    /// How many writes had been accepted at each moment.
    #[serde(skip)]
    pub(crate) ticks: Vec<Tick>,
    /// The first and last work of each leadership in a log that gives durations, by its index.
    #[serde(skip)]
    pub(crate) works: BTreeMap<usize, (u64, u64)>,
}

impl Model {
    /// A process's name; a log may omit it.
    pub(crate) fn node(&self, node: u16) -> &str {
        self.nodes.get(usize::from(node)).map_or("a process", String::as_str)
    }

    /// A resource's name.
    pub(crate) fn resource(&self, r: usize) -> Cow<'_, str> {
        self.resources.get(r).map_or_else(|| format!("resource-{r}").into(), Cow::from)
    }
}

/// How many writes had been accepted at an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub(crate) t: u64,
    /// The event's place in the history.
    pub(crate) place: u64,
    pub(crate) accepted: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Lane {
    pub(crate) node: u16,
    pub(crate) role: &'static str,
    /// The event at which a log first shows the node.
    #[serde(skip)]
    pub(crate) since: u64,
}

/// A leadership and its label.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) node: u16,
    /// As text, since a token may exceed JavaScript's exact integers. Empty without a token: 0 is one.
    pub(crate) token: String,
    pub(crate) generation: u32,
    /// `token 2`, or `generation 3` without one.
    pub(crate) label: String,
    #[serde(skip)]
    pub(crate) incarnation: Incarnation,
    /// Its name in sentences.
    #[serde(skip)]
    pub(crate) who: String,
}

/// The interval in which a node believed that it led.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Belief {
    /// The leadership's index in [`Model::incarnations`].
    pub(crate) i: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) why: Option<Ended>,
    /// When it lost its grounds, and why.
    pub(crate) outlived: Option<Outlived>,
    #[serde(skip)]
    pub(crate) open: bool,
    #[serde(skip)]
    pub(crate) granted: bool,
    /// The place of the first election of another node after it.
    #[serde(skip)]
    pub(crate) replaced: Option<u64>,
    /// The places of the events that began and ended it, which order events of one microsecond.
    #[serde(skip)]
    pub(crate) places: (u64, u64),
}

/// The interval in which the service granted leadership to a node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Grant {
    /// The leadership that came of it, if any.
    pub(crate) i: Option<usize>,
    pub(crate) node: u16,
    pub(crate) token: String,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) why: Option<GrantEnded>,
    #[serde(skip)]
    pub(crate) number: Option<u64>,
    #[serde(skip)]
    pub(crate) open: bool,
    /// The places of the events that began and ended it.
    #[serde(skip)]
    pub(crate) places: (u64, u64),
}

/// From a leadership's first accepted write on a resource to its last.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Effect {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    pub(crate) stale: u64,
    /// The intervals in which its writes follow each other closely.
    pub(crate) runs: Vec<(u64, u64)>,
    /// The number of its first write.
    #[serde(skip)]
    pub(crate) seq: u64,
    #[serde(skip)]
    pub(crate) places: (u64, u64),
}

/// What keeps a process from running or from being reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shading {
    Pause,
    Down,
    /// Not started yet.
    Unborn,
    Cut,
    Other,
}

/// What kept a process from running, or from being reached.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shade {
    pub(crate) nodes: Vec<u16>,
    pub(crate) kind: Shading,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) text: String,
    /// A pause exactly between lease check and write.
    pub(crate) checked: bool,
    /// The fault's index in the plan, if a single fault is the reason.
    #[serde(skip)]
    pub(crate) fault: Option<u32>,
    /// The fault, or one made up for partitions that only together cut a node off.
    #[serde(skip)]
    pub(crate) what: Option<Box<FaultEvent>>,
    /// It ended before the run did.
    #[serde(skip)]
    pub(crate) healed: bool,
    #[serde(skip)]
    pub(crate) open: bool,
}

impl Shade {
    /// Its duration, to follow its text; empty if it lasted to the end of the run.
    pub(crate) fn lasted(&self) -> String {
        match self.healed {
            true => format!(" for {}", duration((self.to - self.from) as f64)),
            false => String::new(),
        }
    }

    /// The latest trouble of `node` that began by `t_us`.
    pub(crate) fn at(shades: &[Shade], node: u16, t_us: u64) -> Option<&Shade> {
        shades.iter().rev().find(|s| s.kind != Shading::Unborn && s.nodes.contains(&node) && s.from <= t_us)
    }
}

/// Successive stale writes that the store accepted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stale {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    pub(crate) seq: u64,
    /// The resource's number before them.
    pub(crate) prev: u64,
    /// The leadership that had taken over, and when.
    pub(crate) over: Option<usize>,
    pub(crate) since: u64,
    pub(crate) issued: Option<u64>,
    /// What its numbers are called.
    #[serde(skip)]
    pub(crate) numbers: &'static str,
    /// How many plans they deleted.
    #[serde(skip)]
    pub(crate) plans: u64,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// Successive reads that a node answered with stale data.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Misread {
    pub(crate) node: u16,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    #[serde(skip)]
    pub(crate) first: Read,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// Successive writes that the store refused for their token.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refused {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    pub(crate) seq: u64,
    pub(crate) highest: String,
    pub(crate) issued: Option<u64>,
    /// The leadership that had taken over, and when.
    pub(crate) over: Option<usize>,
    pub(crate) since: u64,
    /// What its numbers are called.
    #[serde(skip)]
    pub(crate) numbers: &'static str,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// A resource begins to follow another leadership.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Takeover {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) t: u64,
}

/// The error of a process's clocks from a time on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Clock {
    pub(crate) node: u16,
    pub(crate) t: u64,
    pub(crate) offset_us: i64,
    pub(crate) ppm: i64,
}
