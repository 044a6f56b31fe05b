//! A library that asks neither libc nor the system for the time, but the kernel's page of code (rustix).

use crate::world::{lines_of, plan};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant, SystemTime};

fn tells_the_time() {
    let [monotonic, wall] = [ClockId::Monotonic, ClockId::Realtime].map(clock_gettime);
    let wall = Duration::new(wall.tv_sec.unsigned_abs(), wall.tv_nsec as u32);
    println!("wall {:?}", SystemTime::UNIX_EPOCH + wall == SystemTime::now());
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(1_500));
    let later = clock_gettime(ClockId::Monotonic);
    let slept = Duration::new(later.tv_sec.unsigned_abs(), later.tv_nsec as u32)
        - Duration::new(monotonic.tv_sec.unsigned_abs(), monotonic.tv_nsec as u32);
    println!("slept {:?} {slept:?}", began.elapsed() == slept);
}

#[test]
fn the_kernel_s_page_tells_the_world_s_time() {
    let told = || {
        let lines = lines_of(&plan(1, None), fencepost_libc::main_of(tells_the_time));
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    let said = told();
    assert_eq!(said.iter().filter(|line| *line == "wall true").count(), 3, "{said:?}");
    assert_eq!(said.iter().filter(|line| line.starts_with("slept true 1.5")).count(), 3, "{said:?}");
    assert_eq!(said, told());
}
