extension Settings.Reader {
    /// Reads the settings for Apple's announcements, and for requests to Apple without a submission.
    func readAnnouncements(_ checks: inout SettingsChecks, into settings: inout Settings) {
        checks.decimal(
            .notificationHistorySeconds, into: &settings.announcements.historySeconds, in: SettingsLimits.delaySeconds)
        checks.integer(
            .notificationHistoryDays, into: &settings.announcements.historyDays, in: SettingsLimits.historyDays)
        checks.decimal(
            .missedPurchaseSeconds, into: &settings.announcements.missedPurchaseSeconds,
            in: SettingsLimits.delaySeconds)
        checks.decimal(
            .consumptionWaitSeconds, into: &settings.announcements.consumptionWaitSeconds,
            in: SettingsLimits.consumptionWaitSeconds)
        checks.integer(
            .localRefusalChecksPerMinute, into: &settings.apple.localRefusalChecksPerMinute,
            in: SettingsLimits.refusalChecks)
        readIntake(&checks, into: &settings.announcements.intake)
    }
}

extension SettingsChecks {
    mutating func address(_ host: SettingName, _ port: SettingName, into http: inout HTTPSettings) {
        read(host, into: &http.host, mustBe: "a host name or address") { text in
            text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "/" } ? text : nil
        }
        integer(port, into: &http.port, in: SettingsLimits.port)
    }
}
