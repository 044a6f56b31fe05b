//! Addresses, ports, names and options of sockets.

use super::{Out, await_events, connection, fd, set_option};
use libc::{
    IPPROTO_TCP, POLLIN, SO_ACCEPTCONN, SO_KEEPALIVE, SO_REUSEADDR, SO_TYPE, SOL_SOCKET, TCP_KEEPIDLE, TCP_NODELAY,
};
use socket2::{Domain, Socket, Type};
use std::{
    ffi::CString,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, ToSocketAddrs},
    os::fd::RawFd,
};

pub const CASES: &[super::Case] = &[
    ("addresses of both ends", both_ends),
    ("accept", accepts),
    ("ports are taken", taken),
    ("ports are shared", shared),
    ("options", options),
    ("names", names),
    ("an address that is too short", short),
    ("IPv6", six),
    ("IPv6 only", only_six),
];

fn both_ends(out: &mut Out) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    out.say(listener.local_addr().unwrap().ip());
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (server, from) = listener.accept().unwrap();
    out.say(from == client.local_addr().unwrap());
    out.say(server.peer_addr().unwrap() == client.local_addr().unwrap());
    out.say(server.local_addr().unwrap() == client.peer_addr().unwrap());
    out.say(client.peer_addr().unwrap().port() == port);
    out.say(server.local_addr().unwrap().ip());
    out.say(client.local_addr().unwrap().port() >= 32_768);
}

fn accepts(out: &mut Out) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    out.result("accept", listener.accept().map(drop));
    out.say(super::mask(fd(&listener)));
    let clients = [TcpStream::connect(at).unwrap(), TcpStream::connect(at).unwrap()];
    await_events(fd(&listener), POLLIN);
    for client in &clients {
        let (accepted, from) = loop {
            match listener.accept() {
                Ok(accepted) => break accepted,
                Err(_) => await_events(fd(&listener), POLLIN),
            };
        };
        out.say(from == client.local_addr().unwrap());
        // The listener's flag is its own.
        // SAFETY: numbers.
        out.say(unsafe { libc::fcntl(fd(&accepted), libc::F_GETFL) } & libc::O_NONBLOCK);
    }
    out.result("accept", listener.accept().map(drop));
    out.result("accept of a stream", {
        // SAFETY: no address is wanted.
        let got = unsafe { libc::accept(fd(&clients[0]), std::ptr::null_mut(), std::ptr::null_mut()) };
        if got < 0 { Err(std::io::Error::last_os_error()) } else { Ok(got) }
    });
    listener.set_nonblocking(false).unwrap();
    let waits = std::thread::spawn(move || listener.accept().map(drop));
    let _client = TcpStream::connect(at).unwrap();
    out.result("accept", waits.join().unwrap());
}

fn bound(port: u16, reuse: &[i32]) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    for option in reuse {
        set_option(fd(&socket), SOL_SOCKET, *option, 1);
    }
    socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into())?;
    Ok(socket)
}

fn taken(out: &mut Out) {
    let first = bound(0, &[]).unwrap();
    let port = first.local_addr().unwrap().as_socket().unwrap().port();
    out.result("bind", bound(port, &[]).map(drop));
    out.result("bind with reuse", bound(port, &[SO_REUSEADDR]).map(drop));
    drop(first);
    let first = bound(port, &[SO_REUSEADDR]).unwrap();
    let second = bound(port, &[SO_REUSEADDR]);
    out.say(second.is_ok());
    out.result("listen", first.listen(1));
    out.result("listen twice", second.unwrap().listen(1));
    out.result("bind beside a listener", bound(port, &[SO_REUSEADDR]).map(drop));
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
    out.result("bind to any", TcpListener::bind(any).map(drop));
    drop(first);
    out.result("bind to any", TcpListener::bind(any).map(drop));
}

fn shared(out: &mut Out) {
    let both = [libc::SO_REUSEPORT];
    let first = bound(0, &both).unwrap();
    let port = first.local_addr().unwrap().as_socket().unwrap().port();
    let second = bound(port, &both).unwrap();
    out.result("listen", first.listen(1));
    out.result("listen", second.listen(1));
    out.result("bind without", bound(port, &[]).map(drop));
}

fn option(fd: RawFd, level: i32, name: i32) -> i32 {
    let (mut value, mut length) = (0, 4);
    // SAFETY: room for a number.
    unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut length) };
    value
}

fn options(out: &mut Out) {
    let (client, _server) = connection();
    let it = fd(&client);
    for (level, name) in [(SOL_SOCKET, SO_KEEPALIVE), (IPPROTO_TCP, TCP_NODELAY), (SOL_SOCKET, SO_REUSEADDR)] {
        out.say(option(it, level, name) != 0);
        out.call("set", set_option(it, level, name, 1));
        out.say(option(it, level, name) != 0);
    }
    out.say(option(it, IPPROTO_TCP, TCP_KEEPIDLE));
    out.call("set", set_option(it, IPPROTO_TCP, TCP_KEEPIDLE, 33));
    out.say(option(it, IPPROTO_TCP, TCP_KEEPIDLE));
    out.say(option(it, SOL_SOCKET, SO_TYPE) == libc::SOCK_STREAM);
    out.say(option(it, SOL_SOCKET, libc::SO_DOMAIN) == libc::AF_INET);
    out.say(option(it, SOL_SOCKET, libc::SO_PROTOCOL) == IPPROTO_TCP);
    out.say(option(it, SOL_SOCKET, SO_ACCEPTCONN));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    out.say(option(fd(&listener), SOL_SOCKET, SO_ACCEPTCONN));
    out.say(option(fd(&listener), SOL_SOCKET, SO_REUSEADDR));
    out.result("ttl", client.ttl());
    // SAFETY: the value is too short.
    out.call("short", unsafe { libc::setsockopt(it, SOL_SOCKET, SO_KEEPALIVE, [1u8, 0].as_ptr().cast(), 2) });
}

fn names(out: &mut Out) {
    let look = |name: &str| name.to_socket_addrs().map(|all| all.filter(SocketAddr::is_ipv4).collect::<Vec<_>>());
    out.say(format!("{:?}", look("127.0.0.1:80").unwrap()));
    out.say(format!("{:?}", look("localhost:80").unwrap()));
    let ask = |node: Option<&str>, service: Option<&str>, flags: i32| {
        let text = |of: Option<&str>| of.map(|of| CString::new(of).unwrap());
        let at = |of: &Option<CString>| of.as_ref().map_or(std::ptr::null(), |of| of.as_ptr());
        let (node, service) = (text(node), text(service));
        // SAFETY: zeros are hints, and the list is freed once.
        unsafe {
            let mut hints: libc::addrinfo = std::mem::zeroed();
            (hints.ai_family, hints.ai_socktype, hints.ai_flags) = (libc::AF_INET, libc::SOCK_STREAM, flags);
            let mut found = std::ptr::null_mut();
            let code = libc::getaddrinfo(at(&node), at(&service), &hints, &mut found);
            if code != 0 {
                return format!("error {code}");
            }
            let address = (*found).ai_addr.cast::<libc::sockaddr_in>().read();
            let kind = ((*found).ai_socktype, (*found).ai_protocol, (*found).ai_addrlen);
            libc::freeaddrinfo(found);
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            format!("{ip}:{} {kind:?}", u16::from_be(address.sin_port))
        }
    };
    out.say(ask(None, Some("7"), libc::AI_PASSIVE));
    out.say(ask(None, Some("7"), 0));
    out.say(ask(Some("10.1.2.3"), Some("7"), libc::AI_NUMERICHOST));
    out.say(ask(Some("a.name"), Some("7"), libc::AI_NUMERICHOST));
}

fn short(out: &mut Out) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let address = [0u8; 4];
    // SAFETY: the length says that there is less than an address.
    out.call("bind", unsafe { libc::bind(fd(&socket), address.as_ptr().cast(), 4) });
    // SAFETY: as above.
    out.call("connect", unsafe { libc::connect(fd(&socket), address.as_ptr().cast(), 4) });
}

/// A listener for both families; who connects by IPv4 has a mapped address.
fn six(out: &mut Out) {
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    out.say(listener.local_addr().unwrap().ip());
    for to in ["127.0.0.1", "::1"] {
        let client = TcpStream::connect((to, port)).unwrap();
        let (server, from) = listener.accept().unwrap();
        out.say(format!("{} {} {}", from.ip(), server.local_addr().unwrap().ip(), server.peer_addr().unwrap().ip()));
        out.say(from.port() == client.local_addr().unwrap().port());
        out.say(format!("{} {}", client.local_addr().unwrap().ip(), client.peer_addr().unwrap().ip()));
    }
    out.result("bind by IPv4", TcpListener::bind(("0.0.0.0", port)).map(drop));
    let client = TcpStream::connect(("::ffff:127.0.0.1", port)).unwrap();
    out.say(client.peer_addr().unwrap().ip());
    out.say(option(fd(&client), SOL_SOCKET, libc::SO_DOMAIN) == libc::AF_INET6);
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = four.local_addr().unwrap().port();
    out.result("the other loopback", TcpStream::connect(("::1", port)).map(drop));
    let foreign: SocketAddr = "[2001:db8::7]:0".parse().unwrap();
    out.result(
        "bind to a foreign address",
        Socket::new(Domain::IPV6, Type::STREAM, None).unwrap().bind(&foreign.into()),
    );
    // An address of the other family.
    let to = four.local_addr().unwrap().into();
    out.result("connect", Socket::new(Domain::IPV6, Type::STREAM, None).unwrap().connect(&to));
}

fn only_six(out: &mut Out) {
    let listener = Socket::new(Domain::IPV6, Type::STREAM, None).unwrap();
    out.call("only", set_option(fd(&listener), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1));
    out.result("bind", listener.bind(&"[::]:0".parse::<SocketAddr>().unwrap().into()));
    out.result("listen", listener.listen(1));
    let port = listener.local_addr().unwrap().as_socket().unwrap().port();
    out.result("bind by IPv4", TcpListener::bind(("0.0.0.0", port)).map(drop));
    out.result("by IPv6", TcpStream::connect(("::1", port)).map(drop));
}
