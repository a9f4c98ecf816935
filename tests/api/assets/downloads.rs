//! Files on their way out: ranges, conditions, who may read.

use std::time::Duration;

use mongodb::bson::{DateTime, Document, doc};
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHUNK, Door, ask, editor, file, header, noise, parent, uploaded};
use crate::support::{Gateway, commands, key, mongod_port, proxy::Cut, until};

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_sent_alone() {
    let gateway = Gateway::start().await;
    let length = 10 * CHUNK + 123;
    let bytes = noise(length);
    uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", bytes.clone())).await;
    let door = Door::open(&gateway);
    let end = length - 1;
    for (asked, from, upto) in [
        ("bytes=0-0".to_owned(), 0, 1),
        (format!("bytes={}-{}", CHUNK - 1, CHUNK), CHUNK - 1, CHUNK + 1),
        (format!("bytes={}-{}", 4 * CHUNK - 1, 9 * CHUNK), 4 * CHUNK - 1, 9 * CHUNK + 1),
        (format!("bytes={CHUNK}-{}", 2 * CHUNK - 1), CHUNK, 2 * CHUNK),
        (format!("bytes={end}-"), end, length),
        (format!("bytes=5-{}", length * 2), 5, length),
        ("bytes=-100".to_owned(), length - 100, length),
        (format!("bytes=-{}", length * 2), 0, length),
    ] {
        let response = door.get("/it", &[("range", &asked)]).await;
        assert_eq!(response.status(), 206, "{asked}");
        let told = format!("bytes {from}-{}/{length}", upto - 1);
        assert_eq!(header(response.headers(), "content-range"), told);
        assert_eq!(response.content_length(), Some((upto - from) as u64));
        let found = response.bytes().await.expect("the body");
        assert!(found[..] == bytes[from..upto], "{asked}");
    }
    for asked in [
        format!("bytes={length}-"),
        format!("bytes={}-{}", length + 5, length + 9),
        "bytes=-0".into(),
    ] {
        let response = door.get("/it", &[("range", &asked)]).await;
        assert_eq!(response.status(), 416, "{asked}");
        assert_eq!(header(response.headers(), "content-range"), format!("bytes */{length}"));
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    }
    let many = (0..1_000).map(|at| format!("{at}-{at}")).collect::<Vec<_>>().join(",");
    for asked in
        [format!("bytes={many}"), "bytes=0-1,5-6".into(), "bytes=9-3".into(), "lines=1-2".into()]
    {
        let (status, found) = door.bytes("/it", &[("range", &asked)]).await;
        assert!(status == 200 && found == bytes, "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_it_gets_nothing() {
    let gateway = Gateway::start().await;
    let asset =
        uploaded(&gateway, json!({ "slug": "it" }), &file("a.txt", "text/plain", "0123456789"))
            .await;
    let door = Door::open(&gateway);
    let first = door.get("/it", &[]).await;
    let head = |name: &str| header(first.headers(), name).to_owned();
    let (tag, modified) = (head("etag"), head("last-modified"));
    assert_eq!(tag, format!("\"{}\"", asset["sha256"].as_str().expect("a digest")));
    assert_eq!(
        (head("accept-ranges"), head("cache-control")),
        ("bytes".into(), "public, no-cache".into())
    );
    let weak = format!("W/{tag}");
    let several = format!("\"other\", {tag}");
    let (past, future) = ("Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT");
    let range = ("range", "bytes=2-3");
    for (headers, status, body) in [
        (vec![("if-none-match", tag.as_str())], 304, ""),
        (vec![("if-none-match", &weak)], 304, ""),
        (vec![("if-none-match", &several)], 304, ""),
        (vec![("if-none-match", "*")], 304, ""),
        (vec![("if-none-match", "\"other\"")], 200, "0123456789"),
        (vec![("if-modified-since", modified.as_str())], 304, ""),
        (vec![("if-modified-since", future)], 304, ""),
        (vec![("if-modified-since", past)], 200, "0123456789"),
        // The tag goes before the date.
        (vec![("if-none-match", "\"other\""), ("if-modified-since", future)], 200, "0123456789"),
        (vec![("if-match", tag.as_str())], 200, "0123456789"),
        (vec![("if-match", "*")], 200, "0123456789"),
        (vec![("if-match", "\"other\"")], 412, ""),
        (vec![("if-match", &weak)], 412, ""),
        (vec![("if-unmodified-since", past)], 412, ""),
        (vec![("if-unmodified-since", future)], 200, "0123456789"),
        (vec![range, ("if-range", tag.as_str())], 206, "23"),
        (vec![range, ("if-range", "\"other\"")], 200, "0123456789"),
        (vec![range, ("if-range", &weak)], 200, "0123456789"),
        (vec![range, ("if-range", modified.as_str())], 206, "23"),
        (vec![range, ("if-range", past)], 200, "0123456789"),
        (vec![range, ("if-range", future)], 200, "0123456789"),
        (vec![range, ("if-range", "no validator")], 200, "0123456789"),
        (vec![range, ("if-none-match", tag.as_str())], 304, ""),
    ] {
        let (found, bytes) = door.bytes("/it", &headers).await;
        let bytes =
            if found == 412 { String::new() } else { String::from_utf8_lossy(&bytes).into_owned() };
        assert_eq!((found, bytes.as_str()), (status, body), "{headers:?}");
    }
    let seen = door.get("/it", &[("if-none-match", &tag)]).await;
    assert_eq!(header(seen.headers(), "etag"), tag);
    let head = door.request(Method::HEAD, "/it").send().await.expect("an answer");
    assert_eq!((head.status().as_u16(), header(head.headers(), "content-length")), (200, "10"));
    assert_eq!(header(head.headers(), "etag"), tag);
    assert_eq!(head.bytes().await.expect("no body").len(), 0);
    let head = door
        .request(Method::HEAD, "/it")
        .header("range", "bytes=1-2")
        .send()
        .await
        .expect("an answer");
    assert_eq!((head.status().as_u16(), header(head.headers(), "content-length")), (200, "10"));
    let head = door.request(Method::HEAD, "/nothing").send().await.expect("an answer");
    assert_eq!(head.status(), 404);
    let other = door.request(Method::POST, "/it").send().await.expect("an answer");
    assert_eq!(other.status(), 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_is_found_by_its_id_and_its_path_alone() {
    let gateway = Gateway::start().await;
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &file("a", "text/plain", "x")).await;
    let door = Door::open(&gateway);
    let id = asset["id"].as_str().expect("an id");
    for path in [format!("/{id}"), "/it".to_owned()] {
        assert_eq!(door.bytes(&path, &[]).await, (200, b"x".to_vec()), "{path}");
    }
    let product = docgate::graphql::node_id::NodeKind::PRODUCT.id("it").0;
    let other = docgate::graphql::node_id::NodeKind::ASSET.id("other").0;
    for path in [
        "/",
        "//it",
        "/it/",
        "/%69t",
        "/../it",
        "/..%2fit",
        "/it%00",
        "/IT",
        "/it/it",
        &format!("/{product}"),
        &format!("/{other}"),
    ] {
        let response = door.get(path, &[]).await;
        assert_eq!(response.status(), 404, "{path}");
    }
    for by in [json!({ "path": "/it" }), json!({ "id": id })] {
        let query = "query($by: AssetBy!) { asset(by: $by) { id url length } }";
        let response = gateway.anonymous().explained(query, json!({ "by": by })).await;
        assert_eq!(commands(&response), ["find assetEntries"], "{response:#}");
        assert_eq!(
            response["data"]["asset"],
            json!({ "id": id, "url": "/assets/it", "length": 1 })
        );
        assert_eq!(response["extensions"]["docgate"]["commands"][0]["docsExamined"], 1);
    }
    let query = "query($by: AssetBy!) { asset(by: $by) { id } }";
    let client = gateway.anonymous();
    for id in ["x", product.as_str()] {
        assert_eq!(client.field(query, json!({ "by": { "id": id } })).await, Value::Null);
    }
    for by in [json!({ "path": "it" }), json!({ "path": "/$where" })] {
        assert_eq!(client.error_code(query, json!({ "by": by })).await, "BAD_USER_INPUT");
    }
    let node = client
        .field("query($id: ID!) { node(id: $id) { __typename id } }", json!({ "id": id }))
        .await;
    assert_eq!(node, json!({ "__typename": "Asset", "id": id }));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_may_not_read_does_not_exist() {
    let gateway = Gateway::start().await;
    let folder = parent(&gateway, "/inside", "folder", &["analyst"]).await;
    let sent = file("a", "text/plain", "x");
    let inherits =
        uploaded(&gateway, json!({ "slug": "inherits", "parentId": folder }), &sent).await;
    assert_eq!(inherits["access"], json!(["analyst"]));
    let open = json!({ "slug": "open", "parentId": folder, "access": [] });
    uploaded(&gateway, open, &sent).await;
    let mine = json!({ "slug": "players", "access": ["player", "analyst"], "tags": ["t"] });
    uploaded(&gateway, mine, &sent).await;
    let later = json!({ "slug": "later", "publishAt": "2100-01-01T00:00:00Z", "tags": ["t"] });
    uploaded(&gateway, later, &sent).await;
    let readers = [
        (gateway.anonymous(), [404, 200, 404, 404]),
        (gateway.shopper("someone"), [404, 200, 404, 404]),
        (gateway.user("a", &["analyst"]), [200, 200, 200, 404]),
        (gateway.user("p", &["player"]), [404, 200, 200, 404]),
        (gateway.merchant(), [404, 200, 404, 404]),
        (editor(&gateway), [200; 4]),
        (gateway.admin(), [200; 4]),
    ];
    let paths = ["/inside/inherits", "/inside/open", "/players", "/later"];
    for (client, statuses) in &readers {
        let door = Door::of(&gateway, client);
        for (path, status) in paths.iter().zip(statuses) {
            assert_eq!(door.get(path, &[]).await.status(), *status, "{path} {:?}", client.token);
            let query = "query($path: String!) { asset(by: { path: $path }) { path } }";
            let found = client.field(query, json!({ "path": path })).await;
            assert_eq!(found.is_null(), *status == 404, "{path}");
        }
        let query = "{ assets(by: { tag: \"t\" }) { nodes { path } } }";
        let found = client.field(query, json!({})).await;
        let found = found["nodes"].as_array().expect("nodes").len();
        assert_eq!(found, statuses[2..].iter().filter(|status| **status == 200).count());
    }
    let door = Door::of(&gateway, &readers[2].0);
    let shown = door.get("/players", &[]).await;
    assert_eq!(header(shown.headers(), "cache-control"), "private, no-cache");
    // What is due is there without anybody's doing.
    let entries = gateway.database.collection::<Document>("assetEntries");
    let due = doc! { "$set": { "publishedAt": DateTime::from_millis(1) } };
    entries.update_one(doc! { "metadata.path": "/later" }, due).await.expect("updated");
    assert_eq!(Door::open(&gateway).get("/later", &[]).await.status(), 200);
    let edit = ask(
        &editor(&gateway),
        "editAsset",
        json!({ "assetId": inherits["id"], "version": inherits["version"], "access": [] }),
    )
    .await;
    assert_eq!(edit["access"], json!([]), "{edit:#}");
    assert_eq!(Door::open(&gateway).get("/inside/inherits", &[]).await.status(), 200);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_hole_ends_early_and_is_found_by_the_check() {
    let gateway = Gateway::start().await;
    let asset =
        uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", noise(9 * CHUNK))).await;
    let blob = super::blob_of(&gateway, &asset).await;
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    chunks.delete_one(doc! { "files_id": blob, "n": 6 }).await.expect("removed");
    let response = Door::open(&gateway).get("/it", &[]).await;
    assert_eq!(
        (response.status().as_u16(), response.content_length()),
        (200, Some(9 * CHUNK as u64))
    );
    assert!(response.bytes().await.is_err(), "a body with a hole isn't whole");
    let report = gateway.check().await;
    let broken: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    assert!(broken.len() == 1 && broken[0].contains("8 chunks, not 9"), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_what_is_broken() {
    let gateway = Gateway::start().await;
    let mut ids = Vec::new();
    let mut keys = Vec::new();
    for slug in ["digest", "length", "gone", "path", "list", "sound"] {
        let sent = file("a", "text/plain", format!("text of {slug}"));
        let asset = uploaded(&gateway, json!({ "slug": slug, "tags": ["t"] }), &sent).await;
        ids.push(super::blob_of(&gateway, &asset).await);
        keys.push(key(asset["id"].as_str().expect("an id")));
    }
    gateway.assert_sound().await;
    let files = gateway.database.collection::<Document>("assets.files");
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    let entries = gateway.database.collection::<Document>("assetEntries");
    let data = mongodb::bson::Binary {
        subtype: mongodb::bson::spec::BinarySubtype::Generic,
        bytes: b"text of DIGEST".to_vec(),
    };
    chunks
        .update_one(doc! { "files_id": ids[0] }, doc! { "$set": { "data": data } })
        .await
        .expect("set");
    files.update_one(doc! { "_id": ids[1] }, doc! { "$inc": { "length": 1 } }).await.expect("set");
    files.delete_one(doc! { "_id": ids[2] }).await.expect("removed");
    let path = doc! { "$set": { "metadata.path": "/elsewhere" } };
    entries.update_one(doc! { "_id": &keys[3] }, path).await.expect("set");
    let list = doc! { "$pull": { "listed": "everyone tag t" } };
    entries.update_one(doc! { "_id": &keys[4] }, list).await.expect("set");
    let stray = mongodb::bson::oid::ObjectId::from_parts(1, [0; 5], [0; 3]);
    chunks.insert_one(doc! { "files_id": stray, "n": 0, "data": "" }).await.expect("inserted");
    let report = gateway.check().await;
    let broken: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    assert_eq!(broken.len(), 6, "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_takes_too_long_ends() {
    let patient = Gateway::start().await;
    uploaded(&patient, json!({ "slug": "it" }), &file("a", "x/y", noise(40 << 20))).await;
    let name = patient.database.name();
    let gateway =
        Gateway::over(mongod_port(name), false, name, |config| config.asset_transfer_seconds = 5)
            .await;
    let mut response = Door::open(&gateway).get("/it", &[]).await;
    let first = response.chunk().await.expect("bytes").expect("some");
    tokio::time::sleep(Duration::from_millis(5_500)).await;
    let mut read = first.len();
    let ended = loop {
        match response.chunk().await {
            Ok(Some(bytes)) => read += bytes.len(),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(ended && read < 40 << 20, "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_is_one_of_the_concurrent_requests() {
    let gateway = Gateway::behind_proxy(|config| {
        config.max_requests = 1;
        // The request whose command is held doesn't end by itself.
        config.request_millis = 600_000;
    })
    .await;
    let door = Door::open(&gateway);
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "assetEntries");
    proxy.cut(0, Cut::Hold);
    let first = tokio::spawn(door.request(Method::GET, "/one").send());
    proxy.reached().await;
    let second = door.get("/two", &[]).await;
    assert_eq!(second.status(), 503);
    first.abort();
    until("nobody waits for the answer to nobody", async || {
        door.get("/two", &[]).await.status() == 404
    })
    .await;
    proxy.discard();
}
