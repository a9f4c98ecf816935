//! Uploads, replacements and deletions that are cut: at every command, in every way.

use docgate::config::Config;
use serde_json::{Value, json};

use super::{
    Door, counts, editor, file, let_time_pass, mutation, noise, parent, send_file, send_form,
    uploaded, with_file,
};
use crate::support::{Gateway, cuts, short_bounds};

fn settings(config: &mut Config) {
    short_bounds(config);
    config.asset_stall_seconds = 1;
    config.asset_transfer_seconds = 30;
}

/// What a client may hear while something is cut.
fn sound(answer: Option<(reqwest::StatusCode, Value)>) {
    let Some((_, answer)) = answer else { return };
    if let Some(error) = answer["errors"].get(0) {
        assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_anywhere_is_gone_or_whole() {
    let bytes = noise(600_000);
    let sent = file("a.bin", "x/y", bytes.clone());
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let id = format!("g{number}");
            let gallery = parent(gateway, &format!("/{id}"), "gallery", &[]).await;
            (number, gallery)
        },
        async |gateway, (number, gallery): &(usize, String)| {
            let input = json!({ "slug": "it", "parentId": gallery, "idempotencyKey": format!("op-{number}") });
            sound(send_form(&editor(gateway), with_file("uploadAsset", input, &sent)).await.ok());
        },
        async |gateway, case| {
            let path = format!("/g{}/it", case.subject.0);
            let found = Door::open(gateway).bytes(&path, &[]).await;
            assert!(found == (200, bytes.clone()), "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_is_cut_anywhere_leaves_the_old_file_or_the_new_one() {
    let (old, new) = (noise(300_000), noise(600_000));
    let sent = file("a.bin", "x/y", new.clone());
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let slug = format!("it-{number}");
            let made =
                uploaded(gateway, json!({ "slug": slug }), &file("a", "x/y", old.clone())).await;
            (slug, made["id"].as_str().expect("an id").to_owned())
        },
        async |gateway, (slug, id): &(String, String)| {
            let input = json!({ "assetId": id, "idempotencyKey": slug });
            sound(send_form(&editor(gateway), with_file("replaceAsset", input, &sent)).await.ok());
            // Through what may be cut too: a body that ends early isn't taken for a whole one.
            let read = Door::open(gateway).get(&format!("/{slug}"), &[]).await;
            let status = read.status();
            let Ok(bytes) = read.bytes().await else { return };
            assert!(
                status != 200 || bytes == old || bytes == new,
                "{} bytes of a mixture",
                bytes.len()
            );
        },
        async |gateway, case| {
            let found = Door::open(gateway).bytes(&format!("/{}", case.subject.0), &[]).await;
            assert!(found == (200, new.clone()), "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_is_finished_or_not_begun() {
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let input = json!({ "slug": format!("it-{number}") });
            let made = uploaded(gateway, input, &file("a", "x/y", noise(300_000))).await;
            made["id"].as_str().expect("an id").to_owned()
        },
        async |gateway, id: &String| {
            let variables = json!({ "input": { "assetId": id } });
            let sent = gateway
                .user("the-editor", &["editor"])
                .send(&mutation("deleteAsset"), variables)
                .await;
            sound(sent.ok().map(|(_, answer)| (reqwest::StatusCode::OK, answer)));
        },
        async |gateway, case| {
            let path = format!("/{}", case.subject);
            assert_eq!(
                Door::open(gateway).get(&path, &[]).await.status(),
                404,
                "{:?} {}",
                case.way,
                case.at
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_what_was_cut() {
    let gateway = Gateway::with(settings).await;
    let gone =
        uploaded(&gateway, json!({ "slug": "gone" }), &file("a", "x/y", noise(700_000))).await;
    uploaded(&gateway, json!({ "slug": "stays" }), &file("a", "x/y", noise(300_000))).await;
    let input = json!({ "assetId": gone["id"] });
    send_file(&editor(&gateway), "replaceAsset", input.clone(), &file("a", "x/y", "x")).await;
    super::ask(&editor(&gateway), "deleteAsset", input).await;
    // Still to be read by who has begun; and a stone.
    assert_eq!(counts(&gateway).await, [2, 3, 6]);
    gateway.assert_sound().await;
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 2]);
    gateway.assert_sound().await;
}
