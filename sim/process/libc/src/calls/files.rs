//! Files: system calls with paths lead to the process's own disk, whoever makes them, libc's own functions included
//! (`catch`). Reading and writing are the machine's.

pub mod folder;
pub mod machine;
pub mod path;
pub mod state;
pub mod sync;

use crate::{
    baton::inside,
    call::{after, fail, refuse},
    kernel::threads::On,
    system::{disk, raw},
};
use libc::{AT_FDCWD, c_char, c_int, c_long};
use machine::{HERE, done, is_of_system};
use path::{Dots, Intent, Last, Place, dots_of, entered, files, is_own, place_of, resolve};

/// Does the process have a disk of its own? Else all of these are the machine's.
pub fn has_disk() -> bool {
    inside(|kernel, _| kernel.files.is_some()).unwrap_or(false)
}

fn answer(result: Result<c_long, c_int>) -> c_long {
    result.unwrap_or_else(fail)
}

/// Does what the system call of this number would do, on the process's disk.
///
/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> c_long {
    if !has_disk() {
        // SAFETY: the caller's.
        return unsafe { raw(number, a) };
    }
    // SAFETY: the caller's: each of these functions takes what its system call takes.
    answer(unsafe {
        match number {
            libc::SYS_openat => open(a[0] as _, a[1] as _, a[2] as _, a[3]),
            libc::SYS_mkdirat => mkdir(a[0] as _, a[1] as _, a[2]),
            libc::SYS_unlinkat => unlink(a[0] as _, a[1] as _, a[2]),
            libc::SYS_renameat => rename((a[0] as _, a[1] as _), (a[2] as _, a[3] as _), 0),
            libc::SYS_renameat2 => rename((a[0] as _, a[1] as _), (a[2] as _, a[3] as _), a[4]),
            libc::SYS_linkat => link((a[0] as _, a[1] as _), (a[2] as _, a[3] as _), a[4]),
            libc::SYS_symlinkat => symlink(a[0] as _, a[1] as _, a[2] as _),
            libc::SYS_truncate | libc::SYS_ftruncate | libc::SYS_fallocate => sync::cut_by_number(number, a),
            libc::SYS_fchmodat => {
                let at = |path| done(number, [HERE, path, a[2], 0, 0, 0]);
                changed(a[0] as _, a[1] as _, Last::Followed, at)
            }
            libc::SYS_fchownat => {
                let at = |path| done(number, [HERE, path, a[2], a[3], a[4], 0]);
                changed(a[0] as _, a[1] as _, Last::of(a[4]), at)
            }
            libc::SYS_fchmod | libc::SYS_fchown => of_open(a[0] as _, || done(number, a)),
            libc::SYS_utimensat => set_times(a),
            libc::SYS_flock => lock(a[0] as _, a[1] as _),
            libc::SYS_chdir | libc::SYS_fchdir | libc::SYS_getcwd | libc::SYS_getdents64 => {
                folder::by_number(number, a)
            }
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync | libc::SYS_syncfs | libc::SYS_msync => {
                sync::by_number(number, a)
            }
            libc::SYS_openat2 => Err(libc::ENOSYS),
            libc::SYS_mknodat => Err(refuse("mknodat(a special file)")),
            libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_removexattr | libc::SYS_lremovexattr => {
                Err(refuse("setxattr(anything)"))
            }
            libc::SYS_fsetxattr | libc::SYS_fremovexattr => Err(refuse("setxattr(anything)")),
            libc::SYS_getxattr | libc::SYS_lgetxattr | libc::SYS_listxattr | libc::SYS_llistxattr => {
                Err(libc::EOPNOTSUPP)
            }
            machine::SYS_FCHMODAT2 => {
                changed(a[0] as _, a[1] as _, Last::of(a[3]), |path| done(number, [HERE, path, a[2], a[3], 0, 0]))
            }
            machine::SYS_SETXATTRAT | machine::SYS_REMOVEXATTRAT => Err(libc::ENOSYS),
            libc::SYS_chroot => Err(libc::EPERM),
            _ => older(number, a),
        }
    })
}

/// What ARM64 has only in the newer form.
///
/// # Safety
/// As the system call.
#[cfg(target_arch = "x86_64")]
unsafe fn older(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    let create = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as c_int;
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_open => open(AT_FDCWD, a[0] as _, a[1] as _, a[2]),
            libc::SYS_creat => open(AT_FDCWD, a[0] as _, create, a[1]),
            libc::SYS_mkdir => mkdir(AT_FDCWD, a[0] as _, a[1]),
            libc::SYS_rmdir => unlink(AT_FDCWD, a[0] as _, libc::AT_REMOVEDIR as usize),
            libc::SYS_unlink => unlink(AT_FDCWD, a[0] as _, 0),
            libc::SYS_rename => rename((AT_FDCWD, a[0] as _), (AT_FDCWD, a[1] as _), 0),
            libc::SYS_link => link((AT_FDCWD, a[0] as _), (AT_FDCWD, a[1] as _), 0),
            libc::SYS_symlink => symlink(a[0] as _, AT_FDCWD, a[1] as _),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown => {
                let last = if number == libc::SYS_lchown { Last::Itself } else { Last::Followed };
                changed(AT_FDCWD, a[0] as _, last, |path| done(number, [path, a[1], a[2], 0, 0, 0]))
            }
            libc::SYS_mknod => Err(refuse("mknodat(a special file)")),
            libc::SYS_utime | libc::SYS_utimes | libc::SYS_futimesat | libc::SYS_getdents => Err(libc::ENOSYS),
            _ => state::by_number(number, a),
        }
    }
}

/// # Safety
/// As the system call.
#[cfg(target_arch = "aarch64")]
unsafe fn older(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe { state::by_number(number, a) }
}

/// # Safety
/// `path` is null or a C string.
unsafe fn open(folder: c_int, path: *const c_char, flags: c_int, mode: usize) -> Result<c_long, c_int> {
    let anonymous = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
    let creates = flags & libc::O_CREAT != 0 && flags & libc::O_PATH == 0;
    let at = |path: usize| [HERE, path, (flags & !libc::O_DIRECT) as usize, mode, 0, 0];
    // SAFETY: the caller's.
    if !path.is_null() && !writes && !creates && unsafe { is_of_system(path) } {
        // SAFETY: the caller's.
        return unsafe { done(libc::SYS_openat, at(path as usize)) };
    }
    let place = if anonymous {
        // SAFETY: the caller's.
        let within = unsafe { resolve(folder, path, Intent::Read, Last::Followed) }?;
        let within = place_of(&within.shown, "new", Intent::Make, Last::Itself)?;
        Place { path: std::ffi::CString::new(within.parent()).map_err(|_| libc::EINVAL)?, ..within }
    } else {
        let intent = match (creates, writes) {
            (true, _) if flags & libc::O_EXCL != 0 => Intent::MakeNew,
            (true, _) => Intent::Make,
            (false, true) => Intent::Change,
            (false, false) => Intent::Read,
        };
        let last =
            if intent == Intent::MakeNew || flags & libc::O_NOFOLLOW != 0 { Last::Itself } else { Last::Followed };
        // SAFETY: the caller's.
        unsafe { resolve(folder, path, intent, last) }?
    };
    if place.own && writes && flags & libc::O_DSYNC != 0 {
        return Err(refuse("openat(O_SYNC)"));
    }
    let before = disk::stat_behind(place.text()).filter(|_| place.own);
    // SAFETY: a C string.
    let opened = unsafe { done(libc::SYS_openat, at(place.path.as_ptr() as usize)) }?;
    if place.own {
        if let Some(before) = before.filter(|_| flags & libc::O_TRUNC != 0 && !anonymous) {
            sync::to(&before, 0);
        }
        opened_own(opened as c_int, &place, before.filter(|_| !anonymous), (creates || anonymous, writes));
    }
    Ok(opened)
}

fn opened_own(descriptor: c_int, place: &Place, before: Option<libc::stat>, (creates, writes): (bool, bool)) {
    let now = disk::stat(descriptor);
    inside(|kernel, _| {
        let (wall, Some(files)) = (kernel.wall, &mut kernel.files) else { return };
        files.listings.remove(&descriptor);
        match (before, now) {
            (Some(before), _) => files.known(&before),
            (None, Some(now)) if creates => {
                files.is_new(now.st_ino);
                files.touch(place.parent(), wall);
            }
            _ => {}
        }
        if let Some(now) = now.filter(|_| writes || creates) {
            files.opened_for_writing(descriptor, now.st_ino, place.text(), wall);
            files.stamp(descriptor, wall);
        }
    });
}

/// # Safety
/// `path` is null or a C string.
unsafe fn mkdir(folder: c_int, path: *const c_char, mode: usize) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        let place = resolve(folder, path, Intent::MakeNew, Last::Name)?;
        let made = done(libc::SYS_mkdirat, [HERE, place.path.as_ptr() as usize, mode, 0, 0, 0])?;
        entered(&[place.parent()], Some(place.text().trim_end_matches('/')));
        Ok(made)
    }
}

/// # Safety
/// `path` is null or a C string.
unsafe fn unlink(folder: c_int, path: *const c_char, flags: usize) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        let place = resolve(folder, path, Intent::Change, Last::Name)?;
        match dots_of(path) {
            Some(Dots::One) if flags & libc::AT_REMOVEDIR as usize != 0 => return Err(libc::EINVAL),
            Some(Dots::Two) if flags & libc::AT_REMOVEDIR as usize != 0 => return Err(libc::ENOTEMPTY),
            _ => {}
        }
        let removed = done(libc::SYS_unlinkat, [HERE, place.path.as_ptr() as usize, flags, 0, 0, 0])?;
        entered(&[place.parent()], None);
        Ok(removed)
    }
}

type At = (c_int, *const c_char);

/// # Safety
/// Paths are null or C strings.
unsafe fn rename(old: At, new: At, flags: usize) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        // A file that was closed unseen is known by its path.
        inside(|kernel, _| kernel.stamp_written());
        let dots = [old.1, new.1].map(|path| dots_of(path)).iter().any(Option::is_some);
        let old = resolve(old.0, old.1, Intent::Change, Last::Name)?;
        let intent = if flags & libc::RENAME_NOREPLACE as usize != 0 { Intent::MakeNew } else { Intent::Make };
        let new = resolve(new.0, new.1, intent, Last::Name)?;
        if dots {
            return Err(libc::EBUSY);
        }
        let at = [HERE, old.path.as_ptr() as usize, HERE, new.path.as_ptr() as usize, flags, 0];
        let file = disk::stat_at(old.text());
        let renamed = done(libc::SYS_renameat2, at)?;
        if flags & libc::RENAME_EXCHANGE as usize == 0 {
            file.inspect(|file| moved(file.st_ino, &old, &new));
        }
        entered(&[old.parent(), new.parent()], None);
        Ok(renamed)
    }
}

/// The world is told of each step: after a power loss, a name may be free that the next step was to take.
fn moved(file: u64, old: &Place, new: &Place) {
    let number = |folder: &str| disk::stat_at(folder).map_or(0, |stat| stat.st_ino);
    let name = |place: &Place| place.text().rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    let (from_folder, to_folder) = (number(old.parent()), number(new.parent()));
    let op = fencepost_process::Op::Moved { file, from_folder, from: name(old), to_folder, to: name(new) };
    inside(|kernel, _| kernel.tell(op));
}

/// # Safety
/// Paths are null or C strings.
unsafe fn link(old: At, new: At, flags: usize) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        let last = if flags & libc::AT_SYMLINK_FOLLOW as usize != 0 { Last::Followed } else { Last::Itself };
        let old = resolve(old.0, old.1, Intent::Read, last)?;
        if !old.own {
            return Err(refuse("openat(a file of the machine, to change it)"));
        }
        let new = resolve(new.0, new.1, Intent::MakeNew, Last::Name)?;
        let at = [HERE, old.path.as_ptr() as usize, HERE, new.path.as_ptr() as usize, flags, 0];
        let linked = done(libc::SYS_linkat, at)?;
        entered(&[new.parent()], None);
        Ok(linked)
    }
}

/// # Safety
/// Both are null or C strings.
unsafe fn symlink(target: *const c_char, folder: c_int, path: *const c_char) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        let place = resolve(folder, path, Intent::MakeNew, Last::Name)?;
        let made = done(libc::SYS_symlinkat, [target as usize, HERE, place.path.as_ptr() as usize, 0, 0, 0])?;
        entered(&[place.parent()], Some(place.text()));
        Ok(made)
    }
}

/// # Safety
/// `path` is null or a C string.
unsafe fn changed(
    folder: c_int,
    path: *const c_char,
    last: Last,
    change: impl FnOnce(usize) -> Result<c_long, c_int>,
) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    let place = unsafe { resolve(folder, path, Intent::Change, last) }?;
    if !place.own {
        return Err(refuse("openat(a file of the machine, to change it)"));
    }
    change(place.path.as_ptr() as usize)
}

fn of_open(descriptor: c_int, change: impl FnOnce() -> Result<c_long, c_int>) -> Result<c_long, c_int> {
    if is_own(descriptor) { change() } else { Err(refuse("openat(a file of the machine, to change it)")) }
}

/// # Safety
/// As `utimensat`.
unsafe fn set_times(a: [usize; 6]) -> Result<c_long, c_int> {
    let now = [libc::timespec { tv_sec: 0, tv_nsec: 0 }; 2];
    let wall = inside(|kernel, _| kernel.wall).unwrap_or(0);
    let of = |time: &libc::timespec| match time.tv_nsec {
        libc::UTIME_NOW => libc::timespec { tv_sec: (wall / 1_000_000_000) as _, tv_nsec: (wall % 1_000_000_000) as _ },
        _ => *time,
    };
    let asked = match a[2] {
        0 => now.map(|time| of(&libc::timespec { tv_nsec: libc::UTIME_NOW, ..time })),
        // SAFETY: the caller's: two times.
        at => unsafe { *(at as *const [libc::timespec; 2]) }.map(|time| of(&time)),
    };
    let times = asked.as_ptr() as usize;
    // SAFETY: the caller's; two times.
    unsafe {
        if a[1] == 0 {
            of_open(a[0] as _, || done(libc::SYS_utimensat, [a[0], 0, times, 0, 0, 0]))?;
            disk::stat(a[0] as _).inspect(|stat| files(|files| files.keep_times(stat)));
            return Ok(0);
        }
        let place = resolve(a[0] as _, a[1] as _, Intent::Change, Last::of(a[3]))?;
        if !place.own {
            return Err(refuse("openat(a file of the machine, to change it)"));
        }
        done(libc::SYS_utimensat, [HERE, place.path.as_ptr() as usize, times, a[3], 0, 0])?;
        disk::stat_at(place.text()).inspect(|stat| files(|files| files.keep_times(stat)));
        Ok(0)
    }
}

/// How often a thread that waits for a lock of a file looks whether it is free.
const LOOKS: u64 = 1_000_000;

/// Takes a lock as the machine has it, or waits until another thread has given it back.
pub fn patiently(mut take: impl FnMut() -> Result<c_long, c_int>) -> Result<c_long, c_int> {
    loop {
        match take() {
            Err(libc::EAGAIN | libc::EACCES) => drop(crate::baton::wait(On::Time, Some(after(LOOKS)))),
            result => return result,
        }
    }
}

fn lock(descriptor: c_int, operation: c_int) -> Result<c_long, c_int> {
    // SAFETY: numbers only.
    let take =
        || unsafe { done(libc::SYS_flock, [descriptor as usize, (operation | libc::LOCK_NB) as usize, 0, 0, 0, 0]) };
    if operation & libc::LOCK_NB != 0 { take() } else { patiently(take) }
}
