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

/// Fails unless the path responds as wanted, at the latest after some more repeats: one that took too long was refused.
async fn assert_becomes<S>(
    gateway: &Gateway,
    case: &cuts::Case<S>,
    (path, status, bytes): (&str, u16, Option<&[u8]>),
    repeat: impl AsyncFn(),
) {
    let mut found = None;
    for _ in 0..5 {
        let (status_now, now) = Door::open(gateway).bytes(path, &[]).await;
        if status_now == status && bytes.is_none_or(|bytes| now == bytes) {
            return;
        }
        found = Some((status_now, now.len()));
        repeat().await;
    }
    panic!("{:?} {}: {found:?}, status and length", case.way, case.at);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_anywhere_is_gone_or_whole() {
    let bytes = noise(600_000);
    let sent = file("a.bin", "x/y", bytes.clone());
    let upload = async |gateway: &Gateway, (number, gallery): &(usize, String)| {
        let input =
            json!({ "slug": "it", "parentId": gallery, "idempotencyKey": format!("op-{number}") });
        sound(send_form(&editor(gateway), with_file("uploadAsset", input, &sent)).await.ok());
    };
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let id = format!("g{number}");
            let gallery = parent(gateway, &format!("/{id}"), "gallery", &[]).await;
            (number, gallery)
        },
        upload,
        async |gateway, case| {
            let path = format!("/g{}/it", case.subject.0);
            let wanted = (path.as_str(), 200, Some(&bytes[..]));
            assert_becomes(gateway, case, wanted, async || upload(gateway, &case.subject).await)
                .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_is_cut_anywhere_leaves_the_old_file_or_the_new_one() {
    let (old, new) = (noise(300_000), noise(600_000));
    let sent = file("a.bin", "x/y", new.clone());
    let replace = async |gateway: &Gateway, (slug, id): &(String, String)| {
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
    };
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let slug = format!("it-{number}");
            let made =
                uploaded(gateway, json!({ "slug": slug }), &file("a", "x/y", old.clone())).await;
            (slug, made["id"].as_str().expect("an id").to_owned())
        },
        replace,
        async |gateway, case| {
            let path = format!("/{}", case.subject.0);
            let wanted = (path.as_str(), 200, Some(&new[..]));
            assert_becomes(gateway, case, wanted, async || replace(gateway, &case.subject).await)
                .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_is_finished_or_not_begun() {
    let delete = async |gateway: &Gateway, id: &String| {
        let variables = json!({ "input": { "assetId": id } });
        let sent =
            gateway.user("the-editor", &["editor"]).send(&mutation("deleteAsset"), variables).await;
        sound(sent.ok().map(|(_, answer)| (reqwest::StatusCode::OK, answer)));
    };
    cuts::everywhere(
        settings,
        async |gateway, number| {
            let input = json!({ "slug": format!("it-{number}") });
            let made = uploaded(gateway, input, &file("a", "x/y", noise(300_000))).await;
            made["id"].as_str().expect("an id").to_owned()
        },
        delete,
        async |gateway, case| {
            let path = format!("/{}", case.subject);
            let repeat = async || delete(gateway, &case.subject).await;
            assert_becomes(gateway, case, (&path, 404, None), repeat).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_what_was_cut() {
    let short = Gateway::with(settings).await;
    let gateway = short.patient_sibling().await;
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
