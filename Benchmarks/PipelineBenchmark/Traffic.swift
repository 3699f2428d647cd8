import AppStoreSimulation
import Foundation

/// Makes submissions whose receipts are really signed, by the seeds' keys.
struct Traffic: Sendable {
    enum Kind: CaseIterable, Sendable {
        /// A purchase of our app, never seen before.
        case genuine
        /// The same as a small receipt of iOS 6, of which nothing can be proven: Apple alone is asked.
        case plain
        /// A genuine receipt of another app.
        case foreign
        /// No receipt at all, or one whose signature fails.
        case junk
        /// A receipt that was granted already, from another player.
        case repeated
        /// An iOS 6 receipt whose signature nobody can prove, and that Apple does not know.
        case unverifiable

        /// Out of a thousand: what operators saw (docs/threat-model.md).
        var share: Int {
            switch self {
            case .genuine: 100
            case .plain: 0
            case .foreign: 790
            case .junk: 93
            case .repeated: 10
            case .unverifiable: 7
            }
        }
    }

    struct Submission: Sendable {
        var player = ""
        var value: [UInt8] = []
    }

    static let bundleID = "com.example.benchmark"
    static let productID = "com.example.benchmark.gold"
    /// Players share the receipts that crackers hand around.
    private static let foreignReceipts = 200
    /// The first purchases of a mix, which come again later.
    private static let repeatedPurchases = 50

    private let signer: SimulatedSigner
    private let foreign: [String]

    init(signer: SimulatedSigner) throws {
        self.signer = signer
        foreign = try (0..<Self.foreignReceipts).map { number in
            try Self.signed("com.example.other\(number % 7)", number, by: signer)
        }
    }

    /// The kinds in their shares, shuffled within each thousand.
    static func mix(_ count: Int) -> [Kind] {
        var kinds = [Kind](repeating: .genuine, count: repeatedPurchases)
        while kinds.count < count {
            kinds += Kind.allCases.flatMap { Array(repeating: $0, count: $0.share) }.shuffled()
        }
        return Array(kinds.prefix(count))
    }

    /// - Parameter number: counts from 1, and names the player too.
    func submission(_ kind: Kind, _ number: Int, prefix: String) throws -> Submission {
        let player = "\(prefix)-\(number)"
        let value = """
            {"submission_id":"s-\(number)","player_id":"\(player)","bundle_id":"\(Self.bundleID)",\
            "receipt_data":"\(try receipt(kind, number))","product_id":"\(Self.productID)","order_id":"o-\(number)",\
            "device_id":"device-\(number)","currency":"USD"}
            """
        return Submission(player: player, value: Array(value.utf8))
    }

    private func receipt(_ kind: Kind, _ number: Int) throws -> String {
        switch kind {
        case .genuine: return try Self.signed(Self.bundleID, number, by: signer)
        case .plain:
            return SimulatedTransactionReceipt(bundleID: Self.bundleID, purchase: Self.purchase(number)).base64Encoded()
        case .foreign: return foreign[number % foreign.count]
        case .junk:
            if number % 2 == 0 { return String(repeating: "no receipt ", count: 40) + "\(number)" }
            // A signature over something else.
            return try SimulatedReceipt(bundleID: Self.bundleID, purchases: [Self.purchase(number)])
                .base64Encoded { _ in try signer.sign([UInt8](0..<64)) }
        case .repeated: return try Self.signed(Self.bundleID, number % Self.repeatedPurchases + 1, by: signer)
        case .unverifiable:
            return SimulatedTransactionReceipt(
                bundleID: Self.bundleID, purchase: Self.purchase(number), behaviour: [.status(21002)]
            ).base64Encoded()
        }
    }

    private static func purchase(_ number: Int) -> SimulatedPurchase {
        SimulatedPurchase(transactionID: String(900_000_000_000 + number), productID: productID)
    }

    /// The same bytes for the same number.
    private static func signed(_ bundleID: String, _ number: Int, by signer: SimulatedSigner) throws -> String {
        try SimulatedReceipt(bundleID: bundleID, purchases: [purchase(number)])
            .base64Encoded { payload in try signer.sign(payload) }
    }
}
