//! A run that never was, for tests.

use std::collections::BTreeMap;

use super::{
    latency::{self, LatencyGroup, LatencyLog},
    measure::{Cores, Effort, Group, Log, Logs, Plan, SEED, Sample, Verdict, Work},
    model::{
        ArmCounts, Build, ClockSetup, Counted, GpuSetup, Hardware, KernelSetup, Machines, Peer,
        SCHEMA_VERSION, Setup, SetupKind, Summary,
    },
};

/// Its setup.
pub(super) fn setup() -> Setup {
    let peer = |name: &str, version: Option<&str>| Peer {
        name: name.into(),
        version: version.map(str::to_owned),
        missing: version.is_none().then(|| "no such file".to_owned()),
    };
    Setup {
        schema_version: SCHEMA_VERSION,
        kind: SetupKind::Kind,
        date: "2000-02-29T00:00:00Z".into(),
        suites: vec!["suite".into()],
        quick: true,
        visits: Effort::QUICK.visits,
        samples_per_visit: Effort::QUICK.samples,
        sample_us: Effort::QUICK.sample.as_micros() as u64,
        seed: SEED,
        hardware: Hardware {
            arch: "x86_64".into(),
            cpu: "Example".into(),
            cpu_id: "Example family 6 model 1 stepping 0".into(),
            core: None,
            processors: 2,
            caches: BTreeMap::from([("L1 Data".into(), "32K".into())]),
            memory_bytes: Some(1 << 30),
            kernel: "Linux 6.1".into(),
            virtual_machine: Some(false),
        },
        build: Build {
            version: "0.1.0".into(),
            commit: None,
            compiler: "rustc 1.95.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release".into(),
        },
        clock: Some(ClockSetup {
            hz_by_add: 2e9,
            hz_by_other: 2.001e9,
            agree: true,
            readings: 201,
            disturbed: 3,
        }),
        machines: Machines {
            run: vec!["portable".into()],
            not_run: BTreeMap::from([("neon".into(), "of another architecture".into())]),
            forced: None,
        },
        gpus: vec![gpu()],
        peers: vec![peer("OpenSSL", Some("3.0")), peer("libgcrypt", None)],
    }
}

fn gpu() -> GpuSetup {
    GpuSetup {
        id: "cuda:0".into(),
        name: "Example GPU".into(),
        architecture: "sm_90".into(),
        driver: "12.2".into(),
        multiprocessors: 132,
        clock_hz: 1.98e9,
        memory_bytes: 80 << 30,
        integrated: false,
        pci: "0000:1b:00.0".into(),
        sensors: "clock and energy from NVML".into(),
        kernels: vec![KernelSetup {
            name: "sm3_hash_many".into(),
            block: 256,
            registers: 48,
            local_bytes: 0,
        }],
    }
}

/// One group with a contender of ours and a peer that takes twice as long.
pub(super) fn group() -> Group {
    Group {
        id: "suite/part/1".into(),
        part: "Part",
        parameter: "1".into(),
        unit: "messages",
        working_set: 100,
        base: Some("peer"),
        pairs: vec![("peer".into(), "ours".into())],
        cores: Cores::One,
        effort: None,
        same_output: false,
        build: Box::new(|_| Ok(Vec::new())),
    }
}

/// Ten visits of three samples, of which the machine disturbed one: it took ten times as long.
pub(super) fn log(name: &str, seconds: f64) -> Log {
    let sample = |i: u32| {
        let (visit, turn) = (i / 3, i % 3);
        let (verdict, times) =
            if turn == visit % 3 { (Verdict::Preempted, 10.0) } else { (Verdict::Kept, 1.0) };
        let seconds = seconds * times * (1.0 + f64::from(visit) / 100.0);
        Sample { visit, turn, seconds, hz: Some(2e9), joules: None, verdict }
    };
    Log {
        name: name.into(),
        kernel: None,
        peer: name == "peer",
        work: Work { bytes: 1000, units: 10, counted_clocks: Some(1e3) },
        calls: 2,
        samples: (0..30).map(sample).collect(),
    }
}

/// What it measured.
pub(super) fn plan_and_logs() -> (Plan, Logs) {
    let latencies = LatencyGroup {
        id: "suite/latency/1".into(),
        part: "Latency",
        parameter: "1".into(),
        unit: "messages",
        bytes_per_unit: 256,
        visit: Box::new(|_| Ok(Vec::new())),
    };
    let load = LatencyLog {
        contender: "half".into(),
        rates: vec![1e5; 10],
        visits: vec![latency::at_percentiles(&mut [1e-6, 2e-6, 3e-6]); 10],
    };
    let plan = Plan { groups: vec![group()], latencies: vec![latencies] };
    let groups = vec![vec![log("ours", 1e-6), log("peer", 2e-6)]];
    (plan, Logs { groups, latencies: vec![vec![load]] })
}

/// Its summary.
pub(super) fn summary() -> Summary {
    let (plan, logs) = plan_and_logs();
    let arm = ArmCounts {
        emulator: Some("emulator 1".into()),
        missing: None,
        counts: vec![Counted {
            group: "suite/part/1".into(),
            contender: "ours".into(),
            processor: "imitated".into(),
            bytes_per_call: 1000,
            instructions: 2500,
        }],
    };
    Summary { arm: Some(arm), ..super::summarise(setup(), &plan, &logs) }
}
