//! Measures how often pauses end a lease, with enough long pauses for a confidence interval.

use super::{
    renewals,
    sets::{Experiment, PAUSES, PlanSet},
};
use crate::{
    error::Failed,
    registry::Registry,
    ttl_sweep::{self, Strikes},
};
use protocols::election::Protocol;
use reports::experiments::Cell;
use scenarios::{Params, units::duration_text};

/// One cell per lease, and one per renew interval of the usual lease; the variant tells which.
pub(super) fn cells(
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
    let intervals = set.renews_ms.iter().map(|renew_ms| {
        (format!("renewed every {}", duration_text(*renew_ms)), renewals::renewed(&usual, protocol, *renew_ms))
    });
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
