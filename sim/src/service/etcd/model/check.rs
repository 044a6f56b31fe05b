//! Checks that the API server makes before it reads the store (`v3rpc/key.go`: `checkRangeRequest` … `checkIntervals`).

use super::Error;
use etcd_client::proto::{PbDeleteRequest, PbPutRequest, PbRangeRequest, PbTxnOpRequest, PbTxnRequest, PbTxnRequestOp};
use std::collections::BTreeSet;

/// `--max-txn-ops`.
const MAX_TXN_OPS: usize = 128;

pub(super) fn range(request: &PbRangeRequest) -> Result<(), Error> {
    if request.key.is_empty() {
        return Err(Error::EmptyKey);
    }
    // Such a target crashes 3.4 and 3.5; later versions refuse it. An unknown order counts as none.
    if !(0..=4).contains(&request.sort_target) {
        return Err(Error::InvalidSortOption);
    }
    Ok(())
}

pub(super) fn put(request: &PbPutRequest) -> Result<(), Error> {
    match request {
        r if r.key.is_empty() => Err(Error::EmptyKey),
        r if r.ignore_value && !r.value.is_empty() => Err(Error::ValueProvided),
        r if r.ignore_lease && r.lease != 0 => Err(Error::LeaseProvided),
        _ => Ok(()),
    }
}

pub(super) fn delete(request: &PbDeleteRequest) -> Result<(), Error> {
    if request.key.is_empty() { Err(Error::EmptyKey) } else { Ok(()) }
}

pub(super) fn txn(request: &PbTxnRequest) -> Result<(), Error> {
    operations(request, MAX_TXN_OPS)?;
    Writes::of(&request.success)?;
    Writes::of(&request.failure)?;
    Ok(())
}

fn operations(request: &PbTxnRequest, room: usize) -> Result<(), Error> {
    let size = request.compare.len().max(request.success.len()).max(request.failure.len());
    let room = room.checked_sub(size).ok_or(Error::TooManyOps)?;
    if request.compare.iter().any(|compare| compare.key.is_empty()) {
        return Err(Error::EmptyKey);
    }
    for operation in request.success.iter().chain(&request.failure) {
        match &operation.request {
            Some(PbTxnOpRequest::RequestRange(r)) => range(r)?,
            Some(PbTxnOpRequest::RequestPut(r)) => put(r)?,
            Some(PbTxnOpRequest::RequestDeleteRange(r)) => delete(r)?,
            Some(PbTxnOpRequest::RequestTxn(r)) => operations(r, room)?,
            None => return Err(Error::KeyNotFound),
        }
    }
    Ok(())
}

/// The keys that a list of operations writes.
#[derive(Default)]
struct Writes {
    puts: BTreeSet<Vec<u8>>,
    deletes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Writes {
    /// Refuses a key that is put twice, or put and deleted. Two branches of an inner transaction may put the same key.
    fn of(operations: &[PbTxnRequestOp]) -> Result<Writes, Error> {
        let mut writes = Writes::default();
        for operation in operations {
            if let Some(PbTxnOpRequest::RequestDeleteRange(delete)) = &operation.request {
                writes.deletes.push((delete.key.clone(), delete.range_end.clone()));
            }
        }
        for operation in operations {
            let Some(PbTxnOpRequest::RequestTxn(inner)) = &operation.request else { continue };
            let (then, otherwise) = (Writes::of(&inner.success)?, Writes::of(&inner.failure)?);
            for key in &then.puts {
                writes.put(key)?;
            }
            for key in otherwise.puts.iter().filter(|key| !then.puts.contains(*key)) {
                writes.put(key)?;
            }
            writes.deletes.extend(then.deletes);
            writes.deletes.extend(otherwise.deletes);
        }
        for operation in operations {
            if let Some(PbTxnOpRequest::RequestPut(put)) = &operation.request {
                writes.put(&put.key)?;
            }
        }
        Ok(writes)
    }

    fn put(&mut self, key: &[u8]) -> Result<(), Error> {
        // etcd's check does not know that a range end of one zero byte means "to the end": here, such a range contains
        // no key, and a put may occur together with its deletion.
        let within = |start: &[u8], end: &[u8]| if end.is_empty() { key == start } else { start <= key && key < end };
        let deleted = self.deletes.iter().any(|(start, end)| within(start, end));
        if deleted || !self.puts.insert(key.to_vec()) { Err(Error::DuplicateKey) } else { Ok(()) }
    }
}
