//! A capsule: a plan, the build that it ran under, and what came of it. Replaying one tells whether the same build still
//! does the same.

use crate::{
    plan::{Plan, json},
    registry::Registry,
};
use serde::{Deserialize, Serialize};

/// Version of the capsule format.
pub const SCHEMA: u32 = 1;

/// A run that can be repeated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capsule {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run.
    pub plan: Plan,
    /// Fencepost's version.
    pub version: String,
    /// The commit that it was built from; empty when it was not built from a checkout.
    pub commit: String,
    /// Were there changes that were not committed?
    pub dirty: bool,
    /// Hash of Cargo.lock.
    pub lock_hash: String,
    /// The compiler's version.
    pub rustc: String,
    /// The target triple.
    pub target: String,
    /// The hash of everything that happened.
    pub trace_hash: String,
    /// `pass`, `safety`, `vacuous` or `liveness`.
    pub verdict: String,
    /// The invariants that did not hold.
    pub failed: Vec<String>,
}

impl Capsule {
    /// Reads a capsule and validates its plan against the [default registry](Registry::default).
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Capsule, String> {
        Capsule::read(text, &Registry::default())
    }

    /// Reads a capsule and validates its plan against the registry.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(text: &str, registry: &Registry) -> Result<Capsule, String> {
        let capsule: Capsule = json::read(text, "capsule")?;
        if capsule.schema != SCHEMA {
            return Err(format!("the capsule has schema {}, and this build reads schema {SCHEMA}", capsule.schema));
        }
        registry.validate(&capsule.plan)?;
        Ok(capsule)
    }

    /// The capsule as indented JSON with a newline at its end.
    pub fn to_json_pretty(&self) -> String {
        json::pretty(self)
    }
}

/// What a file that is to be replayed holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Artifact {
    /// A plan alone.
    Plan(Box<Plan>),
    /// A plan with the identity of the run that it came from.
    Capsule(Box<Capsule>),
}

impl Artifact {
    /// Reads a plan or a capsule of what the [default registry](Registry::default) has.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Artifact, String> {
        Artifact::read(text, &Registry::default())
    }

    /// Reads a plan or a capsule of what the registry has; a capsule is known by its field `plan`.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(text: &str, registry: &Registry) -> Result<Artifact, String> {
        if is_history(text) {
            return Err("it is a history, not a plan; judge it with `fencepost check`".to_owned());
        }
        let value: serde_json::Value = json::read(text, "plan")?;
        if value.get("verdict").is_some() && value.get("invariants").is_some() {
            let what = "it is a report, not a plan; replay the capsule.json or the plan.json of the run";
            return Err(what.to_owned());
        }
        if value.get("plan").is_some() {
            Capsule::read(text, registry).map(|capsule| Artifact::Capsule(Box::new(capsule)))
        } else {
            registry.read(text).map(|plan| Artifact::Plan(Box::new(plan)))
        }
    }

    /// The plan, wherever it was.
    pub fn plan(&self) -> &Plan {
        match self {
            Artifact::Plan(plan) => plan,
            Artifact::Capsule(capsule) => &capsule.plan,
        }
    }
}

/// Is this a history? It has a JSON object on every line, each with its event.
fn is_history(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).is_ok_and(|line| line.get("event").is_some())
}
