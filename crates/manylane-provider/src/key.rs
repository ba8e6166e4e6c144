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

/// A key. Contexts have copies of it, which share the secret part.
#[derive(Clone)]
pub(crate) struct Key {
    core: Core,
    secret: Option<Arc<SecretKey>>,
    public: Option<PublicKey>,
}

impl Context for Key {
    fn core(&self) -> Core {
        self.core
    }
}

impl Key {
    pub(crate) fn empty(core: Core) -> Self {
        Key { core, secret: None, public: None }
    }

    pub(crate) fn of_secret(core: Core, secret: SecretKey) -> Self {
        let public = Some(*secret.public_key());
        Key { core, secret: Some(Arc::new(secret)), public }
    }

    pub(crate) fn of_public(core: Core, public: PublicKey) -> Self {
        Key { core, secret: None, public: Some(public) }
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
        }
    }

    /// Another public key, as a protocol's message brings it.
    pub(crate) fn set_public(&mut self, point: &[u8]) -> Result<(), Failure> {
        let public = PublicKey::from_sec1_bytes(point)?;
        *self = Key::of_public(self.core, public);
        Ok(())
    }

    /// Takes what `selection` names from parameters.
    pub(crate) fn import(&mut self, selection: c_int, params: Params<'_>) -> Result<(), Failure> {
        if selection & PARAMETERS != 0 {
            check_group(params)?.ok_or(Reason::Group)?;
        }
        let mut key = Key::empty(self.core);
        if selection & KEYPAIR != 0
            && let Some(point) = params.octets(c"pub")?
        {
            key.public = Some(PublicKey::from_sec1_bytes(point)?);
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
        *self = key;
        Ok(())
    }

    /// What `selection` names, as parameters.
    pub(crate) fn export(&self, selection: c_int) -> Built {
        let mut built = Built::default();
        if selection & PARAMETERS != 0 {
            built.text(c"group", NAME);
        }
        if let Some(public) = self.public.filter(|_| selection & PUBLIC_KEY != 0) {
            built.octets(c"pub", &public.to_sec1_bytes());
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
