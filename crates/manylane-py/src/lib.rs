//! manylane for Python: the extension module below the package's Python files, which hold the documentation of what
//! users call.

mod array_interface;
mod arrow;
mod cipher;
mod device_array;
mod dlpack;
mod engines;
mod error;
mod file;
mod gpu;
mod hash;
mod input;
mod many;
mod memory;
mod opened;
mod pool;
mod sm2;
mod sm2_many;
mod spread;
mod streams;

use pyo3::prelude::*;

/// Python's allocator aligns objects to 16 bytes, whatever they hold.
const _: () = {
    assert!(align_of::<hash::Hash>() <= 16);
    assert!(align_of::<cipher::AeadKey>() <= 16);
    assert!(align_of::<cipher::CipherContext>() <= 16);
    assert!(align_of::<sm2::PrivateKey>() <= 16);
    assert!(align_of::<sm2::PublicKeyObject>() <= 16);
    assert!(align_of::<sm2::KeyExchange>() <= 16);
    assert!(align_of::<device_array::DeviceArray>() <= 16);
};

/// The extension module.
#[pymodule]
fn _manylane(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add(module)?;
    hash::add(module)?;
    cipher::add(module)?;
    sm2::add(module)?;
    sm2_many::add(module)?;
    module.add_class::<device_array::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(file::hash_file, module)?)?;
    module.add_function(wrap_pyfunction!(many::hash_many, module)?)?;
    module.add_function(wrap_pyfunction!(many::hmac_many, module)?)?;
    module.add_function(wrap_pyfunction!(opened::free_memory, module)?)?;
    module.add_function(wrap_pyfunction!(engines::explain, module)?)?;
    module.add_function(wrap_pyfunction!(engines::check_device, module)?)?;
    module.add_function(wrap_pyfunction!(engines::gpus, module)?)?;
    module.add_function(wrap_pyfunction!(engines::processor, module)?)?;
    Ok(())
}
