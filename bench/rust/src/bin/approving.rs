//! docgate, whole, with one more payment provider: `DOCGATE_PAYMENTS=approving` says yes to everything, in
//! the process.

use std::process::ExitCode;

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    docgate::cli::main()
}
