//! What befalls a leader.

use crate::{draws::Draws, service::Service};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// `kill -9`.
    Kill,
    /// SIGSTOP; SIGCONT once its successor has written.
    Pause,
    /// Nothing passes between it and the service, or the other members, until its successor has written.
    CutFromService,
    /// The same for the database.
    CutFromDatabase,
    /// The service forgets its lease, and it learns that later than its successor.
    Forgotten,
}

impl Fault {
    pub const ALL: [Fault; 5] =
        [Fault::Kill, Fault::Pause, Fault::CutFromService, Fault::CutFromDatabase, Fault::Forgotten];

    /// Whether it can befall leaders on this service.
    pub fn befalls(self, service: Service) -> bool {
        // Members that elect among themselves keep no lease that could be deleted.
        self != Fault::Forgotten || service != Service::Raft
    }

    pub fn name(self, service: Service) -> &'static str {
        match self {
            Fault::Kill => "`kill -9`",
            Fault::Pause => "paused",
            Fault::CutFromService if service == Service::Raft => "cut off from the others",
            Fault::CutFromService => "cut off from the service",
            Fault::CutFromDatabase => "cut off from the database",
            Fault::Forgotten if service == Service::Kubernetes => "there, and its name is taken from the Lease",
            Fault::Forgotten => "there, and its lease is deleted",
        }
    }
}

/// So many of each fault, in the seed's order, for so many fleets.
pub fn dealt(count: impl Fn(Fault) -> usize, fleets: usize, draws: &mut Draws) -> Vec<Vec<Fault>> {
    let mut all: Vec<Fault> = Fault::ALL.into_iter().flat_map(|fault| vec![fault; count(fault)]).collect();
    draws.shuffle(&mut all);
    (0..fleets).map(|fleet| all.iter().skip(fleet).step_by(fleets).copied().collect()).collect()
}
