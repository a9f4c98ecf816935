//! Views of the demo's pages and sessions of its users: those of the last days, and a trickle as long as the demo runs.

use docgate_demo::random::Random;
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{
    SHOPPER, Steps,
    client::{DemoClient, someone},
    keep_acting,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    domains::{
        series::operations::{View, count},
        times::{DAY, MINUTE},
    },
    graphql::requester::{Requester, Role},
};

/// Pages, the most popular one first.
const PAGES: [&str; 5] = ["/music/jazz", "/", "/music/rock", "/films/drama", "/books/novels"];
/// Number of users with sessions, and of sessions of each.
const USERS: usize = 500;
const SESSIONS: usize = 6;
/// Number of sessions in one call.
const AT_ONCE: usize = 100;
/// Time between two rounds of the trickle.
const PAUSE: (i64, i64) = (1_000, 1_000);

/// How long views and sessions reach back. The settings of the demo permit it.
const VIEWED: i64 = 7 * DAY;
const RECORDED: i64 = 60 * DAY;

const VIEWS: &str = "mutation($views: [ViewInput!]!) { recordViews(input: { views: $views }) {
    __typename ... on UserError { code message } } }";
const RECORD: &str = "mutation($input: RecordSessionsInput!) { recordSessions(input: $input) {
    __typename ... on UserError { code message } } }";
const ROLL_UP: &str = "mutation { runRollup(input: {}) { ... on RolledUp { isComplete } } }";

fn service() -> Requester {
    someone("traffic", &[Role::Service])
}

/// A user; the first one is the demo's shopper.
fn user(number: usize) -> String {
    if number == 0 { SHOPPER.to_owned() } else { format!("visitor-{number}") }
}

/// Records the traffic of the last days.
pub(super) async fn create(app: &App, client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let mut random = Random::new(16);
    let bar = steps.begin("pages in series", PAGES.len());
    let now = app.clock().timestamp_millis();
    for (number, page) in PAGES.iter().enumerate() {
        let mut views = Vec::new();
        // In the last hours more often than in the days before.
        let mut ago = 0;
        while ago < VIEWED {
            ago += random.between(1, if ago < DAY / 4 { 2 } else { 40 }) * MINUTE;
            let at = DateTime::from_millis(now - ago - random.between(0, MINUTE));
            let times = random.between(1, 12 - 2 * i64::try_from(number).unwrap_or(0));
            let view = View::new(app, page, at, times);
            views.push(view.map_err(|fault| Failure::trouble(fault.message))?);
        }
        let batch = i64::try_from(number).unwrap_or(0);
        count(app, "demo", batch, views).await?;
        bar.inc(1);
    }
    bar.finish();

    let bar = steps.begin("sessions", USERS * SESSIONS);
    let sessions = sessions(&mut random, now);
    for (call, sessions) in sessions.chunks(AT_ONCE).enumerate() {
        record(client, sessions, &format!("traffic-{call}")).await?;
        bar.inc(u64::try_from(sessions.len()).unwrap_or(0));
    }
    let admin = someone("traffic", &[Role::Admin]);
    let mut is_complete = false;
    while !is_complete {
        let done = client.execute(&admin, ROLL_UP, json!({})).await?;
        is_complete = done["runRollup"]["isComplete"] == true;
    }
    bar.finish();
    Ok(())
}

/// The sessions of all users up to now.
fn sessions(random: &mut Random, now: i64) -> Vec<Value> {
    let some = |number: usize| {
        let ago = random.between(0, RECORDED);
        session(random, &user(number % USERS), now - ago)
    };
    (0..USERS * SESSIONS).map(some).collect()
}

fn session(random: &mut Random, user: &str, at: i64) -> Value {
    let seconds = random.between(5, 600) * random.between(1, 6);
    json!({ "userId": user, "at": rfc3339(DateTime::from_millis(at)), "seconds": seconds })
}

async fn record(client: &DemoClient, sessions: &[Value], key: &str) -> Result<(), Failure> {
    let input = json!({ "sessions": sessions, "idempotencyKey": key });
    client.execute(&service(), RECORD, json!({ "input": input })).await.map(drop)
}

/// Records views every second, and now and then a session. It never ends; dropping it ends it.
pub(in super::super) async fn run(app: &App) {
    keep_acting(app, PAUSE, async |client, random| {
        act(client, random, app.clock().timestamp_millis(), &app.ids().random()).await
    })
    .await;
}

async fn act(client: &DemoClient, random: &mut Random, now: i64, key: &str) -> Result<(), Failure> {
    let views: Vec<Value> =
        (0..random.between(1, 6)).map(|_| json!({ "page": random.favour(&PAGES) })).collect();
    client.execute(&service(), VIEWS, json!({ "views": views })).await?;
    if random.chance(20) {
        let user = user(random.below(USERS));
        let session = session(random, &user, now);
        record(client, &[session], key).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn five_hundred_users_have_sessions() {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for session in sessions(&mut Random::new(16), 20_000 * DAY) {
            *counts.entry(session["userId"].to_string()).or_default() += 1;
        }
        assert_eq!(counts.len(), 500);
        assert!(counts.values().all(|sessions| *sessions == SESSIONS));
        assert!(counts.contains_key("\"shopper\""), "the demo's shopper has some");
    }
}
