//! Files: on the kernel in the machine's temporary folder, in the world on the process's own disk.

use super::{Out, fd};
use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirEntryExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::PathBuf,
    sync::mpsc,
    time::Duration,
};

pub const CASES: &[super::Case] = &[
    ("a file is written, read, appended to, truncated", contents),
    ("files are made, replaced, removed", names),
    ("a file is removed while open", removed),
    ("folders and their entries", folders),
    ("a working directory", working),
    ("locks of files", locks),
    ("a lock of a file is waited for", waits_for_lock),
    ("a file with holes", sparse),
    ("a file in memory", mapped),
    ("times of files", times),
    ("permissions", permissions),
    ("a file without a name", nameless),
    ("files by a C library", by_c),
    ("syncs", syncs),
];

/// A new folder, removed at the end.
pub struct Place(PathBuf);

pub fn place() -> Place {
    let folder = std::env::temp_dir().join(format!("fencepost-case-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir(&folder).unwrap();
    Place(folder)
}

impl Place {
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn list(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn contents(out: &mut Out) {
    let place = place();
    let path = place.at("a");
    out.result("read what is not there", fs::read(&path));
    out.result("write", fs::write(&path, b"hello"));
    let mut file = OpenOptions::new().read(true).append(true).open(&path).unwrap();
    out.result("append", file.write(b" world"));
    out.result("seek", file.seek(SeekFrom::Start(6)));
    let mut text = String::new();
    out.result("read", file.read_to_string(&mut text));
    out.say(text);
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    out.result("write at", file.write_at(b"HE", 0));
    let mut two = [0; 2];
    out.result("read at", file.read_at(&mut two, 1));
    out.say(format!("{two:?}"));
    out.result("truncate", file.set_len(3));
    out.result("read", fs::read(&path));
    out.result("longer", file.set_len(5));
    out.result("read", fs::read(&path));
    out.result("length", file.metadata().map(|metadata| (metadata.len(), metadata.is_file(), metadata.nlink())));
    out.result("write to a file for reading", File::open(&path).unwrap().write(b"x"));
    out.result("copy", fs::copy(&path, place.at("b")));
    out.result("read", fs::read(place.at("b")));
}

fn names(out: &mut Out) {
    let place = place();
    let new = |name: &str| OpenOptions::new().write(true).create_new(true).open(place.at(name)).map(drop);
    out.result("new", new("a"));
    out.result("new again", new("a"));
    out.result("in no folder", new("none/a"));
    out.result("below a file", new("a/b"));
    out.result("with a slash", File::open(place.at("a/")).map(drop));
    fs::write(place.at("b"), b"b").unwrap();
    out.result("rename", fs::rename(place.at("b"), place.at("a")));
    out.result("read", fs::read(place.at("a")));
    out.say(format!("{:?}", place.list()));
    out.result("rename what is not there", fs::rename(place.at("b"), place.at("a")));
    out.result("remove", fs::remove_file(place.at("a")));
    out.result("remove again", fs::remove_file(place.at("a")));
    out.say(place.at("a").exists());
    out.result("write to a folder", fs::write(&place.0, b"x"));
    out.result("a path with dots", fs::write(place.at("./x/../y"), b"y"));
    out.result("a path with dots", fs::write(place.at("./y"), b"y"));
    out.say(format!("{:?}", place.list()));
    // SAFETY: a C string.
    out.call("an empty path", unsafe { libc::open(c"".as_ptr(), 0) });
}

fn removed(out: &mut Out) {
    let place = place();
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(place.at("a")).unwrap();
    file.write_all(b"abc").unwrap();
    fs::remove_file(place.at("a")).unwrap();
    out.result("links", file.metadata().map(|metadata| metadata.nlink()));
    out.result("write", file.write(b"def"));
    out.result("sync", file.sync_all());
    file.rewind().unwrap();
    let mut text = String::new();
    out.result("read", file.read_to_string(&mut text));
    out.say(text);
    out.result("another of the name", fs::write(place.at("a"), b"x"));
    out.say(fs::metadata(place.at("a")).unwrap().ino() != file.metadata().unwrap().ino());
}

fn folders(out: &mut Out) {
    let place = place();
    out.result("deep", fs::create_dir_all(place.at("x/y/z")));
    out.result("again", fs::create_dir(place.at("x")));
    for name in ["c", "a", "b"] {
        fs::write(place.at("x").join(name), name).unwrap();
    }
    let mut entries: Vec<_> = fs::read_dir(place.at("x"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name(),
                entry.file_type().unwrap().is_dir(),
                entry.ino() == fs::metadata(entry.path()).unwrap().ino(),
            )
        })
        .collect();
    entries.sort();
    out.say(format!("{entries:?}"));
    out.result("not empty", fs::remove_dir(place.at("x")));
    out.result("move", fs::rename(place.at("x/y"), place.at("y")));
    out.result("into itself", fs::rename(place.at("y"), place.at("y/z/q")));
    out.result("a folder as a file", fs::remove_file(place.at("y")));
    out.result("a file as a folder", fs::remove_dir(place.at("x/a")));
    out.result("all", fs::remove_dir_all(place.at("x")));
    out.say(format!("{:?}", place.list()));
    // More than one call returns.
    for number in 0..1_500 {
        fs::write(place.at("y").join(format!("a file with a long name, number {number}")), b"").unwrap();
    }
    out.say(fs::read_dir(place.at("y")).unwrap().count());
}

fn working(out: &mut Out) {
    let place = place();
    let before = std::env::current_dir().unwrap();
    out.result("change", std::env::set_current_dir(&place.0));
    out.say(std::env::current_dir().unwrap() == fs::canonicalize(&place.0).unwrap());
    out.result("write", fs::write("a", b"a"));
    out.result("deep", fs::create_dir("d").and_then(|()| std::env::set_current_dir("d")));
    out.result("read", fs::read("../a"));
    out.result("read", fs::read(place.at("a")));
    out.result("no folder", std::env::set_current_dir("../a"));
    out.result("nowhere", std::env::set_current_dir("nowhere"));
    out.result("back", std::env::set_current_dir(before));
    // What the machine has is read.
    out.say(fs::read_to_string("Cargo.toml").unwrap().len());
    out.say(std::path::Path::new("/etc").is_dir());
}

fn locks(out: &mut Out) {
    let place = place();
    let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place.at("l")).unwrap();
    let (a, b) = (open(), open());
    out.result("lock", a.lock());
    out.say(b.try_lock().is_err());
    out.say(b.try_lock_shared().is_err());
    out.result("unlock", a.unlock());
    out.say(b.try_lock_shared().is_ok());
    out.say(a.try_lock_shared().is_ok());
    drop(b);
    out.say(a.try_lock().is_ok());
    let mut whole: libc::flock = unsafe_zeroed();
    whole.l_type = libc::F_WRLCK as i16;
    let c = open();
    // SAFETY: the address of a lock.
    unsafe {
        out.call("OFD lock", libc::fcntl(fd(&a), libc::F_OFD_SETLK, &whole));
        out.call("OFD lock of another", libc::fcntl(fd(&c), libc::F_OFD_SETLK, &whole));
        whole.l_type = libc::F_UNLCK as i16;
        out.call("OFD unlock", libc::fcntl(fd(&a), libc::F_OFD_SETLK, &whole));
        whole.l_type = libc::F_WRLCK as i16;
        out.call("OFD lock of another", libc::fcntl(fd(&c), libc::F_OFD_SETLKW, &whole));
    }
}

fn unsafe_zeroed() -> libc::flock {
    // SAFETY: numbers only.
    unsafe { std::mem::zeroed() }
}

fn waits_for_lock(out: &mut Out) {
    let place = place();
    let open = || OpenOptions::new().write(true).create(true).truncate(false).open(place.at("l")).unwrap();
    let (mine, theirs) = (open(), open());
    mine.lock().unwrap();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        theirs.lock().unwrap();
        tell.send("locked").unwrap();
    });
    std::thread::sleep(Duration::from_millis(20));
    out.say(format!("{:?}", told.try_recv().is_err()));
    drop(mine);
    out.say(told.recv_timeout(Duration::from_secs(5)).unwrap());
    thread.join().unwrap();
}

fn sparse(out: &mut Out) {
    let place = place();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(place.at("a")).unwrap();
    out.result("write far", file.write_at(b"end", 1 << 30));
    out.result("length", file.metadata().map(|metadata| metadata.len()));
    let mut eight = [9; 8];
    out.result("read", file.read_at(&mut eight, 1 << 20));
    out.say(format!("{eight:?}"));
    // SAFETY: numbers.
    out.call("allocate", unsafe { libc::posix_fallocate(fd(&file), 0, 8192) });
    out.result("cut", file.set_len(2));
}

fn mapped(out: &mut Out) {
    let place = place();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(place.at("a")).unwrap();
    file.set_len(8192).unwrap();
    // SAFETY: a file of this length; the memory is only used below.
    unsafe {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(std::ptr::null_mut(), 8192, both, libc::MAP_SHARED, fd(&file), 0).cast::<u8>();
        out.say(at.cast() == libc::MAP_FAILED);
        at.add(5000).write(7);
        out.call("msync", libc::msync(at.cast(), 8192, libc::MS_SYNC));
        out.call("msync nothing", libc::msync(at.cast(), 8192, libc::MS_ASYNC));
        let mut one = [0; 1];
        out.result("read", file.read_at(&mut one, 5000));
        out.say(one[0]);
        file.write_at(b"x", 0).unwrap();
        out.say(at.read());
        out.call("unmap", libc::munmap(at.cast(), 8192));
    }
}

fn times(out: &mut Out) {
    let place = place();
    let path = place.at("a");
    let before = std::time::SystemTime::now() - Duration::from_millis(20);
    fs::write(&path, b"a").unwrap();
    let first = fs::metadata(&path).unwrap().modified().unwrap();
    out.say(first >= before && first <= std::time::SystemTime::now() + Duration::from_millis(20));
    std::thread::sleep(Duration::from_millis(50));
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    out.say(file.metadata().unwrap().modified().unwrap() == first);
    file.write_all(b"b").unwrap();
    let second = fs::metadata(&path).unwrap().modified().unwrap();
    out.say(second.duration_since(first).unwrap() >= Duration::from_millis(40));
    let set = std::time::UNIX_EPOCH + Duration::from_secs(1_000);
    out.result("set", file.set_modified(set));
    out.say(fs::metadata(&path).unwrap().modified().unwrap() == set);
    out.say(fs::metadata(&place.0).unwrap().modified().unwrap() >= before);
}

fn permissions(out: &mut Out) {
    let place = place();
    let path = place.at("a");
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(&path).map(drop).unwrap();
    out.result("set", fs::set_permissions(&path, PermissionsExt::from_mode(0o400)));
    out.say(format!("{:o}", fs::metadata(&path).unwrap().mode() & 0o777));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a C string.
    unsafe {
        out.call("may read", libc::access(name.as_ptr(), libc::R_OK));
        out.call("may execute", libc::access(name.as_ptr(), libc::X_OK));
        out.call("there", libc::access(name.as_ptr(), libc::F_OK));
        out.call("not there", libc::access(c"/nowhere".as_ptr(), libc::F_OK));
    }
}

fn nameless(out: &mut Out) {
    let place = place();
    let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).open(&place.0);
    let mut file = open.unwrap();
    file.write_all(b"abc").unwrap();
    out.say(format!("{:?}", place.list()));
    let (old, new) = (format!("/proc/self/fd/{}\0", fd(&file)), format!("{}\0", place.at("a").display()));
    // SAFETY: C strings.
    out.call("named", unsafe {
        let here = libc::AT_FDCWD;
        libc::linkat(here, old.as_ptr().cast(), here, new.as_ptr().cast(), libc::AT_SYMLINK_FOLLOW)
    });
    out.result("read", fs::read(place.at("a")));
}

/// What libc itself asks of the system.
fn by_c(out: &mut Out) {
    let place = place();
    let name = std::ffi::CString::new(place.at("a").to_str().unwrap()).unwrap();
    // SAFETY: C strings; the stream is closed once.
    unsafe {
        let stream = libc::fopen(name.as_ptr(), c"w".as_ptr());
        out.call("put", libc::fputs(c"by C".as_ptr(), stream));
        out.call("close", libc::fclose(stream));
        let mut template = format!("{}XXXXXX\0", place.at("t").display()).into_bytes();
        let made = libc::mkstemp(template.as_mut_ptr().cast());
        out.say(made >= 0);
        libc::close(made);
        out.call("remove", libc::remove(template.as_ptr().cast()));
    }
    out.result("read", fs::read_to_string(place.at("a")));
    out.say(format!("{:?}", place.list()));
}

fn syncs(out: &mut Out) {
    let place = place();
    let mut file = File::create(place.at("a")).unwrap();
    file.write_all(b"abc").unwrap();
    out.result("data", file.sync_data());
    out.result("all", file.sync_all());
    out.result("folder", File::open(&place.0).and_then(|folder| folder.sync_all()));
    // SAFETY: a number.
    out.call("file system", unsafe { libc::syncfs(fd(&file)) });
    let synced = std::thread::spawn(move || file.sync_all()).join().unwrap();
    out.result("by another thread", synced);
}
