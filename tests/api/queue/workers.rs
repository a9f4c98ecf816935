//! docgate's own workers, and messages about jobs.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, TryRecvError, channel},
    },
    time::{Duration, Instant},
};

use docgate::domains::queue::operations::{Added, Handler, Limits, NewJob, Work, add, run};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{enqueue, enqueued, key, operator, stats};
use crate::{
    cli::{Running, on},
    metrics::Samples,
    support::{Gateway, proxy::Cut, token, until},
};

const AVAILABLE: &str = "subscription { jobAvailable(queue: \"mail\") { queue } }";

const DEAD: &str = "{ deadJobs(queue: \"mail\") { nodes { failureReason } } }";

/// A handler that calls `each` with the payload.
fn handler(each: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Handler {
    let each = Arc::new(each);
    Arc::new(move |_, job| {
        let each = Arc::clone(&each);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            each(&job.payload)
        })
    })
}

fn work(queue: &str, handler: &Handler) -> Work {
    Work { queue: queue.to_owned(), handler: Arc::clone(handler) }
}

const LIMITS: Limits = Limits { jobs: 4, lease: Duration::from_secs(30) };

#[tokio::test(flavor = "multi_thread")]
async fn own_workers_share_fairly_and_stop_gracefully() {
    let gateway = Gateway::start().await;
    for number in 0..60 {
        enqueued(&gateway, "long", &format!("long-{number}")).await;
    }
    for number in 0..5 {
        enqueued(&gateway, "short", &format!("short-{number}")).await;
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let handler = handler(move |payload| {
        seen.lock().expect("nobody panics with it").push(payload.to_owned());
        Ok(())
    });
    let stop = CancellationToken::new();
    let queues = vec![work("long", &handler), work("short", &handler)];
    let (app, stopped) = (gateway.app.clone(), stop.clone());
    let running = tokio::spawn(async move { run(&app, queues, LIMITS, stopped).await });
    until("all jobs are done", async || stats(&gateway, "long").await == [0; 4]).await;
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(120), running)
        .await
        .expect("it stops")
        .expect("no panic");
    let order = order.lock().expect("nobody panics with it").clone();
    let mut times = BTreeMap::new();
    for payload in &order {
        *times.entry(payload).or_insert(0) += 1;
    }
    assert!(times.len() == 65 && times.values().all(|times| *times == 1), "{times:#?}");
    // The short queue didn't wait for the long one.
    let last = order.iter().rposition(|payload| payload.starts_with("short")).expect("short ones");
    assert!(last < 25, "{order:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_workers_wake_up_without_polling_and_try_again() {
    let gateway = Gateway::start().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let handler = handler(move |_| {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 { Err("not yet".into()) } else { Ok(()) }
    });
    let stop = CancellationToken::new();
    let (app, stopped) = (gateway.app.clone(), stop.clone());
    let queues = vec![Work::own("feeds", handler)];
    let running = tokio::spawn(async move { run(&app, queues, LIMITS, stopped).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    // A room adds a job in its flow, and again when the flow is repeated.
    let op = || gateway.app.ids().op(&["flow", "tag"], Some("entry"), &"input");
    for _ in 0..2 {
        let added = add(&gateway.app, op(), NewJob::own("feeds", "a".into())).await;
        assert!(matches!(added.expect("an outcome"), Added::Job(_) | Added::Before(_)));
    }
    until("the first call", async || calls.load(Ordering::SeqCst) == 1).await;
    let job = gateway.raw("jobs").find_one(mongodb::bson::doc! {}).await.expect("read");
    assert_eq!(job.expect("a job").get_str("queue").expect("a name"), "docgate.feeds");
    until("the second call", async || calls.load(Ordering::SeqCst) == 2).await;
    stop.cancel();
    running.await.expect("no panic");
    let done = mongodb::bson::doc! { "state": "DONE", "attempts": 2 };
    assert_eq!(
        gateway
            .raw("jobs")
            .count_documents(done)
            .hint(mongodb::options::Hint::Name("_id_".into()))
            .await
            .expect("counted"),
        1
    );
    gateway.assert_sound().await;
}

/// How long the first attempt of a job lasts that nobody stops.
const JOB: Duration = Duration::from_secs(600);

/// Tells when it is dropped.
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_renew_its_lease_stops_its_work() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler: Handler = {
        let (begun, ended) = (Arc::clone(&begun), Arc::clone(&ended));
        Arc::new(move |_, _| {
            let (begun, guard) = (Arc::clone(&begun), Guard(Arc::clone(&ended)));
            Box::pin(async move {
                // The next attempt has nothing to do.
                if begun.fetch_add(1, Ordering::SeqCst) == 0 {
                    tokio::time::sleep(JOB).await;
                }
                drop(guard);
                Ok(())
            })
        })
    };
    let stop = CancellationToken::new();
    let (app, stopped) = (gateway.app.clone(), stop.clone());
    let limits = Limits { jobs: 1, lease: Duration::from_secs(6) };
    let running =
        tokio::spawn(async move { run(&app, vec![work("mail", &handler)], limits, stopped).await });
    enqueued(&gateway, "mail", "a").await;
    until("the job has begun", async || begun.load(Ordering::SeqCst) == 1).await;
    // MongoDB is silent from now on.
    let since = Instant::now();
    proxy.count_only(|seen| seen.collection == "jobs");
    proxy.cut_all_from(0, Cut::Hold);
    until("the job has ended", async || ended.load(Ordering::SeqCst) == 1).await;
    let took = since.elapsed();
    assert!(took > Duration::from_millis(500) && took < JOB / 4, "{took:?}");
    stop.cancel();
    proxy.heal();
    proxy.discard();
    let stopped = tokio::time::timeout(Duration::from_secs(120), running).await;
    stopped.expect("it stops").expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_told_of_jobs() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.session(Some(&token("a-worker", &["worker"]))).await;
    socket.subscribe("1", AVAILABLE, json!({})).await;
    // There is no job.
    socket.is_silent(Duration::from_millis(500)).await;
    enqueued(&gateway, "other", "a").await;
    enqueued(&gateway, "mail", "a").await;
    let message = socket.next("1").await;
    assert_eq!(message["data"]["jobAvailable"]["queue"], "mail", "{message:#}");
    enqueued(&gateway, "mail", "b").await;
    let message = socket.next("1").await;
    assert_eq!(message["data"]["jobAvailable"]["queue"], "mail", "{message:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_of_a_queue_share_its_reads() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.session(Some(&token("a-worker", &["worker"]))).await;
    for id in 0..20 {
        socket.subscribe(&id.to_string(), AVAILABLE, json!({})).await;
    }
    socket.is_silent(Duration::from_millis(500)).await;
    let reads = async || {
        let name =
            "docgate_mongodb_commands_total{collection=\"jobs\",command=\"find\",outcome=\"ok\"}";
        Samples::of(&gateway).await.get(name)
    };
    let since = Instant::now();
    let before = reads().await;
    socket.is_silent(Duration::from_secs(3)).await;
    until("the queue is looked at", async || reads().await > before).await;
    let after = reads().await;
    // Two reads for each look, of which there is one a second.
    let most = 2.0 * (since.elapsed().as_secs_f64() + 3.0);
    assert!(after - before <= most, "{before} {after} {most}");
    enqueued(&gateway, "mail", "a").await;
    let mut told = HashSet::new();
    while told.len() < 20 {
        let message = socket.hear().await;
        if message["type"] == "next" {
            told.insert(message["id"].as_str().expect("an id").to_owned());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_a_worker() {
    let gateway = Gateway::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told");
    let exec = "read line; echo \"$DOCGATE_JOB_QUEUE $DOCGATE_JOB_ATTEMPT $line\" >> \"$TOLD\"; \
        if test \"$line\" = bad; then seq 1 2000 >&2; printf 'at \\377 last' >&2; exit 3; fi";
    let arguments = ["work", "--queue", "mail", "--queue", "print", "--jobs", "2", "--exec", exec];
    let mut command = on(gateway.database.name(), &arguments);
    // A worker verifies no tokens.
    command.env("TOLD", &told).env_remove("DOCGATE_AUTH_HS256_SECRET");
    let worker = Running::start(command);
    enqueued(&gateway, "mail", "$(good)").await;
    enqueued(&gateway, "print", "fine").await;
    enqueue(&gateway, json!({ "queue": "mail", "payload": "bad", "maxAttempts": 1 })).await;
    until("both are done", async || {
        stats(&gateway, "mail").await == [0, 0, 0, 1] && stats(&gateway, "print").await == [0; 4]
    })
    .await;
    let text = std::fs::read_to_string(told).expect("what was told");
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["mail 1 $(good)", "mail 1 bad", "print 1 fine"]);
    let dead = operator(&gateway).field(DEAD, json!({})).await;
    let reason = dead["nodes"][0]["failureReason"].as_str().expect("a reason");
    let (exit, end) = reason.split_once("; the end of stderr: …").expect("both");
    assert_eq!(exit, "the command ended with exit status: 3");
    assert!(end.ends_with("2000\nat \u{fffd} last") && end.len() < 900, "{reason}");
    worker.signal("TERM");
    assert_eq!(worker.ends(), 0);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_knows_its_job_and_no_secret_and_its_failures_are_logged() {
    let gateway = Gateway::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told");
    let exec = "env | grep -a ^DOCGATE_ | sort > \"$TOLD\"; echo said by the command >&2; exit 1";
    let mut command = on(gateway.database.name(), &["work", "--queue", "mail", "--exec", exec]);
    command.env("TOLD", &told).env("DOCGATE_LOG_FORMAT", "json");
    let worker = Running::start(command);
    let started = worker.says("worker_started");
    assert!(started.contains("\"queues\":\"mail\"") && started.contains("INFO"), "{started}");
    let job = enqueue(&gateway, json!({ "queue": "mail", "payload": "a", "maxAttempts": 2 })).await;
    let id = job["id"].as_str().expect("an id");
    worker.says("said by the command");
    let failed = worker.says("job_failed");
    assert!(failed.contains(id) && failed.contains("\"attempts\":1"), "{failed}");
    let dead = worker.says("job_dead");
    assert!(dead.contains(id) && dead.contains("ERROR"), "{dead}");
    let text = std::fs::read_to_string(told).expect("what was told");
    let expected = format!("DOCGATE_JOB_ATTEMPT=2\nDOCGATE_JOB_ID={id}\nDOCGATE_JOB_QUEUE=mail\n");
    assert_eq!(text, expected);
    worker.signal("TERM");
    worker.says("worker_stopped");
    assert_eq!(worker.ends(), 0);
}

/// A worker of the queue `mail` whose command starts a program that has a pipe open. The program runs until the file
/// `held` is removed.
struct Starter {
    worker: Running,
    said: Receiver<String>,
    folder: tempfile::TempDir,
}

impl Starter {
    /// Waits for the program, at the first attempt of a job. The shell doesn't become the program, because something comes
    /// after it.
    const WAITS: &str = "test \"$DOCGATE_JOB_ATTEMPT\" = 1 || exit 0; \
        sh -c 'echo started; while test -e \"$HELD\"; do sleep 0.1; done' > \"$PIPE\" && true";

    /// Leaves the program running, and fails unless the payload is `good`.
    const LEAVES: &str = "read line; exec 3> \"$PIPE\"; echo started >&3; \
        (while test -e \"$HELD\"; do sleep 0.1; done; echo ended >&3) > /dev/null 2>&1 & \
        test \"$line\" = good";

    fn start(gateway: &Gateway, lease: &str, exec: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, held) = (folder.path().join("pipe"), folder.path().join("held"));
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        fs::write(&held, "").expect("written");
        let arguments = ["work", "--queue", "mail", "--lease", lease, "--exec", exec];
        let mut command = on(gateway.database.name(), &arguments);
        command.env("PIPE", &pipe).env("HELD", held).env("DOCGATE_LOG_FORMAT", "json");
        command.process_group(0);
        let worker = Running::start(command);
        let (send, said) = channel();
        std::thread::spawn(move || {
            // It waits here until somebody has the pipe open, and in the loop until nobody has.
            let pipe = File::open(pipe).expect("opened");
            for line in BufReader::new(pipe).lines() {
                if send.send(line.expect("a line")).is_err() {
                    return;
                }
            }
        });
        Self { worker, said, folder }
    }

    /// Waits until the program runs.
    async fn begins(&self) {
        until("the program runs", async || self.said.try_recv().is_ok()).await;
    }

    /// Lets the program end.
    fn let_go(&self) {
        fs::remove_file(self.folder.path().join("held")).expect("removed");
    }
}

/// Waits until nobody has the pipe open. A process that has ended has it no longer, even if nobody has waited for it.
async fn is_gone(said: &Receiver<String>) {
    let is_closed = || matches!(said.try_recv(), Err(TryRecvError::Disconnected));
    until("the program has ended", async || is_closed()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_ends_what_the_command_has_started() {
    let gateway = Gateway::start().await;
    let starter = Starter::start(&gateway, "20", Starter::WAITS);
    let id = enqueued(&gateway, "mail", "a").await;
    starter.begins().await;
    // Another worker has the job.
    let taken = mongodb::bson::doc! { "$set": { "claim.token": "another" } };
    let filter = mongodb::bson::doc! { "_id": key(&id) };
    let done = gateway.raw("jobs").update_one(filter, taken).await.expect("set");
    assert_eq!(done.matched_count, 1);
    is_gone(&starter.said).await;
    starter.worker.says("job_not_ended");
    until("the next attempt is made", async || stats(&gateway, "mail").await == [0; 4]).await;
    starter.worker.signal("TERM");
    assert_eq!(starter.worker.ends(), 0);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_its_worker() {
    let gateway = Gateway::start().await;
    let killed = Starter::start(&gateway, "60", Starter::WAITS);
    enqueued(&gateway, "mail", "a").await;
    killed.begins().await;
    killed.worker.signal("KILL");
    is_gone(&killed.said).await;
    drop(killed);

    let told = Starter::start(&gateway, "60", Starter::WAITS);
    enqueued(&gateway, "mail", "b").await;
    told.begins().await;
    // Two different ones, because two of the same may count as one.
    told.worker.signal("TERM");
    told.worker.signal("INT");
    let Starter { worker, said, folder: _folder } = told;
    assert_eq!(worker.ends(), 130);
    is_gone(&said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_from_the_terminal_does_not_reach_the_command() {
    let gateway = Gateway::start().await;
    let starter = Starter::start(&gateway, "60", Starter::WAITS);
    enqueued(&gateway, "mail", "a").await;
    starter.begins().await;
    // As Ctrl-C does: to the whole process group.
    let group = format!("-{}", starter.worker.id());
    let told = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(told.expect("kill runs").success());
    starter.let_go();
    assert_eq!(starter.worker.ends(), 0);
    assert_eq!(stats(&gateway, "mail").await, [0; 4]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_ends_only_after_a_failure() {
    let gateway = Gateway::start().await;
    let failing = Starter::start(&gateway, "60", Starter::LEAVES);
    enqueue(&gateway, json!({ "queue": "mail", "payload": "bad", "maxAttempts": 1 })).await;
    failing.begins().await;
    is_gone(&failing.said).await;
    until("it has failed", async || stats(&gateway, "mail").await == [0, 0, 0, 1]).await;
    failing.worker.signal("TERM");
    assert_eq!(failing.worker.ends(), 0);

    let starter = Starter::start(&gateway, "60", Starter::LEAVES);
    enqueued(&gateway, "mail", "good").await;
    starter.begins().await;
    until("it is done", async || stats(&gateway, "mail").await == [0, 0, 0, 1]).await;
    starter.worker.signal("TERM");
    starter.worker.says("worker_stopped");
    starter.let_go();
    let has_ended = || starter.said.try_recv().is_ok_and(|line| line == "ended");
    until("the program goes on to its end", async || has_ended()).await;
    assert_eq!(starter.worker.ends(), 0);
    gateway.assert_sound().await;
}
