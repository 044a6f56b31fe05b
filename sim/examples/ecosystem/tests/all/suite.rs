//! What every service goes through.

use crate::world::{Service, Story, at, before_send, cut_off, kill, named, pause, tell};
use protocols::fence::checks::Fencing;
use scenarios::fault::{Fault, Who};
use sim::program::{From, Line};

/// What a mere partition of the leader from its coordination service leads to, or a restart of the latter: nobody is
/// paused, and every clock is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaders {
    /// Nobody leads any more.
    None,
    One,
    /// The former leader goes on beside its successor.
    Two,
}

/// When faults strike, and sends are counted from.
pub const STRIKES_S: f64 = 8.0;
const SENDS_FROM_S: f64 = 5.0;
const SENDS: u64 = 12;

/// Long enough for everything that takes leases to run out.
pub fn quiet(service: &Service) -> Story {
    Story::quiet(1).lasting(20.0 + 4.0 * service.lease_s)
}

/// Who leads when nothing has happened.
pub fn leader(service: &Service) -> Who {
    named(tell(service, &quiet(service)).leader(STRIKES_S))
}

pub fn steady(service: &Service) {
    let story = quiet(service);
    let told = tell(service, &story);
    assert!(told.unusual().is_empty(), "{}", told.log());
    assert_eq!(told.violated, [""; 0], "{}", told.log());
    // It appends four times a second, and may have to be elected again and again.
    assert!(told.writes.len() as f64 > story.duration_s * 3.5, "{} writes: {}", told.writes.len(), told.log());
}

pub fn another_leads_after_a_kill(service: &Service) {
    let before = tell(service, &quiet(service)).leader(STRIKES_S);
    let told = tell(service, &quiet(service).with(at(STRIKES_S), kill(named(before))));
    let next = told.successor(before, STRIKES_S).unwrap_or_else(|| panic!("nobody else leads: {}", told.log()));
    // Followers of kube-coordinate wait for up to 2.2 leases after the last renewal, and all look in intervals.
    assert!(next < STRIKES_S + 2.5 * service.lease_s, "{next}: {}", told.log());
    assert_eq!(told.violated, [""; 0], "{}", told.log());
}

pub fn cut_off_for_three_leases(service: &Service, partition: Leaders) {
    let before = tell(service, &quiet(service)).leader(STRIKES_S);
    let told = tell(service, &quiet(service).with(at(STRIKES_S), cut_off(named(before), 3.0 * service.lease_s)));
    assert!(told.successor(before, STRIKES_S).is_some(), "nobody else leads: {}", told.log());
    assert_eq!(told.two_lead(), partition == Leaders::Two, "{:?}: {}", told.violated, told.log());
}

/// For less than any lease lasts.
pub fn the_service_restarts(service: &Service, restart: Leaders) {
    let again = Fault::Kill { node: Who::Service, restart_after_ms: Some(1_000.0) };
    let told = tell(service, &quiet(service).with(at(STRIKES_S), again));
    assert_eq!(told.two_lead(), restart == Leaders::Two, "{:?}: {}", told.violated, told.log());
    let ended = |line: &&&Line| line.from == From::End;
    assert_eq!(told.unusual().iter().filter(ended).count(), 0, "{}", told.log());
    let after = told.writes.iter().filter(|(at, _)| *at > STRIKES_S + 1.0 + service.lease_s).count();
    assert_eq!(after == 0, restart == Leaders::None, "{after} writes: {}", told.log());
}

/// What a pause of the leader that is longer than its lease leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The lock is bound to a connection, which the kernel of a paused process keeps alive: nobody else gets it.
    OneLeads,
    /// Before some sends, the former leader writes beside its successor: it has no token that the store could compare.
    TwoLead,
    /// The same, but the store refuses these writes if it compares tokens.
    FencedOff,
}

/// A pause of two leases before each of some sends in turn.
pub fn paused_before_each_send(service: &Service, pauses: Pause) {
    let node = leader(service);
    let unsafe_sends = |fencing: Fencing| -> Vec<u64> {
        let two = |nth: &u64| {
            let paused = pause(Who::Trigger, 2.0 * service.lease_s);
            let story = Story { fencing, ..quiet(service) };
            let told = tell(service, &story.with(before_send(&node, *nth, SENDS_FROM_S), paused));
            assert_eq!(told.faults, 1, "there are fewer sends: {}", told.log());
            assert!(!told.writes.is_empty(), "nobody wrote: {}", told.log());
            told.two_lead()
        };
        (1..=SENDS).filter(two).collect()
    };
    let open = unsafe_sends(Fencing::Off);
    println!("{}: of {SENDS} sends, a pause before these lets two lead: {open:?}", service.name);
    assert_eq!(open.is_empty(), pauses == Pause::OneLeads, "{open:?}");
    if pauses == Pause::FencedOff {
        assert_eq!(unsafe_sends(Fencing::On), [0; 0]);
    }
}

/// A module for each service, with a test for each of the above.
macro_rules! suite {
    ($($name:ident, $service:expr, $partition:expr, $restart:expr, $pause:expr;)*) => {
        $(pub mod $name {
            use super::*;

            pub fn service() -> Service {
                $service.named(stringify!($name))
            }

            #[test]
            fn steady() {
                $crate::suite::steady(&service());
            }

            #[test]
            fn another_leads_after_a_kill() {
                $crate::suite::another_leads_after_a_kill(&service());
            }

            #[test]
            fn cut_off_for_three_leases() {
                $crate::suite::cut_off_for_three_leases(&service(), $partition);
            }

            #[test]
            fn the_service_restarts() {
                $crate::suite::the_service_restarts(&service(), $restart);
            }

            #[test]
            fn paused_before_each_send() {
                $crate::suite::paused_before_each_send(&service(), $pause);
            }
        })*
    };
}
pub(crate) use suite;
