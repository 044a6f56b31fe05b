use crate::world::{SECOND, World};
use fencepost_libc::main_of;
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

fn server() {
    for s in TcpListener::bind("0.0.0.0:7").unwrap().incoming() {
        std::thread::spawn(move || {
            let mut s = s.unwrap();
            let mut b = [0; 64];
            while let Ok(n) = s.read(&mut b) {
                if n == 0 {
                    break;
                }
                s.write_all(&b[..n]).unwrap()
            }
        });
    }
}
fn client() {
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(1));
    let mut s = TcpStream::connect("server:7").unwrap();
    for i in 0..3 {
        std::thread::sleep(Duration::from_secs(1000));
        write!(
            s,
            "{:?}",
            (i..i + 6).map(|k| (k, ())).collect::<std::collections::HashMap<_, _>>().keys().collect::<Vec<_>>()
        )
        .unwrap();
        let mut b = [0; 64];
        let n = s.read(&mut b).unwrap();
        println!("{} at {:?}", String::from_utf8_lossy(&b[..n]), began.elapsed());
    }
}

#[test]
fn first() {
    let mut world = World::new(1);
    world.process("server", main_of(server)).process("client", main_of(client));
    world.run_until(10_000 * SECOND).unwrap();
    panic!("{}", world.log.join("\n"));
}
