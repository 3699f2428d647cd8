import AppStoreSimulation
import Foundation
import Synchronization

/// Runs a simulated life on the wall clock, and prints its events.
struct LifeRun: Sendable {
    /// The final state of the store, and the counts of posted notifications.
    struct Summary: Encodable {
        let store: StoreSummary
        let delivery: NotificationDelivery.Tally
    }

    /// The longest time between two readings of the clock.
    private static let longestWait = Duration.milliseconds(200)

    let options: LifeOptions
    let seed: UInt64
    let delivery: NotificationDelivery
    /// The function that prints a line.
    let say: @Sendable (String) -> Void

    /// Runs the life, and writes the summary. Returns once the life is over or the task is cancelled.
    func run(_ apple: AppStoreSimulation) async throws {
        let submissions = try options.submissions.map(SubmissionsFile.init(path:))
        async let posting: Void = delivery.run(apple)
        let start = Self.now()
        var life = apple.inStore { SimulatedLife(options.plan(seed: seed), startingAt: start, in: &$0) }
        while let next = life.nextAt, !Task.isCancelled {
            let now = Self.now()
            guard next <= now else {
                try? await Task.sleep(for: min(.milliseconds(next - now), Self.longestWait))
                continue
            }
            let happened = apple.inStore { life.advance(to: now, in: &$0) }
            for happening in happened {
                say("\(Self.text(happening.at)) \(happening.account) \(happening.text)\n")
                if let bought = happening.bought, let submissions {
                    try submissions.add(bought, proof: apple.signedTransaction(bought.id))
                }
            }
        }
        let ended = apple.inStore { life.stop(&$0) }
        delivery.finish()
        await posting
        try write(Summary(store: ended, delivery: delivery.tally))
    }

    private func write(_ summary: Summary) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(summary)
        if let path = options.summary {
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
            say("the simulation has ended: \(path) has the final state\n")
        } else {
            say(String(decoding: data, as: UTF8.self) + "\n")
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1000)).formatted(.iso8601)
    }
}

/// Writes the clients' submissions in the form that `receiptd submit` reads. The player id is the account token, or the
/// account's name if there is no token.
private struct SubmissionsFile: Sendable {
    private let file: FileHandle

    init(path: String) throws {
        try Data().write(to: URL(fileURLWithPath: path))
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func add(_ bought: StoreTransaction, proof: String) throws {
        var submission = [
            "submission_id": "life-\(bought.id)", "player_id": bought.terms.accountToken ?? bought.account.name,
            "bundle_id": bought.account.bundleID, "signed_transaction": proof,
        ]
        submission["app_account_token"] = bought.terms.accountToken
        let line = try JSONSerialization.data(withJSONObject: submission, options: [.sortedKeys])
        try file.write(contentsOf: line + Data("\n".utf8))
    }
}
