//! One elector's requests and streams to its service: their order, cancellation, timeouts, and how failures are
//! reported. The same for every service; the [`Backend`] carries out a single request.

use crate::env::Env;
use protocols::{
    elector::{RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Payload,
    point::Point,
    service::{Api, Service},
};
use std::{
    collections::{BTreeMap, VecDeque},
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Carries out the requests to one service.
pub trait Backend {
    type Api: Api;

    /// Carries out one request, and ends within `timeout` nanoseconds of the node's monotonic clock: see [`within`].
    /// Cancelling the request drops the future.
    ///
    /// # Errors
    /// Rejected only when the service said so; unknown when the request may have taken effect.
    fn request(
        &self,
        request: <Self::Api as Api>::Request,
        timeout: u64,
    ) -> Boxed<Result<<Self::Api as Api>::Reply, Failure>>;

    /// Runs one stream until it ends, and returns the reason. Closing the stream drops the future. `None` if there is
    /// nothing to run, because the backend's own loop delivers the items ([`Queue::tell`]).
    fn stream(&self, request: <Self::Api as Api>::StreamRequest, stream: Stream<Self::Api>) -> Option<Boxed<Failure>>;
}

/// The outcome of `attempt`, or unknown if it takes longer than `timeout` nanoseconds of the node's monotonic clock.
///
/// # Errors
/// The attempt's own, or unknown.
pub async fn within<E: Env, T: Send>(
    env: &E,
    timeout: u64,
    attempt: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    env.timeout(timeout, attempt).await.unwrap_or_else(|| Err(Failure::Unknown("timed out".into())))
}

/// An open stream, as its backend sees it.
pub struct Stream<A: Api> {
    number: StreamNumber,
    pushes: Receiver<()>,
    events: UnboundedSender<Event<A>>,
}

impl<A: Api> Stream<A> {
    /// Receives the elector's pushes, and hands items to the elector.
    pub fn split(self) -> (Receiver<()>, impl Fn(A::Item) + Send + 'static) {
        let Stream { number, pushes, events } = self;
        // Sending fails only while the whole client is being dropped.
        (pushes, move |item| drop(events.send(Event::Item(number, item))))
    }
}

/// What a request or stream under way reports. It passes through the queue, so that nothing arrives from one that was
/// cancelled or closed.
pub enum Event<A: Api> {
    /// A request has ended.
    Done(RequestNumber, Result<A::Reply, Failure>),
    /// A stream yields an item.
    Item(StreamNumber, A::Item),
    /// A stream has ended.
    Ended(StreamNumber, Failure),
}

struct Job<A: Api> {
    number: RequestNumber,
    request: A::Request,
    timeout: u64,
}

/// The request that others wait for. The queue polls it while waiting for events: most requests are of this kind, and
/// so need no task.
struct First<A: Api> {
    number: RequestNumber,
    /// `None` once it has ended and its reply is still to be settled.
    work: Option<Boxed<Result<A::Reply, Failure>>>,
}

struct OpenStream<E: Env> {
    push: Sender<()>,
    _task: Option<E::Task>,
}

/// One elector's requests and streams. `deliver` takes the answers.
pub struct Queue<E: Env, A: Api, D> {
    env: E,
    service: &'static Service,
    deliver: D,
    events: UnboundedSender<Event<A>>,
    incoming: UnboundedReceiver<Event<A>>,
    /// Requests under way that nothing waits for; dropping a task stops it.
    concurrent: BTreeMap<RequestNumber, E::Task>,
    /// The request under way that those in `waiting` wait for.
    first: Option<First<A>>,
    waiting: VecDeque<Job<A>>,
    streams: BTreeMap<StreamNumber, OpenStream<E>>,
}

impl<E: Env, A: Api, D: Fn(ServiceInput)> Queue<E, A, D> {
    /// A queue with nothing under way.
    pub fn new(env: E, service: &'static Service, deliver: D) -> Self {
        let (events, incoming) = unbounded_channel();
        let (concurrent, waiting, streams) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Queue { env, service, deliver, events, incoming, concurrent, first: None, waiting, streams }
    }

    /// Carries out everything that comes from `outputs`, until it closes.
    pub async fn run(mut self, backend: impl Backend<Api = A>, mut outputs: UnboundedReceiver<ServiceOutput>) {
        loop {
            self.start_next(&backend);
            // Outputs first: a cancelled request must not be answered in the same instant.
            tokio::select! {
                biased;
                output = outputs.recv() => match output {
                    Some(output) => self.accept(output, &backend),
                    None => return,
                },
                Some(event) = self.event() => self.settle(event).await,
            }
        }
    }

    /// The next event of anything under way, for [`Queue::settle`].
    pub async fn event(&mut self) -> Option<Event<A>> {
        poll_fn(|context| {
            if let Poll::Ready(event) = self.incoming.poll_recv(context) {
                return Poll::Ready(event);
            }
            let Some(First { number, work: place @ Some(_) }) = &mut self.first else { return Poll::Pending };
            let Some(Poll::Ready(reply)) = place.as_mut().map(|work| work.as_mut().poll(context)) else {
                return Poll::Pending;
            };
            *place = None;
            Poll::Ready(Some(Event::Done(*number, reply)))
        })
        .await
    }

    /// Takes an elector's output. [`Queue::start_next`] starts a request that has to wait for others.
    pub fn accept(&mut self, output: ServiceOutput, backend: &impl Backend<Api = A>) {
        match output {
            ServiceOutput::Request { number, request, timeout, concurrent } => match A::Request::restore(request) {
                Ok(request) if concurrent => {
                    let (work, events) = (backend.request(request, timeout), self.events.clone());
                    let task = self.env.spawn(async move {
                        let reply = work.await;
                        let _ = events.send(Event::Done(number, reply));
                    });
                    self.concurrent.insert(number, task);
                }
                Ok(request) => self.waiting.push_back(Job { number, request, timeout }),
                Err(_) => {
                    let why = format!("{} cannot carry out another service's request", self.service.name);
                    self.deliver(ServiceInput::Reply { number, reply: Err(Failure::Rejected(why)) });
                }
            },
            ServiceOutput::Cancel(number) => {
                self.waiting.retain(|job| job.number != number);
                let _ = self.finish(number);
            }
            ServiceOutput::Open { number, request } => match A::StreamRequest::restore(request) {
                Ok(request) => self.open(number, request, backend),
                Err(_) => {
                    let failure = Failure::Rejected(format!("{} has no such stream", self.service.name));
                    self.deliver(ServiceInput::Ended { number, failure });
                }
            },
            ServiceOutput::Push(number) => {
                if let Some(stream) = self.streams.get(&number) {
                    // A push that finds another one still waiting adds nothing.
                    let _ = stream.push.try_send(());
                }
            }
            ServiceOutput::Close(number) => drop(self.streams.remove(&number)),
        }
    }

    /// Passes an event on, unless its request was cancelled or its stream closed.
    pub async fn settle(&mut self, event: Event<A>) {
        match event {
            Event::Done(number, reply) => {
                if self.finish(number) {
                    self.answered().await;
                    self.deliver(ServiceInput::Reply { number, reply });
                }
            }
            Event::Item(number, item) => {
                if self.streams.contains_key(&number) {
                    self.answered().await;
                    self.deliver(ServiceInput::Item { number, item });
                }
            }
            Event::Ended(number, failure) => {
                if self.streams.remove(&number).is_some() {
                    self.deliver(ServiceInput::Ended { number, failure });
                }
            }
        }
    }

    /// Starts the next waiting request, unless one that others wait for is under way.
    pub fn start_next(&mut self, backend: &impl Backend<Api = A>) {
        if self.first.is_none()
            && let Some(Job { number, request, timeout }) = self.waiting.pop_front()
        {
            self.first = Some(First { number, work: Some(backend.request(request, timeout)) });
        }
    }

    /// Hands `item` to every open stream whose last item, according to `told`, was another one.
    pub fn tell(&self, item: &A::Item, told: &mut BTreeMap<StreamNumber, A::Item>) {
        told.retain(|number, _| self.streams.contains_key(number));
        for number in self.streams.keys() {
            if told.get(number) != Some(item) {
                told.insert(*number, item.clone());
                self.deliver(ServiceInput::Item { number: *number, item: item.clone() });
            }
        }
    }

    pub(crate) fn deliver(&self, input: ServiceInput<A>) {
        (self.deliver)(input.erase());
    }

    /// Passes the point at which something has arrived from the service's process.
    async fn answered(&mut self) {
        if self.service.is_asked {
            self.env.point(Point::Answered).await;
        }
    }

    /// Forgets a request, aborting it if it is under way; returns whether it was.
    fn finish(&mut self, number: RequestNumber) -> bool {
        self.first.take_if(|first| first.number == number).is_some() || self.concurrent.remove(&number).is_some()
    }

    fn open(&mut self, number: StreamNumber, request: A::StreamRequest, backend: &impl Backend<Api = A>) {
        let (push, pushes) = channel(1);
        let events = self.events.clone();
        let work = backend.stream(request, Stream { number, pushes, events: events.clone() });
        let task = work.map(|work| {
            self.env.spawn(async move {
                let failure = work.await;
                let _ = events.send(Event::Ended(number, failure));
            })
        });
        self.streams.insert(number, OpenStream { push, _task: task });
    }
}
