//! Writes that end the part of one document in a move. They give what was taken, or undo the taking.

use super::{
    super::documents::{
        CharacterDocument, CharacterState, Holder, HolderKind, Mark, RoomCopy, STRONGEST,
    },
    characters,
    parts::{Part, changed_of},
};
use crate::{
    app::App,
    flow::Change,
    mongo::{guarded::Alike, prelude::*},
};

/// What a part of a move changes in the arrays of its document. The mark doesn't tell it, so only the attempt that has taken
/// the part knows it. MongoDB then evaluates nothing of the other arrays.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Extent {
    /// Things leave.
    pub(in super::super) leaving: bool,
    /// Things arrive.
    pub(in super::super) arriving: bool,
    /// A character comes to a place or leaves it.
    pub(in super::super) players: bool,
}

impl Extent {
    /// Anything may be changed.
    pub(in super::super) const ANY: Self = Self { leaving: true, arriving: true, players: true };
}

/// Gives what the mark of a committed move promises, once. `room` is the copy of the place that a character goes to.
pub(in super::super) fn give(
    holder: &Holder,
    mark: &Mark,
    room: Option<&RoomCopy>,
    extent: Extent,
) -> Change<()> {
    let dropped = ("leaving", extent.leaving);
    let mut set = settled(holder.kind, mark, dropped, ("arriving", extent.arriving), extent);
    for (field, more) in [("gold", mark.earned), ("minted", mark.minted)] {
        if more != 0 {
            set.insert(field, doc! { "$add": [format!("${field}"), more] });
        }
    }
    if let (Some(to), Some(room)) = (&mark.to, room) {
        set.insert("place", literal(to));
        set.insert("room", literal(stored(room)));
    }
    if mark.begins == Some(true) {
        set.insert("state", literal(stored(&CharacterState::Alive)));
    }
    if let Some(changes) = &mark.changes {
        for (now, most, by, more) in [
            ("health", "maxHealth", changes.health, changes.max_health),
            ("mana", "maxMana", changes.mana, changes.max_mana),
        ] {
            let most_after = doc! { "$max": [1, { "$min": [STRONGEST,
            { "$add": [format!("${most}"), more] }] }] };
            let after = doc! { "$min": [&most_after, { "$max": [0,
            { "$add": [format!("${now}"), by] }] }] };
            set.insert(now, doc! { "$toLong": after });
            set.insert(most, doc! { "$toLong": most_after });
        }
    }
    of_mark(holder, mark, set)
}

/// Gives the part of a committed move of gold alone. Gifts of several moves share a statement: what each of them gives is in
/// its mark. Whether the mark was there makes no difference, as a mark is removed only by what it promises.
pub(in super::super) fn give_gold(app: &App, part: &Part) -> Guarded<CharacterDocument> {
    static GIFTS: Alike = Alike { name: "gifts of gold", is_certain: false, of: gifts_of_gold };
    let change = give(&part.found.holder(), &part.mark, None, part.extent());
    characters(app).change(change).alike(&GIFTS, &part.mark.attempt)
}

/// The guard of gifts of gold under these tries, and the fields that they set.
fn gifts_of_gold(tries: &[Bson]) -> (Document, Document) {
    let is_own = || doc! { "$in": ["$$this.try", literal(tries.to_vec())] };
    let earned = map("$marks", choose(is_own(), "$$this.earned", 0));
    let set = doc! {
        "gold": { "$add": ["$gold", { "$sum": earned }] },
        "marks": filter("$marks", not(is_own())),
        "markedAt": oldest_mark_but(is_own()),
    };
    let guard = doc! { "marks.try": { "$in": tries.to_vec() } };
    (guard, changed_of(HolderKind::Character, set))
}

/// Undoes what was taken under the mark of a try that is never committed.
pub(in super::super) fn undo(holder: &Holder, mark: &Mark) -> Change<()> {
    let mut set = settled(holder.kind, mark, ("arriving", true), ("leaving", true), Extent::ANY);
    set.insert("gold", doc! { "$add": ["$gold", mark.paid] });
    if mark.ends == Some(true) {
        set.insert("state", literal(stored(&CharacterState::Alive)));
    }
    of_mark(holder, mark, set)
}

/// A change that ends a mark. Its guard is that the mark is there.
fn of_mark(holder: &Holder, mark: &Mark, mut set: Document) -> Change<()> {
    set.insert("marks", without("$marks", "try", &mark.attempt));
    set.insert("markedAt", oldest_mark_but(element_is("try", &*mark.attempt)));
    let rules = [(contains("marks.try", &*mark.attempt), ())];
    Change::ruled(&*holder.id, rules, changed_of(holder.kind, set))
}

/// Expression: the time of the oldest mark beside those for which the condition holds. A second stage could compute it from
/// the marks that are left, but MongoDB has less work with one stage.
fn oldest_mark_but(is_own: Document) -> Document {
    let times = map("$marks", choose(is_own, Bson::Null, "$$this.at"));
    doc! { "$ifNull": [{ "$min": times }, "$$REMOVE"] }
}

/// The arrays after the end of a try: without the elements whose field `drop` names it, and with `keep` cleared. Beside
/// each field stands whether any thing may have it. An array that doesn't change is left out.
fn settled(
    kind: HolderKind,
    mark: &Mark,
    (drop, has_dropped): (&str, bool),
    (keep, has_kept): (&str, bool),
    extent: Extent,
) -> Document {
    let kept = |array: &str| {
        filter(array, doc! { "$ne": [format!("$$this.{drop}"), literal(&mark.attempt)] })
    };
    let cleared = |array: Bson| {
        let clear = doc! { "$unsetField": { "field": keep, "input": "$$this" } };
        map(array, choose(element_is(keep, &*mark.attempt), clear, "$$this"))
    };
    let things = if has_dropped { kept("$inventory") } else { "$inventory".into() };
    let mut set = Document::new();
    if has_kept {
        let is_own = doc! { "$and": [element_is(keep, &*mark.attempt), "$$this.stacks"] };
        let own = doc! { "$first": filter(things.clone(), is_own) };
        set.insert("inventory", merged(cleared(things), own));
    } else if has_dropped {
        set.insert("inventory", things);
    }
    if kind == HolderKind::Place && extent.players {
        set.insert("players", cleared(kept("$players")));
    }
    set
}

/// Expression: the things, of which the stack `own` is added to another one of its like, if there is one.
fn merged(things: Bson, own: Document) -> Bson {
    let same = |field: &str| {
        let value = |of: &str| doc! { "$ifNull": [format!("{of}.{field}"), Bson::Null] };
        doc! { "$eq": [value("$$this"), value("$$own")] }
    };
    let is_like = doc! { "$and": [
        "$$this.stacks",
        { "$ne": ["$$this.id", "$$own.id"] },
        same("item"), same("bonus"), same("price"), same("in"),
        is_missing("$this.leaving"), is_missing("$this.arriving"),
    ] };
    let sum = changed(doc! { "quantity": { "$add": ["$$this.quantity", "$$own.quantity"] } });
    let others = filter("$$things", doc! { "$ne": ["$$this.id", "$$own.id"] });
    let is_other = doc! { "$eq": ["$$this.id", "$$like.id"] };
    let added = map(others, choose(is_other, sum, "$$this"));
    let with_like = doc! { "$let": {
        "vars": { "like": { "$first": filter("$$things", is_like) } },
        "in": choose(doc! { "$eq": [{ "$type": "$$like" }, "object"] }, added, "$$things"),
    } };
    let has_own = doc! { "$eq": [{ "$type": "$$own" }, "object"] };
    doc! { "$let": {
        "vars": { "things": things, "own": own },
        "in": choose(has_own, with_like, "$$things"),
    } }
    .into()
}
