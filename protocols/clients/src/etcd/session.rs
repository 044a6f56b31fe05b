//! Books of what is under way: order of requests, cancellation, open streams.

use super::calls;
use crate::env::Env;
use etcd_client::Client;
use protocols::{
    elector::{RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Payload,
    point::Point,
    service::etcd::{Item, Reply, Request, StreamRequest},
};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

/// What a task of this session has to tell. It passes through the session, so that nothing comes from what was
/// cancelled or closed.
#[derive(Debug)]
pub(super) enum Event {
    Done(RequestNumber, Result<Reply, Failure>),
    Item(StreamNumber, Item),
    Ended(StreamNumber, Failure),
}

struct Waiting {
    number: RequestNumber,
    request: Request,
    timeout: u64,
}

struct OpenStream<E: Env> {
    push: Sender<()>,
    _task: E::Task,
}

/// One elector's requests and streams.
pub(super) struct Session<E: Env, D> {
    env: E,
    client: Client,
    deliver: D,
    events: UnboundedSender<Event>,
    incoming: UnboundedReceiver<Event>,
    running: BTreeMap<RequestNumber, E::Task>,
    /// The one of `running` that the requests in `waiting` wait for.
    first: Option<RequestNumber>,
    waiting: VecDeque<Waiting>,
    streams: BTreeMap<StreamNumber, OpenStream<E>>,
}

impl<E: Env, D: Fn(ServiceInput) + Clone + Send + Sync + 'static> Session<E, D> {
    pub(super) fn new(env: E, client: Client, deliver: D) -> Self {
        let (events, incoming) = unbounded_channel();
        let (running, waiting, streams) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Session { env, client, deliver, events, incoming, running, first: None, waiting, streams }
    }

    pub(super) async fn run(mut self, mut outputs: UnboundedReceiver<ServiceOutput>) {
        loop {
            tokio::select! {
                biased;
                output = outputs.recv() => match output {
                    Some(output) => self.carry_out(output),
                    None => return,
                },
                Some(event) = self.incoming.recv() => self.pass_on(event).await,
            }
        }
    }

    fn carry_out(&mut self, output: ServiceOutput) {
        match output {
            ServiceOutput::Request { number, request, timeout, concurrent } => {
                let Ok(request) = Request::restore(request) else {
                    let reply = Err(Failure::Rejected("etcd cannot carry out another service's request".into()));
                    return (self.deliver)(ServiceInput::Reply { number, reply });
                };
                let waiting = Waiting { number, request, timeout };
                if concurrent {
                    self.start(waiting);
                } else {
                    self.waiting.push_back(waiting);
                    self.start_next();
                }
            }
            ServiceOutput::Cancel(number) => {
                self.waiting.retain(|w| w.number != number);
                self.finish(number);
            }
            ServiceOutput::Open { number, request } => match StreamRequest::restore(request) {
                Ok(request) => self.open(number, request),
                Err(_) => {
                    let failure = Failure::Rejected("etcd has no such stream".into());
                    (self.deliver)(ServiceInput::Ended { number, failure });
                }
            },
            ServiceOutput::Push(number) => {
                if let Some(stream) = self.streams.get(&number) {
                    // A push that finds one still waiting says nothing new.
                    let _ = stream.push.try_send(());
                }
            }
            ServiceOutput::Close(number) => {
                self.streams.remove(&number);
            }
        }
    }

    async fn pass_on(&mut self, event: Event) {
        match event {
            Event::Done(number, reply) => {
                if self.finish(number) {
                    self.env.point(Point::Answered).await;
                    (self.deliver)(ServiceInput::Reply { number, reply: reply.map(Payload::erase) });
                }
            }
            Event::Item(number, item) => {
                if self.streams.contains_key(&number) {
                    self.env.point(Point::Answered).await;
                    (self.deliver)(ServiceInput::Item { number, item: item.erase() });
                }
            }
            Event::Ended(number, failure) => {
                if self.streams.remove(&number).is_some() {
                    (self.deliver)(ServiceInput::Ended { number, failure });
                }
            }
        }
    }

    /// Forgets a request, aborting it if it is under way; was it?
    fn finish(&mut self, number: RequestNumber) -> bool {
        let was_running = self.running.remove(&number).is_some();
        if self.first == Some(number) {
            self.first = None;
            self.start_next();
        }
        was_running
    }

    fn start_next(&mut self) {
        if self.first.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            self.first = Some(next.number);
            self.start(next);
        }
    }

    fn start(&mut self, Waiting { number, request, timeout }: Waiting) {
        let (env, client, events) = (self.env.clone(), self.client.clone(), self.events.clone());
        let task = self.env.spawn(async move {
            let reply = env.timeout(timeout, calls::request(client, request)).await;
            let reply = reply.unwrap_or_else(|| Err(Failure::Unknown("timed out".into())));
            let _ = events.send(Event::Done(number, reply));
        });
        self.running.insert(number, task);
    }

    fn open(&mut self, number: StreamNumber, request: StreamRequest) {
        let (push, pushes): (Sender<()>, Receiver<()>) = channel(1);
        let (client, events) = (self.client.clone(), self.events.clone());
        let task = self.env.spawn(async move {
            let items = events.clone();
            let failure = calls::stream(client, request, pushes, move |item| {
                let _ = items.send(Event::Item(number, item));
            })
            .await;
            let _ = events.send(Event::Ended(number, failure));
        });
        self.streams.insert(number, OpenStream { push, _task: task });
    }
}
