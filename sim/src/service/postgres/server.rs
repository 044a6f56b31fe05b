//! The server's state, as shared by its processes.

use super::{
    model::{Effect, Model, Pid},
    settings::Settings,
};
use crate::service::grants;
use protocols::{clock::Now, history::GrantEnd, types::NodeId};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Whose session it is: the process, and its connection.
pub type Client = (NodeId, u32);

/// Is told who changed a row of the audited table, and how.
pub type Witness = Box<dyn Fn(Client, Effect) + Send + Sync>;

/// The server's state, and the sessions to wake.
#[derive(Default)]
pub struct Server {
    model: Mutex<Model>,
    signals: Mutex<BTreeMap<Pid, Arc<Notify>>>,
    witness: Option<Witness>,
    clients: Mutex<BTreeMap<Pid, Client>>,
}

impl Server {
    pub fn new(model: Model) -> Server {
        Server { model: Mutex::new(model), ..Server::default() }
    }

    /// With an audited table; see [`Model::audited`].
    pub fn witnessed(model: Model, witness: Witness) -> Server {
        Server { witness: Some(witness), ..Server::new(model) }
    }

    /// Read access to the model.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the model on behalf of a session, reports who then leads, and wakes sessions that got their locks.
    pub fn apply<T>(&self, now: Now, pid: Option<Pid>, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = self.model();
        if let Some(key) = grants::leader_key() {
            // What a restart has lost is not released by whoever asks next.
            grants::tell(model.holder_of(&key), GrantEnd::Lost);
            pid.inspect(|pid| grants::contends(&pid.to_string()));
            let answer = action(&mut model);
            grants::tell(model.holder_of(&key), if pid.is_some() { GrantEnd::Released } else { GrantEnd::Lost });
            self.pass_on(model);
            return answer;
        }
        let groups = grants::groups();
        let by = pid.map(|pid| model.settings(pid).application_name().to_owned());
        let holders = |model: &Model| (0..groups).map(|group| model.holder(group, now.wall)).collect::<Vec<_>>();
        let before = holders(&model);
        let answer = action(&mut model);
        model.note_grants(groups);
        for (group, (before, after)) in (0..).zip(before.into_iter().zip(holders(&model))) {
            if before == after {
                continue;
            }
            let why = match (before, &by) {
                // The holder's session is gone.
                (Some(_), None) => GrantEnd::Lost,
                (Some(before), Some(by)) if before.name != *by => GrantEnd::Taken,
                _ => GrantEnd::Released,
            };
            grants::tell_of(group, after, why);
        }
        self.pass_on(model);
        answer
    }

    /// Wakes sessions that got their locks, and tells of effects.
    fn pass_on(&self, mut model: MutexGuard<'_, Model>) {
        let (woken, effects) = (model.take_woken(), model.take_effects());
        drop(model);
        self.tell(&effects);
        self.wake(&woken);
    }

    fn tell(&self, effects: &[Effect]) {
        let Some(witness) = self.witness.as_ref().filter(|_| !effects.is_empty()) else { return };
        let clients = self.clients().clone();
        for effect in effects {
            if let Some(client) = clients.get(&effect.by) {
                witness(*client, *effect);
            }
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<Pid, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whose session this is.
    pub(super) fn belongs_to(&self, pid: Pid, client: Client) {
        self.clients().insert(pid, client);
    }

    /// Wakes sessions after a change from outside any session, such as an operator's.
    pub fn wake(&self, woken: &[Pid]) {
        let signals = self.signals();
        woken.iter().filter_map(|pid| signals.get(pid)).for_each(|signal| signal.notify_one());
    }

    pub(super) fn signals(&self) -> MutexGuard<'_, BTreeMap<Pid, Arc<Notify>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process starts: former sessions are gone.
    pub(super) fn restart(&self, now: Now) {
        self.apply(now, None, Model::restart);
        self.signals().clear();
        self.clients().clear();
    }

    pub(super) fn open(&self, now: Now, settings: Settings) -> (Pid, Arc<Notify>) {
        let pid = self.apply(now, None, |model| model.open(settings));
        let signal = Arc::new(Notify::new());
        self.signals().insert(pid, signal.clone());
        (pid, signal)
    }

    pub(super) fn close(&self, now: Now, pid: Pid) {
        self.signals().remove(&pid);
        self.apply(now, Some(pid), |model| model.close(pid));
        self.clients().remove(&pid);
    }
}
