//! Reading of SM2 keys in DER. What is none of ours is left to other decoders, which OpenSSL asks next.
#![allow(unsafe_code, reason = "contexts, keys and files come as addresses")]

use std::ffi::{CStr, c_int, c_void};

use manylane::sm2::{PublicKey, SecretKey};
use zeroize::Zeroizing;

use crate::{
    abi::{
        Algorithm, Bio, Callback, Dispatch, PasswordCallback, decoder as id,
        keymgmt::{KEYPAIR, PARAMETERS, PRIVATE_KEY, PUBLIC_KEY},
    },
    core::{Core, Passwords},
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

/// What `EncryptedPrivateKeyInfo` begins with after its own and its algorithm's headers: the name of PBES2.
const PBES2: [u8; 11] = *b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d";

/// What the names of functions with SM3 begin with, HMAC's among them.
const SM3_FUNCTIONS: [u8; 8] = *b"\x2a\x81\x1c\xcf\x55\x01\x83\x11";

fn has_bytes(der: &[u8], bytes: &[u8]) -> bool {
    der.windows(bytes.len()).any(|window| window == bytes)
}

/// What follows the header of a SEQUENCE, and what is left behind its end.
fn split(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, len) = match der {
        [0x30, len @ ..=0x7f, ..] => (2, usize::from(*len)),
        [0x30, 0x81, len, ..] => (3, usize::from(*len)),
        [0x30, 0x82, high, low, ..] => (4, usize::from(*high) << 8 | usize::from(*low)),
        _ => return None,
    };
    der[head..].split_at_checked(len)
}

/// Whether a key is encrypted in a way that the default provider cannot open: under a password that goes through SM3.
fn is_for_us(der: &[u8]) -> bool {
    let algorithm = split(der).and_then(|(content, _)| split(content));
    algorithm.is_some_and(|(algorithm, _)| {
        algorithm.starts_with(&PBES2) && has_bytes(algorithm, &SM3_FUNCTIONS)
    })
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
        let of_secret = |secret| Key::of_secret(self.core, secret);
        // What cannot be read here may be another's, or one that OpenSSL reads all the same, as of points in the hybrid form. The
        // default provider is asked next, and says what is wrong if it is.
        Ok(match FORM {
            SPKI => public(self.core, der),
            SEC1 if !has_bytes(der, &NAMED_CURVE) => None,
            SEC1 => SecretKey::from_sec1_der(der).ok().map(of_secret),
            // The default provider opens all others, asks for a password to that end, and leaves us what is inside.
            ENCRYPTED_PKCS8 if !is_for_us(der) => None,
            ENCRYPTED_PKCS8 => {
                // SAFETY: as the caller says.
                let password = unsafe { passwords.ask() }.ok_or(Reason::Password)?;
                Some(of_secret(SecretKey::from_encrypted_pkcs8_der(der, &password)?))
            }
            _ => SecretKey::from_pkcs8_der(der).ok().map(of_secret),
        })
    }
}

/// A public key. Its point ends the file, and is written again in the form that it has there.
fn public(core: Core, der: &[u8]) -> Option<Key> {
    let public = PublicKey::from_spki_der(der).ok()?;
    let bytes = [65, 33].into_iter().find_map(|len| {
        let (before, point) = der.split_at_checked(der.len().checked_sub(len)?)?;
        (before.ends_with(&[len as u8 + 1, 0]) && key::point(point).ok()? == public)
            .then_some(point)
    })?;
    Some(Key::of_public(core, public).in_form_of(bytes))
}

/// Whether a form has what is asked for, as OpenSSL decides: by the most that is asked for.
fn has(parts: c_int, selection: c_int) -> bool {
    let asked =
        [PRIVATE_KEY, PUBLIC_KEY, PARAMETERS].into_iter().find(|part| selection & part != 0);
    asked.is_none_or(|part| parts & part != 0)
}

/// What of a key a form has.
const fn parts(form: u8) -> c_int {
    match form {
        SPKI => PUBLIC_KEY,
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
        selection: c_int,
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
                if !has(parts(FORM), selection) {
                    return Ok(());
                }
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
