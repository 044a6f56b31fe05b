//! The registry: protocols, scenarios and bugs as values. Plans are read and checked against it; a crate with a
//! protocol or scenario of its own adds them.

use crate::{
    params::Params,
    plan::{Invalid, Known, Plan, ReadError, json},
    scenario::{self, Scenario},
    set::{Owners, Setting, Wrong},
    topology::Topology,
};
use protocols::{
    bug::{Bug, Bugs},
    election::{self, Protocol, both_locks, cron, token_counter},
    history::Header,
    known_bugs,
    work::{self, Kind},
};

/// A name that is already in the registry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there are two {what}s `{name}`")]
pub struct Twice {
    /// The entry's kind.
    pub what: &'static str,
    pub name: &'static str,
}

/// A name that is not in the registry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no {what} `{name}`")]
pub struct Missing {
    /// The entry's kind.
    pub what: &'static str,
    pub name: String,
}

/// Protocols, scenarios, bugs and works, in the order of reports.
#[derive(Clone)]
pub struct Registry {
    pub protocols: Vec<&'static Protocol>,
    pub scenarios: Vec<&'static Scenario>,
    pub bugs: Vec<&'static Bug>,
    /// The works that leaders can do.
    pub works: Vec<&'static Kind>,
}

impl Default for Registry {
    /// Fencepost's own.
    fn default() -> Registry {
        let (protocols, scenarios) = (election::ALL.to_vec(), scenario::ALL.to_vec());
        Registry { protocols, scenarios, bugs: known_bugs::ALL.to_vec(), works: work::ALL.to_vec() }
    }
}

impl Registry {
    /// Adds a protocol, last in reports.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_protocol(mut self, protocol: &'static Protocol) -> Result<Registry, Twice> {
        if self.protocols.iter().any(|known| known.name == protocol.name) {
            return Err(Twice { what: "protocol", name: protocol.name });
        }
        self.protocols.push(protocol);
        Ok(self)
    }

    /// Adds a scenario, last in reports.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_scenario(mut self, scenario: &'static Scenario) -> Result<Registry, Twice> {
        if self.scenarios.iter().any(|known| known.name == scenario.name) {
            return Err(Twice { what: "scenario", name: scenario.name });
        }
        self.scenarios.push(scenario);
        Ok(self)
    }

    /// Adds a work that plans can name.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with_work(mut self, work: &'static Kind) -> Result<Registry, Twice> {
        if self.works.iter().any(|known| known.name == work.name) {
            return Err(Twice { what: "work", name: work.name });
        }
        self.works.push(work);
        Ok(self)
    }

    fn known(&self) -> Known<'_> {
        let scenarios = self.scenarios.iter().map(|scenario| scenario.name).collect();
        Known { scenarios, protocols: &self.protocols, bugs: &self.bugs, works: &self.works }
    }

    /// The protocol called `name`, including those derived from others.
    ///
    /// # Errors
    /// No protocol has this name: one sentence.
    pub fn protocol(&self, name: &str) -> Result<&'static Protocol, Missing> {
        self.protocols
            .iter()
            .copied()
            .find(|protocol| protocol.name == name)
            .or_else(|| election::wrapped(name))
            .ok_or_else(|| Missing { what: "protocol", name: name.to_owned() })
    }

    /// The processes of `plan` under its protocol, and its leaders' works.
    ///
    /// # Errors
    /// A work is unknown, or the works do not go together: one sentence.
    pub fn topology(&self, plan: &Plan, protocol: &Protocol) -> Result<Topology, Invalid> {
        Ok(plan.topology_of(protocol).with_works(plan.leaders_works(&self.works)?))
    }

    /// The owners of parameters.
    pub fn owners(&self) -> Owners {
        let protocols = self.named().map(|protocol| (protocol.name, protocol.parameters));
        let works = self.works.iter().map(|work| (work.name, work.parameters));
        protocols.chain(works).filter(|(_, parameters)| !parameters.is_empty()).collect()
    }

    /// Reads `OWNER.NAME=VALUE`.
    ///
    /// # Errors
    /// One sentence.
    pub fn setting(&self, text: &str) -> Result<Setting, Wrong> {
        Setting::read(text, &self.owners())
    }

    /// Every protocol that has a name: those listed here, and those derived from others.
    pub fn named(&self) -> impl Iterator<Item = &'static Protocol> + '_ {
        let fenced = token_counter::FENCED.iter().map(|(_, fenced)| *fenced);
        let others = both_locks::MIGRATING.iter().chain(cron::WAYS).chain(&election::VARIED).copied();
        self.protocols.iter().copied().chain(fenced).chain(others)
    }

    /// The bugs with these ids.
    ///
    /// # Errors
    /// An id is unknown: one sentence.
    pub fn bugs(&self, ids: &[String]) -> Result<Bugs, Missing> {
        let bug = |id: &String| self.bugs.iter().copied().find(|bug| bug.id == id);
        let found: Result<Vec<_>, _> =
            ids.iter().map(|id| bug(id).ok_or_else(|| Missing { what: "bug", name: id.clone() })).collect();
        found.map(Bugs::new)
    }

    /// A scenario's plan for a protocol, validated.
    ///
    /// # Errors
    /// One sentence, as from [`Scenario::compile`]; it names this registry's protocols.
    pub fn compile(
        &self,
        scenario: &Scenario,
        params: &Params,
        protocol: &Protocol,
        seed: u64,
    ) -> Result<Plan, Invalid> {
        scenario.needs.of(scenario.name, protocol, &self.protocols)?;
        scenario.compile(params, protocol, seed)
    }

    /// Reads a plan and validates it.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(&self, text: &str) -> Result<Plan, ReadError> {
        let plan: Plan = json::read(text, "plan")?;
        self.validate(&plan)?;
        Ok(plan)
    }

    /// Rejects an invalid plan, and one with names that this registry lacks.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate(&self, plan: &Plan) -> Result<(), Invalid> {
        plan.validate_among(&self.known())
    }
}

/// For plans that use only Fencepost's own names.
impl Plan {
    /// Reads a plan and validates it against the [default registry](Registry::default).
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Plan, ReadError> {
        Registry::default().read(text)
    }

    /// Rejects an invalid plan, and one with names that the [default registry](Registry::default) lacks.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate(&self) -> Result<(), Invalid> {
        Registry::default().validate(self)
    }

    /// The protocol; `None` if it is not one of Fencepost's own.
    pub fn election(&self) -> Option<&'static Protocol> {
        election::find(&self.protocol)
    }

    /// The processes of a run; `None` if the protocol or a work is not one of Fencepost's own.
    pub fn topology(&self) -> Option<Topology> {
        self.election().and_then(|protocol| Registry::default().topology(self, protocol).ok())
    }

    /// What the judge has to know about a run; `None` if the protocol or a work is not one of Fencepost's own.
    pub fn header(&self) -> Option<Header> {
        Some(self.header_of(self.election()?, &self.topology()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::steady;
    use protocols::election::bully;

    #[test]
    fn what_is_added_is_found_beside_ours_and_no_name_comes_twice() {
        static OWN: Protocol = Protocol { name: "own", ..bully::PROTOCOL };
        static STORY: Scenario = Scenario { name: "own-story", ..steady::SCENARIO };
        let both = Registry::default().with_protocol(&OWN).and_then(|r| r.with_scenario(&STORY)).expect("new names");
        assert_eq!(
            (both.protocol("own").map(|p| p.name), both.protocol("bully").map(|p| p.name)),
            (Ok("own"), Ok("bully"))
        );
        assert_eq!(both.protocols.len(), election::ALL.len() + 1);
        let needed = scenario::find("isolate-leader").expect("it needs peers");
        let refused = both.compile(needed, &Params::default(), &election::etcd::PROTOCOL, 1).unwrap_err().0;
        assert!(refused.ends_with(", own"), "what was added would do as well: {refused}");
        assert!(Registry::default().protocol("own").is_err());
        assert_eq!(both.clone().with_protocol(&OWN).err(), Some(Twice { what: "protocol", name: "own" }));
        assert_eq!(both.with_scenario(&STORY).err(), Some(Twice { what: "scenario", name: "own-story" }));
    }
}
