//! glibc's condition variables, barriers and once-initialisations, for C libraries. In a simulated process they are
//! names only: who waits for them is in the process's kernel.

use super::lock::{deadline, lock_mutex, unlock_mutex};
use crate::{
    baton::{inside, is_inside, wait},
    kernel::threads::{On, Until},
    system::real,
};
use libc::{c_int, c_uint, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_init(it: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int {
    let mut clock = libc::CLOCK_REALTIME;
    if !attributes.is_null() {
        // SAFETY: the caller passes null or attributes.
        unsafe { libc::pthread_condattr_getclock(attributes, &mut clock) };
    }
    inside(|kernel, _| kernel.set_clock_of(it as usize, clock));
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn pthread_cond_init(*mut pthread_cond_t, *const pthread_condattr_t) -> c_int)(it, attributes) }
}

/// Gives up the mutex, waits, and takes the mutex again.
fn wait_with(it: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: Option<Until>) -> c_int {
    let unlocked = unlock_mutex(mutex);
    if unlocked != 0 {
        return unlocked;
    }
    let woken = wait(On::Condition(it as usize), until);
    match lock_mutex(mutex, None) {
        0 if !woken => libc::ETIMEDOUT,
        result => result,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(it: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    match is_inside() {
        true => wait_with(it, mutex, None),
        // SAFETY: the caller's arguments go to the function that was called.
        false => unsafe { real!(fn pthread_cond_wait(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int)(it, mutex) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    it: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    let Some(clock) = inside(|kernel, _| kernel.clock_of(it as usize)) else {
        let real =
            real!(fn pthread_cond_timedwait(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(it, mutex, time) };
    };
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { deadline(clock, time) }.map_or_else(|error| error, |until| wait_with(it, mutex, until))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_clockwait(
    it: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    if !is_inside() {
        let real = real!(
            fn pthread_cond_clockwait(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int
        );
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(it, mutex, clock, time) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { deadline(clock, time) }.map_or_else(|error| error, |until| wait_with(it, mutex, until))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(it: *mut pthread_cond_t) -> c_int {
    match inside(|kernel, _| kernel.wake(|on| *on == On::Condition(it as usize), 1)) {
        Some(_) => 0,
        // SAFETY: the caller's argument goes to the function that was called.
        None => unsafe { real!(fn pthread_cond_signal(*mut pthread_cond_t) -> c_int)(it) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(it: *mut pthread_cond_t) -> c_int {
    match inside(|kernel, _| kernel.wake(|on| *on == On::Condition(it as usize), usize::MAX)) {
        Some(_) => 0,
        // SAFETY: the caller's argument goes to the function that was called.
        None => unsafe { real!(fn pthread_cond_broadcast(*mut pthread_cond_t) -> c_int)(it) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_init(
    it: *mut libc::pthread_barrier_t,
    attributes: *const libc::pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    inside(|kernel, _| kernel.set_barrier(it as usize, count));
    let real = real!(
        fn pthread_barrier_init(*mut libc::pthread_barrier_t, *const libc::pthread_barrierattr_t, c_uint) -> c_int
    );
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real(it, attributes, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(it: *mut libc::pthread_barrier_t) -> c_int {
    match inside(|kernel, _| kernel.arrive(it as usize)) {
        Some(true) => libc::PTHREAD_BARRIER_SERIAL_THREAD,
        Some(false) => {
            wait(On::Condition(it as usize), None);
            0
        }
        // SAFETY: the caller's argument goes to the function that was called.
        None => unsafe { real!(fn pthread_barrier_wait(*mut libc::pthread_barrier_t) -> c_int)(it) },
    }
}

/// While one thread initialises and waits for something, others that come wait for it here, not in glibc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(once: *mut c_int, initialise: extern "C" fn()) -> c_int {
    while let Some(false) = inside(|kernel, _| kernel.enter_once(once as usize)) {
        wait(On::Lock(once as usize), None);
    }
    // SAFETY: the caller's arguments go to the function that was called.
    let result = unsafe { real!(fn pthread_once(*mut c_int, extern "C" fn()) -> c_int)(once, initialise) };
    inside(|kernel, _| kernel.leave_once(once as usize));
    result
}
