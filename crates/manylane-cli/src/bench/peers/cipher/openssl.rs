//! OpenSSL's ciphers, by the functions that its users call: one `EVP_CIPHER_CTX` with its key, and an IV
//! set anew for each message.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use manylane::block::TweakOrder;

use super::{
    super::{LIBCRYPTO, apart, open},
    Cipher, Mode, Tag,
};

functions!(Functions {
    OpenSSL_version(c_int) -> *const c_char;
    OPENSSL_info(c_int) -> *const c_char;
    EVP_CIPHER_fetch(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_CIPHER_free(*mut c_void);
    EVP_CIPHER_CTX_new() -> *mut c_void;
    EVP_CIPHER_CTX_free(*mut c_void);
    EVP_CIPHER_CTX_ctrl(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_set_padding(*mut c_void, c_int) -> c_int;
    EVP_CipherInit_ex(
        *mut c_void, *const c_void, *mut c_void, *const u8, *const u8, c_int
    ) -> c_int;
    EVP_CipherUpdate(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex(*mut c_void, *mut u8, *mut c_int) -> c_int;
});

/// `EVP_CTRL_AEAD_SET_IVLEN` of openssl/evp.h.
const SET_IV_LEN: c_int = 0x9;
/// `EVP_CTRL_AEAD_GET_TAG`.
const GET_TAG: c_int = 0x10;
/// `EVP_CTRL_AEAD_SET_TAG`.
const SET_TAG: c_int = 0x11;
/// `OPENSSL_INFO_CPU_SETTINGS` of openssl/crypto.h.
const CPU_SETTINGS: c_int = 1008;
/// "As it is", for the direction.
const UNCHANGED: c_int = -1;

/// A libcrypto.
#[derive(Debug)]
pub(in crate::bench) struct OpenSslCiphers {
    f: Functions,
}

impl OpenSslCiphers {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static Self, &'static str> {
        static OPENSSL: OnceLock<Result<OpenSslCiphers, String>> = OnceLock::new();
        let load = || OpenSslCiphers::load(open(&LIBCRYPTO)?);
        OPENSSL.get_or_init(load).as_ref().map_err(String::as_str)
    }

    /// The library once more, told that the processor has neither AES instructions nor carry-less products; this
    /// must be asked for before there are threads.
    pub(in crate::bench) fn without_aes() -> Result<&'static Self, &'static str> {
        static OPENSSL: OnceLock<Result<OpenSslCiphers, String>> = OnceLock::new();
        let load = || {
            if !cfg!(target_arch = "x86_64") {
                return Err("OpenSSL is told so on x86-64 only".into());
            }
            // Bits of cpuid as the library's manual numbers them: PCLMULQDQ 33 and AES-NI 57 of the first
            // word, VAES 41 and VPCLMULQDQ 42 of the second.
            let variable = ("OPENSSL_ia32cap", "~0x200000200000000:~0x60000000000");
            let there = OpenSslCiphers::get()?.f.OpenSSL_version as *const c_void;
            let openssl = OpenSslCiphers::load(apart::open(there, Some(variable))?)?;
            match openssl.has_aes_instructions() {
                Some(false) => Ok(openssl),
                _ => Err("OpenSSL does not do as OPENSSL_ia32cap tells it".into()),
            }
        };
        OPENSSL.get_or_init(load).as_ref().map_err(String::as_str)
    }

    fn load(library: &'static libloading::Library) -> Result<Self, String> {
        // SAFETY: the signatures are those of the headers of OpenSSL 3.
        Ok(OpenSslCiphers { f: unsafe { Functions::load(library) }? })
    }

    pub(in crate::bench) fn version(&self) -> String {
        // SAFETY: returns a constant string, for any number.
        unsafe { CStr::from_ptr((self.f.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
    }

    /// Whether it takes the processor to have AES instructions, if it says.
    fn has_aes_instructions(&self) -> Option<bool> {
        // SAFETY: returns a constant string or null, for any number.
        let info = unsafe { (self.f.OPENSSL_info)(CPU_SETTINGS) };
        if info.is_null() {
            return None;
        }
        // SAFETY: as above; it ends in zero.
        let info = unsafe { CStr::from_ptr(info) }.to_str().ok()?;
        let (_, word) = info.split_once("OPENSSL_ia32cap=0x")?;
        let word = u64::from_str_radix(word.split(':').next()?, 16).ok()?;
        Some(word >> 57 & 1 == 1)
    }

    /// Whether it has the mode of the cipher.
    pub(in crate::bench) fn has(&self, cipher: Cipher, mode: Mode) -> bool {
        let fetched = self.fetch(cipher, mode);
        // SAFETY: it was fetched, or is null, which is nothing to free.
        unsafe { (self.f.EVP_CIPHER_free)(fetched) };
        !fetched.is_null()
    }

    /// An `EVP_CIPHER` for the caller to free, or null.
    fn fetch(&self, cipher: Cipher, mode: Mode) -> *mut c_void {
        let mode = match (cipher, mode) {
            // Its tweaks of SM4 are GB/T 17964-2021's unless it is told otherwise.
            (Cipher::Sm4, Mode::Xts(TweakOrder::Ieee)) => return null_mut(),
            (_, Mode::Ecb) => "ECB",
            (_, Mode::CbcEncrypt | Mode::CbcDecrypt) => "CBC",
            (_, Mode::Ctr) => "CTR",
            (_, Mode::GcmEncrypt | Mode::GcmDecrypt) => "GCM",
            (_, Mode::Ccm) => "CCM",
            (_, Mode::Xts(_)) => "XTS",
            (_, Mode::CfbDecrypt) => "CFB",
            (_, Mode::Ofb) => "OFB",
        };
        let name = CString::new(format!("{}-{mode}", cipher.name())).expect("no zeros");
        // SAFETY: a default context, a name that ends in zero, and no properties.
        unsafe { (self.f.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), null()) }
    }

    /// A context for messages under a key; none if it lacks the mode.
    pub(in crate::bench) fn context(
        &'static self,
        cipher: Cipher,
        mode: Mode,
        key: &[u8],
    ) -> Option<Context> {
        assert_eq!(key.len(), cipher.key_len() * mode.keys());
        let fetched = self.fetch(cipher, mode);
        if fetched.is_null() {
            return None;
        }
        let f = &self.f;
        // SAFETY: has no preconditions.
        let context = unsafe { (f.EVP_CIPHER_CTX_new)() };
        assert!(!context.is_null(), "OpenSSL has no memory for a context");
        let encrypts = c_int::from(mode.encrypts());
        let init = f.EVP_CipherInit_ex;
        // SAFETY: the context is live; the cipher too, of which it keeps a count; the key is as long as the
        // cipher's; null stands for what is not given.
        let ok = unsafe {
            let mut ok = init(context, fetched, null_mut(), null(), null(), encrypts);
            (f.EVP_CIPHER_free)(fetched);
            if mode == Mode::Ccm {
                ok &= (f.EVP_CIPHER_CTX_ctrl)(
                    context,
                    SET_IV_LEN,
                    mode.iv_len() as c_int,
                    null_mut(),
                );
                ok &= (f.EVP_CIPHER_CTX_ctrl)(context, SET_TAG, 16, null_mut());
            }
            ok & init(context, null(), null_mut(), key.as_ptr(), null(), UNCHANGED)
                & (f.EVP_CIPHER_CTX_set_padding)(context, 0)
        };
        assert_eq!(ok, 1, "OpenSSL refused a key");
        Some(Context { openssl: self, context, mode })
    }
}

/// An `EVP_CIPHER_CTX` with its key.
pub(in crate::bench) struct Context {
    openssl: &'static OpenSslCiphers,
    context: *mut c_void,
    mode: Mode,
}

impl Context {
    /// Encrypts or decrypts a message in place. The tag is written, or must be right; other modes than
    /// authenticated ones leave it.
    pub(in crate::bench) fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8], tag: &mut Tag) {
        let f = &self.openssl.f;
        let (context, mode) = (self.context, self.mode);
        let (bytes, len) = (data.as_mut_ptr(), c_int::try_from(data.len()).expect("short"));
        let tag: *mut c_void = tag.as_mut_ptr().cast();
        let mut done = 0;
        // SAFETY: the context is live and ours alone, an IV of this mode has at most 16 bytes, a tag has 16,
        // and the data are changed in place, whole blocks where the mode needs them.
        let ok = unsafe {
            let mut ok = 1;
            if mode != Mode::Ecb {
                ok &= (f.EVP_CipherInit_ex)(
                    context,
                    null(),
                    null_mut(),
                    null(),
                    iv.as_ptr(),
                    UNCHANGED,
                );
            }
            match mode {
                Mode::GcmDecrypt => ok &= (f.EVP_CIPHER_CTX_ctrl)(context, SET_TAG, 16, tag),
                Mode::Ccm => {
                    ok &= (f.EVP_CipherUpdate)(context, null_mut(), &mut done, null(), len);
                }
                _ => {}
            }
            ok &= (f.EVP_CipherUpdate)(context, bytes, &mut done, bytes, len);
            // Without padding nothing is left for the end, but for what it says.
            let mut rest = 0;
            ok &= (f.EVP_CipherFinal_ex)(context, bytes.add(data.len()), &mut rest);
            if matches!(mode, Mode::GcmEncrypt | Mode::Ccm) {
                ok &= (f.EVP_CIPHER_CTX_ctrl)(context, GET_TAG, 16, tag);
            }
            ok
        };
        assert_eq!((ok, done), (1, len), "OpenSSL failed at {mode:?}");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is live, and not used again.
        unsafe { (self.openssl.f.EVP_CIPHER_CTX_free)(self.context) };
    }
}
