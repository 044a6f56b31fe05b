use super::{
    AddressError, Backend, Deliver, Running, Service,
    reach::{endpoint, seeded},
};
use crate::{error::SettingsError, lead::Fenced, settings::is_name};
use protocols::{
    election::{Protocol, Timings, raft},
    elector::ServiceOutput,
    service::raft::PORT,
};
use protocols_clients::{
    env::tokio::{Clocks, EnvSettings, TokioEnv},
    raft::member::{Fleet, Member, id},
    site::Endpoint,
};
use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File, TryLockError},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{runtime::Handle, sync::mpsc::UnboundedReceiver};

/// No service: the members elect one of them, by Raft (the `openraft` crate). A majority of them has to live; of five,
/// two can fail.
///
/// A leader believes for nine tenths of [`Settings::ttl`](crate::Settings::ttl), less the margin, after it has sent
/// what a majority acknowledged. A follower votes for nobody else for one TTL after it has heard the leader, and stands
/// one half to one TTL later: a crashed leader has a successor after one and a half to two TTLs, longer if a vote is
/// split. Between machines of one site, a TTL of one second is long. A member that resigns hands over at once, to
/// the one whose log is longest or [to a named one](crate::Resigner::resign_to).
///
/// The token is the term. A vote is on disk before it is given, so terms only rise: **the folder is part of the
/// member**, and a member that has lost it must not come back with an empty one, since it could then vote twice in a
/// term. The members are those that the fleet was founded with. To replace one for good, or to add one, stop all
/// members, give all of them empty folders and the new list, and let [`tokens_above`](Raft::tokens_above) be the
/// highest token that was given. Members whose lists, TTLs or `tokens_above` differ refuse each other. To shorten the
/// TTL, stop all members for as long as it was: one that is restarted has forgotten whom it heard, and waits for the
/// new TTL only.
///
/// A member votes as long as its [`Seat`](crate::Seat) lives, or a clone of its `Raft`, and stands only while it
/// campaigns: one that never does is a witness. (If the seat is not made within a tokio runtime, it votes from its
/// first campaign on.) One `Raft` carries one seat, once; it needs a port and a folder of its own.
#[derive(Clone)]
pub struct Raft {
    settings: EnvSettings,
    env: TokioEnv,
    members: Arc<Vec<(String, Endpoint)>>,
    folder: Arc<Path>,
    tokens_above: u64,
    seated: Arc<Mutex<Option<Seated>>>,
}

/// A member that has its seat.
struct Seated {
    fleet: Fleet,
    /// Nobody else writes to the folder. The node has it, too, since it goes on for as long as it withdraws.
    lock: Arc<File>,
    running: Option<Member>,
}

const FORM: &str = "HOST:PORT";

impl Raft {
    /// Members by their names and addresses, `HOST:PORT`, who speak by TLS, and show each other their certificates:
    /// `client` has this member's own, and `server` must ask for one. Whoever has a certificate that `server` trusts
    /// can vote, so let it trust an authority that signs for nobody else. A member's certificate must be of its host.
    /// The folder is created if it is not there.
    ///
    /// # Errors
    /// An address that cannot be used.
    #[cfg(feature = "tls")]
    pub fn over_tls<N: Into<String>, A: AsRef<str>>(
        members: impl IntoIterator<Item = (N, A)>,
        folder: impl Into<PathBuf>,
        server: Arc<tokio_rustls::rustls::ServerConfig>,
        client: Arc<tokio_rustls::rustls::ClientConfig>,
    ) -> Result<Self, AddressError> {
        use protocols_clients::tls::{Mutual, Secure};
        let settings = EnvSettings {
            wrap: Some(Arc::new(Secure { connector: client.into(), name: None, asks: false })),
            accept: Some(Arc::new(Mutual(server.into()))),
            ..seeded()
        };
        Raft::with(members, folder.into(), settings)
    }

    /// The same in clear, where nobody else can reach the members' ports: whoever can, can vote for whom it likes, and
    /// so make two of them lead with one token.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn in_clear<N: Into<String>, A: AsRef<str>>(
        members: impl IntoIterator<Item = (N, A)>,
        folder: impl Into<PathBuf>,
    ) -> Result<Self, AddressError> {
        Raft::with(members, folder.into(), seeded())
    }

    /// Tokens begin above this one, for a fleet that is founded anew beside resources that remember the tokens of an
    /// earlier one; zero by default. All members need the same.
    #[must_use]
    pub fn tokens_above(self, token: u64) -> Self {
        Raft { tokens_above: token, ..self }
    }

    /// The address on which this member listens; by default every address of the machine, of IPv4, or of IPv6 if
    /// this member's address is one.
    #[must_use]
    pub fn listen_on(self, address: IpAddr) -> Self {
        Raft { settings: EnvSettings { listen_on: Some(address), ..self.settings }, ..self }
    }

    fn with<N: Into<String>, A: AsRef<str>>(
        members: impl IntoIterator<Item = (N, A)>,
        folder: PathBuf,
        settings: EnvSettings,
    ) -> Result<Self, AddressError> {
        let read = |(name, address): (N, A)| {
            let address = address.as_ref();
            let member = endpoint(address, PORT).ok_or_else(|| AddressError::Wrong(address.to_owned(), FORM))?;
            Ok((name.into(), member))
        };
        let members: Vec<(String, Endpoint)> = members.into_iter().map(read).collect::<Result<_, _>>()?;
        if members.is_empty() {
            return Err(AddressError::None);
        }
        let mut ids = BTreeSet::new();
        if let Some((twice, _)) = members.iter().find(|(name, _)| !ids.insert(id(name))) {
            return Err(AddressError::Twice(twice.clone()));
        }
        // One origin for all that read them.
        let clocks = Some(Clocks::new(0, 0));
        let settings = EnvSettings { folder: Some(folder.clone()), clocks, ..settings };
        let env = TokioEnv::with(settings.clone());
        let (members, folder) = (Arc::new(members), folder.into());
        Ok(Raft { settings, env, members, folder, tokens_above: 0, seated: Arc::default() })
    }

    /// The node; a runtime that has ended has ended its own.
    fn running<'a>(&self, Seated { fleet, lock, running }: &'a mut Seated) -> &'a Member {
        running.take_if(|member| member.has_ended());
        let is_v6 = fleet.members.first().is_some_and(|(_, own)| own.host.parse::<Ipv6Addr>().is_ok());
        let any = if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let listen_on = Some(self.settings.listen_on.unwrap_or(any));
        let env = || TokioEnv::with(EnvSettings { listen_on, ..self.settings.clone() });
        running.get_or_insert_with(|| Member::start(env(), fleet, lock.clone()))
    }
}

/// Keeps other processes out of a folder as long as the file is open.
fn lock(folder: &Path) -> Result<File, SettingsError> {
    let wrong = |why: String| SettingsError::Folder { folder: folder.to_owned(), why };
    fs::create_dir_all(folder).map_err(|e| wrong(e.to_string()))?;
    let file = File::options().write(true).create(true).truncate(false).open(folder.join("lock"));
    let file = file.map_err(|e| wrong(e.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(wrong("another member has it".to_owned())),
        Err(TryLockError::Error(e)) => Err(wrong(e.to_string())),
    }
}

impl Backend for Raft {
    type Fencing = Fenced;
}

impl Service for Raft {
    fn protocol(&self) -> &'static Protocol {
        &raft::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    /// Its requests wait for elections.
    fn has_request_timeout(&self) -> bool {
        false
    }

    fn claimed(&self, seat: &str, member: &str, timings: &Timings) -> Result<Option<Vec<String>>, SettingsError> {
        // Before the member has its folder and votes.
        if let Some((wrong, _)) = self.members.iter().find(|(name, _)| !is_name(name)) {
            return Err(SettingsError::Member(wrong.clone()));
        }
        let mut seated = self.seated.lock().unwrap_or_else(PoisonError::into_inner);
        if seated.is_some() {
            return Err(SettingsError::Taken(seat.to_owned()));
        }
        let own = self.members.iter().find(|(name, _)| name == member);
        let own = own.ok_or_else(|| SettingsError::Stranger(member.to_owned()))?;
        let others = self.members.iter().filter(|(name, _)| name != member);
        let members: Vec<_> = [own].into_iter().chain(others).cloned().collect();
        let names = members.iter().map(|(name, _)| name.clone()).collect();
        let fleet = Fleet {
            members,
            tokens_above: self.tokens_above,
            election_timeout: timings.election_timeout.unwrap_or((timings.lease_ttl / 2, timings.lease_ttl)),
            heartbeat: timings.renew_interval,
        };
        let new = seated.insert(Seated { fleet, lock: Arc::new(lock(&self.folder)?), running: None });
        // Otherwise with the first campaign.
        if Handle::try_current().is_ok() {
            self.running(new);
        }
        Ok(Some(names))
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let raft = self.clone();
        Box::pin(async move {
            let mut seated = raft.seated.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(seated) = seated.as_mut() {
                raft.running(seated).attach(outputs, move |input| deliver(input));
            }
        })
    }
}

impl fmt::Debug for Raft {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Raft").field("members", &self.members).field("folder", &self.folder).finish()
    }
}
