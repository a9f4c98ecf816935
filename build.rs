//! Lists the files that `npm run build` produced in `web/graphiql`, for `src/edge/graphiql.rs` to embed. If
//! there are any, the crate is compiled with `cfg(graphiql)`.

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let dist = Path::new("web/graphiql/dist");
    // Cargo treats a missing path as changed on every build.
    let watched = if dist.is_dir() { dist } else { Path::new("web/graphiql") };
    println!("cargo::rerun-if-changed={}", watched.display());
    println!("cargo::rustc-check-cfg=cfg(graphiql)");
    let mut list = String::from("&[\n");
    // The build writes `index.html` last; without it the folder is incomplete.
    if dist.join("index.html.gz").is_file() {
        println!("cargo::rustc-cfg=graphiql");
        for file in files(dist)? {
            let name = file.file_stem().unwrap_or_default().display().to_string();
            let path = fs::canonicalize(&file)?.display().to_string();
            let _infallible = writeln!(list, "    ({name:?}, include_bytes!({path:?})),");
        }
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("graphiql.rs"), list)
}

/// The gzipped files of a folder, sorted by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("gz")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
