//! What one member asks another, beside the agreement.

use super::frames::{Frame, carry};
use protocols_clients::{env::Env, site::Endpoint};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Waiting = BTreeMap<(usize, u64), oneshot::Sender<Option<Vec<u8>>>>;

/// What waits for answers, by member and number.
#[derive(Default)]
pub struct Asked(Mutex<(u64, Waiting)>);

impl Asked {
    /// Asks a member by `send`, which says whether it could; nothing when the connection ends before the answer.
    pub async fn ask(&self, to: usize, send: impl FnOnce(u64) -> bool) -> Option<Vec<u8>> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut asked = lock(&self.0);
            asked.0 += 1;
            let number = asked.0;
            asked.1.insert((to, number), sender);
            number
        };
        if !send(number) {
            lock(&self.0).1.remove(&(to, number));
            return None;
        }
        answer.await.ok().flatten()
    }

    /// A member has said something.
    pub fn hear(&self, from: usize, frame: Frame) {
        if let Frame::Answer(number, answer) = frame
            && let Some(waits) = lock(&self.0).1.remove(&(from, number))
        {
            // Who does not wait any more has had its own timeout.
            let _ = waits.send(answer);
        }
    }

    /// The connection to a member is over: what was asked on it is not answered.
    pub fn end(&self, of: usize) {
        lock(&self.0).1.retain(|(to, _), _| *to != of);
    }
}

/// Connections for questions alone. Nobody gives one up for its silence: it lasts until the other end closes it, and a
/// process that was stopped answers when it goes on.
pub struct Questions<E: Env> {
    env: E,
    own: usize,
    /// How long dialling may take, nanoseconds.
    dial: u64,
    peers: Vec<Endpoint>,
    lines: Mutex<Vec<Option<Line<E>>>>,
    asked: Arc<Asked>,
}

struct Line<E: Env> {
    out: UnboundedSender<Vec<u8>>,
    /// Carries what goes and comes.
    _carries: E::Task,
}

impl<E: Env> Questions<E> {
    /// Those of member `own`; a connection is dialled when the first question goes there.
    pub fn new(env: E, own: usize, dial: u64, peers: Vec<Endpoint>) -> Self {
        let lines = peers.iter().map(|_| None).collect();
        Questions { env, own, dial, peers, lines: Mutex::new(lines), asked: Arc::default() }
    }

    fn open(&self, to: usize) -> Option<UnboundedSender<Vec<u8>>> {
        lock(&self.lines)[to].as_ref().filter(|line| !line.out.is_closed()).map(|line| line.out.clone())
    }

    async fn line(&self, to: usize) -> Option<UnboundedSender<Vec<u8>>> {
        if let Some(open) = self.open(to) {
            return Some(open);
        }
        let stream = self.env.timeout(self.dial, self.env.connect(&self.peers[to])).await?.ok()?;
        // Somebody else may have dialled meanwhile.
        if let Some(open) = self.open(to) {
            return Some(open);
        }
        let (out, mut frames) = unbounded_channel();
        let _ = out.send(Frame::Hello(self.own).encode());
        let (env, asked) = (self.env.clone(), self.asked.clone());
        let carries = self.env.spawn(async move {
            carry(&env, None, stream, &mut frames, |frame| asked.hear(to, frame)).await;
            frames.close();
            asked.end(to);
        });
        lock(&self.lines)[to] = Some(Line { out: out.clone(), _carries: carries });
        Some(out)
    }

    /// Asks a member something; nothing when there is no connection to it, or it ends before the answer.
    pub async fn ask(&self, to: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        let line = self.line(to).await?;
        self.asked.ask(to, |number| line.send(Frame::Ask(number, body).encode()).is_ok()).await
    }
}
