//! The operations of the game's master: places, items, things, and changes of attributes.

use super::{
    super::{
        documents::{
            Changes, CharacterDocument, Exit, Holder, HolderKind, ItemDocument, PlaceDocument,
            ThingRecord,
        },
        store::{self, Part, characters, items, places},
        types::{
            ChangeAttributesInput, ChangeAttributesResult, CreateItemInput, CreateItemResult,
            CreatePlaceInput, CreatePlaceResult, MintItemInput, MintItemResult, SetExitInput,
            SetExitResult, Why,
        },
    },
    acting::{Call, act, first_move, make, no_character},
    copies::spread_soon,
    moving::{Carried, Known, finish, is_alive, known},
};
use crate::{
    domains::assets::operations::asset_by_id,
    graphql::prelude::*,
    mongo::{Version, expression::stored},
};

/// Creates a place, without exits.
pub async fn create_place(cx: Cx<'_>, input: CreatePlaceInput) -> Answer<CreatePlaceResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createPlace"], &input);
    let CreatePlaceInput { title, description, is_shop, gold, .. } = input.into_inner();
    let (description, gold) = (description.unwrap_or_default(), gold.map_or(0, |gold| gold.0));
    let place = fresh_place(&op, title, description, is_shop.unwrap_or(false), gold, Vec::new());
    let place = places(&cx).insert_once(place).await?;
    op.demand_same(&place.input)?;
    Ok(place)
}

/// A new place.
pub(in super::super) fn fresh_place(
    op: &Op,
    title: String,
    description: String,
    is_shop: bool,
    gold: i64,
    inventory: Vec<ThingRecord>,
) -> PlaceDocument {
    PlaceDocument {
        id: op.id.clone(),
        title,
        description,
        is_shop,
        exits: Vec::new(),
        players: Vec::new(),
        inventory,
        gold,
        minted: gold,
        marks: Vec::new(),
        marked_at: None,
        version: 1,
        pending_at: None,
        input: op.input.clone(),
        v: Version,
    }
}

/// Opens an exit to another place, or closes it. A repeat changes nothing.
pub async fn set_exit(cx: Cx<'_>, input: SetExitInput) -> Answer<SetExitResult> {
    let (_, input) = (cx.requester.subject()?, input.checked()?);
    let id = &*input.place_id;
    let to = input.to_place_id.as_deref().map(String::as_str);
    let direction = stored(&input.direction);
    let exit = match to {
        Some(to) => {
            // Places are never removed.
            let known = places(&cx).get_settled(to).await?;
            known.ok_or_else(|| NotFound::of(NodeKind::PLACE, to))?;
            if to == id {
                return Err(InvalidInput::new("toPlaceId", "is the place itself").into());
            }
            Some(Exit { direction: input.direction, to: to.to_owned() })
        }
        None => None,
    };
    let attempt = cx.begin().await?;
    let change = store::set_exit(&cx, id, &direction, exit.as_ref()).within(&attempt);
    if let Some(after) = change.then_read().await? {
        spread_soon(&cx, &[Holder { kind: HolderKind::Place, id: id.to_owned() }]);
        return Ok(after);
    }
    let found = places(&cx).get_settled(id).await?;
    Ok(found.ok_or_else(|| NotFound::of(NodeKind::PLACE, id))?)
}

/// Adds an item to the catalogue.
pub async fn create_item(cx: Cx<'_>, input: CreateItemInput) -> Answer<CreateItemResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createItem"], &input);
    if let Some(picture) = &input.picture_id
        && asset_by_id(cx, picture).await?.is_none()
        // A repeat is answered even if the asset is gone.
        && items(&cx).get_settled(&op.id).await?.is_none()
    {
        return Err(NotFound::of(NodeKind::ASSET, picture).into());
    }
    let item = items(&cx).insert_once(fresh_item(&op, input.into_inner())?).await?;
    op.demand_same(&item.input)?;
    Ok(item)
}

/// A new item of the catalogue.
///
/// # Errors
/// What doesn't go together names the field.
pub(in super::super) fn fresh_item(
    op: &Op,
    input: CreateItemInput,
) -> Result<ItemDocument, InvalidInput> {
    let stacks = input.is_stackable.unwrap_or(false);
    let slots = input.slots.unwrap_or_default();
    if stacks && (!slots.is_empty() || input.capacity.is_some()) {
        let reason = "isn't possible for what is worn or holds something";
        return Err(InvalidInput::new("isStackable", reason));
    }
    Ok(ItemDocument {
        id: op.id.clone(),
        name: input.name,
        plural: input.plural,
        description: input.description.unwrap_or_default(),
        price: input.price.0,
        weight: input.weight.map_or(0, i64::from),
        slots,
        capacity: input.capacity.map(i64::from),
        stacks,
        picture: input.picture_id.map(|id| id.0),
        input: op.input.clone(),
        v: Version,
    })
}

/// The document to which a thing was added.
#[derive(Debug)]
pub enum Minted {
    /// The character that carries it.
    Character(Box<CharacterDocument>),
    /// The place where it lies.
    Place(Box<PlaceDocument>),
}

/// Makes a thing of an item, once per op.
pub async fn mint_item(cx: Cx<'_>, input: MintItemInput) -> Answer<MintItemResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let item = items(&cx).get_settled(&input.item_id).await?;
    let item = &item.ok_or_else(|| NotFound::of(NodeKind::ITEM, &input.item_id))?;
    let holder = match (&input.character_id, &input.place_id) {
        (Some(character), None) => Holder { kind: HolderKind::Character, id: character.0.clone() },
        (None, Some(place)) => Holder { kind: HolderKind::Place, id: place.0.clone() },
        _ => {
            let reason = "exactly one of characterId and placeId must be set";
            return Err(InvalidInput::new("characterId", reason).into());
        }
    };
    if input.price.is_some() && holder.kind == HolderKind::Character {
        return Err(InvalidInput::new("price", "is for things at a place").into());
    }
    let op = &cx.op(&[subject, "mintItem"], input);
    let quantity = i64::from(input.quantity.unwrap_or(1));
    if quantity > 1 && !item.stacks {
        return Err(InvalidInput::new(
            "quantity",
            "must be 1, because the item doesn't form stacks",
        )
        .into());
    }
    let holder = &holder;
    let read = || async move {
        let attempt = cx.begin().await?;
        Ok((attempt, first_move(&cx, op).await?))
    };
    decide(read, |attempt: Attempt, decided| async move {
        let next = match known(&cx, op, decided).await? {
            Known::Committed(decided) => {
                finish(&cx, &decided).await?;
                return Ok(Step::Done(minted(cx, holder).await?));
            }
            Known::Fresh(next) => next,
            Known::OtherInput => return Err(OtherInput.into()),
        };
        let mut part = match minted(cx, holder).await? {
            Minted::Character(found) if !is_alive(&found) => {
                return Err(no_character(&holder.id).into());
            }
            Minted::Character(found) => Part::of_character(*found),
            Minted::Place(found) => Part::of_place(*found),
        };
        let bonus = i64::from(input.bonus.unwrap_or(0));
        let thing = ThingRecord::of(item, cx.ids().random(), quantity, bonus);
        let price = input.price.map(|price| price.0);
        part.receives(vec![ThingRecord { price, ..thing }]);
        Ok(match make::<MintItemResult>(&cx, &attempt, op, &next, vec![part]).await? {
            Carried::Given(Some(after)) => Step::Done(Minted::Character(after)),
            Carried::Given(None) => Step::Done(minted(cx, holder).await?),
            Carried::Again => Step::Again,
            Carried::Wait => Step::Wait,
        })
    })
    .await
}

/// The document to which a thing is added.
async fn minted(cx: Cx<'_>, holder: &Holder) -> Answer<MintItemResult> {
    let id = &*holder.id;
    Ok(match holder.kind {
        HolderKind::Character => {
            let found = characters(&cx).get_settled(id).await?;
            Minted::Character(Box::new(found.ok_or_else(|| no_character(id))?))
        }
        HolderKind::Place => {
            let found = places(&cx).get_settled(id).await?;
            let found = found.ok_or_else(|| Why::from(NotFound::of(NodeKind::PLACE, id)))?;
            Minted::Place(Box::new(found))
        }
    })
}

/// Changes health, mana and gold of any character by increments, once per op.
pub async fn change_attributes(
    cx: Cx<'_>,
    input: ChangeAttributesInput,
) -> Answer<ChangeAttributesResult> {
    let input = &input.checked()?;
    let mut call = Call::of_player(cx, "changeAttributes", input, &input.character_id)?;
    call.owner = None;
    let by = |number: Option<i32>| i64::from(number.unwrap_or(0));
    let changes = Changes {
        health: by(input.health),
        max_health: by(input.max_health),
        mana: by(input.mana),
        max_mana: by(input.max_mana),
    };
    let gold = input.gold.map_or(0, |gold| gold.0);
    act(&call, |character| {
        let mut part = Part::of_character(character);
        part.mark.changes = Some(changes.clone());
        part.mark.minted = gold;
        if gold < 0 {
            part.pays(-gold);
        } else {
            part.earns(gold);
        }
        async move { Ok(vec![part]) }
    })
    .await
}
