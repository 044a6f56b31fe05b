//! A simulated process, as its world has it.

use crate::{
    control::{Control, Ended},
    error::Error,
    message::{Go, Start, Then, Turn},
    watch::Watched,
    wire::{self, Plain},
};
use std::{
    io::{ErrorKind, PipeReader, PipeWriter},
    sync::{Arc, Mutex},
    time::Duration,
};

/// A simulated process. When it is dropped, it is killed.
pub struct Child {
    name: String,
    pid: u32,
    from: PipeReader,
    to: PipeWriter,
    control: Arc<Mutex<Control>>,
    watched: Arc<Watched>,
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Child {
    pub(crate) fn new(
        name: &str,
        pid: u32,
        (from, to): (PipeReader, PipeWriter),
        control: Arc<Mutex<Control>>,
        watched: Arc<Watched>,
    ) -> Child {
        Child { name: name.to_owned(), pid, from, to, control, watched, sent: Vec::new(), received: Vec::new() }
    }

    /// Its number on this machine.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How long it may compute in real time before it is given up.
    pub fn set_patience(&mut self, patience: Duration) {
        self.watched.set_patience(patience);
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
        self.watched.step();
        let sent = wire::send(say, &mut self.to, &mut self.sent);
        let received = sent.and_then(|()| wire::receive(&mut self.from, &mut self.received));
        self.watched.step();
        match received {
            Ok(bytes) => {
                let turn = Turn::of(bytes).map_err(|why| Error::Garbled { process: self.name.clone(), why })?;
                if matches!(turn.then, Then::Exit { .. } | Then::Died { .. }) {
                    self.watched.end(&self.control);
                }
                Ok(turn)
            }
            Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe) => self.died(),
            Err(why) => Err(Error::Link { process: self.name.clone(), why }),
        }
    }

    /// It has ended without a word.
    fn died(&mut self) -> Result<Turn, Error> {
        let end = self.watched.end(&self.control);
        if let Some(doing) = end.stuck {
            let (process, patience) = (self.name.clone(), self.watched.patience());
            return Err(Error::Stuck { process, patience, doing });
        }
        let then = match end.how {
            Some(Ended::Exit { code }) => Then::Exit { code },
            Some(Ended::Signal { number }) => Then::Died { signal: number },
            None => Then::Died { signal: 9 },
        };
        Ok(Turn { mono: 0, ops: Vec::new(), then })
    }

    /// Kills it where it stands, as `kill -9` does, and waits for its end. So does dropping it.
    pub fn kill(self) {}
}

impl Drop for Child {
    fn drop(&mut self) {
        self.watched.end(&self.control);
    }
}
