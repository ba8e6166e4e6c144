//! Ciphers: SM4 in all of OpenSSL's modes, AES in counter mode.
#![allow(unsafe_code, reason = "contexts, keys and data come as addresses")]

mod ccm;
mod data;
mod gcm;
mod plain;
mod xts;

use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
};

use manylane::block::any::{self, Direction, Mode};

use self::{ccm::Ccm, data::Data, gcm::Gcm, plain::Plain, xts::Xts};
use crate::{
    abi::{Algorithm, Dispatch, Param, cipher as id, described},
    core::Core,
    entry::{self, Context, bytes, entries, room, set_len, with},
    failure::{Failure, Reason},
    params::{Asked, Params},
};

/// A cipher in a mode of operation: what a context of it does.
trait Cipher: Context + Clone {
    /// `EVP_CIPH_…_MODE`.
    const MODE: u64;
    const KEY_LEN: usize;
    /// Bytes of an IV, as the cipher is described; modes with a tag can have others.
    const IV_LEN: usize;
    /// 16 where data are buffered to whole blocks, else 1.
    const BLOCK_LEN: usize;
    const HAS_TAG: bool;
    /// Whether IVs are more than the block before the first.
    const HAS_OWN_IV: bool;

    fn new(core: Core) -> Self;

    /// Says what the next message is for, as parameters of its init may depend on that.
    fn turn(&mut self, _direction: Direction) {}

    /// Begins a message; a key or an IV that is not given is the last one.
    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Failure>;

    /// The next part of the message, or of what belongs to it; says how much comes out.
    fn update(&mut self, data: Data<'_>) -> Result<usize, Failure>;

    /// The end of the message.
    fn finish(&mut self, out: &mut [u8]) -> Result<usize, Failure>;

    /// A part of the message that is not buffered.
    fn direct(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        match data.is_end() {
            true => self.finish(&mut []),
            false => self.update(data),
        }
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure>;

    fn get(&self, asked: &mut Asked<'_>) -> Result<(), Failure>;

    /// The IV that was set, or as it is now, if there is one. OpenSSL may give its address to its caller, who may write another
    /// IV there (`EVP_CIPHER_CTX_iv_noconst`), so it is a part of the context.
    fn iv(&mut self, is_updated: bool) -> Option<&mut [u8]>;
}

entries! {
    fn new[C: Cipher](context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(C::new(core)),
            None => std::ptr::null_mut(),
        }
    }

    fn free[C: Cipher](context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new` or `dup`, once.
        unsafe { entry::free::<C>(context) }
    }

    fn dup[C: Cipher](context: *mut c_void) -> *mut c_void {
        // SAFETY: it is from `new` or `dup`.
        unsafe { entry::copy::<C>(context) }
    }

    fn encrypt_init[C: Cipher](
        context: *mut c_void,
        key: *const u8,
        key_len: usize,
        iv: *const u8,
        iv_len: usize,
        params: *const Param,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of key and IV; the list has an end.
        unsafe { init::<C>(context, Direction::Encrypt, (key, key_len), (iv, iv_len), params) }
    }

    fn decrypt_init[C: Cipher](
        context: *mut c_void,
        key: *const u8,
        key_len: usize,
        iv: *const u8,
        iv_len: usize,
        params: *const Param,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of key and IV; the list has an end.
        unsafe { init::<C>(context, Direction::Decrypt, (key, key_len), (iv, iv_len), params) }
    }

    fn update[C: Cipher](
        context: *mut c_void,
        out: *mut u8,
        out_len: *mut usize,
        size: usize,
        data: *const u8,
        len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the data and of the room.
        unsafe {
            with(context, |cipher: &mut C| {
                set_len(out_len, cipher.update(Data::new(out, size, data, len)?)?);
                Ok(())
            })
        }
    }

    fn finish[C: Cipher](context: *mut c_void, out: *mut u8, out_len: *mut usize, size: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`; there is so much room.
        unsafe {
            with(context, |cipher: &mut C| {
                set_len(out_len, cipher.finish(room(out, size))?);
                Ok(())
            })
        }
    }

    fn direct[C: Cipher](
        context: *mut c_void,
        out: *mut u8,
        out_len: *mut usize,
        size: usize,
        data: *const u8,
        len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the data and of the room.
        unsafe {
            with(context, |cipher: &mut C| {
                set_len(out_len, cipher.direct(Data::new(out, size, data, len)?)?);
                Ok(())
            })
        }
    }

    fn get_params[C: Cipher](list: *mut Param) -> c_int {
        // SAFETY: the list has an end.
        let mut asked = unsafe { Asked::new(list) };
        let facts = [
            (c"mode", C::MODE),
            (c"keylen", C::KEY_LEN as u64),
            (c"ivlen", C::IV_LEN as u64),
            (c"blocksize", C::BLOCK_LEN as u64),
            (c"aead", C::HAS_TAG.into()),
            (c"custom-iv", C::HAS_OWN_IV.into()),
            (c"cts", 0),
            (c"tls-multi", 0),
            (c"has-randkey", 0),
        ];
        c_int::from(facts.into_iter().all(|(name, fact)| asked.number(name, fact).is_ok()))
    }

    fn gettable_params(_context: *mut c_void) -> *const Param {
        described![
            c"mode": UNSIGNED, c"keylen": UNSIGNED, c"ivlen": UNSIGNED, c"blocksize": UNSIGNED,
            c"aead": INTEGER, c"custom-iv": INTEGER, c"cts": INTEGER, c"tls-multi": INTEGER,
            c"has-randkey": INTEGER,
        ]
    }

    fn get_ctx_params[C: Cipher](context: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe {
            with(context, |cipher: &mut C| {
                let mut asked = Asked::new(list);
                // What of TLS 1.2's records and of random keys is not here must not seem to have been done.
                if UNKNOWN_RESULTS.iter().any(|name| asked.has(name)) {
                    return Err(Reason::Unsupported.into());
                }
                asked.number(c"keylen", C::KEY_LEN as u64)?;
                for (name, is_updated) in [(c"iv", false), (c"updated-iv", true)] {
                    if asked.has(name) {
                        asked.held(name, cipher.iv(is_updated).ok_or(Reason::IvMissing)?)?;
                    }
                }
                cipher.get(&mut asked)
            })
        }
    }

    fn gettable_ctx_params[C: Cipher](_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        match C::HAS_TAG {
            true => described![
                c"keylen": UNSIGNED, c"ivlen": UNSIGNED, c"taglen": UNSIGNED, c"iv": OCTETS,
                c"updated-iv": OCTETS, c"tag": OCTETS,
            ],
            false => described![
                c"keylen": UNSIGNED, c"ivlen": UNSIGNED, c"padding": UNSIGNED, c"num": UNSIGNED,
                c"iv": OCTETS, c"updated-iv": OCTETS,
            ],
        }
    }

    fn set_ctx_params[C: Cipher](context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe { with(context, |cipher: &mut C| set(cipher, Params::new(params))) }
    }

    fn settable_ctx_params[C: Cipher](_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        match (C::HAS_TAG, C::MODE) {
            (true, _) => described![c"ivlen": UNSIGNED, c"tag": OCTETS],
            (false, xts::MODE) => described![c"keylen": UNSIGNED, c"xts_standard": TEXT],
            (false, _) => described![c"keylen": UNSIGNED, c"padding": UNSIGNED, c"num": UNSIGNED],
        }
    }
}

/// # Safety
/// The context is null or from `new` or `dup`; addresses are null or have so many bytes; the list has an end.
unsafe fn init<C: Cipher>(
    context: *mut c_void,
    direction: Direction,
    key: (*const u8, usize),
    iv: (*const u8, usize),
    params: *const Param,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let given = |(data, len): (*const u8, usize)| match data.is_null() {
            true => Ok(None),
            false => bytes(data, len).map(Some),
        };
        with(context, |cipher: &mut C| {
            cipher.turn(direction);
            set(cipher, Params::new(params))?;
            cipher.init(direction, given(key)?, given(iv)?)
        })
    }
}

/// Parameters of OpenSSL's ciphers that would have to change what these do, and those that would have to be answered.
/// libcrypto takes it for done if one is ignored: records would then go out without a tag, or under an IV that was used.
const UNKNOWN_SETTINGS: [&CStr; 9] = [
    c"tlsaad",
    c"tlsivfixed",
    c"tlsivinv",
    c"tls-version",
    c"tls-mac-size",
    c"tls1multi_maxsndfrag",
    c"tls1multi_aad",
    c"cts_mode",
    c"use-bits",
];
const UNKNOWN_RESULTS: [&CStr; 4] = [c"tlsaadpad", c"tlsivgen", c"tls-mac", c"randkey"];

fn set<C: Cipher>(cipher: &mut C, params: Params<'_>) -> Result<(), Failure> {
    if UNKNOWN_SETTINGS.iter().any(|name| params.has(name)) {
        return Err(Reason::Unsupported.into());
    }
    if params.number(c"keylen")?.is_some_and(|len| len != C::KEY_LEN as u64) {
        return Err(manylane::Error::KeyLength.into());
    }
    cipher.set(params)
}

/// The functions of a cipher.
struct Table<C>(PhantomData<C>);

impl<C: Cipher> Table<C> {
    const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(id::NEWCTX, new::<C> as *const ()),
        Dispatch::new(id::FREECTX, free::<C> as *const ()),
        Dispatch::new(id::DUPCTX, dup::<C> as *const ()),
        Dispatch::new(id::ENCRYPT_INIT, encrypt_init::<C> as *const ()),
        Dispatch::new(id::DECRYPT_INIT, decrypt_init::<C> as *const ()),
        Dispatch::new(id::UPDATE, update::<C> as *const ()),
        Dispatch::new(id::FINAL, finish::<C> as *const ()),
        Dispatch::new(id::CIPHER, direct::<C> as *const ()),
        Dispatch::new(id::GET_PARAMS, get_params::<C> as *const ()),
        Dispatch::new(id::GETTABLE_PARAMS, gettable_params as *const ()),
        Dispatch::new(id::GET_CTX_PARAMS, get_ctx_params::<C> as *const ()),
        Dispatch::new(id::GETTABLE_CTX_PARAMS, gettable_ctx_params::<C> as *const ()),
        Dispatch::new(id::SET_CTX_PARAMS, set_ctx_params::<C> as *const ()),
        Dispatch::new(id::SETTABLE_CTX_PARAMS, settable_ctx_params::<C> as *const ()),
        Dispatch::END,
    ];
}

/// A cipher and, for the modes without a tag, the mode.
trait Kind: Clone {
    const ALGORITHM: any::Algorithm;
    const MODE: Mode;
}

macro_rules! kinds {
    ($($name:ident = $algorithm:ident $mode:ident;)+) => {$(
        #[derive(Clone)]
        struct $name;

        impl Kind for $name {
            const ALGORITHM: any::Algorithm = any::Algorithm::$algorithm;
            const MODE: Mode = Mode::$mode;
        }
    )+};
}

kinds! {
    Sm4Ecb = Sm4 Ecb;
    Sm4Cbc = Sm4 Cbc;
    Sm4Ctr = Sm4 Ctr;
    Sm4Cfb = Sm4 Cfb;
    Sm4Cfb8 = Sm4 Cfb8;
    Sm4Ofb = Sm4 Ofb;
    Aes128Ctr = Aes128 Ctr;
    Aes192Ctr = Aes192 Ctr;
    Aes256Ctr = Aes256 Ctr;
}

const fn algorithm(names: &'static CStr, functions: &'static [Dispatch]) -> Algorithm {
    Algorithm::new(names, crate::provider::PROPERTIES, functions, c"manylane")
}

/// Names and object identifiers are OpenSSL's own. The modes with a tag and XTS are in its default provider since 3.1 and 3.2,
/// by the same names.
pub(crate) static ALGORITHMS: [Algorithm; 13] = [
    algorithm(c"SM4-ECB:1.2.156.10197.1.104.1", Table::<Plain<Sm4Ecb>>::FUNCTIONS),
    algorithm(c"SM4-CBC:SM4:1.2.156.10197.1.104.2", Table::<Plain<Sm4Cbc>>::FUNCTIONS),
    algorithm(c"SM4-OFB:SM4-OFB128:1.2.156.10197.1.104.3", Table::<Plain<Sm4Ofb>>::FUNCTIONS),
    algorithm(c"SM4-CFB:SM4-CFB128:1.2.156.10197.1.104.4", Table::<Plain<Sm4Cfb>>::FUNCTIONS),
    algorithm(c"SM4-CFB8:1.2.156.10197.1.104.6", Table::<Plain<Sm4Cfb8>>::FUNCTIONS),
    algorithm(c"SM4-CTR:1.2.156.10197.1.104.7", Table::<Plain<Sm4Ctr>>::FUNCTIONS),
    algorithm(c"SM4-GCM:1.2.156.10197.1.104.8", Table::<Gcm>::FUNCTIONS),
    algorithm(c"SM4-CCM:1.2.156.10197.1.104.9", Table::<Ccm>::FUNCTIONS),
    algorithm(c"SM4-XTS:1.2.156.10197.1.104.10", Table::<Xts>::FUNCTIONS),
    algorithm(c"AES-128-CTR", Table::<Plain<Aes128Ctr>>::FUNCTIONS),
    algorithm(c"AES-192-CTR", Table::<Plain<Aes192Ctr>>::FUNCTIONS),
    algorithm(c"AES-256-CTR", Table::<Plain<Aes256Ctr>>::FUNCTIONS),
    Algorithm::END,
];
