//! `pg-advisory-from-sending`: PostgreSQL's session lock as `fencepost-seat` takes it, with a belief that ends before
//! the server gives the session up.
//!
//! **Where it comes from.** The lock, its session and its statements are those of `pg-advisory`. What differs: the
//! leader believes for one TTL after it has *sent* the last ping that was answered. The session's `tcp_keepalives_*`
//! and `tcp_user_timeout` tell the server's kernel to give the connection up after as much silence, counted from the
//! last packet that arrived (torvalds/linux, `net/ipv4/tcp_timer.c: tcp_keepalive_timer`, `keepalive_time_elapsed`). An
//! idle backend waits for its client's next message, learns of it at once, and releases its locks as it exits
//! (postgres/postgres, `src/backend/tcop/postgres.c: ReadCommand`, `src/backend/storage/lmgr/proc.c: ProcKill`). If the
//! session ends otherwise, and the client is told, the belief ends with it: the client watches its connection.
//!
//! A ping that stays unanswered is not given up while the leader believes: that would close the connection, and the
//! lock would be another's before the work has stopped.
//!
//! **What it assumes about time.** That a node's monotonic clock is not slower than the server's by more than the
//! margin that its user leaves.
//!
//! **What breaks it.** The server ends a session of its own accord, and the client is not told: an operator terminates
//! it, or the server crashes, restarts or fails over, while the client is cut off or the machine has lost its memory of
//! the connection. A standby that is promoted knows no advisory locks, and an old primary that goes on answers pings
//! for ever. There is no token, so the resource cannot tell. A pause of the process breaks nothing: its kernel answers
//! the probes.
//!
//! `--protocol` takes it by name; sweeps of all protocols leave it out, as for `etcd-election-from-sending`.

use super::{Counting, PgAdvisory};
use crate::{
    election::{Protocol, hazard, promise::Promise},
    elector::boxed,
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "pg-advisory-from-sending",
    about: "A session lock with a belief that counts from when a ping was sent, and so ends before a silent session",
    // The server counts silence from the ping's arrival.
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    elector: |setup| boxed(PgAdvisory::new(setup, Counting::FromSending)),
    promise: |hazard, fencing| match hazard {
        hazard::CUT_OFF_FROM_SERVICE => Promise::Holds,
        hazard => (super::PROTOCOL.promise)(hazard, fencing),
    },
    ..super::PROTOCOL
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Now,
        election::Setup,
        elector::{Deposed, Elector, Input, Output, ServiceInput, ServiceOutput},
        error::Failure,
        payload::Nothing,
        service::postgres::{Api, Reply, Request, Watch, seat_key},
        types::{Leadership, NodeId, SECOND},
    };

    type Said = Vec<ServiceOutput<Api>>;

    struct Candidate {
        elector: PgAdvisory,
        outputs: Vec<Output<Nothing, Api>>,
    }

    impl Candidate {
        fn new() -> Self {
            let (timings, names) = (PROTOCOL.default_timings(), vec!["n1".to_owned()]);
            let (service, bugs, stored) = (Vec::new(), Default::default(), None);
            let seat = Some("invoices".to_owned());
            let setup = Setup { node: NodeId(0), group: 0, seat, names, timings, nonce: 1, stored, service, bugs };
            Candidate { elector: PgAdvisory::new(setup, Counting::FromSending), outputs: Vec::new() }
        }

        /// Takes a step at this second, and returns what it says to the client.
        fn step(&mut self, second: u64, input: Input<Nothing, Api>) -> Said {
            let (now, mut out) = (Now { mono: second * SECOND, wall: second * SECOND }, Vec::new());
            self.elector.step(now, input, &mut out);
            let said = out.iter().filter_map(|output| match output {
                Output::Service(said) => Some(said.clone()),
                _ => None,
            });
            let said = said.collect();
            self.outputs.extend(out);
            said
        }

        fn reply(&mut self, second: u64, number: u64, reply: Result<Reply, Failure>) -> Said {
            self.step(second, Input::Service(ServiceInput::Reply { number, reply }))
        }

        /// Asks for the lock at second 10, and gets it, by this session, at second 11.
        fn elect(&mut self) -> u64 {
            let lock = asked(
                &self.step(10, Input::Start),
                &Request::TryLock { key: seat_key("invoices"), who: "n1".to_owned() },
            );
            let said = self.reply(11, lock, Ok(Reply::Session(Some(4))));
            let [ServiceOutput::Open { number, request: Watch { session: 4 } }] = said[..] else { panic!("{said:?}") };
            number
        }

        fn ping(&mut self, second: u64) -> u64 {
            asked(&self.step(second, Input::Timer(1)), &Request::Ping { session: 4 })
        }

        fn said_last(&self, what: impl Fn(&Output<Nothing, Api>) -> bool) -> bool {
            self.outputs.iter().any(what)
        }
    }

    /// The number of the only request, which is this one.
    fn asked(said: &Said, expected: &Request) -> u64 {
        match &said[..] {
            [ServiceOutput::Request { number, request, .. }] if request == expected => *number,
            other => panic!("{other:?} instead of {expected:?}"),
        }
    }

    fn unlock() -> Request {
        Request::Unlock { key: seat_key("invoices"), session: 4 }
    }

    #[test]
    fn a_belief_lasts_for_a_ttl_after_the_request_was_sent() {
        let mut candidate = Candidate::new();
        candidate.elect();
        assert!(candidate.outputs.contains(&Output::Elected(Leadership { token: 0, valid_until: 40 * SECOND })));
        let ping = candidate.ping(20);
        candidate.reply(29, ping, Ok(Reply::Done(true)));
        assert!(candidate.outputs.contains(&Output::Renewed(Leadership { token: 0, valid_until: 50 * SECOND })));
        // Unanswered, the next one changes nothing, and is not given up.
        candidate.ping(30);
        assert_eq!(candidate.step(40, Input::Timer(1)), []);
        candidate.step(50, Input::Timer(2));
        assert!(candidate.outputs.contains(&Output::Deposed(Deposed::Expired)));
    }

    #[test]
    fn an_answer_that_is_as_late_as_the_ttl_is_long_wins_nothing() {
        let mut candidate = Candidate::new();
        let said = candidate.step(10, Input::Start);
        let [ServiceOutput::Request { number, .. }] = said[..] else { panic!("{said:?}") };
        asked(&candidate.reply(40, number, Ok(Reply::Session(Some(4)))), &unlock());
        assert!(!candidate.said_last(|output| matches!(output, Output::Elected(_))));
    }

    #[test]
    fn a_session_that_has_ended_ends_the_belief_at_once() {
        let mut candidate = Candidate::new();
        let watch = candidate.elect();
        let failure = Failure::Rejected("terminated".to_owned());
        let said = candidate.step(12, Input::Service(ServiceInput::Ended { number: watch, failure }));
        assert_eq!(said, [], "there is nothing to unlock");
        assert!(candidate.outputs.contains(&Output::Deposed(Deposed::Lost)));
    }

    #[test]
    fn who_leaves_unlocks_or_gives_up_what_is_under_way_and_asks_for_no_more() {
        let mut leader = Candidate::new();
        let watch = leader.elect();
        let said = leader.step(12, Input::Withdraw);
        assert_eq!(said[0], ServiceOutput::Close(watch));
        let number = asked(&said[1..].to_vec(), &unlock());
        assert_eq!(leader.reply(12, number, Ok(Reply::Done(true))), []);

        let mut pinging = Candidate::new();
        let watch = pinging.elect();
        let ping = pinging.ping(20);
        assert_eq!(pinging.step(21, Input::Withdraw), [ServiceOutput::Close(watch), ServiceOutput::Cancel(ping)]);

        let mut asking = Candidate::new();
        let said = asking.step(10, Input::Start);
        let [ServiceOutput::Request { number, .. }] = said[..] else { panic!("{said:?}") };
        assert_eq!(asking.step(10, Input::Withdraw), [ServiceOutput::Cancel(number)]);

        let mut late = Candidate::new();
        late.elect();
        let said = late.step(40, Input::Withdraw);
        assert_eq!(said.iter().filter(|said| matches!(said, ServiceOutput::Request { .. })).count(), 1, "once");
    }
}
