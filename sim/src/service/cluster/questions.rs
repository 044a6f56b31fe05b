//! Questions between members, separate from consensus.

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

/// Pending questions by member and number.
#[derive(Default)]
pub struct Asked(Mutex<(u64, Waiting)>);

impl Asked {
    /// Asks a member through `send`, which returns whether it could send; `None` if the connection ends before the
    /// answer.
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

    /// Handles a frame from a member.
    pub fn hear(&self, from: usize, frame: Frame) {
        if let Frame::Answer(number, answer) = frame
            && let Some(waits) = lock(&self.0).1.remove(&(from, number))
        {
            // The waiter may have timed out.
            let _ = waits.send(answer);
        }
    }

    /// The connection to a member has ended: its pending questions stay unanswered.
    pub fn end(&self, of: usize) {
        lock(&self.0).1.retain(|(to, _), _| *to != of);
    }
}

/// Separate connections for questions. They are not closed for their silence but last until the other end closes them,
/// so that a stopped process answers when it resumes.
pub struct Questions<E: Env> {
    env: E,
    own: usize,
    /// The timeout of dialling, in nanoseconds.
    dial: u64,
    peers: Vec<Endpoint>,
    lines: Mutex<Vec<Option<Line<E>>>>,
    asked: Arc<Asked>,
}

struct Line<E: Env> {
    out: UnboundedSender<Vec<u8>>,
    /// Carries questions and answers.
    _carries: E::Task,
}

impl<E: Env> Questions<E> {
    /// The connections of member `own`; each is dialled at the first question.
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
        // Another task may have dialled meanwhile.
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

    /// Asks a member a question; `None` if it cannot be reached, or the connection ends before the answer.
    pub async fn ask(&self, to: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        let line = self.line(to).await?;
        self.asked.ask(to, |number| line.send(Frame::Ask(number, body).encode()).is_ok()).await
    }
}
