//! Other implementations to measure beside ours: libraries that this system has, loaded at run
//! time, so that building needs none of them.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use libloading::Library;

use self::{
    cipher::{GcryptCiphers, OpenSslCiphers},
    sha3::Nettle,
};

/// Bytes of an SM3 digest.
const DIGEST_LEN: usize = 32;

/// A library that was looked for: its name, and its version or why it cannot be used.
pub(crate) struct Found {
    /// Name of the project.
    pub(crate) name: &'static str,
    /// What the library says of itself, or why there is none.
    pub(crate) version: Result<String, String>,
}

/// Every library that is looked for.
pub(crate) fn looked_for() -> [Found; 2] {
    let openssl = OpenSsl::get().map(OpenSsl::version);
    let libgcrypt = Gcrypt::get().map(Gcrypt::version);
    [
        Found { name: "OpenSSL", version: openssl.map_err(str::to_owned) },
        Found { name: "libgcrypt", version: libgcrypt.map_err(str::to_owned) },
    ]
}

/// Those that are loaded for one suite: another library, or one a second time, with fewer instructions.
pub(super) fn looked_for_apart(suite: &str) -> Option<Found> {
    let version = |found: Result<String, &str>| found.map_err(str::to_owned);
    match suite {
        super::SHA3 => {
            Some(Found { name: "Nettle", version: version(Nettle::get().map(Nettle::version)) })
        }
        super::AES => {
            let openssl = OpenSslCiphers::without_aes().map(OpenSslCiphers::version);
            Some(Found { name: OPENSSL_WITHOUT_AES, version: version(openssl) })
        }
        super::SM4 => {
            let gcrypt = GcryptCiphers::without_gfni().map(GcryptCiphers::version);
            Some(Found { name: GCRYPT_WITHOUT_GFNI, version: version(gcrypt) })
        }
        _ => None,
    }
}

/// Name of OpenSSL where it is told that the processor has no AES instructions.
pub(super) const OPENSSL_WITHOUT_AES: &str = "OpenSSL without AES instructions";

/// Name of libgcrypt where it is told that the processor has no GFNI.
pub(super) const GCRYPT_WITHOUT_GFNI: &str = "libgcrypt without GFNI";

/// Opens the first library there is.
fn open(names: &[&str]) -> Result<&'static Library, String> {
    let mut why = String::new();
    for name in names {
        // SAFETY: the initialisers of these well-known libraries are meant to be run by any
        // process that loads them.
        match unsafe { Library::new(*name) } {
            // Never unloaded: OpenSSL leaves handlers that run at exit.
            Ok(library) => return Ok(Box::leak(Box::new(library))),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Declares a table of functions and how it is loaded from a library.
macro_rules! functions {
    ($table:ident { $($name:ident($($arg:ty),*) $(-> $result:ty)?;)* }) => {
        #[derive(Debug)]
        #[allow(non_snake_case, reason = "the names of the libraries' functions")]
        struct $table {
            $($name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl $table {
            /// # Safety
            /// The library's functions of these names must have these signatures.
            unsafe fn load(library: &'static libloading::Library) -> Result<Self, String> {
                Ok($table {
                    $($name: {
                        // SAFETY: the caller vouches for the signature.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.map_err(|error| error.to_string())?
                    },)*
                })
            }
        }
    };
}

mod apart;
pub(super) mod cipher;
pub(super) mod sha3;
pub(super) mod sm2;

/// Names of OpenSSL's libcrypto, from version 3 on.
const LIBCRYPTO: [&str; 3] = ["libcrypto.so.3", "libcrypto.3.dylib", "libcrypto-3-x64.dll"];

/// Names of libgcrypt's versions 1.6 to 1.12.
const LIBGCRYPT: [&str; 2] = ["libgcrypt.so.20", "libgcrypt.20.dylib"];

functions!(OpenSslFunctions {
    OpenSSL_version(c_int) -> *const c_char;
    EVP_MD_fetch(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MD_CTX_new() -> *mut c_void;
    EVP_MD_CTX_free(*mut c_void);
    EVP_DigestInit_ex(*mut c_void, *const c_void, *mut c_void) -> c_int;
    EVP_DigestUpdate(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestFinal_ex(*mut c_void, *mut u8, *mut c_uint) -> c_int;
    EVP_MAC_fetch(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_CTX_new(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free(*mut c_void);
    EVP_MAC_init(*mut c_void, *const u8, usize, *const OsslParam) -> c_int;
    EVP_MAC_update(*mut c_void, *const u8, usize) -> c_int;
    EVP_MAC_final(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
    PKCS5_PBKDF2_HMAC(
        *const c_char, c_int, *const u8, c_int, c_int, *const c_void, c_int, *mut u8
    ) -> c_int;
});

/// `OSSL_PARAM` of openssl/core.h.
#[repr(C)]
struct OsslParam {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_size: usize,
    return_size: usize,
}

impl OsslParam {
    /// What ends a list of them.
    const END: OsslParam =
        OsslParam { key: null(), data_type: 0, data: null_mut(), data_size: 0, return_size: 0 };
}

/// OpenSSL's libcrypto.
#[derive(Debug)]
pub(super) struct OpenSsl {
    f: OpenSslFunctions,
    /// SM3, fetched once, as OpenSSL recommends for speed.
    sm3: *mut c_void,
    hmac: *mut c_void,
}

// SAFETY: the table is constant, and fetched algorithms may be used by all threads at once.
unsafe impl Send for OpenSsl {}
// SAFETY: as above.
unsafe impl Sync for OpenSsl {}

impl OpenSsl {
    /// The library, loaded when first asked for, or why there is none.
    pub(super) fn get() -> Result<&'static OpenSsl, &'static str> {
        static OPENSSL: OnceLock<Result<OpenSsl, String>> = OnceLock::new();
        OPENSSL.get_or_init(OpenSsl::load).as_ref().map_err(String::as_str)
    }

    fn load() -> Result<Self, String> {
        let library = open(&LIBCRYPTO)?;
        // SAFETY: the signatures are those of the headers of OpenSSL 3.
        let f = unsafe { OpenSslFunctions::load(library) }?;
        // SAFETY: a default context, a name that ends in zero, and no properties.
        let sm3 = unsafe { (f.EVP_MD_fetch)(null_mut(), c"SM3".as_ptr(), null()) };
        // SAFETY: as above.
        let hmac = unsafe { (f.EVP_MAC_fetch)(null_mut(), c"HMAC".as_ptr(), null()) };
        if sm3.is_null() || hmac.is_null() {
            return Err("this libcrypto was built without SM3 or HMAC".into());
        }
        Ok(OpenSsl { f, sm3, hmac })
    }

    fn version(&self) -> String {
        // SAFETY: returns a constant string, for any number.
        unsafe { CStr::from_ptr((self.f.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
    }

    /// A context for digests, used again and again.
    pub(super) fn digest(&'static self) -> OpenSslDigest {
        // SAFETY: has no preconditions.
        let context = unsafe { (self.f.EVP_MD_CTX_new)() };
        assert!(!context.is_null(), "OpenSSL has no memory for a context");
        OpenSslDigest { openssl: self, context }
    }

    /// A context for HMAC-SM3, used again and again.
    pub(super) fn hmac(&'static self) -> OpenSslHmac {
        // SAFETY: `hmac` was fetched and is never freed.
        let context = unsafe { (self.f.EVP_MAC_CTX_new)(self.hmac) };
        assert!(!context.is_null(), "OpenSSL has no memory for a context");
        let param = |key: &'static CStr, data_type, data: &'static CStr| OsslParam {
            key: key.as_ptr(),
            data_type,
            data: data.as_ptr().cast_mut().cast(),
            data_size: data.to_bytes().len(),
            return_size: usize::MAX,
        };
        const UTF8_STRING: c_uint = 4;
        let params = [param(c"digest", UTF8_STRING, c"SM3"), OsslParam::END];
        // SAFETY: the context is live; the parameters end with an empty one and are only read.
        let ok = unsafe { (self.f.EVP_MAC_init)(context, [0].as_ptr(), 1, params.as_ptr()) };
        assert_eq!(ok, 1, "OpenSSL refused HMAC-SM3");
        OpenSslHmac { openssl: self, context }
    }

    /// PBKDF2 with HMAC-SM3.
    pub(super) fn pbkdf2(&self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        // SAFETY: each pointer goes with its own length; `sm3` was fetched and is never freed.
        let ok = unsafe {
            (self.f.PKCS5_PBKDF2_HMAC)(
                password.as_ptr().cast(),
                password.len() as c_int,
                salt.as_ptr(),
                salt.len() as c_int,
                iterations as c_int,
                self.sm3,
                key.len() as c_int,
                key.as_mut_ptr(),
            )
        };
        assert_eq!(ok, 1, "OpenSSL refused PBKDF2");
    }
}

/// An `EVP_MD_CTX`.
pub(super) struct OpenSslDigest {
    openssl: &'static OpenSsl,
    context: *mut c_void,
}

impl OpenSslDigest {
    /// SM3 of one message.
    pub(super) fn hash(&mut self, message: &[u8], out: &mut [u8; DIGEST_LEN]) {
        let f = &self.openssl.f;
        // SAFETY: the context is live and ours alone; `out` has room for SM3's 32 bytes.
        let ok = unsafe {
            (f.EVP_DigestInit_ex)(self.context, self.openssl.sm3, null_mut())
                & (f.EVP_DigestUpdate)(self.context, message.as_ptr().cast(), message.len())
                & (f.EVP_DigestFinal_ex)(self.context, out.as_mut_ptr(), null_mut())
        };
        assert_eq!(ok, 1, "OpenSSL failed to hash");
    }
}

impl Drop for OpenSslDigest {
    fn drop(&mut self) {
        // SAFETY: the context is live, and not used again.
        unsafe { (self.openssl.f.EVP_MD_CTX_free)(self.context) };
    }
}

/// An `EVP_MAC_CTX`.
pub(super) struct OpenSslHmac {
    openssl: &'static OpenSsl,
    context: *mut c_void,
}

impl OpenSslHmac {
    /// HMAC-SM3 of one message under a key.
    pub(super) fn mac(&mut self, key: &[u8], message: &[u8], out: &mut [u8; DIGEST_LEN]) {
        let f = &self.openssl.f;
        let mut len = 0;
        // SAFETY: the context is live and ours alone; each pointer goes with its own length.
        let ok = unsafe {
            (f.EVP_MAC_init)(self.context, key.as_ptr(), key.len(), null())
                & (f.EVP_MAC_update)(self.context, message.as_ptr(), message.len())
                & (f.EVP_MAC_final)(self.context, out.as_mut_ptr(), &mut len, DIGEST_LEN)
        };
        assert_eq!((ok, len), (1, DIGEST_LEN), "OpenSSL failed to authenticate");
    }
}

impl Drop for OpenSslHmac {
    fn drop(&mut self) {
        // SAFETY: the context is live, and not used again.
        unsafe { (self.openssl.f.EVP_MAC_CTX_free)(self.context) };
    }
}

functions!(GcryptFunctions {
    gcry_check_version(*const c_char) -> *const c_char;
    gcry_control(c_int, c_int) -> c_uint;
    gcry_md_hash_buffer(c_int, *mut c_void, *const c_void, usize);
    gcry_kdf_derive(
        *const c_void, usize, c_int, c_int, *const c_void, usize, c_ulong, usize, *mut c_void
    ) -> c_uint;
});

/// libgcrypt.
#[derive(Debug)]
pub(super) struct Gcrypt {
    f: GcryptFunctions,
    version: String,
}

/// `GCRY_MD_SM3` of gcrypt.h.
const GCRY_MD_SM3: c_int = 326;
/// `GCRY_KDF_PBKDF2` of gcrypt.h.
const GCRY_KDF_PBKDF2: c_int = 34;
/// `GCRYCTL_INITIALIZATION_FINISHED` of gcrypt.h.
const GCRYCTL_INITIALIZATION_FINISHED: c_int = 38;
/// `GCRYCTL_TEST_ALGO` with `gcry_md_algo_info` needs more arguments; version 1.9 is the first
/// with SM3.
const GCRYPT_WITH_SM3: &CStr = c"1.9.0";

impl Gcrypt {
    /// The library, loaded when first asked for, or why there is none.
    pub(super) fn get() -> Result<&'static Gcrypt, &'static str> {
        static GCRYPT: OnceLock<Result<Gcrypt, String>> = OnceLock::new();
        GCRYPT.get_or_init(Gcrypt::load).as_ref().map_err(String::as_str)
    }

    fn load() -> Result<Self, String> {
        let library = open(&LIBGCRYPT)?;
        // SAFETY: the signatures are those of gcrypt.h of the 1.x series. `gcry_control` is
        // variadic there; the only command used takes one `int`, which the calling conventions of
        // the systems served pass the same way, except Apple's for AArch64, ruled out below.
        let f = unsafe { GcryptFunctions::load(library) }?;
        // SAFETY: asking for a version initialises the library; it returns null if it is older.
        let version = unsafe { (f.gcry_check_version)(GCRYPT_WITH_SM3.as_ptr()) };
        if version.is_null() {
            return Err("this libgcrypt is older than 1.9, the first with SM3".into());
        }
        if !cfg!(target_vendor = "apple") {
            // SAFETY: see above. Left out, the library would finish by itself at its first use.
            unsafe { (f.gcry_control)(GCRYCTL_INITIALIZATION_FINISHED, 0) };
        }
        // SAFETY: the library's own constant string.
        let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
        Ok(Gcrypt { f, version: format!("libgcrypt {version}") })
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    /// SM3 of one message.
    pub(super) fn hash(&self, message: &[u8], out: &mut [u8; DIGEST_LEN]) {
        // SAFETY: the message goes with its length; `out` has room for SM3's 32 bytes.
        unsafe {
            (self.f.gcry_md_hash_buffer)(
                GCRY_MD_SM3,
                out.as_mut_ptr().cast(),
                message.as_ptr().cast(),
                message.len(),
            );
        }
    }

    /// PBKDF2 with HMAC-SM3.
    pub(super) fn pbkdf2(&self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        // SAFETY: each pointer goes with its own length.
        let error = unsafe {
            (self.f.gcry_kdf_derive)(
                password.as_ptr().cast(),
                password.len(),
                GCRY_KDF_PBKDF2,
                GCRY_MD_SM3,
                salt.as_ptr().cast(),
                salt.len(),
                c_ulong::from(iterations),
                key.len(),
                key.as_mut_ptr().cast(),
            )
        };
        assert_eq!(error, 0, "libgcrypt refused PBKDF2");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Libraries that are there compute what we compute; which are not is for the run's report
    /// to say.
    #[test]
    fn peers_agree_with_us() {
        use manylane::sm3;
        let message = [0x5a; 1000];
        let (key, salt) = (b"key", b"salt");
        let mut derived = [0; 48];
        sm3::pbkdf2(key, salt, 3, &mut derived);
        let (mut digest, mut other) = ([0; 32], [0; 48]);
        if let Ok(openssl) = OpenSsl::get() {
            let mut context = openssl.digest();
            for len in [0, 1000, 64] {
                context.hash(&message[..len], &mut digest);
                assert_eq!(digest, sm3::hash(&message[..len]));
            }
            let mut context = openssl.hmac();
            for key in [&b"key"[..], &[7; 100]] {
                let one = |bytes| manylane::Messages::strided(bytes, bytes.len(), bytes.len(), 1);
                let mut ours = [[0; 32]];
                let (keys, messages) = (one(key).unwrap(), one(&message).unwrap());
                sm3::hmac_many(&keys, &messages, &mut ours).unwrap();
                context.mac(key, &message, &mut digest);
                assert_eq!(digest, ours[0]);
            }
            openssl.pbkdf2(key, salt, 3, &mut other);
            assert_eq!(other, derived);
        }
        if let Ok(gcrypt) = Gcrypt::get() {
            gcrypt.hash(&message, &mut digest);
            assert_eq!(digest, sm3::hash(&message));
            gcrypt.pbkdf2(key, salt, 3, &mut other);
            assert_eq!(other, derived);
        }
        let usable = looked_for().map(|peer| peer.version.is_ok());
        assert_eq!(usable, [OpenSsl::get().is_ok(), Gcrypt::get().is_ok()]);
    }
}
