//! Keys and their history: range, put, delete, compact.

use super::{Error, Keys, Model, bare_header, check, in_range};
use etcd_client::proto::{
    PbCompactionRequest, PbCompactionResponse, PbDeleteRequest, PbDeleteResponse, PbEvent, PbKeyValue, PbPutRequest,
    PbPutResponse, PbRangeRequest, PbRangeResponse,
};
use std::borrow::Cow;

/// `mvccpb.Event.EventType`.
pub(super) const PUT: i32 = 0;
/// `mvccpb.Event.EventType`.
pub(super) const DELETE: i32 = 1;

/// The writes of one transaction, all at one revision.
#[derive(Debug)]
pub(super) struct Changes {
    /// The store's revision before the transaction.
    begin: i64,
    events: Vec<PbEvent>,
}

impl Changes {
    /// The store's revision as seen within the transaction.
    pub(super) fn revision(&self) -> i64 {
        self.begin + i64::from(!self.events.is_empty())
    }
}

fn apply(keys: &mut Keys, event: &PbEvent) {
    let Some(kv) = &event.kv else { return };
    if event.r#type == DELETE {
        keys.remove(&kv.key);
    } else {
        keys.insert(kv.key.clone(), kv.clone());
    }
}

pub(super) fn revision_of(event: &PbEvent) -> i64 {
    event.kv.as_ref().map_or(0, |kv| kv.mod_revision)
}

/// Whether `revision` lies within the bounds of a range; 0 means no bound.
fn within(revision: i64, min: i64, max: i64) -> bool {
    (min == 0 || revision >= min) && (max == 0 || revision <= max)
}

impl Model {
    ///
    /// # Errors
    /// The key is empty, the sort target is unknown, or the revision is compacted or in the future.
    pub fn range(&self, request: &PbRangeRequest) -> Result<PbRangeResponse, Error> {
        check::range(request)?;
        let mut answer = self.read(request, self.revision)?;
        answer.header = self.header_now();
        Ok(answer)
    }

    /// Refuses a revision that cannot be read when the store is at `current`.
    pub(super) fn check_revision(&self, revision: i64, current: i64) -> Result<(), Error> {
        match revision {
            r if r > current => Err(Error::FutureRevision),
            r if r > 0 && r < self.compacted => Err(Error::Compacted),
            _ => Ok(()),
        }
    }

    /// The keys at a readable revision; 0 or less means `current`, the revision of `keys`.
    fn keys_at(&self, revision: i64, current: i64) -> Cow<'_, Keys> {
        if revision <= 0 || revision >= current {
            return Cow::Borrowed(&self.keys);
        }
        let mut keys = self.base.clone();
        let seen = self.log.iter().take_while(|e| revision_of(e) <= revision);
        seen.filter(|e| revision_of(e) > self.compacted).for_each(|event| apply(&mut keys, event));
        Cow::Owned(keys)
    }

    /// A key as of a revision, if that is still known.
    pub(super) fn key_at(&self, key: &[u8], revision: i64) -> Option<PbKeyValue> {
        if self.check_revision(revision, self.revision).is_err() {
            return None;
        }
        self.keys_at(revision, self.revision).get(key).cloned()
    }

    pub(super) fn read(&self, request: &PbRangeRequest, current: i64) -> Result<PbRangeResponse, Error> {
        self.check_revision(request.revision, current)?;
        let keys = self.keys_at(request.revision, current);
        let mut kvs: Vec<PbKeyValue> = keys
            .range(request.key.clone()..)
            .take_while(|(key, _)| in_range(key, &request.key, &request.range_end))
            .map(|(_, kv)| kv.clone())
            .collect();
        let (header, count) = (bare_header(current), kvs.len() as i64);
        if request.count_only {
            return Ok(PbRangeResponse { header, count, ..PbRangeResponse::default() });
        }
        let r = request;
        let bounded = [r.min_mod_revision, r.max_mod_revision, r.min_create_revision, r.max_create_revision] != [0; 4];
        let limit = usize::try_from(r.limit).ok().filter(|limit| *limit > 0);
        // Without an order, the limit (plus one, to detect more) applies before sorting by target.
        let by_key = r.sort_order == 0 || (r.sort_target == 0 && r.sort_order == 1);
        if let (Some(limit), true, false) = (limit, by_key, bounded) {
            kvs.truncate(limit.saturating_add(1));
        }
        kvs.retain(|kv| {
            within(kv.mod_revision, r.min_mod_revision, r.max_mod_revision)
                && within(kv.create_revision, r.min_create_revision, r.max_create_revision)
        });
        sort(&mut kvs, r.sort_target, r.sort_order);
        let more = limit.is_some_and(|limit| kvs.len() > limit);
        kvs.truncate(limit.unwrap_or(usize::MAX));
        if r.keys_only {
            kvs.iter_mut().for_each(|kv| kv.value.clear());
        }
        Ok(PbRangeResponse { header, kvs, more, count })
    }

    ///
    /// # Errors
    /// The key is empty, the lease is unknown, or `ignore_*` is combined with a value or a lease, or needs a key that
    /// does not exist.
    pub fn put(&mut self, request: &PbPutRequest) -> Result<PbPutResponse, Error> {
        check::put(request)?;
        self.check_lease(request)?;
        self.check_kept(request)?;
        let mut changes = self.begin();
        let mut answer = self.write(request, &mut changes);
        self.commit(changes);
        answer.header = self.header_now();
        Ok(answer)
    }

    ///
    /// # Errors
    /// The key is empty.
    pub fn delete_range(&mut self, request: &PbDeleteRequest) -> Result<PbDeleteResponse, Error> {
        check::delete(request)?;
        let mut changes = self.begin();
        let mut answer = self.delete(request, &mut changes);
        self.commit(changes);
        answer.header = self.header_now();
        Ok(answer)
    }

    /// Forgets the history before a revision.
    ///
    /// # Errors
    /// The revision is already compacted, or in the future.
    pub fn compact(&mut self, request: &PbCompactionRequest) -> Result<PbCompactionResponse, Error> {
        let revision = request.revision;
        if revision <= self.compacted {
            return Err(Error::Compacted);
        }
        if revision > self.revision {
            return Err(Error::FutureRevision);
        }
        if revision > 0 {
            self.base = self.keys_at(revision, self.revision).into_owned();
        }
        // Changes at exactly that revision can still be watched.
        self.log.retain(|event| revision_of(event) >= revision);
        self.compacted = revision;
        Ok(PbCompactionResponse { header: self.header_now() })
    }

    /// Checks that the lease of a put exists.
    pub(super) fn check_lease(&self, request: &PbPutRequest) -> Result<(), Error> {
        if request.lease != 0 && !self.leases.contains_key(&request.lease) {
            return Err(Error::LeaseNotFound);
        }
        Ok(())
    }

    /// Checks that a put that keeps value or lease has a key to keep them from.
    pub(super) fn check_kept(&self, request: &PbPutRequest) -> Result<(), Error> {
        if (request.ignore_value || request.ignore_lease) && !self.keys.contains_key(&request.key) {
            return Err(Error::KeyNotFound);
        }
        Ok(())
    }

    pub(super) fn begin(&self) -> Changes {
        Changes { begin: self.revision, events: Vec::new() }
    }

    /// Puts a key as part of a transaction; the request has been checked.
    pub(super) fn write(&mut self, request: &PbPutRequest, changes: &mut Changes) -> PbPutResponse {
        let revision = changes.begin + 1;
        let old = self.keys.get(&request.key).cloned();
        let kept = old.clone().unwrap_or_default();
        let kv = PbKeyValue {
            key: request.key.clone(),
            value: if request.ignore_value { kept.value } else { request.value.clone() },
            lease: if request.ignore_lease { kept.lease } else { request.lease },
            create_revision: old.as_ref().map_or(revision, |old| old.create_revision),
            mod_revision: revision,
            version: kept.version + 1,
        };
        self.detach(&kv.key, kept.lease);
        self.attach(&kv.key, kv.lease);
        self.change(PbEvent { r#type: PUT, kv: Some(kv), prev_kv: None }, changes);
        PbPutResponse { header: bare_header(revision), prev_kv: old.filter(|_| request.prev_kv) }
    }

    /// Deletes keys as part of a transaction.
    pub(super) fn delete(&mut self, request: &PbDeleteRequest, changes: &mut Changes) -> PbDeleteResponse {
        let doomed: Vec<PbKeyValue> = self
            .keys
            .range(request.key.clone()..)
            .take_while(|(key, _)| in_range(key, &request.key, &request.range_end))
            .map(|(_, kv)| kv.clone())
            .collect();
        for kv in &doomed {
            self.detach(&kv.key, kv.lease);
            let mod_revision = changes.begin + 1;
            let gone = PbKeyValue { key: kv.key.clone(), mod_revision, ..PbKeyValue::default() };
            self.change(PbEvent { r#type: DELETE, kv: Some(gone), prev_kv: None }, changes);
        }
        let deleted = doomed.len() as i64;
        let prev_kvs = if request.prev_kv { doomed } else { Vec::new() };
        PbDeleteResponse { header: bare_header(changes.revision()), deleted, prev_kvs }
    }

    fn change(&mut self, event: PbEvent, changes: &mut Changes) {
        apply(&mut self.keys, &event);
        changes.events.push(event);
    }

    /// Commits the changes as a revision, and tells the watches.
    pub(super) fn commit(&mut self, changes: Changes) {
        if changes.events.is_empty() {
            return;
        }
        self.revision = changes.begin + 1;
        self.log.extend_from_slice(&changes.events);
        self.notify(&changes.events);
    }
}

/// Sorts by one of etcd's targets. No order means ascending for every target except the key, and an unknown order
/// changes nothing. Equal elements stay in key order, even if descending (`sort.Sort(sort.Reverse(…))` over a list in
/// key order; Go does not promise that, but elections sort by values that are never equal).
fn sort(kvs: &mut [PbKeyValue], target: i32, order: i32) {
    let compare = |a: &PbKeyValue, b: &PbKeyValue| match target {
        1 => a.version.cmp(&b.version),
        2 => a.create_revision.cmp(&b.create_revision),
        3 => a.mod_revision.cmp(&b.mod_revision),
        4 => a.value.cmp(&b.value),
        _ => a.key.cmp(&b.key),
    };
    match order {
        0 | 1 => kvs.sort_by(compare),
        2 => kvs.sort_by(|a, b| compare(b, a)),
        _ => {}
    }
}
