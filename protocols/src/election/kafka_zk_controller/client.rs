//! Kafka's ZooKeeper client: one request at a time, resent until it is answered, and a new session whenever one
//! expires.

use crate::{
    elector::{self, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    payload::Nothing,
    service::zookeeper::{Api, Change, Item, Reply, Request, StreamRequest},
    types::MILLISECOND,
};

type Output = elector::Output<Nothing, Api>;

/// An event for the controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// A new session has its first connection.
    Initialized,
    /// The session has expired; another one is being opened.
    Expired,
    /// A watch has fired.
    Watched(String, Change),
    /// The request is answered.
    Answered(Reply),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Client {
    timeout_ms: u32,
    requests: RequestNumber,
    streams: StreamNumber,
    /// Whether the session has had a connection.
    initialized: bool,
    /// The current request, with its number while it is under way.
    question: Option<(Option<RequestNumber>, Request)>,
}

impl Client {
    pub(super) fn new(timeout: u64) -> Self {
        let timeout_ms = u32::try_from(timeout.div_ceil(MILLISECOND)).unwrap_or(u32::MAX);
        Client { timeout_ms, requests: 0, streams: 0, initialized: false, question: None }
    }

    pub(super) fn open(&mut self, out: &mut Vec<Output>) {
        (self.initialized, self.question) = (false, None);
        if self.streams > 0 {
            out.push(Output::Service(ServiceOutput::Close(self.streams)));
        }
        self.streams += 1;
        let request = StreamRequest { timeout_ms: self.timeout_ms };
        out.push(Output::Service(ServiceOutput::Open { number: self.streams, request }));
    }

    /// Whether a request is open.
    pub(super) fn is_busy(&self) -> bool {
        self.question.is_some()
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, request: Request, out: &mut Vec<Output>) {
        self.question = Some((None, request));
        self.send(out);
    }

    fn send(&mut self, out: &mut Vec<Output>) {
        let Some((number, request)) = &mut self.question else { return };
        self.requests += 1;
        *number = Some(self.requests);
        let (number, request) = (self.requests, request.clone());
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout: u64::MAX, concurrent: true }));
    }

    /// Handles the service's input; returns the resulting event.
    pub(super) fn input(&mut self, input: ServiceInput<Api>, out: &mut Vec<Output>) -> Option<Event> {
        match input {
            ServiceInput::Reply { number, reply } => {
                let (under_way, _) = self.question.as_mut().filter(|(known, _)| *known == Some(number))?;
                *under_way = None;
                // A request lost with its connection is sent again on the next one.
                let reply = reply.ok()?;
                self.question = None;
                Some(Event::Answered(reply))
            }
            ServiceInput::Item { number, item } if number == self.streams => match item {
                Item::Connected { .. } => {
                    if self.question.as_ref().is_some_and(|(number, _)| number.is_none()) {
                        crate::mark!("kafka: what was lost with the connection is asked again");
                        self.send(out);
                    }
                    (!std::mem::replace(&mut self.initialized, true)).then_some(Event::Initialized)
                }
                // The controller is not told.
                Item::Disconnected => None,
                Item::Expired => {
                    self.open(out);
                    Some(Event::Expired)
                }
                Item::Watched { path, change } => Some(Event::Watched(path, change)),
            },
            ServiceInput::Item { .. } | ServiceInput::Ended { .. } => None,
        }
    }
}
