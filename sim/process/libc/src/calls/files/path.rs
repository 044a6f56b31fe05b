//! Where a path of the process leads on the machine. Links are followed here and not by the machine, for which a link to
//! `/` would lead out of the disk.

use crate::{
    baton::inside,
    call::refuse,
    kernel::files::{Files, Zone, is_within},
    system::disk,
};
use libc::{c_char, c_int};
use std::ffi::{CStr, CString};

/// What the call does with the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Read,
    /// Puts a new entry there, or takes what is there.
    Make,
    /// Puts a new entry there, and fails if one is there.
    MakeNew,
    /// Changes or removes what is there.
    Change,
}

/// Whether a link at the end of the path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Followed,
    /// Only if a slash is behind it.
    Itself,
    /// Never: an entry that is made or removed.
    Name,
}

impl Last {
    /// As the flags of a call say.
    pub fn of(flags: usize) -> Last {
        if flags & libc::AT_SYMLINK_NOFOLLOW as usize == 0 { Last::Followed } else { Last::Itself }
    }
}

pub struct Place {
    /// As the machine knows it.
    pub path: CString,
    /// As the process knows it.
    pub shown: String,
    /// On the process's disk, rather than the machine's.
    pub own: bool,
}

impl Place {
    pub fn text(&self) -> &str {
        self.path.to_str().unwrap_or_default()
    }

    pub fn parent(&self) -> &str {
        self.text().trim_end_matches('/').rsplit_once('/').map_or("/", |(parent, _)| parent)
    }
}

/// The path of an open folder, as the process knows it.
pub fn shown(descriptor: c_int) -> Result<String, c_int> {
    let mut room = [0; 4096];
    let path = disk::path_of(descriptor, &mut room).ok_or(libc::EBADF)?;
    Ok(files(|files| without_root(files, path).to_owned()))
}

pub fn without_root<'a>(files: &Files, path: &'a str) -> &'a str {
    match is_within(path, &files.root).then(|| &path[files.root.len()..]) {
        Some("") => "/",
        Some(rest) => rest,
        None => path,
    }
}

/// Works on what the process knows of its disk. Only called if it has one.
pub fn files<T: Default>(work: impl FnOnce(&mut Files) -> T) -> T {
    inside(|kernel, _| kernel.files.as_mut().map(work)).flatten().unwrap_or_default()
}

/// Is this open file on the process's disk?
pub fn is_own(descriptor: c_int) -> bool {
    let mut room = [0; 4096];
    disk::path_of(descriptor, &mut room).is_some_and(|path| files(|files| is_within(path, &files.root)))
}

/// # Safety
/// `path` is null or a C string.
pub unsafe fn resolve(folder: c_int, path: *const c_char, intent: Intent, last: Last) -> Result<Place, c_int> {
    if path.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the caller's.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    if bytes.is_empty() {
        return Err(libc::ENOENT);
    }
    if bytes.len() >= libc::PATH_MAX as usize {
        return Err(libc::ENAMETOOLONG);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Err(refuse("openat(a path that is not UTF-8)")) };
    let base = match text.starts_with('/') {
        true => String::new(),
        false if folder == libc::AT_FDCWD => files(|files| files.cwd.clone()),
        false => shown(folder)?,
    };
    place_of(&base, text, intent, last)
}

/// The last part of a path, where no entry can be made or removed.
pub enum Dots {
    One,
    Two,
}

/// # Safety
/// A C string.
pub unsafe fn dots_of(path: *const c_char) -> Option<Dots> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    match path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()) {
        Some(b".") => Some(Dots::One),
        Some(b"..") => Some(Dots::Two),
        _ => None,
    }
}

/// How many links a path may lead through: as many as in the kernel.
const LINKS: usize = 40;

/// Goes from `base`, which has no links, along this path.
pub fn place_of(base: &str, text: &str, intent: Intent, last: Last) -> Result<Place, c_int> {
    let mut at = if text.starts_with('/') { String::new() } else { base.trim_end_matches('/').to_owned() };
    let parts =
        |text: &str| -> Vec<String> { text.rsplit('/').filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let (mut rest, mut links, mut asks_for_folder) = (parts(text), 0, text.ends_with('/'));
    while let Some(part) = rest.pop() {
        if part == "." {
            continue;
        }
        if part == ".." {
            at.truncate(at.rfind('/').unwrap_or(0));
            continue;
        }
        let here = format!("{at}/{part}");
        if zone_of(&here)? == Zone::Devices {
            rest.push(part);
            rest.reverse();
            let path = normal(&at, &rest.join("/"));
            return if zone_of(&path)? == Zone::Devices {
                device(path, intent)
            } else {
                place_of("", &path, intent, last)
            };
        }
        let is_last = rest.is_empty();
        if is_last && (last == Last::Name || last == Last::Itself && !asks_for_folder) {
            at = here;
            break;
        }
        let (path, found) = look(&here)?;
        match found.map(|stat| stat.st_mode & libc::S_IFMT) {
            Ok(libc::S_IFLNK) => {
                links += 1;
                let target = disk::read_link(&path).filter(|_| links <= LINKS).ok_or(libc::ELOOP)?;
                if target.starts_with('/') {
                    at.clear();
                }
                asks_for_folder |= is_last && target.ends_with('/');
                rest.extend(parts(&target));
            }
            Ok(libc::S_IFDIR) => at = here,
            Ok(_) | Err(libc::ENOENT) if is_last => at = here,
            Ok(_) => return Err(libc::ENOTDIR),
            Err(error) => return Err(error),
        }
    }
    if at.is_empty() || asks_for_folder {
        at.push('/');
    }
    end(at, intent)
}

fn zone_of(path: &str) -> Result<Zone, c_int> {
    files(|files| Some(files.zone(path))).ok_or(libc::EIO)
}

/// What this path is, which leads through no link: on the disk, or on the machine if the disk does not have it.
fn look(path: &str) -> Result<(String, Result<libc::stat, c_int>), c_int> {
    let (zone, own) = files(|files| Some((files.zone(path), format!("{}{path}", files.root)))).ok_or(libc::EIO)?;
    if matches!(zone, Zone::Disk | Zone::Crate) {
        let found = disk::look(&own);
        if found.is_ok() || zone == Zone::Disk && !files(|files| files.leads_to_machine(path)) {
            return Ok((own, found));
        }
    }
    Ok((path.to_owned(), disk::look(path)))
}

/// Whose it is, at the end of a path without links, and whether the call may do so.
fn end(path: String, intent: Intent) -> Result<Place, c_int> {
    let (zone, own) = files(|files| Some((files.zone(&path), format!("{}{path}", files.root)))).ok_or(libc::EIO)?;
    let shown = path.clone();
    let place = |path: String, own| CString::new(path).map(|path| Place { path, shown, own }).map_err(|_| libc::EINVAL);
    if zone == Zone::Disk || zone == Zone::Crate && disk::look(own.trim_end_matches('/')).is_ok() {
        return place(own, true);
    }
    match (intent, disk::look(&path).is_ok()) {
        (Intent::Read, true) => place(path, false),
        (Intent::MakeNew, true) => Err(libc::EEXIST),
        (Intent::Make | Intent::Change, true) => Err(refuse("openat(a file of the machine, to change it)")),
        (Intent::Make | Intent::MakeNew, false) if zone == Zone::ReadOnly => {
            Err(refuse("openat(a file of the machine, to change it)"))
        }
        (Intent::Make | Intent::MakeNew, false) => {
            mirror(&path, &own);
            place(own, true)
        }
        (Intent::Read | Intent::Change, false) => {
            place(if zone == Zone::Crate { own } else { path }, zone == Zone::Crate)
        }
    }
}

/// Without `.` and `..`, for folders that have no links of the process's.
fn normal(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Devices, and the process's own open files by their descriptors.
fn device(path: String, intent: Intent) -> Result<Place, c_int> {
    let number = ["/proc/self/fd/", "/dev/fd/"].iter().find_map(|folder| path.strip_prefix(folder));
    let own = number.and_then(|number| number.parse().ok()).is_some_and(is_own);
    let harmless = ["/dev/null", "/dev/zero", "/dev/full"].contains(&path.as_str());
    match intent {
        Intent::Read => {}
        Intent::Make | Intent::Change if own || harmless => {}
        _ => return Err(refuse("openat(a file of the machine, to change it)")),
    }
    let shown = path.clone();
    CString::new(path).map(|path| Place { path, shown, own }).map_err(|_| libc::EINVAL)
}

/// The folder of a new file is the machine's, within the crate: it is on the disk, too, from now on.
fn mirror(path: &str, own: &str) {
    let parent = |path: &str| path.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent.to_owned());
    let (Some(machine), Some(folder)) = (parent(path), parent(own)) else { return };
    let is_folder = |path: &str| disk::look(path).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR);
    if !is_folder(&machine) || disk::look(&folder).is_ok() {
        return;
    }
    mirror(&machine, &folder);
    if disk::make_folder(&folder) {
        let inode = disk::stat_at(&folder).map_or(0, |stat| stat.st_ino);
        inside(|kernel, _| {
            let wall = kernel.wall;
            if let Some(files) = &mut kernel.files {
                files.is_new(inode);
                files.touch(&folder, wall);
            }
        });
    }
}

/// A folder of the disk has another entry now; and perhaps an entry is a new file.
pub fn entered(parents: &[&str], new: Option<&str>) {
    let inode = new.and_then(disk::stat_at).map(|stat| stat.st_ino);
    inside(|kernel, _| {
        let (wall, Some(files)) = (kernel.wall, &mut kernel.files) else { return };
        if let (Some(inode), Some(path)) = (inode, new) {
            files.is_new(inode);
            files.touch(path, wall);
        }
        parents.iter().for_each(|parent| files.touch(parent, wall));
    });
}
