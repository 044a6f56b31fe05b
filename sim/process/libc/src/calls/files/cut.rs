//! Files that become shorter: the world is told, as a length that was never synced may be lost like contents.

use super::{
    changed, entered,
    machine::done,
    path::{Last, is_own},
};
use crate::{baton::inside, system::disk};
use fencepost_process::Op;
use libc::{AT_FDCWD, c_int, c_long};

/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    let length = a[1] as u64;
    // SAFETY: the caller's: each takes what its system call takes.
    unsafe {
        match number {
            libc::SYS_truncate => changed(AT_FDCWD, a[0] as _, Last::Followed, |path| {
                let before = std::ffi::CStr::from_ptr(path as *const _).to_str().ok().and_then(disk::stat_at);
                let result = done(number, [path, a[1], 0, 0, 0, 0])?;
                before.inspect(|before| to(before, length));
                entered(&[std::ffi::CStr::from_ptr(path as *const _).to_str().unwrap_or_default()], None);
                Ok(result)
            }),
            libc::SYS_ftruncate => {
                let before = disk::stat(a[0] as _).filter(|_| is_own(a[0] as _));
                let result = done(number, a)?;
                before.inspect(|before| to(before, length));
                Ok(result)
            }
            // Few file systems move what lies behind a part that is taken out or put in.
            _ if a[1] as c_int & (libc::FALLOC_FL_COLLAPSE_RANGE | libc::FALLOC_FL_INSERT_RANGE) != 0 => {
                Err(libc::EOPNOTSUPP)
            }
            _ => done(number, a),
        }
    }
}

/// A file that was longer has this length now, in bytes.
pub fn to(before: &libc::stat, length: u64) {
    if before.st_mode & libc::S_IFMT == libc::S_IFREG && length < before.st_size as u64 {
        inside(|kernel, _| kernel.tell(Op::Cut { file: before.st_ino, length }));
    }
}
