//! A node's actions as `tracing` spans: a campaign, the lease it wins, and the writes under that lease, each with token
//! and request.
//!
//! They have level `debug` and their own [target](TARGET). Unless a filter or an exporter enables them, they cost
//! nothing and do not change the log: `RUST_LOG=info,fencepost=debug` enables them.

use crate::{directory::Directory, store::wire};
use protocols::{
    elector::Deposed,
    message::{Write, WriteVerdict},
    types::{Incarnation, RequestId, Resource},
};
use std::{collections::BTreeMap, sync::Arc};
use tracing::{Span, debug_span, field::Empty};

/// The target to filter by.
pub const TARGET: &str = "fencepost";

#[derive(Default)]
pub struct Spans {
    node: String,
    names: Option<Arc<Directory>>,
    campaign: Option<Span>,
    lease: Option<Span>,
    writes: BTreeMap<(u16, u64), Span>,
}

/// A request in the client's words: `client:number`.
pub fn request_text(names: Option<&Directory>, request: RequestId) -> String {
    let client = names.and_then(|names| names.name(request.client));
    let client = client.unwrap_or_else(|| format!("client-{}", request.client.0));
    format!("{client}:{}", request.number)
}

impl Spans {
    /// Spans of the node called `node`.
    pub fn new(node: &str, names: Arc<Directory>) -> Spans {
        Spans { node: node.to_owned(), names: Some(names), ..Spans::default() }
    }

    /// The node starts to campaign.
    pub fn campaigns(&mut self) {
        self.campaign = Some(debug_span!(target: TARGET, "campaign", node = self.node, token = Empty));
    }

    /// The node is elected.
    pub fn elected(&mut self, incarnation: &Incarnation) {
        let Incarnation { token, generation, .. } = incarnation;
        if let Some(campaign) = self.campaign.take() {
            campaign.record("token", token);
        }
        let node = &self.node;
        self.lease = Some(debug_span!(target: TARGET, parent: None, "lease", node, token, generation, ended = Empty));
    }

    /// The node is deposed; the fate of its pending writes is up to the next leader.
    pub fn deposed(&mut self, reason: Deposed) {
        self.writes.clear();
        if let Some(lease) = self.lease.take() {
            lease.record("ended", reason.name());
        }
    }

    /// The node has sent a write, for the first time or again.
    pub fn sent(&mut self, write: &Write) {
        let key = (write.resource.0, write.seq);
        let Some(lease) = self.lease.as_ref().filter(|lease| !lease.is_disabled()) else { return };
        if self.writes.contains_key(&key) {
            return;
        }
        let request = request_text(self.names.as_deref(), write.request());
        let (resource, token, seq) = (wire::name(write.resource), write.token, write.seq);
        let span = debug_span!(target: TARGET, parent: lease, "write", resource, token, seq, request, verdict = Empty);
        self.writes.insert(key, span);
    }

    pub fn answered(&mut self, resource: Resource, seq: u64, verdict: WriteVerdict) {
        if let Some(span) = self.writes.remove(&(resource.0, seq)) {
            span.record(
                "verdict",
                match verdict {
                    WriteVerdict::Ok => "ok",
                    WriteVerdict::Duplicate { .. } => "duplicate",
                    WriteVerdict::Fenced { .. } => "fenced",
                    WriteVerdict::Failed { .. } => "failed",
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::{NodeId, Operation};
    use std::{
        fmt::{Debug, Write as _},
        sync::{Mutex, PoisonError},
    };
    use tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span::{Attributes, Id, Record},
        subscriber::Interest,
    };

    /// Closed spans as text: name, parent, fields.
    #[derive(Default)]
    struct Closed {
        open: Mutex<Vec<Option<String>>>,
        closed: Mutex<Vec<String>>,
    }

    struct Text<'a>(&'a mut String);

    impl Visit for Text<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let _ = write!(self.0, " {field}={value:?}");
        }
    }

    impl Closed {
        fn at(id: &Id) -> usize {
            id.into_u64() as usize - 1
        }

        fn open(&self) -> std::sync::MutexGuard<'_, Vec<Option<String>>> {
            self.open.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl Subscriber for &'static Closed {
        // Evaluated each time, since other tests in the process have no subscriber.
        fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
            Interest::sometimes()
        }

        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == TARGET
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut text = span.metadata().name().to_owned();
            if let Some(parent) = span.parent() {
                let _ = write!(text, " in {}", parent.into_u64());
            }
            span.record(&mut Text(&mut text));
            let mut open = self.open();
            open.push(Some(text));
            Id::from_u64(open.len() as u64)
        }

        fn record(&self, id: &Id, values: &Record<'_>) {
            if let Some(text) = &mut self.open()[Closed::at(id)] {
                values.record(&mut Text(text));
            }
        }

        fn try_close(&self, id: Id) -> bool {
            let text = self.open()[Closed::at(&id)].take();
            self.closed.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
            true
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    fn write() -> Write {
        Write {
            resource: Resource::SEQUENCE,
            operation: Operation::Record,
            generation: 2,
            token: 7,
            seq: 41,
            read_version: 40,
            client: NodeId(2),
            number: 17,
            payload: None,
        }
    }

    #[test]
    fn a_lease_holds_its_writes_and_each_has_token_and_request() {
        let closed: &Closed = Box::leak(Box::default());
        tracing::subscriber::with_default(closed, || {
            let names = ["n1", "store", "shop"].map(str::to_owned).to_vec();
            let mut spans = Spans::new("n1", Arc::new(Directory::new(names)));
            spans.campaigns();
            spans.elected(&Incarnation { token: 7, node: NodeId(0), generation: 2 });
            spans.sent(&write());
            // Sent again for lack of an answer: not another write.
            spans.sent(&write());
            spans.answered(Resource::SEQUENCE, 41, WriteVerdict::Fenced { highest: 8 });
            spans.deposed(Deposed::Fenced);
        });
        let closed = closed.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = [
            "campaign node=\"n1\" token=7",
            "write in 2 resource=\"sequence\" token=7 seq=41 request=\"shop:17\" verdict=\"fenced\"",
            "lease node=\"n1\" token=7 generation=2 ended=\"fenced\"",
        ];
        assert_eq!(*closed, expected);
    }

    /// As in the usual build, where no subscriber is interested.
    #[test]
    fn without_anybody_who_listens_nothing_is_kept() {
        let mut spans = Spans::default();
        spans.elected(&Incarnation { token: 7, node: NodeId(0), generation: 2 });
        spans.sent(&write());
        assert!(spans.writes.is_empty());
    }
}
