//! `plot`: the plots of reports/ as SVG and PNG, with their figures as JSON.

use super::{
    exit::Stop,
    output::{Show, print},
};
use crate::{artifacts, ttl_sweep as measurement};
use indicatif::{ProgressBar, ProgressDrawTarget};
use protocols::election::Protocol;
use reports::plot::ttl_sweep::{self, TtlSweep};
use std::{ops::Range, path::Path};

/// Measures and draws the ttl sweep.
pub fn ttl_sweep(
    ttls_ms: &[u64],
    protocols: &[&'static Protocol],
    seeds: Range<u64>,
    out: &Path,
    jobs: usize,
    show: Show,
) -> Result<(), Stop> {
    std::fs::create_dir_all(out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
    let bar = ProgressBar::new(measurement::runs(ttls_ms, protocols, &seeds));
    bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let sweep = measurement::measure(ttls_ms, protocols, seeds, jobs, || bar.inc(1)).map_err(Stop::usage)?;
    bar.finish_and_clear();
    let (svg, png, json) = (out.join("ttl-sweep.svg"), out.join("ttl-sweep.png"), out.join("ttl-sweep.json"));
    ttl_sweep::draw_svg(&sweep, &svg).map_err(Stop::harness)?;
    ttl_sweep::draw_png(&sweep, &png).map_err(Stop::harness)?;
    let figures = serde_json::to_string_pretty(&sweep).unwrap_or_default();
    artifacts::save(&json, &(figures.clone() + "\n")).map_err(Stop::usage)?;
    if show.json {
        print(&figures);
    } else {
        if !show.quiet {
            print(&table(&sweep));
        }
        print(&format!("{}\n{}\n{}", svg.display(), png.display(), json.display()));
    }
    Ok(())
}

/// The figures that the picture shows.
fn table(sweep: &TtlSweep) -> String {
    let mut text = format!(
        "{:14} {:>6} {:>20} {:>10} {:>22}\n",
        "protocol", "ttl", "failover median, p95", "bound", "pauses' failovers/h"
    );
    for point in &sweep.points {
        let mut failovers = point.failover_ms.clone();
        failovers.sort_by(f64::total_cmp);
        let at = |q| {
            crate::terminal::statistics::quantile(&failovers, q)
                .map_or("–".to_owned(), |ms| format!("{:.2}", ms / 1e3))
        };
        let failover = format!("{} s, {} s", at(0.5), at(0.95));
        text += &format!(
            "{:14} {:>4} s {failover:>20} {:>8.2} s {:>22.1}\n",
            point.protocol,
            point.ttl_ms as f64 / 1e3,
            point.bound_ms / 1e3,
            point.false_failovers_per_hour
        );
    }
    text
}
