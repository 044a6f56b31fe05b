//! `incident-invoice`: a job queue of invoices, and a customer who is charged twice.
//!
//! *What the article says* (*Leader Election Gone Wrong*): node 1 leads, and at 0:10 it is cut off from nodes 2 and 3,
//! but not from the database. At 0:15 they elect node 2. At 0:20 both pull jobs: "Same invoice processed twice →
//! customer charged twice". In Fix 2 each row records the token that processed it and is completed `WHERE
//! processed_by_token IS NULL OR processed_by_token < $1`: "Fencing tokens turn *maybe processed twice* into
//! *definitely processed once*."
//!
//! *What the run shows.* The leader is cut off from its service and the others, and finds its lease valid for charging
//! one more invoice; right there it is paused, as a leader whose lease ends by its own clock has to be (`redis-naive`
//! has no such clock, simply goes on, and charges everything beside its successor). A successor is elected, charges
//! that invoice and marks it; then the first leader charges it again. Later the successor dies between charging an
//! invoice and marking its row.
//!
//! | `--charge-check` | | charged twice |
//! |---|---|---|
//! | `none` | | the sleeper's invoice, and the one that the dead leader had not marked |
//! | `row` | the text's own check | the same: the row is checked after the money is gone, and on its own. The check lets a stale leader complete an untouched row, and a newer one complete it again ([`protocols::fence::rows`]) |
//! | `sealed` | payments and table refuse every token below the highest they were shown | the unmarked invoice: no leader wrote out of turn |
//! | `id` | a charge carries its invoice's id, tokens are not checked | none; but a former leader's charge counts if it is the invoice's first, whatever has become of the invoice since |
//! | `sealed-id` | both | none |
//!
//! So the token gives order, the id gives at-most-once, and only both give both. A protocol without a token
//! (`redis-naive`, `redis-lease`) has nothing to seal with, and charges twice unless there is an id.

use super::{
    Needs, Scenario, at, cut_ms, gc_pause, last_strike_ms,
    mid_work::{self, Stop},
    require, strike_ms, works_with,
};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Promise, Protocol, hazard, promise::UNFENCED, redis_naive},
    fence::checks::{ChargeCheck, Fencing},
    history::Fact,
    point::Point,
    types::MILLISECOND,
    work::once::{INVOICE_TIME, INVOICES},
};

pub const SCENARIO: Scenario = Scenario {
    name: "incident-invoice",
    about: "The leader is cut off with an invoice under way; its successor dies between charging one and marking it.",
    story: "The article \"Leader Election Gone Wrong\" has this job queue: the leader charges pending invoices and marks their \
            rows. It is cut off, and stopped between checking its lease and a charge; its successor charges that invoice; \
            then the first leader resumes. Later the successor dies right after a charge. With the article's per-row check \
            both invoices are charged twice, behind a sealed resource one of them, and none where a charge carries the \
            invoice's id as well.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Named(&["redis-naive", "redis-lease", "redis-fenced", "etcd-election", "k8s-lease"]),
    plan,
};

/// At least this many invoices are charged by the successor before the sleeper wakes.
const INVOICES_BEFORE: u64 = 3;
/// How long after everything has healed the second leader dies, milliseconds.
const CALM_MS: u64 = 1_000;

/// The promise for these parameters.
pub(super) fn promised(protocol: &Protocol, params: &Params) -> Promise {
    let check = match (params.charge_check, params.fencing) {
        (Some(check), _) => check,
        (None, Fencing::On) => ChargeCheck::SealedId,
        (None, Fencing::Off) => ChargeCheck::None,
        (None, Fencing::Token | Fencing::Order | Fencing::Memory) => return Promise::May,
    };
    match check {
        ChargeCheck::SealedId if protocol.tokened && params.fencing == Fencing::On => Promise::Holds,
        ChargeCheck::SealedId if protocol.tokened => Promise::May,
        // The old leader goes on with all of its works, and no id tells numbers apart.
        ChargeCheck::Id | ChargeCheck::SealedId if goes_on(protocol) => UNFENCED,
        // The sleeper's charge comes between its successor's.
        ChargeCheck::Id | ChargeCheck::SealedId => Promise::Breaks(&["read_version"]),
        ChargeCheck::Sealed if protocol.tokened => Promise::Breaks(&["done_once"]),
        ChargeCheck::None | ChargeCheck::Row | ChargeCheck::Sealed => {
            Promise::Breaks(&["leaders_acting_by_effect", "no_stale_write", "done_once"])
        }
    }
}

/// True if its leader goes on without being paused, since no clock ends its belief.
fn goes_on(protocol: &Protocol) -> bool {
    protocol.name == redis_naive::PROTOCOL.name
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut random = streams::stream(seed, PLAN);
    let cycle_ms = cycle_ms(params);
    let own_ms = || gc_pause::default_pause_ms(params, protocol) + INVOICES_BEFORE * cycle_ms;
    let pause_ms = params.pause_ms.unwrap_or_else(own_ms);
    let (mut faults, healed_ms) = match goes_on(protocol) {
        true => {
            let (strike_ms, for_ms) = (strike_ms(&mut random, params, protocol), cut_ms(params, protocol));
            (vec![at(strike_ms, cut(for_ms))], last_strike_ms(params, protocol) + for_ms)
        }
        false => {
            let stop = Stop::drawn(&mut random, params, protocol, pause_ms, cycle_ms);
            let when = stop.at(Point::EffectChecked);
            let mut faults = vec![PlannedFault { when: when.clone(), what: cut(pause_ms), group: 0 }];
            faults.extend(stop.faults(&when, params, protocol));
            (faults, mid_work::woken_ms(params, protocol, pause_ms, cycle_ms))
        }
    };
    if !goes_on(protocol) {
        faults.push(dies(params, protocol, healed_ms + CALM_MS));
    }
    let needed_ms = healed_ms + CALM_MS + cycle_ms + params.aftermath_ms(protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.works = works_with(params, &INVOICES);
    plan.charge_check = params.charge_check;
    plan.faults = faults;
    let again = [(Fact::LeadersBelieving, 2), (Fact::StaleWriteAttempts, 1), (Fact::EffectsTriedAgain, 1)];
    plan.requires = match goes_on(protocol) {
        true => require([(Fact::Elections, 2)]),
        false => require([(Fact::Elections, 3), (Fact::Kills, 1)]),
    };
    plan.requires.extend(require(again));
    plan
}

/// After that time, the leader dies between charging an invoice and marking its row.
fn dies(params: &Params, protocol: &Protocol, after_ms: u64) -> PlannedFault {
    let charged = Trigger::Passage {
        point: Point::MarkChecked.name().to_owned(),
        node: Who::Leader,
        nth: 1,
        after: Some(Box::new(Trigger::At { ms: after_ms as f64 })),
        delay_ms: 0.0,
        matching: None,
    };
    let back_ms = params.granted_ttl_ms(protocol) as f64;
    let what = Fault::Kill { node: Who::Trigger, restart_after_ms: Some(back_ms) };
    PlannedFault { when: charged, what, group: 0 }
}

/// Cuts the leader off from everybody who could tell it that it has been replaced.
fn cut(for_ms: u64) -> Fault {
    let to = vec![Who::Service, Who::Followers];
    Fault::Partition { from: vec![Who::Leader], to, one_way: false, for_ms: Some(for_ms as f64) }
}

/// The longest time from one invoice to the next, milliseconds: two round trips to the store.
fn cycle_ms(params: &Params) -> u64 {
    INVOICE_TIME / MILLISECOND + (4 * params.network().one_way_max_us()).div_ceil(1_000)
}
