//! `docgate schema`.

use std::process::ExitCode;

use clap::Args;

use super::terminal;

/// Print the GraphQL schema
///
/// Prints the schema definition language with every description, for code generators and for
/// comparing versions. It needs no database and no configuration.
///
/// Example:
///     docgate schema > schema.graphql
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run() -> ExitCode {
        terminal::print(crate::schema::sdl());
        ExitCode::SUCCESS
    }
}
