//! Pictures of items.

use serde_json::json;

use super::{World, born, item, mint};
use crate::{
    assets::{deleted, renditions::hung},
    support::Gateway,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_character_sees_the_pictures_of_its_things() {
    let gateway = Gateway::start().await;
    let world = World::new(&gateway).await;
    let picture = hung(&gateway, "sword", 200, 100).await;
    let sword = item(&gateway, "sword", json!({ "pictureId": picture["id"] })).await;
    let plain = item(&gateway, "stick", json!({})).await;
    let ann = born(&gateway, "ann", &world.hall).await;
    for made in [&sword, &plain] {
        mint(&gateway, made, json!({ "characterId": ann })).await;
    }
    let query = "query($id: ID!) { character(id: $id) { inventory {
        description item { pictureId picture { id width height url(width: 160) } } } } }";
    let seen = gateway.player("ann").field(query, json!({ "id": ann })).await;
    let things = seen["inventory"].as_array().expect("things").clone();
    let of = |name: &str| {
        let named = |thing: &&serde_json::Value| {
            thing["description"].as_str().is_some_and(|text| text.contains(name))
        };
        things.iter().find(named).unwrap_or_else(|| panic!("no {name}: {things:#?}"))["item"]
            .clone()
    };
    let expected = json!({
        "pictureId": picture["id"],
        "picture": {
            "id": picture["id"], "width": 200, "height": 100, "url": "/assets/sword?w=160",
        },
    });
    assert_eq!(of("sword"), expected);
    assert_eq!(of("stick"), json!({ "pictureId": null, "picture": null }));
    let url = format!("http://{}/assets/sword?w=160", gateway.address);
    let sent = reqwest::get(url).await.expect("an answer");
    assert_eq!(sent.status(), 200);
    // Without its picture the thing is still there.
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    let editor = gateway.user("e", &["editor"]);
    editor.field(delete, json!({ "id": picture["id"] })).await;
    let seen = gateway.player("ann").field(query, json!({ "id": ann })).await;
    assert_eq!(seen["inventory"].as_array().map(Vec::len), Some(2));
    assert_eq!(seen["inventory"][0]["item"]["picture"], json!(null));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_finds_its_item_although_the_picture_is_gone() {
    let gateway = Gateway::start().await;
    let picture = hung(&gateway, "sword", 20, 10).await;
    let master = gateway.master();
    let create = |key: &str, name: &str| {
        let picture = &picture["id"];
        let input =
            json!({ "name": name, "price": 10, "pictureId": picture, "idempotencyKey": key });
        master.plays("createItem", input)
    };
    let made = create("op", "sword").await;
    assert_eq!(made["__typename"], "Item", "{made:#}");
    deleted(&gateway, &picture).await;
    assert_eq!(create("op", "sword").await, made);
    assert_eq!(create("op", "axe").await["code"], "CONFLICT");
    assert_eq!(create("other", "sword").await["code"], "NOT_FOUND");
    gateway.assert_sound().await;
}
