//! Everything that can be run: what plans can name, and the clients and models of services. The default is Fencepost's
//! own; other crates can add protocols, scenarios and services.

use crate::{
    program::Program,
    service::{self, Entry},
    world::env::SimEnv,
};
use protocols::{
    election::{Protocol, program},
    service::Service,
    work::Kind,
};
use protocols_clients::registry::{Client, Clients};
use reports::invariant::{self, Entry as Invariant};
use scenarios::{Scenario, registry::Twice};

/// Why something cannot be added to the registry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAdded {
    #[error(transparent)]
    Twice(#[from] Twice),
    #[error("there are two {0} of `{1}`")]
    Served(&'static str, &'static str),
    #[error("the model is of `{model}`, and the client of `{client}`")]
    Differ { model: &'static str, client: &'static str },
}

#[derive(Clone)]
pub struct Registry {
    /// The names that plans can use.
    pub plans: scenarios::Registry,
    /// The service clients of candidates.
    pub clients: Clients<SimEnv>,
    /// The services' models.
    pub models: Vec<Entry>,
    /// The invariants that judge runs.
    pub invariants: Vec<&'static Invariant>,
    /// What candidates run in place of a protocol's core, if anything.
    pub program: Option<Program>,
}

impl Default for Registry {
    /// Fencepost's own registry.
    fn default() -> Registry {
        scenarios::Registry::default().into()
    }
}

impl From<scenarios::Registry> for Registry {
    /// These plans with Fencepost's own clients and models.
    fn from(plans: scenarios::Registry) -> Registry {
        Registry {
            plans,
            clients: Clients::ours(),
            models: service::ours(),
            invariants: invariant::ALL.to_vec(),
            program: None,
        }
    }
}

impl Registry {
    /// Adds a protocol; reports show it last.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_protocol(self, protocol: &'static Protocol) -> Result<Registry, NotAdded> {
        Ok(Registry { plans: self.plans.with_protocol(protocol)?, ..self })
    }

    /// Plans of this program, which finds these services in the world, and writes with tokens if it is `tokened`.
    ///
    /// # Errors
    /// The registry has a program.
    pub fn with_program(
        self,
        program: Program,
        services: &[&'static Service],
        tokened: bool,
    ) -> Result<Registry, NotAdded> {
        let registry = self.with_protocol(program::of(services, tokened))?;
        Ok(Registry { program: Some(program), ..registry })
    }

    /// Adds a scenario; reports show it last.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_scenario(self, scenario: &'static Scenario) -> Result<Registry, NotAdded> {
        Ok(Registry { plans: self.plans.with_scenario(scenario)?, ..self })
    }

    /// Adds a work that plans can name.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_work(self, work: &'static Kind) -> Result<Registry, NotAdded> {
        Ok(Registry { plans: self.plans.with_work(work)?, ..self })
    }

    /// Adds an invariant that judges every run; reports show it last.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_invariant(mut self, invariant: &'static Invariant) -> Result<Registry, NotAdded> {
        if self.invariants.iter().any(|known| known.name == invariant.name) {
            return Err(Twice { what: "invariant", name: invariant.name }.into());
        }
        self.invariants.push(invariant);
        Ok(self)
    }

    /// Adds a service: its model and its client.
    ///
    /// # Errors
    /// The name is taken, or model and client belong to different services.
    pub fn with_service(mut self, model: Entry, client: Client<SimEnv>) -> Result<Registry, NotAdded> {
        if model.service != client.service {
            return Err(NotAdded::Differ { model: model.service, client: client.service });
        }
        if self.models.iter().any(|known| known.service == model.service) {
            return Err(NotAdded::Served("models", model.service));
        }
        if self.clients.has(client.service) {
            return Err(NotAdded::Served("clients", client.service));
        }
        self.models.push(model);
        Ok(Registry { clients: self.clients.with(client), ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_added_once_with_the_client_that_is_its_own() {
        let model = |service| Entry { service, members: |_, _| Vec::new() };
        let client = |service| Client { service, run: |_, _, _, _| Box::pin(async {}) };
        let own = Registry::default().with_service(model("own"), client("own")).expect("a new name");
        assert_eq!(own.models.len(), service::ours().len() + 1);
        let refused =
            |model, client| own.clone().with_service(model, client).err().map_or(String::new(), |why| why.to_string());
        assert_eq!(refused(model("own"), client("own")), "there are two models of `own`");
        assert_eq!(refused(model("other"), client("own")), "the model is of `other`, and the client of `own`");
        assert_eq!(refused(model("raft"), client("raft")), "there are two clients of `raft`");
    }
}
