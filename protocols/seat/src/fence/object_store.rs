//! S3, and other stores of objects that put on a condition, by the crate `object_store`.

mod head;

pub use head::without_head;

use super::{
    FenceError,
    common::{begin, refused},
};
use crate::lead::{Fenced, Lead};
use bytes::Bytes;
use head::{Head, LONGEST, word};
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion, path::Path,
};
use protocols_clients::env::Env;
use std::{future::Future, num::NonZeroUsize};

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
/// What a put does not promise: that it happens once. After an error of the connection it may have happened, and the
/// crate's clients try again by themselves. For that there is [`FencedObjects::update_fenced_once`].
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

    /// The same, unless `request` is done: then there is `None`. Whoever leads, and however often it asks, one change of
    /// this object has this name: the object's first line has the names of those that are done, so both are one put.
    ///
    /// It has the last `keep` of them, this one included. A name is known until `keep` other requests of this object are
    /// done; after that its request is done again. Each makes the object longer by its name and two bytes, of which those
    /// that are no visible ASCII count threefold, and all of it is read and put each time.
    ///
    /// What this does not promise: anything beyond this object. What `change` does besides may be done again.
    ///
    /// # Errors
    /// As for [`FencedObjects::put_fenced`]. After an error of the connection, ask again.
    fn update_fenced_once(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        request: &str,
        keep: NonZeroUsize,
        change: impl FnMut(Option<Bytes>) -> PutPayload + Send,
    ) -> impl Future<Output = Result<Option<PutResult>, FenceError<Error>>> + Send;
}

/// A request that is made once.
struct Once {
    word: String,
    keep: NonZeroUsize,
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
        sure(replace(self, lead, path, start, None, |_| payload.clone()).await)
    }

    async fn update_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        mut change: impl FnMut(Option<Bytes>) -> PutPayload + Send,
    ) -> Result<PutResult, FenceError<Error>> {
        sure(replace(self, lead, path, None, None, |found| change(found.map(rest))).await)
    }

    async fn update_fenced_once(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        request: &str,
        keep: NonZeroUsize,
        mut change: impl FnMut(Option<Bytes>) -> PutPayload + Send,
    ) -> Result<Option<PutResult>, FenceError<Error>> {
        let once = Once { word: word(request), keep };
        replace(self, lead, path, None, Some(once), |found| change(found.map(rest))).await
    }
}

/// An object's content without its first line.
fn rest(content: Bytes) -> Bytes {
    content.slice(content.len() - without_head(&content).len()..)
}

/// Of a put whose request has no name, so that it is never done.
fn sure(put: Result<Option<PutResult>, FenceError<Error>>) -> Result<PutResult, FenceError<Error>> {
    let odd = || Error::Generic { store: "fencepost", source: "a put without a name was done".into() };
    put?.ok_or_else(|| FenceError::Write(odd()))
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
    once: Option<Once>,
    mut payload: impl FnMut(Option<Bytes>) -> PutPayload + Send,
) -> Result<Option<PutResult>, FenceError<Error>> {
    // Known by it, if the store's client has tried again what had happened already.
    let put = lead.state.env.random();
    let mut mine = Head { token: lead.token(), holder: lead.holder.to_string(), put, done: Vec::new() };
    let mut before: Option<(Option<UpdateVersion>, Error)> = None;
    loop {
        begin(lead)?;
        let found = found(store, path, range.clone()).await.map_err(FenceError::Write)?;
        let version = found.as_ref().map(|found| found.version.clone());
        mine.done.clear();
        if let Some(found) = &found
            && let Some(head) = Head::read(&found.content).map_err(FenceError::Write)?
        {
            if head.is_of_put(&mine) {
                return Ok(Some(put_before(found)));
            }
            if head.is_newer_than(&mine) {
                return refused(lead);
            }
            if once.as_ref().is_some_and(|once| head.done.contains(&once.word)) {
                return Ok(None);
            }
            // Whoever puts, with a name or without, leaves them there.
            mine.done = head.done;
        }
        if let Some(once) = &once {
            mine.done.push(once.word.clone());
            mine.done.drain(..mine.done.len().saturating_sub(once.keep.get()));
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
            put => return put.map(Some).map_err(FenceError::Write),
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
            let content = found.bytes().await?;
            match ranged && Head::is_cut_off(&content) {
                true => Box::pin(self::found(store, path, None)).await,
                false => Ok(Some(Found { content, version })),
            }
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
