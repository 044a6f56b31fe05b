//! The law about nodes left behind in the queue. A run breaks it only if seven connections in a row are lost before the
//! outcome of one creation is known. Sweeps run [`drill`].

use super::{
    PROTOCOL,
    latch::{Counting, Latch},
};
use crate::{
    clock::Now,
    election::{Setup, zookeeper::curator::RETRY},
    elector::{self, Elector, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    service::zookeeper::{Api, Item, Op, Reply, Request, Stat},
    types::{NodeId, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// How many requests go unanswered before a creation is given up: the creation itself, and the question about its
/// outcome, asked three times, with two, one and no retries.
const UNANSWERED: usize = 1 + 3 + 2 + 1;

/// A node is created, but its creator does not learn of it before giving up. The session lives on, and with it the
/// node, which would precede its creator's next node in the queue for as long as the session lasts.
///
/// # Panics
/// If the earlier node is not deleted.
pub fn drill() {
    let (timings, names) = (PROTOCOL.default_timings(), vec!["n1".to_owned()]);
    let (service, bugs, stored) = (Vec::new(), Default::default(), None);
    let setup = Setup { node: NodeId(0), group: 0, seat: None, names, timings, nonce: 1, stored, service, bugs };
    let mut candidate = Candidate { latch: Latch::new(setup, Counting::Nothing), at: SECOND, asked: Vec::new() };
    candidate.step(Input::Start);
    candidate.item(Item::Connected { session: 7, timeout_ms: 10_000 });
    let before = candidate.created(0);
    for _ in 0..UNANSWERED {
        candidate.item(Item::Disconnected);
        candidate.replied(Err(Failure::Unknown("the connection is lost".to_owned())));
        candidate.item(Item::Connected { session: 7, timeout_ms: 10_000 });
        candidate.at += 20 * SECOND;
        candidate.step(Input::Timer(RETRY));
    }
    let stat = Stat::default();
    candidate.replied(Ok(Reply::Children { names: vec![before.clone()], stat }));
    let own = candidate.created(1);
    candidate.replied(Ok(Reply::Created { path: format!("/{own}") }));
    candidate.replied(Ok(Reply::Children { names: vec![before.clone(), own], stat }));
    let deletes =
        |request: &Request| matches!(request, Request::Write(Op::Delete { path, .. }) if path.ends_with(&before));
    let deleted = candidate.asked.iter().any(|(_, request)| deletes(request));
    assert!(deleted, "a candidate that has given its node's creation up leaves the node in the queue");
}

struct Candidate {
    latch: Latch,
    at: u64,
    /// The requests of the last step.
    asked: Vec<(RequestNumber, Request)>,
}

impl Candidate {
    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.latch.step(Now { mono: self.at, wall: self.at }, input, &mut out);
        let asked = |output| match output {
            Output::Service(ServiceOutput::Request { number, request, .. }) => Some((number, request)),
            _ => None,
        };
        let asked: Vec<_> = out.into_iter().filter_map(asked).collect();
        self.asked = if asked.is_empty() { std::mem::take(&mut self.asked) } else { asked };
    }

    fn item(&mut self, item: Item) {
        self.step(Input::Service(ServiceInput::Item { number: 1, item }));
    }

    /// Answers the last request.
    fn replied(&mut self, reply: Result<Reply, Failure>) {
        let (number, _) = self.asked.last().expect("it asks something");
        self.step(Input::Service(ServiceInput::Reply { number: *number, reply }));
    }

    /// The node that it wants to create, with that number in the queue.
    fn created(&self, number: u32) -> String {
        let path = self.asked.iter().find_map(|(_, request)| match request {
            Request::Write(Op::Create { path, .. }) => path.rsplit('/').next(),
            _ => None,
        });
        format!("{}{number:010}", path.expect("it enters the queue, and enters it anew after it has given up"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_left_in_the_queue() {
        super::drill();
    }
}
