//! Every dependency has a licence that this project can ship with, comes from the registry, and
//! no cryptographic one is there in two versions.

use std::collections::BTreeMap;

use serde::Deserialize;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::{Result, cargo, output_of};

/// Licences that a program under MIT or Apache-2.0 may be shipped with, without terms for the
/// source of the rest.
const ALLOWED: [&str; 10] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "Unicode-3.0",
];

/// Tools that `xtask` uses and nothing that is shipped contains: cbindgen is under MPL-2.0, whose terms are for
/// changes of its own files. Nothing but `xtask` may depend on them.
const TOOLS: [(&str, &str); 1] = [("cbindgen", "MPL-2.0")];

/// Crates whose traits or buffers cross between crates: two versions are two incompatible worlds.
const SINGLE: [&str; 11] = [
    "digest",
    "crypto-common",
    "block-buffer",
    "cipher",
    "der",
    "spki",
    "hybrid-array",
    "hmac",
    "hkdf",
    "pbkdf2",
    "zeroize",
];

/// The origin of a package from crates.io, in the words of `cargo metadata`.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Absent for packages of this workspace.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
}

pub(crate) fn run() -> Result {
    // `--locked` fails if the lock file is missing or stale.
    let metadata = output_of(cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let errors = errors(&metadata.packages);
    if errors.is_empty() {
        println!("{} packages, all licences and origins allowed", metadata.packages.len());
        return Ok(());
    }
    Err(format!("{} dependencies cannot stay:\n{}", errors.len(), errors.join("\n")))
}

fn errors(packages: &[Package]) -> Vec<String> {
    let mut errors = Vec::new();
    let mut versions = BTreeMap::<&str, Vec<&str>>::new();
    for package in packages {
        let Package { name, version, license, source, .. } = package;
        match license.as_deref().map(is_allowed) {
            None => errors.push(format!("{name} {version} names no licence")),
            Some(Err(why)) => errors.push(format!("{name} {version}: {why}")),
            Some(Ok(false)) if TOOLS.contains(&(name, license.as_deref().unwrap_or_default())) => {}
            Some(Ok(false)) => {
                let license = license.as_deref().unwrap_or_default();
                errors.push(format!("{name} {version}: licence {license} is not allowed"));
            }
            Some(Ok(true)) => {}
        }
        let has_tool = |tool: &str| package.dependencies.iter().any(|other| other.name == tool);
        for (tool, _) in TOOLS.iter().filter(|(tool, _)| name != "xtask" && has_tool(tool)) {
            errors.push(format!("{name} {version} depends on {tool}, which is a tool of xtask's"));
        }
        if let Some(source) = source.as_deref().filter(|&source| source != REGISTRY) {
            errors.push(format!("{name} {version} comes from {source}"));
        }
        versions.entry(name).or_default().push(version);
    }
    for name in SINGLE {
        if let Some(versions) = versions.get(name).filter(|versions| versions.len() > 1) {
            errors.push(format!("{name} is there in versions {}", versions.join(" and ")));
        }
    }
    errors
}

/// Whether the expression can be satisfied by allowed licences alone.
fn is_allowed(expression: &str) -> Result<bool> {
    // Old manifests separate alternatives by a slash.
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let expression = Expression::parse_mode(expression, mode).map_err(|e| e.to_string())?;
    Ok(expression.evaluate(|req: &LicenseReq| {
        let id = req.license.id().map(|id| id.name);
        // An exception only adds permissions, so the licence without it decides.
        id.is_some_and(|id| ALLOWED.contains(&id))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, license: Option<&str>) -> Package {
        Package {
            name: name.into(),
            version: "1.0.0".into(),
            license: license.map(Into::into),
            source: Some(REGISTRY.into()),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn usual_licences_pass() {
        for license in [
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(errors(&[package("good", Some(license))]).is_empty(), "{license}");
        }
    }

    /// By its name and its licence.
    #[test]
    fn a_tool_may_have_its_own_licence() {
        assert!(errors(&[package("cbindgen", Some("MPL-2.0"))]).is_empty());
        assert_eq!(errors(&[package("cbindgen", Some("GPL-3.0-only"))]).len(), 1);
        assert_eq!(errors(&[package("other", Some("MPL-2.0"))]).len(), 1);
        let mut user = package("other", Some("MIT"));
        user.dependencies.push(Dependency { name: "cbindgen".into() });
        assert_eq!(errors(&[user]).len(), 1);
    }

    #[test]
    fn planted_licences_are_caught() {
        for license in [
            "GPL-3.0-only",
            "MIT AND AGPL-3.0-only",
            "SSPL-1.0",
            "Proprietary",
            "LGPL-2.1-or-later",
        ] {
            assert_eq!(errors(&[package("bad", Some(license))]).len(), 1, "{license}");
        }
        assert_eq!(errors(&[package("bad", None)]).len(), 1);
    }

    #[test]
    fn planted_origins_and_duplicates_are_caught() {
        let fork = Package {
            source: Some("git+https://example.org/fork".into()),
            ..package("fork", Some("MIT"))
        };
        assert_eq!(errors(&[fork]).len(), 1);
        let own = Package { source: None, ..package("own", Some("MIT")) };
        assert!(errors(&[own]).is_empty());
        let twice = || package("digest", Some("MIT"));
        assert_eq!(errors(&[twice(), twice()]).len(), 1);
    }
}
