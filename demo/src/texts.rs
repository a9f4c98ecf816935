//! What the site says, in English, German and French.

/// The languages, in the order of every text below.
pub const LANGUAGES: [&str; 3] = ["en", "de", "fr"];

/// One text in each language.
type Text = [&'static str; 3];

/// One page.
pub struct Page {
    pub slug: &'static str,
    /// The slug under which it was published first.
    pub former: Option<&'static str>,
    pub title: Text,
    pub body: Text,
    /// Roles that may read it; none: everyone.
    pub access: &'static [&'static str],
}

/// One blog.
pub struct Blog {
    pub slug: &'static str,
    pub title: Text,
    pub subtitle: Text,
    pub topics: &'static [Topic],
    /// What its entries are made of, by language.
    pub sentences: [&'static [&'static str]; 3],
}

/// What an entry is about.
pub struct Topic {
    pub slug: &'static str,
    pub tag: &'static str,
    pub title: Text,
}

pub const PAGES: &[Page] = &[
    Page {
        slug: "welcome",
        former: None,
        title: ["Welcome", "Willkommen", "Bienvenue"],
        body: [
            "Albums, films, books and instruments, from people who use them.\n\nRead [the workshop's diary](/en/workshop) or [what we listen to](/en/listening).",
            "Alben, Filme, Bücher und Instrumente von Leuten, die damit leben.\n\nLesen Sie [das Tagebuch der Werkstatt](/de/workshop) oder [was wir hören](/de/listening).",
            "Des albums, des films, des livres et des instruments, par ceux qui s'en servent.\n\nLisez [le journal de l'atelier](/fr/workshop) ou [ce que nous écoutons](/fr/listening).",
        ],
        access: &[],
    },
    Page {
        slug: "delivery",
        former: Some("shipping"),
        title: ["Delivery", "Versand", "Livraison"],
        body: [
            "| to | days |\n|---|---|\n| Germany | 2 |\n| France | 3 |\n| elsewhere | 7 |\n\nInstruments travel in a crate.",
            "| nach | Tage |\n|---|---|\n| Deutschland | 2 |\n| Frankreich | 3 |\n| anderswo | 7 |\n\nInstrumente reisen in einer Kiste.",
            "| vers | jours |\n|---|---|\n| Allemagne | 2 |\n| France | 3 |\n| ailleurs | 7 |\n\nLes instruments voyagent dans une caisse.",
        ],
        access: &[],
    },
    Page {
        slug: "returns",
        former: None,
        title: ["Returns", "Rückgabe", "Retours"],
        body: [
            "Send back within **thirty days** what you don't want to keep. Records may have been played *once*.",
            "Schicken Sie innerhalb von **dreißig Tagen** zurück, was Sie nicht behalten wollen. Platten dürfen *einmal* gespielt sein.",
            "Renvoyez sous **trente jours** ce que vous ne voulez pas garder. Les disques peuvent avoir été joués *une fois*.",
        ],
        access: &[],
    },
    Page {
        slug: "staff",
        former: None,
        title: ["For our staff", "Für unsere Leute", "Pour notre équipe"],
        body: [
            "Stock is counted on the last Friday of the month. Only merchants can read this page.",
            "Am letzten Freitag des Monats wird gezählt. Diese Seite lesen nur Händler.",
            "Le stock est compté le dernier vendredi du mois. Seuls les marchands lisent cette page.",
        ],
        access: &["MERCHANT"],
    },
];

/// What galleries are called.
pub const GALLERY: Text = ["Pictures", "Bilder", "Photos"];

pub const BLOGS: &[Blog] = &[
    Blog {
        slug: "workshop",
        title: ["The workshop's diary", "Tagebuch der Werkstatt", "Journal de l'atelier"],
        subtitle: [
            "Wood, wire and patience",
            "Holz, Draht und Geduld",
            "Du bois, du fil et de la patience",
        ],
        topics: &[
            Topic {
                slug: "a-new-bench",
                tag: "tools",
                title: ["A new bench", "Eine neue Werkbank", "Un nouvel établi"],
            },
            Topic {
                slug: "strings-in-winter",
                tag: "strings",
                title: ["Strings in winter", "Saiten im Winter", "Les cordes en hiver"],
            },
            Topic {
                slug: "the-cracked-cello",
                tag: "strings",
                title: ["The cracked cello", "Das gerissene Cello", "Le violoncelle fendu"],
            },
            Topic {
                slug: "glue-and-time",
                tag: "wood",
                title: ["Glue and time", "Leim und Zeit", "La colle et le temps"],
            },
            Topic {
                slug: "an-old-piano",
                tag: "keys",
                title: ["An old piano", "Ein altes Klavier", "Un vieux piano"],
            },
            Topic {
                slug: "spruce-from-the-alps",
                tag: "wood",
                title: ["Spruce from the Alps", "Fichte aus den Alpen", "L'épicéa des Alpes"],
            },
        ],
        sentences: [
            &[
                "The wood had dried for nine years before we cut it.",
                "A good joint needs no glue, but it is no worse for a little.",
                "We tuned it in the morning and again at night.",
                "What sounds dull in the workshop often sings in the hall.",
                "Nobody hurries a varnish.",
                "The bridge was too high by the width of a hair.",
                "Old tools are kept sharp, new ones have to learn it.",
                "It took three of us to carry it up the stairs.",
            ],
            &[
                "Das Holz lag neun Jahre, bevor wir es geschnitten haben.",
                "Eine gute Verbindung braucht keinen Leim, aber etwas davon schadet nicht.",
                "Wir haben morgens gestimmt und abends noch einmal.",
                "Was in der Werkstatt dumpf klingt, singt oft im Saal.",
                "Lack lässt sich von niemandem drängen.",
                "Der Steg war um eine Haaresbreite zu hoch.",
                "Alte Werkzeuge bleiben scharf, neue müssen es lernen.",
                "Zu dritt haben wir es die Treppe hinaufgetragen.",
            ],
            &[
                "Le bois a séché neuf ans avant que nous le coupions.",
                "Un bon assemblage se passe de colle, mais un peu ne lui nuit pas.",
                "Nous l'avons accordé le matin, puis encore le soir.",
                "Ce qui sonne mat à l'atelier chante souvent dans la salle.",
                "Personne ne presse un vernis.",
                "Le chevalet était trop haut de l'épaisseur d'un cheveu.",
                "Les vieux outils restent tranchants, les neufs doivent l'apprendre.",
                "Il a fallu être trois pour le monter par l'escalier.",
            ],
        ],
    },
    Blog {
        slug: "listening",
        title: ["What we listen to", "Was wir hören", "Ce que nous écoutons"],
        subtitle: ["One record a week", "Jede Woche eine Platte", "Un disque par semaine"],
        topics: &[
            Topic {
                slug: "rain-on-tape",
                tag: "ambient",
                title: ["Rain on tape", "Regen auf Band", "La pluie sur bande"],
            },
            Topic {
                slug: "a-trio-at-night",
                tag: "jazz",
                title: ["A trio at night", "Ein Trio bei Nacht", "Un trio la nuit"],
            },
            Topic {
                slug: "songs-without-words",
                tag: "classical",
                title: ["Songs without words", "Lieder ohne Worte", "Chansons sans paroles"],
            },
            Topic {
                slug: "the-second-side",
                tag: "vinyl",
                title: ["The second side", "Die zweite Seite", "La deuxième face"],
            },
            Topic {
                slug: "drums-from-far-away",
                tag: "rhythm",
                title: ["Drums from far away", "Trommeln von weit her", "Des tambours lointains"],
            },
            Topic {
                slug: "a-choir-in-a-barn",
                tag: "voices",
                title: ["A choir in a barn", "Ein Chor in der Scheune", "Un chœur dans une grange"],
            },
        ],
        sentences: [
            &[
                "The best bar is the one in which nobody plays.",
                "One hears the room before one hears the band.",
                "On the second evening it is another record.",
                "The bass stays out of the way and carries everything.",
                "Somebody laughs at the end, and they left it in.",
                "It was recorded in one go, with the windows open.",
                "We lent it to a customer, who never brought it back.",
                "Play it loud once, and then quietly for a year.",
            ],
            &[
                "Der beste Takt ist der, in dem niemand spielt.",
                "Man hört den Raum, bevor man die Band hört.",
                "Am zweiten Abend ist es eine andere Platte.",
                "Der Bass steht niemandem im Weg und trägt alles.",
                "Am Ende lacht jemand, und sie haben es nicht herausgeschnitten.",
                "Es wurde in einem Zug aufgenommen, bei offenen Fenstern.",
                "Wir haben sie einem Kunden geliehen, der sie nie zurückgebracht hat.",
                "Einmal laut, und dann ein Jahr lang leise.",
            ],
            &[
                "La meilleure mesure est celle où personne ne joue.",
                "On entend la salle avant d'entendre le groupe.",
                "Le deuxième soir, c'est un autre disque.",
                "La basse ne gêne personne et porte tout.",
                "Quelqu'un rit à la fin, et ils l'ont gardé.",
                "Tout a été enregistré d'un trait, fenêtres ouvertes.",
                "Nous l'avons prêté à un client qui ne l'a jamais rendu.",
                "Une fois fort, puis doucement pendant un an.",
            ],
        ],
    },
];
