//! `cargo xtask deb`: a package for Debian with command, libraries, header, manual pages and provider.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use super::{
    Library, create_dir,
    install::{self, Place},
    write,
};
use crate::{Result, output_of, root, run_command, target_dir};

/// What wrote it; no address that anybody has.
const MAINTAINER: &str = "The manylane developers <developers@manylane.invalid>";

#[derive(Args)]
pub(crate) struct Options {
    /// Folder for the package; that of the build if there is none
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// `cargo xtask deb`.
pub(crate) fn run(options: &Options) -> Result {
    let scratch = target_dir().join("deb");
    let _ = fs::remove_dir_all(&scratch);
    let tree = scratch.join("manylane");
    let triplet = output_of(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))?;
    let place = Place {
        destdir: tree.clone(),
        prefix: "/usr".into(),
        libdir: Path::new("/usr/lib").join(triplet.trim()),
    };
    create_dir(&tree)?;
    Library::release()?.install(&place)?;
    install::programs(&place)?;
    documents(&tree)?;
    control(&scratch, &tree)?;
    let output = options.output.clone().unwrap_or_else(|| scratch.clone());
    create_dir(&output)?;
    let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let file = output.join(format!(
        "manylane_{}-1_{}.deb",
        env!("CARGO_PKG_VERSION"),
        architecture.trim()
    ));
    run_command(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .arg(&tree)
            .arg(&file),
    )?;
    println!("{}", file.display());
    check(&scratch, &file, &place)
}

/// Licence and changes, where Debian has them; manual pages are packed.
fn documents(tree: &Path) -> Result {
    let docs = tree.join("usr/share/doc/manylane");
    create_dir(&docs)?;
    let mit = read(&root().join("LICENSE-MIT"))?;
    let notice = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let notice = notice.ok_or("LICENSE-MIT says no copyright")?;
    let mut copyright = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: manylane\n\nFiles: *\nCopyright: {notice}\n\
         License: Expat or Apache-2.0\nComment: The binaries contain code of others, whose notices are in\n \
         /usr/share/doc/manylane/third-party.txt.\n\nLicense: Expat\n",
    );
    for line in mit.lines().skip_while(|line| !line.starts_with("Permission")) {
        let line = line.trim();
        writeln!(copyright, " {}", if line.is_empty() { "." } else { line })
            .map_err(|error| error.to_string())?;
    }
    copyright += "\nLicense: Apache-2.0\n On Debian systems, the text of the Apache License, version 2.0,\n \
                  is in /usr/share/common-licenses/Apache-2.0.\n";
    write(&docs.join("copyright"), copyright)?;
    let date =
        output_of(Command::new("git").current_dir(root()).args(["log", "-1", "--format=%aD"]))
            // Sources without their history have no other date.
            .or_else(|_| output_of(Command::new("date").arg("-R")))?;
    let changelog = format!(
        "manylane ({}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- {MAINTAINER}  {}\n",
        env!("CARGO_PKG_VERSION"),
        date.trim()
    );
    write(&docs.join("changelog.Debian"), changelog)?;
    run_command(Command::new("gzip").args(["-9n"]).arg(docs.join("changelog.Debian")))?;
    let man = tree.join("usr/share/man/man1");
    let pages = fs::read_dir(&man).map_err(|error| format!("{}: {error}", man.display()))?;
    for page in pages.flatten() {
        run_command(Command::new("gzip").args(["-9n"]).arg(page.path()))?;
    }
    // Debian's zsh looks elsewhere.
    let (from, to) = ("usr/share/zsh/site-functions", "usr/share/zsh/vendor-completions");
    fs::rename(tree.join(from), tree.join(to)).map_err(|error| format!("{to}: {error}"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// `DEBIAN/`: what it is, what it needs by dpkg-shlibdeps, sums, and a call of ldconfig.
fn control(scratch: &Path, tree: &Path) -> Result {
    // dpkg-shlibdeps wants the package's source.
    let source = scratch.join("debian");
    create_dir(&source)?;
    write(
        &source.join("control"),
        format!(
            "Source: manylane\nMaintainer: {MAINTAINER}\n\nPackage: manylane\nArchitecture: any\n\
             Description: bulk cryptography\n"
        ),
    )?;
    let mut shlibdeps = Command::new("dpkg-shlibdeps");
    shlibdeps.current_dir(scratch).args(["-O", "--ignore-missing-info", "-Tdebian/substvars"]);
    for binary in binaries(tree)? {
        shlibdeps.arg(format!("-e{}", binary.display()));
    }
    let depends = output_of(&mut shlibdeps)?;
    let depends = depends
        .lines()
        .find_map(|line| line.strip_prefix("shlibs:Depends="))
        .ok_or("dpkg-shlibdeps says no dependencies")?;
    let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let size = output_of(Command::new("du").args(["-sk", "--apparent-size"]).arg(tree))?;
    let folder = tree.join("DEBIAN");
    create_dir(&folder)?;
    write(
        &folder.join("control"),
        format!(
            "Package: manylane\nVersion: {version}-1\nArchitecture: {architecture}\n\
             Maintainer: {MAINTAINER}\nInstalled-Size: {size}\nDepends: {depends}\n\
             Section: utils\nPriority: optional\nMulti-Arch: no\n\
             Description: bulk cryptography in many lanes: SM3, SHA-3, SM2, SM4, AES\n \
             The command manylane, the C library libmanylane with its header, and a\n \
             provider for OpenSSL 3. Many messages are worked on side by side, in the\n \
             lanes of vector units, on all cores, and on GPUs if there are any.\n",
            version = env!("CARGO_PKG_VERSION"),
            architecture = architecture.trim(),
            size = size.split_whitespace().next().unwrap_or("0"),
        ),
    )?;
    write(&folder.join("triggers"), "activate-noawait ldconfig\n")?;
    write(
        &folder.join("shlibs"),
        format!("libmanylane 0 manylane (>= {})\n", env!("CARGO_PKG_VERSION")),
    )?;
    let sums = output_of(
        Command::new("sh")
            .current_dir(tree)
            .args(["-c", "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"]),
    )?;
    write(&folder.join("md5sums"), sums)
}

/// Programs and shared libraries.
fn binaries(tree: &Path) -> Result<Vec<PathBuf>> {
    let list = output_of(Command::new("find").arg(tree.join("usr")).args([
        "-type", "f", "(", "-path", "*/bin/*", "-o", "-name", "*.so", "-o", "-name", "*.so.*", ")",
    ]))?;
    Ok(list.lines().map(PathBuf::from).collect())
}

/// Unpacks the package elsewhere, and uses everything from there.
fn check(scratch: &Path, file: &Path, place: &Place) -> Result {
    let unpacked = scratch.join("unpacked");
    run_command(Command::new("dpkg-deb").arg("-x").arg(file).arg(&unpacked))?;
    run_command(Command::new(unpacked.join("usr/bin/manylane")).args(["info", "--self-test"]))?;
    install::check_at(Path::new("/usr"), Some(&unpacked))?;
    let modules =
        unpacked.join(place.libdir.strip_prefix("/").unwrap_or(&place.libdir)).join("ossl-modules");
    if modules.join("manylane.so").exists() {
        run_command(
            Command::new("openssl")
                .args(["list", "-providers", "-provider-path"])
                .arg(&modules)
                .args(["-provider", "manylane"]),
        )?;
    }
    println!("{}: unpacked and used", file.display());
    Ok(())
}
