//! The values of parameters without a field of their own.

use super::limits::Checked;
use protocols::parameter::{Parameter, Place, Takes, Values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value as plans have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Given {
    Switch(bool),
    Number(u64),
    Word(String),
}

impl Given {
    pub fn of(parameter: &Parameter, value: u64) -> Given {
        match parameter.takes {
            Takes::OnOff => Given::Switch(value > 0),
            Takes::Word(words) => Given::Word(words.get(value as usize).copied().unwrap_or_default().to_owned()),
            Takes::Duration { .. } | Takes::Count { .. } => Given::Number(value),
        }
    }

    /// The value as a number, if the parameter takes it.
    pub fn value(&self, parameter: &Parameter) -> Option<u64> {
        match (parameter.takes, self) {
            (Takes::OnOff, Given::Switch(on)) => Some(u64::from(*on)),
            (Takes::Word(words), Given::Word(word)) => Some(words.iter().position(|known| known == word)? as u64),
            (Takes::Duration { .. } | Takes::Count { .. }, Given::Number(number)) => {
                Some(*number).filter(|number| parameter.takes.allows(*number))
            }
            _ => None,
        }
    }
}

/// What a plan keeps, by owner and by [`Parameter::field`].
pub type Kept = BTreeMap<String, BTreeMap<String, Given>>;

/// The owner's values in a plan; what it does not declare is left out, and [`check`] rejects it.
pub(super) fn kept(kept: &Kept, owner: &str, parameters: &[Parameter]) -> Values {
    let of = |parameter: &Parameter| kept.get(owner)?.get(&parameter.field())?.value(parameter);
    let given = parameters.iter().filter_map(|parameter| Some((parameter, of(parameter)?)));
    given.fold(Values::NONE, |values, (parameter, value)| values.with(parameter, value))
}

/// Rejects what no owner in this plan declares, and values out of range.
pub(super) fn check(kept: &Kept, owners: &[(&str, &[Parameter])]) -> Checked {
    for (owner, values) in kept {
        let Some((_, parameters)) = owners.iter().find(|(name, _)| name == owner) else {
            return Err(format!("set.{owner} means nothing here: it is neither the protocol nor one of `works`"));
        };
        for (field, given) in values {
            let is_kept =
                |parameter: &&Parameter| parameter.field() == *field && matches!(parameter.place, Place::Values);
            match parameters.iter().find(is_kept) {
                None => return Err(format!("set.{owner}.{field} is given, but `{owner}` has no such parameter")),
                Some(parameter) if given.value(parameter).is_none() => {
                    return Err(format!("set.{owner}.{field} is not a value that `{}` takes", parameter.name));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}
