//! Connections: opened, refused, half closed, broken.

use super::{Out, await_events, connection, fd, mask, pending, receive, send, set_option};
use libc::{POLLHUP, POLLIN, POLLOUT, POLLRDHUP};
use socket2::{Domain, Socket, Type};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream},
};

pub const CASES: &[super::Case] = &[
    ("connect is refused", refused),
    ("connect without blocking", connects),
    ("connect without blocking is refused", refused_later),
    ("half close", half_close),
    ("close with unread bytes", unread),
    ("send to who has closed", gone),
    ("bytes before a reset can be read", bytes_then_reset),
    ("shutdown of reading", shutdown_of_reading),
    ("shutdown of both", shutdown_of_both),
    ("not connected", not_connected),
    ("linger for no time", linger),
    ("a listener is closed", listener_closed),
    ("a listener is shut down", listener_shut_down),
    ("a blocked read sees the end", blocked_read),
];

/// An address where nobody listens.
fn nobody() -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port())
}

fn fresh() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

fn refused(out: &mut Out) {
    out.result("connect", TcpStream::connect(nobody()).map(drop));
    let socket = fresh();
    out.result("connect", socket.connect(&nobody().into()));
    out.say(mask(fd(&socket)));
    out.say(pending(fd(&socket)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    out.result("connect again", socket.connect(&listener.local_addr().unwrap().into()));
}

fn connects(out: &mut Out) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().into();
    let socket = fresh();
    socket.set_nonblocking(true).unwrap();
    out.result("connect", socket.connect(&to));
    await_events(fd(&socket), POLLOUT);
    out.say(mask(fd(&socket)));
    out.say(pending(fd(&socket)));
    out.result("connect again", socket.connect(&to));
    out.result("and again", socket.connect(&to));
    out.say(listener.accept().is_ok());
}

fn refused_later(out: &mut Out) {
    let socket = fresh();
    socket.set_nonblocking(true).unwrap();
    let to = nobody().into();
    out.result("connect", socket.connect(&to));
    await_events(fd(&socket), POLLHUP);
    out.say(mask(fd(&socket)));
    out.say(pending(fd(&socket)));
    out.say(mask(fd(&socket)));
    out.say(pending(fd(&socket)));
    out.call("recv", receive(fd(&socket), &mut [0; 8]));
    out.call("send", send(fd(&socket), b"x"));
    out.result("connect again", socket.connect(&to));
    out.result("and again", socket.connect(&to));
}

fn half_close(out: &mut Out) {
    let (mut client, mut server) = connection();
    client.write_all(b"half").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    await_events(fd(&server), POLLRDHUP);
    out.say(mask(fd(&server)));
    out.say(mask(fd(&client)));
    let mut all = String::new();
    server.read_to_string(&mut all).unwrap();
    out.say(all);
    out.call("read at the end", receive(fd(&server), &mut [0; 8]));
    out.call("send after shutdown", send(fd(&client), b"x"));
    server.write_all(b"answer").unwrap();
    drop(server);
    let mut all = String::new();
    client.read_to_string(&mut all).unwrap();
    out.say(all);
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.result("peer", client.peer_addr().map(drop));
    out.result("shutdown", client.shutdown(Shutdown::Both));
}

fn unread(out: &mut Out) {
    let (mut client, server) = connection();
    client.write_all(b"never read").unwrap();
    await_events(fd(&server), POLLIN);
    drop(server);
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    out.call("recv again", receive(fd(&client), &mut [0; 8]));
    out.say(mask(fd(&client)));
    out.call("send", send(fd(&client), b"x"));
    out.result("peer", client.peer_addr().map(drop));
    out.result("shutdown", client.shutdown(Shutdown::Write));
    // The same, by a send.
    let (mut client, server) = connection();
    client.write_all(b"never read").unwrap();
    await_events(fd(&server), POLLIN);
    drop(server);
    await_events(fd(&client), POLLHUP);
    out.call("send", send(fd(&client), b"x"));
    out.call("send again", send(fd(&client), b"x"));
    out.say(pending(fd(&client)));
}

fn gone(out: &mut Out) {
    let (client, server) = connection();
    drop(server);
    await_events(fd(&client), POLLRDHUP);
    out.say(mask(fd(&client)));
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    out.call("send", send(fd(&client), b"x"));
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.call("send again", send(fd(&client), b"x"));
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    out.say(mask(fd(&client)));
}

fn bytes_then_reset(out: &mut Out) {
    let (mut client, mut server) = connection();
    client.write_all(b"never read").unwrap();
    server.write_all(b"last words").unwrap();
    await_events(fd(&server), POLLIN);
    await_events(fd(&client), POLLIN);
    drop(server);
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.call("recv", receive(fd(&client), &mut [0; 4]));
    out.call("recv", receive(fd(&client), &mut [0; 40]));
    out.call("recv", receive(fd(&client), &mut [0; 40]));
    out.call("recv", receive(fd(&client), &mut [0; 40]));
}

fn shutdown_of_reading(out: &mut Out) {
    let (client, mut server) = connection();
    client.shutdown(Shutdown::Read).unwrap();
    out.say(mask(fd(&client)));
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    server.write_all(b"late").unwrap();
    await_events(fd(&client), POLLIN);
    out.call("send", send(fd(&client), b"x"));
    await_events(fd(&server), POLLIN);
    out.say(mask(fd(&server)));
}

fn shutdown_of_both(out: &mut Out) {
    let (client, server) = connection();
    client.shutdown(Shutdown::Both).unwrap();
    out.say(mask(fd(&client)));
    await_events(fd(&server), POLLRDHUP);
    out.say(mask(fd(&server)));
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    out.call("send", send(fd(&client), b"x"));
    server.shutdown(Shutdown::Write).unwrap();
    await_events(fd(&server), POLLHUP);
    out.say(mask(fd(&server)));
}

fn not_connected(out: &mut Out) {
    let socket = fresh();
    out.say(mask(fd(&socket)));
    out.call("recv", receive(fd(&socket), &mut [0; 8]));
    out.call("send", send(fd(&socket), b"x"));
    out.result("shutdown", socket.shutdown(Shutdown::Both));
    out.result("peer", socket.peer_addr().map(drop));
    out.result("accept", socket.accept().map(drop));
    out.say(pending(fd(&socket)));
    out.result("bind", socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()));
    out.result("bind again", socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()));
    out.result("listen", socket.listen(1));
    out.result("listen again", socket.listen(1));
    out.say(mask(fd(&socket)));
    out.call("recv", receive(fd(&socket), &mut [0; 8]));
    out.call("send", send(fd(&socket), b"x"));
    out.result("connect", socket.connect(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1).into()));
    let foreign = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 7), 0);
    out.result("bind to a foreign address", fresh().bind(&foreign.into()));
}

fn linger(out: &mut Out) {
    let (client, server) = connection();
    socket2::SockRef::from(&server).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(server);
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.say(pending(fd(&client)));
}

fn listener_closed(out: &mut Out) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let client = TcpStream::connect(at).unwrap();
    await_events(fd(&listener), POLLIN);
    drop(listener);
    await_events(fd(&client), POLLHUP);
    out.say(mask(fd(&client)));
    out.say(pending(fd(&client)));
    out.result("connect", TcpStream::connect(at).map(drop));
}

fn listener_shut_down(out: &mut Out) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let other = listener.try_clone().unwrap();
    let accepts = std::thread::spawn(move || other.accept().map(drop));
    // SAFETY: a number.
    out.call("shutdown", unsafe { libc::shutdown(fd(&listener), libc::SHUT_RD) });
    out.result("accept", accepts.join().unwrap());
    out.result("connect", TcpStream::connect(at).map(drop));
}

fn blocked_read(out: &mut Out) {
    let (mut client, server) = connection();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        client.read_to_end(&mut all).map(|count| (count, all))
    });
    let mut server = server;
    for word in [&b"one "[..], b"two ", b"three"] {
        server.write_all(word).unwrap();
    }
    drop(server);
    out.result("read", reader.join().unwrap().map(|(count, all)| (count, String::from_utf8(all).unwrap())));
    out.call("option of a bad descriptor", set_option(-1, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1));
}
