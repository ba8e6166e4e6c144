//! Files in chunks, as the engine writes and reads them.

use manylane_engine::frame::{ChunkLen, Error, Key, Suite};

use super::{Direction, Job, Screen};
use crate::{
    filter::{Stop, unreadable_for_people},
    output::Output,
    source::Reader,
};

pub(super) fn run(
    job: &Job,
    key: &[u8],
    aad: &[u8],
    reader: &mut Reader,
    output: &mut Output,
) -> Result<(), Stop> {
    let cipher = job.family.cipher(key.len()).map_err(Stop::usage)?;
    let suite = Suite::of(cipher).expect("every cipher here has one");
    let key = Key::new(suite, key).map_err(Stop::usage)?;
    let Job { engine, progress, .. } = job;
    let done = match job.direction {
        Direction::Encrypt => {
            engine.encrypt_frame(&key, aad, ChunkLen::default(), progress, reader, output)
        }
        Direction::Decrypt if output.is_interactive() => {
            let mut screen = Screen::new();
            let done = engine.decrypt_frame(&key, aad, progress, reader, &mut screen);
            if let Err(Error::Write(_)) = done {
                return Err(unreadable_for_people());
            }
            return done.map_err(|error| stop(job, error)).and_then(|()| screen.show(output));
        }
        Direction::Decrypt => engine.decrypt_frame(&key, aad, progress, reader, output),
    };
    done.map_err(|error| stop(job, error))
}

fn stop(job: &Job, error: Error) -> Stop {
    let input = &job.options.streams.input;
    match error {
        Error::Read(error) => input.unreadable(&error),
        Error::Write(error) => Stop::Write(error),
        Error::Suite(suite) => {
            let verb = if suite == Suite::Sm4Gcm { "sm4" } else { "aes" };
            input.failed(format_args!(
                "encrypted with {suite}: `manylane {verb} decrypt` with a key of {} bytes reads it",
                suite.key_len()
            ))
        }
        Error::NotAFrame => input.failed(
            "not encrypted by `manylane` in chunks; what other programs encrypt needs -m and --iv",
        ),
        error => input.failed(error),
    }
}
