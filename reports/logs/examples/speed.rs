//! How fast logs are judged, and with how much memory: `cargo run --release -p fencepost-logs --example speed`.

use logs::{Options, Verdict};
use std::{
    env,
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

const WRITES: u64 = 500_000;
/// How many leaders follow each other.
const LEADERS: u64 = 10;
const TEXT: &str =
    "{time} INFO  [billing] {node} charged invoice {request} as number {seq} under token {token}: {verdict}";

fn write(path: &Path, shape: &str, writes: u64) -> Result<(), Box<dyn Error>> {
    let mut log = BufWriter::new(File::create(path)?);
    for n in 0..writes {
        let reign = n * LEADERS / writes;
        let (node, token) = (reign % 3, reign + 1);
        let (second, micros) = (n / 1_000, n % 1_000 * 1_000);
        let time = format!("2026-05-01T10:{:02}:{:02}.{micros:06}Z", second / 60, second % 60);
        match shape {
            "json" => writeln!(
                log,
                r#"{{"time":"{time}","level":"info","msg":"charged","node":"n{node}","token":{token},"seq":{n},"request":"i:{n}","resource":"invoices","verdict":"ok"}}"#
            )?,
            _ => writeln!(
                log,
                "{time} INFO  [billing] n{node} charged invoice i:{n} as number {n} under token {token}: ok"
            )?,
        }
    }
    Ok(log.flush()?)
}

/// Judges one log, and prints a row of the table.
fn judge(shape: &str, writes: u64) -> Result<(), Box<dyn Error>> {
    let path: PathBuf = env::temp_dir().join(format!("fencepost-speed-{}.{shape}.log", std::process::id()));
    write(&path, shape, writes)?;
    let megabytes = fs::metadata(&path)?.len() as f64 / 1e6;
    let options = match shape {
        "json" => Options::default().map("t_us", "time").ignore(&["level", "msg"]),
        _ => Options::default().pattern(TEXT)?.set("resource", "invoices"),
    };
    let began = Instant::now();
    let judged = options.judge(std::slice::from_ref(&path));
    let seconds = began.elapsed().as_secs_f64();
    fs::remove_file(&path)?;
    assert_eq!(judged?.judgement.verdict, Verdict::Pass);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let memory = most.and_then(|most| most.trim().strip_suffix(" kB")?.parse().ok()).map_or(0.0, |kb: f64| kb / 1e3);
    println!("| {shape} | {megabytes:.0} MB | {seconds:.1} s | {:.0} MB/s | {memory:.0} MB |", megabytes / seconds);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(shape) = env::args().nth(1) {
        return judge(&shape, WRITES);
    }
    println!("| {WRITES} writes as | log | time | | memory |\n|---|---:|---:|---:|---:|");
    // A process each, as memory is given back late.
    for shape in ["json", "text"] {
        Command::new(env::current_exe()?).arg(shape).status()?;
    }
    Ok(())
}

#[test]
fn each_shape_is_read_to_a_pass() {
    for shape in ["json", "text"] {
        judge(shape, 2_000).expect("it is judged");
    }
}
