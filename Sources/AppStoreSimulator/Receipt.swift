import AppStoreSimulation
import ArgumentParser
import Foundation

struct Receipt: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the base64 of a simulated receipt.")

    @Option(help: "The app's bundle id.")
    var bundleID: String

    @Option(help: "The app's Apple id (adam_id). With --sandbox, an app receipt has 0 instead.")
    var appAppleID: Int64 = 0

    @Option(help: "A product id for each purchase; a single one applies to all purchases.")
    var product: [String]

    @Option(help: "A transaction id for each purchase.")
    var transaction: [String]

    @Option(help: "The original transaction id of a receipt with one purchase.")
    var originalTransaction: String?

    @OptionGroup
    var options: PurchaseOptions

    @Option(
        help: """
            How the simulator answers for this receipt, as JSON, for instance \
            '[{\"answer\":\"status\",\"status\":21005,\"times\":2},\"genuine\"]'.
            """)
    var behaviour: String?

    @Option(help: "The folder of the keys and certificates to sign with, such as seeds/signing; unsigned by default.")
    var signWith: String?

    @Flag(help: "Make a sandbox receipt.")
    var sandbox = false

    @Flag(help: "Make an iOS 6 transaction receipt of the first transaction.")
    var transactionReceipt = false

    func validate() throws {
        guard product.count == 1 || product.count == transaction.count else {
            throw ValidationError("give one --product, or one for each --transaction")
        }
        if let behaviour, SimulatedBehaviour(json: behaviour) == nil {
            throw ValidationError("--behaviour is not JSON of the form that its help shows")
        }
    }

    func run() throws {
        let date = options.purchaseDateMs ?? Int64(Date().timeIntervalSince1970) * 1000
        let purchases = transaction.enumerated().map { index, id in
            SimulatedPurchase(
                transactionID: id,
                originalTransactionID: originalTransaction,
                productID: product.count == 1 ? product[0] : product[index],
                quantity: options.quantity,
                kind: options.kind.kind,
                purchaseDateMilliseconds: date,
                expiresDateMilliseconds: options.expiresDateMs,
                cancellationDateMilliseconds: options.cancellationDateMs,
                ownershipType: options.familyShared ? .familyShared : .purchased,
                appAccountToken: options.accountToken)
        }
        let environment: SimulatedEnvironment = sandbox ? .sandbox : .production
        let steps = behaviour.flatMap { SimulatedBehaviour(json: $0) }
        if transactionReceipt, let purchase = purchases.first {
            let receipt = SimulatedTransactionReceipt(
                bundleID: bundleID, appAppleID: appAppleID, environment: environment, purchase: purchase,
                behaviour: steps)
            print(receipt.base64Encoded())
        } else {
            let receipt = SimulatedReceipt(
                bundleID: bundleID, appAppleID: appAppleID, environment: environment, creationDateMilliseconds: date,
                purchases: purchases, behaviour: steps)
            let signer = try signWith.map(SimulatedSigner.init(folder:))
            print(try signer.map { try receipt.base64Encoded(signer: $0.sign) } ?? receipt.base64Encoded())
        }
    }
}
