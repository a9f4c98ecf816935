//! Gold: what is bought, sold, given and made.

use docgate::domains::game::import::{ImportWorld, import};
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{World, born, carried, descriptions, endow, item, mint, quiet, seen};
use crate::support::{Client, Gateway, key};

#[tokio::test(flavor = "multi_thread")]
async fn a_thing_is_bought_and_sold() {
    let gateway = Gateway::start().await;
    let master = gateway.master();
    let shop = json!({ "title": "Shop", "description": "", "isShop": true, "gold": 12 });
    let shop = master.made("createPlace", shop).await;
    let ann = born(&gateway, "ann", &shop).await;
    endow(&gateway, &ann, 100).await;
    let potion = item(&gateway, "potion", json!({ "isStackable": true })).await;
    let lot = json!({ "placeId": shop, "quantity": 5, "price": 12 });
    let lot = mint(&gateway, &potion, lot).await;
    let player = gateway.player("ann");
    let hat = item(&gateway, "hat", json!({ "slots": ["HEAD"] })).await;
    let hat = mint(&gateway, &hat, json!({ "characterId": ann })).await;
    let worn = json!({ "characterId": ann, "thingId": hat });
    assert_eq!(player.plays("equip", worn.clone()).await["__typename"], "Character");

    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    let refused = player.plays("sell", worn).await;
    assert_eq!((&refused["code"], &refused["slot"]), (&json!("THING_WORN"), &json!("HEAD")));
    let free = json!({ "characterId": ann, "thingId": lot });
    let refused = player.plays("pickUp", free).await;
    assert_eq!((&refused["code"], &refused["price"]), (&json!("FOR_SALE"), &json!(12)));
    let cheap = json!({ "characterId": ann, "thingId": lot, "price": 11, "quantity": 1 });
    let refused = player.plays("buy", cheap).await;
    assert_eq!((&refused["code"], &refused["price"]), (&json!("FOR_SALE"), &json!(12)));
    let many = json!({ "characterId": ann, "thingId": lot, "price": 12, "quantity": 6 });
    assert_eq!(player.plays("buy", many).await["field"], "input.quantity");
    assert_eq!(gateway.snapshot().await, before);

    let some = json!({ "characterId": ann, "thingId": lot, "price": 12, "quantity": 3 });
    let after = player.plays("buy", some).await;
    assert_eq!(
        (&after["gold"], descriptions(&after["inventory"])),
        (&json!(64), vec!["3 × potion".to_owned()])
    );
    let there = seen(&gateway, &shop).await;
    assert_eq!(
        (&there["gold"], descriptions(&there["things"])),
        (&json!(48), vec!["2 × potion".to_owned()])
    );

    // The shop pays half of the catalogue's price, and offers it for the whole.
    let own = after["inventory"][0]["id"].clone();
    let sale = json!({ "characterId": ann, "thingId": own, "quantity": 2, "idempotencyKey": "s" });
    for _ in 0..2 {
        let after = player.plays("sell", sale.clone()).await;
        assert_eq!(after["gold"], 74, "{after:#}");
    }
    let there = seen(&gateway, &shop).await;
    assert_eq!(there["gold"], 38);
    let offered = there["things"].as_array().expect("things").last().expect("one");
    assert_eq!((&offered["price"], &offered["quantity"]), (&json!(10), &json!(2)));
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// A shop with a chest for sale, which holds arrows and a pouch with a gem.
struct Chest {
    /// Ann, who is there with 100 gold.
    ann: String,
    shop: String,
    container: String,
    pouch: String,
    gem: String,
    arrows: String,
}

impl Chest {
    async fn offered(gateway: &Gateway) -> Self {
        let lines = json!([
            { "item": { "key": "chest", "name": "chest", "price": 40, "capacity": 5 } },
            { "item": { "key": "pouch", "name": "pouch", "price": 5, "capacity": 5 } },
            { "item": { "key": "gem", "name": "gem", "price": 90 } },
            { "item": { "key": "arrow", "name": "arrow", "plural": "arrows", "price": 1,
                "isStackable": true } },
            { "place": { "key": "shop", "title": "A shop", "isShop": true, "gold": 20, "things": [
                { "key": "chest", "item": "chest", "price": 50 },
                { "key": "pouch", "item": "pouch", "inside": "chest" },
                { "key": "gem", "item": "gem", "inside": "pouch" },
                { "key": "lot", "item": "arrow", "quantity": 12, "inside": "chest" }] } },
            { "character": { "key": "ann", "owner": "ann", "name": "ann", "class": "wizard",
                "place": "shop", "gold": 100 } },
        ]);
        let lines: Vec<ImportWorld> = serde_json::from_value(lines).expect("lines");
        let answers = import(&gateway.app, &lines).await.expect("imported");
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        quiet(gateway).await;
        let player = gateway.player("ann");
        let mine = player.field("{ myCharacters { nodes { id } } }", json!({})).await;
        let ann = mine["nodes"][0]["id"].as_str().expect("an id").to_owned();
        let room = &player.character(&ann).await["room"];
        let id = |of: &Value| of.as_str().unwrap_or_else(|| panic!("{room:#}")).to_owned();
        let (chest, inner) = (&room["things"][0], &room["things"][0]["contents"]);
        Self {
            ann,
            shop: id(&room["placeId"]),
            container: id(&chest["id"]),
            pouch: id(&inner[0]["id"]),
            gem: id(&inner[0]["contents"][0]["id"]),
            arrows: id(&inner[1]["id"]),
        }
    }

    /// Tries to get a thing or some pieces of it, and fails because of the chest's price.
    async fn keeps(&self, player: &Client, name: &str, thing: &str, more: Value) {
        let mut input = json!({ "characterId": self.ann, "thingId": thing });
        input.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        let refused = player.plays(name, input).await;
        let said = (&refused["code"], &refused["price"]);
        assert_eq!(said, (&json!("FOR_SALE"), &json!(50)), "{name}: {refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_container_for_sale_holds_is_bought_with_it() {
    let gateway = Gateway::start().await;
    let offer = Chest::offered(&gateway).await;
    let Chest { ann, shop, container, pouch, gem, arrows } = &offer;
    let player = gateway.player("ann");
    let before = gateway.snapshot().await;
    for thing in [pouch, gem, arrows] {
        offer.keeps(&player, "pickUp", thing, json!({})).await;
        offer.keeps(&player, "takeFromContainer", thing, json!({})).await;
    }
    offer.keeps(&player, "pickUp", arrows, json!({ "quantity": 5 })).await;
    let alone = json!({ "characterId": ann, "thingId": gem, "price": 50 });
    assert_eq!(player.plays("buy", alone).await["field"], "input.thingId");
    assert_eq!(gateway.snapshot().await, before);

    let buy = json!({ "characterId": ann, "thingId": container, "price": 50 });
    let after = player.plays("buy", buy).await;
    assert_eq!(
        (&after["gold"], descriptions(&after["inventory"])),
        (&json!(50), vec!["chest".to_owned()])
    );
    assert_eq!(descriptions(&after["inventory"][0]["contents"]), ["pouch", "12 arrows"]);
    let there = seen(&gateway, shop).await;
    assert_eq!((&there["gold"], &there["things"]), (&json!(70), &json!([])));
    // The buyer takes things out, and leaves the rest, which is free.
    let out = json!({ "characterId": ann, "thingId": arrows });
    let after = player.plays("takeFromContainer", out).await;
    assert_eq!(descriptions(&after["inventory"]), ["chest", "12 arrows"]);
    player.made("drop", json!({ "characterId": ann, "thingId": container })).await;
    let bob = born(&gateway, "bob", shop).await;
    let up = json!({ "characterId": bob, "thingId": gem });
    let after = gateway.player("bob").plays("pickUp", up).await;
    assert_eq!(descriptions(&after["inventory"]), ["gem"], "{after:#}");
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// What is picked up is planned by the character's copy of the place. By the copies here the chest isn't for sale, or the thing
/// isn't in it. The update of the place refuses what they allow.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_behind_frees_nothing_in_a_container_for_sale() {
    let gateway = Gateway::start().await;
    let offer = Chest::offered(&gateway).await;
    let Chest { ann, gem, arrows, .. } = &offer;
    let player = gateway.player("ann");
    let free = doc! { "room.things.0.price": "" };
    let loose = doc! { "room.things.3.in": "" };
    let apart = doc! { "room.things.1.in": "" };
    let some = || json!({ "quantity": 5 });
    for (removed, thing, more) in [
        (free.clone(), gem, json!({})),
        (free.clone(), arrows, json!({})),
        (free, arrows, some()),
        (loose.clone(), arrows, json!({})),
        (loose, arrows, some()),
        (apart, gem, json!({})),
    ] {
        quiet(&gateway).await;
        let of_ann = doc! { "_id": key(ann) };
        let update = doc! { "$unset": removed.clone() };
        let changed = gateway.raw("characters").update_one(of_ann.clone(), update).await;
        assert_eq!(changed.expect("changed").modified_count, 1);
        offer.keeps(&player, "pickUp", thing, more).await;
        quiet(&gateway).await;
        let whole = gateway.raw("places").find_one(doc! { "_id": key(&offer.shop) }).await;
        let whole = whole.expect("read").expect("a place");
        let things = whole.get_array("inventory").expect("things");
        assert_eq!(things.len(), 4, "{removed:?}");
        let again = doc! { "$set": { "room.things": things.clone() } };
        let mended = gateway.raw("characters").update_one(of_ann, again).await;
        assert_eq!(mended.expect("mended").matched_count, 1);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_gold_than_there_is_is_neither_paid_nor_given() {
    let gateway = Gateway::start().await;
    let World { hall, garden } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let far = born(&gateway, "far", &garden).await;
    endow(&gateway, &ann, 10).await;
    let hat = item(&gateway, "hat", json!({})).await;
    let offer = mint(&gateway, &hat, json!({ "placeId": hall, "price": 11 })).await;
    let own = mint(&gateway, &hat, json!({ "characterId": ann })).await;
    let player = gateway.player("ann");
    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    let give = |to: &str, amount: i64| json!({ "characterId": ann, "toCharacterId": to, "amount": amount });
    let refused = player.plays("giveGold", give(&bob, 11)).await;
    assert_eq!(refused["code"], "INSUFFICIENT_GOLD");
    assert_eq!((&refused["needed"], &refused["available"]), (&json!(11), &json!(10)));
    assert_eq!(player.plays("giveGold", give(&far, 1)).await["code"], "NOT_FOUND");
    assert_eq!(player.plays("giveGold", give(&ann, 1)).await["field"], "input.toCharacterId");
    for amount in [0, -1] {
        assert_eq!(player.plays("giveGold", give(&bob, amount)).await["field"], "input.amount");
    }
    let buy = json!({ "characterId": ann, "thingId": offer, "price": 11 });
    assert_eq!(player.plays("buy", buy).await["code"], "INSUFFICIENT_GOLD");
    // The place is no shop.
    let sell = json!({ "characterId": ann, "thingId": own });
    assert_eq!(player.plays("sell", sell).await["field"], "input.characterId");
    let most = json!({ "characterId": ann, "gold": 1_000_000_000_000_i64 });
    assert_eq!(gateway.master().plays("changeAttributes", most).await["code"], "NO_ROOM");
    assert_eq!(gateway.snapshot().await, before);
    assert_eq!(player.plays("giveGold", give(&bob, 10)).await["gold"], 0);
    assert_eq!(gateway.player("bob").character(&bob).await["gold"], 10);
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_without_gold_buys_nothing() {
    let gateway = Gateway::start().await;
    let shop = json!({ "title": "Shop", "description": "", "isShop": true, "gold": 4 });
    let shop = gateway.master().made("createPlace", shop).await;
    let ann = born(&gateway, "ann", &shop).await;
    let hat = item(&gateway, "hat", json!({})).await;
    let hat = mint(&gateway, &hat, json!({ "characterId": ann })).await;
    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    let sell = json!({ "characterId": ann, "thingId": hat });
    let refused = gateway.player("ann").plays("sell", sell).await;
    assert_eq!((&refused["code"], &refused["available"]), (&json!("INSUFFICIENT_GOLD"), &json!(4)));
    assert_eq!(gateway.snapshot().await, before);
    assert_eq!(carried(&gateway, "ann", &ann).await, ["hat"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_change_by_increments_within_their_bounds() {
    let gateway = Gateway::start().await;
    let hall = World::new(&gateway).await.hall;
    let ann = born(&gateway, "ann", &hall).await;
    let master = gateway.master();
    let change = async |fields: serde_json::Value| {
        let mut input = json!({ "characterId": ann });
        input.as_object_mut().expect("fields").extend(fields.as_object().expect("fields").clone());
        master.plays("changeAttributes", input).await
    };
    assert_eq!(change(json!({ "health": -30 })).await["health"], 70);
    assert_eq!(change(json!({ "health": 1_000 })).await["health"], 100);
    assert_eq!(change(json!({ "health": -1_000, "mana": -1 })).await["health"], 0);
    assert_eq!(change(json!({ "maxHealth": 50, "health": 1_000 })).await["health"], 150);
    let wound = json!({ "health": -10, "idempotencyKey": "wound" });
    for _ in 0..2 {
        assert_eq!(change(wound.clone()).await["health"], 140);
    }
    assert_eq!(change(json!({ "gold": 5 })).await["gold"], 5);
    assert_eq!(change(json!({ "gold": -6 })).await["code"], "INSUFFICIENT_GOLD");
    assert_eq!(change(json!({ "gold": -5 })).await["gold"], 0);
    let code = gateway
        .player("ann")
        .error_code(
            &super::mutation("changeAttributes"),
            json!({ "input": { "characterId": ann } }),
        )
        .await;
    assert_eq!(code, "FORBIDDEN");
    quiet(&gateway).await;
    gateway.assert_sound().await;
}
