//! Parameters along which a search finds the value at which runs become unsafe.

use crate::{
    params::Params,
    suggest::{Unknown, unknown},
    units::{Unread, duration_ms, duration_text, duration_us, duration_us_text, unit},
};

/// A parameter to search. Its values are whole numbers of [`Axis::unit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// The lease's time to live.
    Ttl,
    /// How fast or slow clocks may run.
    Drift,
    /// How long the scenario's pause lasts.
    Pause,
    /// How long every packet takes, one way.
    Latency,
}

/// The most values that one axis may list.
const VALUES_MAX: usize = 64;
/// Ranges whose ends differ by more than this factor are divided geometrically, others linearly.
const LINEAR_SPREAD_MAX: u64 = 5;

impl Axis {
    pub const ALL: [Axis; 4] = [Axis::Ttl, Axis::Drift, Axis::Pause, Axis::Latency];

    pub fn name(self) -> &'static str {
        match self {
            Axis::Ttl => "ttl",
            Axis::Drift => "drift",
            Axis::Pause => "pause",
            Axis::Latency => "latency",
        }
    }

    /// The option that sets it for a single run.
    pub fn option(self) -> &'static str {
        match self {
            Axis::Ttl => "--lease-ttl",
            Axis::Drift => "--clock-drift",
            Axis::Pause => "--pause",
            Axis::Latency => "--latency",
        }
    }

    /// The axis in words, for a plot's legend.
    pub fn about(self) -> &'static str {
        match self {
            Axis::Ttl => "lease time to live",
            Axis::Drift => "clock drift",
            Axis::Pause => "pause of the leader",
            Axis::Latency => "one-way latency",
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            Axis::Ttl | Axis::Pause => "ms",
            Axis::Drift => "ppm",
            Axis::Latency => "us",
        }
    }

    /// The unit that plots use, and how many of [`Axis::unit`] it holds.
    pub fn shown(self) -> (&'static str, f64) {
        match self {
            Axis::Ttl | Axis::Pause => ("s", 1e3),
            Axis::Drift => ("± ppm", 1.0),
            Axis::Latency => ("ms", 1e3),
        }
    }

    /// `params` with this axis set to `value`.
    pub fn set(self, params: &Params, value: u64) -> Params {
        let params = params.clone();
        match self {
            Axis::Ttl => Params { lease_ttl_ms: Some(value), ..params },
            Axis::Drift => Params { clock_drift_ppm: value, ..params },
            Axis::Pause => Params { pause_ms: Some(value), ..params },
            Axis::Latency => Params { latency_us: Some((value, value)), ..params },
        }
    }

    /// A value as the command line takes it.
    pub fn text(self, value: u64) -> String {
        match self {
            Axis::Ttl | Axis::Pause => duration_text(value),
            Axis::Drift => format!("{value}ppm"),
            Axis::Latency => duration_us_text(value),
        }
    }

    /// The axis called `name`.
    ///
    /// # Errors
    /// One sentence that lists the known names.
    pub fn find(name: &str) -> Result<Axis, Unknown> {
        let found = Axis::ALL.into_iter().find(|axis| axis.name() == name);
        found.ok_or_else(|| unknown("axis", name, &Axis::ALL.map(Axis::name)))
    }

    fn parse(self, text: &str) -> Result<u64, Unread> {
        match self {
            Axis::Ttl | Axis::Pause => duration_ms(text),
            Axis::Latency => duration_us(text),
            Axis::Drift => text
                .strip_suffix("ppm")
                .unwrap_or(text)
                .parse()
                .map_err(|_| Unread::of(text, "is not a drift; write it as 200ppm or 200")),
        }
    }

    fn range(self, text: &str) -> Result<(u64, u64), Unread> {
        let (from, to) = text.split_once("..").ok_or_else(|| Unread::of(text, "is not a range"))?;
        // The lower end may omit its unit.
        let bare = from.ends_with(|c: char| c.is_ascii_digit());
        let from = self.parse(&if bare { format!("{from}{}", unit(to)) } else { from.to_owned() })?;
        let to = self.parse(to)?;
        if from >= to {
            return Err(Unread::of(text, "is not a range: its lower end must be below its upper end"));
        }
        Ok((from, to))
    }
}

/// Why a text does not name an axis and its values.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AxisError {
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("{many} values of {name} are too many; at most {VALUES_MAX}")]
    TooMany { name: &'static str, many: usize },
}

/// The values of an axis to run at, ascending: a list, or a range to divide into a number of points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    Listed(Vec<u64>),
    /// Both ends included.
    Between(u64, u64),
}

impl Values {
    /// Parses an axis and its values, such as `ttl=1s..30s` or `ttl=1s,3s,10s`.
    pub fn parse(text: &str) -> Result<(Axis, Values), AxisError> {
        let (name, values) = named(text, "ttl=1s..30s or ttl=1s,3s,10s")?;
        let axis = Axis::find(name)?;
        if values.contains("..") {
            let (from, to) = axis.range(values)?;
            return Ok((axis, Values::Between(from, to)));
        }
        let mut listed = values.split(',').map(|value| axis.parse(value)).collect::<Result<Vec<_>, _>>()?;
        listed.sort_unstable();
        listed.dedup();
        match listed.len() {
            0..=VALUES_MAX => Ok((axis, Values::Listed(listed))),
            many => Err(AxisError::TooMany { name: axis.name(), many }),
        }
    }

    /// The values; a range is divided into about `points` of them.
    pub fn list(&self, points: usize) -> Vec<u64> {
        match self {
            Values::Listed(listed) => listed.clone(),
            Values::Between(from, to) => divided(*from, *to, points),
        }
    }
}

/// An axis and the range to search, such as `drift=0..300000`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub axis: Axis,
    pub from: u64,
    pub to: u64,
}

impl Span {
    /// Parses an axis and its range, such as `pause=1s..40s`.
    pub fn parse(text: &str) -> Result<Span, AxisError> {
        let (name, range) = named(text, "pause=1s..40s")?;
        let axis = Axis::find(name)?;
        let (from, to) = axis.range(range)?;
        Ok(Span { axis, from, to })
    }
}

fn named<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str), Unread> {
    text.split_once('=')
        .ok_or_else(|| Unread::of(text, format!("has no values; write an axis and its values, as {example}")))
}

/// About `points` distinct values from `from` to `to`, both included. If the ends are far apart the steps are geometric
/// and rounded to two digits, for easy reading; otherwise they are linear.
pub fn divided(from: u64, to: u64, points: usize) -> Vec<u64> {
    let steps = points.max(2) - 1;
    let apart = to / from.max(1) > LINEAR_SPREAD_MAX;
    let (low, high) = (from.max(1) as f64, to as f64);
    let inner = (1..steps).map(|step| {
        let share = step as f64 / steps as f64;
        match apart {
            true => rounded(low * (high / low).powf(share)),
            false => (from as f64 + (high - from as f64) * share).round() as u64,
        }
    });
    let mut all: Vec<u64> = inner.filter(|value| (from..to).contains(value)).chain([from, to]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Rounds to two significant digits.
fn rounded(value: f64) -> u64 {
    let digit = 10_f64.powf(value.log10().floor() - 1.0).max(1.0);
    ((value / digit).round() * digit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (axis, value) in [(Axis::Ttl, 1_500), (Axis::Drift, 0), (Axis::Pause, 90_000), (Axis::Latency, 250)] {
            assert_eq!(axis.parse(&axis.text(value)), Ok(value), "{}", axis.text(value));
            assert_eq!(Axis::find(axis.name()), Ok(axis));
            assert_ne!(axis.set(&Params::default(), value), Params::default());
        }
    }

    #[test]
    fn ranges_and_lists_are_read_and_others_refused_in_a_sentence() {
        assert_eq!(Values::parse("ttl=1..30s"), Ok((Axis::Ttl, Values::Between(1_000, 30_000))));
        assert_eq!(Values::parse("ttl=10s,1s,10s"), Ok((Axis::Ttl, Values::Listed(vec![1_000, 10_000]))));
        assert_eq!(Span::parse("drift=0..300000ppm"), Ok(Span { axis: Axis::Drift, from: 0, to: 300_000 }));
        assert_eq!(Span::parse("latency=0.2..5ms"), Ok(Span { axis: Axis::Latency, from: 200, to: 5_000 }));
        for (text, says) in [
            ("ttl", "has no values"),
            ("tll=1s..2s", "did you mean `ttl`?"),
            ("ttl=1..2", "is not a duration"),
            ("drift=x", "is not a drift"),
            ("ttl=3s..3s", "must be below"),
        ] {
            assert!(
                Values::parse(text).is_err_and(|why| why.to_string().contains(says)),
                "{text}: {:?}",
                Values::parse(text)
            );
        }
        assert_eq!(Span::parse("pause=3s"), Err(Unread::of("3s", "is not a range").into()));
    }

    #[test]
    fn a_range_is_divided_into_round_numbers() {
        assert_eq!(divided(1_000, 30_000, 4), [1_000, 3_100, 9_700, 30_000]);
        assert_eq!(divided(1_000, 4_000, 4), [1_000, 2_000, 3_000, 4_000]);
        assert_eq!(divided(0, 100, 4), [0, 5, 22, 100]);
        // A range with fewer values than points yields each value once.
        assert_eq!(divided(0, 3, 9), [0, 1, 2, 3]);
    }
}
