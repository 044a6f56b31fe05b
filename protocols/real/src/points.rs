//! What a director of faults has a real process do to itself: stop at a named point, and set its own clocks.
//!
//! The asking blocks the whole thread on purpose: between the point and the stop nothing else of the process may run, or
//! the pause would not fall where the plan wants it.

use protocols::point::Point;
use protocols_clients::env::tokio::{Clocks, Points};
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::{Mutex, PoisonError},
    thread,
};

/// What the director answers when the process is to stop itself; anything else lets it go on.
pub const STOP: &str = "stop";
/// What it answers otherwise.
pub const GO: &str = "go";

/// What a process says after its name when it wants to hear how its clocks are to run.
pub const CLOCKS: &str = "clocks";

/// What a director has a process's clocks do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockOrder {
    /// Run at this rate from now on, parts per million faster than the machine's.
    Rate(i64),
    /// Step the wall clock by so many milliseconds.
    Step(i64),
}

impl ClockOrder {
    /// As it is sent, without the end of the line.
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

/// Has the director at `address` set this process's clocks, as the process called `name`, for as long as it is there.
///
/// # Errors
/// It cannot be reached.
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
