//! One claimant of `stonith`, told by hand: what was granted or acknowledged for an older claim counts for nothing.

use protocols::{
    clock::Now,
    election::{
        Setup, Timers, Timings,
        stonith::{self, PROTOCOL, SETTLE},
    },
    elector::{AnyElector, Input, Output},
    fence::power::Message,
    payload::{Opaque, Payload},
    types::{MILLISECOND, NodeId, SECOND},
};
use std::collections::BTreeMap;

const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: 714 * MILLISECOND,
    request_timeout: SECOND,
    election_timeout: None,
    rules: protocols::election::rules::Rules::USUAL,
    own: Timers::NONE,
};

/// Candidate 1 of three, which has heard candidate 2 all along and candidate 0 at first, and has begun a claim.
struct Claimant {
    elector: Box<AnyElector>,
    timers: BTreeMap<u16, u64>,
    now: u64,
}

impl Claimant {
    fn new() -> Claimant {
        let names = ["n0", "n1", "n2"].map(String::from).to_vec();
        let setup = Setup {
            group: 0,
            seat: None,
            node: NodeId(1),
            names,
            timings: TIMINGS,
            nonce: 5,
            stored: None,
            service: vec![NodeId(3)],
            bugs: Default::default(),
        };
        let mut claimant = Claimant { elector: (PROTOCOL.elector)(setup), timers: BTreeMap::new(), now: 0 };
        claimant.step(Input::Start);
        claimant.hears(0, stonith::Message::Alive { hears: u64::MAX });
        claimant
    }

    fn step(&mut self, input: Input) -> Vec<Output> {
        let mut outputs = Vec::new();
        self.elector.step(Now { mono: self.now, wall: 0 }, input, &mut outputs);
        for output in &outputs {
            if let Output::SetTimer { id, at } = output {
                self.timers.insert(*id, *at);
            }
        }
        outputs
    }

    fn hears(&mut self, from: u16, message: stonith::Message) -> Vec<Output> {
        self.step(Input::Peer { from: NodeId(from), message: message.erase() })
    }

    /// Lets time pass, 2 being heard, until it says something of that kind to `to`; that message.
    fn until<T>(&mut self, to: u16, what: impl Fn(Opaque) -> Option<T>) -> T {
        for _ in 0..100 {
            let (id, at) = self.timers.iter().map(|(id, at)| (*id, *at)).min_by_key(|(_, at)| *at).expect("a timer");
            self.timers.remove(&id);
            self.now = at;
            let mut outputs = self.hears(2, stonith::Message::Alive { hears: u64::MAX });
            outputs.extend(self.step(Input::Timer(id)));
            let said = outputs.into_iter().find_map(|output| match output {
                Output::Send { to: whom, message } if whom == NodeId(to) => what(message),
                Output::Elected(_) => panic!("it is elected"),
                _ => None,
            });
            if let Some(said) = said {
                return said;
            }
        }
        panic!("it never says so");
    }

    fn round(&mut self) -> u64 {
        self.until(2, |message| match message.get() {
            Some(stonith::Message::Claim { round }) => Some(*round),
            _ => None,
        })
    }

    /// Everything that others can say for it arrives, and later all timers fire: is it elected?
    fn wins_by(&mut self, from: u16, message: Opaque) -> bool {
        let mut outputs = self.step(Input::Peer { from: NodeId(from), message });
        self.now += SETTLE;
        outputs.extend(self.hears(2, stonith::Message::Alive { hears: u64::MAX }));
        outputs.iter().any(|output| matches!(output, Output::Elected(_)))
    }
}

#[test]
fn who_grants_anothers_claim_has_given_its_own_up() {
    let grant = |round| stonith::Message::Grant { round, quiet: true }.erase();
    for yields in [false, true] {
        let mut claimant = Claimant::new();
        let round = claimant.round();
        assert!(!claimant.wins_by(2, grant(round)));
        if yields {
            let outputs = claimant.hears(0, stonith::Message::Claim { round: 99 });
            let granted =
                |output: &Output| matches!(output, Output::Send { to: NodeId(0), message } if *message == grant(99));
            assert!(outputs.iter().any(granted), "{outputs:?}");
        }
        // Said before 0 stood itself, and late.
        assert_eq!(claimant.wins_by(0, grant(round)), !yields);
    }
}

#[test]
fn a_power_off_that_was_asked_for_in_an_older_claim_does_not_count() {
    for yields in [false, true] {
        let mut claimant = Claimant::new();
        let request = claimant.until(3, |message| match message.get() {
            Some(Message::Fence { target: NodeId(0), request }) => Some(*request),
            _ => None,
        });
        if yields {
            // Its power was cut and is back, it stands, and this candidate consents: it may lead any moment.
            claimant.hears(0, stonith::Message::Claim { round: 99 });
        }
        let round = claimant.round();
        assert!(!claimant.wins_by(2, stonith::Message::Grant { round, quiet: true }.erase()));
        let fenced = Message::Fenced { target: NodeId(0), request, ok: true }.erase();
        assert_eq!(claimant.wins_by(3, fenced), !yields);
    }
}
