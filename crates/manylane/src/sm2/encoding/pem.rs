//! PEM (RFC 7468) with what stands around it in practice: other blocks and text.

use pem_rfc7468::{Decoder, LineEnding};
use zeroize::Zeroizing;

use crate::Error;

/// A block of PEM, undecoded.
pub(super) struct Block<'a> {
    /// The label.
    pub(super) label: &'a [u8],
    /// From BEGIN's first hyphen to END's last.
    text: &'a [u8],
}

/// The blocks of a text in order. Text that is no block is passed over.
pub(super) fn blocks(mut text: &[u8]) -> impl Iterator<Item = Block<'_>> {
    core::iter::from_fn(move || {
        loop {
            let from = &text[find(text, b"-----BEGIN ")?..];
            let label = &from[11..];
            let label = &label[..find(label, b"-----")?];
            // A label has no line end: what has one is another BEGIN that lost its hyphens.
            if !label.iter().all(|byte| matches!(byte, b' '..=b'~')) {
                text = &from[11..];
                continue;
            }
            let end = [b"-----END ", label, b"-----"].concat();
            let len = find(from, &end)? + end.len();
            text = &from[len..];
            return Some(Block { label, text: &from[..len] });
        }
    })
}

/// Whether a file is PEM rather than one of the other forms.
pub(super) fn is_pem(bytes: &[u8]) -> bool {
    find(bytes, b"-----BEGIN ").is_some()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

impl Block<'_> {
    /// The DER inside. The characters are decoded in constant time, for they may be a key's.
    pub(super) fn decode(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        if find(self.text, b"\nProc-Type:").is_some() {
            return Err(Error::Encoding(
                "encrypted as OpenSSL did before PKCS #8; convert it with `openssl pkcs8 -topk8`",
            ));
        }
        let decode = || {
            let mut decoder = Decoder::new_detect_wrap(self.text)?;
            let mut der = Zeroizing::new(vec![0; decoder.remaining_len()]);
            decoder.decode(&mut der)?;
            Ok::<_, pem_rfc7468::Error>(der)
        };
        decode().map_err(|_| Error::Encoding("the PEM block is malformed"))
    }
}

/// A block with lines of 64 characters.
pub(super) fn encode(label: &str, der: &[u8]) -> String {
    pem_rfc7468::encode_string(label, LineEnding::LF, der).expect("a label and a short key")
}
