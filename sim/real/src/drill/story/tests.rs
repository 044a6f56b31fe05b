//! Histories of drills, judged.

use super::*;
use crate::drill::{fill::Command, scenario::Scenario};
use std::{path::PathBuf, time::Duration};

fn file(store: Store) -> File {
    let fleet = crate::drill::file::Fleet {
        members: 3,
        command: Command::new(vec!["x".to_owned()]).expect("a word"),
        environment: BTreeMap::new(),
        setup: None,
        lease: Duration::from_secs(5),
        within: Duration::from_secs(30),
    };
    let log = crate::drill::file::LogWords::default();
    File { folder: PathBuf::new(), name: "billing".to_owned(), fleet, service: None, store, log, load: None }
}

fn at(seconds: f64, note: Note) -> Noted {
    Noted { t_us: (seconds * 1e6) as u64, note }
}

fn elected(member: usize) -> Note {
    Note::Said(member, Said::Elected(None))
}

fn wrote(member: usize) -> Note {
    Note::Row { member: Some(member), accepted: true, token: None }
}

fn told(store: Store, scenario: Scenario, noted: Vec<Noted>) -> (Header, Vec<Event>, Noticed) {
    let (file, plan) = (file(store), Plan::draw(scenario, 0));
    let names = ["n1", "n2", "n3"].map(str::to_owned).to_vec();
    let facts = Facts { file: &file, plan: &plan, names, start_us: 0 };
    history(&facts, noted, false)
}

/// Each write's leadership, by node and generation.
fn writes(events: &[Event]) -> Vec<(u16, u32)> {
    let of = |event: &Event| match &event.kind {
        Kind::Apply { node, write, .. } => Some((node.0, write.generation)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

fn http() -> Store {
    Store::Http { fence: false }
}

#[test]
fn a_stale_leader_s_write_stays_its_own() {
    let noted = vec![
        at(1.0, elected(0)),
        at(2.0, wrote(0)),
        at(8.0, elected(1)),
        at(9.0, wrote(1)),
        // It says again that it leads, as one that was paused and believes it still does.
        at(10.0, elected(0)),
        at(10.1, wrote(0)),
        at(10.2, Note::Said(0, Said::Deposed)),
        at(11.0, elected(0)),
        at(11.1, wrote(0)),
    ];
    let (header, events, notes) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1), (1, 1), (0, 1), (0, 2)]);
    assert!(!header.tokened && notes == Noticed::default());
    let elections = events.iter().filter(|event| matches!(event.kind, Kind::Elected(_))).count();
    assert_eq!(elections, 3);
}

#[test]
fn a_write_just_before_its_leader_was_heard_is_that_leader_s_but_not_of_one_that_still_led() {
    let noted = vec![
        at(1.0, wrote(0)),
        at(1.2, elected(0)),
        at(3.0, Note::Said(0, Said::Deposed)),
        // Long before the next election, and so of the former leadership.
        at(4.0, wrote(0)),
        at(7.9, wrote(0)),
        at(8.0, elected(0)),
    ];
    let (_, events, _) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1), (0, 1), (0, 2)]);
    let place = |wanted: fn(&Kind) -> bool| events.iter().position(|event| wanted(&event.kind)).expect("an event");
    assert!(place(|kind| matches!(kind, Kind::Elected(_))) < place(|kind| matches!(kind, Kind::Apply { .. })));
}

#[test]
fn tokens_come_from_the_line_or_from_the_first_write() {
    let store =
        Store::Postgres { address: None, table: "jobs".to_owned(), token: Some("token".to_owned()), schema: None };
    let wrote = |member, token| Note::Row { member: Some(member), accepted: true, token: Some(token) };
    let noted = vec![
        at(1.0, Note::Said(0, Said::Elected(Some(7)))),
        at(2.0, wrote(0, 7)),
        at(8.0, elected(1)),
        at(9.0, wrote(1, 8)),
        at(10.0, Note::NotTaken(0)),
        at(11.0, elected(2)),
    ];
    let (header, events, _) = told(store, Scenario::GcPause, noted);
    assert!(header.tokened);
    let tokens = |event: &Event| match &event.kind {
        Kind::Elected(incarnation) => Some((incarnation.node.0, incarnation.token)),
        Kind::Apply { node, write, verdict, .. } => {
            Some((node.0 + if *verdict == WriteVerdict::Ok { 10 } else { 20 }, write.token))
        }
        _ => None,
    };
    let said: Vec<(u16, u64)> = events.iter().filter_map(tokens).collect();
    assert_eq!(said, [(0, 7), (10, 7), (1, 8), (11, 8), (20, 7)], "of the third nobody knows the token");
}

#[test]
fn tokens_that_count_from_zero_are_raised() {
    let wrote = |member, token| Note::Row { member: Some(member), accepted: true, token: Some(token) };
    let noted = vec![at(1.0, elected(0)), at(2.0, wrote(0, 0)), at(3.0, elected(1)), at(4.0, wrote(1, 1))];
    let (_, events, noticed) = told(http(), Scenario::Steady, noted);
    let tokens: Vec<u64> = events
        .iter()
        .filter_map(|event| match &event.kind {
            Kind::Apply { write, .. } => Some(write.token),
            _ => None,
        })
        .collect();
    assert_eq!(tokens, [1, 2]);
    assert!(noticed.note.is_some());
}

#[test]
fn writes_of_strangers_and_of_members_that_never_led_are_told() {
    let stranger = Note::Row { member: None, accepted: true, token: None };
    let (_, events, noticed) = told(http(), Scenario::Steady, vec![at(1.0, stranger), at(2.0, wrote(2))]);
    assert_eq!(writes(&events), [(2, 0)]);
    assert!(noticed.doubt.is_some_and(|doubt| doubt.starts_with("1 writes came from no member's connection")));
    let (_, _, noticed) = told(http(), Scenario::Steady, vec![at(2.0, wrote(2))]);
    assert!(noticed.doubt.is_some_and(|doubt| doubt.contains("had never said that they lead")));
}
