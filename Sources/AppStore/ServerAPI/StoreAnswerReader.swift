import Encodings
import Fulfillment
import NamesAndTimes

/// Reads answers of the App Store Server API. The reader accepts signed data only if receiptd's root certificates prove
/// Apple's signature, and if the data names the query's app and environment. The reader does no I/O, reads no clock and
/// never traps.
///
/// If the reader cannot prove one part of an answer, the whole answer counts as trouble. Three answers are exceptions
/// (decision 0036):
///
/// - Statuses: the reader leaves out a faulty part about a subscription that is not the query's.
/// - Transaction history: the reader leaves out a signed transaction whose id, product or environment it cannot read,
///   because receiptd can never grant the transaction.
/// - Notification history: the reader returns the notifications as they are. `NotificationParser` proves each of them.
public struct StoreAnswerReader: Sendable {
    /// The most bytes of a body. Apple's bodies have at most 20 signed parts, or one for each subscription of the
    /// customer.
    public static let maximumBytes = 4 << 20
    /// The most items of a page. Apple's pages have 20 items.
    public static let maximumPageItems = 100
    static let maximumStatuses = 1000

    public enum Fault: Error, Sendable {
        case notJSON
        case incomplete
        case unproven
        /// Apple signed the part, but receiptd cannot read its id, its product or its environment. Asking again does
        /// not help, because later answers have this part too.
        case unreadable

        var troubleKind: AppleAnswer.TroubleKind {
            switch self {
            case .notJSON: .notJSON
            case .incomplete, .unreadable: .incomplete
            case .unproven: .unproven
            }
        }
    }

    /// An answer, with the number of parts that the reader left out because it cannot prove or read them.
    public struct Reading<Value> {
        public let value: Value
        public var leftOut = 0
    }

    private let parser: any SignedDataParser
    private let bundleID: BundleID
    private let environment: StoreEnvironment

    public init(parser: any SignedDataParser, bundleID: BundleID, environment: StoreEnvironment) {
        self.parser = parser
        self.bundleID = bundleID
        self.environment = environment
    }

    /// The names of the members that the reader needs, of all kinds of answers.
    private static let names = JSONNames([
        "signedTransactionInfo", "signedRenewalInfo", "signedTransactions", "signedPayload", "data", "lastTransactions",
        "subscriptionGroupIdentifier", "originalTransactionId", "status", "revision", "hasMore", "notificationHistory",
        "paginationToken", "testNotificationToken", "sendAttempts", "sendAttemptResult",
    ])

    private func parse(_ body: [UInt8]) throws(Fault) -> JSONValue {
        guard body.count <= Self.maximumBytes else { throw .incomplete }
        guard let document = try? JSONParser.parse(body, keeping: Self.names), case .object = document.value else {
            throw .notJSON
        }
        guard !document.exceededDepth else { throw .incomplete }
        return document.value
    }

    /// Reads an answer of Get Transaction Info.
    public func transaction(_ body: [UInt8], asked id: StoreTransactionID) throws(Fault) -> Reading<NotifiedTransaction>
    {
        guard let jws = try parse(body)["signedTransactionInfo"]?.string else { throw .incomplete }
        let transaction = try transaction(jws)
        guard transaction.purchase.transactionID == id else { throw .unproven }
        return Reading(value: transaction)
    }

    /// Reads an answer of Look Up Order ID. An answer with status 0 has transactions. An answer with status 1 has none.
    public func order(_ body: [UInt8]) throws(Fault) -> Reading<[NotifiedTransaction]> {
        let answer = try parse(body)
        guard let status = answer["status"]?.wholeNumber else { throw .incomplete }
        guard status == 0 else { return Reading(value: []) }
        guard let items = answer["signedTransactions"]?.array, items.count <= Self.maximumPageItems else {
            throw .incomplete
        }
        var transactions: [NotifiedTransaction] = []
        for item in items {
            guard let jws = item.string else { throw .incomplete }
            transactions.append(try transaction(jws))
        }
        return Reading(value: transactions)
    }

    /// Reads an answer of Get Transaction History.
    /// - Parameter page: the page that the request named; nil for the first page.
    public func history(_ body: [UInt8], page: String?) throws(Fault) -> Reading<TransactionHistoryPage> {
        let answer = try parse(body)
        guard let items = answer["signedTransactions"]?.array, items.count <= Self.maximumPageItems else {
            throw .incomplete
        }
        var transactions: [NotifiedTransaction] = []
        var leftOut = 0
        for item in items {
            guard let jws = item.string else { throw .incomplete }
            do throws(Fault) { transactions.append(try transaction(jws)) } catch {
                guard error == .unreadable else { throw error }
                leftOut += 1
            }
        }
        let next = try next(of: answer, "revision")
        // If a page named itself as the next page, receiptd would ask for it for ever.
        if let next, next == page { throw .incomplete }
        return Reading(value: TransactionHistoryPage(transactions: transactions, next: next), leftOut: leftOut)
    }

    /// Reads an answer of Get Notification History.
    public func notifications(_ body: [UInt8]) throws(Fault) -> Reading<NotificationHistoryPage> {
        let answer = try parse(body)
        guard let items = answer["notificationHistory"]?.array, items.count <= Self.maximumPageItems else {
            throw .incomplete
        }
        let bodies = items.compactMap { item -> [UInt8]? in
            guard let payload = item["signedPayload"]?.string else { return nil }
            var body = JSONWriter(capacity: payload.utf8.count + 24)
            body.beginObject()
            body.member("signedPayload", payload)
            body.endObject()
            return body.bytes
        }
        let page = NotificationHistoryPage(bodies: bodies, next: try next(of: answer, "paginationToken"))
        return Reading(value: page, leftOut: items.count - bodies.count)
    }

    /// Reads an answer of Request a Test Notification.
    public func testNotificationToken(_ body: [UInt8]) throws(Fault) -> Reading<String> {
        guard let token = try parse(body)["testNotificationToken"]?.string, !token.isEmpty else { throw .incomplete }
        return Reading(value: token)
    }

    /// Reads an answer of Get Test Notification Status.
    public func sendAttempts(_ body: [UInt8]) throws(Fault) -> Reading<[String]> {
        guard let attempts = try parse(body)["sendAttempts"]?.array, attempts.count <= Self.maximumPageItems else {
            throw .incomplete
        }
        return Reading(value: attempts.compactMap { $0["sendAttemptResult"]?.string })
    }

    /// Reads an answer of Get All Subscription Statuses.
    public func statuses(_ body: [UInt8], asked id: StoreTransactionID) throws(Fault) -> Reading<[SubscriptionStatus]> {
        guard let groups = try parse(body)["data"]?.array, groups.count <= Self.maximumStatuses else {
            throw .incomplete
        }
        var statuses: [SubscriptionStatus] = []
        var faults: [(original: String?, fault: Fault)] = []
        for group in groups {
            guard let items = group["lastTransactions"]?.array,
                statuses.count + faults.count + items.count <= Self.maximumStatuses
            else { throw .incomplete }
            for item in items {
                do throws(Fault) {
                    statuses.append(try status(item, in: group))
                } catch {
                    faults.append((item["originalTransactionId"]?.string, error))
                }
            }
        }
        // The reader leaves out a faulty part only if the part is certainly about another subscription, and if a proven
        // part describes the subscription in the query.
        let isAnswered = statuses.contains { $0.transaction.isNamed(id) }
        if let own = faults.first(where: { !isAnswered || $0.original == nil || $0.original == id.text }) {
            throw own.fault
        }
        return Reading(value: statuses, leftOut: faults.count)
    }

    private func status(_ item: JSONValue, in group: JSONValue) throws(Fault) -> SubscriptionStatus {
        guard let state = item["status"]?.wholeNumber.flatMap(SubscriptionState.init(status:)),
            let transactionInfo = item["signedTransactionInfo"]?.string,
            let renewalInfo = item["signedRenewalInfo"]?.string
        else { throw .incomplete }
        let transaction = try transaction(transactionInfo)
        // A transaction with an unreadable field does not show the subscription's state.
        guard transaction.purchase.unreadable.isEmpty else { throw .unreadable }
        let original = transaction.purchase.originalTransactionID
        guard case .proven(let renewal) = parser.parse(renewalInfo: renewalInfo),
            renewal.originalTransactionID == original, renewal.environment == nil || renewal.environment == environment,
            item["originalTransactionId"]?.string.map({ $0 == original.text }) ?? true
        else { throw .unproven }
        return SubscriptionStatus(
            subscriptionGroupID: transaction.subscriptionGroupID ?? group["subscriptionGroupIdentifier"]?.string,
            state: state, transaction: transaction, renewal: renewal)
    }

    private func transaction(_ jws: String) throws(Fault) -> NotifiedTransaction {
        switch parser.parse(transactionInfo: jws) {
        case .proven(let transaction) where transaction.bundleID == bundleID && transaction.environment == environment:
            return transaction
        case .unreadable: throw .unreadable
        case .proven, .notProvable, .unusable: throw .unproven
        }
    }

    private func next(of answer: JSONValue, _ name: String) throws(Fault) -> String? {
        guard case .bool(let hasMore)? = answer["hasMore"] else { throw .incomplete }
        guard hasMore else { return nil }
        guard let next = answer[name]?.string, !next.isEmpty, next.utf8.count <= ServerAPIQuery.maximumPageLength
        else { throw .incomplete }
        return next
    }
}

extension NotifiedTransaction {
    fileprivate func isNamed(_ id: StoreTransactionID) -> Bool {
        purchase.transactionID == id || purchase.originalTransactionID == id
    }
}
