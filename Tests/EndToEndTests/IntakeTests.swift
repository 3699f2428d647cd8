import Administration
import AppStoreSimulation
import Foundation
import Fulfillment
import ReceiptdConfiguration
import TestSupport
import Testing

@testable import Demo

/// Posts Apple's notifications to an intake. A worker then revokes the refunded grants.
@Suite("Apple's notifications by HTTP, end to end", .wholeSystem)
struct IntakeTests {
    private static let signing = Seeds.directory.appendingPathComponent("signing")
    private static let roots = ["APPLE_ROOT_CERTIFICATES_FILE": signing.appendingPathComponent("root.pem").path]
    private static let path = "/app-store-notifications"

    private static func refund(_ transaction: String, bundleID: String = ParkingBed.castle) throws -> String {
        let boughtAt: Int64 = 1_777_629_600_000
        let signedAt = boughtAt + 86_400_000
        let purchase = SimulatedPurchase(
            transactionID: transaction, productID: "com.example.castle.gems.100", purchaseDateMilliseconds: boughtAt)
        return try SimulatedSigner(folder: signing.path).notificationBody(
            SimulatedNotification(
                type: "REFUND", id: "REFUND-\(transaction)", bundleID: bundleID, appAppleID: 1_450_000_001,
                signedDateMilliseconds: signedAt,
                transaction: SimulatedNotification.claims(
                    of: purchase, bundleID: bundleID, signedDateMilliseconds: signedAt, revokedAt: signedAt)))
    }

    private func intake(in bed: ParkingBed, _ settings: [String: String] = [:]) async throws -> Int {
        let process = try bed.startWorker(
            Self.roots.merging(["INTAKE_HTTP_PORT": "0"]) { $1 }.merging(settings) { $1 }, command: "intake")
        let port = try await Worker(process: process).port()
        try await bed.until("the intake is ready") {
            (try? await HTTPProbe.get(port: port, "/readyz").status) == 200
        }
        return port
    }

    @Test("if Apple posts a refund twice, the intake answers 200 both times, and the worker revokes the grant once")
    func refunded() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.roots)
            let port = try await intake(in: bed)
            try await bed.submit("p-1", ParkingBed.receipt("8701"))
            try await bed.until("it is granted") { bed.answers("p-1") == ["receipt.granted"] }
            for _ in 0..<2 {
                #expect(try await HTTPProbe.post(port: port, Self.path, Self.refund("8701")).status == 200)
            }
            try await bed.until("it is revoked") {
                bed.answers("p-1") == ["receipt.granted", "receipt.revoked refund"]
            }
            try await bed.until("it is done with") { try await bed.parts.notificationsDone(in: bed.pool) == 1 }
            #expect(try await bed.number("SELECT count(*) FROM notifications") == 1)
            #expect(try await bed.number("SELECT revision FROM grants WHERE transaction_id = '8701'") == 2)
        }
    }

    @Test("the intake refuses forged, foreign, overlong and malformed posts, and publishes none of them")
    func refused() async throws {
        try await ParkingBed.run { bed in
            let port = try await intake(in: bed, ["INTAKE_BUNDLE_IDS": ParkingBed.castle])
            let genuine = try Self.refund("8702")
            let forged = try #require(
                genuine.range(of: ".", options: .backwards).map { end in
                    genuine.replacingCharacters(in: end.upperBound..., with: "AAAA\"}")
                })
            let club = try Self.refund("8703", bundleID: ParkingBed.club)
            for (body, status) in [
                (forged, 400), (club, 400), ("{}", 400), ("", 400), (#"{"signedPayload":"a.b.c"}"#, 400),
                (String(repeating: " ", count: 300_000), 413), (genuine, 200),
            ] {
                #expect(
                    try await HTTPProbe.post(port: port, Self.path, body).status == status, "\(body.prefix(40))")
            }
            #expect(try await HTTPProbe.get(port: port, Self.path).status == 405)
            _ = try bed.startWorker(Self.roots)
            try await bed.until("the genuine one is read") {
                try await bed.number("SELECT count(*) FROM notifications") == 1
            }
            // The worker checkpoints an offset only after the effects of its record are stored.
            try await bed.until("its offset is kept") { try await bed.parts.notificationsDone(in: bed.pool) >= 1 }
            #expect(try await bed.parts.notificationsDone(in: bed.pool) == 1, "nothing else was on the topic")
            #expect(bed.outcomes.collected.deadLetters.isEmpty)
        }
    }

    @Test(
        "`check --notification` finds Apple's test notification on the topic, or reports a missing notification address"
    )
    func testNotification() async throws {
        try await ParkingBed.run { bed in
            let app = "com.example.castle.server"
            let environment = bed.environment(DemoRun.settings(signing: Seeds.signing))
            func put(_ app: SimulatedApp) { bed.apple.inStore { $0.add(app) } }
            var simulated = SimulatedApp(bundleID: app, appAppleID: 1_450_000_008, products: [])
            simulated.hasNotificationURL = false
            put(simulated)
            let unset = try await Program.run(["check", "--notification"], environment: environment)
            #expect(unset.code == 78, "\(unset)")
            #expect(
                unset.output.contains(
                    "FAILED  notifications, Production, of \(app): no notification address is set in App Store Connect (4040007)"
                ), "\(unset)")

            simulated.hasNotificationURL = true
            put(simulated)
            let port = try await intake(in: bed)
            // The simulated Apple only stores its notifications. So the test posts them to the intake.
            let posting = Task { [apple = bed.apple] in
                try await eventually("Apple was asked for a test") { !apple.notifications().isEmpty }
                for notification in apple.notifications() {
                    #expect(try await HTTPProbe.post(port: port, Self.path, notification.body).status == 200)
                }
            }
            let found = try await Program.run(["check", "--notification"], environment: environment)
            try await posting.value
            #expect(found.code == 0, "\(found)")
            #expect(
                found.output.contains("ok      notifications, Production, of \(app): Apple's test notification came"),
                "\(found)")
        }
    }

    @Test(
        "if the test notification does not arrive, `check --notification` reports the result of Apple's attempts",
        arguments: [
            (
                .timedOut,
                "Apple tried in vain (TIMED_OUT): look at the address in App Store Connect, the address's TLS versions "
                    + "and certificate, and `receiptd intake`"
            ),
            (
                .success,
                "Apple has delivered it (SUCCESS), but Kafka does not have it: look at the address and `receiptd intake`"
            ),
            (nil, "Apple has not tried to deliver it yet"),
        ] as [(ToldNotification.AttemptResult?, String)])
    func vainNotification(attempt: ToldNotification.AttemptResult?, words: String) async throws {
        let apple = Shared<AppStoreSimulation?>(nil)
        let options = { (options: inout AppStoreSimulation.Options) in
            // Apple's tries to deliver the notification end before the command asks for their results.
            options.notified = { notification in
                guard let attempt else { return }
                apple.value?.inStore { store in _ = try? store.attempted(notification.id, attempt) }
            }
        }
        try await ParkingBed.run(options: options) { bed in
            apple.update { $0 = bed.apple }
            let app = "com.example.castle.server"
            bed.apple.inStore { $0.add(SimulatedApp(bundleID: app, appAppleID: 1_450_000_008, products: [])) }
            let environment = bed.environment(DemoRun.settings(signing: Seeds.signing))
            let settings = try Settings.Reader(environment: environment).read(requiring: [.kafka, .database])
            let catalog = try CatalogFile.parse(bed.document, version: 1)
            let lines = await NotificationCheck(settings, SecretSource(environment: environment), seconds: 0).all(
                catalog)
            let line = try #require(lines.first { $0.name == "notifications, Production, of \(app)" })
            guard case .failure(let failure) = line.result else {
                Issue.record("it came: \(line)")
                return
            }
            let topic = bed.parts.notificationsTopic
            #expect(failure.message == "Apple's test notification did not come to \(topic) within 0 s: \(words)")
        }
    }
}
