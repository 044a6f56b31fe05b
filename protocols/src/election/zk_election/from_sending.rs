//! `zk-election-from-sending`: LeaderLatch as `fencepost-seat` runs it, with a belief that ends before the session.
//!
//! **Where it comes from.** The queue, its nodes and the client are those of `zk-election`, so both kinds of candidates
//! can stand in one queue. What differs: the candidate in front leads, and goes on leading, by *rounds*. A round makes
//! the connected member catch up with the ensemble's leader (`sync`), and then reads the candidate's node. The belief
//! lasts for two thirds of the granted session timeout after the last round that was answered was *sent*, whatever the
//! client reports: pings are answered by a member alone, even by one that is cut off from the ensemble. A lost
//! connection ends nothing by itself, since the session lives on; a round that stays unanswered moves the session to
//! another connection.
//!
//! **What it assumes about time.** For a unique *belief*: that a node's monotonic clock is not slower than the server's
//! by more than the margin that its user leaves, and that a tick is no longer than a third of the session timeout:
//! every half tick, members tell the ensemble's leader which sessions they have heard from. For safety nothing, as with
//! `zk-election`.
//!
//! **What breaks it.** A pause longer than that, between a check of the belief and the write: the resource refuses the
//! write by its token. Whoever deletes the leader's node lets the next one in at once, while the leader believes until
//! its next round.
//!
//! `--protocol` takes it by name; sweeps of all protocols leave it out, as for `etcd-election-from-sending`.

use super::latch::{Counting, Latch};
use crate::{
    election::{Conditions, Promise, Protocol, hazard},
    elector::boxed,
    service::zookeeper::granted,
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "zk-election-from-sending",
    about: "LeaderLatch with a belief that counts from when a round was sent to the ensemble, and so ends before the session",
    // Within a lease there is time for a second round after one that has failed.
    renew_interval: |timeout| timeout / 6,
    read_lease: Some(|timings| (granted(timings.lease_ttl) / 3 * 2, granted(timings.lease_ttl))),
    elector: |setup| boxed(Latch::new(setup, Counting::FromSending)),
    promise: |hazard, fencing| match hazard {
        hazard::FLAPPING | hazard::MISSING_LINK if !fencing => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE if !fencing => Promise::Holds,
        hazard => (super::PROTOCOL.promise)(hazard, fencing),
    },
    belief_overlap: |timings, conditions| {
        let timeout = granted(timings.lease_ttl);
        // A step of the wall clock does not end a session.
        let session = Conditions { service_ahead: 0, ..*conditions }.service(timeout);
        (!conditions.drops).then(|| conditions.slow(timeout / 3 * 2).saturating_sub(session))
    },
    ..super::PROTOCOL
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Now,
        election::Setup,
        elector::{Deposed, Elector, Input, Output, RequestNumber, ServiceInput, ServiceOutput},
        error::Failure,
        payload::Nothing,
        service::zookeeper::{Api, Item, Op, Reply, Request, Stat},
        types::{Leadership, NodeId, SECOND},
    };

    const SESSION: i64 = 7;
    /// Granted, where 15 s were asked for.
    const TIMEOUT_MS: u32 = 9_000;
    const STAT: Stat = Stat { czxid: 5, mzxid: 5, version: 0, owner: SESSION };

    struct Candidate {
        latch: Latch,
        name: String,
        said: Vec<Output<Nothing, Api>>,
    }

    impl Candidate {
        fn new() -> Self {
            let (timings, names) = (PROTOCOL.default_timings(), vec!["n1".to_owned()]);
            let (service, bugs, stored) = (Vec::new(), Default::default(), None);
            let seat = Some("/services/fencepost/invoices".to_owned());
            let setup = Setup { node: NodeId(0), group: 0, seat, names, timings, nonce: 1, stored, service, bugs };
            let latch = Latch::new(setup, Counting::FromSending);
            Candidate { latch, name: String::new(), said: Vec::new() }
        }

        /// Takes a step at this second, and returns the requests that it makes.
        fn step(&mut self, second: u64, input: Input<Nothing, Api>) -> Vec<(RequestNumber, Request)> {
            let (now, mut out) = (Now { mono: second * SECOND, wall: second * SECOND }, Vec::new());
            self.latch.step(now, input, &mut out);
            let request = |output: &Output<Nothing, Api>| match output {
                Output::Service(ServiceOutput::Request { number, request, .. }) => Some((*number, request.clone())),
                _ => None,
            };
            let asked = out.iter().filter_map(request).collect();
            self.said.extend(out);
            asked
        }

        fn hear(&mut self, second: u64, item: Item) -> Vec<(RequestNumber, Request)> {
            self.step(second, Input::Service(ServiceInput::Item { number: 1, item }))
        }

        fn reply(&mut self, second: u64, number: RequestNumber, reply: Reply) -> Vec<(RequestNumber, Request)> {
            self.step(second, Input::Service(ServiceInput::Reply { number, reply: Ok(reply) }))
        }

        /// What the server says to a request of a candidate that is alone.
        fn answer(&mut self, request: &Request) -> Reply {
            match request {
                Request::Write(Op::Create { path, .. }) => {
                    let path = format!("{path}0000000003");
                    path.rsplit('/').next().unwrap_or_default().clone_into(&mut self.name);
                    Reply::Created { path }
                }
                Request::Children { .. } => Reply::Children { names: vec![self.name.clone()], stat: Stat::default() },
                Request::Get { path, purpose, .. } => {
                    Reply::Data { path: path.clone(), data: b"n1".to_vec(), stat: STAT, purpose: *purpose }
                }
                _ => Reply::Done,
            }
        }

        /// Elects it by a round sent at second 10 and answered at second 11.
        fn elect(&mut self) {
            self.step(10, Input::Start);
            let mut asked = self.hear(10, Item::Connected { session: SESSION, timeout_ms: TIMEOUT_MS });
            while let [(number, request)] = &asked[..] {
                let reply = self.answer(request);
                asked = self.reply(10, *number, reply);
            }
            // The answers may overtake each other.
            self.answer_all(11, asked.into_iter().rev().collect());
        }

        fn answer_all(&mut self, second: u64, asked: Vec<(RequestNumber, Request)>) {
            for (number, request) in asked {
                let reply = self.answer(&request);
                self.reply(second, number, reply);
            }
        }

        fn has_said(&self, output: &Output<Nothing, Api>) -> bool {
            self.said.contains(output)
        }
    }

    #[test]
    fn a_belief_lasts_for_two_thirds_of_what_was_granted_after_the_round_was_sent() {
        let mut candidate = Candidate::new();
        candidate.elect();
        assert!(candidate.name.starts_with("_c_"), "it is in the folder of its seat");
        assert!(candidate.has_said(&Output::Elected(Leadership { token: 5, valid_until: 16 * SECOND })));
        let asked = candidate.step(13, Input::Timer(3));
        candidate.answer_all(15, asked);
        assert!(candidate.has_said(&Output::Renewed(Leadership { token: 5, valid_until: 19 * SECOND })));
    }

    #[test]
    fn a_lost_connection_ends_nothing_and_the_clock_does() {
        let mut candidate = Candidate::new();
        candidate.elect();
        candidate.hear(12, Item::Disconnected);
        assert!(!candidate.said.iter().any(|output| matches!(output, Output::Deposed(_))));
        // It asks as soon as it can.
        let asked = candidate.hear(14, Item::Connected { session: SESSION, timeout_ms: TIMEOUT_MS });
        assert_eq!(asked.len(), 2);
        candidate.hear(15, Item::Disconnected);
        candidate.step(16, Input::Timer(4));
        assert!(candidate.has_said(&Output::Deposed(Deposed::Expired)));
    }

    #[test]
    fn who_leaves_ends_its_session_and_says_so_again_if_the_connection_is_lost() {
        let mut candidate = Candidate::new();
        candidate.elect();
        let asked = candidate.step(12, Input::Withdraw);
        let [(number, Request::CloseSession)] = asked[..] else { panic!("{asked:?}") };
        let lost = Err(Failure::Unknown("connection loss".to_owned()));
        let again = candidate.step(12, Input::Service(ServiceInput::Reply { number, reply: lost }));
        let [(number, Request::CloseSession)] = again[..] else { panic!("{again:?}") };
        assert_eq!(candidate.reply(13, number, Reply::Done), []);
        // It has not asked for anything else.
        assert_eq!(candidate.step(20, Input::Timer(3)), []);
    }
}
