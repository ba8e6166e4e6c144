//! Figures of SM3 on GPUs that others have published, to set beside a run.

use super::model::Published;

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

/// All of them.
pub(super) fn figures() -> Vec<Published> {
    let figure =
        |(source, device, work, gb_per_s, latency_ms, bytes_per_sm_clock): Row| Published {
            source: source.to_owned(),
            device: device.to_owned(),
            work: work.to_owned(),
            gb_per_s,
            latency_ms,
            bytes_per_sm_clock,
        };
    FIGURES.map(figure).into()
}
