//! `syscall`: std's and parking_lot's locks, condition variables and parking come through here as futexes.

use super::{clock, entropy, identity};
use crate::{
    baton::{inside, is_inside, wait},
    call::{after, fail, nanoseconds, on_clock, refuse},
    kernel::threads::On,
    system::raw,
};
use libc::{c_int, c_long, c_void, timespec};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that concern neither the network nor time nor other threads: they are the machine's.
const PASSING: [c_long; 22] = [
    libc::SYS_statx,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_brk,
    libc::SYS_prctl,
    libc::SYS_openat,
    libc::SYS_copy_file_range,
    libc::SYS_getdents64,
    libc::SYS_faccessat2,
    libc::SYS_renameat2,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_sched_setaffinity,
];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if !is_inside() || PASSING.contains(&number) {
        // SAFETY: the caller's arguments go to the system call that was meant.
        return unsafe { raw(number, [a, b, c, d, e, f]) };
    }
    match number {
        // SAFETY: the caller's arguments, as for the system call.
        libc::SYS_futex => unsafe { futex(a, b as c_int, c as u32, d, e, f as u32) },
        // SAFETY: the caller's arguments, as for the system call.
        libc::SYS_getrandom => unsafe { entropy::getrandom(a as *mut c_void, b, c as u32) as c_long },
        // SAFETY: the caller's arguments, as for the system call.
        libc::SYS_clock_gettime => unsafe { c_long::from(clock::clock_gettime(a as c_int, b as *mut timespec)) },
        libc::SYS_gettid => c_long::from(identity::gettid()),
        libc::SYS_getpid => c_long::from(identity::getpid()),
        libc::SYS_sched_yield => c_long::from(clock::sched_yield()),
        libc::SYS_exit_group => super::process::_exit(a as c_int),
        _ => refuse_number(number),
    }
}

fn refuse_number(number: c_long) -> c_long {
    let (error, _) = crate::table::refusal("syscall(another number)");
    let call = format!("syscall({number})");
    inside(|kernel, _| kernel.refuse(&call, &format!("{call}: this system call is not simulated")));
    fail(error)
}

/// # Safety
/// As the system call: `at` is the address of a word, `time` null or that of a `timespec`.
unsafe fn futex(at: usize, op: c_int, value: u32, time: usize, to: usize, last: u32) -> c_long {
    let command = op & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let word = || {
        // SAFETY: the caller's; others may write it at any time, so it is read as an atomic.
        unsafe { AtomicU32::from_ptr(at as *mut u32) }.load(Ordering::SeqCst)
    };
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            if word() != value {
                return fail(libc::EAGAIN);
            }
            // SAFETY: the caller's.
            let until = match unsafe { (time as *const timespec).as_ref() }.map(nanoseconds).transpose() {
                Ok(time) if command == libc::FUTEX_WAIT => time.map(after),
                Ok(time) => {
                    let real = op & libc::FUTEX_CLOCK_REALTIME != 0;
                    time.map(|at| on_clock(if real { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC }, at))
                }
                Err(error) => return fail(error),
            };
            let bits = if command == libc::FUTEX_WAIT { u32::MAX } else { last };
            if wait(On::Futex { address: at, bits }, until) { 0 } else { fail(libc::ETIMEDOUT) }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let wanted = if command == libc::FUTEX_WAKE { u32::MAX } else { last };
            let of = |on: &On| matches!(on, On::Futex { address, bits } if *address == at && bits & wanted != 0);
            inside(|kernel, _| kernel.wake(of, value as usize)).unwrap_or(0) as c_long
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            if command == libc::FUTEX_CMP_REQUEUE && word() != last {
                return fail(libc::EAGAIN);
            }
            let of = |on: &On| matches!(on, On::Futex { address, .. } if *address == at);
            let moved = inside(|kernel, _| kernel.wake(of, value as usize) + kernel.requeue(at, to, time));
            moved.unwrap_or(0) as c_long
        }
        _ => fail(refuse("futex(another operation)")),
    }
}
