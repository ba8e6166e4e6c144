//! The same outputs as the `openssl` command's, 3.0 or later, and as Python's hashlib. They must be there:
//! nothing is skipped.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use digest::Mac;
use manylane::{
    Messages,
    sha3::{
        self, ExtendableOutput, Function, HmacSha3_224, HmacSha3_256, HmacSha3_384, HmacSha3_512,
        Kmac128, Kmac256, Update, XofReader,
    },
};
use manylane_vectors::painted;

/// Around the ends of blocks of every function, each a process of its own; hashlib has more.
const LENGTHS: [usize; 10] = [0, 1, 71, 72, 104, 135, 136, 144, 168, 70_001];

/// The functions with their names in OpenSSL, and the lengths of output that are asked of the XOFs.
const FUNCTIONS: [(&str, Function); 8] = [
    ("sha3-224", Function::SHA3_224),
    ("sha3-256", Function::SHA3_256),
    ("sha3-384", Function::SHA3_384),
    ("sha3-512", Function::SHA3_512),
    ("shake128", Function::SHAKE128),
    ("shake256", Function::SHAKE256),
    ("shake128", Function::SHAKE128.with_output_len(401)),
    ("shake256", Function::SHAKE256.with_output_len(272)),
];

/// What a program prints, given its standard input.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("these tests need {program}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{program} {arguments:?}");
    output.stdout
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Our outputs for all the messages, once one by one and once together, which must be the same.
fn ours(function: Function, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let one = |message: &Vec<u8>| {
        let mut out = vec![0; function.output_len()];
        sha3::hash(function, message, &mut out);
        out
    };
    let outputs: Vec<Vec<u8>> = messages.iter().map(one).collect();
    let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let mut together = vec![0; function.output_len() * messages.len()];
    sha3::hash_many(function, &Messages::slices(&slices), &mut together).unwrap();
    assert!(together == outputs.concat(), "{function:?}");
    outputs
}

#[test]
fn openssl_has_the_same_digests() {
    let messages: Vec<Vec<u8>> = LENGTHS.iter().map(|&len| painted(len, len)).collect();
    for (name, function) in FUNCTIONS {
        let (name, len) = (format!("-{name}"), function.output_len().to_string());
        let mut arguments = vec!["dgst", &name, "-binary"];
        if function.is_xof() {
            arguments.extend(["-xoflen", &len]);
        }
        for (message, ours) in messages.iter().zip(ours(function, &messages)) {
            let theirs = run("openssl", &arguments, message);
            assert!(theirs == ours, "{name} {len}: {} bytes", message.len());
        }
    }
}

/// One line a message: function, length of output, message; the answer is the output.
const PEER: &str = r"
import hashlib, sys
for line in sys.stdin:
    name, length, message = line.rstrip('\n').split(',')
    of = hashlib.new(name, bytes.fromhex(message))
    print(of.hexdigest(int(length)) if name.startswith('shake') else of.hexdigest())
";

#[test]
fn hashlib_has_the_same_digests() {
    let lengths = (0..420).chain([4095, 4096, 4097, 70_001]);
    let messages: Vec<Vec<u8>> = lengths.map(|len| painted(len, len)).collect();
    for (name, function) in FUNCTIONS {
        let name = name.replacen("sha3-", "sha3_", 1).replacen("shake", "shake_", 1);
        let len = function.output_len();
        let lines: String = messages.iter().map(|m| format!("{name},{len},{}\n", hex(m))).collect();
        let theirs = String::from_utf8(run("python3", &["-c", PEER], lines.as_bytes())).unwrap();
        let theirs: Vec<&str> = theirs.lines().collect();
        assert_eq!(theirs.len(), messages.len(), "{name}");
        for ((message, ours), theirs) in messages.iter().zip(ours(function, &messages)).zip(theirs)
        {
            assert!(theirs == hex(&ours), "{name} {len}: {} bytes", message.len());
        }
    }
}

/// A MAC by `openssl mac`.
fn openssl_mac(name: &str, options: &[String], message: &[u8]) -> Vec<u8> {
    let mut arguments = vec!["mac", "-binary"];
    options.iter().for_each(|option| arguments.extend(["-macopt", option]));
    arguments.push(name);
    run("openssl", &arguments, message)
}

#[test]
fn openssl_has_the_same_kmac() {
    // It takes keys of 4 to 512 bytes, and customizations of at most 512.
    let cases = [
        (16, 0, 0, 32),
        (32, 21, 200, 64),
        (4, 1, 167, 8),
        (163, 160, 136, 20),
        (512, 512, 5000, 999),
    ];
    for (key, customization, message, len) in cases {
        let (key, customization) = (painted(key, 100), painted(customization, 50));
        let message = painted(message, 3);
        let mut options = vec![format!("hexkey:{}", hex(&key)), format!("size:{len}")];
        if !customization.is_empty() {
            options.push(format!("hexcustom:{}", hex(&customization)));
        }
        let codes = (Kmac128::new(&key, &customization), Kmac256::new(&key, &customization));
        let codes = (codes.0.chain(&message), codes.1.chain(&message));
        let mut ours = [(); 4].map(|()| vec![0; len]);
        codes.0.clone().tag(&mut ours[0]);
        codes.1.clone().tag(&mut ours[1]);
        codes.0.clone().finalize_xof().read(&mut ours[2]);
        codes.1.clone().finalize_xof().read(&mut ours[3]);
        for (i, (name, ours)) in ["KMAC128", "KMAC256"].iter().cycle().zip(&ours).enumerate() {
            let xof = (i >= 2).then(|| "xof:1".to_owned());
            let options: Vec<String> = options.iter().cloned().chain(xof).collect();
            assert!(openssl_mac(name, &options, &message) == *ours, "{name} {i} {len}");
        }
        let theirs = openssl_mac("KMAC128", &options, &message);
        assert!(codes.0.verify_tag(&theirs).is_ok());
        let theirs = openssl_mac("KMAC256", &options, &message);
        assert!(codes.1.verify_tag(&theirs).is_ok());
    }
}

#[test]
fn openssl_has_the_same_hmac() {
    fn tag<M: Mac + digest::KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
        let mac = <M as digest::KeyInit>::new_from_slice(key).unwrap();
        mac.chain_update(message).finalize().as_bytes().to_vec()
    }
    for key in [1, 71, 72, 73, 136, 144, 145, 300] {
        let (key, message) = (painted(key, 100), painted(3 * key, 0));
        for (digest, ours) in [
            ("SHA3-224", tag::<HmacSha3_224>(&key, &message)),
            ("SHA3-256", tag::<HmacSha3_256>(&key, &message)),
            ("SHA3-384", tag::<HmacSha3_384>(&key, &message)),
            ("SHA3-512", tag::<HmacSha3_512>(&key, &message)),
        ] {
            let options = [format!("digest:{digest}"), format!("hexkey:{}", hex(&key))];
            assert!(openssl_mac("HMAC", &options, &message) == ours, "{digest} {}", key.len());
        }
    }
}
