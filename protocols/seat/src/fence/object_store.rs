//! S3, and other stores of objects that put on a condition, by the crate `object_store`.

use super::{FenceError, begin, refused};
use crate::lead::{Fenced, Lead};
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion, path::Path,
};
use std::future::Future;

/// How an object begins: then come the token, the holder, and the end of the line.
const HEAD: &str = "fencepost 1 ";
/// No head is longer, bytes.
const LONGEST: usize = 256;

/// Fenced objects.
pub trait FencedObjects {
    /// Replaces an object, unless a newer leader has. Each object is a resource of its own. Its first line says who has
    /// written it, and readers [skip it](without_head); the rest is `payload`. The put has the condition that the object
    /// is still the one whose first line was compared.
    ///
    /// Why a line of the object and not its metadata: S3's ETag is often a digest of the content, so it would be the
    /// same after a newer leader has written the same content.
    ///
    /// Only puts of new leaders fence: an older leader can write an object that no newer one has written. Let a leader
    /// begin with the object that counts.
    ///
    /// What it does not promise: that a put happens once. After an error of the connection it may have happened; put
    /// the same again.
    ///
    /// The store must have conditional puts, as S3, Google Cloud Storage and Azure have; a local file system has not.
    /// An object without such a line counts as older than all leaders.
    ///
    /// # Errors
    /// A leadership that is over, a refused token, and the errors of the store.
    fn put_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        payload: PutPayload,
    ) -> impl Future<Output = Result<PutResult, FenceError<Error>>> + Send;
}

impl<S: ObjectStore + ?Sized> FencedObjects for S {
    async fn put_fenced(
        &self,
        lead: &Lead<Fenced>,
        path: &Path,
        payload: PutPayload,
    ) -> Result<PutResult, FenceError<Error>> {
        let head = format!("{HEAD}{} {}\n", lead.token(), lead.holder);
        let whole: PutPayload = std::iter::once(head.into_bytes().into()).chain(payload).collect();
        loop {
            begin(lead)?;
            let mode = match found(self, path).await.map_err(FenceError::Write)? {
                None => PutMode::Create,
                Some((writer, version)) => {
                    if writer.is_some_and(|writer| writer.is_newer_than(lead)) {
                        return refused(lead);
                    }
                    PutMode::Update(version)
                }
            };
            begin(lead)?;
            let options = PutOptions { mode, ..PutOptions::default() };
            match self.put_opts(path, whole.clone(), options).await {
                // Somebody has written in between: who?
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) => {}
                done => return done.map_err(FenceError::Write),
            }
        }
    }
}

/// What was put into a fenced object, of what it contains; all of it, if it was not written by a leader.
pub fn without_head(content: &[u8]) -> &[u8] {
    match content.iter().position(|byte| *byte == b'\n') {
        Some(end) if content.starts_with(HEAD.as_bytes()) => content.get(end + 1..).unwrap_or_default(),
        _ => content,
    }
}

/// Who has written an object.
#[derive(PartialEq, Eq, Debug)]
struct Writer {
    token: u64,
    holder: String,
}

impl Writer {
    fn read(content: &[u8]) -> Result<Option<Writer>, Error> {
        let Some(rest) = content.strip_prefix(HEAD.as_bytes()) else { return Ok(None) };
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let words = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '));
        let writer = words.and_then(|(token, holder)| Some((token.parse().ok()?, holder.to_owned())));
        let wrong = || Error::Generic { store: "fencepost", source: "an object's first line is damaged".into() };
        writer.map(|(token, holder)| Some(Writer { token, holder })).ok_or_else(wrong)
    }

    fn is_newer_than(&self, lead: &Lead<Fenced>) -> bool {
        self.token > lead.token() || self.token == lead.token() && *self.holder != *lead.holder
    }
}

/// Who has written the object, if a leader has, and which version of it that is.
async fn found<S: ObjectStore + ?Sized>(
    store: &S,
    path: &Path,
) -> Result<Option<(Option<Writer>, UpdateVersion)>, Error> {
    let range = Some(GetRange::Bounded(0..LONGEST as u64));
    match store.get_opts(path, GetOptions { range, ..GetOptions::default() }).await {
        Ok(found) => {
            let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok(Some((Writer::read(&found.bytes().await?)?, version)))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        // An empty object has no such range.
        Err(error) => match store.head(path).await {
            Ok(empty) if empty.size == 0 => {
                Ok(Some((None, UpdateVersion { e_tag: empty.e_tag, version: empty.version })))
            }
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_and_skipped() {
        let written = b"fencepost 1 7 host-1/00ab\nline\nline";
        let writer = Writer { token: 7, holder: "host-1/00ab".into() };
        assert_eq!(Writer::read(written).expect("a head"), Some(writer));
        assert_eq!(without_head(written), b"line\nline");
        for foreign in [&b""[..], b"fencepost", b"line\nfencepost 1 7 x\n"] {
            assert_eq!(Writer::read(foreign).expect("no head"), None);
            assert_eq!(without_head(foreign), foreign);
        }
        for damaged in [&b"fencepost 1 "[..], b"fencepost 1 x host\n", b"fencepost 1 7\n", b"fencepost 1 7 \xff\n"] {
            assert!(Writer::read(damaged).is_err());
        }
    }
}
