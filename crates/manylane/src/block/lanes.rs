//! The modes that work on many blocks at once, over any vector of blocks and any cipher, written once.
//!
//! A machine file has a vector type with [`Vector`], a type with [`Rounds`] for its cipher, and
//! [`kernels!`] that instantiates everything here inside functions with its `target_feature`, where
//! it is inlined.
#![allow(unsafe_code)]

use ::core::marker::PhantomData;

use super::{Block, TweakOrder};
use crate::ct::wipe_array;

mod machine;

pub(crate) use machine::{kernel, kernels, serial, streams};

/// A vector of one or more whole blocks, in the order of memory.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(crate) trait Vector: Copy {
    /// Blocks of a vector: 1, 2 or 4.
    const BLOCKS: usize;

    /// The `BLOCKS` blocks at `data`, of any alignment.
    unsafe fn load(data: *const Block) -> Self;
    /// Stores the blocks at `data`, of any alignment.
    unsafe fn store(self, data: *mut Block);
    /// Every block `block`.
    unsafe fn splat(block: &Block) -> Self;
    /// Blocks from `BLOCKS` places, the first of those given.
    unsafe fn gather(blocks: [*mut Block; 4]) -> Self;
    /// Stores the blocks to as many places.
    unsafe fn scatter(self, blocks: [*mut Block; 4]);
    /// `BLOCKS` blocks from each of as many places: the first vector has the first of each, and so on.
    #[inline(always)]
    unsafe fn gather_lines(places: [*mut Block; 4]) -> [Self; 4] {
        // SAFETY: the caller's places.
        unsafe {
            let mut v = [Self::gather(places); 4];
            for i in 1..Self::BLOCKS {
                v[i] = Self::gather(further(places, i));
            }
            v
        }
    }
    /// Stores them to such places.
    #[inline(always)]
    unsafe fn scatter_lines(v: [Self; 4], places: [*mut Block; 4]) {
        for i in 0..Self::BLOCKS {
            // SAFETY: the caller's places.
            unsafe { v[i].scatter(further(places, i)) }
        }
    }
    /// Exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// The blocks moved on by one place: first the last of `before`, then all but the last of `self`.
    unsafe fn after(self, before: Self) -> Self;
    /// Counters `counter`, `counter` + 1, … in whatever order of bytes the machine counts best.
    unsafe fn counting(counter: &Block) -> Self;
    /// Counters further on by `N`; those of a block modulo 2³².
    unsafe fn advance<const N: u32>(self) -> Self;
    /// Counters as blocks.
    unsafe fn to_blocks(self) -> Self;
    /// Tweaks times α⁸.
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self;
}

/// The places so many blocks further on.
#[inline(always)]
fn further(mut places: [*mut Block; 4], by: usize) -> [*mut Block; 4] {
    for i in 0..4 {
        places[i] = places[i].wrapping_add(by);
    }
    places
}

/// A cipher with its key on one machine: `G` vectors at once.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(crate) trait Rounds<V: Vector, const G: usize> {
    /// Every block encrypted.
    unsafe fn encrypt(&self, v: [V; G]) -> [V; G];
}

/// The rounds of the other direction.
///
/// # Safety
/// As of [`Rounds`].
pub(crate) trait InverseRounds<V: Vector, const G: usize>: Rounds<V, G> {
    /// Every block decrypted.
    unsafe fn decrypt(&self, v: [V; G]) -> [V; G];
}

/// What a mode does with the next `N` vectors.
///
/// # Safety
/// Callers prove that the processor has the machine's instructions, and that `data` is valid for reads
/// and writes of `N` vectors.
pub(crate) trait Step<V: Vector, const N: usize> {
    unsafe fn step(&mut self, data: *mut Block);
}

/// Loads `N` vectors.
///
/// # Safety
/// `data` is valid for reads of `N` vectors; the processor has `V`'s machine.
#[inline(always)]
unsafe fn load<V: Vector, const N: usize>(data: *const Block) -> [V; N] {
    // Loops, not closures: a closure would be compiled without the caller's features.
    // SAFETY: the caller's proof.
    unsafe {
        let mut v = [V::load(data); N];
        for i in 1..N {
            v[i] = V::load(data.add(V::BLOCKS * i));
        }
        v
    }
}

/// Stores `N` vectors.
///
/// # Safety
/// `data` is valid for writes of `N` vectors; the processor has `V`'s machine.
#[inline(always)]
unsafe fn store<V: Vector, const N: usize>(v: [V; N], data: *mut Block) {
    for i in 0..N {
        // SAFETY: the caller's proof.
        unsafe { v[i].store(data.add(V::BLOCKS * i)) }
    }
}

/// Exclusive or of each.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
unsafe fn xor<V: Vector, const N: usize>(mut v: [V; N], other: [V; N]) -> [V; N] {
    for i in 0..N {
        // SAFETY: the caller's proof.
        v[i] = unsafe { v[i].xor(other[i]) };
    }
    v
}

/// What a mode does with the blocks behind the last full group.
///
/// # Safety
/// Callers prove that the processor has the machine's instructions.
pub(crate) trait End<V: Vector, M> {
    /// Blocks that it works on at once, or of which there are always a multiple.
    const PART: usize;

    /// Works through `left` blocks at `at`, all in `mode`.
    unsafe fn finish(mode: &mut M, at: *mut Block, left: usize);
}

/// Nothing is left: slices have full groups of so many vectors, which the types of whoever names this make certain.
pub(crate) struct Whole<const G: usize>;

impl<V: Vector, M, const G: usize> End<V, M> for Whole<G> {
    const PART: usize = G * V::BLOCKS;

    #[inline(always)]
    unsafe fn finish(_: &mut M, _: *mut Block, left: usize) {
        debug_assert_eq!(left, 0);
    }
}

/// `T` vectors at once, the last of which may have fewer blocks.
pub(crate) struct Parts<const T: usize>;

impl<V: Vector, M: Step<V, T>, const T: usize> End<V, M> for Parts<T> {
    const PART: usize = T * V::BLOCKS;

    #[inline(always)]
    unsafe fn finish(mode: &mut M, mut at: *mut Block, mut left: usize) {
        let part = <Self as End<V, M>>::PART;
        // SAFETY: `at` has `left` blocks; the rest is the caller's proof.
        unsafe {
            while left >= part {
                mode.step(at);
                (at, left) = (at.add(part), left - part);
            }
            if left > 0 {
                last_few(mode, at, left);
            }
        }
    }
}

/// Fewer blocks than `T` vectors have: others are made up, and thrown away. Each is moved by itself, since a copy of
/// as many bytes as there happen to be is a call.
///
/// # Safety
/// `at` is valid for reads and writes of `left` blocks, at least one; the processor has `V`'s machine.
#[inline(always)]
unsafe fn last_few<V: Vector, const T: usize>(
    mode: &mut impl Step<V, T>,
    at: *mut Block,
    left: usize,
) {
    let mut spare = [0; 16];
    let mut places = [[&raw mut spare; 4]; T];
    for i in 0..T {
        for block in 0..V::BLOCKS {
            let n = V::BLOCKS * i + block;
            if n < left {
                places[i][block] = at.wrapping_add(n);
            }
        }
    }
    // SAFETY: all are places of blocks, and the buffer holds `T` vectors; the rest is the caller's proof.
    unsafe {
        let mut buffer = [V::gather(places[0]); T];
        for i in 1..T {
            buffer[i] = V::gather(places[i]);
        }
        mode.step(buffer.as_mut_ptr().cast());
        for i in 0..T {
            buffer[i].scatter(places[i]);
        }
        // Plaintext, and key stream of blocks that may follow.
        wipe_array(&mut buffer, V::splat(&[0; 16]));
    }
    wipe_array(&mut spare, 0);
}

/// Full groups of `G` vectors, and the rest as `E` has it.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
unsafe fn run<V: Vector, M: Step<V, G>, E: End<V, M>, const G: usize>(
    mode: &mut M,
    data: &mut [Block],
) {
    let group = G * V::BLOCKS;
    let mut left = data.len();
    let mut at = data.as_mut_ptr();
    // SAFETY: `at` has `left` blocks; the rest is the caller's proof.
    unsafe {
        while left >= group {
            mode.step(at);
            (at, left) = (at.add(group), left - group);
        }
        E::finish(mode, at, left);
    }
}

/// The blocks before those of each vector, `first` those before the first's.
///
/// # Safety
/// `data` is valid for reads of `N` vectors; the processor has `V`'s machine.
#[inline(always)]
unsafe fn before<V: Vector, const N: usize>(first: V, data: *const Block) -> [V; N] {
    let mut v = [first; N];
    for i in 1..N {
        // SAFETY: one block below the second vector or a later one; the rest is the caller's proof.
        v[i] = unsafe { V::load(data.add(V::BLOCKS * i - 1)) };
    }
    v
}

pub(crate) struct Ecb<'a, R, const ENCRYPT: bool>(&'a R);

impl<V: Vector, R: InverseRounds<V, N>, const N: usize, const ENCRYPT: bool> Step<V, N>
    for Ecb<'_, R, ENCRYPT>
{
    #[inline(always)]
    unsafe fn step(&mut self, data: *mut Block) {
        // SAFETY: the caller's proof.
        unsafe {
            let v = load(data);
            store(if ENCRYPT { self.0.encrypt(v) } else { self.0.decrypt(v) }, data);
        }
    }
}

/// Encrypts or decrypts every block by itself.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(crate) unsafe fn ecb<'a, V, R, E, const G: usize, const ENCRYPT: bool>(
    rounds: &'a R,
    data: &mut [Block],
) where
    V: Vector,
    R: InverseRounds<V, G>,
    E: End<V, Ecb<'a, R, ENCRYPT>>,
{
    // SAFETY: the caller's proof.
    unsafe { run::<V, _, E, G>(&mut Ecb::<R, ENCRYPT>(rounds), data) }
}

pub(crate) struct Ctr<'a, V, R> {
    rounds: &'a R,
    counters: V,
}

impl<V: Vector, R: Rounds<V, N>, const N: usize> Step<V, N> for Ctr<'_, V, R> {
    #[inline(always)]
    unsafe fn step(&mut self, data: *mut Block) {
        // SAFETY: the caller's proof.
        unsafe {
            let mut v = [self.counters; N];
            for i in 0..N {
                v[i] = self.counters.to_blocks();
                self.counters = match V::BLOCKS {
                    1 => self.counters.advance::<1>(),
                    2 => self.counters.advance::<2>(),
                    _ => self.counters.advance::<4>(),
                };
            }
            let v = self.rounds.encrypt(v);
            store(xor(v, load(data)), data);
        }
    }
}

/// Xors the key stream of counters from `counter` on into `data`.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(crate) unsafe fn xor_counters<'a, V, R, E, const G: usize>(
    rounds: &'a R,
    counter: &Block,
    data: &mut [Block],
) where
    V: Vector,
    R: Rounds<V, G>,
    E: End<V, Ctr<'a, V, R>>,
{
    // SAFETY: the caller's proof.
    unsafe {
        let counters = V::counting(counter);
        run::<V, _, E, G>(&mut Ctr { rounds, counters }, data);
    }
}

/// CBC or CFB, decrypted: `before` ends with the ciphertext block before the next one.
pub(crate) struct Chained<'a, V, R, const CFB: bool> {
    rounds: &'a R,
    before: V,
}

impl<V: Vector, R: InverseRounds<V, N>, const N: usize, const CFB: bool> Step<V, N>
    for Chained<'_, V, R, CFB>
{
    #[inline(always)]
    unsafe fn step(&mut self, data: *mut Block) {
        // SAFETY: the caller's proof.
        unsafe {
            let v: [V; N] = load(data);
            let first = v[0].after(self.before);
            self.before = v[N - 1];
            let out = if CFB {
                xor(self.rounds.encrypt(before(first, data)), load(data))
            } else {
                // Read again: `after` would keep every vector in a register through the rounds.
                xor(self.rounds.decrypt(v), before(first, data))
            };
            store(out, data);
        }
    }
}

/// Decrypts CBC (or CFB) blocks; `iv` becomes the last ciphertext block.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(crate) unsafe fn decrypt_chained<'a, V, R, E, const G: usize, const CFB: bool>(
    rounds: &'a R,
    iv: &mut Block,
    data: &mut [Block],
) where
    V: Vector,
    R: InverseRounds<V, G>,
    E: End<V, Chained<'a, V, R, CFB>>,
{
    let Some(&last) = data.last() else { return };
    // SAFETY: the caller's proof.
    unsafe {
        let before = V::splat(iv);
        run::<V, _, E, G>(&mut Chained::<V, R, CFB> { rounds, before }, data);
    }
    *iv = last;
}

/// XTS: the tweaks of the next eight blocks, of which as many vectors count as these are.
pub(crate) struct Xts<'a, V, R, const GB: bool, const ENCRYPT: bool> {
    rounds: &'a R,
    tweaks: [V; 8],
}

impl<V: Vector, R: InverseRounds<V, N>, const N: usize, const GB: bool, const ENCRYPT: bool>
    Step<V, N> for Xts<'_, V, R, GB, ENCRYPT>
{
    #[inline(always)]
    unsafe fn step(&mut self, data: *mut Block) {
        let window = 8 / V::BLOCKS;
        let order = if GB { TweakOrder::Gb } else { TweakOrder::Ieee };
        // SAFETY: the caller's proof.
        unsafe {
            let (mut tweaks, mut next) = ([self.tweaks[0]; N], self.tweaks);
            for i in 0..N {
                tweaks[i] = next[i % window];
                next[i % window] = tweaks[i].times_alpha8(order);
            }
            // The vectors turn by N places; a slice's own rotation would keep them in memory.
            for i in 0..window {
                self.tweaks[i] = next[(i + N) % window];
            }
            let v = xor(load(data), tweaks);
            let v = if ENCRYPT { self.rounds.encrypt(v) } else { self.rounds.decrypt(v) };
            store(xor(v, tweaks), data);
        }
    }
}

/// Encrypts or decrypts blocks of an XTS data unit; `tweak` becomes that of the next block.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(crate) unsafe fn xts<'a, V, R, E, const G: usize, const GB: bool, const ENCRYPT: bool>(
    rounds: &'a R,
    tweak: &mut Block,
    data: &mut [Block],
) where
    V: Vector,
    R: InverseRounds<V, G>,
    E: End<V, Xts<'a, V, R, GB, ENCRYPT>>,
{
    let order = if GB { TweakOrder::Gb } else { TweakOrder::Ieee };
    let mut first = first_tweaks(order, tweak);
    // SAFETY: the tweaks of eight blocks are as many as the vectors take; the rest is the caller's
    // proof.
    unsafe {
        let mut tweaks = [V::splat(tweak); 8];
        for i in 0..8 / V::BLOCKS {
            tweaks[i] = V::load(first.as_ptr().add(V::BLOCKS * i));
        }
        let mut mode = Xts::<V, R, GB, ENCRYPT> { rounds, tweaks };
        let (whole, rest) = data.split_at_mut(data.len() / E::PART * E::PART);
        run::<V, _, E, G>(&mut mode, whole);
        mode.tweaks[0].store(first.as_mut_ptr());
        *tweak = first[0];
        for _ in 0..rest.len() {
            *tweak = times_alpha(order, tweak);
        }
        E::finish(&mut mode, rest.as_mut_ptr(), rest.len());
    }
    wipe_array(&mut first, [0; 16]);
}

/// The tweaks of eight blocks.
#[inline(always)]
fn first_tweaks(order: TweakOrder, tweak: &Block) -> [Block; 8] {
    let mut tweaks = [*tweak; 8];
    for i in 1..8 {
        tweaks[i] = times_alpha(order, &tweaks[i - 1]);
    }
    tweaks
}

/// A tweak times α.
#[inline(always)]
pub(crate) fn times_alpha(order: TweakOrder, tweak: &Block) -> Block {
    match order {
        TweakOrder::Ieee => {
            let t = u128::from_le_bytes(*tweak);
            (t << 1 ^ (t >> 127).wrapping_neg() & 0x87).to_le_bytes()
        }
        TweakOrder::Gb => {
            let t = u128::from_be_bytes(*tweak);
            (t >> 1 ^ (t & 1).wrapping_neg() & 0xe1 << 120).to_be_bytes()
        }
    }
}

/// Encrypts one block.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has one block.
#[inline(always)]
pub(crate) unsafe fn one<V: Vector, R: Rounds<V, 1>>(rounds: &R, block: &mut Block) {
    const { assert!(V::BLOCKS == 1) };
    // SAFETY: a block is read and written; the rest is the caller's proof.
    unsafe {
        let [v] = rounds.encrypt([V::load(block)]);
        v.store(block);
    }
}

/// A part of one message in a mode that chains, block after block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chain {
    /// CBC, encrypted.
    Cbc,
    /// CFB of whole blocks, encrypted.
    Cfb,
    /// OFB.
    Ofb,
}

/// Works through one message of a mode that chains; `iv` becomes that of the next part.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has one block.
#[inline(always)]
pub(crate) unsafe fn chain<V: Vector, R: Rounds<V, 1>>(
    rounds: &R,
    mode: Chain,
    iv: &mut Block,
    data: &mut [Block],
) {
    const { assert!(V::BLOCKS == 1) };
    // SAFETY: blocks are read and written; the rest is the caller's proof.
    unsafe {
        let mut before = V::splat(iv);
        for block in data {
            let next = V::load(block);
            let out = match mode {
                Chain::Cbc => {
                    [before] = rounds.encrypt([next.xor(before)]);
                    before
                }
                Chain::Cfb => {
                    [before] = rounds.encrypt([before]);
                    before = before.xor(next);
                    before
                }
                Chain::Ofb => {
                    [before] = rounds.encrypt([before]);
                    before.xor(next)
                }
            };
            out.store(block);
        }
        before.store(iv);
    }
}

/// The CBC-MAC chain over `data`, from and into `mac`.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has one block.
#[inline(always)]
pub(crate) unsafe fn mac<V: Vector, R: Rounds<V, 1>>(rounds: &R, mac: &mut Block, data: &[Block]) {
    const { assert!(V::BLOCKS == 1) };
    // SAFETY: blocks are read and written; the rest is the caller's proof.
    unsafe {
        let mut v = V::splat(mac);
        for block in data {
            [v] = rounds.encrypt([v.xor(V::load(block))]);
        }
        v.store(mac);
    }
}

/// Places of messages side by side: where each one's first block is, and whether it goes on.
pub(crate) struct Places<'a, const L: usize> {
    first: [*mut Block; L],
    /// All ones, or zero in a lane that rests.
    goes_on: [usize; L],
    /// Blocks of every lane that does not rest.
    blocks: usize,
    borrowed: PhantomData<&'a mut [Block]>,
}

impl<'a, const L: usize> Places<'a, L> {
    /// The places of `data`; `spare` is where a lane that rests works, as many blocks at a time as a vector has.
    ///
    /// # Panics
    /// Unless there are `L` slices, and those not empty of one length.
    pub(crate) fn new(data: &'a mut [&mut [Block]], spare: &'a mut [Block; 4]) -> Self {
        assert_eq!(data.len(), L);
        let blocks = data.iter().map(|data| data.len()).max().unwrap_or(0);
        let mut places = Places {
            first: [spare.as_mut_ptr(); L],
            goes_on: [0; L],
            blocks,
            borrowed: PhantomData,
        };
        for (lane, data) in data.iter_mut().enumerate().filter(|(_, data)| !data.is_empty()) {
            assert_eq!(data.len(), blocks);
            (places.first[lane], places.goes_on[lane]) = (data.as_mut_ptr(), usize::MAX);
        }
        places
    }

    /// The places of block `n` of the `count` lanes from `lane` on.
    #[inline(always)]
    fn of(&self, n: usize, lane: usize, count: usize) -> [*mut Block; 4] {
        let place = |lane: usize| self.first[lane].wrapping_add(n & self.goes_on[lane]);
        let mut places = [place(lane); 4];
        for i in 1..count {
            places[i] = place(lane + i);
        }
        places
    }
}

/// Encrypts CBC messages side by side, `L` in `G` vectors; each of `iv` becomes that of the next part.
///
/// As many blocks of a message as a vector has are read and written at a time: messages often are a multiple of 4 KiB
/// apart, where the first cache has room for twelve lines, and would lose each line before its next block.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(crate) unsafe fn cbc_streams<V: Vector, R: Rounds<V, G>, const G: usize, const L: usize>(
    rounds: &R,
    iv: &mut [Block; L],
    places: &Places<'_, L>,
) {
    const { assert!(V::BLOCKS * G == L) };
    // SAFETY: each lane has `blocks` blocks, or a spare one; the rest is the caller's proof.
    unsafe {
        let mut v: [V; G] = load(iv.as_ptr());
        let lines = places.blocks / V::BLOCKS * V::BLOCKS;
        for n in (0..lines).step_by(V::BLOCKS) {
            let mut rows = [[v[0]; 4]; G];
            for i in 0..G {
                rows[i] = V::gather_lines(places.of(n, V::BLOCKS * i, V::BLOCKS));
            }
            for block in 0..V::BLOCKS {
                for i in 0..G {
                    v[i] = v[i].xor(rows[i][block]);
                }
                v = rounds.encrypt(v);
                for i in 0..G {
                    rows[i][block] = v[i];
                }
            }
            for i in 0..G {
                V::scatter_lines(rows[i], places.of(n, V::BLOCKS * i, V::BLOCKS));
            }
        }
        for n in lines..places.blocks {
            for i in 0..G {
                v[i] = v[i].xor(V::gather(places.of(n, V::BLOCKS * i, V::BLOCKS)));
            }
            v = rounds.encrypt(v);
            for i in 0..G {
                v[i].scatter(places.of(n, V::BLOCKS * i, V::BLOCKS));
            }
        }
        store(v, iv.as_mut_ptr());
    }
}
