//! Assets by tag and parent.

use serde_json::{Value, json};

use super::{ask, editor, file, parent, uploaded};
use crate::support::{Client, Gateway, all_nodes, commands, texts_of};

const ASSETS: &str = "query($by: AssetsBy!, $first: Int, $after: String) {
    assets(by: $by, first: $first, after: $after) {
        nodes { slug } pageInfo { hasNextPage endCursor } } }";

/// Audiences that a caller belongs to in these tests, at the most.
const AUDIENCES: i64 = 3;

/// Slugs of a list, page by page, each one command that looks at little more than it returns.
pub(super) async fn slugs(client: &Client, by: &Value, first: i32) -> Vec<String> {
    let found = all_nodes(json!({ "by": by, "first": first }), async |page| {
        let response = client.explained(ASSETS, page).await;
        assert_eq!(commands(&response), ["find assetEntries"], "{response:#}");
        let sent = &response["extensions"]["docgate"]["commands"][0];
        if by.get("attributes").is_none() {
            // One range for each audience, two where it begins behind a cursor: of each the merge has
            // looked at the next one.
            let [examined, returned] =
                ["docsExamined", "returned"].map(|figure| sent[figure].as_i64().expect("a figure"));
            assert!(examined < returned + 2 * AUDIENCES, "{response:#}");
        }
        response["data"]["assets"].clone()
    });
    texts_of(&found.await, "slug")
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
            "slug": slug, "parentId": gallery, "tags": ["a.b", "all"], "publishAt": at, "access": access,
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
    for by in [json!({ "tag": "a.b" }), json!({ "tag": "all" }), json!({ "parentId": gallery })] {
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
        gateway.anonymous().explained(ASSETS, json!({ "by": { "tag": "all" }, "first": 3 })).await;
    let sent = &first["extensions"]["docgate"]["commands"][0];
    assert_eq!((&sent["docsExamined"], &sent["returned"]), (&json!(4), &json!(4)), "{first:#}");
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "root": true }), 10).await, ["root"]);
    assert!(slugs(&gateway.anonymous(), &json!({ "tag": "none" }), 10).await.is_empty());
    let client = editor(&gateway);
    let query = "{ asset(by: { path: \"/root\" }) { id } }";
    let root = client.field(query, json!({})).await;
    ask(&client, "tagAsset", json!({ "assetId": root["id"], "tags": ["all"] })).await;
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "tag": "all" }), 1).await[0], "root");
    ask(&client, "deleteAsset", json!({ "assetId": root["id"] })).await;
    assert_eq!(slugs(&gateway.anonymous(), &json!({ "tag": "all" }), 10).await.len(), 6);
    assert!(slugs(&gateway.anonymous(), &json!({ "parentId": "x" }), 10).await.is_empty());
    for by in [json!({ "tag": "" }), json!({ "root": false })] {
        let code = gateway.anonymous().error_code(ASSETS, json!({ "by": by })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
    gateway.assert_sound().await;
}

/// Whoever has roles reads a range for each of them. A later page is no more work than the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_page_for_roles_examines_no_more_than_the_first() {
    let gateway = Gateway::start().await;
    let mut expected = Vec::new();
    for number in 0..30 {
        let slug = format!("a{number:02}");
        let access: &[&str] = if number % 2 == 0 { &["player"] } else { &[] };
        let at = format!("2024-01-{:02}T00:00:00Z", number + 1);
        let input = json!({ "slug": slug, "tags": ["t"], "publishAt": at, "access": access });
        uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
        expected.insert(0, slug);
    }
    for client in [gateway.user("p", &["player"]), editor(&gateway)] {
        assert_eq!(slugs(&client, &json!({ "tag": "t" }), 5).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_read_from_the_end_as_well() {
    let gateway = Gateway::start().await;
    for number in 0..5 {
        let at = format!("2024-01-0{}T00:00:00Z", number + 1);
        let input = json!({ "slug": format!("a{number}"), "tags": ["all"], "publishAt": at });
        uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
    }
    let query = "query($by: AssetsBy!, $first: Int, $last: Int, $before: String) {
        assets(by: $by, first: $first, last: $last, before: $before) {
            nodes { slug } pageInfo { hasNextPage hasPreviousPage startCursor } } }";
    let anyone = gateway.anonymous();
    let by = json!({ "tag": "all" });
    let slugs = |slugs: &[&str]| {
        json!(slugs.iter().map(|slug| json!({ "slug": slug })).collect::<Vec<_>>())
    };
    let end = anyone.field(query, json!({ "by": by, "last": 2 })).await;
    assert_eq!(end["nodes"], slugs(&["a1", "a0"]));
    assert_eq!(end["pageInfo"]["hasPreviousPage"], true);
    assert_eq!(end["pageInfo"]["hasNextPage"], false);
    let before = json!({ "by": by, "last": 3, "before": end["pageInfo"]["startCursor"] });
    let rest = anyone.field(query, before).await;
    assert_eq!(rest["nodes"], slugs(&["a4", "a3", "a2"]));
    assert_eq!(rest["pageInfo"]["hasPreviousPage"], false);
    assert_eq!(rest["pageInfo"]["hasNextPage"], true);
    let both = json!({ "by": by, "first": 1, "last": 1 });
    assert_eq!(anyone.error_code(query, both).await, "BAD_USER_INPUT");
    // Values of attributes are read in the order of the index alone.
    let by = json!({ "attributes": { "all": [{ "key": "k", "exists": true }] } });
    assert_eq!(anyone.error_code(query, json!({ "by": by, "last": 1 })).await, "BAD_USER_INPUT");
}
