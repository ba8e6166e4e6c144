//! An SM2 key as OpenSSL holds it: a secret key, a public key, or the curve alone.

use std::{
    ffi::{CStr, c_int},
    sync::Arc,
};

use manylane::sm2::{PublicKey, SecretKey};

use crate::{
    abi::keymgmt::{KEYPAIR, PARAMETERS, PRIVATE_KEY, PUBLIC_KEY},
    core::Core,
    entry::Context,
    failure::{Failure, Reason},
    params::{Built, Params},
};

/// The name of the algorithm and of the curve.
pub(crate) const NAME: &CStr = c"SM2";

/// How a point is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Uncompressed,
    Compressed,
    Hybrid,
}

/// How the key is to be written by the default provider's encoders, which get that with the key. OpenSSL's callers set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    form: Form,
    /// Whether the curve is written by its numbers.
    is_explicit: bool,
    /// Whether a secret key is written without its public key.
    omits_public: bool,
}

impl Style {
    pub(crate) fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        self.form = match params.text(c"point-format")? {
            None => self.form,
            Some("uncompressed") => Form::Uncompressed,
            Some("compressed") => Form::Compressed,
            Some("hybrid") => Form::Hybrid,
            Some(_) => return Err(Reason::Form.into()),
        };
        self.is_explicit = match params.text(c"encoding")? {
            None => self.is_explicit,
            Some("named_curve") => false,
            Some("explicit") => true,
            Some(_) => return Err(Reason::Form.into()),
        };
        if let Some(includes) = params.number(c"include-public")? {
            self.omits_public = includes == 0;
        }
        Ok(())
    }

    pub(crate) fn form_name(self) -> &'static CStr {
        match self.form {
            Form::Uncompressed => c"uncompressed",
            Form::Compressed => c"compressed",
            Form::Hybrid => c"hybrid",
        }
    }

    pub(crate) fn encoding_name(self) -> &'static CStr {
        if self.is_explicit { c"explicit" } else { c"named_curve" }
    }

    pub(crate) fn includes_public(self) -> bool {
        !self.omits_public
    }

    /// A point in that form.
    pub(crate) fn point(self, public: &PublicKey) -> Vec<u8> {
        let mut point = public.to_sec1_bytes().to_vec();
        match self.form {
            Form::Uncompressed => point,
            Form::Compressed => public.to_compressed().to_vec(),
            Form::Hybrid => {
                point[0] = 0x06 | point[64] & 1;
                point
            }
        }
    }
}

/// A point in one of the forms that OpenSSL knows.
pub(crate) fn point(bytes: &[u8]) -> Result<PublicKey, Failure> {
    match bytes {
        [0x02 | 0x03, ..] if bytes.len() == 33 => Ok(PublicKey::from_sec1_bytes(bytes)?),
        [0x04, ..] if bytes.len() == 65 => Ok(PublicKey::from_sec1_bytes(bytes)?),
        [tag @ (0x06 | 0x07), xy @ .., last] if bytes.len() == 65 && tag & 1 == last & 1 => {
            Ok(PublicKey::from_sec1_bytes(&[&[0x04][..], xy, &[*last]].concat())?)
        }
        _ => Err(manylane::Error::Key.into()),
    }
}

/// A key. Contexts have copies of it, which share the secret part.
#[derive(Clone)]
pub(crate) struct Key {
    core: Core,
    secret: Option<Arc<SecretKey>>,
    public: Option<PublicKey>,
    pub(crate) style: Style,
}

impl Context for Key {
    fn core(&self) -> Core {
        self.core
    }
}

impl Key {
    pub(crate) fn empty(core: Core) -> Self {
        Key { core, secret: None, public: None, style: Style::default() }
    }

    pub(crate) fn of_secret(core: Core, secret: SecretKey) -> Self {
        let public = Some(*secret.public_key());
        Key { core, secret: Some(Arc::new(secret)), public, style: Style::default() }
    }

    pub(crate) fn of_public(core: Core, public: PublicKey) -> Self {
        Key { core, secret: None, public: Some(public), style: Style::default() }
    }

    pub(crate) fn secret(&self) -> Result<&Arc<SecretKey>, Failure> {
        Ok(self.secret.as_ref().ok_or(Reason::SecretMissing)?)
    }

    pub(crate) fn public(&self) -> Result<&PublicKey, Failure> {
        Ok(self.public.as_ref().ok_or(Reason::PublicMissing)?)
    }

    /// Whether there is all that `selection` names. The curve always is.
    pub(crate) fn has(&self, selection: c_int) -> bool {
        (selection & PRIVATE_KEY == 0 || self.secret.is_some())
            && (selection & PUBLIC_KEY == 0 || self.public.is_some())
    }

    /// Whether both are the same in what `selection` names.
    pub(crate) fn matches(&self, other: &Key, selection: c_int) -> bool {
        if selection & KEYPAIR == 0 {
            return true;
        }
        // The secret key has its public key with it, so that is compared.
        self.public.is_some() && self.public == other.public
    }

    /// The part that `selection` names.
    pub(crate) fn part(&self, selection: c_int) -> Self {
        Key {
            core: self.core,
            secret: self.secret.clone().filter(|_| selection & PRIVATE_KEY != 0),
            public: self.public.filter(|_| selection & KEYPAIR != 0),
            style: self.style,
        }
    }

    /// The key, written with points as these are.
    pub(crate) fn in_form_of(mut self, point: &[u8]) -> Self {
        self.style.form = match point.first() {
            Some(0x02 | 0x03) => Form::Compressed,
            Some(0x06 | 0x07) => Form::Hybrid,
            _ => Form::Uncompressed,
        };
        self
    }

    /// Another public key, as a protocol's message brings it.
    pub(crate) fn set_public(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        *self = Key { style: self.style, ..Key::of_public(self.core, point(bytes)?) };
        Ok(())
    }

    /// Takes what `selection` names from parameters.
    pub(crate) fn import(&mut self, selection: c_int, params: Params<'_>) -> Result<(), Failure> {
        let group = check_group(params)?;
        if selection & PARAMETERS != 0 {
            group.ok_or(Reason::Group)?;
        }
        let mut key = Key::empty(self.core);
        if selection & KEYPAIR != 0
            && let Some(bytes) = params.octets(c"pub")?
        {
            key.public = Some(point(bytes)?);
        }
        if selection & PRIVATE_KEY != 0
            && let Some(number) = params.big_number(c"priv")?
        {
            let secret = SecretKey::from_bytes(&number)?;
            if key.public.is_some_and(|public| public != *secret.public_key()) {
                return Err(manylane::Error::Key.into());
            }
            key = Key::of_secret(self.core, secret);
        }
        if selection & PARAMETERS != 0 {
            key.style.set(params)?;
        }
        *self = key;
        Ok(())
    }

    /// What `selection` names, as parameters.
    pub(crate) fn export(&self, selection: c_int) -> Built {
        let mut built = Built::default();
        if selection & PARAMETERS != 0 {
            built.text(c"group", NAME);
            built.text(c"encoding", self.style.encoding_name());
            built.text(c"point-format", self.style.form_name());
            built.integer(c"include-public", self.style.includes_public().into());
        }
        if let Some(public) = self.public.filter(|_| selection & PUBLIC_KEY != 0) {
            built.octets(c"pub", &self.style.point(&public));
        }
        if let Some(secret) = self.secret.as_ref().filter(|_| selection & PRIVATE_KEY != 0) {
            built.big_number(c"priv", &secret.to_bytes()[..]);
        }
        built
    }
}

/// Whether a group is named; it can only be SM2.
pub(crate) fn check_group(params: Params<'_>) -> Result<Option<()>, Failure> {
    let is_ours = |name: &str| name.eq_ignore_ascii_case("SM2") || name == "1.2.156.10197.1.301";
    match params.text(c"group")? {
        None => Ok(None),
        Some(name) if is_ours(name) => Ok(Some(())),
        Some(_) => Err(Reason::Group.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_in_openssls_forms_alone() {
        let mut number = [0; 32];
        number[31] = 2;
        let public = *SecretKey::from_bytes(&number).unwrap().public_key();
        for form in [Form::Uncompressed, Form::Compressed, Form::Hybrid] {
            let mut bytes = Style { form, ..Style::default() }.point(&public);
            assert_eq!(point(&bytes).unwrap(), public);
            bytes[0] ^= 1;
            assert!(point(&bytes).map_or(true, |other| other != public), "{form:?}");
            assert!(point(&bytes[1..]).is_err() && point(&[]).is_err());
        }
    }
}
