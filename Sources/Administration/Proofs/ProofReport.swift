import AppleProofs
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// The text that `receiptd proof` prints. It never contains the proof itself. It contains account tokens only if the
/// operator asks for them.
package struct ProofReport: Sendable {
    private static let columns = [
        "TRANSACTION", "ORIGINAL", "PRODUCT", "QUANTITY", "BOUGHT", "EXPIRES", "OWNERSHIP", "REFUNDED",
    ]

    private let examined: ExaminedProof
    private let verdict: ProofVerdict?
    private let showsTokens: Bool

    /// - Parameter verdict: the verdict; nil if the operator gave no catalog.
    package init(_ examined: ExaminedProof, verdict: ProofVerdict?, showingTokens: Bool) {
        self.examined = examined
        self.verdict = verdict
        showsTokens = showingTokens
    }

    /// The exit code: 0 if the proof can be read and is not forged, else 1.
    package var exitCode: Int32 { examined.isSound ? 0 : 1 }

    // MARK: - Text

    /// - Parameter width: the number of characters in a terminal's line; nil without a terminal.
    package func text(width: Int? = nil) -> String {
        var lines = facts.map { name, value in
            name + String(repeating: " ", count: max(1, 14 - name.count)) + ShownText.plain(value, limit: 200)
        }
        if !examined.purchases.isEmpty {
            lines += [""] + TextTable.lines(headings, examined.purchases.map(cells), width: width)
        }
        if let verdict { lines += [""] + Self.lines(of: verdict) }
        return lines.joined(separator: "\n")
    }

    private var facts: [(String, String)] {
        var facts: [(String, String)] = [("kind", examined.kind.rawValue)]
        func add(_ name: String, _ value: String?) { if let value { facts.append((name, value)) } }
        add(
            "notification",
            examined.notification.map { [$0.type, $0.subtype].compactMap(\.self).joined(separator: " ") })
        add("app", examined.bundleID?.text)
        add("environment", examined.environment)
        add("signed", examined.signedAt?.rfc3339)
        add("signature", examined.signature.map { "\($0.name): \($0.sentence)" })
        add("chain", examined.chain.isEmpty ? nil : examined.chain.joined(separator: ", "))
        add(
            "envelope",
            examined.envelope.map { "Unity's, store \($0.store ?? "-"), transaction \($0.transactionID ?? "-")" })
        add("repaired", examined.repair?.sentence)
        let unreadable = examined.purchases.flatMap(\.unreadable)
        add("unreadable", unreadable.isEmpty ? nil : unreadable.joined(separator: ", "))
        add("fault", examined.cause.map { "\($0.code): \($0.sentence)" })
        return facts
    }

    private var headings: [String] { Self.columns + (showsTokens ? ["TOKEN"] : []) }

    private func cells(_ purchase: StorePurchase) -> [String] {
        var cells = [
            ShownText.plain(purchase.transactionID.text), ShownText.plain(purchase.originalTransactionID.text),
            ShownText.plain(purchase.productID.text),
            purchase.isUnreadable("quantity") ? "?" : String(purchase.quantity),
            purchase.hasUnreadablePurchaseTime ? "?" : purchase.purchasedAt.rfc3339,
            purchase.isUnreadable("expiresDate") ? "?" : purchase.expiresAt?.rfc3339 ?? "-",
            purchase.isUnreadable("inAppOwnershipType") ? "?" : purchase.ownership.rawValue,
            purchase.isUnreadable("revocationDate") ? "?" : purchase.cancelledAt?.rfc3339 ?? "-",
        ]
        if showsTokens { cells.append(purchase.appAccountToken ?? "-") }
        return cells
    }

    private static func lines(of verdict: ProofVerdict) -> [String] {
        let summary = verdict.refusal.map { ": \($0.reason.rawValue). \($0.cause.sentence)" } ?? ""
        return ["receiptd would say: \(verdict.outcome)\(summary)"]
            + verdict.purchases.map { one in
                "  \(ShownText.plain(one.transactionID.text))  \(one.outcome)\(one.reason.map { "  \($0.rawValue)" } ?? "")"
            }
    }

    // MARK: - JSON

    package var json: String {
        var json = JSONWriter(capacity: 512 + 512 * examined.purchases.count)
        json.beginObject()
        json.member("kind", examined.kind.rawValue)
        json.member("bundle_id", ifPresent: examined.bundleID?.text)
        json.member("environment", ifPresent: examined.environment)
        json.member("signature", ifPresent: examined.signature?.name)
        if !examined.chain.isEmpty {
            json.name("chain")
            json.beginArray()
            for name in examined.chain { json.string(name) }
            json.endArray()
        }
        json.member("signed_at", ifPresent: examined.signedAt?.rfc3339)
        json.member("notification_type", ifPresent: examined.notification?.type)
        json.member("subtype", ifPresent: examined.notification?.subtype)
        json.member("detail_code", ifPresent: examined.cause?.code)
        json.member("detail", ifPresent: examined.cause?.sentence)
        json.member("repaired", ifPresent: examined.repair?.code)
        json.name("transactions")
        json.beginArray()
        for purchase in examined.purchases { write(purchase, to: &json) }
        json.endArray()
        if let verdict { Self.write(verdict, to: &json) }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Writes a purchase with the field names of the events.
    private func write(_ purchase: StorePurchase, to json: inout JSONWriter) {
        json.beginObject()
        json.member("transaction_id", purchase.transactionID.text)
        json.member("original_transaction_id", purchase.originalTransactionID.text)
        json.member("product_id", purchase.productID.text)
        if !purchase.isUnreadable("quantity") {
            json.name("quantity")
            json.number(purchase.quantity)
        }
        json.member("environment", ifPresent: examined.environment)
        if !purchase.hasUnreadablePurchaseTime { json.member("purchased_at", purchase.purchasedAt.rfc3339) }
        json.member("expires_at", ifPresent: purchase.expiresAt?.rfc3339)
        json.writeTold(of: purchase)
        json.member("revoked_at", ifPresent: purchase.cancelledAt?.rfc3339)
        if !purchase.isUnreadable("inAppOwnershipType") { json.member("ownership", purchase.ownership.rawValue) }
        if !purchase.unreadable.isEmpty {
            json.name("unreadable")
            json.beginArray()
            for name in purchase.unreadable { json.string(name) }
            json.endArray()
        }
        if showsTokens { json.member("app_account_token", ifPresent: purchase.appAccountToken) }
        json.endObject()
    }

    private static func write(_ verdict: ProofVerdict, to json: inout JSONWriter) {
        json.name("verdict")
        json.beginObject()
        json.member("outcome", verdict.outcome)
        json.member("reason", ifPresent: verdict.refusal?.reason.rawValue)
        json.member("detail_code", ifPresent: verdict.refusal?.cause.code)
        json.member("detail", ifPresent: verdict.refusal?.cause.sentence)
        json.name("transactions")
        json.beginArray()
        for one in verdict.purchases {
            json.beginObject()
            json.member("transaction_id", one.transactionID.text)
            json.member("outcome", one.outcome)
            json.member("reason", ifPresent: one.reason?.rawValue)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}

extension LocalSignature {
    fileprivate var name: String {
        switch self {
        case .proven: "apple"
        case .notProvable: "not_proven"
        case .forged: "forged"
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .proven: "Apple signed it"
        case .notProvable(let doubt): doubt.rawValue
        case .forged(let forgery): forgery.rawValue
        }
    }
}
