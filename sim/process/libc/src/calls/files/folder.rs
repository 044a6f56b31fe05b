//! Folders: the working one, and lists of entries in the order of their names.

use super::{
    machine::done,
    path::{Intent, Last, Place, files, is_own, place_of, resolve, shown},
};
use crate::system::disk;
use libc::{c_char, c_int, c_long};

/// # Safety
/// As the system call.
pub unsafe fn by_number(number: c_long, a: [usize; 6]) -> Result<c_long, c_int> {
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_chdir => change_to(resolve(libc::AT_FDCWD, a[0] as *const c_char, Intent::Read, Last::Followed)?),
            libc::SYS_fchdir => change_to(place_of("", &shown(a[0] as _)?, Intent::Read, Last::Followed)?),
            libc::SYS_getcwd => working(a[0] as *mut u8, a[1]),
            _ => list(a[0] as _, a[1] as *mut u8, a[2]),
        }
    }
}

fn change_to(place: Place) -> Result<c_long, c_int> {
    let stat = disk::look(place.text())?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(libc::ENOTDIR);
    }
    let path = match place.shown.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    files(|files| path.clone_into(&mut files.cwd));
    Ok(0)
}

/// # Safety
/// There is so much room.
unsafe fn working(to: *mut u8, room: usize) -> Result<c_long, c_int> {
    let cwd = files(|files| files.cwd.clone()) + "\0";
    if room < cwd.len() {
        return Err(libc::ERANGE);
    }
    // SAFETY: the caller's.
    unsafe { to.copy_from_nonoverlapping(cwd.as_ptr(), cwd.len()) };
    Ok(cwd.len() as c_long)
}

/// Where the parts of `struct linux_dirent64` are.
const OFFSET: usize = 8;
const LENGTH: usize = 16;
const NAME: usize = 19;

/// # Safety
/// There is so much room.
unsafe fn list(descriptor: c_int, to: *mut u8, room: usize) -> Result<c_long, c_int> {
    let seek = |to: usize, whence: c_int| {
        // SAFETY: numbers only.
        unsafe { done(libc::SYS_lseek, [descriptor as usize, to, whence as usize, 0, 0, 0]) }
    };
    // Where the process is in the list is the machine's position, which copies of the descriptor share.
    let at = seek(0, libc::SEEK_CUR)? as usize;
    // At its beginning, the folder is read whole, so that the machine's order does not show.
    if at == 0 || !files(|files| files.listings.contains_key(&descriptor)) {
        seek(0, libc::SEEK_SET)?;
        let entries = entries(descriptor)?;
        files(|files| files.listings.insert(descriptor, entries));
    }
    let (filled, next, more) = files(|files| {
        let (mut filled, mut next) = (0, at);
        let entries = files.listings.get(&descriptor).map_or(&[][..], Vec::as_slice);
        while let Some(entry) = entries.get(next).filter(|entry| filled + entry.len() <= room) {
            // SAFETY: the caller's, and it has just been compared.
            unsafe { to.add(filled).copy_from_nonoverlapping(entry.as_ptr(), entry.len()) };
            (filled, next) = (filled + entry.len(), next + 1);
        }
        (filled, next, next < entries.len())
    });
    seek(next, libc::SEEK_SET)?;
    if filled == 0 && more { Err(libc::EINVAL) } else { Ok(filled as c_long) }
}

/// All entries, by name, with the numbers that the process sees.
fn entries(descriptor: c_int) -> Result<Vec<Vec<u8>>, c_int> {
    let (own, mut room, mut found) = (is_own(descriptor), vec![0u8; 32 << 10], Vec::new());
    loop {
        let at = room.as_mut_ptr() as usize;
        // SAFETY: so much room.
        let read = unsafe { done(libc::SYS_getdents64, [descriptor as usize, at, room.len(), 0, 0, 0]) }? as usize;
        if read == 0 {
            break;
        }
        let mut rest = &room[..read];
        while rest.len() > NAME {
            let length = usize::from(u16::from_ne_bytes([rest[LENGTH], rest[LENGTH + 1]]));
            let (entry, after) = rest.split_at_checked(length).ok_or(libc::EIO)?;
            found.push(entry.to_vec());
            rest = after;
        }
    }
    let name = |entry: &Vec<u8>| entry[NAME..].split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
    found.sort_by_key(name);
    for (at, entry) in found.iter_mut().enumerate() {
        if own {
            let inode = u64::from_ne_bytes(std::array::from_fn(|at| entry[at]));
            entry[..8].copy_from_slice(&files(|files| files.number(inode)).to_ne_bytes());
        }
        entry[OFFSET..OFFSET + 8].copy_from_slice(&(at as u64 + 1).to_ne_bytes());
    }
    Ok(found)
}
