import Fulfillment
import NamesAndTimes

/// `receiptd intake`'s.
package struct IntakeSettings: Sendable {
    /// The apps whose notifications are taken.
    package enum Apps: Sendable, Equatable {
        /// Nobody named any: on a loopback address this is all of them, and elsewhere a fault.
        case unnamed
        /// The intake takes notifications of all apps of the world, by `*`.
        case all
        case named(Set<BundleID>)

        /// The apps; nil for all.
        package var bundleIDs: Set<BundleID>? {
            if case .named(let names) = self { names } else { nil }
        }

        /// The value as text of the setting.
        var text: String {
            switch self {
            case .unnamed: ""
            case .all: IntakeSettings.everyApp
            case .named(let names): names.map(\.text).sorted().joined(separator: ",")
            }
        }
    }

    package var http = HTTPSettings(port: 8090)
    package var apps = Apps.unnamed

    /// Throws if others could post notifications of any app.
    package func requireApps() throws(SettingsFaults) {
        guard apps == .unnamed, !http.isOnLoopback else { return }
        let host = SettingName.intakeHTTPHost.rawValue
        throw SettingsFaults(faults: [
            SettingsFault(
                .intakeBundleIDs,
                "is required where \(host) is not a loopback address: \(Self.requirement). Apple signs the notifications "
                    + "of every app alike, so that anybody could post those of an app that is not yours")
        ])
    }

    static let requirement = "bundle ids separated by commas, none of them empty, or * alone for every app"
    fileprivate static let everyApp = "*"

    /// Returns nil if `text` is no list of apps.
    static func apps(in text: String) -> Apps? {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmed) }
        if names == [everyApp] { return .all }
        guard names.allSatisfy({ !$0.isEmpty && $0 != everyApp }) else { return nil }
        return .named(Set(names.map { BundleID($0) }))
    }
}

extension Settings.Reader {
    func readIntake(_ checks: inout SettingsChecks, into intake: inout IntakeSettings) {
        checks.address(.intakeHTTPHost, .intakeHTTPPort, into: &intake.http)
        checks.read(
            .intakeBundleIDs, into: &intake.apps, mustBe: IntakeSettings.requirement, IntakeSettings.apps(in:))
        if intake.apps == .all {
            checks.warn(
                .intakeBundleIDs,
                "accepts the notifications of every app: anyone with an app in the App Store can fill the topic"
            )
        }
    }
}
