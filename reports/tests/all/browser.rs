//! The page of a run in a real browser: `tests/browser/page.js` loads it, presses keys, hovers, zooms, follows links. Where
//! there is no Chromium or no Node, it says so aloud and passes; with `FENCEPOST_SERVERS=require` it fails, and with
//! `install` they are installed.

use protocols::history::{Sink, json::Reader};
use reports::{Judges, timeline::page::Pages};
use std::{fs, path::Path, process::Command};

/// A name that would end the script that it stands in, and run another.
const HOSTILE: &str = r#"</script><img src=x onerror=\"window.injected=true\">"#;

/// The page of a history.
pub fn page(text: &str) -> String {
    let reader = Reader::new(text.as_bytes()).expect("a history");
    let header = reader.header().cloned();
    let (mut judges, mut pages) = (Judges::new(header.as_ref()), Pages::new(header.as_ref()));
    for event in reader {
        let event = event.expect("an event");
        judges.record(&event);
        pages.record(&event);
    }
    pages.into_page(&judges.finish())
}

#[test]
fn a_page_works_in_a_browser() {
    let what = "timelines in a browser";
    let Some(chromium) = servers::find("chromium", "chromium", what) else { return };
    let Some(node) = servers::find("node", "nodejs", what) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("timeline.html");
    let history = include_str!("../../testdata/gc-pause-unfenced.jsonl");
    let history = history.replace("\"n2\"", &format!("\"{HOSTILE}\"")).replace("\"n2:", &format!("\"{HOSTILE}:"));
    let written = folder.join("history.jsonl");
    fs::write(&file, page(&history)).expect("written");
    fs::write(&written, history).expect("written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/page.js");
    let run = Command::new(node).arg(script).arg(chromium).args([&file, &written, &folder.join("profile")]).output();
    let run = run.expect("node starts");
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}");
    let _ = fs::remove_dir_all(&folder);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.lines().filter(|line| line.starts_with("ok ")).count() > 25, "too few checks: {said}");
}
