//! Encrypted PKCS #8: PBES2 (RFC 8018) with the algorithms that SM2 keys come with. The crate `pkcs5`
//! knows neither HMAC-SM3 nor SM4, and refuses a document with either.

use cipher::KeyInit;
use der::{
    AnyRef, Decode, Encode as _, Reader as _, SliceReader, Tag, Tagged as _,
    asn1::{ObjectIdentifier, OctetStringRef},
};
use sha2::Sha256;
use spki::AlgorithmIdentifierRef;
use zeroize::Zeroizing;

use super::tlv::{INTEGER, OCTET_STRING, SEQUENCE, push_header};
use crate::{
    Error,
    aes::{Aes128, Aes256},
    block::{BlockCipher, cbc, pkcs7},
    sm3,
    sm4::Sm4,
};

const PBES2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.13");
const PBKDF2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.12");
const HMAC_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.9");
/// HMAC-SM3 (GB/T 33560): what GmSSL and newer Tongsuo write.
const HMAC_SM3: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.401.2");
/// The same in OpenSSL and older Tongsuo.
const HMAC_SM3_OPENSSL: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.401.3.1");
const SM4_CBC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.104.2");
const AES_128_CBC: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.1.2");
const AES_256_CBC: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.1.42");

/// Iterations of PBKDF2 at most. A file says how many it wants: without a bound it could keep a core
/// busy for hours. Ten million take a few seconds; no one is known to write more than one.
pub const MAX_ITERATIONS: u32 = 10_000_000;

/// The function that PBKDF2 iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prf {
    /// HMAC-SM3: GmSSL, Tongsuo, gmsm. OpenSSL 3.0 cannot read it.
    HmacSm3,
    /// HMAC-SHA-256: OpenSSL and everybody else. GmSSL cannot read it.
    HmacSha256,
}

/// The cipher that encrypts the key, in CBC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCipher {
    /// SM4 (GB/T 32907).
    Sm4Cbc,
    /// AES with a key of 128 bits.
    Aes128Cbc,
    /// AES with a key of 256 bits.
    Aes256Cbc,
}

/// How a secret key is encrypted under a password: PBKDF2 and a cipher in CBC mode, as PBES2 of
/// RFC 8018. The default is HMAC-SM3, SM4 and 600,000 iterations, which take about 0.2 s. All of them take constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEncryption {
    prf: Prf,
    cipher: KeyCipher,
    iterations: u32,
}

impl Default for KeyEncryption {
    fn default() -> Self {
        KeyEncryption::new(Prf::HmacSm3, KeyCipher::Sm4Cbc)
    }
}

impl KeyEncryption {
    /// With 600,000 iterations. OpenSSL 3.0 reads [`Prf::HmacSha256`] only, with any of the ciphers;
    /// GmSSL reads the default only.
    pub const fn new(prf: Prf, cipher: KeyCipher) -> Self {
        KeyEncryption { prf, cipher, iterations: 600_000 }
    }

    /// With another number of iterations.
    ///
    /// # Errors
    /// [`Error::Encoding`] unless it is in [1, [`MAX_ITERATIONS`]].
    pub fn with_iterations(self, iterations: u32) -> Result<Self, Error> {
        check_iterations(iterations)?;
        Ok(KeyEncryption { iterations, ..self })
    }

    /// Iterations of PBKDF2.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
}

impl Prf {
    fn of(algorithm: &AlgorithmIdentifierRef<'_>) -> Option<Self> {
        // GmSSL leaves the parameters out, the others write NULL.
        if !algorithm.parameters.is_none_or(|any| any.is_null()) {
            return None;
        }
        match algorithm.oid {
            HMAC_SM3 | HMAC_SM3_OPENSSL => Some(Prf::HmacSm3),
            HMAC_SHA256 => Some(Prf::HmacSha256),
            _ => None,
        }
    }

    /// The AlgorithmIdentifier: as GmSSL wants it, without NULL, and as RFC 8018 has it, with.
    fn to_der(self) -> Vec<u8> {
        match self {
            Prf::HmacSm3 => sequence(&[&oid(HMAC_SM3)]),
            Prf::HmacSha256 => sequence(&[&oid(HMAC_SHA256), &[0x05, 0]]),
        }
    }

    fn derive(self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        match self {
            Prf::HmacSm3 => sm3::pbkdf2(password, salt, iterations, key),
            Prf::HmacSha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, key),
        }
    }
}

impl KeyCipher {
    const ALL: [Self; 3] = [Self::Sm4Cbc, Self::Aes128Cbc, Self::Aes256Cbc];

    fn oid(self) -> ObjectIdentifier {
        match self {
            KeyCipher::Sm4Cbc => SM4_CBC,
            KeyCipher::Aes128Cbc => AES_128_CBC,
            KeyCipher::Aes256Cbc => AES_256_CBC,
        }
    }

    fn key_len(self) -> usize {
        match self {
            KeyCipher::Sm4Cbc | KeyCipher::Aes128Cbc => 16,
            KeyCipher::Aes256Cbc => 32,
        }
    }

    /// The ciphertext of `info` with its padding.
    fn encrypt(self, key: &[u8], iv: &[u8; 16], info: &[u8]) -> Vec<u8> {
        match self {
            KeyCipher::Sm4Cbc => encrypt::<Sm4>(key, iv, info),
            KeyCipher::Aes128Cbc => encrypt::<Aes128>(key, iv, info),
            KeyCipher::Aes256Cbc => encrypt::<Aes256>(key, iv, info),
        }
    }

    /// Decrypts in place: the length without padding, or that this is wrong.
    fn decrypt(self, key: &[u8], iv: &[u8; 16], data: &mut [u8]) -> Result<usize, Error> {
        match self {
            KeyCipher::Sm4Cbc => decrypt::<Sm4>(key, iv, data),
            KeyCipher::Aes128Cbc => decrypt::<Aes128>(key, iv, data),
            KeyCipher::Aes256Cbc => decrypt::<Aes256>(key, iv, data),
        }
    }
}

fn encrypt<C: BlockCipher + KeyInit>(key: &[u8], iv: &[u8; 16], info: &[u8]) -> Vec<u8> {
    let cipher = C::new_from_slice(key).expect("the length of its keys");
    pkcs7::encrypt(cbc::Encryptor::new(cipher, iv), info)
}

fn decrypt<C: BlockCipher + KeyInit>(
    key: &[u8],
    iv: &[u8; 16],
    data: &mut [u8],
) -> Result<usize, Error> {
    let cipher = C::new_from_slice(key).expect("the length of its keys");
    Ok(pkcs7::decrypt_in_place(cbc::Decryptor::new(cipher, iv), data)?.len())
}

/// What an EncryptedPrivateKeyInfo says.
struct Sealed<'a> {
    encryption: KeyEncryption,
    salt: &'a [u8],
    iv: &'a [u8; 16],
    data: &'a [u8],
}

/// EncryptedPrivateKeyInfo (RFC 5958): how, and what.
fn parts(der: &[u8]) -> der::Result<(AlgorithmIdentifierRef<'_>, &[u8])> {
    let mut reader = SliceReader::new(der)?;
    let parts = reader.sequence(|parts| {
        Ok::<_, der::Error>((parts.decode()?, <&OctetStringRef>::decode(parts)?.as_bytes()))
    })?;
    reader.finish()?;
    Ok(parts)
}

/// Whether it is an EncryptedPrivateKeyInfo, in whatever way.
pub(super) fn is_encrypted(der: &[u8]) -> bool {
    parts(der).is_ok()
}

impl<'a> Sealed<'a> {
    fn parse(der: &'a [u8]) -> Result<Self, Error> {
        let (scheme, data) =
            parts(der).map_err(|_| Error::Encoding("not an encrypted PKCS #8 key in DER"))?;
        if scheme.oid != PBES2 {
            return Err(Error::Encoding("the key is not encrypted with PBES2"));
        }
        let [kdf, cipher] = algorithms(scheme.parameters)
            .ok_or(Error::Encoding("PBES2's parameters are malformed"))?;
        if kdf.oid != PBKDF2 {
            return Err(Error::Encoding("the password is not processed with PBKDF2"));
        }
        let (salt, iterations, key_len, prf) = pbkdf2_parameters(kdf.parameters)
            .ok_or(Error::Encoding("PBKDF2's parameters are malformed"))?;
        check_iterations(iterations)?;
        let prf = prf.and_then(|prf| Prf::of(&prf));
        let prf =
            prf.ok_or(Error::Encoding("PBKDF2 with a function other than HMAC-SM3, HMAC-SHA-256"))?;
        let known = KeyCipher::ALL.into_iter().find(|known| known.oid() == cipher.oid);
        let known = known.ok_or(Error::Encoding("the key's cipher is not SM4-CBC or AES-CBC"))?;
        let iv = cipher.parameters.and_then(|iv| iv.decode_as::<&OctetStringRef>().ok());
        let iv = iv.and_then(|iv| iv.as_bytes().try_into().ok());
        let iv = iv.ok_or(Error::Encoding("the cipher's IV is malformed"))?;
        if key_len.is_some_and(|len| len != known.key_len() as u64) {
            return Err(Error::Encoding("PBKDF2's key length is not that of the cipher"));
        }
        Ok(Sealed { encryption: KeyEncryption { prf, cipher: known, iterations }, salt, iv, data })
    }
}

fn check_iterations(iterations: u32) -> Result<(), Error> {
    match iterations {
        1..=MAX_ITERATIONS => Ok(()),
        _ => Err(Error::Encoding("PBKDF2 with no or more than 10,000,000 iterations")),
    }
}

/// PBES2-params: KDF and cipher.
fn algorithms(parameters: Option<AnyRef<'_>>) -> Option<[AlgorithmIdentifierRef<'_>; 2]> {
    let mut reader = content(parameters?)?;
    let both = [reader.decode().ok()?, reader.decode().ok()?];
    reader.is_finished().then_some(both)
}

type Pbkdf2Parameters<'a> = (&'a [u8], u32, Option<u64>, Option<AlgorithmIdentifierRef<'a>>);

/// PBKDF2-params: salt, iterations, key length, PRF. The last is HMAC-SHA-1 if it is left out.
fn pbkdf2_parameters(parameters: Option<AnyRef<'_>>) -> Option<Pbkdf2Parameters<'_>> {
    let mut reader = content(parameters?)?;
    let salt = <&OctetStringRef>::decode(&mut reader).ok()?.as_bytes();
    // A number too large for u32 is refused as malformed, long before it is counted to.
    let iterations = reader.decode().ok()?;
    let key_len = Option::decode(&mut reader).ok()?;
    let prf = Option::decode(&mut reader).ok()?;
    reader.is_finished().then_some((salt, iterations, key_len, prf))
}

/// What is in a SEQUENCE.
fn content(any: AnyRef<'_>) -> Option<SliceReader<'_>> {
    (any.tag() == Tag::Sequence).then(|| SliceReader::new(any.value()).ok()).flatten()
}

/// Decrypts EncryptedPrivateKeyInfo: what should be PrivateKeyInfo.
pub(super) fn open(der: &[u8], password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let Sealed { encryption, salt, iv, data } = Sealed::parse(der)?;
    let mut key = Zeroizing::new([0; 32]);
    let key = &mut key[..encryption.cipher.key_len()];
    encryption.prf.derive(password, salt, encryption.iterations, key);
    let mut opened = Zeroizing::new(data.to_vec());
    let len = encryption.cipher.decrypt(key, iv, &mut opened).map_err(|_| Error::Password)?;
    opened.truncate(len);
    Ok(opened)
}

/// Encrypts PrivateKeyInfo as EncryptedPrivateKeyInfo.
pub(super) fn seal(info: &[u8], password: &[u8], how: &KeyEncryption) -> Result<Vec<u8>, Error> {
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    getrandom::fill(&mut salt)
        .and_then(|()| getrandom::fill(&mut iv))
        .map_err(|_| Error::Random)?;
    let mut key = Zeroizing::new([0; 32]);
    let key = &mut key[..how.cipher.key_len()];
    how.prf.derive(password, &salt, how.iterations, key);
    let data = how.cipher.encrypt(key, &iv, info);

    let iterations = how.iterations.to_der().expect("at most 6 bytes");
    let mut kdf = vec![element(OCTET_STRING, &salt), iterations];
    // GmSSL says how long the key is, OpenSSL does not.
    if how.prf == Prf::HmacSm3 {
        kdf.push(element(INTEGER, &[key.len() as u8]));
    }
    kdf.push(how.prf.to_der());
    let kdf = sequence(&[&oid(PBKDF2), &element(SEQUENCE, &kdf.concat())]);
    let cipher = sequence(&[&oid(how.cipher.oid()), &element(OCTET_STRING, &iv)]);
    let scheme = sequence(&[&oid(PBES2), &sequence(&[&kdf, &cipher])]);
    Ok(sequence(&[&scheme, &element(OCTET_STRING, &data)]))
}

fn oid(oid: ObjectIdentifier) -> Vec<u8> {
    oid.to_der().expect("a short identifier")
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = Vec::with_capacity(4 + content.len());
    push_header(&mut der, tag, content.len() as u64);
    der.extend_from_slice(content);
    der
}
