//! The values of parameters that belong to one protocol or work: `--set OWNER.NAME=VALUE`.

use crate::{
    plan::{Given, Kept, LONGEST_MS},
    suggest::{Unknown, unknown},
    units::{Unread, duration_ms, duration_text},
};
use protocols::{
    election::{Protocol, Timer, rules::Rules},
    parameter::{Parameter, Place, Takes, Values},
};
use std::fmt;

/// One given value.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The protocol or work.
    pub owner: &'static str,
    pub parameter: Parameter,
    pub value: u64,
}

/// The parameters of all owners that have any.
pub type Owners = Vec<(&'static str, &'static [Parameter])>;

/// Why a text is not a setting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    #[error("`{0}` is not a setting; write OWNER.NAME=VALUE, such as raft-core.pre-vote=off")]
    Form(String),
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("{0}.{1}: {2}")]
    Value(&'static str, &'static str, Unread),
}

impl Setting {
    /// Reads `OWNER.NAME=VALUE`.
    ///
    /// # Errors
    /// One sentence; for an unknown owner, name or word it suggests the nearest.
    pub fn read(text: &str, owners: &Owners) -> Result<Setting, Wrong> {
        let form = || Wrong::Form(text.to_owned());
        let (key, value) = text.split_once('=').ok_or_else(form)?;
        let (owner, name) = key.split_once('.').ok_or_else(form)?;
        let known: Vec<&str> = owners.iter().map(|(owner, _)| *owner).collect();
        let found = owners.iter().find(|(known, _)| *known == owner);
        let (owner, parameters) = *found.ok_or_else(|| unknown("owner of parameters", owner, &known))?;
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            let known: Vec<String> = parameters.iter().map(|parameter| format!("{owner}.{}", parameter.name)).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(unknown("parameter", key, &known).into());
        };
        let value = read(parameter.takes, value).map_err(|why| Wrong::Value(owner, parameter.name, why))?;
        Ok(Setting { owner, parameter: *parameter, value })
    }
}

impl Setting {
    /// Whether it sets a protocol's own timer.
    pub fn is_timer(&self) -> bool {
        matches!(self.parameter.place, Place::Timer(_))
    }
}

/// As [`Setting::read`] reads it.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let value = match Given::of(&self.parameter, self.value) {
            Given::Switch(on) => if on { "on" } else { "off" }.to_owned(),
            Given::Number(ms) if matches!(self.parameter.takes, Takes::Duration { .. }) => duration_text(ms),
            Given::Number(count) => count.to_string(),
            Given::Word(word) => word,
        };
        write!(f, "{}.{}={value}", self.owner, self.parameter.name)
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        (self.owner, self.parameter.name, self.value) == (other.owner, other.parameter.name, other.value)
    }
}

fn read(takes: Takes, text: &str) -> Result<u64, Unread> {
    let number = |value: Option<u64>, range: String| value.ok_or_else(|| Unread::of(text, format!("must be {range}")));
    match (takes, text) {
        (Takes::OnOff, "on") => Ok(1),
        (Takes::OnOff, "off") => Ok(0),
        (Takes::OnOff, _) => Err(Unread::of(text, "is neither `on` nor `off`")),
        (Takes::Duration { least_ms }, _) => {
            let ms = Some(duration_ms(text)?).filter(|ms| takes.allows(*ms));
            number(ms, format!("{} to {}", duration_text(least_ms), duration_text(LONGEST_MS)))
        }
        (Takes::Count { least, most }, _) => {
            number(text.parse().ok().filter(|count| takes.allows(*count)), format!("{least} to {most}"))
        }
        (Takes::Word(words), _) => {
            let place = words.iter().position(|word| *word == text).map(|place| place as u64);
            let instead = || unknown("choice", text, words).instead;
            place.ok_or_else(|| Unread::of(text, format!("is none of its words; {}", instead())))
        }
    }
}

/// A parameter in a sentence, with the values that it takes.
pub fn described(parameter: &Parameter) -> String {
    let takes = match parameter.takes {
        Takes::OnOff => "on or off".to_owned(),
        Takes::Duration { least_ms } => format!("at least {}", duration_text(least_ms)),
        Takes::Count { least, most } => format!("{least} to {most}"),
        Takes::Word(words) => words.join(" or "),
    };
    format!("{} ({takes}; {} by default)", parameter.about, parameter.usual)
}

/// The given values, each parameter's once.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Settings(Vec<Setting>);

impl FromIterator<Setting> for Settings {
    /// The last value of a parameter counts.
    fn from_iter<I: IntoIterator<Item = Setting>>(settings: I) -> Self {
        let mut all: Vec<Setting> = Vec::new();
        for setting in settings {
            all.retain(|other| (other.owner, other.parameter.name) != (setting.owner, setting.parameter.name));
            all.push(setting);
        }
        Settings(all)
    }
}

impl Settings {
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of one protocol or work.
    pub fn of(&self, owner: &str) -> impl Iterator<Item = &Setting> {
        self.0.iter().filter(move |setting| setting.owner == owner)
    }

    /// The value of the owner's parameter, if it was given.
    pub fn get(&self, owner: &str, name: &str) -> Option<u64> {
        self.of(owner).find(|setting| setting.parameter.name == name).map(|setting| setting.value)
    }

    /// The given value of one of the protocol's own timers, milliseconds.
    pub fn timer(&self, protocol: &Protocol, timer: Timer) -> Option<u64> {
        self.get(protocol.name, protocol.parameter_of(timer)?.name)
    }

    /// Whether any of the protocol's own timers is given.
    pub fn has_timers(&self, protocol: &Protocol) -> bool {
        self.of(protocol.name).any(Setting::is_timer)
    }

    /// The same with other lengths of timers.
    #[must_use]
    pub fn with_timers(&self, convert: impl Fn(u64) -> u64) -> Settings {
        let converted = |setting: &Setting| match setting.is_timer() {
            true => Setting { value: convert(setting.value), ..*setting },
            false => *setting,
        };
        self.iter().map(converted).collect()
    }

    pub fn rules(&self, protocol: &Protocol) -> Rules {
        let mut rules = Rules::USUAL;
        for Setting { parameter, value, .. } in self.of(protocol.name) {
            if let Place::Rules(put) = parameter.place {
                put(&mut rules, *value);
            }
        }
        rules
    }

    /// The values that a plan keeps in no field of their own.
    pub fn values(&self, owner: &str) -> Values {
        let kept = self.of(owner).filter(|setting| matches!(setting.parameter.place, Place::Values));
        kept.fold(Values::NONE, |values, setting| values.with(&setting.parameter, setting.value))
    }
}

/// The plan's own form of these owners' settings.
pub fn keep<'a>(settings: &Settings, owners: impl IntoIterator<Item = &'a str>) -> Kept {
    let mut kept = Kept::new();
    for setting in owners.into_iter().flat_map(|owner| settings.of(owner)) {
        if matches!(setting.parameter.place, Place::Values) {
            let of = kept.entry(setting.owner.to_owned()).or_default();
            of.insert(setting.parameter.field(), Given::of(&setting.parameter, setting.value));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNERS: [(&str, &[Parameter]); 1] = [(
        "own",
        &[
            parameter("calm", Takes::OnOff),
            parameter("wait", Takes::Duration { least_ms: 5 }),
            parameter("tries", Takes::Count { least: 1, most: 9 }),
            parameter("order", Takes::Word(&["first", "last"])),
        ],
    )];

    const fn parameter(name: &'static str, takes: Takes) -> Parameter {
        Parameter { name, takes, usual: "none", about: "A test's", place: Place::Values }
    }

    #[test]
    fn a_setting_is_printed_as_it_is_read_and_kept_in_plans_by_its_unit() {
        let read = |text: &str| Setting::read(text, &OWNERS.to_vec());
        let all = ["own.calm=off", "own.wait=2s", "own.tries=9", "own.order=last"].map(|text| {
            let setting = read(text).unwrap();
            assert_eq!(setting.to_string(), text);
            setting
        });
        let settings: Settings = all.into_iter().chain([read("own.tries=3").unwrap()]).collect();
        assert_eq!(settings.get("own", "tries"), Some(3), "the last one counts");
        let kept = keep(&settings, ["own"]);
        let json = serde_json::to_string(&kept).unwrap();
        assert_eq!(json, r#"{"own":{"calm":false,"order":"last","tries":3,"wait_ms":2000}}"#);
        assert_eq!(serde_json::from_str::<Kept>(&json).unwrap(), kept);
        assert!(keep(&settings, ["other"]).is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_one_sentence() {
        for (text, why) in [
            ("own.calm", "`own.calm` is not a setting; write OWNER.NAME=VALUE, such as raft-core.pre-vote=off"),
            ("calm=on", "`calm=on` is not a setting"),
            ("owm.calm=on", "there is no owner of parameters `owm`; did you mean `own`?"),
            ("own.clam=on", "there is no parameter `own.clam`; did you mean `own.calm`?"),
            ("own.calm=yes", "own.calm: `yes` is neither `on` nor `off`"),
            ("own.wait=4ms", "own.wait: `4ms` must be 5ms to 24h"),
            ("own.wait=4", "own.wait: `4` is not a duration"),
            ("own.tries=10", "own.tries: `10` must be 1 to 9"),
            ("own.order=lats", "own.order: `lats` is none of its words; did you mean `last`?"),
        ] {
            let refused = Setting::read(text, &OWNERS.to_vec()).unwrap_err().to_string();
            assert!(refused.starts_with(why), "{refused}");
        }
    }
}
