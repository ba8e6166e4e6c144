//! Forms of secret keys: SEC 1 (RFC 5915), PKCS #8 (RFC 5208, RFC 5958), PEM, hexadecimal digits.

use der::{AnyRef, Decode as _, Encode as _, asn1::OctetStringRef};
use pkcs8::PrivateKeyInfoRef;
use sec1::{EcParameters, EcPrivateKey};
use spki::AlgorithmIdentifier;
use zeroize::Zeroizing;

use super::{CURVE, EC_PUBLIC_KEY, KeyEncryption, Look, check_algorithm, look, pbes2, pem, public};
use crate::{Error, sm2::SecretKey};

impl SecretKey {
    /// Reads ECPrivateKey of SEC 1 (RFC 5915) in DER. The curve may be left out; the public key too.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is anything else or of another curve; [`Error::Key`] if the number is
    /// not in [1, n − 2], or the public key with it is another's.
    pub fn from_sec1_der(der: &[u8]) -> Result<Self, Error> {
        let key = EcPrivateKey::from_der(der)
            .map_err(|_| Error::Encoding("not an EC private key in DER"))?;
        let curve = key.parameters.and_then(EcParameters::named_curve);
        if curve.is_some_and(|curve| curve != CURVE) {
            return Err(Error::Encoding("the key is not one of SM2's curve"));
        }
        let secret = from_number(key.private_key)?;
        check_public(&secret, key.public_key)?;
        Ok(secret)
    }

    /// Reads PrivateKeyInfo of PKCS #8 in DER, version 1 or 2. The curve is named by
    /// id-ecPublicKey's parameters, or is the algorithm itself.
    ///
    /// # Errors
    /// As [`from_sec1_der`](Self::from_sec1_der).
    pub fn from_pkcs8_der(der: &[u8]) -> Result<Self, Error> {
        let info = PrivateKeyInfoRef::from_der(der)
            .map_err(|_| Error::Encoding("not a PKCS #8 private key in DER"))?;
        check_algorithm(&info.algorithm)?;
        let secret = SecretKey::from_sec1_der(info.private_key.as_bytes())?;
        if let Some(public) = info.public_key {
            check_public(&secret, Some(public.as_bytes().ok_or(Error::Key)?))?;
        }
        Ok(secret)
    }

    /// Reads EncryptedPrivateKeyInfo of PKCS #8 in DER; [`KeyEncryption`] says which.
    ///
    /// # Errors
    /// [`Error::Password`] if the password is wrong or the content is damaged, which cannot be told
    /// apart; [`Error::Encoding`] if it is encrypted in another way, wants more iterations than
    /// [`MAX_ITERATIONS`](super::MAX_ITERATIONS), or is a key of another kind.
    pub fn from_encrypted_pkcs8_der(der: &[u8], password: &[u8]) -> Result<Self, Error> {
        let opened = pbes2::open(der, password)?;
        // A key of another kind is whole, so the password was right.
        let is_other = || {
            let info = PrivateKeyInfoRef::from_der(&opened);
            info.is_ok_and(|info| check_algorithm(&info.algorithm).is_err())
        };
        SecretKey::from_pkcs8_der(&opened)
            .map_err(|why| if is_other() { why } else { Error::Password })
    }

    /// Reads the first secret key of a text in PEM: `PRIVATE KEY`, `EC PRIVATE KEY`, or
    /// `ENCRYPTED PRIVATE KEY` with the password. Other blocks, such as `EC PARAMETERS` or
    /// `SM2 PARAMETERS` before it, are passed over. A password that is not needed is not looked at.
    ///
    /// # Errors
    /// [`Error::PasswordNeeded`] if the key is encrypted and there is no password;
    /// [`Error::Encoding`] if there is no key; otherwise as the functions for DER.
    pub fn from_pem(text: &[u8], password: Option<&[u8]>) -> Result<Self, Error> {
        for block in pem::blocks(text) {
            match block.label {
                b"PRIVATE KEY" => return SecretKey::from_pkcs8_der(&block.decode()?),
                b"EC PRIVATE KEY" | b"SM2 PRIVATE KEY" => {
                    return SecretKey::from_sec1_der(&block.decode()?);
                }
                b"ENCRYPTED PRIVATE KEY" => {
                    let der = block.decode()?;
                    let password = password.ok_or(Error::PasswordNeeded)?;
                    return SecretKey::from_encrypted_pkcs8_der(&der, password);
                }
                _ => {}
            }
        }
        Err(Error::Encoding("no private key in PEM"))
    }

    /// Reads 64 hexadecimal digits of either case, with or without white space around them. The time
    /// it takes does not depend on valid digits.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is anything else; [`Error::Key`] if the number is not in [1, n − 2].
    pub fn from_hex(digits: &[u8]) -> Result<Self, Error> {
        let mut number = Zeroizing::new([0; 32]);
        let decoded = base16ct::mixed::decode(digits.trim_ascii(), &mut *number);
        if decoded.is_ok_and(|decoded| decoded.len() == 32) {
            SecretKey::from_bytes(&number)
        } else {
            Err(Error::Encoding("not a private key of 64 hexadecimal digits"))
        }
    }

    /// Reads a secret key in any form of this library: PEM, DER of PKCS #8 (encrypted too) or SEC 1,
    /// or hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::PasswordNeeded`] if the key is encrypted and there is no password;
    /// [`Error::Encoding`] if it is none of these; otherwise as the functions for each form.
    pub fn decode(bytes: &[u8], password: Option<&[u8]>) -> Result<Self, Error> {
        match look(bytes) {
            Look::Hex => SecretKey::from_hex(bytes),
            Look::Pem => SecretKey::from_pem(bytes, password),
            Look::Der if EcPrivateKey::from_der(bytes).is_ok() => SecretKey::from_sec1_der(bytes),
            Look::Der if pbes2::is_encrypted(bytes) => {
                SecretKey::from_encrypted_pkcs8_der(bytes, password.ok_or(Error::PasswordNeeded)?)
            }
            Look::Der => SecretKey::from_pkcs8_der(bytes),
            Look::Other => Err(Error::Encoding("not a private key in any known form")),
        }
    }

    /// Writes ECPrivateKey of SEC 1 in DER, with curve and public key.
    pub fn to_sec1_der(&self) -> Zeroizing<Vec<u8>> {
        let number = self.to_bytes();
        let point = self.public_key().to_sec1_bytes();
        let key = EcPrivateKey {
            private_key: &number[..],
            parameters: Some(EcParameters::NamedCurve(CURVE)),
            public_key: Some(&point),
        };
        Zeroizing::new(key.to_der().expect("121 bytes"))
    }

    /// Writes PrivateKeyInfo of PKCS #8 in DER. The ECPrivateKey inside has the curve once more and
    /// the public key: some versions of GmSSL 3 read no other.
    pub fn to_pkcs8_der(&self) -> Zeroizing<Vec<u8>> {
        let key = self.to_sec1_der();
        let algorithm =
            AlgorithmIdentifier { oid: EC_PUBLIC_KEY, parameters: Some(AnyRef::from(&CURVE)) };
        let key = OctetStringRef::new(&key).expect("121 bytes");
        Zeroizing::new(PrivateKeyInfoRef::new(algorithm, key).to_der().expect("150 bytes"))
    }

    /// Writes EncryptedPrivateKeyInfo of PKCS #8 in DER, with a salt and an IV from the operating
    /// system.
    ///
    /// # Errors
    /// [`Error::Random`] if that gives none.
    pub fn to_encrypted_pkcs8_der(
        &self,
        password: &[u8],
        encryption: &KeyEncryption,
    ) -> Result<Vec<u8>, Error> {
        pbes2::seal(&self.to_pkcs8_der(), password, encryption)
    }

    /// Writes a `PRIVATE KEY` in PEM.
    pub fn to_pkcs8_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(pem::encode("PRIVATE KEY", &self.to_pkcs8_der()))
    }

    /// Writes an `EC PRIVATE KEY` in PEM.
    pub fn to_sec1_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(pem::encode("EC PRIVATE KEY", &self.to_sec1_der()))
    }

    /// Writes an `ENCRYPTED PRIVATE KEY` in PEM.
    ///
    /// ```
    /// use manylane::sm2::{KeyEncryption, SecretKey};
    ///
    /// let key = SecretKey::generate()?;
    /// let text = key.to_encrypted_pkcs8_pem(b"password", &KeyEncryption::default())?;
    /// let again = SecretKey::decode(text.as_bytes(), Some(b"password"))?;
    /// assert_eq!(again.public_key(), key.public_key());
    /// # Ok::<(), manylane::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_encrypted_pkcs8_der`](Self::to_encrypted_pkcs8_der).
    pub fn to_encrypted_pkcs8_pem(
        &self,
        password: &[u8],
        encryption: &KeyEncryption,
    ) -> Result<String, Error> {
        let der = self.to_encrypted_pkcs8_der(password, encryption)?;
        Ok(pem::encode("ENCRYPTED PRIVATE KEY", &der))
    }

    /// Writes 64 lower-case hexadecimal digits.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(base16ct::lower::encode_string(&self.to_bytes()[..]))
    }
}

/// The key of a big-endian number that should have 32 bytes. Some write it as long as it happens to be:
/// shorter without leading zeros, or with the zero that an INTEGER would need.
fn from_number(number: &[u8]) -> Result<SecretKey, Error> {
    let number = match number {
        [0, number @ ..] if number.len() == 32 => number,
        number if (1..=32).contains(&number.len()) => number,
        _ => return Err(Error::Key),
    };
    let mut bytes = Zeroizing::new([0; 32]);
    bytes[32 - number.len()..].copy_from_slice(number);
    SecretKey::from_bytes(&bytes)
}

/// Whether the public key, if there is one, belongs to the secret key.
fn check_public(secret: &SecretKey, public: Option<&[u8]>) -> Result<(), Error> {
    match public.map(public::from_point).transpose()? {
        Some(public) if public != *secret.public_key() => Err(Error::Key),
        _ => Ok(()),
    }
}
