//! The commands of a gift and of picking something up.

use serde_json::json;

use super::{arrows, cuts::Scene, endow, mint};
use crate::{
    commands::sends_only,
    support::{Gateway, settled},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_gift() {
    let base = Gateway::start().await;
    let scene = Scene::new(&base, 0).await;
    endow(&base, &scene.one, 10).await;
    settled(&base).await;
    let give = async |gateway: &Gateway| {
        let input = json!({ "characterId": scene.one, "toCharacterId": scene.two, "amount": 4,
            "idempotencyKey": "op" });
        let said = gateway.player(&scene.player).plays("giveGold", input).await;
        assert_eq!(said["__typename"], "Character", "{said:#}");
    };
    let expected = [
        // Both characters, and whether the op was decided.
        "find characters",
        "find moves",
        // Both are taken by one command, and given by one. The giver is read again for the answer.
        "update characters",
        "insert moves",
        "update characters",
        "find characters",
        // After the answer.
        "update moves",
    ];
    sends_only(&base, give, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_picking_up() {
    let base = Gateway::start().await;
    let scene = Scene::new(&base, 0).await;
    let arrows = arrows(&base).await;
    let pile = mint(&base, &arrows, json!({ "placeId": scene.hall, "quantity": 9 })).await;
    settled(&base).await;
    let pick = async |gateway: &Gateway| {
        let input = json!({ "characterId": scene.one, "thingId": pile, "quantity": 4,
            "idempotencyKey": "op" });
        let said = gateway.player(&scene.player).plays("pickUp", input).await;
        assert_eq!(said["__typename"], "Character", "{said:#}");
    };
    let expected = [
        // The character has a copy of its place.
        "find characters",
        "find moves",
        // The parts are taken, the move is decided, the parts are given.
        "update characters",
        "update places",
        "insert moves",
        "findAndModify characters",
        "update places",
        // After the answer: the move is settled, and the copies of the place are brought up to date.
        "update moves",
        "find places",
        "update characters",
        "update places",
    ];
    sends_only(&base, pick, &expected).await;
}
