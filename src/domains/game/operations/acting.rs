//! The common part of all actions of players. It finds the character that acts, recognises repeats, and checks the
//! rules of the parts as they were read.

use super::{
    super::{
        documents::{
            CharacterDocument, LARGEST, MoveDocument, OWN_PLAYERS, PLAYERS, PlaceDocument, THINGS,
            ThingRecord,
        },
        store::{self, Found, Part, Reason, Split, characters, moves, places},
        things,
        types::{ForSale, InsufficientGold, NoRoom, Refuses, ThingWorn, Why},
    },
    moving::{Carried, Known, Next, carry, finish, is_alive, known},
};
use crate::{
    graphql::{
        declared::{Checked, Keyed},
        prelude::*,
    },
    mongo::{
        batched,
        condition::{Condition, Number, at_least, has_element, is, is_absent},
        expression::count,
    },
};

/// A call that acts with a character.
pub(super) struct Call<'a> {
    cx: Cx<'a>,
    op: Op,
    /// Whether the caller gave an idempotency key, so that the op may have been made before.
    is_keyed: bool,
    /// `_id` of the character.
    actor: &'a str,
    /// Subject of the player; `None` if the caller may act with any character.
    pub(super) owner: Option<&'a str>,
}

/// What a try of a call reads: the character, and the decision about the op's first move.
pub(super) type ForCall = (Option<CharacterDocument>, Option<MoveDocument>);

impl<'a> Call<'a> {
    /// The call of this mutation, with a character of the caller.
    pub(super) fn of_player(
        cx: Cx<'a>,
        mutation: &str,
        input: &Checked<impl Keyed>,
        actor: &'a str,
    ) -> Result<Self> {
        let owner = cx.requester.subject()?;
        let op = cx.op(&[owner, mutation], input);
        let is_keyed = input.idempotency_key().is_some();
        Ok(Self { cx, op, is_keyed, actor, owner: Some(owner) })
    }

    /// Begins an attempt with its first read.
    pub(super) async fn begin(&self) -> Result<(Attempt, ForCall)> {
        if self.is_keyed {
            let read = store::begin_with_move(&self.cx, self.actor, &self.op.id);
            let (attempt, found, decided) = read.await?;
            return Ok((attempt, (found, decided)));
        }
        let (attempt, found) = self.cx.begin_with(self.actor).await?;
        Ok((attempt, (found, None)))
    }

    /// The character, if the caller may act with it.
    pub(super) fn actor_of(
        &self,
        found: Option<CharacterDocument>,
    ) -> Result<CharacterDocument, Why> {
        let may_act =
            |found: &CharacterDocument| self.owner.is_none_or(|owner| found.owner == owner);
        let found = found.filter(|found| is_alive(found) && may_act(found));
        found.ok_or_else(|| no_character(self.actor))
    }

    /// Makes the move of the op, unless it was made before. `plan` returns its parts from the character.
    pub(super) async fn try_out<U, S>(
        &self,
        attempt: &Attempt,
        found: CharacterDocument,
        decided: Option<MoveDocument>,
        plan: impl FnOnce(CharacterDocument) -> S,
    ) -> Result<Step<CharacterDocument>, Stop<U>>
    where
        U: Refuses + From<Conflict>,
        S: Future<Output = Result<Vec<Part>, Stop<U>>>,
    {
        let Self { cx, op, actor, .. } = self;
        match known(cx, op, decided).await? {
            Known::Committed(decided) => {
                finish(cx, &decided).await?;
                let after = characters(cx).get_settled(actor).await?;
                Ok(Step::Done(after.ok_or_else(|| no_character(actor))?))
            }
            Known::OtherInput => Err(OtherInput.into()),
            Known::Fresh(next) => {
                let parts = plan(found).await?;
                Ok(match make::<U>(cx, attempt, op, &next, parts).await? {
                    Carried::Given(Some(after)) => Step::Done(*after),
                    Carried::Given(None) => return Err(no_character(actor).into()),
                    Carried::Again => Step::Again,
                    Carried::Wait => Step::Wait,
                })
            }
        }
    }
}

/// Acts with a character, once per op. `plan` returns the parts of the move from the character as it was read; the first
/// of them is the character's.
pub(super) async fn act<U, S>(
    call: &Call<'_>,
    plan: impl Fn(CharacterDocument) -> S,
) -> Result<CharacterDocument, Stop<U>>
where
    U: Refuses + From<Conflict>,
    S: Future<Output = Result<Vec<Part>, Stop<U>>>,
{
    let (plan, read) = (&plan, || async move { Ok(call.begin().await?) });
    decide(read, |attempt: Attempt, (found, decided): ForCall| async move {
        let found = call.actor_of(found)?;
        call.try_out(&attempt, found, decided, plan).await
    })
    .await
}

/// Like [`act`], with a second character, which is read beside the first one. `plan` gets it as well, if there is one.
pub(super) async fn act_with<U, S>(
    call: &Call<'_>,
    other: &str,
    plan: impl Fn(CharacterDocument, Option<CharacterDocument>) -> S,
) -> Result<CharacterDocument, Stop<U>>
where
    U: Refuses + From<Conflict>,
    S: Future<Output = Result<Vec<Part>, Stop<U>>>,
{
    let (plan, read) = (&plan, || async move {
        let characters = characters(&call.cx);
        let both = async { tokio::try_join!(call.begin(), characters.get_timed_settled(other)) };
        let ((attempt, for_call), other) = batched(both).await?;
        Ok((attempt, (for_call, other.map(|timed| timed.document))))
    });
    let step = |attempt: Attempt, (for_call, other): (ForCall, Option<CharacterDocument>)| async move {
        let (found, decided) = for_call;
        let found = call.actor_of(found)?;
        call.try_out(&attempt, found, decided, |found| plan(found, other)).await
    };
    decide(read, step).await
}

/// Makes the move, unless what was read of its parts refuses it.
pub(super) async fn make<U: Refuses>(
    app: &App,
    attempt: &Attempt,
    op: &Op,
    next: &Next,
    parts: Vec<Part>,
) -> Result<Carried, Stop<U>> {
    for part in &parts {
        if let Some(reason) = part.broken(attempt.now()) {
            return match refusal(part, reason) {
                Some(why) => Err(why.into()),
                None => Ok(Carried::Wait),
            };
        }
    }
    Ok(carry(app, attempt, op, next, parts).await?)
}

/// The refusal for this reason; `None` if another move is in the way.
fn refusal(part: &Part, reason: Reason) -> Option<Why> {
    let no_room =
        |message: &str, capacity: i64| Some(Why::NoRoom(NoRoom::because(message, Long(capacity))));
    match reason {
        Reason::InTheWay => None,
        Reason::NoRoom => no_room("there is no room for more things", count(THINGS)),
        Reason::Crowded => no_room("the place is crowded", count(PLAYERS)),
        Reason::TooManyOwn => no_room("too many characters of the player are there", OWN_PLAYERS),
        Reason::TooMuchGold => no_room("nobody can have that much gold", LARGEST),
        Reason::NoGold => {
            let (needed, available) = (part.mark.paid, part.found.gold());
            let message = format!("{needed} gold are needed, there are {available}");
            let (needed, available) = (Long(needed), Long(available));
            Some(Why::InsufficientGold(InsufficientGold::because(message, needed, available)))
        }
    }
}

/// There is no such character, or the caller can't know of it.
pub(super) fn no_character(id: &str) -> Why {
    NotFound::of(NodeKind::CHARACTER, id).into()
}

/// There is no such thing within reach.
pub(super) fn no_thing(id: &str) -> NotFound {
    NotFound::given("thing", id)
}

/// The place where a character is.
pub(super) async fn place_of(app: &App, character: &CharacterDocument) -> Result<PlaceDocument> {
    let place = places(app).get_settled(&character.place).await?;
    place.ok_or_else(|| Error::internal("the place of a character is gone"))
}

/// Whether the op's first move was decided; for flows that don't begin with a character.
pub(super) async fn first_move(app: &App, op: &Op) -> Result<Option<MoveDocument>> {
    moves(app).get_settled(&op.id).await
}

/// Which thing is handed out, how many pieces of it, and whether it has to have a price.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    /// Number of pieces; `None` for all.
    pub(super) quantity: Option<i64>,
    /// The price that it has to have.
    pub(super) price: Option<i64>,
}

impl Part {
    /// The part of a character.
    pub(super) fn of_character(character: CharacterDocument) -> Self {
        Self::of(Found::Character(Box::new(character)))
    }

    /// The part of a place.
    pub(super) fn of_place(place: PlaceDocument) -> Self {
        Self::of(Found::Place(Box::new(place)))
    }

    /// The part of a character's place, by the copy that the character has of it.
    pub(super) fn of_copied_place(character: &CharacterDocument) -> Result<Self> {
        let (id, things) = (character.place.clone(), character.room.get()?.things.clone());
        Ok(Self::of(Found::Copied { id, things }))
    }

    /// A thing leaves, with all that it contains. Returns what arrives at the receiver. `new_id` is the id of the pieces if
    /// the stack is split.
    pub(super) fn hands_out(
        &mut self,
        wanted: Wanted<'_>,
        new_id: String,
    ) -> Result<Vec<ThingRecord>, Why> {
        let Wanted { id, quantity, price } = wanted;
        let thing = things::find(self.found.things(), id).ok_or_else(|| no_thing(id))?.clone();
        if let Some(slot) = thing.slot {
            let message = format!("{} is worn or held", thing.description());
            return Err(Why::ThingWorn(ThingWorn::because(message, slot)));
        }
        match (thing.price, price) {
            (is, wanted) if is == wanted => {}
            (Some(is), _) => {
                let message = format!("{} is for sale for {is} gold each", thing.description());
                return Err(Why::ForSale(ForSale::because(message, Long(is))));
            }
            (None, _) => return Err(InvalidInput::new("thingId", "isn't for sale").into()),
        }
        self.demand_unoffered(&thing)?;
        let quantity = quantity.unwrap_or(thing.quantity);
        if quantity > thing.quantity {
            let reason = format!("there are only {}", thing.quantity);
            return Err(InvalidInput::new("quantity", reason).into());
        }
        let priced = match price {
            Some(price) => is("price", price),
            None => is_absent("price"),
        };
        if quantity < thing.quantity {
            let enough = at_least("quantity", quantity + 1);
            let as_read = present(id, [enough, priced, is_absent("slot"), is_in(&thing)]);
            self.demand(has_element("inventory", as_read), Reason::InTheWay);
            let piece = ThingRecord { id: new_id, quantity, ..thing };
            let arrives = piece.loose();
            self.split = Some(Split { from: id.to_owned(), piece });
            return Ok(vec![arrives]);
        }
        let there = self.found.things().iter().filter(|thing| thing.is_present());
        let all = things::with_contents(&there.cloned().collect::<Vec<_>>(), id);
        let mut rules = Vec::new();
        for one in &all {
            let mut as_read = present(&one.id, [is("quantity", one.quantity), is_in(one)]);
            if one.id == id {
                as_read.extend([priced.clone(), is_absent("slot")]);
            }
            rules.push(has_element("inventory", as_read));
        }
        if thing.capacity.is_some() {
            let inside = Condition::Any(all.iter().map(|one| is("in", &*one.id)).collect());
            let held = Number::Count("inventory".into(), Box::new(inside));
            rules.push(at_least(count(all.len() - 1), held));
        }
        for rule in rules {
            self.demand(rule, Reason::InTheWay);
        }
        self.leaving = all.iter().map(|one| one.id.clone()).collect();
        let arrives = |one: &ThingRecord| match &one.inside {
            Some(_) if one.id != id => ThingRecord { price: None, ..one.clone() },
            _ => one.loose(),
        };
        Ok(all.iter().map(arrives).collect())
    }

    /// No container that holds the thing, at any depth, is for sale: its contents are bought with it. The containers have to
    /// be as they were read.
    fn demand_unoffered(&mut self, thing: &ThingRecord) -> Result<(), Why> {
        let around = things::around(self.found.things(), thing);
        let offer = around.iter().rev().find_map(|one| Some((one, one.price?)));
        if let Some((container, price)) = offer {
            let (thing, container) = (thing.description(), container.description());
            let message = format!("{thing} is in {container}, which is for sale for {price} gold");
            return Err(Why::ForSale(ForSale::because(message, Long(price))));
        }
        let unoffered = |one: &&ThingRecord| present(&one.id, [is_absent("price"), is_in(one)]);
        let rules: Vec<_> =
            around.iter().map(|one| has_element("inventory", unoffered(one))).collect();
        for rule in rules {
            self.demand(rule, Reason::InTheWay);
        }
        Ok(())
    }
}

/// Condition on a thing: it is in the container in which it was read, or in none if it was in none.
fn is_in(thing: &ThingRecord) -> Condition {
    thing.inside.as_ref().map_or_else(|| is_absent("in"), |inside| is("in", &**inside))
}

/// Conditions on a thing that is there, and more.
fn present<const N: usize>(id: &str, more: [Condition; N]) -> Vec<Condition> {
    store::present(id).into_iter().chain(more).collect()
}
