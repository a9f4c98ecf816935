//! The commands of a gift and of picking something up.

use futures_util::future::join_all;
use serde_json::json;

use super::{arrows, cuts::Scene, endow, mint};
use crate::{
    commands::sends_only,
    support::{Gateway, cuts, proxy::Seen, settled},
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

/// Moves that end within a tenth of a second are settled by one command, unless each write has a command of its own.
#[tokio::test(flavor = "multi_thread")]
async fn gifts_at_once_are_settled_together() {
    const GIFTS: usize = 20;
    for coalesces in [true, false] {
        let base = Gateway::with(|config| config.coalesce_writes = coalesces).await;
        let scene = Scene::new(&base, 0).await;
        endow(&base, &scene.one, 50).await;
        settled(&base).await;
        let give = async |gateway: &Gateway, number: usize| {
            let input = json!({ "characterId": scene.one, "toCharacterId": scene.two, "amount": 1,
                "idempotencyKey": format!("op {number}") });
            let said = gateway.player(&scene.player).plays("giveGold", input).await;
            assert_eq!(said["__typename"], "Character", "{said:#}");
        };
        let patient = base.patient_sibling().await;
        let sent = cuts::sent(&patient, async |gateway| {
            join_all((0..GIFTS).map(|number| give(gateway, number))).await;
        });
        let sent = sent.await;
        let is_settle = |seen: &&Seen| seen.collection == "moves" && seen.command == "update";
        let settles = sent.iter().filter(is_settle).count();
        if coalesces {
            assert!((1..GIFTS / 2).contains(&settles), "{settles}: {sent:#?}");
        } else {
            assert_eq!(settles, GIFTS, "{sent:#?}");
        }
        for decided in base.stored("moves").await {
            let is_settled = !decided.contains_key("openAt") && decided.contains_key("expiresAt");
            assert!(is_settled, "{decided}");
        }
        let gold = scene.gold(&base).await;
        assert_eq!(gold, [json!(30), json!(20), json!(0)]);
        base.assert_sound().await;
    }
}
