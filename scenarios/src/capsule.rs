//! The files that `replay` takes beside a plan. A capsule is a plan with the build that ran it and the run's outcome,
//! so a replay shows whether the same build still does the same. A case of `seeds/` is a plan with the story of why it
//! is kept and its expected outcome.

use crate::{
    plan::{Plan, ReadError, json},
    registry::Registry,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the capsule format.
pub const SCHEMA: u32 = 1;

/// Why a file cannot be replayed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoArtifact {
    #[error(transparent)]
    Plan(#[from] ReadError),
    #[error("the capsule has schema {0}, and this build reads schema {SCHEMA}")]
    Schema(u32),
    #[error("it is a history, not a plan; judge it with `fencepost check`")]
    History,
    #[error("it is a report, not a plan; replay the capsule.json or the plan.json of the run")]
    Report,
}

/// A run that can be repeated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capsule {
    /// [`SCHEMA`].
    pub schema: u32,
    pub plan: Plan,
    pub version: String,
    /// The commit that the build was made from; empty outside a checkout.
    pub commit: String,
    /// True if the checkout had uncommitted changes.
    pub dirty: bool,
    /// Hash of Cargo.lock.
    pub lock_hash: String,
    pub rustc: String,
    pub target: String,
    /// The hash of every event of the run.
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
    pub fn from_json(text: &str) -> Result<Capsule, NoArtifact> {
        Capsule::read(text, &Registry::default())
    }

    /// Reads a capsule and validates its plan against the registry.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(text: &str, registry: &Registry) -> Result<Capsule, NoArtifact> {
        let capsule: Capsule = json::read(text, "capsule").map_err(ReadError::from)?;
        if capsule.schema != SCHEMA {
            return Err(NoArtifact::Schema(capsule.schema));
        }
        registry.validate(&capsule.plan).map_err(ReadError::from)?;
        Ok(capsule)
    }

    /// The capsule as indented JSON with a newline at its end.
    pub fn to_json_pretty(&self) -> String {
        json::pretty(self)
    }
}

/// A case of `seeds/`: a plan that is kept, and its expected outcome.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub story: String,
    /// `pass`, `safety`, `vacuous` or `liveness`.
    pub verdict: String,
    /// The invariants that the run must violate; no others.
    pub violated: Vec<String>,
    /// Expected figures of the report, if the case is about figures.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// The expected outcome of the plan without its bugs, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<Mended>,
    pub plan: Plan,
}

/// The expected outcome of a case's plan without its bugs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mended {
    pub verdict: String,
    /// The invariants that are violated even then.
    pub violated: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

impl Case {
    /// Reads a case and validates its plan against the registry.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn read(text: &str, registry: &Registry) -> Result<Case, ReadError> {
        let case: Case = json::read(text, "case")?;
        registry.validate(&case.plan)?;
        Ok(case)
    }
}

/// The content of a file to replay.
#[derive(Clone, PartialEq, Debug)]
pub enum Artifact {
    Plan(Box<Plan>),
    /// A plan with its story and expected outcome.
    Case(Box<Case>),
    /// A plan with the identity of the run it came from.
    Capsule(Box<Capsule>),
}

impl Artifact {
    /// Reads a plan, a case or a capsule and validates it against the [default registry](Registry::default).
    pub fn from_json(text: &str) -> Result<Artifact, NoArtifact> {
        Artifact::read(text, &Registry::default())
    }

    /// Reads a plan, a capsule or a case and validates it against `registry`. A capsule is recognised by its field
    /// `plan`, a case by its field `story`.
    pub fn read(text: &str, registry: &Registry) -> Result<Artifact, NoArtifact> {
        if is_history(text) {
            return Err(NoArtifact::History);
        }
        let value: serde_json::Value = json::read(text, "plan").map_err(ReadError::from)?;
        if value.get("verdict").is_some() && value.get("invariants").is_some() {
            return Err(NoArtifact::Report);
        }
        if value.get("story").is_some() {
            Ok(Artifact::Case(Box::new(Case::read(text, registry)?)))
        } else if value.get("plan").is_some() {
            Capsule::read(text, registry).map(|capsule| Artifact::Capsule(Box::new(capsule)))
        } else {
            Ok(Artifact::Plan(Box::new(registry.read(text)?)))
        }
    }

    /// The plan inside.
    pub fn plan(&self) -> &Plan {
        match self {
            Artifact::Plan(plan) => plan,
            Artifact::Case(case) => &case.plan,
            Artifact::Capsule(capsule) => &capsule.plan,
        }
    }
}

/// True if this is a history: a JSON object on every line, each with its event.
fn is_history(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).is_ok_and(|line| line.get("event").is_some())
}
