//! A link to a server, which can be cut.

use crate::members::relay::{Passes, Wall, join};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
};

/// The ends of a link, as its wall numbers them.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Relays one client's connections to a server. A cut is silent, as in a network: nothing is refused or closed, and
/// what was sent meanwhile arrives when the cut is healed.
pub struct Link {
    /// Where the client dials.
    pub address: SocketAddr,
    server: SocketAddr,
    wall: Arc<Wall>,
    accepting: Option<JoinHandle<()>>,
}

impl Link {
    /// # Errors
    /// No port is free.
    pub fn to(server: SocketAddr) -> io::Result<Link> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, wall) = (listener.local_addr()?, Arc::new(Wall::default()));
        let of_thread = wall.clone();
        let accepting = thread::spawn(move || {
            // The drop wakes it with a connection.
            while let Ok((stream, _)) = listener.accept()
                && !of_thread.is_over()
            {
                let wall = of_thread.clone();
                // A connection that cannot be relayed is closed.
                thread::spawn(move || drop(relay(&wall, stream, server)));
            }
        });
        Ok(Link { address, server, wall, accepting: Some(accepting) })
    }

    /// Withholds everything, in both directions, and connects nobody.
    pub fn cut(&self) {
        self.wall.cut(CLIENT, SERVER);
        self.wall.cut(SERVER, CLIENT);
    }

    pub fn heal(&self) {
        self.wall.heal();
    }

    /// How many pieces of data have passed, both ways: about as many as there were messages, if these are small.
    pub fn passed(&self) -> u64 {
        self.wall.passed.load(Ordering::Relaxed)
    }

    /// The local ports of its connections to the server.
    pub fn ports(&self) -> Vec<u16> {
        let streams = self.wall.streams();
        let onwards = streams.iter().filter(|stream| stream.peer_addr().is_ok_and(|peer| peer == self.server));
        onwards.filter_map(|stream| Some(stream.local_addr().ok()?.port())).collect()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.wall.end();
        // If it is refused, the thread has ended.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            // It has no failures to report.
            let _ = accepting.join();
        }
    }
}

fn relay(wall: &Arc<Wall>, dialled: TcpStream, server: SocketAddr) -> io::Result<()> {
    dialled.set_nodelay(true)?;
    let dialled = wall.keep(dialled);
    let asked = wall.clone();
    let passes: Passes =
        Arc::new(move |back| if back { asked.passes(SERVER, CLIENT) } else { asked.passes(CLIENT, SERVER) });
    if !(passes(false) && passes(true)) {
        return Ok(());
    }
    let onwards = TcpStream::connect(server)?;
    onwards.set_nodelay(true)?;
    let onwards = wall.keep(onwards);
    join(wall, &passes, &dialled, &onwards);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        sync::mpsc,
    };

    #[test]
    fn what_is_sent_over_a_cut_link_arrives_when_it_is_healed() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let link = Link::to(server.local_addr().expect("an address")).expect("a port");
        let (arrived, arrivals) = mpsc::channel();
        thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("the link dials");
            let mut bytes = [0; 5];
            while stream.read_exact(&mut bytes).is_ok() {
                // The test may be over.
                let _ = arrived.send(bytes);
            }
        });
        let mut client = TcpStream::connect(link.address).expect("the link listens");
        client.write_all(b"first").expect("it is open");
        assert_eq!(arrivals.recv(), Ok(*b"first"));
        assert!(matches!(link.ports()[..], [port] if port != link.address.port()), "{:?}", link.ports());
        link.cut();
        client.write_all(b"later").expect("it is open still");
        assert!(arrivals.try_recv().is_err());
        link.heal();
        assert_eq!(arrivals.recv(), Ok(*b"later"));
        drop(link);
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0, "its end ends the connection");
    }
}
