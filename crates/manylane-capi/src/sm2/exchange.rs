//! Key exchange (GB/T 32918.3).
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_int, c_void};

use manylane::sm2::{Confirmation, Exchange, PublicKey};

use super::{
    key::{manylane_sm2_key, manylane_sm2_public},
    user_id,
};
use crate::{
    handle::{self, Opaque, exclusive, shared},
    memory::{array, bytes, bytes_mut, check_apart, put_array},
    status::{FINISHED, Failure, LENGTH, SM2, guard, guard_free, guard_secret},
};

/// Who of the two begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_sm2_role {
    /// A of the standard.
    MANYLANE_SM2_INITIATOR = 0,
    /// B of the standard.
    MANYLANE_SM2_RESPONDER = 1,
}

/// One side's part of a key exchange.
pub struct manylane_sm2_exchange {
    _opaque: (),
}

impl Opaque for manylane_sm2_exchange {
    type State = State;
    const KIND: u64 = 12;
}

/// Before there is a key, and after it. An exchange serves once.
pub(crate) enum State {
    Begun(Box<Exchange<'static>>),
    Agreed(Confirmation),
    Failed,
}

/// Begins a key exchange with the key of this side and the public key of the other, each with a user ID as of
/// manylane_sm2_sign(). `role` is one of `manylane_sm2_role`. Each exchange has an ephemeral key of its own,
/// and serves once. The handle has a copy of the key, and is freed with manylane_sm2_exchange_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_new(
    exchange: *mut *mut manylane_sm2_exchange,
    role: c_int,
    key: *const manylane_sm2_key,
    id: *const c_void,
    id_len: usize,
    peer: *const manylane_sm2_public,
    peer_id: *const c_void,
    peer_id_len: usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(exchange)?;
            let begin = match role {
                0 => Exchange::initiate,
                1 => Exchange::respond,
                other => return Err(Failure::argument(format!("{other} is no role"))),
            };
            let (id, peer_id) = (user_id(id, id_len)?, user_id(peer_id, peer_id_len)?);
            let begun = begin(shared(key)?, id, shared(peer)?, peer_id)?;
            handle::put(exchange, State::Begun(Box::new(begun.into_owned())))
        }
    })
}

/// What the other side needs: this side's ephemeral public key R, a point of 65 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_ephemeral(
    exchange: *mut manylane_sm2_exchange,
    out: *mut u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            exclusive(exchange, |state| match state {
                State::Begun(begun) => put_array(out, &begun.ephemeral().to_sec1_bytes()),
                _ => Err(FINISHED),
            })
        }
    })
}

/// Fills `key` with what both sides share, given the other side's R as a point in any form. `key` may not
/// overlap it. Without a check of the other side's confirmation there is no proof yet that it has the same key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_agree(
    exchange: *mut manylane_sm2_exchange,
    peer_ephemeral: *const c_void,
    peer_ephemeral_len: usize,
    key: *mut u8,
    key_len: usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        check_apart((key, key_len), (peer_ephemeral, peer_ephemeral_len))?;
        if key_len as u64 > 32 * u64::from(u32::MAX) {
            return Err(LENGTH);
        }
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let point = bytes(peer_ephemeral, peer_ephemeral_len)?;
            let key = bytes_mut(key, key_len)?;
            exclusive(exchange, |state| {
                let point = PublicKey::from_sec1_bytes(point)?;
                if !matches!(state, State::Begun(_)) {
                    return Err(FINISHED);
                }
                if let State::Begun(begun) = core::mem::replace(state, State::Failed) {
                    *state = State::Agreed(begun.agree(&point, key)?);
                }
                Ok(())
            })
        }
    })
}

/// The confirmation that is to be sent to the other side once there is a key: S_A or S_B, 32 bytes. Sending it
/// is optional.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_confirmation(
    exchange: *mut manylane_sm2_exchange,
    out: *mut u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe { exclusive(exchange, |state| put_array(out, agreed(state)?.to_send())) }
    })
}

/// Checks the confirmation of the other side, 32 bytes, in constant time: MANYLANE_OK if it has the same key,
/// otherwise MANYLANE_ERROR_EXCHANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_check(
    exchange: *mut manylane_sm2_exchange,
    confirmation: *const u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let received = array(confirmation)?;
            exclusive(exchange, |state| Ok(agreed(state)?.check(received)?))
        }
    })
}

fn agreed(state: &State) -> crate::status::Result<&Confirmation> {
    match state {
        State::Agreed(confirmation) => Ok(confirmation),
        State::Begun(_) => Err(Failure::state("there is no key yet to confirm")),
        State::Failed => Err(FINISHED),
    }
}

/// Frees a handle, and wipes what it held. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_exchange_free(exchange: *mut manylane_sm2_exchange) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(exchange) });
}
