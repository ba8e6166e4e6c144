//! Copyright notices and licences of everybody's code that is linked into what is installed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{install::Place, write};
use crate::{Result, cargo, output_of, root};

/// What is installed.
const SHIPPED: [&str; 3] = ["manylane-capi", "manylane-cli", "manylane-provider"];

/// How files begin that have them.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// Absent for packages of this workspace.
    source: Option<String>,
}

/// Writes them into one file.
pub(super) fn install(place: &Place) -> Result {
    let folder = place.below(&place.prefix.join("share/doc/manylane"));
    super::create_dir(&folder)?;
    write(&folder.join("third-party.txt"), text()?)
}

fn text() -> Result<String> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    for name in SHIPPED {
        if root().join("crates").join(name).is_dir() {
            tree.args(["--package", name]);
        }
    }
    let tree = output_of(&mut tree)?;
    let linked: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            Some((name, rest.split(' ').next()?))
        })
        .collect();
    let metadata = output_of(cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let mut head = String::from(
        "The programs and libraries of manylane contain code of the packages below, under the licences that each of \
         them names.\nTheir notices follow, each once.\n\n\
         The Rust standard library: MIT OR Apache-2.0. Copyright (c) The Rust Project Contributors.\n",
    );
    // Many have the same text.
    let mut notices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for package in &metadata.packages {
        if package.source.is_none() || !linked.contains(&(&*package.name, &*package.version)) {
            continue;
        }
        count += 1;
        let license = package.license.as_deref().unwrap_or("a licence of its own");
        let name = format!("{} {}", package.name, package.version);
        head += &format!("{name}: {license}\n");
        for notice in notices_in(package.manifest_path.parent().unwrap_or(Path::new("/")))? {
            notices.entry(notice).or_default().push(name.clone());
        }
    }
    if count == 0 || notices.is_empty() {
        return Err("no package has a notice".into());
    }
    let line = "-".repeat(100);
    for (notice, names) in notices {
        head += &format!("\n{line}\n{}:\n\n{}\n", names.join(", "), notice.trim_end());
    }
    Ok(head)
}

/// The texts of a package.
fn notices_in(folder: &Path) -> Result<Vec<String>> {
    let error = |error| format!("{}: {error}", folder.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)?.flatten() {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            texts.push(fs::read_to_string(entry.path()).map_err(error)?);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those whose licence asks for it in binaries are there, and tools that are not linked are not.
    #[test]
    fn what_is_linked_is_named() {
        let text = text().unwrap();
        assert!(text.contains("subtle 2.") && text.contains("Isis Agora Lovecruft"));
        assert!(!text.contains("\ncbindgen "));
    }
}
