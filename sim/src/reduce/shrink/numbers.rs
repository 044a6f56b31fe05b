//! Numbers smaller than a plan's number: nearer to 0, of the same sign and kind.

use serde_json::{Number, Value};

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
