//! Reads, and what they cost.

use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{FIELDS, ask, music, plant, put_product};
use crate::support::{Gateway, all_nodes, commands, texts_of};

const MENU: &str = "query($path: String!, $first: Int, $after: String) {
    categories(parentPath: $path, first: $first, after: $after) {
      nodes { id slug path name(locale: \"de\") names { locale } }
      pageInfo { hasNextPage endCursor }
    }
  }";
const SUBTREE: &str = "query($path: String!, $self: Boolean!, $first: Int, $after: String) {
    categorySubtree(path: $path, includeSelf: $self, first: $first, after: $after) {
      nodes { path } pageInfo { hasNextPage endCursor }
    }
  }";
/// Both lists, from the end.
const FROM_THE_END: &str = "query($path: String!, $last: Int, $before: String, $first: Int) {
    categories(parentPath: $path, last: $last, first: $first) {
      nodes { path } pageInfo { hasNextPage hasPreviousPage startCursor }
    }
    categorySubtree(path: $path, includeSelf: true, last: $last, before: $before, first: $first) {
      nodes { path } pageInfo { hasNextPage hasPreviousPage startCursor }
    }
  }";

#[tokio::test(flavor = "multi_thread")]
async fn a_category_has_its_whole_way_in_one_read() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, _] = music(&gateway).await;
    let translated = json!({ "categoryId": jazz, "locale": "de", "name": "Jatz" });
    ask(&gateway.merchant(), "addTranslation", translated).await;
    for by in [json!({ "slug": "bop" }), json!({ "path": "/music/jazz/bop" }), json!({ "id": bop })]
    {
        let query = "query($by: CategoryBy!) { category(by: $by) {
            id slug path parentPath parentId breadcrumbs { id slug path name(locale: \"de-AT\") }
        } }";
        let response = gateway.anonymous().explained(query, json!({ "by": by })).await;
        assert_eq!(commands(&response), ["find categories"]);
        let expected = json!({
            "id": bop, "slug": "bop", "path": "/music/jazz/bop", "parentPath": "/music/jazz",
            "parentId": jazz,
            "breadcrumbs": [
                { "id": music, "slug": "music", "path": "/music", "name": "music" },
                { "id": jazz, "slug": "jazz", "path": "/music/jazz", "name": "Jatz" },
            ],
        });
        assert_eq!(response["data"]["category"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_and_the_category_of_a_product_are_objects() {
    let gateway = Gateway::start().await;
    let [music, jazz, bop, _] = music(&gateway).await;
    put_product(&gateway, "p", &[&bop]).await;
    let query = "{ product(sku: \"p\") { categories { id
        category { id parent { id parent { id parentId parent { id } } } } } } }";
    let found = gateway.anonymous().field(query, json!({})).await;
    let root = json!({ "id": music, "parentId": null, "parent": null });
    let expected = json!({ "id": bop, "parent": { "id": jazz, "parent": root } });
    assert_eq!(found["categories"], json!([{ "id": bop, "category": expected }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn children_and_descendants_of_a_category_are_its_fields() {
    let gateway = Gateway::start().await;
    let [music, ..] = music(&gateway).await;
    for slug in ["rock", "folk"] {
        plant(&gateway, slug, Some(&music)).await;
    }
    let anyone = gateway.anonymous();
    let lists = "query($path: String!, $self: Boolean!, $first: Int, $after: String, $last: Int) {
        category(by: { path: $path }) { own: OWN }
        other: OTHER }
        fragment List on TYPE {
            nodes { id slug path name(locale: \"de\") names { locale } }
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }";
    let paging = "first: $first, after: $after, last: $last";
    let children = lists
        .replace("OWN", &format!("children({paging}) {{ ...List }}"))
        .replace("OTHER", &format!("categories(parentPath: $path, {paging}) {{ ...List }}"))
        .replace("$self: Boolean!, ", "")
        .replace("TYPE", "CategoryLinkConnection");
    let itself = "includeSelf: $self";
    let subtree = lists
        .replace("OWN", &format!("subtree({itself}, {paging}) {{ ...List }}"))
        .replace(
            "OTHER",
            &format!("categorySubtree(path: $path, {itself}, {paging}) {{ ...List }}"),
        )
        .replace("TYPE", "CategoryConnection");
    let paths = async |query: &str, variables: Value| {
        let response = anyone.explained(query, variables).await;
        assert_eq!(commands(&response), ["find categories"; 3], "{response:#}");
        let data = &response["data"];
        let own = &data["category"]["own"];
        // A cursor of one of the two lists is one of the other.
        assert_eq!(*own, data["other"], "{response:#}");
        let nodes = own["nodes"].as_array().expect("nodes");
        let paths = nodes.iter().map(|node| node["path"].as_str().expect("a path").to_owned());
        (paths.collect::<Vec<_>>(), own["pageInfo"]["endCursor"].clone())
    };
    let (first, cursor) = paths(&children, json!({ "path": "/music", "first": 2 })).await;
    assert_eq!(first, ["/music/folk", "/music/jazz"]);
    let (rest, _) = paths(&children, json!({ "path": "/music", "after": cursor })).await;
    assert_eq!(rest, ["/music/rock"]);
    let (end, _) = paths(&children, json!({ "path": "/music", "last": 1 })).await;
    assert_eq!(end, ["/music/rock"]);
    assert_eq!(paths(&children, json!({ "path": "/film" })).await.0, [""; 0]);
    let below = json!({ "path": "/music", "self": false, "first": 3 });
    let (first, cursor) = paths(&subtree, below).await;
    assert_eq!(first, ["/music/folk", "/music/jazz", "/music/jazz/bop"]);
    let after = json!({ "path": "/music", "self": true, "after": cursor });
    assert_eq!(paths(&subtree, after).await.0, ["/music/rock"]);
    let whole = json!({ "path": "/music/jazz", "self": true });
    assert_eq!(paths(&subtree, whole).await.0, ["/music/jazz", "/music/jazz/bop"]);
    let last = json!({ "path": "/music", "self": true, "last": 2 });
    assert_eq!(paths(&subtree, last).await.0, ["/music/jazz/bop", "/music/rock"]);
    // By default the category itself isn't among its descendants, each of which has children of its own.
    let query = "{ category(by: { path: \"/music\" }) { subtree {
        nodes { slug children { nodes { slug } } } } } }";
    let seen = anyone.field(query, json!({})).await;
    let node =
        |slug: &str, children: Value| json!({ "slug": slug, "children": { "nodes": children } });
    let expected = [
        node("folk", json!([])),
        node("jazz", json!([{ "slug": "bop" }])),
        node("bop", json!([])),
        node("rock", json!([])),
    ];
    assert_eq!(seen["subtree"]["nodes"], json!(expected));
    let refused = json!({ "path": "/music", "first": 0 });
    assert_eq!(anyone.error_code(&children, refused).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_null_and_what_is_no_path_is_refused() {
    let gateway = Gateway::start().await;
    music(&gateway).await;
    let query = format!("query($by: CategoryBy!) {{ category(by: $by) {{ {FIELDS} }} }}");
    let anyone = gateway.anonymous();
    let global = docgate::graphql::node_id::NodeKind::PRODUCT.id("music");
    let nothing = docgate::graphql::node_id::NodeKind::CATEGORY.id("nothing");
    for by in [json!({ "slug": "nothing" }), json!({ "path": "/jazz" }), json!({ "id": *nothing })]
    {
        assert_eq!(anyone.field(&query, json!({ "by": by })).await, Value::Null);
    }
    for id in ["$ne", "", &*global] {
        assert_eq!(anyone.field(&query, json!({ "by": { "id": id } })).await, Value::Null);
    }
    let long = format!("/{}", "a/".repeat(10_000));
    for path in ["", "/", "music", "/music/", "//", "/Music", "/mu.sic", "/^/music", "/$", &long] {
        let by = json!({ "by": { "path": path } });
        let response = anyone.run(&query, by).await;
        let error = &response["errors"][0]["extensions"];
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("BAD_USER_INPUT"), &json!("by.path"))
        );
    }
    for slug in ["", "Jazz", "a--b", "/", "$", "é"] {
        let code = anyone.error_code(&query, json!({ "by": { "slug": slug } })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
    let both = json!({ "by": { "slug": "music", "path": "/music" } });
    assert_eq!(anyone.error_code(&query, both).await, "BAD_USER_INPUT");
    assert_eq!(
        anyone.error_code(SUBTREE, json!({ "path": "jazz", "self": true })).await,
        "BAD_USER_INPUT"
    );
    assert_eq!(anyone.error_code(MENU, json!({ "path": "jazz" })).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_menu_is_answered_from_the_index_alone() {
    let gateway = Gateway::start().await;
    let [music, _, _, _] = music(&gateway).await;
    for slug in ["rock", "folk", "blues", "soul"] {
        let id = plant(&gateway, slug, Some(&music)).await;
        let input =
            json!({ "categoryId": id, "locale": "de", "name": format!("{slug} auf Deutsch") });
        ask(&gateway.merchant(), "addTranslation", input).await;
    }
    let profile = Profile::start(&gateway).await;
    let found = all_nodes(json!({ "path": "/music", "first": 2 }), async |page| {
        let response = gateway.anonymous().explained(MENU, page).await;
        assert_eq!(commands(&response), ["find categories"]);
        response["data"]["categories"].clone()
    })
    .await;
    for node in &found {
        let own = format!("/music/{}", node["slug"].as_str().expect("a slug"));
        assert_eq!(node["path"], own);
        let german = node["names"].as_array().expect("names").len() == 2;
        assert_eq!(node["name"].as_str().expect("a name").ends_with("Deutsch"), german);
    }
    assert_eq!(texts_of(&found, "slug"), ["blues", "folk", "jazz", "rock", "soul"]);
    let finds = profile.stop("categories").await;
    assert_eq!(finds.len(), 3);
    for find in finds {
        assert_eq!(find.get_i32("docsExamined").expect("documents"), 0, "{find:#}");
        let keys = find.get_i32("keysExamined").expect("keys");
        assert!(keys <= find.get_i32("nreturned").expect("returned") + 1, "{find:#}");
        assert!(find.get_str("planSummary").expect("a plan").contains("parentPath"));
    }
    let roots = gateway.anonymous().field("{ categories { nodes { slug } } }", json!({})).await;
    assert_eq!(roots["nodes"], json!([{ "slug": "film" }, { "slug": "music" }]));
    let none = gateway.anonymous().field(MENU, json!({ "path": "/music/jazz/bop" })).await;
    assert_eq!(none["nodes"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_ends_at_the_slash() {
    let gateway = Gateway::start().await;
    let [music, jazz, _, _] = music(&gateway).await;
    for (slug, parent) in [("jazzy", &music), ("jazz-funk", &music), ("jazz0", &music)] {
        plant(&gateway, slug, Some(parent)).await;
    }
    let swing = plant(&gateway, "swing", Some(&jazz)).await;
    plant(&gateway, "big-band", Some(&swing)).await;

    let profile = Profile::start(&gateway).await;
    let jazz =
        ["/music/jazz", "/music/jazz/bop", "/music/jazz/swing", "/music/jazz/swing/big-band"];
    for first in [1, 2, 3, 100] {
        assert_eq!(walk(&gateway, "/music/jazz", true, first).await, jazz);
        assert_eq!(walk(&gateway, "/music/jazz", false, first).await, jazz[1..]);
    }
    for find in profile.stop("categories").await {
        let returned = find.get_i32("nreturned").expect("returned");
        assert_eq!(find.get_i32("docsExamined").expect("documents"), returned, "{find:#}");
        let keys = find.get_i32("keysExamined").expect("keys");
        assert!(keys <= returned + 2, "{find:#}");
        assert!(!find.get_bool("hasSortStage").unwrap_or(false), "{find:#}");
    }
    assert_eq!(walk(&gateway, "/", true, 3).await.len(), 9);
    assert_eq!(walk(&gateway, "/music", true, 3).await.len(), 8);
    assert!(walk(&gateway, "/nothing", true, 3).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_lists_are_read_from_the_end() {
    let gateway = Gateway::start().await;
    music(&gateway).await;
    let anyone = gateway.anonymous();
    let mut before = Value::Null;
    for (paths, has_previous) in
        [(json!(["/music/jazz", "/music/jazz/bop"]), true), (json!(["/music"]), false)]
    {
        let arguments = json!({ "path": "/music", "last": 2, "before": before });
        let response = anyone.run(FROM_THE_END, arguments).await;
        let menu = &response["data"]["categories"];
        assert_eq!(menu["nodes"], json!([{ "path": "/music/jazz" }]), "{response:#}");
        assert_eq!(menu["pageInfo"]["hasPreviousPage"], false);
        let found = &response["data"]["categorySubtree"];
        let nodes = found["nodes"].as_array().expect("nodes").iter();
        assert_eq!(nodes.map(|node| node["path"].clone()).collect::<Value>(), paths);
        assert_eq!(found["pageInfo"]["hasPreviousPage"], has_previous);
        assert_eq!(found["pageInfo"]["hasNextPage"], before != Value::Null);
        before = found["pageInfo"]["startCursor"].clone();
    }
    let roots = anyone.run(FROM_THE_END, json!({ "path": "/", "last": 1 })).await;
    let roots = &roots["data"]["categories"];
    assert_eq!(roots["nodes"], json!([{ "path": "/music" }]));
    assert_eq!(roots["pageInfo"]["hasPreviousPage"], true);
    let both = json!({ "path": "/", "last": 1, "first": 1 });
    assert_eq!(anyone.error_code(FROM_THE_END, both).await, "BAD_USER_INPUT");
}

async fn walk(gateway: &Gateway, path: &str, itself: bool, first: i32) -> Vec<String> {
    let pages = json!({ "path": path, "self": itself, "first": first });
    let found = all_nodes(pages, async |page| {
        let response = gateway.anonymous().explained(SUBTREE, page).await;
        assert_eq!(commands(&response), ["find categories"], "{response:#}");
        response["data"]["categorySubtree"].clone()
    });
    texts_of(&found.await, "path")
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_bounds_and_cursors_belong_to_their_list() {
    let gateway = Gateway::start().await;
    music(&gateway).await;
    let anyone = gateway.anonymous();
    for first in [0, -1, 101, i32::MAX] {
        let code = anyone.error_code(MENU, json!({ "path": "/", "first": first })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
    let menu = anyone.field(MENU, json!({ "path": "/", "first": 1 })).await;
    let cursor = &menu["pageInfo"]["endCursor"];
    let foreign = [
        anyone.error_code(MENU, json!({ "path": "/music", "after": cursor })).await,
        anyone.error_code(SUBTREE, json!({ "path": "/", "self": true, "after": cursor })).await,
        anyone.error_code(MENU, json!({ "path": "/", "after": "nonsense" })).await,
        anyone.error_code(MENU, json!({ "path": "/", "after": "" })).await,
    ];
    assert_eq!(foreign, ["BAD_USER_INPUT"; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_falls_back_at_read_only() {
    let gateway = Gateway::start().await;
    let names = json!([
        { "locale": "fr-FR", "name": "Musique" },
        { "locale": "en", "name": "Music" },
        { "locale": "de", "name": "Musik" },
        { "locale": "de-CH", "name": "Musig" },
    ]);
    let input = json!({ "slug": "music", "names": names });
    ask(&gateway.merchant(), "createCategory", input).await;
    let only = json!({ "slug": "only", "names": [{ "locale": "fr", "name": "Seul" }] });
    ask(&gateway.merchant(), "createCategory", only).await;
    let name = async |slug: &str, locale: Option<&str>| {
        let query = "query($slug: Slug!, $locale: LocaleTag) {
            category(by: { slug: $slug }) { name(locale: $locale) } }";
        let variables = json!({ "slug": slug, "locale": locale });
        gateway.anonymous().field(query, variables).await["name"].clone()
    };
    assert_eq!(name("music", Some("de-CH")).await, "Musig", "exact");
    assert_eq!(name("music", Some("DE-ch")).await, "Musig", "in any case");
    assert_eq!(name("music", Some("de-AT")).await, "Musik", "its language");
    assert_eq!(name("music", Some("fr")).await, "Musique", "a variant of its language");
    assert_eq!(name("music", Some("ja")).await, "Music", "the site's default");
    assert_eq!(name("music", None).await, "Music", "the site's default");
    assert_eq!(name("only", Some("ja")).await, "Seul", "any");
}

/// What the server says of the commands that were sent in between.
struct Profile<'a>(&'a Gateway);

impl<'a> Profile<'a> {
    async fn start(gateway: &'a Gateway) -> Self {
        gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiling");
        Self(gateway)
    }

    async fn stop(self, collection: &str) -> Vec<Document> {
        let database = &self.0.database;
        database.run_command(doc! { "profile": 0 }).await.expect("no profiling");
        let profile = database.collection::<Document>("system.profile");
        let all: Vec<Document> =
            profile.find(doc! {}).await.expect("read").try_collect().await.expect("read");
        let namespace = format!("{}.{collection}", database.name());
        let of = |sent: &Document| {
            sent.get_str("ns").is_ok_and(|ns| ns == namespace)
                && sent.get_str("op").is_ok_and(|op| op == "query")
        };
        all.into_iter().filter(of).collect()
    }
}
