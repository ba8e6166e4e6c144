//! User IDs and Z_A (GB/T 32918.2-2016, 5.5).

use super::PublicKey;
use crate::{Error, sm3::Midstate};

/// The ID that everybody uses who has none (GM/T 0009-2012, clause 10).
pub const DEFAULT_ID: &[u8] = b"1234567812345678";

/// Longest user ID in bytes: ENTL, its length in bits, has 16 bits.
pub const MAX_ID_LEN: usize = 8191;

/// a, b, x_G and y_G, as Z_A hashes them.
const CURVE: [u8; 128] = *b"\
\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\
\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xfc\
\x28\xe9\xfa\x9e\x9d\x9f\x5e\x34\x4d\x5a\x9e\x4b\xcf\x65\x09\xa7\
\xf3\x97\x89\xf5\x15\xab\x8f\x92\xdd\xbc\xbd\x41\x4d\x94\x0e\x93\
\x32\xc4\xae\x2c\x1f\x19\x81\x19\x5f\x99\x04\x46\x6a\x39\xc9\x94\
\x8f\xe3\x0b\xbf\xf2\x66\x0b\xe1\x71\x5a\x45\x89\x33\x4c\x74\xc7\
\xbc\x37\x36\xa2\xf4\xf6\x77\x9c\x59\xbd\xce\xe3\x6b\x69\x21\x53\
\xd0\xa9\x87\x7c\xc6\x2a\x47\x40\x02\xdf\x32\xe5\x21\x39\xf0\xa0";

/// Z_A = SM3(ENTL ‖ ID ‖ a ‖ b ‖ x_G ‖ y_G ‖ x_A ‖ y_A).
pub(super) fn z_a(id: &[u8], public: &PublicKey) -> Result<[u8; 32], Error> {
    if id.len() > MAX_ID_LEN {
        return Err(Error::IdLength(id.len()));
    }
    let entl = (8 * id.len() as u16).to_be_bytes();
    let prefix = Midstate::after(&entl).then(id).then(&CURVE);
    Ok(prefix.finish(&public.to_sec1_bytes()[1..]))
}
