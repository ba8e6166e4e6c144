//! Digests: SM3, SHA-3 and SHAKE.
#![allow(unsafe_code, reason = "contexts, messages and digests come as addresses")]

use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
};

use manylane::{
    sha3::{
        ExtendableOutput, Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256, Update,
        XofOutput, XofReader as _,
    },
    sm3::{Digest as _, Sm3},
};

use crate::{
    abi::{Algorithm, Dispatch, Param, described, digest as id},
    core::Core,
    entry::{self, Context, bytes, entries, room, set_len, with},
    failure::{Failure, Reason},
    params::{Asked, Params},
};

/// A hash function.
trait Function: Clone + Default {
    const BLOCK_LEN: usize;
    /// Bytes of a digest unless another number is asked for.
    const LEN: usize;
    const IS_XOF: bool = false;
    /// Whether identifiers of algorithms with it have no parameters, as OpenSSL knows it.
    const NO_PARAMETERS: bool = true;

    fn update(&mut self, data: &[u8]);

    /// Writes the digest.
    fn finish(self, out: &mut [u8]);

    /// What is written in parts.
    fn output(self) -> Option<XofOutput> {
        None
    }
}

macro_rules! fixed {
    ($name:ident, $block:literal, $len:literal, $no_parameters:literal) => {
        impl Function for $name {
            const BLOCK_LEN: usize = $block;
            const LEN: usize = $len;
            const NO_PARAMETERS: bool = $no_parameters;

            fn update(&mut self, data: &[u8]) {
                Update::update(self, data);
            }

            fn finish(self, out: &mut [u8]) {
                out.copy_from_slice(&self.finalize());
            }
        }
    };
}

fixed!(Sm3, 64, 32, false);
fixed!(Sha3_224, 144, 28, true);
fixed!(Sha3_256, 136, 32, true);
fixed!(Sha3_384, 104, 48, true);
fixed!(Sha3_512, 72, 64, true);

macro_rules! extendable {
    ($name:ident, $block:literal, $len:literal) => {
        impl Function for $name {
            const BLOCK_LEN: usize = $block;
            const LEN: usize = $len;
            const IS_XOF: bool = true;

            fn update(&mut self, data: &[u8]) {
                Update::update(self, data);
            }

            fn finish(self, out: &mut [u8]) {
                self.finalize_xof().read(out);
            }

            fn output(self) -> Option<XofOutput> {
                Some(self.finalize_xof())
            }
        }
    };
}

// As long as OpenSSL 3.0 has them, which is half of what collisions need.
extendable!(Shake128, 168, 16);
extendable!(Shake256, 136, 32);

/// A message under way.
#[derive(Clone)]
struct Message<F> {
    core: Core,
    function: F,
    /// Bytes of the digest.
    len: usize,
    /// Whether that was set.
    has_own_len: bool,
    /// What is squeezed, once that has begun.
    output: Option<XofOutput>,
}

impl<F> Context for Message<F> {
    fn core(&self) -> Core {
        self.core
    }
}

impl<F: Function> Message<F> {
    fn start(&mut self) {
        self.function = F::default();
        self.output = None;
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if let Some(len) = params.number(c"xoflen")?
            && F::IS_XOF
        {
            self.len = usize::try_from(len).map_err(|_| Reason::Parameter)?;
            self.has_own_len = true;
        }
        Ok(())
    }

    fn update(&mut self, data: &[u8]) -> Result<(), Failure> {
        if self.output.is_some() {
            return Err(Reason::Late.into());
        }
        self.function.update(data);
        Ok(())
    }

    /// How much room there is where OpenSSL says `size`. 3.0's `EVP_DigestFinal_ex` says the function's length whatever
    /// was set; its caller has set a length, and room for that.
    fn room(&self, size: usize) -> usize {
        match F::IS_XOF && self.has_own_len && size == F::LEN && self.core.version() < 4 {
            true => self.len,
            false => size,
        }
    }

    /// Writes the digest, and begins again.
    fn finish(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let out = out.get_mut(..self.len).ok_or(Reason::OutputSize)?;
        match self.output.take() {
            Some(mut output) => output.read(out),
            None => std::mem::take(&mut self.function).finish(out),
        }
        Ok(out.len())
    }

    fn squeeze(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        if self.output.is_none() {
            self.output = std::mem::take(&mut self.function).output();
        }
        self.output.as_mut().ok_or(Reason::Parameter)?.read(out);
        Ok(())
    }
}

entries! {
    fn new[F: Function](context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Message { core, function: F::default(), len: F::LEN, has_own_len: false, output: None }),
            None => std::ptr::null_mut(),
        }
    }

    fn free[F: Function](context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new` or `dup`, once.
        unsafe { entry::free::<Message<F>>(context) }
    }

    fn dup[F: Function](context: *mut c_void) -> *mut c_void {
        // SAFETY: it is from `new` or `dup`.
        unsafe { entry::copy::<Message<F>>(context) }
    }

    fn init[F: Function](context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe {
            with(context, |message: &mut Message<F>| {
                message.start();
                message.set(Params::new(params))
            })
        }
    }

    fn update[F: Function](context: *mut c_void, data: *const u8, len: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`, and so long the data are.
        unsafe { with(context, |message: &mut Message<F>| message.update(bytes(data, len)?)) }
    }

    fn finish[F: Function](context: *mut c_void, out: *mut u8, len: *mut usize, size: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`; there is so much room, and a place for the length.
        unsafe {
            with(context, |message: &mut Message<F>| {
                set_len(len, message.finish(room(out, message.room(size)))?);
                Ok(())
            })
        }
    }

    fn squeeze[F: Function](context: *mut c_void, out: *mut u8, len: *mut usize, size: usize) -> c_int {
        // SAFETY: as for `finish`.
        unsafe {
            with(context, |message: &mut Message<F>| {
                message.squeeze(room(out, size))?;
                set_len(len, size);
                Ok(())
            })
        }
    }

    fn whole[F: Function](
        context: *mut c_void,
        data: *const u8,
        data_len: usize,
        out: *mut u8,
        len: *mut usize,
        size: usize,
    ) -> c_int {
        // SAFETY: the context is the provider's; lengths are those of the data and of the room.
        unsafe {
            let Some(core) = Core::from_raw(context) else { return 0 };
            let Some(place) = room(out, size).get_mut(..F::LEN) else {
                return core.report(Err(Reason::OutputSize.into()));
            };
            let mut function = F::default();
            match bytes(data, data_len) {
                Ok(data) => function.update(data),
                Err(failure) => return core.report(Err(failure)),
            }
            function.finish(place);
            set_len(len, F::LEN);
            1
        }
    }

    fn get_params[F: Function](list: *mut Param) -> c_int {
        // SAFETY: the list has an end.
        let mut asked = unsafe { Asked::new(list) };
        let done = asked
            .number(c"blocksize", F::BLOCK_LEN as u64)
            .and_then(|()| asked.number(c"size", F::LEN as u64))
            .and_then(|()| asked.number(c"xof", F::IS_XOF.into()))
            .and_then(|()| asked.number(c"algid-absent", F::NO_PARAMETERS.into()));
        c_int::from(done.is_ok())
    }

    fn gettable_params(_context: *mut c_void) -> *const Param {
        described![c"blocksize": UNSIGNED, c"size": UNSIGNED, c"xof": INTEGER, c"algid-absent": INTEGER]
    }

    fn set_ctx_params[F: Function](context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe { with(context, |message: &mut Message<F>| message.set(Params::new(params))) }
    }

    fn settable_ctx_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"xoflen": UNSIGNED]
    }

    fn get_ctx_params[F: Function](context: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe {
            with(context, |message: &mut Message<F>| {
                let mut asked = Asked::new(list);
                asked.number(c"xoflen", message.len as u64)?;
                asked.number(c"size", message.len as u64)
            })
        }
    }

    fn gettable_ctx_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"xoflen": UNSIGNED, c"size": UNSIGNED]
    }
}

/// The functions of a digest.
struct Table<F>(PhantomData<F>);

impl<F: Function> Table<F> {
    const FIXED: &'static [Dispatch] = &[
        Dispatch::new(id::NEWCTX, new::<F> as *const ()),
        Dispatch::new(id::FREECTX, free::<F> as *const ()),
        Dispatch::new(id::DUPCTX, dup::<F> as *const ()),
        Dispatch::new(id::INIT, init::<F> as *const ()),
        Dispatch::new(id::UPDATE, update::<F> as *const ()),
        Dispatch::new(id::FINAL, finish::<F> as *const ()),
        Dispatch::new(id::DIGEST, whole::<F> as *const ()),
        Dispatch::new(id::GET_PARAMS, get_params::<F> as *const ()),
        Dispatch::new(id::GETTABLE_PARAMS, gettable_params as *const ()),
        Dispatch::END,
    ];

    const EXTENDABLE: &'static [Dispatch] = &[
        Dispatch::new(id::NEWCTX, new::<F> as *const ()),
        Dispatch::new(id::FREECTX, free::<F> as *const ()),
        Dispatch::new(id::DUPCTX, dup::<F> as *const ()),
        Dispatch::new(id::INIT, init::<F> as *const ()),
        Dispatch::new(id::UPDATE, update::<F> as *const ()),
        Dispatch::new(id::FINAL, finish::<F> as *const ()),
        Dispatch::new(id::SQUEEZE, squeeze::<F> as *const ()),
        Dispatch::new(id::DIGEST, whole::<F> as *const ()),
        Dispatch::new(id::GET_PARAMS, get_params::<F> as *const ()),
        Dispatch::new(id::GETTABLE_PARAMS, gettable_params as *const ()),
        Dispatch::new(id::SET_CTX_PARAMS, set_ctx_params::<F> as *const ()),
        Dispatch::new(id::SETTABLE_CTX_PARAMS, settable_ctx_params as *const ()),
        Dispatch::new(id::GET_CTX_PARAMS, get_ctx_params::<F> as *const ()),
        Dispatch::new(id::GETTABLE_CTX_PARAMS, gettable_ctx_params as *const ()),
        Dispatch::END,
    ];
}

const fn algorithm(names: &'static CStr, functions: &'static [Dispatch]) -> Algorithm {
    Algorithm::new(names, crate::provider::PROPERTIES, functions, c"manylane")
}

/// Names and object identifiers are OpenSSL's own.
pub(crate) static ALGORITHMS: [Algorithm; 8] = [
    algorithm(c"SM3:1.2.156.10197.1.401", Table::<Sm3>::FIXED),
    algorithm(c"SHA3-224:2.16.840.1.101.3.4.2.7", Table::<Sha3_224>::FIXED),
    algorithm(c"SHA3-256:2.16.840.1.101.3.4.2.8", Table::<Sha3_256>::FIXED),
    algorithm(c"SHA3-384:2.16.840.1.101.3.4.2.9", Table::<Sha3_384>::FIXED),
    algorithm(c"SHA3-512:2.16.840.1.101.3.4.2.10", Table::<Sha3_512>::FIXED),
    algorithm(c"SHAKE-128:SHAKE128:2.16.840.1.101.3.4.2.11", Table::<Shake128>::EXTENDABLE),
    algorithm(c"SHAKE-256:SHAKE256:2.16.840.1.101.3.4.2.12", Table::<Shake256>::EXTENDABLE),
    Algorithm::END,
];
