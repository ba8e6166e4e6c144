//! Frames from readers to writers.

use std::io::{Read, Write};

use super::{ChunkLen, Error, HEADER_LEN, Header, Key, TAG_LEN};
use crate::{Engine, Piece, Progress};

impl Engine {
    /// Encrypts all that there is to read into a [frame](crate::frame), on all threads and in bounded memory.
    /// The AAD are authenticated, but not in the frame. On an error, what has been written is to be thrown away.
    ///
    /// ```
    /// use manylane_engine::{Engine, Progress, frame::{ChunkLen, Key, Suite}};
    ///
    /// let (engine, progress) = (Engine::global(), Progress::new());
    /// let key = Key::new(Suite::Aes256Gcm, &[1; 32])?; // random ones, in life
    /// let mut frame = Vec::new();
    /// engine.encrypt_frame(&key, b"", ChunkLen::default(), &progress, &mut &b"a message"[..], &mut frame)?;
    /// let mut message = Vec::new();
    /// engine.decrypt_frame(&key, b"", &progress, &mut &frame[..], &mut message)?;
    /// assert_eq!(message, b"a message");
    /// # Ok::<(), manylane_engine::frame::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Random`], [`Error::Read`] or [`Error::Write`].
    pub fn encrypt_frame(
        &self,
        key: &Key,
        aad: &[u8],
        chunk_len: ChunkLen,
        progress: &Progress,
        reader: &mut (impl Read + Send),
        writer: &mut (impl Write + Send),
    ) -> Result<(), Error> {
        let (header, chunks) = Header::new(key, aad, chunk_len)?;
        writer.write_all(header.as_bytes()).map_err(Error::Write)?;
        let encrypt = |piece: &mut Piece, ()| {
            let tag = chunks.encrypt(piece.index, piece.is_last, &mut piece.data);
            piece.data.extend_from_slice(&tag);
            Ok(())
        };
        self.pipe(chunk_len.bytes(), progress, reader, writer, |_| Ok(()), encrypt)
            .map_err(Error::from)
    }

    /// Decrypts a [frame](crate::frame), on all threads and in bounded memory. Each chunk is written after it
    /// verified; that nothing is missing behind it is known only in the end. So on an error, what has been written is
    /// at most the beginning of the message.
    ///
    /// # Errors
    /// As [`Header::read`] and [`Header::open`] before anything is written; [`Error::Altered`],
    /// [`Error::Read`] or [`Error::Write`].
    pub fn decrypt_frame(
        &self,
        key: &Key,
        aad: &[u8],
        progress: &Progress,
        reader: &mut (impl Read + Send),
        writer: &mut (impl Write + Send),
    ) -> Result<(), Error> {
        let header = Header::read(reader)?;
        progress.add_bytes(HEADER_LEN as u64);
        let chunks = header.open(key, aad)?;
        let decrypt = |piece: &mut Piece, ()| {
            let Some((data, tag)) = piece.data.split_last_chunk_mut::<TAG_LEN>() else {
                return Err(Error::Altered);
            };
            chunks.decrypt(piece.index, piece.is_last, data, tag)?;
            let len = data.len();
            piece.data.truncate(len);
            Ok(())
        };
        let piece_len = header.chunk_len().bytes() + TAG_LEN;
        self.pipe(piece_len, progress, reader, writer, |_| Ok(()), decrypt).map_err(Error::from)
    }
}
