//! The subcommands of `docgate import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Options, access_log::AccessLog, restore::Restore};
use crate::cli::columns::Rows;

/// Import categories, people, products, stock and discussions from files, in this order, a world, or access logs; restore an export
///
/// One JSON object per line (CSV and access logs have formats of their own), plain, gzipped or compressed by zstd; `-` reads stdin. docs/IMPORT.md describes every field.
/// A line that can't be used is skipped and reported with its number, the field and the reason. A file
/// may be imported again: stored lines aren't added a second time.
///
/// With --restore, everything that `docgate export` wrote is restored into an empty database. The checksums
/// of all files are verified first, and the indexes are built at the end. Start no gateway on the database
/// before that. An interrupted restore is continued by the same command. The gateways need the
/// DOCGATE_SECRET of the exported ones. docs/OPERATIONS.md has the whole drill.
///
/// Examples:
///     docgate import categories categories.jsonl
///     docgate import people people.jsonl
///     docgate import products products.jsonl.gz --errors bad.jsonl
///     docgate import products products.jsonl.gz --resume
///     docgate import stock stock.jsonl
///     docgate import csv products products.csv --dry-run
///     docgate import discussions discussions.jsonl
///     docgate import world world.jsonl
///     docgate import access-log --site shop.example access.log
///     docgate import --restore /backup/2026-11-26 --database restored
///
/// Exit codes of --restore: 0 if everything is restored, 2 if the database isn't empty.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
#[command(arg_required_else_help = true)]
#[command(
    override_usage = "docgate import <COMMAND>\n       docgate import [OPTIONS] --restore <DIR>"
)]
pub(in crate::cli) struct Import {
    #[command(subcommand)]
    pub(super) what: Option<What>,
    #[command(flatten)]
    pub(super) restore: Restore,
}

/// What is imported.
#[derive(Debug, Subcommand)]
pub(super) enum What {
    Categories(Categories),
    People(People),
    Products(Products),
    Stock(Stock),
    Csv(Csv),
    Discussions(Discussions),
    World(World),
    AccessLog(AccessLog),
}

/// Import people, some hundreds at a time
///
/// `key` is your own key of the person. Products name their contributors by it, and a repeated line is
/// recognised by it. An existing person gets the name of the line, also in products, and its address if
/// the line has one.
///
/// Example of a line:
///     {"key": "miles-davis", "name": "Miles Davis",
///      "address": {"street": "312 West 77th Street", "city": "New York, NY 10024", "country": "US"}}
///
/// Example:
///     docgate import people people.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct People {
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import stock: receipts of products
///
/// A line adds its quantity to the stock of the SKU once for each `receipt`, whatever the name of the
/// file and however often it is imported. Without `receipt` its name is `import`; give later deliveries
/// names of their own.
///
/// Example of a line:
///     {"sku": "ALB-1", "quantity": 12, "receipt": "2026-11-24"}
///
/// Example:
///     docgate import stock stock.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Stock {
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import products, stock or people from CSV, as spreadsheets write it
///
/// The first row has the names of the columns, in any order; docs/IMPORT.md describes them. Each further row
/// is imported as a line of the JSON import would be. An empty cell leaves the field out. Lists are divided
/// by `|`, and prices are in the major unit of the currency: 17.99 or 17,99.
///
/// Cells are divided by the comma, the semicolon or the tab, whichever the header has most. A byte order mark is
/// skipped, quoted cells may have several lines, and the apostrophe before what looks like a formula goes.
/// A row that can't be used is skipped and reported with its line, the column and the reason.
///
/// The row of a product can have its first variant and its first image. Each further variant or image has a row below
/// it, with the sku of the product or without one.
///
/// Examples:
///     docgate import csv products products.csv --dry-run
///     docgate import csv products products.csv
///     docgate import csv stock delivery.csv --separator ';' --errors bad.jsonl
///
/// Exit codes: 0 if every row was imported, 1 if rows were skipped or imported in part (0 with
/// --allow-errors), 2 if the header doesn't fit, 3 if the import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Csv {
    /// What the rows are.
    #[arg(value_enum)]
    pub(super) rows: Rows,
    /// Character between two cells, if it isn't to be recognised.
    #[arg(long, value_name = "CHARACTER")]
    pub(super) separator: Option<char>,
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import comments and reviews of products
///
/// A line with `stars` is a review; an author has one review per product. Any other line is a comment,
/// with a `key` of your own by which a repeated line is recognised. A missing discussion is opened.
/// Comments come before their replies. The command needs the gateways' DOCGATE_SECRET.
///
/// Examples of lines:
///     {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z",
///      "text": "Which pressing?"}
///     {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z",
///      "text": "The first.", "replyTo": {"key": "c-1"}}
///     {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
///
/// Example:
///     docgate import discussions discussions.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Discussions {
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import a world of the game: its items, places, exits and characters
///
/// A line has one of `item`, `place`, `exit` and `character`. Places and characters bring their things. A
/// line refers by key to lines before it: items come before things, places before exits and characters. A
/// repeated line changes nothing; another line with the same key is skipped.
///
/// Examples of lines:
///     {"item": {"key": "hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"]}}
///     {"place": {"key": "hall", "title": "A hall",
///                "things": [{"key": "1", "item": "hat", "bonus": 3}]}}
///     {"place": {"key": "garden", "title": "A garden"}}
///     {"exit": {"from": "hall", "direction": "NORTH", "to": "garden"}}
///     {"character": {"key": "ann", "owner": "subject-of-ann", "name": "Ann", "class": "wizard",
///                    "place": "hall", "gold": 10}}
///
/// Examples:
///     docgate import world world.jsonl
///     docgate import world world.jsonl --ids ids.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct World {
    /// Write the global ids of imported items and places to this file, one JSON object each, such as {"place": "hall", "id": "…"}.
    /// Lines that were imported before are among them.
    #[arg(long, value_name = "FILE")]
    pub(super) ids: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import products, some hundreds at a time
///
/// A line has the input of `createProduct`, with categories by path, which must exist. An existing
/// product gets the line's content, prices and categories, and its contributors if the line has
/// `contributors`: [{"personKey": "miles-davis", "role": "artist"}]. It gets the line's `images` too, if there are
/// any: [{"assetId": "…", "alternativeText": "The cover"}].
///
/// Example of a line (wrapped here):
///     {"sku": "ALB-1", "categories": ["/music/jazz"],
///      "pricing": {"list": 1999, "retail": 1799, "currency": "EUR"},
///      "content": {"title": "Blue Lantern", "language": "en", "issueDate": "1959-08-17",
///                  "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "Rain"}]}}}}
///
/// Example:
///     docgate import products products.jsonl.gz --dry-run
///     docgate import products products.jsonl.gz --errors bad.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped or imported in part (0 with
/// --allow-errors), 3 if the import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Products {
    #[command(flatten)]
    pub(super) options: Options,
}

/// Import categories, parents before children
///
/// A new category is created; an existing one gets the names of its line.
///
/// Example of a line:
///     {"path": "/music/jazz", "names": {"en": "Jazz", "de": "Jazz", "fr": "Jazz"}}
///
/// Example:
///     docgate import categories categories.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Categories {
    #[command(flatten)]
    pub(super) options: Options,
}
