//! The checks of etcd's model.

use crate::service::etcd::model as etcd;
use etcd_client::proto::{
    PbDeleteRequest, PbLeaseGrantRequest, PbLeaseRevokeRequest, PbLeaseTimeToLiveRequest, PbPutRequest, PbRangeRequest,
};
use protocols::types::SECOND;

pub(super) fn drill() {
    leases();
    keys_of_leases();
}

/// `server/lease/lessor.go`: at least two seconds; a keepalive restarts the whole time unless it has ended; a new
/// leader adds an election timeout.
fn leases() {
    for (asked, granted) in [(1, 2), (2, 2), (7, 7)] {
        let mut model = etcd::Model::new();
        let request = PbLeaseGrantRequest { ttl: asked, id: 0 };
        let lease = model.lease_grant(0, &request).expect("it can be granted");
        assert_eq!(lease.ttl, granted, "etcd: a lease of {asked} s");
        let end = granted as u64 * SECOND;
        assert!(model.expired(end - 1).is_empty(), "etcd: a lease of {asked} s ends too early");
        assert_eq!(model.expired(end), [lease.id], "etcd: a lease of {asked} s has not ended in time");
        let renewal = model.lease_keep_alive(end, lease.id);
        assert_eq!(renewal, etcd::Renewal::Expired, "etcd: a keepalive at the end of a lease of {asked} s");
        assert_ne!(model.lease_keep_alive(end - 1, lease.id), etcd::Renewal::Expired, "etcd: and one before it");
        assert!(model.expired(2 * end - 2).is_empty(), "etcd: a keepalive begins less than the whole time anew");
        assert_eq!(model.expired(2 * end - 1), [lease.id], "etcd: a keepalive begins more than the whole time anew");
        let left = PbLeaseTimeToLiveRequest { id: lease.id, keys: false };
        assert_eq!(model.lease_time_to_live(end - 1, &left).ttl, granted, "etcd: what is left of a lease of {asked} s");
        model.promote(10 * SECOND);
        let end = (10 + 1 + granted as u64) * SECOND;
        assert!(model.expired(end - 1).is_empty(), "etcd: a new leader adds less than an election timeout");
        assert_eq!(model.expired(end), [lease.id], "etcd: a new leader adds more than an election timeout");
    }
}

/// A key recreated on another lease, deleted meanwhile or not, stays when the first lease ends.
fn keys_of_leases() {
    for deleted in [true, false] {
        let mut model = etcd::Model::new();
        let mut lease = || model.lease_grant(0, &PbLeaseGrantRequest { ttl: 5, id: 0 }).expect("it can be granted").id;
        let leases = [lease(), lease()];
        let key = || b"election".to_vec();
        for lease in leases {
            if deleted {
                model.delete_range(&PbDeleteRequest { key: key(), ..PbDeleteRequest::default() }).expect("it may go");
            }
            let request = PbPutRequest { key: key(), lease, ..PbPutRequest::default() };
            model.put(&request).expect("it can be put");
        }
        model.lease_revoke(&PbLeaseRevokeRequest { id: leases[0] }).expect("it is there");
        let range = model.range(&PbRangeRequest { key: key(), ..PbRangeRequest::default() }).expect("it can be read");
        assert_eq!(
            range.count, 1,
            "etcd: a key went with a lease that it was no longer on (deleted between: {deleted})"
        );
    }
}
