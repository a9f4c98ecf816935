//! The things of an inventory: their names, and the contents of containers. An inventory is one flat list, in which
//! each thing names the container that it is in.

use std::{collections::HashSet, iter::successors};

use super::documents::{ItemDocument, ThingRecord};

impl ThingRecord {
    /// Pieces of an item.
    pub(super) fn of(item: &ItemDocument, id: String, quantity: i64, bonus: i64) -> Self {
        Self {
            id,
            item: item.id.clone(),
            name: item.name.clone(),
            plural: item.plural.clone(),
            quantity,
            bonus,
            stacks: item.stacks,
            slots: item.slots.clone(),
            capacity: item.capacity,
            inside: None,
            slot: None,
            price: None,
            leaving: None,
            arriving: None,
        }
    }

    /// Whether no unfinished move brings it or takes it away.
    pub(super) fn is_present(&self) -> bool {
        self.leaving.is_none() && self.arriving.is_none()
    }

    /// What it is called, such as `+3 wizard's hat` or `12 arrows`.
    pub(super) fn description(&self) -> String {
        if (self.quantity, self.bonus) == (1, 0) {
            return self.name.clone();
        }
        let bonus = if self.bonus == 0 { String::new() } else { format!("{:+} ", self.bonus) };
        match (self.quantity, &self.plural) {
            (1, _) => format!("{bonus}{}", self.name),
            (quantity, Some(plural)) => format!("{quantity} {bonus}{plural}"),
            (quantity, None) => format!("{quantity} × {bonus}{}", self.name),
        }
    }

    /// The same as the beginning of a list of its own: it is in no container, isn't worn, and has no price.
    pub(super) fn loose(&self) -> Self {
        Self { inside: None, slot: None, price: None, ..self.clone() }
    }
}

/// The thing with this id, unless an unfinished move brings it or takes it away.
pub(super) fn find<'a>(things: &'a [ThingRecord], id: &str) -> Option<&'a ThingRecord> {
    things.iter().find(|thing| thing.id == id && thing.is_present())
}

/// The thing with this id and all that it contains at any depth, in the order of the list.
pub(super) fn with_contents(things: &[ThingRecord], id: &str) -> Vec<ThingRecord> {
    let mut ids = HashSet::from([id]);
    // A container may stand behind its contents.
    loop {
        let is_inside = |thing: &&ThingRecord| {
            thing.inside.as_deref().is_some_and(|inside| ids.contains(inside))
        };
        let inner: Vec<&str> = things.iter().filter(is_inside).map(|thing| &*thing.id).collect();
        let known = ids.len();
        ids.extend(inner);
        if ids.len() == known {
            break;
        }
    }
    things.iter().filter(|thing| ids.contains(thing.id.as_str())).cloned().collect()
}

/// The containers that hold a thing, from the innermost to the outermost.
pub(super) fn around<'a>(things: &'a [ThingRecord], thing: &ThingRecord) -> Vec<&'a ThingRecord> {
    let holder = |thing: &ThingRecord| thing.inside.as_deref().and_then(|id| find(things, id));
    // No container holds itself. If a faulty document has such a circle, it isn't followed for ever.
    successors(holder(thing), |one| holder(one)).take(things.len()).collect()
}

/// Number of things that a container holds itself.
pub(super) fn count_inside(things: &[ThingRecord], container: &str) -> usize {
    things.iter().filter(|thing| thing.inside.as_deref() == Some(container)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(id: &str, inside: Option<&str>) -> ThingRecord {
        ThingRecord {
            id: id.into(),
            item: "item".into(),
            name: "wizard's hat".into(),
            plural: None,
            quantity: 1,
            bonus: 0,
            stacks: false,
            slots: Vec::new(),
            capacity: None,
            inside: inside.map(str::to_owned),
            slot: None,
            price: None,
            leaving: None,
            arriving: None,
        }
    }

    #[test]
    fn a_thing_is_called_by_bonus_and_number() {
        let hat = thing("a", None);
        assert_eq!(hat.description(), "wizard's hat");
        let enchanted = ThingRecord { bonus: 3, ..hat.clone() };
        assert_eq!(enchanted.description(), "+3 wizard's hat");
        let cursed = ThingRecord { bonus: -1, quantity: 2, ..hat.clone() };
        assert_eq!(cursed.description(), "2 × -1 wizard's hat");
        let many = ThingRecord { quantity: 12, plural: Some("arrows".into()), ..hat };
        assert_eq!(many.description(), "12 arrows");
    }

    #[test]
    fn contents_are_found_at_any_depth_and_in_any_order() {
        let all = [
            thing("coin", Some("purse")),
            thing("bag", None),
            thing("stone", None),
            thing("purse", Some("bag")),
        ];
        let ids = |id: &str| -> Vec<String> {
            with_contents(&all, id).into_iter().map(|thing| thing.id).collect()
        };
        assert_eq!(ids("bag"), ["coin", "bag", "purse"]);
        assert_eq!(ids("purse"), ["coin", "purse"]);
        assert_eq!(ids("stone"), ["stone"]);
        assert_eq!(count_inside(&all, "bag"), 1);
    }

    #[test]
    fn the_containers_around_a_thing_are_found_from_the_inside_out() {
        let all = [
            thing("coin", Some("purse")),
            thing("bag", None),
            thing("purse", Some("bag")),
            thing("egg", Some("hen")),
            thing("hen", Some("egg")),
        ];
        let ids = |at: usize| -> Vec<&str> {
            around(&all, &all[at]).into_iter().map(|thing| thing.id.as_str()).collect()
        };
        assert_eq!(ids(0), ["purse", "bag"]);
        assert!(ids(1).is_empty());
        assert_eq!(ids(2), ["bag"]);
        assert_eq!(ids(3).len(), all.len(), "a circle ends");
    }
}
