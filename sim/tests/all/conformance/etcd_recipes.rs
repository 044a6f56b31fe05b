//! etcd's lock and election services: the same calls of the genuine client to a real server and to the model.

use super::{in_time, report, run};
use etcd_client::{Client, Error, LockOptions, ProclaimOptions, ResignOptions, ResponseHeader};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    etcd::connect,
    site::Endpoint,
};
use servers::Version;
use sim::service::etcd::Etcd as Model;
use std::{future::Future, pin::pin, sync::Arc, time::Duration};

/// How long to see that a call goes on waiting.
const SILENCE: Duration = Duration::from_millis(300);

struct Played {
    port: u16,
    /// The revision before it began.
    before: i64,
    said: Vec<String>,
}

impl Played {
    async fn client(&self) -> Client {
        for _ in 0..1_000 {
            let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port: self.port };
            if let Ok(mut client) = connect(TokioEnv::new(1), endpoint).await
                && client.get("any", None).await.is_ok()
            {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nobody listens on port {}", self.port);
    }

    /// Says what came of a call: revisions since it began, and errors.
    fn say<T>(&mut self, what: &str, answer: &Result<T, Error>, header: impl Fn(&T) -> Option<&ResponseHeader>) {
        let answer = match answer {
            Ok(answer) => format!("revision {}", header(answer).map_or(0, |header| header.revision() - self.before)),
            Err(Error::GRpcStatus(status)) => format!("{:?}: {}", status.code(), status.message()),
            Err(other) => format!("{other:?}"),
        };
        self.said.push(format!("{what}: {answer}"));
    }

    async fn waits<T>(&mut self, what: &str, call: impl Future<Output = T> + Unpin) {
        let waits = tokio::time::timeout(SILENCE, call).await.is_err();
        self.said.push(format!("{what}: {}", if waits { "waits" } else { "answers" }));
    }

    async fn play(mut self) -> Vec<String> {
        let (mut one, mut two) = (self.client().await, self.client().await);
        self.before = one.get("any", None).await.expect("it answers").header().map_or(0, ResponseHeader::revision);
        self.locks(&mut one, &mut two).await;
        self.elections(&mut one, &mut two).await;
        self.said
    }

    async fn locks(&mut self, one: &mut Client, two: &mut Client) {
        let mut leases = Vec::new();
        for _ in 0..3 {
            leases.push(one.lease_grant(60, None).await.expect("a lease").id());
        }
        let with = |lease: i64| Some(LockOptions::new().with_lease(lease));
        let lock = one.lock("l", with(leases[0])).await;
        self.say("lock", &lock, |answer| answer.header());
        let key = lock.expect("it is free").key().to_vec();
        assert_eq!(key, format!("l/{:x}", leases[0]).into_bytes());
        let again = one.lock("l", with(leases[0])).await;
        self.say("the same lease locks again", &again, |answer| answer.header());
        let mut other = two.clone();
        {
            let mut waiting = pin!(other.lock("l", with(leases[1])));
            self.waits("another lease", &mut waiting).await;
            let unlocked = one.unlock(key.clone()).await;
            self.say("unlock", &unlocked, |answer| answer.header());
            let locked = waiting.await;
            self.say("the next in the queue", &locked, |answer| answer.header());
        }
        let unlocked = one.unlock(key).await;
        self.say("unlock what is not locked", &unlocked, |answer| answer.header());
        let mut other = two.clone();
        {
            let mut waiting = pin!(other.lock("l", with(leases[2])));
            self.waits("a third", &mut waiting).await;
            two.lease_revoke(leases[2]).await.expect("it exists");
            one.lease_revoke(leases[1]).await.expect("it exists");
            let locked = waiting.await;
            self.say("whose lease has ended meanwhile", &locked, |answer| answer.header());
        }
        let locked = one.lock("l", with(7)).await;
        self.say("a lease that there is not", &locked, |answer| answer.header());
    }

    async fn elections(&mut self, one: &mut Client, two: &mut Client) {
        let nobody = one.leader("e").await;
        self.say("leader of none", &nobody, |answer| answer.header());
        let (first, second) = (
            one.lease_grant(60, None).await.expect("a lease").id(),
            one.lease_grant(60, None).await.expect("a lease").id(),
        );
        let elected = one.campaign("e", "a", first).await;
        self.say("campaign", &elected, |answer| answer.header());
        let leader = elected.expect("nobody leads").leader().expect("a leader").clone();
        self.said.push(format!("the leader's key is of revision {}", leader.rev() - self.before));
        let again = one.campaign("e", "b", first).await;
        self.say("the same lease with another value", &again, |answer| answer.header());
        let now = one.leader("e").await;
        self.say("leader", &now, |answer| answer.header());
        self.said.push(format!("{:?}", now.expect("it leads").kv().map(|kv| kv.value().to_vec())));
        let proclaimed = one.proclaim("c", Some(ProclaimOptions::new().with_leader(leader.clone()))).await;
        self.say("proclaim", &proclaimed, |answer| answer.header());
        let mut other = two.clone();
        {
            let mut waiting = pin!(other.campaign("e", "d", second));
            self.waits("another campaigns", &mut waiting).await;
            // Neither has a lease any more, and yet it is elected.
            two.lease_revoke(second).await.expect("it exists");
            one.lease_revoke(first).await.expect("it exists");
            let elected = waiting.await;
            self.say("whose lease has ended meanwhile", &elected, |answer| answer.header());
        }
        let proclaimed = one.proclaim("f", Some(ProclaimOptions::new().with_leader(leader.clone()))).await;
        self.say("proclaim without leading", &proclaimed, |answer| answer.header());
        let resigned = one.resign(Some(ResignOptions::new().with_leader(leader))).await;
        self.say("resign without leading", &resigned, |answer| answer.header());
        let proclaimed = one.proclaim("g", None).await;
        self.say("proclaim without a key", &proclaimed, |answer| answer.header());
    }
}

#[test]
fn etcd_locks_and_elections() {
    run(async {
        let (env, state, port) = (TokioEnv::new(1), Arc::<Model>::default(), servers::free_address().port());
        let on = env.clone();
        let _serving = env.spawn(async move { state.serve_on(on, port).await.expect("the port is free") });
        let played = |port| in_time(Played { port, before: 0, said: Vec::new() }.play());
        let model = played(port).await;
        let Some(real) = Version::Etcd35.start() else { return };
        assert_eq!(played(real.server.address.port()).await, model);
        report(real.version.name(), model.len(), "lock and election");
    });
}
