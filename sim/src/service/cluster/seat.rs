//! The process of a member: it opens what is on its disk, serves clients, and takes part in the agreement until it ends.

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

/// A task of a member's process.
pub(in crate::service) type Task = <SimEnv as Env>::Task;

/// A service whose members agree on a log.
pub(in crate::service) trait Clustered: Send + Sync + 'static {
    /// How its members elect.
    const RULES: Rules;
    /// Where members listen for each other.
    const PEER_PORT: u16;
    /// What the log is applied to.
    type Machine: Machine;
    /// What serves clients.
    type Front: Send + Sync + 'static;

    /// A member's own part, of a process that starts.
    fn open(&self, seat: Seat) -> (Arc<Self::Machine>, Arc<Self::Front>);

    /// What goes on beside the agreement and the clients.
    fn start(front: &Arc<Self::Front>) -> Vec<Task>;

    /// Serves clients, on a port that is the process's own.
    fn serve(front: Arc<Self::Front>, port: u16) -> impl Future<Output = io::Result<()>> + Send;

    /// Somebody else revokes what makes a candidate leader, or deletes it; the member leads.
    fn drop_leadership(front: &Arc<Self::Front>, candidate: &str, group: u16, what: Dropped);
}

/// Where a member's process starts.
pub(in crate::service) struct Seat {
    /// Its machine.
    pub(in crate::service) env: SimEnv,
    /// Its part in the agreement.
    pub(in crate::service) member: Arc<Member<SimEnv>>,
    /// Its place among the members.
    pub(in crate::service) place: usize,
    /// Is told whether it leads.
    pub(in crate::service) leads: Box<dyn Fn(bool) + Send + Sync>,
}

/// So many members that were never started.
pub(in crate::service) fn members<C: Clustered>(count: usize, service: impl Fn() -> C) -> Vec<State> {
    let member = |place: usize| -> State {
        Arc::new(Process { service: service(), place, leads: Arc::default(), running: Mutex::default() })
    };
    (0..count).map(member).collect()
}

/// A member; what it knows is on its disk.
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
            // Before it reads its disk, as etcd and Consul do: its peers' first messages are not lost.
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
                // What a failed sync was to save may be lost, whatever a later one says: the process ends.
                Err(_) => world::model::crash_here(env.node).await,
            }
        })
    }
}
