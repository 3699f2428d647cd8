import Encodings
import Foundation
import Synchronization

/// Guards the store of a running simulation. Makes one change at a time, and passes the notifications of the change to
/// `notified`.
final class StoreKeeper: Sendable {
    private let store: Mutex<SimulatedStore>
    /// True once the store was changed. Before the first change, the simulation looks up no receipt in the store, which
    /// keeps benchmarks fast.
    private let isInUse = Atomic(false)
    private let signer: SimulatedSigner?
    private let notified: (@Sendable (SignedNotification) -> Void)?

    init(seed: UInt64, signer: SimulatedSigner?, notified: (@Sendable (SignedNotification) -> Void)?) {
        store = Mutex(SimulatedStore(seed: seed))
        self.signer = signer
        self.notified = notified
    }

    /// Changes the store. Passes the notifications of the change to `notified` before it returns.
    func change<Result: Sendable>(
        now: Int64, _ change: (inout SimulatedStore) throws -> Result
    ) rethrows -> Result {
        isInUse.store(true, ordering: .relaxed)
        let (result, made) = try store.withLock { store in
            store.now = now
            let first = store.notifications.count
            let result = try change(&store)
            return (result, notified == nil ? [] : Array(store.notifications.dropFirst(first)))
        }
        for kept in made { notified?(signed(kept)) }
        return result
    }

    func read<Result: Sendable>(_ body: (SimulatedStore) throws -> Result) rethrows -> Result {
        try store.withLock { store in try body(store) }
    }

    /// Returns notifications, oldest first.
    /// - Parameters:
    ///   - first: how many of the oldest notifications to leave out.
    ///   - limit: the most notifications to return.
    func notifications(from first: Int, limit: Int = .max) -> [SignedNotification] {
        read { Array($0.notifications.dropFirst(first).prefix(limit)) }.map(signed)
    }

    private func signed(_ kept: ToldNotification) -> SignedNotification {
        let notification = kept.notification
        let payload = (try? signer?.signedPayload(notification)) ?? Self.unsigned(notification.payload((nil, nil)))
        return SignedNotification(
            id: notification.id, type: notification.type, subtype: notification.subtype,
            transactionID: kept.transactionID, body: "{\"signedPayload\":\"\(payload)\"}")
    }

    /// Returns the JWS (JSON Web Signature) with these claims. Without a signer its signature is not valid.
    func sign(_ claims: String) throws -> String {
        try signer?.signedTransaction(claims: claims) ?? Self.unsigned(claims)
    }

    /// Returns a receipt as the base64 for `receipt-data`.
    func encoded(_ receipt: SimulatedReceipt) -> String {
        guard let signer else { return receipt.base64Encoded() }
        return (try? receipt.base64Encoded(signer: signer.sign)) ?? receipt.base64Encoded()
    }

    /// Returns the time for which the simulation answers requests: `now`, or `SimulatedStore.livedUntil` if that is
    /// earlier.
    func present(_ now: Int64) -> Int64 {
        isInUse.load(ordering: .relaxed) ? read { min(now, $0.livedUntil ?? now) } : now
    }

    /// Returns the store's facts about the customer to whom the request's receipt belongs, and the customer's newest
    /// receipt in base64. Returns nil if the store does not know the customer.
    func customer(showing evidence: SimulatedEvidence, now: Int64) -> (receipt: StoreReceipt, encoded: String)? {
        guard isInUse.load(ordering: .relaxed), let bundleID = evidence.bundleID,
            let found = read({ store in
                store.receipt(
                    holding: evidence.transactionIDs, of: bundleID, now: min(now, store.livedUntil ?? now))
            })
        else { return nil }
        // Only an answer about subscriptions contains the newest receipt, so other customers get the empty text.
        return (found, found.renewals.isEmpty ? "" : encoded(found.newest))
    }

    private static func unsigned(_ claims: String) -> String {
        let header = Base64.encodeURL(Array(#"{"alg":"ES256"}"#.utf8))
        let signature = Base64.encodeURL([UInt8](repeating: 0x5A, count: 64))
        return "\(header).\(Base64.encodeURL(Array(claims.utf8))).\(signature)"
    }

    /// Returns the answer to a request. Throws `ServerAPIFault` if Apple answers with an error.
    func answer(
        _ request: ServerAPIRequest, bundleID: String, environment: SimulatedEnvironment, now: Int64
    ) throws -> ServerAPIAnswer {
        if request.endpoint == .testNotification, request.id.isEmpty {
            return try sendTest(bundleID: bundleID, environment: environment, now: now)
        }
        return try store.withLock { store in
            func answers() -> StoreAnswers {
                StoreAnswers(
                    store: store, bundleID: bundleID, environment: environment, now: min(now, store.livedUntil ?? now),
                    sign: sign)
            }
            switch request.endpoint {
            case .finish:
                let transaction = try answers().transaction(request.id)
                return try StoreChanges.finish(transaction, in: &store)
            case .consumption:
                let transaction = try answers().transaction(request.id)
                return try StoreChanges.consumption(of: transaction, request.body, in: &store)
            default: return try answers().answer(request)
            }
        }
    }

    /// Sends a test notification, and returns a `SendTestNotificationResponse`. Passes the notification to `notified`
    /// before it returns.
    private func sendTest(
        bundleID: String, environment: SimulatedEnvironment, now: Int64
    ) throws -> ServerAPIAnswer {
        let token = try change(now: now) { store -> String? in
            guard store.apps[bundleID]?.hasNotificationURL ?? false else { return nil }
            try store.sendTest(bundleID: bundleID, environment: environment)
            return store.notifications.last?.testToken
        }
        guard let token else { throw ServerAPIFault.noNotificationURL }
        return .json(#"{"testNotificationToken":"\#(token)"}"#)
    }
}

/// A notification as Apple posts it.
public struct SignedNotification: Sendable, Hashable {
    /// The `notificationUUID`.
    public let id: String
    public let type: String
    public let subtype: String?
    public let transactionID: String?
    /// The body of the request: `{"signedPayload":"…"}`.
    public let body: String
}
