//! Many streams of one function, advanced together.

use super::{Digest, Midstate};
use crate::{
    ct::{wipe_long_words, wipe_words},
    sha3, sm3,
};

/// As many streams of one function as the machine has lanes: for callers that feed blocks as they arrive.
///
/// As [`sm3::Lanes`] and [`sha3::Lanes`], of which it is either.
///
/// ```
/// use manylane::hash::{self, Algorithm, Lanes, MAX_PADDING, Midstate};
///
/// let start = Midstate::new(Algorithm::Sha3_384);
/// let mut lanes = Lanes::new(&start);
/// let mut last = [0; MAX_PADDING];
/// let len = start.pad(b"abc", 3, &mut last);
/// lanes.begin(0, &start);
/// lanes.absorb(&vec![&last[..len]; lanes.count()]);
/// assert_eq!(lanes.digest(0), hash::hash(Algorithm::Sha3_384, b"abc"));
/// ```
#[derive(Clone, Debug)]
pub struct Lanes {
    state: State,
    digest_len: usize,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each `Lanes`")]
enum State {
    Sm3(sm3::Lanes),
    Sha3(sha3::Lanes, sha3::Function),
}

impl Lanes {
    /// Lanes of the midstate's function on the widest machine there is. Each has to be [begun](Self::begin).
    pub fn new(start: &Midstate) -> Self {
        let state = match start {
            Midstate::Sm3(_) => State::Sm3(sm3::Lanes::new()),
            Midstate::Sha3(start) => {
                State::Sha3(sha3::Lanes::new(start.function()), start.function())
            }
        };
        Lanes { state, digest_len: start.digest_len() }
    }

    /// Number of lanes.
    pub fn count(&self) -> usize {
        match &self.state {
            State::Sm3(lanes) => lanes.count(),
            State::Sha3(lanes, _) => lanes.count(),
        }
    }

    /// Lets `lane` go on from a midstate of the function that the lanes are of. What follows the prefix's full
    /// blocks ([`rest`](Midstate::rest)) is for the caller to put before the message.
    ///
    /// # Panics
    /// If `lane >= self.count()`, or the midstate is of another function.
    pub fn begin(&mut self, lane: usize, start: &Midstate) {
        match (&mut self.state, start) {
            (State::Sm3(lanes), Midstate::Sm3(start)) => lanes.set(lane, start.chaining_value()),
            (State::Sha3(lanes, function), Midstate::Sha3(start)) => {
                assert_eq!(start.function(), *function, "lanes of one function");
                lanes.set(lane, start.words());
            }
            _ => panic!("lanes of one function"),
        }
    }

    /// What a message that leaves `lane` after `blocks` blocks, the prefix's included, goes on from as a stream.
    ///
    /// # Panics
    /// If `lane >= self.count()`, or no message has so many blocks.
    pub fn midstate(&self, lane: usize, blocks: u64) -> Midstate {
        match &self.state {
            State::Sm3(lanes) => {
                let mut v = lanes.get(lane);
                let midstate = sm3::Midstate::from_parts(&v, blocks);
                wipe_words(&mut v);
                midstate.into()
            }
            State::Sha3(lanes, function) => {
                let mut a = lanes.get(lane);
                let midstate = sha3::Midstate::from_parts(*function, &a, blocks);
                wipe_long_words(&mut a);
                midstate.into()
            }
        }
    }

    /// Advances every lane over the blocks of its input. An idle lane is given any other lane's input; its state is
    /// then without meaning.
    ///
    /// # Panics
    /// Unless there is one input a lane, all of one length, a multiple of the function's block.
    pub fn absorb(&mut self, inputs: &[&[u8]]) {
        match &mut self.state {
            State::Sm3(lanes) => {
                lanes.compress(inputs);
            }
            State::Sha3(lanes, _) => {
                lanes.absorb(inputs);
            }
        }
    }

    /// The digest of `lane`, whose padded last block has been absorbed.
    ///
    /// # Panics
    /// If `lane >= self.count()`, or digests have more than [`MAX_DIGEST_LEN`](super::MAX_DIGEST_LEN) bytes.
    pub fn digest(&self, lane: usize) -> Digest {
        Digest::written(self.digest_len, |out| match &self.state {
            State::Sm3(lanes) => out.copy_from_slice(&lanes.digest(lane)),
            State::Sha3(lanes, _) => lanes.digest(lane, out),
        })
    }
}
