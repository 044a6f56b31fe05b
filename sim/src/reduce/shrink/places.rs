//! The places in a plan that can be made smaller, as JSON pointers, in the order in which to try them.

use serde_json::Value;

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
}
