//! An API server's Lease objects, without I/O and without a clock.
//!
//! Reference: kubernetes/kubernetes 1.20.2, `staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go:
//! Create, Update, Delete`, `pkg/registry/coordination/lease/strategy.go` (an update may create; to replace an object
//! it must name the version), `pkg/apis/coordination/validation/validation.go`,
//! `staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go: GuaranteedUpdate` (an update without changes is not
//! written, and keeps the version).

use super::{
    owners::{Owners, fields},
    status::{Cause, Status},
};
use crate::service::grants::Holder;
use protocols::{
    election::k8s::{name_of, token},
    service::kubernetes::{NAMESPACE, micro_time},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub type Key = (String, String);

/// A Lease's `spec`.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// How long others wait for a change, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// A MicroTime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<String>,
    /// A MicroTime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// How many times the lease changed hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Unique over all objects, including deleted ones.
    pub uid: String,
    /// The object's resourceVersion: that of its last write.
    pub version: u64,
    /// When it was created, in microseconds of the server's wall clock.
    pub created_us: u64,
    pub spec: Spec,
    pub owners: Owners,
}

/// The metadata in a request's body.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    pub name: String,
    /// If empty, the path's namespace.
    pub namespace: String,
    /// The version that the object must have; empty for none.
    pub resource_version: String,
    /// The uid that the object must have; empty for any.
    pub uid: String,
}

/// What the creation of an object needs.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// The server's wall clock, in microseconds.
    pub now_us: u64,
    /// Random numbers for its uid.
    pub random: [u64; 2],
}

/// A change of an object, for watches.
#[derive(Clone, Debug)]
pub struct Event {
    /// The version of the write.
    pub version: u64,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub kind: &'static str,
    pub key: Key,
    /// The object after the change or, if deleted, before it.
    pub lease: Lease,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    version: u64,
    leases: BTreeMap<Key, Lease>,
    /// All events ever; nothing is compacted.
    events: Vec<Event>,
}

impl Model {
    pub const fn version(&self) -> u64 {
        self.version
    }

    pub fn get(&self, key: &Key) -> Option<&Lease> {
        self.leases.get(key)
    }

    /// The Leases of a namespace, sorted by name.
    pub fn list<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a Key, &'a Lease)> {
        self.leases.iter().filter(move |(key, _)| key.0 == namespace)
    }

    /// The events after `version`.
    pub fn after(&self, version: u64) -> &[Event] {
        let first = self.events.partition_point(|event| event.version <= version);
        &self.events[first..]
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The object exists, is invalid, or names a version.
    pub fn create(
        &mut self,
        key: Key,
        meta: &Meta,
        spec: Spec,
        manager: &str,
        making: Making,
    ) -> Result<Lease, Status> {
        valid(&key.1, &spec, "Lease")?;
        if !meta.resource_version.is_empty() && meta.resource_version != "0" {
            return Err(Status::internal("resourceVersion should not be set on objects to be created"));
        }
        if self.leases.contains_key(&key) {
            return Err(Status::already_exists(&key.1));
        }
        let mut owners = Owners::default();
        owners.update(manager, None, &fields(&spec));
        Ok(self.make(key, spec, owners, making))
    }

    fn make(&mut self, key: Key, spec: Spec, owners: Owners, making: Making) -> Lease {
        let lease = Lease { uid: uid(making.random), version: 0, created_us: making.now_us, spec, owners };
        self.put(key, lease, "ADDED")
    }

    /// Replaces or creates an object; returns whether it was created.
    ///
    /// # Errors
    /// The object is invalid, or another write was first.
    pub fn update(
        &mut self,
        key: Key,
        meta: &Meta,
        spec: Spec,
        manager: &str,
        making: Making,
    ) -> Result<(bool, Lease), Status> {
        let old = self.get(&key).map(|old| fields(&old.spec));
        let mut owners = self.get(&key).map(|old| old.owners.clone()).unwrap_or_default();
        let is_meant = |old: &Lease| meta.uid.is_empty() || meta.uid == old.uid;
        if self.get(&key).is_some_and(is_meant) && matches!(meta.resource_version.as_str(), "" | "0") {
            return Err(Status::version_needed(&key.1));
        }
        owners.update(manager, old.as_ref(), &fields(&spec));
        self.replace(key, meta, spec, owners, making)
    }

    /// Replaces or creates an object, of any version if the metadata names none.
    pub(super) fn replace(
        &mut self,
        key: Key,
        meta: &Meta,
        spec: Spec,
        owners: Owners,
        making: Making,
    ) -> Result<(bool, Lease), Status> {
        let named = match meta.resource_version.as_str() {
            "" => 0,
            text => text.parse::<u64>().map_err(|_| Status::unparsed(text))?,
        };
        let Some(old) = self.leases.get(&key).cloned() else {
            if !meta.uid.is_empty() {
                return Err(Status::uid_differs(&key, &meta.uid, ""));
            }
            valid(&key.1, &spec, "Lease")?;
            protocols::mark!("apiserver: an update makes an object that there is not");
            return Ok((true, self.make(key, spec, owners, making)));
        };
        if !meta.uid.is_empty() && meta.uid != old.uid {
            return Err(Status::uid_differs(&key, &meta.uid, &old.uid));
        }
        if named != 0 && named != old.version {
            protocols::mark!("apiserver: an update names a version that is not the object's");
            return Err(Status::modified(&key.1));
        }
        valid(&key.1, &spec, "Lease")?;
        if spec == old.spec && owners == old.owners {
            return Ok((false, old));
        }
        Ok((false, self.put(key, Lease { spec, owners, ..old }, "MODIFIED")))
    }

    /// Deletes an object and returns its uid.
    ///
    /// # Errors
    /// The object does not exist.
    pub fn delete(&mut self, key: &Key) -> Result<String, Status> {
        let Some(lease) = self.leases.remove(key) else { return Err(Status::not_found(&key.1)) };
        self.version += 1;
        let (version, uid) = (self.version, lease.uid.clone());
        let lease = Lease { version, ..lease };
        self.events.push(Event { version, kind: "DELETED", key: key.clone(), lease });
        Ok(uid)
    }

    fn put(&mut self, key: Key, lease: Lease, kind: &'static str) -> Lease {
        self.version += 1;
        let lease = Lease { version: self.version, ..lease };
        self.events.push(Event { version: self.version, kind, key: key.clone(), lease: lease.clone() });
        self.leases.insert(key, lease.clone());
        lease
    }

    fn key(group: u16) -> Key {
        (NAMESPACE.to_owned(), name_of(group))
    }

    /// The holder of a group's leadership, which is the last name written: the server itself never ends a lease.
    pub fn holder(&self, group: u16) -> Option<Holder> {
        let spec = &self.leases.get(&Model::key(group))?.spec;
        let (name, _) = spec.holder_identity.as_ref()?.rsplit_once('_')?;
        let transitions = u32::try_from(spec.lease_transitions.unwrap_or(0)).unwrap_or(0);
        Some(Holder { name: name.to_owned(), token: token(transitions), until: None })
    }

    /// The holder of a Lease, `namespace/name`, by its own name for itself.
    pub fn holder_of(&self, lease: &str) -> Option<Holder> {
        let (namespace, name) = lease.split_once('/').unwrap_or(("default", lease));
        let lease = self.leases.get(&(namespace.to_owned(), name.to_owned()))?;
        let name = lease.spec.holder_identity.clone().filter(|name| !name.is_empty())?;
        Some(Holder { name, token: 0, until: None })
    }

    /// Deletes the object that makes a candidate leader of a group, like an operator.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16) {
        if self.holder(group).is_some_and(|holder| holder.name == candidate) {
            // The object exists: it was just looked up.
            let _ = self.delete(&Model::key(group));
        }
    }
}

/// An object as the server shows it.
pub fn shown(key: &Key, lease: &Lease) -> Value {
    let made = micro_time::written(lease.created_us);
    // Object timestamps have whole seconds.
    let made = format!("{}Z", made.split('.').next().unwrap_or_default());
    json!({
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": key.1,
            "namespace": key.0,
            "uid": lease.uid,
            "resourceVersion": lease.version.to_string(),
            "creationTimestamp": made,
        },
        "spec": lease.spec,
    })
}

/// Parses an object's `spec`; times are converted to UTC.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn spec(value: Option<&Value>) -> Result<Spec, String> {
    let empty = Value::Object(Map::new());
    let value = value.filter(|value| !value.is_null()).unwrap_or(&empty);
    let mut spec = Spec::deserialize(value).map_err(|why| why.to_string())?;
    for (name, time) in [("AcquireTime", &mut spec.acquire_time), ("RenewTime", &mut spec.renew_time)] {
        if let Some(text) = time {
            let six =
                text.split_once('.').is_some_and(|(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count() == 6);
            let us = micro_time::read(text).filter(|_| six);
            let us = us.ok_or_else(|| format!("v1.LeaseSpec.{name}: {text:?} is no MicroTime"))?;
            *text = micro_time::written(us);
        }
    }
    Ok(spec)
}

/// Validates a Lease; refusals call it `kind`.
fn valid(name: &str, spec: &Spec, kind: &'static str) -> Result<(), Status> {
    let mut causes = Vec::new();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if !is_subdomain(name) {
        causes.push(Cause::invalid("metadata.name", &format!("{name:?}"), SUBDOMAIN));
    }
    if let Some(seconds) = spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
        causes.push(Cause::invalid("spec.leaseDurationSeconds", &seconds.to_string(), "must be greater than 0"));
    }
    if let Some(count) = spec.lease_transitions.filter(|count| *count < 0) {
        // Kubernetes' own words.
        causes.push(Cause::invalid("spec.leaseTransitions", &count.to_string(), "must to greater or equal than 0"));
    }
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(name, kind, causes)) }
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                         is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn is_subdomain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let (first, last) = (label.bytes().next(), label.bytes().last());
        first.is_some_and(plain) && last.is_some_and(plain) && label.bytes().all(|byte| plain(byte) || byte == b'-')
    };
    name.split('.').all(label)
}

fn uid([high, low]: [u64; 2]) -> String {
    // UUID version 4.
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{:04x}-{:012x}", low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff)
}
