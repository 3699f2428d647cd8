import Encodings
import Fulfillment
import NamesAndTimes
import PooledHTTP

/// One request to the App Store Server API.
///
/// Apple's reference defines the paths and fields (https://developer.apple.com/documentation/appstoreserverapi).
struct ServerAPIQuery: Sendable {
    /// The longest transaction id, in bytes. Apple's ids are far shorter.
    private static let maximumIDLength = 64
    /// The longest `revision` or `paginationToken`, in bytes.
    static let maximumPageLength = 4096

    let endpoint: AppleEndpoint
    let method: HTTPRequestMethod
    /// The path with its query.
    let path: String
    /// The path without the id, for people.
    let shownPath: String
    var body: [UInt8]?
    /// A hash of the subject. Two queries about one subject have equal hashes.
    let subject: Int

    private init(
        _ endpoint: AppleEndpoint, _ method: HTTPRequestMethod, _ path: String, of id: StoreTransactionID,
        then rest: String = ""
    ) {
        self.endpoint = endpoint
        self.method = method
        self.path = "/\(path)/\(id.text)\(rest)"
        shownPath = path
        subject = Self.subject(endpoint, id)
    }

    /// Makes a query about an app as a whole. The label `ofApp` distinguishes this initializer from the one above,
    /// because a bundle id and a transaction id have one type.
    private init(
        _ endpoint: AppleEndpoint, _ method: HTTPRequestMethod, _ path: String, query rest: String = "",
        body: [UInt8]? = nil, ofApp app: BundleID
    ) {
        self.endpoint = endpoint
        self.method = method
        self.path = "/\(path)\(rest)"
        shownPath = path
        self.body = body
        subject = Self.subject(endpoint, app)
    }

    private static func subject(_ endpoint: AppleEndpoint, _ name: Identifier) -> Int {
        var hasher = Hasher()
        hasher.combine(endpoint)
        hasher.combine(name)
        return hasher.finalize()
    }

    /// Makes the query Get Transaction Info. Returns nil if the id does not look like Apple's, because the id goes into
    /// a URL.
    static func transaction(_ id: StoreTransactionID) -> ServerAPIQuery? {
        isAskable(id) ? ServerAPIQuery(.transactions, .get, "inApps/v1/transactions", of: id) : nil
    }

    static func subscriptionStatuses(of id: StoreTransactionID) -> ServerAPIQuery? {
        isAskable(id) ? ServerAPIQuery(.subscriptions, .get, "inApps/v1/subscriptions", of: id) : nil
    }

    static func transactionHistory(
        of id: StoreTransactionID, _ filter: TransactionHistoryFilter, page: String?
    ) -> ServerAPIQuery? {
        guard isAskable(id) else { return nil }
        var query = URLQuery()
        query.add("revision", page)
        query.add("startDate", filter.from.map { String($0.milliseconds) })
        query.add("endDate", filter.until.map { String($0.milliseconds) })
        query.add("productId", filter.productID?.text)
        for kind in ProductKind.allCases where filter.productKinds.contains(kind) {
            query.add("productType", kind.storeName)
        }
        query.add("subscriptionGroupIdentifier", filter.subscriptionGroupID)
        return ServerAPIQuery(.transactionHistory, .get, "inApps/v2/history", of: id, then: query.text)
    }

    static func notificationHistory(
        _ window: NotificationHistoryWindow, page: String?, of app: BundleID
    ) -> ServerAPIQuery {
        var query = URLQuery()
        query.add("paginationToken", page)
        var body = JSONWriter(capacity: 64)
        body.beginObject()
        body.name("startDate")
        body.number(window.from.milliseconds)
        body.name("endDate")
        body.number(window.to.milliseconds)
        body.endObject()
        return ServerAPIQuery(
            .notificationHistory, .post, "inApps/v1/notifications/history", query: query.text, body: body.bytes,
            ofApp: app)
    }

    /// Makes the query Request a Test Notification.
    static func testNotification(of app: BundleID) -> ServerAPIQuery {
        ServerAPIQuery(.testNotification, .post, "inApps/v1/notifications/test", ofApp: app)
    }

    /// Makes the query Get Test Notification Status. Returns nil if the token does not look like Apple's, because the
    /// token goes into a URL.
    static func testNotificationStatus(_ token: String, of app: BundleID) -> ServerAPIQuery? {
        guard (1...maximumPageLength).contains(token.utf8.count), token.utf8.allSatisfy(URLQuery.isPlain),
            !token.utf8.allSatisfy({ $0 == UInt8(ascii: ".") })
        else { return nil }
        return ServerAPIQuery(.testNotification, .get, "inApps/v1/notifications/test", query: "/\(token)", ofApp: app)
    }

    /// Makes the query Look Up Order ID. Returns nil if the order number does not look like Apple's, because the number
    /// goes into a URL.
    static func orderLookup(_ order: String, of app: BundleID) -> ServerAPIQuery? {
        guard (1...maximumIDLength).contains(order.utf8.count),
            order.utf8.allSatisfy({ $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~") && URLQuery.isPlain($0) })
        else { return nil }
        return ServerAPIQuery(.orderLookup, .get, "inApps/v1/lookup", query: "/\(order)", ofApp: app)
    }

    static func finish(_ id: StoreTransactionID) -> ServerAPIQuery? {
        isAskable(id) ? ServerAPIQuery(.finish, .post, "inApps/v1/transactions", of: id, then: "/finish") : nil
    }

    static func consumption(of id: StoreTransactionID, _ answer: ConsumptionAnswer) -> ServerAPIQuery? {
        guard isAskable(id) else { return nil }
        var query = ServerAPIQuery(.consumption, .put, "inApps/v2/transactions/consumption", of: id)
        query.body = answer.requestBody
        return query
    }

    private static func isAskable(_ id: StoreTransactionID) -> Bool {
        (1...maximumIDLength).contains(id.text.utf8.count)
            && id.text.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~") && URLQuery.isPlain($0) }
    }
}

/// The query part of a URL, `?name=value&…`; empty if there are no parameters.
private struct URLQuery {
    private(set) var text = ""

    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        text += text.isEmpty ? "?" : "&"
        text += "\(name)="
        for byte in value.utf8 {
            if Self.isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// RFC 3986's unreserved characters.
    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

extension ProductKind {
    /// The kind's name in the filter of Get Transaction History.
    fileprivate var storeName: String {
        switch self {
        case .consumable: "CONSUMABLE"
        case .nonConsumable: "NON_CONSUMABLE"
        case .nonRenewingSubscription: "NON_RENEWABLE"
        case .autoRenewableSubscription: "AUTO_RENEWABLE"
        }
    }
}

extension ConsumptionAnswer {
    /// The body of the request. It says that the player agreed, because Apple accepts no other value.
    fileprivate var requestBody: [UInt8] {
        var body = JSONWriter(capacity: 160)
        body.beginObject()
        body.name("customerConsented")
        body.bool(true)
        if let consumedMilliPercent {
            body.name("consumptionPercentage")
            body.number(consumedMilliPercent)
        }
        body.member("deliveryStatus", delivery.rawValue)
        body.member("refundPreference", ifPresent: refundPreference?.storeName)
        body.name("sampleContentProvided")
        body.bool(providesSampleContent)
        body.endObject()
        return body.bytes
    }
}

extension ConsumptionPolicy.RefundPreference {
    fileprivate var storeName: String {
        switch self {
        case .decline: "DECLINE"
        case .grantFull: "GRANT_FULL"
        case .grantProrated: "GRANT_PRORATED"
        }
    }
}
