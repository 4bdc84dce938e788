//! The radio profile that a scenario names. It is read with the scenario and stays in it: what becomes of its file later changes
//! neither a run nor the key of one.

use std::sync::Arc;

use airwatt_energy::{Radio, RadioError};
use serde::{Deserialize, Serialize};

/// A radio profile, and the text that named it: a name that ships, or a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RadioChoice {
    text: String,
    profile: Arc<Radio>,
}

impl RadioChoice {
    /// The profile.
    pub fn profile(&self) -> &Radio {
        &self.profile
    }

    /// Names a profile from a file by what it says, so that equal profiles have equal names wherever they were read.
    pub(super) fn name_by_content(&mut self) {
        if Radio::is_file(&self.text) {
            self.text = format!("{:?}", self.profile);
        }
    }
}

impl TryFrom<String> for RadioChoice {
    type Error = RadioError;

    fn try_from(text: String) -> Result<Self, RadioError> {
        let profile = Arc::new(Radio::find(&text)?);
        Ok(Self { text, profile })
    }
}

impl From<Radio> for RadioChoice {
    /// A profile that does not come from a file of its own, by its name.
    fn from(profile: Radio) -> Self {
        Self { text: profile.name.clone(), profile: Arc::new(profile) }
    }
}

impl From<RadioChoice> for String {
    fn from(choice: RadioChoice) -> Self {
        choice.text
    }
}
