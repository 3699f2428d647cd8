import Foundation

/// A transaction that the simulated App Store Server API knows, in the form of arrangement files and of `POST
/// /control/register`.
public struct SimulatedTransaction: Sendable, Hashable, Codable {
    public var transactionID: String
    /// The JWS of the transaction; nil to answer that the transaction is not found. Only requests of the app and the
    /// environment in the JWS's claims get the JWS.
    public var signedTransactionInfo: String?
    /// The behaviour for requests about this transaction; nil for Apple's ordinary answers. The `status` of a step is
    /// an `errorCode` here, such as 4040010, whose first three digits are the HTTP status. The answer 401 has no body.
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

    /// Returns the key under which the simulation counts requests for a transaction and keeps its behaviour. The word
    /// before the id makes this key differ from the key of a receipt.
    static func hash(_ transactionID: String) -> UInt64 { ReceiptHash.hash("transaction \(transactionID)") }

    /// Returns the key for the counts and the behaviour of an id at one endpoint of the App Store Server API.
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

/// A registered transaction. Only requests of this app in this environment get its JWS.
struct KnownTransaction: Sendable {
    let signedTransactionInfo: String
    let bundleID: String
    let environment: SimulatedEnvironment

    /// Returns nil if the claims have no bundle id, or an unknown environment.
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
