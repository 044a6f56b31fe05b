//! A drill's file: whose processes, on which service and store, and how their logs say who leads.

mod image;
mod raw;
mod ready;
mod service;
mod store;

use super::fill::{self, Command};
use crate::error::Failed;
pub use image::{ENGINES, Image};
use raw::{Raw, RawFleet, RawLoad, RawLog, Several, Words};
pub use ready::Ready;
use scenarios::units::{self, Unread};
pub use service::{Server, Service};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
pub use store::{Link, Store};

/// The most members: each has a process, and two proxies.
const MEMBERS_MAX: u16 = 9;
/// Of a lease, unless the file says how long it is.
const LEASE: Duration = Duration::from_secs(15);
/// Requests per second, unless the file says how many.
const RATE: u32 = 10;

/// The file, checked.
#[derive(Clone, Debug)]
pub struct File {
    /// The file's folder, in which members run.
    pub folder: PathBuf,
    /// The file's name without its extension.
    pub name: String,
    pub fleet: Fleet,
    pub service: Option<Service>,
    pub store: Store,
    pub log: LogWords,
    pub load: Option<Load>,
}

/// The processes that elect a leader among themselves.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub members: u16,
    /// Whose containers are members; otherwise they are processes of this machine.
    pub image: Option<Image>,
    /// What an image may do without.
    pub command: Option<Command>,
    pub environment: BTreeMap<String, String>,
    /// A command that is run once, before everything else.
    pub setup: Option<Command>,
    /// How long a leader may be unheard before another one may lead.
    pub lease: Duration,
    /// The longest that the fleet may be without a leader that acts.
    pub within: Duration,
    /// By what each member is known to have started; nothing is done to the leader before all have.
    pub ready: Option<Ready>,
}

impl Fleet {
    /// What each member is started with, with names in braces.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let options = self.image.iter().flat_map(|image| &image.options);
        self.command.iter().flat_map(Command::words).chain(self.environment.values()).chain(options)
    }

    pub fn lease_ms(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }
}

/// How the members' output says who leads; as the options of `check`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogWords {
    /// Where a member writes it, with names in braces; otherwise its output is its log.
    pub file: Option<String>,
    pub preset: Option<String>,
    pub elected: Vec<String>,
    pub deposed: Vec<String>,
    /// What the leader says where it is to be stopped.
    pub pause_at: Vec<String>,
    /// What a member says once it can take over: before all others have, nothing is done to the leader.
    pub ready: Vec<String>,
}

/// What the members are asked while it lasts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Load {
    Http {
        method: String,
        /// With `{leader}` or `{port}`; without either, each member is asked in turn.
        url: String,
        /// Requests per second.
        rate: u32,
    },
    /// A client of each member's, which runs beside it.
    Command(Command),
}

impl File {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is no such file: one sentence.
    pub fn read(path: &Path) -> Result<File, Failed> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|e| Failed::Unplayable(format!("cannot read {shown}: {e}")))?;
        let wrong = |why: String| Failed::Unplayable(format!("{shown}: {why}"));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|e| wrong(e.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        File::parse(&text, folder, name).map_err(wrong)
    }

    fn parse(text: &str, folder: PathBuf, name: String) -> Result<File, String> {
        let raw: Raw = toml::from_str(text).map_err(|e| sentence(&e, text))?;
        let file = File {
            service: service::read(raw.service).map_err(|why| why.to_string())?,
            store: store::read(raw.store, &folder).map_err(|why| why.to_string())?,
            log: log(raw.log)?,
            load: raw.load.map(load).transpose()?,
            fleet: fleet(raw.fleet)?,
            folder,
            name,
        };
        file.check()?;
        Ok(file)
    }

    /// What a member says once a write has taken effect, and once one was refused; empty if the store itself is watched.
    pub fn decided(&self) -> [&[String]; 2] {
        match &self.store {
            Store::Own { accepted, refused, .. } => [accepted, refused],
            _ => [&[], &[]],
        }
    }

    /// The fleet's name in reports: the folder's, and the file's if it is not `drill`.
    pub fn title(&self) -> String {
        let folder = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        match (folder, self.name.as_str()) {
            (Some(folder), "drill") => folder,
            (Some(folder), name) => format!("{folder}/{name}"),
            (None, name) => name.to_owned(),
        }
    }

    /// The names in braces that its texts may use.
    fn names(&self) -> Vec<String> {
        let own = ["node", "number", "port", "dir", "tools", "data"].map(str::to_owned);
        let is_known = !matches!(self.store, Store::Own { .. });
        let store = (!self.store.is_a_member_s_own()).then(|| "store".to_owned());
        let store = store.into_iter().chain(is_known.then(|| self.store.name().to_owned()));
        let service =
            self.service.iter().flat_map(|service| ["service", service.server.name()].map(|name| (name, service)));
        let all = service.flat_map(|(name, service)| {
            let members =
                (1..=service.members).filter(|_| service.members > 1).map(move |member| format!("{name}.{member}"));
            std::iter::once(name.to_owned()).chain(members)
        });
        own.into_iter().chain(store).chain(all).collect()
    }

    /// Whether a text asks for the host or the port of a service that has several.
    fn asks_for_one_of_several(&self, text: &str) -> Result<(), String> {
        let Some(service) = self.service.filter(|service| service.members > 1) else { return Ok(()) };
        let parts =
            ["service", service.server.name()].map(|name| [format!("{{{name}.host}}"), format!("{{{name}.port}}")]);
        match parts.as_flattened().iter().find(|part| text.contains(*part)) {
            None => Ok(()),
            Some(part) => {
                let one = part.replacen('.', ".1.", 1);
                Err(format!(
                    "`{text}` names {part}, and the service has {} members; {one} is one of them",
                    service.members
                ))
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let (names, say) = (self.names(), |why: Unread| why.to_string());
        for text in self.fleet.texts() {
            fill::check(text, &names).map_err(say)?;
            self.asks_for_one_of_several(text)?;
        }
        let asks = self.fleet.ready.as_ref().is_some_and(Ready::asks);
        if asks && !self.fleet.texts().any(|text| text.contains("{port}")) {
            return Err("`[fleet] ready` asks at {port}, which is not in `command` or `env`".to_owned());
        }
        for text in self.fleet.setup.iter().flat_map(Command::words) {
            fill::check(text, &["dir", "tools"]).map_err(say)?;
        }
        if let Some(file) = &self.log.file {
            fill::check(file, &["node", "number", "port", "dir", "data", "tools"]).map_err(say)?;
            let is_own = ["{node}", "{number}", "{port}", "{data}"].iter().any(|name| file.contains(name));
            if !is_own {
                return Err(format!(
                    "`[log] file` is `{file}` for all members; name one of each, such as {{data}}/service.log"
                ));
            }
        }
        match &self.load {
            Some(Load::Http { url, .. }) => fill::check(url, &["leader", "port", "node"]).map_err(say)?,
            Some(Load::Command(command)) => {
                for word in command.words() {
                    fill::check(word, &["node", "number", "port", "dir", "tools"]).map_err(say)?;
                }
            }
            None => {}
        }
        if self.fleet.within < 2 * self.fleet.lease {
            return Err("`within` is shorter than two leases: a successor may need one to win and one to begin".into());
        }
        Ok(())
    }
}

/// toml's message without its picture of the place.
fn sentence(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().lines().next().unwrap_or_default();
    match error.span() {
        Some(span) => {
            let line = text.get(..span.start).map_or(1, |before| before.matches('\n').count() + 1);
            format!("line {line}: {message}")
        }
        None => message.to_owned(),
    }
}

fn fleet(raw: RawFleet) -> Result<Fleet, String> {
    if !(2..=MEMBERS_MAX).contains(&raw.members) {
        return Err(format!("`members` is {}: a fleet has from 2 to {MEMBERS_MAX}", raw.members));
    }
    let length = |name: &str, text: Option<String>| {
        let ms = text.map(|text| units::duration_ms(&text)).transpose();
        ms.map(|ms| ms.map(Duration::from_millis)).map_err(|why: Unread| format!("`{name}`: {why}"))
    };
    let lease = length("lease", raw.lease)?.unwrap_or(LEASE);
    let within = length("within", raw.within)?.unwrap_or(4 * lease + Duration::from_secs(10));
    let setup = raw.setup.map(command).transpose()?;
    let (members, command) = (raw.members, raw.command.map(command).transpose()?);
    if command.is_none() && raw.image.is_none() {
        return Err("`[fleet]` has neither `command` nor `image`".to_owned());
    }
    let options = raw.options.map(words).transpose()?;
    let image = image::read(raw.image, raw.engine, options).map_err(|why| why.to_string())?;
    let ready = raw.ready.map(ready::read).transpose().map_err(|why| why.to_string())?;
    Ok(Fleet { members, image, command, environment: raw.env, setup, lease, within, ready })
}

fn command(text: Words) -> Result<Command, String> {
    Command::new(words(text)?).ok_or_else(|| "`command` is empty".to_owned())
}

fn words(text: Words) -> Result<Vec<String>, String> {
    match text {
        Words::List(words) => Ok(words),
        Words::Line(line) => shlex::split(&line).ok_or_else(|| format!("`{line}` has a quote that does not end")),
    }
}

fn log(raw: RawLog) -> Result<LogWords, String> {
    if raw.preset.is_none() && raw.elected.is_none() {
        return Err("`[log]` has neither `elected`, what a member says when it begins to lead, nor `preset`".to_owned());
    }
    // Without it, what a member says at its second election could not be told from a repetition.
    if raw.preset.is_none() && raw.deposed.is_none() {
        return Err("`[log]` lacks `deposed`, what a member says when it has stopped leading; `deposed = []` if its process ends then"
            .to_owned());
    }
    if raw.file.as_ref().is_some_and(|file| file.trim().is_empty()) {
        return Err("`[log] file` is empty".to_owned());
    }
    Ok(LogWords {
        file: raw.file,
        preset: raw.preset,
        elected: Several::all(raw.elected),
        deposed: Several::all(raw.deposed),
        pause_at: Several::all(raw.pause_at),
        ready: Several::all(raw.ready),
    })
}

fn load(raw: RawLoad) -> Result<Load, String> {
    let http = match (raw.http, raw.command) {
        (Some(http), None) => http,
        (None, Some(_)) if raw.rate.is_some() => {
            return Err("`[load] rate` is of `http`; a command asks as often as it likes".to_owned());
        }
        (None, Some(words)) => return Ok(Load::Command(command(words)?)),
        _ => return Err("`[load]` has one of `http` and `command`".to_owned()),
    };
    let (method, url) = match http.split_once(' ') {
        Some((method, url)) => (method.to_owned(), url.trim().to_owned()),
        None => ("GET".to_owned(), http),
    };
    if !url.starts_with("http://") {
        return Err(format!("`[load] http` is `{url}`; it is such as \"POST http://{{leader}}/invoices\""));
    }
    let rate = raw.rate.unwrap_or(RATE);
    if rate == 0 || rate > 1_000 {
        return Err(format!("`rate` is {rate}: from 1 to 1,000 requests a second"));
    }
    Ok(Load::Http { method, url, rate })
}

#[cfg(test)]
mod tests;
