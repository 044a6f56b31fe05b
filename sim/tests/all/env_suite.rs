//! What protocol code may rely on in an `Env`: one suite, run on tokio's and on the simulated one.
use protocols::{
    point::Point,
    types::{MILLISECOND, NodeId, SECOND},
};
use protocols_clients::{
    env::{
        Disk, Env, Listener,
        tokio::{EnvSettings, TokioEnv},
    },
    site::Endpoint,
};
use scenarios::{Params, scenario};
use sim::{
    host,
    recorder::{Listeners, Recorder},
    world::{Driver, World, env::SimEnv},
};
use std::{
    future::pending,
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Longer than anything takes, even on a loaded machine, in nanoseconds.
const PATIENCE: u64 = 20 * SECOND;
/// Long enough for a message to arrive, in nanoseconds.
const A_WHILE: u64 = 100 * MILLISECOND;
/// More than any connection buffers if nobody reads.
const TOO_MUCH: usize = 256 << 20;

/// An environment with two processes.
struct Place<E> {
    server: E,
    client: E,
    /// The server's name.
    host: String,
    /// A port that nobody listens on.
    port: fn() -> u16,
}

impl<E: Env> Place<E> {
    fn endpoint(&self, port: u16) -> Endpoint {
        Endpoint { host: self.host.clone(), port }
    }

    async fn connect(&self, port: u16) -> std::io::Result<E::Stream> {
        let endpoint = self.endpoint(port);
        self.client.timeout(PATIENCE, self.client.connect(&endpoint)).await.expect("an answer to a connect")
    }

    /// The two ends of a new connection, the client's first.
    async fn pair(&self) -> (E::Stream, E::Stream) {
        let port = (self.port)();
        let mut listener = self.server.listen(port).await.expect("a free port");
        let client = self.connect(port).await.expect("somebody listens");
        (client, listener.accept().await.expect("somebody connected"))
    }

    /// Reads `count` bytes, or to the end.
    async fn read(&self, stream: &mut E::Stream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let mut read = 0;
        while read < count {
            let more = self.client.timeout(PATIENCE, stream.read(&mut bytes[read..])).await;
            match more.expect("bytes or an end").expect("a stream that works") {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        bytes
    }
}

async fn suite<E: Env>(place: Place<E>) {
    clocks_and_sleeps(&place).await;
    timeouts(&place).await;
    tasks(&place).await;
    listening(&place).await;
    accepted_in_order(&place).await;
    bytes_in_order(&place).await;
    half_closed(&place).await;
    back_pressure(&place).await;
    endings(&place).await;
    disks(&place).await;
    the_rest(&place).await;
}

async fn clocks_and_sleeps<E: Env>(place: &Place<E>) {
    let env = &place.client;
    let mut before = env.now().mono;
    for _ in 0..1_000 {
        let now = env.now().mono;
        assert!(now >= before, "the monotonic clock went back from {before} to {now}");
        before = now;
    }
    for wait in [0, 1, 999, 1_000_001, 20 * MILLISECOND + 1] {
        let due = env.now().mono + wait;
        env.sleep_until(due).await;
        assert!(env.now().mono >= due, "woken {} ns early", due - env.now().mono);
    }
    // A sleep until the past ends at once; one until the end of time does not.
    env.sleep_until(0).await;
    assert!(env.timeout(A_WHILE, env.sleep_until(u64::MAX)).await.is_none());
    // Sleeps end in order of their due times, not of creation.
    let (late, early) = (env.sleep(60 * MILLISECOND), env.sleep(20 * MILLISECOND));
    tokio::select! {
        biased;
        () = late => panic!("the later sleep ended first"),
        () = early => {}
    }
}

async fn timeouts<E: Env>(place: &Place<E>) {
    let env = &place.client;
    let started = env.now().mono;
    assert!(env.timeout(30 * MILLISECOND, pending::<()>()).await.is_none());
    assert!(env.now().mono >= started + 30 * MILLISECOND);
    assert_eq!(env.timeout(0, async { 7 }).await, Some(7), "what is ready at once is in time");
    let due = env.now().mono + 30 * MILLISECOND;
    let sleep = env.sleep_until(due);
    let left = due.saturating_sub(env.now().mono);
    assert_eq!(env.timeout(left, sleep).await, Some(()), "what is ready when the time is up is in time");
}

/// Counts its drops.
struct Guard(Arc<AtomicU32>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn tasks<E: Env>(place: &Place<E>) {
    let env = &place.client;
    let (dropped, ran) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let task = |wait: u64| {
        let (guard, ran, sleep) = (Guard(dropped.clone()), ran.clone(), env.sleep(wait));
        async move {
            let _guard = guard;
            sleep.await;
            ran.fetch_add(1, Ordering::SeqCst);
        }
    };
    let aborted = env.spawn(task(50 * MILLISECOND));
    let kept = env.spawn(task(50 * MILLISECOND));
    env.spawn_detached(task(50 * MILLISECOND));
    env.sleep(10 * MILLISECOND).await;
    drop(aborted);
    env.sleep(10 * MILLISECOND).await;
    let early = (dropped.load(Ordering::SeqCst), ran.load(Ordering::SeqCst));
    assert!(early.0 >= 1, "a task whose handle was dropped is dropped");
    env.sleep(150 * MILLISECOND).await;
    assert_eq!((dropped.load(Ordering::SeqCst), ran.load(Ordering::SeqCst)), (3, 2), "the others run to their end");
    drop(kept);
}

async fn listening<E: Env>(place: &Place<E>) {
    let port = (place.port)();
    let refused = |result: std::io::Result<E::Stream>| result.err().map(|error| error.kind());
    assert_eq!(refused(place.connect(port).await), Some(ErrorKind::ConnectionRefused), "nobody listens");
    let mut listener = place.server.listen(port).await.expect("a free port");
    let taken = place.server.listen(port).await.err().map(|error| error.kind());
    assert_eq!(taken, Some(ErrorKind::AddrInUse));
    assert!(place.server.timeout(A_WHILE / 2, listener.accept()).await.is_none(), "nobody connected");
    // Connecting does not wait for an accept. An accepted connection outlives the listener, a pending one does not.
    let mut first = place.connect(port).await.expect("somebody listens");
    first.write_all(b"early").await.expect("room");
    let mut second = place.connect(port).await.expect("somebody listens");
    let mut accepted = listener.accept().await.expect("somebody connected");
    drop(listener);
    place.client.sleep(A_WHILE).await;
    assert_eq!(refused(place.connect(port).await), Some(ErrorKind::ConnectionRefused), "nobody listens any more");
    assert_eq!(place.read(&mut accepted, 5).await, b"early");
    accepted.write_all(b"still").await.expect("room");
    assert_eq!(place.read(&mut first, 5).await, b"still");
    let lost = place.client.timeout(PATIENCE, second.read(&mut [0; 8])).await.expect("it is told");
    assert_eq!(lost.err().map(|error| error.kind()), Some(ErrorKind::ConnectionReset), "nobody will accept it");
}

async fn accepted_in_order<E: Env>(place: &Place<E>) {
    let port = (place.port)();
    let mut listener = place.server.listen(port).await.expect("a free port");
    let mut clients = Vec::new();
    for number in 0..5u8 {
        let mut client = place.connect(port).await.expect("somebody listens");
        client.write_all(&[number]).await.expect("room");
        clients.push(client);
    }
    for number in 0..5u8 {
        let mut accepted = listener.accept().await.expect("somebody connected");
        assert_eq!(place.read(&mut accepted, 1).await, [number]);
    }
}

async fn bytes_in_order<E: Env>(place: &Place<E>) {
    let (mut client, mut server) = place.pair().await;
    let sent: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let (there, back) = (sent.clone(), sent.clone());
    // Both ways at once, in chunks of every size.
    let echo = place.server.spawn(async move {
        let mut bytes = vec![0; 7_919];
        while let Ok(count @ 1..) = server.read(&mut bytes).await {
            server.write_all(&bytes[..count]).await.expect("the client reads");
        }
    });
    let (mut reader, mut writer) = tokio::io::split(&mut client);
    let write = async {
        for piece in there.chunks(997) {
            writer.write_all(piece).await.expect("the server reads");
        }
    };
    let read = async {
        let mut bytes = vec![0; back.len()];
        reader.read_exact(&mut bytes).await.expect("the server echoes");
        bytes
    };
    let both = async { tokio::join!(write, read) };
    let ((), received) = place.client.timeout(PATIENCE, both).await.expect("it gets there");
    assert!(received == sent, "what came back is not what was sent");
    // Many small writes.
    for number in 0..3_000u32 {
        client.write_all(&[number as u8]).await.expect("the server reads");
    }
    let expected: Vec<u8> = (0..3_000u32).map(|number| number as u8).collect();
    assert!(place.read(&mut client, 3_000).await == expected, "small writes arrive in order");
    drop(echo);
}

async fn half_closed<E: Env>(place: &Place<E>) {
    let (mut client, mut server) = place.pair().await;
    client.write_all(b"last words").await.expect("room");
    client.shutdown().await.expect("it can be shut down");
    assert_eq!(client.write(b"x").await.err().map(|error| error.kind()), Some(ErrorKind::BrokenPipe));
    assert_eq!(place.read(&mut server, 100).await, b"last words", "and then the end");
    assert_eq!(place.read(&mut server, 1).await, b"", "the end stays the end");
    // The other direction still works, even much later.
    for _ in 0..3 {
        place.server.sleep(A_WHILE / 4).await;
        server.write_all(b"answer").await.expect("the client reads");
        assert_eq!(place.read(&mut client, 6).await, b"answer");
    }
    drop(server);
    assert_eq!(place.read(&mut client, 1).await, b"", "the end");
}

async fn back_pressure<E: Env>(place: &Place<E>) {
    let (mut client, mut server) = place.pair().await;
    let piece = vec![1; 64 * 1024];
    let mut written = 0;
    while let Some(result) = place.client.timeout(3 * A_WHILE, client.write(&piece)).await {
        written += result.expect("the server is there");
        assert!(written < TOO_MUCH, "a writer waits when nobody reads");
    }
    assert!(written > 0);
    assert_eq!(place.read(&mut server, written).await.len(), written, "nothing is lost");
    // There is room again.
    let again = place.client.timeout(PATIENCE, client.write(&piece)).await;
    assert!(again.expect("room again").expect("the server is there") > 0);
}

async fn endings<E: Env>(place: &Place<E>) {
    // Closed after reading everything: an end of file, after all data written before it.
    let (mut client, mut server) = place.pair().await;
    server.write_all(b"bye").await.expect("room");
    drop(server);
    assert_eq!(place.read(&mut client, 100).await, b"bye");
    // Closed with unread data: a reset. Data that arrived before can still be read.
    let (mut client, mut server) = place.pair().await;
    client.write_all(b"never read").await.expect("room");
    server.write_all(b"bye").await.expect("room");
    place.server.sleep(A_WHILE).await;
    drop(server);
    place.client.sleep(A_WHILE).await;
    assert_eq!(place.read(&mut client, 3).await, b"bye");
    let after = place.client.timeout(PATIENCE, client.read(&mut [0; 8])).await.expect("it is told");
    assert_eq!(after.err().map(|error| error.kind()), Some(ErrorKind::ConnectionReset));
    // A write to a peer that is gone eventually fails, and never hangs.
    let (mut client, server) = place.pair().await;
    drop(server);
    place.client.sleep(A_WHILE).await;
    let mut refused = false;
    for _ in 0..5 {
        refused |= client.write(b"anyone?").await.is_err();
        place.client.sleep(A_WHILE / 4).await;
    }
    assert!(refused, "somebody should have said that nobody is there");
}

/// Appended bytes can be read at once, replaced ones are gone, and a file never written does not exist.
async fn disks<E: Env>(place: &Place<E>) {
    let disk = place.server.disk();
    assert_eq!(disk.read("log").await.expect("the disk works"), None);
    disk.append("log", b"one, ".to_vec()).await.expect("the disk works");
    disk.append("log", b"two".to_vec()).await.expect("the disk works");
    assert_eq!(disk.read("log").await.expect("the disk works").as_deref(), Some(&b"one, two"[..]));
    disk.sync("log").await.expect("the disk works");
    disk.replace("log", b"three".to_vec()).await.expect("the disk works");
    disk.append("log", b", four".to_vec()).await.expect("the disk works");
    assert_eq!(disk.read("log").await.expect("the disk works").as_deref(), Some(&b"three, four"[..]));
    assert_eq!(disk.read("other").await.expect("the disk works"), None);
}

async fn the_rest<E: Env>(place: &Place<E>) {
    let mut draws: Vec<u64> = (0..1_000).map(|_| place.client.random()).collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), 1_000, "random draws repeat");
    for point in Point::ALL {
        let passed = place.client.timeout(PATIENCE, place.client.point(point)).await;
        assert!(passed.is_some(), "a point that no plan asks for holds nobody up");
    }
}

fn free_port() -> u16 {
    servers::free_address().port()
}

#[test]
fn in_the_real_world() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = std::env::temp_dir().join(format!("fencepost-env-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let server = TokioEnv::with(EnvSettings { seed: 1, folder: Some(folder.clone()), ..EnvSettings::default() });
    let place = Place { server, client: TokioEnv::new(2), host: "127.0.0.1".into(), port: free_port };
    runtime.block_on(suite(place));
    std::fs::remove_dir_all(&folder).expect("what was made can be removed");
}

static NEXT_PORT: AtomicU32 = AtomicU32::new(1_000);

#[test]
fn in_the_simulated_world() {
    let steady = scenario::find("steady").expect("a scenario");
    let protocol = protocols::election::find("redis-lease").expect("a protocol");
    let params = Params { duration_ms: Some(300_000), ..Params::default() };
    let mut plan = steady.compile(&params, protocol, 1).expect("a plan");
    plan.candidates.iter_mut().for_each(|candidate| candidate.starts_at_ms = 0);
    let (name, ended) = (plan.candidates[1].name.clone(), Arc::new(AtomicU32::new(0)));
    let topology = plan.topology_of(protocol);
    let header = plan.header_of(protocol, &topology);
    let world = move || {
        let recorder = Recorder::new(Listeners::new(&header, &reports::invariant::ALL, false, None));
        World::new(plan.into(), protocol, topology.into(), Driver::Inline, recorder, None)
    };
    let ends = ended.clone();
    let start = move |node: NodeId| -> Option<sim::host::Main> {
        let (name, ends) = (name.clone(), ends.clone());
        let (client, server) = (SimEnv::new(NodeId(0)), SimEnv::new(NodeId(1)));
        let main: sim::host::Main = Box::new(move || {
            let (name, ends) = (name.clone(), ends.clone());
            Box::pin(async move {
                if node != client.node {
                    // The other process does nothing.
                    return pending().await;
                }
                client.sleep(SECOND).await;
                let port = || NEXT_PORT.fetch_add(1, Ordering::SeqCst) as u16;
                suite(Place { server, client, host: name, port }).await;
                ends.fetch_add(1, Ordering::SeqCst);
                pending().await
            })
        });
        Some(main)
    };
    if let Err(why) = host::run(1, world, Box::new(start)) {
        panic!("{why}");
    }
    assert_eq!(ended.load(Ordering::SeqCst), 1, "the suite was not over when the world ended");
}
