//! Files of drills, good and bad.

use super::*;
use crate::drill::scenario::Scenario;

const FLEET: &str =
    "[fleet]\ncommand = \"./billing --id {node} 'a b' --etcd {etcd}\"\nenv = { DB = \"{postgres}\" }\nlease = \"5s\"\n";
const REST: &str = "[service]\netcd = {}\n[store]\npostgres = { audit = \"invoices\" }\n[log]\nelected = \"leads\"\ndeposed = \"leads no more\"\n";

fn read(text: &str) -> Result<File, String> {
    File::parse(text, PathBuf::from("/folder"), "drill".to_owned())
}

#[test]
fn a_file_says_what_a_fleet_is() {
    let file = read(&format!("{FLEET}{REST}")).expect("a good file");
    assert_eq!(
        (file.fleet.members, file.fleet.lease, file.fleet.within),
        (3, Duration::from_secs(5), Duration::from_secs(30))
    );
    assert_eq!(file.fleet.texts().take(5).collect::<Vec<_>>(), ["./billing", "--id", "{node}", "a b", "--etcd"]);
    assert_eq!(file.service, Some(Service { server: Server::Etcd, address: None, members: 1 }));
    assert_eq!((file.store.resource(), file.store.name()), ("invoices", "postgres"));
    assert_eq!(file.log.deposed, ["leads no more"]);
}

#[test]
fn a_service_may_have_several_members() {
    let text = format!("{FLEET}{REST}").replace("etcd = {}", "etcd = { members = 3 }");
    let file = read(&text.replace("{etcd}", "{etcd},{etcd.2},{service.3.port}")).expect("a good file");
    let service = file.service.expect("it has one");
    assert_eq!((service.members, service.names()), (3, ["etcd-1", "etcd-2", "etcd-3"].map(str::to_owned).into()));
    assert!(read(&text.replace("{etcd}", "{etcd.4}")).is_err_and(|why| why.contains("{etcd.3}")));
}

#[test]
fn members_may_be_containers_whose_image_knows_its_command() {
    let text =
        format!("{FLEET}{REST}").replace("env =", "image = \"billing\"\noptions = \"--env DB={postgres.host}\"\nenv =");
    let file = read(&text).expect("a good file");
    let image =
        Image { name: "billing".to_owned(), engine: None, options: vec!["--env".into(), "DB={postgres.host}".into()] };
    assert_eq!(file.fleet.image, Some(image));
    for scenario in [Scenario::ClockStep, Scenario::ClockSkew] {
        assert!(scenario.impossible(&file).is_some_and(|why| why.contains("library that is compiled here")));
    }
    assert_eq!(Scenario::GcPause.impossible(&file), None);
    let command = text.lines().find(|line| line.starts_with("command")).expect("it has one");
    let without = text.replace(command, "engine = \"podman\"");
    let file = read(&without).expect("a good file");
    assert!(
        file.fleet.command.is_none() && file.fleet.image.is_some_and(|image| image.engine.as_deref() == Some("podman"))
    );
    for (from, to, part) in [
        ("image = \"billing\"\n", "", "`[fleet]` has neither `command` nor `image`"),
        ("image = \"billing\"\n", "command = \"x\"\n", "`[fleet] engine` and `options` are for an `image`"),
        ("\"podman\"", "\"lxc\"", "`[fleet] engine` is `lxc`: there are docker and podman"),
        ("\"billing\"", "\"\"", "which is no image's name"),
        ("{postgres.host}", "{redis.host}", "names {redis.host}, which is not known here"),
    ] {
        assert!(without.contains(from), "{from}");
        let why = read(&without.replace(from, to)).expect_err("a wrong file");
        assert!(why.contains(part), "{why}\nlacks: {part}");
    }
}

#[test]
fn a_store_may_be_each_member_s_own() {
    let text =
        format!("{FLEET}{REST}").replace("postgres = { audit = \"invoices\" }", "log = { accepted = \"wrote\" }");
    let why = read(&text).expect_err("it has no address");
    assert!(why.contains("names {postgres}, which is not known here") && !why.contains("{store}"), "{why}");
    let text = text.replace("{postgres}", "{data}") + "ready = \"can lead\"\n[load]\ncommand = \"ask {node} {port}\"\n";
    let file = read(&text).expect("a good file");
    assert_eq!(
        (file.decided()[0], file.log.ready.as_slice()),
        (&["wrote".to_owned()][..], &["can lead".to_owned()][..])
    );
    assert!(matches!(file.load, Some(Load::Command(_))));
    for scenario in [Scenario::GcPause, Scenario::LateWrite] {
        assert!(scenario.impossible(&file).is_some_and(|why| why.contains("no `address` and `write`")));
    }
    assert_eq!(Scenario::GcPauseBetweenWrites.impossible(&file), None);
    for (from, to, part) in [
        ("\"wrote\"", "[]", "`[store] log`: `accepted` is what a member says once"),
        ("\"wrote\"", "\"wrote\", write = \"put\"", "`[store] log`: `write` needs `address`"),
        ("\"wrote\"", "\"wrote\", address = \"127.0.0.1:9\"", "`[store] log`: `address` needs `write`"),
        ("\"wrote\"", "\"wrote\", address = \"127.0.0.1:9\", write = \"\"", "`[store] log`: `write` is empty"),
        ("\"wrote\"", "\"wrote\", address = \"9\", write = \"put\"", "`[store] log`: "),
        ("ask {node}", "ask {leader}", "names {leader}, which is not known here"),
        ("{port}\"\n", "{port}\"\nrate = 3\n", "`[load] rate` is of `http`"),
        ("[load]\n", "[load]\nhttp = \"http://{leader}\"\n", "`[load]` has one of `http` and `command`"),
    ] {
        assert!(text.contains(from), "{from}");
        let why = read(&text.replace(from, to)).expect_err("a wrong file");
        assert!(why.contains(part), "{why}\nlacks: {part}");
    }
}

#[test]
fn a_store_that_is_not_known_has_writes_with_a_text() {
    let store = "log = { accepted = \"wrote\", refused = \"stale\", address = \"127.0.0.1:9\", write = \"put \" }";
    let text = format!("{FLEET}{REST}").replace("postgres = { audit = \"invoices\" }", store);
    let file = read(&text.replace("{postgres}", "{store.port}")).expect("a good file");
    let link = Link { address: ([127, 0, 0, 1], 9).into(), write: "put ".to_owned() };
    let (accepted, refused) = (vec!["wrote".to_owned()], vec!["stale".to_owned()]);
    assert_eq!(file.store, Store::Own { accepted, refused, link: Some(link) });
    for scenario in [Scenario::GcPause, Scenario::LateWrite] {
        assert_eq!(scenario.impossible(&file), None);
    }
    let why = read(&text.replace("{postgres}", "{log}")).expect_err("it has no name of its own");
    assert!(why.contains("names {log}, which is not known here") && why.contains("{store}"), "{why}");
}

#[test]
fn a_member_may_be_ready_by_a_text_its_port_or_an_answer() {
    let text = |ready: &str| format!("{FLEET}ready = {ready}\n{REST}").replace("'a b'", "{port}");
    let ready = |ready: &str| read(&text(ready)).expect("a good file").fleet.ready.expect("it says so");
    assert_eq!(ready("\"listening on\""), Ready::Says(vec!["listening on".to_owned()]));
    assert_eq!(ready("[\"up\", \"well\"]").texts(), ["up", "well"]);
    assert_eq!(ready("{ port = true }"), Ready::Listens);
    assert_eq!(ready("{ http = \"/healthz\" }"), Ready::Answers("/healthz".to_owned()));
    for wrong in ["[]", "3", "{ port = 80 }", "{ port = false }", "{ http = \"healthz\" }", "{ tcp = true }"] {
        let why = read(&text(wrong)).expect_err("a wrong file");
        assert!(why.contains(", nor { port = true }, nor { http = \"/PATH\" }") && !why.contains('\n'), "{why}");
    }
    let why = read(&text("{ port = true }").replace("{port}", "8080")).expect_err("nobody is told the port");
    assert_eq!(why, "`[fleet] ready` asks at {port}, which is not in `command` or `env`");
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let with = |from: &str, to: &str| {
        let text = format!("{FLEET}{REST}");
        assert!(text.contains(from), "{from}");
        read(&text.replace(from, to)).expect_err("a wrong file")
    };
    let said = [
        with("{etcd}", "{redis}"),
        with("{postgres}", "{dbx}"),
        with("etcd = {}", "etcd = {}\nredis = {}"),
        with("etcd = {}", "etcdd = {}"),
        with("deposed = \"leads no more\"\n", ""),
        with("elected = \"leads\"\n", ""),
        with("lease = \"5s\"", "lease = \"5 apples\""),
        with("lease = \"5s\"", "lease = \"5s\"\nwithin = \"9s\""),
        with("lease = \"5s\"", "lease = \"5s\"\nmembers = 1"),
        with("lease = \"5s\"", "lease = \"5s\"\nmember = 3"),
        with("audit = \"invoices\"", "audit = \"invoices\", tokens = 1"),
        with("audit = \"invoices\"", ""),
        with("'a b'", "'a b"),
        with("[store]\n", "[store]\nredis = { audit = \"x\" }\n"),
        with("[log]", "[load]\nhttp = \"POST {leader}/x\"\n[log]"),
        with("[log]", "[load]\nhttp = \"POST http://{lead}/x\"\n[log]"),
        with("[log]", "[load]\nhttp = \"POST http://{leader}/x\"\nrate = 0\n[log]"),
        with("[fleet]", "[fleet"),
        with("[log]", "[log]\nfile = \"service.log\""),
        with("[log]", "[log]\nfile = \"{data}/{etcd}.log\""),
        with("etcd = {}", "etcd = { members = 2 }"),
        with("etcd = {}", "etcd = { members = 0 }"),
        with("etcd = {}", "etcd = { member = 3 }"),
        with("etcd = {}", "etcd = { members = 3, address = \"127.0.0.1:2379\" }"),
        with("etcd = {}", "redis = { members = 3 }"),
        with("etcd = {}", "kubernetes = { members = 3 }"),
        read(&format!("{FLEET}{REST}").replace("{etcd}", "{etcd.host}").replace("etcd = {}", "etcd = { members = 3 }"))
            .expect_err("a wrong file"),
    ];
    let parts = [
        "names {redis}, which is not known here",
        "names {dbx}, which",
        "a fleet elects by one",
        "there is no service `etcdd`; there are consul, etcd, kubernetes, postgres, redis, zookeeper",
        "lacks `deposed`",
        "has neither `elected`",
        "`lease`: `5 apples`",
        "shorter than two leases",
        "`members` is 1: a fleet has from 2 to 9",
        "line 5: unknown field `member`",
        "unknown field `tokens`",
        "missing field `audit`",
        "has a quote that does not end",
        "has one of `postgres`, `redis`, `http` and `log`",
        "it is such as",
        "names {lead}, which",
        "`rate` is 0",
        "line 1:",
        "`[log] file` is `service.log` for all members; name one of each, such as {data}/service.log",
        "names {etcd}, which is not known here; there are {node}",
        "`[service] etcd`: `members` is 2: etcd has 1, 3 or 5",
        "`members` is 0: etcd has 1, 3 or 5",
        "unknown field `member`",
        "`members` is for a service that the drill starts",
        "`redis` is started with one member; consul, etcd and zookeeper may have several",
        "`kubernetes` is started with one member",
        "`{etcd.host}` names {etcd.host}, and the service has 3 members; {etcd.1.host} is one of them",
    ];
    for (said, part) in said.iter().zip(parts) {
        assert!(said.contains(part), "{said}\nlacks: {part}");
        assert!(!said.contains('\n'), "{said}");
    }
}
