//! What is known of registers, flags and the stack frame at a place of a function.

use std::collections::BTreeMap;

use iced_x86::{Instruction, Register};

/// What is known of a value; later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// A public number.
    Public,
    /// The address of public data.
    ToPublic,
    /// The address of addresses (or lengths), each as [`Level::ToSecret`].
    ToAddresses,
    /// The address of secret data that were there before the function was called.
    ToSecret,
    /// The address of secret data, perhaps in the function's own frame.
    ToAnything,
    /// Secret data.
    Secret,
}

impl Level {
    /// What a load from an address of this level brings.
    pub(super) fn loaded(self) -> Level {
        match self {
            Level::ToPublic => Level::Public,
            Level::ToAddresses => Level::ToSecret,
            Level::Public | Level::ToSecret | Level::ToAnything | Level::Secret => Level::Secret,
        }
    }
}

/// A value: a level, or an address in the frame, whose words are followed one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Of(Level),
    /// Bytes from a fixed place of the frame: the stack pointer at entry, or as an instruction
    /// (by its address) has aligned it.
    Frame(u64, i64),
}

impl Value {
    pub(super) fn level(self) -> Level {
        match self {
            Value::Of(level) => level,
            Value::Frame(..) => Level::ToAnything,
        }
    }

    pub(super) fn join(self, other: Value) -> Value {
        if self == other { self } else { Value::Of(self.level().max(other.level())) }
    }
}

/// Registers that arguments are passed in, in the System V convention; and those that a callee
/// leaves as they were.
pub(super) const PASSED: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];
pub(super) const SAVED: [Register; 7] = [
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Bytes of a frame that are followed, and the size of the words they are followed in.
const FRAME: i64 = 64 * 1024;
const WORD: i64 = 4;

/// Bits of rflags as the decoder names them.
pub(super) const FLAGS: usize = u32::BITS as usize;

/// A word of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) level: Level,
    pub(super) kind: Kind,
}

/// What a word of a frame is used for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing yet. Compilers may load it, on a way that then does not use it.
    Unwritten,
    /// A saved general register: no variable's address leads there.
    Saved,
    /// Any other.
    Variable,
}

impl Word {
    pub(super) const UNKNOWN: Word = Word { level: Level::Secret, kind: Kind::Variable };
    pub(super) const UNWRITTEN: Word = Word { level: Level::Public, kind: Kind::Unwritten };

    pub(super) fn join(self, other: Word) -> Word {
        Word { level: self.level.max(other.level), kind: self.kind.max(other.kind) }
    }
}

/// What is known at a place of the function.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) registers: Vec<Value>,
    /// The bits of rflags, each by itself: a loop's `dec` leaves the carry of something else.
    pub(super) flags: [Level; FLAGS],
    pub(super) frames: BTreeMap<u64, Vec<Word>>,
}

/// A frame: nothing is written below its base, and nothing is known above.
pub(super) fn unwritten() -> Vec<Word> {
    let mut words = vec![Word::UNWRITTEN; (FRAME / WORD) as usize];
    words.resize((2 * FRAME / WORD) as usize, Word::UNKNOWN);
    words
}

impl State {
    pub(super) fn at_entry(arguments: &[Level]) -> Self {
        let mut registers = vec![Value::Of(Level::Secret); Register::values().len()];
        // What the caller left in these is nothing to the callee; compilers carry it around.
        for register in SAVED {
            registers[register as usize] = Value::Of(Level::Public);
        }
        registers[Register::RSP as usize] = Value::Frame(0, 0);
        for (register, level) in PASSED.iter().zip(arguments) {
            registers[*register as usize] = Value::Of(*level);
        }
        State {
            registers,
            flags: [Level::Secret; FLAGS],
            frames: BTreeMap::from([(0, unwritten())]),
        }
    }

    /// The worst of the flags that an instruction reads.
    pub(super) fn flags_read(&self, instruction: &Instruction) -> Level {
        let bits = instruction.rflags_read();
        let read = self.flags.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        read.map(|(_, level)| *level).max().unwrap_or(Level::Public)
    }

    pub(super) fn get(&self, register: Register) -> Value {
        self.registers[register.full_register() as usize]
    }

    pub(super) fn set(&mut self, register: Register, value: Value) {
        self.registers[register.full_register() as usize] = value;
    }

    /// Joins what is known on another way to the same place; whether that changed anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = mine.join(*theirs);
        }
        for (mine, theirs) in self.flags.iter_mut().zip(other.flags) {
            *mine = (*mine).max(theirs);
        }
        for (base, mine) in &mut self.frames {
            match other.frames.get(base) {
                Some(theirs) => {
                    for (mine, theirs) in mine.iter_mut().zip(theirs) {
                        *mine = mine.join(*theirs);
                    }
                }
                None => mine.fill(Word::UNKNOWN),
            }
        }
        *self != before
    }

    pub(super) fn words(offset: i64, size: usize) -> Option<std::ops::Range<usize>> {
        let start = offset + FRAME;
        let end = start + size as i64;
        (start >= 0 && end <= 2 * FRAME)
            .then(|| (start / WORD) as usize..((end + WORD - 1) / WORD) as usize)
    }

    pub(super) fn load(&self, base: u64, offset: i64, size: usize) -> Level {
        let words = State::words(offset, size);
        match (self.frames.get(&base), words) {
            (Some(frame), Some(words)) => {
                frame[words].iter().map(|word| word.level).max().unwrap_or(Level::Secret)
            }
            _ => Level::Secret,
        }
    }

    pub(super) fn is_saved(&self, base: u64, offset: i64, size: usize) -> bool {
        match (self.frames.get(&base), State::words(offset, size)) {
            (Some(frame), Some(words)) => frame[words].iter().all(|word| word.kind == Kind::Saved),
            _ => false,
        }
    }

    pub(super) fn store(&mut self, base: u64, offset: i64, size: usize, new: Word) {
        let Some(words) = State::words(offset, size) else { return };
        let whole = offset % WORD == 0 && size as i64 % WORD == 0;
        let Some(frame) = self.frames.get_mut(&base) else { return };
        for word in &mut frame[words] {
            *word = match whole {
                true => new,
                false => Word { kind: Kind::Variable, ..new.join(*word) },
            };
        }
    }

    /// A store somewhere in the frames: any variable there may now be of that level.
    pub(super) fn store_somewhere(&mut self, level: Level) {
        for word in self.frames.values_mut().flatten() {
            if word.kind != Kind::Saved {
                *word = Word { level: level.max(word.level), kind: Kind::Variable };
            }
        }
    }
}
