//! The machine's own system calls, past the filter, and which of them are on files.

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

// Which system calls are on files.

/// Numbers that not every version of the `libc` crate has; the same on all machines.
pub const SYS_FCHMODAT2: c_long = 452;
pub const SYS_SETXATTRAT: c_long = 463;
pub const SYS_REMOVEXATTRAT: c_long = 466;

/// Calls on files, which lead to the process's disk also where libc itself makes them.
pub const FILES: &[c_long] = &[
    SYS_FCHMODAT2,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    libc::SYS_chdir,
    libc::SYS_chroot,
    libc::SYS_fchdir,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fallocate,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_linkat,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_msync,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_readlinkat,
    libc::SYS_removexattr,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_setxattr,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_symlinkat,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
pub const OLDER_FILES: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_creat,
    libc::SYS_futimesat,
    libc::SYS_getdents,
    libc::SYS_lchown,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_open,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(target_arch = "aarch64")]
pub const OLDER_FILES: &[c_long] = &[];
