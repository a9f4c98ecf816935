//! The command `docgate`; see `docgate --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    docgate::cli::main()
}
