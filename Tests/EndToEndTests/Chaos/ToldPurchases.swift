import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import Synchronization

@testable import Demo

/// Announces purchases at a steady rate during the faults. No client submits them. Apple refunds every third of them
/// some time later.
final class ToldPurchases: Sendable {
    struct Purchase: Sendable {
        let id: String
        let player: String
        var isRefunded = false
    }

    private static let app = "com.example.castle.delivered"
    private static let perSecond = 4
    private static let players = 20
    /// The notification of a refund comes after this many further purchases.
    private static let refundedAfter = 10
    /// The time of purchase, after the first catalog with `missed_purchases: grant`.
    private static let boughtAt: Int64 = 2_461_449_600_000

    private let bed: Testbed
    private let signer: SimulatedSigner
    private let state = Mutex<[Purchase]>([])
    private let failures = Mutex<[String]>([])
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(bed: Testbed) throws {
        self.bed = bed
        signer = try SimulatedSigner(folder: Seeds.signing.path)
    }

    var all: [Purchase] { state.withLock { $0 } }
    var faults: [String] { failures.withLock { $0 } }

    private static func token(_ player: Int) -> String { "1a2b3c4d-0000-4000-8000-\(830_000_000_000 + player)" }

    /// Publishes the players of the account tokens, and then begins to announce purchases.
    func start() async throws {
        for player in 0..<Self.players {
            try await publish(
                #"{"player_id":"told-\#(player)"}"#, to: bed.parts.accountsTopic,
                key: "\(Self.app)/\(Self.token(player))")
        }
        let task = Task {
            while !Task.isCancelled {
                do { try await tell() } catch { failures.withLock { $0.append("Apple could not tell: \(error)") } }
                try? await Task.sleep(for: .milliseconds(1000 / Self.perSecond))
            }
        }
        self.task.withLock { $0 = task }
    }

    func finish() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    private func tell() async throws {
        let number = all.count
        let player = number % Self.players
        let id = String(930_000_000 + number)
        try await notify("ONE_TIME_CHARGE", of: id, player: player)
        state.withLock { $0.append(Purchase(id: id, player: "told-\(player)")) }
        let refunded = number - Self.refundedAfter
        guard refunded >= 0, refunded % 3 == 0 else { return }
        let purchase = all[refunded]
        try await notify("REFUND", of: purchase.id, player: refunded % Self.players, isRefund: true)
        state.withLock { $0[refunded].isRefunded = true }
    }

    private func notify(_ type: String, of id: String, player: Int, isRefund: Bool = false) async throws {
        let signedAt = Self.boughtAt + (isRefund ? 60_000 : 1000)
        var purchase = SimulatedPurchase(
            transactionID: id, productID: "\(Self.app).gems.100", purchaseDateMilliseconds: Self.boughtAt)
        purchase.appAccountToken = Self.token(player)
        let body = try signer.notificationBody(
            SimulatedNotification(
                type: type, id: "\(type)-\(id)", bundleID: Self.app, appAppleID: 1_450_000_010,
                signedDateMilliseconds: signedAt,
                transaction: SimulatedNotification.claims(
                    of: purchase, bundleID: Self.app, signedDateMilliseconds: signedAt,
                    revokedAt: isRefund ? signedAt : nil)))
        try await publish(body, to: bed.parts.notificationsTopic, key: id)
    }

    private func publish(_ text: String, to topic: String, key: String) async throws {
        _ = try await bed.producer.send(
            ProducerRecord(
                topic: topic, partition: nil, key: Array(key.utf8), value: Array(text.utf8), headers: [],
                timestampMilliseconds: nil))
    }
}

extension Testbed {
    /// Returns true if exactly the purchases that Apple has not refunded have a valid grant and an event.
    func hasAll(_ told: [ToldPurchases.Purchase]) async throws -> Bool {
        let granted = Set(
            outcomes.content.events.lazy.filter { $0.type == "receipt.granted" }.compactMap(\.transactionID))
        return try await told.inForce == inForce(of: told) && granted.isSuperset(of: told.inForce.keys)
    }

    /// Returns the player of each purchase with a valid grant, by transaction.
    func inForce(of told: [ToldPurchases.Purchase]) async throws -> [String: String] {
        let ids = told.map { "'\($0.id)'" }.joined(separator: ",")
        guard !ids.isEmpty else { return [:] }
        return try await query(
            "SELECT transaction_id, player_id FROM grants WHERE revoked_at IS NULL AND transaction_id IN (\(ids))"
        ) { rows in
            Dictionary(
                (0..<rows.count).map { (rows.text($0, 0) ?? "-", rows.text($0, 1) ?? "-") }, uniquingKeysWith: { $1 })
        }
    }
}
