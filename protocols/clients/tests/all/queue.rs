//! The request queue, with a service whose answers the test controls: order, cancellation, timeouts, streams.

use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::{self, Service},
    types::{MILLISECOND, SECOND},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    queue::{Backend, Boxed, Queue, Stream, within},
};
use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex},
};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Word(&'static str);
impl Payload for Word {}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Api {}

impl service::Api for Api {
    type Request = Word;
    type Reply = Word;
    type StreamRequest = Word;
    type Item = Word;
}

const SERVICE: Service = Service { name: "words", ..Service::NONE };

/// Reports what was asked, and answers when told to.
#[derive(Clone)]
struct Fake {
    env: TokioEnv,
    asked: UnboundedSender<&'static str>,
    answers: Arc<Mutex<BTreeMap<&'static str, oneshot::Receiver<Word>>>>,
}

impl Backend for Fake {
    type Api = Api;

    fn request(&self, Word(word): Word, timeout: u64) -> Boxed<Result<Word, Failure>> {
        let (env, asked) = (self.env.clone(), self.asked.clone());
        let answer = self.answers.lock().unwrap().remove(word);
        Box::pin(async move {
            asked.send(word).unwrap();
            let attempt = async {
                match answer {
                    Some(answer) => answer.await.map_err(|_| Failure::Rejected("no".into())),
                    None => std::future::pending().await,
                }
            };
            within(&env, timeout, attempt).await
        })
    }

    /// Repeats each push, and ends after the second.
    fn stream(&self, word: Word, stream: Stream<Api>) -> Option<Boxed<Failure>> {
        let (mut pushes, give) = stream.split();
        Some(Box::pin(async move {
            for _ in 0..2 {
                pushes.recv().await;
                give(word.clone());
            }
            Failure::Unknown("over".into())
        }))
    }
}

struct Client {
    outputs: UnboundedSender<ServiceOutput>,
    inputs: UnboundedReceiver<ServiceInput>,
    asked: UnboundedReceiver<&'static str>,
    answers: Arc<Mutex<BTreeMap<&'static str, oneshot::Receiver<Word>>>>,
    _task: <TokioEnv as Env>::Task,
}

impl Client {
    fn new() -> Client {
        let env = TokioEnv::new(1);
        let (outputs, to_queue) = unbounded_channel();
        let (from_queue, inputs) = unbounded_channel();
        let (said, asked) = unbounded_channel();
        let answers = Arc::new(Mutex::new(BTreeMap::new()));
        let backend = Fake { env: env.clone(), asked: said, answers: answers.clone() };
        let queue = Queue::new(env.clone(), &SERVICE, move |input| from_queue.send(input).unwrap());
        Client { outputs, inputs, asked, answers, _task: env.spawn(queue.run(backend, to_queue)) }
    }

    fn will_answer(&self, word: &'static str) -> oneshot::Sender<Word> {
        let (answer, answered) = oneshot::channel();
        self.answers.lock().unwrap().insert(word, answered);
        answer
    }

    fn ask(&self, number: u64, word: impl Payload, timeout: u64, concurrent: bool) {
        let request = word.erase();
        self.outputs.send(ServiceOutput::Request { number, request, timeout, concurrent }).unwrap();
    }

    async fn asked(&mut self) -> &'static str {
        self.asked.recv().await.unwrap()
    }

    async fn reply(&mut self) -> (u64, Result<&'static str, Failure>) {
        match self.inputs.recv().await.unwrap() {
            ServiceInput::Reply { number, reply } => (number, reply.map(|reply| reply.get::<Word>().unwrap().0)),
            other => panic!("not a reply: {other:?}"),
        }
    }
}

fn play(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn requests_wait_for_each_other_unless_they_are_concurrent() {
    play(async {
        let mut client = Client::new();
        let (one, two, three) = (client.will_answer("one"), client.will_answer("two"), client.will_answer("three"));
        client.ask(1, Word("one"), SECOND * 20, false);
        client.ask(2, Word("two"), SECOND * 20, false);
        client.ask(3, Word("three"), SECOND * 20, true);
        assert_eq!([client.asked().await, client.asked().await], ["one", "three"]);
        three.send(Word("c")).unwrap();
        assert_eq!(client.reply().await, (3, Ok("c")));
        assert!(client.asked.try_recv().is_err(), "the first is not answered");
        one.send(Word("a")).unwrap();
        assert_eq!(client.reply().await, (1, Ok("a")));
        assert_eq!(client.asked().await, "two");
        two.send(Word("b")).unwrap();
        assert_eq!(client.reply().await, (2, Ok("b")));
    });
}

#[test]
fn what_is_cancelled_is_not_answered_and_holds_nobody_up() {
    play(async {
        let mut client = Client::new();
        let (one, three) = (client.will_answer("one"), client.will_answer("three"));
        client.ask(1, Word("one"), SECOND * 20, false);
        client.ask(2, Word("two"), SECOND * 20, false);
        client.ask(3, Word("three"), SECOND * 20, false);
        assert_eq!(client.asked().await, "one");
        for number in [2, 1] {
            client.outputs.send(ServiceOutput::Cancel(number)).unwrap();
        }
        assert_eq!(client.asked().await, "three", "the second was still waiting");
        // Nobody waits for it any more.
        let _ = one.send(Word("a"));
        three.send(Word("c")).unwrap();
        assert_eq!(client.reply().await, (3, Ok("c")));
    });
}

#[test]
fn an_outcome_is_unknown_when_its_time_is_up_and_rejected_when_the_service_said_so() {
    play(async {
        let mut client = Client::new();
        client.ask(1, Word("silence"), 20 * MILLISECOND, false);
        assert_eq!(client.reply().await, (1, Err(Failure::Unknown("timed out".into()))));
        drop(client.will_answer("no"));
        client.ask(2, Word("no"), SECOND * 20, false);
        assert_eq!(client.reply().await, (2, Err(Failure::Rejected("no".into()))));
        client.ask(3, service::redis::Request::Get { key: "k".into() }, SECOND * 20, false);
        let why = "words cannot carry out another service's request";
        assert_eq!(client.reply().await, (3, Err(Failure::Rejected(why.into()))));
    });
}

#[test]
fn a_stream_brings_items_until_it_ends_or_is_closed() {
    play(async {
        let mut client = Client::new();
        for number in [1, 2] {
            client.outputs.send(ServiceOutput::Open { number, request: Word("again").erase() }).unwrap();
        }
        client.outputs.send(ServiceOutput::Close(2)).unwrap();
        let item = ServiceInput::Item { number: 1, item: Word("again").erase() };
        for _ in 0..2 {
            for number in [2, 1] {
                client.outputs.send(ServiceOutput::Push(number)).unwrap();
            }
            assert_eq!(client.inputs.recv().await, Some(item.clone()));
        }
        let failure = Failure::Unknown("over".into());
        assert_eq!(client.inputs.recv().await, Some(ServiceInput::Ended { number: 1, failure }));
        let foreign = service::etcd::StreamRequest::WatchDelete { key: Vec::new(), start_revision: 1 };
        client.outputs.send(ServiceOutput::Open { number: 3, request: foreign.erase() }).unwrap();
        let failure = Failure::Rejected("words has no such stream".into());
        assert_eq!(client.inputs.recv().await, Some(ServiceInput::Ended { number: 3, failure }));
    });
}
