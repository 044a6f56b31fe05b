//! What asks the members while a drill is played.

use super::{
    file,
    fill::{Command, Values},
    kept::{Kept, Recipe},
    stage::{Member, Places, Stage},
};
use crate::error::Failed;
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{MissedTickBehavior, interval, timeout},
};

/// An answer that takes longer is not waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// What asks; dropping it ends it.
pub struct Load {
    leader: watch::Sender<Option<u16>>,
    requests: Option<AbortHandle>,
    clients: Vec<Client>,
}

/// The client of one member.
struct Client {
    of: String,
    process: Kept,
    output: PathBuf,
}

impl Drop for Load {
    fn drop(&mut self) {
        self.requests.iter().for_each(AbortHandle::abort);
    }
}

impl Load {
    /// Asks the members until dropped.
    ///
    /// # Errors
    /// The keeper of a client cannot be started.
    pub fn start(load: &file::Load, stage: &Stage, places: &Places) -> Result<Load, Failed> {
        let (leader, led) = watch::channel(None);
        let (mut requests, mut clients) = (None, Vec::new());
        match load {
            file::Load::Http { method, url, rate } => {
                let members = stage.members.iter().map(|member| (member.name.clone(), member.port)).collect();
                requests = Some(tokio::spawn(ask(method.clone(), url.clone(), *rate, members, led)).abort_handle());
            }
            file::Load::Command(command) => {
                for (number, member) in (1..).zip(&stage.members) {
                    clients.push(client(command, number, member, stage, places)?);
                }
            }
        }
        Ok(Load { leader, requests, clients })
    }

    /// Whose client has ended by itself, in a sentence: that member was not asked until the end.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.clients.iter_mut().find_map(|client| client.process.has_ended().then_some(&*client))?;
        Some(format!(
            "the client of {} has ended, and nobody asked it after that: see {}",
            ended.of,
            ended.output.display()
        ))
    }

    /// The member at this port leads now.
    pub fn led_by(&self, port: Option<u16>) {
        self.leader.send_replace(port);
    }
}

/// Starts the client of one member. It is none of the member's processes: it runs on while those are stopped.
fn client(command: &Command, number: u16, member: &Member, stage: &Stage, places: &Places) -> Result<Client, Failed> {
    let mut values = Values::default();
    values.set("node", &member.name);
    values.set("number", number);
    values.set("port", member.port);
    values.set("dir", stage.folder.display());
    values.set("tools", places.tools.display());
    let recipe = Recipe {
        keeper: places.keeper.clone(),
        words: command.filled(&values),
        environment: BTreeMap::from([("PATH".to_owned(), stage.path.clone())]),
        folder: stage.folder.clone(),
        output: places.folder.join(format!("load-{}.log", member.name)),
        container: None,
    };
    Ok(Client { of: member.name.clone(), process: recipe.start(None)?, output: recipe.output })
}

async fn ask(
    method: String,
    url: String,
    rate: u32,
    members: Vec<(String, u16)>,
    leader: watch::Receiver<Option<u16>>,
) {
    let http: legacy::Client<HttpConnector, Empty<Bytes>> = legacy::Client::builder(TokioExecutor::new()).build_http();
    let mut due = interval(Duration::from_secs(1) / rate.max(1));
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for (name, port) in members.iter().cycle() {
        due.tick().await;
        let mut values = Values::default();
        values.set("node", name);
        values.set("port", port);
        let Some(leader) = leader.borrow().or((!url.contains("{leader}")).then_some(*port)) else { continue };
        values.set("leader", format!("127.0.0.1:{leader}"));
        let asked = hyper::Request::builder().method(method.as_str()).uri(values.fill(&url));
        let Ok(asked) = asked.body(Empty::new()) else { return };
        let http = http.clone();
        // What comes of it, the store and the logs say.
        tokio::spawn(async move { timeout(ANSWER_WITHIN, http.request(asked)).await.is_ok() });
    }
}
