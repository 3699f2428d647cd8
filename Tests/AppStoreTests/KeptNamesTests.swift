import Encodings
import Fulfillment
import Testing

@testable import AppStore

@Suite("Members of verifyReceipt's answers that the parser keeps")
struct KeptNamesTests {
    private static func answer(
        _ receipt: String = "\"bundle_id\":\"a\"", purchase: String = "\"purchase_date_ms\":\"1\"", besides: String = ""
    ) -> String {
        """
        {"status":0,"receipt":{\(receipt),"in_app":[{"transaction_id":"1","product_id":"p",\(purchase)}]}\(besides)}
        """
    }

    private static func old(_ purchase: String) -> String {
        """
        {"status":0,"receipt":{"bid":"a","transaction_id":"1","product_id":"p","purchase_date_ms":"1",\(purchase)}}
        """
    }

    /// Returns an answer with one subscription's renewal. `time` is the member with the time of Apple's answer.
    private static func renewal(_ member: String, time: String = "\"request_date_ms\":\"1\"") -> String {
        answer(
            "\"bundle_id\":\"a\",\(time)",
            besides: ",\"pending_renewal_info\":[{\"original_transaction_id\":\"1\",\(member)}]")
    }

    private static let dated = "\"purchase_date_ms\":\"1\","
    private static let copy = dated + "\"original_transaction_id\":\"2\","

    /// An answer for each kept member. Without this member, the parser's result for the answer is different.
    static let answers: [String: String] = [
        "status": answer(), "receipt": answer(), "in_app": answer(), "bundle_id": answer(), "transaction_id": answer(),
        "product_id": answer(), "purchase_date_ms": answer(), "bid": old("\"quantity\":\"1\""),
        "is_retryable": "{\"status\":21104,\"is_retryable\":false}",
        "is-retryable": "{\"status\":21104,\"is-retryable\":false}",
        "environment": answer(besides: ",\"environment\":\"Sandbox\""),
        "receipt_type": answer("\"bundle_id\":\"a\",\"receipt_type\":\"ProductionSandbox\""),
        "receipt_creation_date": answer(
            "\"bundle_id\":\"a\",\"receipt_creation_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "receipt_creation_date_ms": answer("\"bundle_id\":\"a\",\"receipt_creation_date_ms\":\"1\""),
        "adam_id": answer("\"bundle_id\":\"a\",\"adam_id\":7"),
        "app_item_id": answer("\"bundle_id\":\"a\",\"app_item_id\":\"7\""),
        "app_transaction_id": answer("\"bundle_id\":\"a\",\"app_transaction_id\":\"9\""),
        "latest_receipt": answer(besides: ",\"latest_receipt\":\"x\""),
        "latest_receipt_info": answer(besides: ",\"latest_receipt_info\":[]"),
        "latest_expired_receipt_info": answer(besides: ",\"latest_expired_receipt_info\":[]"),
        "pending_renewal_info": answer(besides: ",\"pending_renewal_info\":[]"),
        "auto_renew_status": answer(besides: ",\"auto_renew_status\":0"),
        "auto_renew_product_id": renewal("\"auto_renew_product_id\":\"q\""),
        "is_in_billing_retry_period": renewal("\"is_in_billing_retry_period\":\"1\""),
        "grace_period_expires_date_ms": renewal("\"grace_period_expires_date_ms\":\"7\""),
        "grace_period_expires_date": renewal("\"grace_period_expires_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "request_date_ms": renewal("\"product_id\":\"p\""),
        "request_date": renewal(
            "\"product_id\":\"p\"", time: "\"request_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "subscription_group_identifier": answer(purchase: dated + "\"subscription_group_identifier\":\"20\""),
        "original_transaction_id": answer(purchase: dated + "\"original_transaction_id\":\"0\""),
        "quantity": answer(purchase: dated + "\"quantity\":\"3\""),
        "purchase_date": answer(purchase: "\"purchase_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "original_purchase_date": answer(
            purchase: copy + "\"original_purchase_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "original_purchase_date_ms": answer(purchase: copy + "\"original_purchase_date_ms\":\"7\""),
        "expires_date": old("\"expires_date\":\"1484287492000\""),
        "expires_date_ms": answer(purchase: dated + "\"expires_date_ms\":\"1484287492000\""),
        "expires_date_formatted": old("\"expires_date_formatted\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "cancellation_date": answer(purchase: dated + "\"cancellation_date\":\"2017-01-13 05:04:52 Etc/GMT\""),
        "cancellation_date_ms": answer(purchase: dated + "\"cancellation_date_ms\":\"1484287492000\""),
        "in_app_ownership_type": answer(purchase: dated + "\"in_app_ownership_type\":\"FAMILY_SHARED\""),
        "is_upgraded": answer(purchase: dated + "\"is_upgraded\":\"true\""),
        "is_trial_period": answer(purchase: dated + "\"is_trial_period\":\"true\""),
        "app_account_token": answer(
            purchase: dated + "\"app_account_token\":\"8f1c5b1e-5a0c-4c55-9d5f-7d2b6a0f3e11\""),
        "web_order_line_item_id": answer(purchase: dated + "\"web_order_line_item_id\":\"5\""),
    ]

    @Test(
        "if the verifyReceipt parser ignores a member that it keeps otherwise, the result for a sample answer changes",
        arguments: answers.sorted { $0.key < $1.key })
    func matters(name: String, text: String) {
        let others = JSONNames(VerifyReceiptAnswer.nameList.filter { $0 != name })
        let body = Array(text.utf8)
        let whole = VerifyReceiptAnswer.parseWithStatus(body, asked: .production)
        let without = VerifyReceiptAnswer.parseWithStatus(body, asked: .production, keeping: others)
        #expect(whole.answer != without.answer)
    }

    @Test("for every member that the verifyReceipt parser keeps, the tests have a sample answer")
    func complete() {
        #expect(Self.answers.keys.sorted() == VerifyReceiptAnswer.nameList.sorted())
    }
}
