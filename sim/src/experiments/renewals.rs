//! The cost and benefit of renewing a lease more often: a sweep over renew intervals.

use super::sets::{Experiment, PlanSet, RENEWALS};
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
