//! Lists the files of the web apps that `npm run build` produced, for `src/edge` to embed. The crate is compiled with
//! `cfg(graphiql)` if `web/graphiql` was built, and with `cfg(storefront)` if `examples/storefront` was.

use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    list("graphiql", Path::new("web/graphiql"))?;
    list("storefront", Path::new("examples/storefront"))
}

/// Writes the list of the files of one app, and sets its `cfg` if there are any.
fn list(name: &str, folder: &Path) -> io::Result<()> {
    let dist = folder.join("dist");
    // Cargo treats a missing path as changed on every build.
    let watched = if dist.is_dir() { &dist } else { folder };
    println!("cargo::rerun-if-changed={}", watched.display());
    println!("cargo::rustc-check-cfg=cfg({name})");
    let mut list = String::from("&[\n");
    // The build writes `index.html.gz` last; without it the folder is incomplete.
    if dist.join("index.html.gz").is_file() {
        println!("cargo::rustc-cfg={name}");
        for file in files(&dist)? {
            let name = file.file_stem().unwrap_or_default().display().to_string();
            let path = fs::canonicalize(&file)?.display().to_string();
            let _infallible = writeln!(list, "    ({name:?}, include_bytes!({path:?})),");
        }
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join(format!("{name}.rs")), list)
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
