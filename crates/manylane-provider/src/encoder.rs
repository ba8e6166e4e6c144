//! Writing of SM2 keys: PKCS #8, plain and under a password, `SubjectPublicKeyInfo`, SEC 1; in DER and PEM; and as text.
#![allow(unsafe_code, reason = "contexts, keys and files come as addresses")]

use std::{
    ffi::{CStr, c_int, c_void},
    fmt::Write as _,
};

use manylane::sm2::{KeyCipher, KeyEncryption, Prf};
use zeroize::Zeroizing;

use crate::{
    abi::{
        Algorithm, Bio, Dispatch, Param, PasswordCallback, described, encoder as id,
        keymgmt::{KEYPAIR, PARAMETERS, PRIVATE_KEY, PUBLIC_KEY},
    },
    core::{Core, Passwords},
    entry::{self, Context, entries, with},
    failure::{Failure, Reason},
    key::Key,
    params::Params,
};

/// What is written; the numbers are arguments of generics.
const PKCS8: u8 = 0;
const ENCRYPTED_PKCS8: u8 = 1;
const SPKI: u8 = 2;
const SEC1: u8 = 3;
const TEXT: u8 = 4;

/// How a secret key is encrypted, as the caller names the cipher.
#[derive(Clone, Copy)]
enum Encryption {
    Plain,
    With(KeyCipher),
    /// There is no such cipher here.
    Unknown,
}

/// A key that is written.
struct Writer {
    core: Core,
    encryption: Encryption,
}

impl Context for Writer {
    fn core(&self) -> Core {
        self.core
    }
}

impl Writer {
    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if !params.has(c"cipher") {
            return Ok(());
        }
        let names: [(&[&str], KeyCipher); 3] = [
            (&["SM4-CBC", "SM4", "1.2.156.10197.1.104.2"], KeyCipher::Sm4Cbc),
            (&["AES-128-CBC", "AES128", "2.16.840.1.101.3.4.1.2"], KeyCipher::Aes128Cbc),
            (&["AES-256-CBC", "AES256", "2.16.840.1.101.3.4.1.42"], KeyCipher::Aes256Cbc),
        ];
        // A parameter without a text is none; the error comes when a key is written.
        self.encryption = match params.text(c"cipher").unwrap_or_default() {
            None | Some("") => Encryption::Plain,
            Some(name) => names
                .iter()
                .find(|(names, _)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
                .map_or(Encryption::Unknown, |(_, cipher)| Encryption::With(*cipher)),
        };
        Ok(())
    }

    /// What goes into the file.
    ///
    /// # Safety
    /// The passwords are the core's.
    unsafe fn written<const FORM: u8, const PEM: bool>(
        &self,
        key: &Key,
        selection: c_int,
        passwords: Passwords,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let text =
            |mut text: Zeroizing<String>| Zeroizing::new(std::mem::take(&mut *text).into_bytes());
        let encryption = match (FORM, self.encryption) {
            (PKCS8 | ENCRYPTED_PKCS8, Encryption::Unknown) => return Err(Reason::Cipher.into()),
            (PKCS8 | ENCRYPTED_PKCS8, Encryption::With(cipher)) => Some(cipher),
            (ENCRYPTED_PKCS8, Encryption::Plain) => return Err(Reason::Cipher.into()),
            _ => None,
        };
        if let Some(cipher) = encryption {
            let secret = key.secret()?;
            // SAFETY: as the caller says.
            let password = unsafe { passwords.ask() }.ok_or(Reason::Password)?;
            // HMAC-SHA-256, which all versions of OpenSSL can read; they know no name for one with SM3.
            let how = KeyEncryption::new(Prf::HmacSha256, cipher);
            return Ok(Zeroizing::new(match PEM {
                true => secret.to_encrypted_pkcs8_pem(&password, &how)?.into_bytes(),
                false => secret.to_encrypted_pkcs8_der(&password, &how)?,
            }));
        }
        Ok(match (FORM, PEM) {
            (SPKI, true) => Zeroizing::new(key.public()?.to_pem().into_bytes()),
            (SPKI, false) => Zeroizing::new(key.public()?.to_spki_der()),
            (SEC1, true) => text(key.secret()?.to_sec1_pem()),
            (SEC1, false) => key.secret()?.to_sec1_der(),
            (TEXT, _) => text(readable(key, selection)?),
            (_, true) => text(key.secret()?.to_pkcs8_pem()),
            (_, false) => key.secret()?.to_pkcs8_der(),
        })
    }
}

/// A key in words and digits, as OpenSSL writes it.
fn readable(key: &Key, selection: c_int) -> Result<Zeroizing<String>, Failure> {
    // Enough for all of it, so that nothing is left behind where a growing text was.
    let mut text = Zeroizing::new(String::with_capacity(1024));
    let kind = match selection & (PRIVATE_KEY | PUBLIC_KEY) {
        0 => "EC-Parameters",
        PUBLIC_KEY => "Public-Key",
        _ => "Private-Key",
    };
    let _ = writeln!(text, "{kind}: (256 bit)");
    if selection & PRIVATE_KEY != 0 {
        text.push_str("priv:\n");
        push_bytes(&mut text, &key.secret()?.to_bytes()[..]);
    }
    if selection & KEYPAIR != 0 {
        text.push_str("pub:\n");
        push_bytes(&mut text, &key.public()?.to_sec1_bytes());
    }
    text.push_str("ASN1 OID: SM2\n");
    Ok(text)
}

/// Fifteen bytes a line.
fn push_bytes(text: &mut String, bytes: &[u8]) {
    for (i, byte) in bytes.iter().enumerate() {
        text.push_str(match i {
            0 => "    ",
            _ if i % 15 == 0 => ":\n    ",
            _ => ":",
        });
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
}

/// What of a key a form has.
const fn parts(form: u8) -> c_int {
    match form {
        SPKI => PUBLIC_KEY,
        TEXT => KEYPAIR | PARAMETERS,
        _ => PRIVATE_KEY,
    }
}

/// Whether a form has what is asked for, as OpenSSL decides: by the most that is asked for.
pub(crate) fn has(parts: c_int, selection: c_int) -> bool {
    let asked =
        [PRIVATE_KEY, PUBLIC_KEY, PARAMETERS].into_iter().find(|part| selection & part != 0);
    asked.is_none_or(|part| parts & part != 0)
}

entries! {
    fn new(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Writer { core, encryption: Encryption::Plain }),
            None => std::ptr::null_mut(),
        }
    }

    fn free(context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new`, once.
        unsafe { entry::free::<Writer>(context) }
    }

    fn set_params(context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new`, the list has an end.
        unsafe { with(context, |writer: &mut Writer| writer.set(Params::new(params))) }
    }

    fn settable_params(_context: *mut c_void) -> *const Param {
        described![c"cipher": TEXT, c"properties": TEXT]
    }

    fn does_selection[const FORM: u8](_context: *mut c_void, selection: c_int) -> c_int {
        c_int::from(has(parts(FORM), selection))
    }

    fn encode[const FORM: u8, const PEM: bool](
        context: *mut c_void,
        file: *mut Bio,
        key: *const c_void,
        abstract_key: *const Param,
        selection: c_int,
        callback: Option<PasswordCallback>,
        argument: *mut c_void,
    ) -> c_int {
        // SAFETY: the context is from `new`, the key is one of ours, the file and the callback are the core's.
        unsafe {
            with(context, |writer: &mut Writer| {
                // Keys of others come by `import_object`.
                let key = key.cast::<Key>().as_ref().filter(|_| abstract_key.is_null());
                let key = key.ok_or(Reason::KeyMissing)?;
                let passwords = Passwords { callback, argument };
                let bytes = writer.written::<FORM, PEM>(key, selection, passwords)?;
                writer.core.write(file, &bytes)
            })
        }
    }

    fn import_object(context: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
        let mut imported = std::ptr::null_mut();
        // SAFETY: the context is from `new`, the list has an end.
        unsafe {
            with(context, |writer: &mut Writer| {
                let mut key = Key::empty(writer.core);
                key.import(selection, Params::new(params))?;
                imported = entry::give(key);
                Ok(())
            });
        }
        imported
    }

    fn free_object(key: *mut c_void) {
        // SAFETY: it is from `import_object`, and freed once.
        unsafe { entry::free::<Key>(key) }
    }
}

/// The functions of an encoder.
struct Table<const FORM: u8, const PEM: bool>;

impl<const FORM: u8, const PEM: bool> Table<FORM, PEM> {
    const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(id::NEWCTX, new as *const ()),
        Dispatch::new(id::FREECTX, free as *const ()),
        Dispatch::new(id::SET_CTX_PARAMS, set_params as *const ()),
        Dispatch::new(id::SETTABLE_CTX_PARAMS, settable_params as *const ()),
        Dispatch::new(id::DOES_SELECTION, does_selection::<FORM> as *const ()),
        Dispatch::new(id::ENCODE, encode::<FORM, PEM> as *const ()),
        Dispatch::new(id::IMPORT_OBJECT, import_object as *const ()),
        Dispatch::new(id::FREE_OBJECT, free_object as *const ()),
        Dispatch::END,
    ];
}

const fn algorithm(properties: &'static CStr, functions: &'static [Dispatch]) -> Algorithm {
    Algorithm::new(c"SM2", properties, functions, c"manylane's SM2 keys")
}

pub(crate) static ALGORITHMS: [Algorithm; 10] = [
    algorithm(
        c"provider=manylane,output=der,structure=PrivateKeyInfo",
        Table::<PKCS8, false>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=pem,structure=PrivateKeyInfo",
        Table::<PKCS8, true>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=der,structure=EncryptedPrivateKeyInfo",
        Table::<ENCRYPTED_PKCS8, false>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=pem,structure=EncryptedPrivateKeyInfo",
        Table::<ENCRYPTED_PKCS8, true>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=der,structure=SubjectPublicKeyInfo",
        Table::<SPKI, false>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=pem,structure=SubjectPublicKeyInfo",
        Table::<SPKI, true>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=der,structure=type-specific",
        Table::<SEC1, false>::FUNCTIONS,
    ),
    algorithm(
        c"provider=manylane,output=pem,structure=type-specific",
        Table::<SEC1, true>::FUNCTIONS,
    ),
    algorithm(c"provider=manylane,output=text", Table::<TEXT, false>::FUNCTIONS),
    Algorithm::END,
];
