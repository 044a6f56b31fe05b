//! Time, and entropy.

use crate::{
    baton::{inside, is_inside, wait},
    call::{after, answer, fail, nanoseconds, on_clock},
    kernel::threads::On,
    solo,
    system::real,
};
use libc::{c_int, c_uint, c_void, clockid_t, size_t, ssize_t, timespec, timeval};

// Clocks and sleeps.

/// How far the clock moves for a thread that seems to wait for it without sleeping.
const STEP: u64 = 1_000;

/// What a clock shows.
fn reading(clock: clockid_t) -> Option<u64> {
    let read = inside(|kernel, _| {
        let time = match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => kernel.wall,
            // What the processor has spent on it differs from run to run: time stands still while it computes.
            _ => kernel.mono,
        };
        (time, kernel.spins())
    });
    let Some((time, spins)) = read else { return solo::reading(clock) };
    if spins {
        step();
    }
    Some(time)
}

/// Lets a little time pass, and perhaps others run.
fn step() {
    wait(On::Time, Some(after(STEP)));
    inside(|kernel, _| kernel.expect_spins());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(now) = reading(clock) else {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn clock_gettime(clockid_t, *mut timespec) -> c_int)(clock, time) };
    };
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { *time = timespec { tv_sec: (now / 1_000_000_000) as _, tv_nsec: (now % 1_000_000_000) as _ } };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    let Some(now) = reading(libc::CLOCK_REALTIME) else {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn gettimeofday(*mut timeval, *mut c_void) -> c_int)(time, zone) };
    };
    // SAFETY: the caller passes the address of a `timeval`.
    unsafe { *time = timeval { tv_sec: (now / 1_000_000_000) as _, tv_usec: (now % 1_000_000_000 / 1_000) as _ } };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(time: *mut libc::time_t) -> libc::time_t {
    let Some(now) = reading(libc::CLOCK_REALTIME) else {
        // SAFETY: the caller's argument goes to the function that was called.
        return unsafe { real!(fn time(*mut libc::time_t) -> libc::time_t)(time) };
    };
    let seconds = (now / 1_000_000_000) as libc::time_t;
    if !time.is_null() {
        // SAFETY: the caller passes null or an address.
        unsafe { *time = seconds };
    }
    seconds
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int {
    if !is_inside() {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn nanosleep(*const timespec, *mut timespec) -> c_int)(time, rest) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    answer(nanoseconds(unsafe { &*time }).map(|time| {
        wait(On::Time, Some(after(time)));
        0
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    if !is_inside() {
        let real = real!(fn clock_nanosleep(clockid_t, c_int, *const timespec, *mut timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(clock, flags, time, rest) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    match nanoseconds(unsafe { &*time }) {
        Ok(time) => {
            let absolute = flags & libc::TIMER_ABSTIME != 0;
            wait(On::Time, Some(if absolute { on_clock(clock, time) } else { after(time) }));
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn usleep(micros: c_uint) -> c_int {
    if !is_inside() {
        // SAFETY: numbers only.
        return unsafe { real!(fn usleep(c_uint) -> c_int)(micros) };
    }
    wait(On::Time, Some(after(u64::from(micros) * 1_000)));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    if !is_inside() {
        // SAFETY: numbers only.
        return unsafe { real!(fn sleep(c_uint) -> c_uint)(seconds) };
    }
    wait(On::Time, Some(after(u64::from(seconds) * 1_000_000_000)));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    let Some(spins) = inside(|kernel, _| kernel.spins_of_yields()) else {
        // SAFETY: it takes nothing.
        return unsafe { real!(fn sched_yield() -> c_int)() };
    };
    match spins {
        true => step(),
        false => drop(wait(On::Turn, None)),
    }
    0
}

/// The processor's time, which nobody spends in a simulated process.
#[unsafe(no_mangle)]
pub extern "C" fn clock() -> libc::clock_t {
    match inside(|kernel, _| kernel.mono / 1_000) {
        Some(micros) => micros as libc::clock_t,
        // SAFETY: it takes nothing.
        None => unsafe { real!(fn clock() -> libc::clock_t)() },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int {
    if !is_inside() {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn getrusage(c_int, *mut libc::rusage) -> c_int)(who, usage) };
    }
    if ![libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN, libc::RUSAGE_THREAD].contains(&who) {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller passes the address of an `rusage`, for which zeros are a value.
    unsafe { *usage = std::mem::zeroed() };
    0
}

// Entropy, drawn from the process's seed.

/// Fills the memory; false if the calling thread is not simulated.
///
/// # Safety
/// `count` bytes at `to` are the caller's to write.
unsafe fn fill(to: *mut c_void, count: size_t) -> bool {
    if count == 0 {
        return is_inside();
    }
    // SAFETY: the caller's; bytes may have any value, so also those that were never written.
    let bytes = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), count) };
    inside(|kernel, _| kernel.entropy.fill(bytes)).is_some() || solo::fill(bytes)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(to: *mut c_void, count: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the caller passes a buffer of this length.
    if unsafe { fill(to, count) } {
        return count as ssize_t;
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn getrandom(*mut c_void, size_t, c_uint) -> ssize_t)(to, count, flags) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getentropy(to: *mut c_void, count: size_t) -> c_int {
    // SAFETY: the caller passes a buffer of this length.
    if unsafe { fill(to, count) } {
        return 0;
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn getentropy(*mut c_void, size_t) -> c_int)(to, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn arc4random_buf(to: *mut c_void, count: size_t) {
    // SAFETY: the caller passes a buffer of this length.
    if !unsafe { fill(to, count) } {
        // SAFETY: the caller's arguments go to the function that was called.
        unsafe { real!(fn arc4random_buf(*mut c_void, size_t) -> ())(to, count) };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn arc4random() -> u32 {
    match inside(|kernel, _| kernel.entropy.next() as u32) {
        Some(number) => number,
        // SAFETY: it takes nothing.
        None => unsafe { real!(fn arc4random() -> u32)() },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    match inside(|kernel, _| kernel.entropy.next()) {
        Some(number) => ((u128::from(number) * u128::from(bound)) >> 64) as u32,
        // SAFETY: a number only.
        None => unsafe { real!(fn arc4random_uniform(u32) -> u32)(bound) },
    }
}
