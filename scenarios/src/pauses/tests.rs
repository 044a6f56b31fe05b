use super::*;

#[test]
fn a_jvm_log_with_safepoints_counts_those_and_nothing_twice() {
    let log = "\
        [2026-11-02T10:15:30.123+0000][0.500s][info][gc] Using G1\n\
        [2026-11-02T10:15:31.123+0000][1.500s][info][gc,start    ] GC(0) Pause Young (Normal) (G1 Evacuation Pause)\n\
        [2026-11-02T10:15:31.130+0000][1.507s][info][gc          ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(64M) 6.500ms\n\
        [2026-11-02T10:15:31.131+0000][1.508s][info][safepoint   ] Safepoint \"G1CollectForAllocation\", Time since last: 1000000000 ns, Reaching safepoint: 200000 ns, Cleanup: 1000 ns, At safepoint: 6600000 ns, Total: 6801000 ns\n\
        not a line of the log\n\
        [2026-11-02T10:15:40.000+0000][10.500s][info][safepoint   ] Safepoint \"Cleanup\", Time since last: 8, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns, Total: 120000 ns\n";
    let read = read(log).unwrap();
    assert_eq!(read.form, Form::JvmSafepoints);
    assert_eq!(read.lengths_ms, [0.12, 6.801]);
    assert_eq!(read.over_ms, Some(10_000.0));
}

#[test]
fn older_safepoints_and_a_collector_alone() {
    let old = "[3.000s][info][safepoint] Total time for which application threads were stopped: 1.2500000 seconds, Stopping threads took: 0.0000123 seconds\n\
               [4000ms][info][safepoint] Total time for which application threads were stopped: 0,5 seconds, Stopping";
    assert_eq!(read(old).unwrap().lengths_ms, [500.0, 1_250.0]);
    assert_eq!(read(old).unwrap().over_ms, Some(1_000.0));
    let gc = "[12.345s][info][gc] GC(7) Pause Full (System.gc()) 24M->4M(64M) 2345.678ms\n\
              [13.345s][info][gc] GC(8) Concurrent Mark Cycle 50.000ms";
    let read = read(gc).unwrap();
    assert_eq!((read.form, read.lengths_ms), (Form::JvmCollections, vec![2_345.678]));
}

#[test]
fn of_go_only_what_stops_the_world() {
    let log = "starting\n\
               gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.84 ms cpu, 4->4->0 MB, 5 MB goal, 8 P\n\
               gc 2 @60.012s 0%: 0.5+12+0.25 ms clock, 4.0+1/2/3+2.0 ms cpu, 8->8->1 MB, 9 MB goal, 8 P (forced)\n";
    let read = read(log).unwrap();
    assert_eq!((read.form, read.over_ms), (Form::Go, Some(60_000.0)));
    assert_eq!(read.lengths_ms, [0.026, 0.1, 0.25, 0.5]);
}

#[test]
fn a_list_and_what_is_wrong_with_it() {
    let read_list = read("# live migrations\n1.2s\n3x 40ms   # young\n\n").unwrap();
    assert_eq!((read_list.form, read_list.over_ms), (Form::Durations, None));
    assert_eq!(read_list.lengths_ms, [40.0, 40.0, 40.0, 1_200.0]);
    let table = [
        ("", "there is no pause in it"),
        ("# nothing\n", "there is no pause in it"),
        (
            "12",
            "line 1: `12` is not a pause; the file must be a list of durations, such as 120ms or 3x 1.2s, a JVM's log or Go's gctrace",
        ),
        ("1s\n0x 1s", "line 2: `0x 1s` is not a number of pauses; write it as 3x 1.2s"),
        ("99999999999x 1s", "line 1: `99999999999x 1s` is not a number of pauses; write it as 3x 1.2s"),
    ];
    for (text, why) in table {
        assert_eq!(read(text).map_err(|e| e.to_string()), Err(why.to_owned()), "{text:?}");
    }
}

proptest::proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "(\\[[^\\n]{0,20}\\]){0,3} ?(GC\\(1\\) Pause |Safepoint | Total: |gc 1 @|s 1%: |[0-9.+]{0,9}| ms clock|ns|\\n){0,12}") {
        if let Ok(pauses) = read(&text) {
            proptest::prop_assert!(pauses.lengths_ms.iter().all(|ms| ms.is_finite() && *ms >= 0.0));
        }
    }
}
