//! Files on their way in, by GraphQL.

use futures_util::AsyncReadExt as _;
use mongodb::{
    bson::{Document, doc},
    options::GridFsBucketOptions,
};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    BOUNDARY, CHUNK, Door, ask, blob_of, bson_id, counts, editor, file, form, mutation, noise,
    parent, send_file, send_form, stored, uploaded, with_file,
};
use crate::support::{Client, Gateway, http, key, short_bounds, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_becomes_an_asset_that_any_tool_reads() {
    let gateway = Gateway::start().await;
    for length in [1, CHUNK - 1, CHUNK, CHUNK + 1, 9 * CHUNK + 17] {
        let bytes = noise(length);
        let sent = file(&format!("Noise of {length}.BIN"), "application/x-noise", bytes.clone());
        let asset = uploaded(&gateway, json!({}), &sent).await;
        let path = format!("/noise-of-{length}-bin");
        assert_eq!(
            (asset["path"].as_str(), asset["length"].as_u64()),
            (Some(&*path), Some(length as u64))
        );
        assert_eq!(asset["sha256"], hex::encode(Sha256::digest(&bytes)));
        assert_eq!(asset["mediaType"], "application/octet-stream");
        assert_eq!(asset["title"], format!("Noise of {length}.BIN"));
        assert_eq!(asset["author"], json!({ "id": "the-editor", "name": "the-editor" }));
        assert_eq!(Door::open(&gateway).bytes(&path, &[]).await, (200, bytes.clone()));

        // As the driver's own bucket reads it.
        let blob = blob_of(&gateway, &asset).await;
        let options = GridFsBucketOptions::builder().bucket_name("assets".to_owned()).build();
        let bucket = gateway.database.gridfs_bucket(options);
        let mut stream = bucket.open_download_stream(bson_id(blob)).await.expect("a file");
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.expect("its bytes");
        assert!(read == bytes, "the driver reads other bytes");
        let known = bucket.find_one(doc! { "_id": blob }).await.expect("a read").expect("a file");
        assert_eq!((known.length, known.chunk_size_bytes as usize), (length as u64, CHUNK));
        assert_eq!(known.filename.as_deref(), Some(&*format!("Noise of {length}.BIN")));
        let chunks = gateway.database.collection::<Document>("assets.chunks");
        let count = chunks.count_documents(doc! { "files_id": blob }).await.expect("a count");
        assert_eq!(count, length.div_ceil(CHUNK) as u64);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_tells_who_made_it_and_what_language_it_is_in() {
    let gateway = Gateway::start().await;
    let claim = "mutation($input: ClaimIdentityInput!) { claimIdentity(input: $input) {
        ... on Identity { userId } } }";
    let input = json!({ "identity": { "username": "ada" }, "userId": "the-editor" });
    gateway.service().field(claim, json!({ "input": input })).await;
    let gallery = parent(&gateway, "/g", "gallery", &[]).await;
    let sent = file("a", "x/y", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0");
    let input =
        json!({ "slug": "it", "parentId": gallery, "language": "PT-br", "idempotencyKey": "one" });
    let made = uploaded(&gateway, input.clone(), &sent).await;
    assert_eq!(made["author"], json!({ "id": "the-editor", "name": "ada" }), "{made:#}");
    let query = "query($id: ID!) { contents(by: { parentId: $id }) {
        nodes { language author { id name } } } }";
    let found = gateway.anonymous().field(query, json!({ "id": gallery })).await;
    let shown = json!([{ "language": "pt-BR", "author": { "id": "the-editor", "name": "ada" } }]);
    assert_eq!(found["nodes"], shown);
    let mut other = input;
    other["language"] = json!("pt");
    let conflict = send_file(&editor(&gateway), "uploadAsset", other, &sent).await;
    assert_eq!(conflict["__typename"], "Conflict", "{conflict:#}");
    let edit = json!({ "assetId": made["id"], "version": made["version"], "language": "en" });
    ask(&editor(&gateway), "editAsset", edit).await;
    let query = "query($id: ID!) { asset(by: { id: $id }) { language } }";
    let found = gateway.anonymous().field(query, json!({ "id": made["id"] })).await;
    assert_eq!(found["language"], "en");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_bytes_is_a_file() {
    let gateway = Gateway::start().await;
    let asset = uploaded(&gateway, json!({}), &file("empty.png", "image/png", "")).await;
    assert_eq!(
        (&asset["length"], &asset["mediaType"]),
        (&json!(0), &json!("application/octet-stream"))
    );
    assert_eq!(asset["width"], Value::Null);
    let door = Door::open(&gateway);
    assert_eq!(door.bytes("/empty-png", &[]).await, (200, Vec::new()));
    assert_eq!(door.get("/empty-png", &[("range", "bytes=0-")]).await.status(), 416);
    assert_eq!(counts(&gateway).await, [1, 1, 0]);
    gateway.assert_sound().await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_files_are_no_paths() {
    let gateway = Gateway::start().await;
    for (name, path, kept) in [
        ("../../etc/passwd", "/passwd", "passwd"),
        ("..\\\\..\\\\windows.ini", "/windows-ini", "windows.ini"),
        ("%2e%2e%2fup.png", "/2e-2e-2fup-png", "%2e%2e%2fup.png"),
        ("$where.js", "/where-js", "$where.js"),
        ("写真.png", "/png", "写真.png"),
    ] {
        let asset = uploaded(&gateway, json!({}), &file(name, "text/plain", "x")).await;
        assert_eq!((&asset["path"], &asset["fileName"]), (&json!(path), &json!(kept)), "{name:?}");
        assert_eq!(Door::open(&gateway).get(path, &[]).await.status(), 200);
    }
    let body = with_file("uploadAsset", json!({}), &file("a\u{0}b", "text/plain", "x"));
    let (_, answer) = send_form(&editor(&gateway), body).await.expect("an answer");
    assert_eq!(answer["errors"][0]["extensions"]["field"], "body", "{answer:#}");
    for name in ["..", "写真", "-"] {
        let asset = uploaded(&gateway, json!({}), &file(name, "text/plain", "x")).await;
        let path = asset["path"].as_str().expect("a path");
        assert_eq!(Door::open(&gateway).get(path, &[]).await.status(), 200, "{name:?} {path}");
    }
    let long = uploaded(&gateway, json!({}), &file(&"long".repeat(500), "text/plain", "x")).await;
    assert_eq!(long["path"], format!("/{}", "long".repeat(16)));
    assert_eq!(long["fileName"].as_str().map(str::len), Some(200));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_tell_what_a_file_is_and_not_the_client() {
    let gateway = Gateway::start().await;
    let html = "<!DOCTYPE html><script>alert(document.cookie)</script>";
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    for (name, said, bytes, found, shown) in [
        ("page.png", "image/png", html, "text/html", "attachment"),
        ("drawing.png", "image/png", svg, "image/svg+xml", "attachment"),
        ("feed.txt", "text/plain", "<?xml version=\"1.0\"?><feed/>", "text/xml", "attachment"),
        ("run.js", "text/javascript", "alert(1)", "text/javascript", "attachment"),
        ("run.gif", "image/gif", "alert(1)", "text/plain", "inline"),
        ("table.csv", "text/csv", "a,b\n1,2\n", "text/csv", "inline"),
        ("doc.html", "text/html", "%PDF-1.7\n", "application/pdf", "inline"),
        ("thing.pdf", "application/pdf", "\u{0}\u{1}", "application/octet-stream", "attachment"),
    ] {
        let asset = uploaded(&gateway, json!({}), &file(name, said, bytes)).await;
        assert_eq!(asset["mediaType"], found, "{name}");
        let response = Door::open(&gateway).get(asset["path"].as_str().expect("a path"), &[]).await;
        let head = |name: &str| super::header(response.headers(), name).to_owned();
        let text = found.starts_with("text/");
        let said = if text { format!("{found}; charset=utf-8") } else { found.to_owned() };
        assert_eq!(
            (head("content-type"), head("x-content-type-options")),
            (said, "nosniff".into())
        );
        let disposition = format!("{shown}; filename=\"{name}\"; filename*=UTF-8''{name}");
        assert_eq!(head("content-disposition"), disposition);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_is_uploaded_once_per_op_id() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let input =
        json!({ "slug": "it", "title": "It", "tags": ["b", "a", "b"], "idempotencyKey": "one" });
    let sent = file("it.bin", "x/y", noise(300_000));
    let first = send_file(&client, "uploadAsset", input.clone(), &sent).await;
    assert_eq!((&first["__typename"], &first["tags"]), (&json!("Asset"), &json!(["a", "b"])));
    let before = gateway.snapshot().await;
    assert_eq!(send_file(&client, "uploadAsset", input.clone(), &sent).await, first);
    let other_file = file("it.bin", "x/y", noise(300_001));
    let mut other_input = input.clone();
    other_input["title"] = json!("Other");
    let other = send_file(&client, "uploadAsset", input.clone(), &other_file).await;
    assert_eq!(other["__typename"], "Conflict", "{other:#}");
    let other = send_file(&client, "uploadAsset", other_input, &sent).await;
    assert_eq!(other["__typename"], "Conflict", "{other:#}");
    // Another caller's idempotency key is another one; the slug is taken all the same.
    let colleague = gateway.user("a-colleague", &["editor"]);
    let taken = send_file(&colleague, "uploadAsset", input, &sent).await;
    assert_eq!((&taken["__typename"], &taken["id"]), (&json!("AlreadyExists"), &json!("/it")));
    assert!(gateway.snapshot().await == before, "a refusal changed something");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_uploads_to_one_slug_one_wins() {
    let started = Gateway::start().await;
    let gateway = started.patient_sibling().await;
    let sends = (0..12).map(|number| {
        let client = editor(&gateway);
        let sent = file("same.bin", "x/y", noise(400_000 + number));
        tokio::spawn(async move { send_file(&client, "uploadAsset", json!({}), &sent).await })
    });
    let mut won = 0;
    for sent in sends.collect::<Vec<_>>() {
        let answer = sent.await.expect("an answer");
        match answer["__typename"].as_str() {
            Some("Asset") => won += 1,
            Some("AlreadyExists" | "InUse") => {}
            _ => panic!("{answer:#}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(counts(&gateway).await, [1, 1, 2]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_at_the_same_moment_make_one_asset() {
    let gateway = Gateway::with(|config| config.asset_stall_seconds = 1).await;
    let sent = file("same.bin", "x/y", noise(600_000));
    let sends = (0..8).map(|_| {
        let client = editor(&gateway);
        let body = with_file("uploadAsset", json!({ "idempotencyKey": "one" }), &sent);
        tokio::spawn(async move { send_form(&client, body).await.expect("an answer").1 })
    });
    for sent in sends.collect::<Vec<_>>() {
        let answer = sent.await.expect("an answer");
        // Who was taken over hears that nobody knows.
        let is_unsure = answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE";
        let is_made = answer["data"]["uploadAsset"]["__typename"] == "Asset";
        assert!(is_unsure || is_made, "{answer:#}");
    }
    let made =
        send_file(&editor(&gateway), "uploadAsset", json!({ "idempotencyKey": "one" }), &sent)
            .await;
    assert_eq!(made["__typename"], "Asset", "{made:#}");
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 3]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_leaves_nothing() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let body =
        with_file("uploadAsset", json!({ "slug": "cut" }), &file("a", "x/y", noise(5_000_000)));
    for cut in [body.len() / 2, body.len() - 10, 700_000] {
        hang_up(&gateway, &client, &body, cut).await;
        until("nothing is left", async || counts(&gateway).await == [0, 0, 0]).await;
        assert_eq!(Door::open(&gateway).get("/cut", &[]).await.status(), 404);
    }
    // The same again, as a whole.
    let (_, answer) = send_form(&client, body).await.expect("an answer");
    assert_eq!(answer["data"]["uploadAsset"]["__typename"], "Asset", "{answer:#}");
    gateway.assert_sound().await;
}

/// Sends so many bytes of a body. The connection stays open.
async fn begun(client: &Client, body: &[u8], count: usize) -> TcpStream {
    let address = client.url.split('/').nth(2).expect("a host");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {}\r\n\r\n",
        client.token.as_deref().unwrap_or_default(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&body[..count]).await.expect("sent");
    stream.flush().await.expect("sent");
    stream
}

/// Sends so many bytes of a body, and closes the connection when the upload is begun.
async fn hang_up(gateway: &Gateway, client: &Client, body: &[u8], cut: usize) {
    let _stream = begun(client, body, cut).await;
    until("the upload is begun", async || counts(gateway).await[0] == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_silent_is_given_up() {
    let gateway = Gateway::with(|config| config.receive_millis = 2_000).await;
    let client = editor(&gateway);
    let body =
        with_file("uploadAsset", json!({ "slug": "cut" }), &file("a", "x/y", noise(2_000_000)));
    let mut stream = begun(&client, &body, 1_000_000).await;
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.contains("wasn't received in time"), "{answer}");
    until("nothing is left", async || counts(&gateway).await == [0, 0, 0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_dies_leaves_an_upload_to_the_sweep() {
    let short = Gateway::with(|config| {
        short_bounds(config);
        config.asset_stall_seconds = 1;
    })
    .await;
    let gateway = short.patient_sibling().await;
    // As it stands in the middle of an upload: an entry, and some chunks.
    let asset =
        uploaded(&gateway, json!({ "slug": "there" }), &file("a", "x/y", noise(600_000))).await;
    let run = gateway.begin().await;
    let entries = gateway.database.collection::<Document>("assetEntries");
    let mut entry = stored(&gateway, asset["id"].as_str().expect("an id")).await;
    let lost = mongodb::bson::oid::ObjectId::from_parts(1, [1; 5], [1; 3]);
    // It doesn't stall before the test wants it to, however busy the machine is.
    let late = mongodb::bson::DateTime::from_millis(run.now().timestamp_millis() + 3_600_000);
    entry.insert("_id", "unfinished");
    entry.get_document_mut("metadata").expect("metadata").insert("slug", "cut");
    entry.get_document_mut("metadata").expect("metadata").insert("path", "/cut");
    entry.remove("file");
    entry.insert("listed", Vec::<String>::new());
    entry.insert("upload", doc! { "token": "t", "blob": lost, "at": late, "op": "o" });
    entries.insert_one(entry).await.expect("inserted");
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    for n in 0..3 {
        chunks.insert_one(doc! { "files_id": lost, "n": n, "data": "" }).await.expect("inserted");
    }
    // One of a blob that nothing names at all.
    let stray = mongodb::bson::oid::ObjectId::from_parts(2, [1; 5], [1; 3]);
    chunks.insert_one(doc! { "files_id": stray, "n": 7, "data": "" }).await.expect("inserted");
    assert_eq!(Door::open(&gateway).get("/cut", &[]).await.status(), 404);
    assert_eq!(counts(&gateway).await, [2, 1, 7]);
    let (input, sent) = (json!({ "slug": "cut" }), file("a", "x/y", "x"));
    let taken = send_file(&editor(&gateway), "uploadAsset", input, &sent).await;
    assert_eq!(taken["__typename"], "InUse");
    let stalled = doc! { "$set": { "upload.at": run.now() } };
    entries.update_one(doc! { "_id": "unfinished" }, stalled).await.expect("set");
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 3]);
    gateway.assert_sound().await;
    let made = uploaded(&gateway, json!({ "slug": "cut" }), &file("a", "x/y", "x")).await;
    assert_eq!(made["path"], "/cut");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_files_go_with_one_request_in_the_order_of_their_use() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let query = "mutation($one: UploadAssetInput!, $two: UploadAssetInput!) {
        one: uploadAsset(input: $one) { __typename ... on Asset { path length } }
        two: uploadAsset(input: $two) { __typename ... on Asset { path length } } }";
    let variables =
        json!({ "one": { "file": null, "slug": "one" }, "two": { "file": null, "slug": "two" } });
    let operations = json!({ "query": query, "variables": variables });
    let map = json!({ "b": ["variables.one.file"], "a": ["variables.two.file"] });
    let (one, two) = (file("1", "x/y", noise(700_000)), file("2", "x/y", noise(3)));
    let body = form(&operations, &map, &[("b", &one), ("a", &two)]);
    let (status, answer) = send_form(&client, body).await.expect("an answer");
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        answer["data"]["one"],
        json!({ "__typename": "Asset", "path": "/one", "length": 700_000 })
    );
    assert_eq!(
        answer["data"]["two"],
        json!({ "__typename": "Asset", "path": "/two", "length": 3 })
    );

    // The other way round the first can't be read before the second.
    let variables =
        json!({ "one": { "file": null, "slug": "b1" }, "two": { "file": null, "slug": "b2" } });
    let operations = json!({ "query": query, "variables": variables });
    let body = form(&operations, &map, &[("a", &two), ("b", &one)]);
    let (_, answer) = send_form(&client, body).await.expect("an answer");
    let error = &answer["errors"][0];
    assert_eq!(error["extensions"]["field"], "input.file", "{answer:#}");
    // A first that is refused leaves the second alone.
    let variables =
        json!({ "one": { "file": null, "slug": "one" }, "two": { "file": null, "slug": "c2" } });
    let operations = json!({ "query": query, "variables": variables });
    let body = form(&operations, &map, &[("b", &one), ("a", &two)]);
    let (_, answer) = send_form(&client, body).await.expect("an answer");
    assert_eq!(answer["data"]["one"]["__typename"], "AlreadyExists", "{answer:#}");
    assert_eq!(answer["data"]["two"]["path"], "/c2", "{answer:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_editors_upload() {
    let gateway = Gateway::start().await;
    let before = gateway.snapshot().await;
    let sent = file("a.txt", "text/plain", "x");
    for (client, code) in [
        (gateway.anonymous(), "UNAUTHENTICATED"),
        (gateway.shopper("someone"), "FORBIDDEN"),
        (gateway.merchant(), "FORBIDDEN"),
    ] {
        let body = with_file("uploadAsset", json!({}), &sent);
        let (_, answer) = send_form(&client, body).await.expect("an answer");
        assert_eq!(answer["errors"][0]["extensions"]["code"], code);
        let put = Door::of(&gateway, &client).put("/a", b"x".to_vec(), &[]).await;
        assert_eq!(put.code(), code);
        for field in ["editAsset", "deleteAsset", "tagAsset"] {
            let input = match field {
                "editAsset" => json!({ "assetId": "a", "version": "a" }),
                "tagAsset" => json!({ "assetId": "a", "tags": [] }),
                _ => json!({ "assetId": "a" }),
            };
            let answer = client.run(&mutation(field), json!({ "input": input })).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{answer:#}");
        }
    }
    assert!(gateway.snapshot().await == before);
    let made = send_file(&gateway.admin(), "uploadAsset", json!({}), &sent).await;
    assert_eq!(made["__typename"], "Asset");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_lies_in_folders_and_galleries_that_stay() {
    let gateway = Gateway::start().await;
    let gallery = parent(&gateway, "/travel/lisbon", "gallery", &[]).await;
    let page = parent(&gateway, "/about", "page", &[]).await;
    let sent = file("Tram.txt", "text/plain", "x");
    let made = uploaded(&gateway, json!({ "parentId": gallery }), &sent).await;
    assert_eq!(
        (&made["path"], &made["parentId"]),
        (&json!("/travel/lisbon/tram-txt"), &json!(gallery))
    );
    assert_eq!(
        Door::open(&gateway).bytes("/travel/lisbon/tram-txt", &[]).await,
        (200, b"x".to_vec())
    );
    let client = editor(&gateway);
    let nobody = docgate::graphql::node_id::NodeKind::CONTENT.id("nobody");
    for other in [page.as_str(), &nobody, "nonsense", ""] {
        let input = json!({ "parentId": other, "slug": "x" });
        let refused = send_file(&client, "uploadAsset", input, &sent).await;
        assert_eq!(refused["__typename"], "NotFound", "{refused:#}");
    }
    let wrong = send_file(&client, "uploadAsset", json!({ "parentId": made["id"] }), &sent).await;
    assert_eq!(wrong["__typename"], "NotFound", "{wrong:#}");
    let nodes = gateway.database.collection::<Document>("nodes");
    let mark = doc! { "$set": { "deleting": { "by": "x", "at": gateway.begin().await.now() } } };
    nodes.update_one(doc! { "_id": key(&gallery) }, mark).await.expect("marked");
    let input = json!({ "parentId": gallery, "slug": "late" });
    let unsure = send_form(&client, with_file("uploadAsset", input, &sent)).await;
    let (_, unsure) = unsure.expect("an answer");
    assert_eq!(unsure["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{unsure:#}");
    assert!(
        docgate::domains::assets::operations::is_parent(&gateway.app, &key(&gallery))
            .await
            .expect("an answer")
    );
    assert_eq!(counts(&gateway).await, [1, 1, 1]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_follow_their_parent_to_another_path() {
    use docgate::domains::assets::operations::repath;
    let gateway = Gateway::start().await;
    let gallery = parent(&gateway, "/above/old", "gallery", &[]).await;
    let sent = file("a", "text/plain", "x");
    let made = uploaded(&gateway, json!({ "parentId": gallery, "slug": "a" }), &sent).await;
    let input = json!({ "contentId": gallery, "parentId": null, "slug": "new" });
    crate::content::ask(&gateway, "moveContent", input).await;
    // A pass that was overtaken changes nothing.
    let late = repath(&gateway.app, &key(&gallery), "/between", 2).await;
    assert_eq!(late.expect("an answer"), 0);
    assert_eq!(Door::open(&gateway).get("/new/a", &[]).await.status(), 200);
    let redirected = Door::open(&gateway).get("/above/old/a", &[]).await;
    assert!(redirected.url().path().ends_with("/new/a"), "{redirected:?}");
    assert_eq!(redirected.status(), 200);
    let query = "query($id: ID!) { asset(by: { id: $id }) { path } }";
    let found = gateway.anonymous().field(query, json!({ "id": made["id"] })).await;
    assert_eq!(found["path"], "/new/a");
    let kept =
        crate::content::ask(&gateway, "deleteContent", json!({ "contentId": gallery })).await;
    assert_eq!(kept["__typename"], "InUse", "an asset lies in it");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_with_files_is_refused() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let before = gateway.snapshot().await;
    let sent = file("a", "text/plain", "x");
    let operations =
        |variables: Value| json!({ "query": mutation("uploadAsset"), "variables": variables });
    let null = operations(json!({ "input": { "file": null } }));
    let good = json!({ "0": ["variables.input.file"] });
    for (operations, map, field) in [
        (null.clone(), json!({ "0": ["variables.input.title"] }), "map.0"),
        (null.clone(), json!({ "0": ["variables.input.file", "variables.input.file"] }), "map.0"),
        (null.clone(), json!({ "0": ["query"] }), "map.0"),
        (null.clone(), json!({ "0": [] }), "map.0"),
        (null.clone(), json!(["0"]), "map"),
        (json!([null]), good.clone(), "operations"),
        (json!("text"), good.clone(), "operations"),
        (operations(json!({ "input": { "file": "x" } })), good.clone(), "map.0"),
    ] {
        let body = form(&operations, &map, &[("0", &sent)]);
        let (status, answer) = send_form(&client, body).await.expect("an answer");
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer:#}");
        assert_eq!(answer["errors"][0]["extensions"]["field"], field, "{answer:#}");
    }
    // Named, but not sent.
    let (_, answer) = send_form(&client, form(&null, &good, &[])).await.expect("an answer");
    assert_eq!(answer["errors"][0]["extensions"]["field"], "input.file", "{answer:#}");
    // Not named, and a mark that is made up.
    for value in [Value::Null, json!("docgate:file:0"), json!("docgate:file:x")] {
        let body =
            form(&operations(json!({ "input": { "file": value } })), &json!({}), &[("0", &sent)]);
        let (_, answer) = send_form(&client, body).await.expect("an answer");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{answer:#}");
        let answer =
            client.run(&mutation("uploadAsset"), json!({ "input": { "file": value } })).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{answer:#}");
    }
    assert!(gateway.snapshot().await == before);
    let refused = ask(&client, "deleteAsset", json!({ "assetId": "nonsense" })).await;
    assert_eq!(refused["code"], "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_any_page_could_send_is_refused() {
    let gateway = Gateway::with(|config| config.auth_cookie = Some("session".into())).await;
    let client = editor(&gateway);
    let body = with_file("uploadAsset", json!({}), &file("a", "text/plain", "x"));
    let cookie = format!("session={}", client.token.as_deref().expect("a token"));
    let send = async |headers: &[(&'static str, &str)]| {
        let request = http()
            .post(&client.url)
            .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"))
            .body(body.clone());
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.expect("an answer").status()
    };
    assert_eq!(send(&[("cookie", &cookie)]).await, StatusCode::FORBIDDEN);
    assert_eq!(send(&[]).await, StatusCode::FORBIDDEN);
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
    assert_eq!(
        send(&[("cookie", &cookie), ("apollo-require-preflight", "")]).await,
        StatusCode::OK
    );
    assert_eq!(counts(&gateway).await, [1, 1, 1]);
}
