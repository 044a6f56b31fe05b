//! Named points in a real process: where a plan asks for it, the process stops itself right there.
//!
//! The asking blocks the whole thread on purpose: between the point and the stop nothing else of the process may run, or
//! the pause would not fall where the plan wants it.

use protocols::point::Point;
use protocols_clients::env::tokio::Points;
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::{Mutex, PoisonError},
};

/// What the director answers when the process is to stop itself; anything else lets it go on.
pub const STOP: &str = "stop";
/// What it answers otherwise.
pub const GO: &str = "go";

/// A director of faults that is asked at some of the points. When it has gone, no point is one.
pub struct Directed {
    /// One bit per point that it wants to know of.
    armed: u32,
    connection: Mutex<Option<BufReader<TcpStream>>>,
}

impl Directed {
    /// Asks the director at `address`, as the process called `name`.
    ///
    /// # Errors
    /// It cannot be reached, or does not say which points it wants.
    pub fn connect(address: SocketAddr, name: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        writeln!(stream, "{name}")?;
        let mut connection = BufReader::new(stream);
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let armed = line.split_whitespace().filter_map(Point::from_name).fold(0, |bits, p| bits | 1 << p as u32);
        Ok(Directed { armed, connection: Mutex::new(Some(connection)) })
    }

    fn ask(connection: &mut BufReader<TcpStream>, point: Point) -> io::Result<bool> {
        writeln!(connection.get_mut(), "{}", point.name())?;
        let mut answer = String::new();
        if connection.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(answer.trim_end() == STOP)
    }
}

impl Points for Directed {
    fn passed(&self, point: Point) {
        if self.armed & (1 << point as u32) == 0 {
            return;
        }
        let mut place = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = &mut *place else { return };
        match Directed::ask(connection, point) {
            // Whoever asked for the stop sends the signal that ends it.
            Ok(true) => drop(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)),
            Ok(false) => {}
            Err(_) => *place = None,
        }
    }
}
