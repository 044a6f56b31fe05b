//! Who owns which fields of a Lease's `spec`: the reason why an apply may be refused, and what it removes.
//!
//! Reference: kubernetes-sigs/structured-merge-diff 4.0, `merge/update.go: Update, Apply, prune`, `merge/conflict.go`;
//! kubernetes/kubernetes 1.20.2, `staging/src/k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/`. Fields of metadata
//! have no owners here, and owners are not shown (`managedFields`).

use super::status::Status;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How a manager writes. The same name in two ways is two managers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    Apply,
    Update,
}

/// Who owns what an object had before anything was applied to it, and nobody owned.
const BEFORE: &str = "before-first-apply";

/// The fields of each manager. None has an empty set.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Owners(BTreeMap<(String, Operation), BTreeSet<String>>);

/// The fields of a `spec`.
pub type Fields = Map<String, Value>;

pub fn fields(spec: &impl Serialize) -> Fields {
    // A spec is a map with string keys.
    serde_json::to_value(spec).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

impl Owners {
    /// A manager has replaced `old` by `new`, or made it, whoever owned what. Where nobody owns anything of an object,
    /// nobody does until something is applied to it.
    pub fn update(&mut self, manager: &str, old: Option<&Fields>, new: &Fields) {
        if old.is_some() && self.0.is_empty() {
            return;
        }
        let is_changed = |name: &String, value: &Value| old.and_then(|old| old.get(name)) != Some(value);
        let changed: BTreeSet<String> =
            new.iter().filter(|(name, value)| is_changed(name, value)).map(|(name, _)| name.clone()).collect();
        for fields in self.0.values_mut() {
            fields.retain(|name| new.contains_key(name) && !changed.contains(name));
        }
        self.0.entry((manager.to_owned(), Operation::Update)).or_default().extend(changed);
        self.tidy();
    }

    /// What `old` becomes when a manager applies `config`: its own fields, and those of others. Values are compared as
    /// they were sent: the same time in another zone is another value.
    ///
    /// # Errors
    /// It would change another's field, and has not said `force`.
    pub fn apply(&mut self, manager: &str, force: bool, old: &Fields, config: &Fields) -> Result<Fields, Status> {
        if self.0.is_empty() {
            self.update(BEFORE, None, old);
        }
        let own = (manager.to_owned(), Operation::Apply);
        let changes = |name: &String| config.get(name).is_some_and(|value| old.get(name) != Some(value));
        let others = self.0.iter().filter(|(who, _)| **who != own);
        let conflicts: Vec<_> = others
            .flat_map(|(who, fields)| fields.iter().filter(|field| changes(field)).map(move |field| (who, field)))
            .map(|((who, operation), field)| (shown(who, *operation), format!(".spec.{field}")))
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(Status::conflicts(&conflicts));
        }
        let mut new = old.clone();
        let before = self.0.remove(&own).unwrap_or_default();
        for fields in self.0.values_mut() {
            fields.retain(|field| !changes(field));
        }
        // What it has applied before and does not apply now is gone, unless others own it, too.
        for field in before.iter().filter(|field| !config.contains_key(*field)) {
            if !self.0.values().any(|fields| fields.contains(field)) {
                new.remove(field);
            }
        }
        new.extend(config.clone());
        self.0.insert(own, config.keys().cloned().collect());
        self.tidy();
        Ok(new)
    }

    fn tidy(&mut self) {
        self.0.retain(|_, fields| !fields.is_empty());
    }
}

/// A manager as conflicts name it.
fn shown(manager: &str, operation: Operation) -> String {
    match operation {
        Operation::Apply => format!("{manager:?}"),
        Operation::Update => format!("{manager:?} using coordination.k8s.io/v1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(result: Result<Fields, Status>) -> String {
        result
            .map_or_else(|status| status.shown()["message"].as_str().unwrap_or_default().to_owned(), |_| String::new())
    }

    #[test]
    fn an_apply_is_refused_while_another_owns_what_it_changes() {
        let mut owners = Owners::default();
        let first = fields(&json!({ "holderIdentity": "a", "leaseTransitions": 1 }));
        let is = owners.apply("m-a", false, &Fields::new(), &first).unwrap_or_default();
        assert_eq!(is, first);
        let second = fields(&json!({ "holderIdentity": "b" }));
        let said = refused(owners.clone().apply("m-b", false, &is, &second));
        assert_eq!(said, "Apply failed with 1 conflict: conflict with \"m-a\": .spec.holderIdentity");
        // The same value is no conflict.
        let same = fields(&json!({ "holderIdentity": "a" }));
        assert_eq!(refused(owners.clone().apply("m-b", false, &is, &same)), "");
        // Once a field is gone, nobody owns it.
        let free = fields(&json!({ "leaseTransitions": 1 }));
        owners.update("m-c", Some(&is), &free);
        assert_eq!(refused(owners.apply("m-b", false, &free, &second)), "");
    }

    #[test]
    fn an_update_takes_the_fields_that_it_changes() {
        let mut owners = Owners::default();
        let first = fields(&json!({ "holderIdentity": "a", "renewTime": "1" }));
        let is = owners.apply("m", false, &Fields::new(), &first).unwrap_or_default();
        let renewed = fields(&json!({ "holderIdentity": "a", "renewTime": "2" }));
        owners.update("m", Some(&is), &renewed);
        let later = fields(&json!({ "holderIdentity": "a", "renewTime": "3" }));
        let said = refused(owners.clone().apply("m", false, &renewed, &later));
        assert_eq!(
            said,
            "Apply failed with 1 conflict: conflict with \"m\" using coordination.k8s.io/v1: .spec.renewTime"
        );
        assert_eq!(owners.apply("m", true, &renewed, &later).unwrap_or_default(), later);
    }

    #[test]
    fn what_nobody_owned_before_the_first_apply_is_not_taken() {
        let mut owners = Owners::default();
        let (made, is) = (Fields::new(), fields(&json!({ "holderIdentity": "a" })));
        owners.update("m", None, &made);
        owners.update("m", Some(&made), &is);
        let said = refused(owners.apply("m", false, &is, &fields(&json!({ "holderIdentity": "b" }))));
        assert!(said.contains("\"before-first-apply\" using coordination.k8s.io/v1: .spec.holderIdentity"), "{said}");
    }

    #[test]
    fn what_is_no_longer_applied_is_gone_unless_others_own_it() {
        let mut owners = Owners::default();
        let both = fields(&json!({ "holderIdentity": "a", "leaseTransitions": 1 }));
        let is = owners.apply("one", false, &Fields::new(), &both).unwrap_or_default();
        let is = owners.apply("two", false, &is, &fields(&json!({ "leaseTransitions": 1 }))).unwrap_or_default();
        let is = owners.apply("one", false, &is, &Fields::new()).unwrap_or_default();
        assert_eq!(is, fields(&json!({ "leaseTransitions": 1 })));
    }
}
