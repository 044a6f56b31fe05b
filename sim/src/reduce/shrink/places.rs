//! What can be made smaller in a plan: its places, and its numbers.

use serde_json::{Number, Value};

/// Fields that identify the run or state its requirements: a plan that differs here does not have the same failure, and
/// smaller timers do not make a smaller run.
const FIXED: [&str; 11] = [
    "/schema",
    "/scenario",
    "/protocol",
    "/seed",
    "/fencing",
    "/requires",
    "/liveness_bound_ms",
    "/dual_belief_bound_ms",
    "/timings",
    "/network/profile",
    // A period: a shorter one means more work.
    "/load/tick_ms",
];

/// The places of lists.
pub fn lists(plan: &Value) -> Vec<String> {
    of(plan, &|_, value| value.is_array())
}

/// The places of objects' fields. Only the plan's parser knows which may be left out.
pub fn fields(plan: &Value) -> Vec<String> {
    of(plan, &|is_field, _| is_field)
}

/// The places of `true`.
pub fn flags(plan: &Value) -> Vec<String> {
    of(plan, &|_, value| *value == Value::Bool(true))
}

/// The places of numbers.
pub fn numbers(plan: &Value) -> Vec<String> {
    of(plan, &|_, value| value.is_number())
}

/// All places that `wants` accepts, outer before inner ones; `wants` is told whether the place is an object's field.
fn of(plan: &Value, wants: &dyn Fn(bool, &Value) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    below(plan, "", wants, &mut all);
    all
}

fn below(value: &Value, place: &str, wants: &dyn Fn(bool, &Value) -> bool, all: &mut Vec<String>) {
    let mut each = |step: &str, is_field: bool, value: &Value| {
        let place = format!("{place}/{step}");
        if FIXED.contains(&place.as_str()) {
            return;
        }
        if wants(is_field, value) {
            all.push(place.clone());
        }
        // A candidate's own timers may be left out, but are not made smaller.
        if step != "timings" {
            below(value, &place, wants, all);
        }
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| each(&pointed(name), true, value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(at, value)| each(&at.to_string(), false, value)),
        _ => {}
    }
}

/// A name escaped for a JSON pointer.
fn pointed(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

// Numbers smaller than a plan's number: nearer to 0, of the same sign and kind.

/// The smallest round fraction to try.
const FRACTION_MIN: f64 = 0.001;

/// 0 of the same kind; `None` if the value is 0 or not a number.
pub fn zero(number: &Value) -> Option<Value> {
    let is = number.as_f64()?;
    (is != 0.0).then(|| like(number, 0.0))
}

/// 1, 2 and 5 times powers of ten below the number, ascending.
pub fn round_below(number: &Value) -> Vec<Value> {
    let is = number.as_f64().unwrap_or_default();
    let mut power = if number.is_f64() { FRACTION_MIN } else { 1.0 };
    let mut all = Vec::new();
    while power < is.abs() {
        all.extend([1.0, 2.0, 5.0].map(|times| times * power).into_iter().filter(|round| *round < is.abs()));
        power *= 10.0;
    }
    all.into_iter().map(|round| like(number, round.copysign(is))).collect()
}

/// The number cut to its first digit, its first two, and so on, as far as that changes it.
pub fn of_fewer_digits(number: &Value) -> Vec<Value> {
    let is = number.as_f64().unwrap_or_default();
    let digits = |count: i32| {
        let unit = 10_f64.powi(is.abs().log10().floor() as i32 + 1 - count);
        let unit = if number.is_f64() { unit } else { unit.max(1.0) };
        (is.abs() / unit).floor() * unit
    };
    let mut all: Vec<f64> = (1..=6).map(digits).filter(|cut| *cut > 0.0 && *cut < is.abs()).collect();
    all.dedup();
    all.into_iter().map(|cut| like(number, tidy(cut).copysign(is))).collect()
}

/// Drops the last digits, which are artifacts of binary fractions.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A number of the same kind, whole if `number` is.
fn like(number: &Value, value: f64) -> Value {
    match number {
        Value::Number(of) if of.is_f64() => Number::from_f64(tidy(value)).map_or(Value::Null, Value::Number),
        _ if value < 0.0 => Value::from(value as i64),
        _ => Value::from(value as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_run_is_asked_stays_and_all_else_has_a_place() {
        let plan = json!({
            "seed": 4, "timings": { "lease_ttl_ms": 3 }, "load": { "rate": 5, "tick_ms": 1000 },
            "candidates": [{ "rate_ppm": 1, "timings": { "lease_ttl_ms": 4 }, "joins_later": true }],
            "faults": [{ "what": { "partition": { "from": ["n1"] } } }]
        });
        assert_eq!(numbers(&plan), ["/candidates/0/rate_ppm", "/load/rate"]);
        assert_eq!(lists(&plan), ["/candidates", "/faults", "/faults/0/what/partition/from"]);
        assert_eq!(flags(&plan), ["/candidates/0/joins_later"]);
        assert!(fields(&plan).contains(&"/candidates/0/timings".to_owned()));
        assert!(!fields(&plan).iter().any(|place| place.contains("lease_ttl_ms") || place == "/seed"));
    }

    #[test]
    fn what_is_smaller_is_nearer_to_0_and_of_the_same_kind() {
        assert_eq!((zero(&json!(7)), zero(&json!(0)), zero(&json!(-1.5))), (Some(json!(0)), None, Some(json!(0.0))));
        assert_eq!(round_below(&json!(20)), [json!(1), json!(2), json!(5), json!(10)]);
        assert_eq!(round_below(&json!(-6)), [json!(-1), json!(-2), json!(-5)]);
        assert_eq!(round_below(&json!(0.004)), [json!(0.001), json!(0.002)]);
        assert_eq!(
            of_fewer_digits(&json!(5_467.345))[..4],
            [json!(5_000.0), json!(5_400.0), json!(5_460.0), json!(5_467.0)]
        );
        assert_eq!(of_fewer_digits(&json!(122)), [json!(100), json!(120)]);
        assert!(of_fewer_digits(&json!(5)).is_empty());
    }
}
