//! Histories of drills, judged.

use super::*;
use crate::drill::{file::Store, fill::Command, scenario::Scenario};
use std::{path::PathBuf, time::Duration};

fn file(store: Store) -> File {
    let fleet = crate::drill::file::Fleet {
        members: 3,
        image: None,
        command: Command::new(vec!["x".to_owned()]),
        environment: BTreeMap::new(),
        setup: None,
        lease: Duration::from_secs(5),
        within: Duration::from_secs(30),
        ready: None,
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
    Note::Row { member: Some(member), accepted: true }
}

fn told(store: Store, scenario: Scenario, noted: Vec<Noted>) -> (Header, Vec<Event>, Option<String>) {
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
    let (_, events, doubt) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1), (1, 1), (0, 1), (0, 2)]);
    assert_eq!(doubt, None);
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
        at(8.7, elected(0)),
    ];
    let (_, events, _) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1), (0, 1), (0, 2)]);
    let place = |wanted: fn(&Kind) -> bool| events.iter().position(|event| wanted(&event.kind)).expect("an event");
    assert!(place(|kind| matches!(kind, Kind::Elected(_))) < place(|kind| matches!(kind, Kind::Apply { .. })));
}

#[test]
fn a_write_after_stopping_is_stale_while_another_leads_however_soon_its_writer_is_elected_again() {
    let noted = vec![
        at(1.0, elected(0)),
        at(1.1, wrote(0)),
        at(2.0, Note::Said(0, Said::Deposed)),
        at(2.1, elected(1)),
        at(2.2, wrote(1)),
        at(2.3, wrote(0)),
        at(2.4, Note::Said(1, Said::Deposed)),
        at(2.5, elected(0)),
    ];
    let (_, events, _) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1), (1, 1), (0, 1)]);
}

#[test]
fn a_leader_that_was_not_heard_before_the_end_is_left_out() {
    let mut noted =
        vec![at(1.0, elected(0)), at(1.1, wrote(0)), at(2.0, Note::Said(0, Said::Deposed)), at(3.0, wrote(0))];
    noted.push(at(4.5, Note::End));
    let (_, events, doubt) = told(http(), Scenario::Steady, noted);
    assert_eq!(writes(&events), [(0, 1)]);
    assert!(doubt.is_some_and(|doubt| doubt.starts_with("1 writes came at the end")));
}

#[test]
fn writes_of_strangers_and_of_members_that_never_led_are_told() {
    let stranger = Note::Row { member: None, accepted: true };
    let end = || at(9.0, Note::End);
    let (_, events, doubt) = told(http(), Scenario::Steady, vec![at(1.0, stranger), at(2.0, wrote(2)), end()]);
    assert_eq!(writes(&events), [(2, 0)]);
    assert!(doubt.is_some_and(|doubt| doubt.starts_with("1 writes came from no member's connection")));
    let (_, _, doubt) = told(http(), Scenario::Steady, vec![at(2.0, wrote(2)), end()]);
    assert!(doubt.is_some_and(|doubt| doubt.contains("had never said that they lead")));
}
