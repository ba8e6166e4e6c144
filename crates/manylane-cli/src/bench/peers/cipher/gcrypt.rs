//! libgcrypt's ciphers: one handle with its key, and an IV set anew for each message.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    ptr::{null, null_mut},
    sync::OnceLock,
};

use manylane::block::TweakOrder;

use super::{
    super::{GCRYCTL_INITIALIZATION_FINISHED, GCRYPT_WITH_SM3, Gcrypt, LIBGCRYPT, apart, open},
    Cipher, Mode, Tag,
};

functions!(Functions {
    gcry_check_version(*const c_char) -> *const c_char;
    gcry_control(c_int, *const c_char, *const c_char) -> c_uint;
    gcry_get_config(c_int, *const c_char) -> *mut c_char;
    gcry_free(*mut c_void);
    gcry_cipher_open(*mut *mut c_void, c_int, c_int, c_uint) -> c_uint;
    gcry_cipher_close(*mut c_void);
    gcry_cipher_setkey(*mut c_void, *const u8, usize) -> c_uint;
    gcry_cipher_setiv(*mut c_void, *const u8, usize) -> c_uint;
    gcry_cipher_setctr(*mut c_void, *const u8, usize) -> c_uint;
    gcry_cipher_ctl(*mut c_void, c_int, *mut c_void, usize) -> c_uint;
    gcry_cipher_encrypt(*mut c_void, *mut u8, usize, *const u8, usize) -> c_uint;
    gcry_cipher_decrypt(*mut c_void, *mut u8, usize, *const u8, usize) -> c_uint;
    gcry_cipher_gettag(*mut c_void, *mut u8, usize) -> c_uint;
    gcry_cipher_checktag(*mut c_void, *const u8, usize) -> c_uint;
});

/// `GCRYCTL_DISABLE_HWF` of gcrypt.h.
const GCRYCTL_DISABLE_HWF: c_int = 63;
/// `GCRYCTL_SET_CCM_LENGTHS`.
const GCRYCTL_SET_CCM_LENGTHS: c_int = 69;

/// What libgcrypt calls GFNI.
const GFNI: &str = "intel-gfni";

/// A libgcrypt.
#[derive(Debug)]
pub(in crate::bench) struct GcryptCiphers {
    f: Functions,
    version: String,
}

impl GcryptCiphers {
    /// The library, loaded when first asked for, or why there is none.
    pub(in crate::bench) fn get() -> Result<&'static Self, &'static str> {
        static GCRYPT: OnceLock<Result<GcryptCiphers, String>> = OnceLock::new();
        let load = || {
            // Who asks for hashes has made it ready, once for all.
            let version = Gcrypt::get()?.version();
            // SAFETY: the signatures are those of gcrypt.h of the 1.x series; see `load_without`.
            Ok(GcryptCiphers { f: unsafe { Functions::load(open(&LIBGCRYPT)?) }?, version })
        };
        GCRYPT.get_or_init(load).as_ref().map_err(String::as_str)
    }

    /// The library once more, told that the processor has no GFNI.
    pub(in crate::bench) fn without_gfni() -> Result<&'static Self, &'static str> {
        static GCRYPT: OnceLock<Result<GcryptCiphers, String>> = OnceLock::new();
        let load = || {
            let all = GcryptCiphers::get()?;
            match all.features().iter().any(|feature| feature == GFNI) {
                true => GcryptCiphers::load_without(GFNI),
                false => Err(format!("{} does not use it here anyway", all.version)),
            }
        };
        GCRYPT.get_or_init(load).as_ref().map_err(String::as_str)
    }

    /// The library once more, told to do without a feature of the processor.
    pub(super) fn load_without(feature: &str) -> Result<Self, String> {
        if cfg!(target_vendor = "apple") {
            return Err(
                "its calling convention is another for functions such as gcry_control".into()
            );
        }
        let there = GcryptCiphers::get()?.f.gcry_check_version as *const c_void;
        let library = apart::open(there, None)?;
        // SAFETY: the signatures are those of gcrypt.h of the 1.x series. `gcry_control` is variadic there;
        // the commands used take two pointers at most, which the calling conventions of the systems served
        // pass the same way, except Apple's for AArch64, ruled out above.
        let f = unsafe { Functions::load(library) }?;
        let name = CString::new(feature).map_err(|why| why.to_string())?;
        // SAFETY: the command takes a name that ends in zero, and is meant to come first of all.
        let error = unsafe { (f.gcry_control)(GCRYCTL_DISABLE_HWF, name.as_ptr(), null()) };
        if error != 0 {
            return Err(format!("libgcrypt does not know of {feature}"));
        }
        // SAFETY: asking for a version initialises the library; it returns null if it is older.
        let version = unsafe { (f.gcry_check_version)(GCRYPT_WITH_SM3.as_ptr()) };
        if version.is_null() {
            return Err("this libgcrypt is older than 1.9".into());
        }
        // SAFETY: the command takes nothing.
        unsafe { (f.gcry_control)(GCRYCTL_INITIALIZATION_FINISHED, null(), null()) };
        // SAFETY: the library's own constant string.
        let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
        let gcrypt = GcryptCiphers { f, version: format!("libgcrypt {version}") };
        match gcrypt.features().iter().any(|used| used == feature) {
            true => Err(format!("libgcrypt uses {feature} though it was told not to")),
            false => Ok(gcrypt),
        }
    }

    pub(in crate::bench) fn version(&self) -> String {
        self.version.clone()
    }

    /// The processor's features that it uses, by its names.
    pub(super) fn features(&self) -> Vec<String> {
        // SAFETY: a name that ends in zero; what is returned is ours to free, or null.
        let line = unsafe { (self.f.gcry_get_config)(0, c"hwflist".as_ptr()) };
        if line.is_null() {
            return Vec::new();
        }
        // SAFETY: it ends in zero, and is not used after it is freed.
        let text = unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned();
        // SAFETY: as above.
        unsafe { (self.f.gcry_free)(line.cast()) };
        let names = text.trim().split(':').skip(1).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// A handle for messages under a key; none if it lacks the mode.
    pub(in crate::bench) fn context(
        &'static self,
        cipher: Cipher,
        mode: Mode,
        key: &[u8],
    ) -> Option<Context> {
        assert_eq!(key.len(), cipher.key_len() * mode.keys());
        // `GCRY_CIPHER_…` and `GCRY_CIPHER_MODE_…` of gcrypt.h.
        let algorithm = match cipher {
            Cipher::Aes128 => 7,
            Cipher::Aes192 => 8,
            Cipher::Aes256 => 9,
            Cipher::Sm4 => 318,
        };
        let number = match mode {
            Mode::Ecb => 1,
            Mode::CfbDecrypt => 2,
            Mode::CbcEncrypt | Mode::CbcDecrypt => 3,
            Mode::Ofb => 5,
            Mode::Ctr => 6,
            Mode::Ccm => 8,
            Mode::GcmEncrypt | Mode::GcmDecrypt => 9,
            Mode::Xts(TweakOrder::Ieee) => 13,
            Mode::Xts(TweakOrder::Gb) => return None,
        };
        let mut handle = null_mut();
        // SAFETY: there is room for a handle.
        if unsafe { (self.f.gcry_cipher_open)(&mut handle, algorithm, number, 0) } != 0 {
            return None;
        }
        // SAFETY: the handle is live; the key goes with its length.
        let error = unsafe { (self.f.gcry_cipher_setkey)(handle, key.as_ptr(), key.len()) };
        assert_eq!(error, 0, "libgcrypt refused a key");
        Some(Context { gcrypt: self, handle, mode })
    }
}

/// A `gcry_cipher_hd_t` with its key.
pub(in crate::bench) struct Context {
    gcrypt: &'static GcryptCiphers,
    handle: *mut c_void,
    mode: Mode,
}

impl Context {
    /// Encrypts or decrypts a message in place. The tag is written, or must be right; other modes than
    /// authenticated ones leave it.
    pub(in crate::bench) fn crypt(&mut self, iv: &[u8; 16], data: &mut [u8], tag: &mut Tag) {
        let f = &self.gcrypt.f;
        let (handle, mode) = (self.handle, self.mode);
        let (bytes, len) = (data.as_mut_ptr(), data.len());
        let crypt = if mode.encrypts() { f.gcry_cipher_encrypt } else { f.gcry_cipher_decrypt };
        // SAFETY: the handle is live and ours alone, an IV of this mode has at most 16 bytes, and null with
        // no length as input means in place. Lengths of CCM are three numbers.
        let error = unsafe {
            let mut error = match mode {
                Mode::Ecb => 0,
                Mode::Ctr => (f.gcry_cipher_setctr)(handle, iv.as_ptr(), mode.iv_len()),
                _ => (f.gcry_cipher_setiv)(handle, iv.as_ptr(), mode.iv_len()),
            };
            if mode == Mode::Ccm {
                let mut lengths = [len as u64, 0, tag.len() as u64];
                let at: *mut c_void = lengths.as_mut_ptr().cast();
                error |=
                    (f.gcry_cipher_ctl)(handle, GCRYCTL_SET_CCM_LENGTHS, at, size_of_val(&lengths));
            }
            error |= crypt(handle, bytes, len, null(), 0);
            error
                | match mode {
                    Mode::GcmEncrypt | Mode::Ccm => {
                        (f.gcry_cipher_gettag)(handle, tag.as_mut_ptr(), tag.len())
                    }
                    Mode::GcmDecrypt => (f.gcry_cipher_checktag)(handle, tag.as_ptr(), tag.len()),
                    _ => 0,
                }
        };
        assert_eq!(error, 0, "libgcrypt failed at {mode:?}");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and not used again.
        unsafe { (self.gcrypt.f.gcry_cipher_close)(self.handle) };
    }
}
