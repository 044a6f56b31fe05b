//! The machine's own system calls, past the filter.

use crate::system::{errno, raw};
use libc::{AT_FDCWD, c_char, c_int, c_long};
use std::ffi::CStr;

pub const HERE: usize = AT_FDCWD as usize;

/// # Safety
/// As the system call.
pub unsafe fn done(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    match unsafe { raw(number, a) } {
        -1 => Err(errno()),
        result => Ok(result),
    }
}

/// The machine's state of the system, which libc's allocator reads, too, and must not allocate for.
///
/// # Safety
/// A C string.
pub unsafe fn is_of_system(path: *const c_char) -> bool {
    // SAFETY: the caller's.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    (path.starts_with(b"/proc/") || path.starts_with(b"/sys/"))
        && !path.starts_with(b"/proc/self/fd")
        && !path.windows(2).any(|dots| dots == b"..")
}
