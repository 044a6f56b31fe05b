//! A leader that writes through a link as fast as the store permits and never gives up a request, and the record of its
//! answers.

use super::link_settings;
use protocols::{
    history::{Kind, json::Reader},
    message::{Message, WriteVerdict},
    types::{NodeId, RequestId, Resource},
    work::outbox::{Answer, Outbox},
};
use protocols_real::{directory::Directory, store::link::Link};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

/// Concurrent writes.
const WINDOW: usize = 64;
const RETRY: Duration = Duration::from_millis(50);

pub struct Leader {
    link: Link,
    answers: mpsc::UnboundedReceiver<Message>,
    client: NodeId,
    generation: u32,
    token: u64,
    outbox: Option<Outbox>,
    began: Instant,
    next: u64,
    open: BTreeSet<u64>,
    /// The sequence number of each acknowledged request.
    pub acknowledged: BTreeMap<u64, u64>,
    pub duplicates: u64,
}

impl Leader {
    pub fn new(store: SocketAddr) -> Self {
        let (sender, answers) = mpsc::unbounded_channel();
        let settings = link_settings(store, "n1");
        let directory: Arc<Directory> = settings.directory.clone();
        let link = Link::start(settings, move |message| {
            let _ = sender.send(message);
        });
        let (open, acknowledged) = (BTreeSet::new(), BTreeMap::new());
        let client = directory.number("shop");
        let (outbox, began) = (None, Instant::now());
        Leader {
            link,
            answers,
            client,
            generation: 1,
            token: 1,
            outbox,
            began,
            next: 0,
            open,
            acknowledged,
            duplicates: 0,
        }
    }

    /// Starts a new leadership: another token, and everything under way is sent again.
    pub fn elect(&mut self) {
        (self.generation, self.token, self.outbox) = (self.generation + 1, self.token + 1, None);
    }

    /// Writes until `more` further requests are acknowledged, and then for `time`.
    pub async fn work(&mut self, time: Duration, more: usize) {
        let goal = self.acknowledged.len() + more;
        self.run(|leader| leader.acknowledged.len() >= goal, true).await;
        let until = Instant::now() + time;
        self.run(|_| Instant::now() >= until, true).await;
    }

    /// Continues until nothing is under way.
    pub async fn finish(&mut self) {
        self.run(|leader| leader.open.is_empty(), false).await;
    }

    async fn run(&mut self, done: impl Fn(&Self) -> bool, more: bool) {
        let deadline = Instant::now() + super::PATIENCE;
        let mut retry = Instant::now();
        while !done(self) {
            assert!(Instant::now() < deadline, "the store does not answer any more");
            while more && self.outbox.is_some() && self.open.len() < WINDOW {
                self.next += 1;
                self.open.insert(self.next);
                self.issue(self.next);
            }
            if Instant::now() >= retry {
                retry = Instant::now() + RETRY;
                let (now, silence) = (self.began.elapsed().as_nanos() as u64, RETRY.as_nanos() as u64);
                match self.outbox.as_mut().map(|outbox| outbox.is_overdue(now, silence)) {
                    None => {
                        let (resource, generation, token) = (Resource::SEQUENCE, self.generation, self.token);
                        self.link.send(Message::Seal { resource, generation, token });
                    }
                    Some(true) => {
                        self.outbox.iter_mut().for_each(|outbox| outbox.start_over(now));
                        self.resend();
                    }
                    Some(false) => {}
                }
            }
            if let Ok(answer) = timeout(Duration::from_millis(5), self.answers.recv()).await {
                self.answer(answer.expect("the link lives"));
            }
        }
    }

    fn issue(&mut self, number: u64) {
        let outbox = self.outbox.as_mut().expect("it leads");
        self.link.send(Message::Write(outbox.issue(RequestId { client: self.client, number }, None)));
    }

    fn resend(&self) {
        for write in self.outbox.iter().flat_map(Outbox::unanswered) {
            self.link.send(Message::Write(write));
        }
    }

    fn answer(&mut self, answer: Message) {
        match answer {
            Message::Sealed { generation, token, seq, version, .. }
                if self.outbox.is_none() && generation == self.generation =>
            {
                assert_eq!(token, self.token);
                self.outbox = Some(Outbox::new(Resource::SEQUENCE, generation, token, seq, version));
                for number in self.open.clone() {
                    self.issue(number);
                }
            }
            Message::Written { generation, seq, request, verdict, .. } => {
                let Some(outbox) = &mut self.outbox else { return };
                match outbox.written(generation, seq, verdict) {
                    Answer::Done { seq } => {
                        self.duplicates += u64::from(matches!(verdict, WriteVerdict::Duplicate { .. }));
                        self.open.remove(&request.number);
                        let before = self.acknowledged.insert(request.number, seq);
                        assert!(before.is_none_or(|b| b == seq), "request {} has two numbers", request.number);
                    }
                    Answer::Resend => self.resend(),
                    Answer::Fenced => assert_ne!(generation, self.generation, "the only leader is fenced"),
                    Answer::Nothing => {}
                }
            }
            _ => {}
        }
    }

    /// Compares the acknowledged requests with the audit: (applied, lost, doubled).
    pub fn account(&self, audit: &[u8]) -> (usize, usize, usize) {
        let (mut applied, mut doubled, mut last, mut version_before) = (BTreeMap::new(), 0, 0, 0);
        for event in Reader::new(audit).unwrap() {
            let Kind::Apply { write, verdict, version, .. } = event.unwrap().kind else { continue };
            if verdict == WriteVerdict::Ok {
                doubled += usize::from(applied.insert(write.number, write.seq).is_some());
                assert!(write.seq > last, "seq {} after {last}", write.seq);
                assert_eq!(write.read_version, version - 1, "seq {} was built on an older version", write.seq);
                last = write.seq;
            }
            assert!(version == version_before || version == version_before + 1, "versions are contiguous");
            version_before = version;
        }
        let lost = self.acknowledged.iter().filter(|(number, seq)| applied.get(number) != Some(seq)).count();
        (applied.len(), lost, doubled)
    }
}
