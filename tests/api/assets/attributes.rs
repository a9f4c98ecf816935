//! Attributes: what a camera wrote, and the search.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{ask, editor, file, lists::slugs, parent, send_file, uploaded};
use crate::support::{Gateway, all_nodes, texts_of};

/// A TIFF structure with these entries in its first directory and those of Exif and GPS, as EXIF has it.
fn tiff(first: &[Entry], exif: &[Entry], gps: &[Entry]) -> Vec<u8> {
    let mut out = b"MM\0*\0\0\0\x08".to_vec();
    let pointers = [(0x8769, exif), (0x8825, gps)];
    // The directory, then what doesn't fit into it, then the next directory.
    let directory = |out: &mut Vec<u8>, entries: &[Entry], pointers: &[u16]| -> Vec<usize> {
        let count = entries.len() + pointers.len();
        let start = out.len();
        out.extend(u16::try_from(count).expect("few").to_be_bytes());
        out.resize(start + 2 + 12 * count + 4, 0);
        let mut places = Vec::new();
        for (at, Entry { tag, kind, count, data }) in entries.iter().enumerate() {
            let place = start + 2 + 12 * at;
            out[place..place + 2].copy_from_slice(&tag.to_be_bytes());
            out[place + 2..place + 4].copy_from_slice(&kind.to_be_bytes());
            out[place + 4..place + 8].copy_from_slice(&count.to_be_bytes());
            if data.len() <= 4 {
                out[place + 8..place + 8 + data.len()].copy_from_slice(data);
            } else {
                let offset = u32::try_from(out.len()).expect("small").to_be_bytes();
                out[place + 8..place + 12].copy_from_slice(&offset);
                out.extend_from_slice(data);
            }
        }
        for (at, tag) in pointers.iter().enumerate() {
            let place = start + 2 + 12 * (entries.len() + at);
            out[place..place + 2].copy_from_slice(&tag.to_be_bytes());
            out[place + 2..place + 4].copy_from_slice(&4_u16.to_be_bytes());
            out[place + 4..place + 8].copy_from_slice(&1_u32.to_be_bytes());
            places.push(place + 8);
        }
        places
    };
    let tags: Vec<u16> = pointers.iter().map(|(tag, _)| *tag).collect();
    let places = directory(&mut out, first, &tags);
    for ((_, entries), place) in pointers.iter().zip(places) {
        let offset = u32::try_from(out.len()).expect("small").to_be_bytes();
        out[place..place + 4].copy_from_slice(&offset);
        directory(&mut out, entries, &[]);
    }
    out
}

struct Entry {
    tag: u16,
    kind: u16,
    count: u32,
    data: Vec<u8>,
}

fn ascii(tag: u16, text: &str) -> Entry {
    let data = [text.as_bytes(), b"\0"].concat();
    Entry { tag, kind: 2, count: u32::try_from(data.len()).expect("short"), data }
}

fn rationals(tag: u16, values: &[(u32, u32)]) -> Entry {
    let parts = values.iter().flat_map(|(above, below)| [above.to_be_bytes(), below.to_be_bytes()]);
    Entry {
        tag,
        kind: 5,
        count: u32::try_from(values.len()).expect("few"),
        data: parts.flatten().collect(),
    }
}

fn short(tag: u16, value: u16) -> Entry {
    Entry { tag, kind: 3, count: 1, data: value.to_be_bytes().to_vec() }
}

/// A picture in JPEG as a camera begins it.
fn jpeg(width: u16, height: u16, tiff: &[u8]) -> Vec<u8> {
    let mut out = b"\xff\xd8\xff\xe1".to_vec();
    out.extend(u16::try_from(tiff.len() + 8).expect("short").to_be_bytes());
    out.extend_from_slice(b"Exif\0\0");
    out.extend_from_slice(tiff);
    out.extend_from_slice(b"\xff\xc0\0\x11\x08");
    out.extend(height.to_be_bytes());
    out.extend(width.to_be_bytes());
    out.extend_from_slice(b"\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9");
    out
}

fn attribute(asset: &Value, key: &str) -> Value {
    let all = asset["attributes"].as_array().expect("attributes");
    let found = all.iter().find(|attribute| attribute["key"] == key);
    let Some(found) = found.and_then(Value::as_object) else { return Value::Null };
    let mut values = found.iter().filter(|(name, value)| *name != "key" && !value.is_null());
    let value = values.next().expect("a value").1.clone();
    assert!(values.next().is_none(), "one value: {found:?}");
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_camera_wrote_becomes_attributes() {
    let gateway = Gateway::start().await;
    let tiff = tiff(
        &[ascii(0x010f, "Maker\u{7}"), ascii(0x0110, " Model $1 "), short(0x0112, 6)],
        &[
            rationals(0x829a, &[(1, 250)]),
            rationals(0x829d, &[(28, 10)]),
            short(0x8827, 400),
            ascii(0x9003, "2024:05:06 07:08:09"),
            ascii(0x9011, "+02:00"),
            rationals(0x920a, &[(50, 0)]),
        ],
        &[
            ascii(1, "S"),
            rationals(2, &[(33, 1), (0, 1), (1_800, 1)]),
            ascii(3, "E"),
            rationals(4, &[(151, 1), (15, 1), (0, 1)]),
        ],
    );
    let input =
        json!({ "slug": "it", "attributes": [{ "key": "mine", "value": { "text": "x" } }] });
    let asset =
        uploaded(&gateway, input, &file("a.jpg", "text/html", jpeg(4_000, 3_000, &tiff))).await;
    assert_eq!(
        (&asset["mediaType"], &asset["width"], &asset["height"]),
        // The camera was turned to its side.
        (&json!("image/jpeg"), &json!(3_000), &json!(4_000))
    );
    for (key, value) in [
        ("exif:Make", json!("Maker")),
        ("exif:Model", json!("Model $1")),
        ("exif:Orientation", json!(6.0)),
        ("exif:ExposureTime", json!(0.004)),
        ("exif:FNumber", json!(2.8)),
        ("exif:PhotographicSensitivity", json!(400.0)),
        ("exif:DateTimeOriginal", json!("2024-05-06T05:08:09.000Z")),
        ("exif:GPSLatitude", json!(-33.5)),
        ("exif:GPSLongitude", json!(151.25)),
        // Divided by nothing: it isn't there.
        ("exif:FocalLength", Value::Null),
        ("mine", json!("x")),
    ] {
        assert_eq!(attribute(&asset, key), value, "{key}");
    }
    // Another file, another camera; what people wrote stays.
    let other = file("b.txt", "text/plain", "x");
    let replaced =
        send_file(&editor(&gateway), "replaceAsset", json!({ "assetId": asset["id"] }), &other)
            .await;
    assert_eq!(replaced["attributes"].as_array().map(Vec::len), Some(1), "{replaced:#}");
    assert_eq!((&replaced["width"], attribute(&replaced, "mine")), (&Value::Null, json!("x")));
    // Broken ones are files like others.
    for (at, length) in [10, 40, 80, 120, 160, 200].into_iter().enumerate() {
        let cut = jpeg(4_000, 3_000, &tiff)[..length].to_vec();
        let made =
            uploaded(&gateway, json!({ "slug": format!("cut-{at}") }), &file("a", "x/y", cut))
                .await;
        assert_eq!(made["mediaType"], "image/jpeg");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_searched_by_type_and_all_at_once() {
    let gateway = Gateway::start().await;
    let gallery = parent(&gateway, "/g", "gallery", &[]).await;
    let moment = |day: u32| format!("2024-01-{day:02}T00:00:00Z");
    for number in 1..=9 {
        let attributes = json!([
            { "key": "iso", "value": { "number": 100 * number } },
            { "key": "taken", "value": { "date": moment(number) } },
            { "key": "city", "value": { "text": if number % 2 == 0 { "Lisbon" } else { "Porto" } } },
            { "key": "rated", "value": { "flag": number > 4 } },
            { "key": format!("only-{number}"), "value": { "text": "100" } },
        ]);
        let access: &[&str] = if number == 8 { &["analyst"] } else { &[] };
        let input = json!({
            "slug": format!("p{number}"), "attributes": attributes, "access": access,
            "parentId": if number > 6 { json!(gallery) } else { Value::Null },
        });
        uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
    }
    // A text that looks like a number is none, and sorts with texts.
    let input =
        json!({ "slug": "text", "attributes": [{ "key": "iso", "value": { "text": "500" } }] });
    uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
    let client = editor(&gateway);
    let search = async |all: Value, owner: Value| {
        let by = json!({ "attributes": { "all": all, "parentId": owner } });
        let mut found = slugs(&client, &by, 2).await;
        found.sort();
        found
    };
    let eq = |key: &str, value: Value| json!({ "key": key, "eq": value });
    let range = |key: &str, range: Value| json!({ "key": key, "range": range });
    for (all, owner, expected) in [
        (json!([eq("iso", json!({ "number": 500 }))]), Value::Null, vec!["p5"]),
        (json!([eq("iso", json!({ "text": "500" }))]), Value::Null, vec!["text"]),
        (json!([eq("iso", json!({ "flag": true }))]), Value::Null, vec![]),
        (json!([eq("rated", json!({ "flag": false }))]), Value::Null, vec!["p1", "p2", "p3", "p4"]),
        (json!([eq("taken", json!({ "date": moment(3) }))]), Value::Null, vec!["p3"]),
        (
            json!([range("iso", json!({ "number": { "from": 700 } }))]),
            Value::Null,
            vec!["p7", "p8", "p9"],
        ),
        (
            json!([range("iso", json!({ "number": { "from": 200, "to": 400 } }))]),
            Value::Null,
            vec!["p2", "p3", "p4"],
        ),
        (
            json!([range("iso", json!({ "text": { "from": "1", "to": "9" } }))]),
            Value::Null,
            vec!["text"],
        ),
        (
            json!([range("taken", json!({ "date": { "to": moment(2) } }))]),
            Value::Null,
            vec!["p1", "p2"],
        ),
        (json!([{ "key": "only-4", "exists": true }]), Value::Null, vec!["p4"]),
        (json!([{ "key": "$where", "exists": true }]), Value::Null, vec![]),
        (
            json!([
                { "key": "rated", "exists": true },
                range("iso", json!({ "number": { "from": 300, "to": 800 } })),
                eq("city", json!({ "text": "Lisbon" })),
                range("taken", json!({ "date": { "from": moment(5) } })),
            ]),
            Value::Null,
            vec!["p6", "p8"],
        ),
        (json!([eq("city", json!({ "text": "Porto" }))]), json!(gallery), vec!["p7", "p9"]),
        // The conditions are on one attribute each: a key's value isn't another's.
        (
            json!([eq("iso", json!({ "number": 100 })), eq("iso", json!({ "number": 200 }))]),
            Value::Null,
            vec![],
        ),
        (json!([eq("only-1", json!({ "number": 100 }))]), Value::Null, vec![]),
    ] {
        assert_eq!(search(all.clone(), owner).await, expected, "{all}");
    }
    let lisbon = json!({ "attributes": { "all": [eq("city", json!({ "text": "Lisbon" }))] } });
    assert_eq!(slugs(&gateway.anonymous(), &lisbon, 100).await.len(), 3);
    assert_eq!(slugs(&gateway.user("a", &["analyst"]), &lisbon, 100).await.len(), 4);
    // One condition that is met by few looks at these alone.
    let query = "query($by: AssetsBy!) { assets(by: $by) { nodes { slug } } }";
    let by = json!({ "attributes": { "all": [
        { "key": "rated", "exists": true }, eq("iso", json!({ "number": 500 })),
    ] } });
    let response = client.explained(query, json!({ "by": by })).await;
    let sent = &response["extensions"]["docgate"]["commands"][0];
    assert_eq!((&sent["docsExamined"], &sent["returned"]), (&json!(1), &json!(1)), "{response:#}");

    let edited = client.field("{ asset(by: { path: \"/p5\" }) { id version } }", json!({})).await;
    let input = json!({ "assetId": edited["id"], "version": edited["version"], "attributes": [] });
    assert_eq!(ask(&client, "editAsset", input).await["attributes"], json!([]));
    assert!(search(json!([eq("iso", json!({ "number": 500 }))]), Value::Null).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_that_cant_be_used_are_told() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let query = "query($by: AssetsBy!) { assets(by: $by) { nodes { slug } } }";
    let flag = json!({ "key": "a", "eq": { "flag": true } });
    for all in [
        json!([]),
        json!(vec![flag; 6]),
        json!([{ "key": "a" }]),
        json!([{ "key": "a", "exists": false }]),
        json!([{ "key": "a", "exists": true, "eq": { "flag": true } }]),
        json!([{ "key": "", "exists": true }]),
        json!([{ "key": "a", "range": { "number": {} } }]),
    ] {
        let by = json!({ "attributes": { "all": all } });
        assert_eq!(client.error_code(query, json!({ "by": by })).await, "BAD_USER_INPUT", "{all}");
    }
}

/// Slugs of a search with one condition, in pages of three, each of which looks at no more than it
/// returns.
async fn walked(client: &crate::support::Client, condition: Value) -> Vec<String> {
    let query = "query($by: AssetsBy!, $after: String) { assets(by: $by, first: 3, after: $after) {
        nodes { slug } pageInfo { hasNextPage endCursor } } }";
    let by = json!({ "attributes": { "all": [condition] } });
    let found = all_nodes(json!({ "by": by }), async |page| {
        let response = client.explained(query, page).await;
        let sent = &response["extensions"]["docgate"]["commands"];
        assert_eq!(sent.as_array().map(Vec::len), Some(1), "{response:#}");
        let figure = |name: &str| sent[0][name].as_i64().unwrap_or_else(|| panic!("{response:#}"));
        assert_eq!(figure("docsExamined"), figure("returned"), "{response:#}");
        assert!(figure("keysExamined") <= figure("returned") + 1, "{response:#}");
        response["data"]["assets"].clone()
    });
    texts_of(&found.await, "slug")
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_gone_through_in_their_order() {
    let gateway = Gateway::start().await;
    let mut stars = Vec::new();
    for number in 0..20_i64 {
        let (slug, value) = (format!("s{number:02}"), number * 7 % 5);
        let attributes = json!([
            { "key": "stars", "value": { "number": value } },
            { "key": "before", "value": { "number": number } },
            { "key": "word", "value": { "text": format!("w{value}") } },
            { "key": "day", "value": { "date": format!("2024-01-0{}T00:00:00Z", value + 1) } },
            { "key": "good", "value": { "flag": value > 2 } },
            { "key": "z", "value": { "text": "last" } },
        ]);
        let input = json!({ "slug": slug, "attributes": attributes });
        let made = uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
        let id = crate::support::key(made["id"].as_str().expect("an id"));
        stars.push((value, id, slug));
    }
    // Of another type under the same key.
    let input =
        json!({ "slug": "t", "attributes": [{ "key": "stars", "value": { "text": "3" } }] });
    uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
    stars.sort();
    let of = |from: i64, to: i64| -> Vec<String> {
        let within = stars.iter().filter(|(value, ..)| (from..=to).contains(value));
        within.map(|(_, _, slug)| slug.clone()).collect()
    };
    let client = gateway.anonymous();
    let range = |key: &str, range: Value| json!({ "key": key, "range": range });
    let day = |day: u32| format!("2024-01-0{day}T00:00:00Z");
    for (condition, from, to) in [
        (range("stars", json!({ "number": { "from": 1, "to": 3 } })), 1, 3),
        (range("stars", json!({ "number": { "from": 2 } })), 2, 4),
        (range("stars", json!({ "number": { "to": 2 } })), 0, 2),
        (range("stars", json!({ "number": { "from": 3, "to": 3 } })), 3, 3),
        (range("stars", json!({ "number": { "from": 7 } })), 7, 7),
        (range("word", json!({ "text": { "from": "w1", "to": "w3" } })), 1, 3),
        (range("word", json!({ "text": { "from": "w2" } })), 2, 4),
        (range("word", json!({ "text": { "to": "w2" } })), 0, 2),
        (range("day", json!({ "date": { "from": day(2), "to": day(4) } })), 1, 3),
        (range("day", json!({ "date": { "to": day(3) } })), 0, 2),
        (json!({ "key": "word", "exists": true }), 0, 4),
    ] {
        assert_eq!(walked(&client, condition.clone()).await, of(from, to), "{condition}");
    }
    let all = walked(&client, json!({ "key": "stars", "exists": true })).await;
    assert_eq!((all.len(), all.last().map(String::as_str)), (21, Some("t")));
    let good = walked(&client, json!({ "key": "good", "exists": true })).await;
    let is_good = |slug: &String| of(3, 4).contains(slug);
    assert!(good.len() == 20 && good.is_sorted_by_key(is_good), "{good:?}");

    let query = "query($by: AssetsBy!, $after: String) { assets(by: $by, first: 3, after: $after) {
        pageInfo { endCursor } } }";
    let wide =
        json!({ "attributes": { "all": [range("stars", json!({ "number": { "from": 2 } }))] } });
    let page = client.field(query, json!({ "by": wide })).await;
    let other =
        json!({ "attributes": { "all": [range("stars", json!({ "number": { "from": 4 } }))] } });
    let variables = json!({ "by": other, "after": page["pageInfo"]["endCursor"] });
    assert_eq!(client.error_code(query, variables).await, "BAD_USER_INPUT");
    let backwards = json!({ "attributes": { "all": [range("stars", json!({ "number": { "from": 4, "to": 2 } }))] } });
    assert_eq!(client.error_code(query, json!({ "by": backwards })).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_come_back_as_they_were_given() {
    let gateway = Gateway::start().await;
    let numbers = ["199525.61759320134", "-911619.8777409133", "3.8185268263079565e276", "0.1"];
    let attributes = numbers.iter().enumerate().map(|(at, number)| {
        let number: f64 = number.parse().expect("a number");
        json!({ "key": format!("n{at}"), "value": { "number": number } })
    });
    let attributes: Vec<_> = attributes.collect();
    let input = json!({ "slug": "it", "attributes": attributes });
    uploaded(&gateway, input, &file("a", "text/plain", "x")).await;
    let asset = "asset(by: { path: \"/it\" }) { attributes { number } }";
    // Beside a field that fails the answer is completed.
    for beside in ["", "account(id: \"nonsense\") { id }"] {
        let text = editor(&gateway).text(&format!("{{ {asset} {beside} }}"), json!({})).await;
        for number in numbers {
            assert!(text.contains(&number.replace("e276", "e+276")), "{number}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_found_by_media_type_size_and_name() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let own = json!([{ "key": "stars", "value": { "number": 3 } }]);
    let input = json!({ "slug": "small", "attributes": own });
    let small = uploaded(&gateway, input, &file("Small.txt", "text/plain", "x")).await;
    let large = "x".repeat(1_000);
    uploaded(&gateway, json!({ "slug": "large" }), &file("Large.txt", "text/plain", large)).await;
    uploaded(&gateway, json!({ "slug": "data" }), &file("data.csv", "text/csv", "1,2")).await;
    let search = async |all: Value| {
        let mut found = slugs(&client, &json!({ "attributes": { "all": all } }), 2).await;
        found.sort();
        found
    };
    let text = |key: &str, value: &str| json!({ "key": key, "eq": { "text": value } });
    let at_least =
        |size: i64| json!({ "key": "file:size", "range": { "number": { "from": size } } });
    for (all, expected) in [
        (json!([text("file:type", "text/plain")]), vec!["large", "small"]),
        (json!([text("file:name", "data.csv")]), vec!["data"]),
        (json!([at_least(3)]), vec!["data", "large"]),
        (json!([text("file:type", "text/plain"), at_least(3)]), vec!["large"]),
    ] {
        assert_eq!(search(all.clone()).await, expected, "{all}");
    }
    // They aren't among the attributes that are shown, and an edit keeps them.
    assert_eq!(small["attributes"].as_array().map(Vec::len), Some(1), "{small:#}");
    let input = json!({ "assetId": small["id"], "version": small["version"], "attributes": [] });
    assert_eq!(ask(&client, "editAsset", input).await["attributes"], json!([]));
    assert_eq!(search(json!([text("file:name", "Small.txt")])).await, ["small"]);
    // Editors don't set them.
    let forged = json!([{ "key": "file:size", "value": { "number": 1 } }]);
    let read = client.field("{ asset(by: { path: \"/small\" }) { version } }", json!({})).await;
    let input = json!({ "assetId": small["id"], "version": read["version"], "attributes": forged });
    assert_eq!(ask(&client, "editAsset", input).await["field"], "input.attributes.0.key");

    // Files of earlier versions get them by the repair, once.
    let pull = doc! { "$pull": { "attributes": { "key": { "$in": ["file:type", "file:size", "file:name"] } } } };
    gateway.raw("assetEntries").update_many(doc! {}, pull).await.expect("an update");
    assert!(search(json!([at_least(0)])).await.is_empty());
    gateway.assert_sound().await;
    assert_eq!(gateway.repair().await.len(), 3);
    assert_eq!(search(json!([at_least(0)])).await, ["data", "large", "small"]);
    assert_eq!(search(json!([text("file:type", "text/csv")])).await, ["data"]);
    let before = gateway.snapshot().await;
    assert_eq!(gateway.repair().await, [""; 0]);
    assert!(gateway.snapshot().await == before);
    gateway.assert_sound().await;
}
