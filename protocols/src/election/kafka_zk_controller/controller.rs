//! A broker as a candidate for controller: it handles events one by one, each to its end.

use super::client::{Client, Event};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::TimerId,
    election::{Setup, back_off::BackOff, zookeeper},
    elector::{self, Deposed, Elector},
    payload::Nothing,
    point::Point,
    service::zookeeper::{Api, Asking, Code, Mode, Op, Reply, Request},
    types::{Leadership, MILLISECOND, NodeId},
};
use std::collections::VecDeque;

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// Kafka's behaviour before it checked the epoch.
pub const MOVED_UNCHECKED: Bug = Bug {
    id: "kafka-moved-unchecked",
    protocols: &["kafka-zk-controller"],
    what: "A controller that resigns deletes `/controller` whatever the epoch is by then: the node may be its \
           successor's.",
    source: "KAFKA-6082: zookeeper updates are not fenced with the controller epoch's zkVersion",
    violation: "metrics.false_failovers",
    shown: Shown::by("lost-answer", "kafka-zk-controller", 12),
};

/// Campaigns again, after the others had their chance.
const STAND: TimerId = 0;

/// One request of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// `registerZNodeChangeHandlerAndCheckExistence`.
    Watch,
    /// Reads the controller; a broker that wrongly believes it is the controller resigns.
    Resolve,
    /// Reads the controller; if there is none, this broker campaigns.
    Elect,
    ReadEpoch,
    MakeEpoch,
    /// Creates a parent folder.
    Folder(u8),
    /// Creates the node and raises the epoch to this value.
    Race(u64),
    /// Reads the controller and the epoch, after the race was refused or its answer lost.
    CheckController(u64),
    CheckEpoch(u64),
    /// Deletes the node, if the epoch still has that version.
    Move(i32),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Controller {
    setup: Setup,
    client: Client,
    /// The requests to send, in order; the first is under way.
    steps: VecDeque<Step>,
    /// The epoch node's version while this broker is the controller.
    leads: Option<i32>,
    /// The version read for the race.
    version: i32,
    wall_ms: u64,
    elected_at: u64,
    /// Whether it lets others go first.
    aside: bool,
    campaigning: bool,
    observed: Option<NodeId>,
    back_off: BackOff,
}

impl Controller {
    pub(super) fn new(setup: Setup) -> Self {
        Controller {
            client: Client::new(setup.timings.lease_ttl),
            setup,
            steps: VecDeque::new(),
            leads: None,
            version: 0,
            wall_ms: 0,
            elected_at: 0,
            aside: false,
            campaigning: false,
            observed: None,
            back_off: BackOff::default(),
        }
    }

    fn name(&self) -> &str {
        self.setup.names.get(self.setup.node.index()).map_or("", String::as_str)
    }

    fn see(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if self.leads.take().is_some() {
            out.push(Output::Deposed(why));
            self.see(None, out);
            self.campaign(out);
        }
    }

    fn campaign(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
    }

    /// Queues an event's steps behind the present ones.
    fn take(&mut self, steps: &[Step], out: &mut Vec<Output>) {
        self.steps.extend(steps);
        self.go_on(out);
    }

    /// Adds the next step of the current event.
    fn next(&mut self, step: Step) {
        self.steps.push_front(step);
    }

    fn reelect(&mut self, out: &mut Vec<Output>) {
        let elect = [Step::Watch, Step::Resolve, Step::Elect];
        self.take(if self.aside { &elect[..2] } else { &elect }, out);
    }

    fn go_on(&mut self, out: &mut Vec<Output>) {
        if let Some(step) = self.steps.front().copied().filter(|_| !self.client.is_busy()) {
            let request = self.request(step);
            out.push(Output::Point(match step {
                Step::Watch => Point::BeforeWatch,
                Step::Race(_) => Point::BeforeCampaign,
                _ => Point::BeforeAsk,
            }));
            self.client.ask(request, out);
        }
    }

    fn request(&self, step: Step) -> Request {
        let group = self.setup.group;
        let read = |path, purpose| Request::Get { path, watch: false, purpose };
        match step {
            Step::Watch => Request::Exists { path: zookeeper::controller(group), watch: true },
            Step::Resolve | Step::Elect | Step::CheckController(_) => {
                read(zookeeper::controller(group), Asking::Anything)
            }
            Step::ReadEpoch | Step::CheckEpoch(_) => read(zookeeper::epoch(group), Asking::Anything),
            Step::MakeEpoch => Request::Write(Op::Create {
                path: zookeeper::epoch(group),
                data: b"0".to_vec(),
                mode: Mode::Persistent,
            }),
            Step::Folder(depth) => {
                let folder = zookeeper::folder(group);
                let end = folder.match_indices('/').map(|(at, _)| at).nth(usize::from(depth) + 1);
                let path = folder[..end.unwrap_or(folder.len())].to_owned();
                Request::Write(Op::Create { path, data: Vec::new(), mode: Mode::Persistent })
            }
            Step::Race(epoch) => Request::Multi(vec![
                Op::Create {
                    path: zookeeper::controller(group),
                    data: zookeeper::encode(self.setup.node.0, self.name(), self.wall_ms),
                    mode: Mode::Ephemeral,
                },
                Op::Set { path: zookeeper::epoch(group), data: epoch.to_string().into(), version: self.version },
            ]),
            Step::Move(_) if self.setup.bugs.has(&MOVED_UNCHECKED) => {
                Request::Write(Op::Delete { path: zookeeper::controller(group), version: -1 })
            }
            Step::Move(version) => Request::Multi(vec![
                Op::Check { path: zookeeper::epoch(group), version },
                Op::Delete { path: zookeeper::controller(group), version: -1 },
            ]),
        }
    }

    fn answered(&mut self, now: u64, reply: Reply, out: &mut Vec<Output>) {
        let Some(step) = self.steps.pop_front() else { return };
        match (step, reply) {
            (Step::Resolve, reply) => {
                let own = self.holder(reply, out);
                if !own && self.leads.is_some() {
                    crate::mark!("kafka: a controller hears that another one is");
                    self.depose(Deposed::Lost, out);
                }
            }
            (Step::Elect, Reply::Refused(Code::NoNode)) => self.next(Step::ReadEpoch),
            (Step::Elect, reply) => _ = self.holder(reply, out),
            (Step::ReadEpoch, Reply::Data { data, stat, .. }) => {
                self.version = stat.version;
                self.next(Step::Race(zookeeper::epoch_of(&data).unwrap_or(0) + 1));
            }
            (Step::ReadEpoch, Reply::Refused(Code::NoNode)) => self.next(Step::MakeEpoch),
            (Step::MakeEpoch, Reply::Created { .. }) => {
                self.version = 0;
                self.next(Step::Race(1));
            }
            (Step::MakeEpoch, Reply::Refused(Code::NodeExists)) => self.next(Step::ReadEpoch),
            (Step::MakeEpoch, Reply::Refused(Code::NoNode)) => self.next(Step::Folder(0)),
            (Step::Folder(0), _) => self.next(Step::Folder(1)),
            (Step::Folder(_), _) => self.next(Step::MakeEpoch),
            (Step::Race(epoch), Reply::Multi(parts)) => match parts.as_slice() {
                [Reply::Created { .. }, Reply::Is(stat)] => self.elected(now, epoch, stat.version, out),
                _ => {
                    crate::mark!("kafka: the race for the node is refused");
                    self.next(Step::CheckController(epoch));
                }
            },
            (Step::CheckController(epoch), reply) => {
                let own = self.holder(reply, out);
                if own {
                    self.next(Step::CheckEpoch(epoch));
                } else {
                    self.moved();
                }
            }
            (Step::CheckEpoch(epoch), Reply::Data { data, stat, .. }) => {
                if zookeeper::epoch_of(&data) == Some(epoch) {
                    crate::mark!("kafka: a race without an answer had been won");
                    self.elected(now, epoch, stat.version, out);
                } else {
                    self.moved();
                }
            }
            // `ControllerMovedException`, or an error without a remedy.
            (Step::Race(_) | Step::CheckEpoch(_), _) => self.moved(),
            _ => {}
        }
        self.go_on(out);
    }

    /// Another broker was faster, and may be gone again.
    fn moved(&mut self) {
        if !self.aside {
            self.next(Step::Elect);
        }
        self.next(Step::Resolve);
        self.next(Step::Watch);
    }

    /// Reports the controller; returns whether it is this broker.
    fn holder(&mut self, reply: Reply, out: &mut Vec<Output>) -> bool {
        let name = match reply {
            Reply::Data { data, .. } => zookeeper::name_of(&data),
            _ => None,
        };
        let place = name.and_then(|name| self.setup.names.iter().position(|known| *known == name));
        let holder = place.and_then(|place| u16::try_from(place).ok()).map(NodeId);
        let own = holder == Some(self.setup.node);
        // A node of its own by which it does not lead is from an earlier session.
        self.see(holder.filter(|_| !own || self.leads.is_some()), out);
        own
    }

    fn elected(&mut self, now: u64, epoch: u64, version: i32, out: &mut Vec<Output>) {
        (self.leads, self.elected_at, self.campaigning) = (Some(version), now, false);
        out.push(Output::Elected(Leadership { token: epoch, valid_until: u64::MAX }));
        self.see(Some(self.setup.node), out);
    }

    /// `triggerControllerMove`; campaigns again after a while.
    fn move_away(&mut self, now: u64, why: Deposed, wait: u64, out: &mut Vec<Output>) {
        let Some(version) = self.leads else { return };
        self.depose(why, out);
        self.aside = wait > 0;
        if self.aside {
            out.push(Output::SetTimer { id: STAND, at: now + wait });
        }
        self.take(&[Step::Move(version)], out);
        if !self.aside {
            self.reelect(out);
        }
    }

    fn event(&mut self, now: Now, event: Event, out: &mut Vec<Output>) {
        match event {
            Event::Initialized => self.reelect(out),
            Event::Expired => {
                crate::mark!("kafka: the server says that the session is over");
                self.steps.clear();
                self.depose(Deposed::Lost, out);
            }
            // After any change of the node: finds the controller, and if there is none, campaigns.
            Event::Watched(..) => self.reelect(out),
            Event::Answered(reply) => self.answered(now.mono, reply, out),
        }
    }

    /// The resource refuses this leadership: resigns and campaigns again, after a back-off if refusals repeat.
    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        // Only its duration shows whether a leadership was sound.
        if now.saturating_sub(self.elected_at) >= self.setup.timings.renew_interval {
            self.back_off.confirmed();
        }
        let wait = self.back_off.refused();
        self.move_away(now, Deposed::Fenced, wait, out);
    }
}

impl Elector for Controller {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.wall_ms = now.wall / MILLISECOND;
        match input {
            Input::Start => {
                self.campaign(out);
                self.client.open(out);
            }
            Input::Timer(STAND) if std::mem::take(&mut self.aside) => self.reelect(out),
            Input::Service(input) => {
                if let Some(event) = self.client.input(input, out) {
                    self.event(now, event, out);
                }
            }
            Input::Resign if self.leads.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                let wait = self.setup.timings.renew_interval;
                self.move_away(now.mono, Deposed::Resigned, wait, out);
            }
            Input::Fenced if self.leads.is_some() => self.fenced(now.mono, out),
            _ => {}
        }
    }
}
