//! Two runs side by side, as text: the outcome of the second, where they diverge, and the figures of both.

use super::output::{Show, print};
use protocols::history::Header;
use reports::{
    Cause, Clock, Judgement, Verdict,
    json::{Report, pretty},
    statistics::{duration, grouped},
    text::paragraph,
    timeline::page::{Apart, Sheet},
};
use serde_json::json;

/// One of the two runs.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Its history's header.
    pub header: Option<&'a Header>,
    pub judgement: &'a Judgement,
    /// The cause of its verdict.
    pub cause: &'a Cause,
    /// The data of its page.
    pub sheet: &'a Sheet,
}

/// Reports what the second run adds to the first, whose own report was printed before; with `--json`, both.
pub fn report(sides: &[Side; 2], show: Show, reports: [Report; 2]) {
    let apart = sides[0].sheet.apart(sides[1].sheet);
    if show.json {
        return print(&pretty(&json!({ "schema": reports[0].schema, "runs": reports, "apart": apart })));
    }
    let names = [0, 1].map(|place| format!("{}: {}", ["A", "B"][place], told(sides, place)));
    if show.quiet {
        return print(&format!("{}: {}", names[1], verdict(sides[1].judgement)));
    }
    let mut text = format!("\nBeside it\n  A  {}\n  B  {}\n", title(&sides[0]), title(&sides[1]));
    text += &paragraph(&format!("B: {} {}", verdict(sides[1].judgement), sides[1].cause.text()), show.width());
    text += &apart.map_or_else(|| "  Both have the same moments.\n".to_owned(), |apart| parting(&apart, show));
    print(&format!("{text}\n{}", table(sides, &names)));
}

fn title(side: &Side) -> String {
    match side.header {
        Some(h) => format!("{} · {} · seed {} · fencing {}", h.scenario, h.protocol, h.seed, h.fencing.word()),
        None => format!("a history of {} events", grouped(side.judgement.history_events)),
    }
}

/// What distinguishes a side from the other, in a word or two.
fn told(sides: &[Side; 2], place: usize) -> String {
    let [Some(a), Some(b)] = sides.each_ref().map(|side| side.header) else { return "history".to_owned() };
    let h = [a, b][place];
    match () {
        () if a.protocol != b.protocol => h.protocol.clone(),
        () if a.fencing != b.fencing => format!("fencing {}", h.fencing.word()),
        () if a.seed != b.seed => format!("seed {}", h.seed),
        () if a.scenario != b.scenario => h.scenario.clone(),
        () => "this run".replace("this", ["first", "second"][place]),
    }
}

fn verdict(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Pass => "Every invariant held.",
        Verdict::Safety => "Safety is violated.",
        Verdict::Liveness => "Liveness is violated.",
        Verdict::Vacuous => "Inconclusive.",
    }
}

fn parting(apart: &Apart, show: Show) -> String {
    let [a, b] = apart.clocks;
    let own = |name: &str, clock: Clock, what: &Option<(u64, String)>| match what {
        Some((t_us, text)) => paragraph(&format!("{name} {}  {text}", clock.moment(*t_us)), show.width()),
        None => format!("  {name} nothing else\n"),
    };
    let head = format!("  They part at {}:\n", a.moment(apart.t_us));
    head + &own("A", a, &apart.first) + &own("B", b, &apart.second)
}

fn table(sides: &[Side; 2], names: &[String; 2]) -> String {
    let ms = |value: f64| duration(value * 1e3);
    let times = |values: &[f64]| match values {
        [] => "none".to_owned(),
        [one] => ms(*one),
        many => format!("{} times, at most {}", many.len(), ms(many.iter().copied().fold(0.0, f64::max))),
    };
    let figures = sides.each_ref().map(|side| {
        let m = &side.judgement.metrics;
        vec![
            ("leaders taking effect at once", grouped(m.leaders_acting_by_effect_max)),
            ("dual effect", ms(m.dual_effect_ms)),
            ("nodes believing at once", grouped(m.leaders_believing_max)),
            ("dual belief", ms(m.dual_belief_ms)),
            ("elections", grouped(m.elections)),
            ("writes accepted", grouped(m.writes_accepted)),
            ("writes refused for their token", grouped(m.writes_fenced)),
            ("failover time", times(&m.failover_ms)),
            ("dark time", m.dark_ms.map_or_else(|| "unknown".to_owned(), ms)),
        ]
    });
    let [first, second] = figures;
    let wide =
        first.iter().map(|(_, value)| value.chars().count()).chain([names[0].chars().count()]).max().unwrap_or(0);
    let head = format!("  {:30}  {:wide$}  {}\n", "", names[0], names[1]);
    let rows = first.iter().zip(&second).map(|((label, a), (_, b))| {
        let differs = if a == b { "" } else { "  ≠" };
        format!("  {label:30}  {a:wide$}  {b}{differs}\n")
    });
    head + &rows.collect::<String>()
}
