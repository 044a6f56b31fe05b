//! Patches of a Lease: merges (a strategic one is the same, as a Lease has no lists) and server-side apply.
//!
//! Reference: kubernetes/kubernetes 1.20.2, `staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go`, and
//! `pkg/apis/meta/v1/validation/validation.go: ValidatePatchOptions`.

use super::{
    model::{Key, Lease, Making, Meta, Model, Spec, spec},
    owners::{Fields, Operation, fields},
    status::{Cause, Status},
};
use serde::Deserialize;
use serde_json::Value;

/// A patch as it was asked for.
pub struct Patch {
    pub operation: Operation,
    /// Who is said to write.
    pub manager: Option<String>,
    pub force: bool,
    pub body: Value,
}

/// The fields of a `spec` that are modelled.
const FIELDS: [&str; 5] = ["acquireTime", "holderIdentity", "leaseDurationSeconds", "leaseTransitions", "renewTime"];

impl Model {
    /// Patches an object, or creates it if it is an apply; returns whether it was created.
    ///
    /// # Errors
    /// There is no such object, it is not as the patch wants it, or the patch is none.
    pub fn patch(&mut self, key: Key, patch: &Patch, making: Making) -> Result<(bool, Lease), Status> {
        let applies = patch.operation == Operation::Apply;
        let manager = match (&patch.manager, applies) {
            (None, true) => return Err(Status::option(Cause::required("fieldManager", "is required for apply patch"))),
            (manager, _) => manager.as_deref().unwrap_or("unknown"),
        };
        if patch.force && !applies {
            return Err(Status::option(Cause::forbidden("force", "may not be specified for non-apply patch")));
        }
        let meta = meta(&key, &patch.body)?;
        let wanted = match patch.body.get("spec") {
            None | Some(Value::Null) => Fields::new(),
            Some(Value::Object(wanted)) => wanted.clone(),
            Some(_) => return Err(Status::bad_request("the patch's spec is no object")),
        };
        let lease = self.get(&key).cloned();
        let (old, mut owners) =
            lease.as_ref().map(|lease| (fields(&lease.spec), lease.owners.clone())).unwrap_or_default();
        let new = match applies {
            true => {
                let strange = |(name, value): &(&String, &Value)| !FIELDS.contains(&name.as_str()) || value.is_null();
                if let Some((name, _)) = wanted.iter().find(strange) {
                    let why =
                        format!("failed to create typed patch object: .spec.{name}: field not declared in schema");
                    return Err(Status::internal(&why));
                }
                parsed(wanted.clone())?;
                owners.apply(manager, patch.force, &old, &wanted)?
            }
            false if lease.is_none() => return Err(Status::not_found(&key.1)),
            // It would take the version away.
            false if matches!(patch.body["metadata"]["resourceVersion"].as_str(), Some("" | "0")) => {
                return Err(Status::version_needed(&key.1));
            }
            false => {
                let mut new = old.clone();
                for (name, value) in wanted {
                    match value {
                        Value::Null => drop(new.remove(&name)),
                        value => drop(new.insert(name, value)),
                    }
                }
                let new = fields(&parsed(new)?);
                owners.update(manager, Some(&old), &new);
                new
            }
        };
        self.replace(key, &meta, parsed(new)?, owners, making)
    }
}

fn parsed(fields: Fields) -> Result<Spec, Status> {
    spec(Some(&Value::Object(fields))).map_err(Status::bad_request)
}

/// The metadata of a patch, which must be of this object.
fn meta(key: &Key, body: &Value) -> Result<Meta, Status> {
    let given = body.get("metadata").filter(|given| !given.is_null());
    for unmodelled in ["labels", "annotations", "finalizers", "ownerReferences", "managedFields"] {
        if given.and_then(|given| given.get(unmodelled)).is_some_and(|value| !value.is_null()) {
            crate::service::grants::tell_refused("Kubernetes", &format!("metadata.{unmodelled} is not modelled"));
            return Err(Status::bad_request(format!("metadata.{unmodelled} is not modelled")));
        }
    }
    let mut meta = given
        .map_or_else(|| Ok(Meta::default()), Meta::deserialize)
        .map_err(|why| Status::bad_request(format!("Lease in version \"v1\" cannot be handled as a Lease: {why}")))?;
    for (what, given, is) in [("name", &mut meta.name, &key.1), ("namespace", &mut meta.namespace, &key.0)] {
        if given.is_empty() {
            given.clone_from(is);
        }
        if given != is {
            let why = format!("the {what} of the object ({given}) does not match the {what} on the URL ({is})");
            return Err(Status::bad_request(why));
        }
    }
    Ok(meta)
}
