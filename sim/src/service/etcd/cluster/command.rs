//! Log entries: requests in their own encoding, with a kind, and with a number by which the proposer finds the answer.

use super::super::model::{Error, Model};
use crate::service::cluster::message::{Reader, Writer};
use etcd_client::proto::{
    PbCompactionRequest, PbCompactionResponse, PbDeleteRequest, PbDeleteResponse, PbLeaseGrantRequest,
    PbLeaseGrantResponse, PbLeaseRevokeRequest, PbLeaseRevokeResponse, PbPutRequest, PbPutResponse, PbTxnRequest,
    PbTxnResponse,
};
use prost::Message;
use protocols::history::GrantEnd;
use std::any::Any;

/// A request that changes the store.
pub(super) trait Command: Message + Default {
    /// Its kind in the log.
    const KIND: u8;
    type Answer: Send + 'static;
    /// Executes it at time `now` of the lessor's clock.
    fn apply(&self, model: &mut Model, now: u64) -> Result<Self::Answer, Error>;
}

macro_rules! commands {
    ($($kind:literal $request:ident $answer:ident |$model:ident, $now:ident, $self:ident| $does:expr;)*) => {
        $(impl Command for $request {
            const KIND: u8 = $kind;
            type Answer = $answer;
            fn apply(&self, $model: &mut Model, $now: u64) -> Result<$answer, Error> {
                let $self = self;
                $does
            }
        })*

        /// Executes an entry; returns its number, how a leadership that it ends has ended, and the answer, a
        /// `Result<Answer, Error>`.
        pub(super) fn apply(model: &mut Model, now: u64, data: &[u8]) -> Option<(u64, GrantEnd, Box<dyn Any + Send>)> {
            let mut data = Reader(data);
            let (kind, number, why) = (data.byte()?, data.number()?, data.why()?);
            let body = data.bytes()?;
            let answer: Box<dyn Any + Send> = match kind {
                $($kind => Box::new($request::decode(body).ok()?.apply(model, now)),)*
                _ => return None,
            };
            Some((number, why, answer))
        }
    };
}

commands! {
    0 PbPutRequest PbPutResponse |model, _now, request| model.put(request);
    1 PbDeleteRequest PbDeleteResponse |model, _now, request| model.delete_range(request);
    2 PbTxnRequest PbTxnResponse |model, _now, request| model.txn(request);
    3 PbCompactionRequest PbCompactionResponse |model, _now, request| model.compact(request);
    4 PbLeaseGrantRequest PbLeaseGrantResponse |model, now, request| model.lease_grant(now, request);
    5 PbLeaseRevokeRequest PbLeaseRevokeResponse |model, _now, request| model.lease_revoke(request);
}

/// Encodes a request as an entry.
pub(super) fn entry<C: Command>(number: u64, why: GrantEnd, request: &C) -> Vec<u8> {
    let mut data = Writer::default();
    data.byte(C::KIND).number(number).why(why).bytes(&request.encode_to_vec());
    data.0
}
