//! Follows secrets through one function's machine code.
//!
//! Every register and every word of the stack frame carries a [`Level`](super::state::Level): whether it is secret,
//! and if it is an address, what a load from there brings. Loops are walked until nothing
//! changes. What must not depend on a secret is then reported: conditions of branches, addresses,
//! operands of instructions that take their time by them.
//!
//! Unknown is secret: results of calls, memory that nothing is known about. Two things are taken
//! on trust, as compilers guarantee them: a store through a computed address does not overwrite
//! a general register that was saved on the stack, and what lies in read-only data is public.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize,
    Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

use super::state::{FLAGS, Kind, Level, PASSED, SAVED, State, Value, Word, unwritten};

/// Something that must not be, at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) address: u64,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A branch whose condition depends on a secret.
    Branch,
    /// A load or store whose address depends on a secret.
    Address,
    /// A gather or scatter: no kernel needs one.
    Gather,
    /// An instruction that takes its time by an operand that is secret.
    Latency,
    /// A jump to a computed place.
    IndirectJump,
    /// A call of a function that is not followed.
    Call(u64),
    /// A secret where the callee expects none.
    Argument(u64),
    /// A secret stored among public data.
    Store,
    /// Bytes that are no instruction, or a jump into the middle of nowhere.
    Undecodable,
}

/// What is found in a function.
#[derive(Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    /// Stores of vectors to the frame.
    pub(super) spills: usize,
    /// Calls between the ends of a loop.
    pub(super) calls_in_loops: Vec<u64>,
    /// Branches backwards.
    pub(super) loops: usize,
    pub(super) instructions: usize,
    /// Instructions that were followed, and those that only fill a gap and thus may not be.
    pub(super) reached: usize,
    pub(super) filling: usize,
}

/// How a call is followed.
pub(super) enum Callee<'a> {
    /// By itself, with these arguments.
    Followed(&'a [Level]),
    /// Copies or clears memory in time that depends on addresses and lengths alone.
    Memory,
    /// Never returns.
    Panic,
    /// Not at all.
    Unknown,
}

/// A function's machine code.
pub(super) struct Function<'a> {
    pub(super) address: u64,
    pub(super) code: &'a [u8],
}

impl Function<'_> {
    fn instructions(&self) -> BTreeMap<u64, Instruction> {
        let decoder = Decoder::with_ip(64, self.code, self.address, DecoderOptions::NONE);
        decoder.into_iter().map(|instruction| (instruction.ip(), instruction)).collect()
    }

    /// Follows secrets from arguments of the given levels.
    pub(super) fn follow<'c>(
        &self,
        arguments: &[Level],
        callee: impl Fn(u64) -> Callee<'c>,
    ) -> Report {
        let instructions = self.instructions();
        let mut walk = Walk { factory: InstructionInfoFactory::new(), callee, report: None };
        // What is known at the places where ways may meet.
        let meetings = meetings(&instructions);
        let mut known = BTreeMap::from([(self.address, State::at_entry(arguments))]);
        let mut todo = vec![self.address];
        while let Some(start) = todo.pop() {
            let mut state = known[&start].clone();
            for (&address, instruction) in instructions.range(start..) {
                if address != start && meetings.contains(&address) {
                    reach(address, &state, &mut known, &mut todo);
                    break;
                }
                let (target, goes_on) = walk.step(instruction, &mut state);
                if let Some(target) = target {
                    reach(target, &state, &mut known, &mut todo);
                }
                if !goes_on {
                    break;
                }
            }
        }
        // Nothing changes any more: look once more, and report.
        walk.report = Some(Report::default());
        let mut reached = 0;
        for (&start, state) in &known {
            let mut state = state.clone();
            if !instructions.contains_key(&start) {
                walk.find(start, What::Undecodable);
            }
            for (&address, instruction) in instructions.range(start..) {
                if address != start && meetings.contains(&address) {
                    break;
                }
                let (_, goes_on) = walk.step(instruction, &mut state);
                reached += 1;
                if !goes_on {
                    break;
                }
            }
        }
        let mut report = walk.report.unwrap_or_default();
        let filling = |i: &&Instruction| {
            matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3 | Mnemonic::Ud2)
        };
        report.reached = reached;
        report.filling = instructions.values().filter(filling).count();
        report.instructions = instructions.len();
        loops(&instructions, &mut report);
        report
    }
}

/// Targets of jumps.
fn meetings(instructions: &BTreeMap<u64, Instruction>) -> BTreeSet<u64> {
    let jumps = instructions.values().filter(|i| is_jump(i));
    jumps.map(Instruction::near_branch_target).collect()
}

fn is_jump(instruction: &Instruction) -> bool {
    let flow = instruction.flow_control();
    matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}

/// Joins what is known on the way to a place with what is known there.
fn reach(address: u64, state: &State, known: &mut BTreeMap<u64, State>, todo: &mut Vec<u64>) {
    let changed = match known.get_mut(&address) {
        Some(there) => there.join(state),
        None => known.insert(address, state.clone()).is_none(),
    };
    if changed {
        todo.push(address);
    }
}

/// Counts loops, and calls inside them: between a branch backwards and its target.
fn loops(instructions: &BTreeMap<u64, Instruction>, report: &mut Report) {
    for instruction in instructions.values() {
        if !is_jump(instruction) || instruction.near_branch_target() > instruction.ip() {
            continue;
        }
        report.loops += 1;
        let body = instructions.range(instruction.near_branch_target()..=instruction.ip());
        for (&address, _) in body.filter(|(_, i)| {
            matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        }) {
            if !report.calls_in_loops.contains(&address) {
                report.calls_in_loops.push(address);
            }
        }
    }
}

struct Walk<F> {
    factory: InstructionInfoFactory,
    callee: F,
    /// Present in the last walk only.
    report: Option<Report>,
}

impl<'c, F: Fn(u64) -> Callee<'c>> Walk<F> {
    fn find(&mut self, address: u64, what: What) {
        if let Some(report) = &mut self.report {
            report.findings.push(Finding { address, what });
        }
    }

    /// One instruction: where it may jump, and whether it may go on to the next.
    fn step(&mut self, instruction: &Instruction, state: &mut State) -> (Option<u64>, bool) {
        let address = instruction.ip();
        if instruction.is_invalid() {
            self.find(address, What::Undecodable);
            return (None, false);
        }
        match instruction.flow_control() {
            FlowControl::Next => {
                self.compute(instruction, state);
                (None, true)
            }
            FlowControl::ConditionalBranch => {
                let by_register = match instruction.mnemonic() {
                    Mnemonic::Jrcxz | Mnemonic::Jecxz | Mnemonic::Loop => {
                        state.get(Register::RCX).level()
                    }
                    _ => Level::Public,
                };
                if state.flags_read(instruction).max(by_register) == Level::Secret {
                    self.find(address, What::Branch);
                }
                (Some(instruction.near_branch_target()), true)
            }
            FlowControl::UnconditionalBranch => (Some(instruction.near_branch_target()), false),
            FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => (None, false),
            FlowControl::Call => {
                let goes_on = self.call(instruction, instruction.near_branch_target(), state);
                (None, goes_on)
            }
            FlowControl::IndirectCall => {
                // Through a table that the linker fills: `call [rip + …]`.
                let target = match instruction.is_ip_rel_memory_operand() {
                    true => instruction.ip_rel_memory_address(),
                    false => 0,
                };
                (None, self.call(instruction, target, state))
            }
            FlowControl::IndirectBranch | FlowControl::XbeginXabortXend => {
                self.find(address, What::IndirectJump);
                (None, false)
            }
        }
    }

    /// A call; whether it returns.
    fn call(&mut self, instruction: &Instruction, target: u64, state: &mut State) -> bool {
        let address = instruction.ip();
        match (self.callee)(target) {
            Callee::Panic => return false,
            Callee::Unknown => self.find(address, What::Call(target)),
            Callee::Memory => {
                if PASSED[..3].iter().any(|register| state.get(*register).level() == Level::Secret)
                {
                    self.find(address, What::Argument(target));
                }
            }
            Callee::Followed(arguments) => {
                // A worse value than the callee is followed with would not be followed.
                // To it, what this frame holds was there before.
                let worse = |(register, level): (&Register, &Level)| {
                    let passed = match (state.get(*register), level) {
                        // A table of addresses that this function has made: at least of as many
                        // as any machine has lanes.
                        (Value::Frame(base, offset), Level::ToAddresses) => {
                            let addresses = state.load(base, offset, 4 * size_of::<u64>());
                            if addresses < Level::Secret { Level::ToAddresses } else { addresses }
                        }
                        (Value::Frame(..) | Value::Of(Level::ToAnything), _) => Level::ToSecret,
                        (Value::Of(passed), _) => passed,
                    };
                    // A length or an address is as good as any public number.
                    passed > *level && (*level != Level::Public || passed == Level::Secret)
                };
                if PASSED.iter().zip(arguments).any(worse) {
                    self.find(address, What::Argument(target));
                }
            }
        }
        // Whatever the callee was given addresses of, it may have filled with secrets.
        if PASSED.iter().any(|register| matches!(state.get(*register), Value::Frame(..))) {
            state.store_somewhere(Level::Secret);
        }
        for (index, value) in state.registers.iter_mut().enumerate() {
            if !SAVED.iter().any(|register| *register as usize == index) {
                *value = Value::Of(Level::Secret);
            }
        }
        state.flags = [Level::Secret; FLAGS];
        true
    }

    /// An instruction that computes.
    fn compute(&mut self, instruction: &Instruction, state: &mut State) {
        let address = instruction.ip();
        let info = self.factory.info(instruction);
        let registers: Vec<_> =
            info.used_registers().iter().map(|used| (used.register(), used.access())).collect();
        let memory: Vec<UsedMemory> = info.used_memory().to_vec();

        // What it reads.
        let mut read = Level::Public;
        for &(register, access) in &registers {
            let is_address = memory.iter().any(|used| {
                [used.base(), used.index()]
                    .map(Register::full_register)
                    .contains(&register.full_register())
            }) && instruction.mnemonic() != Mnemonic::Lea;
            // The stack pointer is no data, and a register of an address is checked as such: it
            // counts as data only if an operand names it as well.
            let named = (0..instruction.op_count()).any(|i| {
                instruction.op_kind(i) == OpKind::Register
                    && instruction.op_register(i).full_register() == register.full_register()
            });
            if is_read(access) && register != Register::RSP && (!is_address || named) {
                read = read.max(state.get(register).level());
            }
        }
        read = read.max(state.flags_read(instruction));
        for used in memory.iter().filter(|used| used.access() != OpAccess::NoMemAccess) {
            if used.index().is_vector_register() {
                self.find(address, What::Gather);
                read = Level::Secret;
            }
            if address_level(used, state) == Level::Secret {
                self.find(address, What::Address);
            }
            if is_read(used.access()) {
                read = read.max(loaded(used, state));
            }
        }
        if read == Level::Secret && takes_its_time(instruction) {
            self.find(address, What::Latency);
        }

        // What it writes.
        let special = moved(instruction, state);
        let from_register = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Push)
            && (0..instruction.op_count()).any(|i| {
                let register = instruction.op_register(i);
                instruction.op_kind(i) == OpKind::Register
                    && (register.is_gpr64() || register.is_gpr32())
            });
        // A counter or an address may also be advanced where it is saved.
        let advanced = matches!(
            instruction.mnemonic(),
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec
        );
        for used in memory.iter().filter(|used| is_written(used.access())) {
            let level = special.map_or(read, Value::level);
            let size = used.memory_size();
            match place(used, state) {
                Some((base, offset)) => {
                    let kind = match from_register
                        || advanced && state.is_saved(base, offset, bytes(size))
                    {
                        true => Kind::Saved,
                        false => Kind::Variable,
                    };
                    state.store(base, offset, bytes(size), Word { level, kind });
                    if bytes(size) >= 16
                        && let Some(report) = &mut self.report
                    {
                        report.spills += 1;
                    }
                }
                None => match address_level(used, state) {
                    Level::ToAnything | Level::Public => state.store_somewhere(level),
                    Level::ToPublic | Level::ToAddresses if level == Level::Secret => {
                        self.find(address, What::Store);
                    }
                    _ => {}
                },
            }
        }
        for (register, access) in registers.into_iter().filter(|used| is_written(used.1)) {
            if register == Register::RSP && instruction.is_stack_instruction() {
                continue;
            }
            let value = special.unwrap_or(Value::Of(read));
            let partly = register.is_gpr8() || register.is_gpr16();
            let sometimes = matches!(access, OpAccess::CondWrite | OpAccess::ReadCondWrite);
            let value = if partly || sometimes { value.join(state.get(register)) } else { value };
            if let Value::Frame(base, _) = value {
                state.frames.entry(base).or_insert_with(unwritten);
            }
            state.set(register, value);
        }
        if instruction.is_stack_instruction()
            && let Value::Frame(base, offset) = state.get(Register::RSP)
        {
            let change = i64::from(instruction.stack_pointer_increment());
            state.set(Register::RSP, Value::Frame(base, offset + change));
        }
        // A shift by a count that may be zero may leave all flags alone.
        let sometimes = is_shift(instruction)
            && (0..instruction.op_count()).any(|i| {
                instruction.op_kind(i) == OpKind::Register
                    && instruction.op_register(i) == Register::CL
            });
        for (bit, flag) in state.flags.iter_mut().enumerate() {
            if instruction.rflags_modified() >> bit & 1 == 1 {
                *flag = if sometimes { read.max(*flag) } else { read };
            }
        }
    }
}

fn is_read(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn is_written(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn bytes(size: MemorySize) -> usize {
    size.size()
}

/// The place in a frame that an operand names, if it names one.
fn place(used: &UsedMemory, state: &State) -> Option<(u64, i64)> {
    if used.index() != Register::None || used.base() == Register::None {
        return None;
    }
    match state.get(used.base()) {
        Value::Frame(base, offset) => Some((base, offset + used.displacement() as i64)),
        Value::Of(_) => None,
    }
}

/// The level of an operand's address.
fn address_level(used: &UsedMemory, state: &State) -> Level {
    let of = |register| match register {
        Register::None => Level::Public,
        // Read-only data, or what the linker fills in.
        Register::RIP | Register::EIP => Level::ToPublic,
        register => state.get(register).level(),
    };
    let level = of(used.base()).max(of(used.index()));
    let constant = used.base() == Register::None && used.index() == Register::None;
    let of_thread = matches!(used.segment(), Register::FS | Register::GS);
    if constant && !of_thread { Level::ToPublic } else { level }
}

fn loaded(used: &UsedMemory, state: &State) -> Level {
    match place(used, state) {
        Some((base, offset)) => state.load(base, offset, bytes(used.memory_size())),
        None => address_level(used, state).loaded(),
    }
}

/// The result of instructions that move or make addresses, where it is more than a level.
fn moved(instruction: &Instruction, state: &State) -> Option<Value> {
    let target = instruction.op0_kind() == OpKind::Register;
    match instruction.mnemonic() {
        Mnemonic::Mov
            if target
                && instruction.op1_kind() == OpKind::Register
                && instruction.op0_register().is_gpr64() =>
        {
            Some(state.get(instruction.op1_register()))
        }
        Mnemonic::Lea if instruction.op0_register().is_gpr64() => {
            if instruction.is_ip_rel_memory_operand() {
                return Some(Value::Of(Level::ToPublic));
            }
            let base = instruction.memory_base();
            if instruction.memory_index() != Register::None || base == Register::None {
                return None;
            }
            match state.get(base) {
                Value::Frame(base, offset) => {
                    Some(Value::Frame(base, offset + instruction.memory_displacement64() as i64))
                }
                value => Some(value),
            }
        }
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And if target => {
            let Value::Frame(base, offset) = state.get(instruction.op0_register()) else {
                return None;
            };
            let immediate = match instruction.op1_kind() {
                OpKind::Immediate8to64 | OpKind::Immediate32to64 => instruction.immediate(1) as i64,
                _ => return None,
            };
            match instruction.mnemonic() {
                Mnemonic::Add => Some(Value::Frame(base, offset + immediate)),
                Mnemonic::Sub => Some(Value::Frame(base, offset - immediate)),
                _ => Some(Value::Frame(instruction.ip(), 0)),
            }
        }
        _ => None,
    }
}

fn is_shift(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instruction.mnemonic(), Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd)
}

/// Instructions whose duration depends on their operands on some processor. Repeated string
/// instructions take a time that their count and, when comparing, their data decide.
fn takes_its_time(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
        return instruction.is_string_instruction();
    }
    // Between registers these take the same time whatever the mask; what they touch of memory, it decides.
    if matches!(
        instruction.mnemonic(),
        Vpcompressb
            | Vpcompressw
            | Vpcompressd
            | Vpcompressq
            | Vcompressps
            | Vcompresspd
            | Vpexpandb
            | Vpexpandw
            | Vpexpandd
            | Vpexpandq
            | Vexpandps
            | Vexpandpd
    ) {
        return (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    }
    matches!(
        instruction.mnemonic(),
        Div | Idiv
            | Pdep
            | Pext
            | Divss
            | Divsd
            | Divps
            | Divpd
            | Vdivss
            | Vdivsd
            | Vdivps
            | Vdivpd
            | Sqrtss
            | Sqrtsd
            | Sqrtps
            | Sqrtpd
            | Vsqrtss
            | Vsqrtsd
            | Fdiv
            | Fdivp
            | Fdivr
            | Fdivrp
            | Fidiv
            | Fidivr
            | Fsqrt
            | Vsqrtps
            | Vsqrtpd
            | Maskmovdqu
            | Vmaskmovdqu
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in machine code with one secret behind rdi, a table of addresses behind rsi
    /// and a public number in rdx.
    fn found(code: &[u8]) -> Vec<What> {
        let arguments = [Level::ToSecret, Level::ToAddresses, Level::Public];
        let function = Function { address: 0x1000, code };
        let report = function.follow(&arguments, |_| Callee::Unknown);
        report.findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_depends_on_public_numbers_passes() {
        // mov rax, [rsi]; xor ecx, ecx; add ecx, [rax]; dec rdx; jne -5 to the add; mov [rdi], ecx
        let code = b"\x48\x8b\x06\x31\xc9\x03\x08\x48\xff\xca\x75\xf9\x89\x0f\xc3";
        assert_eq!(found(code), []);
        // The same through the stack: push rsi; pop rax; mov rax, [rax]; mov eax, [rax]; ret
        assert_eq!(found(b"\x56\x58\x48\x8b\x00\x8b\x00\xc3"), []);
    }

    #[test]
    fn planted_branches_are_found() {
        // cmp byte ptr [rdi], 0; jne +0; ret
        assert_eq!(found(b"\x80\x3f\x00\x75\x00\xc3"), [What::Branch]);
        // mov eax, [rdi]; lea rdx, [rdx + 1] (leaves flags); test eax, eax; jne +0; ret
        let code = b"\x8b\x07\x48\x8d\x52\x01\x85\xc0\x75\x00\xc3";
        assert_eq!(found(code), [What::Branch]);
        // add eax, [rdi] sets the carry; dec rdx leaves it; jc +0; ret
        assert_eq!(found(b"\x03\x07\x48\xff\xca\x72\x00\xc3"), [What::Branch]);
        // ... but not the zero flag: jne +0
        assert_eq!(found(b"\x03\x07\x48\xff\xca\x75\x00\xc3"), []);
        // xor ecx, ecx; add eax, [rdi]; test cl, 3 sets all flags: jne +0
        assert_eq!(found(b"\x31\xc9\x03\x07\xf6\xc1\x03\x75\x00\xc3"), []);
        // ... but shl edx, cl may not
        assert_eq!(found(b"\x31\xc9\x03\x07\xd3\xe2\x75\x00\xc3"), [What::Branch]);
    }

    #[test]
    fn planted_indices_are_found() {
        // movzx eax, byte ptr [rdi]; mov eax, [rsi + 4 * rax]; ret
        assert_eq!(found(b"\x0f\xb6\x07\x8b\x04\x86\xc3"), [What::Address]);
        // mov rax, [rsi]; mov rax, [rax]; mov eax, [rax]: a secret, taken for an address; ret
        assert_eq!(found(b"\x48\x8b\x06\x48\x8b\x00\x8b\x00\xc3"), [What::Address]);
        // Through the stack: mov eax, [rdi]; push rax; pop rcx; mov eax, [rcx]; ret
        assert_eq!(found(b"\x8b\x07\x50\x59\x8b\x01\xc3"), [What::Address]);
    }

    #[test]
    fn planted_loops_are_followed_until_nothing_changes() {
        // xor eax, eax; xor ecx, ecx; loop: mov r8d, [rsi + rax] ; mov eax, ecx; mov ecx, [rdi];
        // dec rdx; jne loop; ret: the secret becomes an index in the third turn.
        let code = b"\x31\xc0\x31\xc9\x44\x8b\x04\x06\x89\xc8\x8b\x0f\x48\xff\xca\x75\xf3\xc3";
        assert_eq!(found(code), [What::Address]);
    }

    #[test]
    fn other_plants_are_found() {
        // mov eax, [rdi]; xor edx, edx; div ecx; ret: rcx is an undeclared argument, so secret
        assert_eq!(found(b"\x8b\x07\x31\xd2\xf7\xf1\xc3"), [What::Latency]);
        // vpexpandq zmm0{k1}, [rdi]: k1 is an undeclared argument too; between registers it passes
        assert_eq!(found(b"\x62\xf2\xfd\x49\x89\x07\xc3"), [What::Latency]);
        assert_eq!(found(b"\x62\xf2\xfd\xc9\x89\xc3\xc3"), []);
        // jmp rdx
        assert_eq!(found(b"\xff\xe2"), [What::IndirectJump]);
        // call +0; ret
        assert_eq!(found(b"\xe8\x00\x00\x00\x00\xc3"), [What::Call(0x1005)]);
        // mov eax, [rdi]; mov [rsi], eax; ret
        assert_eq!(found(b"\x8b\x07\x89\x06\xc3"), [What::Store]);
        // vpgatherdd xmm0, [rsi + xmm1], xmm2; ret
        assert!(found(b"\xc4\xe2\x69\x90\x04\x0e\xc3").contains(&What::Gather));
        // Half an instruction.
        assert_eq!(found(b"\x8b"), [What::Undecodable]);
    }
}
