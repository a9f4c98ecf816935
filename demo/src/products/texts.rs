//! Sentences of descriptions. `{place}`, `{noun}`, `{a noun}`, `{genre}`, `{name}`, `{topic}` are
//! filled in.

use crate::{
    random::Random,
    words::{NOUNS, PLACES, TOPICS, one},
};

/// One of the texts with its blanks filled.
pub(super) fn filled(random: &mut Random, texts: &[&str], genre: &str, name: &str) -> String {
    let text = random.pick(texts);
    text.replace("{place}", random.pick(PLACES))
        .replace("{a noun}", &one(&random.pick(NOUNS).to_lowercase()))
        .replace("{noun}", &random.pick(NOUNS).to_lowercase())
        .replace("{topic}", &random.pick(TOPICS).to_lowercase())
        .replace("{genre}", genre)
        .replace("{name}", name)
}

/// How albums came about.
pub(super) const ALBUM_OPENINGS: &[&str] = &[
    "{name} recorded this album in four nights at {place}, with the windows open and one microphone.",
    "A return to {genre} after years of silence: {name} wrote every piece at a kitchen table in {place}.",
    "Recorded live at the old theatre of {place}, where {name} played three evenings in a row.",
    "{name} gathered seven musicians in a barn near {place} and let the tape run.",
    "The record with which {name} left {place} behind and found a sound of its own.",
    "{genre} at its most patient: long lines, a warm bass and the voice of {name} close to the ear.",
    "A late masterpiece. {name} revisits the songs of a childhood in {place} and changes each of them.",
    "Half studio, half street: {name} walked through {place} with a recorder and built {genre} from what was on it.",
];

/// What one hears.
pub(super) const ALBUM_ENDINGS: &[&str] = &[
    "The {noun} of the title returns in the last piece, slower and in another key.",
    "Remastered from the original tapes, with notes on every session.",
    "Pressed on heavy vinyl, with a booklet of photographs from {place}.",
    "Listeners who like {genre} with room to breathe will keep coming back.",
    "The brass arrangements alone are worth the evening.",
    "It closes with a long improvisation that was never meant to be released.",
    "Critics heard {a noun} in it; the players say it was the weather.",
    "Two unreleased takes and a rehearsal complete this edition.",
];

/// How films begin.
pub(super) const FILM_OPENINGS: &[&str] = &[
    "A piano tuner comes to {place} and finds that nobody there remembers the last ten years.",
    "Two sisters inherit a hotel in {place} and the debts that come with it.",
    "When the ferry to {place} stops running, five strangers must spend the winter together.",
    "A retired judge reopens the case that made her famous, and the {noun} at the heart of it.",
    "In {place}, a young cartographer is paid to leave one street off the map.",
    "A lighthouse keeper, a smuggler and a child cross the bay in a stolen boat.",
    "The night train to {place} arrives with one passenger more than it left with.",
    "A clockmaker is hired to build {a noun} that must never be finished.",
    "Three friends rob the only bank of {place} and are thanked for it.",
    "A translator hears a confession in a language that only she understands.",
    "An engineer returns to {place} to switch off the machine that she once designed.",
    "The last projectionist of {place} finds a reel that shows tomorrow's news.",
];

/// What one sees.
pub(super) const FILM_ENDINGS: &[&str] = &[
    "{name} directs with dry humour and an eye for rooms in which something has just happened.",
    "{name} tightens it scene by scene: {genre} at its best.",
    "{name} filmed it in sequence, in natural light and without a score.",
    "Restored in high resolution under the supervision of {name}.",
    "The long final shot took {name} eleven days, and is worth each of them.",
    "With this film {name} won the audience's prize at the festival of {place}.",
    "{name} turns a small story into one of the great evenings of its year.",
];

/// How stories begin.
pub(super) const STORY_OPENINGS: &[&str] = &[
    "Every autumn the people of {place} vote on which memory they will forget.",
    "An archivist finds her own handwriting in a letter that is two hundred years old.",
    "The {noun} was only ever meant to stand there for one summer.",
    "A family of bakers in {place} keeps a secret through four generations and two floods.",
    "Inspector Yarrow has a week left before retirement when the {noun} disappears.",
    "A botanist, a thief and a widow share the last carriage to {place}.",
    "When the river changes its course, the village of {place} wakes up in another country.",
    "Nobody had lived in the house by the {noun} since the night of the storm.",
    "A mapmaker's apprentice discovers that her master has been drawing {place} from memory, and that it is changing.",
    "On the longest night of the year a stranger asks for work at the inn of {place}.",
];

/// How books of knowledge begin.
pub(super) const KNOWLEDGE_OPENINGS: &[&str] = &[
    "How {topic} shaped trade, law and daily life, told through twelve objects and the people who made them.",
    "A clear and generous introduction to {topic}, for readers without any previous knowledge.",
    "Twenty years of field work in and around {place}, condensed into one surprising book about {topic}.",
    "What {topic} and {genre} have to do with each other, and why it took so long to notice.",
    "From the first sketches to the present day: the story of {topic} in maps, letters and figures.",
    "A practical companion with step-by-step instructions, drawings and an honest chapter on mistakes.",
    "Fifty short lessons on {topic}, each tested in the workshop at {place}.",
];

/// How books end.
pub(super) const BOOK_ENDINGS: &[&str] = &[
    "{name} writes with patience, wit and a sharp ear for what people leave unsaid.",
    "With a new afterword by {name}.",
    "{name} lives in {place} and has never written a dull page.",
    "The book with which {name} reached readers far beyond the circle of {genre}.",
    "Translated into nineteen languages and still without an equal.",
    "Richly illustrated, with notes, a glossary and an index.",
    "Perfect for long evenings, and impossible to put down after the third chapter.",
];

/// German descriptions of books.
pub(super) const GERMAN_BOOKS: &[&str] = &[
    "Als der Fluss seinen Lauf ändert, wacht das Dorf {place} in einem anderen Land auf. {name} erzählt davon mit Wärme und trockenem Humor.",
    "Eine Archivarin entdeckt in einem zweihundert Jahre alten Brief ihre eigene Handschrift. Ein Roman von {name}, der lange nachklingt.",
    "Vier Generationen, zwei Häuser, ein Geheimnis: {name} entwirft das Bild einer Familie zwischen {place} und dem Meer.",
    "Kommissarin Wald hat noch eine Woche bis zum Ruhestand, da verschwindet im Hafen von {place} ein Boot. Spannend und genau beobachtet von {name}.",
    "Was die Wälder über uns wissen: {name} führt durch Geschichte, Biologie und die schönsten Wanderungen rund um {place}.",
    "Fünfzig Rezepte aus der Backstube von {place}, Schritt für Schritt erklärt von {name}. Mit vielen Zeichnungen und einem Kapitel über Fehler.",
];

/// French descriptions of books.
pub(super) const FRENCH_BOOKS: &[&str] = &[
    "Quand la rivière change de cours, le village de {place} se réveille dans un autre pays. {name} raconte cette histoire avec tendresse et ironie.",
    "Une archiviste découvre sa propre écriture dans une lettre vieille de deux siècles. Un roman de {name} dont on se souvient longtemps.",
    "Quatre générations, deux maisons et un secret : {name} dessine le portrait d’une famille entre {place} et la mer.",
    "Une semaine avant la retraite de l’inspectrice Delmar, un bateau disparaît du port de {place}. Un récit tendu et précis de {name}.",
    "Ce que les forêts savent de nous : {name} mêle histoire, biologie et promenades autour de {place}.",
    "Cinquante recettes du fournil de {place}, expliquées pas à pas par {name}, avec des dessins et un chapitre sur les erreurs.",
];

/// What is said of instruments and gear.
pub(super) const GEAR_OPENINGS: &[&str] = &[
    "Built by hand at {place} and checked by three pairs of ears before it leaves the workshop.",
    "A dependable companion for the rehearsal room, the stage and the long way between them.",
    "Clear, open and without any colour of its own: made for people who listen closely.",
    "Designed together with the music school of {place} for players who practise every day.",
    "The successor of a workbench classic, with quieter electronics and a stronger case.",
    "Everything that matters and nothing that rattles.",
];

/// What comes with them.
pub(super) const GEAR_ENDINGS: &[&str] = &[
    "Comes with a padded bag and a cloth.",
    "Five years of guarantee; spare parts are kept for twenty.",
    "Delivered set up and ready to play.",
    "The manual is printed, short and funny.",
    "Packed without plastic.",
    "Also available for hire in our shop in {place}.",
];
