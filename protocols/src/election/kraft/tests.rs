//! The core by itself: a single voter under direct inputs, and fleets on random schedules.

mod disk;
mod leader;
mod schedules;
mod voter;

use super::*;
use crate::election::kraft;

/// One voter of a fleet of `count`, and its messages since they were last taken.
pub(super) struct Voter {
    pub(super) core: Kraft,
    pub(super) now: u64,
    /// The disk's content, and the write under way.
    pub(super) disk: Option<Vec<u8>>,
    pub(super) writing: Option<Vec<u8>>,
    pub(super) timer: Option<u64>,
}

/// Kafka's defaults.
pub(super) fn setup(node: u16, count: u16, nonce: u64, stored: Option<Vec<u8>>) -> Setup {
    let timings = super::drill::timings();
    let names = (1..=count).map(|number| format!("n{number}")).collect();
    Setup {
        group: 0,
        seat: None,
        node: NodeId(node),
        names,
        timings,
        nonce,
        stored,
        service: Vec::new(),
        bugs: Default::default(),
    }
}

pub(super) fn state(epoch: Epoch, voted: Option<u16>, leader: Option<u16>, log: &[Epoch]) -> Durable {
    Durable { epoch, voted: voted.map(NodeId), leader: leader.map(NodeId), log: log.to_vec() }
}

impl Voter {
    /// Starts node 0 of three with this disk.
    pub(super) fn start(stored: Option<Durable>) -> (Self, Vec<Output>) {
        let disk = stored.map(|state| state.encode());
        let core = Kraft::new(setup(0, 3, 7, disk.clone()));
        let mut voter = Voter { core, now: SECOND, disk, writing: None, timer: None };
        let out = voter.step(Input::Start);
        (voter, out)
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

    /// Sends a request; returns the response, if any.
    pub(super) fn asked(&mut self, from: u16, epoch: Epoch, ask: Ask) -> Option<Message> {
        let out = self.hear(from, Message::Request { correlation: 77, epoch, ask });
        let mut said = said_to(&out, from).into_iter();
        said.find(|message| matches!(message, Message::Response { correlation: 77, .. }))
    }

    /// Answers the last request to `from` in `said`.
    pub(super) fn answered(
        &mut self,
        said: &[Output],
        from: u16,
        epoch: Epoch,
        leader: Option<u16>,
        result: Result<Answer, Refusal>,
    ) -> Vec<Output> {
        let asked = said_to(said, from).into_iter().rev().find_map(|message| match message {
            Message::Request { correlation, .. } => Some(correlation),
            Message::Response { .. } => None,
        });
        let correlation = asked.expect("it was asked");
        self.hear(from, Message::Response { correlation, epoch, leader: leader.map(NodeId), result })
    }

    /// Becomes the leader of epoch `epoch + 1`, from whatever role; its leader change is not committed yet.
    pub(super) fn win(&mut self) -> Vec<Output> {
        let epoch = self.core.state.epoch;
        let mut said = Vec::new();
        while !matches!(self.core.role, Role::Prospective(_)) {
            said = self.pass(100 * MILLISECOND);
        }
        let granted = Ok(Answer::Vote { granted: true });
        let said = self.answered(&said, 1, epoch, None, granted);
        self.answered(&said, 1, epoch + 1, None, granted)
    }

    /// A fetch of a follower that has this voter's whole log.
    pub(super) fn fetched(&mut self, from: u16) -> Vec<Output> {
        let state = &self.core.state;
        let (epoch, ask) = (state.epoch, state.fetch(self.core.high_watermark));
        let correlation = (self.now / MILLISECOND) as u32;
        self.hear(from, Message::Request { correlation, epoch, ask })
    }
}

/// The messages for a voter.
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

pub(super) fn vote(pre_vote: bool, last_epoch: Epoch, end_offset: Offset) -> Ask {
    Ask::Vote { pre_vote, last_epoch, end_offset }
}

pub(super) fn granted(response: Option<Message>) -> bool {
    match response {
        Some(Message::Response { result: Ok(Answer::Vote { granted }), .. }) => granted,
        other => panic!("no answer to a vote: {other:?}"),
    }
}

#[test]
fn it_is_in_the_registry() {
    assert!(crate::election::find("kraft").is_some_and(|p| p.name == kraft::PROTOCOL.name && p.tokened));
}
