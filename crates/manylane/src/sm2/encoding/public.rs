//! Forms of public keys: SubjectPublicKeyInfo (RFC 5480), certificates, PEM, hexadecimal digits.

use der::{AnyRef, Decode as _, Encode as _, SliceReader, Tag, Tagged as _, asn1::BitStringRef};
use spki::{AlgorithmIdentifier, SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};

use super::{CURVE, EC_PUBLIC_KEY, Look, check_algorithm, look, pem};
use crate::{Error, sm2::PublicKey};

impl PublicKey {
    /// Reads SubjectPublicKeyInfo in DER, as OpenSSL writes with `-pubout`. The curve is named by
    /// id-ecPublicKey's parameters, or is the algorithm itself; the point may be compressed.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is anything else or of another curve; [`Error::Key`] if there is no
    /// point of the curve in it.
    pub fn from_spki_der(der: &[u8]) -> Result<Self, Error> {
        let info = SubjectPublicKeyInfoRef::from_der(der)
            .map_err(|_| Error::Encoding("not a SubjectPublicKeyInfo in DER"))?;
        from_spki(&info)
    }

    /// Reads the public key of an X.509 certificate in DER. Nothing of the certificate is verified.
    ///
    /// # Errors
    /// As [`from_spki_der`](Self::from_spki_der).
    pub fn from_certificate_der(der: &[u8]) -> Result<Self, Error> {
        // RFC 5280, 4.1: Certificate and TBSCertificate, which begins with an optional version in [0],
        // serial number, signature's algorithm, issuer, validity and subject.
        let parse = || {
            let certificate = AnyRef::from_der(der)?;
            certificate.tag().assert_eq(Tag::Sequence)?;
            let mut parts = SliceReader::new(certificate.value())?;
            let tbs = AnyRef::decode(&mut parts)?;
            tbs.tag().assert_eq(Tag::Sequence)?;
            let mut fields = SliceReader::new(tbs.value())?;
            let version = Tag::peek(&fields)?.is_context_specific();
            for _ in 0..5 + usize::from(version) {
                AnyRef::decode(&mut fields)?;
            }
            SubjectPublicKeyInfoRef::decode(&mut fields)
        };
        let info: Result<_, der::Error> = parse();
        from_spki(&info.map_err(|_| Error::Encoding("not a certificate in DER"))?)
    }

    /// Reads the first public key or certificate of a text in PEM: `PUBLIC KEY` or `CERTIFICATE`.
    /// Other blocks, such as `EC PARAMETERS` or `SM2 PARAMETERS` before it, are passed over.
    ///
    /// # Errors
    /// [`Error::Encoding`] if there is none; otherwise as [`from_spki_der`](Self::from_spki_der).
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        for block in pem::blocks(text) {
            match block.label {
                b"PUBLIC KEY" => return PublicKey::from_spki_der(&block.decode()?),
                b"CERTIFICATE" | b"X509 CERTIFICATE" => {
                    return PublicKey::from_certificate_der(&block.decode()?);
                }
                _ => {}
            }
        }
        Err(Error::Encoding("no public key or certificate in PEM"))
    }

    /// Reads a point as hexadecimal digits of either case: 128, or 130 that begin with 04, or 66 that
    /// begin with 02 or 03 (compressed). There may be white space around them.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is anything else; [`Error::Key`] if it is no point of the curve.
    pub fn from_hex(digits: &[u8]) -> Result<Self, Error> {
        let why = Error::Encoding("not a point of 66, 128 or 130 hexadecimal digits");
        let digits = digits.trim_ascii();
        if !matches!(digits.len(), 66 | 128 | 130) {
            return Err(why);
        }
        let point = base16ct::mixed::decode_vec(digits).map_err(|_| why)?;
        PublicKey::from_sec1_bytes(&point)
    }

    /// Reads a public key in any form of this library: PEM, DER of a SubjectPublicKeyInfo or a
    /// certificate, hexadecimal digits, or the bytes of a point.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is none of these; [`Error::Key`] if there is no point of the curve
    /// in it.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let look = look(bytes);
        match (bytes, look) {
            // No other form has 64 bytes, or begins with these.
            ([2..=4, ..], _) => PublicKey::from_sec1_bytes(bytes),
            (_, Look::Hex) => PublicKey::from_hex(bytes),
            (xy, _) if xy.len() == 64 => PublicKey::from_sec1_bytes(xy),
            (_, Look::Pem) => PublicKey::from_pem(bytes),
            (_, Look::Der) if SubjectPublicKeyInfoRef::from_der(bytes).is_ok() => {
                PublicKey::from_spki_der(bytes)
            }
            (_, Look::Der) => PublicKey::from_certificate_der(bytes),
            (_, Look::Other) => Err(Error::Encoding("not a public key in any known form")),
        }
    }

    /// Writes SubjectPublicKeyInfo in DER: 91 bytes, the point uncompressed.
    pub fn to_spki_der(&self) -> Vec<u8> {
        let point = self.to_sec1_bytes();
        let info = SubjectPublicKeyInfo {
            algorithm: AlgorithmIdentifier { oid: EC_PUBLIC_KEY, parameters: Some(CURVE) },
            subject_public_key: BitStringRef::from_bytes(&point).expect("65 bytes"),
        };
        info.to_der().expect("91 bytes")
    }

    /// Writes a `PUBLIC KEY` in PEM.
    pub fn to_pem(&self) -> String {
        pem::encode("PUBLIC KEY", &self.to_spki_der())
    }

    /// Writes the point as 130 lower-case hexadecimal digits, 04 first.
    pub fn to_hex(&self) -> String {
        base16ct::lower::encode_string(&self.to_sec1_bytes())
    }
}

fn from_spki(info: &SubjectPublicKeyInfoRef<'_>) -> Result<PublicKey, Error> {
    check_algorithm(&info.algorithm)?;
    let point = info.subject_public_key.as_bytes().ok_or(Error::Key)?;
    from_point(point)
}

/// The point of an ECPoint (RFC 5480, 2.2), where x ‖ y alone is no form.
pub(super) fn from_point(point: &[u8]) -> Result<PublicKey, Error> {
    if point.len() == 64 {
        return Err(Error::Key);
    }
    PublicKey::from_sec1_bytes(point)
}
