//! A program's functions by name.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl};
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget,
    SymbolKind,
};

use super::taint::Function;
use crate::Result;

pub(super) struct Program<'a> {
    /// Functions by address.
    functions: BTreeMap<u64, Symbol<'a>>,
    /// Names of what the linker writes the address of, by where it writes it: a call through
    /// such a place is a call of that name.
    linked: BTreeMap<u64, String>,
}

struct Symbol<'a> {
    name: String,
    code: &'a [u8],
}

impl<'a> Program<'a> {
    pub(super) fn read(file: &'a [u8]) -> Result<Self> {
        let file = object::File::parse(file).map_err(|error| error.to_string())?;
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
            let (address, size) = (symbol.address(), symbol.size());
            let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
            let code = section.and_then(|section| section.data_range(address, size).ok().flatten());
            let (Some(code), Ok(name)) = (code.filter(|code| !code.is_empty()), symbol.name())
            else {
                continue;
            };
            // `{:#}` leaves the hash out.
            let name = format!("{:#}", rustc_demangle::demangle(name));
            functions.insert(address, Symbol { name, code });
        }
        if functions.is_empty() {
            return Err("no symbols: is it stripped?".into());
        }
        let name_of = |address: u64| functions.get(&address).map(|symbol: &Symbol| &symbol.name);
        let mut linked = BTreeMap::new();
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let dynamic = file.dynamic_symbol_table();
            let name = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    use object::ObjectSymbolTable as _;
                    dynamic.as_ref().and_then(|table| table.symbol_by_index(index).ok()).and_then(
                        |symbol| {
                            symbol.name().ok().map(|n| n.split('@').next().unwrap_or(n).into())
                        },
                    )
                }
                _ => match relocation.flags() {
                    RelocationFlags::Elf { .. } => {
                        name_of(relocation.addend().cast_unsigned()).cloned()
                    }
                    _ => None,
                },
            };
            if let Some(name) = name {
                linked.insert(place, name);
            }
        }
        Ok(Program { functions, linked })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.values().map(|symbol| symbol.name.as_str())
    }

    /// The functions of that name: of a generic one, each that was made of it.
    pub(super) fn functions(&self, name: &str) -> impl Iterator<Item = Function<'a>> {
        let named = self.functions.iter().filter(move |(_, symbol)| symbol.name == name);
        named.map(|(address, symbol)| Function { address: *address, code: symbol.code })
    }

    /// The name of the function at an address, or called through it.
    pub(super) fn name_of(&self, address: u64) -> Option<&str> {
        let function = self.functions.get(&address).map(|symbol| &symbol.name);
        function.or_else(|| self.linked.get(&address)).map(String::as_str)
    }

    /// The name of what the call at an address calls.
    pub(super) fn call_at(&self, address: u64) -> Option<&str> {
        let (start, symbol) = self.functions.range(..=address).next_back()?;
        let code = symbol.code.get((address - start) as usize..)?;
        let call = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
        match call.flow_control() {
            FlowControl::Call => self.name_of(call.near_branch_target()),
            _ if call.is_ip_rel_memory_operand() => self.name_of(call.ip_rel_memory_address()),
            _ => None,
        }
    }
}
