//! Secrets, and files that only their owner can read.

use crate::error::Failed;
use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// 32 random bytes in hex.
pub fn draw() -> String {
    let mut bytes = [0u8; 32];
    // Panics without this device, rather than use a secret of zeros.
    File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut bytes))
        .expect("the system has a source of randomness");
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failed> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut f| f.write_all(text.as_bytes()));
    written.map_err(Failed::unwritten(path))
}
