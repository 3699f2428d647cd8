import Foundation

/// A transaction that the simulated App Store Server API knows, as in files and in `POST /control/register`.
public struct SimulatedTransaction: Sendable, Hashable, Codable {
    public var transactionID: String
    /// The JWS to answer with, in the environment that its claims name and to its own app; nil: the transaction is not
    /// found.
    public var signedTransactionInfo: String?
    /// The behaviour for requests about it, counted from now; nil for Apple's ordinary answers. A `status` is an
    /// `errorCode` here, such as 4040010, and its first three digits are the HTTP status. 401 has no body.
    public var behaviour: SimulatedBehaviour?

    public init(transactionID: String, signedTransactionInfo: String? = nil, behaviour: SimulatedBehaviour? = nil) {
        self.transactionID = transactionID
        self.signedTransactionInfo = signedTransactionInfo
        self.behaviour = behaviour
    }

    enum CodingKeys: String, CodingKey {
        case transactionID = "transaction_id"
        case signedTransactionInfo = "signed_transaction_info"
        case behaviour
    }

    /// Returns the key of a transaction's counts and behaviours, which differs from those of receipts.
    static func hash(_ transactionID: String) -> UInt64 { ReceiptHash.hash("transaction \(transactionID)") }

    /// Returns the key for another endpoint of the App Store Server API.
    static func hash(_ id: String, _ endpoint: SimulatedEndpoint) -> UInt64 {
        endpoint == .transactions ? hash(id) : ReceiptHash.hash("\(endpoint.rawValue) \(id)")
    }
}

/// One entry of a file of arrangements, for a receipt or a transaction.
public enum SimulatedArrangement: Sendable, Hashable, Codable {
    case receipt(SimulatedRegistration)
    case transaction(SimulatedTransaction)

    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: SimulatedTransaction.CodingKeys.self)
        self =
            keys.contains(.transactionID)
            ? .transaction(try SimulatedTransaction(from: decoder)) : .receipt(try SimulatedRegistration(from: decoder))
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .receipt(let receipt): try receipt.encode(to: encoder)
        case .transaction(let transaction): try transaction.encode(to: encoder)
        }
    }
}

/// The facts that decide which requests a transaction is returned to.
struct KnownTransaction: Sendable {
    let signedTransactionInfo: String
    let bundleID: String
    let environment: SimulatedEnvironment

    /// Returns nil if its claims name no app or neither environment.
    init?(signedTransactionInfo text: String) {
        struct Claims: Decodable {
            let bundleId: String
            let environment: String
        }
        guard let claims = SimulatedToken.decode(Claims.self, segment: 1, of: text) else { return nil }
        switch claims.environment {
        case "Production": environment = .production
        case "Sandbox": environment = .sandbox
        default: return nil
        }
        signedTransactionInfo = text
        bundleID = claims.bundleId
    }
}
