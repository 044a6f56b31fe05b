//! A resource that is a program of the user's own. It runs at the store's place, and its lines say what it has accepted.

use crate::program::accepted::Accepts;
use fencepost_process::Main;

/// The environment variable that names the folder for its state, as systemd calls it, and that folder on its disk.
pub(crate) const FOLDER: (&str, &str) = ("STATE_DIRECTORY", "/var/lib/store");

/// A program that is the resource, and the lines by which it says what it has accepted.
#[derive(Clone, Debug)]
pub struct Own {
    pub(crate) main: Main,
    pub(crate) accepts: Vec<Accepts>,
}

impl Own {
    /// The program that runs `main`, and says by a line with one of these parts that it has accepted a write.
    pub fn new(main: Main, accepts: Vec<Accepts>) -> Own {
        Own { main, accepts }
    }
}
