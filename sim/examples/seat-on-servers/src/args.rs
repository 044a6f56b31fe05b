//! What a member is to do, as arguments of its process.

use crate::{Error, service::Service};
use std::{net::SocketAddr, time::Duration};

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
    pub service_at: SocketAddr,
    pub database_at: SocketAddr,
    pub seat: String,
    pub name: String,
    pub lease: Duration,
    /// From one write to the next.
    pub pace: Duration,
    pub work: Work,
    /// Whether writes go through the fence.
    pub fenced: bool,
}

impl Part {
    pub fn to_args(&self) -> [String; 9] {
        [
            self.service.name().to_owned(),
            self.service_at.to_string(),
            self.database_at.to_string(),
            self.seat.clone(),
            self.name.clone(),
            self.lease.as_millis().to_string(),
            self.pace.as_micros().to_string(),
            format!("{:?}", self.work),
            self.fenced.to_string(),
        ]
    }

    pub fn from_args(args: &[String]) -> Result<Part, Error> {
        let [service, service_at, database_at, seat, name, lease, pace, work, fenced] = args else {
            return Err("a member has nine arguments".into());
        };
        Ok(Part {
            service: service.parse()?,
            service_at: service_at.parse()?,
            database_at: database_at.parse()?,
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
