//! Several groups in one history: each is judged separately, and a report has the result of each.

use protocols::history::{Sink, json::Reader};
use reports::{
    Judgement, Judges, Names, Verdict,
    by_group::Stories,
    json::{Report, RunFacts},
    known::{self, History},
    text,
};

fn known(name: &str) -> History {
    let known = known::ALL.iter().find(|known| known.name == name).expect("it is in the list");
    History::parse(known.text.as_bytes()).expect("it can be read")
}

fn verdicts(judgement: &Judgement) -> Vec<Verdict> {
    judgement.groups.iter().map(|group| group.verdict).collect()
}

#[test]
fn a_violation_is_that_of_its_own_group() {
    let [good, bad] = ["groups-ok", "groups-bad"].map(|name| known(name).judge());
    assert_eq!((good.verdict, verdicts(&good)), (Verdict::Pass, vec![Verdict::Pass; 2]));
    assert_eq!((bad.verdict, verdicts(&bad)), (Verdict::Safety, vec![Verdict::Pass, Verdict::Safety]));
    // Tokens 5 and 3 in group 1, 3 and 5 in group 2.
    let regress = known("groups-bad-regress").judge();
    assert_eq!(verdicts(&regress), [Verdict::Pass, Verdict::Safety, Verdict::Pass]);
    assert!(
        regress.invariant("tokens_monotone").is_some_and(|seen| !seen.holds && seen.detail.starts_with("group 1: "))
    );
}

#[test]
fn a_report_tells_each_group_and_the_story_of_the_one_that_did_wrong() {
    let history = known("groups-bad");
    let mut stories = Stories::new(history.header.as_ref());
    history.events.iter().for_each(|event| stories.record(event));
    let (judgement, facts) = (history.judge(), RunFacts::default());
    let highlights = stories.into_telling(&judgement);
    let header = history.header.as_ref();
    let parameters = &[];
    let run = text::Run {
        header,
        parameters,
        highlights: &highlights,
        judgement: &judgement,
        facts: &facts,
        replay: None,
        meaning: None,
        next: &[],
        all: true,
        colour: false,
    };
    for width in [60, 100] {
        let report = text::render_in(&run, width);
        for part in [
            "Timeline of group 1",
            "✓ group 0   1 election, 2 writes accepted",
            "✗ group 1   2 elections, 3 writes",
            "✗ no_stale_write",
        ] {
            assert!(report.contains(part), "{part} is missing:\n{report}");
        }
        let long: Vec<&str> = report.lines().filter(|line| line.chars().count() > width).collect();
        assert!(long.is_empty(), "{width}: {long:#?}");
    }
    let json: serde_json::Value = serde_json::from_str(&Report::new(header, &facts, &judgement).to_text()).unwrap();
    assert_eq!((&json["verdict"], &json["groups"][0]["verdict"]), (&"safety".into(), &"pass".into()));
    assert_eq!((&json["groups"][1]["group"], &json["groups"][1]["verdict"]), (&1.into(), &"safety".into()));
    let alone = known("gc-pause").judge();
    assert!(!Report::new(None, &facts, &alone).to_text().contains("groups"), "one group is not spoken of");
}

#[test]
fn a_foreign_log_may_have_groups_that_nobody_announced() {
    let apply = |t_us: u64, group: u16, node: &str, token: u64, seq: u64| {
        let of = if group == 0 { String::new() } else { format!(",\"group\":{group}") };
        format!(
            "{{\"t_us\":{t_us},\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"{node}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"{of}}}\n"
        )
    };
    let judged = |stale: u64| {
        // Group 2 goes from 9 to `stale`; group 0 has a token in between throughout.
        let log = [apply(1, 0, "a", 5, 1), apply(2, 2, "b", 9, 1), apply(3, 0, "a", 5, 2), apply(4, 2, "a", stale, 2)];
        let mut reader = Reader::new(log.concat().leak().as_bytes()).unwrap();
        let mut judges = Judges::new(None);
        reader.by_ref().for_each(|event| judges.record(&event.unwrap()));
        judges.finish_with(&Names::new(reader.names()))
    };
    let (good, bad) = (judged(10), judged(8));
    assert_eq!(verdicts(&bad), [Verdict::Pass, Verdict::Pass, Verdict::Safety], "{bad:#?}");
    assert!(
        bad.invariant("tokens_monotone").is_some_and(|seen| seen.detail.contains("group 2: at 0.000 s sequence@2"))
    );
    assert_eq!(verdicts(&good), vec![Verdict::Pass; 3]);
    assert_eq!((good.history_events, good.end_us), (4, 4));
}
