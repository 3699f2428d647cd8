extension StoreAnswers {
    private static let productTypes = ["NON_CONSUMABLE", "CONSUMABLE", "NON_RENEWABLE", "AUTO_RENEWABLE"]

    /// Returns a `HistoryResponse`, version 2. Its `revision` contains the `modification` of the last transaction that
    /// the client has read.
    func history(_ request: ServerAPIRequest) throws -> String {
        let account = try transaction(request.id).account
        let isDescending = try isDescending(request)
        let filter = try HistoryFilter(request)
        var found = store.transactions(of: account).filter(filter.admits)
        found.sort { isDescending ? $0.modification > $1.modification : $0.modification < $1.modification }
        if let revision = request.value("revision") {
            guard let reached = Self.revision(revision) else { throw ServerAPIFault.invalidRevision }
            found.removeAll { isDescending ? $0.modification >= reached : $0.modification <= reached }
        }
        let page = found.prefix(Self.pageSize)
        var answer = heading
        let reached = page.last.map { "r\($0.modification)" } ?? request.value("revision") ?? "r0"
        answer.add("revision", reached)
        answer.add("hasMore", found.count > page.count)
        let signed = try page.map { "\"\(try sign($0.claims(signedAt: now)))\"" }
        answer.add("signedTransactions", json: "[\(signed.joined(separator: ","))]")
        return answer.finished()
    }

    private func isDescending(_ request: ServerAPIRequest) throws -> Bool {
        switch request.value("sort") {
        case nil, "ASCENDING": return false
        case "DESCENDING": return true
        default: throw ServerAPIFault.invalidSort
        }
    }

    private static func revision(_ text: String) -> Int? {
        text.hasPrefix("r") ? Int(text.dropFirst()) : nil
    }

    private struct HistoryFilter {
        private let from: Int64?
        private let until: Int64?
        private let productIDs: [String]
        private let kinds: [Int]
        private let groupIDs: [String]
        private let ownership: String?
        private let isRevoked: Bool?

        init(_ request: ServerAPIRequest) throws {
            from = try Self.date(request.value("startDate"), .invalidStartDate)
            until = try Self.date(request.value("endDate"), .invalidEndDate)
            if let from, let until, from >= until { throw ServerAPIFault.startDateAfterEndDate }
            productIDs = request.values("productId")
            kinds = try request.values("productType").map { name in
                guard let kind = StoreAnswers.productTypes.firstIndex(of: name) else {
                    throw ServerAPIFault.invalidProductType
                }
                return kind
            }
            groupIDs = request.values("subscriptionGroupIdentifier")
            ownership = request.value("inAppOwnershipType")
            switch request.value("revoked") {
            case nil: isRevoked = nil
            case "true": isRevoked = true
            case "false": isRevoked = false
            default: throw ServerAPIFault.invalidRevoked
            }
        }

        private static func date(_ text: String?, _ fault: ServerAPIFault) throws -> Int64? {
            guard let text else { return nil }
            guard let date = Int64(text) else { throw fault }
            return date
        }

        func admits(_ transaction: StoreTransaction) -> Bool {
            transaction.purchasedAt >= from ?? .min && transaction.purchasedAt < until ?? .max
                && (productIDs.isEmpty || productIDs.contains(transaction.product.id))
                && (kinds.isEmpty || kinds.contains(transaction.product.kind.rawValue))
                && (groupIDs.isEmpty || groupIDs.contains(transaction.product.plan?.groupID ?? ""))
                && ownership ?? transaction.terms.ownership == transaction.terms.ownership
                && isRevoked ?? (transaction.revocation != nil) == (transaction.revocation != nil)
        }
    }
}
