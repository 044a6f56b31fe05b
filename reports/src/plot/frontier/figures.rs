//! A safety frontier as data.

use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Version of this object.
    pub schema: u32,
    /// The scenario.
    pub scenario: String,
    /// The protocol.
    pub protocol: String,
    /// What the store checks.
    pub fencing: String,
    /// The seeds, the second excluded.
    pub seeds: (u64, u64),
    /// The parameter whose values are given.
    pub x: Along,
    /// The parameter that is searched at each of them.
    pub y: Along,
    /// How many values were tried over the whole range of `y` at each point, before anything was bisected.
    pub scanned: usize,
    /// How many more were tried on either side of each edge, after.
    pub beside: usize,
    /// What the arithmetic is about, in words; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_of: Option<String>,
    /// One for each value of `x`, rising.
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
    /// What it is.
    pub about: String,
    /// What its values count.
    pub unit: String,
    /// The lowest value.
    pub from: u64,
    /// The highest.
    pub to: u64,
    /// The unit that it is drawn in.
    pub shown_in: String,
    /// How many of `unit` that is.
    pub shown_per: f64,
}

/// What was found at one value of the first parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The value.
    pub x: u64,
    /// The same, as it is typed.
    pub text: String,
    /// The value of the second parameter next to the edge at which a seed violates safety; none where none was found.
    pub violates: Option<Unsafe>,
    /// The value on the other side of the edge, at which every seed is safe; none where none was found.
    pub holds: Option<Safe>,
    /// Values tried that lie beyond the edge and are as if they did not.
    pub again: Vec<u64>,
    /// How many values were tried.
    pub values_tried: usize,
    /// Where arithmetic draws the line; none where there is no arithmetic.
    pub bound: Option<Bound>,
    /// Does a seed violate where arithmetic says that none can?
    pub contradicted: bool,
}

/// A violation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsafe {
    /// The value of the second parameter.
    pub at: u64,
    /// The same, as it is typed.
    pub text: String,
    /// The seed.
    pub seed: u64,
    /// The invariants that it violates.
    pub violated: Vec<String>,
    /// The arguments that run it again.
    pub arguments: Vec<String>,
}

/// A value at which no seed violates safety.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Safe {
    /// The value of the second parameter.
    pub at: u64,
    /// The same, as it is typed.
    pub text: String,
    /// Seeds with every invariant kept.
    pub passed: u64,
    /// Seeds in which the situation under test did not arise.
    pub inconclusive: u64,
    /// Seeds in which nobody led in time.
    pub leaderless: u64,
    /// The seed that violates on the other side of the edge.
    pub seed: u64,
    /// What that comes to here: `pass`, `vacuous` or `liveness`.
    pub verdict: String,
    /// The arguments that run it again.
    pub arguments: Vec<String>,
}

/// Where arithmetic draws the line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "safe", deny_unknown_fields)]
pub enum Bound {
    /// Everything that was searched is safe.
    Everywhere,
    /// Nothing of it is sure to be.
    Nowhere,
    /// What is not above this.
    UpTo {
        /// The value.
        value: u64,
        /// The same, as it is typed.
        text: String,
    },
    /// What is not below this.
    From {
        /// The value.
        value: u64,
        /// The same, as it is typed.
        text: String,
    },
}

impl Bound {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Bound::Everywhere => "all".to_owned(),
            Bound::Nowhere => "none".to_owned(),
            Bound::UpTo { text, .. } => format!("to {text}"),
            Bound::From { text, .. } => format!("from {text}"),
        }
    }

    /// Where the line is, in the unit of the axis; nothing where it lies outside of what was searched.
    pub fn value(&self) -> Option<u64> {
        match self {
            Bound::UpTo { value, .. } | Bound::From { value, .. } => Some(*value),
            Bound::Everywhere | Bound::Nowhere => None,
        }
    }
}

impl Point {
    /// Do values above the edge violate, and not those below it?
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
