//! What a zygote is told, what it answers, and the connection for this.

use crate::wire::{self, Plain, plain};
use std::{
    io::{self, ErrorKind},
    net::Shutdown,
    os::unix::net::UnixStream,
    process::{Child, ExitStatus},
};

plain! {
    /// A zygote's first words.
    struct Hello {
        /// Where each child has the number of the thread that runs, or ran last: a `u32`.
        running_at: u64,
    }
}

plain! {
    enum Order {
        /// A new process, which will run the function of this number. It opens its ends of two pipes: descriptors of the
        /// world's process. It stays on the processors of the world's thread.
        1 Fork { main: u64, world: u32, thread: u32, reads: u32, writes: u32 },
        /// Kills a process, if it still runs, and waits for its end.
        2 Kill { pid: u32 },
    }
}

plain! {
    enum Reply {
        1 Forked { pid: u32 },
        2 Ended { how: Ended },
        /// An error number.
        3 Failed { errno: i32 },
    }
}

plain! {
    /// How a process ended.
    enum Ended {
        1 Exit { code: i32 },
        2 Signal { number: i32 },
    }
}

/// The connection with a zygote. When it is dropped, the zygote and its processes end.
pub(crate) struct Control {
    stream: UnixStream,
    sent: Vec<u8>,
    received: Vec<u8>,
    process: Child,
}

impl Control {
    pub(crate) fn new(stream: UnixStream, process: Child) -> Control {
        Control { stream, sent: Vec::new(), received: Vec::new(), process }
    }

    /// # Errors
    /// The zygote is gone, or answers what nobody understands.
    pub(crate) fn ask(&mut self, order: &Order) -> io::Result<Reply> {
        wire::send(order, &mut self.stream, &mut self.sent)?;
        let bytes = wire::receive(&mut self.stream, &mut self.received)?;
        Reply::of(bytes).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // What happens to a process that is being thrown away interests nobody.
        let _: io::Result<()> = self.stream.shutdown(Shutdown::Both);
        let _: io::Result<ExitStatus> = self.process.wait();
    }
}
