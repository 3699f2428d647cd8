import AppleProofs
import Fulfillment
import Kafka
import Logging

extension Settings {
    /// A group of settings that a command needs.
    package enum Requirement: Sendable, Hashable {
        case kafka
        case database

        fileprivate var setting: SettingName { self == .kafka ? .kafkaBootstrapServers : .databaseURL }
    }

    /// Reads the settings from the environment. Reads a setting that the environment lacks from a YAML file. No other
    /// code reads settings.
    package struct Reader: Sendable {
        package var environment: [String: String]
        /// The path of the settings file; nil for none.
        package var file: String?
        /// librdkafka's version from `rd_kafka_version()`, because some properties are safe only from a later version
        /// on.
        var libraryVersion: Int32 = KafkaLibrary.version
        /// Returns the faults that librdkafka finds in the operator's properties. A message contains no value.
        var libraryFaults: @Sendable ([(name: String, value: String)]) -> [(name: String, message: String)] = { pairs in
            KafkaProperties(pairs).faults().map { ($0.name, $0.message) }
        }
        /// Makes librdkafka clients with these settings. Returns the reason if librdkafka refuses the settings, and nil
        /// otherwise.
        var libraryRefusal: @Sendable (KafkaSettings) -> String? = { kafka in
            let clients = KafkaClientProperties(settings: kafka)
            return clients.consumer.refusal(of: .consumer) ?? clients.producer.refusal(of: .producer)
        }
        /// Returns the reason why libpq cannot read a connection URI, without any part of the URI. Returns nil if libpq
        /// can read the URI.
        package var databaseFault: @Sendable (String) -> String? = { _ in nil }
        /// Returns true if TLS can use the certificates of the file at a path.
        package var holdsCertificates: @Sendable (String) -> Bool = { _ in true }

        package init(environment: [String: String], file: String? = nil) {
            self.environment = environment
            self.file = file
        }

        /// Reads all settings, and throws all faults together, even those of settings that the command does not need.
        /// - Parameter trustingSampleRoots: true for a command that grants nothing, which may trust the samples' roots.
        ///   For other commands these roots are a fault if an address is Apple's.
        package func read(
            requiring required: Set<Requirement>, trustingSampleRoots: Bool = false
        ) throws(SettingsFaults) -> Settings {
            let source = SettingsSource(environment: environment, file: file)
            var checks = SettingsChecks(source.values)
            var settings = Settings()
            // If a secret cannot be read, it already has a fault, so it is not missing.
            let faulty = Set(source.faults.map(\.setting))
            for requirement in required where !checks.isSet(requirement.setting) {
                let name = requirement.setting.rawValue
                if faulty.isDisjoint(with: [name, name + "_FILE"]) {
                    checks.fail(requirement.setting, "is required: \(requirement.setting.waysToGive)")
                }
            }
            readKafka(&checks, into: &settings.kafka)
            if required.contains(.kafka) { tryClients(&checks, settings.kafka) }
            readDatabase(&checks, into: &settings.database)
            settings.database.urlFile = source.secretFiles[.databaseURL]
            readApple(&checks, into: &settings.apple)
            if !trustingSampleRoots { refusePublishedRoot(&checks, settings.apple) }
            readRetry(&checks, into: &settings.retry)
            readAnnouncements(&checks, into: &settings)
            readConsole(&checks, into: &settings.console)
            readOthers(&checks, into: &settings)
            let faults = source.faults + checks.faults
            let near = NearName.warnings(environment)
            guard faults.isEmpty else { throw SettingsFaults(faults: Self.inOrder(faults), warnings: near) }
            settings.warnings = near + checks.warnings
            return settings
        }

        /// Sorts faults in the order of `SettingName`. Faults of unknown names come first.
        private static func inOrder(_ faults: [SettingsFault]) -> [SettingsFault] {
            let names = SettingName.allCases.map(\.rawValue)
            let ranks = faults.map { fault in
                names.firstIndex { fault.setting == $0 || fault.setting == $0 + "_FILE" } ?? -1
            }
            return zip(ranks, faults).enumerated()
                .sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
                .map(\.element.1)
        }

        private func readDatabase(_ checks: inout SettingsChecks, into database: inout DatabaseSettings) {
            let requirement = "a URI that begins with postgresql:// or postgres://"
            checks.read(.databaseURL, into: &database.url, mustBe: requirement) { DatabaseSettings.uri($0) }
            if !database.url.value.isEmpty, let fault = databaseFault(database.url.value) {
                checks.fail(.databaseURL, fault)
            }
            checks.integer(.databasePoolSize, into: &database.poolSize, in: SettingsLimits.poolSize)
            checks.choice(
                .databasePreparedStatements, into: &database.usesPreparedStatements, [("on", true), ("off", false)])
            checks.decimal(
                .databaseGatheringSeconds, into: &database.gatheringSeconds, in: SettingsLimits.gatheringSeconds)
        }

        private func readApple(_ checks: inout SettingsChecks, into apple: inout AppleSettings) {
            checks.url(.appleVerifyReceiptProductionURL, into: &apple.verifyReceiptProductionURL, isBase: false)
            checks.url(.appleVerifyReceiptSandboxURL, into: &apple.verifyReceiptSandboxURL, isBase: false)
            checks.url(.appleServerAPIProductionURL, into: &apple.serverAPIProductionURL, isBase: true)
            checks.url(.appleServerAPISandboxURL, into: &apple.serverAPISandboxURL, isBase: true)
            checks.decimal(.appleTimeoutSeconds, into: &apple.timeoutSeconds, in: SettingsLimits.timeoutSeconds)
            checks.integer(.appleMaxConcurrency, into: &apple.maxConcurrency, in: SettingsLimits.maxConcurrency)
            checks.decimal(
                .appleMaxRequestsPerSecond, into: &apple.maxRequestsPerSecond, in: SettingsLimits.maxRequestsPerSecond)
            checks.readableFile(.appleCAFile, into: &apple.caFile)
            if let path = apple.caFile, !holdsCertificates(path) {
                checks.fail(.appleCAFile, "no PEM certificate can be read from the file")
            }
            checks.readableFile(.appleRootCertificatesFile, into: &apple.rootCertificatesFile)
            if let path = apple.rootCertificatesFile {
                checks.roots(.appleRootCertificatesFile, at: path, into: &apple.roots)
            }
        }

        /// Adds a fault if the settings trust the samples' published root and also have an address of Apple. The key of
        /// this root is public, so anybody could make receipts that a real game's worker grants.
        private func refusePublishedRoot(_ checks: inout SettingsChecks, _ apple: AppleSettings) {
            let names = apple.apples.map(\.rawValue)
            guard apple.roots.holdsPublishedRoot, !names.isEmpty else { return }
            checks.fail(
                .appleRootCertificatesFile,
                "the file holds a root of receiptd's own samples, whose keys are public, and \(names.joined(separator: ", ")) "
                    + (names.count == 1 ? "is an address" : "are addresses")
                    + " of Apple's own: anybody could make receipts. "
                    + "Leave the file out in production, or give the simulator's addresses in a trial")
        }

        private func readRetry(_ checks: inout SettingsChecks, into retry: inout RetrySettings) {
            let seconds = SettingsLimits.delaySeconds
            checks.decimal(.retryInitialDelaySeconds, into: &retry.delay.initialSeconds, in: seconds)
            checks.decimal(.retryMaxDelaySeconds, into: &retry.delay.maximumSeconds, in: seconds)
            checks.decimal(.retryDoubtSeconds, into: &retry.delay.doubtSeconds, in: seconds)
            checks.decimal(.retryParkAfterSeconds, into: &retry.parkAfterSeconds, in: seconds)
            checks.integer(
                .parkedUnprovenMegabytes, into: &retry.unprovenMegabytes, in: SettingsLimits.parkedMegabytes)
            guard retry.delay.maximumSeconds < retry.delay.initialSeconds else { return }
            // If the operator sets only one of the two delays, the default of the other delay changes to the same
            // value.
            if !checks.isSet(.retryInitialDelaySeconds) {
                retry.delay.initialSeconds = retry.delay.maximumSeconds
            } else if !checks.isSet(.retryMaxDelaySeconds) {
                retry.delay.maximumSeconds = retry.delay.initialSeconds
            } else {
                let initial = SettingName.retryInitialDelaySeconds.rawValue
                checks.fail(.retryMaxDelaySeconds, "must not be less than \(initial)")
            }
        }

        private func readOthers(_ checks: inout SettingsChecks, into settings: inout Settings) {
            checks.integer(.maxInFlight, into: &settings.maxInFlight, in: SettingsLimits.maxInFlight)
            checks.read(
                .submissionSigningKeys, into: &settings.submissionSigningKeys,
                mustBe: "keys separated by commas, none of them empty"
            ) { text in
                let keys = text.split(separator: ",", omittingEmptySubsequences: false).map { Secret(String($0)) }
                return keys.contains { $0.value.isEmpty } ? nil : keys
            }
            if settings.submissionSigningKeys.contains(where: { $0.value.trimmed.count != $0.value.count }) {
                checks.warn(
                    .submissionSigningKeys,
                    "a key begins or ends with white space: receiptd keeps the white space as part of the key"
                )
            }
            checks.integer(
                .outcomeRetentionDays, into: &settings.outcomeRetentionDays, in: SettingsLimits.retentionDays)
            checks.address(.httpHost, .httpPort, into: &settings.http)
            checks.decimal(.shutdownGraceSeconds, into: &settings.shutdownGraceSeconds, in: SettingsLimits.graceSeconds)
            checks.choice(.logLevel, into: &settings.log.level, Logger.Level.allCases.map { ($0.rawValue, $0) })
            checks.choice(.logFormat, into: &settings.log.format, LogSettings.Format.allCases.map { ($0.rawValue, $0) })
        }
    }
}
