//! A program that talks with itself.

use crate::world::{lines_of, plan};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

/// Listens on an address that only its own host reaches, and answers itself.
fn echoes() {
    let listener = TcpListener::bind("127.0.0.1:9000").expect("the port is free");
    let server = std::thread::spawn(move || {
        let (mut stream, from) = listener.accept().expect("somebody connects");
        let mut word = [0; 5];
        stream.read_exact(&mut word).expect("five bytes");
        stream.write_all(&word).expect("they are read");
        from.ip()
    });
    let mut stream = TcpStream::connect("localhost:9000").expect("it listens");
    stream.write_all(b"hello").expect("it reads");
    let mut word = String::new();
    stream.read_to_string(&mut word).expect("it answers and closes");
    println!("{word} from {} to {}", stream.peer_addr().expect("a peer"), server.join().expect("no panic"));
}

#[test]
fn localhost_is_the_process_itself() {
    let lines = lines_of(&plan(1, None), fencepost_libc::main_of(echoes));
    let said: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let each = ["hello from 127.0.0.1:9000 to 127.0.0.1", "exit code 0"];
    assert_eq!(said, each.repeat(3), "{lines:?}");
}
