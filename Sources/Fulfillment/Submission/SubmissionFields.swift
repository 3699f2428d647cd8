import Encodings
import NamesAndTimes

/// The known members of a submission's object, and the check of each member.
struct SubmissionFields {
    struct Fault: Error {
        /// The `detail_code` of the answer.
        let code: String
        let message: String
    }

    /// The members, a dozen at most. A linear search costs less than hashing their names.
    private var values: [(name: Name, value: JSONValue)] = []
    /// The fields that came twice. The decoder does not guess which value counts, because a sender could exploit a
    /// wrong guess.
    private var repeated: Set<Name> = []

    enum Name: String, CaseIterable {
        case submissionID = "submission_id"
        case playerID = "player_id"
        case bundleID = "bundle_id"
        case receiptData = "receipt_data"
        case signedTransaction = "signed_transaction"
        case transactionID = "transaction_id"
        case productID = "product_id"
        case orderID = "order_id"
        case appAccountToken = "app_account_token"
        case deviceID = "device_id"
        case currency
        case submittedAt = "submitted_at"
    }

    /// The known names. The decoder skips all other members.
    static let names = JSONNames(Name.allCases.map(\.rawValue) + UnityEnvelope.members)
    private static let nameCount = Name.allCases.count

    init(_ members: [JSONMember]) {
        // The capacity is bounded, because a hostile record may repeat a member without end.
        values.reserveCapacity(min(members.count, Self.nameCount))
        for member in members {
            guard let name = Name(rawValue: member.name) else { continue }
            if self[name] == nil { values.append((name, member.value)) } else { repeated.insert(name) }
        }
    }

    private subscript(name: Name) -> JSONValue? { values.first { $0.name == name }?.value }

    /// The sender; nil if the player's id or the submission's id is unreadable. Other faults do not matter.
    var sender: DeadLetter.Sender? {
        guard let submissionID = readable(.submissionID, name), let playerID = readable(.playerID, name)
        else { return nil }
        return DeadLetter.Sender(
            submissionID: submissionID, playerID: playerID,
            bundleID: repeated.contains(.bundleID) ? nil : try? bundleID(),
            orderID: readable(.orderID, optionalName)?.text)
    }

    private func readable<Value>(_ field: Name, _ read: (Name) throws(Fault) -> Value?) -> Value? {
        repeated.contains(field) ? nil : try? read(field)
    }

    func submission() throws(Fault) -> Submission {
        if let name = Name.allCases.first(where: repeated.contains) {
            throw Fault(code: "field_repeated", message: "\(name.rawValue) appears twice")
        }
        guard let bundleID = try bundleID() else { throw Fault(code: "field_missing", message: "bundle_id is missing") }
        let proof = try proof()
        return Submission(
            submissionID: try name(.submissionID), playerID: try name(.playerID), bundleID: bundleID,
            proof: proof.proof, envelope: proof.envelope, productID: try text(.productID).map { ProductID($0) },
            orderID: try optionalName(.orderID)?.text, appAccountToken: try appAccountToken(),
            deviceID: try optionalName(.deviceID), currency: try currency(), submittedAt: try submittedAt())
    }

    private func proof() throws(Fault) -> (proof: Submission.Proof, envelope: UnityEnvelope?) {
        let receipt = try proof(.receiptData, .receiptData)
        let signed = try proof(.signedTransaction, .signedTransaction)
        let transactionID = try text(.transactionID)
        switch (receipt, signed, transactionID) {
        case (let shape?, nil, nil), (nil, let shape?, nil): return (shape.proof, shape.envelope)
        case (nil, nil, let id?):
            guard TransactionIDText.isSound(id) else {
                throw Fault(
                    code: "transaction_id_not_digits", message: "transaction_id is not \(TransactionIDText.requirement)"
                )
            }
            return (.transactionID(StoreTransactionID(id)), nil)
        case (nil, nil, nil):
            throw Fault(
                code: "proof_missing", message: "receipt_data, signed_transaction and transaction_id are all missing")
        default:
            throw Fault(
                code: "several_proofs",
                message: "more than one of receipt_data, signed_transaction and transaction_id is there")
        }
    }

    private func proof(_ name: Name, _ field: ProofShape.Field) throws(Fault) -> ProofShape? {
        if let told = self[name].flatMap(UnityEnvelope.read) { return ProofShape(told, in: field) }
        return try text(name).map { ProofShape($0, in: field) }
    }

    /// Returns a member's text; nil if the member is absent or null. Throws if the text is empty or has a NUL, or if
    /// the member is not a string.
    private func text(_ name: Name) throws(Fault) -> String? {
        switch self[name] {
        case nil, .null: return nil
        case .string(let text):
            guard !text.isEmpty else { throw Fault(code: "field_empty", message: "\(name.rawValue) is empty") }
            guard !holdsNUL(text) else { throw Fault(code: "field_holds_nul", message: "\(name.rawValue) holds NUL") }
            return text
        default: throw Fault(code: "field_wrong_type", message: "\(name.rawValue) is not a string")
        }
    }

    private func holdsNUL(_ text: String) -> Bool {
        // The loop has no early exit, so that the CPU compares many bytes of a receipt in one step.
        text.utf8.withContiguousStorageIfAvailable { bytes in
            var least = UInt8.max
            for byte in bytes { least = min(least, byte) }
            return least == 0
        } ?? text.utf8.contains(0)
    }

    private func bundleID() throws(Fault) -> BundleID? {
        try bounded(.bundleID, by: SubmissionLimits.maximumBundleIDScalars)
    }

    private func optionalName(_ name: Name) throws(Fault) -> Identifier? {
        try bounded(name, by: SubmissionLimits.maximumNameScalars)
    }

    private func bounded(_ name: Name, by limit: Int) throws(Fault) -> Identifier? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
            throw Fault(code: "field_too_long", message: "\(name.rawValue) is longer than \(limit) characters")
        }
        return Identifier(text)
    }

    private func name(_ name: Name) throws(Fault) -> Identifier {
        guard let value = try optionalName(name) else {
            throw Fault(code: "field_missing", message: "\(name.rawValue) is missing")
        }
        return value
    }

    /// Returns the account token; nil if the token is absent or is the nil UUID. Throws if the text is not a UUID,
    /// because ignoring a token would remove the purchase's binding.
    private func appAccountToken() throws(Fault) -> String? {
        guard let text = try text(.appAccountToken) else { return nil }
        let token = AccountToken(told: text)
        guard token != .malformed else {
            throw Fault(code: "token_not_uuid", message: "app_account_token is not a UUID")
        }
        return token.text
    }

    /// Returns the currency in upper case; nil if the currency is absent or ill-formed. An ill-formed currency is not a
    /// fault, because the client's currency counts only if Apple names none.
    private func currency() throws(Fault) -> String? {
        guard let text = try lenientText(.currency) else { return nil }
        let letters = text.utf8.map { $0 & 0xDF }
        guard letters.count == 3, letters.allSatisfy({ (0x41...0x5A).contains($0) }) else { return nil }
        return String(decoding: letters, as: UTF8.self)
    }

    private func submittedAt() throws(Fault) -> Timestamp? {
        try lenientText(.submittedAt).flatMap { Timestamp(rfc3339: $0) }
    }

    private func lenientText(_ name: Name) throws(Fault) -> String? {
        switch self[name] {
        case nil, .null: return nil
        case .string(let text): return text
        default: throw Fault(code: "field_wrong_type", message: "\(name.rawValue) is not a string")
        }
    }
}

enum UUIDText {
    /// Returns the UUID in lower case; nil if `text` is not 8-4-4-4-12 hex digits.
    static func normalized(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            guard isDash ? byte == UInt8(ascii: "-") : HexDigit.value(of: byte) != nil else { return nil }
        }
        return text.lowercased()
    }
}
