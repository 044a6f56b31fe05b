//! A safety frontier as data.

use serde::{Deserialize, Serialize};

/// A safety frontier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Schema version.
    pub schema: u32,
    pub scenario: String,
    pub protocol: String,
    /// What the store checks.
    pub fencing: String,
    /// The range of seeds, the end excluded.
    pub seeds: (u64, u64),
    /// The parameter whose values are given.
    pub x: Along,
    /// The parameter that is searched at each of them.
    pub y: Along,
    /// How many values over the whole range of `y` were tried at each point before bisecting.
    pub scanned: usize,
    /// How many more values were tried on either side of each edge after that.
    pub beside: usize,
    /// What the calculated bound is about, in words; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_of: Option<String>,
    /// One point for each value of `x`, rising.
    pub points: Vec<Point>,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// Its name as an axis.
    pub axis: String,
    /// The option that sets it.
    pub option: String,
    /// What it means.
    pub about: String,
    /// The unit of its values.
    pub unit: String,
    pub from: u64,
    pub to: u64,
    /// The unit on the axis.
    pub shown_in: String,
    /// How many of `unit` one unit on the axis is.
    pub shown_per: f64,
}

/// The result at one value of the first parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub x: u64,
    /// The value as it is typed.
    pub text: String,
    /// The value of the second parameter next to the edge at which a seed violates safety, if any was found.
    pub violates: Option<Unsafe>,
    /// The value on the other side of the edge, at which every seed is safe, if any was found.
    pub holds: Option<Safe>,
    /// Values beyond the edge that behaved as if they were on its other side.
    pub again: Vec<u64>,
    /// The number of values tried.
    pub values_tried: usize,
    /// The calculated bound, if there is one.
    pub bound: Option<Bound>,
    /// Does a seed violate safety where the calculation says that none can?
    pub contradicted: bool,
}

/// A violation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsafe {
    /// The value of the second parameter.
    pub at: u64,
    /// The value as it is typed.
    pub text: String,
    pub seed: u64,
    /// The violated invariants.
    pub violated: Vec<String>,
    /// The arguments that repeat the run.
    pub arguments: Vec<String>,
}

/// A value at which no seed violates safety.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Safe {
    /// The value of the second parameter.
    pub at: u64,
    /// The value as it is typed.
    pub text: String,
    /// Seeds in which every invariant held.
    pub passed: u64,
    /// Seeds in which the situation under test did not arise.
    pub inconclusive: u64,
    /// Seeds in which nobody led in time.
    pub leaderless: u64,
    /// The seed that violates safety on the other side of the edge.
    pub seed: u64,
    /// The verdict of that seed here: `pass`, `vacuous` or `liveness`.
    pub verdict: String,
    /// The arguments that repeat the run.
    pub arguments: Vec<String>,
}

/// The calculated bound.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "safe", deny_unknown_fields)]
pub enum Bound {
    /// Everything in the range is safe.
    Everywhere,
    /// Nothing in the range is surely safe.
    Nowhere,
    /// Values up to this one are safe.
    UpTo {
        value: u64,
        /// The value as it is typed.
        text: String,
    },
    /// Values from this one on are safe.
    From {
        value: u64,
        /// The value as it is typed.
        text: String,
    },
}

impl Bound {
    /// The bound in words.
    pub fn words(&self) -> String {
        match self {
            Bound::Everywhere => "all".to_owned(),
            Bound::Nowhere => "none".to_owned(),
            Bound::UpTo { text, .. } => format!("to {text}"),
            Bound::From { text, .. } => format!("from {text}"),
        }
    }

    /// The bound in the unit of the axis; `None` if it lies outside the range.
    pub fn value(&self) -> Option<u64> {
        match self {
            Bound::UpTo { value, .. } | Bound::From { value, .. } => Some(*value),
            Bound::Everywhere | Bound::Nowhere => None,
        }
    }
}

impl Point {
    /// Do values above the edge violate safety, and those below it not?
    fn is_rising(&self) -> bool {
        match (&self.violates, &self.holds) {
            (Some(violates), Some(holds)) => violates.at > holds.at,
            _ => true,
        }
    }

    /// The violating end in words.
    pub fn violates_words(&self) -> String {
        match &self.violates {
            None => "nothing".to_owned(),
            Some(_) if self.holds.is_none() => "everything".to_owned(),
            Some(found) if self.is_rising() => format!("from {}", found.text),
            Some(found) => format!("to {}", found.text),
        }
    }

    /// The safe end in words.
    pub fn holds_words(&self) -> String {
        match &self.holds {
            None => "nothing".to_owned(),
            Some(_) if self.violates.is_none() => "everything".to_owned(),
            Some(found) if self.is_rising() => format!("to {}", found.text),
            Some(found) => format!("from {}", found.text),
        }
    }
}
