import AppStoreSimulation
import Foundation

/// Makes submissions with receipts that the seeds' keys sign.
struct Traffic: Sendable {
    enum Kind: CaseIterable, Sendable {
        /// A new purchase of our app.
        case genuine
        /// A new purchase in a small iOS 6 receipt, which is not provable, so that the worker asks Apple.
        case plain
        /// A genuine receipt of another app.
        case foreign
        /// A text that is no receipt, or a receipt with a wrong signature.
        case junk
        /// A receipt with a purchase that receiptd granted to another player before.
        case repeated
        /// An iOS 6 receipt that is not provable and that Apple does not know.
        case unverifiable

        /// The number among a thousand submissions, as operators saw it (docs/threat-model.md).
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
    /// The number of foreign receipts, each of which many players submit.
    private static let foreignReceipts = 200
    /// A mix begins with this many purchases, which later submissions repeat.
    private static let repeatedPurchases = 50

    private let signer: SimulatedSigner
    private let foreign: [String]

    init(signer: SimulatedSigner) throws {
        self.signer = signer
        foreign = try (0..<Self.foreignReceipts).map { number in
            try Self.signed("com.example.other\(number % 7)", number, by: signer)
        }
    }

    /// Returns the kinds in their shares, shuffled within each thousand.
    static func mix(_ count: Int) -> [Kind] {
        var kinds = [Kind](repeating: .genuine, count: repeatedPurchases)
        while kinds.count < count {
            kinds += Kind.allCases.flatMap { Array(repeating: $0, count: $0.share) }.shuffled()
        }
        return Array(kinds.prefix(count))
    }

    /// - Parameter number: the submission's number from 1 on, which is also in the player's id.
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
            // The signature of other bytes makes the receipt forged.
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

    /// Returns a signed receipt. The same number gives the same bytes.
    private static func signed(_ bundleID: String, _ number: Int, by signer: SimulatedSigner) throws -> String {
        try SimulatedReceipt(bundleID: bundleID, purchases: [purchase(number)])
            .base64Encoded { payload in try signer.sign(payload) }
    }
}
