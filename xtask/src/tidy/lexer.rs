//! Rust sources without what is not code.

/// The source with every character of comments and literals replaced by a blank; lines stay.
pub(super) fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let previous_is_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'r' | 'b' | 'c' if !previous_is_word => prefixed_literal(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skipped == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..skipped].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    out
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of the literal that begins with a quotation mark.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of a raw, byte or C string or a byte that begins here, or 0.
fn prefixed_literal(rest: &str) -> usize {
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    let after = &rest[prefix..];
    if prefix > 2 {
        return 0;
    }
    if after.starts_with('\'') && &rest[..prefix] == "b" {
        return prefix + character(after);
    }
    if !rest[..prefix].contains('r') {
        return if after.starts_with('"') { prefix + string(after) } else { 0 };
    }
    let hashes = after.len() - after.trim_start_matches('#').len();
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = prefix + hashes + 1;
    rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len())
}

/// Length of the character literal that begins here, or 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        // The character after the backslash may be a quotation mark itself.
        Some((_, '\\')) => rest[3..].find('\'').map_or(0, |at| at + 4),
        Some(_) => chars.next().filter(|&(_, c)| c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::code_only;

    #[test]
    fn only_code_is_left() {
        for (source, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" y", 1)"#, "f(        , 1)"),
            (r##"f(r#"x " y"#, b"z")"##, "f(          ,     )"),
            ("match c { '\"' => 1, '\\'' => 2 }", "match c {     => 1,      => 2 }"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("for r in b {}", "for r in b {}"),
        ] {
            assert_eq!(code_only(source), code, "{source}");
        }
    }
}
