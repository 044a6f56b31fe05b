//! The experiments that real processes can repeat: their plans, and what is told of each.

use crate::terminal::{exit::Stop, parse};
use protocols::{election::Protocol, fence::checks::Fencing};
use scenarios::{Params, plan::Plan, scenario::clean_kill};

/// Requests a second: failover is known to a few milliseconds, and clients leave the machine alone otherwise.
pub const RATE: u64 = 200;

/// One experiment of the findings, or a part of one.
pub struct Trial {
    /// Its number there.
    pub number: u8,
    /// What it is about.
    pub title: &'static str,
    /// The first of these that applies to a protocol.
    scenarios: &'static [&'static str],
    /// Whether the store checks.
    pub fencing: bool,
    /// Is it one fleet, whose leader is killed again and again?
    pub is_repeated: bool,
    /// Whether the runs must violate safety for every protocol that has been tried: if they do not, the harness detects nothing.
    pub must_violate: bool,
    /// Are refused writes listed?
    pub lists_refusals: bool,
    /// What the table shows.
    pub columns: &'static [Column],
}

/// A column: what it is called, and what it shows.
pub type Column = (&'static str, Shows);

/// What a column shows of some runs.
#[derive(Clone, Copy)]
pub enum Shows {
    /// The median, least and most of these times of all runs, milliseconds.
    Times(&'static str),
    /// The most that a run has.
    Most(&'static str),
    /// The least and the most that a run has.
    Range(&'static str),
    /// The sum.
    Sum(&'static str),
    /// How many times of this kind there are.
    Count(&'static str),
}

const BELIEVED: Column = ("believed at most", Shows::Most("leaders_believing_max"));
const ACTING: Column = ("acting by effect", Shows::Most("leaders_acting_by_effect_max"));
const REFUSED: Column = ("refused writes, of a run", Shows::Range("writes_fenced"));
const REUSED: Column = ("numbers reused", Shows::Sum("seq_reused"));
const FAILOVER: Column = ("failover, ms", Shows::Times("failover_ms"));

/// All of them.
pub const ALL: [Trial; 6] = [
    Trial {
        title: "Clean kill: the leader is killed again and again",
        columns: &[
            ("kills", Shows::Count("failover_ms")),
            FAILOVER,
            ("never", Shows::Sum("failover_censored")),
            ACTING,
        ],
        is_repeated: true,
        ..trial(1, &["clean-kill"])
    },
    Trial {
        title: "Partition: the leader is cut off from whoever elects, but not from the store",
        columns: &[FAILOVER, BELIEVED, ACTING, REFUSED, REUSED],
        ..trial(3, &["partition", "isolate-leader"])
    },
    Trial {
        title: "A pause beyond the lease",
        columns: &[FAILOVER, BELIEVED, ACTING, REFUSED, REUSED],
        lists_refusals: true,
        ..trial(4, &["gc-pause"])
    },
    Trial {
        title: "The partition without fencing",
        columns: &[BELIEVED, ACTING, REUSED],
        fencing: false,
        ..trial(5, &["partition", "isolate-leader"])
    },
    Trial {
        title: "The pause without fencing",
        columns: &[BELIEVED, ACTING, REUSED],
        fencing: false,
        must_violate: true,
        ..trial(5, &["gc-pause"])
    },
    Trial {
        title: "Step-down",
        columns: &[
            ("gap by effect, ms", Shows::Times("handoff_effect_gap_ms")),
            ("gap by intent, ms", Shows::Times("handoff_intent_gap_ms")),
            ACTING,
        ],
        ..trial(7, &["graceful-step-down"])
    },
];

const fn trial(number: u8, scenarios: &'static [&'static str]) -> Trial {
    Trial {
        number,
        title: "",
        scenarios,
        fencing: true,
        is_repeated: false,
        must_violate: false,
        lists_refusals: false,
        columns: &[],
    }
}

impl Trial {
    /// The plan of a seed; `kills` is how often the leader dies where it is killed again and again.
    ///
    /// # Errors
    /// One sentence: no scenario of it applies to this protocol.
    pub fn plan(&self, protocol: &'static Protocol, seed: u64, kills: u32) -> Result<Plan, Stop> {
        let params = Params {
            rate: RATE,
            fencing: if self.fencing { Fencing::On } else { Fencing::Off },
            // Clients of real processes only ask for numbers.
            read_lease: Some(false),
            reads_per_s: Some(0),
            ..Params::default()
        };
        if self.is_repeated {
            return clean_kill::repeated(&params, protocol, seed, kills).map_err(Stop::from);
        }
        let mut why = String::new();
        for name in self.scenarios {
            match parse::scenario(name)?.compile(&params, protocol, seed) {
                Ok(plan) => return Ok(plan),
                Err(e) => why = e.0,
            }
        }
        Err(Stop::usage(why))
    }

    /// A name for its folder.
    pub fn folder(&self) -> String {
        let fencing = if self.fencing { "" } else { "-fencing-off" };
        format!("{}-{}{fencing}", self.number, self.scenarios[0])
    }
}
