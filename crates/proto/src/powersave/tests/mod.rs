//! Frame ladders and properties of power save.
