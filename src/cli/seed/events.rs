//! Requests for four sites: events of the last three months, and one more about every second for as long as the demo runs.

use docgate_demo::random::Random;
use mongodb::bson::DateTime;
use serde_json::{Value, json};

use super::{
    Steps,
    client::{DemoClient, someone},
    keep_acting,
};
use crate::{
    app::{App, rfc3339},
    cli::failure::Failure,
    domains::times::{DAY, HOUR},
    graphql::requester::Role,
};

/// The fewest and the most calls with events. A shop has one for each hundred products.
const CALLS: (usize, usize) = (2, 20);
/// Number of events in one call.
const AT_ONCE: usize = 1_000;
/// Time over which they are spread, in milliseconds.
const SPAN: i64 = 91 * DAY;
/// Shortest and longest pause between two live requests, in milliseconds.
const PAUSE: (i64, i64) = (300, 2_000);

/// The sites. The first ones have most requests.
const SITES: [&str; 4] = ["shop.example", "blog.example", "docs.example", "play.example"];
const PATHS: [&str; 12] = [
    "/",
    "/music/jazz",
    "/music",
    "/film",
    "/books",
    "/cart",
    "/search",
    "/about",
    "/books/poetry",
    "/film/noir",
    "/contact",
    "/favicon.ico",
];
const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",
    "Crawler/2.1 (+https://crawler.example/bot)",
];
const REFERRERS: [&str; 3] =
    ["https://search.example/", "https://shop.example/music", "https://news.example/a?b=c"];

const LOG: &str = "mutation($input: LogEventsInput!) { logEvents(input: $input) {
    __typename ... on UserError { code message } } }";

/// Logs the requests of three months to a shop with `count` products.
pub(super) async fn log(
    app: &App,
    client: &DemoClient,
    count: usize,
    steps: &Steps,
) -> Result<(), Failure> {
    let service = someone("sites", &[Role::Service]);
    let mut random = Random::new(47);
    let now = now(app);
    let calls = count.div_ceil(100).clamp(CALLS.0, CALLS.1);
    let bar = steps.begin("requests", calls * AT_ONCE);
    for call in 0..calls {
        let mut event = |_| {
            let at = moment(&mut random, now);
            request(&mut random, at)
        };
        let events: Vec<Value> = (0..AT_ONCE).map(&mut event).collect();
        let key = format!("demo-requests-{call}");
        let input = json!({ "events": events, "idempotencyKey": key });
        client.execute(&service, LOG, json!({ "input": input })).await?;
        bar.inc(AT_ONCE as u64);
    }
    bar.finish();
    Ok(())
}

/// A time within the last three months. There are more requests by day than by night, and more lately than before.
fn moment(random: &mut Random, now: i64) -> i64 {
    loop {
        let at = now - random.between(0, SPAN).min(random.between(0, SPAN));
        let hour = at % DAY / HOUR;
        if (7..22).contains(&hour) || random.chance(25) {
            return at;
        }
    }
}

/// The input of an event.
fn request(random: &mut Random, at: i64) -> Value {
    let status = match random.below(100) {
        0 => 500,
        1..=4 => 404,
        5..=12 => 304,
        _ => 200,
    };
    let referrer = random.chance(40).then(|| random.pick(&REFERRERS));
    json!({
        "at": rfc3339(DateTime::from_millis(at)),
        "host": format!("203.0.113.{}", 1 + random.below(250)),
        "site": random.favour(&SITES),
        "path": random.favour(&PATHS),
        "method": if random.chance(95) { "GET" } else { "POST" },
        "status": status,
        "bytes": random.between(200, 60_000),
        "referrer": referrer,
        "userAgent": random.pick(&AGENTS),
    })
}

/// Logs a request now and then. It never ends; dropping it ends it.
pub(in crate::cli) async fn run(app: &App) {
    let service = someone("sites", &[Role::Service]);
    keep_acting(app, PAUSE, async |client, random| {
        let event = request(random, now(app));
        let input = json!({ "events": [event], "durability": "ACKNOWLEDGED" });
        client.execute(&service, LOG, json!({ "input": input })).await.map(drop)
    })
    .await;
}

fn now(app: &App) -> i64 {
    app.clock().timestamp_millis()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn requests_are_of_four_sites_and_three_months() {
        let (mut random, now) = (Random::new(47), 20_000 * DAY);
        let (mut sites, mut first) = (HashSet::new(), now);
        for _ in 0..20_000 {
            let at = moment(&mut random, now);
            sites.insert(request(&mut random, at)["site"].to_string());
            assert!(at <= now);
            first = first.min(at);
        }
        assert_eq!(sites.len(), 4);
        assert!((89 * DAY..=SPAN).contains(&(now - first)), "{}", (now - first) / DAY);
    }
}
