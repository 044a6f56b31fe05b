//! What a member is to do, as arguments of its process.

use crate::{Error, service::Service};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Where the leader's writes are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// In the closure, as in the manual: dropped at its next step once leadership is over.
    Closure,
    /// On a thread, with a connection that leadership does not end, as a pool's would be: nothing drops it.
    Thread,
    /// Nowhere: it only leads.
    None,
}

/// One member's part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub service: Service,
    /// Its servers; with Raft the members, by their places.
    pub service_at: Vec<SocketAddr>,
    pub database_at: SocketAddr,
    /// With Raft, where the members' certificates and journals are.
    pub folder: PathBuf,
    pub seat: String,
    /// `mPLACE.LIFE`.
    pub name: String,
    pub lease: Duration,
    /// From one write to the next.
    pub pace: Duration,
    pub work: Work,
    /// Whether writes go through the fence, if the service has tokens.
    pub fenced: bool,
}

impl Part {
    /// A member that only leads.
    pub fn idle(service: Service, service_at: Vec<SocketAddr>, lease: Duration) -> Part {
        Part {
            service,
            service_at,
            // Nobody writes.
            database_at: SocketAddr::from(([127, 0, 0, 1], 1)),
            folder: PathBuf::new(),
            seat: "idle".to_owned(),
            name: String::new(),
            lease,
            pace: Duration::ZERO,
            work: Work::None,
            fenced: true,
        }
    }

    pub fn is_fenced(&self) -> bool {
        self.fenced && self.service.has_tokens()
    }

    pub fn to_args(&self) -> [String; 10] {
        [
            self.service.name().to_owned(),
            listed(&self.service_at),
            self.database_at.to_string(),
            self.folder.display().to_string(),
            self.seat.clone(),
            self.name.clone(),
            self.lease.as_millis().to_string(),
            self.pace.as_micros().to_string(),
            format!("{:?}", self.work),
            self.fenced.to_string(),
        ]
    }

    pub fn from_args(args: &[String]) -> Result<Part, Error> {
        let [service, service_at, database_at, folder, seat, name, lease, pace, work, fenced] = args else {
            return Err("a member has ten arguments".into());
        };
        Ok(Part {
            service: service.parse()?,
            service_at: addresses(service_at)?,
            database_at: database_at.parse()?,
            folder: folder.into(),
            seat: seat.clone(),
            name: name.clone(),
            lease: Duration::from_millis(lease.parse()?),
            pace: Duration::from_micros(pace.parse()?),
            work: match work.as_str() {
                "Closure" => Work::Closure,
                "Thread" => Work::Thread,
                _ => Work::None,
            },
            fenced: fenced.parse()?,
        })
    }
}

pub fn listed(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
}

pub fn addresses(listed: &str) -> Result<Vec<SocketAddr>, Error> {
    listed.split(',').map(|address| Ok(address.parse()?)).collect()
}
