//! Where a path of the process leads on the machine.

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

pub struct Place {
    /// As the machine knows it.
    pub path: CString,
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

/// Without `.` and `..`; a slash at the end stays, as it asks for a folder.
pub fn normal(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { base };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

/// The path as the process means it, from the root of its own files.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn absolute(folder: c_int, path: *const c_char) -> Result<String, c_int> {
    if path.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the caller's.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    if bytes.is_empty() {
        return Err(libc::ENOENT);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Err(refuse("openat(a path that is not UTF-8)")) };
    let base = match text.starts_with('/') {
        true => String::new(),
        false if folder == libc::AT_FDCWD => files(|files| files.cwd.clone()),
        false => shown(folder)?,
    };
    // What is left by `..` must be a folder.
    for (at, _) in text.match_indices("..").filter(|(at, _)| text[..*at].ends_with('/')) {
        let left = place_of(normal(&base, &text[..at]), Intent::Read)?;
        match disk::stat_at(left.text(), true).map(|stat| stat.st_mode & libc::S_IFMT) {
            Some(libc::S_IFDIR) => {}
            Some(_) => return Err(libc::ENOTDIR),
            None => return Err(libc::ENOENT),
        }
    }
    Ok(normal(&base, text))
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
pub unsafe fn resolve(folder: c_int, path: *const c_char, intent: Intent) -> Result<Place, c_int> {
    // SAFETY: the caller's.
    place_of(unsafe { absolute(folder, path) }?, intent)
}

pub fn place_of(path: String, intent: Intent) -> Result<Place, c_int> {
    let (zone, own) = files(|files| Some((files.zone(&path), format!("{}{path}", files.root)))).ok_or(libc::EIO)?;
    let place = |path: String, own| CString::new(path).map(|path| Place { path, own }).map_err(|_| libc::EINVAL);
    match zone {
        Zone::Disk => return place(own, true),
        Zone::Devices => return device(path, intent).and_then(|(path, own)| place(path, own)),
        Zone::ReadOnly | Zone::Crate => {}
    }
    let on_disk = disk::stat_at(own.trim_end_matches('/'), false).is_some();
    if zone == Zone::Crate && on_disk {
        return place(own, true);
    }
    let on_machine = disk::stat_at(&path, false);
    match (intent, on_machine.is_some()) {
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

/// Devices, and the process's own open files by their descriptors.
fn device(path: String, intent: Intent) -> Result<(String, bool), c_int> {
    let number = ["/proc/self/fd/", "/dev/fd/"].iter().find_map(|folder| path.strip_prefix(folder));
    let own = number.and_then(|number| number.parse().ok()).is_some_and(is_own);
    let harmless = ["/dev/null", "/dev/zero", "/dev/full"].contains(&path.as_str());
    match intent {
        Intent::Read => Ok((path, own)),
        Intent::Make | Intent::Change if own || harmless => Ok((path, own)),
        _ => Err(refuse("openat(a file of the machine, to change it)")),
    }
}

/// The folder of a new file is the machine's, within the crate: it is on the disk, too, from now on.
fn mirror(path: &str, own: &str) {
    let parent = |path: &str| path.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent.to_owned());
    let (Some(machine), Some(folder)) = (parent(path), parent(own)) else { return };
    let is_folder =
        |path: &str| disk::stat_at(path, true).is_some_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR);
    if !is_folder(&machine) || disk::stat_at(&folder, false).is_some() {
        return;
    }
    mirror(&machine, &folder);
    if disk::make_folder(&folder) {
        let inode = disk::stat_at(&folder, false).map_or(0, |stat| stat.st_ino);
        inside(|kernel, _| {
            let wall = kernel.wall;
            if let Some(files) = &mut kernel.files {
                files.is_new(inode);
                files.touch(&folder, wall);
            }
        });
    }
}
