//! `manylane.map`: which function came with which version.
//!
//! A program that was linked with a newer library then says so where it is started with an older one, instead of
//! failing at the first call of what is not there.

use std::{fs, path::PathBuf};

use super::{folder, header, write};
use crate::Result;

fn path() -> PathBuf {
    folder().join("manylane.map")
}

fn text() -> Result<String> {
    fs::read_to_string(path()).map_err(|error| format!("{}: {error}", path().display()))
}

/// The functions of a map, each with its version.
fn parse(map: &str) -> Vec<(String, String)> {
    let mut version = "";
    let mut functions = Vec::new();
    for line in map.lines() {
        if let Some(name) = line.strip_suffix(" {") {
            version = name;
        } else if let Some(name) = line.trim().strip_suffix(';')
            && name.starts_with("manylane_")
        {
            functions.push((name.to_owned(), version.to_owned()));
        }
    }
    functions
}

pub(super) fn committed() -> Result<Vec<(String, String)>> {
    Ok(parse(&text()?))
}

/// Adds what a header declares and the map has not to the map's last version; or only says whether there is any.
pub(super) fn generate(header: &str, check: bool) -> Result {
    let map = text()?;
    let made = extended(&map, &header::functions(header))?;
    if made == map {
        return Ok(());
    }
    if check {
        return Err("manylane.map lacks functions of the header; run `cargo xtask gen`".into());
    }
    write(&path(), made)?;
    println!("{} written anew", path().display());
    Ok(())
}

fn extended(map: &str, declared: &[&str]) -> Result<String> {
    let listed = parse(map);
    let gone: Vec<_> = listed.iter().filter(|(name, _)| !declared.contains(&&**name)).collect();
    if !gone.is_empty() {
        return Err(format!("manylane.map has what the header has not: {gone:?}"));
    }
    let is_new = |name: &&&str| !listed.iter().any(|(listed, _)| listed == **name);
    let new: Vec<&str> = declared.iter().filter(is_new).copied().collect();
    let (before, last) = map.rsplit_once("  global:\n").ok_or("manylane.map has no version")?;
    // The first version ends with what is exported by none, the others with their braces.
    let end = last.find("  local:").or_else(|| last.find('}')).ok_or("a version without an end")?;
    let mut names: Vec<&str> =
        last[..end].lines().map(|line| line.trim().trim_end_matches(';')).chain(new).collect();
    names.sort_unstable();
    let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
    Ok(format!("{before}  global:\n{names}{}", &last[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_functions_come_to_the_last_version() {
        let map = "A_1 {\n  global:\n    manylane_b;\n  local:\n    *;\n};\n\n\
                   A_2 {\n  global:\n    manylane_d;\n} A_1;\n";
        let made = extended(map, &["manylane_c", "manylane_b", "manylane_d"]).unwrap();
        assert_eq!(made, map.replace("    manylane_d", "    manylane_c;\n    manylane_d"));
        let versions = parse(&made);
        assert_eq!(versions[0], ("manylane_b".into(), "A_1".into()));
        assert_eq!(versions[1], ("manylane_c".into(), "A_2".into()));
        assert_eq!(extended(&made, &["manylane_c", "manylane_b", "manylane_d"]).unwrap(), made);
        assert!(extended(map, &["manylane_d"]).is_err());
    }
}
