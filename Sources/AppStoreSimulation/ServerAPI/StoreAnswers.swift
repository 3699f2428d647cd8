import Encodings

/// Answers the requests of the App Store Server API from the store's state.
struct StoreAnswers {
    static let pageSize = 20

    let store: SimulatedStore
    let bundleID: String
    let environment: SimulatedEnvironment
    /// The time of the answer, in milliseconds since 1970.
    let now: Int64
    /// A function that returns the JWS with the given claims.
    let sign: (String) throws -> String

    /// Returns the answer to a request that changes nothing in the store. `StoreChanges` performs the other requests.
    func answer(_ request: ServerAPIRequest) throws -> ServerAPIAnswer {
        switch request.endpoint {
        case .transactions:
            let signed = try sign(transaction(request.id).claims(signedAt: now))
            return .json("{\"signedTransactionInfo\":\"\(signed)\"}")
        case .subscriptions: return .json(try statuses(request))
        case .history: return .json(try history(request))
        case .notifications: return .json(try notifications(request))
        case .lookup: return .json(try lookup(request.id))
        case .testNotification: return .json(try testStatus(request.id))
        case .finish, .consumption, .verifyReceipt: throw ServerAPIFault.badRequest
        }
    }

    func transaction(_ id: String) throws(ServerAPIFault) -> StoreTransaction {
        guard !id.isEmpty, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .invalidTransactionID }
        guard let found = store.transactions[id], found.account.bundleID == bundleID,
            found.account.environment == environment
        else { throw .transactionNotFound }
        return found
    }

    /// The first fields of every answer that lists one customer's transactions.
    var heading: ClaimsText {
        var heading = ClaimsText()
        heading.add("bundleId", bundleID)
        if environment == .production { heading.add("appAppleId", store.apps[bundleID]?.appAppleID) }
        heading.add("environment", environment.appleName.description)
        return heading
    }

    /// Returns an `OrderLookupResponse`. Only Production has orders. An unknown order is no error: the response has
    /// status 1.
    private func lookup(_ orderID: String) throws -> String {
        let found = store.byOrder[orderID].flatMap { try? transaction($0) }
        guard environment == .production, let found else { return #"{"status":1}"# }
        return #"{"status":0,"signedTransactions":["\#(try sign(found.claims(signedAt: now)))"]}"#
    }

    /// Returns a `StatusResponse`.
    private func statuses(_ request: ServerAPIRequest) throws -> String {
        let account = try transaction(request.id).account
        let wanted = try request.values("status").map { text in
            guard let status = Int(text), (1...5).contains(status) else { throw ServerAPIFault.invalidStatus }
            return status
        }
        var groups: [(id: String, items: [String])] = []
        for subscription in store.subscriptions(of: account) {
            let status = subscription.state(at: now).status
            guard wanted.isEmpty || wanted.contains(status), let id = subscription.periods.last,
                let last = store.transactions[id]
            else { continue }
            var item = ClaimsText()
            item.add("originalTransactionId", subscription.originalID)
            item.add("status", Int64(status))
            item.add("signedTransactionInfo", try sign(last.claims(signedAt: now)))
            item.add("signedRenewalInfo", try sign(subscription.claims(signedAt: now)))
            let group = subscription.product.plan?.groupID ?? ""
            if let index = groups.firstIndex(where: { $0.id == group }) {
                groups[index].items.append(item.finished())
            } else {
                groups.append((group, [item.finished()]))
            }
        }
        var answer = heading
        let data = groups.map {
            #"{"subscriptionGroupIdentifier":"\#($0.id)","lastTransactions":[\#($0.items.joined(separator: ","))]}"#
        }
        answer.add("data", json: "[\(data.joined(separator: ","))]")
        return answer.finished()
    }
}
