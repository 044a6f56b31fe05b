//! Clocks and sleeps.

use super::Out;
use libc::timespec;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const CASES: &[super::Case] =
    &[("clocks", clocks), ("sleeps", sleeps), ("a loop that looks at the clock", spin), ("entropy", entropy)];

fn clocks(out: &mut Out) {
    let mut last = Instant::now();
    let monotone = (0..1_000).all(|_| {
        let now = Instant::now();
        std::mem::replace(&mut last, now) <= now
    });
    out.say(monotone);
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    out.say(wall > 1_700_000_000);
    // SAFETY: room for what is asked for, or null.
    unsafe {
        let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
        out.call("monotonic", libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time));
        out.call("processor", libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time));
        out.say(time.tv_nsec < 1_000_000_000);
        let seconds = libc::time(std::ptr::null_mut());
        // The kernel's own is as old as its last tick.
        out.say(seconds as u64 + 1 >= wall && seconds as u64 <= wall + 60);
        let mut day = libc::timeval { tv_sec: 0, tv_usec: 0 };
        out.call("time of day", libc::gettimeofday(&mut day, std::ptr::null_mut()));
        out.say(day.tv_sec as u64 >= wall && day.tv_sec as u64 <= wall + 60);
    }
}

fn sleeps(out: &mut Out) {
    let long_enough = |sleep: &dyn Fn()| {
        let began = Instant::now();
        sleep();
        began.elapsed() >= Duration::from_millis(10)
    };
    let time = |nanoseconds| timespec { tv_sec: 0, tv_nsec: nanoseconds };
    out.say(long_enough(&|| std::thread::sleep(Duration::from_millis(10))));
    // SAFETY: a number.
    out.say(long_enough(&|| assert_eq!(unsafe { libc::usleep(10_000) }, 0)));
    // SAFETY: times, or null.
    unsafe {
        out.call("nanosleep", libc::nanosleep(&time(1_000), std::ptr::null_mut()));
        out.call("no time", libc::nanosleep(&time(1_000_000_000), std::ptr::null_mut()));
        let past = timespec { tv_sec: 1, tv_nsec: 0 };
        let flags = libc::TIMER_ABSTIME;
        out.code("past", libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, &past, std::ptr::null_mut()));
        out.code("past", libc::clock_nanosleep(libc::CLOCK_REALTIME, flags, &past, std::ptr::null_mut()));
        let mut soon = timespec { tv_sec: 0, tv_nsec: 0 };
        libc::clock_gettime(libc::CLOCK_REALTIME, &mut soon);
        soon.tv_nsec += 20_000_000;
        (soon.tv_sec, soon.tv_nsec) = (soon.tv_sec + soon.tv_nsec / 1_000_000_000, soon.tv_nsec % 1_000_000_000);
        let began = Instant::now();
        out.code("soon", libc::clock_nanosleep(libc::CLOCK_REALTIME, flags, &soon, std::ptr::null_mut()));
        out.say(began.elapsed() >= Duration::from_millis(19));
        out.call(
            "select",
            libc::select(
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &mut libc::timeval { tv_sec: 0, tv_usec: 10 },
            ),
        );
    }
}

fn spin(out: &mut Out) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(2) {}
    out.say("it ended");
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let theirs = flag.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1));
        theirs.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    while !flag.load(std::sync::atomic::Ordering::SeqCst) {
        std::thread::yield_now();
    }
    thread.join().unwrap();
    out.say("and so did the other");
}

fn entropy(out: &mut Out) {
    let mut bytes = [0u8; 64];
    // SAFETY: a slice.
    unsafe {
        out.call("getrandom", libc::getrandom(bytes.as_mut_ptr().cast(), 64, 0));
        out.say(bytes.iter().any(|byte| *byte != 0));
        out.call("getentropy", libc::getentropy(bytes.as_mut_ptr().cast(), 64));
        out.call("nothing", libc::getrandom(bytes.as_mut_ptr().cast(), 0, 0));
        out.call("the call itself", libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), 13usize, 0));
    }
}
