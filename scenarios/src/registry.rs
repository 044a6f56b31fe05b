//! What there is: protocols, scenarios and bugs as values. Plans are read and checked against a registry; whoever has a
//! protocol or a scenario of its own adds it to one.

use crate::{
    plan::{Known, Plan, json},
    scenario::{self, Scenario},
    topology::Topology,
};
use protocols::{
    bug::{Bug, Bugs},
    election::{self, Protocol},
    history::Header,
    known_bugs,
};

/// Protocols, scenarios and bugs, in the order in which reports show them.
#[derive(Clone)]
pub struct Registry {
    /// The election protocols.
    pub protocols: Vec<&'static Protocol>,
    /// The scenarios.
    pub scenarios: Vec<&'static Scenario>,
    /// The known bugs that can be switched on.
    pub bugs: Vec<&'static Bug>,
}

impl Default for Registry {
    /// Fencepost's own.
    fn default() -> Registry {
        let (protocols, scenarios) = (election::ALL.to_vec(), scenario::ALL.to_vec());
        Registry { protocols, scenarios, bugs: known_bugs::ALL.to_vec() }
    }
}

impl Registry {
    fn known(&self) -> Known<'_> {
        let scenarios = self.scenarios.iter().map(|scenario| scenario.name).collect();
        Known { scenarios, protocols: &self.protocols, bugs: &self.bugs }
    }

    /// The protocol of that name.
    ///
    /// # Errors
    /// One sentence: there is none.
    pub fn protocol(&self, name: &str) -> Result<&'static Protocol, String> {
        self.protocols
            .iter()
            .copied()
            .find(|protocol| protocol.name == name)
            .ok_or_else(|| format!("there is no protocol `{name}`"))
    }

    /// The bugs of these ids.
    ///
    /// # Errors
    /// One sentence: there is none of that id.
    pub fn bugs(&self, ids: &[String]) -> Result<Bugs, String> {
        let bug = |id: &String| self.bugs.iter().copied().find(|bug| bug.id == id);
        let found: Result<Vec<_>, _> =
            ids.iter().map(|id| bug(id).ok_or_else(|| format!("there is no bug `{id}`"))).collect();
        found.map(Bugs::new)
    }

    /// Reads a plan and validates it.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(&self, text: &str) -> Result<Plan, String> {
        let plan: Plan = json::read(text, "plan")?;
        self.validate(&plan)?;
        Ok(plan)
    }

    /// Refuses a plan that makes no sense, or names what there is not.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate(&self, plan: &Plan) -> Result<(), String> {
        plan.validate_among(&self.known())
    }
}

/// Plans that name nothing but what Fencepost itself has.
impl Plan {
    /// Reads a plan and validates it against the [default registry](Registry::default).
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Plan, String> {
        Registry::default().read(text)
    }

    /// Refuses what makes no sense, or names what the [default registry](Registry::default) does not have.
    ///
    /// # Errors
    /// One sentence that names what is wrong and what would be right.
    pub fn validate(&self) -> Result<(), String> {
        Registry::default().validate(self)
    }

    /// The protocol; `None` when Fencepost has none of that name.
    pub fn election(&self) -> Option<&'static Protocol> {
        election::find(&self.protocol)
    }

    /// Who is who in a run; `None` when Fencepost has no such protocol.
    pub fn topology(&self) -> Option<Topology> {
        self.election().map(|protocol| self.topology_of(protocol))
    }

    /// What the judge has to know about a run; `None` when Fencepost has no such protocol.
    pub fn header(&self) -> Option<Header> {
        let protocol = self.election()?;
        Some(self.header_of(protocol, &self.topology_of(protocol)))
    }
}
