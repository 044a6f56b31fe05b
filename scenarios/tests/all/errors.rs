//! Every invalid plan is rejected in one sentence that says what, where, and what would be right.

use scenarios::{
    Artifact, Capsule, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};
use serde_json::Value;

const BY_HAND: &str = include_str!("../testdata/by-hand.json");
/// JSON pointer, value to put there, and the expected message; `…` stands for the rest.
const REFUSED: &str = include_str!("../testdata/refused.json");

/// The hand-written plan with the value at a JSON pointer replaced, added, or (by null) removed.
fn edited(pointer: &str, value: &Value) -> String {
    let mut plan: Value = serde_json::from_str(BY_HAND).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = plan.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(fields), Value::Null) => drop(fields.remove(key).unwrap()),
        (Value::Object(fields), value) => drop(fields.insert(key.to_owned(), value.clone())),
        (Value::Array(items), value) => items[key.parse::<usize>().unwrap()] = value.clone(),
        _ => panic!("{pointer} is nowhere"),
    }
    serde_json::to_string_pretty(&plan).unwrap()
}

fn refusal(text: &str) -> String {
    let error = Plan::from_json(text).expect_err(text).to_string();
    assert!(!error.contains('\n') && !error.ends_with('.'), "not one sentence: {error}");
    error
}

#[test]
fn the_plan_by_hand_is_valid() {
    Plan::from_json(BY_HAND).unwrap();
    assert_eq!(Plan::from_json(BY_HAND).unwrap().to_json_pretty(), BY_HAND);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let cases: Vec<(String, Value, String)> = serde_json::from_str(REFUSED).unwrap();
    assert!(cases.len() > 50);
    for (pointer, value, expected) in cases {
        let error = refusal(&edited(&pointer, &value));
        let fits = expected.strip_suffix('…').map_or(error == expected, |start| error.starts_with(start));
        assert!(fits, "{pointer} = {value}: {error}");
    }
}

#[test]
fn text_that_is_no_plan_is_refused_with_its_line() {
    let cases = [
        ("", "", "the plan ends too early, on line 1: EOF while parsing a value"),
        ("  \"seed\": 7,\n", "", "the plan is wrong on line 112: missing field `seed`"),
        ("\"seed\": 7,", "\"seed\": 7, \"sed\": 8,", "the plan is wrong on line 5: unknown field `sed`, expected"),
        ("\"seed\": 7,", "\"seed\": 7, \"seed\": 8,", "the plan is wrong on line 5: duplicate field `seed`"),
        ("\"seed\": 7", "\"seed\": \"seven\"", "the plan is wrong at `seed`, line 5: invalid type: string \"seven\""),
        (
            "\"duration_ms\": 20000",
            "\"duration_ms\": -5",
            "the plan is wrong at `duration_ms`, line 7: invalid value: integer `-5`, expected a whole number, 0 or more",
        ),
        (
            "\"rate_ppm\": 0",
            "\"rate_ppm\": 0.5",
            "the plan is wrong at `candidates[1].rate_ppm`, line 23: invalid type: ",
        ),
        (
            "\"nth\": 1",
            "\"nth\": null",
            "the plan is wrong at `faults[0].when.passage.nth`, line 47: invalid type: null",
        ),
        (
            "\"pause\": {",
            "\"paus\": {",
            "the plan is wrong at `faults[0].what`, line 60: unknown variant `paus`, expected",
        ),
        ("\"loss\": 0.0", "\"loss\": NaN", "the plan is not JSON, line 36: expected value"),
        (
            "\"elections\"",
            "\"victories\"",
            "the plan is wrong at `requires[0].fact`, line 108: unknown variant `victories`",
        ),
        ("\"seed\": 7,", "\"seed\": 7", "the plan is not JSON, line 6: expected `,` or `}`"),
    ];
    let mut wrong = Vec::new();
    for (from, to, expected) in cases {
        let text = if from.is_empty() { String::new() } else { BY_HAND.replacen(from, to, 1) };
        let error = refusal(&text);
        if !error.starts_with(expected) {
            wrong.push(format!("{from} → {to}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_truncated_plan_panics_or_is_read() {
    for end in 0..BY_HAND.trim_end().len() {
        refusal(&BY_HAND[..end]);
    }
}

#[test]
fn numbers_that_json_cannot_say_are_refused_too() {
    let by_hand = Plan::from_json(BY_HAND).unwrap();
    for (number, word) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let mut plan = by_hand.clone();
        plan.network.loss = number;
        assert_eq!(plan.validate().unwrap_err().0, format!("network.loss is {word}; a probability is 0 to 1"));
        let mut plan = by_hand.clone();
        let what = Fault::Pause { node: Who::Leader, for_ms: number };
        plan.faults = vec![PlannedFault { when: Trigger::At { ms: 1.0 }, what, group: 0 }];
        let expected = format!("faults[0] (pause) lasts {word} ms; it must be 0 to 86400000");
        assert_eq!(plan.validate().unwrap_err().0, expected);
    }
    let mut plan = by_hand.clone();
    plan.candidates = (0..65).map(|_| by_hand.candidates[0].clone()).collect();
    assert_eq!(plan.validate().unwrap_err().0, "the plan has 65 candidates; it needs 1 to 64");
}

#[test]
fn a_capsule_is_known_by_its_plan() {
    let capsule = Capsule {
        schema: 1,
        plan: Plan::from_json(BY_HAND).unwrap(),
        version: "0.1.0".to_owned(),
        commit: "4e6633c".to_owned(),
        dirty: false,
        lock_hash: "00".to_owned(),
        rustc: "1.95.0".to_owned(),
        target: "x86_64-unknown-linux-gnu".to_owned(),
        trace_hash: "ff".to_owned(),
        verdict: "safety".to_owned(),
        failed: vec!["leaders_acting_by_effect".to_owned()],
    };
    let text = capsule.to_json_pretty();
    assert_eq!(Capsule::from_json(&text).unwrap(), capsule);
    let Ok(Artifact::Capsule(read)) = Artifact::from_json(&text) else { panic!("{text} is a capsule") };
    assert_eq!(*read, capsule);
    let Ok(Artifact::Plan(plan)) = Artifact::from_json(BY_HAND) else { panic!("{BY_HAND} is a plan") };
    assert_eq!(*plan, capsule.plan);

    let older = text.replacen("\"schema\": 1", "\"schema\": 0", 1);
    assert_eq!(
        Artifact::from_json(&older).unwrap_err().to_string(),
        "the capsule has schema 0, and this build reads schema 1"
    );
    let wrong = text.replacen("\"lease_ttl_ms\": 3000", "\"lease_ttl_ms\": 0", 1);
    assert_eq!(
        Artifact::from_json(&wrong).unwrap_err().to_string(),
        "timings.lease_ttl_ms is 0; it must be 1 to 86400000"
    );
    let bare = text.replacen("\"dirty\": false,", "", 1);
    assert!(Artifact::from_json(&bare).unwrap_err().to_string().ends_with("missing field `dirty`"));
    for not_a_plan in ["[]", "3", "null", "\"plan\"", "{"] {
        assert!(!Artifact::from_json(not_a_plan).unwrap_err().to_string().contains('\n'));
    }
}
