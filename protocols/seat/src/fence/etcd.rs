//! etcd: transactions that happen only while this leader's token is the resource's.

use super::{
    FenceError,
    common::{begin, refused, sortable},
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
    /// What it does not promise: that a write happens once. For that, let `txn` compare the create revision of a
    /// request's key with 0, and put it: an answer that has not succeeded says that the request was done.
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
                _ => {
                    return Err(FenceError::Write(Error::InvalidArgs(
                        "etcd's answer is not one to the request".into(),
                    )));
                }
            };
            begin(lead)?;
            let seal = Txn::new().when([unchanged]).and_then([TxnOp::put(key.clone(), mine.clone(), None)]);
            // Whether it has succeeded or another leader was faster: the next round sees it.
            self.txn(seal).await.map_err(FenceError::Write)?;
        }
    }
}
