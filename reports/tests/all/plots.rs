//! What pictures must say about the numbers that they are made of.

use reports::plot::{
    draw_svg,
    ttl_sweep::{Point, TtlSweep},
};

fn point(protocol: &str, paused_hours: f64) -> Point {
    Point {
        protocol: protocol.to_owned(),
        ttl_ms: 3_000,
        failover_ms: vec![2_000.0, 3_000.0],
        failover_censored: 0,
        bound_ms: 4_000.0,
        false_failovers_per_hour: 3.0,
        false_failovers: Some((3.0 * paused_hours) as u64),
        paused_hours: Some(paused_hours),
        paused_served_ppm: None,
        runs: 2,
    }
}

#[test]
fn failovers_that_were_counted_for_different_times_are_told_apart() {
    let file = std::env::temp_dir().join(format!("fencepost-{}-ttl-sweep.svg", std::process::id()));
    let drawn = |hours: [f64; 2]| {
        let points = vec![point("redis-fenced", hours[0]), point("k8s-lease", hours[1])];
        let sweep = TtlSweep { schema: 1, points, pause_profile: "none".to_owned(), seeds: "0..2".to_owned() };
        draw_svg(&sweep, &file).expect("it is drawn");
        std::fs::read_to_string(&file).expect("it is there")
    };
    let (alike, mixed) = (drawn([80.0, 80.0]), drawn([80.0, 1.5]));
    std::fs::remove_file(&file).expect("it was there");
    assert!(!alike.contains("hollow") && mixed.contains("filled, counted in 80 h; hollow, in fewer, at least 1.5 h"));
    let marks = |svg: &str| svg.matches("<circle").count();
    assert_eq!(marks(&mixed), marks(&alike) + 1, "one of the two marks is hollow");
}
