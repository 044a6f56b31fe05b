//! Which of how many shards this process is, in the words of the engine that started it.

use crate::terminal::parse;
use scenarios::units::Unread;

/// The value of `--shard`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// Shard I of N, from 1.
    Part(u64, u64),
    /// What the engine's environment says; and of how many, if given.
    Auto(Option<u64>),
}

/// Why the environment does not say which shard this is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unclear {
    #[error(
        "--shard auto needs JOB_COMPLETION_INDEX (Kubernetes), AWS_BATCH_JOB_ARRAY_INDEX, SLURM_ARRAY_TASK_ID or CI_NODE_INDEX (GitLab) in the environment, and none is set; elsewhere, write --shard I/N"
    )]
    NoEngine,
    #[error("{0} and {1} are both set, and say that this is shard {2} and shard {3}; write --shard I/N")]
    TwoEngines(&'static str, &'static str, String, String),
    #[error("{name} is `{value}`, and should be a whole number")]
    NoNumber { name: &'static str, value: String },
    #[error("{index} is set, and {missing} is not; write --shard auto/N, where N is the number of shards")]
    Missing { index: &'static str, missing: &'static str },
    #[error("{index} says which shard this is, and nothing of how many; write --shard auto/N")]
    NoCount { index: &'static str },
    #[error("--shard auto/{given} contradicts {name}, which is {count}")]
    OtherCount { given: u64, name: &'static str, count: u64 },
    #[error("{name} is {index}, and of {of} shards it goes from {first} to {last}")]
    Outside { name: &'static str, index: u64, of: u64, first: u64, last: u64 },
    #[error(
        "SLURM_ARRAY_TASK_MIN is {min}, _MAX {max} and _COUNT {count}, which does not say how many shards there are; number the tasks from 1 without gaps, as --array=1-8, or, to run some of them again, write --shard auto/N"
    )]
    Gaps { min: u64, max: u64, count: u64 },
    #[error(
        "SLURM_ARRAY_TASK_MIN is 0 and _COUNT {count}, which is not --shard auto/{given}; number the tasks from 1, as --array=1-{given}"
    )]
    FromZero { count: u64, given: u64 },
}

/// Parses `I/N`, `auto` or `auto/N`.
///
/// # Errors
/// One sentence.
pub fn share(text: &str) -> Result<Share, Unread> {
    let count = |text: &str| text.parse().ok().filter(|count| *count > 0);
    match text.strip_prefix("auto") {
        Some("") => Ok(Share::Auto(None)),
        Some(rest) => rest
            .strip_prefix('/')
            .and_then(count)
            .map(|count| Share::Auto(Some(count)))
            .ok_or_else(|| Unread::of(text, "is not a shard; write auto, or auto/8 if there are 8")),
        None => parse::shard(text).map(|(part, of)| Share::Part(part, of)),
    }
}

/// An engine that numbers the processes it starts, and perhaps counts them.
struct Engine {
    index: &'static str,
    /// The first one's number.
    first: u64,
    count: Option<&'static str>,
}

const ENGINES: [Engine; 3] = [
    // A Job's completions are in no variable.
    Engine { index: "JOB_COMPLETION_INDEX", first: 0, count: None },
    Engine { index: "AWS_BATCH_JOB_ARRAY_INDEX", first: 0, count: Some("AWS_BATCH_JOB_ARRAY_SIZE") },
    Engine { index: "CI_NODE_INDEX", first: 1, count: Some("CI_NODE_TOTAL") },
];
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

/// The shard and the number of shards that an engine has put into the environment; `given` is their number if the user
/// gave it.
///
/// # Errors
/// No engine has, or the variables contradict each other or `given`.
pub fn shard_of(given: Option<u64>, var: impl Fn(&str) -> Option<String>) -> Result<(u64, u64), Unclear> {
    let number = |name: &'static str| match var(name) {
        None => Ok(None),
        Some(value) => value.parse().map(Some).map_err(|_| Unclear::NoNumber { name, value }),
    };
    let mut told: Vec<(&'static str, (u64, u64))> = Vec::new();
    for engine in &ENGINES {
        if let Some(index) = number(engine.index)? {
            let count = engine.count.map(&number).transpose()?.flatten();
            told.push((engine.index, engine.shard(index, count, given)?));
        }
    }
    if let Some(id) = number(SLURM)? {
        let needed = |name| number(name)?.ok_or(Unclear::Missing { index: SLURM, missing: name });
        let [count, min, max] = ["SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"].map(needed);
        told.push((SLURM, of_slurm(id, [count?, min?, max?], given)?));
    }
    match *told {
        [] => Err(Unclear::NoEngine),
        [(_, shard), ..] if told.iter().all(|(_, other)| *other == shard) => Ok(shard),
        [(one, (i, n)), (other, (j, m)), ..] => {
            Err(Unclear::TwoEngines(one, other, format!("{i}/{n}"), format!("{j}/{m}")))
        }
        [_] => Err(Unclear::NoEngine),
    }
}

impl Engine {
    fn shard(&self, index: u64, count: Option<u64>, given: Option<u64>) -> Result<(u64, u64), Unclear> {
        let of = match (count, given) {
            (Some(count), Some(given)) if count != given => {
                return Err(Unclear::OtherCount { given, name: self.count.unwrap_or_default(), count });
            }
            (count, given) => count.or(given).ok_or(Unclear::NoCount { index: self.index })?,
        };
        within(self.index, index, self.first, of)
    }
}

/// An array may begin with 0 or 1. With the number of shards given, it may have only some of them, numbered from 1: a
/// task that failed is submitted again alone, and `COUNT` is then 1.
fn of_slurm(id: u64, [count, min, max]: [u64; 3], given: Option<u64>) -> Result<(u64, u64), Unclear> {
    let complete = min <= 1 && max >= min && max - min + 1 == count;
    match given {
        None if complete => within(SLURM, id, min, count),
        None => Err(Unclear::Gaps { min, max, count }),
        Some(given) if min == 0 && complete && count == given => within(SLURM, id, 0, count),
        Some(given) if min == 0 => Err(Unclear::FromZero { count, given }),
        Some(given) if max > given => Err(Unclear::OtherCount { given, name: "SLURM_ARRAY_TASK_MAX", count: max }),
        Some(given) => within(SLURM, id, 1, given),
    }
}

/// Shard `index` of `of`, where the first one's is `first`.
fn within(name: &'static str, index: u64, first: u64, of: u64) -> Result<(u64, u64), Unclear> {
    match index.checked_sub(first).filter(|place| *place < of) {
        Some(place) => Ok((place + 1, of)),
        None => Err(Unclear::Outside { name, index, of, first, last: (first + of).saturating_sub(1) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--shard auto` or `auto/N` is with these variables.
    fn told(given: Option<u64>, set: &str) -> Result<(u64, u64), Unclear> {
        let of = |name: &str| {
            let mut pairs = set.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
        };
        shard_of(given, of)
    }

    fn slurm(id: u64, array: [u64; 3]) -> String {
        let [count, min, max] = array;
        format!(
            "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_COUNT={count} SLURM_ARRAY_TASK_MIN={min} SLURM_ARRAY_TASK_MAX={max}"
        )
    }

    #[test]
    fn each_engine_says_which_shard() {
        assert_eq!(told(Some(8), "JOB_COMPLETION_INDEX=7"), Ok((8, 8)));
        assert_eq!(told(None, "AWS_BATCH_JOB_ARRAY_INDEX=0 AWS_BATCH_JOB_ARRAY_SIZE=4"), Ok((1, 4)));
        assert_eq!(told(Some(4), "AWS_BATCH_JOB_ARRAY_INDEX=3"), Ok((4, 4)));
        assert_eq!(told(None, "CI_NODE_INDEX=1 CI_NODE_TOTAL=1"), Ok((1, 1)));
        assert_eq!(told(None, &slurm(8, [8, 1, 8])), Ok((8, 8)));
        assert_eq!(told(None, &slurm(0, [8, 0, 7])), Ok((1, 8)));
        assert_eq!(told(Some(8), &slurm(0, [8, 0, 7])), Ok((1, 8)));
        // A job of GitLab's that submitted the array with its own environment.
        assert_eq!(told(None, &format!("CI_NODE_INDEX=2 CI_NODE_TOTAL=8 {}", slurm(2, [8, 1, 8]))), Ok((2, 8)));
    }

    #[test]
    fn a_task_that_is_submitted_again_alone_is_not_the_whole_sweep() {
        assert_eq!(told(None, &slurm(3, [1, 3, 3])), Err(Unclear::Gaps { min: 3, max: 3, count: 1 }));
        assert_eq!(told(Some(8), &slurm(3, [1, 3, 3])), Ok((3, 8)));
        assert_eq!(told(Some(8), &slurm(5, [2, 3, 5])), Ok((5, 8)));
        assert_eq!(told(Some(8), &slurm(0, [1, 0, 0])), Err(Unclear::FromZero { count: 1, given: 8 }));
    }

    #[test]
    fn what_is_missing_or_contradicts_itself_is_refused() {
        let refused = |given, set: &str| told(given, set).map_err(|why| why.to_string()).expect_err(set);
        assert!(refused(None, "CI_NODE_TOTAL=1").contains("none is set"));
        assert!(refused(None, "JOB_COMPLETION_INDEX=0").contains("auto/N"));
        assert!(refused(Some(8), "JOB_COMPLETION_INDEX=8").contains("goes from 0 to 7"));
        assert!(refused(None, "JOB_COMPLETION_INDEX=").contains("is ``, and should be a whole number"));
        assert!(refused(None, "CI_NODE_INDEX=-1 CI_NODE_TOTAL=2").contains("whole number"));
        assert!(refused(None, "CI_NODE_INDEX=0 CI_NODE_TOTAL=2").contains("goes from 1 to 2"));
        assert!(refused(Some(3), "CI_NODE_INDEX=1 CI_NODE_TOTAL=2").contains("contradicts CI_NODE_TOTAL, which is 2"));
        assert!(refused(None, "SLURM_ARRAY_TASK_ID=1").contains("SLURM_ARRAY_TASK_COUNT is not"));
        assert!(refused(None, &slurm(2, [4, 2, 8])).contains("without gaps"));
        assert!(refused(Some(4), &slurm(5, [8, 1, 8])).contains("contradicts SLURM_ARRAY_TASK_MAX, which is 8"));
        let two = format!("CI_NODE_INDEX=1 CI_NODE_TOTAL=2 {}", slurm(2, [8, 1, 8]));
        assert!(refused(None, &two).contains("shard 1/2 and shard 2/8"));
        assert!(refused(None, "AWS_BATCH_JOB_ARRAY_INDEX=0 AWS_BATCH_JOB_ARRAY_SIZE=0").contains("of 0 shards"));
    }

    #[test]
    fn the_option_is_read_strictly() {
        let read = |text| share(text).ok();
        assert_eq!(read("2/3"), Some(Share::Part(2, 3)));
        assert_eq!([read("auto"), read("auto/8")], [Some(Share::Auto(None)), Some(Share::Auto(Some(8)))]);
        for text in ["auto/0", "auto/", "auto8", "auto/1/8", "automatic", "4/3", "Auto"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
