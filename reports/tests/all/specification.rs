//! The specification against the invariants: every history of a few events from a small alphabet, and the known ones.

use protocols::{
    elector::Deposed,
    history::{Event, Header, Kind, Sink},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Resource},
};
use reports::{
    Judge, Judgement, Judges, Verdict,
    invariant::{Class, Ending, Entry, Finding, Invariant, Kinds, vacuity},
    known::{self, History},
    specification::Rule,
};
use std::collections::BTreeMap;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// An event of the alphabet. Versions and numbers follow from what came before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Letter {
    Grant(Incarnation),
    Elected(Incarnation),
    Deposed(Incarnation),
    Sealed(Incarnation),
    Issued(Incarnation),
    Applied(Incarnation),
    /// A write built on the version before the resource's.
    AppliedOnOld(Incarnation),
    Fenced(Incarnation, u64),
    /// A write that was applied before.
    Repeated(Incarnation),
}

fn leadership(token: u64, node: NodeId, generation: u32) -> Incarnation {
    Incarnation { token, node, generation }
}

fn event(place: usize, letter: Letter, version: &mut u64) -> Event {
    let write = |by: Incarnation, read_version| Write {
        resource: Resource::SEQUENCE,
        operation: Operation::Record,
        generation: by.generation,
        token: by.token,
        seq: place as u64 + 1,
        read_version,
        client: NodeId(4),
        number: place as u64 + 1,
        payload: None,
    };
    let was = *version;
    if matches!(letter, Letter::Applied(_) | Letter::AppliedOnOld(_)) {
        *version += 1;
    }
    let applied = |by: Incarnation, read| {
        let (write, verdict) = (write(by, read), WriteVerdict::Ok);
        Kind::Apply { node: by.node, write, verdict, version: was + 1 }
    };
    let kind = match letter {
        Letter::Grant(by) => Kind::Grant { node: by.node, token: by.fencing_token() },
        Letter::Elected(by) => Kind::Elected(by),
        Letter::Deposed(by) => Kind::Deposed { incarnation: by, reason: Deposed::Lost },
        Letter::Sealed(incarnation) => Kind::Seal {
            resource: Resource::SEQUENCE,
            incarnation,
            accepted: true,
            seq: place as u64,
            version: was,
            payload: None,
        },
        Letter::Issued(by) => Kind::Issue { node: by.node, write: write(by, was) },
        Letter::Applied(by) => applied(by, was),
        Letter::AppliedOnOld(by) => applied(by, was - 1),
        Letter::Repeated(by) => Kind::Apply {
            node: by.node,
            write: write(by, was),
            verdict: WriteVerdict::Duplicate { seq: 1 },
            version: was,
        },
        Letter::Fenced(by, highest) => Kind::Apply {
            node: by.node,
            write: write(by, was),
            verdict: WriteVerdict::Fenced { highest },
            version: was,
        },
    };
    Event { t_us: 1_000 * (place as u64 + 1), group: 0, kind }
}

#[derive(Default)]
struct Tally {
    histories: u64,
    met: u64,
    broken: BTreeMap<Rule, u64>,
}

impl Tally {
    /// Judges one history; returns whether it meets the specification.
    fn judge(&mut self, header: Option<&Header>, word: &[Letter]) -> bool {
        let (mut judge, mut version) = (Judge::new(header), 1);
        word.iter().enumerate().for_each(|(place, letter)| judge.record(&event(place, *letter, &mut version)));
        let specified = judge.finish().specified;
        assert_eq!(specified.contradiction, None, "{word:?}");
        self.histories += 1;
        match &specified.broken {
            Some(broken) => *self.broken.entry(broken.rule).or_default() += 1,
            None => self.met += 1,
        }
        specified.broken.is_none()
    }
}

/// Judges every history of up to `longest` letters; one that breaks the specification is not continued.
fn judge_all(header: Option<&Header>, letters: &[Letter], longest: usize, word: &mut Vec<Letter>, tally: &mut Tally) {
    for letter in letters {
        word.push(*letter);
        if tally.judge(header, word) && word.len() < longest {
            judge_all(header, letters, longest, word, tally);
        }
        word.pop();
    }
}

fn header(tokened: bool) -> Header {
    let known = known::ALL.iter().find(|known| known.name == "gc-pause-unfenced").expect("it is in the list");
    let header = History::parse(known.text.as_bytes()).expect("it can be read").header.expect("it has one");
    Header { tokened, requires: Vec::new(), ..header }
}

#[test]
fn every_short_history_is_judged_as_specified() {
    let [first, second] = [leadership(1, A, 1), leadership(2, B, 1)];
    let letters = [
        Letter::Grant(first),
        Letter::Grant(second),
        Letter::Elected(first),
        Letter::Elected(second),
        Letter::Elected(leadership(1, B, 1)),
        Letter::Deposed(first),
        Letter::Sealed(first),
        Letter::Sealed(second),
        Letter::Issued(first),
        Letter::Applied(first),
        Letter::Applied(second),
        Letter::AppliedOnOld(second),
        Letter::Fenced(first, 2),
    ];
    for header in [Some(header(true)), None] {
        let mut tally = Tally::default();
        judge_all(header.as_ref(), &letters, 4, &mut Vec::new(), &mut tally);
        // A log does not show what was sent.
        let rules = if header.is_some() { Rule::ALL.len() } else { 5 };
        assert_eq!(tally.broken.len(), rules, "each condition is broken by some history: {:?}", tally.broken);
        assert!(tally.met > 2_000 && tally.histories > tally.met, "{} of {}", tally.met, tally.histories);
    }
}

#[test]
fn so_is_every_hand_over_with_two_more_events() {
    let [first, second] = [leadership(1, A, 1), leadership(2, B, 1)];
    let term =
        |by| [Letter::Grant(by), Letter::Elected(by), Letter::Sealed(by), Letter::Issued(by), Letter::Applied(by)];
    let whole: Vec<Letter> = term(first).into_iter().chain(term(second)).collect();
    let more = [
        Letter::Deposed(first),
        Letter::Sealed(first),
        Letter::Issued(first),
        Letter::Applied(first),
        Letter::Applied(second),
        Letter::AppliedOnOld(second),
        Letter::Fenced(first, 2),
        Letter::Elected(leadership(1, B, 1)),
    ];
    let put = |word: &[Letter], letter, place| [&word[..place], &[letter], &word[place..]].concat();
    for header in [Some(header(true)), None] {
        let mut tally = Tally::default();
        assert!(tally.judge(header.as_ref(), &whole), "a hand-over is as specified");
        for one in more {
            for place in 0..=whole.len() {
                let word = put(&whole, one, place);
                tally.judge(header.as_ref(), &word);
                for other in more {
                    for later in place + 1..=word.len() {
                        tally.judge(header.as_ref(), &put(&word, other, later));
                    }
                }
            }
        }
        assert!(tally.met > 300 && tally.histories > 4_000, "{} of {}", tally.met, tally.histories);
        assert!(tally.broken.contains_key(&Rule::NotOlder) && tally.broken.contains_key(&Rule::BuiltOn));
    }
}

#[test]
fn so_is_every_one_without_tokens() {
    let [first, again, second] = [leadership(0, A, 1), leadership(0, A, 2), leadership(0, B, 1)];
    let each = |by| [Letter::Elected(by), Letter::Deposed(by), Letter::Sealed(by), Letter::Applied(by)];
    let mut letters: Vec<Letter> = [first, second].into_iter().flat_map(each).collect();
    letters.push(Letter::Applied(again));
    for header in [Some(header(false)), None] {
        let mut tally = Tally::default();
        judge_all(header.as_ref(), &letters, 4, &mut Vec::new(), &mut tally);
        assert!(tally.broken.contains_key(&Rule::NotOlder) && tally.met > 2_000, "{:?}", tally.broken);
    }
}

#[test]
fn so_is_every_log_in_which_some_writes_name_no_leadership() {
    let [first, second] = [leadership(1, A, 1), leadership(2, B, 1)];
    let [nobody, zero, untokened] = [0, Incarnation::TOKEN_IS_ZERO, 1].map(|generation| leadership(0, B, generation));
    let letters = [
        Letter::Applied(first),
        Letter::Applied(second),
        Letter::Applied(nobody),
        Letter::Applied(zero),
        Letter::Applied(untokened),
        Letter::AppliedOnOld(nobody),
        Letter::Sealed(nobody),
        Letter::Sealed(zero),
        Letter::Elected(nobody),
        Letter::Fenced(nobody, 2),
        Letter::Fenced(zero, 1),
        Letter::Repeated(first),
    ];
    let mut tally = Tally::default();
    judge_all(None, &letters, 4, &mut Vec::new(), &mut tally);
    assert!(tally.broken.contains_key(&Rule::NotOlder) && tally.broken.contains_key(&Rule::BuiltOn));
    assert!(tally.met > 2_000, "{} of {}", tally.met, tally.histories);
}

/// An invariant that has an answer before it looks.
struct Fixed(bool);

impl Invariant for Fixed {
    fn wants(&self) -> Kinds {
        Kinds::NONE
    }

    fn observe(&mut self, _: &Event) {}

    fn finish(&mut self, _: &Ending) -> Finding {
        Finding { holds: self.0, could_fail: true, detail: "fixed".into() }
    }
}

const fn fixed(name: &'static str, new: fn(Option<&Header>) -> Box<dyn Invariant>) -> Entry {
    Entry { name, about: "", class: Class::Safety, only_defects: false, new }
}

static BLIND: [Entry; 3] = [
    fixed("no_stale_write", |_| Box::new(Fixed(true))),
    fixed("tokens_monotone", |_| Box::new(Fixed(true))),
    fixed("leaders_acting_by_effect", |_| Box::new(Fixed(true))),
];
static CRIES_WOLF: Entry = fixed("read_version", |_| Box::new(Fixed(false)));

fn judged(name: &str, invariants: &[&'static Entry]) -> Judgement {
    let known = known::ALL.iter().find(|known| known.name == name).expect("it is in the list");
    let history = History::parse(known.text.as_bytes()).expect("it can be read");
    let mut judges = Judges::by(invariants, history.header.as_ref());
    history.events.iter().for_each(|event| judges.record(event));
    judges.finish_with(&history.names)
}

#[test]
fn a_judge_that_sees_nothing_passes_nothing_that_is_not_specified() {
    let blind: Vec<&'static Entry> = BLIND.iter().chain([&vacuity::ENTRY]).collect();
    // In the other group of the first, all is well and the situation arises.
    for name in ["groups-bad", "gc-pause-unfenced", "tokens_monotone-bad-lower"] {
        let judgement = judged(name, &blind);
        assert_eq!(judgement.verdict, Verdict::Vacuous, "{name}");
        let contradiction = judgement.specified.contradiction.as_deref();
        assert!(contradiction.is_some_and(|why| why.contains("no_stale_write")), "{name}: {contradiction:?}");
    }
    let good = judged("groups-ok", &blind);
    assert_eq!((good.verdict, good.specified.contradiction), (Verdict::Pass, None));
}

#[test]
fn a_judge_that_cries_wolf_is_contradicted() {
    let judgement = judged("groups-ok", &[&CRIES_WOLF, &vacuity::ENTRY]);
    assert_eq!(judgement.verdict, Verdict::Safety);
    assert!(judgement.specified.contradiction.is_some_and(|why| why.starts_with("read_version was violated")));
}

#[test]
fn known_histories_are_judged_as_specified() {
    let mut broken = 0;
    for known in known::ALL {
        let judgement = known.judge().expect("it can be read");
        let groups = judgement.groups.iter().chain([&judgement]);
        for specified in groups.map(|group| &group.specified) {
            assert_eq!(specified.contradiction, None, "{}", known.name);
            broken += u64::from(specified.broken.is_some());
        }
    }
    assert!(broken > 20, "{broken}");
}

#[test]
fn the_page_has_every_condition() {
    let page = include_str!("../../../docs/specification.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for rule in Rule::ALL {
        assert!(page.contains(rule.condition()), "{}", rule.condition());
    }
}
