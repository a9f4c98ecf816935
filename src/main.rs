//! The command `docgate`; see `docgate --help`.

use std::process::ExitCode;

/// Most of what a request needs is small, short-lived and freed by the thread that took it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    docgate::cli::main()
}
