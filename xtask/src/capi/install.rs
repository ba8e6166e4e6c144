//! tbd
use super::Library;
use crate::Result;
pub(crate) fn check(_library: &Library) -> Result {
    Ok(())
}
