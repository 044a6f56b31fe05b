//! The host: madsim as executor, behind this file and `host/task.rs`. It runs the tasks of simulated processes, kills, pauses and restarts
//! them, and intercepts libc's clock and entropy; the world owns time, the network and everything that is judged.
//!
//! What bit-for-bit replay takes here: a fresh OS thread per run with the madsim runtime made first on it (`HashMap` keys
//! and other thread-locals leak otherwise), and around it a tokio runtime with a fixed seed, unconstrained (tokio's
//! `select!` and `watch` draw from a process-wide counter otherwise), without time, so that a real timer panics.

pub mod task;

use crate::world::{self, Finished, World, action::HostAction};
use madsim::{
    runtime::{Handle, Runtime},
    task::NodeId as HostNode,
    time::{Sleep, TimeHandle},
};
use protocols::types::NodeId;
use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

/// What a process's first task runs.
pub type Main = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Starts a process: gives back its first task, if it has any.
pub type Start = Box<dyn Fn(NodeId) -> Option<Main> + Send>;

/// Runs the world that `make_world` makes, in a thread of its own, to its end. `start` says what its processes are.
///
/// # Errors
/// Code under test or the harness panicked: the panic's message.
pub fn run(
    seed: u64,
    make_world: impl FnOnce() -> World + Send + 'static,
    start: Start,
) -> Result<Box<Finished>, String> {
    let body = move || {
        let simulated = Runtime::with_seed_and_config(seed, madsim::Config::default());
        let seed = tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes());
        let around = tokio::runtime::Builder::new_current_thread().rng_seed(seed).build();
        let around = around.map_err(|e| format!("cannot start the host runtime: {e}"))?;
        around.block_on(tokio::task::unconstrained(async {
            simulated.block_on(async move {
                world::install(make_world());
                Pump::new(start).await;
            });
        }));
        let finished = world::uninstall().finish();
        // Tasks that are dropped with the runtime may look for tokio's context.
        let _context = around.enter();
        drop(simulated);
        Ok(Box::new(finished))
    };
    let thread = std::thread::Builder::new().name("world".to_owned()).stack_size(8 << 20).spawn(body);
    let thread = thread.map_err(|e| format!("cannot start a thread: {e}"))?;
    thread.join().unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("no message")))
    })
}

/// How far ahead the timer lies that tells that no task is ready, nanoseconds.
const IDLE_PROBE: u64 = 2_000;
/// Finished tasks are forgotten every so many polls.
const PRUNE_INTERVAL: u64 = 1 << 14;

/// The main future: lets the world run while no task is ready.
struct Pump {
    handle: Handle,
    time: TimeHandle,
    start: Start,
    nodes: BTreeMap<NodeId, HostNode>,
    probe: Arc<IdleProbe>,
    probe_waker: Waker,
    sleep: Pin<Box<Sleep>>,
    polls: u64,
    /// The run is over, and every process was killed.
    ended: bool,
}

/// Tells whether its timer fired because nothing else was ready: madsim, when idle, fires a timer *before* it moves the
/// clock to it, and otherwise (the clock creeps with every poll) after.
struct IdleProbe {
    time: TimeHandle,
    at: AtomicU64,
    idle: AtomicBool,
    pump: OnceLock<Waker>,
}

impl Wake for IdleProbe {
    fn wake(self: Arc<Self>) {
        if (self.time.elapsed().as_nanos() as u64) < self.at.load(Ordering::Relaxed) {
            self.idle.store(true, Ordering::Relaxed);
        }
        if let Some(waker) = self.pump.get() {
            waker.wake_by_ref();
        }
    }
}

impl Pump {
    fn new(start: Start) -> Self {
        let time = TimeHandle::current();
        let (at, idle, pump) = (AtomicU64::new(0), AtomicBool::new(true), OnceLock::new());
        let probe = Arc::new(IdleProbe { time: time.clone(), at, idle, pump });
        let probe_waker = Waker::from(probe.clone());
        let sleep = Box::pin(madsim::time::sleep(Duration::from_secs(1)));
        let (handle, nodes) = (Handle::current(), BTreeMap::new());
        Pump { handle, time, start, nodes, probe, probe_waker, sleep, polls: 0, ended: false }
    }

    fn perform(&mut self, action: HostAction) {
        match action {
            HostAction::Start(node) => self.start(node),
            HostAction::Kill(node) => self.nodes.get(&node).into_iter().for_each(|n| self.handle.kill(*n)),
            HostAction::Pause(node) => self.nodes.get(&node).into_iter().for_each(|n| self.handle.pause(*n)),
            HostAction::Resume(node) => self.nodes.get(&node).into_iter().for_each(|n| self.handle.resume(*n)),
        }
    }

    fn start(&mut self, node: NodeId) {
        let Some(main) = (self.start)(node) else { return };
        if let Some(host) = self.nodes.get(&node) {
            self.handle.restart(*host);
        } else {
            let name = world::with(|w| w.process(node).name.clone());
            let init = move || main();
            let host = self.handle.create_node().name(name).init(init).build();
            self.nodes.insert(node, host.id());
        }
    }

    /// Has a timer tell when no task is ready any more.
    fn arm_probe(&mut self, context: &Context<'_>) {
        let now = self.time.elapsed().as_nanos() as u64;
        let at = now + IDLE_PROBE;
        self.probe.at.store(at, Ordering::Relaxed);
        self.probe.pump.get_or_init(|| context.waker().clone());
        self.sleep.as_mut().reset(self.time.now_instant() + Duration::from_nanos(IDLE_PROBE));
        let _ = self.sleep.as_mut().poll(&mut Context::from_waker(&self.probe_waker));
    }

    /// Moves madsim's clock to the world's, for code that reads libc's.
    fn follow_world(&self) {
        let (world, host) = (world::with(|w| w.now()), self.time.elapsed().as_nanos() as u64);
        if world > host {
            self.time.advance(Duration::from_nanos(world - host));
        }
    }
}

impl Future for Pump {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.polls += 1;
        if this.polls.is_multiple_of(PRUNE_INTERVAL) {
            // Counting prunes; without it every finished task leaks.
            this.handle.metrics().num_tasks();
        }
        if this.probe.idle.swap(false, Ordering::Relaxed) {
            world::with(|w| w.take_woke());
        }
        loop {
            if world::with(|w| w.is_done()) {
                if std::mem::replace(&mut this.ended, true) {
                    return Poll::Ready(());
                }
                // Tasks that wait for each other would never be dropped with the runtime; those of a killed process are,
                // when the executor next comes around.
                this.nodes.values().for_each(|node| this.handle.kill(*node));
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if world::with(|w| w.has_woken()) {
                this.follow_world();
                this.arm_probe(context);
                return Poll::Pending;
            }
            world::with(|w| w.run());
            while let Some(action) = world::with(|w| w.next_action()) {
                world::with(|w| w.note_woken());
                this.perform(action);
            }
        }
    }
}
