//! The world of the demo's game, which is imported, and the characters that wander and trade as long as the demo runs.

use docgate_demo::{covers::Motif, random::Random};
use serde_json::{Value, json};

use super::{
    Steps,
    client::{DemoClient, someone},
    covers::Covers,
    keep_acting,
};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::game::import::{ImportWorld, id_of, import},
    graphql::{node_id::NodeKind, requester::Role},
};

/// Maximum number of places and of characters. The world of a small shop is smaller.
const PLACES: usize = 500;
const CHARACTERS: usize = 200;
/// Places of a row of the map.
const ROW: usize = 25;
/// Things of a place.
const THINGS: usize = 10;
/// One of so many places is a shop, and one of so many characters wanders.
const SHOPS: usize = 10;
const WANDERERS: usize = 4;
/// Time between two actions of the wandering characters.
const PAUSE: (i64, i64) = (400, 400);

const KINDS: [&str; 12] = [
    "wood", "bridge", "cellar", "tower", "market", "meadow", "cave", "harbour", "library", "ruin",
    "well", "garden",
];
const MOODS: [&str; 12] = [
    "Quiet", "Broken", "Sunken", "Golden", "Windy", "Old", "Hidden", "Crooked", "Silver", "Dusty",
    "Green", "Last",
];
const CLASSES: [&str; 5] = ["wizard", "thief", "knight", "healer", "bard"];
const NAMES: [&str; 10] =
    ["Ada", "Bron", "Cerys", "Dag", "Edda", "Finn", "Gudrun", "Hal", "Isolde", "Jorun"];

const SEEN: &str = "query($id: ID!) { character(id: $id) { gold
    inventory { id quantity contents { id } }
    room { isShop exits { direction } players { id } things { id price quantity } } } }";

/// The items: key, name, plural, price, and further fields.
fn items() -> Vec<Value> {
    let worn = [
        ("hat", "wizard's hat", 40, "HEAD"),
        ("helmet", "iron helmet", 90, "HEAD"),
        ("amulet", "amber amulet", 70, "NECK"),
        ("mail", "coat of mail", 240, "BODY"),
        ("cloak", "grey cloak", 30, "BODY"),
        ("gloves", "leather gloves", 15, "HANDS"),
        ("ring", "copper ring", 25, "FINGER"),
        ("boots", "walking boots", 35, "FEET"),
    ];
    let held = [("sword", "short sword", 80), ("staff", "oak staff", 20), ("shield", "shield", 60)];
    let piles = [
        ("arrow", "arrow", "arrows", 1),
        ("potion", "healing potion", "healing potions", 12),
        ("apple", "apple", "apples", 2),
        ("candle", "candle", "candles", 3),
    ];
    let worn = worn.map(|(key, name, price, slot)| {
        json!({ "key": key, "name": name, "price": price, "slots": [slot] })
    });
    let held = held.map(|(key, name, price)| {
        json!({ "key": key, "name": name, "price": price, "slots": ["RIGHT_HAND", "LEFT_HAND"] })
    });
    let piles = piles.map(|(key, name, plural, price)| {
        json!({ "key": key, "name": name, "plural": plural, "price": price, "isStackable": true })
    });
    let bag = json!({ "key": "bag", "name": "bag", "price": 8, "capacity": 10 });
    worn.into_iter().chain(held).chain(piles).chain([bag]).collect()
}

/// Imports the world. `count` is the number of products of the shop.
pub(super) async fn create(
    app: &App,
    count: usize,
    covers: &Covers,
    steps: &Steps,
) -> Result<(), Failure> {
    let picture = |number| covers.of(Motif::Item, number).to_owned();
    let lines = lines(&Size::of(count), picture);
    let bar = steps.begin("world", lines.len());
    for batch in lines.chunks(200) {
        let parsed = batch.iter().map(|line| serde_json::from_value(line.clone()));
        let parsed: Vec<ImportWorld> = parsed
            .collect::<Result<_, _>>()
            .map_err(|fault| Failure::trouble(format!("the world can't be filled: {fault}")))?;
        for done in import(app, &parsed).await? {
            done.map_err(|fault| {
                Failure::trouble(format!("the world can't be filled: {}", fault.message))
            })?;
        }
        bar.inc(batch.len() as u64);
    }
    bar.finish();
    Ok(())
}

/// The size of a world.
struct Size {
    places: usize,
    characters: usize,
    /// Number of the characters that wander.
    wanderers: usize,
}

impl Size {
    /// The size of the world of a shop with so many products.
    fn of(products: usize) -> Self {
        let places = (products / 10).clamp(20, PLACES);
        let characters = (products / 25).clamp(8, CHARACTERS);
        Self { places, characters, wanderers: characters / WANDERERS }
    }
}

/// The lines of the import. `picture` is the id of the picture of the item with this number.
fn lines(size: &Size, picture: impl Fn(usize) -> String) -> Vec<Value> {
    let (mut random, items, places) = (Random::new(50), items(), size.places);
    let pictured = |(number, item): (usize, &Value)| {
        let mut item = item.clone();
        item["pictureId"] = picture(number).into();
        json!({ "item": item })
    };
    let mut lines: Vec<Value> = items.iter().enumerate().map(pictured).collect();
    lines.extend((0..places).map(|number| place(&mut random, &items, number)));
    lines.extend((0..places).flat_map(|number| exits(number, places)));
    lines.extend((0..size.characters).map(|number| character(&mut random, number, places)));
    lines
}

fn place_key(number: usize) -> String {
    format!("place-{number}")
}

fn place(random: &mut Random, items: &[Value], number: usize) -> Value {
    let is_shop = number.is_multiple_of(SHOPS);
    let things: Vec<Value> = (0..THINGS)
        .map(|thing| {
            let item = random.choose(items);
            let quantity = if item["isStackable"] == true { random.between(2, 20) } else { 1 };
            let bonus = if random.chance(15) { random.between(1, 3) } else { 0 };
            let price = is_shop.then(|| item["price"].clone());
            json!({ "key": thing.to_string(), "item": item["key"], "quantity": quantity,
                "bonus": bonus, "price": price })
        })
        .collect();
    let title = format!("{} {}", random.pick(&MOODS), random.pick(&KINDS));
    let description = if is_shop { "Everything here has its price." } else { "" };
    json!({ "place": { "key": place_key(number), "title": title, "description": description,
        "isShop": is_shop, "gold": if is_shop { 500 } else { 0 }, "things": things } })
}

/// Exits to the neighbours on the map, to the east and the south and back.
fn exits(number: usize, places: usize) -> Vec<Value> {
    let east = Some(number + 1).filter(|east| !east.is_multiple_of(ROW));
    let ways = [(east, "EAST", "WEST"), (Some(number + ROW), "SOUTH", "NORTH")];
    let mut exits = Vec::new();
    for (to, there, back) in ways {
        if let Some(to) = to.filter(|to| *to < places) {
            let exit = |from, direction, to| json!({ "exit": { "from": place_key(from), "direction": direction, "to": place_key(to) } });
            exits.extend([exit(number, there, to), exit(to, back, number)]);
        }
    }
    exits
}

/// Subject of the player of a character; every player has several.
fn owner(number: usize) -> String {
    format!("player-{}", number / 4)
}

fn character_key(number: usize) -> String {
    format!("character-{number}")
}

fn character(random: &mut Random, number: usize, places: usize) -> Value {
    let name = format!("{} the {}", random.pick(&NAMES), random.pick(&MOODS));
    json!({ "character": { "key": character_key(number), "owner": owner(number), "name": name,
        "class": random.pick(&CLASSES), "place": place_key(random.below(places)),
        "gold": random.between(20, 200), "things": [{ "key": "bag", "item": "bag" }] } })
}

/// Lets a quarter of the characters wander and trade. It never ends; dropping it ends it.
pub(in super::super) async fn wander(app: &App, count: u32) {
    let Size { wanderers, .. } = Size::of(usize::try_from(count).unwrap_or(usize::MAX));
    keep_acting(app, PAUSE, async |client, random| {
        let number = random.below(wanderers);
        act(client, random, number, &app.ids().random()).await
    })
    .await;
}

/// A character looks around and acts. Others may be faster, so a refusal is nothing special.
async fn act(
    client: &DemoClient,
    random: &mut Random,
    number: usize,
    key: &str,
) -> Result<(), Failure> {
    let who = someone(&owner(number), &[Role::Player]);
    let id = id_of("character", "key", &character_key(number));
    let id = NodeKind::CHARACTER.id(&id.map_err(|fault| Failure::trouble(fault.message))?);
    let seen = client.execute(&who, SEEN, json!({ "id": id.as_str() })).await?;
    let seen = &seen["character"];
    let Some((name, mut input)) = plan(random, seen, id.as_str()) else { return Ok(()) };
    input["characterId"] = id.as_str().into();
    input["idempotencyKey"] = key.into();
    let (first, rest) = name.split_at(1);
    let mutation = format!(
        "mutation($input: {}{rest}Input!) {{ {name}(input: $input) {{ __typename }} }}",
        first.to_uppercase()
    );
    client.execute(&who, &mutation, json!({ "input": input })).await.map(drop)
}

/// What a character does: a mutation, and a part of its input.
fn plan(random: &mut Random, seen: &Value, id: &str) -> Option<(&'static str, Value)> {
    let (room, list) =
        (&seen["room"], |value: &Value| value.as_array().cloned().unwrap_or_default());
    let (things, own) = (list(&room["things"]), list(&seen["inventory"]));
    let gold = seen["gold"].as_i64().unwrap_or(0);
    let (free, offered): (Vec<_>, Vec<_>) =
        things.into_iter().partition(|thing| thing["price"].is_null());
    let others = list(&room["players"]).into_iter().filter(|player| player["id"] != id);
    let others: Vec<_> = others.collect();
    match random.below(100) {
        0..15 if !free.is_empty() && own.len() < 30 => {
            Some(("pickUp", json!({ "thingId": random.choose(&free)["id"] })))
        }
        15..30 if !offered.is_empty() => {
            let thing = random.choose(&offered);
            let price = thing["price"].as_i64().filter(|price| *price <= gold)?;
            Some(("buy", json!({ "thingId": thing["id"], "price": price, "quantity": 1 })))
        }
        30..45 if own.len() > 1 => {
            let thing = random.choose(&own);
            let is_empty = thing["contents"].as_array().is_none_or(Vec::is_empty);
            let name = if room["isShop"] == true && is_empty { "sell" } else { "drop" };
            Some((name, json!({ "thingId": thing["id"] })))
        }
        45..52 if !others.is_empty() && gold > 10 => {
            let to = &random.choose(&others)["id"];
            Some(("giveGold", json!({ "toCharacterId": to, "amount": random.between(1, 10) })))
        }
        _ => {
            let exits = list(&room["exits"]);
            let exit = (!exits.is_empty()).then(|| random.choose(&exits).clone())?;
            Some(("move", json!({ "direction": exit["direction"] })))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_world_of_the_whole_shop_has_its_size() {
        let size = Size::of(usize::try_from(super::super::PRODUCTS).expect("a number"));
        assert_eq!((size.places, size.characters, size.wanderers), (500, 200, 50));
        let lines = lines(&size, |number| number.to_string());
        let of = |kind: &str| -> Vec<&Value> {
            lines.iter().map(|line| &line[kind]).filter(|one| one.is_object()).collect()
        };
        let (places, characters) = (of("place"), of("character"));
        assert_eq!((places.len(), characters.len()), (500, 200));
        let things = places.iter().map(|place| place["things"].as_array().map_or(0, Vec::len));
        assert_eq!(things.sum::<usize>(), 5_000);
        assert!(of("item").iter().all(|item| item["pictureId"].is_string()));
        let keys = |all: &[&Value]| -> HashSet<String> {
            all.iter().map(|one| one["key"].to_string()).collect()
        };
        assert_eq!((keys(&places).len(), keys(&characters).len()), (500, 200));
        for line in &lines {
            assert!(serde_json::from_value::<ImportWorld>(line.clone()).is_ok(), "{line}");
        }
        // Each place is on the way somewhere.
        let from: HashSet<_> = of("exit").iter().map(|exit| exit["from"].to_string()).collect();
        assert_eq!(from, keys(&places));
    }
}
