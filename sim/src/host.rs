//! The host: a clock and entropy around a run, and the executor of its tasks. madsim, which only `ambient.rs` names,
//! intercepts libc's clock and entropy; the world owns time, the network and everything that is judged.
//!
//! Bit-for-bit replay requires a fresh OS thread per run on which `Ambient` is created first (otherwise `HashMap` keys
//! and other thread-locals leak). Around it runs a tokio runtime with a fixed seed; it is unconstrained (otherwise
//! tokio's `select!` and `watch` draw from a process-wide counter) and has no time, so that a real timer panics.

mod ambient;
pub mod task;

use crate::{
    error::Failed,
    interrupt,
    world::{self, Finished, World, drivers::HostAction},
};
use ambient::{Ambient, Clock};
use protocols::types::NodeId;
use scenarios::streams;
use std::{
    future::Future,
    pin::Pin,
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};
use task::Executor;

/// The first task of a process.
pub type Main = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Starts a process and returns its first task, if any.
pub type Start = Box<dyn Fn(NodeId) -> Option<Main> + Send>;

/// The stream that draws which ready task runs first.
const TASKS: &str = "tasks";

/// How often a running thread is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the world from `make_world` to its end in a separate thread. `start` starts its processes.
///
/// # Errors
/// The panic message, if code under test or the harness panicked. Or the program was asked to end and the run did not:
/// its thread is abandoned.
pub fn run(
    seed: u64,
    make_world: impl FnOnce() -> World + Send + 'static,
    start: Start,
) -> Result<Box<Finished>, Failed> {
    let body = move || {
        let simulated = Ambient::new(seed);
        let executor = Executor::new(streams::stream(seed, TASKS));
        let mut around = tokio::runtime::Builder::new_current_thread();
        #[cfg(madsim)]
        around.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
        let around = around.build().map_err(|e| Failed::Harness(format!("cannot start the host runtime: {e}")))?;
        around.block_on(tokio::task::unconstrained(async {
            simulated.run(move |clock| {
                world::install(make_world());
                Pump { executor, clock, start }.run();
            });
        }));
        let finished = world::uninstall().finish();
        // Tasks dropped with the runtime may look up tokio's context.
        let _context = around.enter();
        drop(simulated);
        Ok(Box::new(finished))
    };
    let (over, ended) = mpsc::channel::<()>();
    let body = move || {
        let _over = over;
        body()
    };
    let thread = std::thread::Builder::new().name("world".to_owned()).stack_size(8 << 20).spawn(body);
    let thread = thread.map_err(|e| Failed::Harness(format!("cannot start a thread: {e}")))?;
    // Nothing is ever sent: the thread's end closes the channel.
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if interrupt::is_overdue() {
            return Err(Failed::GivenUp);
        }
    }
    thread.join().unwrap_or_else(|payload| Err(Failed::of_panic(payload)))
}

/// Runs the world and its tasks alternately.
struct Pump {
    executor: Executor,
    clock: Clock,
    start: Start,
}

impl Pump {
    /// Runs the world to its end.
    fn run(mut self) {
        while !world::with(|w| w.is_done()) {
            world::with(|w| w.run());
            while let Some(action) = world::with(|w| w.next_action()) {
                self.perform(action);
            }
            if !self.executor.is_idle() {
                self.follow_world();
                self.executor.run();
            }
            world::with(|w| w.forget_woken());
        }
        self.executor.kill_all();
    }

    fn perform(&mut self, action: HostAction) {
        match action {
            HostAction::Start(node) => {
                if let Some(main) = (self.start)(node) {
                    self.executor.start(node, main());
                }
            }
            HostAction::Kill(node) => self.executor.kill(node),
            HostAction::Pause(node) => self.executor.pause(node),
            HostAction::Resume(node) => self.executor.resume(node),
            HostAction::Branch(seed) => self.executor.draw_from(streams::stream(seed, TASKS)),
        }
    }

    /// Sets the clock that code reads from libc to the world's.
    fn follow_world(&mut self) {
        let now = world::with(|w| w.now());
        self.executor.follow(now);
        self.clock.set(now);
    }
}
