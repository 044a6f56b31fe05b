//! The core by itself: a single server under direct inputs, fleets on random schedules, and the paper's measurement.

mod figure;
mod server;

use super::{drill::timings, *};
use crate::{
    election::Timings,
    types::{MILLISECOND, SECOND},
};

/// Server 0 of several, and its writes.
pub(super) struct Server {
    pub(super) core: RaftCore,
    pub(super) now: u64,
    /// The disk's content, and the write under way.
    pub(super) disk: Option<Vec<u8>>,
    pub(super) writing: Option<Vec<u8>>,
    pub(super) timer: Option<u64>,
}

pub(super) fn setup(node: u16, count: u16, rules: Rules, stored: Option<Vec<u8>>) -> Setup {
    let names = (1..=count).map(|number| format!("n{number}")).collect();
    Setup {
        group: 0,
        seat: None,
        node: NodeId(node),
        names,
        timings: timings(rules),
        nonce: 7,
        stored,
        service: Vec::new(),
        bugs: Default::default(),
    }
}

pub(super) fn state(term: Term, voted: Option<u16>, log: &[Term]) -> Durable {
    Durable { term, voted: voted.map(NodeId), log: log.into() }
}

impl Server {
    /// Starts server 0 of three with this disk.
    pub(super) fn start(rules: Rules, stored: Option<Durable>) -> Self {
        let disk = stored.map(|state| state.encode());
        let core = RaftCore::new(setup(0, 3, rules, disk.clone()));
        let mut server = Server { core, now: SECOND, disk, writing: None, timer: None };
        server.step(Input::Start);
        server
    }

    /// Takes one input; a write stays under way.
    pub(super) fn step_only(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.core.step(Now { mono: self.now, wall: 0 }, input, &mut out);
        for output in &out {
            match output {
                Output::Persist(bytes) => {
                    assert!(self.writing.is_none(), "two writes at once");
                    self.writing = Some(bytes.clone());
                }
                Output::SetTimer { id, at } => {
                    assert_eq!(*id, DUE);
                    self.timer = Some(*at);
                }
                Output::CancelTimer(_) => self.timer = None,
                _ => {}
            }
        }
        out
    }

    /// Takes one input; a write completes at once.
    pub(super) fn step(&mut self, input: Input) -> Vec<Output> {
        let mut out = self.step_only(input);
        while let Some(bytes) = self.writing.take() {
            self.disk = Some(bytes);
            out.extend(self.step_only(Input::Persisted));
        }
        out
    }

    /// Lets `by` nanoseconds pass, firing timers on the way.
    pub(super) fn pass(&mut self, by: u64) -> Vec<Output> {
        let until = self.now + by;
        let mut out = Vec::new();
        while let Some(at) = self.timer.filter(|at| *at <= until) {
            self.timer = None;
            self.now = self.now.max(at);
            out.extend(self.step(Input::Timer(DUE)));
        }
        self.now = until;
        out
    }

    pub(super) fn hear(&mut self, from: u16, message: Message) -> Vec<Output> {
        self.step(Input::Peer { from: NodeId(from), message })
    }

    /// A heartbeat of a leader whose log is empty.
    pub(super) fn heartbeat(&mut self, from: u16, term: Term) -> Vec<Output> {
        let (prev_index, prev_term, entries, commit, sent) = (0, 0, Vec::new(), 0, 0);
        self.hear(from, Message::AppendEntries { term, prev_index, prev_term, entries, commit, sent })
    }

    /// Whether it grants `from` its vote.
    pub(super) fn asked_for(&mut self, from: u16, term: Term, last: (Term, Index), pre_vote: bool) -> bool {
        let (last_term, last_index) = last;
        let ask = Message::RequestVote { term, pre_vote, transfer: false, last_index, last_term };
        let out = self.hear(from, ask);
        let answer = said_to(&out, from).into_iter().find_map(|message| match message {
            Message::Vote { granted, pre_vote: to, .. } if to == pre_vote => Some(granted),
            _ => None,
        });
        answer.expect("an answer")
    }

    /// Wins the election of the next term, with the vote of server 1.
    pub(super) fn win(&mut self) -> Vec<Output> {
        while !matches!(self.core.role, Role::Candidate(_) | Role::PreCandidate(_)) {
            self.pass(10 * MILLISECOND);
        }
        if matches!(self.core.role, Role::PreCandidate(_)) {
            let term = self.core.state.term + 1;
            self.hear(1, Message::Vote { term, pre_vote: true, granted: true });
        }
        let term = self.core.state.term;
        self.hear(1, Message::Vote { term, pre_vote: false, granted: true })
    }

    /// Server `from` has the leader's whole log, and acknowledges what was sent at `sent`.
    pub(super) fn acknowledged(&mut self, from: u16, sent: u64) -> Vec<Output> {
        let (term, index) = (self.core.state.term, self.core.state.last_index());
        self.hear(from, Message::Appended { term, success: true, index, sent })
    }
}

/// The messages for a server.
pub(super) fn said_to(out: &[Output], to: u16) -> Vec<Message> {
    let said = out.iter().filter_map(|output| match output {
        Output::Send { to: receiver, message } if *receiver == NodeId(to) => Some(message.clone()),
        _ => None,
    });
    said.collect()
}

pub(super) fn elected(out: &[Output]) -> Option<Leadership> {
    out.iter().find_map(|output| match output {
        Output::Elected(leadership) => Some(*leadership),
        _ => None,
    })
}

pub(super) fn deposed(out: &[Output]) -> Option<Deposed> {
    out.iter().find_map(|output| match output {
        Output::Deposed(why) => Some(*why),
        _ => None,
    })
}

pub(super) const PAPER: Rules =
    Rules { pre_vote: false, check_quorum: false, leader_lease: false, manner: Manner::Paper };

#[test]
fn it_is_in_the_registry() {
    assert!(crate::election::find("raft-core").is_some_and(|p| p.name == PROTOCOL.name && p.tokened));
}
