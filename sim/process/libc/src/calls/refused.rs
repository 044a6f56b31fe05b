//! What is not simulated is refused: the world is told in one sentence, and the call fails.

use crate::{
    baton::{self, is_inside},
    call::{after, fail, nanoseconds, refuse},
    kernel::threads::On,
    system::{real, set_errno},
};
use libc::{c_char, c_int, c_uint, c_void, pid_t, pthread_t, sigset_t, size_t, ssize_t, timespec};
use std::ptr::null_mut;

/// Functions that fail with what the closure makes of the error number.
macro_rules! refused {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $failed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            if is_inside() {
                return ($failed)(refuse(stringify!($name)));
            }
            // SAFETY: the caller's arguments go to the function that was called.
            unsafe { real!(fn $name($($type),*) -> $result)($($argument),*) }
        }
    )*};
}

fn null<T>(error: c_int) -> *mut T {
    set_errno(error);
    null_mut()
}

/// For functions that return the error number.
fn itself(error: c_int) -> c_int {
    error
}

type Words = *const *const c_char;

refused! {
    fork() -> pid_t, fail;
    _Fork() -> pid_t, fail;
    vfork() -> pid_t, fail;
    posix_spawn(a: *mut pid_t, b: *const c_char, c: *const c_void, d: *const c_void, e: Words, f: Words) -> c_int, itself;
    posix_spawnp(a: *mut pid_t, b: *const c_char, c: *const c_void, d: *const c_void, e: Words, f: Words) -> c_int, itself;
    system(a: *const c_char) -> c_int, fail;
    popen(a: *const c_char, b: *const c_char) -> *mut c_void, null;
    daemon(a: c_int, b: c_int) -> c_int, fail;
    execve(a: *const c_char, b: Words, c: Words) -> c_int, fail;
    execv(a: *const c_char, b: Words) -> c_int, fail;
    execvp(a: *const c_char, b: Words) -> c_int, fail;
    execvpe(a: *const c_char, b: Words, c: Words) -> c_int, fail;
    fexecve(a: c_int, b: Words, c: Words) -> c_int, fail;
    wait(a: *mut c_int) -> pid_t, fail;
    waitpid(a: pid_t, b: *mut c_int, c: c_int) -> pid_t, fail;
    waitid(a: c_int, b: c_uint, c: *mut c_void, d: c_int) -> c_int, fail;
    wait3(a: *mut c_int, b: c_int, c: *mut c_void) -> pid_t, fail;
    wait4(a: pid_t, b: *mut c_int, c: c_int, d: *mut c_void) -> pid_t, fail;
    kill(a: pid_t, b: c_int) -> c_int, fail;
    killpg(a: pid_t, b: c_int) -> c_int, fail;
    raise(a: c_int) -> c_int, fail;
    tgkill(a: pid_t, b: pid_t, c: c_int) -> c_int, fail;
    sigqueue(a: pid_t, b: c_int, c: *mut c_void) -> c_int, fail;
    pthread_kill(a: pthread_t, b: c_int) -> c_int, itself;
    pthread_sigqueue(a: pthread_t, b: c_int, c: *mut c_void) -> c_int, itself;
    pthread_cancel(a: pthread_t) -> c_int, itself;
    // Neither says that it failed: no alarm was pending.
    alarm(a: c_uint) -> c_uint, |error| { set_errno(error); 0 };
    ualarm(a: c_uint, b: c_uint) -> c_uint, |error| { set_errno(error); 0 };
    setitimer(a: c_int, b: *const c_void, c: *mut c_void) -> c_int, fail;
    timer_create(a: libc::clockid_t, b: *mut c_void, c: *mut c_void) -> c_int, fail;
    signalfd(a: c_int, b: *const sigset_t, c: c_int) -> c_int, fail;
    timerfd_create(a: libc::clockid_t, b: c_int) -> c_int, fail;
    pthread_tryjoin_np(a: pthread_t, b: *mut *mut c_void) -> c_int, itself;
    pthread_timedjoin_np(a: pthread_t, b: *mut *mut c_void, c: *const timespec) -> c_int, itself;
    pthread_clockjoin_np(a: pthread_t, b: *mut *mut c_void, c: libc::clockid_t, d: *const timespec) -> c_int, itself;
    inotify_init() -> c_int, fail;
    inotify_init1(a: c_int) -> c_int, fail;
    fanotify_init(a: c_uint, b: c_uint) -> c_int, fail;
    sendmmsg(a: c_int, b: *mut c_void, c: c_uint, d: c_int) -> c_int, fail;
    recvmmsg(a: c_int, b: *mut c_void, c: c_uint, d: c_int, e: *mut timespec) -> c_int, fail;
    gethostbyname(a: *const c_char) -> *mut c_void, null;
    gethostbyname2(a: *const c_char, b: c_int) -> *mut c_void, null;
    gethostbyaddr(a: *const c_void, b: libc::socklen_t, c: c_int) -> *mut c_void, null;
    gethostbyname_r(a: *const c_char, b: *mut c_void, c: *mut c_char, d: size_t, e: *mut *mut c_void, f: *mut c_int) -> c_int, itself;
    gethostbyname2_r(a: *const c_char, b: c_int, c: *mut c_void, d: *mut c_char, e: size_t, f: *mut *mut c_void, g: *mut c_int) -> c_int, itself;
    getifaddrs(a: *mut *mut c_void) -> c_int, fail;
    close_range(a: c_uint, b: c_uint, c: c_int) -> c_int, fail;
    closefrom(a: c_int) -> (), set_errno;
}

/// Between two descriptors of the machine's, these are libc's.
macro_rules! between {
    ($($name:ident($a:ident: c_int, $b:ident: $between:ty, $c:ident: $second:ty $(, $rest:ident: $type:ty)*), $other:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($a: c_int, $b: $between, $c: $second $(, $rest: $type)*) -> ssize_t {
            if crate::call::is_ours($a) || crate::call::is_ours($other as c_int) {
                return fail(refuse(stringify!($name)));
            }
            // SAFETY: the caller's arguments go to the function that was called.
            unsafe { real!(fn $name(c_int, $between, $second $(, $type)*) -> ssize_t)($a, $b, $c $(, $rest)*) }
        }
    )*};
}
between! {
    sendfile(a: c_int, b: c_int, c: *mut c_void, d: size_t), b;
    sendfile64(a: c_int, b: c_int, c: *mut c_void, d: size_t), b;
    splice(a: c_int, b: *mut c_void, c: c_int, d: *mut c_void, e: size_t, f: c_uint), c;
}

/// Waits for a signal: for good, as none ever comes.
fn wait_for_signal() -> ! {
    loop {
        baton::wait(On::Time, None);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pause() -> c_int {
    if is_inside() {
        wait_for_signal();
    }
    // SAFETY: it takes nothing.
    unsafe { real!(fn pause() -> c_int)() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const sigset_t) -> c_int {
    if is_inside() {
        wait_for_signal();
    }
    // SAFETY: the caller's argument goes to the function that was called.
    unsafe { real!(fn sigsuspend(*const sigset_t) -> c_int)(set) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    if is_inside() {
        wait_for_signal();
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn sigwait(*const sigset_t, *mut c_int) -> c_int)(set, signal) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut c_void) -> c_int {
    if is_inside() {
        wait_for_signal();
    }
    // SAFETY: the caller's arguments go to the function that was called.
    unsafe { real!(fn sigwaitinfo(*const sigset_t, *mut c_void) -> c_int)(set, info) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(set: *const sigset_t, info: *mut c_void, time: *const timespec) -> c_int {
    if !is_inside() {
        let real = real!(fn sigtimedwait(*const sigset_t, *mut c_void, *const timespec) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(set, info, time) };
    }
    if time.is_null() {
        wait_for_signal();
    }
    // SAFETY: the caller passes null or the address of a `timespec`.
    match nanoseconds(unsafe { &*time }) {
        Ok(time) => {
            baton::wait(On::Time, Some(after(time)));
            fail(libc::EAGAIN)
        }
        Err(error) => fail(error),
    }
}

/// Signals that a thread may block: not the one with which calls are caught, or the system ends the process.
///
/// # Safety
/// `set` is null or a set of signals.
unsafe fn blockable(set: *const sigset_t) -> Option<sigset_t> {
    if !is_inside() || set.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    let mut copy = unsafe { *set };
    // SAFETY: a set of signals.
    unsafe { libc::sigdelset(&mut copy, libc::SIGSYS) };
    Some(copy)
}

/// Threads that block all signals would block the one with which system calls are caught.
macro_rules! masks {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
            // SAFETY: the caller passes null or a set.
            let copy = unsafe { blockable(set) };
            let set = copy.as_ref().map_or(set, |copy| copy);
            // SAFETY: the caller's arguments go to the function that was called, with a set that is as good.
            unsafe { real!(fn $name(c_int, *const sigset_t, *mut sigset_t) -> c_int)(how, set, old) }
        }
    )*};
}
masks! { pthread_sigmask sigprocmask }
