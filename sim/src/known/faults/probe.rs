//! A world without elections: every 10 ms each process sends a message to all its peers, and saves something; sends,
//! receipts and saves are logged with their times.

use super::log::{BEAT, Heard, Log, Started};
use crate::{
    error::Failed,
    host::{self, Main},
    recorder::{Listeners, Recorder},
    registry::Registry,
    world::{Driver, World, clocks::Clocks, env::SimEnv, with},
};
use protocols::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    payload::Payload,
    service::power::Manner,
    types::{MILLISECOND, NodeId},
};
use protocols_clients::{
    env::{Disk, Env, Listener},
    site::Endpoint,
};
use scenarios::Plan;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The interval between syncs.
const SAVE: u64 = 50 * MILLISECOND;
/// The interval between probes of an idle connection.
const PROBE: u64 = 200 * MILLISECOND;
/// The delay before reconnecting.
const AGAIN: u64 = 100 * MILLISECOND;
const TIMER: TimerId = 0;
/// The ports of the frame stream and of the idle connection.
const PORTS: [u16; 2] = [9_000, 9_001];
const FRAME: usize = 8;
/// A file that is synced, and one that is only appended to.
const FILES: [&str; 2] = ["synced", "loose"];

type Shared = Arc<Mutex<Log>>;

/// A message: its number on that link, and the sender's clocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Beat {
    number: usize,
    mono: u64,
    wall: u64,
    data: bool,
}

impl Payload for Beat {
    fn is_data(&self) -> bool {
        self.data
    }
}

fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the processes of `plan` as probes.
///
/// # Errors
/// The harness failed.
pub(super) fn run(plan: Plan) -> Result<Log, Failed> {
    let (plan, registry, shared) = (Arc::new(plan), Registry::default(), Shared::default());
    let protocol = registry.plans.protocol(&plan.protocol)?;
    let topology = Arc::new(registry.plans.topology(&plan, protocol)?);
    let (header, names, log) = (plan.header_of(protocol, &topology), topology.names().to_vec(), shared.clone());
    let seed = plan.seed;
    let make_world = move || {
        let recorder = Recorder::new(Listeners::new(&header, &[], false, None));
        World::new(plan, protocol, topology, Driver::Inline, recorder, None)
    };
    host::run(seed, make_world, Box::new(move |node| start(node, &names, &shared)))?;
    Ok(std::mem::take(&mut *locked(&log)))
}

fn start(node: NodeId, names: &[String], log: &Shared) -> Option<Main> {
    let base = Clocks::new(node.index(), 0, 0).mono(0);
    let find = |name: &str| names.iter().position(|other| other == name).map(|index| NodeId(index as u16));
    let own = &*names[node.index()];
    let lanes: &[(&str, bool)] = match own {
        "n1" => &[("n2", false), ("n2", true), ("n3", false), ("store", true)],
        "n2" => &[("n1", false), ("n3", false)],
        "c1" => &[("n1", true)],
        _ => &[],
    };
    let lanes = lanes.iter().filter_map(|(to, data)| Some((find(to)?, *data))).collect();
    let answered = [find("store"), find("c1")];
    let probe = Probe { node, base, lanes, saves: own == "n2", saving: None, answered, log: log.clone() };
    with(|world| world.set_core(node, Box::new(probe)));
    let (env, log) = (SimEnv::new(node), log.clone());
    let main: Option<Main> = match own {
        "n1" => Some(Box::new(move || Box::pin(first(env, log.clone())))),
        "n2" => Some(Box::new(move || Box::pin(second(env, log.clone())))),
        _ => None,
    };
    main
}

struct Probe {
    node: NodeId,
    /// The clock's value at the start of the run.
    base: u64,
    lanes: Vec<(NodeId, bool)>,
    saves: bool,
    /// When the current save began.
    saving: Option<u64>,
    /// The store and the client: who answers, and who is answered.
    answered: [Option<NodeId>; 2],
    log: Shared,
}

impl Probe {
    fn say(&self, now: Now, (to, data): (NodeId, bool), out: &mut Vec<Output>) {
        let mut log = locked(&self.log);
        let said = log.said.entry((self.node, to, data)).or_default();
        let beat = Beat { number: said.len(), mono: now.mono, wall: now.wall, data };
        said.push(now.mono - self.base);
        out.push(Output::Tell { to, message: beat.erase() });
    }

    fn beat(&mut self, now: Now, out: &mut Vec<Output>) {
        self.lanes.iter().for_each(|lane| self.say(now, *lane, out));
        if self.saves && self.saving.is_none() {
            self.saving = Some(now.mono - self.base);
            out.push(Output::Persist(vec![1]));
        }
        out.push(Output::SetTimer { id: TIMER, at: now.mono + BEAT });
    }

    fn hear(&self, now: Now, from: NodeId, beat: &Beat, out: &mut Vec<Output>) {
        let Beat { number, mono, wall, data } = *beat;
        let at = now.mono - self.base;
        let heard = Heard { from, to: self.node, data, number, at, mono, wall };
        locked(&self.log).heard.push(heard);
        let [store, client] = self.answered;
        if store == Some(self.node) || client == Some(from) {
            self.say(now, (from, true), out);
        }
    }
}

impl Core for Probe {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let at = now.mono - self.base;
        match input {
            Input::Start => out.push(Output::SetTimer { id: TIMER, at: now.mono + BEAT }),
            Input::Timer(_) => self.beat(now, out),
            Input::Peer { from, message } => match message.get::<Beat>() {
                Some(beat) => self.hear(now, from, beat, out),
                None => {
                    // The fault sends one more order, to be honest again. It counts twice, so that one order with
                    // another manner instead shows.
                    let honest = message.get::<Manner>() == Some(&Manner::Honest);
                    locked(&self.log).orders.extend((0..=u8::from(honest)).map(|_| (self.node, at)));
                }
            },
            Input::Persisted => {
                let began = self.saving.take().unwrap_or(at);
                locked(&self.log).saved.push((began, at));
            }
            Input::Disconnected { .. } => locked(&self.log).resets.push((self.node, at)),
            // Anything else did not come from a probe.
            _ => locked(&self.log).orders.push((self.node, at)),
        }
    }
}

fn true_now() -> u64 {
    with(|world| world.now())
}

async fn pass(env: SimEnv, length: u64) {
    env.sleep_until(env.now().mono + length).await;
}

/// The number of bytes that are as written: holes are zeros.
async fn whole(env: SimEnv, file: &str) -> usize {
    let content = env.disk().read(file).await.ok().flatten().unwrap_or_default();
    content.iter().filter(|byte| **byte != 0).count()
}

/// The first candidate: checks what its disk has kept, syncs, and talks to the second as client libraries do.
async fn first(env: SimEnv, log: Shared) {
    let [synced, loose] = [whole(env, FILES[0]).await, whole(env, FILES[1]).await];
    {
        let mut log = locked(&log);
        let lost = [log.kept.saturating_sub(synced), log.loose.saturating_sub(loose)];
        let started = Started { at: true_now(), lost };
        log.starts.push(started);
        (log.kept, log.loose) = (synced, loose);
    }
    let written = log.clone();
    env.spawn_detached(async move {
        loop {
            pass(env, BEAT).await;
            locked(&written).loose += 1;
            drop(env.disk().append(FILES[1], vec![1]).await);
        }
    });
    let saved = log.clone();
    env.spawn_detached(async move {
        let mut appended = synced;
        loop {
            pass(env, SAVE).await;
            drop(env.disk().append(FILES[0], vec![1]).await);
            appended += 1;
            let began = true_now();
            let done = env.disk().sync(FILES[0]).await.is_ok();
            let mut log = locked(&saved);
            log.syncs.push((began, true_now(), done));
            log.kept = if done { appended } else { log.kept };
        }
    });
    let idle = log.clone();
    env.spawn_detached(async move {
        loop {
            let to = Endpoint { host: "n2".to_owned(), port: PORTS[1] };
            if let Ok(mut stream) = env.connect_kept_alive(&to, PROBE).await {
                drop(stream.read_u8().await);
                locked(&idle).idle_ended.push(true_now());
            }
            pass(env, AGAIN).await;
        }
    });
    loop {
        stream_frames(env, &log).await;
        locked(&log).stream_ended.push(true_now());
        pass(env, AGAIN).await;
    }
}

/// One connection: sends a frame every beat, and logs those that return.
async fn stream_frames(env: SimEnv, log: &Shared) {
    let to = Endpoint { host: "n2".to_owned(), port: PORTS[0] };
    let Ok(stream) = env.connect(&to).await else { return };
    let (mut reads, mut writes) = tokio::io::split(stream);
    let (ended, heard) = (Arc::new(AtomicBool::new(false)), log.clone());
    let end = ended.clone();
    env.spawn_detached(async move {
        let mut frame = [0; FRAME];
        while reads.read_exact(&mut frame).await.is_ok() {
            locked(&heard).back.push((u64::from_le_bytes(frame), true_now()));
        }
        end.store(true, Ordering::Relaxed);
    });
    while !ended.load(Ordering::Relaxed) {
        pass(env, BEAT).await;
        if writes.write_all(&true_now().to_le_bytes()).await.is_err() {
            return;
        }
    }
}

/// The second candidate: returns frames, and holds idle connections.
async fn second(env: SimEnv, log: Shared) {
    env.spawn_detached(async move {
        let Ok(mut listener) = env.listen(PORTS[1]).await else { return };
        while let Ok(mut stream) = listener.accept().await {
            env.spawn_detached(async move { drop(stream.read_u8().await) });
        }
    });
    let Ok(mut listener) = env.listen(PORTS[0]).await else { return };
    while let Ok(mut stream) = listener.accept().await {
        let log = log.clone();
        env.spawn_detached(async move {
            let mut frame = [0; FRAME];
            while stream.read_exact(&mut frame).await.is_ok() {
                locked(&log).stream.push((u64::from_le_bytes(frame), true_now()));
                if stream.write_all(&frame).await.is_err() {
                    return;
                }
            }
        });
    }
}
