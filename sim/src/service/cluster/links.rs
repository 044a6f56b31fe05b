//! Connections between members: each member dials every other one, and sends its messages there. A connection that is
//! silent too long is closed and dialled again, and what was in flight is lost (etcd: `rafthttp/stream.go`,
//! `ConnReadTimeout`, with keepalives every third of it; `streamReader.run` dials again after 100 ms).

use super::{
    Rules,
    frames::{Frame, carry},
    questions::{Asked, Questions},
};
use protocols::types::{MILLISECOND, SECOND};
use protocols_clients::{env::Env, site::Endpoint};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// The timeout of dialling, and the pause between attempts, in nanoseconds.
const DIAL: (u64, u64) = (SECOND, 100 * MILLISECOND);

pub struct Links<E: Env> {
    env: E,
    own: usize,
    silence: u64,
    peers: Vec<Endpoint>,
    out: Mutex<Vec<Option<UnboundedSender<Vec<u8>>>>>,
    asked: Asked,
    /// The connections for questions, if separate.
    questions: Option<Questions<E>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: Env> Links<E> {
    /// The connections of member `own`; dials nothing yet.
    pub fn new(env: E, own: usize, rules: Rules, peers: Vec<Endpoint>) -> Arc<Self> {
        let out = peers.iter().map(|_| None).collect();
        let questions = rules.questions_apart.then(|| Questions::new(env.clone(), own, DIAL.0, peers.clone()));
        let asked = Asked::default();
        Arc::new(Links { env, own, silence: rules.silence, peers, out: Mutex::new(out), asked, questions })
    }

    /// Sends a frame if there is a connection; returns whether there is.
    pub fn send(&self, to: usize, frame: &Frame) -> bool {
        lock(&self.out)[to].as_ref().is_some_and(|out| out.send(frame.encode()).is_ok())
    }

    /// Whether there is a connection.
    pub fn reaches(&self, member: usize) -> bool {
        lock(&self.out)[member].is_some()
    }

    /// Asks a member a question; `None` if there is no connection, or it ends.
    pub async fn ask(&self, to: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        match &self.questions {
            Some(questions) => questions.ask(to, body).await,
            None => self.asked.ask(to, |number| self.send(to, &Frame::Ask(number, body))).await,
        }
    }

    /// Maintains a connection to a member until dropped; calls `lost` whenever it breaks.
    pub async fn keep(self: Arc<Self>, to: usize, lost: impl Fn()) {
        let env = self.env.clone();
        loop {
            if let Some(Ok(stream)) = env.timeout(DIAL.0, env.connect(&self.peers[to])).await {
                let (sender, mut frames) = unbounded_channel();
                let _ = sender.send(Frame::Hello(self.own).encode());
                lock(&self.out)[to] = Some(sender);
                carry(&env, Some(self.silence), stream, &mut frames, |frame| self.asked.hear(to, frame)).await;
                lock(&self.out)[to] = None;
                self.asked.end(to);
                lost();
            }
            env.sleep(DIAL.1).await;
        }
    }
}
