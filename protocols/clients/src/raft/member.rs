//! A member of a fleet that elects among itself, for one elector after another: its Raft node votes as long as the
//! member lives, and stands for election only while an elector follows it.

use super::{
    client::{Elector, Over, Process},
    server::{RaftServer, RaftSettings, StartError},
};
use crate::{env::Env, site::Endpoint};
use openraft::{ServerState, async_runtime::WatchReceiver};
use protocols::elector::{ServiceInput, ServiceOutput};
use std::collections::BTreeSet;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A fleet's members and timers; all of them need the same.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The members' names and addresses, this one's first; electors know them by this order.
    pub members: Vec<(String, Endpoint)>,
    /// Added to Raft's terms, which start again from zero with an empty disk.
    pub tokens_above: u64,
    /// The shortest and longest election timeout, nanoseconds.
    pub election_timeout: (u64, u64),
    /// The heartbeat interval, nanoseconds.
    pub heartbeat: u64,
}

type Deliver = Box<dyn Fn(ServiceInput) + Send + Sync>;

/// An elector, and where its answers go.
struct Attached {
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: Deliver,
}

/// A running member. It stops when this is dropped.
pub struct Member {
    electors: UnboundedSender<Attached>,
}

impl Member {
    /// Starts a member, whose journal is on the disk of `env`. `lock` is what keeps others from it, and is dropped once
    /// the node writes no more.
    pub fn start(env: impl Env, fleet: &Fleet, lock: impl Send + 'static) -> Member {
        let (electors, attached) = unbounded_channel();
        let process = fleet.process(env.clone());
        let scope = process.scope.clone();
        let live = async move {
            let _lock = lock;
            process.live(attached).await;
        };
        env.spawn_detached(scope.run(live));
        Member { electors }
    }

    /// Whether its task is over: it has panicked, or its runtime has ended.
    pub fn has_ended(&self) -> bool {
        self.electors.is_closed()
    }

    /// Has an elector follow the node until it closes `outputs`, after those that came before.
    pub fn attach(
        &self,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        // One that has ended answers nothing.
        let _ = self.electors.send(Attached { outputs, deliver: Box::new(deliver) });
    }
}

impl Fleet {
    /// What nodes recognize each other by: votes and tokens of another fleet must not count in this one, nor those of a
    /// node that keeps a leader in office for another time.
    fn fingerprint(&self) -> u64 {
        let names: BTreeSet<&str> = self.members.iter().map(|(name, _)| name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        id(&format!("{} {} {:?}", names.join(" "), self.tokens_above, self.election_timeout))
    }

    fn process<E: Env>(&self, env: E) -> Process<E> {
        let ids: Vec<u64> = self.members.iter().map(|(name, _)| id(name)).collect();
        let settings = RaftSettings {
            id: ids.first().copied().unwrap_or_default(),
            founders: ids.iter().copied().collect(),
            port: self.members.first().map_or(0, |(_, own)| own.port),
            election_timeout: self.election_timeout,
            heartbeat: self.heartbeat,
            fleet: Some(self.fingerprint()),
        };
        let addresses = self.members.iter().map(|(_, address)| address.clone());
        let peers = ids.iter().copied().zip(addresses).collect();
        Process::new(env, settings, peers, ids, self.tokens_above)
    }
}

/// FNV-1a. An id must not change when others come or go, since votes on disk are for ids.
pub fn id(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl<E: Env> Process<E> {
    async fn live(&self, mut attached: UnboundedReceiver<Attached>) {
        let mut elector = None;
        loop {
            // A node that fails at once, as on a full disk, fails again.
            let again = self.env.now().mono.saturating_add(self.settings.lease());
            let mut server = match self.start().await {
                Ok(server) => server,
                Err(why) => {
                    if self.cannot_start(&why, &mut elector, &mut attached).await.is_none() {
                        return;
                    }
                    continue;
                }
            };
            let lives = self.follow(&mut server, &mut elector, &mut attached).await;
            server.stop().await;
            if lives.is_none() {
                return;
            }
            self.env.sleep_until(again).await;
        }
    }

    /// Waits until the node may be started again; `None` once the member is dropped.
    async fn cannot_start(
        &self,
        why: &StartError,
        elector: &mut Option<Elector<E, Deliver>>,
        attached: &mut UnboundedReceiver<Attached>,
    ) -> Option<()> {
        elector.take_if(|elector| elector.is_gone());
        match elector {
            Some(elector) => elector.fail(&why.0),
            None => tracing::warn!("a member of a fleet does not vote: {why}"),
        }
        let wait = self.env.sleep(self.settings.lease());
        if elector.is_some() {
            wait.await;
            return Some(());
        }
        tokio::select! {
            biased;
            new = attached.recv() => *elector = Some(self.elector(new?)),
            () = wait => {}
        }
        Some(())
    }

    fn elector(&self, Attached { outputs, deliver }: Attached) -> Elector<E, Deliver> {
        Elector::new(self.env.clone(), outputs, deliver)
    }

    /// Serves one elector after another, until the node has to be started again; `None` once the member is dropped.
    async fn follow(
        &self,
        server: &mut RaftServer<E>,
        elector: &mut Option<Elector<E, Deliver>>,
        attached: &mut UnboundedReceiver<Attached>,
    ) -> Option<()> {
        loop {
            let Some(current) = elector else {
                match self.idle(server, attached).await? {
                    Some(new) => *elector = Some(self.elector(new)),
                    None => return Some(()),
                }
                continue;
            };
            server.stand(true).await;
            let over = self.serve(server, current).await;
            server.stand(false).await;
            match over {
                Over::Restart => return Some(()),
                Over::Closed => *elector = None,
            }
            // What the next elector believes in is a term of its own. This one's was not handed over: what it led may be
            // running still, and followers keep it in office for a lease after the last heartbeat.
            if leads(server) {
                return Some(());
            }
        }
    }

    /// Waits for an elector. `Some(None)` if the node has failed, or leads: others can.
    async fn idle(
        &self,
        server: &RaftServer<E>,
        attached: &mut UnboundedReceiver<Attached>,
    ) -> Option<Option<Attached>> {
        let mut metrics = server.metrics();
        loop {
            if leads(server) || metrics.borrow_watched().running_state.is_err() {
                return Some(None);
            }
            tokio::select! {
                biased;
                new = attached.recv() => return new.map(Some),
                changed = metrics.changed() => if changed.is_err() {
                    return Some(None);
                },
            }
        }
    }
}

fn leads<E: Env>(server: &RaftServer<E>) -> bool {
    server.metrics().borrow_watched().state == ServerState::Leader
}
