//! libc's own functions, behind those of the same name in this crate, and the few system calls that threads take turns
//! with.

pub mod disk;

use libc::{c_int, c_long};
use std::{
    ffi::{CStr, c_void},
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering},
};

/// The next definition of a function of libc, after the one in this program.
pub fn next(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the name is a C string; `dlsym` may be called by any thread at any time.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // Nothing can be called in its place, and whoever called cannot be told.
        die(
            name.to_str().unwrap_or("a function").as_bytes(),
            b" is missing in this system's libc: it must be glibc, dynamically linked\n",
        );
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// `real!(fn close(c_int) -> c_int)(fd)` calls libc's own `close`. Its type must be the one in libc's header.
macro_rules! real {
    (fn $name:ident($($argument:ty),*) -> $result:ty) => {{
        static CACHE: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name without zeros"),
        };
        let address = $crate::system::next(&CACHE, NAME);
        // Most callers are within such a block already.
        #[allow(unused_unsafe)]
        // SAFETY: libc's function of this name has this type, as its header says; a function's address is no null.
        let function = unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
        };
        function
    }};
}
pub(crate) use real;

/// Says something on the machine's standard error and ends.
pub fn die(what: &[u8], why: &[u8]) -> ! {
    for text in [what, why] {
        // SAFETY: the slice is readable; `SYS_write` reads no more than its length.
        unsafe { raw(libc::SYS_write, [2, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
    }
    leave(127)
}

/// Ends the process at once.
pub fn leave(code: c_int) -> ! {
    loop {
        // SAFETY: it does not return, and touches no memory.
        unsafe { raw(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// A system call, as libc's `syscall` makes it: -1 and `errno` if it fails.
///
/// # Safety
/// As the system call of this number.
pub unsafe fn raw(number: c_long, a: [usize; 6]) -> c_long {
    type Syscall = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;
    static CACHE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: `syscall` takes a number and up to six words; on Linux, variadic words are passed like others.
    let syscall = unsafe { std::mem::transmute::<*mut c_void, Syscall>(next(&CACHE, c"syscall")) };
    // SAFETY: the caller's.
    unsafe { syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) }
}

/// An address within libc's code.
pub fn somewhere_in_libc() -> u64 {
    static CACHE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    next(&CACHE, c"syscall").addr() as u64
}

/// Sleeps while the word is `value`; may return early.
pub fn sleep_while(word: &AtomicU32, value: u32) {
    let wait = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word lives as long as the reference; a futex wait only reads it.
    unsafe { raw(libc::SYS_futex, [word.as_ptr() as usize, wait, value as usize, 0, 0, 0]) };
}

/// Wakes the thread that sleeps on the word.
pub fn rouse(word: &AtomicU32) {
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a futex wake uses the address as a name only.
    unsafe { raw(libc::SYS_futex, [word.as_ptr() as usize, wake, 1, 0, 0, 0]) };
}

/// The system's number of the calling thread.
pub fn number() -> u32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { raw(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Waits until the system has forgotten the thread of this number, which is about to end.
pub fn see_off(number: u32) {
    // SAFETY: it takes nothing and cannot fail.
    let process = unsafe { raw(libc::SYS_getpid, [0; 6]) } as usize;
    loop {
        // SAFETY: signal 0 is never delivered: the call only asks whether the thread exists.
        if unsafe { raw(libc::SYS_tgkill, [process, number as usize, 0, 0, 0, 0]) } != 0 {
            return;
        }
        // SAFETY: it takes nothing.
        unsafe { raw(libc::SYS_sched_yield, [0; 6]) };
    }
}

pub fn set_errno(error: c_int) {
    // SAFETY: the address is that of the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = error };
}

pub fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}
