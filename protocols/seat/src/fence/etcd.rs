//! etcd: transactions that happen only while this leader's token is the resource's.

use super::{
    FenceError,
    common::{begin, of_resource, refused, sortable},
};
use crate::lead::{Fenced, Lead};
use etcd_client::{Compare, CompareOp, Error, KvClient, Txn, TxnOp, TxnOpResponse, TxnResponse};
use std::future::Future;

/// Fenced transactions.
pub trait FencedKv {
    /// Carries out `txn` unless a newer leader has sealed `resource`, of which the key `fence/RESOURCE` tells. The fence
    /// and the transaction are one transaction of etcd, so nothing comes between them; the answer is that of `txn`,
    /// except that its header has no revision, as etcd gives none to a transaction within another.
    ///
    /// Never delete that key: a former leader could write again. It serves every seat, whatever service that stands on. A leader's first write takes two requests more.
    ///
    /// What it does not promise: that a write happens once. For that there is [`FencedKv::fenced_once`].
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of etcd. After an error of the connection the
    /// transaction may have happened.
    fn fenced(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        txn: Txn,
    ) -> impl Future<Output = Result<TxnResponse, FenceError<Error>>> + Send;

    /// The same, unless `request` is done: then there is `None`. It is done once `txn` has been carried out, whether its
    /// own comparisons held or not. The key `done/RESOURCE/REQUEST` says so, until you delete it.
    ///
    /// # Errors
    /// As for [`FencedKv::fenced`]. After an error of the connection, ask again.
    fn fenced_once(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        txn: Txn,
    ) -> impl Future<Output = Result<Option<TxnResponse>, FenceError<Error>>> + Send;
}

impl FencedKv for KvClient {
    async fn fenced(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        txn: Txn,
    ) -> Result<TxnResponse, FenceError<Error>> {
        let key = format!("fence/{resource}");
        let token = sortable(lead.token());
        let mine = format!("{token} {}", lead.holder);
        loop {
            begin(lead)?;
            let fenced = Txn::new()
                .when([Compare::value(key.clone(), CompareOp::Equal, mine.clone())])
                .and_then([TxnOp::txn(txn.clone())])
                .or_else([TxnOp::get(key.clone(), None)]);
            let answer = self.txn(fenced).await.map_err(FenceError::Write)?;
            let unchanged = match answer.op_responses().into_iter().next() {
                Some(TxnOpResponse::Txn(answer)) => return Ok(answer),
                Some(TxnOpResponse::Get(got)) => match got.kvs().first() {
                    // The other has this token too, or a higher one.
                    Some(other) if other.value() >= token.as_bytes() => return refused(lead),
                    Some(older) => Compare::mod_revision(key.clone(), CompareOp::Equal, older.mod_revision()),
                    None => Compare::create_revision(key.clone(), CompareOp::Equal, 0),
                },
                _ => return Err(odd()),
            };
            begin(lead)?;
            let seal = Txn::new().when([unchanged]).and_then([TxnOp::put(key.clone(), mine.clone(), None)]);
            // Whether it has succeeded or another leader was faster: the next round sees it.
            self.txn(seal).await.map_err(FenceError::Write)?;
        }
    }

    async fn fenced_once(
        &mut self,
        lead: &Lead<Fenced>,
        resource: &str,
        request: &str,
        txn: Txn,
    ) -> Result<Option<TxnResponse>, FenceError<Error>> {
        let key = format!("done/{}", of_resource(resource, request));
        let once = Txn::new()
            .when([Compare::create_revision(key.clone(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(key, &*lead.holder, None), TxnOp::txn(txn)]);
        let answer = self.fenced(lead, resource, once).await?;
        if !answer.succeeded() {
            return Ok(None);
        }
        match answer.op_responses().into_iter().nth(1) {
            Some(TxnOpResponse::Txn(answer)) => Ok(Some(answer)),
            _ => Err(odd()),
        }
    }
}

fn odd() -> FenceError<Error> {
    FenceError::Write(Error::InvalidArgs("etcd's answer is not one to the request".into()))
}
