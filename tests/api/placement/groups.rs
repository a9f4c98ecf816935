//! Every group in a database of its own.

use std::time::{Duration, Instant};

use docgate::{
    config::{Compression, Concern, Config},
    domains::{all_collections, collections, hits::DayDocument},
    mongo::{Group, indexes, watch::key_of},
};
use mongodb::{
    Database,
    bson::{Document, doc},
};
use serde_json::{Value, json};

use crate::{
    comments,
    events::{self, day, event},
    shop::{account, placed, stocked},
    social,
    support::{Client, Gateway, until},
};

const HIT: &str = "mutation($hits: [HitInput!]!) { recordHits(input: { hits: $hits }) {
    __typename ... on HitsRecorded { count } } }";
const HITS: &str = "query($range: ReportRange!, $consistency: Consistency) {
    report(site: \"a.example\", page: \"/\", range: $range, resolution: DAY, consistency: $consistency) { total } }";
const TOP: &str =
    "{ topPages(site: \"a.example\", period: null, consistency: EVENTUAL) { page hits } }";
const VIEW: &str = "mutation { recordViews(input: { views: [{ page: \"/\" }] }) {
    __typename ... on ViewsRecorded { count } } }";
const VIEWS: &str =
    "{ viewSeries(page: \"/\", resolution: HOUR, consistency: EVENTUAL) { total } }";
const SESSION: &str = "mutation($sessions: [SessionInput!]!) {
    recordSessions(input: { sessions: $sessions }) { __typename ... on SessionsRecorded { count } } }";
const ROLL_UP: &str =
    "mutation { runRollup(input: {}) { __typename ... on RolledUp { sessions } } }";
const SESSIONS: &str = "{ sessionReport(level: DAY, consistency: EVENTUAL) { count } }";
const WALL: &str = "query($userId: ID) { wall(userId: $userId) { nodes { text } } }";
const REQUESTS: &str = "query($from: Date!, $to: Date!) {
    requestsByDayAndPage(from: $from, to: $to, consistency: EVENTUAL) { day requests } }";

fn apart(config: &mut Config) {
    config.activity_database = Some(format!("{}_activity", config.database));
    config.log_database = Some(format!("{}_log", config.database));
    config.activity_compression = Some(Compression::Zstd);
    config.log_compression = Some(Compression::None);
    config.activity_write_concern = Concern::Journal;
    config.log_write_concern = Concern::Journal;
}

/// A gateway with each group in a database of its own, with its indexes.
async fn started() -> Gateway {
    let gateway = Gateway::with(apart).await;
    let all = collections(gateway.app.config());
    indexes::apply(gateway.app.placement(), &all, false, |_| {}).await.expect("indexes");
    gateway
}

async fn ended(gateway: Gateway) {
    for group in [Group::Activity, Group::Log] {
        gateway.app.placement().database(group).drop().await.expect("dropped");
    }
}

/// Asks until the answer is this one: a majority has a journalled write a little later.
async fn becomes(client: &Client, query: &str, variables: Value, expected: Value) {
    let what = expected.to_string();
    until(&what, async || client.field(query, variables.clone()).await == expected).await;
}

/// The database of a group, by the test's own client.
fn of(gateway: &Gateway, group: Group) -> Database {
    gateway.database.client().database(gateway.app.placement().database(group).name())
}

async fn count(gateway: &Gateway, group: Group, name: &str) -> u64 {
    let collection = of(gateway, group).collection::<Document>(name);
    collection.count_documents(doc! {}).await.expect("counted")
}

/// Names of a group's collections that begin like this.
async fn names(gateway: &Gateway, group: Group, prefix: &str) -> Vec<String> {
    let database = of(gateway, group);
    let mut names = database.list_collection_names().await.expect("names");
    names.retain(|name| name.starts_with(prefix));
    names
}

/// How a collection is compressed.
async fn compressor(gateway: &Gateway, group: Group, name: &str) -> String {
    let database = of(gateway, group);
    let stats = database.run_command(doc! { "collStats": name }).await.expect("statistics");
    let engine = stats.get_document("wiredTiger").expect("the engine's");
    let created = engine.get_str("creationString").expect("a text");
    let found = created.split(',').find_map(|part| part.strip_prefix("block_compressor="));
    found.expect("a compressor").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_in_databases_of_their_own_work_together() {
    let gateway = started().await;
    let (ann, analyst) = (gateway.shopper("ann"), gateway.user("ann", &["analyst"]));

    // Core: a shop, a discussion, and people with posts.
    stocked(&gateway, "a", 250, 5).await;
    let money = account(&gateway, "ann", 10_000).await;
    placed(&ann, &money, &[("a", 2)]).await;
    let on = comments::discussed(&gateway, "b", "PAGED").await;
    comments::posted(&ann, &on, "a comment", None).await;
    social::people(&gateway, &["ann", "bob"]).await;
    social::posted_with(&gateway, "ann", json!({ "audience": "PUBLIC", "text": "a post" })).await;
    social::deliver(&gateway).await;
    let wall = gateway.shopper("bob").field(WALL, json!({ "userId": "ann" })).await;
    assert_eq!(social::texts(&wall), ["a post"]);

    // Activity: hits, views and sessions, which are rolled up into other collections of the group.
    let hits = json!({ "hits": [{ "site": "a.example", "page": "/" }, { "site": "a.example", "page": "/" }] });
    let said = gateway.service().field(HIT, hits).await;
    assert_eq!(said["count"], 2, "{said:#}");
    let today = day(&gateway, 0);
    let range = json!({ "range": { "days": { "from": day(&gateway, 1), "to": today } } });
    becomes(&analyst, HITS, range, json!({ "total": 2 })).await;
    becomes(&analyst, TOP, json!({}), json!([{ "page": "/", "hits": 2 }])).await;
    let said = gateway.service().field(VIEW, json!({})).await;
    assert_eq!(said["count"], 1, "{said:#}");
    becomes(&analyst, VIEWS, json!({}), json!({ "total": 1 })).await;
    let session = json!({ "sessions": [{ "userId": "ann", "seconds": 60 }] });
    let said = gateway.service().field(SESSION, session).await;
    assert_eq!(said["count"], 1, "{said:#}");
    let said = gateway.admin().field(ROLL_UP, json!({})).await;
    assert_eq!(said["sessions"], 1, "{said:#}");
    becomes(&analyst, SESSIONS, json!({}), json!({ "count": 1 })).await;

    // Log: events, acknowledged as the group says.
    let yesterday = day(&gateway, 1);
    let input = json!({ "events": [event("/", &format!("{yesterday}T10:00:00Z"))] });
    let said = events::log(&gateway.service(), input).await;
    assert_eq!((&said["count"], &said["durability"]), (&json!(1), &json!("JOURNALED")), "{said:#}");
    let days = json!({ "from": yesterday, "to": yesterday });
    becomes(&analyst, REQUESTS, days, json!([{ "day": yesterday, "requests": 1 }])).await;

    for name in [
        "statsDaily",
        "statsMonthly",
        "pageViews",
        "sessions",
        "sessionStatsDaily",
        "sessionStatsYearly",
        "feedPages",
    ] {
        assert!(count(&gateway, Group::Activity, name).await > 0, "{name} isn't in its place");
        assert_eq!(count(&gateway, Group::Core, name).await, 0, "{name} is in two places");
        assert_eq!(compressor(&gateway, Group::Activity, name).await, "zstd", "{name}");
    }
    for name in ["orders", "posts", "users", "commentPages"] {
        assert!(count(&gateway, Group::Core, name).await > 0, "{name} isn't in its place");
        assert!(names(&gateway, Group::Activity, name).await.is_empty(), "{name} is in two places");
    }
    let months = names(&gateway, Group::Log, "events_").await;
    assert!(!months.is_empty(), "the months aren't in their place");
    assert!(names(&gateway, Group::Core, "events_").await.is_empty());
    assert_eq!(compressor(&gateway, Group::Log, &months[0]).await, "none");

    gateway.sweep().await;
    gateway.sweep_all().await;
    let report = gateway.check().await;
    assert!(report.is_clean(), "{:#?}", report.rules);
    // The harness has built the indexes of all groups in the gateway's database, too.
    gateway.database.create_collection("events_2020_01").await.expect("a month");
    let all = all_collections(gateway.app.config());
    let left = gateway.app.placement().left_behind(&all).await.expect("read");
    assert!(left.contains(&"statsDaily") && !left.contains(&"orders"), "{left:?}");
    // Those of months too, which are created at run time.
    assert!(left.contains(&"events_*"), "{left:?}");
    ended(gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_heard_of_in_the_database_of_the_group() {
    let gateway = started().await;
    let hits = json!({ "hits": [{ "site": "a.example", "page": "/" }] });
    let count = async || {
        let said = gateway.service().field(HIT, hits.clone()).await;
        assert_eq!(said["count"], 1, "{said:#}");
    };
    count().await;
    let days = of(&gateway, Group::Activity).collection::<Document>("statsDaily");
    let stored = days.find_one(doc! {}).await.expect("read").expect("a day");
    let id = key_of(stored.get("_id").expect("an id")).into_owned();
    let mut changes = gateway.app.hub().watch::<DayDocument>(id);
    // The first notice is that of the stream's beginning.
    let mut heard = 0;
    let since = Instant::now();
    while heard == 0 {
        assert!(since.elapsed() < Duration::from_secs(120), "no change is heard of");
        count().await;
        let _waited = tokio::time::timeout(Duration::from_millis(200), changes.changed()).await;
        heard += changes.take().count;
    }
    ended(gateway).await;
}
