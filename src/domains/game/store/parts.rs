//! Writes that begin the part of one document in a move. They take things from it, or reserve room in it. `ends` has
//! the writes that end it.
//!
//! A thing that is taken stays where it is, with `leaving`; its copy at the receiver has `arriving`. Both name the try
//! of the move. Giving removes the things that leave and clears `arriving`. Undoing removes the things that arrive and
//! clears `leaving`. The same is done with the characters at a place. So room is reserved and kept without a counter.

use super::{
    super::documents::{
        CharacterDocument, CharacterState, Holder, HolderKind, LARGEST, MARKS, Mark, OWN_PLAYERS,
        PLAYERS, PlaceDocument, PlayerEntry, THINGS, ThingRecord,
    },
    ends::Extent,
};
use crate::{flow::Change, mongo::prelude::*};

/// Why a part of a move isn't taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Reason {
    /// There is no room for things.
    NoRoom,
    /// There is no room for characters.
    Crowded,
    /// There are too many characters of the player.
    TooManyOwn,
    /// There is less gold.
    NoGold,
    /// There would be too much gold.
    TooMuchGold,
    /// The document isn't as it was read, or another move is in the way.
    InTheWay,
}

/// A document that takes part in a move, as it was read.
#[derive(Debug)]
pub(in super::super) enum Found {
    /// A character.
    Character(Box<CharacterDocument>),
    /// A place.
    Place(Box<PlaceDocument>),
    /// A place by the copy that a character has of it, which may be older. Its gold and its marks aren't known.
    Copied {
        /// `_id` of the place.
        id: String,
        /// What lies there.
        things: Vec<ThingRecord>,
    },
    /// A character that the move creates.
    Newborn(Box<CharacterDocument>),
}

/// A part of a stack that is taken.
#[derive(Debug)]
pub(in super::super) struct Split {
    /// Id of the stack.
    pub(in super::super) from: String,
    /// The pieces, as a stack of their own.
    pub(in super::super) piece: ThingRecord,
}

/// The part of one document in a move.
#[derive(Debug)]
pub(in super::super) struct Part {
    pub(in super::super) found: Found,
    pub(in super::super) rules: Vec<(Condition, Reason)>,
    /// Ids of the things that leave.
    pub(in super::super) leaving: Vec<String>,
    pub(in super::super) split: Option<Split>,
    pub(in super::super) arriving: Vec<ThingRecord>,
    /// `_id` of the character that leaves a place.
    pub(in super::super) leaves: Option<String>,
    /// The character that comes to a place.
    pub(in super::super) enters: Option<PlayerEntry>,
    /// What else is noted of the part.
    pub(in super::super) mark: Mark,
}

impl Found {
    pub(in super::super) fn holder(&self) -> Holder {
        let (kind, id) = match self {
            Self::Character(found) | Self::Newborn(found) => (HolderKind::Character, &found.id),
            Self::Place(found) => (HolderKind::Place, &found.id),
            Self::Copied { id, .. } => (HolderKind::Place, id),
        };
        Holder { kind, id: id.clone() }
    }

    pub(in super::super) fn things(&self) -> &[ThingRecord] {
        match self {
            Self::Character(found) | Self::Newborn(found) => &found.inventory,
            Self::Place(found) => &found.inventory,
            Self::Copied { things, .. } => things,
        }
    }

    pub(in super::super) fn gold(&self) -> i64 {
        match self {
            Self::Character(found) | Self::Newborn(found) => found.gold,
            Self::Place(found) => found.gold,
            Self::Copied { .. } => 0,
        }
    }

    pub(in super::super) fn marks(&self) -> &[Mark] {
        match self {
            Self::Character(found) | Self::Newborn(found) => &found.marks,
            Self::Place(found) => &found.marks,
            Self::Copied { .. } => &[],
        }
    }

    /// The stored fields that these rules depend on; a character carries a copy of its whole place beside them.
    fn fields_of(&self, rules: &[(Condition, Reason)]) -> Document {
        let mut fields = Document::new();
        for name in rules.iter().flat_map(|(condition, _)| condition.fields()) {
            if fields.contains_key(name) {
                continue;
            }
            let value = match (name, self) {
                ("inventory", _) => stored(&self.things()),
                ("gold", _) => self.gold().into(),
                ("marks", _) => stored(&self.marks()),
                ("state", Self::Character(found)) => stored(&found.state),
                ("place", Self::Character(found)) => (&*found.place).into(),
                (_, Self::Character(found) | Self::Newborn(found)) => {
                    return stored_fields(&**found);
                }
                ("players", Self::Place(found)) => stored(&found.players),
                (_, Self::Place(found)) => return stored_fields(&**found),
                (_, Self::Copied { .. }) => continue,
            };
            fields.insert(name, value);
        }
        fields
    }
}

/// Conditions on an element of an array: it has this id, and no unfinished move brings or takes them away.
pub(in super::super) fn present(id: &str) -> Vec<Condition> {
    vec![is("id", id), is_absent("leaving"), is_absent("arriving")]
}

impl Part {
    /// The part of a document that lives on.
    pub(in super::super) fn of(found: Found) -> Self {
        let mut rules = vec![(has_room("marks", count(MARKS)), Reason::InTheWay)];
        if let Found::Character(_) = found {
            rules.push((is("state", stored(&CharacterState::Alive)), Reason::InTheWay));
        }
        Self {
            found,
            rules,
            leaving: Vec::new(),
            split: None,
            arriving: Vec::new(),
            leaves: None,
            enters: None,
            mark: Mark::default(),
        }
    }

    /// The reason of the first rule that the document as it was read breaks, if there is one.
    pub(in super::super) fn broken(&self, now: DateTime) -> Option<Reason> {
        let fields = self.found.fields_of(&self.rules);
        let broken = self.rules.iter().find(|(condition, _)| !condition.holds(&fields, now));
        broken.map(|(_, reason)| *reason)
    }

    /// Adds a rule.
    pub(in super::super) fn demand(&mut self, condition: Condition, otherwise: Reason) {
        self.rules.push((condition, otherwise));
    }

    /// The character is at this place.
    pub(in super::super) fn demand_at(&mut self, place: &str) {
        self.demand(is("place", place), Reason::InTheWay);
    }

    /// Gold is paid.
    pub(in super::super) fn pays(&mut self, gold: i64) {
        self.mark.paid = gold;
        self.demand(at_least("gold", gold), Reason::NoGold);
    }

    /// Gold comes. With the gold of moves that aren't given or undone yet it must not be too much either. That rule implies
    /// the first one, as no move takes or brings less than none. The first one gives the reason.
    pub(in super::super) fn earns(&mut self, gold: i64) {
        self.mark.earned = gold;
        self.demand(at_least(LARGEST - gold, "gold"), Reason::TooMuchGold);
        let open = ["gold", "marks.earned", "marks.paid"].map(String::from).to_vec();
        self.demand(at_least(LARGEST - gold, Number::Total(open)), Reason::InTheWay);
    }

    /// Things come, for which there must be room.
    pub(in super::super) fn receives(&mut self, things: Vec<ThingRecord>) {
        let room = count(THINGS) - count(things.len());
        self.demand(at_least(room, Number::Size("inventory".into())), Reason::NoRoom);
        self.arriving = things;
    }

    /// A character comes to a place, for which there must be room.
    pub(in super::super) fn welcomes(&mut self, player: PlayerEntry) {
        let of_player = Number::Count("players".into(), Box::new(is("by", &*player.by)));
        self.demand(has_room("players", count(PLAYERS)), Reason::Crowded);
        self.demand(at_least(OWN_PLAYERS - 1, of_player), Reason::TooManyOwn);
        self.enters = Some(player);
    }

    /// The taking: what leaves and what arrives gets its mark.
    pub(in super::super) fn take(&self) -> Change<Reason> {
        let attempt = &self.mark.attempt;
        let unmarked = contains("marks.try", &**attempt).negated();
        // See `earns`.
        let needed = self.rules.iter().filter(|(_, reason)| *reason != Reason::TooMuchGold);
        let guard = needed.map(|(condition, _)| condition).chain([&unmarked]);
        let rules = self.rules.iter().cloned().chain([(unmarked.clone(), Reason::InTheWay)]);
        let mut set = doc! {
            "marks": append("$marks", vec![self.mark_now()]),
            // None of the marks before is younger.
            "markedAt": { "$ifNull": ["$markedAt", "$$NOW"] },
        };
        let extent = self.extent();
        if extent.leaving || extent.arriving {
            set.insert("inventory", self.inventory());
        }
        if self.mark.paid != 0 {
            set.insert("gold", doc! { "$subtract": ["$gold", self.mark.paid] });
        }
        if self.mark.ends == Some(true) {
            set.insert("state", literal(stored(&CharacterState::Leaving)));
        }
        let holder = self.found.holder();
        if extent.players {
            set.insert("players", self.players());
        }
        Change::ruled_and_guarded(holder.id, guard, rules, changed_of(holder.kind, set))
    }

    /// Whether it is the part of a character that pays or earns gold, and nothing else.
    pub(in super::super) fn is_gold_alone(&self) -> bool {
        let Extent { leaving, arriving, players } = self.extent();
        let Mark { minted, to, changes, begins, ends, .. } = &self.mark;
        let is_more = leaving || arriving || players || *minted != 0 || to.is_some();
        let is_changed = changes.is_some() || begins.is_some() || ends.is_some();
        matches!(self.found, Found::Character(_)) && !is_more && !is_changed
    }

    /// What it changes.
    pub(in super::super) fn extent(&self) -> Extent {
        Extent {
            leaving: !self.leaving.is_empty() || self.split.is_some(),
            arriving: !self.arriving.is_empty(),
            players: self.leaves.is_some() || self.enters.is_some(),
        }
    }

    /// Expression: the mark with the server's time.
    fn mark_now(&self) -> Bson {
        let mark = Mark { at: None, ..self.mark.clone() };
        doc! { "$mergeObjects": [literal(stored(&mark)), { "at": "$$NOW" }] }.into()
    }

    fn inventory(&self) -> Bson {
        let attempt = &self.mark.attempt;
        let mut inventory = Bson::from("$inventory");
        if !self.leaving.is_empty() {
            let is_one = doc! { "$and": [
                { "$in": ["$$this.id", literal(self.leaving.clone())] },
                is_missing("$this.leaving"), is_missing("$this.arriving"),
            ] };
            let leaving = changed(doc! { "leaving": literal(attempt) });
            inventory = map(inventory, choose(is_one, leaving, "$$this"));
        }
        let mut more = Vec::new();
        if let Some(Split { from, piece }) = &self.split {
            let rest = doc! { "$subtract": ["$$this.quantity", piece.quantity] };
            inventory = map(
                inventory,
                choose(is_present(from), changed(doc! { "quantity": rest }), "$$this"),
            );
            let piece = ThingRecord { leaving: Some(attempt.clone()), ..piece.clone() };
            more.push(literal(stored(&piece)));
        }
        more.extend(self.arriving.iter().map(|thing| {
            let thing = ThingRecord { arriving: Some(attempt.clone()), ..thing.clone() };
            literal(stored(&thing))
        }));
        if more.is_empty() { inventory } else { append(inventory, more) }
    }

    fn players(&self) -> Bson {
        let attempt = &self.mark.attempt;
        let mut players = Bson::from("$players");
        if let Some(id) = &self.leaves {
            let leaving = changed(doc! { "leaving": literal(attempt) });
            players = map(players, choose(is_present(id), leaving, "$$this"));
        }
        if let Some(player) = &self.enters {
            let player = PlayerEntry { arriving: Some(attempt.clone()), ..player.clone() };
            players = append(players, vec![literal(stored(&player))]);
        }
        players
    }
}

/// Expression: an element has this id, and no unfinished move brings or takes it away. There may be another one with this
/// id, whose leaving is decided.
fn is_present(id: &str) -> Document {
    doc! { "$and": [
        element_is("id", id), is_missing("$this.leaving"), is_missing("$this.arriving"),
    ] }
}

/// The fields of any change of a document: its version, and of a place the time since which copies are older.
pub(super) fn changed_of(kind: HolderKind, mut set: Document) -> Document {
    set.insert("version", doc! { "$add": ["$version", 1] });
    if kind == HolderKind::Place {
        set.insert("pendingAt", doc! { "$ifNull": ["$pendingAt", "$$NOW"] });
    }
    set
}
