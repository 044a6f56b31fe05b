//! Parameters of one protocol, work or scenario. Their owner declares them as data, and the command line takes them as
//! `--set OWNER.NAME=VALUE`.

use crate::{
    election::{rules::Rules, timer::Timer},
    types::MILLISECOND,
};

/// A parameter, as its owner declares it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name on the command line.
    pub name: &'static str,
    pub takes: Takes,
    /// The default in words.
    pub usual: &'static str,
    /// One sentence for help.
    pub about: &'static str,
    pub place: Place,
}

/// The values that a parameter takes. A value is a number everywhere but on the command line and in plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// 1 for on, 0 for off.
    OnOff,
    /// Milliseconds, at least this many.
    Duration {
        least_ms: u64,
    },
    Count {
        least: u64,
        most: u64,
    },
    /// The word's index.
    Word(&'static [&'static str]),
}

/// The longest duration in a plan, milliseconds: a day.
pub const LONGEST_MS: u64 = 24 * 3_600_000;

impl Takes {
    /// Whether the number is a value.
    pub fn allows(self, value: u64) -> bool {
        match self {
            Takes::OnOff => value <= 1,
            Takes::Duration { least_ms } => (least_ms..=LONGEST_MS).contains(&value),
            Takes::Count { least, most } => (least..=most).contains(&value),
            Takes::Word(words) => value < words.len() as u64,
        }
    }
}

/// Where a plan keeps the value. New parameters need no field of their own.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// With other [`Values`] of their owner.
    Values,
    /// In `timings.rules`.
    Rules(fn(&mut Rules, u64)),
    /// In `timings`, as this timer. The protocol's `timers` list it, with its default.
    Timer(Timer),
}

impl Parameter {
    /// Its name in plans, which ends in its unit.
    pub fn field(&self) -> String {
        let unit = if matches!(self.takes, Takes::Duration { .. }) { "_ms" } else { "" };
        self.name.replace('-', "_") + unit
    }
}

/// The given values of one owner's parameters, by name; those with a field of their own are not among them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Values([Option<(&'static str, u64)>; Values::MOST]);

impl Values {
    pub const NONE: Values = Values([None; Values::MOST]);
    /// At most this many parameters of one owner are kept here.
    pub const MOST: usize = 8;

    /// The value, if it was given.
    pub fn get(&self, parameter: &Parameter) -> Option<u64> {
        self.0.iter().flatten().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value)
    }

    /// A duration in nanoseconds, if it was given.
    pub fn duration(&self, parameter: &Parameter) -> Option<u64> {
        self.get(parameter).map(|ms| ms.saturating_mul(MILLISECOND))
    }

    /// The same with this value.
    ///
    /// # Panics
    /// If the owner declares more than [`Values::MOST`] parameters.
    #[must_use]
    pub fn with(mut self, parameter: &Parameter, value: u64) -> Values {
        let is_its = |slot: &&mut Option<(&str, u64)>| slot.is_none_or(|(name, _)| name == parameter.name);
        let slot = self.0.iter_mut().find(is_its).expect("an owner declares a few parameters");
        *slot = Some((parameter.name, value));
        self
    }
}
