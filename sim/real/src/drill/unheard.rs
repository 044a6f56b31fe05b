//! Leaders that have never said that they stopped, although others have taken over: `[log] deposed` may miss what they say.

use super::{
    ear::Said,
    story::{Note, Noted},
};
use protocols::history::NodeState;
use std::path::PathBuf;

/// That no member has said that it stopped leading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unheard {
    /// A sentence.
    pub why: String,
    /// When one of them was first elected again, in microseconds from the start. That counts as its former leadership, so that a
    /// violation from then on may be none.
    pub again_us: Option<u64>,
}

impl Unheard {
    /// `None` if a member has said so, or nobody had to. `log` is where a member says it.
    pub fn of(noted: &[Noted], start_us: u64, log: impl Fn(usize) -> (String, PathBuf)) -> Option<Unheard> {
        let (member, again_us) = unheard(noted)?;
        let (name, log) = log(member);
        let why = format!(
            "no member has said that it stopped leading, although another one took over from {name}: compare `[log] deposed` with {}",
            log.display()
        );
        Some(Unheard { why, again_us: again_us.map(|at| at.saturating_sub(start_us)) })
    }
}

/// The first that another one has taken over from, and when one of them was first elected again.
fn unheard(noted: &[Noted]) -> Option<(usize, Option<u64>)> {
    let (mut led, mut left, mut again): (Vec<usize>, Vec<usize>, Option<u64>) = Default::default();
    for Noted { t_us, note } in noted {
        match note {
            Note::Said(_, Said::Deposed) => return None,
            Note::Said(member, Said::Elected(_)) => {
                again = again.or(left.contains(member).then_some(*t_us));
                left.extend(
                    led.iter().filter(|other| *other != member && !left.contains(other)).copied().collect::<Vec<_>>(),
                );
                led.retain(|other| other == member);
                led.push(*member);
            }
            Note::Node(node, NodeState::Down) => {
                led.retain(|member| member != node);
                left.retain(|member| member != node);
            }
            _ => {}
        }
    }
    left.first().map(|member| (*member, again))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(notes: Vec<Note>) -> Vec<Noted> {
        (0..).zip(notes).map(|(t_us, note)| Noted { t_us, note }).collect()
    }

    #[test]
    fn whoever_is_replaced_says_so_or_ends() {
        let leads = |member| Note::Said(member, Said::Elected(None));
        let over = |member| Note::Said(member, Said::Deposed);
        let down = |member| Note::Node(member, NodeState::Down);
        for (notes, must) in [
            (vec![leads(0)], None),
            (vec![leads(0), leads(0)], None),
            (vec![leads(0), down(0), leads(1)], None),
            (vec![leads(0), leads(1), over(0)], None),
            (vec![leads(0), leads(1)], Some((0, None))),
            (vec![leads(0), leads(1), leads(0)], Some((0, Some(2)))),
            (vec![leads(0), leads(1), down(0), leads(0)], Some((1, None))),
        ] {
            assert_eq!(unheard(&noted(notes.clone())), must, "{notes:?}");
        }
    }
}
