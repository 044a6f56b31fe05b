//! What a run was, as data: leaderships, what struck whom, what the store took, and the moments worth a number. Every
//! history fills it, whoever wrote it. Times are microseconds of true time.

use crate::{clock::Clock as Times, said::Said, words::duration};
use protocols::history::{FaultEvent, NodeState};
use serde::Serialize;

/// One run, or one group of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Model {
    /// Scenario, protocol, seed and fencing, or how many events a foreign log has.
    pub(crate) title: String,
    /// Safe, violated …: a word for people.
    pub(crate) verdict: String,
    /// Was safety or liveness violated?
    pub(crate) bad: bool,
    /// What happened, in a sentence or two; `[[t]]` is a time to jump to.
    pub(crate) cause: Vec<String>,
    /// The invariants that were violated, each with what it saw.
    pub(crate) broken: Vec<(String, Said)>,
    /// It was interrupted before anything was violated.
    #[serde(skip)]
    pub(crate) cut_short: bool,
    /// A log without a header: it begins and ends with what it tells.
    pub(crate) foreign: bool,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The names of all processes, by their ids.
    pub(crate) nodes: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Who has a lane, and as what: `candidate`, `service` or `store`.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) incarnations: Vec<Named>,
    pub(crate) beliefs: Vec<Belief>,
    pub(crate) grants: Vec<Grant>,
    /// For how long members of the service led the others, as far as they knew: who, from, to.
    pub(crate) led: Vec<(u16, u64, u64)>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) shades: Vec<Shade>,
    pub(crate) stale: Vec<Stale>,
    pub(crate) refused: Vec<Refused>,
    /// Stretches of dark time: from, to, and how much it is.
    pub(crate) dark: Vec<(u64, u64, u64)>,
    pub(crate) takeovers: Vec<Takeover>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) believing: Vec<(u64, u64)>,
    pub(crate) acting: Vec<(u64, u64)>,
    /// Where more than one took effect: from, to, most at once, on which resource.
    pub(crate) several: Vec<(u64, u64, u64, usize)>,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) events: u64,
    /// Which resources beside the first get a strip of their own, and how many more there are that were written to.
    pub(crate) strips: Vec<usize>,
    pub(crate) unshown: usize,
    /// Reads that were answered with the past.
    pub(crate) misread: Vec<Misread>,
    /// What is called 0 s, where times were counted from elsewhere and are no times of day.
    pub(crate) epoch: Option<String>,
    /// How moments are said.
    #[serde(skip_serializing_if = "Times::is_elapsed")]
    pub(crate) clock: Times,
}

/// Who has a lane.
#[derive(Debug, Serialize)]
pub(crate) struct Lane {
    pub(crate) node: u16,
    pub(crate) role: &'static str,
}

/// A leadership, and what it is called.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) node: u16,
    /// As text: a token may be beyond what JavaScript counts exactly. Empty without one: 0 is a token.
    pub(crate) token: String,
    pub(crate) generation: u32,
    /// `token 2`, or `generation 3` without one.
    pub(crate) label: String,
}

/// For how long somebody believed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Belief {
    /// Which leadership: a place in [`Model::incarnations`].
    pub(crate) i: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) why: Option<&'static str>,
    /// From when on it had no ground any more, and why not.
    pub(crate) outlived: Option<(u64, String)>,
    #[serde(skip)]
    pub(crate) open: bool,
    #[serde(skip)]
    pub(crate) granted: bool,
    /// Which event was the first election of another after it.
    #[serde(skip)]
    pub(crate) replaced: Option<u64>,
    /// Which events began and ended it: what tells the events of one microsecond apart.
    #[serde(skip)]
    pub(crate) places: (u64, u64),
}

/// For how long the service had given leadership to a node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Grant {
    /// The leadership that came of it, if any did.
    pub(crate) i: Option<usize>,
    pub(crate) node: u16,
    pub(crate) token: String,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) why: Option<&'static str>,
    #[serde(skip)]
    pub(crate) number: Option<u64>,
    #[serde(skip)]
    pub(crate) open: bool,
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
    /// Where its writes follow one another.
    pub(crate) runs: Vec<(u64, u64)>,
    /// The number of its first write.
    #[serde(skip)]
    pub(crate) seq: u64,
    #[serde(skip)]
    pub(crate) places: (u64, u64),
}

/// How a process is kept from running, or from being reached.
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
    /// A pause right between checking the lease and writing.
    pub(crate) checked: bool,
    /// The place of the fault in its plan, if a fault of its own does it.
    #[serde(skip)]
    pub(crate) fault: Option<u32>,
    /// The fault itself, also where partitions together do what none of them does.
    #[serde(skip)]
    pub(crate) what: Option<Box<FaultEvent>>,
    /// It ended before the run did.
    #[serde(skip)]
    pub(crate) healed: bool,
    #[serde(skip)]
    pub(crate) open: bool,
}

impl Shade {
    /// For how long, to follow its words; nothing where it went on until the run ended.
    pub(crate) fn lasted(&self) -> String {
        match self.healed {
            true => format!(" for {}", duration((self.to - self.from) as f64)),
            false => String::new(),
        }
    }

    /// What `node` suffers at `t_us`, the latest first.
    pub(crate) fn at(shades: &[Shade], node: u16, t_us: u64) -> Option<&Shade> {
        shades.iter().rev().find(|s| s.kind != Shading::Unborn && s.nodes.contains(&node) && s.from <= t_us)
    }
}

/// Writes from the past, one after another, that the store accepted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stale {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    pub(crate) seq: u64,
    /// The number that the resource was at.
    pub(crate) prev: u64,
    /// Who had taken over, and when.
    pub(crate) over: Option<usize>,
    pub(crate) since: u64,
    pub(crate) issued: Option<u64>,
    /// What its numbers are called.
    #[serde(skip)]
    pub(crate) numbers: &'static str,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// Reads, one after another, that a node answered with the past.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Misread {
    pub(crate) node: u16,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) n: u64,
    /// What the first of them was told, and what had been told before it was sent.
    pub(crate) words: String,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// Writes, one after another, that the store refused for their token.
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
    /// Who had taken over, and when.
    pub(crate) over: Option<usize>,
    pub(crate) since: u64,
    /// What its numbers are called.
    #[serde(skip)]
    pub(crate) numbers: &'static str,
    #[serde(skip)]
    pub(crate) place: u64,
}

/// A resource follows another leadership from now on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Takeover {
    pub(crate) i: usize,
    pub(crate) r: usize,
    pub(crate) t: u64,
}

/// What struck somebody.
#[derive(Clone, Debug, Default)]
pub(crate) enum What {
    #[default]
    Nothing,
    Fault(Box<FaultEvent>),
    State(NodeState),
}

impl What {
    /// The fault, if it is one.
    pub(crate) fn fault(&self) -> Option<&FaultEvent> {
        match self {
            What::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// The turn that the story takes at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Turn {
    Fault,
    Heal,
    Elect,
    Stop,
    Effect,
    Refuse,
    /// A violation.
    Bad,
    Dark,
    Member,
    /// Moments were left out.
    Gap,
}

/// Worth a number in the story.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moment {
    pub(crate) t: u64,
    pub(crate) k: Turn,
    pub(crate) node: Option<u16>,
    pub(crate) text: String,
    /// What struck then, if something did.
    #[serde(skip)]
    pub(crate) what: What,
    /// How many believed then, and how many took effect: just after its own event, not after all of the same microsecond.
    pub(crate) believing: usize,
    pub(crate) acting: usize,
}

/// What a process's clocks do from now on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Clock {
    pub(crate) node: u16,
    pub(crate) t: u64,
    pub(crate) offset_us: i64,
    pub(crate) ppm: i64,
}
