/// The causes of `malformed_receipt` that a proof's text shows.
extension Cause {
    public static let notBase64 = Cause(
        code: "not_base64",
        sentence:
            "The proof has characters that base64 does not have: send the receipt's bytes as base64, once encoded.")
    public static let truncated = Cause(
        code: "truncated",
        sentence:
            "The proof ends before its own length says: send all of it, and check for a column or buffer that cuts it.")
    static let googlePlay = Cause(
        code: "google_play", sentence: "The proof is a Google Play purchase: only purchases of the App Store are taken."
    )
    static let otherStore = Cause(
        code: "envelope_store",
        sentence: "Unity's envelope names another store: send envelopes of AppleAppStore or MacAppStore.")
    static let envelopeMismatch = Cause(
        code: "envelope_mismatch",
        sentence:
            "The TransactionID of Unity's envelope is none of the proof's transactions: send the TransactionID and the "
            + "proof of the same purchase.")
    static let jsonText = Cause(
        code: "json_text",
        sentence: "The proof is JSON: send the receipt or the JWS itself, or Unity's envelope with its Payload.")
    static let dataURL = Cause(
        code: "data_url", sentence: "The proof is a data: URL: send only the base64 behind the comma.")
    public static let hex = Cause(
        code: "hex", sentence: "The proof is written in hexadecimal digits: send the receipt's bytes as base64.")
    static let percentEncoded = Cause(
        code: "percent_encoded",
        sentence: "The proof is percent-encoded, as in a form or URL: decode it before you send it.")
    static let escapedLineEnds = Cause(
        code: "escaped_line_ends",
        sentence: "The proof has escaped line ends (a backslash and a letter): remove them before you send it.")
    static let blanksForPlus = Cause(
        code: "blanks_for_plus",
        sentence: "The proof has blanks where base64 has '+': encode '+' as %2B where the client posts a form.")
    static let base64Twice = Cause(
        code: "base64_twice", sentence: "The proof is base64 of base64: encode the receipt's bytes once.")
    static let jwsParts = Cause(
        code: "jws_parts",
        sentence:
            "The proof begins like a JWS, but does not have the three parts of a JWS: send jwsRepresentation whole.")
    public static let notATransaction = Cause(
        code: "jws_not_a_transaction",
        sentence: "Apple signed this JWS, but it is no transaction: send the transaction's jwsRepresentation.")

    /// - Parameter why: the part that receiptd cannot read, without any of the proof's content.
    public static func notAReceipt(_ why: String = "its structure is another") -> Cause {
        Cause(
            code: "not_a_receipt",
            sentence: "The proof cannot be read as a receipt (\(why)): send the app receipt's bytes as base64.")
    }

    /// - Parameter why: the part that receiptd cannot read, without any of the proof's content.
    public static func notAJWS(_ why: String = "its structure is another") -> Cause {
        Cause(
            code: "not_a_jws",
            sentence:
                "The proof cannot be read as a signed transaction (\(why)): send the transaction's jwsRepresentation.")
    }
}

/// The causes of `unauthentic_receipt`.
extension Cause {
    public static let xcode = Cause(
        code: "xcode_receipt",
        sentence: "Xcode signed the proof, not Apple: test with the sandbox or TestFlight in place of a StoreKit file.")

    /// - Parameter why: the certificate and its fault.
    public static func chainNotApples(_ why: String) -> Cause {
        Cause(code: "chain_not_apples", sentence: "Apple did not sign the proof: \(why).")
    }

    /// - Parameter why: the parts of the proof that do not match.
    public static func signatureBroken(_ why: String) -> Cause {
        Cause(
            code: "signature_broken", sentence: "The proof was changed after Apple signed it, or never signed: \(why).")
    }
}

/// The causes for a proof of another app, and for a proof that Apple refused.
extension Cause {
    static let otherBundle = Cause(
        code: "other_bundle_id",
        sentence: "The receipt was issued for another app: its bundle id is not the submission's bundle_id.")
    public static let otherApp = Cause(
        code: "other_app_apple_id",
        sentence: "The receipt was issued for another app: Apple's number of the app is not the catalog's app_apple_id."
    )
    static let malformedAtApple = Cause(
        code: "apple_cannot_read",
        sentence:
            "Apple answered three times that it cannot read the receipt (21002): send the receipt as the device has it."
    )
    static let unauthenticAtApple = Cause(
        code: "apple_cannot_authenticate", sentence: "Apple answered that it cannot authenticate the receipt (21003).")
}

/// The causes that name a repair of a proof. The event names the repair, so that the game's developers mend the client.
extension Cause {
    static let repairedBlanks = Cause(
        code: "repaired_blanks",
        sentence:
            "The proof had blanks in place of '+' and was repaired: encode '+' as %2B where the client posts a form.")
    static let repairedPercentEncoding = Cause(
        code: "repaired_percent_encoding",
        sentence: "The proof was percent-encoded and was repaired: decode it before you send it.")
    static let repairedLineEnds = Cause(
        code: "repaired_line_ends",
        sentence: "The proof had escaped line ends and was repaired: remove them before you send it.")
    static let repairedBase64Twice = Cause(
        code: "repaired_base64_twice",
        sentence: "The proof was base64 of base64 and was repaired: encode the receipt's bytes once.")

    /// The causes of `binding_mismatch`: the tokens do not bind the purchase to the player.
    static let tokenMissing = Cause(
        code: "token_missing",
        sentence:
            "The submission has no app_account_token and needs one (the nil UUID counts as none): send the purchase's "
            + "appAccountToken.")
    static let tokenNotOnPurchase = Cause(
        code: "token_not_on_purchase",
        sentence:
            "The purchase has no appAccountToken: only a signed proof of the purchase can show who bought it.")
    static let tokenDiffers = Cause(
        code: "token_differs",
        sentence: "The submission's app_account_token is not the purchase's: the purchase was made for another game "
            + "account.")
    static let tokenOfOtherPlayer = Cause(
        code: "token_of_other_player", sentence: "The purchase's account token belongs to another player of the game.")
}
