//! Invariants of the game, for `docgate check`.

use std::collections::{HashMap, HashSet};

use mongodb::bson::DateTime;

use super::{
    documents::{
        CharacterDocument, CharacterState, Mark, MoveDocument, MoveState, PlaceDocument,
        PlayerEntry, ThingRecord,
    },
    store,
};
use crate::{graphql::prelude::*, invariants::Report};

/// What is known of the world.
#[derive(Default)]
struct World {
    /// The tries of committed moves.
    committed: HashSet<String>,
    /// Where each thing is.
    things: HashMap<String, String>,
    twice: Vec<String>,
    homeless: Vec<String>,
    worn: Vec<String>,
    priced: Vec<String>,
    /// All gold, minus all gold that was made.
    surplus: i128,
    poor: Vec<String>,
    /// Documents with something under way that no sweep finds.
    stuck: Vec<String>,
    /// The place of each character, and those that the places have.
    at: HashMap<String, String>,
    seen: HashMap<String, Vec<String>>,
    /// Version of each place without a pending change, and of each copy.
    versions: HashMap<String, i64>,
    copies: Vec<(String, String, i64)>,
}

impl World {
    /// Whether an element is there when all moves are given or undone.
    fn is_there(&self, leaving: Option<&String>, arriving: Option<&String>) -> bool {
        leaving.is_none_or(|attempt| !self.committed.contains(attempt))
            && arriving.is_none_or(|attempt| self.committed.contains(attempt))
    }

    /// `sells` tells whether the holder's things may be for sale.
    fn enter_things(&mut self, holder: &str, things: &[ThingRecord], sells: bool) {
        let there =
            |thing: &&ThingRecord| self.is_there(thing.leaving.as_ref(), thing.arriving.as_ref());
        let there: Vec<&ThingRecord> = things.iter().filter(there).collect();
        let ids: HashSet<&str> = there.iter().map(|thing| &*thing.id).collect();
        let mut slots = Vec::new();
        for thing in there {
            let ThingRecord { id, quantity, .. } = thing;
            if let Some(other) = self.things.insert(id.clone(), holder.to_owned()) {
                self.twice.push(format!("thing {id:?}: {other} and {holder}"));
            }
            if thing.inside.as_deref().is_some_and(|inside| !ids.contains(inside)) {
                self.homeless.push(format!("thing {id:?} of {holder}"));
            }
            if *quantity < 1 || thing.slot.is_some_and(|slot| slots.contains(&slot)) {
                self.worn.push(format!("thing {id:?} of {holder}"));
            }
            if thing.price.is_some() && (!sells || thing.inside.is_some()) {
                self.priced.push(format!("thing {id:?} of {holder}"));
            }
            slots.extend(thing.slot);
        }
    }

    /// `elements` are the tries of the moves by which things leave and arrive. Without a mark of its try, a thing would never be
    /// given, and its move never undone.
    fn enter_marks<'a>(
        &mut self,
        holder: &str,
        mut elements: impl Iterator<Item = &'a String>,
        (marks, marked_at): (&[Mark], Option<DateTime>),
    ) {
        let is_marked = |attempt: &String| marks.iter().any(|mark| mark.attempt == *attempt);
        if marked_at.is_some() == marks.is_empty() || !elements.all(is_marked) {
            self.stuck.push(holder.to_owned());
        }
    }

    fn enter_gold(&mut self, holder: &str, gold: i64, minted: i64, marks: &[Mark]) {
        let (mut gold, mut minted) = (i128::from(gold), i128::from(minted));
        if gold < 0 {
            self.poor.push(holder.to_owned());
        }
        for mark in marks {
            if self.committed.contains(&mark.attempt) {
                gold += i128::from(mark.earned);
                minted += i128::from(mark.minted);
            } else {
                gold += i128::from(mark.paid);
            }
        }
        self.surplus += gold - minted;
    }

    fn enter_character(&mut self, character: &CharacterDocument) -> Result<()> {
        let holder = format!("character {:?}", character.id);
        let marks = (&*character.marks, character.marked_at);
        self.enter_marks(&holder, tries(&character.inventory), marks);
        let is_committed = |mark: &&Mark| self.committed.contains(&mark.attempt);
        let mut marks = character.marks.iter().filter(is_committed);
        let is_gone = marks.clone().any(|mark| mark.ends == Some(true));
        let is_unborn = character.state == CharacterState::Arriving && marks.clone().count() == 0;
        if is_gone || is_unborn {
            return Ok(());
        }
        let CharacterDocument { id, place, .. } = character;
        let version = character.room.get()?.version;
        let place = marks.find_map(|mark| mark.to.as_ref()).unwrap_or(place).clone();
        self.copies.push((id.clone(), place.clone(), version));
        self.at.insert(id.clone(), place);
        self.enter_things(&holder, &character.inventory, false);
        self.enter_gold(&holder, character.gold, character.minted, &character.marks);
        Ok(())
    }

    fn enter_place(&mut self, place: &PlaceDocument) {
        let holder = format!("place {:?}", place.id);
        self.enter_things(&holder, &place.inventory, true);
        self.enter_gold(&holder, place.gold, place.minted, &place.marks);
        let players = place.players.iter();
        let players = players.flat_map(|player| player.leaving.iter().chain(&player.arriving));
        let elements = tries(&place.inventory).chain(players);
        self.enter_marks(&holder, elements, (&*place.marks, place.marked_at));
        let there = |player: &&PlayerEntry| {
            self.is_there(player.leaving.as_ref(), player.arriving.as_ref())
        };
        let there: Vec<String> =
            place.players.iter().filter(there).map(|player| player.id.clone()).collect();
        for player in there {
            self.seen.entry(player).or_default().push(place.id.clone());
        }
        if place.pending_at.is_none() && place.marks.is_empty() {
            self.versions.insert(place.id.clone(), place.version);
        }
    }

    /// Characters that aren't at exactly the place where they are.
    fn lost(&mut self) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, place) in &self.at {
            let seen = self.seen.remove(id).unwrap_or_default();
            if seen != [place.as_str()] {
                lost.push(format!("character {id:?}: at {place:?}, seen at {seen:?}"));
            }
        }
        let ghosts = self.seen.iter().map(|(id, at)| format!("character {id:?}: seen at {at:?}"));
        lost.extend(ghosts);
        lost
    }

    fn outdated(&self) -> Vec<String> {
        let is_old = |(_, place, version): &&(String, String, i64)| {
            self.versions.get(place).is_some_and(|now| version < now)
        };
        let old = self.copies.iter().filter(is_old);
        old.map(|(id, place, version)| format!("character {id:?}: {place:?} {version}")).collect()
    }
}

/// The tries of the moves that take things away or bring them.
fn tries(things: &[ThingRecord]) -> impl Iterator<Item = &String> {
    things.iter().flat_map(|thing| thing.leaving.iter().chain(&thing.arriving))
}

/// Checks that each thing and each character is at one place, that nothing has a price beside what lies at a place in no
/// container, that gold is neither made nor lost, that copies are as new as their places, and that the sweep finds all
/// that is under way.
pub(super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut world = World::default();
    store::for_each(app, |decided: MoveDocument| {
        if decided.state == MoveState::Committed {
            world.committed.insert(decided.attempt);
        }
    })
    .await?;
    store::for_each(app, |place: PlaceDocument| world.enter_place(&place)).await?;
    let mut unreadable = None;
    store::for_each(app, |character: CharacterDocument| {
        if let Err(error) = world.enter_character(&character) {
            let id = &character.id;
            let error = format!("the room of character {id:?} can't be decoded: {error:?}");
            unreadable.get_or_insert(Error::internal(error));
        }
    })
    .await?;
    unreadable.map_or(Ok(()), Err)?;
    let lost = world.lost();
    let outdated = world.outdated();
    let surplus = if world.surplus == 0 { Vec::new() } else { vec![world.surplus.to_string()] };
    let rules: [(&str, Vec<String>); 9] = [
        ("things: each thing is in exactly one place", world.twice),
        ("things: each container of a thing is where the thing is", world.homeless),
        ("things: stacks have pieces, and each slot has one thing", world.worn),
        ("things: only what lies at a place, in no container, has a price", world.priced),
        ("gold: all gold adds up to what was made", surplus),
        ("gold: nobody has less than none", world.poor),
        ("characters: each is seen at its place, and nowhere else", lost),
        ("characters: copies of places are up to date, or pending", outdated),
        ("moves: what leaves or arrives has a mark, which the sweep finds", world.stuck),
    ];
    for (rule, broken) in rules {
        report.add(rule, broken);
    }
    Ok(())
}
