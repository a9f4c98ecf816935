//! `docgate schema`.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::terminal;

/// Print the GraphQL schema, or what is stored
///
/// Prints the schema definition language with all descriptions, for code generators and for comparing
/// versions. It needs no database and no configuration.
///
/// Examples:
///     docgate schema > schema.graphql
///     docgate schema --federation > docgate.graphql    # for composition with other subgraphs
///     docgate schema documents > DOCUMENTS.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(super) struct Schema {
    /// Print the subgraph schema (Apollo Federation 2), with the keys by which other services refer to its
    /// types. A gateway with `federation` returns it for `_service`.
    #[arg(long)]
    federation: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the fields, indexes and versions of stored documents
    ///
    /// Prints Markdown: for each collection the fields of its documents with their types, the version since
    /// which each is there, and the indexes. It needs no database and no configuration.
    ///
    /// Example:
    ///     docgate schema documents > DOCUMENTS.md
    #[command(verbatim_doc_comment)]
    Documents,
}

impl Schema {
    pub(super) fn run(&self) -> ExitCode {
        if let Some(What::Documents) = self.what {
            terminal::print(crate::domains::shapes::markdown());
        } else if self.federation {
            terminal::print(crate::schema::subgraph::sdl(&crate::config::Config::default()));
        } else {
            terminal::print(crate::schema::sdl());
        }
        ExitCode::SUCCESS
    }
}
