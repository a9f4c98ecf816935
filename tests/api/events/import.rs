//! `docgate import access-log`.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{analyst, day, list, months};
use crate::{
    cli::{Running, done, gzip, on},
    support::{
        Gateway, fresh_name, mongod_port,
        proxy::{Cut, Proxy},
        start_mongod, until,
    },
};

/// A gateway on a database, and a folder for logs.
struct Place {
    gateway: Gateway,
    folder: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        Self { gateway: Gateway::start().await, folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    fn command(&self, files: &[&Path], more: &[&str]) -> Command {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let mut arguments = vec!["import", "access-log", "--site", "a.example"];
        arguments.extend(files.iter().map(String::as_str));
        arguments.extend_from_slice(more);
        on(self.gateway.database.name(), &arguments)
    }

    fn import(&self, files: &[&Path], more: &[&str]) -> (i32, String, String) {
        done(self.command(files, more))
    }

    /// Imports files; each line counts.
    fn imports(&self, files: &[&Path], more: &[&str], count: usize) {
        let (code, out, said) = self.import(files, more);
        let told = format!("{count} requests imported, 0 lines skipped\n");
        assert_eq!((code, out), (0, told), "{said}");
    }

    /// All events, by the offset in their ids.
    async fn events(&self) -> Vec<Document> {
        let mut all = Vec::new();
        for name in months(&self.gateway).await {
            all.extend(self.gateway.stored(&name).await);
        }
        all
    }

    async fn count(&self) -> u64 {
        let mut sum = 0;
        for name in months(&self.gateway).await {
            let all = self.gateway.raw(&name);
            sum += all.count_documents(doc! { "at": { "$type": "date" } }).await.expect("a count");
        }
        sum
    }

    /// Offset up to which a log is imported.
    async fn position(&self) -> i64 {
        let found = self.gateway.raw("eventImports").find_one(doc! {}).await.expect("a read");
        found.map_or(0, |found| found.get_i64("done").expect("an offset"))
    }

    /// Hits of a page on a day.
    async fn hits(&self, page: &str, day: &str) -> i64 {
        let query = "query($page: String!, $day: Date!) {
            report(site: \"a.example\", page: $page, range: {days: {from: $day, to: $day}}, resolution: DAY) { total } }";
        let report = analyst(&self.gateway).field(query, json!({ "page": page, "day": day })).await;
        report["total"].as_i64().expect("a number")
    }

    /// Views of a page on a day.
    async fn views(&self, page: &str, day: &str) -> i64 {
        let query = "query($page: String!, $from: DateTime!, $to: DateTime!) {
            viewSeries(page: $page, from: $from, to: $to, resolution: HOUR) { total } }";
        let [from, to] = ["00:00:00Z", "23:59:59Z"].map(|time| format!("{day}T{time}"));
        let variables = json!({ "page": page, "from": from, "to": to });
        let series = analyst(&self.gateway).field(query, variables).await;
        series["total"].as_i64().expect("a number")
    }
}

/// A time such as `10/Oct/2000:13:55:36 +0000`, of a day.
fn time(day: &str, time: &str) -> String {
    let names =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month: usize = day[5..7].parse().expect("a month");
    format!("{}/{}/{}:{time} +0000", &day[8..], names[month - 1], &day[..4])
}

/// Lines of one day, with the paths `/0` to `/9` in turn.
fn lines(day: &str, numbers: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for n in numbers {
        let at = time(day, &format!("{:02}:{:02}:{:02}", n / 3_600 % 24, n / 60 % 60, n % 60));
        let path = n % 10;
        writeln!(
            text,
            "203.0.113.{} - - [{at}] \"GET /{path}?n={n} HTTP/1.1\" 200 {n} \"-\" \"Agent/{n} (test)\"",
            n % 250
        )
        .expect("written");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_become_events_with_all_their_fields() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let at = time(&day, "10:20:30");
    let written = format!(
        "203.0.113.9 - ann [{at}] \"GET /a.b/$c?d=e%20f HTTP/1.1\" 304 - \"https://example.org/?q=1\" \"Say \\\"hi\\\" \\x26 go\"\r\n\
         2001:db8::7:1 - - [{at}] \"POST /form HTTP/2.0\" 201 5000000000\n\
         \n\
         unix: - - [{at}] \"-\" 408 0 \"-\" \"-\" \"extra\" 0.001\n\
         192.0.2.7 - - [{at}] \"\" 400 0 \"-\" \"-\"\n\
         198.51.100.1 - - [{at}] \"\\x16\\x03\\x01\" 400 157 \"-\" \"caf\\xc3\\xa9\""
    );
    let file = place.file("access.log", written.as_bytes());
    place.imports(&[&file], &[], 5);
    let found = list(&place.gateway, json!({ "day": day })).await;
    let of = |host: &str| {
        let mut found = found.iter().find(|found| found["host"] == host).expect("an event").clone();
        found.as_object_mut().expect("an event").remove("arrivedAt");
        found
    };
    let at = format!("{day}T10:20:30.000Z");
    let event = |value: Value| {
        let mut whole = json!({
            "at": at, "site": "a.example", "query": null, "method": null, "bytes": null,
            "referrer": null, "userAgent": null, "user": null,
        });
        whole.as_object_mut().expect("an event").extend(value.as_object().expect("fields").clone());
        whole
    };
    let expected = [
        json!({ "host": "203.0.113.9", "path": "/a.b/$c", "query": "d=e%20f", "method": "GET", "status": 304,
            "referrer": "https://example.org/?q=1", "userAgent": "Say \"hi\" & go", "user": "ann" }),
        json!({ "host": "2001:db8::7:1", "path": "/form", "method": "POST", "status": 201, "bytes": 5_000_000_000_i64 }),
        json!({ "host": "unix:", "path": "-", "status": 408, "bytes": 0 }),
        json!({ "host": "192.0.2.7", "path": "-", "status": 400, "bytes": 0 }),
        json!({ "host": "198.51.100.1", "path": "\\x16\\x03\\x01", "status": 400, "bytes": 157, "userAgent": "café" }),
    ];
    for expected in expected {
        assert_eq!(of(expected["host"].as_str().expect("a host")), event(expected.clone()));
    }
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_known_whatever_its_name_and_compression() {
    let place = Place::new().await;
    let text = lines(&day(&place.gateway, 2), 0..3_000);
    let plain = place.file("access.log", text.as_bytes());
    place.imports(&[&plain], &[], 3_000);
    let before = place.events().await;
    assert_eq!(before.len(), 3_000);
    let packed = place.file("access.log.1.gz", &gzip(&text));
    let zstd = place.file("old", &zstd::encode_all(text.as_bytes(), 1).expect("packed"));
    for file in [&plain, &packed, &zstd] {
        let (code, out, said) = place.import(&[file], &[]);
        assert_eq!((code, out.as_str()), (0, "0 requests imported, 0 lines skipped\n"), "{said}");
        assert!(said.contains("the first 3000 lines are imported already"), "{said}");
    }
    // Even if the positions are lost.
    place.gateway.raw("eventImports").delete_many(doc! {}).await.expect("removed");
    place.imports(&[&packed], &[], 3_000);
    // And from stdin, which is read as a whole.
    for bytes in [text.clone().into_bytes(), gzip(&text)] {
        let mut command = place.command(&[Path::new("-")], &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("stdin");
        stdin.write_all(&bytes).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.stdout, b"3000 requests imported, 0 lines skipped\n");
    }
    assert!(place.events().await == before);
    // Another server may write the same line at the same place.
    place.imports(&[&plain], &["--source-name", "second"], 3_000);
    assert_eq!(place.count().await, 6_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn rotated_logs_come_in_one_call_and_go_on_where_they_were() {
    let place = Place::new().await;
    let [first, second, third] = [9, 8, 7].map(|days| day(&place.gateway, days));
    let one = place.file("access.log.2.gz", &gzip(&lines(&first, 0..500)));
    let two = place.file(
        "access.log.1.zst",
        &zstd::encode_all(lines(&second, 0..400).as_bytes(), 1).expect("packed"),
    );
    let live = place.file("access.log", lines(&third, 0..300).as_bytes());
    place.imports(&[&one, &two, &live], &["--into", "events,reports,series"], 1_200);
    assert_eq!(place.count().await, 1_200);
    for (day, hits) in [(&first, 50), (&second, 40), (&third, 30)] {
        assert_eq!(place.hits("/7", day).await, hits);
        assert_eq!(place.views("/7", day).await, hits);
    }
    // The log grows, is rotated and compressed, and another one begins.
    let grown = lines(&third, 0..350);
    let rotated = place.file("access.log.1.gz", &gzip(&grown));
    let begun = place.file("access.log", lines(&third, 1_000..1_010).as_bytes());
    place.imports(&[&rotated, &begun], &["--into", "events,reports,series"], 60);
    assert_eq!(place.count().await, 1_260);
    assert_eq!(place.hits("/7", &third).await, 36);
    // Into reports alone, and into both: nothing is counted again.
    place.imports(&[&rotated], &["--into", "reports"], 0);
    place.imports(&[&one, &rotated, &begun], &["--into", "reports,events,reports"], 0);
    assert_eq!(place.hits("/7", &third).await, 36);
    assert_eq!(place.views("/7", &third).await, 36);
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_lines_are_told_with_their_numbers() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let mut bytes = lines(&day, 0..1).into_bytes();
    bytes.extend(b"nonsense\n");
    bytes.extend(lines(&day, 1..2).into_bytes());
    bytes.extend(b"h - - [31/Feb/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n");
    bytes.extend(b"h - - [01/Jan/1999:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n");
    bytes.extend(vec![b'x'; 100_000]);
    bytes.extend(b"\n");
    bytes.extend(
        format!(
            "h - - [{}] \"GET /{} HTTP/1.1\" 200 1\n",
            time(&day, "00:00:00"),
            "y".repeat(9_000)
        )
        .bytes(),
    );
    bytes.extend(format!("h - - [{}] \"GET /ä HTTP/1.1\" 200 x\n", time(&day, "00:00:00")).bytes());
    bytes.extend(
        format!("v:443 h - - [{}] \"GET / HTTP/1.1\" 200 1\n", time(&day, "00:00:00")).bytes(),
    );
    bytes.extend(lines(&day, 2..3).into_bytes());
    let file = place.file("access.log", &bytes);
    // A trial tells the same, and changes nothing.
    let before = place.gateway.snapshot().await;
    let into = ["--into", "events,reports,series", "--dry-run"];
    let (code, out, tried) = place.import(&[&file], &into);
    assert_eq!((code, &*out), (1, "3 requests would be imported, 7 lines skipped\n"), "{tried}");
    assert!(place.gateway.snapshot().await == before);
    let (code, out, said) = place.import(&[&file], &[]);
    assert_eq!((code, out.as_str()), (1, "3 requests imported, 7 lines skipped\n"), "{said}");
    assert_eq!(said, tried);
    // What is imported isn't tried again.
    let (code, out, _) = place.import(&[&file], &["--dry-run"]);
    assert_eq!((code, out.as_str()), (0, "0 requests would be imported, 0 lines skipped\n"));
    for told in [
        "access.log, line 2: host: nothing follows it: a line is host ident user [time]",
        "access.log, line 4: time: isn't a time such as",
        "access.log, line 5: time: is before the time for which events are kept (events_retention_days)",
        "access.log, line 6: is longer than 65536 bytes",
        "access.log, line 7: path: takes 1 to 8192 bytes",
        "access.log, line 8: bytes: isn't a number",
        "access.log, line 9: user: is more than one field",
    ] {
        assert!(said.contains(told), "{told} in {said}");
    }
    // A log never gets what is told of it.
    let (code, _, said) = place.import(&[&file], &["--errors", &file.display().to_string()]);
    assert!(code == 2 && said.contains("--errors is the same file as FILE"), "{code}: {said}");
    place.gateway.raw("eventImports").delete_many(doc! {}).await.expect("removed");
    let errors = place.path("bad.jsonl");
    let (code, _, said) =
        place.import(&[&file], &["--errors", &errors.display().to_string(), "--allow-errors"]);
    assert_eq!((code, said.as_str()), (0, ""));
    let text = fs::read_to_string(&errors).expect("the file");
    let told: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let numbers: Vec<_> =
        told.iter().map(|told| told["line"].as_i64().expect("a number")).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 7, 8, 9]);
    assert!(told.iter().all(|told| told["file"] == json!(file.display().to_string())));
    assert_eq!((&told[0]["text"], &told[0]["field"]), (&json!("nonsense"), &json!("host")));
    assert_eq!(told[3]["field"], Value::Null);
    assert_eq!(place.count().await, 3);
}

/// The path of an event may have characters that the name of a page can't have. Whatever its length, it can be counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_no_name_of_a_page_is_counted_in_neither_and_told() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let longest = format!("/{}", "y".repeat(8_191));
    let odd = ["/a\u{2028}b", "/a ", "/\u{202e}a"].map(str::to_owned);
    let none = format!("h - - [{}] \"-\" 408 0\n", time(&day, "00:00:00"));
    let line = |path: String| {
        format!("h - - [{}] \"GET {path} HTTP/1.1\" 200 1\n", time(&day, "00:00:00"))
    };
    let lines: String = line(longest.clone()) + &odd.map(line).concat() + &none;
    let told = "4 requests are counted in neither reports nor series: not of HTTP, or with a path that can't be the \
                name of a page\n";
    let into = |name: &str, sinks: &str, told: &str| {
        // Each log begins with a line of its own, so none is known.
        let file = place.file(name, (line(format!("/{name}")) + &lines).as_bytes());
        let (code, out, said) = place.import(&[&file], &["--into", sinks]);
        assert_eq!((code, &*out), (0, "6 requests imported, 0 lines skipped\n"), "{said}");
        assert_eq!(said, told, "{sinks}");
    };
    into("both", "reports,series", told);
    let page_of = |one: &Document| {
        let id = one.get_document("_id").expect("an id");
        id.get_str("page").expect("a page").to_owned()
    };
    let pages: Vec<_> = place.gateway.stored("statsDaily").await.iter().map(page_of).collect();
    assert_eq!(pages, ["/both".to_owned(), longest.clone()]);
    assert_eq!(place.hits(&longest, &day).await, 1);
    assert_eq!(place.views(&longest, &day).await, 1);
    into("reports", "reports", told);
    into("series", "series", told);
    assert_eq!(place.count().await, 0, "nothing was imported into events");
    into("events", "events", "");
    assert_eq!(place.count().await, 6);
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_imported_is_told() {
    let place = Place::new().await;
    let file = place.file("access.log", lines(&day(&place.gateway, 2), 0..10).as_bytes());
    for (files, more, code, told) in [
        (vec![place.path("nothing")], vec![], 3, "nothing can't be read"),
        (vec![PathBuf::from("-")], vec!["--follow"], 2, "--follow needs a file"),
        (vec![file.clone()], vec!["--into", "hits"], 2, "invalid value 'hits'"),
        (vec![file.clone()], vec!["--follow", "--dry-run"], 2, "cannot be used with"),
        (vec![], vec![], 2, "<FILE>"),
    ] {
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let (ended, _, said) = place.import(&files, &more);
        assert!(ended == code && said.contains(told), "{ended} {said}");
    }
    let whole = gzip(&lines(&day(&place.gateway, 2), 0..40_000));
    let cut = place.file("cut.gz", &whole[..whole.len() * 2 / 3]);
    let (code, out, said) = place.import(&[&cut], &[]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(said.contains("can't be read") && said.contains("Call it again"), "{said}");
    let before = place.count().await;
    assert!((1_000..40_000).contains(&before), "{before}");
    place.file("cut.gz", &whole);
    let (code, _, said) = place.import(&[&cut], &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(place.count().await, 40_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_killed_goes_on_and_doubles_nothing() {
    for signal in ["KILL", "INT"] {
        let place = Place::new().await;
        let day = day(&place.gateway, 2);
        let file = place.file("access.log", lines(&day, 0..60_000).as_bytes());
        let running = Running::start(place.command(&[&file], &[]));
        until("a position", async || place.position().await > 0).await;
        running.signal(signal);
        if signal == "INT" {
            let said = running.says("interrupted");
            assert!(said.contains("Call it again"), "{said}");
            assert_eq!(running.ends(), 3);
        } else {
            drop(running);
        }
        let before = place.count().await;
        assert!((5_000..60_000).contains(&before), "{before}");
        let (code, out, said) = place.import(&[&file], &[]);
        assert_eq!(code, 0, "{said}");
        let imported: usize = out.split(' ').next().expect("a number").parse().expect("a number");
        assert!(imported < 60_000 && said.contains("are imported already"), "{out} {said}");
        assert_eq!(place.count().await, 60_000);
        place.gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_and_views_of_an_import_that_was_killed_count_once() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..60_000).as_bytes());
    let into = ["--into", "events,reports,series"];
    for _ in 0..3 {
        let before = place.position().await;
        let running = Running::start(place.command(&[&file], &into));
        until("a position", async || place.position().await > before).await;
        running.signal("KILL");
    }
    let (code, _, said) = place.import(&[&file], &into);
    assert_eq!(code, 0, "{said}");
    assert_eq!(place.count().await, 60_000);
    assert_eq!((place.hits("/7", &day).await, place.views("/7", &day).await), (6_000, 6_000));
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_that_follow_an_interruption_are_counted() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..100).as_bytes());
    let append = |text: &str| {
        let mut log = fs::File::options().append(true).open(&file).expect("a log");
        log.write_all(text.as_bytes()).expect("written");
    };
    let port = mongod_port(place.gateway.database.name());
    let proxy = Proxy::start(&format!("127.0.0.1:{port}")).await;
    let mut command = place.command(&[&file], &["--follow", "--into", "reports"]);
    let uri = format!("mongodb://{}/?directConnection=true", proxy.address());
    command.env("DOCGATE_MONGODB_URI", uri);
    let running = Running::start(command);
    until("the beginning", async || place.position().await > 0).await;
    // What is added is counted. Its end is noted before, and the position isn't moved any more.
    proxy.count_only(|seen| {
        seen.collection == "eventImports"
            && ["findAndModify", "update"].contains(&seen.command.as_str())
    });
    proxy.cut_all_from(1, Cut::Hold);
    append(&lines(&day, 100..200));
    proxy.reached().await;
    running.signal("KILL");
    drop(running);
    proxy.discard();
    append(&lines(&day, 200..300));
    place.imports(&[&file], &["--into", "reports"], 200);
    let mut hits = 0;
    for page in 0..10 {
        hits += place.hits(&format!("/{page}"), &day).await;
    }
    assert_eq!(hits, 300);
}

/// The second import begins where the first one does, and reads more lines, because the log has grown meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn two_imports_of_a_growing_log_count_each_line_once() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..100).as_bytes());
    let into = ["--into", "reports"];
    place.imports(&[&file], &into, 100);
    let port = mongod_port(place.gateway.database.name());
    let mut held = Vec::new();
    for part in [100..200, 200..300] {
        let mut log = fs::File::options().append(true).open(&file).expect("a log");
        log.write_all(lines(&day, part).as_bytes()).expect("written");
        let proxy = Proxy::start(&format!("127.0.0.1:{port}")).await;
        let mut command = place.command(&[&file], &into);
        let uri = format!("mongodb://{}/?directConnection=true", proxy.address());
        command.env("DOCGATE_MONGODB_URI", uri);
        let mut meeting = proxy.meet(|seen| {
            seen.collection == "eventImports"
                && ["findAndModify", "update"].contains(&seen.command.as_str())
        });
        let running = Running::start(command);
        meeting.arrived().await;
        held.push((running, meeting, proxy));
    }
    let (second, other, _proxy) = held.pop().expect("the second one");
    let (first, one, _proxy_of_first) = held.pop().expect("the first one");
    one.end();
    assert_eq!(first.says("requests imported"), "100 requests imported, 0 lines skipped");
    assert_eq!(first.ends(), 0);
    other.end();
    let said = second.says("another import");
    assert!(said.contains("Call it again"), "{said}");
    assert_eq!(second.ends(), 3);
    place.imports(&[&file], &into, 100);
    let mut hits = 0;
    for page in 0..10 {
        hits += place.hits(&format!("/{page}"), &day).await;
    }
    assert_eq!(hits, 300);
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_outlives_a_mongodb_that_is_killed() {
    let mut mongod = start_mongod().await;
    let gateway = Gateway::over(mongod.port(), false, &fresh_name(), |_| {}).await;
    let place = Place { gateway, folder: tempfile::tempdir().expect("a folder") };
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..60_000).as_bytes());
    let mut command = place.command(&[&file], &["--follow", "--into", "events,reports,series"]);
    let running = Running::start({
        command.env("DOCGATE_MONGODB_URI", mongod.uri());
        command
    });
    until("the beginning", async || place.position().await > 0).await;
    mongod.restart().await.expect("it starts again");
    until("the end", async || place.count().await == 60_000).await;
    running.signal("TERM");
    assert_eq!(running.says("requests imported"), "60000 requests imported, 0 lines skipped");
    assert_eq!(running.ends(), 0);
    assert_eq!((place.hits("/7", &day).await, place.views("/7", &day).await), (6_000, 6_000));
    place.gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_survives_rotation_and_truncation() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..100).as_bytes());
    let running =
        Running::start(place.command(&[&file], &["--follow", "--into", "events,reports"]));
    until("the beginning", async || place.count().await == 100).await;
    let append = |text: &str| {
        let mut log = fs::File::options().append(true).create(true).open(&file).expect("a log");
        log.write_all(text.as_bytes()).expect("written");
    };
    append(&lines(&day, 100..150));
    until("what was added", async || place.count().await == 150).await;
    // Half a line is no line yet.
    let (line, half) = (lines(&day, 150..151), 40);
    append(&line[..half]);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(place.count().await, 150);
    append(&line[half..]);
    until("the whole line", async || place.count().await == 151).await;
    // Rotated: the server writes to the old file for a moment.
    let rotated = place.path("access.log.1");
    fs::rename(&file, &rotated).expect("renamed");
    let mut old = fs::File::options().append(true).open(&rotated).expect("the old log");
    old.write_all(lines(&day, 151..160).as_bytes()).expect("written");
    append(&lines(&day, 160..170));
    old.write_all(lines(&day, 170..175).as_bytes()).expect("written");
    until("both files", async || place.count().await == 175).await;
    // Truncated, as `copytruncate` does.
    fs::File::create(&file).expect("truncated");
    tokio::time::sleep(Duration::from_millis(700)).await;
    append(&lines(&day, 175..178));
    until("the truncated one", async || place.count().await == 178).await;
    running.signal("TERM");
    let said = running.says("requests imported");
    assert_eq!(said, "178 requests imported, 0 lines skipped");
    assert_eq!(running.ends(), 0);
    let mut hits = 0;
    for page in 0..10 {
        hits += place.hits(&format!("/{page}"), &day).await;
    }
    assert_eq!(hits, 178);
    // All of it is known.
    place.imports(&[&rotated, &file], &["--into", "events,reports"], 0);
    assert_eq!(place.count().await, 178);
}

/// A server that was killed leaves a line without an end, and the next one begins another log.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_of_a_rotated_log_needs_no_end() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..3).trim_end().as_bytes());
    let running = Running::start(place.command(&[&file], &["--follow"]));
    // Before these are inserted, what there is of the third one was read.
    until("the whole lines", async || place.count().await == 2).await;
    fs::rename(&file, place.path("access.log.1")).expect("renamed");
    fs::write(&file, lines(&day, 3..4)).expect("written");
    until("both files", async || place.count().await == 4).await;
    running.signal("TERM");
    assert_eq!(running.says("requests imported"), "4 requests imported, 0 lines skipped");
    assert_eq!(running.ends(), 0);
}

/// MongoDB doesn't answer yet what is imported of it. There is no new file for a moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_that_is_rotated_at_once_is_read() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..100).as_bytes());
    let port = mongod_port(place.gateway.database.name());
    let proxy = Proxy::start(&format!("127.0.0.1:{port}")).await;
    let mut command = place.command(&[&file], &["--follow"]);
    let uri = format!("mongodb://{}/?directConnection=true", proxy.address());
    command.env("DOCGATE_MONGODB_URI", uri);
    let mut meeting =
        proxy.meet(|seen| seen.collection == "eventImports" && seen.command == "find");
    let running = Running::start(command);
    meeting.arrived().await;
    fs::rename(&file, place.path("access.log.1")).expect("renamed");
    meeting.end();
    until("the rotated log", async || place.count().await == 100).await;
    fs::write(&file, lines(&day, 100..150)).expect("written");
    until("the new one", async || place.count().await == 150).await;
    running.signal("TERM");
    assert_eq!(running.says("requests imported"), "150 requests imported, 0 lines skipped");
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_is_left_before_its_end() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let file = place.file("access.log", lines(&day, 0..200_000).as_bytes());
    let running = Running::start(place.command(&[&file], &["--follow"]));
    until("a position", async || place.position().await > 0).await;
    running.signal("TERM");
    let said = running.says("requests imported");
    assert_eq!(running.ends(), 0);
    let count = place.count().await;
    assert_eq!(said, format!("{count} requests imported, 0 lines skipped"));
    assert!((1..200_000).contains(&count), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_begin_alike_are_told_apart() {
    let place = Place::new().await;
    let day = day(&place.gateway, 2);
    let (first, rest) = (lines(&day, 0..1), [lines(&day, 1..50), lines(&day, 50..60)]);
    let one = place.file("one.log", format!("{first}{}", rest[0]).as_bytes());
    let two = place.file("two.log", format!("{first}{}", rest[1]).as_bytes());
    place.imports(&[&one], &[], 50);
    // It is shorter, and not the beginning of the other one. The first line is the same in both, and is there already.
    place.imports(&[&two], &[], 11);
    assert_eq!(place.count().await, 60);
    for file in [&one, &two] {
        place.imports(&[file], &[], 0);
    }
    assert_eq!(place.count().await, 60);
}
