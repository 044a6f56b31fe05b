//! Which works a leader has, and what follows from that.

use super::{Kind, USUAL, once, outbox::UNDER_WAY_MAX, work_set};
use crate::{
    bug::Bugs,
    core::TimerId,
    fence::checks::{ChargeCheck, Checks},
    parameter::Values,
    types::Resource,
};

/// Why a leader cannot do a combination of works.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorksError {
    #[error("the first work must be one that serves clients, such as `sequencer`")]
    NobodyServes,
    #[error("`{0}` serves clients, and only the first work does")]
    OthersServe(&'static str),
    #[error("two kinds of work write to a resource of one name; each has its own")]
    SharedResource,
    #[error("all kinds of work together write to {0} resources; at most {most}", most = Resource::MOST)]
    TooManyResources(usize),
    #[error("there is no work `{name}`; there are {known}")]
    Unknown { name: String, known: String },
}

/// The works of a leader, and the tables that follow from them: of all resources, and of all timers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Works {
    pub(super) all: Vec<Placed>,
    /// Whose each resource is, by its place in `all`.
    pub(super) owners: Vec<u8>,
    /// How many writes may be under way before clients are refused.
    pub(super) room: usize,
    pub(super) work_set: work_set::Asked,
    /// What is looked at before an effect outside, where it is not what the store usually checks.
    pub(super) charge_check: Option<ChargeCheck>,
    pub(super) bugs: Bugs,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Placed {
    pub(super) kind: &'static Kind,
    pub(super) first_resource: usize,
    pub(super) first_timer: TimerId,
    pub(super) values: Values,
}

impl Default for Works {
    fn default() -> Self {
        Works::place(&USUAL)
    }
}

impl Works {
    /// These works, in this order. The first serves clients, and is the only one that does.
    ///
    /// # Errors
    /// What is wrong with them: one sentence.
    pub fn new(kinds: &[&'static Kind]) -> Result<Works, WorksError> {
        let mut resources: Vec<&str> = kinds.iter().flat_map(|kind| kind.resources).copied().collect();
        let all = resources.len();
        resources.sort_unstable();
        resources.dedup();
        if kinds.first().is_none_or(|kind| !kind.serves) {
            return Err(WorksError::NobodyServes);
        }
        if let Some(kind) = kinds[1..].iter().find(|kind| kind.serves) {
            return Err(WorksError::OthersServe(kind.name));
        }
        if all > resources.len() {
            return Err(WorksError::SharedResource);
        }
        if all > Resource::MOST {
            return Err(WorksError::TooManyResources(all));
        }
        Ok(Works::place(kinds))
    }

    /// The works of these names, of those that there are.
    ///
    /// # Errors
    /// There is no work of a name, or they do not go together: one sentence.
    pub fn named<'n>(all: &[&'static Kind], names: impl IntoIterator<Item = &'n str>) -> Result<Works, WorksError> {
        let known = || all.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ");
        let find = |name| all.iter().copied().find(|kind| kind.name == name);
        let unknown = |name: &str| WorksError::Unknown { name: name.to_owned(), known: known() };
        let find = |name| find(name).ok_or_else(|| unknown(name));
        Works::new(&names.into_iter().map(find).collect::<Result<Vec<_>, _>>()?)
    }

    fn place(kinds: &[&'static Kind]) -> Works {
        let (all, owners, work_set, bugs) = (Vec::new(), Vec::new(), work_set::Asked::default(), Bugs::default());
        let mut works = Works { all, owners, room: UNDER_WAY_MAX, work_set, charge_check: None, bugs };
        let mut first_timer = 0;
        for (place, kind) in kinds.iter().enumerate() {
            works.all.push(Placed { kind, first_resource: works.owners.len(), first_timer, values: Values::NONE });
            works.owners.extend(kind.resources.iter().map(|_| place as u8));
            first_timer += kind.timers;
        }
        works
    }

    /// The same with a work-set like this.
    pub fn with_work_set(self, work_set: work_set::Asked) -> Works {
        Works { work_set, ..self }
    }

    /// The same, where that is looked at before an effect outside.
    pub fn with_charge_check(self, charge_check: Option<ChargeCheck>) -> Works {
        Works { charge_check, ..self }
    }

    /// What a store that usually makes these checks does at each resource.
    pub fn checks(&self, usual: Checks) -> Vec<Checks> {
        let of = |placed: &Placed| {
            let asked = self.charge_check.filter(|_| once::KINDS.contains(&placed.kind));
            match asked {
                Some(check) => vec![check.payments(), check.table()],
                None => vec![usual; placed.kind.resources.len()],
            }
        };
        self.all.iter().flat_map(of).collect()
    }

    /// The same, each with the values of its parameters.
    pub fn with_values(mut self, values: impl Fn(&Kind) -> Values) -> Works {
        self.all.iter_mut().for_each(|placed| placed.values = values(placed.kind));
        self
    }

    /// The same with these bugs.
    pub fn with_bugs(self, bugs: Bugs) -> Works {
        Works { bugs, ..self }
    }

    /// The same for each of so many groups that share a connection to the store.
    pub fn shared_by(self, groups: u16) -> Works {
        Works { room: UNDER_WAY_MAX / usize::from(groups.max(1)), ..self }
    }

    /// The kinds of works, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = &'static Kind> + '_ {
        self.all.iter().map(|placed| placed.kind)
    }

    /// The names of all resources, by [`Resource`].
    pub fn resources(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.kinds().flat_map(|kind| kind.resources).copied()
    }

    /// Every resource.
    pub fn each(&self) -> impl Iterator<Item = Resource> + use<> {
        (0..self.owners.len()).map(|place| Resource(place as u16))
    }

    /// How many timers they have together.
    pub fn timers(&self) -> TimerId {
        self.kinds().map(|kind| kind.timers).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::ALL;

    #[test]
    fn works_that_do_not_go_together_are_refused_in_one_sentence() {
        for (names, why) in [
            (vec![], "the first work must be one that serves clients"),
            (vec!["scheduler", "sequencer"], "the first work must be one that serves clients"),
            (vec!["sequencer", "sequencer"], "`sequencer` serves clients, and only the first work does"),
            (vec!["sequencer", "scheduler", "scheduler"], "two kinds of work write to a resource of one name"),
            (vec!["sequencer", "cron"], "there is no work `cron`; there are `sequencer`, `scheduler`, `job-queue`"),
        ] {
            let refused = Works::named(&ALL, names.iter().copied()).unwrap_err().to_string();
            assert!(refused.starts_with(why), "{names:?}: {refused}");
        }
    }

    #[test]
    fn resources_are_numbered_in_the_order_of_the_works() {
        let works = Works::named(&ALL, ["sequencer", "job-queue", "scheduler"]).unwrap();
        assert_eq!(works.resources().collect::<Vec<_>>(), ["sequence", "jobs", "schedule"]);
        assert_eq!(Works::default().resources().collect::<Vec<_>>(), crate::types::USUAL_RESOURCES);
        assert_eq!(works.each().last(), Some(Resource(2)));
    }
}
