//! The experiments that real processes can repeat: their plans, and what is reported of each.

use crate::terminal::{exit::Stop, parse};
use protocols::{election::Protocol, fence::checks::Fencing};
use scenarios::{Params, plan::Plan, scenario::clean_kill};

/// Requests per second: enough to time a failover to a few milliseconds, and few enough to leave the machine idle.
pub const RATE: u64 = 200;

/// One experiment of the findings, or a part of one.
pub struct Trial {
    /// Its number in the findings.
    pub number: u8,
    pub title: &'static str,
    /// The first of these that applies to a protocol is used.
    scenarios: &'static [&'static str],
    /// Whether the store checks tokens.
    pub fencing: bool,
    /// True if it is one fleet, whose leader is killed again and again.
    pub is_repeated: bool,
    /// True if the runs must violate safety for every protocol that has been tried: if they do not, the harness detects
    /// nothing.
    pub must_violate: bool,
    /// True if refused writes are listed.
    pub lists_refusals: bool,
    /// The columns of the table.
    pub columns: &'static [Column],
}

/// A column: its name, and what it shows.
pub type Column = (&'static str, Shows);

/// What a column shows of some runs.
#[derive(Clone, Copy)]
pub enum Shows {
    /// The median, minimum and maximum of these times in all runs, milliseconds.
    Times(&'static str),
    /// The maximum of all runs.
    Most(&'static str),
    /// The minimum and the maximum of all runs.
    Range(&'static str),
    /// The sum.
    Sum(&'static str),
    /// The number of times of this kind.
    Count(&'static str),
}

const BELIEVED: Column = ("believed at most", Shows::Most("leaders_believing_max"));
const ACTING: Column = ("acting by effect", Shows::Most("leaders_acting_by_effect_max"));
const REFUSED: Column = ("refused writes, of a run", Shows::Range("writes_fenced"));
const REUSED: Column = ("numbers reused", Shows::Sum("seq_reused"));
const FAILOVER: Column = ("failover, ms", Shows::Times("failover_ms"));

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
        title: "Partition: the leader is cut off from the service or its peers, but not from the store",
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
    /// The plan of a seed; `kills` is the number of kills in a trial that repeats them.
    ///
    /// # Errors
    /// One sentence: none of its scenarios applies to this protocol.
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

    /// The name of its folder.
    pub fn folder(&self) -> String {
        let fencing = if self.fencing { "" } else { "-fencing-off" };
        format!("{}-{}{fencing}", self.number, self.scenarios[0])
    }
}
