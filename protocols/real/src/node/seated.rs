//! The election of a node that stands on the seat: the seat elects, and the node does its works while it is told to lead.

use fencepost_seat::{
    Ended,
    inside::{Deliver, Inside, News, Observer, Order, Placed, Run},
};
use protocols::{
    clock::Now,
    core,
    election::{Protocol, Timings, raft},
    elector::{Deposed, Elector, Input, Output, ServiceInput, ServiceOutput},
    payload::{Nothing, Opaque, Payload},
    service::Api,
    types::{Leadership, NodeId},
};
use protocols_clients::{
    env::tokio::TokioEnv,
    raft::member::{Fleet, Member},
    registry::Clients,
    site::Site,
};
use std::sync::Arc;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// What the seat and its work say to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Said {}

impl Api for Said {
    type Request = Nothing;
    type Reply = Nothing;
    type StreamRequest = Order;
    type Item = News;
}

/// In place of an election's core: turns the seat's news into the node's beliefs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Seated {
    /// The fleet's members in the seat's order.
    members: Vec<NodeId>,
    leads: Option<Leadership>,
}

impl Seated {
    pub fn new(candidate: &Candidate) -> Self {
        Seated::of(candidate.node, candidate.names.len())
    }

    /// Of this member of a fleet of so many.
    pub(super) fn of(own: NodeId, fleet: usize) -> Self {
        let others = (0..).map(NodeId).take(fleet).filter(|member| *member != own);
        Seated { members: [own].into_iter().chain(others).collect(), leads: None }
    }

    fn told(&mut self, news: News, out: &mut Vec<Output<Nothing, Said>>) {
        match news {
            News::Campaigns => out.push(Output::Campaign),
            News::Leads(leadership) => {
                self.leads = Some(leadership);
                out.push(Output::Elected(leadership));
            }
            News::Renewed(valid_until) => {
                if let Some(leadership) = &mut self.leads {
                    leadership.valid_until = valid_until;
                    out.push(Output::Renewed(*leadership));
                }
            }
            News::Over(why) => self.over(deposed(why), out),
            News::Observed(leader) => {
                let leader = leader.and_then(|leader| self.members.get(leader.index()).copied());
                out.push(Output::Observed(leader));
            }
            News::Asks(_) | News::Hears(_) | News::Ends => {}
        }
    }

    fn over(&mut self, why: Deposed, out: &mut Vec<Output<Nothing, Said>>) {
        if self.leads.take().is_some() {
            out.push(Output::Deposed(why));
        }
    }

    fn let_go(&self, to: Option<NodeId>, out: &mut Vec<Output<Nothing, Said>>) {
        if let Some(Leadership { token, .. }) = self.leads {
            let place = |to| self.members.iter().position(|member| *member == to);
            let to = to.and_then(place).and_then(|place| u16::try_from(place).ok()).map(NodeId);
            out.push(order(Order::LetGo { token, to }));
        }
    }
}

impl Elector for Seated {
    type Peer = Nothing;
    type Service = Said;

    fn step(&mut self, _: Now, input: Input<Nothing, Said>, out: &mut Vec<Output<Nothing, Said>>) {
        match input {
            Input::Service(ServiceInput::Item { item, .. }) => self.told(item, out),
            Input::Resign => self.let_go(None, out),
            Input::Transfer(to) => self.let_go(Some(to), out),
            Input::Fenced => {
                if let Some(Leadership { token, .. }) = self.leads {
                    out.push(order(Order::Refused { token }));
                }
                self.over(Deposed::Fenced, out);
            }
            // Whoever resigned comes last anyway.
            Input::StandAside(_) => {}
            Input::Start | Input::Timer(_) | Input::Service(_) | Input::Persisted | Input::Withdraw => {}
            Input::Peer { message, .. } => match message {},
            Input::AddVoter(_) | Input::RemoveVoter(_) => {}
        }
    }
}

fn order(order: Order) -> Output<Nothing, Said> {
    Output::Service(ServiceOutput::Open { number: 0, request: order })
}

fn deposed(why: Ended) -> Deposed {
    match why {
        Ended::Expired => Deposed::Expired,
        Ended::Refused => Deposed::Fenced,
        Ended::Resigned => Deposed::Resigned,
        _ => Deposed::Lost,
    }
}

/// What the seat says in an input of the node's.
pub fn news(input: &ServiceInput) -> Option<&News> {
    match input {
        ServiceInput::Item { item, .. } => item.get(),
        _ => None,
    }
}

/// Whether this is for the seat, and no service is asked.
pub fn is_order(request: &Opaque) -> bool {
    request.get::<Order>().is_some()
}

/// A member that stands for election.
#[derive(Clone)]
pub struct Candidate {
    pub protocol: &'static Protocol,
    pub node: NodeId,
    /// The members' names by number.
    pub names: Vec<String>,
    /// The service's members.
    pub service: Vec<NodeId>,
    pub timings: Timings,
    pub site: Site,
    /// The node's clocks and points.
    pub env: TokioEnv,
    /// How the service is reached.
    pub client_env: TokioEnv,
}

/// Tells the node's core.
struct Tells(mpsc::UnboundedSender<core::Input>);

impl Observer for Tells {
    fn told(&self, news: News) {
        let item = ServiceInput::Item { number: 0, item: news.erase() };
        // A core that has ended takes no more inputs.
        let _ = self.0.send(core::Input::Service(Box::new(item)));
    }
}

/// Stands until `leaves` says so: returns where the core's orders go, and the task.
pub fn stand(
    candidate: Candidate,
    core: mpsc::UnboundedSender<core::Input>,
    leaves: watch::Receiver<bool>,
) -> (mpsc::UnboundedSender<ServiceOutput>, JoinHandle<()>) {
    let (orders, to_seat) = mpsc::unbounded_channel();
    let (run, order) = (client(&candidate), Seated::new(&candidate).members);
    let Candidate { protocol, names, timings, env, .. } = candidate;
    let placed = Placed { protocol, env, run, observer: Arc::new(Tells(core)) };
    let members = order.iter().filter_map(|member| names.get(member.index()).cloned()).collect();
    let task = async move { Inside::new(placed, members, timings).stand(to_seat, leaves).await };
    (orders, tokio::spawn(task))
}

/// The service's client, for one campaign after another.
fn client(candidate: &Candidate) -> Arc<Run> {
    let Candidate { protocol, site, client_env, .. } = candidate.clone();
    if protocol.name == raft::PROTOCOL.name {
        // It votes also where it does not campaign.
        let member = Member::start(client_env, &fleet(candidate), ());
        return Arc::new(move |outputs, deliver: Deliver| {
            member.attach(outputs, move |input| deliver(input));
            Box::pin(std::future::ready(()))
        });
    }
    Arc::new(move |outputs, deliver: Deliver| {
        let (env, site, service) = (client_env.clone(), site.clone(), protocol.service);
        Box::pin(async move {
            Clients::ours().run(env, service, site, outputs, move |input| deliver(input)).await;
        })
    })
}

/// The members that elect among themselves.
fn fleet(candidate: &Candidate) -> Fleet {
    let Candidate { names, timings, site, .. } = candidate;
    let member = |member: NodeId| Some((names.get(member.index())?.clone(), site.peers.get(member.index())?.clone()));
    let mut members: Vec<_> = Seated::new(candidate).members.into_iter().filter_map(member).collect();
    if let Some((_, own)) = members.first_mut() {
        own.port = site.port;
    }
    let election_timeout = timings.election_timeout.unwrap_or((timings.lease_ttl, 2 * timings.lease_ttl));
    Fleet { members, tokens_above: 0, election_timeout, heartbeat: timings.renew_interval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{election::redis_fenced, service::redis};
    use std::sync::atomic::{AtomicU64, Ordering};

    const NOW: Now = Now { mono: 7, wall: 7 };

    fn step(seated: &mut Seated, input: Input<Nothing, Said>) -> Vec<Output<Nothing, Said>> {
        let mut out = Vec::new();
        seated.step(NOW, input, &mut out);
        out
    }

    fn told(seated: &mut Seated, news: News) -> Vec<Output<Nothing, Said>> {
        step(seated, Input::Service(ServiceInput::Item { number: 0, item: news }))
    }

    fn leading() -> Seated {
        let mut seated = Seated::of(NodeId(1), 3);
        assert_eq!(told(&mut seated, News::Campaigns), [Output::Campaign]);
        let leadership = Leadership { token: 5, valid_until: 90 };
        assert_eq!(told(&mut seated, News::Leads(leadership)), [Output::Elected(leadership)]);
        seated
    }

    #[test]
    fn a_belief_lasts_as_long_as_the_seats() {
        let mut seated = leading();
        let longer = Leadership { token: 5, valid_until: 120 };
        assert_eq!(told(&mut seated, News::Renewed(120)), [Output::Renewed(longer)]);
        assert_eq!(told(&mut seated, News::Over(Ended::Expired)), [Output::Deposed(Deposed::Expired)]);
        // Told twice, and of a renewal that came too late.
        assert_eq!(told(&mut seated, News::Over(Ended::Expired)), []);
        assert_eq!(told(&mut seated, News::Renewed(200)), []);
    }

    #[test]
    fn who_leads_is_a_number_of_the_fleets() {
        let mut seated = Seated::of(NodeId(1), 3);
        let observed = [(0, 1), (1, 0), (2, 2)];
        for (place, number) in observed {
            let said = told(&mut seated, News::Observed(Some(NodeId(place))));
            assert_eq!(said, [Output::Observed(Some(NodeId(number)))]);
        }
        assert_eq!(told(&mut seated, News::Observed(None)), [Output::Observed(None)]);
    }

    #[test]
    fn the_work_lets_go_first_and_the_seat_says_when_it_is_over() {
        let mut seated = leading();
        assert_eq!(step(&mut seated, Input::Resign), [order(Order::LetGo { token: 5, to: None })]);
        let to = Some(NodeId(1));
        assert_eq!(step(&mut seated, Input::Transfer(NodeId(0))), [order(Order::LetGo { token: 5, to })]);
        assert_eq!(told(&mut seated, News::Over(Ended::Resigned)), [Output::Deposed(Deposed::Resigned)]);
        assert_eq!(step(&mut seated, Input::Resign), []);
    }

    #[test]
    fn a_refused_leader_believes_no_more_and_the_seat_is_told_whose_token_it_was() {
        let mut seated = leading();
        let said = step(&mut seated, Input::Fenced);
        assert_eq!(said, [order(Order::Refused { token: 5 }), Output::Deposed(Deposed::Fenced)]);
        assert_eq!(told(&mut seated, News::Over(Ended::Refused)), []);
        assert_eq!(step(&mut seated, Input::Fenced), []);
    }

    /// A Redis that grants everything, and notes the requests that give a lock back.
    fn granting(released: Arc<AtomicU64>) -> Arc<Run> {
        Arc::new(move |mut outputs, deliver: Deliver| {
            let released = released.clone();
            Box::pin(async move {
                while let Some(output) = outputs.recv().await {
                    let ServiceOutput::Request { number, request, .. } = output else { continue };
                    let reply = match request.get() {
                        Some(redis::Request::AcquireFenced { .. }) => redis::Reply::Token(Some(7)),
                        Some(redis::Request::Get { .. }) => redis::Reply::Value(None),
                        Some(redis::Request::CompareAndDelete { .. }) => {
                            released.fetch_add(1, Ordering::Relaxed);
                            redis::Reply::Done(true)
                        }
                        _ => redis::Reply::Done(true),
                    };
                    deliver(ServiceInput::Reply { number, reply: Ok(reply.erase()) });
                }
            })
        })
    }

    /// Leads, does this with the way of orders, and returns how often the lock was given back once the seat has ended.
    async fn released_after(act: impl FnOnce(mpsc::UnboundedSender<ServiceOutput>)) -> u64 {
        let (released, (core, mut told)) = (Arc::new(AtomicU64::new(0)), mpsc::unbounded_channel());
        let timings = redis_fenced::PROTOCOL.default_timings();
        let placed = Placed {
            protocol: &redis_fenced::PROTOCOL,
            env: TokioEnv::new(1),
            run: granting(released.clone()),
            observer: Arc::new(Tells(core)),
        };
        let ((orders, to_seat), (leaves, to_leave)) = (mpsc::unbounded_channel(), watch::channel(false));
        let inside = Inside::new(placed, vec!["n1".to_owned()], timings);
        let seat = tokio::spawn(async move { inside.stand(to_seat, to_leave).await });
        loop {
            let core::Input::Service(input) = told.recv().await.expect("it leads") else { continue };
            if let Some(News::Leads(Leadership { token, .. })) = news(&input) {
                assert_eq!(*token, 7);
                break;
            }
        }
        leaves.send_replace(true);
        act(orders);
        seat.await.expect("it ends");
        released.load(Ordering::Relaxed)
    }

    fn let_go(token: u64) -> ServiceOutput {
        ServiceOutput::<Said>::Open { number: 0, request: Order::LetGo { token, to: None } }.erase()
    }

    #[tokio::test]
    async fn the_lease_is_released_once_the_work_says_so() {
        assert_eq!(released_after(|orders| orders.send(let_go(7)).expect("it listens")).await, 1);
    }

    #[tokio::test]
    async fn a_lease_whose_work_is_gone_runs_out() {
        // The order is of another leadership.
        assert_eq!(released_after(|orders| orders.send(let_go(6)).expect("it listens")).await, 0);
    }
}
