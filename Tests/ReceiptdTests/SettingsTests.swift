import AppleProofs
import Foundation
import Fulfillment
import Kafka
import Logging
import Operations
import Testing

@testable import ReceiptdConfiguration

/// Reads settings without librdkafka, and returns their faults.
func settingsFaults(
    _ environment: [String: String], file: String? = nil, requiring required: Set<Settings.Requirement> = [],
    libraryVersion: Int32 = 0x0200_02FF
) -> [SettingsFault] {
    var reader = Settings.Reader(environment: environment, file: file)
    reader.libraryVersion = libraryVersion
    reader.libraryFaults = { _ in [] }
    reader.libraryRefusal = { _ in nil }
    do throws(SettingsFaults) {
        _ = try reader.read(requiring: required)
        return []
    } catch {
        return error.faults
    }
}

/// Writes the text to a file, runs `body` with its path, and deletes the file.
func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("receiptd-\(UUID().uuidString)")
    try Data(text.utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    return try body(url.path)
}

struct SettingsTests {
    private let required = [
        "KAFKA_BOOTSTRAP_SERVERS": "broker:9092", "DATABASE_URL": "postgresql://u:hush@db/receipts",
    ]

    @Test("if only the required settings are given, every other setting has its documented default")
    func defaults() throws {
        let settings = try Settings.Reader(environment: required).read(requiring: [.kafka, .database])
        #expect(settings.kafka.bootstrapServers == "broker:9092")
        #expect(settings.kafka.groupID == "receiptd")
        #expect(settings.kafka.properties.pairs.isEmpty)
        #expect(settings.kafka.submissionsTopic == "receipt-submissions")
        #expect(settings.kafka.outcomesTopic == "receipt-outcomes")
        #expect(settings.kafka.deadLettersTopic == "receipt-dead-letters")
        #expect(settings.kafka.notificationsTopic == "app-store-notifications")
        #expect(settings.database.url == Secret("postgresql://u:hush@db/receipts"))
        #expect(settings.database.poolSize == 4 && settings.database.usesPreparedStatements)
        #expect(settings.database.gatheringSeconds == 0.025)
        #expect(settings.apple.timeoutSeconds == 10 && settings.apple.maxConcurrency == 256)
        #expect(settings.apple.maxRequestsPerSecond == 0)
        #expect(settings.apple.caFile == nil && settings.apple.rootCertificatesFile == nil)
        #expect(settings.retry.delay == RetryDelay(initialSeconds: 0.5, maximumSeconds: 300, doubtSeconds: 600))
        #expect(settings.retry.parkAfterSeconds == 30 && settings.maxInFlight == 2000)
        #expect(settings.retry.unprovenMegabytes == 512 && settings.retry.unprovenBytes == 512_000_000)
        #expect(settings.submissionSigningKeys.isEmpty && settings.outcomeRetentionDays == 30)
        #expect(settings.http.host == "127.0.0.1" && settings.http.port == 8080)
        #expect(settings.shutdownGraceSeconds == 25)
        #expect(settings.log.level == .info && settings.log.format == .json)
    }

    @Test("if a required setting is missing, the fault says where to set the setting")
    func requirements() {
        #expect(settingsFaults([:]).isEmpty)
        #expect(settingsFaults([:], requiring: [.kafka]).map(\.setting) == ["KAFKA_BOOTSTRAP_SERVERS"])
        #expect(settingsFaults([:], requiring: [.database]).map(\.setting) == ["DATABASE_URL"])
        let both = settingsFaults(["DATABASE_URL": ""], requiring: [.kafka, .database])
        #expect(both.map(\.setting) == ["KAFKA_BOOTSTRAP_SERVERS", "DATABASE_URL"])
        #expect(both.allSatisfy { $0.message.hasPrefix("is required: ") && $0.line == nil })
        #expect(
            both.map(\.message) == [
                "is required: set KAFKA_BOOTSTRAP_SERVERS in the environment; or kafka: { bootstrapServers: … } in "
                    + "the file of --config",
                "is required: set DATABASE_URL in the environment; or DATABASE_URL_FILE in the environment, to the "
                    + "path of a file with the value; or database: { url: … } in the file of --config",
            ])
    }

    @Test(
        "an environment variable's name maps to a section and a camel-case key of the settings file",
        arguments: [
            ("KAFKA_BOOTSTRAP_SERVERS", "kafka.bootstrapServers"), ("APPLE_MAX_CONCURRENCY", "apple.maxConcurrency"),
            ("MAX_IN_FLIGHT", "max.inFlight"), ("DATABASE_POOL_SIZE", "database.poolSize"),
            ("APPLE_SERVER_API_PRODUCTION_URL", "apple.serverApiProductionUrl"), ("APPLE_CA_FILE", "apple.caFile"),
            ("HTTP_PORT", "http.port"), ("DATABASE_URL_FILE", "database.urlFile"),
            ("SUBMISSION_SIGNING_KEYS", "submission.signingKeys"), ("SHUTDOWN_GRACE_SECONDS", "shutdown.graceSeconds"),
        ])
    func paths(name: String, path: String) {
        #expect(SettingName.path(of: name) == path)
        #expect(SettingName.namesByPath[path] == name)
    }

    @Test("receiptd reads settings from a file, and environment variables override the file")
    func file() throws {
        let text = """
            kafka:
              bootstrapServers: one:9092, two:9092
              groupId: file-group
              properties: "client.id=file"
            database: { url: "postgres://file/db", poolSize: 7, preparedStatements: off, gatheringSeconds: 0 }
            apple:
              serverApiProductionUrl: http://localhost:8000/
              verifyReceiptSandboxUrl: http://localhost:8000/sandbox/
              timeoutSeconds: 2.5
            retry: { initialDelaySeconds: 0.1, maxDelaySeconds: 1, doubtSeconds: 0, parkAfterSeconds: 5 }
            max: { inFlight: 10 }
            parked: { unprovenMegabytes: 7 }
            submission: { signingKeys: "a,b" }
            outcome:
              retentionDays: 3
            http: { host: 0.0.0.0, port: 0 }
            shutdown: { graceSeconds: 1 }
            log: { level: debug, format: text }
            """
        let environment = ["KAFKA_GROUP_ID": "environment-group", "DATABASE_POOL_SIZE": ""]
        let settings = try withFile(text) {
            try Settings.Reader(environment: environment, file: $0).read(requiring: [.kafka, .database])
        }
        #expect(settings.kafka.bootstrapServers == "one:9092,two:9092")
        #expect(settings.kafka.groupID == "environment-group")
        #expect(settings.kafka.properties["client.id"] == "file")
        #expect(settings.database.url == Secret("postgres://file/db") && settings.database.poolSize == 7)
        #expect(settings.database.gatheringSeconds == 0)
        #expect(!settings.database.usesPreparedStatements)
        #expect(settings.apple.serverAPIProductionURL == "http://localhost:8000")
        #expect(settings.apple.verifyReceiptSandboxURL == "http://localhost:8000/sandbox/")
        #expect(settings.apple.timeoutSeconds == 2.5)
        #expect(settings.retry.delay == RetryDelay(initialSeconds: 0.1, maximumSeconds: 1, doubtSeconds: 0))
        #expect(settings.retry.parkAfterSeconds == 5 && settings.maxInFlight == 10)
        #expect(settings.retry.unprovenMegabytes == 7)
        #expect(settings.submissionSigningKeys == [Secret("a"), Secret("b")] && settings.outcomeRetentionDays == 3)
        #expect(settings.http.host == "0.0.0.0" && settings.http.port == 0 && settings.shutdownGraceSeconds == 1)
        #expect(settings.log.level == .debug && settings.log.format == .text)
    }

    @Test("the settings reader reports all faults of a settings file in one error, each fault with its line")
    func faultyFile() throws {
        let text = """
            kafka:
              bootstrapServer: typo
              groupId: [a]
            http:
              port: 70000
              port: 8080
            colour: { red: 1 }
            max: 5
            """
        let faults = try withFile(text) { settingsFaults([:], file: $0) }
        let found = faults.map { "\($0.setting) \($0.line ?? 0)" }
        #expect(
            found == [
                "--config 6", "kafka.bootstrapServer 2", "colour.red 7", "--config 8", "KAFKA_GROUP_ID 3",
                "HTTP_PORT 5",
            ])
        #expect(settingsFaults([:], file: "/nowhere/settings.yaml").map(\.setting) == ["--config"])
        #expect(try withFile("log:\n  level: info: loud\n") { settingsFaults([:], file: $0) }.map(\.line) == [2])
        #expect(try withFile("") { settingsFaults([:], file: $0) }.isEmpty)
        #expect(try withFile("# nothing\nkafka:\n") { settingsFaults([:], file: $0) }.isEmpty)
    }

    @Test("an unknown section of a settings file is a fault even if the section has no keys")
    func emptySections() throws {
        let faults = try withFile("kafak:\nbogus: {}\nlog: {}\nhttp: ~\n") { settingsFaults([:], file: $0) }
        #expect(faults.map { "\($0.setting) \($0.line ?? 0)" } == ["kafak 1", "bogus 2"])
        #expect(
            faults.map(\.message) == [
                "there is no section of this name: is kafka meant?", "there is no section of this name",
            ])
    }

    static let bad: [(String, [String])] = [
        ("KAFKA_BOOTSTRAP_SERVERS", [",", "a:b", "a:0", "a:70000", "a b:1", ":9092", "a:1,,b:1"]),
        ("KAFKA_GROUP_ID", [String(repeating: "g", count: 256), "a\nb"]),
        ("KAFKA_SUBMISSIONS_TOPIC", [".", "..", "a b", "ü", String(repeating: "t", count: 250), "receipt-outcomes"]),
        ("KAFKA_NOTIFICATIONS_TOPIC", ["receipt-submissions", "a/b"]),
        ("DATABASE_URL", ["host=db", "mysql://db/x"]),
        ("DATABASE_POOL_SIZE", ["0", "-1", "1001", "x", "1.5", "٣", " 4", "99999999999999999999"]),
        ("DATABASE_PREPARED_STATEMENTS", ["true", "ON", "yes"]),
        (
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL",
            ["buy.itunes.apple.com", "ftp://a/b", "http://", "/verifyReceipt", "http://a b/"]
        ),
        ("APPLE_SERVER_API_SANDBOX_URL", ["https://user:hush@a/", "https://a/?x=1", "https://a/#f", "https://a:0/"]),
        ("APPLE_TIMEOUT_SECONDS", ["0", "-1", "nan", "inf", "1e3", "3601", ".5", "5."]),
        ("APPLE_MAX_CONCURRENCY", ["0", "10001"]),
        ("APPLE_MAX_REQUESTS_PER_SECOND", ["-1", "1000001"]),
        ("APPLE_CA_FILE", ["/nowhere/ca.pem", "/"]),
        // The last value is the path of this source file, which has no certificate.
        ("APPLE_ROOT_CERTIFICATES_FILE", ["/nowhere/roots.pem", "/", #filePath]),
        ("RETRY_INITIAL_DELAY_SECONDS", ["-0.1", "604801"]),
        ("RETRY_MAX_DELAY_SECONDS", ["-1", "x"]),
        ("RETRY_DOUBT_SECONDS", ["-1"]),
        ("RETRY_PARK_AFTER_SECONDS", ["soon"]),
        ("MAX_IN_FLIGHT", ["0", "100001"]),
        ("SUBMISSION_SIGNING_KEYS", ["hush,", ",hush", "a,,b"]),
        ("OUTCOME_RETENTION_DAYS", ["0", "3651"]),
        ("HTTP_HOST", ["a b", "http://a"]),
        ("HTTP_PORT", ["-1", "65536", "http"]),
        ("SHUTDOWN_GRACE_SECONDS", ["-1", "86401"]),
        ("LOG_LEVEL", ["loud", "INFO"]),
        ("LOG_FORMAT", ["xml"]),
    ]

    @Test("an invalid value of a setting gives exactly one fault, which names the setting", arguments: bad)
    func badValues(name: String, values: [String]) {
        for value in values {
            let faults = settingsFaults([name: value])
            #expect(faults.count == 1, "\(value)")
            let fault = faults.first
            // If two settings have one topic, the fault may name either of them.
            #expect(fault?.setting == name || fault?.message.contains(name) == true, "\(value)")
            #expect(fault?.description.contains("hush") == false)
        }
    }

    @Test(
        "APPLE_ROOT_CERTIFICATES_FILE replaces Apple's root certificates; a file without a root certificate is a fault")
    func roots() throws {
        let signing = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("seeds/signing")
        let file = signing.appendingPathComponent("root.pem").path
        let settings = try Settings.Reader(
            environment: PublishedRootTests.simulated.merging(["APPLE_ROOT_CERTIFICATES_FILE": file]) { $1 }
        ).read(requiring: [])
        #expect(settings.apple.rootCertificatesFile == file)
        #expect(settings.apple.roots.fingerprints.count == 2)
        #expect(Set(settings.apple.roots.fingerprints).isDisjoint(with: AppleRoots.builtIn.fingerprints))
        #expect(try Settings.Reader(environment: [:]).read(requiring: []).apple.roots.fingerprints.count == 3)
        let faults = settingsFaults(["APPLE_ROOT_CERTIFICATES_FILE": signing.appendingPathComponent("leaf.pem").path])
        #expect(faults.map(\.message) == ["the file cannot be used: it has no root certificate"])
    }

    static let good: [(String, [String])] = [
        ("KAFKA_BOOTSTRAP_SERVERS", ["a", "[::1]:9092", "[::1]", "SSL://a:9093", "a:1 , b:2"]),
        ("RETRY_DOUBT_SECONDS", ["0", "0.0"]),
        ("RETRY_INITIAL_DELAY_SECONDS", ["0", "300", "301"]),
        ("RETRY_MAX_DELAY_SECONDS", ["0", "0.4"]),
        ("HTTP_PORT", ["0", "65535"]),
        ("KAFKA_OUTCOMES_TOPIC", ["a", "A.b_c-9", String(repeating: "t", count: 249)]),
        ("LOG_LEVEL", Logger.Level.allCases.map(\.rawValue)),
        ("DATABASE_URL", ["postgres://", "postgresql:///db?host=/run/postgresql"]),
    ]

    @Test("the settings accept values at the edges of the allowed ranges", arguments: good)
    func goodValues(name: String, values: [String]) {
        for value in values { #expect(settingsFaults([name: value]).isEmpty, "\(value)") }
    }

    @Test("if only one retry delay is set, the other's default adapts; an initial delay above the maximum is a fault")
    func retryDelays() throws {
        for (initial, maximum, expected) in [
            ("", "0.2", RetryDelay(initialSeconds: 0.2, maximumSeconds: 0.2)),
            ("", "2", RetryDelay(initialSeconds: 0.5, maximumSeconds: 2)),
            ("400", "", RetryDelay(initialSeconds: 400, maximumSeconds: 400)),
            ("2", "", RetryDelay(initialSeconds: 2, maximumSeconds: 300)),
            ("0.2", "0.2", RetryDelay(initialSeconds: 0.2, maximumSeconds: 0.2)),
        ] {
            let environment = ["RETRY_INITIAL_DELAY_SECONDS": initial, "RETRY_MAX_DELAY_SECONDS": maximum]
            #expect(try Settings.Reader(environment: environment).read(requiring: []).retry.delay == expected)
        }
        let contrary = ["RETRY_INITIAL_DELAY_SECONDS": "0.5", "RETRY_MAX_DELAY_SECONDS": "0.2"]
        #expect(settingsFaults(contrary).map(\.setting) == ["RETRY_MAX_DELAY_SECONDS"])
    }

    @Test("the settings report all faults together, in the order of the documentation")
    func together() {
        let faults = settingsFaults(
            ["LOG_LEVEL": "x", "HTTP_PORT": "x", "MAX_IN_FLIGHT": "x", "DATABASE_POOL_SIZE": "x"],
            requiring: [.kafka, .database])
        #expect(
            faults.map(\.setting) == [
                "KAFKA_BOOTSTRAP_SERVERS", "DATABASE_URL", "DATABASE_POOL_SIZE", "MAX_IN_FLIGHT", "HTTP_PORT",
                "LOG_LEVEL",
            ])
        #expect(SettingsFaults(faults: faults).description.split(separator: "\n").count == 6)
        #expect(SettingsFaults.exitCode == 78)
    }
}
