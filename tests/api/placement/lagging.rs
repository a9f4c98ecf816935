//! Each field with the argument `consistency`, read from a member that applies nothing for a while.

use std::time::{Duration, Instant};

use docgate::config::Config;
use serde_json::{Value, json};

use super::{EVENTUAL, eventual::copied_everywhere};
use crate::{
    assets, content, events, metadata,
    support::{Gateway, members::Members},
    theater,
};

/// How long the member that lags may not be chosen. Of two secondaries each read goes to one by chance.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something of a day for each field to find. Returns the id of a theater.
async fn fill(gateway: &Gateway, day: &str) -> String {
    let at = format!("{day}T10:00:00Z");
    gateway.product("a", 100, "EUR").await;
    let names = json!([{ "locale": "en", "name": "Music" }]);
    let category = "mutation($input: CreateCategoryInput!) { createCategory(input: $input) {
        ... on Category { id } } }";
    let input = json!({ "input": { "slug": "music", "names": names } });
    let music = gateway.merchant().field(category, input).await;
    metadata::set(
        &gateway.merchant(),
        music["id"].as_str().expect("an id"),
        json!([metadata::text("rank", "1")]),
    )
    .await;
    content::put(gateway, "PAGE", "page", None).await;
    let file = assets::file("it.txt", "text/plain", "it");
    assets::uploaded(gateway, json!({ "slug": "it" }), &file).await;
    events::logged(gateway, &[events::event("/kept", &at)]).await;
    let record = "mutation($at: DateTime!) {
        recordHits(input: { hits: [{ site: \"a.example\", page: \"/kept\", at: $at }] }) { __typename }
        recordViews(input: { views: [{ page: \"/kept\", at: $at }] }) { __typename }
        recordSessions(input: { sessions: [{ userId: \"ann\", at: $at, seconds: 5 }] }) { __typename } }";
    let recorded = gateway.service().data(record, json!({ "at": at })).await;
    let expected = json!({
        "recordHits": { "__typename": "HitsRecorded" },
        "recordViews": { "__typename": "ViewsRecorded" },
        "recordSessions": { "__typename": "SessionsRecorded" },
    });
    assert_eq!(recorded, expected);
    let roll_up = "mutation { runRollup(input: {}) { ... on RolledUp { sessions isComplete } } }";
    let rolled_up = gateway.admin().field(roll_up, json!({})).await;
    assert_eq!(rolled_up, json!({ "sessions": 1, "isComplete": true }));
    let topic =
        "mutation { createTopic(input: { name: \"prices\", bytes: 65536 }) { __typename } }";
    let operator = gateway.user("an-operator", &["operator"]);
    assert_eq!(operator.field(topic, json!({})).await["__typename"], "Topic");
    theater::theater(gateway, &["AA"]).await
}

/// A field, its other arguments, what is read of it, and its answer where nothing of the above is.
type Row = (&'static str, String, &'static str, Value);

/// The fields, for a day and the one after it.
fn rows(theater: &str, [day, next]: &[String; 2]) -> [Row; 19] {
    let days = format!("from: \"{day}\" to: \"{next}\"");
    let moments = format!("from: \"{day}T00:00:00Z\" to: \"{next}T00:00:00Z\"");
    let row = |field, arguments: &str, read, nothing| (field, arguments.to_owned(), read, nothing);
    let none = || json!({ "nodes": [] });
    let around = "polygon: [{ latitude: 52, longitude: 13 }, { latitude: 52, longitude: 14 },
        { latitude: 53, longitude: 14 }, { latitude: 53, longitude: 13 }]";
    let near = "point: { latitude: 52.5, longitude: 13.4 } withinMeters: 1000";
    let report = format!(
        "site: \"a.example\" page: \"/kept\" resolution: DAY range: {{ days: {{ {days} }} }}"
    );
    let views = format!("page: \"/kept\" resolution: HOUR {moments}");
    let pages = format!("site: \"a.example\" period: {{ day: \"{day}\" }}");
    let titles = "by: { titleStartsWith: { prefix: \"Title of a\" } }";
    let with_rank = "metadata: { key: \"rank\", value: { text: \"1\" } }";
    let sessions = format!("level: DAY {moments}");
    [
        row("asset", "by: { path: \"/it\" }", "{ slug }", Value::Null),
        row("assets", "by: { root: true }", "{ nodes { slug } }", none()),
        row("categories", "parentPath: \"/\"", "{ nodes { slug } }", none()),
        row("categoriesWith", with_rank, "{ nodes { slug } }", none()),
        row("category", "by: { path: \"/music\" }", "{ slug }", Value::Null),
        row("categorySubtree", "path: \"/music\" includeSelf: true", "{ nodes { slug } }", none()),
        row("content", "by: { path: \"/page\" }", "{ path }", Value::Null),
        row("contents", "by: { type: PAGE }", "{ nodes { path } }", none()),
        row("product", "sku: \"a\"", "{ sku }", Value::Null),
        row("products", titles, "{ nodes { sku } }", none()),
        row("report", &report, "{ total }", json!({ "total": 0 })),
        row("requestsByDayAndPage", &days, "{ requests }", json!([])),
        row("sessionReport", &sessions, "{ count }", json!({ "count": 0 })),
        row("theater", &format!("id: \"{theater}\""), "{ name }", Value::Null),
        row("theatersNear", near, "{ nodes { distance } }", none()),
        row("theatersWithin", around, "{ nodes { name } }", none()),
        row("topPages", &pages, "{ page }", json!([])),
        row("topics", "", "{ name }", json!([])),
        row("viewSeries", &views, "{ total }", json!({ "total": 0 })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_eventual_field_is_served_by_a_secondary_that_lags() {
    let members = Members::steady().await;
    // However long the test takes, the member doesn't lag too much to be chosen.
    let patient = |config: &mut Config| config.eventual_staleness_seconds = 3_600;
    let gateway = Gateway::over_members(&members, patient).await;
    copied_everywhere(&gateway).await;
    let lagging = members.let_one_lag().await;
    let days = [1, 0].map(|ago| events::day(&gateway, ago));
    let theater = fill(&gateway, &days[0]).await;

    let rows = rows(&theater, &days);
    assert_eq!(rows.each_ref().map(|(field, ..)| *field), EVENTUAL);
    let reader = gateway.user("ann", &["analyst", "operator"]);
    for (field, arguments, read, nothing) in rows {
        let query = format!(
            "query($consistency: Consistency) {{
                {field}(consistency: $consistency {arguments}) {read} }}"
        );
        let [strong, eventual] = ["STRONG", "EVENTUAL"].map(|kind| json!({ "consistency": kind }));
        let new = reader.field(&query, strong.clone()).await;
        assert_ne!(new, nothing, "{field}: what is acknowledged is there");
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = reader.field(&query, eventual.clone()).await;
            if seen == nothing {
                break;
            }
            assert_eq!(seen, new, "{field} is as before or as it is now");
            assert!(Instant::now() < until, "no secondary serves {field}");
        }
        assert_eq!(reader.field(&query, strong).await, new, "{field}");
        let sent = reader.explained(&query, eventual).await;
        let sent = sent["extensions"]["docgate"]["commands"].as_array().expect("commands").clone();
        let kinds: Vec<_> = sent.iter().filter_map(|one| one["eventual"].as_bool()).collect();
        assert!(!kinds.is_empty() && kinds.iter().all(|is| *is), "{field}: {sent:#?}");
    }
    lagging.catch_up().await;
}
