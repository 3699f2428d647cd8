import AppStore
import AppleProofs
import Fulfillment
import NamesAndTimes

extension FuzzTarget {
    /// Reads the App Store Server API's answers to receiptd's own questions. The check replaces each `"T"` in an input
    /// by a signed transaction.
    static let storeAnswer = FuzzTarget(
        name: "store-answer",
        seeds: {
            [
                #"{"signedTransactionInfo":"T"}"#,
                #"{"revision":"r","hasMore":true,"signedTransactions":["T","T"]}"#,
                #"{"data":[{"subscriptionGroupIdentifier":"7","lastTransactions":[{"status":1,"originalTransactionId":"#
                    + #""470000000000001","signedTransactionInfo":"T","signedRenewalInfo":"T"}]}]}"#,
                #"{"paginationToken":"t","hasMore":true,"notificationHistory":[{"signedPayload":"T"}]}"#,
            ].map { Array($0.utf8) }
        },
        check: { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let body = Array(text.replacing("\"T\"", with: "\"\(FixedChain.token)\"").utf8)
            let genuine = FixedChain.reader.parse(transactionInfo: FixedChain.token).proven
            mustHold(genuine != nil, "the sample is proven")
            if let told = try? reader.transaction(body, asked: "470000000000001") {
                mustHold(told.value == genuine, "no transaction is told but what was signed")
            }
            if let told = try? reader.history(body, page: nil) {
                mustHold(told.value.transactions.allSatisfy { $0 == genuine }, "nor in a history")
            }
            let statuses = try? reader.statuses(body, asked: "470000000000001")
            mustHold(statuses?.value.isEmpty ?? true, "no renewal information was ever signed")
            if let told = try? reader.notifications(body) {
                mustHold(told.value.bodies.count <= StoreAnswerReader.maximumPageItems, "a page has its bound")
            }
        },
        families: [
            .repeating("{},", after: "{\"hasMore\":false,\"notificationHistory\":[", before: "{}]}"),
            .repeating("{\"lastTransactions\":[]},", after: "{\"data\":[", before: "{}]}"),
        ],
        words: [
            "\"T\"", "\"hasMore\"", "\"revision\"", "\"signedTransactions\"", "\"data\"", "\"lastTransactions\"",
            "\"status\"", "\"signedRenewalInfo\"", "\"originalTransactionId\"", "\"notificationHistory\"",
        ])

    private static let reader = StoreAnswerReader(
        parser: FixedChain.reader, bundleID: "com.example.castle", environment: .production)
}
