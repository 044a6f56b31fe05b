//! Transactions. All comparisons, including those of inner transactions, see the store as it was before; then
//! everything that could fail is checked; then the chosen branches are executed, at one revision.

use super::{Error, Model, bare_header, check, in_range, kv::Changes};
use etcd_client::proto::{
    PbCompare, PbKeyValue, PbResponseOp, PbTargetUnion, PbTxnOpRequest, PbTxnOpResponse, PbTxnRequest, PbTxnRequestOp,
    PbTxnResponse,
};
use std::cmp::Ordering;

/// A transaction whose branch has been chosen.
struct Chosen<'a> {
    succeeded: bool,
    operations: Vec<Operation<'a>>,
}

enum Operation<'a> {
    Plain(&'a PbTxnOpRequest),
    Inner(Chosen<'a>),
}

impl Model {
    /// # Errors
    /// Any error that one of its operations would cause: in either branch if the request alone shows it, in the chosen
    /// branch if it depends on the store. Also too many operations, or a key written twice.
    pub fn txn(&mut self, request: &PbTxnRequest) -> Result<PbTxnResponse, Error> {
        check::txn(request)?;
        let chosen = self.choose(request);
        if !chosen.succeeded {
            protocols::mark!("etcd server: a transaction takes its other branch");
        }
        // All puts are checked before all reads, wherever they stand (`apply.go: checkRequests`).
        self.check_chosen(&chosen, true)?;
        self.check_chosen(&chosen, false)?;
        let mut changes = self.begin();
        let mut answer = self.execute(&chosen, &mut changes);
        self.commit(changes);
        answer.header = self.header_now();
        Ok(answer)
    }

    fn choose<'a>(&self, request: &'a PbTxnRequest) -> Chosen<'a> {
        let succeeded = request.compare.iter().all(|compare| self.holds(compare));
        let branch: &[PbTxnRequestOp] = if succeeded { &request.success } else { &request.failure };
        let operations = branch.iter().filter_map(|operation| operation.request.as_ref());
        let operations = operations.map(|operation| match operation {
            PbTxnOpRequest::RequestTxn(inner) => Operation::Inner(self.choose(inner)),
            plain => Operation::Plain(plain),
        });
        Chosen { succeeded, operations: operations.collect() }
    }

    fn check_chosen(&self, chosen: &Chosen, puts: bool) -> Result<(), Error> {
        chosen.operations.iter().try_for_each(|operation| match operation {
            Operation::Inner(inner) => self.check_chosen(inner, puts),
            // In the reverse order of a separate put (`checkRequestPut` against `Put`).
            Operation::Plain(PbTxnOpRequest::RequestPut(r)) if puts => {
                self.check_kept(r).and_then(|()| self.check_lease(r))
            }
            Operation::Plain(PbTxnOpRequest::RequestRange(r)) if !puts => {
                self.check_revision(r.revision, self.revision)
            }
            Operation::Plain(_) => Ok(()),
        })
    }

    fn execute(&mut self, chosen: &Chosen, changes: &mut Changes) -> PbTxnResponse {
        let mut responses = Vec::with_capacity(chosen.operations.len());
        for operation in &chosen.operations {
            let response = match operation {
                Operation::Inner(inner) => PbTxnOpResponse::ResponseTxn(self.execute(inner, changes)),
                Operation::Plain(PbTxnOpRequest::RequestRange(r)) => {
                    // It was checked, so the read cannot be refused.
                    PbTxnOpResponse::ResponseRange(self.read(r, changes.revision()).unwrap_or_default())
                }
                Operation::Plain(PbTxnOpRequest::RequestPut(r)) => PbTxnOpResponse::ResponsePut(self.write(r, changes)),
                Operation::Plain(PbTxnOpRequest::RequestDeleteRange(r)) => {
                    PbTxnOpResponse::ResponseDeleteRange(self.delete(r, changes))
                }
                Operation::Plain(PbTxnOpRequest::RequestTxn(_)) => continue,
            };
            responses.push(PbResponseOp { response: Some(response) });
        }
        PbTxnResponse { header: bare_header(0), succeeded: chosen.succeeded, responses }
    }

    /// Whether a comparison holds for every key of its range. Without a key, a comparison of values fails; others see
    /// zeroes.
    fn holds(&self, compare: &PbCompare) -> bool {
        let keys = self.keys.range(compare.key.clone()..);
        let mut keys = keys.take_while(|(key, _)| in_range(key, &compare.key, &compare.range_end)).peekable();
        if keys.peek().is_none() {
            return compare.target != TARGET_VALUE && holds_for(compare, &PbKeyValue::default());
        }
        keys.all(|(_, kv)| holds_for(compare, kv))
    }
}

const TARGET_VALUE: i32 = 3;

fn holds_for(compare: &PbCompare, kv: &PbKeyValue) -> bool {
    // The target says what to compare; a value of another kind counts as zero.
    let number = |actual: i64, wanted: Option<i64>| actual.cmp(&wanted.unwrap_or(0));
    let union = compare.target_union.as_ref();
    let order = match (compare.target, union) {
        (0, Some(PbTargetUnion::Version(wanted))) => number(kv.version, Some(*wanted)),
        (0, _) => number(kv.version, None),
        (1, Some(PbTargetUnion::CreateRevision(wanted))) => number(kv.create_revision, Some(*wanted)),
        (1, _) => number(kv.create_revision, None),
        (2, Some(PbTargetUnion::ModRevision(wanted))) => number(kv.mod_revision, Some(*wanted)),
        (2, _) => number(kv.mod_revision, None),
        (TARGET_VALUE, Some(PbTargetUnion::Value(wanted))) => kv.value.cmp(wanted),
        (TARGET_VALUE, _) => kv.value.as_slice().cmp(&[]),
        (4, Some(PbTargetUnion::Lease(wanted))) => number(kv.lease, Some(*wanted)),
        (4, _) => number(kv.lease, None),
        _ => Ordering::Equal,
    };
    match compare.result {
        0 => order.is_eq(),
        1 => order.is_gt(),
        2 => order.is_lt(),
        3 => order.is_ne(),
        _ => true,
    }
}
