//! What people say about products and blog entries.

use crate::{
    random::Random,
    words::{NOUNS, PLACES},
};

/// Beginnings and endings of comments.
#[derive(Debug, Clone, Copy)]
pub struct Phrases {
    openings: &'static [&'static str],
    endings: &'static [&'static str],
}

/// Phrases about products.
pub const REMARKS: Phrases = Phrases {
    openings: &[
        "I came to this by way of {place} and stayed for the {noun}.",
        "Bought it for my brother, kept it myself.",
        "Has anyone else noticed the {noun} halfway through?",
        "Better than the last one, and the last one was good.",
        "I don't see what all the praise is about.",
        "It arrived in {place} in two days, well packed.",
        "My third copy. The first two are with friends.",
        "A little worn at the edges, like everything from {place}.",
        "You have to give it time.",
        "The description says little about the {noun}, which is the best of it.",
    ],
    endings: &[
        "",
        " Worth every cent.",
        " Would buy it again.",
        " Half a star less for the cover.",
        " Ask in the shop in {place}, they know more.",
        " And no, the {noun} is not a mistake.",
        " I agree with what was said above.",
        " Can somebody tell me where to find the earlier edition?",
    ],
};

/// Phrases about a blog entry.
pub const THOUGHTS: Phrases = Phrases {
    openings: &[
        "I had wondered about the {noun} for years.",
        "We do it the other way round in {place}, and it holds as well.",
        "Thank you for writing this down.",
        "My father built his own, and it is still in use.",
        "The part about the {noun} made me laugh.",
        "Is there a picture of it anywhere?",
    ],
    endings: &[
        "",
        " Please write more of this.",
        " How long did it take?",
        " I will try it on Sunday.",
        " Greetings from {place}.",
    ],
};

impl Phrases {
    /// A random comment.
    pub fn pick(&self, random: &mut Random) -> String {
        let phrase = [random.pick(self.openings), random.pick(self.endings)].concat();
        phrase
            .replace("{place}", random.pick(PLACES))
            .replace("{noun}", &random.pick(NOUNS).to_lowercase())
    }
}
