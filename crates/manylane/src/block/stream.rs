//! Key streams as the `cipher` crate wants them.

/// A key stream with a place where it stands.
pub(super) trait KeyStream {
    /// Whether `len` bytes are left.
    fn has(&self, len: usize) -> bool;
    /// Xors the next bytes into `data`, which has no more than are left.
    fn apply(&mut self, data: &mut [u8]);
}

/// The functions of `cipher::StreamCipher` by [`KeyStream`].
macro_rules! functions {
    () => {
        fn check_remaining(&self, len: usize) -> Result<(), cipher::StreamCipherError> {
            match $crate::block::stream::KeyStream::has(self, len) {
                true => Ok(()),
                false => Err(cipher::StreamCipherError),
            }
        }

        fn unchecked_apply_keystream_inout(&mut self, data: cipher::inout::InOutBuf<'_, '_, u8>) {
            $crate::block::stream::KeyStream::apply(self, data.into_out_with_copied_in());
        }

        fn unchecked_write_keystream(&mut self, data: &mut [u8]) {
            data.fill(0);
            $crate::block::stream::KeyStream::apply(self, data);
        }
    };
}
pub(super) use functions;
