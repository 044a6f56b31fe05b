//! What is done to a fleet, and when.

use super::file::File;
use rand_core::RngCore;
use scenarios::{
    streams,
    suggest::{Unknown, unknown},
};
use serde::Serialize;

/// How long a leader works before it is struck, in milliseconds, at least and at most.
const WORKS_MS: (u64, u64) = (1_000, 4_000);
/// Which of the leader's next writes is held back, at most.
const NTH_MAX: u64 = 5;
/// How far a clock is off, in leases.
pub const OFF_LEASES: i64 = 2;

/// What is done to a fleet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    Steady,
    CleanKill,
    GracefulStepDown,
    GcPause,
    GcPauseBetweenWrites,
    PauseAtLine,
    IsolateLeader,
    LateAnswer,
    LateWrite,
    ServiceRestart,
    ServiceLeaderRestart,
    ServiceLeaderIsolated,
    ClockStep,
    ClockSkew,
}

impl Scenario {
    pub const ALL: [Scenario; 14] = [
        Scenario::Steady,
        Scenario::CleanKill,
        Scenario::GracefulStepDown,
        Scenario::GcPause,
        Scenario::GcPauseBetweenWrites,
        Scenario::PauseAtLine,
        Scenario::IsolateLeader,
        Scenario::LateAnswer,
        Scenario::LateWrite,
        Scenario::ServiceRestart,
        Scenario::ServiceLeaderRestart,
        Scenario::ServiceLeaderIsolated,
        Scenario::ClockStep,
        Scenario::ClockSkew,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Scenario::Steady => "steady",
            Scenario::CleanKill => "clean-kill",
            Scenario::GracefulStepDown => "graceful-step-down",
            Scenario::GcPause => "gc-pause",
            Scenario::GcPauseBetweenWrites => "gc-pause-between-writes",
            Scenario::PauseAtLine => "pause-at-line",
            Scenario::IsolateLeader => "isolate-leader",
            Scenario::LateAnswer => "late-answer",
            Scenario::LateWrite => "late-write",
            Scenario::ServiceRestart => "service-restart",
            Scenario::ServiceLeaderRestart => "service-leader-restart",
            Scenario::ServiceLeaderIsolated => "service-leader-isolated",
            Scenario::ClockStep => "clock-step",
            Scenario::ClockSkew => "clock-skew",
        }
    }

    /// One sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Scenario::Steady => "Nothing goes wrong.",
            Scenario::CleanKill => "The leader is killed, and started again once another one has written.",
            Scenario::GracefulStepDown => {
                "The leader is asked to end, by SIGTERM, and started again once another one has written."
            }
            Scenario::GcPause => {
                "The leader is stopped (SIGSTOP) with a write on the wire; write and leader go on once another one has written."
            }
            Scenario::GcPauseBetweenWrites => {
                "The leader is stopped (SIGSTOP) at any moment, and goes on once another one has written."
            }
            Scenario::PauseAtLine => {
                "The leader is stopped (SIGSTOP) when it says what `pause_at` has, and goes on once another one has written."
            }
            Scenario::IsolateLeader => "The leader is cut off from the service, and still reaches the store.",
            Scenario::LateAnswer => {
                "The service's answers to the leader take three tenths of a lease longer, and after a lease its requests no longer \
                 arrive, until another one has written."
            }
            Scenario::LateWrite => {
                "A write of the leader's is held back on the wire, and the leader is cut off from the service, until another one has \
                 written."
            }
            Scenario::ServiceRestart => "The service is killed, and started again two seconds later, with its data.",
            Scenario::ServiceLeaderRestart => {
                "The member that leads the service is killed, and started again two seconds later, with its data."
            }
            Scenario::ServiceLeaderIsolated => {
                "The member that leads the service is cut off from its other members, and your members still reach all of them."
            }
            Scenario::ClockStep => {
                "The leader's clock jumps two leases ahead, two leases later to two leases behind, and then it is right again."
            }
            Scenario::ClockSkew => {
                "One follower's clock is set two leases ahead, and another one's two leases behind; the leader's is right."
            }
        }
    }

    /// # Errors
    /// There is none of that name; the nearest one is named.
    pub fn find(name: &str) -> Result<Scenario, Unknown> {
        let all = Scenario::ALL;
        let found = all.into_iter().find(|scenario| scenario.name() == name);
        found.ok_or_else(|| unknown("scenario of a drill", name, &all.map(Scenario::name)))
    }

    /// Why it cannot be played on this fleet.
    pub fn impossible(self, file: &File) -> Option<&'static str> {
        match (self, &file.service) {
            (Scenario::IsolateLeader | Scenario::LateAnswer | Scenario::LateWrite, None)
            | (Scenario::ServiceRestart | Scenario::ServiceLeaderRestart | Scenario::ServiceLeaderIsolated, None) => {
                Some("the fleet has no `[service]`")
            }
            (Scenario::ServiceLeaderRestart | Scenario::ServiceLeaderIsolated, Some(service))
                if service.members == 1 =>
            {
                Some("the service has one member")
            }
            (Scenario::ClockStep | Scenario::ClockSkew, _) if file.fleet.image.is_some() => Some(
                "clocks are moved by a library that is compiled here, which an image's programs may not be able to load",
            ),
            (Scenario::GcPause | Scenario::LateWrite, _) if file.store.is_a_member_s_own() => {
                Some("`[store] log` has no `address` and `write`, so no write is on a wire of the drill's")
            }
            (Scenario::PauseAtLine, _) if file.log.pause_at.is_empty() => Some("`[log]` has no `pause_at`"),
            (Scenario::ServiceRestart, Some(service)) if service.address.is_some() => {
                Some("a service that was running is never killed")
            }
            (Scenario::ServiceRestart, Some(service)) if file.store.server() == Some(service.server) => {
                Some("the service is the store, too, and what it accepts could not be watched meanwhile")
            }
            _ => None,
        }
    }

    /// Whether members' clocks are moved.
    pub const fn moves_clocks(self) -> bool {
        matches!(self, Scenario::ClockStep | Scenario::ClockSkew)
    }

    /// Whether a write is held back.
    pub const fn holds(self) -> bool {
        matches!(self, Scenario::GcPause | Scenario::LateWrite)
    }

    /// Whether a member other than the one struck is to lead.
    pub const fn replaces(self) -> bool {
        let of_the_service =
            matches!(self, Scenario::ServiceRestart | Scenario::ServiceLeaderRestart | Scenario::ServiceLeaderIsolated);
        !(of_the_service || self.moves_clocks() || matches!(self, Scenario::Steady))
    }
}

/// A scenario, with what a seed has drawn. A run on real processes is not repeated bit for bit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Plan {
    pub scenario: Scenario,
    pub seed: u64,
    /// From the first accepted write to the fault.
    pub works_ms: u64,
    /// Which of the leader's writes after that is held back.
    pub nth: u64,
}

impl Plan {
    pub fn draw(scenario: Scenario, seed: u64) -> Plan {
        let mut draws = streams::stream(seed, &format!("drill/{}", scenario.name()));
        let (least, most) = WORKS_MS;
        let works_ms = least + draws.next_u64() % (most - least);
        let nth = if scenario.holds() { 1 + draws.next_u64() % NTH_MAX } else { 0 };
        Plan { scenario, seed, works_ms, nth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_plan_and_another_seed_another_one() {
        let plans: Vec<Plan> = (0..20).map(|seed| Plan::draw(Scenario::GcPause, seed)).collect();
        assert_eq!(plans, (0..20).map(|seed| Plan::draw(Scenario::GcPause, seed)).collect::<Vec<_>>());
        assert!(plans.iter().all(|plan| (1_000..4_000).contains(&plan.works_ms) && (1..=5).contains(&plan.nth)));
        assert!(plans.windows(2).any(|pair| pair[0].nth != pair[1].nth));
    }

    #[test]
    fn the_book_has_the_same_scenarios() {
        let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drill.md");
        let book = std::fs::read_to_string(book).expect("the page");
        let rows: Vec<&str> = book
            .lines()
            .filter(|line| Scenario::ALL.iter().any(|s| line.starts_with(&format!("| `{}` |", s.name()))))
            .collect();
        assert_eq!(rows, Scenario::ALL.map(|scenario| format!("| `{}` | {} |", scenario.name(), scenario.about())));
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::find(scenario.name()), Ok(scenario));
        }
        let why = Scenario::find("gc-pawse").expect_err("there is none").to_string();
        assert!(why.contains("gc-pause"), "{why}");
    }
}
