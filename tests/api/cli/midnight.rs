//! A gateway over midnight. Its clock is the machine's, put ahead by a library that is loaded before the others.

use std::{fs, path::PathBuf, process::Command};

use reqwest::header::ACCEPT;
use serde_json::json;

use super::{Running, ask, ask_with, on};
use crate::support::{fresh_name, http, live::Chunks, now_seconds, token_with};

/// The library: the time of day is so many seconds ahead as the file `CLOCK_AHEAD` says.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*original)(clockid_t, struct timespec *);
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, "clock_gettime");
    int result = original(clock, now);
    FILE *file = result == 0 && clock == CLOCK_REALTIME ? fopen(getenv("CLOCK_AHEAD"), "r") : NULL;
    if (file) {
        long long ahead;
        if (fscanf(file, "%lld", &ahead) == 1) now->tv_sec += ahead;
        fclose(file);
    }
    return result;
}
"#;
const DAY: i64 = 86_400;
const FOLLOW: &str = "subscription { hitsChanged(site: \"a.example\", page: \"/a\") {
    today lastHour { total } } }";
const RECORD: &str = "mutation($hits: [HitInput!]!) { recordHits(input: { hits: $hits }) {
    ... on HitsRecorded { count } } }";

/// The clock of a gateway.
struct Clock(tempfile::TempDir);

impl Clock {
    /// A clock that is right.
    fn new() -> Self {
        let clock = Self(tempfile::tempdir().expect("a folder"));
        clock.put_ahead(0);
        fs::write(clock.path("clock.c"), LIBRARY).expect("written");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(clock.path("clock.so"));
        let built = compiler.arg(clock.path("clock.c")).arg("-ldl").status();
        assert!(built.expect("a C compiler, which links Rust too").success());
        clock
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts it ahead by so many seconds, at once for all who read it.
    fn put_ahead(&self, seconds: i64) {
        fs::write(self.path("next"), seconds.to_string()).expect("written");
        fs::rename(self.path("next"), self.path("ahead")).expect("renamed");
    }

    /// A command that goes by it.
    fn of(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", self.path("clock.so")).env("CLOCK_AHEAD", self.path("ahead"));
        command
    }
}

/// Waits until these hits of today and of the last hour are told.
async fn told(subscriber: &mut Chunks, today: i64, last_hour: i64) {
    loop {
        let (name, response) = subscriber.event().await.expect("an event");
        assert_eq!(name, "next");
        let changed = &response["data"]["hitsChanged"];
        if *changed == json!({ "today": today, "lastHour": { "total": last_hour } }) {
            return;
        }
        // Hits that are recorded together may be told one after the other.
        let found = changed["lastHour"]["total"].as_i64().expect("a number");
        assert!(found < last_hour, "{response:#}");
    }
}

/// The next event tells that today has no hits yet, and that the last hour has those from before midnight.
async fn told_of_the_new_day(subscriber: &mut Chunks) {
    let (_, response) = subscriber.event().await.expect("an event");
    let changed = &response["data"]["hitsChanged"];
    assert_eq!(*changed, json!({ "today": 0, "lastHour": { "total": 2 } }), "{response:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_of_a_page_are_told_of_midnight() {
    let clock = Clock::new();
    let now = i64::try_from(now_seconds()).expect("a time");
    let to_midnight = DAY - now % DAY;
    clock.put_ahead(to_midnight - 20 * 60);
    let mut serve = clock.of(on(&fresh_name(), &["serve", "--apply-indexes"]));
    serve.env("DOCGATE_ROOMS", "hits,queue");
    let running = Running::start(serve);
    let address = running.address("serving on");
    let token = |subject: &str, role: &str| {
        token_with(&json!({ "sub": subject, "roles": [role], "exp": now + 3 * DAY }))
    };
    let (service, analyst) = (token("the-service", "service"), token("an-analyst", "analyst"));
    let record = async |count: usize| {
        let hits = vec![json!({ "site": "a.example", "page": "/a" }); count];
        let said = ask_with(&address, Some(&service), RECORD, json!({ "hits": hits })).await;
        assert_eq!(said["data"]["recordHits"]["count"], json!(count), "{said:#}");
    };
    let request = http().post(format!("http://{address}/graphql")).bearer_auth(&analyst);
    let request = request.header(ACCEPT, "text/event-stream").json(&json!({ "query": FOLLOW }));
    let mut subscriber = Chunks::events(request.send().await.expect("an answer"));

    told(&mut subscriber, 0, 0).await;
    record(2).await;
    told(&mut subscriber, 2, 2).await;
    // Ten minutes after midnight. The new day is told without another hit.
    clock.put_ahead(to_midnight + 10 * 60);
    told_of_the_new_day(&mut subscriber).await;
    record(1).await;
    told(&mut subscriber, 1, 3).await;
    // Who comes later sees the same.
    let report = "query { report(
        site: \"a.example\", page: \"/a\", range: { last: 60 }, resolution: MINUTE) { total } }";
    let said = ask(&address, Some(&analyst), report).await;
    assert_eq!(said["data"]["report"]["total"], 3, "{said:#}");
    drop(subscriber);
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}
