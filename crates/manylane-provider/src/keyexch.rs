//! Diffie and Hellman's exchange on the SM2 curve: the x coordinate, as OpenSSL derives it on other curves.
//! SM2's own key exchange (GB/T 32918.3) has four keys, for which OpenSSL has no interface.
#![allow(unsafe_code, reason = "contexts, keys and secrets come as addresses")]

use std::ffi::{c_int, c_void};

use manylane::sm2::PublicKey;

use crate::{
    abi::{Algorithm, Dispatch, Param, described, keyexch as id},
    core::Core,
    entry::{self, Context, entries, room, set_len, with},
    failure::{Failure, Reason},
    key::Key,
    params::Params,
};

/// An exchange under way.
#[derive(Clone)]
struct Exchange {
    core: Core,
    key: Option<Key>,
    peer: Option<PublicKey>,
}

impl Context for Exchange {
    fn core(&self) -> Core {
        self.core
    }
}

impl Exchange {
    fn start(&mut self, key: Option<&Key>, params: Params<'_>) -> Result<(), Failure> {
        let key = key.ok_or(Reason::KeyMissing)?;
        key.secret()?;
        self.key = Some(key.clone());
        self.peer = None;
        self.set(params)
    }

    fn set(&self, params: Params<'_>) -> Result<(), Failure> {
        match params.text(c"kdf-type")? {
            None | Some("") => Ok(()),
            Some(_) => Err(Reason::Kdf.into()),
        }
    }

    fn derive(&self, out: &mut [u8]) -> Result<usize, Failure> {
        let out = out.get_mut(..32).ok_or(Reason::OutputSize)?;
        let key = self.key.as_ref().ok_or(Reason::KeyMissing)?.secret()?;
        let peer = self.peer.as_ref().ok_or(Reason::PeerMissing)?;
        out.copy_from_slice(&key.diffie_hellman(peer)[..]);
        Ok(32)
    }
}

entries! {
    fn new(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Exchange { core, key: None, peer: None }),
            None => std::ptr::null_mut(),
        }
    }

    fn free(context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new` or `dup`, once.
        unsafe { entry::free::<Exchange>(context) }
    }

    fn dup(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is from `new` or `dup`.
        unsafe { entry::copy::<Exchange>(context) }
    }

    fn init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: they are what OpenSSL got from here; the list has an end.
        unsafe {
            with(context, |exchange: &mut Exchange| {
                exchange.start(key.cast::<Key>().as_ref(), Params::new(params))
            })
        }
    }

    fn set_peer(context: *mut c_void, key: *mut c_void) -> c_int {
        // SAFETY: they are what OpenSSL got from here.
        unsafe {
            with(context, |exchange: &mut Exchange| {
                let key = key.cast::<Key>().as_ref().ok_or(Reason::PeerMissing)?;
                exchange.peer = Some(*key.public()?);
                Ok(())
            })
        }
    }

    fn derive(context: *mut c_void, out: *mut u8, len: *mut usize, size: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`; there is so much room.
        unsafe {
            with(context, |exchange: &mut Exchange| {
                let result = match out.is_null() {
                    true => 32,
                    false => exchange.derive(room(out, size))?,
                };
                set_len(len, result);
                Ok(())
            })
        }
    }

    fn set_params(context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe { with(context, |exchange: &mut Exchange| exchange.set(Params::new(params))) }
    }

    fn settable_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"kdf-type": TEXT]
    }
}

static FUNCTIONS: [Dispatch; 9] = [
    Dispatch::new(id::NEWCTX, new as *const ()),
    Dispatch::new(id::FREECTX, free as *const ()),
    Dispatch::new(id::DUPCTX, dup as *const ()),
    Dispatch::new(id::INIT, init as *const ()),
    Dispatch::new(id::SET_PEER, set_peer as *const ()),
    Dispatch::new(id::DERIVE, derive as *const ()),
    Dispatch::new(id::SET_CTX_PARAMS, set_params as *const ()),
    Dispatch::new(id::SETTABLE_CTX_PARAMS, settable_params as *const ()),
    Dispatch::END,
];

pub(crate) static ALGORITHMS: [Algorithm; 2] = [
    Algorithm::new(
        c"SM2:1.2.156.10197.1.301",
        crate::provider::PROPERTIES,
        &FUNCTIONS,
        c"manylane's Diffie-Hellman on the SM2 curve",
    ),
    Algorithm::END,
];
