//! Names of processes and resources come into reports as they are, whatever they look like.

use protocols::history::{Sink, json::Reader};
use reports::{Judges, Names, json, text, timeline::page::Pages};

/// Names that look like words of a sentence, like lists, and like times.
#[test]
fn names_stay_as_they_are() {
    let names = ["sync for eu", "n3, killed and n1", "[[7]] at 1.000 s", "{t} until the end"];
    let [a, b, c, d] = names;
    let line = |t_us: u64, rest: String| format!("{{\"t_us\":{t_us},{rest}}}\n");
    let write = |t_us: u64, node: &str, token: u64, seq: u64| {
        let by = format!("\"event\":\"apply\",\"resource\":\"bills for 2, 3\",\"node\":\"{node}\",\"token\":{token}");
        line(t_us, format!("{by},\"seq\":{seq},\"verdict\":\"ok\""))
    };
    let cut = |t_us: u64, phase: &str| {
        let sides = format!("\"on\":[\"{a}\",\"{b}\",\"{c}\"],\"from\":[\"{a}\"],\"against\":[\"{b}\",\"{c}\"]");
        line(t_us, format!("\"event\":\"fault\",\"index\":0,\"fault\":\"partition\",\"phase\":\"{phase}\",{sides}"))
    };
    let elected = line(10, format!("\"event\":\"elected\",\"node\":\"{a}\",\"token\":5"));
    let log = [elected, write(20, a, 5, 1), cut(2_000_000, "begin"), write(3_000_000, b, 7, 2)].concat()
        + &[write(4_000_000, a, 5, 3), cut(5_000_000, "end"), write(6_000_000, d, 9, 4)].concat();
    let mut reader = Reader::new(log.as_bytes()).unwrap();
    let (mut judges, mut pages) = (Judges::new(None), Pages::new(None));
    while let Some(event) = reader.next() {
        let event = event.unwrap();
        pages.learn(reader.names(), reader.resources());
        judges.record(&event);
        pages.record(&event);
    }
    let mut called = Names::new(reader.names());
    called.learn(reader.names(), reader.resources());
    let judgement = judges.finish_with(&called);
    let (highlights, sheet) = pages.into_both(&judgement);
    let run = text::Run {
        header: None,
        parameters: &[],
        highlights: &highlights,
        judgement: &judgement,
        facts: &json::RunFacts::default(),
        replay: None,
        meaning: None,
        next: &[],
        all: true,
        colour: false,
    };
    let report = text::render(&run);
    let told: String = report
        .lines()
        .map(|line| line.trim_start_matches([' ', '·', '█', '?', '~', '┃']))
        .collect::<Vec<_>>()
        .join(" ");
    let page = sheet.page();
    for part in [
        "sync for eu cut off from n3, killed and n1, [[7]] at 1.000 s for 3 s",
        "healed: sync for eu was cut off from n3, killed and n1 and [[7]] at 1.000 s",
        "ACCEPTED although stale: seq 3 of sync for eu (token 5) on bills for 2, 3; n3, killed and n1 (token 7) had",
    ] {
        assert!(told.contains(part) && page.contains(part), "{part}\n{told}\n{report}");
    }
    let cause =
        "From 2.000 s on sync for eu was cut off from n3, killed and n1 and [[7]] at 1.000 s; sync for eu wrote";
    assert!(highlights.cause.text().starts_with(cause), "{}", highlights.cause.text());
    assert!(told.contains("{t} until the end (token 9) takes effect"), "{told}");
}
