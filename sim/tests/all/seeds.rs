//! Regressions: every plan in `seeds/` gives its recorded result, next to the story of why it is there.

use crate::common::{root, run};
use scenarios::{Case, Plan, Registry, capsule::Mended};
use std::collections::BTreeMap;

/// A plan gives this verdict, violates exactly these invariants, and has these figures.
fn comes_to(name: &str, plan: &Plan, verdict: &str, violated: &[String], figures: &BTreeMap<String, f64>) {
    let run = run(plan);
    let seen: Vec<_> = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect();
    assert_eq!(run.judgement.verdict.name(), verdict, "{name}: {seen:?}");
    assert_eq!(seen, violated, "{name}");
    let metrics = serde_json::to_value(&run.judgement.metrics).expect("figures are JSON");
    for (figure, value) in figures {
        assert_eq!(metrics[figure].as_f64(), Some(*value), "{name}: {figure}");
    }
}

#[test]
fn every_case_comes_to_what_it_did() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("seeds"))
        .expect("there are seeds")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no cases");
    for file in files {
        let name = file.display();
        let text = std::fs::read_to_string(&file).expect("the case can be read");
        let case = Case::read(&text, &Registry::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(case.story.len() > 80, "{name}: tell the story");
        let (plan, name) = (case.plan, name.to_string());
        comes_to(&name, &plan, &case.verdict, &case.violated, &case.figures);
        assert_eq!(case.mended.is_some(), !plan.bugs.is_empty(), "{name}: say what it comes to without its bugs");
        if let Some(Mended { verdict, violated, figures }) = case.mended {
            let plan = Plan { bugs: Vec::new(), ..plan };
            comes_to(&format!("{name}, mended"), &plan, &verdict, &violated, &figures);
        }
    }
}
