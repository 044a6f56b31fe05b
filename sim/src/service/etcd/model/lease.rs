//! Leases (`server/lease/lessor.go`).

use super::{Error, Model};
use etcd_client::proto::{
    PbDeleteRequest, PbLeaseGrantRequest, PbLeaseGrantResponse, PbLeaseKeepAliveResponse, PbLeaseLeasesResponse,
    PbLeaseRevokeRequest, PbLeaseRevokeResponse, PbLeaseStatus, PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse,
};
use protocols::types::{MILLISECOND, SECOND};
use std::collections::BTreeSet;

/// The shortest time to live granted, in seconds: one and a half election timeouts of 1 s, rounded up.
pub const MIN_TTL_S: i64 = 2;
/// The longest time to live, in seconds.
pub const MAX_TTL_S: i64 = 9_000_000_000;
/// The interval of scans for expired leases, in nanoseconds.
pub const EXPIRY_SCAN: u64 = 500 * MILLISECOND;
/// What a new leader adds to every lease: an election timeout, in nanoseconds.
pub const PROMOTION: u64 = SECOND;
/// The start of ids that the store chooses. Real ones also have the member's id in their high bytes.
const FIRST_ID: i64 = 0x694d_9aa2_5c1b_0000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lease {
    /// The granted time to live, in seconds.
    ttl_s: i64,
    /// On the member's monotonic clock.
    expiry: u64,
    keys: BTreeSet<Vec<u8>>,
}

impl Lease {
    fn refresh(&mut self, from: u64) {
        self.expiry = from.saturating_add((self.ttl_s as u64).saturating_mul(SECOND));
    }
}

/// The result of a keepalive.
#[derive(Clone, PartialEq, Debug)]
pub enum Renewal {
    /// Answered: the full time to live again, or 0 if the lease does not exist.
    Answered(PbLeaseKeepAliveResponse),
    /// The lease has expired but is not yet revoked: the answer waits for that. Ask again after the next scan.
    Expired,
}

impl Model {
    /// Grants a lease with the requested id, or one that the store chooses.
    ///
    /// # Errors
    /// The id is taken, or the time to live is too long.
    pub fn lease_grant(&mut self, now: u64, request: &PbLeaseGrantRequest) -> Result<PbLeaseGrantResponse, Error> {
        let mut id = request.id;
        while id == 0 || (request.id == 0 && self.leases.contains_key(&id)) {
            self.granted += 1;
            id = FIRST_ID + self.granted;
        }
        if request.ttl > MAX_TTL_S {
            return Err(Error::LeaseTtlTooLarge);
        }
        if self.leases.contains_key(&id) {
            return Err(Error::LeaseExists);
        }
        let mut lease = Lease { ttl_s: request.ttl.max(MIN_TTL_S), expiry: 0, keys: BTreeSet::new() };
        lease.refresh(now);
        let ttl = lease.ttl_s;
        self.leases.insert(id, lease);
        Ok(PbLeaseGrantResponse { header: self.header_now(), id, ttl, error: String::new() })
    }

    /// Ends a lease and deletes its keys, in order, at one revision.
    ///
    /// # Errors
    /// The lease does not exist.
    pub fn lease_revoke(&mut self, request: &PbLeaseRevokeRequest) -> Result<PbLeaseRevokeResponse, Error> {
        let lease = self.leases.remove(&request.id).ok_or(Error::LeaseNotFound)?;
        let mut changes = self.begin();
        for key in lease.keys {
            self.delete(&PbDeleteRequest { key, ..PbDeleteRequest::default() }, &mut changes);
        }
        self.commit(changes);
        Ok(PbLeaseRevokeResponse { header: self.header_now() })
    }

    pub fn lease_keep_alive(&mut self, now: u64, id: i64) -> Renewal {
        let header = self.header_now();
        let ttl = match self.leases.get_mut(&id) {
            Some(lease) if lease.expiry <= now => return Renewal::Expired,
            Some(lease) => {
                lease.refresh(now);
                lease.ttl_s
            }
            None => 0,
        };
        if ttl == 0 {
            protocols::mark!("etcd server: a keepalive for a lease that there is not");
        }
        Renewal::Answered(PbLeaseKeepAliveResponse { header, id, ttl })
    }

    /// The remaining time of a lease, in whole seconds; −1 if it does not exist.
    pub fn lease_time_to_live(&self, now: u64, request: &PbLeaseTimeToLiveRequest) -> PbLeaseTimeToLiveResponse {
        let (header, id) = (self.header_now(), request.id);
        let Some(lease) = self.leases.get(&id) else {
            return PbLeaseTimeToLiveResponse { header, id, ttl: -1, ..PbLeaseTimeToLiveResponse::default() };
        };
        let ttl = (lease.expiry.saturating_sub(now) / SECOND) as i64;
        let keys = if request.keys { lease.keys.iter().cloned().collect() } else { Vec::new() };
        PbLeaseTimeToLiveResponse { header, id, ttl, granted_ttl: lease.ttl_s, keys }
    }

    /// All leases, by time of expiry.
    pub fn lease_leases(&self) -> PbLeaseLeasesResponse {
        let leases = self.by_expiry(u64::MAX).into_iter().map(|id| PbLeaseStatus { id }).collect();
        PbLeaseLeasesResponse { header: self.header_now(), leases }
    }

    /// Scans for expired leases, and revokes each at its own revision. etcd scans every [`EXPIRY_SCAN`].
    pub fn expire_leases(&mut self, now: u64) {
        for id in self.by_expiry(now) {
            protocols::mark!("etcd server: a lease expires");
            // The id exists: it came from the table.
            let _ = self.lease_revoke(&PbLeaseRevokeRequest { id });
        }
    }

    /// Expired leases that are to be revoked.
    pub fn expired(&self, now: u64) -> Vec<i64> {
        self.by_expiry(now)
    }

    /// Leases that expire by `until`, in order.
    fn by_expiry(&self, until: u64) -> Vec<i64> {
        let mut due: Vec<(u64, i64)> = self.leases.iter().map(|(id, lease)| (lease.expiry, *id)).collect();
        due.retain(|(expiry, _)| *expiry <= until);
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn extend_leases(&mut self, now: u64) {
        self.leases.values_mut().for_each(|lease| lease.refresh(now.saturating_add(PROMOTION)));
    }

    pub(super) fn attach(&mut self, key: &[u8], lease: i64) {
        if let Some(lease) = self.leases.get_mut(&lease) {
            lease.keys.insert(key.to_vec());
        }
    }

    pub(super) fn detach(&mut self, key: &[u8], lease: i64) {
        if let Some(lease) = self.leases.get_mut(&lease) {
            lease.keys.remove(key);
        }
    }
}
