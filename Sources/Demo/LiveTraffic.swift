import AppStoreSimulation
import Foundation
import Kafka
import Synchronization

/// Simulated players and forgers, in the proportions of real traffic. Of ten submissions one is a purchase, eight are
/// receipts of other apps, and one is junk or another player's purchase. Some purchases stay held, parked or unclaimed,
/// so that each page of the console has rows.
struct LiveTraffic: Sendable {
    static let bundleID = "com.example.live"
    private static let appleID: Int64 = 1_450_000_050
    private static let interval = Duration.milliseconds(100)
    /// The names of sample cases whose submissions receiptd rejects.
    private static let foreign = "cross-app-receipt"
    private static let junk = "cracker-junk"
    /// The names of sample cases whose records become dead letters.
    private static let malformed = ["malformed-not-json", "malformed-missing-player", "malformed-wrong-types"]
    /// An app without `server_api`, from the sample cases. receiptd parks this app's submissions of a transaction id.
    private static let appWithoutServerAPI = "com.example.castle"

    /// The text to append to the sample cases' catalog. The text lacks the product `builder`, so that workers hold the
    /// purchases of this product.
    static let catalog = """

          - bundle_id: \(bundleID)
            app_apple_id: \(appleID)
            server_api:
              issuer_id: 57246542-96fe-1a63-e053-0824d011072a
              key_id: 2X9R4HXF34
              private_key_setting: SEEDS_SERVER_API_KEY
            missed_purchases: grant
            account_token_is: player_id
            products:
              - { product_id: \(bundleID).gems.100, kind: consumable }
              - { product_id: \(bundleID).gems.1200, kind: consumable }
              - { product_id: \(bundleID).vip.week, kind: auto_renewable_subscription, late_periods: grant }
              - { product_id: \(bundleID).vip.month, kind: auto_renewable_subscription, late_periods: grant }

        """

    /// Apple's notifications that are not yet on the topic.
    final class Told: Sendable {
        private let list = Mutex<[SignedNotification]>([])
        func add(_ notification: SignedNotification) { list.withLock { $0.append(notification) } }
        fileprivate func take() -> [SignedNotification] {
            list.withLock { list in
                defer { list = [] }
                return list
            }
        }
    }

    let parts: EmbeddedParts
    let producer: KafkaProducer
    let cases: [SeedCase]
    let told: Told

    /// Returns the plan of the simulated life, in which a month takes a minute. A purchase without an account token
    /// stays unclaimed.
    private static func plan() -> SimulatedLife.Plan {
        var plan = SimulatedLife.Plan(bundleID: bundleID, appAppleID: appleID)
        plan.days = 1_000_000
        plan.dayMilliseconds = 2000
        plan.tokenShare = 0.9
        plan.familyShare = 0
        return plan
    }

    func run() async throws {
        var life = parts.apple.inStore { SimulatedLife(Self.plan(), startingAt: Self.now(), in: &$0) }
        let foreign = records(of: Self.foreign)
        let junk = records(of: Self.junk)
        let malformed = Self.malformed.flatMap(records)
        var count = 0
        while true {
            try await Task.sleep(for: Self.interval)
            let happened = parts.apple.inStore { life.advance(to: Self.now(), in: &$0) }
            for notification in told.take() {
                try await send(Array(notification.body.utf8), key: [], to: parts.notificationsTopic)
            }
            for bought in happened.compactMap(\.bought) {
                // Every fourth client does not submit its purchase. receiptd grants this purchase because of Apple's
                // notification.
                if let player = bought.terms.accountToken, count % 4 > 0 { try await submit(bought, by: player) }
                if count % 20 == 0 { try await submit(bought, by: "somebody-else") }
                if count % 30 == 10 { try await submitID(of: bought, by: "old-client-\(count / 30 % 2)") }
                if count % 10 == 5 { try await submit(malformed, count / 10) }
                for number in 0..<8 { try await submit(foreign, number + count) }
                if count % 2 == 0 { try await submit(junk, count) }
                count += 1
            }
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private func records(of name: String) -> [SeedRecord] {
        cases.first { $0.name == name }?.records.filter { $0.destination == .submissions && $0.value != nil } ?? []
    }

    private func submit(_ bought: StoreTransaction, by player: String) async throws {
        let submission = """
            {"submission_id":"live-\(bought.id)-\(player)","player_id":"\(player)","bundle_id":"\(Self.bundleID)",\
            "signed_transaction":"\(try parts.apple.signedTransaction(bought.id))"}
            """
        try await send(Array(submission.utf8), key: Array(player.utf8), to: parts.submissionsTopic)
    }

    /// Submits a transaction id without a receipt. receiptd parks the submission for lack of credentials. It rejects a
    /// player's twenty-first and later submissions with `too_many_waiting`.
    private func submitID(of bought: StoreTransaction, by player: String) async throws {
        let submission = """
            {"submission_id":"live-id-\(bought.id)","player_id":"\(player)","bundle_id":"\(Self.appWithoutServerAPI)",\
            "transaction_id":"\(bought.id)"}
            """
        try await send(Array(submission.utf8), key: Array(player.utf8), to: parts.submissionsTopic)
    }

    private func submit(_ records: [SeedRecord], _ number: Int) async throws {
        guard !records.isEmpty, let value = records[number % records.count].value else { return }
        try await send(value, key: records[number % records.count].key, to: parts.submissionsTopic)
    }

    private func send(_ value: [UInt8], key: [UInt8], to topic: String) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: topic, partition: nil, key: key, value: value, headers: [], timestampMilliseconds: nil))
    }
}
