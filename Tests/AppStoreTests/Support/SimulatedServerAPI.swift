import AppStore
import AppStoreSimulation
import AppleProofs
import Foundation
import Fulfillment
import NamesAndTimes

/// A client of the App Store Server API with the keys of the seeds, and the simulated App Store that the client asks.
struct SimulatedServerAPI: Sendable {
    let store: AppStoreSimulation
    let client: ServerAPIClient
    let observer: RecordingObserver

    static let bundle: BundleID = "com.example.castle.server"
    static let credentials = ServerAPICredentials(
        issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34", privateKeySetting: "KEY")
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds/signing")
    static let proofs = Result { ProofReader(roots: try AppleRoots(pem: file("root.pem"))) }
    static let signer = Result { try SimulatedSigner(folder: folder.path) }

    static func file(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// - Parameter keys: the keys in the client's settings; nil for the seeds' key.
    static func run(
        keys: [String: String]? = nil, knownKeyID: String? = nil, timeoutSeconds: Double = 10,
        limits: AppleLimits? = nil, _ body: (SimulatedServerAPI) async throws -> Void
    ) async throws {
        let key = try file("server-api-key.pem")
        var options = AppStoreSimulation.Options()
        options.trackReceipts = true
        options.signer = try signer.get()
        options.serverAPIKeys[bundle.text] = try SimulatedServerAPIKey(
            pem: key, keyID: knownKeyID ?? credentials.keyID, issuerID: credentials.issuerID)
        let store = try await AppStoreSimulation.start(options: options)
        let observer = RecordingObserver()
        let known = keys ?? ["KEY": key]
        let client = try ServerAPIClient(
            settings: AppleSettings(
                serverAPIProductionURL: store.serverAPIProductionURL, serverAPISandboxURL: store.serverAPISandboxURL,
                timeoutSeconds: timeoutSeconds),
            secrets: { known[$0] }, proofs: try proofs.get(), limits: limits, observer: observer)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(SimulatedServerAPI(store: store, client: client, observer: observer)))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        try await store.shutdown()
        try result.get()
    }

    func ask(
        _ id: String, bundle: BundleID = bundle, _ credentials: ServerAPICredentials = credentials,
        player: PlayerID? = nil, isProven: Bool = true
    ) async -> AppleAnswer {
        let id = StoreTransactionID(id)
        var request = VerificationRequest(bundleID: bundle, subject: .transaction(id, credentials))
        request.playerID = player
        request.isProven = isProven
        return await client.look(up: id, credentials, for: request)
    }

    /// Registers a transaction in the store. The steps are the store's answers about the transaction, in order.
    func register(
        _ id: String, environment: String = "Production", bundle: BundleID = bundle, _ steps: SimulatedStep...
    ) throws {
        store.register(
            SimulatedTransaction(
                transactionID: id, signedTransactionInfo: try Self.signed(id, environment: environment, bundle: bundle),
                behaviour: steps.isEmpty ? nil : SimulatedBehaviour(steps)))
    }

    static func signed(
        _ id: String, environment: String = "Production", bundle: BundleID = bundle, more: String = ""
    ) throws -> String {
        try signer.get().signedTransaction(
            claims: """
                {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(bundle)","productId":"gold",\
                "purchaseDate":1777629600000,"signedDate":1777629605000,"quantity":2,"type":"Consumable",\
                "environment":"\(environment)","appAccountToken":"3C9E6679-7425-40DE-944B-E07FC1F90AE7"\(more)}
                """)
    }
}
