//! The actions of players with their characters: picking up, dropping, giving, walking, buying and selling.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{
    super::{
        documents::{CharacterDocument, PlayerEntry, ThingRecord},
        store::{Part, Reason, items, places, present},
        things,
        types::{
            BuyInput, BuyResult, DropInput, DropResult, GiveGoldInput, GiveGoldResult,
            GiveItemInput, GiveItemResult, MoveInput, MoveResult, NoExit, PickUpInput,
            PickUpResult, Refuses, SellInput, SellResult, Why, resale_price,
        },
    },
    acting::{Call, Wanted, act, act_with, no_character, no_thing, place_of},
    moving::is_alive,
};
use crate::{
    graphql::prelude::*,
    mongo::{
        condition::{exists, has_element, is},
        expression::stored,
    },
};

/// Picks up a thing that lies at the character's place, also from a container that lies there.
pub async fn pick_up(cx: Cx<'_>, input: PickUpInput) -> Answer<PickUpResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "pickUp", input, &input.character_id)?;
    let wanted = Wanted { id: &input.thing_id, quantity: pieces(input.quantity), price: None };
    let is_first = AtomicBool::new(true);
    act(call, |character| take_up(cx, character, wanted, is_first.swap(false, Ordering::Relaxed)))
        .await
}

/// The parts of the move of a thing from the place to the character. With `by_copy` they are planned by the copy that the
/// character has of its place, which spares the read of the place. The copy may be older. So what it refuses is planned by
/// the place itself, and if the place has changed since, its guard refuses the part, and the next try has to read it.
pub(super) async fn take_up<U: Refuses>(
    cx: Cx<'_>,
    character: CharacterDocument,
    wanted: Wanted<'_>,
    by_copy: bool,
) -> Result<Vec<Part>, Stop<U>> {
    let hands_out = |mut from: Part| {
        let things = from.hands_out(wanted, cx.ids().random())?;
        Ok::<_, Why>((from, things))
    };
    let from = by_copy.then(|| Part::of_copied_place(&character)).transpose()?;
    let copied = from.and_then(|from| hands_out(from).ok());
    let (from, things) = match copied {
        Some(planned) => planned,
        None => hands_out(Part::of_place(place_of(&cx, &character).await?))?,
    };
    let mut to = at_own_place(character);
    to.receives(things);
    Ok(vec![to, from])
}

/// The part of a character that has to stay where it was read.
fn at_own_place(character: CharacterDocument) -> Part {
    let place = character.place.clone();
    let mut part = Part::of_character(character);
    part.demand_at(&place);
    part
}

fn pieces(quantity: Option<i32>) -> Option<i64> {
    quantity.map(i64::from)
}

/// Drops a thing at the character's place.
pub async fn drop(cx: Cx<'_>, input: DropInput) -> Answer<DropResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "drop", input, &input.character_id)?;
    let wanted = Wanted { id: &input.thing_id, quantity: pieces(input.quantity), price: None };
    act(call, |character| async move {
        let mut to = Part::of_place(place_of(&cx, &character).await?);
        let mut from = at_own_place(character);
        to.receives(from.hands_out(wanted, cx.ids().random())?);
        Ok(vec![from, to])
    })
    .await
}

/// Gives a thing to another character at the same place.
pub async fn give_item(cx: Cx<'_>, input: GiveItemInput) -> Answer<GiveItemResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "giveItem", input, &input.character_id)?;
    let wanted = Wanted { id: &input.thing_id, quantity: pieces(input.quantity), price: None };
    let other = &*input.to_character_id;
    act_with(call, other, |character, found| async move {
        let mut to = receiver(&character, other, found)?;
        let mut from = at_own_place(character);
        to.receives(from.hands_out(wanted, cx.ids().random())?);
        Ok(vec![from, to])
    })
    .await
}

/// Gives gold to another character at the same place.
pub async fn give_gold(cx: Cx<'_>, input: GiveGoldInput) -> Answer<GiveGoldResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "giveGold", input, &input.character_id)?;
    let other = &*input.to_character_id;
    act_with(call, other, |character, found| async move {
        let mut to = receiver(&character, other, found)?;
        let mut from = at_own_place(character);
        from.pays(input.amount.0);
        to.earns(input.amount.0);
        Ok(vec![from, to])
    })
    .await
}

/// The part of another character as it was read. It has to be at the same place.
fn receiver(
    giver: &CharacterDocument,
    id: &str,
    other: Option<CharacterDocument>,
) -> Result<Part, Why> {
    if giver.id == id {
        return Err(InvalidInput::new("toCharacterId", "is the giver").into());
    }
    let other = other.filter(|other| is_alive(other) && other.place == giver.place);
    Ok(at_own_place(other.ok_or_else(|| no_character(id))?))
}

/// Moves a character through an exit of its place.
pub async fn r#move(cx: Cx<'_>, input: MoveInput) -> Answer<MoveResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "move", input, &input.character_id)?;
    let direction = input.direction;
    act(call, |character| async move {
        let here = place_of(&cx, &character).await?;
        let exit = here.exits.iter().find(|exit| exit.direction == direction);
        let Some(exit) = exit.cloned() else {
            let message = "there is no exit in this direction";
            return Err(Why::NoExit(NoExit::because(message, direction)).into());
        };
        let there = places(&cx).get_settled(&exit.to).await?;
        let there = there.ok_or_else(|| Error::internal("an exit leads nowhere"))?;
        let player = PlayerEntry::of(&character);

        let mut from = Part::of_place(here);
        let open = has_element("exits", [is("direction", stored(&direction)), is("to", &*exit.to)]);
        from.demand(open, Reason::InTheWay);
        from.demand(has_element("players", present(&character.id)), Reason::InTheWay);
        from.leaves = Some(character.id.clone());

        let mut to = Part::of_place(there);
        to.welcomes(player);

        let mut walker = at_own_place(character);
        let walks = has_element("marks", [exists("to")]);
        walker.demand(walks.negated(), Reason::InTheWay);
        walker.mark.to = Some(exit.to);
        Ok(vec![walker, from, to])
    })
    .await
}

/// Buys a thing that is for sale at the character's place.
pub async fn buy(cx: Cx<'_>, input: BuyInput) -> Answer<BuyResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "buy", input, &input.character_id)?;
    let price = input.price.0;
    let wanted =
        Wanted { id: &input.thing_id, quantity: pieces(input.quantity), price: Some(price) };
    act(call, |character| async move {
        let mut shop = Part::of_place(place_of(&cx, &character).await?);
        let things = shop.hands_out(wanted, cx.ids().random())?;
        let total = total(&things, price)?;
        shop.earns(total);
        let mut buyer = at_own_place(character);
        buyer.pays(total);
        buyer.receives(things);
        Ok(vec![buyer, shop])
    })
    .await
}

/// Sells a thing to the shop at the character's place, which pays a part of the item's price.
pub async fn sell(cx: Cx<'_>, input: SellInput) -> Answer<SellResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "sell", input, &input.character_id)?;
    let wanted = Wanted { id: &input.thing_id, quantity: pieces(input.quantity), price: None };
    act(call, |character| async move {
        let place = place_of(&cx, &character).await?;
        if !place.is_shop {
            let reason = "is at a place where nobody buys";
            return Err(Why::from(InvalidInput::new("characterId", reason)).into());
        }
        let id = wanted.id;
        let found = things::find(&character.inventory, id);
        let found = found.ok_or_else(|| Why::from(no_thing(id)))?;
        if things::count_inside(&character.inventory, id) > 0 {
            let reason = "is a container that isn't empty";
            return Err(Why::from(InvalidInput::new("thingId", reason)).into());
        }
        let item = items(&cx).get(&found.item).await?;
        let item = item.ok_or_else(|| Error::internal("the item of a thing is gone"))?;

        let mut seller = at_own_place(character);
        let things = seller.hands_out(wanted, cx.ids().random())?;
        let total = total(&things, resale_price(&item))?;
        seller.earns(total);
        let mut shop = Part::of_place(place);
        shop.pays(total);
        let price = Some(item.price);
        shop.receives(things.into_iter().map(|thing| ThingRecord { price, ..thing }).collect());
        Ok(vec![seller, shop])
    })
    .await
}

/// Price of all pieces of what is sold. What a container holds is free.
fn total(things: &[ThingRecord], price: i64) -> Result<i64, Why> {
    let sold = things.iter().filter(|thing| thing.inside.is_none());
    let quantity: i64 = sold.map(|thing| thing.quantity).sum();
    let too_much = || InvalidInput::new("quantity", "costs more gold than there is").into();
    quantity.checked_mul(price).ok_or_else(too_much)
}
