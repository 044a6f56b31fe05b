//! Histories as data: each invariant accepts one and refuses another, and two whole stories have their figures and
//! reports. `FENCEPOST_UPDATE=1` rewrites the reports.

use protocols::{
    history::{
        Event, Kind, Sink,
        json::{Reader, Writer},
    },
    types::NodeId,
};
use reports::{
    Judgement, Judges, Names, Verdict,
    by_group::Stories,
    invariant, json,
    known::{self, History},
    text,
    timeline::Highlights,
};
use std::{fs, path::PathBuf};

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../testdata", name].iter().collect()
}

fn parse(name: &str, text: &[u8]) -> History {
    History::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn read(name: &str) -> History {
    let known = known::find(name).unwrap_or_else(|| panic!("{name} is not in the list"));
    parse(name, known.text.as_bytes())
}

fn judge(history: &History) -> Judgement {
    history.judge()
}

#[test]
fn each_invariant_accepts_its_good_history_and_could_have_refused_it() {
    for (entry, file) in invariant::ALL.iter().flat_map(|e| files(e.name, "ok").into_iter().map(move |f| (e, f))) {
        let judgement = judge(&read(&file));
        let seen = judgement.invariant(entry.name).unwrap();
        assert!(seen.holds && seen.could_fail, "{file}: {seen:?}");
        assert_ne!(judgement.verdict, Verdict::Safety, "{file}: {:#?}", judgement.invariants);
    }
}

/// The histories of an invariant: `<name>-ok*`, or `<name>-bad*` with one for each way to violate it.
fn files(invariant: &str, kind: &str) -> Vec<String> {
    let begins = format!("{invariant}-{kind}");
    let listed = known::ALL.iter().filter(|known| known.name.starts_with(&begins));
    let names: Vec<_> = listed.map(|known| known.name.to_owned()).collect();
    assert!(!names.is_empty(), "{begins} is missing");
    names
}

#[test]
fn each_invariant_refuses_its_bad_histories() {
    for (entry, file) in invariant::ALL.iter().flat_map(|e| files(e.name, "bad").into_iter().map(move |f| (e, f))) {
        let judgement = judge(&read(&file));
        let seen = judgement.invariant(entry.name).unwrap();
        assert!(!seen.holds && seen.could_fail, "{file}: {seen:?}");
        assert!(judgement.violated().any(|name| name == entry.name));
        let verdict = match entry.class {
            invariant::Class::Safety => Verdict::Safety,
            invariant::Class::Liveness => Verdict::Liveness,
            invariant::Class::Vacuity => Verdict::Vacuous,
        };
        assert_eq!(judgement.verdict, verdict, "{file}: {:#?}", judgement.invariants);
    }
}

/// The judgement of each history: read in review, because sweeps hold the judge to it.
#[test]
fn the_judgements_are_as_they_were() {
    let say = |known: &known::Known| {
        format!("== {}\n{}", known.name, known::say(&judge(&parse(known.name, known.text.as_bytes()))))
    };
    same_as_file("judgements.txt", &known::ALL.iter().map(say).collect::<String>());
}

#[test]
fn a_judge_that_says_something_else_is_told() {
    let known = known::ALL.iter().find(|known| known.name == "elections-bad-order").unwrap();
    let right = known.judge().unwrap();
    assert_eq!(known.differs(&right), None);
    let blind = Judgement { invariants: Vec::new(), ..right.clone() };
    let told = known.differs(&blind).unwrap();
    assert!(told.starts_with("the judge must say “✗ elections: at 0.901 s n2 (token 4)"), "{told}");
    let other = known::Known { name: "nobody-wrote-it-down", ..*known };
    assert_eq!(other.must_say(), "");
    assert!(other.differs(&right).unwrap().starts_with("the judge must say “nothing”"));
}

#[test]
fn a_written_history_is_judged_as_the_run_was() {
    for name in ["gc-pause", "gc-pause-unfenced", "liveness-bad"] {
        let live = read(name);
        let mut writer = Writer::new(Vec::new(), live.header.as_ref().unwrap());
        live.events.iter().for_each(|event| writer.record(event));
        let written = parse(name, &writer.finish().unwrap());
        assert_eq!(judge(&live), judge(&written), "{name}");
    }
}

#[test]
fn the_figures_of_a_pause_beyond_the_lease() {
    let judgement = judge(&read("gc-pause"));
    assert_eq!(judgement.verdict, Verdict::Pass, "{:#?}", judgement.invariants);
    let m = judgement.metrics;
    assert_eq!((m.leaders_acting_by_effect_max, m.leaders_believing_max, m.elections), (1, 2, 2));
    assert_eq!((m.writes_accepted, m.writes_fenced, m.writes_unknown, m.seq_gaps), (32, 1, 0, 0));
    assert_eq!((m.false_failovers, m.avoidable_failovers, m.failover_censored), (0, 1, 0));
    // Struck at 5.002341; the successor's first write is applied at 8.216540.
    assert_eq!(m.failover_ms, [3214.199]);
    // The first election counts from the campaign, the second from the strike.
    assert_eq!(m.election_latency_ms, [4.2, 3212.061]);
    // The last write of n1 was applied at 4.503040; it sent its last one, the stale one, at 8.502341, after n2 had sent
    // its first at 8.216020.
    assert_eq!(m.handoff_effect_gap_ms, [3713.5]);
    assert_eq!(m.handoff_intent_gap_ms, [-286.321]);
    // Both believe from 8.214402 to 8.503260.
    assert_eq!(m.dual_belief_ms, 288.858);
    // Requests at 5.002 to 7.002 every half second are not served: 5 of the 25 that count.
    assert_eq!((m.dark_ms, m.startup_dark_ms), (Some(2500.0), Some(0.0)));
    assert_eq!(m.availability, Some(1.0 - 5.0 / 25.0));
    assert_eq!(m.messages, 2718);
}

#[test]
fn without_fencing_the_same_story_is_unsafe() {
    let judgement = judge(&read("gc-pause-unfenced"));
    assert_eq!((judgement.verdict, judgement.verdict.exit_code()), (Verdict::Safety, 1));
    assert_eq!(judgement.metrics.leaders_acting_by_effect_max, 2);
    for name in ["leaders_acting_by_effect", "tokens_monotone", "seq_strictly_increasing", "no_stale_write"] {
        assert!(!judgement.invariant(name).unwrap().holds, "{name}");
    }
    assert!(judgement.metrics.handoff_effect_gap_ms[0] < 0.0, "{:?}", judgement.metrics);
}

#[test]
fn a_log_of_one_leader_s_writes_is_no_pass() {
    let mut history = read("leaders_acting_by_effect-ok");
    history.events.truncate(3);
    let judgement = judge(&history);
    assert_eq!((judgement.verdict, judgement.verdict.exit_code()), (Verdict::Vacuous, 2));
    let seen = judgement.invariant("vacuity").unwrap();
    assert!(!seen.holds && seen.could_fail && seen.detail.starts_with("only one leader wrote;"), "{seen:?}");
    // A history with elections is judged by them.
    let judgement = judge(&read("acts_on_belief-ok-many"));
    assert_eq!(judgement.verdict, Verdict::Pass, "{:?}", judgement.invariants);
}

/// Every kind of event, in an order that no run would have: nothing may panic.
#[test]
fn nonsense_is_judged_without_a_panic() {
    let History { header, names, mut events } = read("gc-pause");
    let mut state = 1_u64;
    for _ in 0..50 {
        let times: Vec<_> = events.iter().map(|e| e.t_us).collect();
        for place in (1..events.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            events.swap(place, (state >> 33) as usize % (place + 1));
        }
        events.iter_mut().zip(times).for_each(|(event, t_us)| event.t_us = t_us);
        for (header, names) in [(None, Names::default()), (header.clone(), names.clone())] {
            let history = History { header, names: names.clone(), events: events.clone() };
            let judgement = judge(&history);
            let highlights = told(&history, &judgement);
            report(&history, &judgement, &highlights, false);
        }
    }
}

fn report(history: &History, judgement: &Judgement, highlights: &Highlights, colour: bool) -> String {
    let parameters = [
        ("nodes", "3"),
        ("duration", "14 s"),
        ("lease ttl", "3 s"),
        ("renew interval", "1 s"),
        ("clock skew", "n1 +12 ms, n2 -40 ms, n3 +3 ms"),
        ("network", "lan: 250 µs + up to 100 µs"),
        ("load", "1 client, 2 requests/s"),
        ("fault", "pause the leader for 3.5 s at its 10th passage of lease_checked"),
    ];
    let parameters = parameters.map(|(label, value)| (label.to_owned(), value.to_owned()));
    let facts = json::RunFacts {
        trace_hash: Some("9f86d081884c7d65".into()),
        events: Some(5432),
        simulated_ms: Some(14_000),
        wall_ms: Some(21),
        ..json::RunFacts::default()
    };
    text::render(&text::Run {
        header: history.header.as_ref(),
        parameters: &parameters,
        highlights,
        judgement,
        facts: &facts,
        replay: Some("cargo run -- scenario gc-pause --protocol etcd-election --seed 42"),
        meaning: None,
        next: &[("to see it", "cargo run -- scenario gc-pause --protocol etcd-election --seed 42 --open".to_owned())],
        all: true,
        colour,
    })
}

/// The story as a report shows it, with its cause.
fn told(history: &History, judgement: &Judgement) -> Highlights {
    let names: Vec<_> = (0..history.names.len()).map(|n| history.names.node(NodeId(n as u16)).into_owned()).collect();
    let mut stories = Stories::new(history.header.as_ref());
    stories.learn(&names, None);
    history.events.iter().for_each(|event| stories.record(event));
    stories.into_telling(judgement)
}

fn same_as_file(name: &str, text: &str) {
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        fs::write(path(name), text).unwrap();
    }
    let expected = fs::read_to_string(path(name)).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs; FENCEPOST_UPDATE=1 writes it anew");
}

#[test]
fn the_report_of_a_run_is_as_it_was() {
    for name in ["gc-pause", "gc-pause-unfenced"] {
        let history = read(name);
        let judgement = judge(&history);
        let highlights = told(&history, &judgement);
        let plain = report(&history, &judgement, &highlights, false);
        let widest = plain.lines().max_by_key(|l| l.chars().count()).unwrap();
        assert!(widest.chars().count() <= 100, "too wide: {widest}");
        assert!(!plain.contains('\u{1b}') && report(&history, &judgement, &highlights, true).contains('\u{1b}'));
        same_as_file(&format!("{name}-report.txt"), &plain);
    }
}

#[test]
fn a_foreign_log_is_told_and_judged() {
    let history = read("leaders_acting_by_effect-bad");
    let judgement = judge(&history);
    let highlights = told(&history, &judgement);
    let facts = json::RunFacts::default();
    let (parameters, header) = (&[], None);
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
    same_as_file("foreign-report.txt", &text::render(&run));
}

/// The report of a log without a header, whose names (`names` for the nodes) come with its events.
fn told_as_it_is_read(names: [&str; 2], from_us: u64) -> String {
    let apply = |t_us: u64, node: &str, token: u64, seq: u64| {
        let rest =
            format!("\"resource\":\"sequence\",\"node\":\"{node}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"");
        format!("{{\"t_us\":{},\"event\":\"apply\",{rest}}}\n", from_us + t_us)
    };
    let [a, b] = names;
    let log = [apply(1, a, 5, 1), apply(2, b, 7, 2), apply(3, a, 5, 3), apply(4, b, 7, 4), apply(5, a, 5, 5)].concat();
    let mut reader = Reader::new(log.as_bytes()).unwrap();
    let (mut judge, mut stories) = (Judges::new(None), Stories::new(None));
    while let Some(event) = reader.next() {
        let event = event.unwrap();
        stories.learn(reader.names(), reader.resources());
        judge.record(&event);
        stories.record(&event);
    }
    let judgement = judge.finish_with(&Names::new(reader.names()));
    let highlights = stories.into_telling(&judgement);
    let stale: u64 = highlights.leaders().iter().map(|leader| leader.stale).sum();
    assert_eq!(stale, 2, "{:#?}", highlights.leaders());
    let seen = &judgement.invariant("no_stale_write").unwrap().detail;
    assert!(seen.starts_with("2 stale writes reached the store, 2 were accepted"), "{seen}");
    let history = History { header: None, names: Names::new(reader.names()), events: Vec::new() };
    report(&history, &judgement, &highlights, false)
}

#[test]
fn long_names_and_late_times_keep_their_columns() {
    for (names, shown) in [
        (["a", "b"], ["a ", "b "]),
        (["web-7", "web-12"], ["web-7", "web-12"]),
        (["sequencer-europe-west", "sequencer-us-east"], ["sequ…pe-west", "sequ…us-east"]),
    ] {
        let text = told_as_it_is_read(names, 1_732_233_600_000_000);
        assert!(!text.contains("node-"), "{text}");
        let mut timeline = text.lines().skip_while(|line| !line.starts_with("Timeline")).skip(1);
        let heading: Vec<char> = timeline.next().unwrap().chars().collect();
        let at = |what: &str| heading.iter().collect::<String>().split(what).next().unwrap().chars().count();
        let lanes = shown.map(at);
        for line in timeline.by_ref().take_while(|line| !line.contains('█') && !line.trim().starts_with('·')) {
            let line: Vec<char> = line.chars().collect();
            assert!(line.starts_with(&"  1732233600.000  ".chars().collect::<Vec<_>>()), "{text}");
            assert!(lanes.iter().all(|lane| matches!(line[*lane], '·' | ' ')), "{text}");
            assert!(matches!(line[at("store")], '✓' | '!'), "{text}");
            assert!(line.len() <= 100, "{text}");
        }
    }
}

#[test]
fn a_stale_read_is_told_once_for_all_that_follow_it() {
    let mut history = read("no_stale_read-bad");
    let drawn = |history: &History| {
        let judgement = judge(history);
        let highlights = told(history, &judgement);
        let metrics = &judgement.metrics;
        ((metrics.reads_answered, metrics.reads_stale), report(history, &judgement, &highlights, false))
    };
    let (reads, text) = drawn(&history);
    assert_eq!(reads, (2, 1));
    assert!(text.contains("STALE READ: c2 reads 1 from n1 after 2 had been returned"), "{text}");
    let again: Vec<Event> = history.events[6..8].iter().cloned().map(|event| Event { t_us: 3_000, ..event }).collect();
    history.events.truncate(8);
    history.events.extend(again);
    let (reads, text) = drawn(&history);
    assert_eq!(reads, (2, 2));
    let both = "STALE READS: 2 reads from n1, within 600 µs; the first returned 1 to c2";
    assert!(text.contains(both) && text.contains(" after 2 had been returned"), "{text}");
}

#[test]
fn long_stories_are_cut_in_the_middle() {
    let mut history = read("gc-pause");
    let judgement = judge(&history);
    let template: Vec<_> = history.events.drain(..).filter(|e| !matches!(e.kind, Kind::End { .. })).collect();
    for round in 0..100 {
        let later = |event: &Event| Event { t_us: event.t_us + round * 20_000_000, ..event.clone() };
        history.events.extend(template.iter().map(later));
    }
    let text = report(&history, &judgement, &told(&history, &judgement), false);
    assert!(text.contains("lines left out"), "{text}");
    assert!(text.lines().count() < 200, "{}", text.lines().count());
}

#[test]
fn the_json_object_has_the_names_that_scripts_read() {
    let history = read("gc-pause");
    let judgement = judge(&history);
    let facts = json::RunFacts { wall_ms: Some(3), ..json::RunFacts::default() };
    let text = json::Report::new(history.header.as_ref(), &facts, &judgement).to_text();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value.get("read_lease").is_none() && value["metrics"].get("reads_answered").is_none(), "nothing was read");
    assert_eq!((&value["schema"], &value["verdict"], &value["seed"]), (&1.into(), &"pass".into(), &42.into()));
    for field in ["scenario", "protocol", "fencing", "plan_digest", "trace_hash", "events", "simulated_ms", "wall_ms"] {
        assert!(value.get(field).is_some(), "{field}");
    }
    for field in ["name", "holds", "could_fail", "detail"] {
        assert!(value["invariants"][0].get(field).is_some(), "{field}");
    }
    for field in ["writes_unknown", "failover_ms", "handoff_intent_gap_ms", "dark_ms", "dual_belief_ms", "messages"] {
        assert!(value["metrics"].get(field).is_some(), "{field}");
    }
}
