import Fulfillment
import NamesAndTimes

/// The settings of `receiptd intake`.
package struct IntakeSettings: Sendable {
    /// The apps whose notifications the intake accepts.
    package enum Apps: Sendable, Equatable {
        /// The setting is missing. If the intake listens on a loopback address, it then accepts all apps. On any other
        /// address the missing setting is a fault.
        case unnamed
        /// The setting is `*`: the intake accepts the notifications of all apps.
        case all
        case named(Set<BundleID>)

        /// The bundle ids of the apps; nil for all apps.
        package var bundleIDs: Set<BundleID>? {
            if case .named(let names) = self { names } else { nil }
        }

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

    /// Throws if other machines can reach the intake and the setting for the apps is missing.
    package func requireApps() throws(SettingsFaults) {
        guard apps == .unnamed, !http.isOnLoopback else { return }
        let host = SettingName.intakeHTTPHost.rawValue
        throw SettingsFaults(faults: [
            SettingsFault(
                .intakeBundleIDs,
                "is required where \(host) is not a loopback address: \(Self.requirement). Apple signs the notifications "
                    + "of every app alike, so that anybody could post the notifications of an app that is not yours")
        ])
    }

    static let requirement = "bundle ids separated by commas, none of them empty, or * alone for every app"
    fileprivate static let everyApp = "*"

    /// Returns the apps in the setting's text; nil if the text is no list of bundle ids.
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
