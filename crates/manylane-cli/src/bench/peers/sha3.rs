//! What SHA-3 is asked of libraries: one context for each function, used again and again.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use super::{Gcrypt, LIBCRYPTO, LIBGCRYPT, OpenSsl, open};

/// A function of FIPS 202.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Hash {
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Shake128,
    Shake256,
}

impl Hash {
    pub(in crate::bench) const ALL: [Hash; 6] = [
        Hash::Sha3_224,
        Hash::Sha3_256,
        Hash::Sha3_384,
        Hash::Sha3_512,
        Hash::Shake128,
        Hash::Shake256,
    ];

    /// As the standard and OpenSSL name it.
    pub(in crate::bench) fn name(self) -> &'static str {
        self.c_name().to_str().expect("plain letters")
    }

    fn c_name(self) -> &'static CStr {
        match self {
            Hash::Sha3_224 => c"SHA3-224",
            Hash::Sha3_256 => c"SHA3-256",
            Hash::Sha3_384 => c"SHA3-384",
            Hash::Sha3_512 => c"SHA3-512",
            Hash::Shake128 => c"SHAKE128",
            Hash::Shake256 => c"SHAKE256",
        }
    }

    fn is_xof(self) -> bool {
        matches!(self, Hash::Shake128 | Hash::Shake256)
    }

    /// `GCRY_MD_…` of gcrypt.h.
    fn gcrypt(self) -> c_int {
        312 + self as c_int
    }
}

functions!(OpenSslFunctions {
    EVP_MD_fetch(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MD_CTX_new() -> *mut c_void;
    EVP_MD_CTX_free(*mut c_void);
    EVP_DigestInit_ex(*mut c_void, *const c_void, *mut c_void) -> c_int;
    EVP_DigestUpdate(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestFinal_ex(*mut c_void, *mut u8, *mut c_uint) -> c_int;
    EVP_DigestFinalXOF(*mut c_void, *mut u8, usize) -> c_int;
});

/// OpenSSL's functions of FIPS 202.
#[derive(Debug)]
pub(in crate::bench) struct OpenSslSha3 {
    f: OpenSslFunctions,
    /// In the order of [`Hash::ALL`].
    digests: [*mut c_void; Hash::ALL.len()],
}

// SAFETY: fetched algorithms are never freed, and OpenSSL's functions may be called from any thread.
unsafe impl Send for OpenSslSha3 {}
// SAFETY: as above.
unsafe impl Sync for OpenSslSha3 {}

impl OpenSslSha3 {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static Self, &'static str> {
        static OPENSSL: OnceLock<Result<OpenSslSha3, String>> = OnceLock::new();
        OPENSSL.get_or_init(Self::load).as_ref().map_err(String::as_str)
    }

    fn load() -> Result<Self, String> {
        // The same library as other suites measure.
        OpenSsl::get()?;
        // SAFETY: the signatures are those of the headers of OpenSSL 3.
        let f = unsafe { OpenSslFunctions::load(open(&LIBCRYPTO)?) }?;
        // SAFETY: a default context, a name that ends in zero, and no properties.
        let fetch =
            |hash: Hash| unsafe { (f.EVP_MD_fetch)(null_mut(), hash.c_name().as_ptr(), null()) };
        let digests = Hash::ALL.map(fetch);
        if digests.iter().any(|digest| digest.is_null()) {
            return Err("this libcrypto was built without SHA-3".into());
        }
        Ok(OpenSslSha3 { f, digests })
    }

    /// A context for one function.
    pub(in crate::bench) fn context(&'static self, hash: Hash) -> OpenSslContext {
        // SAFETY: has no preconditions.
        let context = unsafe { (self.f.EVP_MD_CTX_new)() };
        assert!(!context.is_null(), "OpenSSL has no memory for a context");
        OpenSslContext { openssl: self, hash, context }
    }
}

/// An `EVP_MD_CTX`.
pub(in crate::bench) struct OpenSslContext {
    openssl: &'static OpenSslSha3,
    hash: Hash,
    context: *mut c_void,
}

impl OpenSslContext {
    /// The digest of one message; as many bytes of it as `out` has where the function lets one choose.
    pub(in crate::bench) fn hash(&mut self, message: &[u8], out: &mut [u8]) {
        let OpenSslSha3 { f, digests } = self.openssl;
        check_len(self.hash, out);
        // SAFETY: the context is live and ours alone; each pointer goes with its own length, and `out` has
        // room for the digest.
        let ok = unsafe {
            (f.EVP_DigestInit_ex)(self.context, digests[self.hash as usize], null_mut())
                & (f.EVP_DigestUpdate)(self.context, message.as_ptr().cast(), message.len())
                & match self.hash.is_xof() {
                    true => (f.EVP_DigestFinalXOF)(self.context, out.as_mut_ptr(), out.len()),
                    false => (f.EVP_DigestFinal_ex)(self.context, out.as_mut_ptr(), null_mut()),
                }
        };
        assert_eq!(ok, 1, "OpenSSL failed to hash");
    }
}

impl Drop for OpenSslContext {
    fn drop(&mut self) {
        // SAFETY: the context is live, and not used again.
        unsafe { (self.openssl.f.EVP_MD_CTX_free)(self.context) };
    }
}

/// # Panics
/// If a digest of fixed length does not fit.
fn check_len(hash: Hash, out: &[u8]) {
    let len = match hash {
        Hash::Sha3_224 => 28,
        Hash::Sha3_256 => 32,
        Hash::Sha3_384 => 48,
        Hash::Sha3_512 => 64,
        Hash::Shake128 | Hash::Shake256 => out.len(),
    };
    assert_eq!(out.len(), len, "room for a digest");
}

functions!(GcryptFunctions {
    gcry_md_open(*mut *mut c_void, c_int, c_uint) -> c_uint;
    gcry_md_close(*mut c_void);
    gcry_md_reset(*mut c_void);
    gcry_md_write(*mut c_void, *const c_void, usize);
    gcry_md_extract(*mut c_void, c_int, *mut c_void, usize) -> c_uint;
    gcry_md_hash_buffer(c_int, *mut c_void, *const c_void, usize);
});

/// libgcrypt's functions of FIPS 202.
#[derive(Debug)]
pub(in crate::bench) struct GcryptSha3 {
    f: GcryptFunctions,
}

impl GcryptSha3 {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static Self, &'static str> {
        static GCRYPT: OnceLock<Result<GcryptSha3, String>> = OnceLock::new();
        let load = || {
            // Who asks for SM3 has made the library ready, once for all.
            Gcrypt::get()?;
            // SAFETY: the signatures are those of gcrypt.h of the 1.x series.
            Ok(GcryptSha3 { f: unsafe { GcryptFunctions::load(open(&LIBGCRYPT)?) }? })
        };
        GCRYPT.get_or_init(load).as_ref().map_err(String::as_str)
    }

    /// A handle for one function; none if the library was built without it.
    pub(in crate::bench) fn context(&'static self, hash: Hash) -> Option<GcryptContext> {
        let mut handle = null_mut();
        // SAFETY: `handle` is valid for writes.
        let error = unsafe { (self.f.gcry_md_open)(&mut handle, hash.gcrypt(), 0) };
        (error == 0).then_some(GcryptContext { gcrypt: self, hash, handle })
    }
}

/// A `gcry_md_hd_t`.
pub(in crate::bench) struct GcryptContext {
    gcrypt: &'static GcryptSha3,
    hash: Hash,
    handle: *mut c_void,
}

impl GcryptContext {
    /// The digest of one message: by the one call that needs no handle where the length is fixed.
    pub(in crate::bench) fn hash(&mut self, message: &[u8], out: &mut [u8]) {
        let f = &self.gcrypt.f;
        check_len(self.hash, out);
        let (algorithm, out_ptr) = (self.hash.gcrypt(), out.as_mut_ptr().cast());
        // SAFETY: the handle is live and ours alone; each pointer goes with its own length, and `out` has
        // room for the digest.
        unsafe {
            if self.hash.is_xof() {
                (f.gcry_md_reset)(self.handle);
                (f.gcry_md_write)(self.handle, message.as_ptr().cast(), message.len());
                let error = (f.gcry_md_extract)(self.handle, algorithm, out_ptr, out.len());
                assert_eq!(error, 0, "libgcrypt failed to hash");
            } else {
                (f.gcry_md_hash_buffer)(algorithm, out_ptr, message.as_ptr().cast(), message.len());
            }
        }
    }
}

impl Drop for GcryptContext {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and not used again.
        unsafe { (self.gcrypt.f.gcry_md_close)(self.handle) };
    }
}

/// `struct nettle_hash` of nettle-meta.h, versions 3.x.
#[repr(C)]
struct NettleHash {
    name: *const c_char,
    context_size: c_uint,
    digest_size: c_uint,
    block_size: c_uint,
    init: unsafe extern "C" fn(*mut c_void),
    update: unsafe extern "C" fn(*mut c_void, usize, *const u8),
    digest: unsafe extern "C" fn(*mut c_void, usize, *mut u8),
}

functions!(NettleFunctions {
    nettle_version_major() -> c_int;
    nettle_version_minor() -> c_int;
    nettle_sha3_256_shake(*mut c_void, usize, *mut u8);
});

/// Names of Nettle's versions 3.6 to 3.10; later ones take digests' lengths in another way.
const LIBNETTLE: [&str; 2] = ["libnettle.so.8", "libnettle.8.dylib"];

/// Nettle.
#[derive(Debug)]
pub(in crate::bench) struct Nettle {
    f: NettleFunctions,
    /// Of the four functions with digests of fixed length.
    hashes: [&'static NettleHash; 4],
}

impl std::fmt::Debug for NettleHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NettleHash").finish_non_exhaustive()
    }
}

// SAFETY: constant tables of the library, whose functions use the memory that they are given alone.
unsafe impl Send for Nettle {}
// SAFETY: as above.
unsafe impl Sync for Nettle {}

impl Nettle {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static Self, &'static str> {
        static NETTLE: OnceLock<Result<Nettle, String>> = OnceLock::new();
        NETTLE.get_or_init(Self::load).as_ref().map_err(String::as_str)
    }

    fn load() -> Result<Self, String> {
        let library = open(&LIBNETTLE)?;
        // SAFETY: the signatures are those of Nettle's headers of the versions 3.x.
        let f = unsafe { NettleFunctions::load(library) }?;
        let table = |name: &str| {
            // SAFETY: constants of these names have this type in the versions 3.x.
            let symbol = unsafe { library.get::<*const NettleHash>(name) };
            let table: *const NettleHash = *symbol.map_err(|error| error.to_string())?;
            // SAFETY: a constant of a library that stays.
            let table = unsafe { &*table };
            match table.context_size as usize <= size_of::<Memory>() {
                true => Ok::<_, String>(table),
                false => {
                    Err("contexts of this Nettle are longer than those of known versions".into())
                }
            }
        };
        let hashes = [
            table("nettle_sha3_224")?,
            table("nettle_sha3_256")?,
            table("nettle_sha3_384")?,
            table("nettle_sha3_512")?,
        ];
        Ok(Nettle { f, hashes })
    }

    pub(in crate::bench) fn version(&self) -> String {
        // SAFETY: they take nothing.
        let version = unsafe { ((self.f.nettle_version_major)(), (self.f.nettle_version_minor)()) };
        format!("Nettle {}.{}", version.0, version.1)
    }

    /// A context for one function; none of SHAKE128, which versions before 3.10 lack.
    pub(in crate::bench) fn context(&'static self, hash: Hash) -> Option<NettleContext> {
        let table = match hash {
            Hash::Sha3_224 => self.hashes[0],
            Hash::Sha3_256 | Hash::Shake256 => self.hashes[1],
            Hash::Sha3_384 => self.hashes[2],
            Hash::Sha3_512 => self.hashes[3],
            Hash::Shake128 => return None,
        };
        let mut memory = Box::new(Memory([0; 128]));
        // SAFETY: there is room for a context, by the check in `load`, aligned for any.
        unsafe { (table.init)((&raw mut *memory).cast()) };
        Some(NettleContext { nettle: self, table, hash, memory })
    }
}

/// Room for a context: the largest has 200 bytes of state and 144 of a block.
#[repr(align(64))]
struct Memory([u64; 128]);

/// A `struct sha3_…_ctx`.
pub(in crate::bench) struct NettleContext {
    nettle: &'static Nettle,
    table: &'static NettleHash,
    hash: Hash,
    memory: Box<Memory>,
}

impl NettleContext {
    /// The digest of one message; who asks for it begins the context anew.
    pub(in crate::bench) fn hash(&mut self, message: &[u8], out: &mut [u8]) {
        check_len(self.hash, out);
        let context = (&raw mut self.memory.0).cast();
        // SAFETY: the context is live and ours alone; each pointer goes with its own length.
        unsafe {
            (self.table.update)(context, message.len(), message.as_ptr());
            match self.hash {
                Hash::Shake256 => {
                    (self.nettle.f.nettle_sha3_256_shake)(context, out.len(), out.as_mut_ptr());
                }
                _ => (self.table.digest)(context, out.len(), out.as_mut_ptr()),
            }
        }
    }
}
