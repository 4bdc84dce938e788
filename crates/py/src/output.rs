//! Output to a Python file object: what the writers of `airwatt_sim::record` write to.
//!
//! Files are opened, replaced and named in Python (`airwatt/files.py`), the one place that does so. The bytes come from
//! here, a large buffer at a time.

use std::io;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes that are handed over at once: the interpreter's lock is taken for each.
const BUFFER_BYTES: usize = 1 << 18;

/// A binary file object that can be written to without the interpreter's lock.
struct PythonFile(Py<PyAny>);

impl io::Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| -> PyResult<usize> {
            // Ctrl-C ends a long write, in the main thread.
            py.check_signals()?;
            self.0.call_method1(py, "write", (PyBytes::new(py, bytes),))?.extract(py)
        })
        .map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| self.0.call_method0(py, "flush")).map(drop).map_err(io::Error::other)
    }
}

/// Calls `form` with a buffer that empties into a Python file, without the interpreter's lock. Raises what the file raises.
pub(crate) fn write(
    py: Python<'_>,
    file: Py<PyAny>,
    form: impl FnOnce(&mut dyn io::Write) -> io::Result<()> + Send,
) -> PyResult<()> {
    let written = py.detach(|| {
        let mut out = io::BufWriter::with_capacity(BUFFER_BYTES, PythonFile(file));
        let written = form(&mut out).and_then(|()| io::Write::flush(&mut out));
        if written.is_err() {
            // Dropped, the buffer would be written once more.
            drop(out.into_parts());
        }
        written
    });
    // An error of the file is its Python exception again.
    written.map_err(PyErr::from)
}
