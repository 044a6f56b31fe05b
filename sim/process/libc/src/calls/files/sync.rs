//! What is to survive a power loss: `fsync` and its like, which take the time that the world's disk takes; and files
//! that become shorter, of which the world is told.

use super::{
    machine::{HERE, done},
    path::{Intent, Last, entered, files, is_own, resolve},
};
use crate::{
    baton::{self, inside},
    call::refuse,
    kernel::{files::is_within, threads::On},
    system::{self, disk},
};
use fencepost_process::Op;
use libc::{AT_FDCWD, c_int, c_long};
use std::ops::Range;

/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    match number {
        // Everything that the process's disk has.
        libc::SYS_sync | libc::SYS_syncfs => sync(-1, WHOLE),
        libc::SYS_msync => of_memory(a),
        _ if is_own(a[0] as _) => {
            // SAFETY: numbers only.
            let flags = unsafe { done(libc::SYS_fcntl, [a[0], libc::F_GETFL as usize, 0, 0, 0, 0]) }?;
            if flags & c_long::from(libc::O_PATH) != 0 { Err(libc::EBADF) } else { sync(a[0] as _, WHOLE) }
        }
        // A file of the machine, which was only read: nothing is to be written.
        // SAFETY: the caller's.
        _ => unsafe { done(number, a) },
    }
}

const WHOLE: Range<u64> = 0..u64::MAX;

fn sync(descriptor: c_int, part: Range<u64>) -> Result<c_long, c_int> {
    let begun = inside(|kernel, _| kernel.begin_sync(descriptor, part));
    // The world is gone, and the process with it.
    let Some(Ok(number)) = begun else { system::leave(0) };
    loop {
        match inside(|kernel, _| kernel.end_of_sync(number)).flatten() {
            Some(0) => return Ok(0),
            Some(error) => return Err(error),
            None => drop(baton::wait(On::Sync(number), None)),
        }
    }
}

/// `msync`: whatever is written is in the file's memory already; with `MS_SYNC` it is to be on the disk, too, and nothing
/// else of the file.
fn of_memory(a: [usize; 6]) -> Result<c_long, c_int> {
    if a[2] & libc::MS_SYNC as usize != 0 && a[2] & libc::MS_ASYNC as usize != 0 {
        return Err(libc::EINVAL);
    }
    // SAFETY: numbers only: the machine says whether they are right.
    unsafe {
        done(libc::SYS_msync, [a[0], a[1], libc::MS_ASYNC as usize | a[2] & libc::MS_INVALIDATE as usize, 0, 0, 0])
    }?;
    if a[2] & libc::MS_SYNC as usize == 0 {
        return Ok(0);
    }
    let end = a[0].saturating_add(a[1]).checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| libc::EIO)?;
    for line in maps.lines() {
        let Some((part, path)) = part_of(line, a[0]..end) else { continue };
        if !files(|files| is_within(path, &files.root)) {
            continue;
        }
        let Ok(path) = std::ffi::CString::new(path) else { continue };
        // SAFETY: a C string, and numbers.
        unsafe {
            let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
            // One that was removed meanwhile cannot be lost any more.
            let Ok(opened) = done(libc::SYS_openat, [HERE, path.as_ptr() as usize, flags, 0, 0, 0]) else { continue };
            let synced = sync(opened as c_int, part);
            system::raw(libc::SYS_close, [opened as usize, 0, 0, 0, 0, 0]);
            synced?;
        }
    }
    Ok(0)
}

/// Memory is mapped in parts of this size, or of multiples of it, in bytes.
const PAGE: usize = 4096;

/// The part of a file, and its path, that a line of the memory's map has between these addresses.
fn part_of(line: &str, memory: Range<usize>) -> Option<(Range<u64>, &str)> {
    let number = |text| u64::from_str_radix(text, 16).ok();
    let mut words = line.split(' ');
    let (from, to) = words.next()?.split_once('-')?;
    let (from, to, offset) = (number(from)?, number(to)?, number(words.nth(1)?)?);
    let (start, end) = (from.max(memory.start as u64), to.min(memory.end as u64));
    let path = &line[line.find('/')?..];
    (start < end).then(|| (offset + (start - from)..offset + (end - from), path))
}

// Files that become shorter: the world is told, as a length that was never synced may be lost like contents.

/// # Safety
/// As the system call.
pub unsafe fn cut_by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
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
