//! The store of real mode as a resource, in the process that writes to it.

use super::{
    each::{NAME, Resource},
    leaders,
};
use crate::world::{Part, all, at, find, lines, play, sleep_s};
use fencepost_seat::{
    Backend, Fenced, Lead,
    fence::{
        FenceError,
        store::{Number, Store, StoreError},
    },
};
use protocols::service::etcd::SERVICE;
use protocols_real::store::{Auth, Keep, StoreSettings, loaded::Rules, serve, server::Limits, token::TokenKey};
use std::{
    collections::BTreeMap,
    future::pending,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

/// Serves a store, and says where.
async fn start(name: &str, rules: Rules, idle: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let settings = StoreSettings {
        keep: Keep::Embedded(PathBuf::from(format!("{name}.redb"))),
        rules,
        auth: Auth::Key(TokenKey::new(KEY).unwrap()),
        limits: Limits { idle, ..Limits::default() },
        tls: None,
        commit: "simulated",
    };
    tokio::spawn(async move { serve(listener, settings, Default::default()).await.unwrap() });
    address
}

/// A number for each thing that is written.
#[derive(Clone, Default)]
pub(super) struct ByStore {
    stores: Arc<tokio::sync::Mutex<BTreeMap<String, Served>>>,
}

#[derive(Clone)]
struct Served {
    address: String,
    written: Arc<Mutex<BTreeMap<u64, String>>>,
    /// How often a request was made again.
    again: Arc<Mutex<u64>>,
}

impl ByStore {
    async fn store(&self, name: &str) -> Served {
        let mut stores = self.stores.lock().await;
        if !stores.contains_key(name) {
            let (address, written, again) =
                (start(name, Rules::default(), Limits::default().idle).await, Arc::default(), Arc::default());
            stores.insert(name.to_owned(), Served { address, written, again });
        }
        stores[name].clone()
    }

    async fn number(
        &self,
        lead: &Lead<Fenced>,
        name: &str,
        request: &str,
        what: &str,
    ) -> Result<Number, FenceError<StoreError>> {
        let served = self.store(name).await;
        let mut numbers = Store::connect(&served.address, KEY).unwrap().numbers(lead, "sequence").await?;
        let number = numbers.next(request).await?;
        match number {
            Number::New(number) => drop(served.written.lock().unwrap().insert(number, what.to_owned())),
            Number::Before(_) => *served.again.lock().unwrap() += 1,
        }
        Ok(number)
    }
}

impl Resource for ByStore {
    async fn write(&mut self, lead: &Lead<Fenced>, name: &str, what: &str) -> Result<(), String> {
        let number = self.number(lead, name, &format!("{what}:0"), what).await;
        number.map(drop).map_err(|error| error.to_string())
    }

    async fn once(&mut self, lead: &Lead<Fenced>, request: &str, what: &str) -> Result<bool, String> {
        let number = self.number(lead, NAME, &format!("requests:{request}"), what).await;
        number.map(|number| matches!(number, Number::New(_))).map_err(|error| error.to_string())
    }

    async fn written(&mut self, name: &str) -> Vec<String> {
        let served = self.store(name).await;
        let mut stream = BufReader::new(TcpStream::connect(served.address).await.unwrap());
        stream.write_all(b"{\"state\":{\"resource\":\"sequence\"}}\n").await.unwrap();
        let mut state = String::new();
        stream.read_line(&mut state).await.unwrap();
        let written: Vec<String> = served.written.lock().unwrap().values().cloned().collect();
        let used = written.len() as u64 + *served.again.lock().unwrap();
        assert!(state.contains(&format!("\"seq\":{used},")), "what was refused has been written: {state}");
        written
    }
}

/// Passes requests on. The first connection ends with its second request, before the answer.
async fn lossy(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        for first in [true, false] {
            let mut from = BufReader::new(listener.accept().await.unwrap().0);
            let mut store = BufReader::new(TcpStream::connect(&to).await.unwrap());
            let mut line = String::new();
            for answered in [true, !first] {
                line.clear();
                from.read_line(&mut line).await.unwrap();
                store.write_all(line.as_bytes()).await.unwrap();
                line.clear();
                store.read_line(&mut line).await.unwrap();
                if answered {
                    from.write_all(line.as_bytes()).await.unwrap();
                }
            }
        }
        pending::<()>().await;
    });
    address
}

struct Draws;

impl Part for Draws {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        if name != "n1" {
            return;
        }
        let address = start("kept", Rules { remembered: 3, ..Rules::default() }, Duration::from_secs(5)).await;
        let (older, newer) = leaders(backend).await;
        let store = Store::connect(&address, KEY).unwrap();
        let mut numbers = store.numbers(older.lead(), "sequence").await.unwrap();
        for request in ["shop:1", "shop:2", "shop:1", "till:1", "shop"] {
            println!("{request}: {}", told(numbers.next(request).await));
        }
        sleep_s(8.0).await;
        println!("later: {}", told(numbers.next("shop:3").await));
        println!("long ago: {}", told(numbers.next("shop:1").await));
        let mut lost = Store::connect(&lossy(address.clone()).await, KEY).unwrap();
        println!("lost: {}", told(lost.numbers(older.lead(), "sequence").await.unwrap().next("shop:5").await));
        let another = Store::connect(&address, &[b'x'; 32]).unwrap().numbers(older.lead(), "sequence").await;
        println!("another key: {}", another.unwrap_err());
        println!("no resource: {}", store.numbers(older.lead(), "charges").await.unwrap_err());
        println!("a short key: {}", Store::connect(&address, b"short").unwrap_err());
        println!("no port: {}", Store::connect("store", KEY).unwrap_err());
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        lost = Store::connect(&silent.local_addr().unwrap().to_string(), KEY).unwrap().within(Duration::from_secs(1));
        println!("a silent one: {}", lost.numbers(older.lead(), "sequence").await.unwrap_err());

        let mut next = store.numbers(newer.lead(), "sequence").await.unwrap();
        println!("the older: {}", told(numbers.next("shop:6").await));
        println!("it is over: {:?}", older.lead().ended().await);
        println!("the newer: {}", told(next.next("shop:6").await));
        pending::<()>().await;
    }
}

fn told(number: Result<Number, FenceError<StoreError>>) -> String {
    number.map_or_else(|error| error.to_string(), |number| format!("{number:?}"))
}

#[test]
fn each_request_has_one_number_of_the_store_and_a_former_leader_gets_none() {
    let lines = lines(&SERVICE, || play(Draws));
    println!("{}", all(&lines));
    for line in [
        "shop:1: New(1)",
        "shop:2: New(2)",
        "shop:1: Before(1)",
        "till:1: New(4)",
        "shop: `shop` is no name of a request: use CLIENT:NUMBER, such as `shop:17`, the number at most 2^63 - 1",
        "later: New(5)",
        "long ago: `shop:1` is older than the store remembers",
        "another key: the store refuses: the mac is missing or does not vouch for this request",
        "a short key: a key of 5 bytes is too short: the store demands at least 16",
        "no port: `store` is no address of this service: use `HOST:PORT`",
        "a silent one: no answer from the store: it took too long",
        "the older: not written: the resource refused the token",
        "it is over: Refused",
    ] {
        at(&lines, line);
    }
    let known = |text: &str| lines.iter().find_map(|line| line.text.strip_prefix(text));
    assert!(known("no resource: `charges` is no resource of the store: it has sequence,").is_some());
    // The answer was lost, and the number was not.
    let number = known("lost: Before(").and_then(|number| number.trim_end_matches(')').parse().ok());
    assert!(find(&lines, &format!("the newer: New({})", number.unwrap_or(0_u64) + 2)).is_some());
}
