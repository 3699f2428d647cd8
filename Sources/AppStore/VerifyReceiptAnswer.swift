import Encodings
import Fulfillment
import NamesAndTimes

/// The content of a `verifyReceipt` answer with HTTP status 200.
///
/// The statuses are from Apple's reference "App Store Receipts". The spellings of fields are from real answers.
public enum VerifyReceiptAnswer: Sendable, Equatable {
    case answer(AppleAnswer)
    /// 21007 or 21008: the receipt belongs to the other environment.
    case otherEnvironment

    /// - Parameters:
    ///   - body: the body as received.
    ///   - asked: the environment of the request. It counts if the answer names no environment.
    public static func parse(_ body: [UInt8], asked: StoreEnvironment) -> VerifyReceiptAnswer {
        parseWithStatus(body, asked: asked).answer
    }

    /// Returns the answer and its status; the status is nil if it is unreadable.
    /// - Parameter cameAt: the time at which receiptd got the answer. It replaces a `request_date` that is missing or
    ///   unreadable.
    static func parseWithStatus(
        _ body: [UInt8], asked: StoreEnvironment, cameAt: Timestamp? = nil, keeping names: JSONNames = names
    ) -> (answer: VerifyReceiptAnswer, status: Int64?) {
        let document: JSONParser.Document
        do throws(JSONFault) {
            document = try JSONParser.parse(body, keeping: names)
        } catch {
            return (.trouble(.notJSON), nil)
        }
        guard case .object = document.value else { return (.trouble(.notJSON), nil) }
        guard !document.exceededDepth, let status = document.value["status"]?.wholeNumber else {
            return (.trouble(.incomplete), nil)
        }
        return (read(document.value, status: status, asked: asked, cameAt: cameAt), status)
    }

    private static func read(
        _ root: JSONValue, status: Int64, asked: StoreEnvironment, cameAt: Timestamp?
    ) -> VerifyReceiptAnswer {
        switch status {
        case 0 where isBare(root): return .answer(.refused(.nothingTold))
        case 21006 where isBare(root): return .answer(.refused(.expired))
        case 0, 21006:
            do throws(IncompleteAnswer) {
                let receipt = try GenuineReceipt(
                    root, isExpiredSubscription: status == 21006, asked: asked, cameAt: cameAt)
                return .answer(.genuine(receipt))
            } catch {
                return .trouble(.incomplete)
            }
        case 21000: return .answer(.blocked(.request))
        case 21002: return .answer(.refused(.malformed))
        case 21003: return .answer(.refused(.unauthentic))
        case 21004: return .answer(.blocked(.sharedSecret))
        case 21007, 21008: return .otherEnvironment
        case 21010: return .answer(.refused(.accountNotFound))
        case 21100...21199: return isFinal(root) ? .answer(.refused(.refusedForGood)) : .trouble(.status)
        // The other statuses include 21001, 21005 and 21009.
        default: return .trouble(.status)
        }
    }

    /// Returns whether the answer has neither a receipt nor later purchases.
    private static func isBare(_ root: JSONValue) -> Bool {
        ["receipt", "latest_receipt_info"].allSatisfy { root.told($0) == nil }
    }

    /// The members that this file, `GenuineReceipt` and `PurchaseFields` read. The parser skips all other members. Most
    /// of an answer is dates, each in three forms.
    static let names = JSONNames(nameList)
    static let nameList = [
        "status", "is_retryable", "is-retryable", "environment", "receipt", "receipt_type",
        "receipt_creation_date", "receipt_creation_date_ms", "bundle_id", "bid", "adam_id", "app_item_id",
        "app_transaction_id",
        "in_app", "latest_receipt", "latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info",
        "auto_renew_status", "auto_renew_product_id", "is_in_billing_retry_period", "grace_period_expires_date",
        "grace_period_expires_date_ms", "request_date", "request_date_ms", "subscription_group_identifier",
        "transaction_id", "original_transaction_id", "product_id", "quantity", "purchase_date", "purchase_date_ms",
        "original_purchase_date", "original_purchase_date_ms",
        "expires_date", "expires_date_ms", "expires_date_formatted", "cancellation_date", "cancellation_date_ms",
        "in_app_ownership_type", "is_upgraded", "is_trial_period", "app_account_token", "web_order_line_item_id",
    ]

    /// Returns whether Apple flags the status as not retryable. Apple documents `is-retryable` and sends
    /// `is_retryable`. The status is final only if one of the two members is false and the other is false or absent.
    private static func isFinal(_ root: JSONValue) -> Bool {
        var saysNo = false
        for name in ["is_retryable", "is-retryable"] {
            switch root.flag(name) {
            case .absent: continue
            case .value(false): saysNo = true
            case .value(true), .unreadable: return false
            }
        }
        return saysNo
    }

    static func trouble(_ kind: AppleAnswer.TroubleKind) -> VerifyReceiptAnswer { .answer(.trouble(.init(kind))) }

    /// The label value of `receiptd_apple_requests_total{result}`: `genuine`, `refused`, `blocked`,
    /// `other_environment`, or the kind of trouble.
    public var label: String {
        switch self {
        case .otherEnvironment: "other_environment"
        case .answer(let answer): answer.label
        }
    }
}
