//! Proxies on real sockets.

use super::*;

const SOON: Duration = Duration::from_millis(500);

async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (mut read, mut write) = stream.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut read, &mut write).await });
        }
    });
    address
}

async fn say(stream: &mut TcpStream, text: &[u8]) -> Result<Vec<u8>, tokio::time::error::Elapsed> {
    stream.write_all(text).await.expect("writable");
    let mut answer = vec![0; text.len()];
    tokio::time::timeout(Duration::from_millis(150), stream.read_exact(&mut answer)).await.map(|r| {
        r.expect("readable");
        answer
    })
}

#[tokio::test]
async fn a_partition_is_silence_and_loses_nothing() {
    let proxy = Proxy::start(echo().await, Line::default(), None).await.expect("a port");
    let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
    assert_eq!(say(&mut stream, b"one").await, Ok(b"one".to_vec()));
    proxy.forward.send_modify(|g| g.blocked += 1);
    assert!(say(&mut stream, b"two").await.is_err());
    let mut late = TcpStream::connect(proxy.address).await.expect("the proxy accepts");
    assert!(say(&mut late, b"new").await.is_err());
    proxy.forward.send_modify(|g| g.blocked -= 1);
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).await.expect("what waited comes");
    assert_eq!(&answer, b"two");
    late.read_exact(&mut answer).await.expect("the new connection goes on");
    assert_eq!(&answer, b"new");
}

#[tokio::test]
async fn the_end_of_one_direction_travels_and_the_other_goes_on() {
    let proxy = Proxy::start(echo().await, Line::default(), None).await.expect("a port");
    let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
    stream.write_all(b"last").await.expect("writable");
    stream.shutdown().await.expect("half closed");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("readable");
    assert_eq!(answer, b"last");
}

#[tokio::test]
async fn the_plans_network_is_carried_out() {
    let wan = Line { latency_us: 20_000, jitter_us: 10_000, loss: 0.0 };
    let proxy = Proxy::start(echo().await, wan, None).await.expect("a port");
    let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
    // A round trip before timing starts: the proxy's side does not see the end of the handshake.
    assert!(say(&mut stream, b"first").await.is_ok());
    for _ in 0..3 {
        let start = Instant::now();
        assert!(say(&mut stream, b"there and back").await.is_ok());
        assert!(start.elapsed() >= Duration::from_millis(40), "{:?}", start.elapsed());
    }
}

#[test]
fn a_lost_segment_comes_later_and_later() {
    let mut draws = Draws::new();
    let gate = Gate { line: Line { loss: 0.5, ..Line::default() }, ..Gate::default() };
    let delays: Vec<u64> = (0..1_000).map(|_| gate.delay_us(100, &mut draws)).collect();
    for resends in 0..4u64 {
        // Delays are 0, 200, 600, 1400 ms, each half as frequent as the one before.
        let at = RESEND_US * ((1 << resends) - 1);
        let share = delays.iter().filter(|d| **d == at).count();
        assert!((250 >> resends..750 >> resends).contains(&share), "{share} of 1000 took {at} µs");
    }
    // A chunk of many segments is delayed by loss more often than one segment.
    let thin = Gate { loss: 0.01, ..Gate::default() };
    let late = |bytes: usize, draws: &mut Draws| (0..1_000).filter(|_| thin.delay_us(bytes, draws) > 0).count();
    let (few, many) = (late(100, &mut draws), late(16 * 1024, &mut draws));
    assert!((1..40).contains(&few) && (60..250).contains(&many), "{few} and {many}");
    assert_eq!(Gate::default().delay_us(16 * 1024, &mut draws), 0);
}

#[test]
fn latency_lies_between_its_bounds() {
    let (mut draws, line) = (Draws::new(), Line { latency_us: 20_000, jitter_us: 10_000, loss: 0.0 });
    let gate = Gate { line, extra_us: 5_000, ..Gate::default() };
    let delays: Vec<u64> = (0..1_000).map(|_| gate.delay_us(1, &mut draws)).collect();
    let (least, most) = (delays.iter().min(), delays.iter().max());
    assert!(least >= Some(&25_000) && least < Some(&26_000), "{least:?}");
    assert!(most <= Some(&35_000) && most > Some(&34_000), "{most:?}");
}

#[tokio::test]
async fn the_service_gives_a_silent_client_up_and_the_client_hears_of_it_later() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let after = Duration::from_millis(300);
    let proxy = Proxy::start(address, Line::default(), Some(after)).await.expect("a port");
    let mut client = TcpStream::connect(proxy.address).await.expect("the proxy listens");
    let (mut service, _) = listener.accept().await.expect("a connection");
    let (mut byte, mut more) = ([0; 1], Vec::new());
    let block = |on: i32| {
        for direction in [&proxy.forward, &proxy.backward] {
            direction.send_modify(|gate| gate.blocked = gate.blocked.wrapping_add_signed(on));
        }
    };

    // A short silence does not close it.
    block(1);
    tokio::time::sleep(after / 2).await;
    block(-1);
    tokio::time::sleep(after).await;
    client.write_all(b"x").await.expect("writable");
    service.read_exact(&mut byte).await.expect("it lives");

    // A long silence closes the service's end, but not the client's.
    block(1);
    assert_eq!(
        tokio::time::timeout(SOON, service.read_to_end(&mut more)).await.expect("it ends").expect("in order"),
        0
    );
    assert!(tokio::time::timeout(SOON, client.read(&mut byte)).await.is_err(), "the client knows nothing");
    block(-1);
    let told = tokio::time::timeout(SOON, client.read(&mut byte)).await.expect("the client is told");
    assert!(matches!(told, Ok(0) | Err(_)), "{told:?}");
}
