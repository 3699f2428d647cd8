import AppleProofs
import Fulfillment

extension FuzzTarget {
    /// The body of an App Store Server Notification. An input with two line breaks is the header, payload and signature
    /// of the JWS before their encoding, so that mutations reach the parser of the payload.
    static let notification = FuzzTarget(
        name: "notification",
        seeds: {
            let payload = """
                {"notificationType":"REFUND","notificationUUID":"5f0c9a10-0000-4000-8000-000000000001","version":"2.0",\
                "signedDate":1714550500000,"data":{"bundleId":"com.example.castle","appAppleId":1450000001,\
                "environment":"Production","signedTransactionInfo":"\(FixedChain.token)"}}
                """
            return [
                Array("{\"signedPayload\":\"\(FixedChain.token)\"}".utf8),
                Array("{\"signedPayload\":\"e30.e30.AA\"}".utf8),
                Array("{\"signedPayload\":7}".utf8), Array("[]".utf8),
                Array("\(FixedChain.header)\n\(payload)\n".utf8) + FixedChain.signature,
                Array("{\"alg\":\"none\"}\n\(payload)\n".utf8),
            ]
        },
        check: { bytes in
            let body = body(bytes)
            let reading = FixedChain.reader.parse(notification: body)
            mustHold(FixedChain.reader.parse(notification: body) == reading, "the same body gets the same reading")
            if case .read = reading { mustHold(false, "no notification was ever signed") }
        },
        families: [
            .repeating("["), .repeating(" "), .repeating("A", after: "{\"signedPayload\":\"", before: "\"}"),
            .repeating(".", after: "{\"signedPayload\":\"", before: "\"}"),
            .repeating("\"a\":1,", after: "{", before: "\"signedPayload\":\"..\"}"),
        ],
        words: [
            "\"signedPayload\"", "\"notificationType\"", "\"notificationUUID\"", "\"REFUND\"", "\"data\"",
            "\"bundleId\"",
            "\"appAppleId\"", "\"environment\"", "\"signedTransactionInfo\"", "\"signedDate\"", "1e300", "-1",
        ])

    private static func body(_ bytes: [UInt8]) -> [UInt8] {
        let parts = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return bytes }
        let token = parts.map { FixedChain.url(Array($0)) }.joined(separator: ".")
        return Array("{\"signedPayload\":\"\(token)\"}".utf8)
    }
}
