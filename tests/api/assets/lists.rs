//! Assets by tag and parent.

use serde_json::{Value, json};

use super::{ask, editor, file, parent, uploaded};
use crate::support::{Client, Gateway, commands};

const ASSETS: &str = "query($by: AssetsBy!, $first: Int, $after: String) {
    assets(by: $by, first: $first, after: $after) {
        nodes { slug } pageInfo { hasNextPage endCursor } } }";

/// Audiences that a caller belongs to in these tests, at the most.
const AUDIENCES: i64 = 3;

/// Slugs of a list, page by page, each one command that looks at little more than it returns.
pub(super) async fn slugs(client: &Client, by: &Value, first: i32) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = Value::Null;
    loop {
        let variables = json!({ "by": by, "first": first, "after": after });
        let response = client.run(ASSETS, variables).await;
        assert_eq!(commands(&response), ["find assetEntries"], "{response:#}");
        let sent = &response["extensions"]["docgate"]["commands"][0];
        if by.get("attributes").is_none() {
            // One range for each audience, two where it begins behind a cursor: of each the merge has
            // looked at the next one.
            let [examined, returned] =
                ["docsExamined", "returned"].map(|figure| sent[figure].as_i64().expect("a figure"));
            assert!(examined < returned + 2 * AUDIENCES, "{response:#}");
        }
        let page = &response["data"]["assets"];
        let nodes = page["nodes"].as_array().expect("nodes");
        found.extend(nodes.iter().map(|node| node["slug"].as_str().expect("a slug").to_owned()));
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_the_newest_first_and_page_by_key() {
    let gateway = Gateway::start().await;
    let gallery = parent(&gateway, "/g", "gallery", &[]).await;
    let mut expected = Vec::new();
    for number in 0..7 {
        let slug = format!("a{number}");
        let at = format!("2024-01-0{}T00:00:00Z", number / 2 + 1);
        let access: &[&str] = if number == 3 { &["player", "analyst"] } else { &[] };
        let input = json!({
            "slug": slug, "parent": gallery, "tags": ["a.b", "all"], "publishAt": at, "access": access,
        });
        uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
        expected.push((at, slug));
    }
    uploaded(&gateway, json!({ "slug": "root", "tags": ["other"] }), &file("a", "text/plain", "x"))
        .await;
    expected.sort_by(|left, right| right.0.cmp(&left.0));
    let sorted = |mut slugs: Vec<String>| {
        slugs.sort();
        slugs
    };
    for by in [json!({ "tag": "a.b" }), json!({ "tag": "all" }), json!({ "parent": gallery })] {
        for first in [1, 2, 3, 100] {
            for (client, count) in [
                (gateway.anonymous(), 6),
                (gateway.user("p", &["player"]), 7),
                (gateway.user("p", &["player", "analyst"]), 7),
                (editor(&gateway), 7),
            ] {
                let found = slugs(&client, &by, first).await;
                assert_eq!(found.len(), count, "{by} {first} {found:?}");
                let days: Vec<_> = found
                    .iter()
                    .map(|slug| slug[1..].parse::<i32>().expect("a number") / 2)
                    .collect();
                assert!(days.is_sorted_by(|one, next| one >= next), "{found:?}");
                let all = expected
                    .iter()
                    .map(|(_, slug)| slug.clone())
                    .filter(|slug| count == 7 || slug != "a3");
                assert_eq!(sorted(found), sorted(all.collect()));
            }
        }
    }
    let first =
        gateway.anonymous().run(ASSETS, json!({ "by": { "tag": "all" }, "first": 3 })).await;
    let sent = &first["extensions"]["docgate"]["commands"][0];
    assert_eq!((&sent["docsExamined"], &sent["returned"]), (&json!(4), &json!(4)), "{first:#}");
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "root": true }), 10).await, ["root"]);
    assert!(slugs(&gateway.anonymous(), &json!({ "tag": "none" }), 10).await.is_empty());
    let client = editor(&gateway);
    let query = "{ asset(by: { path: \"/root\" }) { id } }";
    let root = client.field(query, json!({})).await;
    ask(&client, "tagAsset", json!({ "asset": root["id"], "tags": ["all"] })).await;
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "tag": "all" }), 1).await[0], "root");
    ask(&client, "deleteAsset", json!({ "asset": root["id"] })).await;
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "tag": "all" }), 10).await.len(), 6);
    assert!(slugs(&gateway.anonymous(), &json!({ "parent": "x" }), 10).await.is_empty());
    for by in [json!({ "tag": "" }), json!({ "root": false })] {
        let code = gateway.anonymous().error_code(ASSETS, json!({ "by": by })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
    gateway.assert_sound().await;
}
