//! The server's state as its processes share it.

use super::{
    model::{Model, Pid},
    settings::Settings,
};
use crate::service::grants;
use protocols::{clock::Now, history::GrantEnd};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The server's state, and who waits for a word of it.
#[derive(Default)]
pub struct Server {
    model: Mutex<Model>,
    signals: Mutex<BTreeMap<Pid, Arc<Notify>>>,
}

impl Server {
    /// Serves that model.
    pub fn new(model: Model) -> Server {
        Server { model: Mutex::new(model), signals: Mutex::default() }
    }

    /// The model, for looking.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the model at this time for a session, tells who leads after it, and wakes who has got what it waited
    /// for.
    pub fn apply<T>(&self, now: Now, pid: Option<Pid>, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = self.model();
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
                // A session that is gone, with what it had.
                (Some(_), None) => GrantEnd::Lost,
                (Some(before), Some(by)) if before.name != *by => GrantEnd::Taken,
                _ => GrantEnd::Released,
            };
            grants::tell_of(group, after, why);
        }
        let woken = model.take_woken();
        drop(model);
        self.wake(&woken);
        answer
    }

    /// The same from outside a session: an operator's hand.
    pub fn wake(&self, woken: &[Pid]) {
        let signals = self.signals();
        woken.iter().filter_map(|pid| signals.get(pid)).for_each(|signal| signal.notify_one());
    }

    pub(super) fn signals(&self) -> MutexGuard<'_, BTreeMap<Pid, Arc<Notify>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process starts: sessions of the one before are gone.
    pub(super) fn restart(&self, now: Now) {
        self.apply(now, None, Model::restart);
        self.signals().clear();
    }

    /// Opens a session.
    pub(super) fn open(&self, now: Now, settings: Settings) -> (Pid, Arc<Notify>) {
        let pid = self.apply(now, None, |model| model.open(settings));
        let signal = Arc::new(Notify::new());
        self.signals().insert(pid, signal.clone());
        (pid, signal)
    }

    /// Closes it.
    pub(super) fn close(&self, now: Now, pid: Pid) {
        self.signals().remove(&pid);
        self.apply(now, Some(pid), |model| model.close(pid));
    }
}
