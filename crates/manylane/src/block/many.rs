//! Many messages, each with its own key: side by side in lanes.
//!
//! What one message leaves idle, others use: a chain of CBC waits for each block before it begins the next one, and a
//! short message of GCM is over before the lanes are full.

use zeroize::Zeroizing;

use super::{
    Block, BlockCipher, Gcm, Tag,
    ctr::counter,
    kernels::{Chains, xor},
    parts, whole_blocks,
};
use crate::{
    Error,
    ct::{wipe_array, wipe_bytes},
};

/// Messages that are ordered by length at a time.
const WINDOW: usize = 256;

/// Lanes of any machine at most.
const LANES: usize = 16;

/// Blocks of a message of GCM that is worked on beside others; a longer one fills the lanes by itself.
const SHORT: usize = 16;

/// Encrypts each message in CBC where it lies, under its own key from its own IV, on the calling thread.
///
/// The messages are whole blocks; padding is the caller's. Keys on the same machine are worked on side by side:
/// all are, unless they were made by `new_on`.
///
/// ```
/// use manylane::{block::{cbc, cbc_encrypt_many}, sm4::Sm4};
///
/// let keys = [Sm4::new(&[1; 16]), Sm4::new(&[2; 16])];
/// let (mut a, mut b) = ([0; 64], [0; 48]);
/// cbc_encrypt_many(&[(&keys[0], [3; 16]), (&keys[1], [4; 16])], &mut [&mut a, &mut b])?;
/// cbc::Decryptor::new(keys[1].clone(), &[4; 16]).update(&mut b)?;
/// assert_eq!(b, [0; 48]);
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many keys as messages, [`Error::DataLength`] unless these are whole
/// blocks. Nothing is done then.
pub fn cbc_encrypt_many<C: BlockCipher>(
    keys: &[(&C, Block)],
    messages: &mut [&mut [u8]],
) -> Result<(), Error> {
    check_counts(keys.len(), messages.len())?;
    messages.iter_mut().try_for_each(|message| whole_blocks(message).map(|_| ()))?;
    let Some((first, _)) = keys.first() else { return Ok(()) };
    let mut chains = C::Chains::new(first);
    for (keys, messages) in keys.chunks(WINDOW).zip(messages.chunks_mut(WINDOW)) {
        cbc_window(&mut chains, keys, messages);
    }
    Ok(())
}

/// A message in a lane: what is left of it, and the block that the next is chained to.
struct Chain<'m, C> {
    cipher: &'m C,
    last: Block,
    left: &'m mut [Block],
}

/// The longest messages go first, and a lane that has finished takes the next one, so that lanes seldom stop at
/// different blocks and the last ones end together.
fn cbc_window<C: BlockCipher>(
    chains: &mut C::Chains,
    keys: &[(&C, Block)],
    messages: &mut [&mut [u8]],
) {
    let count = chains.count();
    let mut order: [u16; WINDOW] = std::array::from_fn(|i| i as u16);
    let order = &mut order[..messages.len()];
    order.sort_unstable_by_key(|&i| core::cmp::Reverse(messages[usize::from(i)].len()));
    let mut data: [&mut [Block]; WINDOW] = std::array::from_fn(|_| Default::default());
    for (data, message) in data.iter_mut().zip(messages) {
        *data = message.as_chunks_mut().0;
    }
    let mut waiting = order.iter().map_while(|&i| {
        let (cipher, last) = keys[usize::from(i)];
        let left = core::mem::take(&mut data[usize::from(i)]);
        // Those after an empty one are empty too.
        (!left.is_empty()).then_some(Chain { cipher, last, left })
    });

    let mut lanes: [Option<Chain<C>>; LANES] = [const { None }; LANES];
    loop {
        for (lane, chain) in lanes[..count].iter_mut().enumerate() {
            if chain.is_none() {
                *chain = next_in_lane(chains, &mut waiting);
                if let Some(Chain { cipher, last, .. }) = chain {
                    chains.set(lane, cipher, last);
                }
            }
        }
        let running = || lanes.iter().flatten();
        if running().count() < 2 {
            break;
        }
        let blocks = running().map(|chain| chain.left.len()).min().expect("two lanes");
        let mut now: [&mut [Block]; LANES] = std::array::from_fn(|_| Default::default());
        for (now, lane) in now.iter_mut().zip(&mut lanes) {
            if let Some(chain) = lane {
                let (first, left) = core::mem::take(&mut chain.left).split_at_mut(blocks);
                (*now, chain.left) = (first, left);
            }
        }
        chains.encrypt(&mut now[..count]);
        for (now, lane) in now.iter().zip(&mut lanes) {
            if let Some(chain) = lane {
                chain.last = now[blocks - 1];
            }
        }
        for lane in &mut lanes {
            lane.take_if(|chain| chain.left.is_empty());
        }
    }
    // A chain that is left alone takes less time by itself than in lanes of which the others rest.
    for Chain { cipher, mut last, left } in lanes.into_iter().flatten() {
        cipher.cbc_encrypt(&mut last, left);
    }
}

/// The next message that these lanes can take. One that they do not is done at once.
fn next_in_lane<'m, C: BlockCipher>(
    chains: &C::Chains,
    waiting: &mut impl Iterator<Item = Chain<'m, C>>,
) -> Option<Chain<'m, C>> {
    waiting.find_map(|mut chain| {
        if chains.takes(chain.cipher) {
            return Some(chain);
        }
        chain.cipher.cbc_encrypt(&mut chain.last, chain.left);
        None
    })
}

/// What a message of GCM has beside its data.
pub struct GcmMessage<'a, C> {
    /// Its key.
    pub gcm: &'a Gcm<C>,
    /// Its IV, unique under the key.
    pub iv: &'a [u8],
    /// Its associated data.
    pub aad: &'a [u8],
}

impl<C> Clone for GcmMessage<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for GcmMessage<'_, C> {}

impl<C> core::fmt::Debug for GcmMessage<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Associated data can be long, and somebody's.
        f.debug_struct("GcmMessage").field("iv", &self.iv).finish_non_exhaustive()
    }
}

/// Encrypts each message in GCM where it lies, under its own key, on the calling thread.
///
/// A message that cannot be encrypted gets its error, as of [`Gcm::encrypt_detached`], and is as it was; the others
/// are not affected.
///
/// ```
/// use manylane::{Error, aes::Aes128, block::{Gcm, GcmMessage, gcm_decrypt_many, gcm_encrypt_many}};
///
/// let keys = [Gcm::new(Aes128::new(&[1; 16])), Gcm::new(Aes128::new(&[2; 16]))];
/// let (mut a, mut b) = (*b"a message", *b"another one");
/// let messages = keys.each_ref().map(|gcm| GcmMessage { gcm, iv: &[3; 12], aad: b"" });
/// let mut tags = [const { Err(Error::Decryption) }; 2];
/// gcm_encrypt_many(&messages, &mut [&mut a, &mut b], &mut tags)?;
///
/// let tags = tags.map(Result::unwrap);
/// b[0] ^= 1;
/// let mut out = [const { Ok(()) }; 2];
/// gcm_decrypt_many(&messages, &mut [&mut a, &mut b], &[tags[0].as_ref(), tags[1].as_ref()], &mut out)?;
/// assert_eq!((&a, out), (b"a message", [Ok(()), Err(Error::Decryption)]));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many data as messages, [`Error::OutputLength`] unless `out` has as
/// many places. Nothing is done then.
pub fn gcm_encrypt_many<C: BlockCipher>(
    messages: &[GcmMessage<'_, C>],
    data: &mut [&mut [u8]],
    out: &mut [Result<Tag, Error>],
) -> Result<(), Error> {
    check_counts(messages.len(), data.len())?;
    check_out(messages.len(), out.len())?;
    let Some(first) = messages.first() else { return Ok(()) };
    let mut streams = Streams::new(&first.gcm.cipher);
    let count = streams.chains.count();
    for (i, messages) in messages.chunks(count).enumerate() {
        let (data, out) = (&mut data[count * i..], &mut out[count * i..]);
        streams.fill(messages, data);
        for (i, GcmMessage { gcm, iv, aad }) in messages.iter().enumerate() {
            let data = &mut *data[i];
            out[i] = match streams.of(i) {
                None => gcm.encrypt_detached(iv, aad, data),
                Some((mask, stream)) => {
                    parts::xor(data, stream);
                    Ok(gcm.tag_by(mask, aad, data))
                }
            };
        }
    }
    Ok(())
}

/// Decrypts each message in GCM where it lies, under its own key, on the calling thread.
///
/// A message whose tag is not right gets its error, as of [`Gcm::decrypt_detached`], and nothing is left of it:
/// all of it is zero. The others are not affected.
///
/// # Errors
/// As [`gcm_encrypt_many`], where tags count as data do.
pub fn gcm_decrypt_many<C: BlockCipher>(
    messages: &[GcmMessage<'_, C>],
    data: &mut [&mut [u8]],
    tags: &[&[u8]],
    out: &mut [Result<(), Error>],
) -> Result<(), Error> {
    check_counts(messages.len(), data.len())?;
    check_counts(messages.len(), tags.len())?;
    check_out(messages.len(), out.len())?;
    let Some(first) = messages.first() else { return Ok(()) };
    let mut streams = Streams::new(&first.gcm.cipher);
    let count = streams.chains.count();
    for (i, messages) in messages.chunks(count).enumerate() {
        let (data, out) = (&mut data[count * i..], &mut out[count * i..]);
        let tags = &tags[count * i..];
        streams.fill(messages, data);
        for (i, GcmMessage { gcm, iv, aad }) in messages.iter().enumerate() {
            let (data, tag) = (&mut *data[i], tags[i]);
            out[i] = match streams.of(i) {
                None => gcm.decrypt_detached(iv, aad, data, tag),
                Some((mask, stream)) => {
                    let verify = || {
                        gcm.check_tag(tag).and_then(|()| gcm.tag_by(mask, aad, data).verify(tag))
                    };
                    let verified = verify();
                    match verified {
                        Ok(()) => parts::xor(data, stream),
                        Err(_) => wipe_bytes(data),
                    }
                    verified
                }
            };
        }
    }
    Ok(())
}

/// Key streams of short messages, as many as there are lanes.
struct Streams<C: BlockCipher> {
    chains: C::Chains,
    /// E(J_0), which masks the tag, and the key stream after it, of one message after another.
    blocks: Zeroizing<[Block; LANES * (1 + SHORT)]>,
    /// Where each begins, and the last one ends. Those that are empty are of messages that are not short.
    ends: [usize; 1 + LANES],
}

impl<C: BlockCipher> Streams<C> {
    fn new(cipher: &C) -> Self {
        let blocks = Zeroizing::new([[0; 16]; LANES * (1 + SHORT)]);
        Streams { chains: C::Chains::new(cipher), blocks, ends: [0; 1 + LANES] }
    }

    /// Makes the key streams of these messages, at most one a lane.
    fn fill(&mut self, messages: &[GcmMessage<'_, C>], data: &[&mut [u8]]) {
        let mut end = 0;
        for (i, (message, data)) in messages.iter().zip(data).enumerate() {
            let is_short = data.len() <= 16 * SHORT;
            // What has no J_0 is refused by itself.
            if let Some(mut j0) = is_short.then(|| message.gcm.j0(message.iv).ok()).flatten() {
                for block in 0..=data.len().div_ceil(16) {
                    self.blocks[end] = counter(32, &j0, block as u64);
                    end += 1;
                }
                wipe_array(&mut j0, 0);
            }
            self.ends[1 + i] = end;
        }
        let Some(first) = messages.first() else { return };
        let is_first = |message: &GcmMessage<C>| core::ptr::eq(message.gcm, first.gcm);
        if messages.iter().all(is_first) {
            return first.gcm.cipher.encrypt_each(&mut self.blocks[..end]);
        }
        let lens = || self.ends.windows(2).take(messages.len()).map(|ends| ends[1] - ends[0]);
        let steps = lens().max().unwrap_or(0);
        let in_lanes = |message: &GcmMessage<C>| self.chains.takes(&message.gcm.cipher);
        // A row of lanes takes about as long as one message by itself: whichever are fewer.
        if steps < lens().filter(|&len| len > 0).count() && messages.iter().all(in_lanes) {
            self.in_lanes(messages, steps);
        } else {
            for (message, ends) in messages.iter().zip(self.ends.windows(2)) {
                message.gcm.cipher.encrypt_each(&mut self.blocks[ends[0]..ends[1]]);
            }
        }
    }

    /// Encrypts a block of each message at a time.
    fn in_lanes(&mut self, messages: &[GcmMessage<'_, C>], steps: usize) {
        let Streams { chains, blocks, ends, .. } = self;
        for (lane, message) in messages.iter().enumerate() {
            chains.set(lane, &message.gcm.cipher, &[0; 16]);
        }
        for step in 0..steps {
            let mut now: [&mut [Block]; LANES] = std::array::from_fn(|_| Default::default());
            let mut left = &mut blocks[..];
            for (lane, ends) in ends.windows(2).take(messages.len()).enumerate() {
                let (own, others) = core::mem::take(&mut left).split_at_mut(ends[1] - ends[0]);
                left = others;
                if step < own.len() {
                    // The lanes chain blocks: what they will xor is xored before.
                    let (before, from) = own.split_at_mut(step);
                    if let Some(before) = before.last() {
                        xor(&mut from[0], before);
                    }
                    now[lane] = &mut from[..1];
                }
            }
            chains.encrypt(&mut now[..chains.count()]);
        }
    }

    /// The mask of a message's tag and its key stream, if it is short.
    fn of(&self, i: usize) -> Option<(&Block, &[u8])> {
        let (mask, stream) = self.blocks[self.ends[i]..self.ends[1 + i]].split_first()?;
        Some((mask, stream.as_flattened()))
    }
}

fn check_counts(keys: usize, messages: usize) -> Result<(), Error> {
    match keys == messages {
        true => Ok(()),
        false => Err(Error::CountMismatch { keys, messages }),
    }
}

fn check_out(expected: usize, got: usize) -> Result<(), Error> {
    match expected == got {
        true => Ok(()),
        false => Err(Error::OutputLength { expected, got }),
    }
}
