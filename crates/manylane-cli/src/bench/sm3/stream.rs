//! One message after another, each as one stream: what one file or one request costs.

use super::{
    Call, Contender, Core, Cores, Digest, Gcrypt, Group, LIBGCRYPT, Machine, OPENSSL, OpenSsl, Rc,
    Rows, Sm3, Work, bytes_label, counts, sm3, stream_machines,
};

/// Lengths of the stream.
const LENGTHS: [usize; 4] = [64, 1 << 10, 16 << 10, 1 << 20];

pub(super) fn groups(core: Option<Core>) -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(move |len| group(len, core))
}

fn group(len: usize, core: Option<Core>) -> Group {
    Group {
        id: format!("sm3/stream/{len}"),
        part: "One stream",
        parameter: bytes_label(len as u64),
        unit: "messages",
        working_set: (len + sm3::DIGEST_LEN) as u64,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, 1, rng));
            let mut contenders = Vec::new();
            for machine in stream_machines() {
                let fresh = Sm3::new_on(machine).map_err(|why| why.to_string())?;
                let counted = counted(machine, core, len as u64);
                contenders.push(contender(machine.name(), &rows, counted, move |message, out| {
                    let mut sm3 = fresh.clone();
                    sm3.update(message);
                    *out = sm3.finalize().into();
                }));
            }
            if let Ok(openssl) = OpenSsl::get() {
                let mut context = openssl.digest();
                contenders.push(contender(OPENSSL, &rows, None, move |message, out| {
                    context.hash(message, out);
                }));
            }
            if let Ok(gcrypt) = Gcrypt::get() {
                contenders.push(contender(LIBGCRYPT, &rows, None, move |message, out| {
                    gcrypt.hash(message, out);
                }));
            }
            Ok(contenders)
        }),
    }
}

fn contender(
    name: &str,
    rows: &Rc<Rows>,
    counted_clocks: Option<f64>,
    mut hash: impl FnMut(&[u8], &mut [u8; sm3::DIGEST_LEN]) + 'static,
) -> Contender {
    let rows = Rc::clone(rows);
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: matches!(name, OPENSSL | LIBGCRYPT),
        work: Work { bytes: rows.total_bytes(), units: 1, counted_clocks },
        output: vec![0; sm3::DIGEST_LEN],
        call: Call::here(move |out| {
            let (out, _) = out.split_first_chunk_mut().expect("room for a digest");
            hash(rows.messages().get(0), out);
        }),
    }
}

/// Clocks of the chain, for the machines that compute it in scalar registers.
fn counted(machine: Machine, core: Option<Core>, len: u64) -> Option<f64> {
    let scalar = matches!(machine, Machine::Bmi2 | Machine::Avx512) && core.is_some();
    scalar.then(|| counts::sm3_stream_clocks(counts::sm3_blocks(len)))
}
