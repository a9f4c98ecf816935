//! Changes within one inventory: putting things on and off, and moving them into and out of containers. Each is one
//! guarded update of the character as it was read, and a repeat changes nothing.

use super::{
    super::{
        documents::{CharacterDocument, EquipmentSlot, ThingRecord},
        store, things,
        types::{
            ContainerCycle, EquipInput, EquipResult, NoRoom, PutInContainerInput,
            PutInContainerResult, SlotTaken, TakeFromContainerInput, TakeFromContainerResult,
            ThingWorn, UnequipInput, UnequipResult,
        },
    },
    acting::{Call, ForCall, Wanted, no_thing},
    actions::take_up,
    moving::is_alive,
};
use crate::graphql::prelude::*;

/// Wears a thing, or takes it in a hand.
pub async fn equip(cx: Cx<'_>, input: EquipInput) -> Answer<EquipResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    rearrange(cx, subject, &input.character_id, |inventory| {
        let thing = own(inventory, &input.thing_id)?;
        let slots = &thing.slots;
        if slots.is_empty() || input.slot.is_some_and(|slot| !slots.contains(&slot)) {
            let field = if slots.is_empty() { "thingId" } else { "slot" };
            return Err(InvalidInput::new(field, "isn't where it can be worn or held").into());
        }
        if thing.inside.is_some() {
            return Err(InvalidInput::new("thingId", "is in a container").into());
        }
        let taken: Vec<EquipmentSlot> = inventory.iter().filter_map(|thing| thing.slot).collect();
        let is_free = |slot: &&EquipmentSlot| !taken.contains(slot);
        let slot = match (thing.slot, input.slot) {
            (Some(slot), wanted) if wanted.is_none_or(|wanted| wanted == slot) => return Ok(false),
            (Some(slot), _) => Err(slot),
            (None, Some(wanted)) => Some(wanted).filter(|slot| is_free(&slot)).ok_or(wanted),
            (None, None) => {
                let first = slots.first().copied().unwrap_or(EquipmentSlot::Body);
                slots.iter().find(is_free).copied().ok_or(first)
            }
        };
        let message = match thing.slot {
            Some(_) => "it is worn or held at another slot",
            None => "something is worn or held there already",
        };
        let taken = |slot| SlotTaken::because(message, slot);
        own_mut(inventory, &input.thing_id)?.slot = Some(slot.map_err(taken)?);
        Ok(true)
    })
    .await
}

/// Takes off a thing, or puts it from a hand into the inventory.
pub async fn unequip(cx: Cx<'_>, input: UnequipInput) -> Answer<UnequipResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    rearrange(cx, subject, &input.character_id, |inventory| {
        Ok(own_mut(inventory, &input.thing_id)?.slot.take().is_some())
    })
    .await
}

/// Puts a thing that the character carries into a container that it carries.
pub async fn put_in_container(
    cx: Cx<'_>,
    input: PutInContainerInput,
) -> Answer<PutInContainerResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let (id, container) = (&*input.thing_id, &*input.container_id);
    rearrange(cx, subject, &input.character_id, |inventory| {
        let thing = own(inventory, id)?;
        if let Some(slot) = thing.slot {
            return Err(ThingWorn::because("it is worn or held", slot).into());
        }
        let Some(capacity) = own(inventory, container)?.capacity else {
            return Err(InvalidInput::new("containerId", "isn't a container").into());
        };
        if things::with_contents(inventory, id).iter().any(|inner| inner.id == *container) {
            return Err(ContainerCycle::because("a container can't contain itself").into());
        }
        if thing.inside.as_deref() == Some(container) {
            return Ok(false);
        }
        if things::count_inside(inventory, container) >= usize::try_from(capacity).unwrap_or(0) {
            return Err(NoRoom::because("the container is full", Long(capacity)).into());
        }
        own_mut(inventory, id)?.inside = Some(container.to_owned());
        Ok(true)
    })
    .await
}

/// Takes a thing out of a container: one that the character carries, or one that lies at its place.
pub async fn take_from_container(
    cx: Cx<'_>,
    input: TakeFromContainerInput,
) -> Answer<TakeFromContainerResult> {
    let input = &input.checked()?;
    let call = &Call::of_player(cx, "takeFromContainer", input, &input.character_id)?;
    let id = &*input.thing_id;
    let wanted = Wanted { id, quantity: None, price: None };
    let take_out = |inventory: &mut Vec<ThingRecord>| {
        Ok::<_, Stop<TakeFromContainerResult>>(own_mut(inventory, id)?.inside.take().is_some())
    };
    let (take_out, read) = (&take_out, || async move { Ok(call.begin().await?) });
    decide(read, |attempt: Attempt, (found, decided): ForCall| async move {
        let found = call.actor_of(found)?;
        // A repeat finds its move, also if the thing is in a container of the character since.
        if decided.is_none() && things::find(&found.inventory, id).is_some() {
            return rearranged(cx, &attempt, found, take_out).await;
        }
        call.try_out(&attempt, found, decided, |character| take_up(cx, character, wanted, false))
            .await
    })
    .await
}

fn own<'a>(inventory: &'a [ThingRecord], id: &str) -> Result<&'a ThingRecord, NotFound> {
    things::find(inventory, id).ok_or_else(|| no_thing(id))
}

fn own_mut<'a>(
    inventory: &'a mut [ThingRecord],
    id: &str,
) -> Result<&'a mut ThingRecord, NotFound> {
    let found = inventory.iter_mut().find(|thing| thing.id == id && thing.is_present());
    found.ok_or_else(|| no_thing(id))
}

/// Changes the inventory of a character of the player. `change` returns whether it has changed something.
async fn rearrange<U: From<NotFound>>(
    cx: Cx<'_>,
    owner: &str,
    id: &str,
    change: impl Fn(&mut Vec<ThingRecord>) -> Result<bool, Stop<U>>,
) -> Result<CharacterDocument, Stop<U>> {
    let change = &change;
    let read = || async {
        let (attempt, found) = cx.begin_with::<CharacterDocument>(id).await?;
        let found = found.filter(|found| is_alive(found) && found.owner == owner);
        Ok((attempt, found.ok_or_else(|| NotFound::of(NodeKind::CHARACTER, id))?))
    };
    decide(read, |attempt: Attempt, found: CharacterDocument| async move {
        rearranged(cx, &attempt, found, change).await
    })
    .await
}

/// Changes the inventory of a character as it was read.
async fn rearranged<U: From<NotFound>>(
    cx: Cx<'_>,
    attempt: &Attempt,
    found: CharacterDocument,
    change: impl Fn(&mut Vec<ThingRecord>) -> Result<bool, Stop<U>>,
) -> Result<Step<CharacterDocument>, Stop<U>> {
    let mut inventory = found.inventory.clone();
    if !change(&mut inventory)? {
        return Ok(Step::Done(found));
    }
    let write = store::rearrange(&cx, &found, &inventory);
    Ok(Step::or_again(write.within(attempt).after().await?))
}
