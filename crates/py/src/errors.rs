//! The exceptions, declared once. The command line maps each to its exit status.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    airwatt,
    AirwattError,
    PyException,
    "Base of every error of this package. Its text is one line that names the place, the value and what is allowed."
);
create_exception!(
    airwatt,
    InputError,
    AirwattError,
    "The input is wrong: a scenario, an option, a file. Exit status 2."
);
create_exception!(airwatt, RunError, AirwattError, "The input was right and the run failed. Exit status 1.");
create_exception!(
    airwatt,
    MissingFeature,
    AirwattError,
    "A privilege, a kernel feature or an optional package is missing. Exit status 4."
);
