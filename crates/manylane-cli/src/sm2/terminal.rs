//! Asking a person at the terminal for what is not to be seen.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use zeroize::Zeroizing;

/// A terminal that does not show what is typed, until this is dropped.
struct Silent {
    terminal: File,
    before: Termios,
}

impl Silent {
    fn new(terminal: File) -> io::Result<Self> {
        let before = termios::tcgetattr(&terminal)?;
        let mut silent = before.clone();
        // The keys that interrupt come as characters too: nothing would put the echo back if they
        // ended the process.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        termios::tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Silent { terminal, before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // If it fails there is nothing else to try.
        let _ = termios::tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
        let _ = self.terminal.write_all(b"\n");
    }
}

/// A line of at most `longest` bytes that is typed in answer to `prompt`.
pub(super) fn ask(prompt: &str, longest: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let mut silent = Silent::new(terminal)?;
    silent.terminal.write_all(prompt.as_bytes())?;
    let mut line = Zeroizing::new(Vec::with_capacity(longest));
    let mut byte = Zeroizing::new([0]);
    loop {
        if silent.terminal.read(&mut *byte)? == 0 {
            return Ok(line);
        }
        match key(byte[0]) {
            Key::End => return Ok(line),
            Key::Cancel => return Err(io::Error::other("interrupted")),
            Key::Erase => erase(&mut line),
            Key::EraseAll => line.clear(),
            Key::Byte(_) if line.len() == longest => {
                return Err(io::Error::other(format!("longer than {longest} bytes")));
            }
            Key::Byte(byte) => line.push(byte),
        }
    }
}

enum Key {
    End,
    Cancel,
    Erase,
    EraseAll,
    Byte(u8),
}

/// What the usual control characters do.
fn key(byte: u8) -> Key {
    match byte {
        b'\n' | b'\r' | 0x04 => Key::End,
        0x03 | 0x1c => Key::Cancel,
        0x08 | 0x7f => Key::Erase,
        0x15 => Key::EraseAll,
        byte => Key::Byte(byte),
    }
}

/// Takes the last character away: a byte, and what it continues in UTF-8.
fn erase(line: &mut Vec<u8>) {
    while let Some(byte) = line.pop() {
        if byte & 0xc0 != 0x80 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_erased_whole() {
        let mut line = "a密".as_bytes().to_vec();
        erase(&mut line);
        assert_eq!(line, b"a");
        erase(&mut line);
        erase(&mut line);
        assert_eq!(line, b"");
    }
}
