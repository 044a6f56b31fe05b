//! Lease expiry: the leader knows it, all members ask.

use super::{
    super::model::{EXPIRY_SCAN, Renewal},
    replica::{Server, lock, unavailable},
};
use crate::{
    service::cluster::{
        member::PATIENCE,
        message::{Reader, Writer},
    },
    world::env::SimEnv,
};
use etcd_client::proto::{PbLeaseRevokeRequest, PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse};
use prost::Message;
use protocols::{
    history::GrantEnd,
    types::{MICROSECOND, MILLISECOND, SECOND},
};
use protocols_clients::env::Env;
use std::sync::Arc;
use tonic::Status;

/// When the revocation of an expired lease is retried (`defaultExpiredleaseRetryInterval`), in nanoseconds.
const REVOKE_AGAIN: u64 = 3 * SECOND;
/// The interval between attempts to reach the leader, in nanoseconds.
const FORWARD_AGAIN: u64 = 50 * MILLISECOND;

/// A revocation takes this long to reach Raft, or no time at all, in nanoseconds.
const GOROUTINES: u64 = 50 * MICROSECOND;

const RENEW: u8 = 0;
const TIME_TO_LIVE: u8 = 1;

/// The result of a keepalive at this member's lessor.
enum Renewed {
    /// The time to live in seconds; 0 if the lease does not exist.
    For(i64),
    /// Another member's lessor must answer.
    NotPrimary,
}

impl Server {
    /// Scans for expired leases while the process runs.
    pub(super) fn start(self: &Arc<Self>) -> Vec<<SimEnv as Env>::Task> {
        vec![self.env.spawn(self.clone().expire()), self.env.spawn(self.clone().resync())]
    }

    async fn expire(self: Arc<Self>) {
        self.env.sleep(self.env.random() % EXPIRY_SCAN).await;
        loop {
            if self.replica.is_primary() {
                let due = self.due(self.env.now().mono);
                if !due.is_empty() {
                    self.env.spawn_detached(self.clone().revoke(due));
                }
            }
            self.env.sleep(EXPIRY_SCAN).await;
        }
    }

    /// Expired leases that are not yet being revoked.
    fn due(&self, now: u64) -> Vec<i64> {
        let expired = lock(&self.replica.model).expired(now);
        let mut again_at = lock(&self.again_at);
        again_at.retain(|id, _| expired.contains(id));
        let due: Vec<i64> = expired.into_iter().filter(|id| again_at.get(id).is_none_or(|at| *at <= now)).collect();
        again_at.extend(due.iter().map(|id| (*id, now + REVOKE_AGAIN)));
        due
    }

    async fn revoke(self: Arc<Self>, leases: Vec<i64>) {
        if !self.trusts_itself && !self.ensure_leadership().await {
            return;
        }
        // Revocations pass through several goroutines between lessor and Raft. A process that wakes may learn of the
        // next leader first, and then forwards to it what it wanted to propose itself.
        if self.env.random() & 1 == 0 {
            self.env.sleep(GOROUTINES).await;
        }
        for id in leases {
            let server = self.clone();
            self.env.spawn_detached(async move {
                // It will be retried, unless another member was faster.
                let _ = server.write_ending(GrantEnd::Expired, &PbLeaseRevokeRequest { id }).await;
            });
        }
    }

    /// Brings watches that need history up to date.
    async fn resync(self: Arc<Self>) {
        loop {
            self.env.sleep(super::super::model::RESYNC).await;
            if lock(&self.replica.model).watch_unsynced() {
                self.replica.with(|model| model.watch_sync());
            }
        }
    }

    async fn renew_here(&self, id: i64) -> Renewed {
        loop {
            let changed = self.replica.changed.notified();
            if !self.replica.is_primary() {
                return Renewed::NotPrimary;
            }
            match lock(&self.replica.model).lease_keep_alive(self.env.now().mono, id) {
                Renewal::Answered(answer) => return Renewed::For(answer.ttl),
                // Waits until the lease is revoked, or another lessor takes over.
                Renewal::Expired => {}
            }
            changed.await;
        }
    }

    /// Renews a lease; returns its time to live in seconds, or 0 if it does not exist.
    pub(super) async fn renew(&self, id: i64) -> Result<i64, Status> {
        if self.member.leads() {
            if !self.trusts_itself && !self.ensure_leadership().await {
                return Err(Status::unknown("not a primary lessor"));
            }
            if let Renewed::For(ttl) = self.renew_here(id).await {
                return Ok(ttl);
            }
        }
        let mut question = Writer::default();
        question.byte(RENEW).number(id.cast_unsigned());
        let answer = self.ask_leader(question.0).await?;
        Reader(&answer).number().map(u64::cast_signed).ok_or_else(|| unavailable("request timed out"))
    }

    /// The remaining time of a lease.
    pub(super) async fn time_to_live(
        &self,
        request: &PbLeaseTimeToLiveRequest,
    ) -> Result<PbLeaseTimeToLiveResponse, Status> {
        if self.member.leads() {
            return Ok(lock(&self.replica.model).lease_time_to_live(self.env.now().mono, request));
        }
        let mut question = Writer::default();
        question.byte(TIME_TO_LIVE).bytes(&request.encode_to_vec());
        let answer = self.ask_leader(question.0).await?;
        PbLeaseTimeToLiveResponse::decode(&answer[..]).map_err(|_| unavailable("request timed out"))
    }

    /// Asks the leader until it answers.
    async fn ask_leader(&self, question: Vec<u8>) -> Result<Vec<u8>, Status> {
        let until = self.env.now().mono + PATIENCE;
        loop {
            let left = until.saturating_sub(self.env.now().mono);
            let Some(leader) = self.member.wait_leader(left).await else { return Err(unavailable("no leader")) };
            let answer = match leader == self.member.own {
                true => self.answer(question.clone()).await,
                false => self.env.timeout(left, self.member.ask(leader, question.clone())).await.flatten(),
            };
            if let Some(answer) = answer {
                return Ok(answer);
            }
            if self.env.now().mono >= until {
                return Err(unavailable("request timed out"));
            }
            self.env.sleep(FORWARD_AGAIN).await;
        }
    }

    /// Answers another member, if this member's lessor is the primary.
    pub(super) async fn answer(&self, question: Vec<u8>) -> Option<Vec<u8>> {
        let mut question = Reader(&question);
        match question.byte()? {
            RENEW => {
                let Renewed::For(ttl) = self.renew_here(question.number()?.cast_signed()).await else { return None };
                let mut answer = Writer::default();
                answer.number(ttl.cast_unsigned());
                Some(answer.0)
            }
            TIME_TO_LIVE if self.replica.is_primary() => {
                let request = PbLeaseTimeToLiveRequest::decode(question.bytes()?).ok()?;
                Some(lock(&self.replica.model).lease_time_to_live(self.env.now().mono, &request).encode_to_vec())
            }
            _ => None,
        }
    }
}
