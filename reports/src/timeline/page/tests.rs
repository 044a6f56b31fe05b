//! The page of known histories: the model agrees with the judge, and the bytes depend on the history alone.

use super::*;
use crate::{judges::Judges, known::ALL};
use protocols::history::json::Reader;

/// The page, the judgement, and the model of a history.
fn made(text: &str) -> (String, Judgement) {
    let mut reader = Reader::new(text.as_bytes()).expect("a history");
    let header = reader.header().cloned();
    let (mut judges, mut pages) = (Judges::new(header.as_ref()), Pages::new(header.as_ref()));
    while let Some(event) = reader.next() {
        let event = event.expect("an event");
        pages.learn(reader.names(), reader.resources());
        judges.record(&event);
        pages.record(&event);
    }
    let judgement = judges.finish_with(&Names::of(reader.names(), reader.header()));
    (pages.into_page(&judgement), judgement)
}

/// What the page is told, read from the page itself.
fn model(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"model-0\">").expect("a model");
    serde_json::from_str(after.split("</script>").next().expect("an end")).expect("JSON")
}

fn known(name: &str) -> &'static str {
    ALL.iter().find(|known| known.name == name).unwrap_or_else(|| panic!("no history {name}")).text
}

#[test]
fn pages_agree_with_the_judge_on_writes_from_the_past() {
    let (mut with, mut without) = (0, 0);
    for known in ALL.iter().filter(|known| !known.name.starts_with("groups")) {
        let (page, judgement) = made(known.text);
        let model = model(&page);
        let stale = model["stale"].as_array().expect("a list").len();
        let judged = judgement.invariant("no_stale_write").is_some_and(|i| !i.holds);
        assert_eq!(stale > 0, judged, "{}: {stale} in the page", known.name);
        if judged {
            with += 1
        } else {
            without += 1
        }
        let believing = model["believing"].as_array().expect("a list").iter().filter_map(|step| step[1].as_u64()).max();
        let most = judgement.metrics.leaders_believing_max;
        assert_eq!(believing.unwrap_or(0), most, "{}: so many believe in the page, and so many did", known.name);
        assert!(!page.contains("@RUNS@") && page.ends_with("</html>\n"), "{} is cut short", known.name);
    }
    assert!(with > 5 && without > 100, "{with} with such writes, {without} without");
}

#[test]
fn the_same_history_gives_the_same_bytes() {
    let text = known("run-gc-pause-etcd-election");
    assert_eq!(made(text).0, made(text).0);
}

#[test]
fn the_cause_of_a_pause_is_told_first() {
    let (page, _) = made(known("gc-pause-unfenced"));
    let model = model(&page);
    let cause = model["cause"][0].as_str().expect("a sentence");
    assert!(cause.contains("was paused") && cause.contains("and wrote at [["), "{cause}");
    assert_eq!(model["cause"][1], "The store accepted it, because fencing was off.");
    let refused = self::model(&made(known("gc-pause")).0);
    assert_eq!(refused["cause"][1], "The store refused it: it had seen a higher token.");
    assert_eq!(refused["stale"], serde_json::json!([]));
}

#[test]
fn a_belief_that_outlives_its_grant_is_marked_from_there() {
    let model = model(&made(known("run-gc-pause-etcd-election")).0);
    let outlived: Vec<_> =
        model["beliefs"].as_array().expect("a list").iter().filter(|b| !b["outlived"].is_null()).collect();
    let [belief] = &outlived[..] else { panic!("{outlived:?}") };
    let grant = &model["grants"][0];
    assert_eq!((&belief["outlived"][0], &grant["why"]), (&grant["to"], &serde_json::json!("it expired")));
    assert!(belief["to"].as_u64() > grant["to"].as_u64(), "{belief} {grant}");
}

#[test]
fn a_log_of_writes_alone_has_a_page() {
    let log = "{\"t_us\":1,\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"a</script>\",\"token\":5,\"seq\":1,\"verdict\":\"ok\"}\n\
        {\"t_us\":2,\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"b\",\"token\":7,\"seq\":2,\"verdict\":\"ok\"}\n\
        {\"t_us\":3,\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"a</script>\",\"token\":5,\"seq\":3,\"verdict\":\"ok\"}\n";
    let (page, _) = made(log);
    let model = model(&page);
    assert_eq!(model["lanes"].as_array().map(Vec::len), Some(2));
    assert_eq!(model["several"][0][2], 2);
    // Its data, model and columns end a script each.
    assert_eq!(page.matches("</script>").count(), HTML.matches("</script>").count() + 3);
    assert!(
        model["cause"][0].as_str().is_some_and(|cause| cause.starts_with("a</script> wrote at [[3]]")),
        "{}",
        model["cause"]
    );
}
