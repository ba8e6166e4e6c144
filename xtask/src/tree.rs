//! Trees of files to measure on, the same for the same seed.
//!
//! Sizes are log-normal, as those of real trees are: half of the files are shorter than the
//! median, and a few long ones hold most of the bytes. With the default sigma of 1.8 the mean is
//! about five times the median, as in source trees and package archives.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

use clap::Args;

use crate::Result;

#[derive(Args)]
pub(crate) struct Options {
    /// Where to write the tree; must not exist or be empty.
    directory: PathBuf,
    /// Number of files.
    #[arg(long, default_value_t = 20_000)]
    files: u64,
    /// What everything is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Half of the files are shorter.
    #[arg(long, default_value = "8KiB", value_parser = parse_size)]
    median: u64,
    /// No file is longer.
    #[arg(long, default_value = "8MiB", value_parser = parse_size)]
    cap: u64,
    /// Standard deviation of the natural logarithm of the size.
    #[arg(long, default_value_t = 1.8)]
    sigma: f64,
}

pub(crate) fn run(options: &Options) -> Result {
    let fail = |error: std::io::Error| format!("{}: {error}", options.directory.display());
    fs::create_dir_all(&options.directory).map_err(fail)?;
    if fs::read_dir(&options.directory).map_err(fail)?.next().is_some() {
        return Err(format!("{} is not empty", options.directory.display()));
    }
    let mut total = 0;
    let mut content = vec![0; 1 << 16];
    for index in 0..options.files {
        let mut random = Random::new(options.seed, index);
        let size = size(options, &mut random);
        let path = options.directory.join(path(index));
        fs::create_dir_all(path.parent().expect("in a directory")).map_err(fail)?;
        let mut file = File::create(&path).map_err(fail)?;
        let mut left = size as usize;
        while left > 0 {
            let part = &mut content[..left.min(1 << 16)];
            random.fill(part);
            file.write_all(part).map_err(fail)?;
            left -= part.len();
        }
        total += size;
    }
    println!("{} files, {total} bytes", options.files);
    Ok(())
}

/// Three levels of folders, 20 entries a folder.
fn path(index: u64) -> PathBuf {
    let folder = index / 20;
    format!("{:02}/{:02}/{index:06}.bin", folder / 20 % 100, folder % 20).into()
}

fn size(options: &Options, random: &mut Random) -> u64 {
    let size = options.median as f64 * (options.sigma * random.normal()).exp();
    // Sizes past the cap become the cap, as does a float that fits no integer.
    (size.round() as u64).min(options.cap)
}

/// `8KiB`, `4GiB`, `100`.
pub(crate) fn parse_size(text: &str) -> Result<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = match &text[digits..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err("expected a number and B, KiB, MiB or GiB".into()),
    };
    let number: u64 = text[..digits].parse().map_err(|_| "expected a number first".to_string())?;
    number.checked_mul(unit).ok_or_else(|| "too large".into())
}

/// splitmix64: each file has a sequence of its own, so that no file depends on another's size.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Random(seed);
        let base = random.next();
        Random(base ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for bytes in bytes.chunks_mut(8) {
            bytes.copy_from_slice(&self.next().to_le_bytes()[..bytes.len()]);
        }
    }

    /// Normally distributed around 0 with deviation 1: Box and Muller's cosine.
    fn normal(&mut self) -> f64 {
        // In (0, 1], for the logarithm.
        let mut uniform = || ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let (radius, angle) = (uniform(), uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(directory: PathBuf, seed: u64) -> Options {
        Options { directory, files: 50, seed, median: 1000, cap: 8000, sigma: 1.8 }
    }

    /// Every file's path and content.
    fn read(directory: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(read(&path));
            } else {
                let content = fs::read(&path).unwrap();
                files.push((path, content));
            }
        }
        files.sort();
        files
    }

    #[test]
    fn a_seed_makes_one_tree() {
        let folder = tempfile::tempdir().unwrap();
        let tree = |name: &str, seed| {
            let directory = folder.path().join(name);
            run(&options(directory.clone(), seed)).unwrap();
            let files = read(&directory);
            let relative = |path: &PathBuf| path.strip_prefix(&directory).unwrap().to_owned();
            files.into_iter().map(|(path, content)| (relative(&path), content)).collect::<Vec<_>>()
        };
        let (first, second, other) = (tree("a", 1), tree("b", 1), tree("c", 2));
        assert_eq!(first.len(), 50);
        assert!(first == second && first != other);
        assert_eq!(first.iter().map(|(_, content)| content.len()).max(), Some(8000), "the cap");
        assert!(run(&options(folder.path().join("a"), 1)).is_err(), "it is there already");
    }

    #[test]
    fn sizes_are_log_normal() {
        let options = Options { median: 8 << 10, cap: 8 << 20, ..options(PathBuf::new(), 3) };
        let mut sizes: Vec<u64> =
            (0..20_000).map(|index| size(&options, &mut Random::new(3, index))).collect();
        sizes.sort_unstable();
        let close = |value: u64, expected: f64| (value as f64 / expected - 1.0).abs() < 0.1;
        // A deviation below, the middle, and a deviation above.
        for (rank, deviations) in [(3173, -1.0), (10_000, 0.0), (16_827, 1.0)] {
            let expected = 8192.0 * f64::exp(1.8 * deviations);
            assert!(close(sizes[rank], expected), "{} at {deviations}", sizes[rank]);
        }
        let mean = sizes.iter().sum::<u64>() / 20_000;
        assert!((32_000..48_000).contains(&mean), "{mean}");
        assert!(sizes.last() <= Some(&(8 << 20)));
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_size("8KiB"), Ok(8192));
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("12"), Ok(12));
        for wrong in ["", "KiB", "8kb", "-1", "99999999999GiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
