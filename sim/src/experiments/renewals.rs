//! What pauses do to a lease: how often they end one, and the cost and benefit of renewing it more often.

use super::sets::{Experiment, PAUSES, PlanSet, RENEWALS};
use crate::{
    error::Failed,
    registry::Registry,
    ttl_sweep::{self, Strikes},
};
use protocols::election::Protocol;
use reports::experiments::Cell;
use scenarios::{Params, units::duration_text};

/// The parameters with another renew interval.
pub(super) fn renewed(params: &Params, protocol: &Protocol, renew_ms: u64) -> Params {
    let mut params = Params { renew_interval_ms: Some(renew_ms), ..params.clone() };
    if protocol.timers.renews_at_retry {
        (params.renew_interval_ms, params.retry_period_ms) = (None, Some(renew_ms));
    }
    params
}

/// One cell per interval; the variant is the interval.
pub(super) fn cells(
    registry: &Registry,
    experiment: &Experiment,
    set: &PlanSet,
    protocol: &'static Protocol,
    jobs: usize,
) -> Result<Vec<Cell>, Failed> {
    let params = set.params(registry)?;
    let cell = |renew_ms: &u64| {
        let params = renewed(&params, protocol, *renew_ms);
        let paused = ttl_sweep::pauses(registry, &params, protocol, set.seeds(), Strikes::All, (jobs, &|| ()))?;
        let hours = |per: f64| (per / paused.hours).round() as u64;
        let mut cell = Cell {
            experiment: experiment.number,
            scenario: RENEWALS.to_owned(),
            protocol: protocol.name.to_owned(),
            variant: duration_text(*renew_ms),
            tokened: protocol.tokened,
            fencing: true,
            runs: set.seeds.1 - set.seeds.0,
            ..Cell::default()
        };
        cell.count([
            ("renew_interval_ms", *renew_ms),
            ("granted_ttl_ms", params.granted_ttl_ms(protocol)),
            ("pause_failovers", paused.changes),
            ("pause_failovers_per_1000h", hours(paused.changes as f64 * 1e3)),
            ("paused_minutes", (paused.hours * 60.0).round() as u64),
            ("requests_per_1000s", hours(paused.requests as f64 / 3.6)),
        ]);
        cell.count(paused.served_ppm.map(|ppm| ("paused_served_ppm", ppm)));
        Ok(cell)
    };
    set.renews_ms.iter().map(cell).collect()
}

// Measures how often pauses end a lease, with enough long pauses for a confidence interval.

/// One cell per lease, and one per renew interval of the usual lease; the variant tells which.
pub(super) fn pause_cells(
    registry: &Registry,
    experiment: &Experiment,
    set: &PlanSet,
    protocol: &'static Protocol,
    jobs: usize,
) -> Result<Vec<Cell>, Failed> {
    let usual = set.params(registry)?;
    let leases = set
        .ttls_ms
        .iter()
        .map(|ttl_ms| (duration_text(*ttl_ms), Params { lease_ttl_ms: Some(*ttl_ms), ..usual.clone() }));
    let intervals = set
        .renews_ms
        .iter()
        .map(|renew_ms| (format!("renewed every {}", duration_text(*renew_ms)), renewed(&usual, protocol, *renew_ms)));
    let cell = |(variant, params): (String, Params)| {
        let paused = ttl_sweep::pauses(registry, &params, protocol, set.seeds(), Strikes::Long, (jobs, &|| ()))?;
        let mut cell = Cell {
            experiment: experiment.number,
            scenario: PAUSES.to_owned(),
            protocol: protocol.name.to_owned(),
            variant,
            tokened: protocol.tokened,
            fencing: true,
            runs: set.seeds.1 - set.seeds.0,
            ..Cell::default()
        };
        cell.count([
            ("granted_ttl_ms", params.granted_ttl_ms(protocol)),
            ("pause_failovers", paused.changes),
            ("expected_failovers", paused.expected.round() as u64),
            ("paused_minutes", (paused.hours * 60.0).round() as u64),
        ]);
        Ok(cell)
    };
    leases.chain(intervals).map(cell).collect()
}
