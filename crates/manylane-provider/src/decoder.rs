//! Reading of SM2 keys in DER. What is none of ours is left to other decoders, which OpenSSL asks next.
#![allow(unsafe_code, reason = "contexts, keys and files come as addresses")]

use std::ffi::{CStr, c_int, c_void};

use manylane::{
    Error,
    sm2::{PublicKey, SecretKey},
};
use zeroize::Zeroizing;

use crate::{
    abi::{
        Algorithm, Bio, Callback, Dispatch, PasswordCallback, decoder as id,
        keymgmt::{KEYPAIR, PARAMETERS, PRIVATE_KEY, PUBLIC_KEY},
    },
    core::{Core, Passwords},
    encoder::has,
    entry::{self, Context, entries, with},
    failure::{Failure, Reason},
    key::{self, Key},
    params::Built,
};

/// What is read; the numbers are arguments of generics.
const PKCS8: u8 = 0;
const ENCRYPTED_PKCS8: u8 = 1;
const SPKI: u8 = 2;
const SEC1: u8 = 3;

/// Longer files hold no key of ours.
const MAX_LEN: usize = 1 << 16;

/// The curve's name within `ECPrivateKey`: a key without it may be on any curve.
const NAMED_CURVE: [u8; 12] = *b"\xa0\x0a\x06\x08\x2a\x81\x1c\xcf\x55\x01\x82\x2d";

/// What the names of functions with SM3 begin with, HMAC's among them.
const SM3_FUNCTIONS: [u8; 8] = *b"\x2a\x81\x1c\xcf\x55\x01\x83\x11";

fn has_bytes(der: &[u8], bytes: &[u8]) -> bool {
    der.windows(bytes.len()).any(|window| window == bytes)
}

/// A file that is read.
struct Reader {
    core: Core,
}

impl Context for Reader {
    fn core(&self) -> Core {
        self.core
    }
}

impl Reader {
    /// One SEQUENCE, if that comes next.
    ///
    /// # Safety
    /// The file is the core's.
    unsafe fn sequence(&self, file: *mut Bio) -> Option<Zeroizing<Vec<u8>>> {
        let mut head = [0; 2];
        // SAFETY: as the caller says.
        if unsafe { self.core.read(file, &mut head) } != 2 || head[0] != 0x30 {
            return None;
        }
        let mut more = [0; 2];
        let more = &mut more[..match head[1] {
            0x81 => 1,
            0x82 => 2,
            _ => 0,
        }];
        // SAFETY: as the caller says.
        if unsafe { self.core.read(file, more) } != more.len() {
            return None;
        }
        let len = match (head[1], &*more) {
            (len @ ..0x80, _) => usize::from(len),
            (_, []) => return None,
            (_, more) => more.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        };
        let start = head.len() + more.len();
        let mut whole = Zeroizing::new(vec![0; (start + len).min(MAX_LEN)]);
        whole[..2].copy_from_slice(&head);
        whole[2..start].copy_from_slice(more);
        // SAFETY: as the caller says.
        let read = unsafe { self.core.read(file, &mut whole[start..]) };
        (read == len).then_some(whole)
    }

    /// The key; none if it is not one of ours.
    ///
    /// # Safety
    /// The passwords are the core's.
    unsafe fn key<const FORM: u8>(
        &self,
        der: &[u8],
        passwords: Passwords,
    ) -> Result<Option<Key>, Failure> {
        let secret = match FORM {
            SPKI => {
                return match PublicKey::from_spki_der(der) {
                    Ok(public) => Ok(Some(Key::of_public(self.core, public))),
                    Err(error) => other(error),
                };
            }
            SEC1 if !has_bytes(der, &NAMED_CURVE) => return Ok(None),
            SEC1 => SecretKey::from_sec1_der(der),
            // The default provider opens all others, asks for a password to that end, and leaves us what is inside.
            ENCRYPTED_PKCS8 if !has_bytes(der, &SM3_FUNCTIONS) => return Ok(None),
            ENCRYPTED_PKCS8 => {
                // SAFETY: as the caller says.
                let password = unsafe { passwords.ask() }.ok_or(Reason::Password)?;
                SecretKey::from_encrypted_pkcs8_der(der, &password)
            }
            _ => SecretKey::from_pkcs8_der(der),
        };
        match secret {
            Ok(secret) => Ok(Some(Key::of_secret(self.core, secret))),
            Err(error) => other(error),
        }
    }
}

/// What is no key of ours in this form may be another's; what is one but a bad one is an error.
fn other(error: Error) -> Result<Option<Key>, Failure> {
    match error {
        Error::Encoding(_) => Ok(None),
        error => Err(error.into()),
    }
}

/// What of a key a form has.
const fn parts(form: u8) -> c_int {
    match form {
        SPKI => PUBLIC_KEY,
        SEC1 => PRIVATE_KEY | PARAMETERS,
        _ => PRIVATE_KEY,
    }
}

entries! {
    fn new(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Reader { core }),
            None => std::ptr::null_mut(),
        }
    }

    fn free(context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new`, once.
        unsafe { entry::free::<Reader>(context) }
    }

    fn does_selection[const FORM: u8](_context: *mut c_void, selection: c_int) -> c_int {
        c_int::from(has(parts(FORM), selection))
    }

    fn decode[const FORM: u8](
        context: *mut c_void,
        file: *mut Bio,
        _selection: c_int,
        callback: Option<Callback>,
        argument: *mut c_void,
        password_callback: Option<PasswordCallback>,
        password_argument: *mut c_void,
    ) -> c_int {
        // To come back with nothing is no failure: others are asked then.
        let mut taken = 1;
        // SAFETY: the context is from `new`, the file and the callbacks are the core's.
        let done = unsafe {
            with(context, |reader: &mut Reader| {
                let passwords = Passwords { callback: password_callback, argument: password_argument };
                let (Some(der), Some(callback)) = (reader.sequence(file), callback) else {
                    return Ok(());
                };
                let Some(key) = reader.key::<FORM>(&der, passwords)? else { return Ok(()) };
                let mut built = Built::default();
                built.integer(c"type", id::OBJECT_PKEY);
                built.text(c"data-type", key::NAME);
                if FORM == ENCRYPTED_PKCS8 {
                    built.text(c"data-structure", c"PrivateKeyInfo");
                    built.octets(c"data", &key.secret()?.to_pkcs8_der());
                    taken = built.hand_over(callback, argument);
                    return Ok(());
                }
                let mut place = entry::give(key);
                built.reference(c"reference", &mut place);
                taken = built.hand_over(callback, argument);
                // Whoever took the key has left null.
                entry::free::<Key>(place);
                Ok(())
            })
        };
        done & taken
    }

    fn export_object(
        context: *mut c_void,
        reference: *const c_void,
        len: usize,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> c_int {
        if reference.is_null() || len != size_of::<*mut c_void>() {
            return 0;
        }
        let mut taken = 0;
        // SAFETY: the context is from `new`; the place has a key's address from `decode`; the callback is the core's.
        unsafe {
            with(context, |_: &mut Reader| {
                let key = reference.cast::<*const Key>().read().as_ref();
                if let (Some(key), Some(callback)) = (key, callback) {
                    taken = key.export(KEYPAIR | PARAMETERS).hand_over(callback, argument);
                }
                Ok(())
            });
        }
        taken
    }
}

/// The functions of a decoder.
struct Table<const FORM: u8>;

impl<const FORM: u8> Table<FORM> {
    const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(id::NEWCTX, new as *const ()),
        Dispatch::new(id::FREECTX, free as *const ()),
        Dispatch::new(id::DOES_SELECTION, does_selection::<FORM> as *const ()),
        Dispatch::new(id::DECODE, decode::<FORM> as *const ()),
        Dispatch::new(id::EXPORT_OBJECT, export_object as *const ()),
        Dispatch::END,
    ];
}

const fn algorithm(properties: &'static CStr, functions: &'static [Dispatch]) -> Algorithm {
    Algorithm::new(c"SM2:1.2.156.10197.1.301", properties, functions, c"manylane's SM2 keys")
}

pub(crate) static ALGORITHMS: [Algorithm; 5] = [
    algorithm(c"provider=manylane,input=der,structure=PrivateKeyInfo", Table::<PKCS8>::FUNCTIONS),
    algorithm(
        c"provider=manylane,input=der,structure=SubjectPublicKeyInfo",
        Table::<SPKI>::FUNCTIONS,
    ),
    algorithm(c"provider=manylane,input=der,structure=type-specific", Table::<SEC1>::FUNCTIONS),
    // Named as the default provider's, which fails where it does not know how a password becomes a key: this one is asked
    // before. Both give DER to the next decoder.
    Algorithm::new(
        c"DER",
        c"provider=manylane,input=der,structure=EncryptedPrivateKeyInfo",
        Table::<ENCRYPTED_PKCS8>::FUNCTIONS,
        c"manylane's opener of SM2 keys that are encrypted with SM3",
    ),
    Algorithm::END,
];
