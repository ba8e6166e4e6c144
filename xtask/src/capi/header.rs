//! `manylane.h`, made from the sources by cbindgen.

use std::{fs, path::PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, Style};

use super::{folder, write};
use crate::{Result, root};

/// Sources in the order in which the header has what they declare. All of them are read: a test says so.
const SOURCES: [&str; 13] = [
    "version",
    "status",
    "hash",
    "hmac",
    "messages",
    "engine",
    "cipher",
    "aead",
    "xts",
    "sm2/key",
    "sm2/sign",
    "sm2/encrypt",
    "sm2/exchange",
];

/// What holds for every function.
const HEAD: &str = include_str!("head.txt");

fn path() -> PathBuf {
    folder().join("include/manylane.h")
}

pub(crate) fn committed() -> Result<String> {
    fs::read_to_string(path()).map_err(|error| format!("{}: {error}", path().display()))
}

/// Writes the header, or says whether it is what would be written.
pub(crate) fn generate(check: bool) -> Result {
    let made = made()?;
    super::versions::generate(&made, check)?;
    if committed().is_ok_and(|committed| committed == made) {
        return Ok(());
    }
    let shown = path().strip_prefix(root()).expect("within the repository").display().to_string();
    if check {
        return Err(format!("{shown} is not what the sources say; run `cargo xtask gen`"));
    }
    write(&path(), made)?;
    println!("{shown} written anew");
    Ok(())
}

fn made() -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let number = version
        .split('.')
        .try_fold(0, |number, part| Some(number * 256 + part.parse::<u32>().ok()?))
        .ok_or("a version of three numbers")?;
    let config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        header: Some(HEAD.trim_end().to_owned()),
        include_guard: Some("MANYLANE_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        after_includes: Some(format!(
            "\n/** The version that this header is of. */\n#define MANYLANE_VERSION \"{version}\"\n\n\
             /** The same as a number: 65536 for each major, 256 for each minor version, and the patch. */\n\
             #define MANYLANE_VERSION_NUMBER {number}\n\n\
             /** What a compiler is told of functions whose status must be looked at. */\n\
             #if defined(__GNUC__)\n\
             #define MANYLANE_MUST_USE __attribute__((warn_unused_result))\n\
             #else\n\
             #define MANYLANE_MUST_USE\n\
             #endif\n\n\
             /** Bytes of the longest digest of a function that has one length. */\n\
             #define MANYLANE_MAX_DIGEST_LEN 64\n\n\
             /** The user ID that everybody has who has none of their own. */\n\
             #define MANYLANE_SM2_DEFAULT_ID \"1234567812345678\"\n\n\
             /** Its length in bytes. */\n\
             #define MANYLANE_SM2_DEFAULT_ID_LEN 16"
        )),
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        tab_width: 2,
        enumeration: EnumConfig::default(),
        export: ExportConfig {
            // Numbers are passed as int, so no function names these.
            include: enumerations()?,
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(folder().join(format!("src/{source}.rs")));
    }
    let bindings = builder.generate().map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(dressed(&String::from_utf8(text).map_err(|error| error.to_string())?))
}

/// Columns of the header's lines at most.
const WIDTH: usize = 100;

/// The header as one would write it: comments of one line where they fit, the others filled; types by their names.
fn dressed(header: &str) -> String {
    let mut out = String::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim() != "/**" {
            // Types have names of their own, so functions need not say that they are structures.
            let is_declared = line.starts_with("typedef");
            let named = line.replace("struct manylane_", "manylane_");
            // Statuses, and answers to questions, are all that these return.
            if named.starts_with("int manylane_") {
                out += "MANYLANE_MUST_USE\n";
            }
            out += if is_declared { line } else { &named };
            out.push('\n');
            continue;
        }
        let comment: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim() != "*/")
            .map(|line| line.trim().trim_start_matches('*').trim())
            .collect();
        let paragraphs: Vec<String> =
            comment.split(|line| line.is_empty()).map(|lines| lines.join(" ")).collect();
        if let [only] = &paragraphs[..]
            && indent.len() + only.chars().count() + "/**  */".len() <= WIDTH
        {
            out += &format!("{indent}/** {only} */\n");
            continue;
        }
        out += &format!("{indent}/**\n");
        for (i, paragraph) in paragraphs.iter().enumerate() {
            if i > 0 {
                out += &format!("{indent} *\n");
            }
            for line in filled(paragraph, WIDTH - indent.len() - " * ".len()) {
                out += &format!("{indent} * {line}\n");
            }
        }
        out += &format!("{indent} */\n");
    }
    out
}

/// Words in lines of that many columns.
fn filled(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            *line = word.to_owned();
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The names of all enumerations.
fn enumerations() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for source in SOURCES {
        let path = folder().join(format!("src/{source}.rs"));
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let names_here = text.lines().filter_map(|line| line.strip_prefix("pub enum manylane_"));
        names.extend(
            names_here
                .filter_map(|rest| Some(format!("manylane_{}", rest.split([' ', '{']).next()?))),
        );
    }
    Ok(names)
}

/// The names of all functions that a header declares.
pub(crate) fn functions(header: &str) -> Vec<&str> {
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/', '#']));
    code.filter_map(|line| {
        let before = line.split_once('(')?.0;
        let name = before.rsplit([' ', '*']).next()?;
        (before.contains(' ') && name.starts_with("manylane_")).then_some(name)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found() {
        let header = " * manylane_a() does\nint manylane_b(int x,\n               int y);\n\
                      const char *manylane_c(void);\nstruct manylane_d manylane_e(int x);\n";
        assert_eq!(functions(header), ["manylane_b", "manylane_c", "manylane_e"]);
    }

    #[test]
    fn comments_are_filled() {
        let header = "/**\n * Does it.\n */\nint f(struct manylane_a *x);\n";
        assert_eq!(dressed(header), "/** Does it. */\nint f(manylane_a *x);\n");
        assert_eq!(
            dressed("int manylane_f(void);\n"),
            "MANYLANE_MUST_USE\nint manylane_f(void);\n"
        );
        assert_eq!(
            dressed("  /**\n   * A\n   * b.\n   *\n   * C.\n   */\n"),
            "  /**\n   * A b.\n   *\n   * C.\n   */\n"
        );
        assert_eq!(filled("one two three", 7), ["one two", "three"]);
    }

    /// Every entry of the sources is declared: a file that is not read here has none.
    #[test]
    fn every_entry_is_declared() {
        let committed = committed().unwrap();
        let declared = functions(&committed);
        let list = crate::output_of(
            std::process::Command::new("grep")
                .args(["-rhA1", "^#\\[unsafe(no_mangle)\\]"])
                .arg(folder().join("src")),
        );
        let mut entries = 0;
        for line in list.unwrap().lines().filter(|line| line.contains(" fn ")) {
            let name = line.split(" fn ").nth(1).unwrap().split('(').next().unwrap();
            assert!(declared.contains(&name), "{name}");
            entries += 1;
        }
        assert_eq!(entries, declared.len());
    }
}
