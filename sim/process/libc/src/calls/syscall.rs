//! `syscall`: std's and parking_lot's locks, condition variables and parking come through here as futexes.

use super::{
    ambient, bytes, descriptor,
    files::machine::{FILES, OLDER_FILES},
    identity, ready, refused, socket,
};
use crate::{
    baton::{inside, is_inside, wait},
    call::{after, fail, nanoseconds, on_clock, refuse},
    kernel::threads::On,
    system::raw,
};
use libc::{c_int, c_long, timespec};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that concern neither the network nor time nor other threads: they are the machine's.
const PASSING: [c_long; 12] = [
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
    libc::SYS_copy_file_range,
    libc::SYS_sched_setaffinity,
];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if !is_inside() || PASSING.contains(&number) {
        // SAFETY: the caller's arguments go to the system call that was meant.
        return unsafe { raw(number, [a, b, c, d, e, f]) };
    }
    // SAFETY: the caller's.
    unsafe { by_number(number, [a, b, c, d, e, f]) }
}

/// Does what a system call of this number would do, in the world: -1 and `errno` if it fails.
///
/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> c_long {
    if FILES.contains(&number) || OLDER_FILES.contains(&number) {
        // SAFETY: the caller's.
        return unsafe { super::files::by_number(number, a) };
    }
    // SAFETY: the caller's: each of these functions takes what its system call takes.
    unsafe {
        match number {
            libc::SYS_futex => futex(a[0], a[1] as c_int, a[2] as u32, a[3], a[4], a[5] as u32),
            libc::SYS_getrandom => ambient::getrandom(a[0] as _, a[1], a[2] as _) as c_long,
            libc::SYS_clock_gettime => ambient::clock_gettime(a[0] as _, a[1] as _).into(),
            libc::SYS_clock_nanosleep => match ambient::clock_nanosleep(a[0] as _, a[1] as _, a[2] as _, a[3] as _) {
                0 => 0,
                error => fail(error),
            },
            libc::SYS_gettimeofday => ambient::gettimeofday(a[0] as _, a[1] as _).into(),
            libc::SYS_nanosleep => ambient::nanosleep(a[0] as _, a[1] as _).into(),
            libc::SYS_sched_yield => ambient::sched_yield().into(),
            libc::SYS_gettid => identity::gettid().into(),
            libc::SYS_getpid => identity::getpid().into(),
            libc::SYS_uname => identity::uname(a[0] as _).into(),
            libc::SYS_sched_getaffinity => identity::sched_getaffinity(a[0] as _, a[1], a[2] as _).into(),
            libc::SYS_exit_group => super::identity::_exit(a[0] as _),
            _ => of_descriptors(number, a),
        }
    }
}

/// # Safety
/// As the system call.
unsafe fn of_descriptors(number: c_long, a: [usize; 6]) -> c_long {
    // SAFETY: the caller's: each of these functions takes what its system call takes.
    unsafe {
        match number {
            libc::SYS_socket => socket::socket(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_socketpair => socket::socketpair(a[0] as _, a[1] as _, a[2] as _, a[3] as _).into(),
            libc::SYS_bind => socket::bind(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_listen => socket::listen(a[0] as _, a[1] as _).into(),
            libc::SYS_accept => socket::accept(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_accept4 => socket::accept4(a[0] as _, a[1] as _, a[2] as _, a[3] as _).into(),
            libc::SYS_connect => socket::connect(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_getsockname => socket::getsockname(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_getpeername => socket::getpeername(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_setsockopt => socket::setsockopt(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _).into(),
            libc::SYS_getsockopt => socket::getsockopt(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _).into(),
            libc::SYS_shutdown => socket::shutdown(a[0] as _, a[1] as _).into(),
            libc::SYS_close => descriptor::close(a[0] as _).into(),
            libc::SYS_dup => descriptor::dup(a[0] as _).into(),
            libc::SYS_dup3 => descriptor::dup3(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_fcntl => descriptor::fcntl(a[0] as _, a[1] as _, a[2]).into(),
            libc::SYS_ioctl => descriptor::ioctl(a[0] as _, a[1] as _, a[2]).into(),
            libc::SYS_pipe2 => descriptor::pipe2(a[0] as _, a[1] as _).into(),
            libc::SYS_eventfd2 => descriptor::eventfd(a[0] as _, a[1] as _).into(),
            libc::SYS_read => bytes::read(a[0] as _, a[1] as _, a[2]) as c_long,
            libc::SYS_readv => bytes::readv(a[0] as _, a[1] as _, a[2] as _) as c_long,
            libc::SYS_recvfrom => {
                bytes::recvfrom(a[0] as _, a[1] as _, a[2], a[3] as _, a[4] as _, a[5] as _) as c_long
            }
            libc::SYS_recvmsg => bytes::recvmsg(a[0] as _, a[1] as _, a[2] as _) as c_long,
            libc::SYS_write => bytes::write(a[0] as _, a[1] as _, a[2]) as c_long,
            libc::SYS_writev => bytes::writev(a[0] as _, a[1] as _, a[2] as _) as c_long,
            libc::SYS_sendto => bytes::sendto(a[0] as _, a[1] as _, a[2], a[3] as _, a[4] as _, a[5] as _) as c_long,
            libc::SYS_sendmsg => bytes::sendmsg(a[0] as _, a[1] as _, a[2] as _) as c_long,
            libc::SYS_epoll_create1 => ready::epoll_create1(a[0] as _).into(),
            libc::SYS_epoll_ctl => ready::epoll_ctl(a[0] as _, a[1] as _, a[2] as _, a[3] as _).into(),
            libc::SYS_epoll_pwait => ready::epoll_pwait(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _).into(),
            libc::SYS_epoll_pwait2 => ready::epoll_pwait2(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _).into(),
            libc::SYS_ppoll => ready::ppoll(a[0] as _, a[1] as _, a[2] as _, a[3] as _).into(),
            libc::SYS_pselect6 => {
                ready::pselect(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _, std::ptr::null()).into()
            }
            _ => older(number, a),
        }
    }
}

/// The calls that only x86-64 still has.
///
/// # Safety
/// As the system call.
#[cfg(target_arch = "x86_64")]
unsafe fn older(number: c_long, a: [usize; 6]) -> c_long {
    // SAFETY: the caller's: each of these functions takes what its system call takes.
    unsafe {
        match number {
            libc::SYS_epoll_create => ready::epoll_create(a[0] as _).into(),
            libc::SYS_epoll_wait => ready::epoll_wait(a[0] as _, a[1] as _, a[2] as _, a[3] as _).into(),
            libc::SYS_eventfd => descriptor::eventfd(a[0] as _, 0).into(),
            libc::SYS_pipe => descriptor::pipe(a[0] as _).into(),
            libc::SYS_poll => ready::poll(a[0] as _, a[1] as _, a[2] as _).into(),
            libc::SYS_select => ready::select(a[0] as _, a[1] as _, a[2] as _, a[3] as _, a[4] as _).into(),
            libc::SYS_time => ambient::time(a[0] as _),
            libc::SYS_pause => refused::pause().into(),
            _ => refuse_number(number),
        }
    }
}

/// # Safety
/// As the system call.
#[cfg(target_arch = "aarch64")]
unsafe fn older(number: c_long, _: [usize; 6]) -> c_long {
    refuse_number(number)
}

/// System calls that are refused as libc's functions of nearly the same name are.
const NAMES: [(c_long, &str); 14] = [
    (libc::SYS_clone, "fork"),
    (libc::SYS_clone3, "fork"),
    (libc::SYS_execve, "execve"),
    (libc::SYS_execveat, "execve"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_kill, "kill"),
    (libc::SYS_tgkill, "tgkill"),
    (libc::SYS_signalfd4, "signalfd"),
    (libc::SYS_timerfd_create, "timerfd_create"),
    (libc::SYS_inotify_init1, "inotify_init1"),
    (libc::SYS_sendmmsg, "sendmmsg"),
    (libc::SYS_recvmmsg, "recvmmsg"),
    (libc::SYS_close_range, "close_range"),
];

fn refuse_number(number: c_long) -> c_long {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == number) {
        return fail(refuse(name));
    }
    let (error, sentence) = crate::table::refusal("syscall(another number)");
    let call = format!("syscall({number})");
    inside(|kernel, _| kernel.refuse(&call, &sentence.replace("syscall(another number)", &call)));
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
