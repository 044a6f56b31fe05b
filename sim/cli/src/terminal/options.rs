//! Options that several commands share. Their names are a contract.

use super::{
    NETWORK, OUTPUT, TIMERS, WORK,
    leading::{AddressOptions, TenureOptions, WorkSetOptions},
    output::Show,
    parse,
};
use clap::Args as ClapArgs;
use protocols::{
    bug::Bug, copies::Copies, election::Protocol, fence::checks::Fencing, sharding::Placement, work::Kind,
};
use scenarios::{
    Params,
    generate::Choice,
    params::{PROFILES, Profile},
    plan::Invalid,
    scenario::needs::always_led,
    sense,
    set::Setting,
};

/// The options of a scenario's plan.
#[derive(ClapArgs, Clone, Debug)]
pub struct PlanOptions {
    /// Number of candidates; 3 by default
    #[arg(long, value_parser = parse::candidates, value_delimiter = ',', value_name = "N", allow_hyphen_values = true)]
    nodes: Vec<u16>,
    /// Length of the run; by default as long as the scenario needs
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    duration: Option<u64>,
    /// Time to live of the lease to ask for, or how long others wait for a silent leader; 3 s by default, or the
    /// shortest election timeout of a protocol that has one
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = TIMERS)]
    lease_ttl: Option<u64>,
    /// Time from one renewal to the next; by default a part of the lease, for most protocols a third
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = TIMERS)]
    renew_interval: Option<u64>,
    #[command(flatten)]
    own: OwnOptions,
    /// Timeout of one request to the coordination service; by default a third of the lease, at most 1 s
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = TIMERS)]
    request_timeout: Option<u64>,
    /// Range that election timeouts are drawn from, such as 150..300ms; a single time D means D to 2 D
    #[arg(long, value_parser = parse::duration_range_ms, value_name = "A..B", allow_hyphen_values = true, help_heading = TIMERS)]
    election_timeout: Option<(u64, u64)>,
    /// The leader's work, such as sequencer,scheduler,job-queue; the first serves clients. See `fencepost list works`
    #[arg(long, value_parser = parse::work, value_delimiter = ',', value_name = "W,…", help_heading = WORK)]
    works: Vec<&'static Kind>,
    #[command(flatten)]
    work_set: WorkSetOptions,
    #[command(flatten)]
    tenure: TenureOptions,
    #[command(flatten)]
    address: AddressOptions,
    /// Switch one known bug on
    #[arg(long, value_parser = parse::bug, value_name = "ID")]
    bug: Option<&'static Bug>,
    /// Members of the coordination service, for protocols whose service can have several; 1 by default
    #[arg(long, value_parser = parse::members, value_name = "N", allow_hyphen_values = true)]
    members: Option<u16>,
    /// Number of groups: separate elections among the same candidates, each with clients of its own; 1 by default
    #[arg(long, value_parser = parse::groups, value_name = "N", allow_hyphen_values = true)]
    groups: Option<u16>,
    /// Which candidate should lead which group; a leader of another's group hands it over. ring: the next on a
    /// consistent hash ring. modulo: the group's number modulo the number of live candidates. By default nothing
    /// decides it, except in `shard-rebalance`
    #[arg(long, value_parser = parse::placement, value_name = "ring|modulo")]
    placement: Option<Placement>,
    /// How far wall clocks may be off, either way; 200 ms by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = NETWORK)]
    clock_skew: Option<u64>,
    /// How far clocks may drift, in parts per million fast or slow; 100 by default
    #[arg(long, value_parser = parse::ppm, value_name = "PPM", allow_hyphen_values = true, help_heading = NETWORK)]
    clock_drift: Option<u64>,
    /// Requests per second to the sequencer; 1000 by default, and 200 in a sweep
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    rate: Option<u64>,
    /// Length of the pause, in scenarios about one; by default the scenario chooses
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pause: Option<u64>,
    /// What the store checks before it accepts a write. on: everything. off: nothing. token: only that the token is the
    /// newest and its owner's. order: only that the number is the next one. memory: only that the request was not
    /// applied before
    #[arg(long, value_parser = parse::fencing, default_value = "on", value_name = "on|off|token|order|memory")]
    fencing: Fencing,
    /// A copy of the data on every candidate's node, instead of one store for all. async: the leader's copy
    /// acknowledges at once. majority: when a majority of the copies have the write
    #[arg(long, value_parser = parse::copies, value_name = "async|majority", help_heading = WORK)]
    copies: Option<Copies>,
    /// Whether the leader answers reads from memory while its lease lasts, instead of asking the store; by default in
    /// half of the seeds if clocks are good enough, and always in the scenario `read-lease`
    #[arg(long, value_parser = parse::on_off, num_args = 0..=1, default_missing_value = "on", value_name = "on|off", help_heading = WORK)]
    read_lease: Option<bool>,
    /// Reads of the last number per second; by default a tenth of the rate, or 1000 with --read-lease on
    #[arg(long, value_parser = parse::whole, value_name = "N", allow_hyphen_values = true, help_heading = WORK)]
    reads: Option<u64>,
    /// The network; lan by default, and drawn in a swarm. See `fencepost list networks`
    #[arg(long, value_parser = parse::network, value_name = "PROFILE", help_heading = NETWORK)]
    net: Option<&'static Profile>,
    /// One-way latency of a packet, such as 20ms..40ms, instead of the network's
    #[arg(long, value_parser = parse::latency_us, value_name = "A..B", allow_hyphen_values = true, help_heading = NETWORK)]
    latency: Option<(u64, u64)>,
    /// Share of packets lost, such as 0.5%, instead of the network's
    #[arg(long, value_parser = parse::percent_ppm, value_name = "PCT", allow_hyphen_values = true, help_heading = NETWORK)]
    loss: Option<u32>,
    /// How fast each process can send, such as 10mbps, all its links together; unlimited by default
    #[arg(long, value_parser = parse::bandwidth, value_name = "N", allow_hyphen_values = true, help_heading = NETWORK)]
    bandwidth: Option<u64>,
    /// Whether heartbeats, votes and renewals share the data's link, the default, or have a separate one
    #[arg(long, value_parser = parse::control_link, value_name = "shared|separate", help_heading = NETWORK)]
    control_link: Option<bool>,
}

/// The network, for commands without the other options of a plan.
#[derive(ClapArgs, Clone, Debug)]
pub struct NetworkOptions {
    /// The network; see `fencepost list networks`
    #[arg(long, value_parser = parse::network, default_value = PROFILES[0].name, value_name = "PROFILE", help_heading = NETWORK)]
    pub net: &'static Profile,
    /// One-way latency of a packet, such as 20ms..40ms, instead of the network's
    #[arg(long, value_parser = parse::latency_us, value_name = "A..B", allow_hyphen_values = true, help_heading = NETWORK)]
    pub latency: Option<(u64, u64)>,
    /// Share of packets lost, such as 0.5%, instead of the network's
    #[arg(long, value_parser = parse::percent_ppm, value_name = "PCT", allow_hyphen_values = true, help_heading = NETWORK)]
    pub loss: Option<u32>,
}

impl NetworkOptions {
    pub fn params(&self, others: Params) -> Params {
        Params { net: self.net, latency_us: self.latency, loss_ppm: self.loss, ..others }
    }
}

/// Parameters of one protocol or work.
#[derive(ClapArgs, Clone, Debug)]
pub struct SetOptions {
    /// Set a parameter of one protocol or work, such as raft-core.pre-vote=off; repeat for several. See `fencepost list
    /// parameters`
    #[arg(long, value_parser = parse::setting_of, value_name = "OWNER.NAME=VALUE")]
    pub set: Vec<Setting>,
}

impl SetOptions {
    pub fn add_to(&self, params: Params) -> Params {
        Params { set: self.set.iter().copied().collect(), ..params }
    }
}

/// What only some protocols have: the retry period, and parameters of one owner.
#[derive(ClapArgs, Clone, Debug)]
pub struct OwnOptions {
    /// Time from one attempt to acquire to the next, for protocols with a retry period; if candidates poll, the renew
    /// interval by default
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true, help_heading = TIMERS)]
    pub retry_period: Option<u64>,
    #[command(flatten)]
    pub values: SetOptions,
}

impl OwnOptions {
    pub fn add_to(&self, params: Params) -> Params {
        Params { retry_period_ms: self.retry_period, ..self.values.add_to(params) }
    }
}

/// Default rate of a sweep's runs, requests per second.
pub const SWEEP_RATE: u64 = 200;

/// How much is printed.
#[derive(ClapArgs, Debug)]
pub struct ShowArgs {
    /// Print one JSON object and nothing else
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Print only the verdict
    #[arg(long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print all of a run's report: also its plan, leaders, every invariant and all figures
    #[arg(long, short, help_heading = OUTPUT, conflicts_with_all = ["json", "quiet"])]
    pub verbose: bool,
}

impl PlanOptions {
    pub fn clock_drift(&self) -> Option<u64> {
        self.clock_drift
    }

    pub fn clock_skew(&self) -> Option<u64> {
        self.clock_skew
    }

    pub fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// The given numbers of candidates, without duplicates.
    pub fn nodes(&self) -> Vec<u16> {
        let mut nodes = self.nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The parameters of a sweep's runs, apart from the number of candidates.
    ///
    /// # Errors
    /// One sentence about an option that makes no sense.
    pub fn sweep_params(&self) -> Result<Params, Invalid> {
        let several = PlanOptions { nodes: self.nodes.first().copied().into_iter().collect(), ..self.clone() };
        PlanOptions { rate: self.rate.or(Some(SWEEP_RATE)), ..several }.params()
    }

    /// The parameters that scenarios take.
    ///
    /// # Errors
    /// One sentence about an option that makes no sense.
    pub fn params(&self) -> Result<Params, Invalid> {
        let usual = Params::default();
        let nodes = match *self.nodes() {
            [] => usual.nodes,
            [nodes] => nodes,
            _ => return Err(Invalid("--nodes: one number of candidates at a time; a sweep takes several".to_owned())),
        };
        let params = Params {
            nodes,
            duration_ms: self.duration,
            lease_ttl_ms: self.lease_ttl,
            election_timeout_ms: self.election_timeout,
            renew_interval_ms: self.renew_interval,
            request_timeout_ms: self.request_timeout,
            clock_skew_ms: self.clock_skew.unwrap_or(usual.clock_skew_ms),
            clock_drift_ppm: self.clock_drift.unwrap_or(usual.clock_drift_ppm),
            rate: self.rate.unwrap_or(usual.rate),
            pause_ms: self.pause,
            tenure: self.tenure.asked(),
            works: self.works.clone(),
            work_set: self.work_set.asked(),
            charge_check: self.work_set.charge_check,
            bugs: self.bug.into_iter().collect(),
            service_members: self.members,
            groups: self.groups.unwrap_or(usual.groups),
            placement: self.placement,
            fencing: self.fencing,
            copies: self.copies,
            read_lease: self.read_lease,
            reads_per_s: self.reads,
            net: self.net.unwrap_or(usual.net),
            latency_us: self.latency,
            loss_ppm: self.loss,
            bandwidth_mbps: self.bandwidth,
            control_apart: self.control_link.unwrap_or(usual.control_apart),
            ..usual
        };
        let params = self.address.add_to(self.own.add_to(params));
        sense::options(&params)?;
        Ok(params)
    }

    /// The options that a swarm of these protocols does not draw.
    ///
    /// # Errors
    /// One sentence about an option that a swarm draws itself.
    pub fn choice(&self, protocols: Vec<&'static Protocol>) -> Result<Choice, Invalid> {
        let drawn = [
            ("--duration", self.duration.is_some()),
            ("--lease-ttl", self.lease_ttl.is_some()),
            ("--renew-interval", self.renew_interval.is_some()),
            ("--retry-period", self.own.retry_period.is_some()),
            ("--request-timeout", self.request_timeout.is_some()),
            ("--election-timeout", self.election_timeout.is_some()),
            ("--works", !self.works.is_empty()),
            ("--work-items", self.work_set.work_items.is_some()),
            ("--work-item-time", self.work_set.work_item_time.is_some()),
            ("--checkpoint-every", self.work_set.checkpoint_every.is_some()),
            ("--load-time", self.work_set.load_time.is_some()),
            ("--charge-check", self.work_set.charge_check.is_some()),
            ("--set", !self.own.values.set.is_empty()),
            ("--members", self.members.is_some()),
            ("--clock-skew", self.clock_skew.is_some()),
            ("--clock-drift", self.clock_drift.is_some()),
            ("--rate", self.rate.is_some()),
            ("--pause", self.pause.is_some()),
            ("--warm-up", self.tenure.warm_up.is_some()),
            ("--hold-down", self.tenure.hold_down.is_some()),
            ("--health-check-errors", self.tenure.health_check_errors.is_some()),
            ("--step-down-after", self.tenure.step_down_after.is_some()),
            ("--copies", self.copies.is_some()),
            ("--placement", self.placement.is_some()),
            ("--read-lease", self.read_lease.is_some()),
            ("--reads", self.reads.is_some()),
            ("--bandwidth", self.bandwidth.is_some()),
            ("--control-link", self.control_link.is_some()),
        ];
        if let Some((name, _)) = self.address.given().into_iter().find(|(_, given)| *given) {
            return Err(Invalid(format!("{name} means nothing here: the clients of a swarm ask every candidate")));
        }
        if let Some((name, _)) = drawn.iter().find(|(_, given)| *given) {
            return Err(Invalid(format!(
                "{name} means nothing here: `swarm` draws it; it takes --protocol, --net, --latency, --loss, --nodes, \
                 --groups, --fencing and --bug"
            )));
        }
        let nodes = match *self.nodes() {
            [] => None,
            [nodes] => Some(nodes),
            _ => {
                return Err(Invalid(
                    "--nodes: one number of candidates for all plans of a swarm, or none: it draws them".to_owned(),
                ));
            }
        };
        protocols.iter().try_for_each(|protocol| always_led("swarm", protocol))?;
        let bugs = Params { bugs: self.bug.into_iter().collect(), ..Params::default() };
        protocols.iter().try_for_each(|protocol| sense::bugs_and_members(&bugs, protocol))?;
        let (latency_us, loss_ppm, groups) = (self.latency, self.loss, self.groups.unwrap_or(1));
        Ok(Choice {
            protocols,
            net: self.net,
            latency_us,
            loss_ppm,
            nodes,
            fencing: self.fencing,
            groups,
            bugs: bugs.bugs,
        })
    }
}

impl From<&ShowArgs> for Show {
    fn from(args: &ShowArgs) -> Show {
        Show { json: args.json, quiet: args.quiet, verbose: args.verbose }
    }
}
