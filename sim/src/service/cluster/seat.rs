//! A member's process: it restores its state from disk, serves clients, and takes part in consensus until it ends.

use super::{
    Rules,
    member::{Machine, Member, Place},
};
use crate::{
    service::{Dropped, Model, Serving, State, grants::Holder},
    world::{self, env::SimEnv},
};
use protocols_clients::{env::Env, site::Endpoint};
use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

pub(in crate::service) type Task = <SimEnv as Env>::Task;

/// A service whose members agree on a log.
pub(in crate::service) trait Clustered: Send + Sync + 'static {
    /// The members' election rules.
    const RULES: Rules;
    /// The port for other members.
    const PEER_PORT: u16;
    /// The state machine that the log is applied to.
    type Machine: Machine;
    /// The part that serves clients.
    type Front: Send + Sync + 'static;

    /// Creates the state machine and front of a starting process.
    fn open(&self, seat: Seat) -> (Arc<Self::Machine>, Arc<Self::Front>);

    /// Starts tasks that need neither consensus nor clients.
    fn start(front: &Arc<Self::Front>) -> Vec<Task>;

    /// Serves clients on `port` of the process.
    fn serve(front: Arc<Self::Front>, port: u16) -> impl Future<Output = io::Result<()>> + Send;

    /// Revokes or deletes, from outside, what makes a candidate leader; this member leads.
    fn drop_leadership(front: &Arc<Self::Front>, candidate: &str, group: u16, what: Dropped);
}

/// What a starting member's process gets.
pub(in crate::service) struct Seat {
    pub(in crate::service) env: SimEnv,
    pub(in crate::service) member: Arc<Member<SimEnv>>,
    /// Its index among the members.
    pub(in crate::service) place: usize,
    /// Called with whether it leads.
    pub(in crate::service) leads: Box<dyn Fn(bool) + Send + Sync>,
}

/// `count` members that were never started.
pub(in crate::service) fn members<C: Clustered>(count: usize, service: impl Fn() -> C) -> Vec<State> {
    let member = |place: usize| -> State {
        Arc::new(Process { service: service(), place, leads: Arc::default(), running: Mutex::default() })
    };
    (0..count).map(member).collect()
}

/// A member; its state is on its disk.
struct Process<C: Clustered> {
    service: C,
    place: usize,
    leads: Arc<AtomicBool>,
    running: Mutex<Weak<C::Front>>,
}

impl<C: Clustered> Process<C> {
    fn running(&self) -> std::sync::MutexGuard<'_, Weak<C::Front>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clustered> Model for Process<C> {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let running = self.running().upgrade();
        if let Some(front) = running.filter(|_| self.leads()) {
            C::drop_leadership(&front, candidate, group, what);
        }
        None
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move {
            self.leads.store(false, Ordering::Relaxed);
            let (names, founder) = world::with(|world| world.members_like(env.node));
            let endpoint = |host| Endpoint { host, port: C::PEER_PORT };
            // Listens before it reads its disk, as etcd and Consul do, so that the peers' first messages are not lost.
            let listener = env.listen(C::PEER_PORT).await?;
            let place = Place { own: self.place, peers: names.into_iter().map(endpoint).collect(), founder };
            let Ok(member) = Member::open(env, place, C::RULES).await else {
                return world::model::crash_here(env.node).await;
            };
            let told = self.leads.clone();
            let node = env.node;
            let leads = Box::new(move |leads| {
                let changed = told.swap(leads, Ordering::Relaxed) != leads;
                world::with(|world| {
                    if changed {
                        world.member_leads(node, leads);
                    }
                    world.service_leads();
                });
            });
            let (machine, front) = self.service.open(Seat { env, member: member.clone(), place: self.place, leads });
            *self.running() = Arc::downgrade(&front);
            let _tasks = C::start(&front);
            let clients = C::serve(front, port);
            let _clients = env.spawn(async move {
                // The port is the process's own.
                let _ = clients.await;
            });
            match member.run(listener, machine).await {
                Ok(()) => Ok(()),
                // Data of a failed sync may be lost even if a later sync succeeds, so the process ends.
                Err(_) => world::model::crash_here(env.node).await,
            }
        })
    }
}
