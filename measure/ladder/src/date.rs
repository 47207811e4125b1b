//! The current date in UTC, computed without a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current date, such as `2026-11-21`, and the time, such as `14:03:07`.
pub fn now() -> (String, String) {
    at(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// Returns the date and time that correspond to a number of seconds since the start of 1970.
fn at(seconds: u64) -> (String, String) {
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"))
}

/// Returns the year, month and day that correspond to a number of days since the start of 1970
/// (Howard Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_778), (2026, 11, 21));
        // Tests the ends of years, leap years and centuries, including a century year that is
        // divisible by 400.
        assert_eq!(
            [58, 59, 364, 365].map(civil),
            [(1970, 2, 28), (1970, 3, 1), (1970, 12, 31), (1971, 1, 1),]
        );
        assert_eq!([789, 790].map(civil), [(1972, 2, 29), (1972, 3, 1)]);
        assert_eq!([47_540, 47_541].map(civil), [(2100, 2, 28), (2100, 3, 1)]);
        assert_eq!([157_113, 157_114].map(civil), [(2400, 2, 29), (2400, 3, 1)]);
    }

    #[test]
    fn a_second_has_its_date_and_its_time() {
        let told = |seconds: u64| at(20_778 * 86_400 + seconds);
        let day = "2026-11-21".to_owned();
        assert_eq!(told(14 * 3600 + 3 * 60 + 7), (day.clone(), "14:03:07".into()));
        assert_eq!(told(86_399), (day, "23:59:59".into()));
        assert_eq!(told(86_400), ("2026-11-22".into(), "00:00:00".into()));
        let (date, time) = now();
        assert!(date.len() == 10 && time.len() == 8, "{date} {time}");
    }
}
