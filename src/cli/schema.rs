//! `docgate schema`.

use std::process::ExitCode;

use clap::Args;

use super::terminal;

/// Print the GraphQL schema
///
/// Prints the schema definition language with all descriptions, for code generators and for comparing
/// versions. It needs no database and no configuration.
///
/// Examples:
///     docgate schema > schema.graphql
///     docgate schema --federation > docgate.graphql    # for composition with other subgraphs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Schema {
    /// Print the subgraph schema (Apollo Federation 2), with the keys by which other services refer to its
    /// types. A gateway with `federation` returns it for `_service`.
    #[arg(long)]
    federation: bool,
}

impl Schema {
    pub(super) fn run(&self) -> ExitCode {
        if self.federation {
            terminal::print(crate::schema::subgraph::sdl(&crate::config::Config::default()));
        } else {
            terminal::print(crate::schema::sdl());
        }
        ExitCode::SUCCESS
    }
}
