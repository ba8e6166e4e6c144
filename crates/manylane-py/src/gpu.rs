//! Arrays that are on a GPU already: what is computed of them stays there, in the order of the caller's stream.
#![allow(unsafe_code)]

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use manylane::hash::{Algorithm, Midstate};
use manylane_gpu::{
    DeviceId, DeviceMessages, DevicePointer, Event, Gpu, Layout, Sha3, Sm3, Stream, Vendor,
    Workspace,
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    array_interface,
    device_array::DeviceArray,
    dlpack::{self, Foreign, Item, Where},
    error::{self, DeviceError, Error, library},
    hash::name_of,
    input::Input,
    memory::{Offsets, slice, span, stride_of},
    opened::{Opened, open},
    pool::{self, Block},
    streams::{self, Number},
};

/// Workspaces that are kept: streams come and go.
const MOST_WORKSPACES: usize = 16;

/// Messages in a GPU's memory.
pub(crate) struct DeviceInput {
    opened: Arc<Opened>,
    number: Number,
    /// Whether the caller has named the stream.
    is_asked: bool,
    /// What keeps the stream, where that is an object.
    stream_object: Option<Py<PyAny>>,
    messages: DeviceMessages,
    /// Addresses that are read.
    range: Range<u64>,
    /// Bytes of all messages.
    bytes: u64,
    /// Offsets, as they were checked, on the device.
    offsets: Option<Block>,
    /// What keeps the memory until the stream has passed the work.
    owner: Vec<Py<PyAny>>,
}

/// A tensor in the host's memory, whose rows are messages.
pub(crate) struct HostTensor {
    address: usize,
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) stride: usize,
    _owner: Vec<Py<PyAny>>,
}

impl HostTensor {
    /// All of it.
    pub(crate) fn data(&self) -> &[u8] {
        let len = span(self.count, self.len, self.stride).expect("as `input` has found");
        // SAFETY: the tensor's owner is held, and these are its bounds.
        unsafe { slice(std::ptr::with_exposed_provenance(self.address), len) }
    }
}

/// The rows of an array: their number, length and stride.
fn rows(array: &Foreign) -> PyResult<(usize, usize, usize)> {
    if array.item != Item::U8 {
        return Err(PyTypeError::new_err("rows must be of uint8"));
    }
    let (&[count, len], &[stride, step]) = (&array.shape[..], &array.strides[..]) else {
        return Err(PyValueError::new_err(format!(
            "an array of {} dimensions where two are needed",
            array.shape.len()
        )));
    };
    if len > 1 && step != 1 {
        return Err(PyValueError::new_err("the bytes of a row are not contiguous"));
    }
    Ok((count, len, stride_of(count, len, stride)?))
}

/// An array with one of the protocols for devices; none if the object has none.
fn foreign(
    object: &Bound<'_, PyAny>,
    number: Option<Number>,
) -> PyResult<Option<(Foreign, Number)>> {
    if object.hasattr("__dlpack_device__")? && object.hasattr("__dlpack__")? {
        let place = dlpack::place(object)?;
        let Where::Gpu(vendor, _) = place else {
            return Ok(Some((dlpack::tensor(object, None)?, Number::DEFAULT)));
        };
        let own = streams::current(object)?;
        let number = number.or(own).unwrap_or(Number::DEFAULT);
        let mut tensor = dlpack::tensor(object, Some(number.of_dlpack(vendor)))?;
        tensor.own = own;
        if own == Some(number) {
            streams::note_use(object)?;
        }
        return Ok(Some((tensor, number)));
    }
    array_interface::foreign(object, number)
}

/// Checks that a device has the memory that an array says is there.
fn check_memory(gpu: &Gpu, array: &Foreign) -> PyResult<()> {
    let span = array.span() as u64;
    if span == 0 {
        return Ok(());
    }
    let last = array.address.checked_add(span - 1);
    let id = gpu.info().id;
    let is_ours = |at: u64| {
        gpu.device_of(DevicePointer(at)).map(|place| place == Some(id)).map_err(error::device)
    };
    match last {
        Some(last) if is_ours(array.address)? && is_ours(last)? => Ok(()),
        _ => Err(DeviceError::new_err(format!("the array is not in the memory of {id}"))),
    }
}

/// Messages on a GPU, or in a tensor of the host; none if the object is neither.
pub(crate) fn input(
    object: &Bound<'_, PyAny>,
    offsets: Option<&Bound<'_, PyAny>>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Input>> {
    let py = object.py();
    let asked = stream.map(streams::asked).transpose()?;
    let stream_object = stream.filter(|_| asked.is_some()).map(|stream| stream.clone().unbind());
    let Some((array, number)) = foreign(object, asked)? else { return Ok(None) };
    let Where::Gpu(vendor, ordinal) = array.place else {
        if offsets.is_some() {
            return Err(PyTypeError::new_err("offsets are for buffers and arrays on a GPU"));
        }
        let (count, len, stride) = rows(&array)?;
        let address = array.address as usize;
        if span(count, len, stride).is_none_or(|bytes| bytes > 0 && address == 0) {
            return Err(PyValueError::new_err("a tensor whose description makes no sense"));
        }
        let tensor = HostTensor { address, count, len, stride, _owner: array.owner };
        return Ok(Some(Input::Tensor(tensor)));
    };
    let opened = open(py, DeviceId { vendor, ordinal })?;
    check_memory(&opened.gpu, &array)?;
    number.check(vendor)?;
    let span = array.span() as u64;
    let data = DevicePointer(array.address);
    let mut input = DeviceInput {
        opened,
        number,
        is_asked: asked.is_some(),
        stream_object,
        messages: DeviceMessages { count: 0, layout: Layout::Strided { data, len: 0, stride: 0 } },
        range: array.range(),
        bytes: 0,
        offsets: None,
        owner: Vec::new(),
    };
    match offsets {
        None => {
            let (count, len, stride) = rows(&array)?;
            let layout = Layout::Strided { data, len: len as u64, stride: stride as u64 };
            input.messages = DeviceMessages { count, layout };
            input.bytes = count as u64 * len as u64;
        }
        Some(offsets) => {
            if array.item != Item::U8 || array.shape.len() != 1 || !array.is_contiguous() {
                return Err(PyTypeError::new_err(
                    "the data that offsets count in must be one contiguous dimension of uint8",
                ));
            }
            input.cut(py, offsets, data, span)?;
        }
    }
    input.owner.extend(array.into_kept(number));
    Ok(Some(Input::Device(input)))
}

impl DeviceInput {
    fn id(&self) -> DeviceId {
        self.opened.gpu.info().id
    }

    fn stream(&self) -> Stream {
        stream_of(&self.opened.gpu, self.number)
    }

    /// Takes offsets, which are checked on the host: one that points past the data would end the work of everybody
    /// who uses the device's context. The kernel reads a copy of what was checked, so that nothing else can change them.
    fn cut(
        &mut self,
        py: Python<'_>,
        offsets: &Bound<'_, PyAny>,
        data: DevicePointer,
        len: u64,
    ) -> PyResult<()> {
        let on_host = crate::memory::view(offsets).is_ok();
        let numbers = if on_host { Offsets::of(offsets)? } else { self.download(py, offsets)? };
        let (count, bytes) = match &numbers {
            Offsets::Short(numbers) => checked(numbers, len)?,
            Offsets::Long(numbers) => checked(numbers, len)?,
        };
        let at = self.upload(py, &numbers)?;
        let layout = match numbers {
            Offsets::Short(_) => Layout::Offsets32 { data, offsets: at, base: 0 },
            Offsets::Long(_) => Layout::Offsets64 { data, offsets: at, base: 0 },
        };
        (self.messages, self.bytes) = (DeviceMessages { count, layout }, bytes);
        Ok(())
    }

    fn upload(&mut self, py: Python<'_>, numbers: &Offsets) -> PyResult<DevicePointer> {
        let bytes: Vec<u8> = match numbers {
            Offsets::Short(numbers) => numbers.iter().flat_map(|n| n.to_ne_bytes()).collect(),
            Offsets::Long(numbers) => numbers.iter().flat_map(|n| n.to_ne_bytes()).collect(),
        };
        let (stream, number) = (self.stream(), self.number);
        let write = || {
            let mut block = pool::block(stream.gpu(), number, bytes.len().max(8))?;
            block.memory_mut().write(0, &bytes, &stream)?;
            Ok(block)
        };
        let block = py.detach(write).map_err(error::device)?;
        let at = block.pointer();
        self.offsets = Some(block);
        Ok(at)
    }

    fn download(&self, py: Python<'_>, offsets: &Bound<'_, PyAny>) -> PyResult<Offsets> {
        let Some((array, _)) = foreign(offsets, Some(self.number))? else {
            return Err(PyTypeError::new_err("offsets must be an array of integers"));
        };
        let id = self.id();
        if array.place != Where::Gpu(id.vendor, id.ordinal) {
            return Err(DeviceError::new_err(format!(
                "the offsets are not on {id}, as the data is"
            )));
        }
        check_memory(&self.opened.gpu, &array)?;
        if array.shape.len() != 1 || !array.is_contiguous() {
            return Err(PyValueError::new_err("offsets must be one contiguous dimension"));
        }
        if !array.address.is_multiple_of(array.item.size() as u64) {
            return Err(PyValueError::new_err("offsets are not aligned to their size"));
        }
        let (at, stream, count) = (DevicePointer(array.address), self.stream(), array.shape[0]);
        let mut bytes = vec![0; count * array.item.size()];
        // SAFETY: the device has the memory, which the array's owner keeps.
        py.detach(|| unsafe { stream.read(at, &mut bytes) }).map_err(error::device)?;
        let numbers = match array.item {
            Item::Bits32 => {
                Offsets::Short(bytes.as_chunks().0.iter().map(|n| u32::from_ne_bytes(*n)).collect())
            }
            Item::Bits64 => {
                Offsets::Long(bytes.as_chunks().0.iter().map(|n| u64::from_ne_bytes(*n)).collect())
            }
            Item::U8 | Item::Other => {
                return Err(PyTypeError::new_err(
                    "offsets must be of uint32, int32, uint64 or int64",
                ));
            }
        };
        Ok(numbers)
    }
}

/// The number of messages and their bytes, if the offsets do not decrease and none points past `len` bytes.
fn checked<T: Copy + Into<u64>>(offsets: &[T], len: u64) -> PyResult<(usize, u64)> {
    let mut previous = 0;
    for (index, &offset) in offsets.iter().enumerate() {
        let offset = offset.into();
        if offset < previous || offset > len {
            return Err(library(manylane::Error::Offset { index }));
        }
        previous = offset;
    }
    let first = offsets.first().map_or(0, |&first| first.into());
    Ok((offsets.len().saturating_sub(1), previous - first))
}

/// Where the results of a call go.
enum Target {
    New(Block),
    /// The caller's, with its owner and the stream that its library works on.
    Given(DevicePointer, Vec<Py<PyAny>>, Option<Number>),
}

impl Target {
    fn pointer(&self) -> DevicePointer {
        match self {
            Target::New(block) => block.pointer(),
            Target::Given(pointer, ..) => *pointer,
        }
    }

    /// Room for results of `len` bytes, apart from the input and whatever else is read.
    fn of(
        py: Python<'_>,
        input: &DeviceInput,
        others: Option<&DeviceInput>,
        out: Option<&Bound<'_, PyAny>>,
        len: usize,
    ) -> PyResult<Self> {
        let count = input.messages.count;
        let bytes =
            count.checked_mul(len).ok_or_else(|| PyValueError::new_err("too many results"))?;
        let Some(out) = out else {
            let block = py.detach(|| pool::block(&input.opened.gpu, input.number, bytes));
            return Ok(Target::New(block.map_err(error::device)?));
        };
        let id = input.id();
        let Some((array, _)) = foreign(out, Some(input.number))? else {
            return Err(PyTypeError::new_err("out must be an array on the messages' GPU"));
        };
        if array.place != Where::Gpu(id.vendor, id.ordinal) {
            return Err(DeviceError::new_err(format!("out is not on {id}, as the messages are")));
        }
        check_memory(&input.opened.gpu, &array)?;
        let fits = array.shape == [count, len] || array.shape == [bytes];
        if !fits {
            return Err(PyValueError::new_err(format!(
                "out has the shape {:?}, which is not ({count}, {len})",
                array.shape
            )));
        }
        if array.item != Item::U8 || !array.is_contiguous() {
            return Err(PyTypeError::new_err("out must be of uint8 and C-contiguous"));
        }
        if array.read_only {
            return Err(PyValueError::new_err("out is read-only"));
        }
        if !array.address.is_multiple_of(16) {
            return Err(PyValueError::new_err("out does not begin at a multiple of 16 bytes"));
        }
        let ours = array.range();
        let overlaps =
            |read: &DeviceInput| ours.start < read.range.end && read.range.start < ours.end;
        if !ours.is_empty() && [input].into_iter().chain(others).any(overlaps) {
            return Err(PyValueError::new_err("out overlaps the input"));
        }
        let own = array.own;
        Ok(Target::Given(DevicePointer(array.address), array.into_kept(input.number), own))
    }
}

/// Refuses another device than the one where the messages are.
fn check_device(asked: &str, id: DeviceId) -> PyResult<()> {
    let is_it = match asked {
        "auto" | "all" => true,
        "cuda" => id.vendor == Vendor::Cuda,
        "hip" => id.vendor == Vendor::Hip,
        name => name.parse() == Ok(id),
    };
    match is_it {
        true => Ok(()),
        false => Err(Error::new_err(format!("the messages are on {id}, not on '{asked}'"))),
    }
}

/// What is enqueued.
enum Work<'a> {
    Hash(&'a Midstate),
    Hmac(&'a DeviceInput),
}

/// Enqueues the work, and gives the event behind it.
fn launch(
    input: &DeviceInput,
    work: &Work<'_>,
    out: DevicePointer,
) -> Result<Event, manylane_gpu::Error> {
    let (opened, stream) = (&*input.opened, input.stream());
    let gpu = &opened.gpu;
    let messages = &input.messages;
    if messages.count > 0 {
        let mut workspaces = opened.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let workspace = match messages.layout {
            Layout::Strided { .. } => None,
            _ => {
                let (room, workspace) = match workspaces.remove(&input.number) {
                    Some((room, kept)) if room >= messages.count => (room, kept),
                    _ => {
                        // Streams that are gone have theirs still.
                        if workspaces.len() >= MOST_WORKSPACES {
                            workspaces.clear();
                        }
                        let room = messages.count.next_power_of_two();
                        (room, pool::with_room(|| Workspace::new(gpu, room))?)
                    }
                };
                Some(
                    &mut workspaces
                        .entry(input.number)
                        .insert_entry((room, workspace))
                        .into_mut()
                        .1,
                )
            }
        };
        // SAFETY: the device has the messages, offsets and output, as was checked; their owners are held until the
        // event has passed or, where the stream is their library's own, are freed in the order of that stream. A
        // workspace is its stream's alone.
        unsafe {
            match work {
                Work::Hash(Midstate::Sm3(start)) => {
                    let sm3 =
                        opened.sm3.get_or_init(|| Sm3::new(gpu)).as_ref().map_err(Clone::clone)?;
                    sm3.hash_many(&stream, start, messages, workspace, out)?;
                }
                Work::Hash(Midstate::Sha3(start)) => {
                    let sha3 = opened
                        .sha3
                        .get_or_init(|| Sha3::new(gpu))
                        .as_ref()
                        .map_err(Clone::clone)?;
                    sha3.hash_many(&stream, start, messages, workspace, out)?;
                }
                Work::Hmac(keys) => {
                    let sm3 =
                        opened.sm3.get_or_init(|| Sm3::new(gpu)).as_ref().map_err(Clone::clone)?;
                    sm3.hmac_many(&stream, &keys.messages, messages, workspace, out)?;
                }
            }
        }
    }
    let event = Event::new(gpu)?;
    event.record(&stream)?;
    Ok(event)
}

/// What work under way reads or writes, with the event behind that.
type UnderWay = Vec<(Event, Vec<Py<PyAny>>)>;
static UNDER_WAY: Mutex<UnderWay> = Mutex::new(Vec::new());

/// Keeps objects until the event has passed.
fn keep(event: Event, owners: Vec<Py<PyAny>>) {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).push((event, owners));
}

/// Lets go of what is kept for events that have passed.
pub(crate) fn let_go() {
    // Taken out first: to let go of an object can run any code, and that can come here again.
    let lock = || UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    let all = std::mem::take(&mut *lock());
    let (done, open): (UnderWay, UnderWay) =
        all.into_iter().partition(|(event, _)| event.is_done().unwrap_or(true));
    lock().extend(open);
    drop(done);
}

fn run<'py>(
    py: Python<'py>,
    input: &DeviceInput,
    work: &Work<'_>,
    len: usize,
    out: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let_go();
    let keys = match work {
        Work::Hash(_) => None,
        Work::Hmac(keys) => Some(*keys),
    };
    let target = Target::of(py, input, keys, out, len)?;
    let at = target.pointer();
    let gpu = &input.opened.gpu;
    let event = py.detach(|| launch(input, work, at)).map_err(error::device)?;
    let inputs = [input].into_iter().chain(keys);
    let mut owners: Vec<_> =
        inputs.flat_map(|input| &input.owner).map(|owner| owner.clone_ref(py)).collect();
    let result = match target {
        Target::New(block) => {
            let shape = [input.messages.count, len];
            let second = Event::new(gpu).map_err(error::device)?;
            second.record(&input.stream()).map_err(error::device)?;
            let stream = input.stream_object.as_ref().map(|stream| stream.clone_ref(py));
            let (opened, number) = (input.opened.clone(), input.number);
            let array = DeviceArray::new(opened, block, shape, number, second, stream);
            Bound::new(py, array)?.into_any()
        }
        Target::Given(_, owner, own) => {
            owners.extend(owner);
            // Where nobody has chosen a stream, nobody thinks of the two being different either.
            if let Some(own) = own
                && own != input.number
                && !input.is_asked
            {
                stream_of(gpu, own).wait(&event).map_err(error::device)?;
            }
            out.expect("it was given").clone()
        }
    };
    if !owners.is_empty() {
        keep(event, owners);
    }
    if let Some(progress) = progress {
        progress.call1((input.bytes, input.bytes))?;
    }
    Ok(result)
}

/// Digests of messages on a GPU.
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    algorithm: Algorithm,
    input: &DeviceInput,
    out: Option<&Bound<'py, PyAny>>,
    device: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_device(device, input.id())?;
    if algorithm.is_tree() {
        let name = name_of(algorithm);
        return Err(Error::new_err(format!("{name} is not computed of arrays on a GPU")));
    }
    let start = Midstate::new(algorithm);
    run(py, input, &Work::Hash(&start), algorithm.digest_len(), out, progress)
}

/// HMAC-SM3 of messages on a GPU, each under its own key there.
pub(crate) fn hmac_many<'py>(
    py: Python<'py>,
    keys: &DeviceInput,
    input: &DeviceInput,
    out: Option<&Bound<'py, PyAny>>,
    device: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_device(device, input.id())?;
    if keys.id() != input.id() || keys.number != input.number {
        return Err(DeviceError::new_err("keys and messages are on different devices or streams"));
    }
    run(py, input, &Work::Hmac(keys), 32, out, progress)
}

/// A stream of that number on a device.
pub(crate) fn stream_of(gpu: &Gpu, number: Number) -> Stream {
    // SAFETY: the caller's stream, which must be alive as long as work is enqueued on it, as the documentation says.
    unsafe { Stream::borrowed(gpu, number.handle()) }
}

/// Lets work on one stream wait for what is on another.
pub(crate) fn let_wait(
    gpu: &Gpu,
    waiting: Number,
    other: Number,
) -> Result<(), manylane_gpu::Error> {
    let event = Event::new(gpu)?;
    event.record(&stream_of(gpu, other))?;
    stream_of(gpu, waiting).wait(&event)
}
