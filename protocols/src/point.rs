//! Named points: places in protocol code at which a plan can trigger a fault.

/// A place that a core passes. In the simulation a plan can pause, kill or otherwise disturb a node exactly there; in
/// real mode it is a no-op unless a plan requests it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Point {
    /// About to request leadership from the coordination service.
    BeforeCampaign,
    /// The belief has just begun; nothing is sealed yet.
    AfterElected,
    /// About to seal the resources.
    BeforeSeal,
    /// Every resource is sealed; the work starts.
    AfterSeal,
    /// The lease was found valid for one request; the write is not yet sent.
    LeaseChecked,
    /// The lease was found valid for one read; the answer is not yet sent.
    ReadChecked,
    /// About to send a renewal.
    BeforeRenew,
    /// A renewal was confirmed.
    Renewed,
    /// About to release leadership.
    BeforeRelease,
    /// Leadership was lost or released.
    AfterDeposed,
    /// About to persist the elector's state.
    BeforePersist,
    /// A vote is durable, and about to be sent.
    Voted,
    /// About to send the coordination service a request that the election waits for.
    BeforeAsk,
    /// The coordination service has sent an answer or an event, which has not reached the node yet.
    Answered,
    /// Another candidate is ahead; about to watch for its departure.
    BeforeWait,
    /// The leader was looked up; about to watch for its departure, or for a new leader.
    BeforeWatch,
    /// The lease was found valid for enacting a plan; the write is not yet sent.
    EnactChecked,
    /// The lease was found valid for a deletion; the write is not yet sent.
    DeleteChecked,
    /// The lease was found valid for an external effect; the request is not yet sent.
    EffectChecked,
    /// An external effect is confirmed, and the lease was found valid for marking its item; the write is not yet sent.
    MarkChecked,
    /// The lease was found valid for refreshing a cache; the write is not yet sent.
    RefreshChecked,
    /// A program is about to send bytes on any connection.
    BeforeSend,
}

impl Point {
    pub const ALL: [Point; 22] = [
        Point::BeforeCampaign,
        Point::AfterElected,
        Point::BeforeSeal,
        Point::AfterSeal,
        Point::LeaseChecked,
        Point::ReadChecked,
        Point::BeforeRenew,
        Point::Renewed,
        Point::BeforeRelease,
        Point::AfterDeposed,
        Point::BeforePersist,
        Point::Voted,
        Point::BeforeAsk,
        Point::Answered,
        Point::BeforeWait,
        Point::BeforeWatch,
        Point::EnactChecked,
        Point::DeleteChecked,
        Point::EffectChecked,
        Point::MarkChecked,
        Point::RefreshChecked,
        Point::BeforeSend,
    ];

    /// The name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Point::BeforeCampaign => "before_campaign",
            Point::AfterElected => "after_elected",
            Point::BeforeSeal => "before_seal",
            Point::AfterSeal => "after_seal",
            Point::LeaseChecked => "lease_checked",
            Point::ReadChecked => "read_checked",
            Point::EnactChecked => "enact_checked",
            Point::DeleteChecked => "delete_checked",
            Point::EffectChecked => "effect_checked",
            Point::MarkChecked => "mark_checked",
            Point::RefreshChecked => "refresh_checked",
            Point::BeforeRenew => "before_renew",
            Point::Renewed => "renewed",
            Point::BeforeRelease => "before_release",
            Point::AfterDeposed => "after_deposed",
            Point::BeforePersist => "before_persist",
            Point::Voted => "voted",
            Point::BeforeAsk => "before_ask",
            Point::Answered => "answered",
            Point::BeforeWait => "before_wait",
            Point::BeforeWatch => "before_watch",
            Point::BeforeSend => "before_send",
        }
    }

    pub fn from_name(name: &str) -> Option<Point> {
        Point::ALL.into_iter().find(|p| p.name() == name)
    }
}
