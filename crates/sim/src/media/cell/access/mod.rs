//! Who may send when: [`contention`] is DCF and EDCA, event by event, and [`category`] has the access categories.

pub mod category;
pub mod contention;
