import AppStore
import Fulfillment

/// The text of an answer of `verifyReceipt`. A test may replace its fields.
struct AnswerText {
    var status = "0"
    var root = ""
    var receipt = #""bundle_id":"com.example.game","#
    var inApp: String

    init(_ inApp: String...) {
        self.inApp = inApp.joined(separator: ",")
    }

    static func fields(_ changes: [String: String?] = [:]) -> String {
        var fields = [
            "transaction_id": #""1000""#, "product_id": #""gold""#, "purchase_date_ms": #""1484283892000""#,
            "quantity": #""1""#,
        ]
        for (name, value) in changes { fields[name] = value }
        return "{" + fields.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    var text: String { #"{"status":\#(status),\#(root)"receipt":{\#(receipt)"in_app":[\#(inApp)]}}"# }
}

func parse(_ text: String, asked: StoreEnvironment = .production) -> VerifyReceiptAnswer {
    VerifyReceiptAnswer.parse(Array(text.utf8), asked: asked)
}

extension VerifyReceiptAnswer {
    static func trouble(of kind: AppleAnswer.TroubleKind) -> VerifyReceiptAnswer { .answer(.trouble(.init(kind))) }
    static let incomplete = VerifyReceiptAnswer.trouble(of: .incomplete)

    var genuine: GenuineReceipt? {
        if case .answer(.genuine(let receipt)) = self { receipt } else { nil }
    }
}

/// Returns the only purchase of an answer with these fields; nil if the answer is not genuine.
func purchase(_ changes: [String: String?]) -> StorePurchase? {
    let purchases = parse(AnswerText(AnswerText.fields(changes)).text).genuine?.purchases
    return purchases?.count == 1 ? purchases?.first : nil
}
