//! What is said of files: sizes, times, numbers, targets of links.

use super::{
    machine::{HERE, done, is_of_system},
    path::{Intent, Last, Place, files, is_own, resolve, without_root},
};
use crate::{baton::inside, call::refuse};
use libc::{AT_FDCWD, c_char, c_int, c_long};

/// The number of a disk's file system, as its process sees it.
const DEVICE: u64 = 0x801;
/// The size of a folder, whose own on the machine depends on its file system.
const FOLDER: i64 = 4096;

/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    inside(|kernel, _| kernel.stamp_written());
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_fstat => of_open(a[0] as _, a[1] as _),
            libc::SYS_newfstatat => stat(a),
            libc::SYS_statx => statx(a),
            libc::SYS_faccessat => access(a, 0),
            libc::SYS_faccessat2 => access(a, a[3]),
            libc::SYS_readlinkat => read_link(a[0] as _, a[1] as _, a[2], a[3]),
            libc::SYS_statfs => {
                let place = resolve(AT_FDCWD, a[0] as _, Intent::Read, Last::Followed)?;
                done(number, [place.path.as_ptr() as usize, a[1], 0, 0, 0, 0])?;
                Ok(if place.own { size_of_disk(a[1] as _) } else { 0 })
            }
            libc::SYS_fstatfs => {
                done(number, a)?;
                Ok(if is_own(a[0] as _) { size_of_disk(a[1] as _) } else { 0 })
            }
            _ => older(number, a),
        }
    }
}

/// # Safety
/// As the system call.
#[cfg(target_arch = "x86_64")]
unsafe fn older(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_stat => stat([HERE, a[0], a[1], 0, 0, 0]),
            libc::SYS_lstat => stat([HERE, a[0], a[1], libc::AT_SYMLINK_NOFOLLOW as usize, 0, 0]),
            libc::SYS_access => access([HERE, a[0], a[1], 0, 0, 0], 0),
            libc::SYS_readlink => read_link(AT_FDCWD, a[0] as _, a[1], a[2]),
            _ => Err(libc::ENOSYS),
        }
    }
}

/// # Safety
/// As the system call.
#[cfg(target_arch = "aarch64")]
unsafe fn older(_: c_long, _: [usize; 6]) -> Result<c_long, c_int> {
    Err(libc::ENOSYS)
}

/// # Safety
/// Room for a state.
unsafe fn of_open(descriptor: c_int, to: *mut libc::stat) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        done(libc::SYS_fstat, [descriptor as usize, to as usize, 0, 0, 0, 0])?;
        // Most files of the machine are told apart by this alone.
        if files(|files| files.device == (*to).st_dev) && is_own(descriptor) {
            rewrite(&mut *to);
        }
    }
    Ok(0)
}

fn rewrite(stat: &mut libc::stat) {
    stat.st_dev = DEVICE;
    stat.st_ino = files(|files| files.number(stat.st_ino));
    (stat.st_atime, stat.st_atime_nsec) = (stat.st_mtime, stat.st_mtime_nsec);
    (stat.st_ctime, stat.st_ctime_nsec) = (stat.st_mtime, stat.st_mtime_nsec);
    if stat.st_mode & libc::S_IFMT == libc::S_IFDIR {
        stat.st_size = FOLDER;
    }
    stat.st_blksize = 4096;
    // How much of a file takes room differs from one file system to another.
    stat.st_blocks = (stat.st_size + 511) / 512;
}

/// # Safety
/// A C string or null.
unsafe fn read(folder: usize, path: usize, last: Last) -> Result<Place, c_int> {
    // SAFETY: the caller's.
    unsafe { resolve(folder as c_int, path as *const c_char, Intent::Read, last) }
}

/// # Safety
/// A C string or null.
unsafe fn is_empty(path: usize, flags: usize) -> bool {
    // SAFETY: the caller's.
    flags & libc::AT_EMPTY_PATH as usize != 0 && (path == 0 || unsafe { *(path as *const c_char) } == 0)
}

/// # Safety
/// As `newfstatat`.
unsafe fn stat(a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        if is_empty(a[1], a[3]) {
            return of_open(a[0] as _, a[2] as _);
        }
        let place = read(a[0], a[1], Last::of(a[3]))?;
        done(libc::SYS_newfstatat, [HERE, place.path.as_ptr() as usize, a[2], a[3], 0, 0])?;
        if place.own {
            rewrite(&mut *(a[2] as *mut libc::stat));
        }
    }
    Ok(0)
}

/// # Safety
/// As `statx`.
unsafe fn statx(a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        let own = if is_empty(a[1], a[2]) {
            done(libc::SYS_statx, a)?;
            is_own(a[0] as _)
        } else {
            let place = read(a[0], a[1], Last::of(a[2]))?;
            done(
                libc::SYS_statx,
                [HERE, place.path.as_ptr() as usize, a[2], a[3] | libc::STATX_BASIC_STATS as usize, a[4], 0],
            )?;
            place.own
        };
        if own {
            let found = &mut *(a[4] as *mut libc::statx);
            (found.stx_dev_major, found.stx_dev_minor) = (8, 1);
            found.stx_ino = files(|files| files.number(found.stx_ino));
            (found.stx_atime, found.stx_ctime) = (found.stx_mtime, found.stx_mtime);
            // The machine's clock is in it.
            found.stx_mask &= !libc::STATX_BTIME;
            found.stx_btime = std::mem::zeroed();
            found.stx_mnt_id = 0;
            if u32::from(found.stx_mode) & libc::S_IFMT == libc::S_IFDIR {
                found.stx_size = FOLDER as u64;
            }
            found.stx_blksize = 4096;
            found.stx_blocks = found.stx_size.div_ceil(512);
            (found.stx_attributes, found.stx_attributes_mask) = (0, 0);
        }
    }
    Ok(0)
}

/// # Safety
/// As `faccessat`.
unsafe fn access(a: [usize; 6], flags: usize) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    let place = unsafe { read(a[0], a[1], Last::of(flags)) }?;
    // SAFETY: a C string.
    unsafe { done(libc::SYS_faccessat2, [HERE, place.path.as_ptr() as usize, a[2], flags, 0, 0]) }?;
    if !place.own && a[2] & libc::W_OK as usize != 0 && !place.text().starts_with("/dev/") {
        return Err(refuse("openat(a file of the machine, to change it)"));
    }
    Ok(0)
}

/// # Safety
/// As `readlinkat`.
unsafe fn read_link(folder: c_int, path: *const c_char, to: usize, room: usize) -> Result<c_long, c_int> {
    let (mut whole, mut found) = ([0u8; 4096], 0);
    if (room as c_int) <= 0 {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's.
    if !path.is_null() && unsafe { is_of_system(path) } {
        // SAFETY: the caller's.
        return unsafe { done(libc::SYS_readlinkat, [folder as usize, path as usize, to, room, 0, 0]) };
    }
    // SAFETY: the caller's.
    let place = unsafe { resolve(folder, path, Intent::Read, Last::Itself) }?;
    let at = [HERE, place.path.as_ptr() as usize, whole.as_mut_ptr() as usize, whole.len(), 0, 0];
    // SAFETY: a C string, and room.
    found += unsafe { done(libc::SYS_readlinkat, at) }? as usize;
    let bytes = &whole[..found];
    let shown = std::str::from_utf8(bytes).map(|text| files(|files| without_root(files, text).as_bytes().to_vec()));
    let shown = shown.unwrap_or_else(|_| bytes.to_vec());
    let length = shown.len().min(room);
    // SAFETY: the caller's: so much room.
    unsafe { (to as *mut u8).copy_from_nonoverlapping(shown.as_ptr(), length) };
    Ok(length as c_long)
}

/// A disk of 1 GiB, half of it free: nothing looks at how much is used.
///
/// # Safety
/// Room for it.
unsafe fn size_of_disk(to: *mut libc::statfs) -> c_long {
    // SAFETY: the caller's; zeros are a value of it.
    unsafe {
        *to = std::mem::zeroed();
        // ext4's number.
        (*to).f_type = 0xef53;
        (*to).f_bsize = 4096;
        (*to).f_frsize = 4096;
        (*to).f_blocks = 1 << 18;
        ((*to).f_bfree, (*to).f_bavail) = (1 << 17, 1 << 17);
        ((*to).f_files, (*to).f_ffree) = (1 << 16, 1 << 15);
        (*to).f_namelen = 255;
    }
    0
}
