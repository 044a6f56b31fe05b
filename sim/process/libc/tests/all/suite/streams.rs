//! Bytes: room for them, how they are read and written, timeouts.

use super::{Out, await_events, connection, fd, mask, receive, send};
use libc::{POLLIN, POLLOUT, iovec, msghdr};
use std::{
    io::{IoSlice, IoSliceMut, Read, Write},
    time::Duration,
};

pub const CASES: &[super::Case] = &[
    ("nothing to read", nothing),
    ("no room to write", no_room),
    ("a blocking write waits for room", blocking_write),
    ("vectors", vectors),
    ("messages", messages),
    ("peek and wait for all", peek),
    ("timeouts of a socket", timeouts),
    ("lines over a connection", lines),
];

fn nothing(out: &mut Out) {
    let (mut client, server) = connection();
    out.call("recv", receive(fd(&client), &mut [0; 8]));
    client.set_nonblocking(true).unwrap();
    out.result("read", client.read(&mut [0; 8]));
    out.say(mask(fd(&client)));
    out.call("send nothing", send(fd(&server), b""));
    out.call("send", send(fd(&server), b"four"));
    await_events(fd(&client), POLLIN);
    out.say(mask(fd(&client)));
    out.result("read", client.read(&mut [0; 3]));
    out.result("read", client.read(&mut [0; 3]));
    out.result("read", client.read(&mut [0; 3]));
}

fn no_room(out: &mut Out) {
    let (client, mut server) = connection();
    let block = [7; 64 * 1024];
    let mut sent = 0;
    loop {
        match send(fd(&client), &block) {
            -1 => break,
            count => sent += count as usize,
        }
        assert!(sent < 1 << 30, "back-pressure");
    }
    out.call("send", send(fd(&client), b"x"));
    out.say(mask(fd(&client)));
    let mut got = vec![0; sent];
    server.read_exact(&mut got).unwrap();
    out.say(got.iter().all(|byte| *byte == 7));
    await_events(fd(&client), POLLOUT);
    out.say(mask(fd(&client)));
    out.call("send", send(fd(&client), b"x"));
    server.read_exact(&mut [0]).unwrap();
    out.say(mask(fd(&server)));
}

fn blocking_write(out: &mut Out) {
    let (mut client, mut server) = connection();
    let writer = std::thread::spawn(move || {
        let all: Vec<u8> = (0..16 * 1024 * 1024u32).map(|n| (n % 251) as u8).collect();
        client.write(&all)
    });
    let mut all = Vec::new();
    out.result("read", server.read_to_end(&mut all));
    out.say(all.iter().enumerate().all(|(at, byte)| (at % 251) as u8 == *byte));
    out.result("write", writer.join().unwrap());
}

fn vectors(out: &mut Out) {
    let (mut client, mut server) = connection();
    out.result("writev", client.write_vectored(&[IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")]));
    let (mut a, mut b) = ([0; 2], [0; 100]);
    await_events(fd(&server), POLLIN);
    let got = server.read_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut []), IoSliceMut::new(&mut b)]);
    out.result("readv", got);
    out.say(String::from_utf8_lossy(&[&a[..], &b[..5]].concat()));
}

fn messages(out: &mut Out) {
    let (client, server) = connection();
    let mut words = [*b"alpha", *b"omega"];
    let [first, last] = &mut words;
    let mut slices = [first, last].map(|word| iovec { iov_base: word.as_mut_ptr().cast(), iov_len: word.len() });
    // SAFETY: zeros are a message, and the slices live as long as it is used.
    unsafe {
        let mut message: msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (slices.as_mut_ptr(), 2);
        out.call("sendmsg", libc::sendmsg(fd(&client), &message, 0));
        await_events(fd(&server), POLLIN);
        let mut room = [0u8; 32];
        let mut slice = iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        (message.msg_iov, message.msg_iovlen) = (&mut slice, 1);
        out.call("recvmsg", libc::recvmsg(fd(&server), &mut message, 0));
        out.say(String::from_utf8_lossy(&room[..10]));
        out.call("recvmsg", libc::recvmsg(fd(&server), &mut message, libc::MSG_DONTWAIT));
    }
}

fn peek(out: &mut Out) {
    let (mut client, server) = connection();
    client.write_all(b"look").unwrap();
    await_events(fd(&server), POLLIN);
    out.result("peek", server.peek(&mut [0; 2]));
    out.result("peek", server.peek(&mut [0; 9]));
    let mut all = [0; 8];
    let waits = std::thread::spawn(move || {
        // SAFETY: a slice.
        let got = unsafe { libc::recv(fd(&server), all.as_mut_ptr().cast(), 8, libc::MSG_WAITALL) };
        (got, all, server)
    });
    client.write_all(b" and").unwrap();
    let (got, all, mut server) = waits.join().unwrap();
    out.call("recv of all", got);
    out.say(String::from_utf8_lossy(&all));
    client.write_all(b"end").unwrap();
    drop(client);
    // SAFETY: a slice.
    out.call("recv of all", unsafe { libc::recv(fd(&server), all.to_vec().as_mut_ptr().cast(), 8, libc::MSG_WAITALL) });
    out.result("read", server.read(&mut [0; 8]));
}

fn timeouts(out: &mut Out) {
    let (mut client, _server) = connection();
    client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    out.result("timeout", client.read_timeout());
    let began = std::time::Instant::now();
    out.result("read", client.read(&mut [0; 8]));
    out.say(began.elapsed() >= Duration::from_millis(20));
    out.say(client.set_read_timeout(Some(Duration::ZERO)).is_err());
    client.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    let block = vec![1; 64 << 20];
    let (mut sent, mut last) = (0, Ok(0));
    while sent < block.len() {
        last = client.write(&block[sent..]);
        match last {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    out.say(sent > 0 && sent < block.len());
    out.result("write", last);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    out.result("connect", std::net::TcpStream::connect_timeout(&at, Duration::from_secs(5)).map(drop));
}

fn lines(out: &mut Out) {
    let (client, server) = connection();
    let answers = std::thread::spawn(move || {
        let mut writer = server.try_clone().unwrap();
        for line in std::io::BufRead::lines(std::io::BufReader::new(server)) {
            writeln!(writer, "you said {}", line.unwrap()).unwrap();
        }
    });
    let mut writer = client.try_clone().unwrap();
    let mut reader = std::io::BufReader::new(client);
    for word in ["hello", "good bye"] {
        writeln!(writer, "{word}").unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        out.say(line.trim());
    }
    writer.shutdown(std::net::Shutdown::Both).unwrap();
    answers.join().unwrap();
}
