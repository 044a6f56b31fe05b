//! What `replay` takes beside a plan. A capsule is a plan, the build that it ran under, and what came of it: replaying one tells
//! whether the same build still does the same. A case of `seeds/` is a plan, the story of why it is kept, and what it comes to.

use crate::{
    plan::{Plan, ReadError, json},
    registry::Registry,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the capsule format.
pub const SCHEMA: u32 = 1;

/// Why a file holds nothing that can be replayed.
#[allow(missing_docs, reason = "each says itself")]
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

/// A case of `seeds/`: a plan that is kept, and what it must come to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Why it is kept.
    pub story: String,
    /// `pass`, `safety`, `vacuous` or `liveness`.
    pub verdict: String,
    /// The invariants that are violated; these and no others.
    pub violated: Vec<String>,
    /// Figures of the report, where the case is about those.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What the same plan comes to without its bugs, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<Mended>,
    /// The plan.
    pub plan: Plan,
}

/// What a case's plan comes to without its bugs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mended {
    /// The verdict.
    pub verdict: String,
    /// The invariants that are violated all the same.
    pub violated: Vec<String>,
    /// The figures.
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

/// What a file that is to be replayed holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Artifact {
    /// A plan alone.
    Plan(Box<Plan>),
    /// A plan with its story and what it comes to.
    Case(Box<Case>),
    /// A plan with the identity of the run that it came from.
    Capsule(Box<Capsule>),
}

impl Artifact {
    /// Reads a plan or a capsule of what the [default registry](Registry::default) has.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
    pub fn from_json(text: &str) -> Result<Artifact, NoArtifact> {
        Artifact::read(text, &Registry::default())
    }

    /// Reads a plan, a capsule or a case of what the registry has; a capsule is known by its field `plan`, a case by its `story`.
    ///
    /// # Errors
    /// One sentence that names the field and the line.
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

    /// The plan, wherever it was.
    pub fn plan(&self) -> &Plan {
        match self {
            Artifact::Plan(plan) => plan,
            Artifact::Case(case) => &case.plan,
            Artifact::Capsule(capsule) => &capsule.plan,
        }
    }
}

/// Is this a history? It has a JSON object on every line, each with its event.
fn is_history(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).is_ok_and(|line| line.get("event").is_some())
}
