//! A process that waits until a time on its wall clock notices that this clock was stepped.

use crate::world::{plan_at, run_main};
use fencepost_libc::main_of;
use rustix::{
    thread::{ClockId, clock_nanosleep_absolute},
    time::Timespec,
};
use scenarios::fault::{Fault, Trigger, Who};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Sleeps until the wall clock shows ten seconds more than at first, and says how long that took.
fn sleeps() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (until, began) = (now + Duration::from_secs(10), Instant::now());
    let until = Timespec { tv_sec: until.as_secs() as i64, tv_nsec: i64::from(until.subsec_nanos()) };
    clock_nanosleep_absolute(ClockId::Realtime, &until).unwrap();
    println!("slept for {} ms", began.elapsed().as_millis());
    std::thread::sleep(Duration::from_secs(100));
}

fn slept_ms(by_ms: Option<i64>) -> u64 {
    let step = by_ms.map(|by_ms| Fault::ClockStep { node: Who::Named("n1".to_owned()), by_ms });
    let run = run_main(&plan_at(1, Trigger::At { ms: 4_000.0 }, step), main_of(sleeps));
    let line = run.printed.iter().find_map(|line| line.text.strip_prefix("slept for ").filter(|_| line.node.0 == 0));
    let ms = line.and_then(|line| line.strip_suffix(" ms")).unwrap_or_else(|| panic!("{:?}", run.printed));
    ms.parse().unwrap()
}

#[test]
fn a_sleep_until_a_time_on_the_wall_clock_follows_its_steps() {
    assert_eq!(slept_ms(None), 10_000);
    assert_eq!(slept_ms(Some(5_000)), 5_000);
    assert_eq!(slept_ms(Some(-3_000)), 13_000);
    // Past the time: it ends at the step.
    let at_once = slept_ms(Some(60_000));
    assert!((3_900..=4_100).contains(&at_once), "{at_once} ms");
}
