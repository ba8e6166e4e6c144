//! Reading and writing of OpenSSL's parameters.
#![allow(unsafe_code, reason = "parameters are addresses with lengths")]

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    slice,
};

use zeroize::Zeroizing;

use crate::{
    abi::{Callback, INTEGER, OCTETS, OCTETS_PTR, Param, TEXT, TEXT_PTR, UNSIGNED},
    failure::{Failure, Reason},
};

/// A length, and as many bytes if there are any.
pub(crate) type Octets<'a> = (usize, Option<&'a [u8]>);

/// Parameters that the caller sets.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a>(&'a [Param]);

/// Parameters that the caller asks for.
pub(crate) struct Asked<'a>(&'a mut [Param]);

/// Entries before the last, which has no name.
///
/// # Safety
/// The address is null, or of a list with such an end.
unsafe fn count(list: *const Param) -> usize {
    if list.is_null() {
        return 0;
    }
    // SAFETY: no entry after the last is looked at.
    (0..).take_while(|&i| unsafe { !(*list.add(i)).key.is_null() }).count()
}

fn has_name(param: &Param, name: &CStr) -> bool {
    // SAFETY: names are texts with a zero at their end.
    unsafe { CStr::from_ptr(param.key) == name }
}

impl<'a> Params<'a> {
    /// # Safety
    /// The address is null or that of a list as OpenSSL defines it, which stays as it is for the time `'a`.
    pub(crate) unsafe fn new(list: *const Param) -> Self {
        // SAFETY: as the caller says.
        match unsafe { count(list) } {
            0 => Params(&[]),
            // SAFETY: so many entries there are.
            count => Params(unsafe { slice::from_raw_parts(list, count) }),
        }
    }

    fn find(self, name: &CStr) -> Option<&'a Param> {
        self.0.iter().find(|param| has_name(param, name))
    }

    /// Whether it is there, whatever it is.
    pub(crate) fn has(self, name: &CStr) -> bool {
        self.find(name).is_some()
    }

    /// A small number.
    pub(crate) fn number(self, name: &CStr) -> Result<Option<u64>, Failure> {
        let Some(param) = self.find(name) else { return Ok(None) };
        if !matches!(param.data_type, INTEGER | UNSIGNED) {
            return Err(Reason::Parameter.into());
        }
        let bytes = content(param).ok_or(Reason::Parameter)?;
        let mut number = [0; 8];
        let is_negative = cfg!(target_endian = "little")
            && param.data_type == INTEGER
            && bytes.last().is_some_and(|byte| *byte >= 0x80);
        if bytes.is_empty() || bytes.len() > 8 || is_negative {
            return Err(Reason::Parameter.into());
        }
        place(bytes, &mut number);
        Ok(Some(u64::from_ne_bytes(number)))
    }

    /// A number as long as the curve's, big-endian.
    pub(crate) fn big_number(self, name: &CStr) -> Result<Option<Zeroizing<[u8; 32]>>, Failure> {
        let Some(param) = self.find(name) else { return Ok(None) };
        let bytes = content(param).filter(|_| param.data_type == UNSIGNED);
        let bytes = bytes.ok_or(Reason::Parameter)?;
        let mut number = Zeroizing::new([0; 32]);
        let significant = |byte: usize| match cfg!(target_endian = "little") {
            true => bytes[byte],
            false => bytes[bytes.len() - 1 - byte],
        };
        let mut above = 0;
        for i in 0..bytes.len() {
            match i < 32 {
                true => number[31 - i] = significant(i),
                false => above |= significant(i),
            }
        }
        if above != 0 {
            return Err(Reason::Parameter.into());
        }
        Ok(Some(number))
    }

    /// Bytes.
    pub(crate) fn octets(self, name: &CStr) -> Result<Option<&'a [u8]>, Failure> {
        let Some(param) = self.find(name) else { return Ok(None) };
        let bytes = content(param).filter(|_| param.data_type == OCTETS);
        Ok(Some(bytes.ok_or(Reason::Parameter)?))
    }

    /// The length of bytes that may have no content, as where it says how many will come.
    pub(crate) fn octets_len(self, name: &CStr) -> Result<Option<Octets<'a>>, Failure> {
        let Some(param) = self.find(name) else { return Ok(None) };
        if param.data_type != OCTETS {
            return Err(Reason::Parameter.into());
        }
        let content = if param.data.is_null() { None } else { content(param) };
        Ok(Some((param.data_size, content)))
    }

    /// Text, without the zero that may be at its end.
    pub(crate) fn text(self, name: &CStr) -> Result<Option<&'a str>, Failure> {
        let Some(param) = self.find(name) else { return Ok(None) };
        let bytes = match param.data_type {
            TEXT => content(param).ok_or(Reason::Parameter)?,
            _ => return Err(Reason::Parameter.into()),
        };
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Some(std::str::from_utf8(text).map_err(|_| Reason::Parameter)?))
    }
}

/// Bytes of a parameter.
fn content(param: &Param) -> Option<&[u8]> {
    if param.data.is_null() && param.data_size > 0 {
        return None;
    }
    // SAFETY: there is what the list says, and it stays as it is.
    unsafe { crate::entry::bytes(param.data.cast(), param.data_size) }.ok()
}

/// Puts a number of the machine's order in a longer place of that order.
fn place(bytes: &[u8], number: &mut [u8]) {
    let gap = number.len() - bytes.len();
    match cfg!(target_endian = "little") {
        true => number[..bytes.len()].copy_from_slice(bytes),
        false => number[gap..].copy_from_slice(bytes),
    }
}

impl<'a> Asked<'a> {
    /// # Safety
    /// As [`Params::new`]; and nobody else uses the list meanwhile.
    pub(crate) unsafe fn new(list: *mut Param) -> Self {
        // SAFETY: as the caller says.
        match unsafe { count(list) } {
            0 => Asked(&mut []),
            // SAFETY: so many entries there are.
            count => Asked(unsafe { slice::from_raw_parts_mut(list, count) }),
        }
    }

    fn find(&mut self, name: &CStr) -> Option<&mut Param> {
        self.0.iter_mut().find(|param| has_name(param, name))
    }

    /// Whether it is asked for: what takes time to find out is found out only then.
    pub(crate) fn has(&mut self, name: &CStr) -> bool {
        self.find(name).is_some()
    }

    /// Answers with a number, if that is asked for.
    pub(crate) fn number(&mut self, name: &CStr, number: u64) -> Result<(), Failure> {
        let Some(param) = self.find(name) else { return Ok(()) };
        if !matches!(param.data_type, INTEGER | UNSIGNED) {
            return Err(Reason::Parameter.into());
        }
        if param.data.is_null() {
            param.return_size = 8;
            return Ok(());
        }
        let bytes = number.to_ne_bytes();
        let max = match (param.data_size, param.data_type) {
            (4, INTEGER) => i32::MAX as u64,
            (4, _) => u32::MAX.into(),
            (8, INTEGER) => i64::MAX as u64,
            (8, _) => u64::MAX,
            _ => return Err(Reason::Parameter.into()),
        };
        if number > max {
            return Err(Reason::Parameter.into());
        }
        let part = match (param.data_size, cfg!(target_endian = "little")) {
            (4, true) => &bytes[..4],
            (4, false) => &bytes[4..],
            _ => &bytes[..],
        };
        answer(param, part)
    }

    /// Answers with bytes.
    pub(crate) fn octets(&mut self, name: &CStr, bytes: &[u8]) -> Result<(), Failure> {
        let Some(param) = self.find(name) else { return Ok(()) };
        match param.data_type {
            OCTETS => answer(param, bytes),
            _ => Err(Reason::Parameter.into()),
        }
    }

    /// Answers with bytes, or with their address, by which the caller may also write: they must be the context's.
    pub(crate) fn held(&mut self, name: &CStr, bytes: &mut [u8]) -> Result<(), Failure> {
        let Some(param) = self.find(name) else { return Ok(()) };
        match param.data_type {
            OCTETS => answer(param, bytes),
            OCTETS_PTR => answer_address(param, bytes.as_mut_ptr(), bytes.len()),
            _ => Err(Reason::Parameter.into()),
        }
    }

    /// How many bytes are asked for, if any are.
    pub(crate) fn octets_room(&mut self, name: &CStr) -> Option<usize> {
        self.find(name).filter(|param| param.data_type == OCTETS).map(|param| param.data_size)
    }

    /// Answers with a text.
    pub(crate) fn text(&mut self, name: &CStr, text: &'static CStr) -> Result<(), Failure> {
        let Some(param) = self.find(name) else { return Ok(()) };
        let bytes = text.to_bytes();
        match param.data_type {
            TEXT if param.data_size > bytes.len() => {
                answer(param, text.to_bytes_with_nul())?;
                param.return_size = bytes.len();
                Ok(())
            }
            TEXT => answer(param, bytes),
            TEXT_PTR => answer_address(param, bytes.as_ptr(), bytes.len()),
            _ => Err(Reason::Parameter.into()),
        }
    }

    /// Answers with a big-endian number, filled up with zeros as OpenSSL does.
    pub(crate) fn big_number(&mut self, name: &CStr, number: &[u8]) -> Result<(), Failure> {
        let Some(param) = self.find(name) else { return Ok(()) };
        if param.data_type != UNSIGNED {
            return Err(Reason::Parameter.into());
        }
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let number = &number[zeros.min(number.len() - 1)..];
        if param.data.is_null() {
            param.return_size = number.len();
            return Ok(());
        }
        if param.data_size < number.len() {
            return Err(Reason::Parameter.into());
        }
        let mut bytes = Zeroizing::new(vec![0; param.data_size]);
        let at = bytes.len() - number.len();
        bytes[at..].copy_from_slice(number);
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        answer(param, &bytes)
    }
}

/// Writes bytes where the caller has room for them, and says how many they are.
fn answer(param: &mut Param, bytes: &[u8]) -> Result<(), Failure> {
    param.return_size = bytes.len();
    if param.data.is_null() {
        return Ok(());
    }
    if param.data_size < bytes.len() {
        return Err(Reason::Parameter.into());
    }
    // SAFETY: there is room for so many, and it is nobody else's meanwhile.
    unsafe { param.data.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Writes the address of bytes that live on: static ones, or a context's.
fn answer_address(param: &mut Param, bytes: *const u8, len: usize) -> Result<(), Failure> {
    param.return_size = len;
    if !param.data.is_null() {
        // SAFETY: parameters of this type have room for an address.
        unsafe { param.data.cast::<*const u8>().write(bytes) };
    }
    Ok(())
}

/// Parameters that are handed to a callback. What they hold is wiped.
#[derive(Default)]
pub(crate) struct Built {
    list: Vec<Param>,
    /// What the list has addresses of.
    contents: Vec<Zeroizing<Vec<u8>>>,
}

impl Built {
    fn push(&mut self, name: &'static CStr, data_type: u32, content: Vec<u8>) {
        let mut content = Zeroizing::new(content);
        let data = content.as_mut_ptr().cast();
        let data_size = content.len();
        self.contents.push(content);
        self.list.push(Param { data, data_size, ..Param::described(name, data_type) });
    }

    pub(crate) fn integer(&mut self, name: &'static CStr, number: c_int) {
        self.push(name, INTEGER, number.to_ne_bytes().to_vec());
    }

    pub(crate) fn text(&mut self, name: &'static CStr, text: &CStr) {
        self.push(name, TEXT, text.to_bytes_with_nul().to_vec());
        if let Some(param) = self.list.last_mut() {
            param.data_size -= 1;
        }
    }

    pub(crate) fn octets(&mut self, name: &'static CStr, bytes: &[u8]) {
        self.push(name, OCTETS, bytes.to_vec());
    }

    /// The address of a place that holds an address.
    pub(crate) fn reference(&mut self, name: &'static CStr, place: &mut *mut c_void) {
        let data = std::ptr::from_mut(place).cast();
        let data_size = size_of::<*mut c_void>();
        self.list.push(Param { data, data_size, ..Param::described(name, OCTETS) });
    }

    /// A number, which comes big-endian.
    pub(crate) fn big_number(&mut self, name: &'static CStr, number: &[u8]) {
        let mut bytes = number.to_vec();
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        self.push(name, UNSIGNED, bytes);
    }

    /// Hands them over.
    ///
    /// # Safety
    /// The callback is the core's, with its argument; references hold addresses that it may take.
    pub(crate) unsafe fn hand_over(mut self, callback: Callback, argument: *mut c_void) -> c_int {
        self.list.push(Param::END);
        // SAFETY: as the caller says; the contents live to the end of the call.
        unsafe { callback(self.list.as_ptr(), argument) }
    }
}

/// A text of the caller's.
///
/// # Safety
/// The address is null or of a text with a zero at its end.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    Some(unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &'static CStr, data_type: u32, data: &mut [u8]) -> [Param; 2] {
        let param = Param::described(name, data_type);
        [Param { data: data.as_mut_ptr().cast(), data_size: data.len(), ..param }, Param::END]
    }

    #[test]
    fn numbers_of_any_size_are_read() {
        for len in 1..=8 {
            let mut data = 5u64.to_le_bytes()[..len].to_vec();
            let list = param(c"n", UNSIGNED, &mut data);
            // SAFETY: the list has an end, and lives on.
            let params = unsafe { Params::new(list.as_ptr()) };
            assert_eq!(params.number(c"n").unwrap(), Some(5));
            assert!(params.text(c"n").is_err() && params.octets(c"n").is_err());
            assert!(params.number(c"other").unwrap().is_none());
            assert_eq!(params.big_number(c"n").unwrap().unwrap()[31], 5);
        }
        let mut negative = (-1i32).to_ne_bytes();
        let list = param(c"n", INTEGER, &mut negative);
        // SAFETY: as above.
        assert!(unsafe { Params::new(list.as_ptr()) }.number(c"n").is_err());
        let mut long = [1; 33];
        let list = param(c"n", UNSIGNED, &mut long);
        // SAFETY: as above.
        let params = unsafe { Params::new(list.as_ptr()) };
        assert!(params.number(c"n").is_err() && params.big_number(c"n").is_err());
    }

    #[test]
    fn answers_stay_in_their_room() {
        let mut data = [0xaa; 8];
        let mut list = param(c"n", OCTETS, &mut data[..4]);
        // SAFETY: the list has an end, and is nobody else's.
        let mut asked = unsafe { Asked::new(list.as_mut_ptr()) };
        assert!(asked.octets(c"n", b"12345").is_err());
        asked.octets(c"n", b"123").unwrap();
        assert_eq!(list[0].return_size, 3);
        assert_eq!(&data, b"123\xaa\xaa\xaa\xaa\xaa");
        let mut list = param(c"n", TEXT, &mut data[..4]);
        // SAFETY: as above.
        let mut asked = unsafe { Asked::new(list.as_mut_ptr()) };
        assert!(asked.text(c"n", c"12345").is_err());
        asked.text(c"n", c"SM2").unwrap();
        assert_eq!((list[0].return_size, &data), (3, b"SM2\0\xaa\xaa\xaa\xaa"));
        let mut list = param(c"n", UNSIGNED, &mut data[..4]);
        // SAFETY: as above.
        let mut asked = unsafe { Asked::new(list.as_mut_ptr()) };
        assert!(asked.number(c"n", 1 << 32).is_err() && asked.big_number(c"n", &[1; 5]).is_err());
        asked.number(c"n", 7).unwrap();
        assert_eq!(data[..4], 7u32.to_ne_bytes());
        assert_eq!(data[4..], [0xaa; 4]);
    }
}
