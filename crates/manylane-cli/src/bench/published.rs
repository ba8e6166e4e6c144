//! Figures that others have published, to set beside a run.

use super::{data::bytes_label, model::Published};

const HI_SM3: &str = "HI-SM3, Tables 3 and 4";
const SUN: &str = "Sun, Zhang, Ma 2021, Table 1";
const HASHCAT: &str = "hashcat 7.0, mode of SM3";

/// Source, device, work, gigabytes a second, latency in milliseconds, bytes per multiprocessor and
/// clock where the clock is known.
type Row = (&'static str, &'static str, &'static str, f64, Option<f64>, Option<f64>);

/// Sun's throughputs are published in Gbit/s, HI-SM3's in MB/s; both are given here in 10⁹ bytes.
/// HI-SM3's are of the kernel alone, Sun's of copies too. The clock of HI-SM3's RTX 4090 is taken to be the
/// 2.52 GHz that the vendor gives; hashcat makes its candidates in registers, reads no messages and keeps
/// hardly any digest, so its hashes count as one block of 64 bytes each.
const FIGURES: [Row; 15] = [
    (HI_SM3, "RTX 4090", "98,304 × 8 KiB, kernel alone", 469.640, Some(1.635), Some(1.46)),
    (HI_SM3, "RTX 4090", "131,072 × 64 B, kernel alone", 132.979, Some(0.061), Some(0.41)),
    (HI_SM3, "Titan V", "81,920 × 8 KiB, kernel alone", 123.002, Some(5.198), Some(1.0)),
    (HI_SM3, "Titan V", "81,920 × 64 B, kernel alone", 34.679, Some(0.144), None),
    (HI_SM3, "GTX 1080", "15,360 × 8 KiB, kernel alone", 39.777, Some(3.016), None),
    (HI_SM3, "GTX 1080", "20,480 × 64 B, kernel alone", 12.800, Some(0.097), None),
    (HI_SM3, "Jetson Xavier", "6,144 × 8 KiB, kernel alone", 6.042, Some(7.944), None),
    (HI_SM3, "Hygon DCU", "61,440 × 8 KiB, kernel alone", 116.507, Some(4.119), None),
    (HI_SM3, "Hygon DCU", "128 KiB each, kernel alone", 100.353, Some(38.272), None),
    (SUN, "GTX 1080", "32 KB each, copies included", 10.858, Some(395.59), None),
    (SUN, "Titan Xp", "64 KB each, copies included", 10.323, Some(832.17), None),
    (SUN, "GTX 1080", "any lengths, padding included", 0.863, Some(298.45), None),
    (SUN, "Titan Xp", "any lengths, padding included", 0.824, Some(312.87), None),
    (SUN, "GTX 1080", "plain kernel, 8 KB each", 4.964, Some(3.38), None),
    (HASHCAT, "H100 SXM", "13.64 G candidates a second, one block each", 872.96, None, Some(3.34)),
];

const CUPQC: &str = "cuPQC, NVIDIA";
const ICICLE: &str = "ICICLE, Ingonyama";
const HASHCAT_SHA3: &str = "hashcat 7.0, mode of SHA3-256";

/// Of SHA3-256, kernels alone. Clocks are what the vendors give as the highest; hashcat makes its candidates in
/// registers, reads no messages and keeps hardly any digest, so its hashes count as the 32 bytes that others
/// read.
const SHA3: [Row; 3] = [
    (CUPQC, "RTX PRO 6000 Blackwell", "SHA3-256, 8 KiB each", 710.0, None, Some(1.44)),
    (ICICLE, "RTX 3090 Ti", "SHA3-256, 4 KiB each", 230.0, None, Some(1.5)),
    (HASHCAT_SHA3, "H100 SXM", "3.58 G candidates a second of 32 B", 114.56, None, None),
];

/// ParaSM2's lengths in KiB. (It says KB and MB; that these are powers of two is taken from their being
/// powers of four.)
const PARASM2_KIB: [u32; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// Source, device, work, and the milliseconds of each length.
type Delays = (&'static str, &'static str, &'static str, [f64; 6]);

pub(super) const TABLE_3: &str = "ParaSM2, Table 3";
pub(super) const TABLE_4: &str = "ParaSM2, Table 4";
pub(super) const X86: &str = "Core i7-11700";
pub(super) const ARM: &str = "Kunpeng 920";

const PARASM2: [Delays; 8] = [
    (TABLE_3, X86, "ParaSM2, encrypt", [0.946, 1.844, 5.403, 19.779, 77.049, 301.14]),
    (TABLE_3, X86, "SM2 digital envelope, encrypt", [1.26, 2.923, 9.136, 33.649, 131.882, 518.54]),
    (TABLE_3, ARM, "ParaSM2, encrypt", [0.869, 1.631, 4.892, 17.596, 69.551, 271.08]),
    (TABLE_3, ARM, "SM2 digital envelope, encrypt", [1.141, 2.476, 8.857, 31.623, 123.959, 482.85]),
    (TABLE_4, X86, "ParaSM2, decrypt", [0.676, 1.689, 5.87, 22.55, 88.42, 353.68]),
    (TABLE_4, X86, "SM2 digital envelope, decrypt", [0.962, 2.715, 8.023, 30.776, 124.829, 511.93]),
    (TABLE_4, ARM, "ParaSM2, decrypt", [0.695, 1.818, 5.898, 22.532, 88.953, 351.21]),
    (TABLE_4, ARM, "SM2 digital envelope, decrypt", [0.916, 2.501, 7.365, 28.621, 118.019, 472.09]),
];

/// C. Di Iorio, P. Costanzi Fantini: AES and SHA-3.
const AES_AND_SHA3: &str = "AES and SHA-3, slides";

/// Where they measured, with OpenSSL on the processor, and what they quote to set beside: C. Tezcan's figures, and
/// Li et al.'s of a GPU that is not named.
pub(super) const SLIDES_CPU: &str = "Ryzen 5 2600";
pub(super) const SLIDES_GPU: &str = "GTX 1650";
pub(super) const QUOTED_CPU: &str = "Core i7-10700F";
pub(super) const QUOTED_GPU: &str = "RTX 2070 Super";
pub(super) const QUOTED_NAIVE: &str = "GPU of Li et al.";

/// Their four implementations.
pub(super) const WITHOUT_AES: &str = "CPU without AES instructions";
pub(super) const WITH_AES: &str = "CPU with AES instructions";
pub(super) const NAIVE: &str = "naive CUDA";
pub(super) const OPTIMIZED: &str = "fully optimized CUDA";

/// Device, implementation, cipher in counter mode, Gbit/s, and Gbit/s per W. They do not say how many cores.
type SlidesRow = (&'static str, &'static str, &'static str, f64, Option<f64>);

const SLIDES: [SlidesRow; 17] = [
    (SLIDES_CPU, WITHOUT_AES, "AES-128", 5.58, Some(0.21)),
    (SLIDES_CPU, WITHOUT_AES, "AES-192", 4.70, Some(0.17)),
    (SLIDES_CPU, WITHOUT_AES, "AES-256", 3.94, Some(0.14)),
    (SLIDES_CPU, WITH_AES, "AES-128", 50.56, Some(1.69)),
    (SLIDES_CPU, WITH_AES, "AES-192", 47.79, Some(1.59)),
    (SLIDES_CPU, WITH_AES, "AES-256", 45.37, Some(1.51)),
    (QUOTED_CPU, WITH_AES, "AES-128", 134.7, Some(2.07)),
    (SLIDES_GPU, NAIVE, "AES-128", 9.0, Some(0.57)),
    (SLIDES_GPU, NAIVE, "AES-192", 8.61, Some(0.54)),
    (SLIDES_GPU, NAIVE, "AES-256", 8.1, Some(0.50)),
    (QUOTED_NAIVE, NAIVE, "AES-128", 14.6, None),
    (SLIDES_GPU, OPTIMIZED, "AES-128", 317.78, Some(5.43)),
    (SLIDES_GPU, OPTIMIZED, "AES-192", 259.44, Some(4.40)),
    (SLIDES_GPU, OPTIMIZED, "AES-256", 219.9, Some(3.75)),
    (QUOTED_GPU, OPTIMIZED, "AES-128", 878.6, Some(4.087)),
    (QUOTED_GPU, OPTIMIZED, "AES-192", 718.3, Some(3.34)),
    (QUOTED_GPU, OPTIMIZED, "AES-256", 606.9, Some(2.82)),
];

/// What the slides have of an implementation: Gbit/s, and per W.
pub(super) fn slides(
    device: &str,
    implementation: &str,
    cipher: &str,
) -> Option<(f64, Option<f64>)> {
    let is = |row: &&SlidesRow| (row.0, row.1, row.2) == (device, implementation, cipher);
    SLIDES.iter().find(is).map(|row| (row.3, row.4))
}

fn slides_of(device: impl Fn(&str) -> bool) -> Vec<Published> {
    SLIDES.into_iter().filter(|row| device(row.0)).map(of_slides).collect()
}

fn of_slides((device, implementation, cipher, gbit_per_s, per_watt): SlidesRow) -> Published {
    Published {
        source: AES_AND_SHA3.to_owned(),
        device: device.to_owned(),
        work: format!("{cipher}-CTR, {implementation}"),
        gb_per_s: gbit_per_s / 8.0,
        latency_ms: None,
        bytes_per_sm_clock: None,
        gbit_per_s_per_watt: per_watt,
    }
}

/// Those that belong to a suite.
pub(super) fn figures(suite: &str) -> Vec<Published> {
    match suite {
        super::SM3_GPU => FIGURES.map(of_kernel).into(),
        super::SHA3_GPU => SHA3.map(of_kernel).into(),
        super::AES => slides_of(|device| [SLIDES_CPU, QUOTED_CPU].contains(&device)),
        super::AES_GPU => slides_of(|device| ![SLIDES_CPU, QUOTED_CPU].contains(&device)),
        super::SM2 => PARASM2.iter().flat_map(parasm2).collect(),
        _ => Vec::new(),
    }
}

fn parasm2(&(source, device, work, delays): &Delays) -> impl Iterator<Item = Published> {
    PARASM2_KIB.into_iter().zip(delays).map(move |(kib, ms)| {
        let bytes = u64::from(kib) << 10;
        Published {
            source: source.to_owned(),
            device: device.to_owned(),
            work: format!("{work} {}", bytes_label(bytes)),
            gb_per_s: bytes as f64 / ms / 1e6,
            latency_ms: Some(ms),
            bytes_per_sm_clock: None,
            gbit_per_s_per_watt: None,
        }
    })
}

fn of_kernel(row: Row) -> Published {
    let (source, device, work, gb_per_s, latency_ms, bytes_per_sm_clock) = row;
    Published {
        source: source.to_owned(),
        device: device.to_owned(),
        work: work.to_owned(),
        gb_per_s,
        latency_ms,
        bytes_per_sm_clock,
        gbit_per_s_per_watt: None,
    }
}
