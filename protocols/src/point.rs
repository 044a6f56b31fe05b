//! Named points: places in protocol code where a plan may let a fault fall.

/// A place that a core passes. In the simulation a plan can pause, kill or otherwise disturb a node right there; in real
/// mode it is a no-op unless a plan asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Point {
    /// About to ask the coordination service for leadership.
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
    /// About to give leadership up.
    BeforeRelease,
    /// Leadership was lost or given up.
    AfterDeposed,
    /// About to make durable what the election must not forget.
    BeforePersist,
    /// A vote is durable, and about to be sent.
    Voted,
    /// About to ask the coordination service something that the election waits for.
    BeforeAsk,
    /// The coordination service has answered, or told something; the node does not know it yet.
    Answered,
    /// Somebody else was found in front; about to watch for its going.
    BeforeWait,
    /// The leader was looked up; about to watch for its going, or for somebody's coming.
    BeforeWatch,
    /// The lease was found valid for making a plan live; that is not yet sent.
    EnactChecked,
    /// The lease was found valid for a deletion; it is not yet sent.
    DeleteChecked,
    /// The lease was found valid for an effect outside; that is not yet asked for.
    EffectChecked,
    /// An effect outside is known, and the lease was found valid for marking its item; that is not yet sent.
    MarkChecked,
    /// The lease was found valid for refreshing a cache; that is not yet sent.
    RefreshChecked,
}

impl Point {
    /// Every point there is.
    pub const ALL: [Point; 21] = [
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
    ];

    /// The name that plans carry.
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
        }
    }

    /// The point of that name.
    pub fn from_name(name: &str) -> Option<Point> {
        Point::ALL.into_iter().find(|p| p.name() == name)
    }
}
