//! Paths that end in dots and slashes, places in lists of folders, and which calls leave a file's time as it is.

use super::{Out, files::place};
use std::{
    ffi::{CStr, CString},
    fs::{self, OpenOptions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

pub const CASES: &[super::Case] = &[
    ("paths that end in dots or slashes", ends),
    ("places in the list of a folder", seeks),
    ("what leaves the time of a file as it is", kept_times),
    ("descriptors and paths that do not do", wrong),
];

fn c(path: PathBuf) -> CString {
    CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
}

fn ends(out: &mut Out) {
    let place = place();
    let at = |name: &str| c(place.at(name));
    fs::create_dir(place.at("d")).unwrap();
    fs::write(place.at("f"), b"f").unwrap();
    symlink("d", place.at("to-d")).unwrap();
    symlink("none", place.at("to-none")).unwrap();
    // SAFETY: C strings.
    unsafe {
        out.call("remove .", libc::rmdir(at("d/.").as_ptr()));
        out.call("remove ..", libc::rmdir(at("d/..").as_ptr()));
        out.call("remove a link as a folder", libc::rmdir(at("to-d/").as_ptr()));
        out.call("remove a link with a slash", libc::unlink(at("to-d/").as_ptr()));
        out.call("make what a link names", libc::mkdir(at("to-none/").as_ptr(), 0o755));
        out.call("rename .", libc::rename(at("d/.").as_ptr(), at("e").as_ptr()));
        out.call("rename to ..", libc::rename(at("f").as_ptr(), at("d/..").as_ptr()));
        out.call("rename a link with a slash", libc::rename(at("to-d/").as_ptr(), at("e").as_ptr()));
        out.call("make with a slash", libc::mkdir(at("e/").as_ptr(), 0o755));
        out.call("a path of 5,000", libc::access(at(&"d/../".repeat(1_000)).as_ptr(), libc::F_OK));
    }
    out.say(format!("{:?}", place.list()));
}

fn seeks(out: &mut Out) {
    let place = place();
    for number in 0..1_000 {
        fs::write(place.at(&format!("{number}")), b"").unwrap();
    }
    // SAFETY: a C string, an open folder, and entries that are read before the next call.
    unsafe {
        let folder = libc::opendir(c(place.at("")).as_ptr());
        let next = || {
            let entry = libc::readdir(folder);
            (!entry.is_null()).then(|| CStr::from_ptr((*entry).d_name.as_ptr()).to_owned())
        };
        (0..100).for_each(|_| drop(next()));
        let at = libc::telldir(folder);
        let there = next();
        (0..800).for_each(|_| drop(next()));
        libc::seekdir(folder, at);
        out.say(next() == there);
        libc::rewinddir(folder);
        out.say(std::iter::from_fn(next).count());
        // The place is that of the open folder, whichever descriptor it is read by.
        let (one, mut room) = (libc::dirfd(folder), [0u8; 4096]);
        libc::rewinddir(folder);
        let pair = [one, libc::dup(one)];
        let mut entries = std::collections::BTreeSet::new();
        for turn in 0.. {
            let read = libc::syscall(libc::SYS_getdents64, pair[turn % 2], room.as_mut_ptr(), room.len());
            if read <= 0 {
                break;
            }
            let mut rest = &room[..read as usize];
            while rest.len() > 19 {
                let length = usize::from(u16::from_ne_bytes([rest[16], rest[17]]));
                entries.insert(CStr::from_bytes_until_nul(&rest[19..]).unwrap().to_owned());
                rest = &rest[length..];
            }
        }
        out.say(entries.len());
        libc::close(pair[1]);
        libc::closedir(folder);
    }
}

fn kept_times(out: &mut Out) {
    let place = place();
    let of = |name: &str| fs::metadata(place.at(name)).unwrap().modified().unwrap();
    fs::write(place.at("a"), b"a").unwrap();
    let first = of("a");
    std::thread::sleep(Duration::from_millis(50));
    fs::set_permissions(place.at("a"), PermissionsExt::from_mode(0o600)).unwrap();
    out.say(of("a") == first);
    fs::rename(place.at("a"), place.at("b")).unwrap();
    fs::hard_link(place.at("b"), place.at("a")).unwrap();
    out.say(of("b") == first);
    drop(OpenOptions::new().write(true).open(place.at("a")).unwrap());
    out.say(of("a") == first);
    // libc writes and closes this file itself.
    // SAFETY: C strings; streams that are closed once; room for a time.
    unsafe {
        for name in ["c", "d"] {
            let stream = libc::fopen(c(place.at(name)).as_ptr(), c"w".as_ptr());
            libc::fputs(c"by C".as_ptr(), stream);
            libc::fclose(stream);
        }
        fs::rename(place.at("d"), place.at("e")).unwrap();
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, &mut now);
        for name in ["c", "e"] {
            let written = of(name).duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
            out.say((now.tv_sec - written).abs() <= 1);
        }
    }
    out.say(fs::metadata(place.at("a")).unwrap().nlink());
}

fn wrong(out: &mut Out) {
    let place = place();
    fs::write(place.at("a"), b"a").unwrap();
    symlink("a", place.at("l")).unwrap();
    let at = |name: &str| c(place.at(name));
    // SAFETY: C strings, numbers, room for what comes back, and memory that is a file's.
    unsafe {
        let (file, by_path) = (libc::open(at("a").as_ptr(), libc::O_RDWR), libc::open(at("a").as_ptr(), libc::O_PATH));
        out.call("sync by path alone", libc::fsync(by_path));
        out.call("no room", libc::readlink(at("l").as_ptr(), [0; 1].as_mut_ptr(), 0));
        let memory = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        out.call("msync both ways", libc::msync(memory, 4096, libc::MS_SYNC | libc::MS_ASYNC));
        out.call("list nothing", libc::syscall(libc::SYS_getdents64, 900, [0u8; 64].as_mut_ptr(), 64));
        out.call("cut by number", libc::syscall(libc::SYS_ftruncate, file, 0));
        libc::munmap(memory, 4096);
        libc::close(by_path);
        libc::close(file);
    }
    out.result("length", fs::metadata(place.at("a")).map(|metadata| metadata.len()));
}
