//! Links, wherever they lead, and files that become shorter.

use super::{Out, files::place};
use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt, symlink},
    },
};

pub const CASES: &[super::Case] =
    &[("links", links), ("links that lead elsewhere", far_links), ("files become shorter", shorter)];

fn links(out: &mut Out) {
    let place = place();
    fs::write(place.at("a"), b"a").unwrap();
    out.result("link", fs::hard_link(place.at("a"), place.at("b")));
    out.result("link again", fs::hard_link(place.at("a"), place.at("b")));
    out.say(fs::metadata(place.at("a")).unwrap().ino() == fs::metadata(place.at("b")).unwrap().ino());
    out.say(fs::metadata(place.at("b")).unwrap().nlink());
    out.result("absolute", symlink(place.at("a"), place.at("s")));
    out.result("relative", symlink("b", place.at("r")));
    out.result("nowhere", symlink("nowhere", place.at("n")));
    out.result("read", fs::read(place.at("s")));
    out.result("read", fs::read(place.at("r")));
    out.result("read", fs::read(place.at("n")));
    out.say(fs::read_link(place.at("s")).unwrap() == place.at("a"));
    out.result("target", fs::read_link(place.at("r")));
    out.result("no link", fs::read_link(place.at("a")));
    out.say(fs::canonicalize(place.at("r")).unwrap() == fs::canonicalize(place.at(".")).unwrap().join("b"));
    out.say(fs::symlink_metadata(place.at("s")).unwrap().is_symlink());
    out.result("write through", fs::write(place.at("r"), b"new"));
    out.result("read", fs::read(place.at("a")));
}

fn far_links(out: &mut Out) {
    let place = place();
    fs::create_dir_all(place.at("x/deep")).unwrap();
    fs::write(place.at("a"), b"a").unwrap();
    fs::write(place.at("x/a"), b"x/a").unwrap();
    fs::write(place.at("x/deep/a"), b"x/deep/a").unwrap();
    // A link to the topmost folder leads to the same files.
    symlink("/", place.at("root")).unwrap();
    let by_root = place.at("root").join(place.at("").strip_prefix("/").unwrap());
    out.result("by the topmost folder", fs::read(by_root.join("a")));
    out.result("write by it", fs::write(by_root.join("b"), b"b"));
    out.result("read", fs::read(place.at("b")));
    out.result("remove by it", fs::remove_file(by_root.join("b")));
    out.say(place.at("b").exists());
    // What a relative link says is seen from where it is.
    symlink("../a", place.at("x/deep/up")).unwrap();
    out.result("up", fs::read(place.at("x/deep/up")));
    out.result("move", fs::rename(place.at("x/deep/up"), place.at("x/up")));
    out.result("up", fs::read(place.at("x/up")));
    // The folder above a linked one is the one above its own place.
    symlink("x/deep", place.at("d")).unwrap();
    out.result("above a link", fs::read(place.at("d/../a")));
    out.result("below a link", fs::read(place.at("d/a")));
    out.result("a file is no folder", fs::read(place.at("a/../a")));
    out.result("nothing is no folder", fs::read(place.at("none/../a")));
    out.result("a slash behind a link", fs::symlink_metadata(place.at("d/")).map(|metadata| metadata.is_dir()));
    out.say(fs::symlink_metadata(place.at("d")).unwrap().is_symlink());
    symlink("two", place.at("one")).unwrap();
    symlink("one", place.at("two")).unwrap();
    out.result("in a circle", fs::read(place.at("one")));
    symlink("new", place.at("to-new")).unwrap();
    out.result("exclusive", OpenOptions::new().write(true).create_new(true).open(place.at("to-new")).map(drop));
    let itself = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(place.at("d"));
    out.result("not followed", itself.map(drop));
    out.result("made through a link", fs::write(place.at("to-new"), b"new"));
    out.result("read", fs::read(place.at("new")));
    out.result("remove a link", fs::remove_file(place.at("to-new")));
    out.result("read", fs::read(place.at("new")));
    out.result("a folder for a link", fs::create_dir(place.at("one")));
    out.result("remove a link to a folder", fs::remove_dir(place.at("d")));
    out.say(format!("{:?}", place.list()));
}

fn shorter(out: &mut Out) {
    let place = place();
    let path = std::ffi::CString::new(place.at("a").to_str().unwrap()).unwrap();
    fs::write(place.at("a"), b"0123456789").unwrap();
    let mut file = OpenOptions::new().read(true).write(true).open(place.at("a")).unwrap();
    let descriptor = file.as_raw_fd();
    // SAFETY: a C string; an open descriptor.
    unsafe {
        out.call("truncate", libc::truncate(path.as_ptr(), 8));
        out.call("ftruncate", libc::ftruncate(descriptor, 6));
        out.call("a length below zero", libc::ftruncate(descriptor, -1));
        out.call("room", libc::posix_fallocate(descriptor, 0, 7));
        out.call("no file", libc::truncate(c"/tmp/none-of-these".as_ptr(), 0));
        out.call("no descriptor", libc::ftruncate(-1, 0));
    }
    out.result("read", fs::read(place.at("a")));
    out.result("for reading", File::open(place.at("a")).unwrap().set_len(1));
    out.result("anew", File::create(place.at("a")).map(drop));
    let mut text = String::new();
    out.result("read", file.read_to_string(&mut text));
    out.say(text);
}
