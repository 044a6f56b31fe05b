//! A simulated process, as its world has it.

use crate::{
    control::{Control, Ended, Order, Reply},
    error::Error,
    message::{Go, Start, Then, Turn},
    stuck,
    wire::{self, Plain},
};
use std::{
    io::ErrorKind,
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A simulated process. When it is dropped, it is killed.
pub struct Child {
    name: String,
    pid: u32,
    link: UnixStream,
    control: Arc<Mutex<Control>>,
    running_at: u64,
    patience: Duration,
    buffer: Vec<u8>,
    ended: bool,
}

impl Child {
    pub(crate) fn new(name: &str, pid: u32, link: UnixStream, control: Arc<Mutex<Control>>, running_at: u64) -> Child {
        let (name, patience) = (name.to_owned(), Duration::ZERO);
        Child { name, pid, link, control, running_at, patience, buffer: Vec::new(), ended: false }
    }

    /// Its number on this machine.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How long it may compute in real time before [`Child::go`] gives up.
    ///
    /// # Errors
    /// The connection with it failed.
    pub fn set_patience(&mut self, patience: Duration) -> Result<(), Error> {
        self.patience = patience;
        self.link.set_read_timeout(Some(patience)).map_err(|why| Error::Link { process: self.name.clone(), why })
    }

    /// Lets it run from the beginning until no thread of it can.
    ///
    /// # Errors
    /// It does not come back, or says what nobody understands. It is of no more use then.
    pub fn begin(&mut self, start: &Start) -> Result<Turn, Error> {
        self.exchange(start)
    }

    /// Lets it run on until no thread of it can.
    ///
    /// # Errors
    /// As for [`Child::begin`].
    pub fn go(&mut self, go: &Go) -> Result<Turn, Error> {
        self.exchange(go)
    }

    fn exchange(&mut self, say: &impl Plain) -> Result<Turn, Error> {
        let process = || self.name.clone();
        if wire::send(say, &mut self.link, &mut self.buffer).is_err() {
            return self.died();
        }
        match wire::receive(&mut self.link, &mut self.buffer) {
            Ok(bytes) => {
                let turn = Turn::of(bytes).map_err(|why| Error::Garbled { process: process(), why })?;
                if matches!(turn.then, Then::Exit { .. } | Then::Died { .. }) {
                    self.end()?;
                }
                Ok(turn)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let doing = stuck::doing(self.pid, self.running_at);
                Err(Error::Stuck { process: process(), patience: self.patience, doing })
            }
            Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => self.died(),
            Err(why) => Err(Error::Link { process: process(), why }),
        }
    }

    /// It has ended without a word.
    fn died(&mut self) -> Result<Turn, Error> {
        let then = match self.end()? {
            Ended::Exit { code } => Then::Exit { code },
            Ended::Signal { number } => Then::Died { signal: number },
        };
        Ok(Turn { ops: Vec::new(), then })
    }

    fn end(&mut self) -> Result<Ended, Error> {
        if self.ended {
            return Ok(Ended::Signal { number: 9 });
        }
        self.ended = true;
        let reply = self.control.lock().unwrap_or_else(PoisonError::into_inner).ask(&Order::Kill { pid: self.pid });
        match reply {
            Ok(Reply::Ended { how }) => Ok(how),
            Ok(_) => Err(Error::Link { process: self.name.clone(), why: ErrorKind::InvalidData.into() }),
            Err(why) => Err(Error::Link { process: self.name.clone(), why }),
        }
    }

    /// Kills it where it stands, as `kill -9` does, and waits for its end.
    ///
    /// # Errors
    /// Its zygote is gone.
    pub fn kill(mut self) -> Result<(), Error> {
        self.end().map(drop)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Without a zygote, it has already ended by itself.
        let _: Result<Ended, Error> = self.end();
    }
}
