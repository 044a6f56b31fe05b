//! The machine's own calls on files, for the folder that is a process's disk. They allocate nothing.

use super::{errno, raw};
use libc::c_int;
use std::ffi::{CStr, CString};

/// The state of an open file.
pub fn stat(descriptor: c_int) -> Option<libc::stat> {
    stat_of(descriptor, c"", libc::AT_EMPTY_PATH)
}

/// The state of what is at the path; a link is not followed.
pub fn stat_at(path: &str) -> Option<libc::stat> {
    look(path).ok()
}

/// The same.
///
/// # Errors
/// The error's number.
pub fn look(path: &str) -> Result<libc::stat, c_int> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    stat_of(libc::AT_FDCWD, &path, libc::AT_SYMLINK_NOFOLLOW).ok_or_else(errno)
}

/// The state of what is behind the path, such as that of an open file by its descriptor.
pub fn stat_behind(path: &str) -> Option<libc::stat> {
    stat_of(libc::AT_FDCWD, &CString::new(path).ok()?, 0)
}

/// What the link at this path says, if that is UTF-8.
pub fn read_link(path: &str) -> Option<String> {
    let (path, mut room) = (CString::new(path).ok()?, [0u8; 4096]);
    let to = room.as_mut_ptr() as usize;
    // SAFETY: a C string, and room for what comes back.
    let length =
        unsafe { raw(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, to, room.len(), 0, 0]) };
    std::str::from_utf8(room.get(..usize::try_from(length).ok()?)?).ok().map(str::to_owned)
}

fn stat_of(folder: c_int, path: &CStr, flags: c_int) -> Option<libc::stat> {
    // SAFETY: zeros are a value of it.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    let at = &raw mut found as usize;
    // SAFETY: a C string, and room for what comes back.
    let result =
        unsafe { raw(libc::SYS_newfstatat, [folder as usize, path.as_ptr() as usize, at, flags as usize, 0, 0]) };
    (result == 0).then_some(found)
}

/// Sets both times, in nanoseconds since 1970, of what is at the path; of the descriptor itself, if that is empty.
pub fn set_times(folder: c_int, path: &CStr, wall: u64) {
    let (tv_sec, tv_nsec) = ((wall / 1_000_000_000) as _, (wall % 1_000_000_000) as _);
    let times = [libc::timespec { tv_sec, tv_nsec }; 2];
    let (path, flags) = match path.is_empty() {
        true => (0, 0),
        false => (path.as_ptr() as usize, libc::AT_SYMLINK_NOFOLLOW as usize),
    };
    // SAFETY: null or a C string, and two times.
    unsafe { raw(libc::SYS_utimensat, [folder as usize, path, times.as_ptr() as usize, flags, 0, 0]) };
}

/// The path that is behind an open descriptor; `None` if it is none, or not UTF-8.
pub fn path_of(descriptor: c_int, room: &mut [u8; 4096]) -> Option<&str> {
    let mut name = [0; 32];
    std::io::Write::write_fmt(&mut &mut name[..31], format_args!("/proc/self/fd/{descriptor}")).ok()?;
    let to = room.as_mut_ptr() as usize;
    // SAFETY: a path that ends with a zero, and room for what comes back.
    let length =
        unsafe { raw(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, name.as_ptr() as usize, to, room.len(), 0, 0]) };
    std::str::from_utf8(room.get(..usize::try_from(length).ok()?)?).ok()
}

pub fn make_folder(path: &str) -> bool {
    let Ok(path) = CString::new(path) else { return false };
    // SAFETY: a C string.
    unsafe { raw(libc::SYS_mkdirat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0o755, 0, 0, 0]) == 0 }
}
