//! The lines of a list of digests: written for `manylane sum`, read for `manylane sum --check`.
//!
//! `CHECK.md` beside this crate's manifest says which line means what, and why.

use std::{borrow::Cow, fmt};

use manylane::hash::{Algorithm, Digest, MAX_DIGEST_LEN};

/// Hexadecimal digits from which a line cannot begin with a tag: those of the shortest digest of a fixed
/// length, SHA3-224's.
const LEAST_DIGITS: usize = 56;

/// What a digest is of: the file, or the file under a key; and by which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The hash function.
    pub algorithm: Algorithm,
    /// Whether it is the HMAC with that function.
    pub is_hmac: bool,
}

/// What stands before the tag of a digest under a key.
const HMAC: &str = "HMAC-";

/// How the algorithms are called in lists; the first is what is written, the others are what OpenSSL calls them.
fn tags(algorithm: Algorithm) -> &'static [&'static str] {
    match algorithm {
        Algorithm::Sm3 => &["SM3"],
        Algorithm::Sha3_224 => &["SHA3-224"],
        Algorithm::Sha3_256 => &["SHA3-256"],
        Algorithm::Sha3_384 => &["SHA3-384"],
        Algorithm::Sha3_512 => &["SHA3-512"],
        Algorithm::Keccak256 => &["KECCAK-256"],
        Algorithm::Shake128 => &["SHAKE128", "SHAKE-128"],
        Algorithm::Shake256 => &["SHAKE256", "SHAKE-256"],
        Algorithm::TurboShake128 => &["TurboSHAKE128"],
        Algorithm::TurboShake256 => &["TurboSHAKE256"],
        Algorithm::Kt128 => &["KT128"],
        Algorithm::Kt256 => &["KT256"],
        _ => &[],
    }
}

impl Kind {
    /// The digest of a file.
    pub fn of(algorithm: Algorithm) -> Self {
        Kind { algorithm, is_hmac: false }
    }

    /// The tag in front of the name, in two parts.
    fn tag(self) -> [&'static str; 2] {
        let tag = tags(self.algorithm).first().copied().unwrap_or_default();
        [if self.is_hmac { HMAC } else { "" }, tag]
    }

    fn of_tag(tag: &[u8]) -> Option<Self> {
        let bare = tag.strip_prefix(HMAC.as_bytes());
        let is_named = |algorithm: &Algorithm| {
            tags(*algorithm).iter().any(|name| name.as_bytes() == bare.unwrap_or(tag))
        };
        let algorithm = Algorithm::ALL.into_iter().find(is_named)?;
        let is_hmac = bare.is_some();
        (algorithm.has_hmac() || !is_hmac).then_some(Kind { algorithm, is_hmac })
    }
}

/// The tag.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tag().into_iter().try_for_each(|part| f.write_str(part))
    }
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `SM3 (name) = digest`, as `cksum -a sm3` does; `SHA3-256 (name) = digest`, as `cksum -a sha3 -l 256`.
    Tagged(Kind),
    /// `digest  name`, as `cksum -a sm3 --untagged` does.
    Untagged,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a newline; newlines, carriage returns and backslashes of the name are escaped, which
    /// a backslash at the beginning of the line announces.
    Newline,
    /// With NUL; the name is written as it is.
    Nul,
}

/// Appends the line for one file.
pub fn write(out: &mut Vec<u8>, style: Style, end: End, name: &[u8], digest: &[u8]) {
    let name = match end {
        End::Newline => escape(name),
        End::Nul => Cow::Borrowed(name),
    };
    if let Cow::Owned(_) = name {
        out.push(b'\\');
    }
    match style {
        Style::Tagged(kind) => {
            kind.tag().into_iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
            out.extend_from_slice(b" (");
            out.extend_from_slice(&name);
            out.extend_from_slice(b") = ");
            write_hex(out, digest);
        }
        Style::Untagged => {
            write_hex(out, digest);
            out.extend_from_slice(b"  ");
            out.extend_from_slice(&name);
        }
    }
    out.push(match end {
        End::Newline => b'\n',
        End::Nul => 0,
    });
}

/// Appends the hexadecimal digits of `bytes`.
pub fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(
        bytes
            .iter()
            .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}

/// The name with `\n`, `\r` and `\\` for newlines, carriage returns and backslashes; borrowed if
/// it has none of them.
pub fn escape(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\')) {
        return Cow::Borrowed(name);
    }
    let mut escaped = Vec::with_capacity(name.len() + 8);
    for byte in name {
        match byte {
            b'\n' => escaped.extend_from_slice(b"\\n"),
            b'\r' => escaped.extend_from_slice(b"\\r"),
            b'\\' => escaped.extend_from_slice(b"\\\\"),
            _ => escaped.push(*byte),
        }
    }
    Cow::Owned(escaped)
}

/// What [`escape`] made the text from, or `None` if it cannot have made it.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            _ => *byte,
        });
    }
    Some(name)
}

/// One file of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What the digest is of, where the line says it.
    pub kind: Option<Kind>,
    /// The file's name; neither empty nor with a NUL in it.
    pub name: Cow<'a, [u8]>,
    /// The digest it should have; as long as the line's function has them, if that is known.
    pub digest: Digest,
}

/// Why a line is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It has none of the forms.
    Form,
    /// Its tag names another algorithm.
    Algorithm(String),
    /// The digest is not so many hexadecimal digits as its function has, or as there can be of any.
    Digest(Option<usize>),
    /// It begins with a backslash, but the name has an escape that does not exist.
    Escape,
    /// The name is empty or contains NUL, so no file can have it.
    Name,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Form => f.write_str("not a line of digest and name"),
            Malformed::Algorithm(tag) => write!(f, "no such algorithm here: {tag}"),
            Malformed::Digest(Some(due)) => write!(f, "the digest is not {due} hexadecimal digits"),
            Malformed::Digest(None) => write!(
                f,
                "the digest is not an even number of hexadecimal digits, at most {}",
                2 * MAX_DIGEST_LEN
            ),
            Malformed::Escape => f.write_str("no such escape in a name"),
            Malformed::Name => f.write_str("the name is empty or contains NUL"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Reads one line, with or without its line ending: nothing if it is empty or a comment.
///
/// # Errors
/// [`Malformed`] if it is neither that nor a digest with a name.
pub fn parse(line: &[u8]) -> Result<Option<Entry<'_>>, Malformed> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(None);
    }
    let (escaped, line) = match skip_blanks(line) {
        [b'\\', rest @ ..] => (true, rest),
        line => (false, line),
    };
    let (kind, name, digest) = match parse_untagged(line)? {
        Some((name, digest)) => (None, name, digest),
        None => {
            let (kind, name, digest) = parse_tagged(line)?;
            (Some(kind), name, digest)
        }
    };
    let name = match escaped {
        true => Cow::Owned(unescape(name).ok_or(Malformed::Escape)?),
        false => Cow::Borrowed(name),
    };
    if name.is_empty() || name.contains(&0) {
        return Err(Malformed::Name);
    }
    Ok(Some(Entry { kind, name, digest }))
}

type NameAndDigest<'a> = (&'a [u8], Digest);

/// `digest  name` or `digest *name`; nothing if the line does not begin with as many
/// hexadecimal digits as no tag does.
fn parse_untagged(line: &[u8]) -> Result<Option<NameAndDigest<'_>>, Malformed> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    match &line[digits..] {
        [b' ', b' ' | b'*', name @ ..] => {
            Ok(Some((name, parse_hex(&line[..digits]).ok_or(Malformed::Digest(None))?)))
        }
        _ if digits >= LEAST_DIGITS => Err(Malformed::Form),
        _ => Ok(None),
    }
}

/// `SM3 (name) = digest`, or `SM3(name)= digest` as `openssl dgst` writes it.
///
/// The name ends at the last parenthesis: a digest contains none, so whatever the name contains,
/// there is one reading.
fn parse_tagged(line: &[u8]) -> Result<(Kind, &[u8], Digest), Malformed> {
    let open = line.iter().position(|byte| *byte == b'(').ok_or(Malformed::Form)?;
    let close = line.iter().rposition(|byte| *byte == b')').ok_or(Malformed::Form)?;
    let tag = line[..open].strip_suffix(b" ").unwrap_or(&line[..open]);
    let name = line.get(open + 1..close).ok_or(Malformed::Form)?;
    let digest = skip_blanks(&line[close + 1..])
        .strip_prefix(b"=")
        .map(skip_blanks)
        .ok_or(Malformed::Form)?;
    let Some(kind) = Kind::of_tag(tag) else {
        let is_tag = |byte: &u8| byte.is_ascii_alphanumeric() || b"-/_.".contains(byte);
        return Err(match !tag.is_empty() && tag.len() <= 32 && tag.iter().all(is_tag) {
            true => Malformed::Algorithm(String::from_utf8_lossy(tag).into_owned()),
            false => Malformed::Form,
        });
    };
    let algorithm = kind.algorithm;
    let len = (!algorithm.is_xof()).then(|| algorithm.digest_len());
    Ok((kind, name, digest_of_len(digest, len)?))
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &text[blanks..]
}

/// A digest of so many bytes, or of any number.
fn digest_of_len(digits: &[u8], len: Option<usize>) -> Result<Digest, Malformed> {
    let digest = parse_hex(digits).filter(|digest| len.is_none_or(|len| digest.len() == len));
    digest.ok_or(Malformed::Digest(len.map(|len| 2 * len)))
}

fn parse_hex(digits: &[u8]) -> Option<Digest> {
    let (pairs, odd) = digits.as_chunks::<2>();
    let mut bytes = [0; MAX_DIGEST_LEN];
    let bytes = bytes.get_mut(..pairs.len()).filter(|bytes| !bytes.is_empty() && odd.is_empty())?;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = hex_value(*high)? << 4 | hex_value(*low)?;
    }
    Digest::new(bytes)
}

/// The value of a hexadecimal digit of either case.
pub fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const DIGEST: [u8; 32] = [0xab; 32];

    fn hex() -> String {
        "ab".repeat(32)
    }

    fn entry(line: &str) -> Option<Entry<'_>> {
        parse(line.as_bytes()).unwrap()
    }

    const SM3: Kind = Kind { algorithm: Algorithm::Sm3, is_hmac: false };
    const HMAC_SM3: Kind = Kind { is_hmac: true, ..SM3 };

    fn reads(line: &str, kind: Option<Kind>, name: &str) {
        let digest = Digest::new(&DIGEST).unwrap();
        let expected = Entry { kind, name: name.as_bytes().into(), digest };
        assert_eq!(entry(line), Some(expected), "{line:?}");
    }

    #[test]
    fn every_form_is_read() {
        let hex = hex();
        let sm3 = Some(SM3);
        reads(&format!("SM3 (a b) = {hex}\n"), sm3, "a b");
        reads(&format!("SM3 (a b) = {hex}\r\n"), sm3, "a b");
        reads(&format!("  SM3 (a) = {hex}"), sm3, "a");
        reads(&format!("\\SM3 (a\\nb\\\\c\\rd) = {hex}"), sm3, "a\nb\\c\rd");
        reads(&format!("SM3(a)= {hex}"), sm3, "a");
        reads(&format!("HMAC-SM3(a)= {hex}"), Some(HMAC_SM3), "a");
        reads(&format!("HMAC-SM3 (a) = {hex}"), Some(HMAC_SM3), "a");
        let of = |algorithm| Some(Kind::of(algorithm));
        reads(&format!("SHA3-256 (a) = {hex}"), of(Algorithm::Sha3_256), "a");
        reads(&format!("SHA3-256(a)= {hex}"), of(Algorithm::Sha3_256), "a");
        reads(&format!("KECCAK-256(a)= {hex}"), of(Algorithm::Keccak256), "a");
        reads(&format!("SHAKE-128(a)= {hex}"), of(Algorithm::Shake128), "a");
        reads(&format!("SHAKE256 (a) = {hex}"), of(Algorithm::Shake256), "a");
        let hmac = Some(Kind { algorithm: Algorithm::Sha3_256, is_hmac: true });
        reads(&format!("HMAC-SHA3-256(a)= {hex}"), hmac, "a");
        reads(&format!("{hex}  a"), None, "a");
        reads(&format!("{hex} *a"), None, "a");
        reads(&format!("{}  a", hex.to_uppercase()), None, "a");
        reads(&format!("\\{hex} *a\\nb"), None, "a\nb");
    }

    #[test]
    fn what_looks_like_syntax_in_a_name_is_the_name() {
        let hex = hex();
        let sm3 = Some(SM3);
        reads(&format!("SM3 (a) = {hex}) = {hex}"), sm3, &format!("a) = {hex}"));
        reads(&format!("SM3 ( (a) = ) = {hex}"), sm3, " (a) = ");
        reads(&format!("SM3(SM3 (a))= {hex}"), sm3, "SM3 (a)");
        reads(&format!("{hex}   a"), None, " a");
        reads(&format!("{hex}  *a"), None, "*a");
        reads(&format!("{hex} ** "), None, "* ");
        reads(&format!("{hex}  a\\n"), None, "a\\n");
        reads(&format!("SM3 (a\\b) = {hex}"), sm3, "a\\b");
        reads(&format!("{hex}  SM3 (a) = {hex}"), None, &format!("SM3 (a) = {hex}"));
        reads(&format!("SM3 ({hex}  a) = {hex}"), sm3, &format!("{hex}  a"));
    }

    #[test]
    fn empty_lines_and_comments_are_passed_over() {
        for line in ["", "\n", "\r\n", "# SM3 (a) = 00", "#"] {
            assert_eq!(entry(line), None, "{line:?}");
        }
    }

    #[test]
    fn what_has_no_form_is_refused_with_the_reason() {
        let hex = hex();
        let refused = [
            ("a".to_owned(), Malformed::Form),
            (" ".to_owned(), Malformed::Form),
            (hex.clone(), Malformed::Form),
            (format!("{hex} a"), Malformed::Form),
            (format!("{hex}\ta"), Malformed::Form),
            (format!("SM3 (a) {hex}"), Malformed::Form),
            (format!(") = {hex} SM3 ("), Malformed::Form),
            (format!("(stdin)= {hex}"), Malformed::Form),
            (format!("sm3 (a) = {hex}"), Malformed::Algorithm("sm3".into())),
            (format!("SHA256 (a) = {hex}"), Malformed::Algorithm("SHA256".into())),
            (format!("{}  a", &hex[1..]), Malformed::Digest(None)),
            (format!("{hex}0  a"), Malformed::Digest(None)),
            (format!("{}  a", hex.repeat(3)), Malformed::Digest(None)),
            (format!("SM3 (a) = {hex}0"), Malformed::Digest(Some(64))),
            (format!("SM3 (a) = {hex}ab"), Malformed::Digest(Some(64))),
            (format!("SHA3-512 (a) = {hex}"), Malformed::Digest(Some(128))),
            (format!("SHAKE128 (a) = {hex}a"), Malformed::Digest(None)),
            ("SHAKE128 (a) = ".to_owned(), Malformed::Digest(None)),
            (format!("HMAC-SHAKE128 (a) = {hex}"), Malformed::Algorithm("HMAC-SHAKE128".into())),
            (format!("SM3 (a) = {hex} "), Malformed::Digest(Some(64))),
            (format!("SM3 (a) = g{}", &hex[1..]), Malformed::Digest(Some(64))),
            (format!("\\{hex}  a\\t"), Malformed::Escape),
            (format!("\\{hex}  a\\"), Malformed::Escape),
            (format!("\\{hex}  a\\0"), Malformed::Escape),
            (format!("{hex}  "), Malformed::Name),
            (format!("SM3 () = {hex}"), Malformed::Name),
            (format!("SM3 (a\0b) = {hex}"), Malformed::Name),
        ];
        for (line, reason) in refused {
            assert_eq!(parse(line.as_bytes()), Err(reason), "{line:?}");
        }
    }

    #[test]
    fn lines_are_written_as_cksum_does() {
        let line = |style, end, name: &[u8]| {
            let mut line = Vec::new();
            write(&mut line, style, end, name, &DIGEST);
            String::from_utf8(line).unwrap()
        };
        let hex = hex();
        let tagged = Style::Tagged(SM3);
        assert_eq!(line(tagged, End::Newline, b"a"), format!("SM3 (a) = {hex}\n"));
        assert_eq!(line(tagged, End::Newline, b"a\n\\"), format!("\\SM3 (a\\n\\\\) = {hex}\n"));
        assert_eq!(line(tagged, End::Nul, b"a\n"), format!("SM3 (a\n) = {hex}\0"));
        assert_eq!(line(Style::Untagged, End::Newline, b"a\r"), format!("\\{hex}  a\\r\n"));
        let hmac = Style::Tagged(HMAC_SM3);
        assert_eq!(line(hmac, End::Newline, b"a"), format!("HMAC-SM3 (a) = {hex}\n"));
    }

    fn name() -> impl Strategy<Value = Vec<u8>> {
        let special = prop::sample::select(&b"\n\r\\ ()=*#-\tSM3anr\xff"[..]);
        vec(prop_oneof![special, 1..=255u8], 1..40)
    }

    proptest! {
        #[test]
        fn escaping_round_trips(name in vec(any::<u8>(), 0..40)) {
            let escaped = escape(&name);
            prop_assert!(!escaped.contains(&b'\n') && !escaped.contains(&b'\r'));
            prop_assert_eq!(unescape(&escaped), Some(name.clone()));
        }

        #[test]
        fn what_is_written_is_read(
            name in name(),
            bytes in vec(any::<u8>(), 1..=MAX_DIGEST_LEN),
            algorithm in prop::sample::select(&Algorithm::ALL[..]),
            style in 0..3,
        ) {
            let mut bytes = bytes;
            if style > 0 && !algorithm.is_xof() {
                bytes.resize(algorithm.digest_len(), 7);
            }
            let digest = Digest::new(&bytes).unwrap();
            let is_hmac = style == 2 && algorithm.has_hmac();
            let kind = (style > 0).then_some(Kind { algorithm, is_hmac });
            let style = kind.map_or(Style::Untagged, Style::Tagged);
            let mut line = Vec::new();
            write(&mut line, style, End::Newline, &name, &digest);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert_eq!(parse(&line), Ok(Some(Entry { kind, name: name.into(), digest })));
        }

        #[test]
        fn any_bytes_are_read_or_refused(line in vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }
    }
}
