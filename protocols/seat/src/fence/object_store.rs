//! S3, and other stores of objects that put on a condition, by the crate `object_store`.

mod head;

pub use head::without_head;

use super::{
    FenceError,
    common::{begin, refused},
};
use crate::lead::{Fenced, Lead};
use bytes::Bytes;
use head::{Head, LONGEST};
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion, path::Path,
};
use protocols_clients::env::Env;
use std::future::Future;

/// Fenced objects.
///
/// Each object is a resource of its own. Its first line says who has written it, and readers [skip it](without_head). A
/// put has the condition that the object is still the one whose first line was compared. Why a line of the object and
/// not its metadata: S3's ETag is often a digest of the content, so it would be the same after a newer leader has
/// written the same content.
///
/// Only puts fence: an older leader can write an object that no newer one has written. Let a leader begin with the
/// object that counts. Never delete a fenced object, nor put it without a fence: both forget who has written it. Put an
/// empty one instead.
///
/// What this does not promise: that a put happens once. After an error of the connection it may have happened, and the
/// crate's clients try again by themselves.
///
/// The store must have conditional puts, as S3, Google Cloud Storage and Azure have; a local file system has not, and
/// some stores that are like S3 do as if there were no condition.
pub trait FencedObjects {
    /// Puts an object whose content does not depend on what it was, unless a newer leader has.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of the store.
    fn put_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        payload: PutPayload,
    ) -> impl Future<Output = Result<PutResult, FenceError<Error>>> + Send;

    /// Replaces an object by what `change` makes of its content, unless a newer leader has; of `None` if there is no
    /// object. It is called again if somebody has written in between, so that no accepted write is lost.
    ///
    /// # Errors
    /// As for [`FencedObjects::put_fenced`].
    fn update_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        change: impl FnMut(Option<Bytes>) -> PutPayload + Send,
    ) -> impl Future<Output = Result<PutResult, FenceError<Error>>> + Send;
}

impl<S: ObjectStore + ?Sized> FencedObjects for S {
    async fn put_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        payload: PutPayload,
    ) -> Result<PutResult, FenceError<Error>> {
        // An empty object has no such range.
        let start = Some(GetRange::Bounded(0..LONGEST));
        replace(self, lead, path, start, |_| payload.clone()).await
    }

    async fn update_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        mut change: impl FnMut(Option<Bytes>) -> PutPayload + Send,
    ) -> Result<PutResult, FenceError<Error>> {
        let rest = |content: Bytes| content.slice(content.len() - without_head(&content).len()..);
        replace(self, lead, path, None, |found| change(found.map(rest))).await
    }
}

/// An object, or the start of it.
struct Found {
    content: Bytes,
    version: UpdateVersion,
}

async fn replace<S: ObjectStore + ?Sized>(
    store: &S,
    lead: &Lead<Fenced>,
    path: &Path,
    range: Option<GetRange>,
    mut payload: impl FnMut(Option<Bytes>) -> PutPayload + Send,
) -> Result<PutResult, FenceError<Error>> {
    // Known by it, if the store's client has tried again what had happened already.
    let mine = Head { token: lead.token(), holder: lead.holder.to_string(), put: lead.state.env.random() };
    let mut before: Option<(Option<UpdateVersion>, Error)> = None;
    loop {
        begin(lead)?;
        let found = found(store, path, range.clone()).await.map_err(FenceError::Write)?;
        let version = found.as_ref().map(|found| found.version.clone());
        if let Some(found) = &found {
            match Head::read(&found.content).map_err(FenceError::Write)? {
                Some(head) if head == mine => return Ok(put_before(found)),
                Some(head) if head.is_newer_than(&mine) => return refused(lead),
                _ => {}
            }
        }
        // Refused although nobody has written: it will not change.
        match before.take() {
            Some((unchanged, error)) if unchanged == version => return Err(FenceError::Write(error)),
            _ => {}
        }
        let mode = version.clone().map_or(PutMode::Create, PutMode::Update);
        let body = payload(found.map(|found| found.content));
        let whole: PutPayload = std::iter::once(mine.line().into()).chain(body).collect();
        begin(lead)?;
        match store.put_opts(path, whole, PutOptions { mode, ..PutOptions::default() }).await {
            // Somebody has written in between: who?
            Err(error @ (Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. })) => {
                before = Some((version, error));
            }
            done => return done.map_err(FenceError::Write),
        }
    }
}

fn put_before(found: &Found) -> PutResult {
    let UpdateVersion { e_tag, version } = found.version.clone();
    PutResult { e_tag, version, extensions: Default::default() }
}

async fn found<S: ObjectStore + ?Sized>(
    store: &S,
    path: &Path,
    range: Option<GetRange>,
) -> Result<Option<Found>, Error> {
    let ranged = range.is_some();
    match store.get_opts(path, GetOptions { range, ..GetOptions::default() }).await {
        Ok(found) => {
            let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok(Some(Found { content: found.bytes().await?, version }))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        // An empty object has no such range.
        Err(error) if ranged => match store.head(path).await {
            Ok(empty) if empty.size == 0 => {
                let version = UpdateVersion { e_tag: empty.e_tag, version: empty.version };
                Ok(Some(Found { content: Bytes::new(), version }))
            }
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}
