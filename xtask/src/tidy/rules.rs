//! The rules themselves, each a function of the files alone, so that a test can plant what it
//! must catch.

use super::{Files, lexer::code_only};

/// Files that may contain unsafe code: kernels in intrinsics or assembly, and what asks the
/// operating system or a foreign library. Everything else is safe Rust.
const UNSAFE: [&str; 117] = [
    "crates/manylane/src/aes/aesni.rs",
    "crates/manylane/src/aes/armaes.rs",
    "crates/manylane/src/aes/portable.rs",
    "crates/manylane/src/aes/portable/bits.rs",
    "crates/manylane/src/aes/vaes.rs",
    "crates/manylane/src/aes/vaes/gcm.rs",
    "crates/manylane/src/block/avx2.rs",
    "crates/manylane/src/block/avx512.rs",
    "crates/manylane/src/block/lanes.rs",
    "crates/manylane/src/block/lanes/machine.rs",
    "crates/manylane/src/block/neon.rs",
    "crates/manylane/src/block/portable.rs",
    "crates/manylane/src/block/sse.rs",
    "crates/manylane/src/ghash/lanes.rs",
    "crates/manylane/src/ghash/pclmul.rs",
    "crates/manylane/src/ghash/pmull.rs",
    "crates/manylane/src/ghash/vpclmul.rs",
    "crates/manylane/src/sha3/armsha3.rs",
    "crates/manylane/src/sha3/avx2.rs",
    "crates/manylane/src/sha3/avx512.rs",
    "crates/manylane/src/sha3/avx512/state.rs",
    "crates/manylane/src/sha3/bmi2.rs",
    "crates/manylane/src/sha3/body.rs",
    "crates/manylane/src/sha3/neon.rs",
    "crates/manylane/src/sm2/field/bmi2.rs",
    "crates/manylane/src/sm2/ifma.rs",
    "crates/manylane/src/sm2/ifma/generator.rs",
    "crates/manylane/src/sm3/armcrypto.rs",
    "crates/manylane/src/sm3/avx2.rs",
    "crates/manylane/src/sm3/avx512.rs",
    "crates/manylane/src/sm3/bmi2.rs",
    "crates/manylane/src/sm3/bmi2/beside.rs",
    "crates/manylane/src/sm3/bmi2/beside/avx2.rs",
    "crates/manylane/src/sm3/bmi2/beside/avx512.rs",
    "crates/manylane/src/sm3/body.rs",
    "crates/manylane/src/sm3/neon.rs",
    "crates/manylane/src/sm3/sse.rs",
    "crates/manylane/src/sm4/aesni.rs",
    "crates/manylane/src/sm4/armaes.rs",
    "crates/manylane/src/sm4/armcrypto.rs",
    "crates/manylane/src/sm4/avx2.rs",
    "crates/manylane/src/sm4/body.rs",
    "crates/manylane/src/sm4/gfni.rs",
    "crates/manylane/src/sm4/gfni/planar.rs",
    "crates/manylane/src/sm4/neon.rs",
    "crates/manylane/src/sm4/portable.rs",
    // Nothing but functions that C calls, and what makes slices of their pointers.
    "crates/manylane-capi/src/",
    "crates/manylane-cli/src/bench/block_gpu/device.rs",
    "crates/manylane-cli/src/bench/clock.rs",
    "crates/manylane-cli/src/bench/os.rs",
    "crates/manylane-cli/src/bench/peers.rs",
    "crates/manylane-cli/src/bench/peers/apart.rs",
    "crates/manylane-cli/src/bench/peers/cipher/gcrypt.rs",
    "crates/manylane-cli/src/bench/peers/cipher/openssl.rs",
    "crates/manylane-cli/src/bench/peers/sha3.rs",
    "crates/manylane-cli/src/bench/peers/sm2.rs",
    "crates/manylane-cli/src/bench/sha3_gpu/device.rs",
    "crates/manylane-cli/src/bench/sm3_gpu/device.rs",
    "crates/manylane-cli/src/info/gpus/on_device.rs",
    "crates/manylane-cli/src/environment.rs",
    "crates/manylane-cli/src/standard.rs",
    "crates/manylane-ct/src/valgrind.rs",
    "crates/manylane-engine/src/runtime.rs",
    "crates/manylane-emulator/src/lib.rs",
    "crates/manylane-gpu/examples/block_rates.rs",
    "crates/manylane-gpu/examples/sha3_rates.rs",
    "crates/manylane-gpu/src/aes.rs",
    "crates/manylane-gpu/src/block.rs",
    "crates/manylane-gpu/src/block_comparators.rs",
    "crates/manylane-gpu/src/block/known_answers.rs",
    "crates/manylane-gpu/src/block/ring.rs",
    "crates/manylane-gpu/src/comparators.rs",
    "crates/manylane-gpu/src/known_answers.rs",
    "crates/manylane-gpu/src/order.rs",
    "crates/manylane-gpu/src/ring/buffers.rs",
    "crates/manylane-gpu/src/ring/slot.rs",
    "crates/manylane-gpu/src/runtime.rs",
    "crates/manylane-gpu/src/runtime/cuda.rs",
    "crates/manylane-gpu/src/runtime/cuda/table.rs",
    "crates/manylane-gpu/src/runtime/driver.rs",
    "crates/manylane-gpu/src/runtime/hip.rs",
    "crates/manylane-gpu/src/runtime/hip/compiler.rs",
    "crates/manylane-gpu/src/runtime/hip/library.rs",
    "crates/manylane-gpu/src/runtime/library.rs",
    "crates/manylane-gpu/src/runtime/memory.rs",
    "crates/manylane-gpu/src/runtime/stream.rs",
    "crates/manylane-gpu/src/sha3.rs",
    "crates/manylane-gpu/src/sha3/known_answers.rs",
    "crates/manylane-gpu/src/sha3_comparators.rs",
    "crates/manylane-gpu/src/sm3.rs",
    "crates/manylane-gpu/src/sm3/known_answers.rs",
    "crates/manylane-gpu/src/sm4.rs",
    "crates/manylane-gpu/tests/block.rs",
    "crates/manylane-gpu/tests/comparators.rs",
    "crates/manylane-gpu/tests/faults.rs",
    "crates/manylane-gpu/tests/sha3.rs",
    "crates/manylane-gpu/tests/sha3_comparators.rs",
    "crates/manylane-gpu/tests/sm3.rs",
    "crates/manylane-provider/src/abi.rs",
    "crates/manylane-provider/src/asym_cipher.rs",
    "crates/manylane-provider/src/cipher.rs",
    "crates/manylane-provider/src/cipher/data.rs",
    "crates/manylane-provider/src/core.rs",
    "crates/manylane-provider/src/decoder.rs",
    "crates/manylane-provider/src/digest.rs",
    "crates/manylane-provider/src/entry.rs",
    "crates/manylane-provider/src/keyexch.rs",
    "crates/manylane-provider/src/keymgmt.rs",
    "crates/manylane-provider/src/params.rs",
    "crates/manylane-provider/src/provider.rs",
    "crates/manylane-provider/src/signature.rs",
    "crates/manylane-py/src/arrow.rs",
    "crates/manylane-py/src/dlpack.rs",
    "crates/manylane-py/src/gpu.rs",
    "crates/manylane-py/src/memory.rs",
    // What a process does after a fork can only be tested by forking.
    "crates/manylane-engine/tests/fork.rs",
    "crates/manylane-gpu/tests/cuda.rs",
];

/// What a stranger looks for in the root.
const DOCUMENTS: [&str; 9] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "README.zh-CN.md",
    "SECURITY.md",
];

/// Longest source file, in lines: what one can still hold in one's head.
const MAX_LINES: usize = 700;

/// Longest ARCHITECTURE.md, in lines: a map, not a book.
const MAX_MAP_LINES: usize = 150;

/// Macros that mark unfinished work.
const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];

/// File names that say nothing about what is inside.
const VAGUE: [&str; 7] = ["common", "fast", "helpers", "misc", "new", "util", "utils"];

/// Beginnings of paths that exist on one computer only. Split, or this file would hold them.
const LOCAL: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// Everything untidy, as `path:line: what`.
pub(super) fn errors(files: &Files) -> Vec<String> {
    let mut errors = Vec::new();
    for (path, text) in files {
        if is_written_here(path) {
            blanks(path, text, &mut errors);
            local_paths(path, text, &mut errors);
        }
        length(path, text, &mut errors);
        name(path, &mut errors);
        if path.ends_with(".rs") {
            code(path, text, &mut errors);
        }
        if path.ends_with(".md") {
            links(path, text, files, &mut errors);
        }
        if path.ends_with("/Cargo.toml") {
            manifest(path, text, &mut errors);
        }
    }
    for path in DOCUMENTS.iter().filter(|&&path| !files.contains_key(path)) {
        errors.push(format!("{path}: missing"));
    }
    translation(files, &mut errors);
    vectors(files, &mut errors);
    errors
}

/// Text that people write; not licences, lock files, and records of measurements.
fn is_written_here(path: &str) -> bool {
    let kind = path.rsplit('.').next().unwrap_or_default();
    let recorded = path.starts_with("bench/runs/");
    let kinds = [
        "c", "core", "h", "json", "json5", "ld", "md", "py", "rdl", "rs", "s", "sh", "tcl", "toml",
        "v", "vh", "yml",
    ];
    kinds.contains(&kind) && !recorded || path == ".ci/run"
}

fn blanks(path: &str, text: &str, errors: &mut Vec<String>) {
    for (line, content) in numbered(text) {
        if content.contains('\t') {
            errors.push(format!("{path}:{line}: a tab"));
        }
        if content.ends_with([' ', '\r']) {
            errors.push(format!("{path}:{line}: blanks at the end"));
        }
    }
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        errors.push(format!("{path}: must end with one newline"));
    }
}

fn local_paths(path: &str, text: &str, errors: &mut Vec<String>) {
    for (line, content) in numbered(text) {
        for local in LOCAL {
            let starts_a_path = |at: usize| {
                let before = content[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-~}/*".contains(c))
            };
            if content.match_indices(local).any(|(at, _)| starts_a_path(at)) {
                errors.push(format!("{path}:{line}: a path of one computer, {local}"));
            }
        }
    }
}

fn length(path: &str, text: &str, errors: &mut Vec<String>) {
    let lines = text.lines().count();
    let source = [".py", ".rs", ".v"].iter().any(|kind| path.ends_with(kind));
    if source && lines > MAX_LINES {
        errors.push(format!("{path}: {lines} lines, more than {MAX_LINES}"));
    }
    if path == "ARCHITECTURE.md" && lines > MAX_MAP_LINES {
        errors.push(format!("{path}: {lines} lines, more than {MAX_MAP_LINES}"));
    }
}

fn name(path: &str, errors: &mut Vec<String>) {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    if VAGUE.contains(&stem) {
        errors.push(format!("{path}: a name that says nothing"));
    }
}

fn code(path: &str, text: &str, errors: &mut Vec<String>) {
    let code = code_only(text);
    let original: Vec<&str> = text.lines().collect();
    let may_be_unsafe = UNSAFE.iter().any(|allowed| match allowed.strip_suffix('/') {
        Some(_) => path.starts_with(allowed),
        None => path == *allowed,
    });
    for (line, content) in numbered(&code) {
        for (at, word) in words(content) {
            let next = content[at + word.len()..].trim_start();
            match word {
                "unsafe" | "unsafe_code" if !may_be_unsafe => {
                    errors.push(format!("{path}:{line}: {word} outside the files that may"));
                }
                "unsafe" if next.starts_with('{') && !has_safety(&original[..line]) => {
                    errors.push(format!("{path}:{line}: an unsafe block without SAFETY:"));
                }
                _ if UNFINISHED.contains(&word) && next.starts_with('!') => {
                    errors.push(format!("{path}:{line}: {word}!"));
                }
                _ => {}
            }
        }
    }
}

/// Whether a comment with `SAFETY:` ends at most three lines above the last of `lines`: an unsafe
/// block may begin in the middle of a statement.
fn has_safety(lines: &[&str]) -> bool {
    let comment = |line: &&str| line.trim_start().starts_with("//");
    let mut above = lines.iter().rev();
    let Some(end) =
        above.clone().take(4).position(|line| comment(line) || line.contains("SAFETY:"))
    else {
        return false;
    };
    let mut rest = above.by_ref().skip(end);
    rest.next().is_some_and(|line| line.contains("SAFETY:"))
        || rest.take_while(|line| comment(line)).any(|line| line.contains("SAFETY:"))
}

/// Every relative link leads to a file or a folder of the repository.
fn links(path: &str, text: &str, files: &Files, errors: &mut Vec<String>) {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (line, content) in numbered(text) {
        for (_, rest) in content.match_indices("](").map(|(at, _)| content.split_at(at + 2)) {
            let target = rest.split([')', ' ', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains(':') {
                continue;
            }
            let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
            for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
                if part == ".." {
                    parts.pop();
                } else {
                    parts.push(part);
                }
            }
            let target = parts.join("/");
            let folder = format!("{target}/");
            let exists = files.contains_key(&target)
                || files
                    .range(folder.clone()..)
                    .next()
                    .is_some_and(|(p, _)| p.starts_with(&folder));
            if !exists {
                errors.push(format!("{path}:{line}: a link to {target}, which is not there"));
            }
        }
    }
}

/// Every crate of the workspace inherits what the workspace decides.
fn manifest(path: &str, text: &str, errors: &mut Vec<String>) {
    if path.starts_with("fuzz/") {
        return;
    }
    if !text.contains("[lints]\nworkspace = true\n") {
        errors.push(format!("{path}: does not inherit the workspace's lints"));
    }
    for field in ["version", "edition", "rust-version", "license"] {
        if !text.contains(&format!("\n{field}.workspace = true\n")) {
            errors.push(format!("{path}: does not inherit the workspace's {field}"));
        }
    }
}

/// Both READMEs have the same outline and the same commands.
fn translation(files: &Files, errors: &mut Vec<String>) {
    let (Some(english), Some(chinese)) = (files.get("README.md"), files.get("README.zh-CN.md"))
    else {
        return;
    };
    let (english, chinese) = (Outline::of(english), Outline::of(chinese));
    if english.headings != chinese.headings {
        errors.push(format!(
            "README.zh-CN.md: {} headings of other levels than README.md's {}",
            chinese.headings.len(),
            english.headings.len()
        ));
    }
    if english.code.len() != chinese.code.len() {
        let (chinese, english) = (chinese.code.len(), english.code.len());
        errors.push(format!("README.zh-CN.md: {chinese} code blocks, README.md: {english}"));
        return;
    }
    for (english, chinese) in english.code.iter().zip(&chinese.code) {
        if english != chinese {
            errors.push(format!("README.zh-CN.md: other code than README.md's\n{english}"));
        }
    }
}

#[derive(Default)]
struct Outline {
    /// Levels of the headings in order.
    headings: Vec<usize>,
    /// Code blocks in order, less comments, which are translated.
    code: Vec<String>,
}

impl Outline {
    fn of(text: &str) -> Self {
        let mut outline = Outline::default();
        let mut block: Option<String> = None;
        for line in text.lines() {
            match &mut block {
                _ if line.trim_start().starts_with("```") => match block.take() {
                    Some(done) => outline.code.push(done),
                    None => block = Some(String::new()),
                },
                Some(block) => {
                    let comments = [" # ", " // "];
                    let end = comments.iter().filter_map(|comment| line.find(comment)).min();
                    let code = line[..end.unwrap_or(line.len())].trim_end();
                    // An attribute of Rust is no comment.
                    let comment = code.starts_with("//")
                        || code.starts_with('#')
                            && !code.starts_with("#[")
                            && !code.starts_with("#!");
                    if !code.is_empty() && !comment {
                        block.push_str(code);
                        block.push('\n');
                    }
                }
                None => {
                    let level = line.len() - line.trim_start_matches('#').len();
                    if level > 0 && line[level..].starts_with(' ') {
                        outline.headings.push(level);
                    }
                }
            }
        }
        outline
    }
}

/// Vectors whose origin nobody wrote down prove nothing.
fn vectors(files: &Files, errors: &mut Vec<String>) {
    let readme = files.get("vectors/README.md").map_or("", String::as_str);
    let json = |path: &&String| path.starts_with("vectors/") && path.ends_with(".json");
    for path in files.keys().filter(json) {
        let name = path.rsplit('/').next().unwrap_or_default();
        if !readme.contains(name) {
            errors.push(format!("{path}: not named in vectors/README.md"));
        }
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(i, line)| (i + 1, line))
}

/// Identifiers and keywords of a line with their places.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(is_word)?;
        let len = line[start..].find(|c| !is_word(c)).unwrap_or(line.len() - start);
        at = start + len;
        Some((start, &line[start..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\n\
        [lints]\nworkspace = true\n";
    const README: &str = "# a\n\n## b\n\n```sh\n# how\nrun a # now\n// why\n```\n\n[map](ARCHITECTURE.md) [v](vectors)\n";

    /// A repository with nothing untidy in it.
    fn tidy() -> Files {
        let mut files: Files = DOCUMENTS.iter().map(|&d| (d.into(), "text\n".into())).collect();
        let kernel = "#![allow(unsafe_code)]\n// SAFETY: the token.\nunsafe { f() }\n";
        for (path, text) in [
            ("README.md", README),
            (
                "README.zh-CN.md",
                &README
                    .replace("# now", "# 现在")
                    .replace("# how", "# 如何")
                    .replace("why", "为何"),
            ),
            ("crates/a/Cargo.toml", MANIFEST),
            ("crates/manylane/src/sm3/sse.rs", kernel),
            ("vectors/README.md", "`sm3.json`: by ref/sm3.py\n"),
            ("vectors/sm3.json", "{}\n"),
        ] {
            files.insert(path.into(), text.into());
        }
        files
    }

    /// The one error after `path` is replaced by `text`.
    fn planted(path: &str, text: &str) -> String {
        let mut files = tidy();
        files.insert(path.into(), text.into());
        let mut errors = errors(&files);
        assert_eq!(errors.len(), 1, "{path}: {text:?}: {errors:?}");
        errors.remove(0)
    }

    #[test]
    fn a_tidy_repository_has_no_errors() {
        assert_eq!(errors(&tidy()), Vec::<String>::new());
    }

    #[test]
    fn unsafe_code_stays_in_its_files() {
        assert!(planted("crates/a/src/b.rs", "unsafe fn f() {}\n").contains("outside"));
        assert!(planted("crates/a/src/b.rs", "#![allow(unsafe_code)]\n").contains("outside"));
        // A file is allowed by its whole name.
        let almost = "crates/manylane/src/sm3/sse.rs.rs";
        assert!(planted(almost, "unsafe fn f() {}\n").contains("outside"));
        let mut files = tidy();
        let talk = "// unsafe { }\nlet x = \"unsafe\";\n";
        files.insert("crates/a/src/b.rs".into(), talk.into());
        assert!(errors(&files).is_empty(), "comments and strings are not code");
    }

    #[test]
    fn every_unsafe_block_says_why_it_is_sound() {
        let kernel = "crates/manylane/src/sm3/avx2.rs";
        assert!(planted(kernel, "unsafe { f() }\n").contains("SAFETY"));
        assert!(planted(kernel, "// fine.\nunsafe { f() }\n").contains("SAFETY"));
        let far = "// SAFETY: of g.\nunsafe { g() }\nh();\nh();\nh();\nunsafe { f() }\n";
        assert!(planted(kernel, far).contains(":6:"));
        let mut files = tidy();
        let long = "// SAFETY: the token\n// proves it.\nlet x = g(\n    unsafe { f() });\n";
        files.insert(kernel.into(), long.into());
        assert!(errors(&files).is_empty());
    }

    #[test]
    fn unfinished_work_is_caught() {
        for word in UNFINISHED {
            let text = format!("fn f() {{ {word}!() }}\n");
            assert!(planted("crates/a/src/b.rs", &text).contains(word));
        }
    }

    #[test]
    fn long_files_are_caught() {
        assert!(planted("crates/a/src/b.rs", &"x();\n".repeat(MAX_LINES + 1)).contains("lines"));
        assert!(planted("ref/b.py", &"x()\n".repeat(MAX_LINES + 1)).contains("lines"));
        assert!(planted("rtl/b.v", &"wire x;\n".repeat(MAX_LINES + 1)).contains("lines"));
        assert!(planted("ARCHITECTURE.md", &"x\n".repeat(MAX_MAP_LINES + 1)).contains("lines"));
    }

    #[test]
    fn blanks_and_ends_are_caught() {
        assert!(planted("a.md", "x\ty\n").contains("tab"));
        assert!(planted("a.md", "x \n").contains("blanks"));
        assert!(planted("a.md", "x").contains("newline"));
        assert!(planted("a.md", "x\n\n").contains("newline"));
    }

    #[test]
    fn paths_of_one_computer_are_caught() {
        for local in LOCAL {
            assert!(planted("a.md", &format!("see {local}x\n")).contains("one computer"));
        }
        let mut files = tidy();
        files.insert("a.md".into(), format!("see example.org{}x\n", LOCAL[3]));
        assert!(errors(&files).is_empty(), "the same letters within a longer path");
    }

    #[test]
    fn vague_names_are_caught() {
        assert!(planted("crates/a/src/utils.rs", "x();\n").contains("says nothing"));
    }

    #[test]
    fn dead_links_are_caught() {
        assert!(planted("vectors/b.md", "[x](../gone.md)\n").contains("gone.md"));
    }

    #[test]
    fn crates_inherit() {
        let own = MANIFEST.replace("license.workspace = true", "license = \"MIT\"");
        assert!(planted("crates/a/Cargo.toml", &own).contains("license"));
        let own = MANIFEST.replace("\n[lints]\nworkspace = true\n", "");
        assert!(planted("crates/a/Cargo.toml", &own).contains("lints"));
    }

    #[test]
    fn documents_stay() {
        for document in DOCUMENTS {
            let mut files = tidy();
            files.remove(document);
            let errors = errors(&files);
            assert!(errors.iter().any(|e| e.contains("missing") && e.starts_with(document)));
        }
    }

    #[test]
    fn translations_keep_up() {
        let fewer = README.replace("## b\n", "b\n");
        assert!(planted("README.zh-CN.md", &fewer).contains("headings"));
        let other = README.replace("run a", "run b");
        assert!(planted("README.zh-CN.md", &other).contains("other code"));
    }

    #[test]
    fn vectors_have_an_origin() {
        assert!(planted("vectors/sm9.json", "{}\n").contains("sm9.json"));
    }
}
