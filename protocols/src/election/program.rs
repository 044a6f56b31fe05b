//! `program`: the protocol of a plan whose candidates run a user's own program. Nothing is known of how it elects: what it
//! does is seen at its services and at the store. In a plan's timings, the lease's TTL is the time in which another
//! candidate took effect when the leader had died, as measured.

use super::{Bounds, OwnTimers, Promise, Protocol, promise, redis_lease};
use crate::service::Service;
use std::sync::{Mutex, PoisonError};

/// Its name in plans.
pub const NAME: &str = "program";

/// The protocol of programs that find these services in the world, each at its usual name and port; `tokened` if they
/// write with fencing tokens. Equal arguments give the same value, which lives as long as this process.
pub fn of(services: &[&'static Service], tokened: bool) -> &'static Protocol {
    static KNOWN: Mutex<Vec<&'static Protocol>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let are_its = |protocol: &&&'static Protocol| {
        let names = protocol.service.all().filter(|service| !service.is_none()).map(|service| service.name);
        protocol.tokened == tokened && names.eq(services.iter().map(|service| service.name))
    };
    if let Some(protocol) = known.iter().find(are_its) {
        return protocol;
    }
    let beside = |beside: Option<&'static Service>, service: &&'static Service| {
        let service: &'static Service = Box::leak(Box::new(Service { beside, ..**service }));
        Some(service)
    };
    let service = services.iter().rev().fold(None, beside).unwrap_or(&Service::NONE);
    let protocol: &'static Protocol = Box::leak(Box::new(protocol(service, tokened)));
    known.push(protocol);
    protocol
}

fn protocol(service: &'static Service, tokened: bool) -> Protocol {
    Protocol {
        name: NAME,
        about: "A program of one's own",
        service,
        tokened,
        // Half of what was measured once: elections take more or less.
        takeover_max: |timings, _| timings.lease_ttl / 2,
        read_lease: None,
        majority: service.all().any(|service| service.is_embedded),
        timers: OwnTimers::NONE,
        promise: |_, fenced| if fenced { Promise::Holds } else { Promise::May },
        bounds: |_| Bounds::default(),
        notices: promise::Notices::NOTHING,
        belief_overlap: promise::without_bound,
        // Its elector is never made: candidates run the program.
        ..redis_lease::PROTOCOL
    }
}

impl Protocol {
    /// Whether its candidates run a user's own program.
    pub fn is_program(&self) -> bool {
        self.name == NAME
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::service::{etcd, raft, redis};

    #[test]
    fn services_stand_beside_each_other_in_order() {
        let both = of(&[&redis::SERVICE, &etcd::SERVICE], true);
        let names = |of: &'static super::Protocol| of.service.all().map(|service| service.name).collect::<Vec<_>>();
        assert_eq!(names(both), [redis::SERVICE.name, etcd::SERVICE.name]);
        assert!(std::ptr::eq(both, of(&[&redis::SERVICE, &etcd::SERVICE], true)));
        assert!(!std::ptr::eq(both, of(&[&redis::SERVICE], true)) && !std::ptr::eq(both, of(&[], false)));
        assert!(of(&[&redis::SERVICE, &raft::SERVICE], true).majority && !both.majority);
        assert!(of(&[], true).service.is_none() && both.is_program());
    }
}
