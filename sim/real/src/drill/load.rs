//! Requests to the members while a drill is played.

use super::{file, fill::Values};
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use std::time::Duration;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{MissedTickBehavior, interval, timeout},
};

/// An answer that takes longer is not waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// The requests; dropping it ends them.
pub struct Load {
    leader: watch::Sender<Option<u16>>,
    task: AbortHandle,
}

impl Drop for Load {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Load {
    /// Asks these members, by name and port, until dropped.
    pub fn start(load: &file::Load, members: Vec<(String, u16)>) -> Load {
        let (leader, led) = watch::channel(None);
        let task = tokio::spawn(ask(load.clone(), members, led)).abort_handle();
        Load { leader, task }
    }

    /// The member at this port leads now.
    pub fn led_by(&self, port: Option<u16>) {
        self.leader.send_replace(port);
    }
}

async fn ask(load: file::Load, members: Vec<(String, u16)>, leader: watch::Receiver<Option<u16>>) {
    let http: Client<HttpConnector, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let mut due = interval(Duration::from_secs(1) / load.rate.max(1));
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for (name, port) in members.iter().cycle() {
        due.tick().await;
        let mut values = Values::default();
        values.set("node", name);
        values.set("port", port);
        let Some(leader) = leader.borrow().or((!load.url.contains("{leader}")).then_some(*port)) else { continue };
        values.set("leader", format!("127.0.0.1:{leader}"));
        let asked = hyper::Request::builder().method(load.method.as_str()).uri(values.fill(&load.url));
        let Ok(asked) = asked.body(Empty::new()) else { return };
        let http = http.clone();
        // What comes of it, the store and the logs say.
        tokio::spawn(async move { timeout(ANSWER_WITHIN, http.request(asked)).await.is_ok() });
    }
}
