//! Files that become shorter: the world is told, as a length that was never synced may be lost like contents.

use super::{
    machine::done,
    path::{Intent, Last, entered, is_own, resolve},
};
use crate::{baton::inside, call::refuse, system::disk};
use fencepost_process::Op;
use libc::{AT_FDCWD, c_int, c_long};

/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    let length = a[1] as u64;
    // SAFETY: the caller's: each takes what its system call takes.
    unsafe {
        match number {
            libc::SYS_truncate => {
                let place = resolve(AT_FDCWD, a[0] as _, Intent::Change, Last::Followed)?;
                if !place.own {
                    return Err(refuse("openat(a file of the machine, to change it)"));
                }
                let before = disk::stat_behind(place.text());
                let result = done(number, [place.path.as_ptr() as usize, a[1], 0, 0, 0, 0])?;
                before.inspect(|before| to(before, length));
                entered(&[place.text()], None);
                Ok(result)
            }
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
