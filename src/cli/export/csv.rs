//! `docgate export csv`.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    app::App,
    cli::{
        columns::{Column, Rows},
        failure::Failure,
        logging,
        options::{Source, on_database},
        preconditions,
        private_files::{self, Replacement},
        terminal,
    },
    domains::{catalog, inventory, people},
    error::Error,
};

/// Export products, stock or people as CSV, which `docgate import csv` reads
///
/// The first row has the names of the columns; docs/IMPORT.md describes them. Prices are in the major unit of
/// the currency. A cell that a spreadsheet would take for a formula begins with an apostrophe, which the
/// import removes.
///
/// A product has a row for each of its variants and images, whichever are more. The first row is that of the product too.
///
/// Of stock, the rows are the imported receipts, so that an import of the file changes nothing in this
/// shop; the columns available, reserved and sold are for information. Comments, metadata, pictures of people and stock that was
/// received otherwise aren't in these files: `docgate export DIR` exports everything. Images are named by the global ids of their assets,
/// and the files of the assets aren't exported. A shop without these assets refuses the images, so export for it
/// with `--without-images`.
///
/// Examples:
///     docgate export csv products products.csv
///     docgate export csv stock --separator ';' --bom stock.csv
///     docgate export csv people people.csv --force
///
/// Nobody but you can read the file. A file that exists is replaced only with `--force`, once the export is complete. Until then the
/// rows are beside it, in a file whose name ends with `.new`. The new file of an export that fails isn't complete.
///
/// Exit codes: 0 if the export is complete, 2 if the room of the rows is switched off or the file exists, 3 if the database
/// has none of docgate's collections, 141 if the reader of the rows is gone before the last one.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(in crate::cli) struct Csv {
    /// What is exported.
    #[arg(value_enum)]
    rows: Rows,
    /// The file; `-`, or none, is stdout.
    file: Option<PathBuf>,
    /// Character between two cells.
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    separator: char,
    /// Begin the file with a byte order mark, by which some spreadsheets know UTF-8.
    #[arg(long)]
    bom: bool,
    /// Leave the columns of images out, for a shop that doesn't have their assets.
    #[arg(long)]
    without_images: bool,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    source: Source,
}

/// The separator as CSV has it.
///
/// # Errors
/// It is neither punctuation of ASCII nor a tab or a space, or it is a quote.
pub(in crate::cli) fn separator(given: char) -> Result<u8, Failure> {
    let is_quote = ['"', '\''].contains(&given);
    let is_usable = given.is_ascii_punctuation() && !is_quote || [' ', '\t'].contains(&given);
    let unusable =
        "--separator takes a punctuation mark of ASCII that is no quote, a tab or a space";
    u8::try_from(given).ok().filter(|_| is_usable).ok_or_else(|| Failure::usage(unusable))
}

/// The fault of the output that the rows are written to.
fn of_output(fault: csv::Error) -> io::Error {
    let sentence = fault.to_string();
    match fault.into_kind() {
        csv::ErrorKind::Io(fault) => fault,
        _ => io::Error::other(sentence),
    }
}

impl Rows {
    /// Calls `each` for the line of every object.
    async fn for_each(self, app: &App, each: impl FnMut(Value)) -> Result<(), Error> {
        match self {
            Self::Products => catalog::export::for_each(app, each).await,
            Self::Stock => inventory::import::for_each_line(app, each).await,
            Self::People => people::import::for_each_line(app, each).await,
        }
    }
}

impl Csv {
    /// Name of the room that has the rows.
    fn room(&self) -> &'static str {
        match self.rows {
            Rows::Products => "catalog",
            Rows::Stock => "inventory",
            Rows::People => "people",
        }
    }

    /// Opens the file, and with `--force` the replacement of one that exists.
    fn open(&self, file: &Path) -> io::Result<(File, Option<Replacement>)> {
        if self.force {
            return private_files::create_or_replace(file);
        }
        Ok((private_files::create_new(file)?, None))
    }

    pub(in crate::cli) async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let separator = separator(self.separator)?;
        preconditions::room_is_on(&config, self.room())?;
        let file = self.file.as_ref().filter(|file| *file != Path::new("-"));
        let name = file.map_or_else(|| "stdout".into(), |file| file.display().to_string());
        let unwritten = |fault: &io::Error| Failure::unwritten(&name, fault);
        let columns = self.rows.columns();
        let is_there = |column: &Column| !(self.without_images && column.names_images());
        let exported = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            preconditions::database_is_in_use(&app).await?;
            let mut replacement = None;
            let mut output: Box<dyn Write> = match file {
                Some(file) => {
                    let opened = self.open(file).map_err(|fault| match fault.kind() {
                        io::ErrorKind::AlreadyExists => Failure::usage(format!("{name} exists"))
                            .with_hint("name a new file, or replace it with --force"),
                        _ => unwritten(&fault),
                    })?;
                    replacement = opened.1;
                    Box::new(opened.0)
                }
                None => Box::new(io::stdout()),
            };
            if self.bom {
                output.write_all("\u{feff}".as_bytes()).map_err(|fault| unwritten(&fault))?;
            }
            let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(output);
            let header = columns.iter().filter(|column| is_there(column)).map(|column| column.name);
            writer.write_record(header).map_err(|fault| unwritten(&of_output(fault)))?;
            let (mut count, mut failed) = (0_u64, None);
            let unwritable = CancellationToken::new();
            let each = |mut line: Value| {
                if failed.is_some() {
                    return;
                }
                // Images have rows of their own.
                if let Some(fields) = line.as_object_mut().filter(|_| self.without_images) {
                    fields.remove("images");
                }
                for row in self.rows.rows(&line) {
                    let cells = columns.iter().zip(row).filter(|(column, _)| is_there(column));
                    match writer.write_record(cells.map(|(_, cell)| cell)) {
                        Ok(()) => count += 1,
                        Err(fault) => {
                            failed = Some(fault);
                            unwritable.cancel();
                            return;
                        }
                    }
                }
            };
            tokio::select! {
                biased;
                // The rest of the rows isn't read.
                () = unwritable.cancelled() => {}
                read = self.rows.for_each(&app, each) => read?,
            }
            if let Some(fault) = failed {
                return Err(unwritten(&of_output(fault)));
            }
            writer.flush().map_err(|fault| unwritten(&fault))?;
            if let Some(replacement) = replacement {
                replacement.finish().map_err(|fault| unwritten(&fault))?;
            }
            Ok(count)
        });
        let count = exported.await?;
        let count = terminal::counted(count, "row", "rows");
        terminal::remark(format_args!("{count} of {} exported", self.rows.name()));
        Ok(ExitCode::SUCCESS)
    }
}
