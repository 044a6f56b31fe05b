//! glibc's own locks, for C libraries. Their state stays glibc's: a lock is tried, and whoever does not get it waits for
//! its turn. As one thread runs at a time, whoever was woken finds the lock free, or taken by somebody who was faster.

use crate::{
    baton::{inside, is_inside, wait},
    call::{fail, nanoseconds, on_clock},
    kernel::threads::{On, Until},
    system::{errno, real},
};
use libc::{c_int, clockid_t, pthread_mutex_t, pthread_rwlock_t, timespec};

/// Tries until it succeeds, or fails for good; `busy` says that somebody else has it.
fn lock_with(address: usize, until: Option<Until>, busy: c_int, attempt: impl Fn() -> c_int) -> c_int {
    loop {
        let result = attempt();
        if result != busy {
            return result;
        }
        if !wait(On::Lock(address), until) {
            return libc::ETIMEDOUT;
        }
    }
}

/// Whoever waits for the lock may try again.
fn freed(address: usize) {
    inside(|kernel, _| kernel.wake(|on| *on == On::Lock(address), usize::MAX));
}

/// A mutex that checks errors, or one that is recursive, says so to its owner; `trylock` only says that it is taken.
pub fn lock_mutex(mutex: *mut pthread_mutex_t, until: Option<Until>) -> c_int {
    let attempt = || {
        // SAFETY: the caller of `pthread_mutex_lock` and its like passes a mutex.
        unsafe { real!(fn pthread_mutex_trylock(*mut pthread_mutex_t) -> c_int)(mutex) }
    };
    // SAFETY: in glibc, the owner's number is the third word of a mutex, and its kind the fifth, on both architectures.
    let words = unsafe { std::slice::from_raw_parts(mutex.cast::<u32>(), 5) };
    let checks = words[4] & 3 == libc::PTHREAD_MUTEX_ERRORCHECK as u32;
    if checks && words[2] == crate::system::number() {
        return libc::EDEADLK;
    }
    lock_with(mutex as usize, until, libc::EBUSY, attempt)
}

pub fn unlock_mutex(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller of `pthread_mutex_unlock` and its like passes a mutex.
    let result = unsafe { real!(fn pthread_mutex_unlock(*mut pthread_mutex_t) -> c_int)(mutex) };
    freed(mutex as usize);
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    match is_inside() {
        true => lock_mutex(mutex, None),
        // SAFETY: the caller's argument goes to the function that was called.
        false => unsafe { real!(fn pthread_mutex_lock(*mut pthread_mutex_t) -> c_int)(mutex) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    unlock_mutex(mutex)
}

/// The time of a call with a deadline, or what the call fails with.
///
/// # Safety
/// `time` is the address of a `timespec`.
pub unsafe fn deadline(clock: clockid_t, time: *const timespec) -> Result<Option<Until>, c_int> {
    // SAFETY: the caller's.
    let time = nanoseconds(unsafe { &*time })?;
    Ok(Some(on_clock(clock, time)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    if !is_inside() {
        let real = real!(fn pthread_mutex_timedlock(*mut pthread_mutex_t, *const timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(mutex, time) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { pthread_mutex_clocklock(mutex, libc::CLOCK_REALTIME, time) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    if !is_inside() {
        let real = real!(fn pthread_mutex_clocklock(*mut pthread_mutex_t, clockid_t, *const timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(mutex, clock, time) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { deadline(clock, time) }.map_or_else(|error| error, |until| lock_mutex(mutex, until))
}

/// The functions that take a lock for reading or writing: at once, by a time, and by a time on a clock.
macro_rules! rwlock {
    ($lock:ident, $timed:ident, $clocked:ident, $attempt:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $lock(lock: *mut pthread_rwlock_t) -> c_int {
            if !is_inside() {
                // SAFETY: the caller's argument goes to the function that was called.
                return unsafe { real!(fn $lock(*mut pthread_rwlock_t) -> c_int)(lock) };
            }
            lock_with(lock as usize, None, libc::EBUSY, || {
                // SAFETY: the caller passes a lock.
                unsafe { real!(fn $attempt(*mut pthread_rwlock_t) -> c_int)(lock) }
            })
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $timed(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
            if !is_inside() {
                // SAFETY: the caller's arguments go to the function that was called.
                return unsafe { real!(fn $timed(*mut pthread_rwlock_t, *const timespec) -> c_int)(lock, time) };
            }
            // SAFETY: the caller's arguments.
            unsafe { $clocked(lock, libc::CLOCK_REALTIME, time) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $clocked(
            lock: *mut pthread_rwlock_t,
            clock: clockid_t,
            time: *const timespec,
        ) -> c_int {
            if !is_inside() {
                let real = real!(fn $clocked(*mut pthread_rwlock_t, clockid_t, *const timespec) -> c_int);
                // SAFETY: the caller's arguments go to the function that was called.
                return unsafe { real(lock, clock, time) };
            }
            // SAFETY: the caller passes the address of a `timespec`.
            let until = match unsafe { deadline(clock, time) } {
                Ok(until) => until,
                Err(error) => return error,
            };
            lock_with(lock as usize, until, libc::EBUSY, || {
                // SAFETY: the caller passes a lock.
                unsafe { real!(fn $attempt(*mut pthread_rwlock_t) -> c_int)(lock) }
            })
        }
    };
}
rwlock!(pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock);
rwlock!(pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's argument goes to the function that was called.
    let result = unsafe { real!(fn pthread_rwlock_unlock(*mut pthread_rwlock_t) -> c_int)(lock) };
    freed(lock as usize);
    result
}

/// A semaphore, by a time: 0, or -1 and `errno`.
fn lock_semaphore(semaphore: *mut libc::sem_t, until: Option<Until>) -> c_int {
    let attempt = || {
        // SAFETY: the caller of `sem_wait` and its like passes a semaphore.
        match unsafe { real!(fn sem_trywait(*mut libc::sem_t) -> c_int)(semaphore) } {
            0 => 0,
            _ => errno(),
        }
    };
    match lock_with(semaphore as usize, until, libc::EAGAIN, attempt) {
        0 => 0,
        error => fail(error),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_wait(semaphore: *mut libc::sem_t) -> c_int {
    match is_inside() {
        true => lock_semaphore(semaphore, None),
        // SAFETY: the caller's argument goes to the function that was called.
        false => unsafe { real!(fn sem_wait(*mut libc::sem_t) -> c_int)(semaphore) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: *mut libc::sem_t, time: *const timespec) -> c_int {
    if !is_inside() {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn sem_timedwait(*mut libc::sem_t, *const timespec) -> c_int)(semaphore, time) };
    }
    // SAFETY: the caller's arguments.
    unsafe { sem_clockwait(semaphore, libc::CLOCK_REALTIME, time) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_clockwait(semaphore: *mut libc::sem_t, clock: clockid_t, time: *const timespec) -> c_int {
    if !is_inside() {
        let real = real!(fn sem_clockwait(*mut libc::sem_t, clockid_t, *const timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(semaphore, clock, time) };
    }
    // SAFETY: the caller passes the address of a `timespec`.
    unsafe { deadline(clock, time) }.map_or_else(fail, |until| lock_semaphore(semaphore, until))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_post(semaphore: *mut libc::sem_t) -> c_int {
    // SAFETY: the caller's argument goes to the function that was called.
    let result = unsafe { real!(fn sem_post(*mut libc::sem_t) -> c_int)(semaphore) };
    freed(semaphore as usize);
    result
}
