import AppStoreSimulation
import Foundation

/// Makes submissions whose receipts are really signed, by the seeds' keys.
struct Traffic {
    enum Kind: CaseIterable {
        /// A purchase of our app, never seen before.
        case genuine
        /// A genuine receipt of another app.
        case foreign
        /// No receipt at all, or one whose signature fails.
        case junk
        /// A receipt that was granted already, from another player.
        case repeated
        /// Of iOS 6, with a signature that nobody can prove, and none that Apple knows.
        case unverifiable

        /// Out of a thousand: what operators saw (docs/threat-model.md).
        var share: Int {
            switch self {
            case .genuine: 100
            case .foreign: 790
            case .junk: 93
            case .repeated: 10
            case .unverifiable: 7
            }
        }
    }

    static let bundleID = "com.example.benchmark"
    static let productID = "com.example.benchmark.gold"
    /// Players share the receipts that crackers hand around.
    private static let foreignReceipts = 200

    private let signer: SimulatedSigner
    private var submitted = 0
    private var foreign: [String] = []
    private var known: [String] = []
    private var turns: [Kind] = []

    init(signer: SimulatedSigner) throws {
        self.signer = signer
        for number in 0..<Self.foreignReceipts {
            foreign.append(try signed("com.example.other\(number % 7)", String(700_000_000_000 + number)))
        }
    }

    /// The kinds in their shares, shuffled anew every thousand.
    mutating func nextOfMix() -> Kind {
        if turns.isEmpty { turns = Kind.allCases.flatMap { Array(repeating: $0, count: $0.share) }.shuffled() }
        return turns.popLast() ?? .genuine
    }

    /// - Returns: the player, each time another one, and the record's value.
    mutating func make(_ kind: Kind, prefix: String) throws -> (player: String, value: [UInt8]) {
        submitted += 1
        let player = "\(prefix)-\(submitted)"
        let receipt = try receipt(kind)
        let value = """
            {"submission_id":"s-\(submitted)","player_id":"\(player)","bundle_id":"\(Self.bundleID)",\
            "receipt_data":"\(receipt)","product_id":"\(Self.productID)","order_id":"o-\(submitted)",\
            "device_id":"device-\(submitted)","currency":"USD"}
            """
        return (player, Array(value.utf8))
    }

    private mutating func receipt(_ kind: Kind) throws -> String {
        switch kind {
        case .genuine:
            let receipt = try signed(Self.bundleID, String(900_000_000_000 + submitted))
            if known.count < 1000 { known.append(receipt) }
            return receipt
        case .foreign: return foreign[submitted % foreign.count]
        case .junk:
            if submitted % 2 == 0 { return String(repeating: "no receipt ", count: 40) + "\(submitted)" }
            let receipt = SimulatedReceipt(
                bundleID: Self.bundleID,
                purchases: [.init(transactionID: String(600_000_000_000 + submitted), productID: Self.productID)])
            // A signature over something else.
            return try receipt.base64Encoded { _ in try signer.sign([UInt8](0..<64)) }
        case .repeated:
            // Those of the very beginning: granted by now.
            return known.isEmpty ? try self.receipt(.genuine) : known[submitted % min(known.count, 50)]
        case .unverifiable:
            return SimulatedTransactionReceipt(
                bundleID: Self.bundleID,
                purchase: .init(transactionID: String(800_000_000_000 + submitted), productID: Self.productID),
                behaviour: [.status(21002)]
            ).base64Encoded()
        }
    }

    private func signed(_ bundleID: String, _ transactionID: String) throws -> String {
        try SimulatedReceipt(
            bundleID: bundleID, purchases: [.init(transactionID: transactionID, productID: Self.productID)]
        ).base64Encoded { payload in try signer.sign(payload) }
    }
}
