//! The commands that don't name the shard key of their collection. A router sends each of them to all shards, and merges
//! their replies. The tests fail on a command that names no key and isn't listed here; `docs/SHARDING.md` has the list as
//! a table.

/// A kind of commands that go to all shards.
#[derive(Debug, Clone, Copy)]
pub struct Broadcast {
    /// The collection as its room declares it, or `*` for any.
    pub collection: &'static str,
    /// MongoDB's name of the command, such as `find`.
    pub command: &'static str,
    /// The fields that its filter restricts, separated by spaces. It may restrict others too. A range of `_id` doesn't
    /// count. Of an aggregation that doesn't begin with a filter it is the first stage.
    pub fields: &'static str,
    /// Why it doesn't name the key.
    pub reason: &'static str,
}

/// The listed kind of a command, if there is one. `fields` are those that its filter restricts.
pub fn listed(collection: &str, command: &str, fields: &[&str]) -> Option<&'static Broadcast> {
    let has_all = |all: &str| match all {
        "" => fields.is_empty(),
        all => all.split(' ').all(|field| fields.contains(&field)),
    };
    BROADCASTS.iter().find(|one| {
        let is_of = one.collection == "*" || one.collection == collection;
        is_of && one.command == command && has_all(one.fields)
    })
}

/// Declares the list: for each collection its commands, each with the fields and the reason.
macro_rules! broadcasts {
    ($( $collection:literal { $( $command:ident $fields:literal = $reason:literal, )+ } )+) => {
        /// Every kind of commands that go to all shards. None is an upsert or a `findAndModify`: a router refuses those
        /// without a key. A single update or delete without the key names `_id`.
        pub const BROADCASTS: &[Broadcast] = &[$($(
            Broadcast {
                collection: $collection,
                command: stringify!($command),
                fields: $fields,
                reason: $reason,
            },
        )+)+];
    };
}

broadcasts! {
    "*" {
        aggregate "$changeStream" = "watch: one stream follows the changes of a collection",
        aggregate "$project" = "check: compares all documents, for `docgate check`",
        aggregate "$group" = "check: lists what documents refer to, for `docgate check`",
        find "" = "check: reads all documents in the order of `_id`, for `docgate check`, `docgate migrate` and `docgate person`",
    }
    // Catalog.
    "products" {
        find "pricing.pctSavings" = "list: products by discount",
        find "details.genres" = "list: products of a genre",
        find "issued" = "list: all products, newest first",
        find "type" = "list: products of a type",
        find "contributors" = "list: products of a person",
        find "titleKey" = "list: products by the beginning of their title",
        aggregate "$text" = "list: products by words",
        find "search.words" = "list: suggestions for words",
        find "search.typos" = "list: suggestions for words with a typing error",
        find "slugs" = "list: the product with a slug",
        find "categories.path" = "list: products of a category",
        find "categories.parentPath" = "list: products of a category's children",
        find "categories.within" = "list: products below a category",
        find "discussion.rating.score" = "list: products by rating",
        find "properties" = "list: products with properties",
        find "meta.pairs" = "list: products with a pair of metadata",
        find "numbers" = "list: products with numbers of ranges",
        find "pricing.currency" = "list: products by price, or by price and weight",
        aggregate "categories._id" = "search: whether a category has products",
        update "categories._id" = "copies: a category changed, whose copies are in many products",
        update "contributors.personId" = "copies: a person's name changed, which is in many products",
        update "" = "walk: `docgate indexes apply` follows the site's language by ranges of `_id`",
        find "copying.at" = "sweep: products whose copies weren't looked at again",
        find "outbox.at" = "sweep: works that are still to be written",
        find "facets.at" = "sweep: changes that facets haven't followed",
        aggregate "categories.within" = "sweep: counts the products of a category for its facets",
        find "deletedAt" = "sweep: deleted products",
        find "discussion.touchedAt" = "sweep: discussions in which something is left to be done",
    }
    "productSlugs" {
        find "claimedAt" = "sweep: claims of slugs that were cut",
    }
    "categoryFacets" {
        find "dirtyAt" = "sweep: facets that are to be counted",
    }
    "people" {
        find "nameKey" = "list: people by the beginning of their name",
        find "search.words" = "list: suggestions for words",
        find "search.typos" = "list: suggestions for words with a typing error",
        find "outbox.at" = "sweep: names that are still to be spread",
        update "works.stoneAt" = "sweep: tombstones of works",
    }
    // Shop.
    "inventory" {
        find "available" = "list: low stock",
        find "sweepAt" = "sweep: reservations and their marks",
        find "deletionDue" = "sweep: deletions that the catalog hasn't followed",
        update "" = "walk: corrects the times of sweeps by ranges of `_id`",
    }
    "stockReceipts" {
        delete "at" = "sweep: receipts that may be forgotten",
    }
    "carts" {
        find "owner" = "list: the cart of its owner",
        find "state" = "sweep: idle carts, and flows that were cut",
        find "outbox.at" = "sweep: stock that is still to be returned",
    }
    "vouchers" {
        find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
    }
    "voucherCustomers" {
        find "marks.at" = "sweep: reservations whose checkout was cut, and marks that aren't needed any more",
    }
    "orders" {
        find "owner" = "list: the orders of their owner",
        find "outbox.at" = "sweep: what is still to be given",
        find "raises.deadline" = "sweep: raises that were cut",
        find "stage" = "list: the orders of a stage",
        find "skus" = "list: the orders of a SKU",
        find "returnRequestedAt" = "list: the orders with a return to be decided on",
        find "deleted" = "list: all orders",
        find "placedAt" = "list: new orders",
        find "recount.at" = "sweep: changes that the counts of what was bought together haven't followed",
        aggregate "skus" = "sweep: counts what was bought together with a product",
    }
    "boughtTogether" {
        find "dirtyAt" = "sweep: what was bought together and is to be counted",
    }
    "accounts" {
        find "owner" = "list: the accounts of their owner",
        find "holdsAt" = "sweep: holds whose checkout was cut",
    }
    "transfers" {
        find "accounts" = "list: the transfers of an account, which are of two accounts each",
        find "state" = "sweep: transfers that were cut; list: transfers in a state",
    }
    "identities" {
        find "userId" = "list: the names of a user",
        find "pending.at" = "sweep: changes that were cut",
        find "releasedAt" = "sweep: names that were let go",
        delete "releasedAt" = "sweep: names that were let go",
    }
    // Theaters.
    "theaters" {
        aggregate "$geoNear" = "list: theaters near a place",
        find "place" = "list: theaters within a polygon",
    }
    "screenings" {
        find "theaterId" = "list: screenings of a theater",
        find "sweepAt" = "sweep: holds of seats, and marks of refunds",
    }
    "bookings" {
        find "state" = "sweep: idle bookings, and flows that were cut",
        find "outbox.at" = "sweep: seats that are still to be released",
    }
    "receipts" {
        find "owner" = "list: the receipts of their owner",
        find "cancellingAt" = "sweep: refunds that are still to be made",
    }
    // Content, files and comments.
    "nodeRevisions" {
        find "_id" = "id: a former version by its `_id`, which is derived from content and number",
    }
    "assets.files" {
        find "metadata.removeAfter" = "sweep: files that were let go",
    }
    "assets.chunks" {
        aggregate "files_id" = "sweep: chunks of files that no asset names, by a range of ids",
    }
    "comments" {
        find "_id" = "id: a comment by its `_id`, which is unique in all discussions",
        update "_id" = "id: a change of a comment, which is named by its `_id`",
        delete "_id" = "id: the removal of a comment, which is named by its `_id`",
        find "author" = "list: the comments of an author",
        find "due.at" = "sweep: comments that the discussed document hasn't applied",
        delete "on" = "removal: all stores of a deleted discussion, a range of `on`",
    }
    "commentPages" {
        find "entries.due.at" = "sweep: comments that the discussed document hasn't applied",
        delete "on" = "removal: all stores of a deleted discussion, a range of `on`",
    }
    "authoredComments" {
        find "author" = "list: the comments of an author",
        delete "discussion" = "removal: the copies of a discussion that goes",
    }
    // Reports.
    "statsDaily" {
        find "" = "list: the days of a page, a range of `_id`",
        find "_id.site _id.date" = "list: the pages with the most hits",
    }
    "statsMonthly" {
        find "" = "list: the months of a page, a range of `_id`",
        find "_id.site _id.date" = "list: the pages with the most hits",
    }
    "pageViews" {
        find "" = "list: the minutes of a page, a range of `_id`",
        aggregate "" = "list: the hours and days of a page, a range of `_id`",
    }
    "sessions" {
        find "arrivedAt" = "roll-up: sessions in the order of their arrival",
        aggregate "slot" = "roll-up: the sessions of users and hours",
        delete "slot" = "sweep: sessions that are too old",
    }
    "sessionStatsHourly" {
        find "" = "list: the hours of a user, a range of `_id`",
    }
    "sessionStatsDaily" {
        find "" = "list: the days of a user, a range of `_id`",
    }
    "sessionStatsWeekly" {
        find "" = "list: the weeks of a user, a range of `_id`",
    }
    "sessionStatsMonthly" {
        find "" = "list: the months of a user, a range of `_id`",
    }
    "sessionStatsYearly" {
        find "" = "list: the years of a user, a range of `_id`",
    }
    "events_*" {
        find "at" = "list: the events of a path, a host or a day, by time",
        aggregate "at" = "list: the number of events by day and page",
    }
    "eventCalls" {
        delete "at" = "sweep: calls that needn't be remembered",
    }
    // Social.
    "users" {
        find "celebrityAt" = "list: the users whose posts news merge in; sweep: those without marks",
        find "marking" = "sweep: markings that were cut",
    }
    "circles" {
        find "of" = "list: the followers of a user",
        aggregate "of" = "search: the number of followers of a user",
        find "by" = "list: the users whom a user follows",
        find "merged" = "list: the followed users whose posts news merge in",
        find "due" = "sweep: edges whose mark isn't decided",
    }
    "posts" {
        find "merged" = "list: posts that news merge in",
        find "due" = "sweep: copies that are behind",
        find "delivering" = "sweep: deliveries that were cut",
        find "deletedAt" = "sweep: deleted posts",
    }
    "votes" {
        aggregate "post" = "search: the number of votes for a choice",
        delete "post" = "removal: the votes of a deleted post",
        find "due" = "sweep: votes that aren't counted",
    }
    "messages" {
        find "delivering" = "sweep: deliveries that were cut",
    }
    "conversationEntries" {
        find "views" = "list: the messages of a conversation",
    }
    // Game.
    "characters" {
        find "owner" = "list: the characters of their owner",
        find "markedAt" = "sweep: moves that were cut",
        update "place" = "copies: a place changed, which its characters show",
    }
    "places" {
        find "markedAt" = "sweep: moves that were cut",
        find "pendingAt" = "sweep: places whose copies are behind",
    }
    "moves" {
        find "openAt" = "sweep: moves that aren't given",
    }
    // Ads.
    "adZones" {
        find "publisher" = "list: the zones of a publisher",
    }
    "campaigns" {
        find "advertiser" = "list: the campaigns of an advertiser",
        find "due" = "sweep: campaigns whose zones are behind",
        find "liveUntil" = "sweep: campaigns that end",
        find "ratedAt" = "sweep: expected incomes",
        find "marksAt" = "sweep: marks of clicks",
    }
    "adClicks" {
        find "due" = "sweep: clicks that aren't counted",
        delete "expiresAt" = "sweep: clicks whose tokens have expired",
    }
    "adProfiles" {
        delete "keptUntil" = "sweep: profiles that no cap needs",
    }
}
