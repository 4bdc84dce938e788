//! How the frames of a cell are sent: the transmit vectors of its rates and modes, which its standard has.

use airwatt_base::Rate;
use airwatt_base::settings::SettingError;
use airwatt_dot11::{Band, Standard, TxVector};

use super::{StationGroup, Wifi};

/// The vectors of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellModes {
    /// Of data frames of stations that have none of their own.
    pub(crate) data: TxVector,
    /// Of RTS, CTS and ACK.
    pub(crate) control: TxVector,
    /// Of beacons.
    pub(crate) beacon: TxVector,
    /// Of group-addressed frames.
    pub(crate) group: TxVector,
}

impl CellModes {
    /// The vectors of a cell, with the defaults of those that are not set.
    pub(super) fn new(wifi: &Wifi) -> Result<Self, SettingError> {
        let standard = wifi.standard;
        let data = vector(wifi.data_rate, wifi.mode, standard)?
            .ok_or_else(|| SettingError::missing("data_rate", "a rate, or wifi.mode"))?;
        let rates = standard.control_rates();
        let of = |key: &str, rate: Rate| vector_of(key, rate, &rates, standard);
        let control = wifi.control_rate.unwrap_or_else(|| match (wifi.mode, wifi.data_rate) {
            (None, Some(rate)) => standard.control_rate(rate),
            _ => standard.response_rate(&data),
        });
        let beacon = wifi.beacon_rate.unwrap_or_else(|| standard.default_beacon_rate());
        Ok(Self {
            data,
            control: of("control_rate", control)?,
            beacon: of("beacon_rate", beacon)?,
            group: of("group_rate", wifi.group_rate.unwrap_or(beacon))?,
        })
    }
}

/// The vector of data frames to and from a group of stations, if they have one of their own.
pub(super) fn of_station(group: &StationGroup, standard: Standard) -> Result<Option<TxVector>, SettingError> {
    vector(group.data_rate, group.mode, standard)
}

/// The vector of data. At 6 GHz data frames are HE, which has modes: a rate says nothing there without one.
fn vector(
    rate: Option<Rate>,
    mode: Option<TxVector>,
    standard: Standard,
) -> Result<Option<TxVector>, SettingError> {
    let modes = standard.modes();
    let of_rate = match rate {
        Some(rate) if standard.band() == Band::Ghz6 && mode.is_none() => {
            let allowed = format!("none with {}, but a mode: {}", standard.name(), modes.unwrap_or_default());
            return Err(SettingError::out_of_range("data_rate", rate, allowed));
        }
        Some(rate) => Some(vector_of("data_rate", rate, &standard.rates(), standard)?),
        None => None,
    };
    if let Some(mode) = mode.filter(|mode| !standard.has(mode)) {
        let modes = modes.unwrap_or("none, but a data_rate");
        let allowed = format!("a mode of {}: {modes}", standard.name());
        return Err(SettingError::out_of_range("mode", mode, allowed));
    }
    Ok(mode.or(of_rate))
}

/// The vector of a rate, which is one of these.
fn vector_of(key: &str, rate: Rate, rates: &[Rate], standard: Standard) -> Result<TxVector, SettingError> {
    if let Some(vector) = standard.vector(rate).filter(|_| rates.contains(&rate)) {
        return Ok(vector);
    }
    let mut allowed = rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    // Who names a standard without its band means that of the beacons.
    let in_other_band =
        |other: &Standard| other.name().starts_with(standard.name()) && other.control_rates().contains(&rate);
    if let Some(other) = Standard::ALL.iter().find(|other| in_other_band(other)) {
        allowed += &format!(", or wifi.standard = {:?}, which has it", other.name());
    }
    Err(SettingError::out_of_range(key, rate, format!("a rate of this standard: {allowed}")))
}
