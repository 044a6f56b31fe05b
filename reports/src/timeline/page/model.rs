//! What the page shows, as data: leaderships, what struck whom, what the store took, and the moments worth a number. Every
//! history fills it, whoever wrote it. Times are microseconds of true time.

use serde::Serialize;

/// One run, or one group of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Model {
    /// Scenario, protocol, seed and fencing, or how many events a foreign log has.
    pub(super) title: String,
    /// Safe, violated …: a word for people.
    pub(super) verdict: String,
    /// Was safety or liveness violated?
    pub(super) bad: bool,
    /// What happened, in a sentence or two; `[[t]]` is a time to jump to.
    pub(super) cause: Vec<String>,
    /// The invariants that were violated, each with what it saw.
    pub(super) broken: Vec<(String, String)>,
    /// A log without a header: it begins and ends with what it tells.
    pub(super) foreign: bool,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// The names of all processes, by their ids.
    pub(super) nodes: Vec<String>,
    pub(super) resources: Vec<String>,
    /// Who has a lane, and as what: `candidate`, `service` or `store`.
    pub(super) lanes: Vec<Lane>,
    pub(super) incarnations: Vec<Named>,
    pub(super) beliefs: Vec<Belief>,
    pub(super) grants: Vec<Grant>,
    pub(super) effects: Vec<Effect>,
    pub(super) shades: Vec<Shade>,
    pub(super) stale: Vec<Stale>,
    pub(super) refused: Vec<Refused>,
    /// Stretches in which nothing was accepted while clients asked.
    pub(super) dark: Vec<(u64, u64)>,
    pub(super) takeovers: Vec<Takeover>,
    pub(super) moments: Vec<Moment>,
    pub(super) believing: Vec<(u64, u64)>,
    pub(super) acting: Vec<(u64, u64)>,
    /// Where more than one took effect: from, to, most at once, on which resource.
    pub(super) several: Vec<(u64, u64, u64, usize)>,
    pub(super) clocks: Vec<Clock>,
    pub(super) events: u64,
}

/// Who has a lane.
#[derive(Debug, Serialize)]
pub(super) struct Lane {
    pub(super) node: u16,
    pub(super) role: &'static str,
}

/// A leadership, and what it is called.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Named {
    pub(super) node: u16,
    /// As text: a token may be beyond what JavaScript counts exactly.
    pub(super) token: String,
    pub(super) generation: u32,
    /// `token 2`, or `generation 3` without one.
    pub(super) label: String,
}

/// For how long somebody believed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Belief {
    /// Which leadership: a place in [`Model::incarnations`].
    pub(super) i: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) why: Option<&'static str>,
    /// From when on it had no ground any more, and why not.
    pub(super) outlived: Option<(u64, String)>,
    #[serde(skip)]
    pub(super) open: bool,
}

/// For how long the service had given leadership to a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Grant {
    /// The leadership that came of it, if any did.
    pub(super) i: Option<usize>,
    pub(super) node: u16,
    pub(super) token: String,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) why: Option<&'static str>,
    #[serde(skip)]
    pub(super) number: u64,
    #[serde(skip)]
    pub(super) open: bool,
}

/// From a leadership's first accepted write on a resource to its last.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Effect {
    pub(super) i: usize,
    pub(super) r: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) n: u64,
    pub(super) stale: u64,
    /// Where its writes follow one another.
    pub(super) runs: Vec<(u64, u64)>,
}

/// What kept a process from running, or from being reached.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Shade {
    pub(super) nodes: Vec<u16>,
    /// `pause`, `down`, `unborn`, `cut` or `other`.
    pub(super) kind: &'static str,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) text: String,
    /// A pause right between checking the lease and writing.
    pub(super) checked: bool,
    #[serde(skip)]
    pub(super) fault: Option<u32>,
    #[serde(skip)]
    pub(super) open: bool,
}

/// Writes from the past, one after another, that the store accepted.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Stale {
    pub(super) i: usize,
    pub(super) r: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) n: u64,
    pub(super) seq: u64,
    /// The number that the resource was at.
    pub(super) prev: u64,
    /// Who had taken over, and when.
    pub(super) over: Option<usize>,
    pub(super) since: u64,
    pub(super) issued: Option<u64>,
}

/// Writes, one after another, that the store refused for their token.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Refused {
    pub(super) i: usize,
    pub(super) r: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) n: u64,
    pub(super) seq: u64,
    pub(super) highest: String,
    pub(super) issued: Option<u64>,
    /// Who had taken over, and when.
    pub(super) over: Option<usize>,
    pub(super) since: u64,
}

/// A resource follows another leadership from now on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Takeover {
    pub(super) i: usize,
    pub(super) r: usize,
    pub(super) t: u64,
}

/// Worth a number in the story.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Moment {
    pub(super) t: u64,
    /// `fault`, `heal`, `elect`, `stop`, `effect`, `refuse`, `bad`, `dark` or `member`.
    pub(super) k: &'static str,
    pub(super) node: Option<u16>,
    pub(super) text: String,
}

/// What a process's clocks do from now on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Clock {
    pub(super) node: u16,
    pub(super) t: u64,
    pub(super) offset_us: i64,
    pub(super) ppm: i64,
}
