//! A comment is seen by who may see what it is on, wherever it is asked for: neither its author nor a moderator
//! sees more.

use std::collections::BTreeMap;

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{LAYOUTS, does, id_of, of_texts, open, post, posted};
use crate::{
    content,
    support::{Client, Gateway, all_nodes, commands, key, nodes},
};

const BY: &str = "query($author: ID, $first: Int, $after: String) {
    commentsBy(authorId: $author, first: $first, after: $after) {
        edges { node { text subjectId id } } pageInfo { hasNextPage endCursor } } }";

const ENTITIES: &str = "_entities(representations: [{ __typename: \"Page\", id: $subjectId }])";

/// Texts of someone's comments as that client sees them. Each page is as long as was asked for, but for the last.
async fn by(client: &Client, author: &str, first: usize) -> Vec<String> {
    let found = all_nodes(json!({ "author": author, "first": first }), async |page| {
        let page = client.field(BY, page).await;
        assert!(nodes(&page).len() == first || page["pageInfo"]["hasNextPage"] == false);
        page
    });
    of_texts(&found.await)
}

/// Pages that are seen by everyone, by analysts, later, and by editors alone, each discussed in that layout.
async fn pages(gateway: &Gateway, layout: &str) -> BTreeMap<&'static str, String> {
    let mut ids = BTreeMap::new();
    for (name, at, access) in [
        ("public", Some(None), json!([])),
        ("staff", Some(None), json!(["ANALYST"])),
        ("later", Some(Some("2099-01-01T09:00:00Z")), json!([])),
        ("draft", None, json!([])),
    ] {
        let slug = format!("{name}-{layout}").to_lowercase().replace('_', "-");
        let text = json!({ "title": name, "body": "To be discussed." });
        let input = json!({ "type": "PAGE", "slug": slug, "access": access, "text": text });
        let made = content::create(gateway, input).await;
        if let Some(at) = at {
            content::publish(gateway, &made, at).await;
        }
        let id = made["id"].as_str().expect("an id").to_owned();
        let opened = open(&content::editor(gateway), &id, layout).await;
        assert_eq!(opened["layout"], layout, "{opened:#}");
        ids.insert(name, id);
    }
    ids
}

/// Whether that client sees the comment: in every list of the discussion, by itself, and what it is on.
async fn is_seen(client: &Client, on: &str, id: &str, layout: &str) -> bool {
    const EDGES: &str = "{ edges { cursor } }";
    let mut asked = vec![
        ("$id: ID!", "comment(by: { id: $id })", "{ text }"),
        ("$id: ID!", "node(id: $id)", "{ ... on Comment { text } }"),
        ("", "comments(subjectId: $subjectId)", EDGES),
        (
            "",
            "node(id: $subjectId)",
            "{ ... on Page { discussion { comments { nodes { id } } } } }",
        ),
        ("", ENTITIES, "{ __typename }"),
    ];
    if layout != "PAGED" {
        const THREADS: &str =
            "{ parent { id } replies { nodes { id } } subthread { nodes { id } } }";
        asked.push(("$id: ID!", "comment(by: { id: $id })", THREADS));
    }
    let mut seen = Vec::new();
    for (variable, field, fields) in asked {
        let variable = if variable.is_empty() { "$subjectId: ID!" } else { variable };
        let query = format!("query({variable}) {{ found: {field} {fields} }}");
        let variables = json!({ "subjectId": on, "id": id });
        let found = client.field(&query, variables).await;
        seen.push(found != Value::Null && found != json!([null]));
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
    seen[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_is_seen_by_who_sees_what_it_is_on() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    let eva = gateway.user("eva", &["editor"]);
    let clients = [
        (eva.clone(), vec!["public", "staff", "later", "draft"]),
        (gateway.user("mod", &["moderator", "analyst"]), vec!["public", "staff"]),
        (gateway.user("mod", &["moderator"]), vec!["public"]),
        // The author, who is no editor any more.
        (gateway.shopper("eva"), vec!["public"]),
    ];
    for layout in LAYOUTS {
        let pages = pages(&gateway, layout).await;
        let mut slugs = BTreeMap::new();
        for (name, on) in &pages {
            slugs.insert(*name, posted(&eva, on, &format!("{name} {layout}"), None).await);
        }
        for (client, sees) in &clients {
            let mut expected: Vec<_> = pages.keys().filter(|name| sees.contains(name)).collect();
            expected.reverse();
            let listed = by(client, "eva", 2).await;
            let own = listed.iter().filter_map(|text| text.strip_suffix(&format!(" {layout}")));
            assert_eq!(own.collect::<Vec<_>>(), expected.into_iter().copied().collect::<Vec<_>>());
            for (name, on) in &pages {
                let seen = is_seen(client, on, &slugs[name], layout).await;
                assert_eq!(seen, sees.contains(name), "{layout} {name} {sees:?}");
            }
        }
        // What a moderator doesn't see isn't there to be removed, replied to or found.
        let before = gateway.snapshot().await;
        for name in ["staff", "later", "draft"] {
            let (moderator, _) = &clients[2];
            let gone = json!({ "commentId": slugs[name] });
            assert_eq!(does(moderator, "removeComment", gone).await["__typename"], "NotFound");
            let said = post(moderator, &pages[name], "me too", None).await;
            assert_eq!(said["__typename"], "NotFound");
        }
        assert!(gateway.snapshot().await == before);
        let moderator = &clients[2].0;
        let gone = json!({ "commentId": slugs["public"] });
        assert_eq!(does(moderator, "removeComment", gone).await["removedBy"], "MODERATOR");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_authors_comments_are_full_whatever_is_left_out() {
    let gateway = Gateway::start().await;
    let eva = gateway.user("eva", &["editor"]);
    let moderator = gateway.user("mod", &["moderator"]);
    let (paged, single) = (pages(&gateway, "PAGED").await, pages(&gateway, "PER_DOCUMENT").await);
    let mut expected = Vec::new();
    for number in 0..60 {
        let layout = if number % 2 == 0 { &paged } else { &single };
        // Some here and there, and many in a row.
        let is_public = number % 5 < 2 && !(20..50).contains(&number);
        let name = if is_public { "public" } else { "draft" };
        posted(&eva, &layout[name], &number.to_string(), None).await;
        if is_public {
            expected.insert(0, number.to_string());
        }
    }
    for first in [1, 3, 100] {
        assert_eq!(by(&moderator, "eva", first).await, expected, "{first}");
        assert_eq!(by(&eva, "eva", first).await.len(), 60);
    }
    let response = moderator.explained(BY, json!({ "author": "eva", "first": 2 })).await;
    let mut sent = commands(&response);
    sent.sort();
    sent.dedup();
    assert_eq!(sent, ["find authoredComments", "find comments", "find nodes"], "{response:#}");
    // It is seen again when it is there again, and not when it is hidden.
    let nodes = gateway.raw("nodes");
    let access = doc! { "$set": { "metadata.access": ["analyst"] } };
    for page in [&paged, &single] {
        let hidden = nodes.update_one(doc! { "_id": key(&page["public"]) }, access.clone()).await;
        assert_eq!(hidden.expect("hidden").modified_count, 1);
    }
    assert_eq!(by(&moderator, "eva", 3).await, Vec::<String>::new());
    let analyst = gateway.user("mod", &["moderator", "analyst"]);
    assert_eq!(by(&analyst, "eva", 3).await, expected);
    let unseen = post(&moderator, &paged["public"], "me too", None).await;
    assert_eq!(unseen["__typename"], "NotFound", "{unseen:#}");
    assert!(!id_of(&post(&analyst, &paged["public"], "me too", None).await).is_empty());
}
