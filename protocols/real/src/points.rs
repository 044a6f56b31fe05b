//! A fault director's control over a real process: stops it at a named point, and sets its clocks.
//!
//! Asking the director blocks the whole thread on purpose: nothing else in the process may run between the point and
//! the stop, or the pause would not fall where the plan wants it.

use protocols::point::Point;
use protocols_clients::env::tokio::{Clocks, Points};
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::{Mutex, PoisonError},
    thread,
};

/// The director's answer that makes the process stop itself; with any other it continues.
pub const STOP: &str = "stop";
/// The director's answer otherwise.
pub const GO: &str = "go";

/// Follows the process's name when it asks for orders to its clocks.
pub const CLOCKS: &str = "clocks";

/// A director's order to a process's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockOrder {
    /// Run at this rate from now on, parts per million faster than the machine's clocks.
    Rate(i64),
    /// Step the wall clock by this many milliseconds.
    Step(i64),
}

impl ClockOrder {
    /// The order as sent, without the end of the line.
    pub fn line(self) -> String {
        match self {
            ClockOrder::Rate(ppm) => format!("rate {ppm}"),
            ClockOrder::Step(ms) => format!("step {ms}"),
        }
    }

    fn read(line: &str) -> Option<ClockOrder> {
        let (what, number) = line.trim_end().split_once(' ')?;
        let number = number.parse().ok()?;
        match what {
            "rate" => Some(ClockOrder::Rate(number)).filter(|_| number > -1_000_000),
            "step" => Some(ClockOrder::Step(number)),
            _ => None,
        }
    }
}

/// Connects to the director at `address` as the process called `name`, and applies its orders to `clocks` until it
/// disconnects.
///
/// # Errors
/// The director cannot be reached.
pub fn follow_clocks(address: SocketAddr, name: &str, clocks: Clocks) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    writeln!(stream, "{name} {CLOCKS}")?;
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            match ClockOrder::read(&line) {
                Some(ClockOrder::Rate(ppm)) => clocks.set_rate(ppm),
                Some(ClockOrder::Step(ms)) => clocks.step(ms),
                None => tracing::warn!(line, "no order that clocks know"),
            }
        }
    });
    Ok(())
}

/// Asks a fault director at some of the points. Once it has disconnected, no point does anything.
pub struct Directed {
    /// One bit per point that the director wants to be asked at.
    armed: u32,
    connection: Mutex<Option<BufReader<TcpStream>>>,
}

impl Directed {
    /// Connects to the director at `address` as the process called `name`.
    ///
    /// # Errors
    /// The director cannot be reached, or does not name its points.
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
            // The director continues the process with a signal.
            Ok(true) => drop(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)),
            Ok(false) => {}
            Err(_) => *place = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols_clients::env::{
        Env,
        tokio::{EnvSettings, TokioEnv},
    };
    use std::{
        net::TcpListener,
        time::{Duration, Instant},
    };

    #[test]
    fn orders_are_read_as_they_are_sent() {
        for order in [ClockOrder::Rate(-200_000), ClockOrder::Rate(0), ClockOrder::Step(-86_400_000)] {
            assert_eq!(ClockOrder::read(&order.line()), Some(order));
        }
        for line in ["", "rate", "rate x", "rate -1000000", "pause 3"] {
            assert_eq!(ClockOrder::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_director_sets_the_clocks_that_a_process_sees() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let clocks = Clocks::new(0, 0);
        let env = TokioEnv::with(EnvSettings { clocks: Some(clocks.clone()), ..EnvSettings::default() });
        follow_clocks(listener.local_addr().expect("an address"), "n1", clocks).expect("it listens");
        let (mut director, _) = listener.accept().expect("a process");
        let mut hello = String::new();
        BufReader::new(&director).read_line(&mut hello).expect("a name");
        assert_eq!(hello, "n1 clocks\n");
        let before = env.now().wall;
        let order = |director: &mut TcpStream, order: ClockOrder| writeln!(director, "{}", order.line());
        order(&mut director, ClockOrder::Step(3_600_000)).expect("it listens");
        let deadline = Instant::now() + Duration::from_secs(20);
        while env.now().wall < before + 3_600_000_000_000 {
            assert!(Instant::now() < deadline, "the clock is not set");
            thread::yield_now();
        }
        // A thousand times as fast: half a minute passes in a fraction of a second.
        order(&mut director, ClockOrder::Rate(999_000_000)).expect("it listens");
        let (mono, started) = (env.now().mono, Instant::now());
        while env.now().mono < mono + 30_000_000_000 {
            assert!(started.elapsed() < Duration::from_secs(20), "the clock does not run faster");
            thread::yield_now();
        }
    }
}
