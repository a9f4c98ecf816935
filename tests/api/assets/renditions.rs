//! Pictures at a width: made once, sent like other files, removed with the original.

use std::io::Cursor;

use docgate::config::Config;
use image::{DynamicImage, ImageBuffer, ImageFormat, Rgb};
use mongodb::bson::{DateTime, Document, doc, oid::ObjectId};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Answer, Door, ask, counts, editor, file, header, let_time_pass, mutation, send_file, stored,
    uploaded,
};
use crate::support::{Gateway, cuts, short_bounds};

/// A picture of this size.
pub(crate) fn painted(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let byte = |number: u32| u8::try_from(number % 256).expect("a byte");
    let dot = |x, y| Rgb([byte(x), byte(y), byte(x + y)]);
    let picture = DynamicImage::ImageRgb8(ImageBuffer::from_fn(width, height, dot));
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("a picture");
    bytes.into_inner()
}

/// Uploads a picture under a slug.
pub(crate) async fn hung(gateway: &Gateway, slug: &str, width: u32, height: u32) -> Value {
    let sent = file("a.png", "image/png", painted(width, height, ImageFormat::Png));
    uploaded(gateway, json!({ "slug": slug }), &sent).await
}

/// Width and height of a picture.
fn size(bytes: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(bytes).expect("a picture");
    (picture.width(), picture.height())
}

/// The widths for which an asset has renditions.
async fn made(gateway: &Gateway, asset: &Value) -> Vec<i64> {
    let entry = stored(gateway, asset["id"].as_str().expect("an id")).await;
    let made = entry.get_document("file").expect("a file").get_array("renditions");
    let made = made.map_or(&[][..], Vec::as_slice).iter();
    made.map(|one| one.as_document().expect("one").get_i64("for").expect("a width")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_sent_at_a_width() {
    let gateway = Gateway::start().await;
    let sent = file("a.jpg", "image/jpeg", painted(400, 200, ImageFormat::Jpeg));
    let asset = uploaded(&gateway, json!({ "slug": "it" }), &sent).await;
    let door = Door::open(&gateway);
    let answer = door.get("/it?w=200", &[]).await;
    assert_eq!(answer.status(), 200);
    let head = answer.headers().clone();
    assert_eq!(header(&head, "content-type"), "image/jpeg");
    assert_eq!(header(&head, "cache-control"), "public, no-cache");
    let bytes = answer.bytes().await.expect("the body");
    // Rounded up to the next width of the configuration.
    assert_eq!(size(&bytes), (320, 160));
    assert_eq!(counts(&gateway).await, [1, 2, 2]);
    assert_eq!(made(&gateway, &asset).await, [320]);
    // From then on it is a file like any other.
    let tag = header(&head, "etag").to_owned();
    assert_ne!(tag, format!("\"{}\"", asset["sha256"].as_str().expect("a digest")));
    assert_eq!(door.get("/it?w=320", &[("if-none-match", &tag)]).await.status(), 304);
    let (status, part) = door.bytes("/it?w=300", &[("range", "bytes=2-9")]).await;
    assert_eq!((status, &part[..]), (206, &bytes[2..10]));
    let asked = door.request(Method::HEAD, "/it?w=320").send().await.expect("an answer");
    assert_eq!(header(asked.headers(), "content-length"), bytes.len().to_string());
    let id = asset["id"].as_str().expect("an id");
    assert_eq!(door.bytes(&format!("/{id}?w=161"), &[]).await, (200, bytes.to_vec()));
    assert_eq!(counts(&gateway).await, [1, 2, 2]);
    // Never larger than it is.
    for width in ["321", "400", "5000"] {
        let (status, whole) = door.bytes(&format!("/it?w={width}"), &[]).await;
        assert_eq!((status, size(&whole)), (200, (400, 200)), "{width}");
    }
    assert_eq!(size(&door.bytes("/it?w=1", &[]).await.1), (160, 80));
    assert_eq!(made(&gateway, &asset).await, [320, 160]);
    for width in ["0", "-1", "a", "", "1.5", "99999999999"] {
        let answer = Answer::of(door.get(&format!("/it?w={width}"), &[]).await).await;
        assert_eq!((answer.status, answer.code()), (400, "BAD_USER_INPUT"), "{width}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_files_are_sent_as_they_are() {
    let gateway = Gateway::start().await;
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"900\"/>";
    for (slug, bytes) in [("text", "text"), ("svg", svg), ("none", "")] {
        uploaded(&gateway, json!({ "slug": slug }), &file(slug, "text/plain", bytes)).await;
        let answer = Door::open(&gateway).bytes(&format!("/{slug}?w=160"), &[]).await;
        assert_eq!(answer, (200, bytes.as_bytes().to_vec()), "{slug}");
    }
    let png = uploaded(
        &gateway,
        json!({ "slug": "png" }),
        &file("p", "image/png", painted(200, 300, ImageFormat::Png)),
    )
    .await;
    let answer = Door::open(&gateway).get("/png?w=160", &[]).await;
    assert_eq!(header(answer.headers(), "content-type"), "image/png");
    assert_eq!(size(&answer.bytes().await.expect("the body")), (160, 240));
    // The schema has the URLs.
    let query = "query($id: ID!) { asset(by: { id: $id }) {
        url small: url(width: 9) next: url(width: 160) large: url(width: 161) } }";
    let urls = gateway.anonymous().field(query, json!({ "id": png["id"] })).await;
    let expected = json!({
        "url": "/assets/png", "small": "/assets/png?w=160", "next": "/assets/png?w=160",
        "large": "/assets/png",
    });
    assert_eq!(urls, expected);
    let query = "query($id: ID!) { asset(by: { id: $id }) { url(width: 0) } }";
    let code = gateway.anonymous().error_code(query, json!({ "id": png["id"] })).await;
    assert_eq!(code, "BAD_USER_INPUT");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_may_not_read_one_may_not_resize() {
    let gateway = Gateway::start().await;
    let sent = file("a.png", "image/png", painted(200, 200, ImageFormat::Png));
    let input = json!({ "slug": "it", "access": ["analyst"] });
    let asset = uploaded(&gateway, input, &sent).await;
    assert_eq!(Door::open(&gateway).get("/it?w=160", &[]).await.status(), 404);
    assert!(made(&gateway, &asset).await.is_empty());
    let analyst = gateway.user("a", &["analyst"]);
    let seen = Door::of(&gateway, &analyst).get("/it?w=160", &[]).await;
    assert_eq!(
        (seen.status(), header(seen.headers(), "cache-control")),
        (StatusCode::OK, "private, no-cache")
    );
    assert_eq!(Door::open(&gateway).get("/it?w=160", &[]).await.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_callers_at_once_one_makes_it() {
    let gateway = Gateway::start().await;
    let other = gateway.sibling().await;
    let asset = hung(&gateway, "it", 300, 300).await;
    let ask = |number: usize| {
        let at = if number.is_multiple_of(2) { gateway.address } else { other.address };
        tokio::spawn(async move {
            let sent = reqwest::get(format!("http://{at}/assets/it?w=160")).await;
            let sent = sent.expect("an answer");
            (sent.status().as_u16(), sent.bytes().await.expect("the body"))
        })
    };
    let asked: Vec<_> = (0..8).map(ask).collect();
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.expect("an answer"));
    }
    for (status, bytes) in &answers {
        assert_eq!((*status, size(bytes)), (200, (160, 160)));
        assert!(*bytes == answers[0].1, "two different renditions");
    }
    assert_eq!(made(&gateway, &asset).await, [160]);
    assert_eq!(counts(&gateway).await[1], 2, "what the others made is gone");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_is_refused_and_costs_nothing() {
    let gateway = Gateway::with(|config| config.asset_pixels = 100_000).await;
    let door = Door::open(&gateway);
    let honest = painted(500, 201, ImageFormat::Png);
    // It says that it has 32,767 lines and rows.
    let mut bomb = painted(9, 9, ImageFormat::Png);
    bomb[16..24].copy_from_slice(&[0, 0, 0x7f, 0xff, 0, 0, 0x7f, 0xff]);
    let whole = painted(300, 300, ImageFormat::Jpeg);
    let half = whole[..whole.len() / 2].to_vec();
    let mut cut = painted(300, 300, ImageFormat::Png);
    cut.truncate(60);
    for (slug, bytes) in [("large", honest), ("bomb", bomb), ("cut", cut)] {
        uploaded(&gateway, json!({ "slug": slug }), &file(slug, "image/png", bytes.clone())).await;
        let answer = Answer::of(door.get(&format!("/{slug}?w=160"), &[]).await).await;
        assert_eq!((answer.status, answer.code()), (422, "PICTURE_NOT_RESIZABLE"), "{slug}");
        // The file itself is sent as ever.
        assert_eq!(door.bytes(&format!("/{slug}"), &[]).await, (200, bytes), "{slug}");
    }
    // A decoder may show what there is of a picture that ends early; it never fails otherwise.
    uploaded(&gateway, json!({ "slug": "half" }), &file("h", "image/jpeg", half)).await;
    let status = door.get("/half?w=160", &[]).await.status().as_u16();
    assert!([200, 422].contains(&status), "{status}");
    assert!(counts(&gateway).await[1] <= 5, "a refused picture left something");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn renditions_go_with_their_original() {
    let gateway = Gateway::start().await;
    let (asset, door) = (hung(&gateway, "it", 700, 100).await, Door::open(&gateway));
    for width in [160, 320] {
        assert_eq!(door.get(&format!("/it?w={width}"), &[]).await.status(), 200);
    }
    assert_eq!(counts(&gateway).await[1], 3);
    let input = json!({ "assetId": asset["id"] });
    let second = file("b.png", "image/png", painted(600, 600, ImageFormat::Png));
    let replaced = send_file(&editor(&gateway), "replaceAsset", input.clone(), &second).await;
    assert_eq!(replaced["__typename"], "Asset");
    assert!(made(&gateway, &asset).await.is_empty());
    assert_eq!(size(&door.bytes("/it?w=160", &[]).await.1), (160, 160), "of the new file");
    gateway.assert_sound().await;
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await[1], 2, "the new file and its rendition");
    // An edit leaves it alone.
    let edit = json!({ "assetId": asset["id"], "version": replaced["version"], "title": "Other" });
    assert_eq!(ask(&editor(&gateway), "editAsset", edit).await["title"], "Other");
    assert_eq!(made(&gateway, &asset).await, [160]);
    let gone = ask(&editor(&gateway), "deleteAsset", input).await;
    assert_eq!(gone["__typename"], "DeletedAsset");
    assert_eq!(door.get("/it?w=160", &[]).await.status(), 404);
    gateway.assert_sound().await;
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_rendition_is_made_again() {
    let gateway = Gateway::start().await;
    let (asset, door) = (hung(&gateway, "it", 300, 300).await, Door::open(&gateway));
    let (_, small) = door.bytes("/it?w=160", &[]).await;
    let blob = rendition_of(&gateway, &asset).await;
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    chunks.delete_many(doc! { "files_id": blob }).await.expect("removed");
    let answer = Answer::of(door.get("/it?w=160", &[]).await).await;
    assert_eq!(answer.status, 503, "{:#}", answer.body);
    assert_eq!(door.bytes("/it?w=160", &[]).await, (200, small.clone()));
    gateway.assert_sound().await;

    // `check --repair` does the same, and removes renditions whose original is gone.
    let blob = rendition_of(&gateway, &asset).await;
    let files = gateway.database.collection::<Document>("assets.files");
    files.delete_one(doc! { "_id": blob }).await.expect("removed");
    let orphan = ObjectId::from_parts(7, [1; 5], [1; 3]);
    let lost = doc! {
        "_id": orphan, "length": 0_i64, "chunkSize": 261_120, "uploadDate": DateTime::from_millis(7_000),
        "filename": "lost", "metadata": {
            "contentType": "image/png", "sha256": "", "v": 1, "width": 160_i64,
            "original": ObjectId::from_parts(6, [1; 5], [1; 3]),
        },
    };
    files.insert_one(lost).await.expect("inserted");
    let report = gateway.check().await;
    let broken = report.rules.iter().map(|(_, broken)| broken.len()).sum::<usize>();
    assert!(broken >= 2, "{report:#?}");
    let repaired = gateway.repair().await;
    assert!(repaired.iter().any(|what| what.contains("of asset")), "{repaired:?}");
    assert!(repaired.iter().any(|what| what.contains(&orphan.to_hex())), "{repaired:?}");
    gateway.assert_sound().await;
    assert_eq!(door.bytes("/it?w=160", &[]).await, (200, small));
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await[1], 2);
    gateway.assert_sound().await;
}

/// The checksum of a chunk of PNG: <https://www.w3.org/TR/png-3/#5CRC-algorithm>.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_picture_may_have_a_long_text() {
    let gateway = Gateway::start().await;
    let plain = painted(500, 200, ImageFormat::Png);
    // Behind the signature and the header: more bytes than the pixels have.
    let (head, pixels) = plain.split_at(33);
    let text = [&b"tEXtComment\0"[..], &vec![b'x'; 1 << 20]].concat();
    let length = u32::try_from(text.len() - 4).expect("a length").to_be_bytes();
    let bytes = [head, &length, &text, &checksum(&text).to_be_bytes(), pixels].concat();
    uploaded(&gateway, json!({ "slug": "it" }), &file("a.png", "image/png", bytes)).await;
    let (status, small) = Door::open(&gateway).bytes("/it?w=160", &[]).await;
    assert_eq!((status, size(&small)), (200, (160, 64)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_picture_is_decoded_once() {
    let gateway = Gateway::start().await;
    // The head is whole, so that the size is known. It is wider than the second width for which it is asked.
    let mut bytes = painted(400, 300, ImageFormat::Png);
    bytes.truncate(bytes.len() / 2);
    uploaded(&gateway, json!({ "slug": "it" }), &file("a.png", "image/png", bytes)).await;
    let (door, path) = (Door::open(&gateway), "/it?w=160");
    let answer = Answer::of(door.get(path, &[]).await).await;
    assert_eq!((answer.status, answer.code()), (422, "PICTURE_NOT_RESIZABLE"), "{:#}", answer.body);
    // Nothing is read for the next one, also at another width.
    let chunks = gateway.database.collection::<Document>("assets.chunks");
    chunks
        .delete_many(doc! { "files_id": { "$gte": ObjectId::from_bytes([0; 12]) } })
        .await
        .expect("removed");
    for path in [path, "/it?w=161"] {
        let answer = Answer::of(door.get(path, &[]).await).await;
        assert_eq!(answer.code(), "PICTURE_NOT_RESIZABLE", "{path}");
    }
    // Another gateway doesn't know it, and doesn't take a file without its bytes for a damaged picture.
    let other = gateway.sibling().await;
    let answer = Answer::of(Door::open(&other).get(path, &[]).await).await;
    assert_ne!(answer.code(), "PICTURE_NOT_RESIZABLE", "{:#}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_pictures_are_resized_one_after_the_other() {
    let gateway = Gateway::with(|config| {
        config.asset_pixels = 300 * 300;
        config.resizes_at_once = 8;
    })
    .await;
    for number in 0..6 {
        hung(&gateway, &format!("a{number}"), 300, 300).await;
    }
    hung(&gateway, "larger", 301, 300).await;
    let door = Door::open(&gateway);
    let paths: Vec<_> = (0..6).map(|number| format!("/a{number}?w=160")).collect();
    let asked = paths.iter().map(|path| door.bytes(path, &[]));
    for (status, bytes) in futures_util::future::join_all(asked).await {
        assert_eq!((status, size(&bytes)), (200, (160, 160)));
    }
    let answer = Answer::of(door.get("/larger?w=160", &[]).await).await;
    assert_eq!(answer.code(), "PICTURE_NOT_RESIZABLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_while_one_waited_is_not_made_again() {
    let gateway = Gateway::with(|config| config.resizes_at_once = 1).await;
    let asset = hung(&gateway, "it", 900, 900).await;
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("a profile");
    let door = Door::open(&gateway);
    let asked = (0..6).map(|_| door.bytes("/it?w=160", &[]));
    for (status, bytes) in futures_util::future::join_all(asked).await {
        assert_eq!((status, size(&bytes)), (200, (160, 160)));
    }
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("no profile");
    let profile = gateway.database.collection::<Document>("system.profile");
    let files = format!("{}.assets.files", gateway.database.name());
    let inserts = doc! { "$match": { "ns": files, "op": "insert" } };
    let mut written = profile.aggregate([inserts]).await.expect("the inserts");
    assert!(written.advance().await.expect("a command"), "the rendition");
    assert!(!written.advance().await.expect("an end"), "another one");
    profile.drop().await.expect("dropped");
    assert_eq!(made(&gateway, &asset).await, [160]);
    gateway.assert_sound().await;
}

/// The blob of the asset's only rendition.
async fn rendition_of(gateway: &Gateway, asset: &Value) -> ObjectId {
    let entry = stored(gateway, asset["id"].as_str().expect("an id")).await;
    let made = entry.get_document("file").expect("a file").get_array("renditions");
    let made = made.expect("renditions")[0].as_document().expect("one").clone();
    made.get_object_id("blob").expect("a blob")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_a_share_of_the_resizing() {
    let gateway = Gateway::with(|config| {
        config.max_resizes = 1;
        config.resizes_at_once = 1;
    })
    .await;
    for number in 0..6 {
        hung(&gateway, &format!("a{number}"), 300, 300).await;
    }
    let ask = |number: usize| {
        let url = format!("http://{}/assets/a{number}?w=160", gateway.address);
        tokio::spawn(async move { reqwest::get(url).await.expect("an answer").status().as_u16() })
    };
    let asked: Vec<_> = (0..6).map(ask).collect();
    let mut statuses = Vec::new();
    for asked in asked {
        statuses.push(asked.await.expect("an answer"));
    }
    assert!(statuses.iter().all(|status| [200, 429, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    // The permits come back.
    assert_eq!(Door::open(&gateway).get("/a0?w=160", &[]).await.status(), 200);
}

fn settings(config: &mut Config) {
    short_bounds(config);
    config.asset_stall_seconds = 1;
    config.asset_transfer_seconds = 30;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rendition_that_is_cut_anywhere_is_made_or_not() {
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let slug = format!("it-{number}");
            hung(gateway, &slug, 200, 200).await;
            slug
        },
        async |gateway, slug| {
            let request = Door::open(gateway).request(Method::GET, &format!("/{slug}?w=160"));
            let Ok(read) = request.send().await else { return };
            let status = read.status();
            // A body that ends early isn't taken for a whole one.
            let Ok(bytes) = read.bytes().await else { return };
            assert!(status != 200 || size(&bytes) == (160, 160), "{} bytes", bytes.len());
        },
        async |gateway, case| {
            let path = format!("/{}?w=160", case.subject);
            let mut answer = Door::open(gateway).bytes(&path, &[]).await;
            for _ in 0..5 {
                if answer.0 == 200 {
                    break;
                }
                answer = Door::open(gateway).bytes(&path, &[]).await;
            }
            assert_eq!(answer.0, 200, "{:?} {}", case.way, case.at);
            assert_eq!(size(&answer.1), (160, 160), "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_with_renditions_that_is_cut_anywhere_leaves_none() {
    cuts::everywhere_then(
        settings,
        async |gateway, number| {
            let slug = format!("it-{number}");
            let made = hung(gateway, &slug, 200, 200).await;
            let small = Door::open(gateway).get(&format!("/{slug}?w=160"), &[]).await;
            assert_eq!(small.status(), 200);
            made["id"].as_str().expect("an id").to_owned()
        },
        async |gateway, id| {
            let variables = json!({ "input": { "assetId": id } });
            let deleting = gateway.user("the-editor", &["editor"]);
            deleting.send(&mutation("deleteAsset"), variables).await.ok();
        },
        async |gateway, case| {
            let path = format!("/{}?w=160", case.subject);
            let status = Door::open(gateway).get(&path, &[]).await.status();
            assert_eq!(status, 404, "{:?} {}", case.way, case.at);
        },
        async |gateway| {
            gateway.sweep().await;
            gateway.assert_sound().await;
            let_time_pass(gateway).await;
            gateway.sweep().await;
            gateway.assert_sound().await;
            // What is left belongs to what wasn't deleted: a file and a rendition each.
            let [assets, files, _] = counts(gateway).await;
            assert_eq!(files, 2 * assets);
        },
    )
    .await;
}
