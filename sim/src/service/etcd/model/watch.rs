//! Watches (`server/storage/mvcc/watchable_store.go`, `watcher.go`, `v3rpc/watch.go`). A watcher that asks for history
//! is *unsynced* until the next resynchronisation brings it up to date; a synced one receives every revision at once.

use super::{
    Error, Model, in_range,
    kv::{DELETE, PUT, revision_of},
};
use etcd_client::proto::{PbEvent, PbWatchRequest, PbWatchRequestUnion, PbWatchResponse};
use protocols::types::MILLISECOND;
use std::collections::BTreeMap;

/// The interval at which unsynced watchers are brought up to date, in nanoseconds.
pub const RESYNC: u64 = 100 * MILLISECOND;
/// The most revisions in one response of a resynchronisation.
const BATCH_REVISIONS: usize = 1_000;
/// The watch id of responses that concern no watcher.
const NO_WATCHER: i64 = -1;

/// A watch stream of the member's process.
pub type StreamId = u64;

/// A client's request for a watch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WatchCreate {
    /// The first key; empty is the smallest possible key.
    pub key: Vec<u8>,
    /// The end of the range, as in reads.
    pub range_end: Vec<u8>,
    /// The first revision to send; 0 is the next one.
    pub start_revision: i64,
    /// Omit puts.
    pub no_put: bool,
    /// Omit deletions.
    pub no_delete: bool,
    /// Send the key's previous value.
    pub prev_kv: bool,
    /// The id on its stream; 0 lets the server choose.
    pub watch_id: i64,
}

#[derive(Clone, Debug)]
struct Watcher {
    wants: WatchCreate,
    /// The first revision not yet sent.
    next: i64,
    synced: bool,
}

impl Watcher {
    fn matches(&self, event: &PbEvent) -> bool {
        let key = event.kv.as_ref().map_or(&[] as &[u8], |kv| &kv.key);
        revision_of(event) >= self.next && in_range(key, &self.wants.key, &self.wants.range_end)
    }

    /// Whether the client wants events of this kind.
    fn wants(&self, event: &PbEvent) -> bool {
        !(event.r#type == PUT && self.wants.no_put || event.r#type == DELETE && self.wants.no_delete)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    next_id: i64,
    watchers: BTreeMap<i64, Watcher>,
}

impl Model {
    /// Opens a stream.
    pub fn watch_open(&mut self) -> StreamId {
        self.opened += 1;
        self.streams.insert(self.opened, Stream::default());
        self.opened
    }

    /// Closes a stream and its watchers.
    pub fn watch_close(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// Handles a client's request on a stream.
    pub fn watch_request(&mut self, stream: StreamId, request: PbWatchRequest) {
        match request.request_union {
            Some(PbWatchRequestUnion::CreateRequest(create)) => {
                let wants = WatchCreate {
                    no_put: create.filters.contains(&0),
                    no_delete: create.filters.contains(&1),
                    key: create.key,
                    range_end: create.range_end,
                    start_revision: create.start_revision,
                    prev_kv: create.prev_kv,
                    watch_id: create.watch_id,
                };
                self.watch_create(stream, wants);
            }
            Some(PbWatchRequestUnion::CancelRequest(cancel)) => self.watch_cancel(stream, cancel.watch_id),
            Some(PbWatchRequestUnion::ProgressRequest(_)) => self.watch_progress(stream),
            None => {}
        }
    }

    /// Starts a watcher; the response has `created`, and also `canceled` if it is refused.
    pub fn watch_create(&mut self, stream: StreamId, mut wants: WatchCreate) {
        let revision = self.revision;
        let Some(open) = self.streams.get_mut(&stream) else { return };
        if wants.key.is_empty() {
            wants.key = vec![0];
        }
        let refused = match &wants {
            w if w.start_revision < 0 => Some(Error::Compacted.words().1),
            w if !matches!(w.range_end.as_slice(), [] | [0]) && w.key >= w.range_end => {
                Some("mvcc: watcher range is empty")
            }
            w if w.watch_id != 0 && open.watchers.contains_key(&w.watch_id) => {
                Some("mvcc: duplicate watch ID provided on the WatchStream")
            }
            _ => None,
        };
        let watch_id = match (refused, wants.watch_id) {
            (Some(_), _) => NO_WATCHER,
            (None, 0) => {
                while open.watchers.contains_key(&open.next_id) {
                    open.next_id += 1;
                }
                open.next_id += 1;
                open.next_id - 1
            }
            (None, chosen) => chosen,
        };
        if refused.is_none() {
            let synced = wants.start_revision == 0 || wants.start_revision > revision;
            let next = if wants.start_revision == 0 { revision + 1 } else { wants.start_revision };
            open.watchers.insert(watch_id, Watcher { wants, next, synced });
        }
        let response = PbWatchResponse {
            watch_id,
            created: true,
            canceled: refused.is_some(),
            cancel_reason: refused.unwrap_or_default().to_string(),
            ..PbWatchResponse::default()
        };
        self.respond(stream, revision, response);
    }

    /// Ends a watcher; sends nothing if the id is unknown.
    pub fn watch_cancel(&mut self, stream: StreamId, watch_id: i64) {
        let known = self.streams.get_mut(&stream).and_then(|open| open.watchers.remove(&watch_id));
        if known.is_some() {
            protocols::mark!("etcd server: a watch is cancelled");
            let response = PbWatchResponse { watch_id, canceled: true, ..PbWatchResponse::default() };
            self.respond(stream, self.revision, response);
        }
    }

    /// Answers how far the stream's watchers are; sends nothing unless all of them are up to date.
    pub fn watch_progress(&mut self, stream: StreamId) {
        let revision = self.revision;
        let Some(open) = self.streams.get(&stream) else { return };
        let current = |w: &Watcher| w.synced && revision >= w.wants.start_revision;
        if !open.watchers.is_empty() && open.watchers.values().all(current) {
            let response = PbWatchResponse { watch_id: NO_WATCHER, ..PbWatchResponse::default() };
            self.respond(stream, revision, response);
        }
    }

    /// Brings unsynced watchers up to date, or cancels them if their history is compacted. etcd does so every
    /// [`RESYNC`].
    pub fn watch_sync(&mut self) {
        let (revision, compacted) = (self.revision, self.compacted);
        let mut responses = Vec::new();
        for (&stream, open) in &mut self.streams {
            let mut lost = Vec::new();
            for (&watch_id, watcher) in open.watchers.iter_mut().filter(|(_, watcher)| !watcher.synced) {
                if watcher.next < compacted {
                    lost.push(watch_id);
                    let compact_revision = compacted;
                    let canceled = PbWatchResponse { watch_id, compact_revision, canceled: true, ..Default::default() };
                    responses.push((stream, 0, canceled));
                    continue;
                }
                let batch = batch(&self.log, watcher);
                protocols::mark!("etcd server: a watch starts in the past");
                let rest = batch.last().map_or(0, revision_of);
                let more = self.log.iter().find(|e| revision_of(e) > rest && watcher.matches(e));
                match more.filter(|_| !batch.is_empty()) {
                    Some(event) => watcher.next = revision_of(event),
                    None => (watcher.next, watcher.synced) = (revision + 1, true),
                }
                let events: Vec<PbEvent> = batch.into_iter().filter(|event| watcher.wants(event)).collect();
                if !events.is_empty() {
                    responses.push((stream, revision, PbWatchResponse { watch_id, events, ..Default::default() }));
                }
            }
            lost.iter().for_each(|watch_id| drop(open.watchers.remove(watch_id)));
        }
        for (stream, revision, response) in responses {
            self.respond_with_events(stream, revision, response);
        }
    }

    /// Whether [`Model::watch_sync`] has anything to do.
    pub fn watch_unsynced(&self) -> bool {
        self.streams.values().flat_map(|open| open.watchers.values()).any(|watcher| !watcher.synced)
    }

    /// Sends a new revision to synced watchers, in one response each.
    pub(super) fn notify(&mut self, events: &[PbEvent]) {
        let revision = self.revision;
        let mut responses = Vec::new();
        for (&stream, open) in &mut self.streams {
            for (&watch_id, watcher) in open.watchers.iter_mut().filter(|(_, watcher)| watcher.synced) {
                let matching = events.iter().filter(|event| watcher.matches(event) && watcher.wants(event));
                let events: Vec<PbEvent> = matching.cloned().collect();
                watcher.next = watcher.next.max(revision + 1);
                if !events.is_empty() {
                    responses.push((stream, PbWatchResponse { watch_id, events, ..Default::default() }));
                }
            }
        }
        for (stream, response) in responses {
            self.respond_with_events(stream, revision, response);
        }
    }

    fn respond(&mut self, stream: StreamId, revision: i64, mut response: PbWatchResponse) {
        response.header = self.header(revision);
        self.outbox.push((stream, response));
    }

    fn respond_with_events(&mut self, stream: StreamId, revision: i64, mut response: PbWatchResponse) {
        let watcher = self.streams.get(&stream).and_then(|open| open.watchers.get(&response.watch_id));
        if watcher.is_some_and(|watcher| watcher.wants.prev_kv) {
            for event in &mut response.events {
                let Some(kv) = event.kv.as_ref().filter(|kv| !(event.r#type == PUT && kv.version == 1)) else {
                    continue;
                };
                let (key, before) = (kv.key.clone(), kv.mod_revision - 1);
                event.prev_kv = self.key_at(&key, before);
            }
        }
        self.respond(stream, revision, response);
    }
}

/// The events not yet sent to a watcher, up to [`BATCH_REVISIONS`] revisions.
fn batch(log: &[PbEvent], watcher: &Watcher) -> Vec<PbEvent> {
    let (mut events, mut revisions, mut last) = (Vec::new(), 0, 0);
    for event in log.iter().filter(|event| watcher.matches(event)) {
        if revision_of(event) > last {
            (last, revisions) = (revision_of(event), revisions + 1);
        }
        if revisions > BATCH_REVISIONS {
            break;
        }
        events.push(event.clone());
    }
    events
}
