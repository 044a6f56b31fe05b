//! Recommended changes, each tried in runs.

use crate::commands::about::with_token;
use protocols::fence::checks::Fencing;
use scenarios::{Params, clearance, units::duration_text};
use sim::{
    assess::{Along, Case, Outcome},
    error::Failed,
};

/// Seeds that each change is tried with.
const SEEDS: u64 = 6;
/// A recommended lease tolerates a pause this many times the given one without a change of leader.
const SPARE: f64 = 1.5;

/// A change and the result of its runs.
pub(super) struct Change {
    /// In a sentence.
    pub what: String,
    /// The options to add or replace, as typed; empty if the change is no option.
    pub options: String,
    /// Runs that tried it.
    pub runs: u64,
    /// How many of them violate safety.
    pub violated: u64,
}

/// Changes that would make it safe, or safer.
pub(super) fn changes(case: &Case, safe: bool) -> Result<Vec<Change>, Failed> {
    let mut changes = Vec::new();
    if !case.compares() {
        changes.extend(token(case)?);
    }
    // A longer lease makes nothing safe that is not: the next pause may be longer too.
    if case.along() == Along::Pause && (safe || case.compares()) {
        changes.extend(longer(case)?);
    }
    Ok(changes)
}

fn tried(what: String, options: String, outcomes: &[Outcome]) -> Change {
    let violated = outcomes.iter().filter(|outcome| !outcome.violated.is_empty()).count() as u64;
    Change { what, options, runs: outcomes.len() as u64, violated }
}

/// A token that the store compares.
fn token(case: &Case) -> Result<Option<Change>, Failed> {
    let params = Params { fencing: Fencing::On, ..case.params.clone() };
    if case.protocol.tokened {
        let what = "send the token with every write, and have the store refuse lower ones";
        let outcomes = Case { params: &params, ..case.clone() }.several(Fencing::On, SEEDS)?;
        return Ok(Some(tried(what.to_owned(), "--fencing on".to_owned(), &outcomes)));
    }
    let Some(other) = with_token(case.registry, case.protocol) else {
        let what = "take a token from a counter in the store, in the same step as the lock, and have the store refuse lower ones";
        return Ok(Some(tried(what.to_owned(), String::new(), &[])));
    };
    let other_case = Case { protocol: other, params: &params, ..case.clone() };
    // One protocol's timers may be invalid for another.
    let Ok(outcomes) = other_case.several(Fencing::On, SEEDS) else { return Ok(None) };
    let what = format!("use `{}`, which has a token, and have the store refuse lower ones", other.name);
    Ok(Some(tried(what, String::new(), &outcomes)))
}

/// A lease that tolerates half as much again; `None` if the present one does, or if the timers do not involve a lease.
fn longer(case: &Case) -> Result<Option<Change>, Failed> {
    let (pause_ms, protocol) = (case.asked() as f64, case.protocol);
    let bears = |params: &Params| clearance::of(params, protocol).pause_ms.unwrap_or(0.0);
    let wanted_ms = SPARE * pause_ms;
    let enough = clearance::of(case.params, protocol).pause_ms.is_none_or(|ms| ms >= wanted_ms);
    if enough || protocol.elects_among_peers() {
        return Ok(None);
    }
    let granted_ms = case.params.granted_ttl_ms(protocol);
    let fits = |ttl_ms: &u64| bears(&with_lease(case.params, granted_ms, *ttl_ms)) >= wanted_ms;
    let Some(ttl_ms) = (granted_ms / 1_000 + 1..3_600).map(|s| s * 1_000).find(fits) else { return Ok(None) };
    let params = with_lease(case.params, granted_ms, ttl_ms);
    let outcomes = Case { params: &params, ..case.clone() }.several(params.fencing, SEEDS)?;
    if outcomes.iter().any(|outcome| outcome.takeover_ms.is_some()) {
        return Ok(None);
    }
    let replaced_ms = |params: &Params| params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol);
    let what = format!(
        "a lease of {} bears pauses up to {:.1} s; a leader that dies is then replaced within {:.1} s instead of {:.1} s",
        duration_text(params.granted_ttl_ms(protocol)),
        bears(&params) / 1e3,
        replaced_ms(&params) as f64 / 1e3,
        replaced_ms(case.params) as f64 / 1e3
    );
    let own = params.retry_period_ms.map(|ms| format!(" --retry-period {}", duration_text(ms)));
    let set = params.set.iter().filter(|setting| setting.is_timer()).map(|setting| format!(" --set {setting}"));
    let renew = params.renew_interval_ms.map(|ms| format!(" --renew-interval {}", duration_text(ms)));
    let options = own
        .into_iter()
        .chain(renew)
        .chain(set)
        .fold(format!("--lease-ttl {}", duration_text(ttl_ms)), |all, one| all + &one);
    Ok(Some(tried(what, options, &outcomes)))
}

/// These parameters with another lease; explicit timers grow with it.
fn with_lease(params: &Params, granted_ms: u64, ttl_ms: u64) -> Params {
    let grown = |ms: u64| ms.saturating_mul(ttl_ms) / granted_ms.max(1);
    Params {
        lease_ttl_ms: Some(ttl_ms),
        retry_period_ms: params.retry_period_ms.map(grown),
        set: params.set.with_timers(grown),
        renew_interval_ms: params.renew_interval_ms.map(grown),
        ..params.clone()
    }
}
