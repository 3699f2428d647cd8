import AppStoreSimulation
import Encodings
import Fulfillment
import TestSupport

/// Makes various submissions from a seed, with the expected result of each submission.
struct TrafficGenerator {
    enum Kind: CaseIterable {
        case single, several, sentAgain, resubmitted, replayed, restored, foreign, junk, unknownApp, malformedReceipt
        case empty, troubled, unreadable, incomplete, subscription, expired, unknownProduct, retiredProduct

        /// The percentage of submissions of this kind.
        var share: Int {
            switch self {
            case .single: 34
            case .several, .troubled: 8
            case .replayed, .resubmitted, .junk: 6
            case .sentAgain: 5
            case .foreign, .restored, .unreadable, .incomplete, .subscription: 3
            case .unknownApp, .malformedReceipt, .empty, .expired, .unknownProduct, .retiredProduct: 2
            }
        }
    }

    /// Apple's answers to a receipt: failures, none of which leads to a verdict, then a genuine answer.
    static let troubles: [SimulatedBehaviour] = [
        [.status(21005), .genuine], [.html, .genuine], [.http(503), .genuine], [.status(21009).times(2), .genuine],
        [.halfBody, .reset, .genuine], [.status(21104, isRetryable: true), .garbage, .genuine],
    ]

    let players: Int
    private let mark: String
    private var random: SeededRandom
    private var plan = Plan()
    private var number = 0

    init(seed: UInt64, players: Int = 200) {
        random = SeededRandom(seed: seed)
        self.players = players
        mark = String(seed % 1_000_000)
    }

    static func plan(seed: UInt64, count: Int, players: Int = 200, withContests: Bool = true) -> Plan {
        plan(seed: seed, count: count, players: players, without: withContests ? [] : [.replayed, .restored])
    }

    static func plan(seed: UInt64, count: Int, players: Int = 200, without excluded: Set<Kind>) -> Plan {
        var generator = TrafficGenerator(seed: seed, players: players)
        let kinds = Kind.allCases.filter { !excluded.contains($0) }
        let lots = kinds.flatMap { Array(repeating: $0, count: $0.share) }
        // The plan has each kind at least once, even if the random choice leaves a kind out.
        for kind in kinds { generator.add(kind) }
        while generator.plan.records.count < count {
            generator.add(lots[Int(generator.random.next() % UInt64(lots.count))])
        }
        return generator.plan
    }

    private mutating func add(_ kind: Kind) {
        let player = anyPlayer()
        switch kind {
        case .single: grant(player, Receipts.single(transaction()))
        case .several:
            let purchases = (0...Int.random(in: 1...3, using: &random)).map { place in
                SimulatedPurchase(
                    transactionID: transaction(), productID: Receipts.gems,
                    purchaseDateMilliseconds: Receipts.purchasedAt + Int64(place) * 60_000)
            }
            grantAll(purchases.map(\.transactionID), player, Receipts.app(purchases, number: number))
        case .sentAgain:
            grant(player, Receipts.single(transaction()))
            if let last = plan.records.last { plan.records.append(last) }
        case .resubmitted:
            let receipt = Receipts.single(transaction())
            grant(player, receipt)
            submit(player, receipt, .always(.rejected("already_granted")))
        case .replayed: replay(player)
        case .restored: restore(player)
        case .foreign:
            let receipt = Receipts.single(transaction(), bundle: "com.example.other")
            submit(player, receipt, .always(.rejected("foreign_app"), isLocal: true))
        case .junk: submit(player, "no receipt \(number)", .always(.rejected("malformed_receipt"), isLocal: true))
        case .unknownApp:
            submit(
                player, Receipts.single(transaction()), bundle: "com.example.nowhere",
                .always(.rejected("unknown_app"), isLocal: true))
        case .malformedReceipt:
            let receipt = Receipts.single(transaction(), behaviour: [.status(21002)])
            submit(player, receipt, .always(.rejected("malformed_receipt")))
        case .empty: submit(player, Receipts.app([], number: number), .always(.rejected("no_purchase")))
        case .troubled:
            let trouble = Self.troubles[Int(random.next() % UInt64(Self.troubles.count))]
            grant(player, Receipts.single(transaction(), behaviour: trouble))
        case .unreadable: bury(player, Array("{ \"player_id\": \"\(player)".utf8), answered: false)
        case .incomplete: bury(player, json(player, id: submissionID(), receipt: nil), answered: true)
        case .subscription:
            let id = transaction()
            grantAll([id], player, Receipts.subscription(id, expiresAt: 4_070_908_800_000, number: number))
        case .expired:
            let receipt = Receipts.subscription(transaction(), expiresAt: Receipts.purchasedAt + 1000, number: number)
            submit(player, receipt, .always(.rejected("subscription_expired")))
        case .unknownProduct:
            submit(
                player, Receipts.single(transaction(), product: "com.example.castle.secret"),
                .always(.held("unknown_product")))
        case .retiredProduct:
            submit(player, Receipts.single(transaction(), product: Receipts.retired), .always(.held("retired_product")))
        }
    }

    private mutating func grant(_ player: String, _ receipt: String) {
        grantAll([lastTransaction], player, receipt)
    }

    private mutating func grantAll(_ transactions: [String], _ player: String, _ receipt: String) {
        plan.certainGrants.formUnion(transactions)
        submit(player, receipt, Truth(alternatives: [Set(transactions.map { .granted($0) })]))
    }

    private mutating func replay(_ player: String) {
        let receipt = Receipts.single(transaction())
        let id = lastTransaction
        plan.contests.append([id])
        for one in [player, anyPlayer(but: player)] {
            submit(one, receipt, Truth(alternatives: [[.granted(id)], [.rejected("owned_by_other_player")]]))
        }
    }

    private mutating func restore(_ player: String) {
        let original = transaction()
        let restored = transaction()
        plan.contests.append([original, restored])
        for (one, id) in [(player, original), (anyPlayer(but: player), restored)] {
            submit(
                one, Receipts.single(id, original: original, product: Receipts.builder),
                Truth(alternatives: [[.granted(id)], [.rejected("owned_by_other_player")]]))
        }
    }

    private mutating func submit(
        _ player: String, _ receipt: String, bundle: String = Receipts.castle, _ truth: Truth
    ) {
        let id = submissionID()
        plan.truths[id] = truth
        let isAsked = Base64.decode(receipt.utf8) != nil && bundle == Receipts.castle
        plan.records.append(
            PlannedRecord(
                key: Array(player.utf8), value: json(player, id: id, receipt: receipt, bundle: bundle),
                submissionID: id,
                playerID: player, receipt: isAsked ? receipt : nil))
    }

    private mutating func bury(_ player: String, _ value: [UInt8], answered: Bool) {
        let key = "\(player)/broken/\(number)"
        plan.deadLetters[key] = "malformed_message"
        let id = answered ? "\(mark)-\(number)" : nil
        if let id { plan.truths[id] = .always(.rejected("malformed_submission"), isLocal: true) }
        plan.records.append(PlannedRecord(key: Array(key.utf8), value: value, submissionID: id, playerID: player))
    }

    private func json(_ player: String, id: String, receipt: String?, bundle: String = Receipts.castle) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("submission_id", id)
        writer.member("player_id", player)
        writer.member("bundle_id", bundle)
        writer.member("receipt_data", ifPresent: receipt)
        writer.endObject()
        return writer.bytes
    }

    private mutating func submissionID() -> String {
        number += 1
        return "\(mark)-\(number)"
    }

    private var lastTransaction = ""

    private mutating func transaction() -> String {
        number += 1
        lastTransaction = "8\(mark)\(String(1_000_000 + number))"
        return lastTransaction
    }

    private mutating func anyPlayer(but other: String? = nil) -> String {
        while true {
            let player = "player-\(random.next() % UInt64(players))"
            if player != other { return player }
        }
    }
}
