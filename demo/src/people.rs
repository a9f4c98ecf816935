//! The people who made the shop's products.

use std::collections::HashSet;

use super::{
    random::Random,
    words::{GIVEN, SURNAME_ENDS, SURNAME_STARTS},
};

/// The people of the shop by profession. Each contributed to a few works, the first ones to more.
pub struct Cast {
    /// All names, without duplicates.
    pub names: Vec<String>,
    /// Positions of the artists of albums.
    pub artists: Vec<usize>,
    /// Positions of the authors of books.
    pub authors: Vec<usize>,
    /// Positions of the directors of films.
    pub directors: Vec<usize>,
    /// Positions of the actors in films.
    pub actors: Vec<usize>,
}

impl Cast {
    /// A cast large enough for this many products.
    pub fn of(random: &mut Random, albums: usize, films: usize, books: usize) -> Self {
        let (artists, authors) = (albums / 8 + 4, books / 6 + 4);
        let (directors, actors) = (films / 8 + 3, films / 5 + 6);
        let names = names(random, artists + authors + directors + actors);
        let mut next = 0..names.len();
        let mut take = |count| next.by_ref().take(count).collect::<Vec<_>>();
        let mut cast = Self {
            artists: take(artists),
            authors: take(authors),
            directors: take(directors),
            actors: take(actors),
            names,
        };
        // Some people have two professions.
        cast.actors.extend(cast.artists.iter().step_by(25));
        cast.authors.extend(cast.directors.iter().step_by(10));
        cast.directors.extend(cast.actors.iter().step_by(30));
        cast
    }

    /// The name of a person.
    pub fn name(&self, person: usize) -> &str {
        &self.names[person]
    }
}

fn names(random: &mut Random, count: usize) -> Vec<String> {
    let mut used = HashSet::new();
    let mut names = Vec::with_capacity(count);
    while names.len() < count {
        let (given, start, end) =
            (random.pick(GIVEN), random.pick(SURNAME_STARTS), random.pick(SURNAME_ENDS));
        let middle = if random.chance(8) {
            format!(" {}.", &random.pick(GIVEN)[..1])
        } else {
            String::new()
        };
        let name = format!("{given}{middle} {start}{end}");
        if used.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}
