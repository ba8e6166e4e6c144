//! What a machine file instantiates: functions that take a token, around those with the machine's features.

/// The functions of a machine file over everything in [`lanes`](super). `rounds(&Key)` makes the [`Rounds`], inside the
/// functions that have the features; full groups have `G` vectors, the last ones `T`.
///
/// ```text
/// kernels! {
///     token: Vaes, attributes: [target_feature(enable = "avx512f,vaes")],
///     vector: __m512i, groups: 8, 1,
///     key: [const N: usize] RoundKeys<N>, rounds: Keys::broadcast,
/// }
/// ```
macro_rules! kernels {
    (
        token: $token:ty, attributes: $attributes:tt, vector: $vector:ty, groups: $group:literal, $part:literal,
        key: $generics:tt $key:ty, rounds: $rounds:expr $(,)?
    ) => {
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Encrypts every block by itself.
            encrypt_blocks(key, data: &mut [Block]) => lanes::ecb::<
                $vector, _, lanes::Parts<$part>, $group, true>(&$rounds(key), data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Decrypts every block by itself.
            decrypt_blocks(key, data: &mut [Block]) => lanes::ecb::<
                $vector, _, lanes::Parts<$part>, $group, false>(&$rounds(key), data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Xors the key stream of `counter` and on into `data`.
            xor_counters(key, counter: &Block, data: &mut [Block]) => lanes::xor_counters::<
                $vector, _, lanes::Parts<$part>, $group>(&$rounds(key), counter, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Decrypts CBC; `iv` becomes the last ciphertext block.
            cbc_decrypt(key, iv: &mut Block, data: &mut [Block]) => lanes::decrypt_chained::<
                $vector, _, lanes::Parts<$part>, $group, false>(&$rounds(key), iv, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Decrypts CFB; `iv` becomes the last ciphertext block.
            cfb_decrypt(key, iv: &mut Block, data: &mut [Block]) => lanes::decrypt_chained::<
                $vector, _, lanes::Parts<$part>, $group, true>(&$rounds(key), iv, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Encrypts XTS blocks; `tweak` becomes that of the next.
            xts_encrypt(key, order: $crate::block::TweakOrder, tweak: &mut Block,
                data: &mut [Block]) => match order {
                TweakOrder::Ieee => lanes::xts::<$vector, _, lanes::Parts<$part>, $group, false, true>(
                    &$rounds(key), tweak, data),
                TweakOrder::Gb => lanes::xts::<$vector, _, lanes::Parts<$part>, $group, true, true>(
                    &$rounds(key), tweak, data),
            });
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Decrypts XTS blocks; `tweak` becomes that of the next.
            xts_decrypt(key, order: $crate::block::TweakOrder, tweak: &mut Block,
                data: &mut [Block]) => match order {
                TweakOrder::Ieee => lanes::xts::<$vector, _, lanes::Parts<$part>, $group, false, false>(
                    &$rounds(key), tweak, data),
                TweakOrder::Gb => lanes::xts::<$vector, _, lanes::Parts<$part>, $group, true, false>(
                    &$rounds(key), tweak, data),
            });
    };
}
pub(crate) use kernels;

/// The functions of a machine file for one message of a mode that chains; `vector` has one block.
macro_rules! serial {
    (
        token: $token:ty, attributes: $attributes:tt, vector: $vector:ty,
        key: $generics:tt $key:ty, rounds: $rounds:expr $(,)?
    ) => {
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Encrypts one block.
            encrypt_block(key, block: &mut Block) => lanes::one::<$vector, _>(&$rounds(key), block));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Encrypts CBC; `iv` becomes the last ciphertext block.
            cbc_encrypt(key, iv: &mut Block, data: &mut [Block]) => lanes::chain::<$vector, _>(
                &$rounds(key), lanes::Chain::Cbc, iv, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Encrypts CFB; `iv` becomes the last ciphertext block.
            cfb_encrypt(key, iv: &mut Block, data: &mut [Block]) => lanes::chain::<$vector, _>(
                &$rounds(key), lanes::Chain::Cfb, iv, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// Xors OFB's key stream into `data`; `iv` becomes its last block.
            ofb_xor(key, iv: &mut Block, data: &mut [Block]) => lanes::chain::<$vector, _>(
                &$rounds(key), lanes::Chain::Ofb, iv, data));
        $crate::block::lanes::kernel!($token, $attributes, $generics, $key,
            /// The CBC-MAC chain over `data`, from and into `mac`.
            cbc_mac(key, mac: &mut Block, data: &[Block]) => lanes::mac::<$vector, _>(
                &$rounds(key), mac, data));
    };
}
pub(crate) use serial;

/// The function of a machine file for CBC messages side by side, `lanes` in `groups` vectors.
macro_rules! streams {
    (
        token: $token:ty, attributes: $attributes:tt, vector: $vector:ty,
        lanes: $lanes:literal in $groups:literal,
        key: [$($generics:tt)*] $key:ty, rounds: $rounds:expr $(,)?
    ) => {
        $crate::block::lanes::kernel!($token, $attributes, [$($generics)*], $key,
            /// Encrypts what lies at `places`.
            cbc_places(key, iv: &mut [Block; $lanes],
                places: &$crate::block::lanes::Places<'_, $lanes>) => lanes::cbc_streams::<
                $vector, _, $groups, $lanes>(&$rounds(key), iv, places));

        /// Encrypts CBC messages side by side; each of `iv` becomes its last ciphertext block.
        pub(super) fn cbc_streams<$($generics)*>(
            token: $token,
            key: &$key,
            iv: &mut [Block; $lanes],
            data: &mut [&mut [Block]],
        ) {
            let mut spare = [[0; 16]; 4];
            let places = $crate::block::lanes::Places::new(data, &mut spare);
            cbc_places(token, key, iv, &places);
        }
    };
}
pub(crate) use streams;

/// A function that takes a token, around one that has the features.
macro_rules! kernel {
    (
        $token:ty, [$($attribute:meta),*], [$($generics:tt)*], $key:ty,
        $(#[$doc:meta])*
        $name:ident($k:ident, $($argument:ident: $type:ty),*) => $body:expr
    ) => {
        $(#[$doc])*
        pub(super) fn $name<$($generics)*>(_: $token, $k: &$key, $($argument: $type),*) {
            /// # Safety
            /// The processor has the token's machine.
            $(#[$attribute])*
            unsafe fn kernel<$($generics)*>($k: &$key, $($argument: $type),*) {
                #[allow(unused_imports, reason = "the direction of tweaks, for two of these")]
                use $crate::block::{TweakOrder, lanes};
                // SAFETY: the caller's proof.
                unsafe { $body }
            }
            // SAFETY: the token proves the features.
            unsafe { kernel($k, $($argument),*) }
        }
    };
}
pub(crate) use kernel;
