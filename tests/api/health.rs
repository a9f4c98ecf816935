//! Whether the gateway says that it can't serve, quickly, and at no cost to the primary.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use mongodb::{Database, bson::doc};

use crate::support::{Gateway, fresh_name, http, start_mongod, until};

async fn ready(gateway: &Gateway) -> (u16, Duration) {
    let since = Instant::now();
    let response = http().get(format!("http://{}/health/ready", gateway.address)).send().await;
    (response.expect("an answer").status().as_u16(), since.elapsed())
}

/// How often the server was pinged.
async fn pings(database: &Database) -> i64 {
    let status = database.run_command(doc! { "serverStatus": 1 }).await.expect("a status");
    let commands = status.get_document("metrics").and_then(|of| of.get_document("commands"));
    let ping = commands.and_then(|of| of.get_document("ping")).expect("counts of commands");
    ping.get_i64("total").expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_primary_within_its_bound() {
    let mongod = start_mongod().await;
    let gateway = Gateway::over(mongod.port(), false, &fresh_name(), |_| {}).await;
    until("it is ready", async || ready(&gateway).await.0 == 200).await;
    let signal = |name: &str| {
        let pid = mongod.pid().expect("it runs").to_string();
        let told = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(told.expect("kill runs").success());
    };
    signal("STOP");
    // What was known holds for a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for _ in 0..3 {
        let (status, took) = ready(&gateway).await;
        assert_eq!(status, 503);
        // The bound is two seconds. Without one it would wait for half a minute.
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    let live = http().get(format!("http://{}/health/live", gateway.address)).send().await;
    assert_eq!(live.expect("an answer").status().as_u16(), 200);
    signal("CONT");
    until("it is ready again", async || ready(&gateway).await.0 == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_probes_cost_one_ping_a_second() {
    let mongod = start_mongod().await;
    let gateway = Gateway::over(mongod.port(), false, &fresh_name(), |_| {}).await;
    until("it is ready", async || ready(&gateway).await.0 == 200).await;
    let before = pings(&gateway.database).await;
    let since = Instant::now();
    for _ in 0..5 {
        let answers = join_all((0..40).map(|_| ready(&gateway))).await;
        assert!(answers.iter().all(|(status, _)| *status == 200));
    }
    let seconds = since.elapsed().as_secs_f64();
    let pings = pings(&gateway.database).await - before;
    let most = seconds + 1.0;
    assert!(f64::from(u32::try_from(pings).expect("a count")) <= most, "{pings} in {seconds} s");
}
