//! Pages of known histories: the model agrees with the judge, and the bytes depend only on the history.

use super::*;
use crate::Verdict;
use crate::{
    invariant::Class,
    judges::Judges,
    known::{self, ALL},
};
use protocols::history::json::Reader;
use serde_json::json;
use std::collections::BTreeSet;

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

/// The model in the page.
fn model(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"model-0\">").expect("a model");
    serde_json::from_str(after.split("</script>").next().expect("an end")).expect("JSON")
}

/// A sentence of its cause, with times in brackets.
fn cause(model: &serde_json::Value, place: usize) -> String {
    let parts = model["cause"][place].as_array().expect("a sentence").iter();
    parts.map(|part| part.as_str().map_or_else(|| format!("[{part}]"), str::to_owned)).collect()
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
        // A paused process still believes. For a log, the figures omit that, since it can do nothing with its belief.
        let most = if known.name == "stopped_is_silent-ok" { 2 } else { most };
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
    let cause = cause(&model, 0);
    assert!(cause.contains("was paused") && cause.contains(" and wrote at [85"), "{cause}");
    assert_eq!(self::cause(&model, 1), "The store accepted it, because fencing was off.");
    let refused = self::model(&made(known("gc-pause")).0);
    assert_eq!(self::cause(&refused, 1), "The store refused it: it had seen a higher token.");
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
    // The stale write came a microsecond after the other leader's write.
    let cause = cause(&model, 0);
    assert!(cause.ends_with("; b had taken over 1 µs before, with token 7."), "{cause}");
    // Its data, model and columns each end a script.
    assert_eq!(page.matches("</script>").count(), HTML.matches("</script>").count() + 3);
    assert!(cause.starts_with("a</script> wrote at [3]"), "{cause}");
}

#[test]
fn whatever_is_violated_has_a_moment_to_step_to() {
    let mut seen = BTreeSet::new();
    for known in ALL {
        let (page, judgement) = made(known.text);
        let model = model(&page);
        let told = judgement.groups.get(judgement.worst_group()).unwrap_or(&judgement);
        let moments = model["moments"].as_array().expect("a list");
        let bad: Vec<_> = moments.iter().filter(|m| m["k"] == "bad").collect();
        let text = |m: &serde_json::Value| m["text"].as_str().unwrap_or_default().to_owned();
        for broken in told.invariants.iter().filter(|i| !i.holds && i.class != Class::Vacuity) {
            let own = match broken.name {
                "no_stale_write" => "ACCEPTED although stale",
                "no_stale_read" => "STALE READ",
                name => name,
            };
            let moment = bad.iter().find(|m| text(m).contains(own));
            let moment = moment.unwrap_or_else(|| panic!("{}: {} has no moment", known.name, broken.name));
            // Its own time, not just the end of the history.
            let (_, at) = (seen.insert(broken.name), moment["t"].as_u64());
            assert!(broken.violated_us.is_some() || own != broken.name, "{}: {broken:?} knows no time", known.name);
            assert!(own != broken.name || at == broken.violated_us, "{}: {moment}", known.name);
        }
        let alone = |m: &serde_json::Value| bad.iter().filter(|other| other["t"] == m["t"]).count() == 1;
        let once = bad.iter().all(|m| !text(m).starts_with("VIOLATED ") || alone(m));
        assert!(once, "{}: one event is two entries: {bad:?}", known.name);
        assert_eq!(bad.is_empty(), !matches!(told.verdict, Verdict::Safety | Verdict::Liveness), "{}", known.name);
        let times: Vec<_> = moments.iter().map(|m| m["t"].as_u64()).collect();
        assert!(times.is_sorted(), "{}: {times:?}", known.name);
    }
    let all = known::ALL.len();
    assert!(seen.len() > 18, "only {seen:?} of {all} histories");
}

#[test]
fn what_was_never_granted_has_no_ground_from_its_beginning() {
    let model = model(&made(known("phantom_leader-bad")).0);
    let beliefs = model["beliefs"].as_array().expect("a list");
    let phantom = beliefs.iter().find(|b| b["outlived"][1] == "the service never granted it").expect("a phantom");
    assert_eq!(phantom["outlived"][0], phantom["from"]);
    // If votes decide, there are no grants.
    let voted = self::model(&made(known("phantom_leader-ok-votes")).0);
    assert!(!voted.to_string().contains("never granted"), "{}", voted["beliefs"]);
}

#[test]
fn moments_of_one_microsecond_are_told_as_they_happened() {
    let node = |state: &str| format!("{{\"t_us\":7,\"event\":\"node\",\"node\":\"a\",\"state\":\"{state}\"}}\n");
    let elected = "{\"t_us\":7,\"event\":\"elected\",\"node\":\"a\",\"token\":5}\n";
    let other = "{\"t_us\":7,\"event\":\"elected\",\"node\":\"b\",\"token\":6}\n";
    let log = [node("up").as_str(), elected, &node("down"), other].concat();
    let model = model(&made(&log).0);
    let told: Vec<_> =
        model["moments"].as_array().expect("a list").iter().map(|m| (&m["text"], &m["believing"])).collect();
    let expected = [("a (token 5) is elected", 1), ("a is killed", 0), ("b (token 6) is elected", 1)];
    let expected = expected.map(|(text, believing)| (json!(text), json!(believing)));
    assert_eq!(told, expected.iter().map(|(text, believing)| (text, believing)).collect::<Vec<_>>());
}

#[test]
fn every_resource_of_a_log_is_shown_by_its_name() {
    let write = |t: u64, on: &str, token: u64, seq: u64| {
        format!(
            "{{\"t_us\":{t},\"event\":\"apply\",\"resource\":\"{on}\",\"node\":\"w{token}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"}}\n"
        )
    };
    let mut log: String = (0..12).map(|r| write(r, &format!("other-{r}"), 5, 1)).collect();
    log += &[write(20, "payments", 5, 1), write(21, "payments", 7, 2), write(22, "payments", 5, 3)].concat();
    let model = model(&made(&log).0);
    let (resources, strips) = (&model["resources"], model["strips"].as_array().expect("a list"));
    assert_eq!((resources[0].as_str(), resources[12].as_str()), (Some("other-0"), Some("payments")), "{resources}");
    assert!(strips.len() == 8 && strips.contains(&json!(12)) && model["unshown"] == 4, "{strips:?}");
    let texts: Vec<_> =
        model["moments"].as_array().expect("a list").iter().filter_map(|m| m["text"].as_str()).collect();
    assert!(texts.contains(&"w5 (token 5) takes effect on other-0, from seq 1"), "{texts:?}");
    let stale = "ACCEPTED although stale: seq 3 of w5 (token 5) on payments; w7 (token 7) had taken over; \
                 violates leaders_acting_by_effect, tokens_monotone, no_stale_write";
    assert!(texts.contains(&stale), "{texts:?}");
}

#[test]
fn too_many_moments_are_said_to_be_left_out_and_no_violation_is() {
    let write = |t: u64, token: u64| {
        format!(
            "{{\"t_us\":{t},\"event\":\"apply\",\"resource\":\"r\",\"node\":\"w\",\"token\":{token},\"seq\":{t},\"verdict\":\"ok\"}}\n"
        )
    };
    let mut log: String = (1..600).map(|t| write(t, t)).collect();
    // A stale write among those that are listed.
    log.insert_str(log.find("\"t_us\":350,").expect("that write") - 1, &write(349, 2));
    let model = model(&made(&log).0);
    let moments = model["moments"].as_array().expect("a list");
    let gap: Vec<_> = moments.iter().filter(|m| m["k"] == "gap").collect();
    let [gap] = &gap[..] else { panic!("{gap:?}") };
    assert!(gap["text"].as_str().is_some_and(|text| text.contains(" left out of this list")), "{gap}");
    assert!(moments.len() < 420 && moments.iter().any(|m| m["k"] == "bad" && m["t"] == 349), "{}", moments.len());
}

#[test]
fn times_that_were_counted_from_elsewhere_are_named() {
    assert_eq!(instant(1_767_225_600_000_000), "2026-01-01T00:00:00Z");
    assert_eq!(instant(951_868_799_250_000), "2000-02-29T23:59:59.250Z");
    assert_eq!(instant(2_000_000_000_000), "t_us 2000000000000");
}

#[test]
fn a_token_beyond_what_javascript_counts_stays_as_it_is() {
    let log = "{\"t_us\":1,\"event\":\"apply\",\"resource\":\"r\",\"node\":\"a\",\"token\":9007199254740993,\"seq\":1,\"verdict\":\"ok\"}\n\
        {\"t_us\":2,\"event\":\"apply\",\"resource\":\"r\",\"node\":\"a\",\"token\":3,\"seq\":2,\"verdict\":\"ok\"}\n";
    let (page, _) = made(log);
    let (_, after) = page.split_once("id=\"packed-0\">").expect("columns");
    let packed: serde_json::Value =
        serde_json::from_str(after.split("</script>").next().expect("an end")).expect("JSON");
    let exact = packed["exact"].as_object().expect("lines");
    let line = exact["0"].as_str().expect("a line");
    assert!(exact.len() == 1 && line.contains("\"token\":9007199254740993,"), "{exact:?}");
    assert!(!line.contains("generation"), "{line}");
}

#[test]
fn of_several_groups_where_all_is_well_the_liveliest_is_told() {
    let elected = |t: u64, group: u16, token: u64| {
        format!("{{\"t_us\":{t},\"event\":\"elected\",\"group\":{group},\"node\":\"a\",\"token\":{token}}}\n")
    };
    let log = [elected(1, 0, 1), elected(2, 1, 2), elected(3, 2, 3), elected(4, 2, 4)].concat();
    let title = model(&made(&log).0)["title"].to_string();
    assert!(title.contains("group 2 of 3"), "{title}");
}
