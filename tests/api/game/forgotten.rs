//! Characters whose moves are forgotten, as the server removes them when their idempotency keys are.

use docgate::domains::game::import::{ImportWorld, import};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{World, half::settings, quiet, world::numbered};
use crate::support::{Gateway, proxy::Cut};

/// Forgets all moves.
async fn forget(gateway: &Gateway) {
    quiet(gateway).await;
    let moves = gateway.database.collection::<Document>("moves");
    moves.delete_many(doc! { "_id": { "$gt": "" } }).await.expect("forgotten");
}

async fn own(gateway: &Gateway, player: &str) -> Value {
    gateway.player(player).field("{ myCharacters { nodes { id } } }", json!({})).await["nodes"]
        .clone()
}

/// A client uses a key again after a day: the character that it created then is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_character_is_created_once_however_long_ago_that_was() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let player = gateway.player("ann");
    let input = |name: &str| json!({ "name": name, "class": "wizard", "placeId": hall, "idempotencyKey": "once" });
    let ann = player.made("createCharacter", input("Ann")).await;
    forget(&gateway).await;
    assert_eq!(player.made("createCharacter", input("Ann")).await, ann);
    let other = player.plays("createCharacter", input("Anna")).await;
    assert_eq!(other["__typename"], "Conflict", "{other:#}");
    assert_eq!(own(&gateway, "ann").await, json!([{ "id": ann }]));
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// A character has the id of one that was deleted before. Its own deletion isn't taken for that of the other one.
#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_was_created_again_can_be_deleted_again() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let player = gateway.player("ann");
    let input =
        json!({ "name": "Ann", "class": "wizard", "placeId": hall, "idempotencyKey": "once" });
    let ann = player.made("createCharacter", input.clone()).await;
    forget(&gateway).await;
    let deletion = json!({ "characterId": ann });
    let deleted = json!({ "__typename": "DeletedCharacter", "id": ann });
    assert_eq!(player.plays("deleteCharacter", deletion.clone()).await, deleted);
    assert_eq!(player.made("createCharacter", input).await, ann, "its key was forgotten");
    assert_eq!(own(&gateway, "ann").await, json!([{ "id": ann }]));
    for _ in 0..2 {
        assert_eq!(player.plays("deleteCharacter", deletion.clone()).await, deleted);
        assert_eq!(own(&gateway, "ann").await, json!([]));
    }
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// An import is cut before the decision about a character. What it has taken is undone by the sweep. So a repeat before the sweep
/// doesn't take the character for imported, and one after it creates the character, which stays the only one.
#[tokio::test(flavor = "multi_thread")]
async fn an_imported_character_is_neither_lost_nor_doubled_after_a_cut() {
    let gateway = Gateway::behind_proxy(settings).await;
    let sibling = gateway.patient_sibling().await;
    let lines: Vec<ImportWorld> = serde_json::from_value(numbered(1)).expect("lines");
    let whole = async || {
        let told = import(&sibling.app, &lines).await.expect("imported");
        assert!(told.iter().all(Result::is_ok), "{told:?}");
        quiet(&sibling).await;
    };
    let (before, last) = lines.split_at(lines.len() - 1);
    let told = import(&sibling.app, before).await.expect("imported");
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "moves" && seen.command == "insert");
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    import(&gateway.app, last).await.expect_err("the decision is cut");
    proxy.heal();
    let state = async || {
        let all = sibling.stored("characters").await;
        assert_eq!(all.len(), 1, "{all:#?}");
        all[0].get_str("state").expect("a state").to_owned()
    };
    assert_eq!(state().await, "ARRIVING");
    import(&gateway.app, last).await.expect_err("it isn't imported yet");

    sibling.sweep().await;
    assert!(sibling.stored("characters").await.is_empty());
    whole().await;
    assert_eq!(state().await, "ALIVE");
    forget(&sibling).await;
    whole().await;
    assert_eq!(state().await, "ALIVE");
    let ann = own(&sibling, "ann-1").await;
    assert_eq!(ann.as_array().map(Vec::len), Some(1), "{ann:#}");
    sibling.assert_sound().await;
}
