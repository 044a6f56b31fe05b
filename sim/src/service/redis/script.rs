//! The scripts that this server can run: those of [`protocols::service::redis`], recognised by their text.

use protocols::service::redis::{ACQUIRE_FENCED, COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, HAND_OVER, LOCK};
use std::sync::LazyLock;

/// A known script, in the order of [`Known::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Known {
    CompareAndPexpire,
    CompareAndDelete,
    AcquireFenced,
    Lock,
    HandOver,
}

impl Known {
    const ALL: [Known; 5] =
        [Known::CompareAndPexpire, Known::CompareAndDelete, Known::AcquireFenced, Known::Lock, Known::HandOver];

    const fn text(self) -> &'static str {
        match self {
            Known::CompareAndPexpire => COMPARE_AND_PEXPIRE,
            Known::CompareAndDelete => COMPARE_AND_DELETE,
            Known::AcquireFenced => ACQUIRE_FENCED,
            Known::Lock => LOCK,
            Known::HandOver => HAND_OVER,
        }
    }

    /// The script's SHA-1 digest, which is its name in Redis.
    pub(super) fn digest(self) -> &'static str {
        // Cached, since every call by digest needs it.
        static DIGESTS: LazyLock<[String; Known::ALL.len()]> =
            LazyLock::new(|| Known::ALL.map(|script| sha1_smol::Sha1::from(script.text()).digest().to_string()));
        &DIGESTS[self as usize]
    }

    pub(super) fn by_text(text: &[u8]) -> Result<Known, String> {
        Known::ALL.into_iter().find(|script| script.text().as_bytes() == text).ok_or_else(|| {
            "ERR this simulated Redis runs only the scripts of protocols/src/service/redis.rs; not this one".into()
        })
    }

    /// Digests are case-insensitive.
    pub(super) fn by_digest(digest: &[u8]) -> Option<Known> {
        Known::ALL.into_iter().find(|script| script.digest().as_bytes().eq_ignore_ascii_case(digest))
    }
}
