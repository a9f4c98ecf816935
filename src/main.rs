//! The `docgate` command; see `docgate --help`.

use std::process::ExitCode;

/// mimalloc, because most allocations of a request are small, short-lived and freed by the thread that made
/// them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    docgate::cli::main()
}
